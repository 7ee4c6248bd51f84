"""Why the trials of a run failed, counted by symptom."""

from __future__ import annotations

from pathlib import Path

import msgspec
from lived import made_up, reward

from turngap.analysis.symptom import symptoms
from turngap.data import Cause, Failure
from turngap.data.reward import Symptom, SymptomKind

_MISSING = Symptom(kind=SymptomKind.MISSING_WRITE, event=4, detail="never done")
_LOOP = Symptom(kind=SymptomKind.LOOP, event=1, detail="three times")
_LOST = (reward(0.0, symptoms=(_MISSING, _MISSING)), Cause.WRONG)


def test_trials_are_counted_not_occurrences(tmp_path: Path) -> None:
    """Failed and successful ones apart; an example is the first failed trial that shows a kind."""
    trials = {
        "a": [(reward(1.0, symptoms=(_LOOP,)), None), _LOST],
        "b": [_LOST, (reward(0.0, symptoms=(_LOOP,)), Cause.USER)],
        "c": [(reward(0.0), Cause.WRONG), (reward(1.0), None)],
    }
    with made_up(tmp_path / "run", trials) as store:
        found = symptoms(store)
    assert (found.trials, found.failed, found.without, found.spoiled) == (6, 4, 1, 1)
    assert [(row.name.value, row.failed, row.succeeded, row.tasks) for row in found.rows] == [
        ("missing_write", 2, 0, 2),
        ("loop", 1, 1, 1),
    ]
    first, second = (found.example(kind) for kind in (SymptomKind.MISSING_WRITE, SymptomKind.LOOP))
    assert first is not None and (first.task, first.trial) == ("a", 1)
    assert second is not None and (second.task, second.trial) == ("b", 1)
    assert found.example(SymptomKind.STEP_LIMIT) is None
    assert [(case.task, case.trial) for case in found.show("b")] == [("b", 0), ("b", 1)]


def test_errored_trials_are_listed_with_their_reason(tmp_path: Path) -> None:
    """Neither successes nor failures: those that did not take place, and those that could not be graded."""
    failure = Failure(cause=Cause.DOMAIN, reason="move_booking crashed", kind="DomainFault")
    with made_up(tmp_path / "run", {"b": [(reward(1.0), None)] * 3, "a": [(reward(1.0), None)] * 3}) as store:
        store.trials.put_reward("b", 1, failure, "key")
        store.trials.put("a", 2, msgspec.structs.replace(failure, cause=Cause.ENDPOINT, kind="EndpointError"))
        store.trials.put("a", 7, failure)
        found = symptoms(store)
    assert (found.trials, found.failed) == (4, 0)
    assert [(one.task, one.trial, one.cause) for one in found.lost] == [("b", 1, "domain"), ("a", 2, "endpoint")]
    for name, shown in (("errored", 2), ("a", 1), ("EndpointError", 1), ("domain", 1), ("loop", 0)):
        assert len(found.show_lost(name)) == shown


def test_trials_past_what_was_last_asked_for_are_in_no_figure(tmp_path: Path) -> None:
    """As in the scores: a run that was asked for again with fewer trials keeps the others, and counts them nowhere."""
    with made_up(tmp_path / "run", {"a": [(reward(1.0), None)]}) as store:
        store.trials.put_reward("a", 7, msgspec.structs.replace(_LOST[0]), "key")
        found = symptoms(store)
    assert (found.trials, found.failed) == (1, 0)
