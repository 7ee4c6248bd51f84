"""Parting private reasoning from what is said."""

from __future__ import annotations

import pytest

from turngap.models.reasoning import field_of, split


@pytest.mark.parametrize(
    ("text", "said", "thoughts"),
    [
        ("Hello.", "Hello.", ""),
        ("  Hello <b>.  ", "  Hello <b>.  ", ""),
        ("<think>a</think>Hello.", "Hello.", "a"),
        ("\n<thinking>\na\n</thinking>\n\nHello.", "Hello.", "a"),
        ("a</think>Hello.", "Hello.", "a"),
        ("<think>never closed", "", "never closed"),
        ("<think></think>Hello.", "Hello.", ""),
        ("<think>a</think>One <think>b</think>two", "One two", "a\n\nb"),
        ("I <think> so", "I <think> so", ""),
        ('<tool_call>{"a": "<think>x</think>"}</tool_call>', '<tool_call>{"a": "<think>x</think>"}</tool_call>', ""),
        ("<think>maybe <tool_call>{}</tool_call></think>ok", "ok", "maybe <tool_call>{}</tool_call>"),
    ],
)
def test_split(text: str, said: str, thoughts: str) -> None:
    """Blocks before the first call, a lone closing tag and an opening tag without an end are reasoning."""
    assert split(text) == (said, thoughts)


def test_field_of_takes_the_first_that_holds_text() -> None:
    """Servers name the field differently; null and empty do not count."""
    assert field_of({"reasoning_content": None, "reasoning": "a"}) == "a"
    assert field_of({"reasoning_content": "", "content": "x"}) == ""
