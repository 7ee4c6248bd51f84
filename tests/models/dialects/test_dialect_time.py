"""Whatever a model writes, reading it takes time in proportion to its length."""

from __future__ import annotations

import time

import pytest

from turngap.data import ToolSpec
from turngap.models import dialects
from turngap.models.reading import Reading, ToolView, read

_VIEW = ToolView((ToolSpec(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}),))
_LENGTH = 1_000_000


def _read(text: str, *, where: str = "content") -> Reading:
    return read({"content": "", where: text}, _VIEW, dialects.ALL)


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "\n",
        "\t\n",
        "[",
        "{",
        "[\n",
        '{"a":',
        "call:",
        "call: ",
        "call:f{a:",
        "<|tool_call> ",
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>x</tool_call>",
        "<function=",
        "<function= ",
        "<parameter=",
        "<think>",
        "<think></think>",
        "<think>x</think><tool_call>",
        "```json\n{",
        "```a",
        "f(",
        "[f(\n",
        "f(1)\nx\n",
        '{"a":1},\n',
        "[TOOL_CALLS] [",
        '"arguments" ',
        "f ",
        "1",
    ],
)
@pytest.mark.parametrize("before", ["", "{x", "call:f{a:'", "<function=f><parameter=a>", '[TOOL_CALLS] [{"name": "'])
def test_a_megabyte_of_anything_is_read_in_seconds(before: str, unit: str) -> None:
    """No repetition of what dialects look for makes reading it quadratic: that would take many minutes here."""
    began = time.monotonic()
    _read(before + unit * (_LENGTH // len(unit)) + "x")
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "text",
    [
        f"call:f{{a:{'9' * 5000}}}",
        f"<function=f><parameter=a>{'9' * 5000}</parameter></function>",
        f"[f(a={'1+' * 5000}1)]",
        f"[f(a={'-' * 150}x)]",
        f"{'f.' * 3000}f(a=1)",
        "<tool_call>" + '{"function":' * 900 + "1" + "}" * 900,
        "<tool_call>" + '{"tool_calls":[' * 400 + "1" + "]}" * 400,
        "<tool_call>" + "[" * 900 + "1" + "]" * 900,
    ],
)
def test_numbers_without_end_and_deep_nests_do_not_raise(text: str) -> None:
    """What Python refuses to convert or to recurse into is a malformed call or text."""
    _read(text)
    _read(text, where="reasoning_content")


def test_nested_bundles_are_unpacked_in_order() -> None:
    """Arrays in arrays and objects with tool_calls hold their calls in reading order."""
    one, two, three = (f'{{"name": "f", "arguments": {{"a": {number}}}}}' for number in (1, 2, 3))
    text = f'<tool_call>[[{one}], {{"tool_calls": [{two}]}}, {three}]</tool_call>'
    assert [call.arguments for call in _read(text).message.calls] == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_calls_beyond_the_bound_stay_text() -> None:
    """A thousand envelopes are read; what stands behind them is kept as text and not lost."""
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>' * 1001
    message = _read(text).message
    assert len(message.calls) == 1000
    assert message.content == text[-len(text) // 1001 :]


def test_a_long_python_literal_is_a_malformed_call() -> None:
    """Arguments beyond the bound are tried as JSON only."""
    short, long = ("{'a': [" + "1, " * number + "]}" for number in (10, 50_000))
    found = [_read(f"<function=f>{text}</function>").message.calls[0] for text in (short, long)]
    assert [call.error is None for call in found] == [True, False]
    assert found[1].raw == long
