"""Baselines: answers whose quality is known, to set beside a model's and to check the measuring itself.

* ``baseline/reference`` does what the recording did: the upper bound of every figure.
* ``baseline/noisy?p_text=0.9&p_tool=0.7&seed=1`` does so with known probabilities, and errs for certain otherwise. A
  decision answered with probability p has three attempts in a replay, so a conversation completes with the probability
  that is the product of 1-(1-p)^3 over its tool decisions: the statistics can be held against a closed form.
  With ``&after_error=0.3`` it gets worse: as soon as the history shows a call of its own that was rejected, tool
  decisions come right with that probability instead.
* ``baseline/nearest`` copies the action of the most similar training context (`turngap.models.nearest`).
* ``baseline/nothing`` and ``baseline/transfer`` understand nothing: what they reach is a floor.

`reference` and `noisy` read `Seat.reference`, and in live conversations `Seat.task` (`turngap.models.live_baseline`);
nothing here asks a server, so nothing awaits. They are no contestants: what they know, no model can know.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Prediction, ToolCall, ToolMessage
from turngap.errors import UsageError
from turngap.models import live_baseline
from turngap.models.base import Model, ModelContext, Request, Seat

NAMES = ("reference", "noisy", "nearest", "nothing", "transfer")
"""The baselines there are."""

_TAG = b"tg-noisy-1"
# Any tag gives independent draws (tests/protocols/test_closed_form.py counts the coverage over seeds). With this one
# the seeds that documents and examples use, 1 above all, lie near their expectation instead of at its edge.

_MARK = "_unknown"
"""What the name of a wrong call ends with, so that it can be told from recorded ones."""

CLOSING = "You are welcome. Goodbye."
"""What `reference` and `noisy` say where the recording has nothing left: a text without facts, which ends the turn."""


class Reference:
    """Answers with what the recording did, or with `CLOSING` past its end."""

    def __init__(self, label: str = "baseline/reference") -> None:
        self.label = label

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": "baseline/reference"}

    async def act(self, request: Request) -> Prediction:
        """Answer with the seat's reference."""
        if request.seat.protocol == "rollout":
            return live_baseline.act(request)
        return Prediction(message=request.seat.reference or AssistantMessage(content=CLOSING))

    async def aclose(self) -> None:
        """Nothing to release."""


class Noisy:
    """The reference with probability `p_text` or `p_tool`, a certain error otherwise.

    A draw depends on the seed and the seat alone (conversation, decision, protocol, attempt, trial): neither order nor
    resuming changes it, and attempts at one decision are independent. The errors:

    * a tool decision becomes one call of a tool that does not exist, which no normalisation and no list of compared
      arguments can make a match, so that it spends exactly one attempt of a replay;
    * a text decision becomes a number that neither the history nor the reference holds: an invented fact with a
      ROUGE of 0, and no call, so that text errors never disturb a replay.

    With `after_error`, tool decisions are right with that probability from the first rejected call of its own on, the
    remaining attempts at the same decision included, also when the error was recovered from or repaired. The history
    of the request alone decides that, so recorded errors, and gold history altogether, never make it worse.

    In a live conversation each change of the task and each fact to be said is drawn once a trial (`live_baseline`);
    `after_error` says nothing there.
    """

    def __init__(
        self,
        *,
        p_text: float = 1.0,
        p_tool: float = 1.0,
        after_error: float | None = None,
        seed: int = 0,
        label: str = "",
    ) -> None:
        self.p_text, self.p_tool, self.after_error, self.seed = p_text, p_tool, after_error, seed
        self.label = label or f"baseline/noisy?p_text={p_text:g}&p_tool={p_tool:g}&seed={seed}"

    def identity(self) -> dict[str, Any]:
        """The probabilities and the seed."""
        identity = {"model": "baseline/noisy", "p_text": self.p_text, "p_tool": self.p_tool, "seed": self.seed}
        return identity if self.after_error is None else {**identity, "after_error": self.after_error}

    async def act(self, request: Request) -> Prediction:
        """Answer with the seat's reference or with an error, as the draw says."""
        seat = request.seat
        if seat.protocol == "rollout":
            return live_baseline.act(request, lambda what, index: self._errs(seat, what, index))
        reference = seat.reference
        if reference is None:
            return Prediction(message=AssistantMessage(content=CLOSING))
        probability = self.p_text
        if reference.calls:
            probability = self.p_tool
            if self.after_error is not None and _has_erred(request):
                probability = self.after_error
        # draw < 1 always and draw < 0 never hold, so the ends of the range are exact.
        if self._draw(seat) < probability:
            return Prediction(message=reference)
        message = _wrong_call(request, reference) if reference.calls else self._wrong_text(request, reference)
        return Prediction(message=message)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _draw(self, seat: Seat) -> float:
        """A number in [0, 1) that looks random and is a function of seed and seat."""
        return int.from_bytes(self._hash(seat)[:7], "big") / 2**56

    def _errs(self, seat: Seat, what: str, index: int) -> bool:
        """Whether it fails at an action or a fact of the task; drawn by seed, task, trial and number."""
        key = jsonio.encode([self.seed, seat.conversation, seat.trial, what, index])
        drawn = int.from_bytes(hashlib.blake2b(key, digest_size=7, person=_TAG).digest(), "big") / 2**56
        return drawn >= (self.p_tool if what == "action" else self.p_text)

    def _hash(self, seat: Seat, salt: int = 0) -> bytes:
        key = [self.seed, seat.conversation, seat.decision, seat.protocol, seat.attempt, seat.trial, salt]
        return hashlib.blake2b(jsonio.encode(key), digest_size=16, person=_TAG).digest()

    def _wrong_text(self, request: Request, reference: AssistantMessage) -> AssistantMessage:
        known = "\n".join((request.policy, reference.content, *(jsonio.dumps(message) for message in request.messages)))
        salt = 1
        while True:
            number = str(10**7 + int.from_bytes(self._hash(request.seat, salt), "big") % (9 * 10**7))
            if number not in known:
                return AssistantMessage(content=number)
            salt += 1


def _has_erred(request: Request) -> bool:
    """Whether the history holds a call that `_wrong_call` made, and that was answered by an error."""
    tools = {tool.name for tool in request.tools}
    calls: list[ToolCall] = []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            calls = list(message.calls)
        elif isinstance(message, ToolMessage) and calls:
            name = calls.pop(0).name
            if message.error and name.rstrip("_").endswith(_MARK) and name not in tools:
                return True
    return False


def _wrong_call(request: Request, reference: AssistantMessage) -> AssistantMessage:
    """The first reference call under a name that no tool and no reference call has."""
    first = reference.calls[0]
    taken = {tool.name for tool in request.tools} | {call.name for call in reference.calls}
    name = f"{first.name}{_MARK}"
    while name in taken:
        name += "_"
    return AssistantMessage(calls=(ToolCall(name=name, arguments=first.arguments or {}),))


def build(config: ModelConfig, context: ModelContext) -> Model:
    """Build the baseline that `config.spec` names.

    Raises:
        UsageError: an unknown baseline or option, or a value out of range; the message lists what is known.
        DataError: the training file of `nearest` cannot be read.
    """
    options = config.options()
    if config.name == "reference":
        _known(config, options, ())
        return Reference(config.spec)
    if config.name == "noisy":
        _known(config, options, ("p_text", "p_tool", "after_error", "seed"))
        return Noisy(
            p_text=_probability(config, options, "p_text"),
            p_tool=_probability(config, options, "p_tool"),
            after_error=_probability(config, options, "after_error") if "after_error" in options else None,
            seed=_whole(config, options, "seed"),
            label=config.spec,
        )
    if config.name == "nearest":
        _known(config, options, ("train",))
        # Only this baseline needs an index; the others load instantly.
        from turngap.models.nearest import Nearest  # noqa: PLC0415 - see above

        return Nearest.from_context(context, train=options.get("train"), label=config.spec)
    if config.name == "nothing":
        _known(config, options, ())
        return live_baseline.Nothing(config.spec)
    if config.name == "transfer":
        _known(config, options, ())
        return live_baseline.Transfer(config.spec)
    raise UsageError(f"unknown baseline {config.name!r}; known: {', '.join(NAMES)}")


def _known(config: ModelConfig, options: Iterable[str], known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise UsageError(
                f"model {config.spec!r}: unknown option {name!r}; known: {', '.join(known) or 'no options at all'}"
            )


def _probability(config: ModelConfig, options: dict[str, str], name: str) -> float:
    text = options.get(name, "1")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:  # NaN fails both comparisons
        raise UsageError(f"model {config.spec!r}: {name} should be a number from 0 to 1, not {text!r}")
    return value


def _whole(config: ModelConfig, options: dict[str, str], name: str) -> int:
    text = options.get(name, "0")
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"model {config.spec!r}: {name} should be a whole number, not {text!r}") from None
