"""One conversation in two runs, side by side."""

from __future__ import annotations

from contextlib import ExitStack

from turngap.data import AssistantMessage, Trajectory
from turngap.runs.store import RunStore
from turngap.web.pair import Pair, pair
from turngap.web.shelf import Shelf


def _pair(shelf: Shelf, first: str, second: str, name: str) -> Pair:
    runs = [shelf.get(one) for one in (first, second)]
    with ExitStack() as closing:
        one, other = (closing.enter_context(run.store()) for run in runs)
        return pair(one, other, name, live=runs[0].kind == "rollout")


def _ids(shelf: Shelf, run: str) -> list[str]:
    with shelf.get(run).store() as store:
        return store.conversation_ids()


def test_both_replays_are_laid_beside_the_recording(shelf: Shelf) -> None:
    """Every message of either model stands on its side, once, at the decision that it was about."""
    for name in _ids(shelf, "r1")[:10]:
        found = _pair(shelf, "r1", "r2", name)
        for side, run in enumerate(("r1", "r2")):
            with RunStore.open(shelf.get(run).path) as store:
                replay = store.trajectory(name)
            assert isinstance(replay, Trajectory)
            said = [
                message.content
                for message in replay.messages()
                if isinstance(message, AssistantMessage) and message.content
            ]
            shown = [
                line.text
                for section in found.sections
                for place in section.places
                for line in place.sides[side].lines
                if line.who == "agent"
            ]
            assert sorted(shown) == sorted(said)


def test_the_same_run_twice_never_differs(shelf: Shelf) -> None:
    """A run beside itself is the same at every place, and no decision is singled out."""
    for name in _ids(shelf, "r1")[:5]:
        found = _pair(shelf, "r1", "r1", name)
        assert not any(section.differs for section in found.sections)
        assert found.answers == ()
        assert all(verdict.unit == "the whole" for verdict in found.verdicts)


def test_answers_are_shown_where_verdicts_differ(shelf: Shelf) -> None:
    """A decision that is good in one run only has both answers and both reasons."""
    seen = 0
    for name in _ids(shelf, "r1")[:20]:
        found = _pair(shelf, "r1", "r2", name)
        differing = {one.decision for one in found.verdicts if one.decision is not None}
        assert {place.decision for place in found.answers} == differing
        for one in found.verdicts:
            if one.decision is not None:
                assert one.differs
                seen += 1
    assert seen, "the two runs differ in twenty conversations"


def test_trials_stand_abreast(shelf: Shelf) -> None:
    """Of a live task every trial of both runs says whether it succeeded, and if not what is missing."""
    with shelf.get("r3").store() as store:
        task = store.trials.task_ids()[0]
    found = _pair(shelf, "r3", "r3", task)
    assert [(one.unit, one.trial) for one in found.verdicts] == [("trial 1", 0), ("trial 2", 1), ("trial 3", 2)]
    for one in found.verdicts:
        for side in one.sides:
            assert side is not None
            assert side.good is (side.why == "")
