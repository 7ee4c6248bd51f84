"""What was said in a conversation, as lines of a report."""

from __future__ import annotations

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Repaired,
    Spoken,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from turngap.report.transcript import LONGEST, call_line, event_lines, text_line

_CALL = ToolCall(name="move", arguments={"to": "2 May"})
_RESULT = ToolMessage(name="move", content="ok")


def test_words_are_whose_they_are() -> None:
    """User, instruction, agent; an answer without words or calls says so."""
    events = (
        Spoken(message=UserMessage(content="Hello")),
        Spoken(message=SystemMessage(content="Be brief")),
        Acted(message=AssistantMessage(content="Hi")),
        Acted(message=AssistantMessage()),
    )
    lines = [line for event in events for line in event_lines(event)]
    assert [(line.who, line.text, line.mark) for line in lines] == [
        ("user", "Hello", ""),
        ("system", "Be brief", ""),
        ("agent", "Hi", ""),
        ("agent", "", "empty answer"),
    ]


def test_a_call_stands_before_its_result_with_what_was_ruled() -> None:
    """Accepted is good news, rejected bad; a result that is an error says so."""
    verdicts = (CallVerdict(accepted=True), CallVerdict(accepted=False, category=Category.WRONG_TOOL, attempt=2))
    message = AssistantMessage(content="One moment", calls=(_CALL, _CALL))
    failed = ToolMessage(name="move", content="no", error=True)
    said, first, result, second, error = event_lines(
        Acted(message=message, results=(_RESULT, failed), verdicts=verdicts)
    )
    assert (said.who, first.label, result.text) == ("agent", "move", "ok")
    assert (first.mark, first.good) == ("accepted", True)
    assert (second.mark, second.good) == ("rejected: wrong_tool, attempt 2", False)
    assert (error.who, error.mark) == ("result", "error")


def test_what_a_user_did_with_own_tools_stands_before_the_words() -> None:
    """A live user acts, then speaks."""
    call, result, words = event_lines(
        Spoken(message=UserMessage(content="It is on."), calls=(_CALL,), results=(_RESULT,))
    )
    assert (call.who, call.mark) == ("call", "by the user")
    assert (result.text, words.text) == ("ok", "It is on.")


def test_a_repair_says_where_it_comes_from() -> None:
    """What was put in from the recording is not the model's."""
    (line,) = event_lines(Repaired(decision=0, message=AssistantMessage(content="As recorded")))
    assert line.mark == "put in from the recording"


def test_a_malformed_call_is_shown_as_it_was_written() -> None:
    """ING-01: with why it could not be read, whatever else is known of it."""
    line = call_line(ToolCall(name="move", arguments=None, raw="{to", error="ends early"), mark="required", good=True)
    assert (line.text, line.mark, line.good) == ("{to", "malformed: ends early, required", False)


def test_long_texts_say_how_much_is_left_out() -> None:
    """VIEW-04: up to a limit that a page bears."""
    line = text_line("result", "x" * (LONGEST + 7))
    assert (len(line.text), line.more) == (LONGEST, 7)
