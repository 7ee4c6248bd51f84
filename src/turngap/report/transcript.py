"""What was said in a conversation, as lines of a report.

Texts are shown word for word, up to `LONGEST` characters of each; how much was left out is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turngap import jsonio
from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Event,
    Repaired,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from turngap.report.document import Line

LONGEST = 20_000
"""Characters of one text that are shown."""


def event_lines(event: Event) -> Iterator[Line]:
    """What was said, called and answered in one event."""
    if isinstance(event, Repaired):
        yield from message_lines(event.message, event.results, note="put in from the recording")
    elif isinstance(event, Acted):
        yield from message_lines(event.message, event.results, event.verdicts)
    else:
        yield from _call_lines(event.calls, event.results, (), "by the user")
        yield text_line("user" if isinstance(event.message, UserMessage) else "system", event.message.content)


def message_lines(
    message: AssistantMessage,
    results: Sequence[ToolMessage] = (),
    verdicts: Sequence[CallVerdict | None] = (),
    *,
    note: str = "",
) -> Iterator[Line]:
    """What was said and called in one message, with what came of the calls.

    Args:
        message: of the agent.
        results: of its calls, as far as there are any.
        verdicts: on its calls, as far as there are any.
        note: what is to be known about each of its lines.
    """
    if message.content or not message.calls:
        yield text_line("agent", message.content, mark=note if message.content else "empty answer")
    yield from _call_lines(message.calls, results, verdicts, note)


def call_line(call: ToolCall, *, mark: str = "", good: bool | None = None) -> Line:
    """A call as it was written; one that could not be read says so."""
    marks = [mark] if mark else []
    if call.arguments is None:
        marks.insert(0, f"malformed: {call.error}" if call.error else "malformed")
    text = call.raw if call.arguments is None and call.raw is not None else jsonio.dumps(call.arguments or {}, indent=2)
    good = False if call.arguments is None else good
    return text_line("call", text, label=call.name, mark=", ".join(marks), good=good)


def text_line(who: str, text: str, *, label: str = "", mark: str = "", good: bool | None = None) -> Line:
    """A text, up to `LONGEST` characters of it."""
    return Line(who=who, label=label, text=text[:LONGEST], mark=mark, good=good, more=max(0, len(text) - LONGEST))


def _call_lines(
    calls: Sequence[ToolCall], results: Sequence[ToolMessage], verdicts: Sequence[CallVerdict | None], note: str
) -> Iterator[Line]:
    for at, call in enumerate(calls):
        verdict = verdicts[at] if at < len(verdicts) else None
        if verdict is None:
            yield call_line(call, mark=note)
        else:
            yield call_line(call, mark=", ".join(filter(None, (note, _ruling(verdict)))), good=verdict.accepted)
        if at < len(results):
            result = results[at]
            yield text_line("result", result.content, label=result.name, mark="error" if result.error else "")


def _ruling(verdict: CallVerdict) -> str:
    attempt = f", attempt {verdict.attempt}" if verdict.attempt else ""
    return "accepted" if verdict.accepted else f"rejected: {verdict.category}{attempt}"
