"""The release gate on runs of live trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from trialruns import score, trial_run

from turngap.analysis.gate import Outcome, evaluate
from turngap.analysis.rule import parse
from turngap.data.task import Criteria
from turngap.errors import DataError
from turngap.report.ruling import measured

_MANY = {f"t{number}": [1.0, float(number % 4 > 0)] for number in range(40)}
_WORSE = {f"t{number}": [float(number % 2), float(number % 4 > 0)] for number in range(40)}


def _rules(*lines: str) -> str:
    return "\n".join(f"[[rule]]\n{line}" for line in lines)


def test_rules_hold_pass_hat_k_to_its_bound(tmp_path: Path) -> None:
    """Values as in the summary; a rule with confidence wants the whole interval on the right side."""
    text = _rules(
        'metric = "pass^1"\nmin = 0.8',
        'metric = "pass^2"\nmin = 0.8',
        'metric = "pass^1"\nmin = 0.75\nconfidence = 0.95',
        'metric = "pass^1[general]"\nmin = 0.7\nconfidence = 0.9',
        'metric = "user_error"\nmax = 0.1',
    )
    with trial_run(tmp_path / "run", _MANY) as store:
        rulings = evaluate(parse(text), store).rulings
    assert [ruling.outcome for ruling in rulings] == [
        Outcome.PASS,
        Outcome.FAIL,
        Outcome.PASS,
        Outcome.PASS,
        Outcome.PASS,
    ]
    assert (rulings[0].value, rulings[0].n, rulings[1].value) == (0.875, 40, 0.75)


def test_errored_trials_leave_a_rule_undecided(tmp_path: Path) -> None:
    """STA-02: one success and 39 errored trials: the gate could not decide, exit code 2."""
    marks = {f"t{task}": [1.0 if task == trial == 0 else "endpoint" for trial in range(4)] for task in range(10)}
    with trial_run(tmp_path / "run", marks) as store:
        result = evaluate(parse(_rules('metric = "pass^1"\nmin = 0.5')), store)
    assert result.exit_code == 2
    assert "39 of 40 trials of the run are errored" in result.rulings[0].reason


def test_trials_that_count_neither_way_are_trials_and_called_what_they_are(tmp_path: Path) -> None:
    """A figure over tasks has its losses in trials; those that the user spoiled are not called errored."""
    marks = {"a": [1.0, "user"], "b": ["user", "endpoint"], "c": [1.0, 1.0]}
    with trial_run(tmp_path / "run", marks) as store:
        ruling = evaluate(parse(_rules('metric = "pass^1"\nmin = 0.5')), store).rulings[0]
        allowed = evaluate(parse(_rules('metric = "pass^1"\nmin = 0.5\nmax_errored = 3')), store).rulings[0]
    assert ruling.outcome is Outcome.UNDECIDED
    assert ruling.reason == (
        "3 of 6 trials of the run count neither way (1 errored, 2 spoiled by the user), and the rule allows 0"
    )
    assert (ruling.errored, ruling.spoiled) == (1, 2)
    assert measured(ruling).endswith("1 errored, 2 spoiled by the user")
    assert (allowed.outcome, allowed.n) == (Outcome.PASS, 2)


def test_a_worse_run_never_passes_where_a_perfect_one_cannot(tmp_path: Path) -> None:
    """One failed trial among the eight of two tasks leaves the rule as undecided as none does."""
    rule = parse(_rules('metric = "pass^1"\nmin = 0.7\nconfidence = 0.95'))
    outcomes = []
    for name, last in (("perfect", 1.0), ("worse", 0.0)):
        with trial_run(tmp_path / name, {"a": [1.0] * 4, "b": [1.0, 1.0, 1.0, last]}) as store:
            outcomes.append(evaluate(rule, store).outcome)
    assert outcomes == [Outcome.UNDECIDED, Outcome.UNDECIDED]


def test_a_component_that_a_task_asks_nothing_of_decides_nothing(tmp_path: Path) -> None:
    """Where no task has a fact to tell, a rule on telling facts has n 0, whatever trials were given for it."""
    with trial_run(tmp_path / "run", {"a": [1.0], "b": [1.0]}, criteria={"a": Criteria(), "b": Criteria()}) as store:
        told = {"reward.communicate": 1.0, "reward.db": 1.0}
        store.replace_scores("reward", [score("a", 0, 1.0, **told), score("b", 0, 1.0, **told)])
        rules = parse(_rules('metric = "reward.communicate"\nmin = 0.5', 'metric = "reward.db"\nmin = 0.5'))
        facts, database = evaluate(rules, store).rulings
    assert facts.outcome is Outcome.UNDECIDED and "n is 0" in facts.reason
    assert database.outcome is Outcome.PASS


def test_no_interval_begins_with_minus_zero(tmp_path: Path) -> None:
    """A drop of nothing at all, in every view."""
    with trial_run(tmp_path / "old", _MANY) as old, trial_run(tmp_path / "new", _MANY) as new:
        ruling = evaluate(parse(_rules('metric = "pass^1"\nmax_drop = 0.3\nconfidence = 0.95')), new, old).rulings[0]
    assert ruling.outcome is Outcome.PASS
    assert "-0.0 " not in measured(ruling)


def test_a_figure_of_another_kind_of_run_is_undecided(tmp_path: Path) -> None:
    """Workflow figures are not in a run of trials, and the reason says what the run holds."""
    with trial_run(tmp_path / "run", {"a": [1.0]}) as store:
        rulings = evaluate(
            parse(_rules('metric = "workflow.success"\nmin = 0.5', 'metric = "pass^3"\nmin = 0.5')), store
        )
    assert all(ruling.outcome is Outcome.UNDECIDED for ruling in rulings.rulings)
    assert "not of recorded conversations" in rulings.rulings[0].reason
    assert "n is 0" in rulings.rulings[1].reason


def test_a_missing_trial_leaves_a_rule_undecided(tmp_path: Path) -> None:
    """STA-04: a partial grid decides nothing."""
    with trial_run(tmp_path / "run", {"a": [1.0, None], "b": [1.0, 1.0]}) as store:
        ruling = evaluate(parse(_rules('metric = "pass^1"\nmin = 0.5')), store).rulings[0]
    assert ruling.outcome is Outcome.UNDECIDED and "no score yet for 1 trial" in ruling.reason


def test_a_drop_is_paired_over_tasks(tmp_path: Path) -> None:
    """Over the tasks of both runs; other users or limits are another measurement."""
    text = _rules('metric = "pass^1"\nmax_drop = 0.05', 'metric = "reward"\nmax_drop = 0.3')
    with trial_run(tmp_path / "old", _MANY) as old, trial_run(tmp_path / "new", _WORSE) as new:
        dropped, allowed = evaluate(parse(text), new, old).rulings
        assert (dropped.value, dropped.n, dropped.outcome) == (0.25, 40, Outcome.FAIL)
        assert (allowed.value, allowed.n, allowed.outcome) == (0.25, 80, Outcome.PASS)
        old.set_note("user", {"user": "scripted", "version": 0})
        new.set_note("user", {"user": "scripted", "version": 1})
        other = evaluate(parse(text), new, old).rulings[0]
    assert other.outcome is Outcome.UNDECIDED and "user.version is 1, there 0" in other.reason


def test_a_drop_of_user_errors_is_no_harm() -> None:
    """Fewer user errors are better, so a rule on their drop is a mistake that is refused."""
    with pytest.raises(DataError, match="less is better"):
        parse(_rules('metric = "user_error[general]"\nmax_drop = 0.1'))


def test_that_the_reference_took_over_is_a_note(tmp_path: Path) -> None:
    """A gate rules on what it is given, and says whose figures they are."""
    with trial_run(tmp_path / "run", _MANY, model="corrected/openai/pelican") as store:
        result = evaluate(parse(_rules('metric = "pass^1"\nmin = 0.5')), store)
    assert result.exit_code == 0
    assert result.notes[0] == (
        "the reference agent takes over where the model errs; this says nothing about the model alone"
    )
