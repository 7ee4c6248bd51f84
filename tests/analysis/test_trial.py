"""Figures of trials: which units each is over."""

from __future__ import annotations

from itertools import combinations
from math import comb, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trialruns import score

from turngap.analysis.figure import compute
from turngap.analysis.trial import asked_for, counted, grid, measure_of, shown_hats
from turngap.data import Figure, Score
from turngap.data.task import Criteria, Task
from turngap.errors import HarnessFault


def _figure(scores: list[Score], name: str, tasks: dict[str, str] | None = None) -> tuple[Figure, int, int]:
    measure = measure_of(name)
    assert measure is not None
    rows = grid(scores)
    found = counted(rows, measure, tasks or {row.task: row.scenario for row in rows})
    return compute(measure, found.units, seed=0), found.left_out, found.errored


def test_pass_hat_k_leaves_out_tasks_with_too_few_trials() -> None:
    """STA-01: tasks with 3 of 4, 2 of 2 and 0 of 1; each k is over the tasks that have k trials."""
    scores = [score("A", trial, float(trial > 0)) for trial in range(4)]
    scores += [score("B", 0, 1.0), score("B", 1, 1.0), score("C", 0, 0.0)]
    known = {1: (1.75 / 3, 3, 0), 2: (0.75, 2, 1), 3: (0.25, 1, 2), 4: (0.0, 1, 2)}
    for k, (value, n, left_out) in known.items():
        figure, lacking, errored = _figure(scores, f"pass^{k}")
        assert (figure.value, figure.n, lacking, errored) == (pytest.approx(value), n, left_out, 0)
    figure, lacking, _ = _figure(scores, "pass^5")
    assert figure == Figure(value=None, n=0) and lacking == 3


def test_tasks_without_any_row_are_left_out_and_counted() -> None:
    """STA-02: a task that only ever failed to be measured does not vanish from the count."""
    _, lacking, _ = _figure([score("A", 0, 1.0)], "pass^1", {"A": "general", "B": "general", "C": "ambiguous"})
    assert lacking == 2


def test_a_success_is_a_full_reward() -> None:
    """STA-04: rewards of 0.5, 0.5, 1 and 0.9999999 are two successes; the mean reward is what it is."""
    scores = [score("A", trial, reward) for trial, reward in enumerate((0.5, 0.5, 1.0, 0.9999999))]
    assert _figure(scores, "pass^1")[0].value == 0.5
    assert _figure(scores, "reward")[0].value == pytest.approx(0.75, abs=1e-6)


def test_a_trial_that_is_there_twice_is_an_error_that_names_both_rows() -> None:
    """STA-04: nothing is averaged over a grid with duplicates."""
    scores = [score("A", 1, 1.0), score("B", 2, 0.0), score("A", 2, 1.0), score("B", 2, 1.0)]
    with pytest.raises(HarnessFault, match="trial 2 of task 'B' is there twice: rows 2 and 4"):
        grid(scores)


def test_user_errors_are_out_of_the_figure_and_in_its_twin() -> None:
    """USR-10: a trial that the user spoiled counts for neither side; `.all` takes it in, `user_error` counts it."""
    scores = [score("A", 0, 1.0), score("A", 1, "user"), score("A", 2, "endpoint"), score("B", 0, 1.0)]
    assert _figure(scores, "pass^1")[0].value == 1.0
    assert _figure(scores, "pass^1.all")[0].value == 0.75
    assert _figure(scores, "reward.all")[0].n == 3
    rate = _figure(scores, "user_error")
    assert (rate[0].value, rate[0].n, rate[2]) == (pytest.approx(1 / 3), 3, 1)
    # What could not be measured, and what the user spoiled, are counted apart: both in trials.
    measure = measure_of("pass^1")
    assert measure is not None
    found = counted(grid(scores), measure, {"A": "general", "B": "general"})
    assert (found.trials, found.errored, found.spoiled) == (4, 1, 1)


def test_components_and_scenarios_have_figures_of_their_own() -> None:
    """A component is over the trials that it counts in; a scenario over its own tasks; observed ones stay apart."""
    scores = [
        score("A", 0, 1.0, **{"reward.db": 1.0, "observed.action": 0.0}),
        score("B", 0, 0.0, scenario="ambiguous", **{"reward.db": 0.0, "reward.communicate": 1.0}),
    ]
    assert _figure(scores, "reward.db")[0].value == 0.5
    assert _figure(scores, "reward.communicate")[0].n == 1
    assert _figure(scores, "observed.action")[0].value == 0.0
    assert _figure(scores, "reward.action")[0] == Figure(value=None, n=0)
    assert _figure(scores, "pass^1[ambiguous]")[0].value == 0.0
    assert _figure(scores, "reward.db[general]")[0].value == 1.0


def test_a_component_is_over_tasks_that_have_something_for_it() -> None:
    """Telling nobody anything is no merit where nothing was to be told; a wanted database every task has."""
    told = {"reward.db": 1.0, "reward.communicate": 1.0, "reward.nl_assertion": 1.0, "reward.constraint": 1.0}
    missed = {**told, "reward.communicate": 0.0}
    asked = {"A": asked_for(Task(id="A")), "B": asked_for(Task(id="B", criteria=Criteria(communicate=("10",))))}
    rows = grid([score("A", 0, 1.0, **told), score("B", 0, 0.0, **missed)], asked)
    assert rows[0].vacuous == ("communicate", "nl_assertion", "constraint")
    values = {}
    for name in ("reward.communicate", "reward.db", "reward.nl_assertion", "reward"):
        measure = measure_of(name)
        assert measure is not None
        figure = compute(measure, counted(rows, measure, {"A": "general", "B": "general"}).units, seed=0)
        values[name] = (figure.value, figure.n)
    assert values == {
        "reward.communicate": (0.0, 1),
        "reward.db": (1.0, 2),
        "reward.nl_assertion": (None, 0),
        "reward": (0.5, 2),
    }


def test_of_many_k_a_table_has_the_powers_of_two_and_the_last() -> None:
    """All of a few; more would fill the screen."""
    assert [shown_hats(most) for most in (0, 1, 5, 6, 16, 20)] == [
        [1],
        [1],
        [1, 2, 3, 4, 5],
        [1, 2, 4, 6],
        [1, 2, 4, 8, 16],
        [1, 2, 4, 8, 16, 20],
    ]


def test_only_names_of_figures_are_figures() -> None:
    """A name that says nothing is no figure, rather than one that is always empty."""
    for name in ("pass^0", "pass^", "reward.dbb", "user_error.all", "reward[odd]", "reward.db.all", "strict.exact"):
        assert measure_of(name) is None


def test_the_interval_of_unanimous_tasks_is_what_so_many_tasks_allow() -> None:
    """Ten tasks that all succeed do not make a success certain; one task says nothing."""
    figure, *_ = _figure([score(str(task), 0, 1.0) for task in range(10)], "pass^1")
    assert figure.ci95 is not None and 0.69 < figure.ci95[0] < 0.73 and figure.ci95[1] == 1.0
    one, *_ = _figure([score("A", trial, 1.0) for trial in range(8)], "pass^1")
    assert one.ci95 is not None and one.ci95[0] < 0.25


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.booleans(), min_size=1, max_size=6), min_size=1))
def test_pass_hat_k_is_the_share_of_all_choices(outcomes: dict[str, list[bool]]) -> None:
    """Against brute force over all subsets of k trials, whatever the order of the rows."""
    scores = [score(task, trial, float(won)) for task, trials in outcomes.items() for trial, won in enumerate(trials)]
    for k in range(1, 7):
        shares = [
            sum(all(choice) for choice in combinations(trials, k)) / comb(len(trials), k)
            for trials in outcomes.values()
            if len(trials) >= k
        ]
        figure, lacking, _ = _figure(scores[::-1], f"pass^{k}")
        assert figure.n == len(shares) and lacking == len(outcomes) - len(shares)
        if shares:
            assert figure.value is not None and isclose(figure.value, sum(shares) / len(shares))
            assert figure.ci95 is not None and figure.ci95[0] <= figure.value <= figure.ci95[1]
