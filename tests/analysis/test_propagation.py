"""Error propagation: known dependence is recovered, none is invented, survival is Kaplan and Meier's."""

from __future__ import annotations

import asyncio
import itertools
import random
from pathlib import Path

import msgspec
import pytest
from scipy import stats

from turngap import jsonio, samples
from turngap.analysis.propagation import Propagation, analyse, propagation
from turngap.analysis.walk import FirstError, Step, Walk
from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.data import Category
from turngap.engines.base import Quiet
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore


def simulated(
    seed: int, *, clean: float, after: float, conversations: int = 60, hard: float = 0.0
) -> tuple[list[Walk], dict[tuple[str, int], float], dict[tuple[str, int], int]]:
    """Walks with known chances; `hard` takes that much off every chance in half of the conversations, gold too."""
    chance = random.Random(seed)
    walks, gold, places = [], {}, {}
    for at in range(conversations):
        name, off = f"c{at:03}", hard if at % 2 else 0.0
        steps: list[Step] = []
        first = None
        length = chance.randint(1, 12)
        for depth in range(1, length + 1):
            erred = first is not None
            right = chance.random() < (after if erred else clean) - off
            place = (name, 2 * depth)
            gold[place], places[place] = float(chance.random() < clean - off), depth
            steps.append(
                Step(
                    conversation=name,
                    decision=2 * depth,
                    depth=depth,
                    right=right,
                    resolved=right or chance.random() < 0.5,
                    after_error=erred,
                    after_unresolved=False,
                )
            )
            if not right and first is None:
                first = FirstError(depth=depth, tool="look", category=Category.WRONG_TOOL)
        walks.append(Walk(conversation=name, due=length, steps=tuple(steps), first=first))
    return walks, gold, places


def holds(interval: tuple[float, float] | None, truth: float) -> bool:
    """Whether an interval is there and holds a value."""
    return interval is not None and interval[0] <= truth <= interval[1]


def test_dependence_is_recovered() -> None:
    """Right at 0.85 when clean and 0.3 after an error: both, and their difference, lie in their intervals."""
    found = analyse(*simulated(3, clean=0.85, after=0.3))
    assert holds(found.clean.own.ci95, 0.85)
    assert holds(found.after_error.own.ci95, 0.3)
    assert holds(found.drop.ci95, 0.55)
    assert holds(found.adjusted.ci95, 0.55)
    assert found.drop.clear
    assert found.verdict.startswith("errors breed errors")
    assert "history's doing" in found.verdict


def test_hard_conversations_are_not_taken_for_propagation() -> None:
    """Where half of the conversations are hard throughout, the raw drop is there, and the adjusted one is not."""
    found = analyse(*simulated(5, clean=0.9, after=0.9, hard=0.5, conversations=300))
    assert found.drop.clear
    assert holds(found.adjusted.ci95, 0.0)
    assert "hard on recorded history too" in found.verdict


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.85, 0.3])
def test_the_intervals_cover_the_truth_in_93_to_97_of_100(after: float) -> None:
    """Over 300 simulated runs the 95% intervals of both conditions and of the drop cover what is true."""
    covered, rounds = dict.fromkeys(("clean", "after", "drop"), 0), 300
    for seed in range(rounds):
        found = analyse(*simulated(seed, clean=0.85, after=after), seed=seed)
        covered["clean"] += holds(found.clean.own.ci95, 0.85)
        covered["after"] += holds(found.after_error.own.ci95, after)
        covered["drop"] += holds(found.drop.ci95, 0.85 - after)
    # 93 to 97 of 100, and three standard errors of 300 rounds.
    for name, count in covered.items():
        assert 0.93 - 0.04 <= count / rounds <= 0.97 + 0.03, (name, count / rounds)


def test_survival_is_kaplan_and_meiers() -> None:
    """The curve is scipy's of first errors, replays without error being censored at their last step."""
    walks, gold, places = simulated(8, clean=0.85, after=0.5)
    ends = stats.CensoredData(
        uncensored=[walk.first.depth for walk in walks if walk.first],
        right=[len(walk.steps) for walk in walks if not walk.first],
    )
    theirs = stats.ecdf(ends).sf
    interval = theirs.confidence_interval(0.95, method="log-log")
    rows = analyse(walks, gold, places).depths
    for row in rows:
        if row.survival.n and row.depth in theirs.quantiles:
            at = list(theirs.quantiles).index(row.depth)
            assert row.survival.value == pytest.approx(theirs.probabilities[at])
            if row.survival.ci95 and 0 < row.survival.value < 1:
                ends_of = (interval.low.probabilities[at], interval.high.probabilities[at])
                assert row.survival.ci95 == pytest.approx(ends_of)
    assert [row.depth for row in rows] == list(range(1, 13))


def _walk(name: str, rights: list[bool]) -> Walk:
    """A replay that is right or wrong at each depth."""
    first = next((depth for depth, right in enumerate(rights, 1) if not right), None)
    return Walk(
        conversation=name,
        due=len(rights),
        steps=tuple(
            Step(
                conversation=name,
                decision=2 * depth,
                depth=depth,
                right=right,
                resolved=right,
                after_error=first is not None and depth > first,
                after_unresolved=False,
            )
            for depth, right in enumerate(rights, 1)
        ),
        first=None if first is None else FirstError(depth=first, tool="look", category=Category.WRONG_TOOL),
    )


def test_survival_never_widens_upwards_with_depth() -> None:
    """Where the last survivors fail, the interval from 0 ends no higher than that of one step less."""
    # Of 40 replays one more fails at each depth 2..4 than is left but two, and both of these at depth 5.
    lengths = [1] * 30 + [2] * 5 + [3] * 3 + [5] * 2
    walks = [_walk(f"c{at:02}", [True] * (length - 1) + [False]) for at, length in enumerate(lengths)]
    rows = analyse(walks, {}, {}).depths
    assert [row.survival.value for row in rows[:3]] == pytest.approx([10 / 40, 5 / 40, 2 / 40])
    assert rows[-1].survival.value == 0
    before, last = rows[-2].survival.ci95, rows[-1].survival.ci95
    assert before is not None
    assert last == (0.0, before[1])
    assert before[1] < 0.2


def test_survival_ends_fall_together() -> None:
    """Both ends of the survival interval fall, or stay, with every depth."""
    for seed in range(20):
        rows = analyse(*simulated(seed, clean=0.7, after=0.5, conversations=12)).depths
        ends = [row.survival.ci95 for row in rows if row.survival.ci95 is not None]
        for one, other in itertools.pairwise(ends):
            assert other[0] <= one[0]
            assert other[1] <= one[1]


def test_few_conversations_are_not_believed_too_far() -> None:
    """With 20 of 21 right in 5 conversations the interval is one of 5 conversations, and these are counted."""
    walks = [_walk(f"c{at}", [True] * 4) for at in range(4)] + [_walk("c4", [True] * 4 + [False])]
    clean = analyse(walks, {}, {}).clean
    assert (clean.own.n, clean.conversations) == (21, 5)
    assert clean.own.value == pytest.approx(20 / 21)
    assert analyse(walks, {}, {}).slip_conversations == 1
    assert clean.own.ci95 is not None
    # All of 5 give 0.478; the share of 21 steps would give 0.773.
    assert 0.4 < clean.own.ci95[0] < stats.binomtest(5, 5).proportion_ci().low
    assert 0.95 < clean.own.ci95[1] <= 1.0


def test_rows_by_depth_add_up() -> None:
    """At each depth the steps are those clean and those after an error; expected survival multiplies gold shares."""
    walks, gold, places = simulated(2, clean=0.8, after=0.5)
    found = analyse(walks, gold, places)
    expected = 1.0
    for row in found.depths:
        assert row.p_clean.n + row.p_after_error.n == row.n == row.p_gold.n
        assert row.p_gold.value is not None
        expected *= row.p_gold.value
        assert row.expected == pytest.approx(expected)
    assert sum(row.n for row in found.depths) == found.steps
    assert found.depths[0].p_after_error.value is None
    assert sum(found.first_errors.depth.values()) == sum(walk.first is not None for walk in walks)
    assert found.first_errors.tool == {"look": sum(found.first_errors.depth.values())}
    wrong = [step for walk in walks for step in walk.steps if not step.right]
    assert found.recovery.n == len(wrong)
    assert found.recovery.value == pytest.approx(sum(step.resolved for step in wrong) / len(wrong))


def test_sta_07_nothing_to_look_at_is_null() -> None:
    """STA-07: without replays, without gold scores or without errors figures are null with n 0; the JSON is strict."""
    nothing = analyse([], {}, {})
    assert (nothing.clean.own.value, nothing.drop.value, nothing.recovery.n, nothing.depths) == (None, None, 0, ())
    assert nothing.verdict == "no replay to look at"
    walks, _, _ = simulated(1, clean=1.0, after=1.0)
    flawless = analyse(walks, {}, {})
    assert flawless.after_error.own.n == flawless.clean.gold.n == flawless.recovery.n == 0
    assert flawless.clean.own.value == 1.0
    assert flawless.clean.own.ci95 is not None
    assert flawless.clean.own.ci95[0] < 1
    assert flawless.depths[0].expected is None
    assert flawless.verdict == "no step after an error to look at"
    assert "NaN" not in jsonio.dumps(msgspec.to_builtins(flawless, str_keys=True))


def analysed(directory: Path, spec: str, paths: tuple[str, ...], after_failure: str = "continue") -> Propagation:
    """Evaluate a baseline and analyse the run."""
    config = EvalConfig(
        data=DataConfig(paths=paths),
        model=ModelConfig(spec=spec),
        protocols=("strict", "replay"),
        replay=ReplayConfig(after_failure=after_failure),
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return propagation(store)


@pytest.fixture(scope="module")
def recordings(shared: Path) -> tuple[str, ...]:
    """Real recordings with 1042 tool decisions."""
    return (
        str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json"),
        str(shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"),
    )


def test_independent_errors_show_no_dependence(recordings: tuple[str, ...], tmp_path: Path) -> None:
    """A noisy baseline errs alike before and after an error, on its own history and on the recorded one."""
    found = analysed(tmp_path / "run", "baseline/noisy?p_tool=0.8&seed=1", recordings)
    assert found.after_error.own.n > 200
    for condition in (found.clean, found.after_error):
        assert holds(condition.own.ci95, 0.8)
        assert holds(condition.gold.ci95, 0.8)
        assert holds(condition.effect.ci95, 0.0)
    assert holds(found.drop.ci95, 0.0)
    assert holds(found.adjusted.ci95, 0.0)
    assert holds(found.recovery.ci95, 1 - 0.2**2)
    assert found.verdict.startswith("no sign that errors breed errors")


def test_a_baseline_that_gets_worse_is_found_out(recordings: tuple[str, ...], tmp_path: Path) -> None:
    """With `after_error=0.3` the analysis recovers 0.3, and the rate before errors, within their intervals."""
    found = analysed(tmp_path / "run", "baseline/noisy?p_tool=0.9&after_error=0.3&seed=1", recordings)
    assert holds(found.after_error.own.ci95, 0.3)
    assert holds(found.clean.own.ci95, 0.9)
    assert holds(found.after_error.gold.ci95, 0.9)
    assert holds(found.drop.ci95, 0.6)
    assert holds(found.after_error.effect.ci95, -0.6)
    assert found.verdict.startswith("errors breed errors")


def test_the_packaged_conversations_will_do(tmp_path: Path) -> None:
    """Without real recordings the same holds on the packaged ones; a run that stops at failures sees less."""
    path = (str(samples.path()),)
    whole = analysed(tmp_path / "run", "baseline/noisy?p_tool=0.8&after_error=0.3&seed=1", path)
    assert holds(whole.after_error.own.ci95, 0.3)
    assert holds(whole.clean.own.ci95, 0.8)
    stopped = analysed(tmp_path / "stopped", "baseline/noisy?p_tool=0.8&after_error=0.3&seed=1", path, "stop")
    assert stopped.after_failure == "stop"
    assert stopped.steps < whole.steps
    assert stopped.after_unresolved.own.n == 0
    assert stopped.error_free == whole.error_free
