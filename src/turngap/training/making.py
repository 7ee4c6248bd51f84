"""From conversations to sets of examples: which decisions are learnt, in which split, and in what mix.

* **Split** by what conversations are about: all trials of one task, and so all examples of one conversation, stand in
  one split, decided by a hash of the seed and the task, so that more data never move what was there.
* **Duplicates**: an example that asks the same and wants the same as an earlier one, in whatever split, is left out.
* **Mix**: ``natural`` as it comes; ``balanced`` as many text decisions as tool decisions; ``tools`` three tool
  decisions for each text decision. The other mixes have as many examples as asked for, or as the natural one: the
  rarer kind is drawn again and again, which is what favouring it means. Only the training split is mixed.
* **Malformed calls** and empty answers are never learnt: the decision is left out with its reason, and the conversation
  keeps the rest.
* **Repaired calls** (arguments encoded twice, a Python literal) are learnt as they were meant, not as they stood.
* **Several calls in one decision** stay one decision, unless they are asked to be split (`Options.split_calls`), for
  models whose chat template cannot say several: then each becomes a decision with its own result behind it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Decision, Message, ToolCall, decisions
from turngap.errors import UsageError
from turngap.metrics.contamination import Document
from turngap.training.example import Example, Setting, Split

Mix = Literal["natural", "balanced", "tools"]
MIXES: tuple[Mix, ...] = ("natural", "balanced", "tools")
_TOOL_SHARE: dict[Mix, float] = {"balanced": 0.5, "tools": 0.75}


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a set is made."""

    validation: float = 0.1
    """Share of the tasks or conversations that validate."""
    evaluation: float = 0.0
    """Share that is set aside to evaluate on."""
    mix: Mix = "natural"
    count: int | None = None
    """Examples of the training split; None: as many as there are."""
    reasoning: bool = False
    """Whether recorded reasoning is learnt; else it is dropped, from the context too."""
    split_calls: bool = False
    """Whether a decision with several calls becomes consecutive decisions with one call each."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("validation", "evaluation"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise UsageError(f"the share of {name} is from 0 up to below 1, not {share}")
        if self.validation + self.evaluation >= 1:
            raise UsageError("validation and evaluation together leave nothing to train on")
        if self.mix not in MIXES:
            raise UsageError(f"mix is one of {', '.join(MIXES)}, not {self.mix!r}")
        if self.count is not None and self.count < 1:
            raise UsageError(f"the number of examples is at least 1, not {self.count}")


Reason = Literal["malformed call", "duplicate", "empty", "contaminated"]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is no example, or a conversation that gives none."""

    id: str
    """Of the decision; of the conversation where it is contaminated."""
    reason: Reason
    detail: str = ""


class ExampleSet(msgspec.Struct, frozen=True, kw_only=True):
    """Examples in their splits."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    evaluation: tuple[Example, ...]
    conversations: dict[Split, tuple[Conversation, ...]]
    """What the examples come from, whole; a conversation that gives none is not among them."""
    left_out: tuple[LeftOut, ...] = ()

    def of(self, split: Split) -> tuple[Example, ...]:
        """The examples of a split."""
        found: tuple[Example, ...] = getattr(self, split)
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        """Split -> conversations, examples, of which text and tool."""
        return {split: _counted(self.of(split), self.conversations[split]) for split in _SPLITS}


_SPLITS: tuple[Split, ...] = ("train", "validation", "evaluation")


def make(conversations: Iterable[Conversation], options: Options, source: str = "") -> ExampleSet:
    """Make a set of examples.

    Args:
        conversations: their ids are unique.
        options: how.
        source: what examples say they come from, where the conversation does not.

    Raises:
        UsageError: two conversations bear one id.
    """
    splits: dict[Split, list[Example]] = {split: [] for split in _SPLITS}
    whole: dict[Split, list[Conversation]] = {split: [] for split in _SPLITS}
    left: list[LeftOut] = []
    seen: set[str] = set()
    ids: set[str] = set()
    settings: dict[str, Setting] = {}
    for one in conversations:
        if one.id in ids:
            raise UsageError(f"two conversations have the id {one.id!r}; give files whose ids differ")
        ids.add(one.id)
        kept = _prepared(one, options)
        split = split_of(group_of(one), options)
        whole[split].append(kept)
        setting = settings.setdefault(
            jsonio.digest((one.policy, one.tools)), Setting(policy=one.policy, tools=one.tools)
        )
        for example in _examples(kept, setting, source or one.source.file, left):
            key = example.digest()
            if key in seen:
                left.append(LeftOut(id=example.id, reason="duplicate"))
                continue
            seen.add(key)
            splits[split].append(example)
    splits["train"] = mixed(splits["train"], options)
    used = {example.conversation for examples in splits.values() for example in examples}
    return ExampleSet(
        train=tuple(splits["train"]),
        validation=tuple(splits["validation"]),
        evaluation=tuple(splits["evaluation"]),
        conversations={split: tuple(one for one in found if one.id in used) for split, found in whole.items()},
        left_out=tuple(left),
    )


def task_of(conversation: Conversation) -> str:
    """The task that a conversation is a trial of, as far as its recording says; else nothing."""
    known = (conversation.metadata.get(key) for key in ("task", "task_id"))
    return next((str(task) for task in known if task is not None and task != ""), "")


def group_of(conversation: Conversation) -> str:
    """What may not stand in two splits: the task, else the conversation."""
    return task_of(conversation) or conversation.id


def split_of(group: str, options: Options) -> Split:
    """In which split a task or conversation stands."""
    key = jsonio.encode([options.seed, group])
    place = int.from_bytes(hashlib.blake2b(key, digest_size=8, person=b"tg-split-1").digest(), "big") / 2**64
    if place < options.evaluation:
        return "evaluation"
    return "validation" if place < options.evaluation + options.validation else "train"


def mixed(examples: Sequence[Example], options: Options) -> list[Example]:
    """The training split in its mix, in a seeded order where it is drawn."""
    rng = random.Random(f"{options.seed}/mix")
    kinds = {kind: [one for one in examples if one.kind == kind] for kind in ("text", "tool")}
    if options.mix == "natural" or not all(kinds.values()):
        if options.count is None or options.count >= len(examples):
            return list(examples)
        return rng.sample(list(examples), options.count)
    total = options.count or len(examples)
    tools = round(total * _TOOL_SHARE[options.mix])
    drawn = [*_drawn(kinds["tool"], tools, rng), *_drawn(kinds["text"], total - tools, rng)]
    rng.shuffle(drawn)
    return drawn


def _drawn(examples: Sequence[Example], count: int, rng: random.Random) -> list[Example]:
    """So many, each as often as any other but for one."""
    rounds, rest = divmod(count, len(examples))
    return [*examples] * rounds + rng.sample(list(examples), rest)


def document(conversation: Conversation) -> Document:
    """A conversation as far as contamination goes: what was said and called, without policy and tools."""
    said = [message.content for message in conversation.messages]
    called = [
        f"{call.name} {jsonio.dumps(call.arguments or {})}"
        for message in conversation.messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    ]
    return Document(id=group_of(conversation), text="\n".join((*said, *called)))


def _examples(conversation: Conversation, setting: Setting, source: str, left: list[LeftOut]) -> Iterator[Example]:
    for decision in decisions(conversation):
        name = f"{conversation.id}#{decision.index}"
        problem = _problem(decision)
        if problem is not None:
            left.append(msgspec.structs.replace(problem, id=name))
            continue
        yield Example(
            id=name,
            conversation=conversation.id,
            decision=decision.index,
            setting=setting,
            context=conversation.messages[: decision.position],
            target=decision.reference,
            task=task_of(conversation),
            source=source,
        )


def _problem(decision: Decision) -> LeftOut | None:
    message = decision.reference
    broken = next((call for call in message.calls if call.arguments is None), None)
    if broken is not None:
        return LeftOut(id="", reason="malformed call", detail=f"{broken.name}: {broken.error}")
    return None if message.calls or message.content.strip() else LeftOut(id="", reason="empty")


def _prepared(conversation: Conversation, options: Options) -> Conversation:
    messages = tuple(
        _learnable(one, options) if isinstance(one, AssistantMessage) else one for one in conversation.messages
    )
    kept = msgspec.structs.replace(conversation, messages=messages)
    return with_single_calls(kept) if options.split_calls else kept


def _learnable(message: AssistantMessage, options: Options) -> AssistantMessage:
    """A decision as it is to be made: repaired calls are the calls that were meant, and no white space is around text.

    Line ends in front of an answer are what another model's template left there; behind a prompt that ends with a line
    end they would become other tokens, too.
    """
    calls = tuple(
        call if call.arguments is None else ToolCall(name=call.name, arguments=call.arguments) for call in message.calls
    )
    reasoning = message.reasoning if options.reasoning else None
    return msgspec.structs.replace(message, content=message.content.strip(), calls=calls, reasoning=reasoning)


def with_single_calls(conversation: Conversation) -> Conversation:
    """The conversation with one call in each tool decision: each call followed by its result, in the recorded order.

    What was said and thought beside several calls stands beside the first of them.
    """
    messages: list[Message] = []
    start = conversation.start
    made = 0
    waiting = iter(conversation.messages)
    for message in waiting:
        if not isinstance(message, AssistantMessage):
            messages.append(message)
            continue
        more = len(message.calls) - 1
        if made < conversation.start and more > 0:
            start += more
        made += 1
        if more < 1:
            messages.append(message)
            continue
        for at, call in enumerate(message.calls):
            first = message if at == 0 else AssistantMessage()
            # The results of a decision follow it, one for each call.
            messages += [msgspec.structs.replace(first, calls=(call,)), next(waiting)]
    return msgspec.structs.replace(conversation, messages=tuple(messages), start=start)


def _counted(examples: Sequence[Example], conversations: Sequence[Conversation]) -> dict[str, int]:
    kinds = Counter(one.kind for one in examples)
    return {
        "conversations": len(conversations),
        "examples": len(examples),
        "text": kinds["text"],
        "tool": kinds["tool"],
    }
