"""How far verdicts of a run can be relied on."""

from __future__ import annotations

import pytest

from turngap.analysis.agreement import AskedAgain, about_judging, agreement

_SAID = {
    "turn:x": {("a", 0): 1.0, ("a", 1): 1.0, ("a", 2): 0.0, ("b", 0): 0.0},
    "turn:y": {("a", 0): 1.0, ("a", 1): 0.0, ("a", 2): 0.0, ("b", 1): 1.0},
    "workflow:x": {("a", -1): 1.0},
}


def test_judges_are_compared_on_what_all_of_them_judged() -> None:
    """Units that one judge lacks are left aside; a protocol with one judge has no agreement."""
    found = agreement(_SAID.__getitem__, {"turn": ("x", "y"), "workflow": ("x",)}, 0)
    assert list(found) == ["turn"]
    assert found["turn"].n == 3
    assert found["turn"].observed == pytest.approx(2 / 3)
    # By chance: 2/3 * 1/3 + 1/3 * 2/3.
    assert found["turn"].kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))


def test_without_common_units_nothing_is_claimed() -> None:
    """No share and no kappa, and a sentence that says so."""
    said = {"turn:x": {("a", 0): 1.0}, "turn:y": {("b", 0): 1.0}}
    found = agreement(said.__getitem__, {"turn": ("x", "y")}, 0)
    assert (found["turn"].n, found["turn"].observed, found["turn"].kappa) == (0, None, None)
    assert list(about_judging({}, found)) == ["turn: x, y agree on - of 0 units (Cohen kappa not defined)"]


def test_verdicts_that_were_hard_to_get_are_set_beside_the_others() -> None:
    """Only where there are any."""
    again = {
        "turn@x": AskedAgain(n=2, success=0.5, first_try_n=8, first_try_success=0.75),
        "turn@y": AskedAgain(n=0, success=None, first_try_n=8, first_try_success=1.0),
    }
    assert list(about_judging(again, {})) == [
        "turn@x had to be asked again for 2 verdicts, of which 50.0% are a success; of its 8 others 75.0%"
    ]
