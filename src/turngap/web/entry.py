"""What the search index keeps of one unit: a conversation of a run, or a trial of a live task.

An entry holds what the list shows, what its filters ask for, and every word that was said, called or returned: in the
recording (for a trial, in its task) and in what the model did with it. Nothing is measured here: a replay says itself
how it ended, and what other protocols say comes from stored scores (`turngap.web.indexing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turngap.analysis.evidence import leaves
from turngap.analysis.taxonomy import cases_of
from turngap.data import (
    Acted,
    AssistantMessage,
    Cause,
    Conversation,
    Failure,
    Message,
    Prediction,
    Spoken,
    Task,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    Verdict,
    decisions,
)
from turngap.data.reward import Reward
from turngap.errors import StoreError
from turngap.metrics.passk import succeeded
from turngap.protocols import labelling
from turngap.runs.store import DATABASE, RunStore

NONE, PASSED, FAILED, ERRORED, SPOILED = "-", "p", "f", "e", "u"
"""What a protocol says of a unit, in one letter: nothing (yet), a success, a failure, not measured, and for a trial
that the simulated user failed."""

WHOLE = -1
"""Stands for the number of the trial where the unit is a conversation."""
_SHOWN = 200  # characters of a title or detail


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One unit."""

    item: str
    """Id of the conversation, or of the task."""
    trial: int = WHOLE
    title: str = ""
    """How it begins: the user's first words, on one line."""
    scenario: str = ""
    """Of the task, or where the recording's metadata name one."""
    length: int = 0
    """Recorded decisions; messages of the agent for a trial."""
    first_error: int | None = None
    """Index of the recorded decision of a replay's first error; for a trial, number of the event that shows one."""
    steps: int = 0
    """Messages of the model on its own history."""
    seconds: float = 0.0
    """Time that took."""
    tokens: int = 0
    """Prompts and answers of that."""
    outcome: str = NONE
    """What the replay, or the reward of the trial, says."""
    detail: str = ""
    """What went wrong first, in one line."""
    tools: tuple[str, ...] = ()
    """Names of all tools that were called, in the recording or by the model."""
    categories: tuple[str, ...] = ()
    """Why it failed: categories of the replay, or symptoms of the trial; the cause where it was not measured."""
    recorded: str = ""
    """The words of the recording, or of the task."""
    own: str = ""
    """The words of the model, and of whoever it talked to where that is not the recording."""


def of_conversation(store: RunStore, conversation_id: str) -> Entry:
    """Look at one conversation; one that is damaged has an entry that says so.

    Raises:
        KeyError: the run has none of that id.
    """
    try:
        conversation = store.conversation(conversation_id)
        predictions = store.predictions(conversation_id)
        replay = store.trajectory(conversation_id)
    except StoreError as error:
        return _damaged(conversation_id, WHOLE, error)
    given = [one.message for one in predictions.values() if isinstance(one, Prediction)]
    names = _Names()
    recorded = list(_spoken(conversation.messages, names))
    own = list(_spoken(given, names))
    categories: dict[str, None] = {}
    detail = ""
    if isinstance(replay, Trajectory):
        own += _lived(replay, names, everything=False)
        categories = dict.fromkeys(problem.category.value for problem in replay.problems)
        detail = replay.problems[0].detail if replay.problems else ""
    elif isinstance(replay, Failure):
        categories, detail = {replay.cause.value: None}, replay.reason
    scenario = conversation.metadata.get("scenario", "")
    entry = Entry(
        item=conversation.id,
        title=_opening(conversation),
        scenario=scenario if isinstance(scenario, str) else "",
        length=sum(1 for _ in decisions(conversation)),
        outcome=_of_replay(store, replay),
        detail=_line(detail),
        tools=names.seen,
        categories=tuple(categories),
        recorded=_joined(recorded),
        own=_joined(own),
    )
    return _lasted(entry, replay, replay.first_error) if isinstance(replay, Trajectory) else entry


def of_trial(task: Task, trial: int, result: Trajectory | Failure, reward: Reward | Failure | None) -> Entry:
    """Look at one trial of a live task.

    Args:
        task: the task.
        trial: its number.
        result: what happened, or why nothing is known.
        reward: what it is worth; None where it was not graded yet.
    """
    names = _Names()
    own = _lived(result, names, everything=True) if isinstance(result, Trajectory) else []
    lost = next((one for one in (result, reward) if isinstance(one, Failure)), None)
    graded = reward if isinstance(reward, Reward) else Reward(value=0.0)
    categories = [lost.cause.value] if lost else [symptom.kind.value for symptom in graded.symptoms]
    outcome = NONE
    if lost is not None:
        outcome = SPOILED if lost.cause is Cause.USER else ERRORED
    elif isinstance(reward, Reward):
        outcome = PASSED if succeeded(reward.value) else FAILED
    opening = next(_user_words(result), "") if isinstance(result, Trajectory) else ""
    text = task.instructions.text()
    entry = Entry(
        item=task.id,
        trial=trial,
        title=_line(opening or text),
        scenario=task.scenario.value,
        length=result.steps if isinstance(result, Trajectory) else 0,
        outcome=outcome,
        detail=_line(lost.reason if lost else graded.detail),
        tools=names.seen,
        categories=tuple(dict.fromkeys(categories)),
        recorded=_joined([task.id, task.purpose, task.persona, text]),
        own=_joined(own),
    )
    shown = min((symptom.event for symptom in graded.symptoms), default=None)
    return _lasted(entry, result, shown) if isinstance(result, Trajectory) else entry


def findings(store: RunStore, conversation_id: str) -> tuple[str, ...]:
    """What detectors find in a failed replay, and what a judge called it; nothing where that cannot be read."""
    try:
        conversation = store.conversation(conversation_id)
        replay = store.trajectory(conversation_id)
        judge = str(store.note(labelling.NOTE, ""))
        stored = store.verdicts(judge, labelling.PROTOCOL, conversation_id) if judge else {}
    except StoreError:
        return ()
    if not isinstance(replay, Trajectory):
        return ()
    _, label = stored.get(None, ("", None))
    names: dict[str, None] = {}
    for case in cases_of(store, conversation, replay, label if isinstance(label, Verdict) else None):
        names |= dict.fromkeys(finding.detector.value for finding in case.findings)
        if case.label:
            names[case.label] = None
    return tuple(names)


def _damaged(item: str, trial: int, error: StoreError) -> Entry:
    line = str(error).rpartition(f"{DATABASE}: ")[2]  # where the run lies is nothing for a browser
    return Entry(item=item, trial=trial, detail=_line(line), outcome=ERRORED, categories=(Cause.DATA,))


def _of_replay(store: RunStore, replay: Trajectory | Failure | None) -> str:
    if replay is None or "replay" not in store.config.protocols:
        return NONE
    if isinstance(replay, Failure):
        return ERRORED
    return PASSED if replay.completed else FAILED


def _lasted(entry: Entry, result: Trajectory, first_error: int | None) -> Entry:
    tokens = result.usage.prompt_tokens + result.usage.completion_tokens
    return msgspec.structs.replace(
        entry, first_error=first_error, steps=result.steps, seconds=result.seconds, tokens=tokens
    )


class _Names:
    """Collects names of tools, each once, in order."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    def note(self, calls: Iterable[ToolCall]) -> None:
        """Take in the names of some calls."""
        for call in calls:
            if call.name:
                self._seen[call.name] = None

    @property
    def seen(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._seen)


def _opening(conversation: Conversation) -> str:
    first = (message for message in conversation.messages if isinstance(message, UserMessage))
    return _line(next((message.content for message in first), ""))


def _user_words(result: Trajectory) -> Iterator[str]:
    return (event.message.content for event in result.events if isinstance(event, Spoken))


def _lived(result: Trajectory, names: _Names, *, everything: bool) -> list[str]:
    """What a closed loop brought that its recording lacks; or all of it."""
    found: list[str] = []
    for event in result.events:
        if isinstance(event, Acted):
            found += _spoken([event.message], names)
            accepted = [verdict.accepted for verdict in event.verdicts]
            told = zip(event.results, accepted or [False] * len(event.results), strict=False)
            found += _spoken([one for one, recorded in told if everything or not recorded], names)
        elif everything and isinstance(event, Spoken):
            names.note(event.calls)
            found += [_called(call) for call in event.calls]
            found += _spoken((*event.results, event.message), names)
    return found


def _spoken(messages: Sequence[Message], names: _Names) -> Iterator[str]:
    for message in messages:
        if isinstance(message, AssistantMessage):
            names.note(message.calls)
            yield message.reasoning or ""
            yield message.content
            yield from map(_called, message.calls)
        elif isinstance(message, ToolMessage):
            yield _read(message.content)
        else:
            yield message.content


def _called(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name} {call.raw or ''}"
    return " ".join([call.name, *(f"{path} {value}" for path, value in leaves(call.arguments))])


def _read(content: str) -> str:
    """The words of a tool's result: JSON with escapes in it would hide some of them."""
    if "\\" in content and content[:1] in ("{", "["):
        try:
            return " ".join(f"{path} {value}" for path, value in leaves(msgspec.json.decode(content)))
        except (msgspec.DecodeError, RecursionError):
            return content
    return content


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _line(text: str) -> str:
    flat = " ".join(text[: 4 * _SHOWN].split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
