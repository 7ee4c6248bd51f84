"""From the messages that people's files hold to the messages that turngap relies on.

`assemble` takes loose messages in file order and makes the invariants of `turngap.data.conversation` true: every call
gets exactly one result, in the order of the calls, directly behind its message. How results find their calls:

* inside the run of results behind a calling message, by id where exactly one open call has that id, else by order:
  real files reuse one id for different calls, repeat ids or have none;
* a result that stands later is attached only when its id names exactly one unanswered call;
* everything else is an orphan and is dropped; a call without a result gets a neutral stand-in.

Each deviation is noted as an oddity with its place; nothing changes without a note. Unknown roles are errors and are
raised by the formats, which know the wire.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from turngap.data import (
    ABSENT_RESULT,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from turngap.data.arguments import parse_call
from turngap.formats.base import Findings

_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)</\1>\s*", re.DOTALL)
_LOOKS_LIKE_CALL = re.compile(r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>")


class WireCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it stands in a file."""

    name: str
    arguments: Any
    """JSON text, an object, None, or whatever else was there."""
    id: str | None = None
    at: str = ""
    """Where it stands in the record, for oddities."""


class WireMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it stands in a file, with its content already made text."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    content: str = ""
    calls: tuple[WireCall, ...] = ()
    reasoning: str | None = None
    call_id: str | None = None
    """Of a result: the id it names."""
    name: str = ""
    """Of a result: the function it names."""
    error: bool = False
    absent: bool = False
    """Of a result: it was itself written as a stand-in."""
    at: str = ""
    """Where it stands in the record, for oddities."""


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome: policy apart, messages that obey the invariants."""

    policy: str
    messages: tuple[Message, ...]


class _Slot:
    """One call that waits for its result."""

    def __init__(self, wire: WireCall, call: ToolCall) -> None:
        self.id, self.at, self.call = wire.id, wire.at, call
        self.result: ToolMessage | None = None

    def answer(self, wire: WireMessage) -> None:
        content = ABSENT_RESULT if wire.absent else wire.content
        self.result = ToolMessage(content=content, name=self.call.name, error=wire.error, absent=wire.absent)


class _Turn:
    """An assistant message under construction, with the slots of its calls."""

    def __init__(self, message: AssistantMessage, slots: list[_Slot], at: str) -> None:
        self.message, self.slots, self.at = message, slots, at


def assemble(wires: Sequence[WireMessage], tools: Sequence[ToolSpec], findings: Findings) -> Assembled:
    """Make a conversation's messages out of loose ones.

    Args:
        wires: messages in file order.
        tools: the conversation's tools; they say whether empty arguments are complete.
        findings: where oddities are noted.
    """
    start = 0
    while start < len(wires) and wires[start].role == "system":
        start += 1
    policy = "\n\n".join(wire.content for wire in wires[:start])
    builder = _Builder({spec.name: spec for spec in tools}, findings)
    position = start
    while position < len(wires):
        wire = wires[position]
        position += 1
        if wire.role == "tool":
            results = [wire]
            while position < len(wires) and wires[position].role == "tool":
                results.append(wires[position])
                position += 1
            builder.results(results)
        elif wire.role == "assistant":
            builder.assistant(wire)
        else:
            kind = SystemMessage if wire.role == "system" else UserMessage
            builder.other(kind(content=wire.content))
    return Assembled(policy=policy, messages=builder.finish())


class _Builder:
    """Walks the messages once; `items` holds what stands so far."""

    def __init__(self, specs: dict[str, ToolSpec], findings: Findings) -> None:
        self.specs, self.findings = specs, findings
        self.items: list[_Turn | SystemMessage | UserMessage] = []
        self.open: list[_Slot] = []
        """Slots of the calling message that directly precedes."""
        self.unanswered: list[_Slot] = []
        """Slots of earlier calling messages."""

    def other(self, message: SystemMessage | UserMessage) -> None:
        self._close()
        self._drop_empty()
        self.items.append(message)

    def assistant(self, wire: WireMessage) -> None:
        self._close()
        slots = [self._slot(call) for call in wire.calls]
        content, reasoning = self._split_thought(wire)
        last = self.items[-1] if self.items else None
        if isinstance(last, _Turn) and not last.slots:
            if last.message.content.strip():
                self.findings.note("merged_assistant", f"continues {last.at}", wire.at)
            content = _join(last.message.content, content)
            reasoning = _join(last.message.reasoning or "", reasoning or "") or None
            self.items.pop()
        if not slots and _LOOKS_LIKE_CALL.search(content):
            self.findings.note("call_in_text", content.strip()[:60], wire.at)
        calls = tuple(slot.call for slot in slots)
        message = AssistantMessage(content=content, calls=calls, reasoning=reasoning)
        self.items.append(_Turn(message, slots, wire.at))
        self.open = slots

    def results(self, wires: list[WireMessage]) -> None:
        waiting: list[WireMessage] = []
        for wire in wires:
            named = [slot for slot in self.open if wire.call_id is not None and slot.id == wire.call_id]
            if len(named) == 1 and named[0].result is None:
                named[0].answer(wire)
            elif len(named) == 1:
                self.findings.note("repeated_result", f"of call {wire.call_id}", wire.at)
            elif not self._attach_late(wire, named):
                waiting.append(wire)
        for wire in waiting:
            self._answer_in_order(wire)

    def finish(self) -> tuple[Message, ...]:
        self._close()
        self._drop_empty()
        found: list[Message] = []
        for item in self.items:
            if not isinstance(item, _Turn):
                found.append(item)
                continue
            found.append(item.message)
            for slot in item.slots:
                if slot.result is None:
                    self.findings.note("absent_result", f"of {slot.call.name or 'a call'}", slot.at)
                    slot.result = ToolMessage(content=ABSENT_RESULT, name=slot.call.name, absent=True)
                found.append(slot.result)
        if not any(isinstance(item, _Turn) for item in self.items):
            self.findings.note("no_decision", "no assistant message")
        return tuple(found)

    def _close(self) -> None:
        self.unanswered.extend(slot for slot in self.open if slot.result is None)
        self.open = []

    def _drop_empty(self) -> None:
        last = self.items[-1] if self.items else None
        if isinstance(last, _Turn) and not last.slots and not last.message.content.strip():
            self.findings.note("empty_assistant", "no text, no calls", last.at)
            self.items.pop()

    def _slot(self, wire: WireCall) -> _Slot:
        at = wire.at
        call = parse_call(wire.name, wire.arguments, self.specs.get(wire.name))
        if not call.name:
            self.findings.note("empty_name", "no function name", at)
        if call.arguments is None:
            self.findings.note("malformed_call", f"{call.name}: {call.error}", at)
        elif call.notes:
            self.findings.note("repaired_call", f"{call.name}: {', '.join(call.notes)}", at)
        return _Slot(wire, call)

    def _split_thought(self, wire: WireMessage) -> tuple[str, str | None]:
        """Take a leading thought out of the text of a message that has no reasoning of its own."""
        thought = None if wire.reasoning else _THOUGHT.match(wire.content)
        if thought is None:
            return wire.content, wire.reasoning
        self.findings.note("think_in_text", f"{len(thought[2])} characters", wire.at)
        return wire.content[thought.end() :], thought[2].strip() or None

    def _attach_late(self, wire: WireMessage, named: list[_Slot]) -> bool:
        if named or wire.call_id is None:
            return False
        late = [slot for slot in self.unanswered if slot.id == wire.call_id and slot.result is None]
        if len(late) != 1:
            return False
        self.findings.note("late_result", f"of {late[0].at}", wire.at)
        late[0].answer(wire)
        return True

    def _answer_in_order(self, wire: WireMessage) -> None:
        free = [slot for slot in self.open if slot.result is None]
        fitting = [slot for slot in free if not wire.name or not slot.call.name or slot.call.name == wire.name]
        if not fitting:
            self.findings.note("orphan_result", f"{wire.name or 'a result'}: {wire.content.strip()[:40]}", wire.at)
            return
        if wire.call_id is not None:
            self.findings.note("result_by_order", f"id {wire.call_id}", wire.at)
        fitting[0].answer(wire)


def _join(first: str, second: str) -> str:
    return "\n".join(part for part in (first, second) if part.strip()) or second
