"""The summary of a run of trials: figures, what is left out, missing or spoiled, costs, audits."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from trialruns import score, trial_run

from turngap.analysis.rollout import Spent, summarise, to_document
from turngap.data import Trajectory
from turngap.data.task import Criteria
from turngap.report.rollout_table import rollout_table

NOTHING = Criteria()


def _shown(summary: object) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, highlight=False).print(rollout_table(summary, title="pelican"))  # type: ignore[arg-type]
    return stream.getvalue()


def test_one_success_among_errors_is_shown_as_one(tmp_path: Path) -> None:
    """STA-02: 10 tasks x 4 trials, 39 errored and 1 success: n is 1, errored 39, and the nine other tasks are listed."""
    marks = {f"t{task}": [1.0 if task == trial == 0 else "endpoint" for trial in range(4)] for task in range(10)}
    with trial_run(tmp_path / "run", marks) as store:
        summary = summarise(store)
    figure = summary.metrics["pass^1"]
    assert (figure.value, figure.n, figure.ci95) == (1.0, 1, pytest.approx((0.025, 1.0)))
    assert summary.n == {"tasks": 10, "trials": 40, "valid": 1, "errored": 39, "user_errors": 0, "missing": 0}
    assert summary.left_out["pass^1"] == 9 and summary.unmeasured == tuple(f"t{task}" for task in range(1, 10))
    assert summary.metrics["pass^2"].value is None
    assert any("no valid trial of 9 tasks: t1, t2, t3, t4, t5, ..." in note for note in summary.notes)
    assert any("39 x endpoint (EndpointError): 503" in note for note in summary.notes)
    shown = _shown(summary)
    assert "39 errored" in shown and "9 left out" in shown


def test_missing_trials_are_reported_and_never_filled(tmp_path: Path) -> None:
    """STA-04: a trial without a row is named; it is neither a failure nor in any denominator."""
    with trial_run(tmp_path / "run", {"a": [0.5, 0.5, None, 1.0], "b": [1.0, 1.0, 1.0, 1.0]}) as store:
        summary = summarise(store)
    assert summary.absent == {"a": (2,)} and summary.missing == {"rollout": 1} and summary.n["missing"] == 1
    assert summary.metrics["pass^1"].value == pytest.approx((1 / 3 + 1) / 2)
    assert {name: count for name, count in summary.left_out.items() if "[" not in name} == {
        "pass^4": 1,
        "pass^4.all": 1,
    }
    assert any("1 trials are missing: a (2)" in note for note in summary.notes)


def test_user_errors_stand_beside_the_reward(tmp_path: Path) -> None:
    """USR-10: twenty trials, five spoiled by the user: the rate, and the score without and with them."""
    marks = {f"t{task}": [1.0, 1.0, 1.0, "user"] for task in range(5)}
    with trial_run(tmp_path / "run", marks) as store:
        summary = summarise(store)
    values = {name: summary.metrics[name].value for name in ("user_error", "pass^1", "pass^1.all", "reward.all")}
    assert values == {"user_error": 0.25, "pass^1": 1.0, "pass^1.all": 0.75, "reward.all": 0.75}
    assert summary.ledger["rollout"].causes["user"] == 5
    shown = _shown(summary)
    assert "5 spoiled by the user" in shown and "user_error" in shown and "pass^1.all" in shown


def test_what_counted_and_what_was_only_observed_stay_apart(tmp_path: Path) -> None:
    """ENV-07: reward 1 by another path: the unmatched action is shown as not counted, on screen and in JSON."""
    with trial_run(tmp_path / "run", {"a": [1.0]}) as store:
        values = {"reward.db": 1.0, "reward.communicate": 1.0, "observed.action": 0.0}
        store.replace_scores("reward", [score("a", 0, 1.0, **values)])
        summary = summarise(store)
    assert summary.components == {
        "action": {"counted": 0, "observed": 1, "vacuous": 0},
        "communicate": {"counted": 1, "observed": 0, "vacuous": 0},
        "db": {"counted": 1, "observed": 0, "vacuous": 0},
    }
    assert "reward.action" not in summary.metrics and summary.metrics["observed.action"].value == 0.0
    lines = _shown(summary).splitlines()
    heading = next(at for at, line in enumerate(lines) if "looked at, not counted" in line)
    row = next(at for at, line in enumerate(lines) if "observed.action" in line)
    assert heading < row and "reference actions done (not" in lines[row]


def test_trials_whose_task_asks_for_nothing_are_counted_apart(tmp_path: Path) -> None:
    """An agent that tells nobody anything fails every task with a fact to tell, and is praised for none without."""
    with trial_run(
        tmp_path / "run", {"a": [0.0], "b": [1.0], "c": [1.0]}, criteria={"b": NOTHING, "c": NOTHING}
    ) as store:
        rows = [
            score(task, 0, mark, **{"reward.communicate": mark}) for task, mark in (("a", 0.0), ("b", 1.0), ("c", 1.0))
        ]
        store.replace_scores("reward", rows)
        summary = summarise(store)
    assert summary.metrics["reward.communicate"].value == 0.0 and summary.metrics["reward.communicate"].n == 1
    assert summary.components["communicate"] == {"counted": 1, "observed": 0, "vacuous": 2}
    assert summary.metrics["reward"].value == pytest.approx(2 / 3)
    assert "(2 trials ask for none)" in _shown(summary)


def test_scenarios_have_rows_of_their_own(tmp_path: Path) -> None:
    """Each figure is there per scenario too, and the table has a row for each."""
    marks = {"a": [1.0, 1.0], "b": [0.0, 1.0], "c": [0.0, 0.0]}
    scenarios = {"b": "ambiguous", "c": "infeasible"}
    with trial_run(tmp_path / "run", marks, scenarios=scenarios) as store:
        summary = summarise(store)
    found = {name: summary.metrics[f"pass^1[{name}]"].value for name in ("general", "ambiguous", "infeasible")}
    assert found == {"general": 1.0, "ambiguous": 0.5, "infeasible": 0.0}
    assert summary.metrics["pass^2[ambiguous]"].value == 0.0 and "pass^1[changing]" not in summary.metrics
    assert set(summary.ledger) == {"rollout", "rollout[general]", "rollout[ambiguous]", "rollout[infeasible]"}
    assert "infeasible" in _shown(summary)


def test_retried_trials_are_shown_beside_the_rest(tmp_path: Path) -> None:
    """STA-09: what had to be tried again, and how it went, stands beside what went well at once."""
    with trial_run(tmp_path / "run", {"a": ["endpoint", 1.0], "b": [0.0, 0.0]}) as store:
        store.trials.put("a", 0, Trajectory(conversation="a"))
        rows = [found for _, found in store.scores("reward")]
        store.replace_scores("reward", [score("a", 0, 1.0), *rows[1:]])
        summary = summarise(store)
    retried = summary.retried
    assert retried is not None
    assert (retried.trials, retried.reward.value, retried.rest.value) == (1, 1.0, pytest.approx(1 / 3))
    assert any("1 trial had to be tried again: reward 100.0%, the rest 33.3%" in note for note in summary.notes)


def test_the_audit_pairs_trials(tmp_path: Path) -> None:
    """Both users on the same trials: how far the score moves, over trials that are valid with either."""
    marks = {"a": [1.0, 0.0], "b": [1.0, 1.0]}
    with trial_run(tmp_path / "run", marks, audit={"b": [0.0, "user"]}) as store:
        audit = summarise(store).audit
    assert audit is not None
    assert (audit.tasks, audit.trials, audit.user_errors) == (1, 1, (0, 1))
    assert (audit.reward.value, audit.other.value, audit.moved.value) == (1.0, 0.0, 1.0)


def test_tau2_s_own_figures_and_the_trials_that_differ(tmp_path: Path) -> None:
    """Both are given, over all trials that took place for tau2's, and the trials that differ are named."""
    with trial_run(tmp_path / "run", {"a": [1.0, 0.0], "b": [0.0, "user"]}) as store:
        rows = [
            score("a", 0, 1.0, **{"tau2.reward": 1.0}),
            score("a", 1, 0.0, **{"tau2.reward": 1.0}),
            score("b", 0, 0.0, **{"tau2.reward": 0.0}),
            score("b", 1, "user", **{"tau2.reward": 0.0}),
        ]
        store.replace_scores("reward", rows)
        summary = summarise(store)
    assert summary.tau2_differs == ("a/1",)
    assert summary.metrics["tau2.pass^1"].value == 0.5 and summary.metrics["tau2.pass^2"].value == 0.5
    assert summary.metrics["tau2.reward"].n == 4
    assert "by tau2's own scoring" in _shown(summary)


def test_costs_and_latency_stand_with_their_task(tmp_path: Path) -> None:
    """Means over the trials that took place; a dash where no price is known."""
    with trial_run(tmp_path / "run", {"a": [1.0, 0.0], "b": [1.0, "endpoint"]}) as store:
        costs = {"steps": 4.0, "seconds": 2.0, "answer_seconds": 0.25, "tokens": 100.0, "user_tokens": 8.0, "cost": 0.5}
        twice = {name: 2 * value for name, value in costs.items()}
        rows = [score("a", 0, 1.0, **costs), score("a", 1, 0.0, **twice), score("b", 0, 1.0), score("b", 1, "endpoint")]
        store.replace_scores("reward", rows)
        summary = summarise(store)
    first, second = summary.per_task
    assert (first.user_tokens, second.user_tokens) == (12.0, None)
    assert summary.spending["agent"] == Spent(tokens=300, cost=1.5)
    assert summary.spending["user"] == Spent(tokens=24, cost=None)
    assert (first.steps, first.seconds, first.answer_seconds, first.tokens) == (6.0, 3.0, 0.375, 150.0)
    assert (first.cost, first.user_cost, first.successes, first.trials) == (0.75, None, 1, 2)
    assert (second.cost, second.errored, second.trials) == (None, 1, 1)


def test_the_document_is_strict_json_and_the_same_whatever_the_order(tmp_path: Path) -> None:
    """Rows in another order give the same bytes; nothing is NaN."""
    marks = {"a": [1.0, 0.0, "user"], "b": [0.0, 0.25, "endpoint"]}
    with trial_run(tmp_path / "run", marks, scenarios={"b": "changing"}) as store:
        one = json.dumps(to_document(summarise(store)), allow_nan=False)
        rows = [found for _, found in store.scores("reward")]
        store.replace_scores("reward", rows[::-1])
        assert json.dumps(to_document(summarise(store)), allow_nan=False) == one
