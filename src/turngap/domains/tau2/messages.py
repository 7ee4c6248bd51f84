"""Messages of tau2 and events of a trajectory, one from the other, with nothing lost either way.

tau2 keeps a flat list: each message with calls is followed by one tool message a call, paired by id, and calls of the
user stand there as the agent's do, told apart by ``requestor``. A call whose arguments are no JSON object has no place
in that form, and did nothing to the world; it stands with its result in the ``raw_data`` of its message, under
``turngap``, where tau2's own tools leave it alone and reading finds it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Event,
    Finish,
    Repaired,
    Spoken,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from turngap.data.task import Side

OURS = "turngap"
"""The one key under which tau2's records hold what only turngap knows."""


_Pair = tuple[ToolCall, ToolMessage]


class _Call(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}
    id: str | None = ""
    requestor: Side = "assistant"


class _Kept(msgspec.Struct, frozen=True):
    """What tau2's form has no place for."""

    malformed: dict[str, _Pair] = {}
    """Position among the calls of the message -> a call without arguments, and its result."""
    reasoning: str | None = None
    finish: Finish = Finish.STOP
    notes: tuple[str, ...] = ()
    verdicts: tuple[CallVerdict, ...] = ()
    raw: str = ""


class _Raw(msgspec.Struct, frozen=True):
    turngap: _Kept = _Kept()


class Told(msgspec.Struct, frozen=True):
    """One message of tau2, as far as turngap reads it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    id: str | None = ""
    requestor: Side = "assistant"
    error: bool = False
    tool_messages: tuple[Told, ...] | None = None
    raw_data: Any = None

    def kept(self) -> _Kept:
        """What turngap wrote beside the message; nothing for messages of others."""
        held = self.raw_data
        return msgspec.convert(held, _Raw).turngap if isinstance(held, dict) and OURS in held else _Kept()


# ---- to tau2


def written(events: Iterable[Event], first: int = 0) -> list[dict[str, Any]]:
    """Events as messages of tau2, which load as they are.

    Args:
        events: of a trajectory.
        first: the number of messages that stand before them (``turn_idx``).
    """
    found: list[dict[str, Any]] = []
    for event in events:
        for message in _of_user(event) if isinstance(event, Spoken) else _of_agent(event):
            found.append({**message, "turn_idx": first + len(found), "timestamp": None})
    calls = 0
    for message in found:
        # Ids are numbers, so that the same trial is written alike each time; a call and its result share one.
        if message["role"] == "tool":
            message["id"] = f"call_{first}_{calls - message.pop('left')}"
        for call in message.get("tool_calls") or ():
            calls += 1
            call["id"] = f"call_{first}_{calls}"
    return found


def _of_user(event: Spoken) -> Iterator[dict[str, Any]]:
    if event.calls:
        sound, malformed = _sorted(event.calls, event.results)
        yield _message("user", None, sound, _Kept(malformed=malformed))
        yield from _results([result for _, result in sound], "user")
    role = "system" if isinstance(event.message, SystemMessage) else "user"
    yield {"role": role, "content": event.message.content}


def _of_agent(event: Acted | Repaired) -> Iterator[dict[str, Any]]:
    sound, malformed = _sorted(event.message.calls, event.results)
    kept = _Kept(malformed=malformed, reasoning=event.message.reasoning)
    if isinstance(event, Acted):
        kept = msgspec.structs.replace(
            kept, finish=event.finish, notes=event.notes, verdicts=event.verdicts, raw=event.raw
        )
    yield _message("assistant", event.message.content or None, sound, kept)
    yield from _results([result for _, result in sound], "assistant")


def _sorted(calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> tuple[list[_Pair], dict[str, _Pair]]:
    """Calls that tau2 can hold, each with its result, and the malformed ones by their position."""
    pairs = list(zip(calls, results, strict=True))
    malformed = {str(place): pair for place, pair in enumerate(pairs) if pair[0].arguments is None}
    return [pair for pair in pairs if pair[0].arguments is not None], malformed


def _message(role: Side, content: str | None, pairs: Sequence[_Pair], kept: _Kept) -> dict[str, Any]:
    calls = [{"id": "", "name": call.name, "arguments": call.arguments, "requestor": role} for call, _ in pairs]
    raw = None if kept == _Kept() else {OURS: msgspec.to_builtins(kept)}
    return {"role": role, "content": content, "tool_calls": calls or None, "raw_data": raw}


def _results(results: Sequence[ToolMessage], requestor: Side) -> Iterator[dict[str, Any]]:
    for place, result in enumerate(results):
        left = len(results) - 1 - place
        yield {"role": "tool", "content": result.content, "requestor": requestor, "error": result.error, "left": left}


# ---- from tau2


def read(told: Sequence[Told]) -> tuple[Event, ...]:
    """Messages of tau2 as events. A result is paired with its call by id, else by position.

    Raises:
        ValueError: a call has no result, or a result no call.
    """
    found: list[Event] = []
    calls: list[_Pair] = []
    messages = _flat(told)
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role == "tool":
            raise ValueError(f"message {place - 1} is a result without a call")
        asked = message.tool_calls or ()
        pairs = _paired(asked, messages[place : place + len(asked)], place)
        place += len(asked)
        malformed = message.kept().malformed
        for number in sorted(malformed, key=int):
            pairs.insert(int(number), malformed[number])
        if message.role == "assistant":
            found.append(_acted(message, pairs))
            continue
        calls += pairs
        if message.content or not pairs:
            found.append(_spoken(message, calls))
            calls = []
    if calls:
        found.append(_spoken(Told(role="user"), calls))
    return tuple(found)


def _flat(told: Sequence[Told]) -> list[Told]:
    return [one for message in told for one in (message.tool_messages or (message,))]


def _paired(asked: Sequence[_Call], results: Sequence[Told], place: int) -> list[_Pair]:
    if len(results) < len(asked) or any(result.role != "tool" for result in results):
        raise ValueError(f"message {place - 1} makes {len(asked)} calls; the results do not follow it")
    by_id = {result.id: result for result in results}
    if len(by_id) < len(results) or any(call.id not in by_id for call in asked):
        by_id = {}
    pairs = []
    for call, following in zip(asked, results, strict=True):
        result = by_id.get(call.id, following)
        message = ToolMessage(name=call.name, content=result.content or "", error=result.error)
        pairs.append((ToolCall(name=call.name, arguments=call.arguments), message))
    return pairs


def _acted(message: Told, pairs: list[_Pair]) -> Acted:
    kept = message.kept()
    return Acted(
        message=AssistantMessage(
            content=message.content or "", calls=tuple(call for call, _ in pairs), reasoning=kept.reasoning
        ),
        results=tuple(result for _, result in pairs),
        verdicts=kept.verdicts or tuple(CallVerdict(accepted=True) for _ in pairs),
        finish=kept.finish,
        notes=kept.notes,
        raw=kept.raw,
    )


def _spoken(message: Told, pairs: Sequence[_Pair]) -> Spoken:
    kind = SystemMessage if message.role == "system" else UserMessage
    return Spoken(
        message=kind(content=message.content or ""),
        calls=tuple(call for call, _ in pairs),
        results=tuple(result for _, result in pairs),
    )
