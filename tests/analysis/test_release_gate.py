"""The gate's one evaluation: pass, fail, could not decide, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from gateruns import CONFIG, make, outcomes
from scipy import stats

from turngap.analysis.gate import GateResult, Outcome, Ruling, evaluate, worst
from turngap.analysis.rule import Rule
from turngap.config import JudgeConfig, ReplayConfig
from turngap.data import AssistantMessage, Conversation, Score, UserMessage
from turngap.metrics.interval import wilson
from turngap.runs.store import RunStore

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def _gate(run: Path, *rules: Rule, baseline: Path | None = None) -> GateResult:
    with RunStore.open(run) as store:
        if baseline is None:
            return evaluate(rules, store)
        with RunStore.open(baseline) as before:
            return evaluate(rules, store, before)


def _ruling(run: Path, baseline: Path | None = None, /, **rule: Any) -> Ruling:
    return _gate(run, Rule(**{"metric": "workflow.success", **rule}), baseline=baseline).rulings[0]


def test_values_are_held_against_bounds(tmp_path: Path) -> None:
    """7 of 10: exactly on a bound keeps it, for min and for max."""
    run = make(tmp_path / "run", workflow=outcomes(7, 3))
    assert [_ruling(run, min=bound).outcome for bound in (0.0, 0.7, 0.71)] == [PASS, PASS, FAIL]
    assert [_ruling(run, max=bound).outcome for bound in (1.0, 0.7, 0.69)] == [PASS, PASS, FAIL]
    assert _ruling(run, min=0.71).reason == "70.0% is below 71%"
    assert _ruling(run, max=0.69).reason == "70.0% is above 69%"


def test_a_value_near_its_bound_is_shown_with_enough_digits(tmp_path: Path) -> None:
    """1999 of 5000 is 39.98%, and not shown as 40.0% below 40%."""
    run = make(tmp_path / "run", workflow=outcomes(1999, 3001))
    assert _ruling(run, min=0.4).reason == "39.98% is below 40%"


def test_confidence_asks_the_interval(tmp_path: Path) -> None:
    """With confidence the bound below, inside and above the interval is pass, undecided and fail; for max reversed."""
    run = make(tmp_path / "run", workflow=outcomes(30, 30))
    low, high = wilson(30, 60) or (0.0, 0.0)
    bounds = (low - 0.01, low + 0.01, 0.5, high - 0.01, high + 0.01)
    found = [_ruling(run, min=bound, confidence=0.95) for bound in bounds]
    assert [one.outcome for one in found] == [PASS, UNDECIDED, UNDECIDED, UNDECIDED, FAIL]
    assert found[0].interval == (low, high)
    assert found[1].reason.startswith("inconclusive: the 95% interval lies on both sides of ")
    found = [_ruling(run, max=bound, confidence=0.95) for bound in bounds]
    assert [one.outcome for one in found] == [FAIL, UNDECIDED, UNDECIDED, UNDECIDED, PASS]


def test_another_level_has_its_own_interval(tmp_path: Path) -> None:
    """A confidence of 0.8 asks the 80% interval of scipy: narrower, so it decides where 95% does not."""
    run = make(tmp_path / "run", workflow=outcomes(30, 30))
    theirs = stats.binomtest(30, 60).proportion_ci(0.8, method="wilson")
    found = _ruling(run, min=0.41, confidence=0.8)
    assert found.interval == pytest.approx((theirs.low, theirs.high))
    assert (found.level, found.outcome) == (0.8, PASS)
    assert _ruling(run, min=0.41, confidence=0.95).outcome is UNDECIDED


def test_overall_any_fail_fails_and_undecided_is_no_pass(tmp_path: Path) -> None:
    """Any fail -> 1; else any undecided -> 2; else 0."""
    run = make(tmp_path / "run", workflow=outcomes(7, 3))
    good, bad = Rule(metric="workflow.success", min=0.5), Rule(metric="workflow.success", min=0.9)
    unknown = Rule(metric="strict.exact", min=0.5)
    assert _gate(run, good).exit_code == 0
    assert _gate(run, good, unknown).exit_code == 2
    assert _gate(run, unknown, bad, good).exit_code == 1
    assert worst([]) is PASS
    with pytest.raises(ValueError, match="without rules"), RunStore.open(run) as store:
        evaluate([], store)


def test_sta_02_errored_units_leave_nothing_decided(tmp_path: Path) -> None:
    """STA-02: one success and 39 errored units: 100% with n 1 is shown with the 39, and the gate could not decide."""
    run = make(tmp_path / "run", workflow=outcomes(1, 0, 39))
    found = _ruling(run, min=0.5)
    assert (found.outcome, found.errored) == (UNDECIDED, 39)
    assert found.figure is not None
    assert (found.figure.value, found.figure.n) == (1.0, 1)
    assert found.reason == "39 of 40 units of the run are errored, and the rule allows 0"
    assert _ruling(run, min=0.5, max_errored=38).outcome is UNDECIDED
    allowed = _ruling(run, min=0.5, max_errored=39)
    assert (allowed.outcome, allowed.errored, allowed.n) == (PASS, 39, 1)


def test_errored_units_count_for_their_own_figure_only(tmp_path: Path) -> None:
    """An errored tool decision is no reason to doubt the text decisions of the same protocol."""
    run = make(tmp_path / "run", strict=outcomes(5, 0, 1), workflow=outcomes(6))
    assert _ruling(run, metric="strict.exact", min=0.5).outcome is UNDECIDED
    assert _ruling(run, metric="strict.spurious", max=0.1).outcome is PASS
    assert _ruling(run, metric="workflow.success", min=0.5).outcome is PASS


def test_sta_07_a_rule_on_nothing_cannot_be_decided(tmp_path: Path) -> None:
    """STA-07: a figure with n 0 (no unit of its kind, or its only unit errored) is undecided, never 0 and never NaN."""
    chat = Conversation(id="c", messages=(UserMessage(content="hello"), AssistantMessage(content="good day")))
    row = Score(
        protocol="strict",
        conversation="c",
        decision=0,
        kind="text",
        success=True,
        cause=None,
        values={"spurious": 0.0},
    )
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.add_conversations([chat])
        store.replace_scores("strict", [row])
        store.set_note("state", "finished")
    found = _ruling(tmp_path / "run", metric="strict.exact", min=0.0)
    assert (found.outcome, found.value, found.n) == (UNDECIDED, None, 0)
    assert "nothing was measured" in found.reason
    errored = make(tmp_path / "errored", strict=outcomes(0, 0, 1))
    found = _ruling(errored, metric="strict.exact", min=0.0, max_errored=1)
    assert (found.outcome, found.reason) == (
        UNDECIDED,
        "nothing was measured: the run has no unit of this kind (n is 0)",
    )


@pytest.mark.parametrize("state", ["started", "interrupted"])
def test_an_unfinished_run_is_undecided(tmp_path: Path, state: str) -> None:
    """Neither a run that was interrupted nor one that nobody works on any more is judged."""
    run = make(tmp_path / "run", workflow=outcomes(5), state=state)
    assert (
        _ruling(run, min=0.1).reason
        == "the run is not finished (interrupted); repeat its turngap eval command to go on"
    )


def test_units_without_a_score_leave_it_undecided(tmp_path: Path) -> None:
    """A run that lacks scores for part of its data is partial, whatever its state says."""
    run = make(tmp_path / "run", strict=outcomes(5), workflow=outcomes(4))
    assert _ruling(run, min=0.1).reason == "the run is partial: no score yet for 1 unit of workflow"
    assert _ruling(run, metric="strict.exact", min=0.1).outcome is PASS


def test_figures_that_the_run_does_not_have_are_undecided(tmp_path: Path) -> None:
    """A protocol that was not scored, and a judge who did not judge."""
    run = make(tmp_path / "run", workflow=outcomes(5))
    assert _ruling(run, metric="turn.success", min=0.1).reason == (
        "the run has no turn.success: it was not scored under turn (turngap eval --protocols)"
    )
    assert _ruling(run, metric="workflow.success@other", min=0.1).reason == (
        "the run has no workflow.success@other: 'other' did not judge it; judged by rules"
    )
    assert _ruling(run, metric="horizon.3", min=0.1).outcome is UNDECIDED


def test_horizon_points_are_figures(tmp_path: Path) -> None:
    """horizon.N counts the starts that have N decisions ahead; another level and a drop work too."""
    made = make(tmp_path / "run", workflow=outcomes(4))
    with RunStore.open(made, write=True) as store:
        rows = [
            Score(
                protocol="horizon",
                conversation=name,
                decision=start,
                kind="tool" if start == 0 else "text",
                success=True,
                cause=None,
                values={"reach": float(2 - start), "survived": float((2 - start) if name != "c000" else 0)},
            )
            for name in store.conversation_ids()
            for start in (0, 1)
        ]
        store.replace_scores("horizon", rows)
    found = _ruling(made, metric="horizon.2", min=0.75)
    assert (found.outcome, found.value, found.n) == (PASS, 0.75, 4)
    assert _ruling(made, metric="horizon.1", min=0.75, confidence=0.5).outcome is UNDECIDED
    assert _ruling(made, metric="horizon.3", min=0.1).outcome is UNDECIDED
    assert _ruling(made, made, metric="horizon.2", max_drop=0.0).outcome is PASS


def test_max_drop_holds_the_difference_against_the_bound(tmp_path: Path) -> None:
    """0.55 to 0.50 is a drop of 5 points and keeps max_drop 0.05; a rise keeps 0."""
    before = make(tmp_path / "before", workflow=outcomes(11, 9))
    after = make(tmp_path / "after", workflow=outcomes(10, 10))
    found = _ruling(after, before, max_drop=0.05)
    assert (found.outcome, found.n) == (PASS, 20)
    assert found.value == pytest.approx(0.05)
    assert found.reason == "dropped by 5.0 points, not above 5 points"
    assert _ruling(after, before, max_drop=0.04).outcome is FAIL
    risen = _ruling(before, after, max_drop=0.0)
    assert (risen.outcome, risen.reason) == (PASS, "rose by 5.0 points, not above 0 points")


def test_sta_10_a_drop_is_over_what_both_measured(tmp_path: Path) -> None:
    """STA-10: a run that lacks its hard conversations looks better than its baseline, and is not, on the common set."""
    hard = {f"hard{at}": False for at in range(20)}
    before = make(tmp_path / "before", workflow={**outcomes(60, 4), **hard})
    after = make(tmp_path / "after", workflow=outcomes(50, 14))
    result = _gate(after, Rule(metric="workflow.success", max_drop=0.05), baseline=before)
    found = result.rulings[0]
    assert found.figure is not None
    assert found.baseline is not None
    assert (found.figure.value, found.figure.n, found.baseline.n) == (50 / 64, 64, 84)
    assert found.figure.value > (found.baseline.value or 0)
    assert (found.outcome, found.n) == (FAIL, 64)
    assert found.value == pytest.approx(10 / 64)
    assert result.notes[-1] == (
        "run and baseline cover different conversations: 64 shared, 0 only in the run, 20 only in the baseline; "
        "a drop is over the shared ones"
    )


def test_sta_10_units_errored_in_one_run_are_in_no_pair(tmp_path: Path) -> None:
    """What the baseline could not measure is not compared, when the rule allows it at all."""
    before = make(tmp_path / "before", workflow=outcomes(8, 0, 2))
    after = make(tmp_path / "after", workflow=outcomes(8, 2))
    assert _ruling(after, before, max_drop=0.0).reason == (
        "2 of 10 units of the baseline are errored, and the rule allows 0"
    )
    found = _ruling(after, before, max_drop=0.0, max_errored=2)
    assert (found.outcome, found.n, found.value, found.errored) == (PASS, 8, 0.0, 2)


def test_a_missing_baseline_is_undecided(tmp_path: Path) -> None:
    """max_drop without a baseline, with the reason that the caller knows."""
    run = make(tmp_path / "run", workflow=outcomes(5))
    assert _ruling(run, max_drop=0.1).reason == "no baseline was given (--baseline RUN)"
    with RunStore.open(run) as store:
        found = evaluate([Rule(metric="workflow.success", max_drop=0.1)], store, no_baseline="it was lost")
    assert found.rulings[0].reason == "it was lost"
    unfinished = make(tmp_path / "unfinished", workflow=outcomes(5), state="interrupted")
    assert _ruling(run, unfinished, max_drop=0.1).reason.startswith("the baseline is not finished")


def test_a_baseline_on_other_data_is_undecided(tmp_path: Path) -> None:
    """Other conversations, or the same ids with other content: no drop is shown."""
    run = make(tmp_path / "run", workflow=outcomes(3))
    changed = make(tmp_path / "changed", workflow=outcomes(3), words="good morning")
    other = make(tmp_path / "other", workflow={"x": True})
    assert _ruling(run, changed, max_drop=0.1).reason == (
        "the baseline is on other data: conversation 'c000' and 2 more has other content there"
    )
    assert _ruling(run, other, max_drop=0.1).reason == (
        "the baseline is on other data: it shares no conversation with the run"
    )


def test_a_baseline_measured_in_another_way_is_undecided(tmp_path: Path) -> None:
    """Matcher, judge and replay rules are compared for the figures that they bear on, and for no other."""

    def store(name: str, **changes: Any) -> Path:
        config = msgspec.structs.replace(CONFIG, **changes)
        return make(tmp_path / name, config=config, workflow=outcomes(3), strict=outcomes(3), turn=outcomes(3))

    run = store("run")
    matcher = store("matcher", match=msgspec.structs.replace(CONFIG.match, coerce=False))
    judge = store("judge", judge=JudgeConfig(specs=("openai/judge",)))
    replay = store("replay", replay=ReplayConfig(attempts=1))
    model = store("model", model=msgspec.structs.replace(CONFIG.model, spec="baseline/nearest", temperature=0.7))

    def reasons(baseline: Path) -> dict[str, str]:
        names = ("strict.exact", "turn.success", "workflow.success")
        return {
            name: found.reason
            for name in names
            for found in [_ruling(run, baseline, metric=name, max_drop=0.1)]
            if found.outcome is UNDECIDED
        }

    assert reasons(matcher) == dict.fromkeys(
        ("strict.exact", "workflow.success"),
        "the baseline was measured in another way: match.coerce is True, there False",
    )
    assert reasons(judge) == dict.fromkeys(
        ("turn.success", "workflow.success"),
        "the baseline was measured in another way: judge.name is 'rules', there 'openai/judge'",
    )
    assert list(reasons(replay)) == ["workflow.success"]
    assert reasons(model) == {}


def test_what_a_rescoring_used_counts_and_not_what_the_run_was_made_with(tmp_path: Path) -> None:
    """The note that a re-scoring leaves is what two runs are compared by."""
    scoring = {"match": {"coerce": False}, "judges": {"rules": {"version": 1}}, "text": {}, "tool_parser": "auto"}
    run = make(tmp_path / "run", strict=outcomes(3))
    same = make(tmp_path / "same", strict=outcomes(3), scoring=scoring)
    assert "match." in _ruling(run, same, metric="strict.exact", max_drop=0.1).reason
    assert _ruling(same, same, metric="strict.exact", max_drop=0.1).outcome is PASS
