"""Tracing values to their places and refilling them elsewhere, and the view of a history that both rely on."""

from __future__ import annotations

import json
from typing import Any

from turngap.data import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from turngap.models.ground import Ground, at, leaves
from turngap.models.slots import Called, Constant, Returned, Said, refill, trace


def _call(name: str, arguments: dict[str, Any], result: Any) -> list[Message]:
    calls = (ToolCall(name=name, arguments=arguments),)
    return [AssistantMessage(calls=calls), ToolMessage(name=name, content=json.dumps(result))]


def _order(color: str, words: str, *, order: str) -> Ground:
    """Somebody names an item by its color; the order holds two."""
    items = [{"item_id": "100-1", "color": "red"}, {"item_id": "100-2", "color": "blue"}]
    history = [UserMessage(content=f"I want to return the {color} mug. {words}")]
    return Ground([*history, *_call("get_order", {"order_id": order}, {"order_id": order, "items": items})])


def _best(value: Any, theirs: Ground, ours: Ground) -> list[Any]:
    """The best candidate of each origin."""
    return [next(refill(origin, ours))[0] for origin in trace(value, theirs)]


def test_an_argument_of_an_earlier_call_stays_that_argument() -> None:
    """An order that was looked up is the order that is changed."""
    theirs, ours = _order("red", "", order="LF-1"), _order("red", "", order="LF-2")
    assert Called("get_order", ("order_id",)) in trace("LF-1", theirs)
    assert set(_best("LF-1", theirs, ours)) == {"LF-2"}


def test_an_element_of_a_list_is_chosen_by_what_was_said() -> None:
    """The item whose color the customer named is taken, wherever it stands in the list."""
    theirs, ours = _order("red", "", order="LF-1"), _order("blue", "", order="LF-2")
    assert trace("100-1", theirs) == (Returned("get_order", ("items", 0, "item_id")),)
    assert _best("100-1", theirs, ours) == ["100-2"]


def test_an_origin_that_does_not_give_the_value_back_is_dropped() -> None:
    """The old item stands in the product too, but there the customer's words lead to the new one."""
    history = [
        UserMessage(content="Swap the red mug for a blue one."),
        *_call("get_order", {}, {"items": [{"item_id": "100-1", "name": "mug"}]}),
        *_call("get_product", {}, {"items": [{"item_id": "100-1", "c": "green"}, {"item_id": "100-2", "c": "blue"}]}),
    ]
    assert trace("100-1", Ground(history)) == (Returned("get_order", ("items", 0, "item_id")),)
    assert trace("100-2", Ground(history)) == (Returned("get_product", ("items", 1, "item_id")),)


def test_a_table_keyed_by_ids_is_entered_by_what_was_said() -> None:
    """Keys that are ids differ from history to history; the entry that was spoken of is taken."""
    theirs = Ground([UserMessage(content="the tin one"), *_call("shop", {}, {"v": {"71": {"id": "71", "m": "tin"}}})])
    variants = {"82": {"id": "82", "m": "iron"}, "83": {"id": "83", "m": "brass"}}
    ours = Ground([UserMessage(content="the brass one"), *_call("shop", {}, {"v": variants})])
    assert _best("71", theirs, ours) == ["83"]


def test_words_are_found_by_shape_and_neighbours() -> None:
    """Of two numbers of the same shape the one with the same word before it weighs more, then the later one."""
    theirs = Ground([UserMessage(content="from 10115 to 20095")])
    ours = Ground([UserMessage(content="to 50667 from 80331")])
    (origin,) = trace("20095", theirs)
    assert isinstance(origin, Said)
    assert next(refill(origin, ours))[0] == "50667"


def test_what_stands_nowhere_is_a_constant() -> None:
    """Enums, booleans and prose of the agent's own belong to the situation."""
    ground = _order("red", "", order="LF-1")
    assert trace("not_needed", ground) == (Constant("not_needed"),)
    assert trace(True, ground) == (Constant(True),)
    assert list(refill(Constant(True), ground)) == [(True, 1.0)]


def test_a_place_that_the_other_history_lacks_gives_nothing() -> None:
    """Without that tool's result, or such words, there is no candidate."""
    origin = Returned("get_order", ("items", 0, "item_id"))
    assert list(refill(origin, Ground([UserMessage(content="Hello")]))) == []
    assert list(refill(Called("get_order", ("order_id",)), Ground([]))) == []


def test_failed_results_are_no_ground() -> None:
    """A result with an error holds nothing to refer to, and does not hide the good one before it."""
    good = _call("get_order", {"order_id": "LF-1"}, {"total": 5})
    ground = Ground([*good, *_call("get_order", {"order_id": "LF-2"}, {"error": "no order LF-2"})])
    assert ground.results == {"get_order": {"total": 5}}


def test_results_belong_to_their_calls_in_order() -> None:
    """A result without a name belongs to the call at its place."""
    calls = (ToolCall(name="a", arguments={}), ToolCall(name="b", arguments={}))
    ground = Ground([AssistantMessage(calls=calls), ToolMessage(content="1"), ToolMessage(content="2")])
    assert ground.results == {"a": 1, "b": 2}


def test_every_leaf_is_at_its_path() -> None:
    """Walking to a leaf's path gives the leaf; null is no leaf and a wrong path gives None."""
    value = {"a": [1, {"b": None, "c": "x"}], "d": True}
    assert [at(value, path) for path, _ in leaves(value)] == [1, "x", True]
    assert at(value, ("a", 9)) is None
    assert at(value, ("d", "e")) is None
