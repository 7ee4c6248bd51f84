"""The explorer that a language model is: it is shown a customer and tools, and decides itself what the customer wants.

There is nobody to talk to. The model makes one call after the other, reads the results, and ends with a text, which may
tell what the customer asked to know; what it says there has to stand in a result. What it does wrong is answered in
words, counted, and no step: a call that cannot be read, a tool that was not offered, arguments against the schema, the
same look once more, an answer with nothing in it. After a few of these it has had its turn.

A refusal of the world is a step like any other, and so is a call that breaks a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from turngap.domains.live import LiveDomain, LiveWorld
from turngap.errors import ContextOverflow
from turngap.metrics.validation import Validator
from turngap.models import Model, Request, Seat
from turngap.models.reasoning import split
from turngap.synth.explore import Brief, done, perform
from turngap.synth.offer import offers, token
from turngap.synth.plan import Exploration, Fact, Loss, LostError, Step
from turngap.synth.replay import is_calculation, kinds

VERSION = 1
"""Raised when the wording of the prompt changes."""

_MOST_MISHAPS = 6
"""After so many an exploration ends with what there is."""
_BEGIN = "Begin."
_NOTHING = "Nothing arrived. Make the next call, or end with the JSON object."
_NO_CALL = "You have not done anything yet. Make a call."

_TASK = """\
You explore what a service agent can do with the tools of a desk. There is no one to talk to: you are given a customer \
of the desk, you imagine what this one person could plausibly want today, and you do it, call by call, as a careful \
agent would who knows the policy below.

How to go about it
- Make one call at a time and read its result before the next one.
- Find and check before you change: identify the customer the way the policy says, then look at the records.
- Take every value from the customer's record, from an earlier result, or from what such a customer would say (a new \
address, a reason, a number of bags). Never use the data of another person.
- Do two or three things that belong to one visit, at least one of which changes something. About {aim} calls make a \
good exploration; more than {most} are not possible.
- You may also try something that this customer would ask for and that the desk has to refuse, once.
- When you are done, answer without a call, with one JSON object: {{"told": [{{"about": "...", "value": "..."}}]}}. \
List what the customer wanted to know, with values just as the results have them; an empty list will do.
"""


class AskedExplorer:
    """Explores one domain by asking a model."""

    def __init__(self, model: Model, domain: LiveDomain, *, label: str = "") -> None:
        """Ask a model.

        Args:
            model: which; it is closed with the explorer.
            domain: where it acts.
            label: how explorations name it; empty: the model's label.
        """
        self._model = model
        self._domain = domain
        self._label = label or model.label
        self._kinds = kinds(domain)
        self._specs = {tool.name: tool.spec for tool in domain.tools}
        self._validators: dict[str, Validator] = {}

    def identity(self) -> dict[str, Any]:
        """The prompt by its digest, the model and the domain."""
        wording = jsonio.digest([VERSION, _TASK, _BEGIN, _NOTHING, _NO_CALL])[:16]
        return {
            "explorer": "llm",
            "prompt": wording,
            "model": self._model.identity(),
            "domain": self._domain.identity(),
        }

    async def explore(self, brief: Brief, world: LiveWorld) -> Exploration:
        """Act for a customer. See `Explorer.explore`."""
        talk = _Talk(brief, world, self._kinds)
        told = ""
        while not talk.full and talk.mishaps.total() < _MOST_MISHAPS:
            try:
                message = await self._ask(brief, talk)
            except ContextOverflow:
                talk.mishaps["context full"] += 1
                break
            if message.calls:
                await self._act(talk, message)
            elif not message.content.strip():
                talk.blame("empty answer", _NOTHING)
            elif not talk.steps:
                talk.blame("no call", _NO_CALL, message)
            else:
                told = message.content
                break
        if not talk.steps:
            detail = ", ".join(f"{what}: {count}" for what, count in sorted(talk.mishaps.items()))
            raise LostError(Loss(stage="explore", reason="nothing was done", detail=detail))
        facts = _facts(talk.steps, told, talk.mishaps)
        return Exploration(
            id=brief.id,
            seed=brief.seed,
            explorer=self._label,
            customer=brief.customer,
            offered=brief.tools,
            inspired_by=brief.example.id if brief.example else "",
            steps=tuple(talk.steps),
            facts=facts,
            mishaps=dict(sorted(talk.mishaps.items())),
        )

    async def aclose(self) -> None:
        """Release the model."""
        await self._model.aclose()

    async def _ask(self, brief: Brief, talk: _Talk) -> AssistantMessage:
        request = Request(
            policy=prompt(brief, self._domain.policy),
            tools=tuple(self._specs[name] for name in brief.tools if name in self._specs),
            messages=tuple(talk.messages),
            seat=Seat(conversation=brief.id, protocol="explore", decision=None, trial=brief.seed),
        )
        message = (await self._model.act(request)).message
        return msgspec.structs.replace(message, content=split(message.content)[0], reasoning=None)

    async def _act(self, talk: _Talk, message: AssistantMessage) -> None:
        talk.messages.append(message)
        for call in message.calls:
            problem = self._problem(call, talk)
            if problem is None and talk.full:
                problem = ("too many calls", "there is no room for another call")
            if problem is None:
                await talk.do(call)
            else:
                what, words = problem
                talk.mishaps[what] += 1
                talk.messages.append(ToolMessage(name=call.name, content=jsonio.dumps({"error": words}), error=True))

    def _problem(self, call: ToolCall, talk: _Talk) -> tuple[str, str] | None:
        """What is wrong with a call before the world sees it: for the count, and for the model."""
        if call.arguments is None:
            return "malformed call", call.error or "the arguments are not a JSON object"
        if call.name not in talk.offered:
            return "tool not offered", f"there is no tool {call.name!r}; there are {', '.join(talk.offered)}"
        validator = self._validators.get(call.name)
        if validator is None:
            validator = self._validators[call.name] = Validator(self._specs[call.name].parameters)
        wrong = validator.problem(call.arguments)
        if wrong is not None:
            return "wrong arguments", wrong
        if talk.repeats(call):
            return "same call again", "this was looked up before, and nothing has changed since"
        return None


class _Talk:
    """One exploration: what was done, and what the model was shown of it."""

    def __init__(self, brief: Brief, world: LiveWorld, known: dict[str, Any]) -> None:
        self.offered = tuple(name for name in brief.tools if name in known)
        self.steps: list[Step] = []
        self.messages: list[Message] = [UserMessage(content=_BEGIN)]
        self.mishaps: Counter[str] = Counter()
        self._most = brief.most_steps
        self._world = world
        self._kinds = known

    @property
    def full(self) -> bool:
        """Whether there is no room for another step."""
        return len(self.steps) >= self._most

    async def do(self, call: ToolCall) -> None:
        """Make a call that is a step."""
        plain = ToolCall(name=call.name, arguments=call.arguments)
        step = await perform(self._world, plain, self._kinds[call.name], [done(step) for step in self.steps])
        self.steps.append(step)
        self.messages.append(ToolMessage(name=call.name, content=step.result, error=step.error))

    def blame(self, what: str, words: str, message: AssistantMessage | None = None) -> None:
        """Count what went wrong, and say so."""
        self.mishaps[what] += 1
        # An empty answer is not shown again: many a server refuses a message without content.
        self.messages += [message, UserMessage(content=words)] if message else [UserMessage(content=words)]

    def repeats(self, call: ToolCall) -> bool:
        """Whether a call looks up what was looked up before, with no change since."""
        for step in reversed(self.steps):
            if step.changed:
                return False
            if step.call.name == call.name and step.call.arguments == call.arguments:
                return step.kind == "read"
        return False


def prompt(brief: Brief, policy: str) -> str:
    """Everything that a model is told before its first call: the task, the customer, an example, the desk's policy."""
    aim = min(12, brief.most_steps)
    who = f"{brief.customer.table}, key {brief.customer.key}"
    record = jsonio.dumps(brief.customer.record, indent=2)
    parts = [_TASK.format(aim=aim, most=brief.most_steps), f"The customer, as the desk knows them ({who}):\n{record}"]
    if brief.customer.linked:
        parts.append(f"Records that are theirs besides: {', '.join(brief.customer.linked)}")
    if brief.stranger is not None:
        whose = jsonio.dumps(brief.stranger.record)
        parts.append(f"Somebody else, for a wish that is not the customer's to have and that the desk refuses: {whose}")
    if brief.example is not None:
        lines = "\n".join(f"- {line}" for line in _lines(brief.example))
        parts.append(f"What an agent did for another customer, as an example of a chain; do something else:\n{lines}")
    return "\n\n".join([*parts, f"The policy of the desk:\n{policy}"])


def _lines(example: Exploration) -> Iterator[str]:
    for step in example.steps:
        yield f"{step.call.name}({jsonio.dumps(step.call.arguments)})" + (" -> refused" if step.error else "")


def _facts(steps: list[Step], told: str, mishaps: Counter[str]) -> tuple[Fact, ...]:
    """What was to be told, as far as a result says so; what was worked out is told in any case."""
    facts = []
    for about, value in _listed(told, mishaps):
        found = next(_places(steps, value), None)
        if found is None:
            mishaps["told what no result says"] += 1
        else:
            step, path = found
            facts.append(Fact(step=step, path=path, value=value, about=about))
    known = {fact.step for fact in facts}
    for index, done_before in enumerate(steps):
        if is_calculation(done_before) and index not in known and done_before.result.strip():
            expression = next(iter((done_before.call.arguments or {}).values()), "")
            facts.append(Fact(step=index, path="", value=done_before.result, about=f"what {expression} comes to"))
    return tuple(facts)


def _places(steps: list[Step], value: str) -> Iterator[tuple[int, str]]:
    """Where a value stands in what was found out, the latest first."""
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step.error or (step.kind == "generic" and not is_calculation(step)):
            continue
        for offer in offers(step.result):
            if not offer.is_key and token(offer.value) == token(_plain(value)):
                yield index, offer.path


def _plain(value: str) -> Any:
    """A value as a result would hold it: a number without its sign of currency."""
    try:
        number = jsonio.loads(value.strip().removeprefix("$").replace(",", ""))
    except jsonio.JsonError:
        return value
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else value


def _listed(text: str, mishaps: Counter[str]) -> Iterator[tuple[str, str]]:
    """What the last answer says was asked: pairs of what it is about and the value."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return
    try:
        told = jsonio.loads(text[start : end + 1])
    except jsonio.JsonError:
        mishaps["unreadable ending"] += 1
        return
    entries = told.get("told") if isinstance(told, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("value"), (str, int, float)):
            yield str(entry.get("about") or ""), str(entry["value"])
