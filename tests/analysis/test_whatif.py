"""What gates on one figure alone would let through."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from gateruns import make, outcomes
from trialruns import trial_run

from turngap.analysis.gate import Outcome, evaluate
from turngap.analysis.rule import Rule
from turngap.analysis.whatif import WhatIf, lent, what_if
from turngap.errors import UsageError
from turngap.report.gate_table import let_through
from turngap.runs.store import RunStore


def _table(rules: list[Rule], *runs: Path, baseline: Path | None = None) -> WhatIf:
    with ExitStack() as opened:
        stores = [opened.enter_context(RunStore.open(run)) for run in runs]
        before = opened.enter_context(RunStore.open(baseline)) if baseline else None
        pairs = [(store, evaluate(rules, store, before)) for store in stores]
        return what_if(rules, pairs, before, no_baseline="none")


def test_cheap_gates_let_through_what_fails_its_workflows(tmp_path: Path) -> None:
    """Turns at 95%, calls at 90%, replays at 50%, workflows at 10%: with 60% for all, turns and calls pass it."""
    run = make(
        tmp_path / "run",
        turn=outcomes(9, 1),
        strict=outcomes(9, 1),
        replay=outcomes(5, 5),
        workflow=outcomes(1, 9),
    )
    table = _table([Rule(metric="workflow.success", min=0.6)], run)
    found = {trial.metric: (trial.outcome, trial.let_through) for trial in table.runs[0].trials}
    assert found == {
        "turn.success": (Outcome.PASS, True),
        "turn.success.tool": (Outcome.PASS, True),
        "strict.exact": (Outcome.PASS, True),
        "replay.completed": (Outcome.FAIL, False),
        "workflow.success": (Outcome.FAIL, False),
    }


def test_nothing_is_let_through_when_workflows_pass_or_are_unknown(tmp_path: Path) -> None:
    """A gate lets through only what is known to fail; where something is undecided, nothing is said."""
    good = make(tmp_path / "good", turn=outcomes(9, 1), workflow=outcomes(9, 1))
    unknown = make(tmp_path / "unknown", turn=outcomes(9, 1), workflow=outcomes(1, 0, 9))
    table = _table([Rule(metric="workflow.success", min=0.6)], good, unknown)
    for run, turns in zip(table.runs, (False, None), strict=True):
        said = {trial.metric: trial.let_through for trial in run.trials}
        assert (said["turn.success"], said["strict.exact"]) == (turns, None)


def test_a_drop_is_tried_on_every_figure_too(tmp_path: Path) -> None:
    """With max_drop, a gate on turns passes the run whose workflows fell."""
    before = make(tmp_path / "before", turn=outcomes(10), workflow=outcomes(8, 2))
    after = make(tmp_path / "after", turn=outcomes(10), workflow=outcomes(2, 8))
    table = _table([Rule(metric="workflow.success", max_drop=0.1)], after, baseline=before)
    said = {trial.metric: trial.let_through for trial in table.runs[0].trials}
    assert said["turn.success"] is True
    assert said["workflow.success"] is False


def test_bounds_come_from_workflows_then_replays_then_the_first_rule() -> None:
    """Which rules lend their bounds, and what is said when none can."""
    turn, replay = Rule(metric="turn.success", min=0.8), Rule(metric="replay.completed", min=0.5)
    workflow, drop = Rule(metric="workflow.success", min=0.4), Rule(metric="workflow.success", max_drop=0.1)
    assert lent([turn, replay, workflow, drop]) == ("workflow.success", (workflow, drop))
    assert lent([turn, replay]) == ("replay.completed", (replay,))
    assert lent([turn, Rule(metric="strict.name", min=0.1)]) == ("turn.success", (turn,))
    with pytest.raises(UsageError, match="needs a rule with min or max_drop"):
        lent([Rule(metric="strict.spurious", max=0.1)])


def test_single_trials_let_through_what_does_not_hold_four_times(tmp_path: Path) -> None:
    """On live trials the pass^k of the rules is what is wanted in the end; the same bound is tried on cheaper figures."""
    marks = {f"t{number}": [1.0, 1.0, 1.0, 0.0] for number in range(10)}
    rules = [Rule(metric="pass^1", min=0.5), Rule(metric="pass^4", min=0.6)]
    with trial_run(tmp_path / "run", marks) as store:
        rows = [found for _, found in store.scores("reward")]
        store.replace_scores(
            "reward", [msgspec.structs.replace(one, values={**one.values, "reward.db": 1.0}) for one in rows]
        )
        table = what_if(rules, [(store, evaluate(rules, store))], None, no_baseline="none")
    assert (table.wanted, table.origin) == ("pass^4", "pass^4")
    found = {trial.metric: (trial.outcome, trial.let_through) for trial in table.runs[0].trials}
    assert found == {
        "reward.communicate": (Outcome.UNDECIDED, None),
        "reward.db": (Outcome.PASS, True),
        "reward": (Outcome.PASS, True),
        "pass^1": (Outcome.PASS, True),
        "pass^4": (Outcome.FAIL, False),
    }
    said = "its sets of 4 trials fail; let through by the gates on final databases, mean rewards, single trials"
    assert let_through(table, table.runs[0], "run 1") == f"run 1: {said}"


def test_runs_of_two_kinds_do_not_stand_in_one_table(tmp_path: Path) -> None:
    """Their figures have nothing in common."""
    rules = [Rule(metric="pass^1", min=0.5)]
    recorded = RunStore.open(make(tmp_path / "recorded", turn=outcomes(3)))
    with trial_run(tmp_path / "run", {"a": [1.0]}) as live, recorded as other:
        pairs = [(store, evaluate(rules, store)) for store in (live, other)]
        with pytest.raises(UsageError, match="runs of one kind"):
            what_if(rules, pairs, None, no_baseline="none")
