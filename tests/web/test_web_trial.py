"""The page on one trial: events, the user's own tools, what it left in the world, what it was worth and why."""

from __future__ import annotations

from pathlib import Path

import lived
import msgspec
import pytest

from turngap.data import Cause, Failure, Spoken, ToolCall, ToolMessage, Trajectory, UserMessage
from turngap.data.reward import Grade, Mismatch, Symptom, SymptomKind
from turngap.runs.store import RunStore
from turngap.web.shelf import Unknown
from turngap.web.trial import Asked, View, view

FAILED = lived.reward(
    mismatches=(Mismatch(record="bookings[BK-1]", field="date", wanted='"2031-05-02"', found='"2031-05-03"'),),
    mismatched=1,
    symptoms=(Symptom(kind=SymptomKind.WRONG_ARGUMENT, event=3, detail="another day"),),
    components={
        "DB": Grade(value=0.0, counted=True, detail="differs"),
        "ACTION": Grade(value=0.0, counted=False, detail="not done"),
    },
    tau2={"reward": 1.0},
)


def page(store: RunStore, trial: int = 0, task: str = "t") -> View:
    """The page of a trial; closes the run."""
    with store:
        return view(store, Asked(id=task, trial=trial))


def made(directory: Path, trajectory: Trajectory | None = None) -> RunStore:
    """Two trials of one task: one that failed, one that did not."""
    trials = {"t": [(FAILED, Cause.WRONG), (lived.reward(1.0), None)]}
    return lived.made_up(directory, trials, trajectory=trajectory)


def test_what_it_was_worth_and_why(tmp_path: Path) -> None:
    """Components that count and that do not, the world against the one wanted, symptoms at their events."""
    found = page(made(tmp_path / "run"))
    assert (found.reward, found.tau2) == (0.0, 1.0)
    assert [(part.name, part.counted) for part in found.parts] == [("DB", True), ("ACTION", False)]
    assert [(one.wanted, one.found) for one in found.mismatches] == [('"2031-05-02"', '"2031-05-03"')]
    assert [(sign.kind, sign.event) for sign in found.signs] == [("wrong argument", 3)]
    assert [one.number for one in found.events if one.signs] == [3]
    assert [(one.trial, one.chip.tone if one.chip else "") for one in found.trials] == [(0, "bad"), (1, "good")]


def test_the_reference_with_what_the_agent_made_of_it(tmp_path: Path) -> None:
    """An action that was made names its event; one that was not, the nearest call and where it differs."""
    found = page(made(tmp_path / "run"))
    (wanted,) = found.wanted
    assert (wanted.call.name, wanted.made, wanted.near, wanted.good) == ("move_booking", None, 3, False)
    marked = [(leaf.path, leaf.mark, leaf.wanted) for leaf in wanted.call.leaves if leaf.mark]
    assert marked == [("date", "differs", '"2031-05-03"')]


def test_the_users_own_tools(tmp_path: Path) -> None:
    """What the user did before speaking stands with the words, with its results."""
    course = lived.course()
    first = course.events[0]
    assert isinstance(first, Spoken)
    call = ToolCall(name="look_at_phone", arguments={"screen": "home"})
    events = (
        Spoken(message=UserMessage(content="It is off."), calls=(call,), results=(ToolMessage(content="off"),)),
        *course.events[1:],
    )
    found = page(made(tmp_path / "run", msgspec.structs.replace(course, events=events)))
    own = found.events[0].user_calls
    assert [(one.name, one.result.text.body if one.result else "") for one in own] == [("look_at_phone", "off")]


def test_lapses_of_the_user_and_endings_that_make_no_sense(tmp_path: Path) -> None:
    """VIEW-04: metadata is shown where it can be read, and never in the way."""
    lapses = [{"kind": "role_break", "turn": 2, "detail": "spoke as the agent", "mended": True}, "nonsense"]
    odd = lived.course(lapses=lapses, user_usage="nonsense")
    found = page(made(tmp_path / "run", odd))
    assert found.lapses == ("role break in turn 2 (mended): spoke as the agent",)
    assert found.user_cost == ""
    assert found.ended.startswith("ended by user stop")


def test_what_could_not_be_measured(tmp_path: Path) -> None:
    """A trial without a trajectory, and one without a reward, say why; earlier tries are named."""
    failure = Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts", kind="EndpointError")
    with made(tmp_path / "run") as store:
        store.trials.put("t", 2, failure)
        store.trials.put("t", 3, failure)
        store.trials.put("t", 3, lived.course())
        store.trials.put_reward("t", 3, Failure(cause=Cause.JUDGE, reason="no judge", kind="JudgeError"), "k")
        errored, ungraded = (view(store, Asked(id="t", trial=number)) for number in (2, 3))
    assert (errored.error, errored.events) == ("endpoint: 503 after 5 attempts", ())
    assert ungraded.error == "judge: no judge"
    assert ungraded.events
    assert ungraded.before == ("endpoint: 503 after 5 attempts",)


def test_unknown_tasks_and_trials(tmp_path: Path) -> None:
    """An id or number that the run does not have is said to be unknown."""
    with made(tmp_path / "run") as store:
        for task, trial in (("u", 0), ("t", 7), ("t", -1)):
            with pytest.raises(Unknown):
                view(store, Asked(id=task, trial=trial))


def test_a_trial_in_a_real_world(runs_folder: Path) -> None:
    """Of trials that took place, one that failed shows the record that differs and the action that was not made."""
    with RunStore.open(runs_folder / "boats") as store:
        lost = [score for _, score in store.scores("reward") if not score.success and not score.errored]
        assert lost
        found = view(store, Asked(id=lost[0].conversation, trial=lost[0].decision or 0))
    assert found.reward == 0.0
    assert any(one.record.startswith("bookings[") for one in found.mismatches)
    assert any(not one.good for one in found.wanted)
