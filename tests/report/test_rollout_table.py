"""A rollout in the terminal: what fits 80 columns, and what a reader is told beside the figures."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from trialruns import score, trial_run

from turngap.analysis.rollout import summarise
from turngap.data.task import Criteria, EnvAssertion
from turngap.report.document import percent as on_the_page
from turngap.report.live_subject import live_subjects
from turngap.report.rollout_table import rollout_table
from turngap.report.table import percent
from turngap.runs.store import RunStore


def _shown(store: RunStore) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, highlight=False).print(rollout_table(summarise(store), title="pelican"))
    return stream.getvalue()


def test_no_word_is_broken_with_four_scenarios_and_many_trials(tmp_path: Path) -> None:
    """Names of scenarios and figures stay whole; of twenty pass^k the powers of two and the last have a row."""
    scenarios = dict(zip("abcd", ("general", "ambiguous", "changing", "infeasible"), strict=True))
    with trial_run(tmp_path / "run", {task: [1.0] * 19 + [0.0] for task in scenarios}, scenarios=scenarios) as store:
        out = _shown(store)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("  pass^")] == [
        f"pass^{k}" for k in (1, 2, 4, 8, 16, 20)
    ]
    for name in scenarios.values():
        assert sum(line.startswith(f"{name} ") for line in lines) == 2  # figures, ledger
    assert "rollout[" not in out and "all tasks" in out


def test_what_n_counts_is_said(tmp_path: Path) -> None:
    """Tasks here, trials there: below the figures."""
    with trial_run(tmp_path / "run", {"a": [1.0, 0.0], "b": [1.0, 1.0]}) as store:
        assert "n: tasks for pass^k and the floors, trials for all else" in _shown(store)


def test_the_audit_has_intervals(tmp_path: Path) -> None:
    """Of both rewards and of the share that came out otherwise."""
    marks = {"a": [1.0, 0.0], "b": [1.0, 1.0]}
    with trial_run(tmp_path / "run", marks, audit={"a": [1.0, 0.0], "b": [0.0, 1.0]}) as store:
        out = " ".join(_shown(store).split())
    assert "reward 50.0% (95% interval" in out and "against 75.0% (95% interval" in out
    assert "25.0% (95% interval" in out and "of trials came out otherwise" in out


def test_the_page_and_the_table_have_the_same_figures(tmp_path: Path) -> None:
    """One computation: whatever a report of trials shows is what the summary of the run says, rounded alike."""
    marks = {f"t{number}": [float(number % 3 > 0), float(number % 4 > 0)] for number in range(40)}
    with trial_run(tmp_path / "run", marks) as store:
        summary = summarise(store, seed=store.rollout.seed)
        (subject,) = live_subjects([store])
    assert subject.summary.metrics == summary.metrics
    for figure in summary.metrics.values():
        assert on_the_page(figure.value).strip("–—-") == percent(figure).strip("-")


def test_the_longest_names_are_whole(tmp_path: Path) -> None:
    """No figure loses the end of its name."""
    criteria = Criteria(env_assertions=(EnvAssertion(name="dry"),), nl_assertions=("It was dry.",))
    with trial_run(tmp_path / "run", {"a": [1.0]}, criteria={"a": criteria}) as store:
        values = {"observed.env_assertion": 1.0, "reward.nl_assertion": 1.0, "observed.communicate": 1.0}
        store.replace_scores("reward", [score("a", 0, 1.0, **values)])
        out = _shown(store)
    assert "observed.env_assertion " in out and "reward.nl_assertion " in out and "\u2026" not in out


def test_that_the_reference_took_over_stands_above_the_figures(tmp_path: Path) -> None:
    """Once, before anybody has read a figure; of a model that acts alone nothing is said."""
    with trial_run(tmp_path / "run", {"a": [1.0], "b": [0.0]}, model="corrected/openai/pelican") as store:
        store.set_note("recovered", {"trials": 2, "differed": 2, "recovered": 1})
        out = _shown(store)
        words = " ".join(out.split())
    said = "in 2 of 2 trials a decision of the model was corrected, with success in 1 of them; this says"
    assert words.count(said) == 1
    assert words.index(said) < words.index("pass^1")
    assert max(map(len, out.splitlines())) <= 80
    with trial_run(tmp_path / "alone", {"a": [1.0]}) as store:
        assert "took over" not in _shown(store)
