"""turngap beside human annotations: what came out, held so that a change in it is seen. See tests/people.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from people import Annotated, annotated_runs, beside, confusion, named_alike, verdicts


@pytest.fixture(scope="module")
def runs(shared: Path) -> list[Annotated]:
    """The recorded runs beside their annotations."""
    return annotated_runs(shared)


def test_the_step_that_people_name(runs: list[Annotated]) -> None:
    """Of 14 annotated runs the root cause is named in 8, an annotated step in 10, and never an earlier one."""
    assert named_alike(runs) == {
        "failed runs": 14,
        "found": 14,
        "root cause": 8,
        "first failure": 6,
        "first failure of the agent": 7,
        "any annotated failure": 10,
        "later than the root cause": 6,
        "earlier than the root cause": 0,
    }


def test_how_categories_map(runs: list[Annotated]) -> None:
    """People's category of the root cause against ours."""
    table = confusion(runs)
    assert table["Misinterpretation of Tool Output", "invented_fact"] == 3
    assert table["Intent Plan Misalignment", "wrong_tool"] == 3
    assert sum(table.values()) == 14


def test_rewarded_runs_are_mostly_left_alone(runs: list[Annotated]) -> None:
    """Of 41 runs that earned their reward 5 are named all the same."""
    rewarded = [run for run in runs if run.rewarded]
    assert (len(rewarded), sum(run.ours is not None for run in rewarded)) == (41, 5)


def test_rules_on_single_texts(shared: Path) -> None:
    """TM-4: with another approved text as reference, rules agrees with people on 75% of texts, kappa 0.14."""
    pairs, _ = verdicts(shared / "taskmaster" / "TM-4_reward_00.json")
    found = beside(pairs, "text")
    assert (found["n"], found["both approve"], found["only rules approves"]) == (118, 83, 13)
    assert found["accuracy"] == pytest.approx(0.754, abs=0.001)
    assert found["kappa"] == pytest.approx(0.145, abs=0.001)


def test_rules_on_single_calls(shared: Path) -> None:
    """TM-4: of other calls than the approved ones rules lets none pass; people let every second one pass."""
    pairs, _ = verdicts(shared / "taskmaster" / "TM-4_reward_00.json")
    found = beside(pairs, "tool")
    assert (found["n"], found["people approve"]) == (118, 58)
    assert (found["both approve"], found["only rules approves"]) == (0, 0)


def test_what_a_dialogue_went_on_with_is_no_gold(shared: Path) -> None:
    """TM-3: people reject 323 of the 401 decisions with which the dialogues went on; TM-4: 10 of 129."""
    counts = {}
    for name in ("TM-3", "TM-4"):
        _, went_on = verdicts(shared / "taskmaster" / f"{name}_reward_00.json")
        by_verdict: Counter[bool] = Counter()
        for (_, good), count in went_on.items():
            by_verdict[good] += count
        counts[name] = (by_verdict[False], by_verdict.total())
    assert counts == {"TM-3": (323, 401), "TM-4": (10, 129)}
