"""Where values come from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from boatdomain import domain as boats
from explorations import (
    CANCEL,
    DELIVERED,
    ELM,
    EVERYTHING,
    EXCHANGE,
    FIND,
    HAND_OVER,
    HOME,
    LAMP,
    MOVE,
    MUG,
    PENDING,
    PRODUCTS,
    RETURN,
    STRANGER,
    SUM,
    SWAP,
    USER,
    a_booking,
    call,
    explored,
    noor,
    shop,
)
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolCall
from turngap.synth.known import Known
from turngap.synth.offer import at, leaves, token
from turngap.synth.plan import Argument, LostError, Origin
from turngap.synth.provenance import Tracer, trace
from turngap.synth.replay import replay


def traced(*calls: ToolCall) -> dict[tuple[int, str], Argument]:
    """The arguments of a trajectory in the small shop by step and path."""
    found = trace(shop(), noor(), replay(shop(), calls).steps)
    return {(one.step, one.path): one for one in found}


def origins(found: dict[tuple[int, str], Argument], step: int) -> dict[str, Origin]:
    """Path -> origin, of one step."""
    return {path: one.source.origin for (at_step, path), one in found.items() if at_step == step}


def test_who_the_user_is_only_the_user_knows() -> None:
    """The first look-up is made of what the user says, the second of its result."""
    found = traced(FIND, USER)
    assert found[0, "email"].source.origin is Origin.USER
    assert (found[1, "user_id"].source.origin, found[1, "user_id"].source.step) == (Origin.OUTPUT, 0)


def test_one_of_several_orders_is_a_choice() -> None:
    """A result that lists orders offers a choice; the place in it is named, and how many there are."""
    source = traced(FIND, USER, PENDING)[2, "order_id"].source
    assert (source.origin, source.step, source.path, source.among) == (Origin.CHOICE, 1, "orders[0]", 2)


def test_an_order_number_that_nothing_showed_comes_from_the_user() -> None:
    """And it stays what the user said when a later result lists it too."""
    found = traced(FIND, PENDING, USER, CANCEL)
    assert found[1, "order_id"].source.origin is Origin.USER
    assert found[3, "order_id"].source.origin is Origin.USER


def test_items_are_chosen_where_they_are_offered() -> None:
    """The old item among those of the order, the new one among the variants of the product."""
    found = traced(FIND, USER, PENDING, LAMP, SWAP)
    old, new = found[4, "item_ids[0]"].source, found[4, "new_item_ids[0]"].source
    assert (old.origin, old.path, old.among) == (Origin.CHOICE, "items[1].item_id", 2)
    assert (new.origin, new.path, new.among) == (Origin.CHOICE, 'variants["22"].item_id', 2)


def test_what_the_tool_would_not_take_is_no_choice() -> None:
    """Of an order with one kind of item only that can be returned, though its product has three variants."""
    source = traced(FIND, USER, DELIVERED, MUG, RETURN)[4, "item_ids[0]"].source
    assert (source.origin, source.step, source.among) == (Origin.OUTPUT, 2, 1)


def test_what_the_tool_would_take_is_a_choice() -> None:
    """An exchange can be settled with any payment method of the customer, not only with the order's own."""
    source = traced(FIND, USER, DELIVERED, MUG, EXCHANGE)[4, "payment_method_id"].source
    assert (source.origin, source.step, source.among) == (Origin.CHOICE, 1, 3)


def test_half_an_address_is_none() -> None:
    """The country of a new address is the user's word, though the old address has the same."""
    found = traced(FIND, USER, PENDING, MOVE)
    assert {origins(found, 3)[part] for part in ELM if part != "address2"} == {Origin.USER}


def test_the_address_that_a_result_shows_is_taken_from_it() -> None:
    """To send an order to the address of the account takes no word of the user about streets."""
    home = noor().record["address"]
    found = traced(FIND, USER, PENDING, call("modify_pending_order_address", order_id="#W1", **home))
    assert {origins(found, 3)[part] for part in home} == {Origin.OUTPUT}


def test_what_a_call_was_given_is_nothing_that_it_tells() -> None:
    """An order's own number in the order is an echo, not where the number comes from."""
    source = traced(FIND, USER, PENDING, CANCEL)[3, "order_id"].source
    assert (source.origin, source.step) == (Origin.CHOICE, 1)


def test_a_calculation_is_made_of_what_was_seen() -> None:
    """Every number has to stand in an earlier result."""
    assert traced(FIND, USER, PENDING, LAMP, SUM)[4, "expression"].source.origin is Origin.COMPUTED
    with pytest.raises(LostError, match="a value comes from nowhere"):
        traced(FIND, USER, call("calculate", expression="1234.5 - 5.0"))


def test_a_summary_is_the_agents_own() -> None:
    """What a hand-over says, the agent words."""
    assert traced(HAND_OVER)[0, "summary"].source.origin is Origin.AGENT


def test_the_default_of_a_parameter_is_a_constant() -> None:
    """One seat is what the tool takes anyway; two are not."""
    steps = [call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=seats) for seats in (1, 2)]
    found = trace(boats(), a_booking(), replay(boats(), steps).steps)
    assert [one.source.origin for one in found if one.path == "seats"] == [Origin.CONSTANT, Origin.USER]


def test_what_stays_as_it_is_needs_no_word_of_the_user() -> None:
    """The seats of a booking that is moved stand in the booking."""
    steps = [
        call("get_booking", booking_id="BK-1042"),
        call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=2),
    ]
    found = trace(boats(), a_booking(), replay(boats(), steps).steps)
    assert [one.source.origin for one in found if one.step == 1] == [Origin.USER, Origin.USER, Origin.OUTPUT]


@pytest.mark.parametrize("steps", [[STRANGER], [FIND, MUG], [FIND, USER, RETURN]])
def test_an_id_that_nobody_can_know_comes_from_nowhere(steps: Sequence[ToolCall]) -> None:
    """Somebody else's order, a product and an item that nothing has shown."""
    with pytest.raises(LostError) as lost:
        traced(*steps)
    assert lost.value.loss.stage == "trace"


def test_the_customer_can_be_made_to_know_more() -> None:
    """Somebody else's order number that the customer was given is what the user says."""
    (found,) = trace(shop(), noor(), replay(shop(), [STRANGER]).steps, told=["#W3"])
    assert found.source.origin is Origin.USER


def test_all_results_that_would_do_are_known() -> None:
    """The product of an order's item can be taken from the order or from the list of products."""
    steps = replay(shop(), [FIND, USER, PENDING, PRODUCTS, MUG]).steps
    (last,) = [one for one in Tracer(shop()).trace(Known(noor()), steps) if one.argument.step == 4]
    assert last.needs == (frozenset({2, 3}),)


@given(st.lists(st.sampled_from(EVERYTHING), max_size=8))
def test_tracing_is_total(calls: list[ToolCall]) -> None:
    """Every leaf of every step has one source, and what is said to stand in a result stands there."""
    steps = explored([FIND, USER, PRODUCTS, *calls, HOME]).steps
    found = Tracer(shop()).trace(Known(noor()), steps)
    wanted = [(index, path) for index, step in enumerate(steps) for path, _ in leaves(step.call.arguments)]
    assert [(one.argument.step, one.argument.path) for one in found] == wanted
    for one in found:
        source = one.argument.source
        if source.origin in (Origin.OUTPUT, Origin.CHOICE) and source.step is not None:
            assert source.step < one.argument.step
            there = at(steps[source.step].result, source.path)
            assert token(there) == token(one.argument.value) or token(one.argument.value) in str(there)
            assert (source.among > 1) is (source.origin is Origin.CHOICE)
