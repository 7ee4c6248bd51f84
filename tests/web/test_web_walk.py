"""The walk: the same decisions from recorded and from own history, and what the first divergence does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sidebyside
from sidebyside import GET, MOVE, OTHER_DAY, WRONG

from turngap.analysis.propagation import propagation
from turngap.data import Cause, Conversation, Failure, Verdict
from turngap.runs.store import RunStore
from turngap.web.aligned import align
from turngap.web.walk import Walked, both

GOLD = [GET, "Shall I?", MOVE, "Done."]


def walked(directory: Path, name: str = "boat") -> Walked:
    """Both walks through a conversation of a run."""
    with RunStore.open(directory) as store:
        trajectory = store.trajectory(name)
        aligned = align(store.conversation(name), None if isinstance(trajectory, Failure) else trajectory)
        return both(aligned, store.scores_of(name))


def outcomes(found: Walked) -> list[tuple[str, str]]:
    """With repair and on own history, decision by decision."""
    return [(step.repaired.value, step.own.value) for step in found.steps]


def test_repair_hides_what_an_error_does(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Right at every decision when history is repaired; on own history everything behind the first error is lost."""
    own = {"boat": [WRONG, WRONG, WRONG]}
    found = walked(sidebyside.run(tmp_path / "run", [boat_conversation], own, {"boat": GOLD}))
    assert outcomes(found) == [
        ("right", "wrong"),
        ("said", "unreached"),
        ("right", "unreached"),
        ("said", "unreached"),
    ]
    assert (found.first, [step.first for step in found.steps]) == (0, [True, False, False, False])
    assert [step.lost for step in found.steps] == [False, False, True, False]
    assert [step.errors_before for step in found.steps] == [0, 1, 1, 1]
    assert found.told == (
        "With its history repaired before every question the model gets 2 of 2 calls right; on its own history 0. "
        "It first leaves the recording at decision 0. Of the 1 call behind that place, 1 is right when history is "
        "repaired; on own history: 1 never asked for, because the replay had ended."
    )


def test_an_error_that_was_put_right_stays_in_the_history(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A recovered call is the first divergence, and the calls behind it are asked with one error before them."""
    own = {"boat": [WRONG, GET, "Shall I?", MOVE, "Done."]}
    found = walked(sidebyside.run(tmp_path / "run", [boat_conversation], own, {"boat": GOLD}))
    assert [own for _, own in outcomes(found)] == ["recovered", "said", "right", "said"]
    assert found.steps[2].errors_before == 1
    assert (found.whole.own, found.whole.recovered, found.behind.own) == (1, 1, 1)


def test_words_are_judged_where_a_judge_of_turns_said_so(tmp_path: Path, boat_conversation: Conversation) -> None:
    """With a verdict a text is right or wrong; a call where words are recorded is wrong without one."""
    verdicts = {("boat", 1): Verdict(success=False), ("boat", 3): Verdict(success=True)}
    gold: list[Any] = [GET, "Shall I?", MOVE, "Done."]
    run = sidebyside.run(tmp_path / "a", [boat_conversation], {"boat": GOLD}, {"boat": gold}, verdicts)
    assert outcomes(walked(run)) == [("right", "right"), ("wrong", "said"), ("right", "right"), ("right", "said")]
    run = sidebyside.run(tmp_path / "b", [boat_conversation], {"boat": GOLD}, {"boat": [OTHER_DAY, GET, MOVE, "Done."]})
    found = walked(run)
    assert [repaired for repaired, _ in outcomes(found)] == ["wrong", "wrong", "right", "said"]
    assert found.first is None
    assert found.told.endswith("It never leaves the recording.")


def test_what_was_not_measured(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Without predictions, or without a replay, one of the walks is empty and says so."""
    only_own = walked(sidebyside.run(tmp_path / "a", [boat_conversation], {"boat": GOLD}))
    assert {repaired for repaired, _ in outcomes(only_own)} == {"errored"}
    assert not only_own.has_repaired
    assert only_own.told == "On its own history the model gets 2 of 2 calls right. It never leaves the recording."
    failure = Failure(cause=Cause.ENDPOINT, reason="503", kind="EndpointError")
    only_gold = walked(sidebyside.run(tmp_path / "b", [boat_conversation], {"boat": failure}, {"boat": GOLD}))
    assert not only_gold.has_own
    assert {own for _, own in outcomes(only_gold)} == {"errored"}
    assert "no replay" in only_gold.told


@pytest.mark.parametrize(
    "own", [[WRONG, GET, "Hm.", MOVE, "Done."], ["Hm.", GET, MOVE, "x"], [GET, WRONG, "Hm.", MOVE, "x"]]
)
def test_the_counts_are_those_of_the_analysis(tmp_path: Path, boat_conversation: Conversation, own: list[Any]) -> None:
    """What the page counts in one conversation is what `propagation` counts in a run of that conversation."""
    run = sidebyside.run(tmp_path / "run", [boat_conversation], {"boat": own}, {"boat": GOLD})
    found = walked(run)
    with RunStore.open(run) as store:
        analysed = propagation(store)
    right = (analysed.clean.own.n * (analysed.clean.own.value or 0)) + (
        analysed.after_error.own.n * (analysed.after_error.own.value or 0)
    )
    assert found.whole.own == round(right)
    assert found.whole.calls - found.whole.unreached == analysed.steps
