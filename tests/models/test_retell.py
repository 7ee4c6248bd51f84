"""Texts taken over from one conversation into another."""

from __future__ import annotations

import json
from typing import Any

from turngap.data import AssistantMessage, ToolCall, ToolMessage, UserMessage
from turngap.models.ground import Ground
from turngap.models.retell import retell


def _ground(words: str, result: dict[str, Any]) -> Ground:
    call = AssistantMessage(calls=(ToolCall(name="get_order", arguments={"order_id": result.get("order_id", "")}),))
    message = ToolMessage(name="get_order", content=json.dumps(result))
    return Ground([UserMessage(content=words), call, message])


_THEIRS = _ground(
    "Where is LF-1?",
    {"order_id": "LF-1", "name": "Ann Lee", "item": "desk lamp", "total": 89.0, "due": "2031-03-18", "rest": 1250.5},
)
_OURS = _ground(
    "Where is LF-22?",
    {"order_id": "LF-22", "name": "Bo Chen", "item": "teapot", "total": 33.5, "due": "2031-04-02", "rest": 7},
)


def test_facts_are_exchanged_in_the_way_they_were_written() -> None:
    """Ids, items, first names, amounts and spoken dates become those of the other history."""
    text = "Ann, order LF-1 (the desk lamp) for $89.00 arrives by March 18."
    assert retell(text, _THEIRS, _OURS) == "Bo, order LF-22 (the teapot) for $33.50 arrives by April 2."


def test_amounts_keep_their_separators() -> None:
    """A thousands separator in the old amount is one in the new."""
    assert retell("You still owe 1,250.50 dollars.", _THEIRS, _OURS) == "You still owe 7.00 dollars."


def test_what_has_no_counterpart_stays() -> None:
    """Numbers of the policy, and plain words, are left alone."""
    assert retell("Refunds take 5 to 7 days.", _THEIRS, _OURS) == "Refunds take 5 to 7 days."
    assert retell("Order LF-1 it is.", _THEIRS, Ground([])) == "Order LF-1 it is."


def test_a_text_stays_itself_in_its_own_history() -> None:
    """Retelling within the same history changes nothing."""
    text = "Ann, order LF-1 (the desk lamp) for $89.00 arrives by March 18."
    assert retell(text, _THEIRS, _THEIRS) == text
