"""Which explorations are worth making tasks of."""

from __future__ import annotations

import pytest
from explorations import CANCEL, DELIVERED, FIND, HAND_OVER, RETURN, SUM, call, explored

from turngap.synth import keep
from turngap.synth.plan import Fact, LostError


@pytest.mark.parametrize("effect", [CANCEL, HAND_OVER, SUM], ids=lambda call: str(call.name))
def test_changes_hand_overs_and_calculations_are_kept(effect: object) -> None:
    """Each is something that a task can be graded by."""
    keep.require_use(explored([FIND, effect]))  # type: ignore[list-item]


def test_something_to_tell_is_enough() -> None:
    """An exploration that only finds out what the customer asks for is kept."""
    keep.require_use(explored([FIND, DELIVERED], facts=[Fact(step=1, path="status", value="delivered")]))


def test_looks_and_refusals_alone_are_lost_with_the_reason() -> None:
    """A refused return changes nothing, so there is nothing to grade by."""
    refused = call(RETURN.name, **{**(RETURN.arguments or {}), "order_id": "#W1"})
    with pytest.raises(LostError) as caught:
        keep.require_use(explored([FIND, DELIVERED, refused]))
    assert (caught.value.loss.stage, caught.value.loss.reason) == ("filter", "no effect and no fact")
    assert "1 of them refused" in caught.value.loss.detail
