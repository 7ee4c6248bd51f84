"""Content of every wire shape as one text."""

from __future__ import annotations

from typing import Any

import pytest

from turngap.errors import DataError
from turngap.formats.base import Findings, Place
from turngap.formats.content import text_of


@pytest.mark.parametrize(
    ("value", "is_result", "text"),
    [
        (None, False, ""),
        ([], False, ""),
        ("a", False, "a"),
        ([{"type": "text", "text": "a"}, "b", {"type": "output_text", "text": "c"}], False, "a\nb\nc"),
        ([{"type": "input_audio", "input_audio": {}}], False, "[audio]"),
        ({"ok": True}, True, '{"ok":true}'),
        ([1, 2], True, "[1,2]"),
        ([{"id": 1}], True, '[{"id":1}]'),
        ([{"type": "text", "text": "a"}], True, "a"),
        (5, True, "5"),
    ],
)
def test_text(value: Any, is_result: bool, text: str) -> None:
    """Each shape becomes the text that it stands for."""
    assert text_of(value, "content", Findings(Place(file="f")), is_result=is_result) == text


@pytest.mark.parametrize("value", [{"a": 1}, 5, [5]])
def test_no_text(value: Any) -> None:
    """Where text should be, anything else is an error."""
    with pytest.raises(DataError, match="content"):
        text_of(value, "content", Findings(Place(file="f")))
