"""Doing calls again."""

from __future__ import annotations

from boatdomain import call as boat_call
from boatdomain import domain as boats
from explorations import CANCEL, FIND, HAND_OVER, MOVE, PENDING, STRANGER, SUM, USER, shop, trajectories
from hypothesis import given

from turngap.synth.replay import go_on, is_calculation, kinds, replay


def test_says_what_came_of_each_call() -> None:
    """Each step has its result, what kind of tool it was, and whether it changed anything."""
    done = replay(shop(), [FIND, PENDING, CANCEL, CANCEL])
    assert [step.kind for step in done.steps] == ["read", "read", "write", "write"]
    assert [step.changed for step in done.steps] == [False, False, True, False]
    assert done.refused == (3,)
    assert done.results[0].content == "u"
    assert done.results[3].error


def test_starts_from_the_initial_state() -> None:
    """A task's initial state is in the world before the first call."""
    start = {"initialization_data": {"agent_data": {"orders": {"#W1": {"status": "delivered"}}}}}
    assert replay(shop(), [CANCEL], start).refused == (0,)
    assert replay(shop(), [CANCEL]).refused == ()


def test_sees_rules_that_depend_on_what_was_done() -> None:
    """A cancellation for somebody whom nobody has identified is against a rule; afterwards it is not."""
    assert replay(shop(), [CANCEL]).breaching == (0,)
    assert replay(shop(), [FIND, CANCEL]).breaching == ()


def test_goes_on_where_others_left_off() -> None:
    """Rules see the calls that were made before."""
    domain = shop()
    world = domain.world()
    before = go_on(world, domain, [FIND])
    assert go_on(world, domain, [CANCEL], before)[0].breaches == ()


def test_takes_steps_as_calls() -> None:
    """Steps can be done again as they are, in a domain of somebody's own too."""
    domain = boats()
    done = replay(domain, [boat_call("get_booking", booking_id="BK-7"), boat_call("cancel", booking_id="BK-1042")])
    assert replay(domain, done.steps) == done or replay(domain, done.steps).steps == done.steps
    assert kinds(domain)["cancel"] == "write"
    assert kinds(domain, "user") == {"look_at_ticket": "read"}


def test_tells_calculations_from_the_rest() -> None:
    """A calculation neither looks at the state nor hands over."""
    steps = replay(shop(), [SUM, HAND_OVER, USER]).steps
    assert [is_calculation(step) for step in steps] == [True, False, False]


@given(trajectories())
def test_the_same_calls_give_the_same(calls: list) -> None:  # type: ignore[type-arg] # hypothesis hands the values over
    """Results and digest do not depend on anything but the calls."""
    one, other = replay(shop(), calls), replay(shop(), calls)
    assert (one.steps, one.digest) == (other.steps, other.digest)


def test_a_step_changes_exactly_when_the_digest_does() -> None:
    """What is repeated without effect is no change."""
    done = replay(shop(), [FIND, MOVE, MOVE, STRANGER])
    assert [step.changed for step in done.steps] == [False, True, False, False]
