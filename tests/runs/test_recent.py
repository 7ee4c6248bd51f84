"""What was written to a run lately."""

from __future__ import annotations

from pathlib import Path

from scored import config, conversation, replayed, run, turn
from trialruns import trial_run

from turngap.data import AssistantMessage, Cause, Failure, Prediction, Trajectory, Verdict
from turngap.data.reward import Reward
from turngap.runs import RunStore
from turngap.runs.recent import Judged, Position, Scored

ANSWER = Prediction(message=AssistantMessage(content="good day"))


def test_only_what_was_written_behind_a_position_is_named(tmp_path: Path) -> None:
    """A conversation is named once it has a new prediction or trajectory, also one that takes the place of another."""
    with run(tmp_path / "run", [conversation(name) for name in ("a", "b", "c")], {}) as store:
        assert store.recent.position() == Position()
        store.put_prediction("a", 0, ANSWER)
        store.put_trajectory("b", Trajectory(conversation="b"))
        assert store.recent.conversations(Position()) == {"a", "b"}
        now = store.recent.position()
        assert store.recent.conversations(now) == set()
        store.put_prediction("a", 0, ANSWER)
        assert store.recent.conversations(now) == {"a"}
        store.put_trajectory("b", Failure(cause=Cause.ENDPOINT, reason="503"))
        assert store.recent.conversations(now) == {"a", "b"}


def test_trials_are_named_when_they_took_place_and_when_they_were_graded(tmp_path: Path) -> None:
    """A trial is named again when its reward comes; those of an audit are not."""
    with trial_run(tmp_path / "run", {"one": [1, 0], "two": [1]}) as store:
        assert store.recent.trials(Position()) == {("one", 0), ("one", 1), ("two", 0)}
        now = store.recent.position()
        store.trials.put_reward("two", 0, Reward(value=1.0), "key")
        store.trials.put("one", 1, Trajectory(conversation="one"), player="audit")
        assert store.recent.trials(now) == {("two", 0)}


def test_scores_and_verdicts_are_counted(tmp_path: Path) -> None:
    """Scores by scorer with the number of the latest row, verdicts by protocol and judge."""
    scores = {"replay": [replayed("a", True)], "turn:rules": [turn("a", at, "tool", True) for at in range(2)]}
    with run(tmp_path / "run", [conversation("a")], scores) as store:
        assert store.recent.scores() == (
            Scored(scorer="replay", count=1, last=1),
            Scored(scorer="turn:rules", count=2, last=3),
        )
        store.put_verdict("rules", "turn", "a", 0, Verdict(success=True), "key")
        store.put_verdict("rules", "turn", "a", 1, Failure(cause=Cause.JUDGE, reason="no"), "key")
        assert store.recent.verdicts() == (Judged(protocol="turn", judge="rules", count=2, errored=1),)


def test_an_empty_run_is_at_its_beginning(tmp_path: Path) -> None:
    """Nothing written, nothing counted."""
    with RunStore.create(tmp_path / "run", config()) as store:
        assert store.recent.position() == Position()
        assert store.recent.scores() == ()
