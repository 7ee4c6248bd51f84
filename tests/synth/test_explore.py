"""What a step tells of a call."""

from __future__ import annotations

import asyncio

import boatdomain
from boatdomain import call

from turngap.synth.explore import done, perform
from turngap.synth.plan import Step


def _step(name: str, kind: str, **arguments: object) -> Step:
    return asyncio.run(perform(boatdomain.domain().world(), call(name, **arguments), kind))  # type: ignore[arg-type]


def test_a_change_a_refusal_and_a_breach_are_told_apart() -> None:
    """A step says whether the state changed, whether the tool said no, and which rules were broken."""
    moved = _step("move_booking", "write", booking_id="BK-1042", date="2031-05-03")
    assert (moved.changed, moved.error, moved.breaches) == (True, False, ())
    past = _step("move_booking", "write", booking_id="BK-7", date="2031-05-03")
    assert (past.changed, past.error, past.breaches) == (False, True, ("past bookings stay as they are",))
    assert _step("cancel", "write", booking_id="BK-7").changed


def test_a_write_without_an_effect_changes_nothing() -> None:
    """To pay nothing succeeds and leaves the state as it is."""
    assert not _step("pay", "write", booking_id="BK-1042", amount=0).changed


def test_rules_see_a_step_as_a_call_with_its_result() -> None:
    """What the rules are told of earlier steps is what the agent read."""
    step = _step("get_booking", "read", booking_id="BK-9")
    seen = done(step)
    assert (seen.call, seen.result.content, seen.result.error) == (step.call, step.result, True)
