"""From a server's message to text, calls and reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turngap.data import AssistantMessage, Finish, ToolSpec
from turngap.errors import UsageError
from turngap.jsonio import JsonError
from turngap.models.reading import Reading, finish_of, reparse

_HERMES = '<tool_call>{"name":"get_booking","arguments":{"booking_id":"BK-1042"}}</tool_call>'


@pytest.fixture
def read(boat_tools: tuple[ToolSpec, ...]) -> Any:
    """Read a message of the boat-hire desk."""

    def reader(parser: str = "auto", **message: Any) -> Reading:
        return reparse(json.dumps({"role": "assistant", **message}), boat_tools, parser)

    return reader


def _native(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": str(index), "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(pairs)
    ]


def test_native_calls_are_taken_with_their_text(read: Any) -> None:
    """ING-14: text beside native calls is kept, the message is one tool decision."""
    reading = read(content="I will check that now.", tool_calls=_native(("get_booking", '{"booking_id":"BK-1042"}')))
    assert reading.message.content == "I will check that now."
    assert reading.message.calls[0].arguments == {"booking_id": "BK-1042"}
    assert reading.dialect == "native"


def test_ing_01_malformed_arguments_stay_a_call_with_their_text(read: Any) -> None:
    """ING-01: broken JSON is a malformed call that names the parse position."""
    raw = '{"booking_id": "BK-1042", "date": "2031-05-02"'
    (call,) = read(content=None, tool_calls=_native(("move_booking", raw))).message.calls
    assert call.arguments is None
    assert call.raw == raw
    assert "column" in (call.error or "")


def test_ing_02_arguments_that_are_no_object(read: Any) -> None:
    """ING-02: strings, lists, numbers and null are malformed for a tool that requires something, else they are {}."""
    calls = read(
        content=None,
        tool_calls=_native(
            *(("get_booking", text) for text in ('"BK-1042"', "[1]", "17", "null")),
            ("list_slots", "null"),
            ("list_slots", ""),
            ("list_slots", None),
        ),
    ).message.calls
    assert [call.arguments for call in calls] == [None] * 4 + [{}] * 3


def test_ing_04_double_encoded_whole_bodies_are_peeled(read: Any) -> None:
    """ING-04: a body encoded twice is an object; a string parameter that holds JSON stays the string it is."""
    first, second = read(
        content=None,
        tool_calls=_native(
            ("get_booking", json.dumps('{"booking_id": "BK-1042"}')),
            ("add_note", '{"booking_id": "BK-1", "text": "{\\"seats\\": 2}"}'),
        ),
    ).message.calls
    assert first.arguments == {"booking_id": "BK-1042"}
    assert second.arguments["text"] == '{"seats": 2}'


def test_ing_05_an_apostrophe_survives(read: Any) -> None:
    """ING-05: valid JSON wins untouched; a Python body is a noted repair."""
    first, second = read(
        content=None,
        tool_calls=_native(
            ("add_note", '{"text": "the customer\'s boat isn\'t back"}'), ("add_note", "{'text': 'ok'}")
        ),
    ).message.calls
    assert first.arguments == {"text": "the customer's boat isn't back"}
    assert first.notes == ()
    assert second.arguments == {"text": "ok"}
    assert second.notes == ("python_literal",)


def test_arguments_given_as_an_object_are_read(read: Any) -> None:
    """Servers that send an object instead of a JSON string are understood."""
    (call,) = read(content="", tool_calls=_native(("get_booking", {"booking_id": "BK-1"}))).message.calls
    assert call.arguments == {"booking_id": "BK-1"}


def test_a_legacy_function_call_is_a_call(read: Any) -> None:
    """The old function_call field counts, with a note."""
    reading = read(content=None, function_call={"name": "list_slots", "arguments": "{}"})
    assert reading.message.calls[0].name == "list_slots"
    assert "function_call" in reading.notes


def test_ing_13_content_in_every_form_gives_the_same_tool_decision(read: Any) -> None:
    """ING-13: null, empty, absent and [] beside a call are the same message."""
    calls = _native(("list_slots", "{}"))
    found = [read(tool_calls=calls, **extra) for extra in ({"content": None}, {"content": ""}, {}, {"content": []})]
    assert len({repr(one.message) for one in found}) == 1


def test_content_parts_are_joined_and_thoughts_kept_apart(read: Any) -> None:
    """Text parts are the text, thinking parts are reasoning, other parts are noted."""
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    reading = read(content=[*parts, {"type": "image_url", "image_url": {"url": "x"}}])
    assert reading.message == AssistantMessage(content="AB", reasoning="hm")


def test_a_refusal_is_text(read: Any) -> None:
    """A refusal without content is what the model said."""
    reading = read(content=None, refusal="I cannot do that.")
    assert reading.message.content == "I cannot do that."
    assert "refusal" in reading.notes


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_fields_are_kept_apart(read: Any, field: str) -> None:
    """Reasoning in a field of its own is never text."""
    assert read(content="Hello.", **{field: "think"}).message == AssistantMessage(content="Hello.", reasoning="think")


def test_a_call_after_think_counts(read: Any) -> None:
    """Text dialects are tried on what remains when the thoughts are taken out."""
    reading = read(content=f"<think>I need {_HERMES}?</think>\nI look.\n{_HERMES}")
    assert reading.message.content == "I look."
    assert len(reading.message.calls) == 1
    assert reading.dialect == "hermes"
    assert "from_reasoning" not in reading.notes


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning_content": f"I should look it up. {_HERMES}"},
        {"content": None, "reasoning": f"I should look it up. {_HERMES}\n"},
        {"content": f"<think>I should look it up. {_HERMES}"},
        {"content": f"<think>I should look it up. {_HERMES}</think>"},
    ],
)
def test_ing_08_a_trailing_call_in_reasoning_counts(read: Any, message: dict[str, Any]) -> None:
    """ING-08: with no call and no text elsewhere, the complete call that ends the reasoning counts, noted."""
    reading = read(**message)
    assert reading.message.calls[0].arguments == {"booking_id": "BK-1042"}
    assert "from_reasoning" in reading.notes
    assert "from_reasoning" in reading.message.calls[0].notes


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning_content": f"{_HERMES} would be one way, but first I ask."},
        {"content": "Which booking?", "reasoning_content": f"Maybe {_HERMES}"},
        {"content": "", "reasoning_content": _HERMES.removesuffix("</tool_call>")},
    ],
)
def test_ing_08_a_considered_call_does_not_count(read: Any, message: dict[str, Any]) -> None:
    """ING-08: a call that was gone on from, that text followed, or that is incomplete does not count."""
    reading = read(**message)
    assert reading.message.calls == ()
    assert reading.message.content == message["content"]


def test_ing_08_only_the_last_group_of_calls_counts(read: Any) -> None:
    """ING-08: an earlier consideration is not executed beside the trailing call."""
    other = _HERMES.replace("1042", "7")
    reading = read(content="", reasoning=f"Perhaps {other}. No: {_HERMES}")
    assert [call.arguments["booking_id"] for call in reading.message.calls] == ["BK-1042"]


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ('{"name":"get_booking","parameters":{"booking_id":"BK-1"}}', "json"),
        ('[get_booking(booking_id="BK-1")]', "python"),
        ('call:get_booking{booking_id:<|"|>BK-1<|"|>}', "gemma"),
        ('<tool_call>{"name":"get_booking","arguments":{"booking_id":"BK-1"}}</tool_call>', "hermes"),
        ("<function=get_booking><parameter=booking_id>BK-1</parameter></function>", "xml"),
    ],
)
def test_ing_10_calls_in_text_are_recognised_and_the_dialect_recorded(read: Any, content: str, dialect: str) -> None:
    """ING-10: every dialect is tried in turn; the one that fits is recorded, and its name alone suffices too."""
    for parser in ("auto", dialect):
        reading = read(parser, content=content)
        assert reading.dialect == dialect
        assert reading.message.content == ""
        assert [(call.name, call.arguments) for call in reading.message.calls] == [
            ("get_booking", {"booking_id": "BK-1"})
        ]


@pytest.mark.parametrize(
    "content",
    [
        _HERMES,
        "I call get_booking(BK-1) now.",
        '{"name":"get_booking","parameters":{"booking_id":"BK-1"}}',
        "<｜tool▁calls▁begin｜>x",
    ],
)
def test_ing_10_what_looks_like_a_call_and_was_not_read_is_noted(read: Any, content: str) -> None:
    """ING-10: with the parser off (or none that fits), the text stays and the note says so."""
    reading = read("none", content=content)
    assert reading.message == AssistantMessage(content=content)
    assert "unparsed_call" in reading.notes


@pytest.mark.parametrize("content", ["Done, your booking is on 2 May.", "Use the get_booking form.", "", '{"a": 1}'])
def test_ordinary_text_is_not_noted(read: Any, content: str) -> None:
    """Text that only mentions a tool raises no suspicion."""
    assert read(content=content).notes == ()


def test_native_calls_win_over_text(read: Any) -> None:
    """When the server parsed calls, text is only text."""
    reading = read(content=_HERMES, tool_calls=_native(("list_slots", "{}")))
    assert [call.name for call in reading.message.calls] == ["list_slots"]


def test_a_call_entry_of_the_wrong_shape_stays_a_malformed_call(read: Any) -> None:
    """Whatever stands in tool_calls is a call: nothing raises, nothing vanishes."""
    calls = read(
        content=None, tool_calls=[None, {}, {"function": "x"}, {"function": {"arguments": "[]"}}]
    ).message.calls
    assert len(calls) == 4
    assert {call.name for call in calls} == {""}


def test_prv_11_names_come_back_as_the_tools_own() -> None:
    """PRV-11: a name that went out changed is stored as the recording has it, native or in text."""
    tools = (ToolSpec(name="bookings.get"), ToolSpec(name="bookings_get"))
    message = {"content": None, "tool_calls": _native(("bookings_get_2", "{}"), ("bookings_get", "{}"))}
    assert [call.name for call in reparse(json.dumps(message), tools, "auto").message.calls] == [
        "bookings.get",
        "bookings_get",
    ]
    text = json.dumps({"content": "[bookings_get_2()]"})
    assert reparse(text, tools, "auto").message.calls[0].name == "bookings.get"


def test_finish_reasons() -> None:
    """Length and filter are told apart; everything else is a stop."""
    reasons = ["stop", "tool_calls", None, "length", "content_filter", "odd"]
    assert [finish_of(reason) for reason in reasons] == [
        Finish.STOP, Finish.STOP, Finish.STOP, Finish.LENGTH, Finish.FILTER, Finish.STOP,
    ]  # fmt: skip


def test_an_unknown_parser_lists_the_known_ones(read: Any) -> None:
    """A wrong --tool-parser says what there is."""
    with pytest.raises(UsageError, match="auto, none, hermes, xml, gemma, json, python"):
        read("hermse", content="x")


def test_a_raw_that_is_no_message_is_refused(boat_tools: tuple[ToolSpec, ...]) -> None:
    """Baselines have no raw output; asking to read it again is an error with a name."""
    with pytest.raises(JsonError):
        reparse("", boat_tools, "auto")
