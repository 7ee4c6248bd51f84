"""The horizon curve against a closed form: a model with known error rates, on samples and on real recordings."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from turngap import samples
from turngap.analysis.horizon import Horizon, horizon
from turngap.config import DataConfig, EvalConfig, HorizonConfig, ModelConfig
from turngap.data import Cause, Conversation, Score
from turngap.engines.base import Quiet
from turngap.formats import read
from turngap.protocols.evaluate import Services, evaluate
from turngap.protocols.horizon import starts
from turngap.runs.store import RunStore

MOST = 8


def measured(files: list[str], p: float, directory: Path, seed: int = 1) -> Horizon:
    """The curve of the noisy baseline; what it says to the user never disturbs a replay."""
    config = EvalConfig(
        data=DataConfig(paths=tuple(files)),
        model=ModelConfig(spec=f"baseline/noisy?p_tool={p}&seed={seed}"),
        protocols=("horizon",),
        horizon=HorizonConfig(max=MOST),
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return horizon(store)


def expected(files: list[str], p: float) -> list[tuple[int, float]]:
    """For each h: how many starts have h decisions ahead, and their mean chance; a due call has three attempts."""
    ahead = [
        kinds[place:]
        for conversation in read(DataConfig(paths=tuple(files)))
        for kinds in [[decision.kind for decision in starts(conversation)]]
        for place in range(len(kinds))
    ]
    passed = 1 - (1 - p) ** 3
    curve = []
    for h in range(1, MOST + 1):
        chances = [passed ** kinds[:h].count("tool") for kinds in ahead if len(kinds) >= h]
        curve.append((len(chances), math.fsum(chances) / len(chances)))
    return curve


def real(shared: Path) -> list[str]:
    """Two files of real recordings with more than 1000 tool decisions."""
    return [
        str(shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"),
        str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json"),
    ]


def check_curve(files: list[str], p: float, directory: Path) -> None:
    """Every interval holds the truth, and so does the prediction that knows both kinds of decisions."""
    curve, truth = measured(files, p, directory), expected(files, p)
    assert len(curve.points) == MOST and curve.errored == 0 and curve.starts == truth[0][0]
    for point, (n, chance) in zip(curve.points, truth, strict=True):
        assert point.measured.n == n
        assert point.measured.ci95 is not None and point.predicted_by_kind is not None
        low, high = point.measured.ci95
        assert low <= chance <= high, (point.h, chance, point.measured)
        assert low <= point.predicted_by_kind <= high
        assert point.predicted == pytest.approx((curve.points[0].measured.value or 0) ** point.h)


@pytest.mark.parametrize("p", [0.5, 0.7, 0.9])
def test_on_the_samples_the_curve_is_what_it_must_be(tmp_path: Path, p: float) -> None:
    """Independent errors: horizon.h is the mean over starts of the product of 1-(1-p)^3 over the calls ahead."""
    check_curve([str(samples.path())], p, tmp_path / "run")


@pytest.mark.parametrize("p", [0.5, 0.7])
def test_on_real_recordings_the_curve_is_what_it_must_be(shared: Path, tmp_path: Path, p: float) -> None:
    """The same on two real files, of more than 1500 starts."""
    check_curve(real(shared), p, tmp_path / "run")


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(shared: Path, tmp_path: Path) -> None:
    """Over 20 seeds at least 16 of the 95% intervals hold the truth, at the near and the far end of the curve."""
    files = [str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json")]
    truth = expected(files, 0.6)
    covered = {1: 0, 4: 0, 8: 0}
    for seed in range(20):
        points = measured(files, 0.6, tmp_path / str(seed), seed).points
        for h in covered:
            low, high = points[h - 1].measured.ci95 or (1, 0)
            covered[h] += low <= truth[h - 1][1] <= high
    assert min(covered.values()) >= 16, covered


def test_the_furthest_horizon_from_the_first_decision_is_the_replay(tmp_path: Path) -> None:
    """The share of conversations survived from their first decision on equals what replay says of them."""
    config = EvalConfig(
        data=DataConfig(paths=(str(samples.path()),)),
        model=ModelConfig(spec="baseline/noisy?p_tool=0.5&seed=3"),
        protocols=("replay", "horizon"),
        horizon=HorizonConfig(max=1000),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        replayed = {score.conversation: score.success for _, score in store.scores("replay")}
        survived = {score.conversation: score.success for _, score in store.scores("horizon") if score.decision == 0}
    assert survived == replayed
    assert 0 < sum(survived.values()) < len(survived)


def _store(directory: Path, scores: list[tuple[str, int, int, int]], conversations: list[Conversation]) -> Horizon:
    config = EvalConfig(data=DataConfig(paths=("x",)), model=ModelConfig(spec="baseline/reference"))
    with RunStore.create(directory, config) as store:
        store.add_conversations(conversations)
        rows = [
            Score(
                protocol="horizon",
                conversation=name,
                decision=start,
                kind="tool" if start in (0, 2) else "text",
                success=survived == reach,
                cause=None if survived == reach else Cause.WRONG,
                values={"reach": float(reach), "survived": float(survived)},
            )
            for name, start, survived, reach in scores
        ]
        rows.append(
            Score(protocol="horizon", conversation="boat", decision=3, kind="text", success=False, cause=Cause.ENDPOINT)
        )
        store.replace_scores("horizon", rows)
        return horizon(store)


def test_the_curve_by_hand(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Three starts (tool, text, tool) and one errored: shares, n, both predictions."""
    found = _store(tmp_path / "run", [("boat", 0, 1, 4), ("boat", 1, 1, 3), ("boat", 2, 2, 2)], [boat_conversation])
    assert (found.starts, found.errored) == (4, 1)
    values = [(point.measured.value, point.measured.n) for point in found.points]
    assert values[:5] == [(1.0, 3), (1 / 3, 3), (0.0, 2), (0.0, 1), (None, 0)]
    assert [point.predicted for point in found.points[:2]] == [1.0, 1.0]
    assert found.points[0].predicted_by_kind == 1.0
    assert found.points[3].predicted == 1.0
    # With no start that far there is nothing to hold a prediction against.
    assert [(point.predicted, point.predicted_by_kind) for point in found.points[4:]] == [(None, None)] * 4
    assert all(point.measured.ci95 for point in found.points[:4])


def test_where_all_agree_the_interval_is_no_point(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Starts that all agree, of one conversation: it says next to nothing about others."""
    found = _store(tmp_path / "run", [("boat", 0, 4, 4), ("boat", 1, 3, 3), ("boat", 2, 2, 2)], [boat_conversation])
    low, high = found.points[0].measured.ci95 or (1, 0)
    assert low == pytest.approx(0.025) and high == 1.0


def test_a_run_without_the_protocol_has_no_curve(tmp_path: Path) -> None:
    """No points, rather than points of nothing."""
    config = EvalConfig(data=DataConfig(paths=("x",)), model=ModelConfig(spec="baseline/reference"))
    with RunStore.create(tmp_path / "run", config) as store:
        assert horizon(store) == Horizon(points=(), starts=0, errored=0)
