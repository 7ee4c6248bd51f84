"""Orders of models, where they flip, and which conversations cause it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import scored
from scipy import stats

from turngap.analysis.ranks import Ranks, ranks
from turngap.runs.store import RunStore

_NAMES = [f"c{at:02}" for at in range(30)]


def _run(directory: Path, turns: Sequence[float], done: Sequence[bool]) -> RunStore:
    """A run whose conversations have two decisions, of which so many are good, and are completed or not."""
    conversations = [scored.conversation(name, "ct") for name in _NAMES]
    judged = []
    for name, share in zip(_NAMES, turns, strict=True):
        judged += [scored.turn(name, 0, "tool", share > 0.25), scored.turn(name, 1, "text", share > 0.75)]
    scores = {
        "turn:rules": judged,
        "replay": [scored.replayed(name, one) for name, one in zip(_NAMES, done, strict=True)],
    }
    return scored.run(directory, conversations, scores)


@pytest.fixture
def flipped(tmp_path: Path) -> Ranks:
    """`talker` has the better turns, `doer` finishes more; `idler` has neither."""
    return ranks(
        [
            _run(tmp_path / "talker", [1.0] * 24 + [0.5] * 6, [True] * 6 + [False] * 24),
            _run(tmp_path / "doer", [1.0] * 10 + [0.5] * 20, [True] * 20 + [False] * 10),
            _run(tmp_path / "idler", [0.0] * 30, [False] * 30),
        ]
    )


def test_orders(flipped: Ranks) -> None:
    """Each figure has its order, best first, with the figures' own values."""
    orders = {order.metric: order for order in flipped.orders}
    assert orders["turn.success"].models == ("openai/talker", "openai/doer", "openai/idler")
    assert orders["replay.completed"].models == ("openai/doer", "openai/talker", "openai/idler")
    assert orders["replay.completed"].values[0].value == pytest.approx(20 / 30)
    assert orders["turn.success.tool"].places == (1, 1, 3)


def test_flips_and_what_causes_them(flipped: Ranks) -> None:
    """The flip names both models, its size, and the conversations in which the leader fails and the other does not."""
    flip = next(one for one in flipped.flips if one.cheap == "turn.success" and one.outcome == "replay.completed")
    assert (flip.leader, flip.other) == ("openai/talker", "openai/doer")
    assert flip.lead == pytest.approx((54 - 40) / 60)
    assert flip.outcome_lead == pytest.approx((6 - 20) / 30)
    assert flip.certainty > 0.9
    assert [cause.conversation for cause in flip.conversations[:2]] == ["c10", "c11"]
    assert {cause.conversation for cause in flip.conversations} == set(_NAMES[6:20])
    assert flip.conversations[0].cheap == (1.0, 0.5)
    assert flip.conversations[0].outcome == (0.0, 1.0)


def test_what_is_hidden_in_one_model(flipped: Ranks) -> None:
    """Conversations with good turns throughout whose workflow failed are named for each model."""
    hidden = {one.model: one for one in flipped.hidden if one.cheap == "turn.success"}
    assert hidden["openai/talker"].n == 24
    assert hidden["openai/talker"].failed == tuple(_NAMES[6:24])
    assert hidden["openai/doer"].failed == ()
    assert hidden["openai/idler"].n == 0


def test_taus_are_scipys(flipped: Ranks) -> None:
    """Kendall's tau-b between every two figures equals scipy's on the values, in its interval if that has a width."""
    values = {
        order.metric: dict(zip(order.models, (one.value for one in order.values), strict=True))
        for order in flipped.orders
    }
    assert len(flipped.taus) == 6
    for tau in flipped.taus:
        columns = [[values[name][model] for model in flipped.models] for name in (tau.first, tau.second)]
        assert tau.tau == pytest.approx(stats.kendalltau(*columns).statistic)
        assert tau.tau is not None
        assert tau.ci95 is None or tau.ci95[0] <= tau.tau <= tau.ci95[1]
        assert tau.ci95 is None or tau.ci95[0] < tau.ci95[1]


def test_equal_ends_are_no_flip_but_a_lead_that_vanishes(tmp_path: Path) -> None:
    """Where no model finishes anything, tau has no value and every lead vanishes, which is not called a flip."""
    chance = random.Random(1)
    stores = [
        _run(tmp_path / name, [float(chance.random() < p) for _ in _NAMES], [False] * 30)
        for name, p in (("a", 0.2), ("b", 0.5), ("c", 0.9))
    ]
    found = ranks(stores)
    assert {tau.tau for tau in found.taus if "replay.completed" in (tau.first, tau.second)} == {None}
    flips = [one for one in found.flips if one.cheap == "turn.success"]
    assert [(one.leader, one.outcome_lead) for one in flips].count(("openai/c", 0.0)) == 2
    assert all(one.conversations == () for one in flips)


def test_two_models_have_no_tau_and_the_same_order_no_flip(tmp_path: Path) -> None:
    """With two models there are orders and flips, no tau; agreement in order leaves nothing to tell."""
    worse = _run(tmp_path / "a", [0.0] * 30, [False] * 30)
    better = _run(tmp_path / "b", [1.0] * 30, [True] * 30)
    found = ranks([worse, better])
    assert (found.taus, found.flips) == ((), ())
    assert found.orders[0].models == ("openai/b", "openai/a")


def test_an_order_that_no_draw_changes_has_no_interval(tmp_path: Path) -> None:
    """Where every draw of conversations has the same order, tau stands without an interval of no width."""
    stores = [
        _run(tmp_path / name, [turn] * 30, [end] * 30)
        for name, turn, end in (("a", 0.0, False), ("b", 0.0, True), ("c", 1.0, True))
    ]
    found = {(tau.first, tau.second): tau for tau in ranks(stores).taus}
    tau = next(one for names, one in found.items() if names[0].startswith("turn") and not names[1].startswith("turn"))
    assert tau.tau == pytest.approx(0.5)
    assert tau.ci95 is None
