"""What went wrong in live trials, for the terminal."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console, RenderableType

from turngap.analysis.symptom import LostTrial, SymptomCase, SymptomRow, Symptoms
from turngap.data import Cause
from turngap.data.reward import Symptom, SymptomKind
from turngap.report.symptom_table import symptom_cases, symptom_table, why_command, why_failed


def _shown(what: RenderableType, width: int = 80) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(what)
    return stream.getvalue()


def _found(kinds: Mapping[SymptomKind, int], failed: int, without: int = 0, task: str = "move-1") -> Symptoms:
    """So many failed trials of a task for each kind; the first trial succeeded, and shows every kind."""
    everything = tuple(Symptom(kind=kind, event=2, detail="d", evidence="agent: ...") for kind in kinds)
    cases = [SymptomCase(task=task, trial=0, reward=1.0, detail="", symptoms=everything)]
    cases.append(SymptomCase(task=task, trial=1, reward=0.0, detail="DB: wrong", symptoms=everything))
    return Symptoms(
        trials=failed + 1,
        failed=failed,
        spoiled=0,
        without=without,
        rows=tuple(SymptomRow(name=kind, failed=count, succeeded=1, tasks=1) for kind, count in kinds.items()),
        cases=tuple(cases),
        lost=(),
    )


def _lines(text: str, kinds: Sequence[SymptomKind]) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.split()[:1] and line.split()[0] in kinds]


def test_each_kind_has_an_example_that_failed_and_the_command_that_shows_more() -> None:
    """Of the trials that show it, the first failed one; shares are of failed trials."""
    kinds = {SymptomKind.MISSING_WRITE: 3, SymptomKind.LOOP: 1}
    found = _found(kinds, failed=4)
    block = why_failed(found)
    assert block is not None
    out = _shown(block)
    assert _lines(out, list(kinds)) == [
        "missing_write 3 75.0 1 task move-1, trial 1",
        "loop 1 25.0 1 task move-1, trial 1",
    ]
    assert "why trials failed, 4 of 5" in out
    assert why_command(found, "runs/my run") == "turngap taxonomy 'runs/my run' --show missing_write"


def test_kinds_of_successful_trials_alone_are_no_reason() -> None:
    """A loop that ended is not why a trial failed; failures without a symptom are counted."""
    found = _found({SymptomKind.LOOP: 0}, failed=2, without=2)
    block = why_failed(found)
    assert block is not None
    out = _shown(block)
    assert "loop" not in out
    assert "2 of them show no symptom" in out
    assert why_command(found, "r") == "turngap taxonomy r"


def test_the_rarest_of_many_kinds_are_counted() -> None:
    """Six are named, whatever the width; a long name of a task is not cut."""
    kinds = dict.fromkeys(list(SymptomKind)[:8], 1)
    block = why_failed(_found(kinds, failed=1, task="t" * 70))
    assert block is not None
    out = _shown(block, width=54)
    assert len(_lines(out, list(kinds))) == 6
    assert "2 more kinds are rarer" in out
    assert out.count("t" * 10) >= 6
    assert max(map(len, out.splitlines())) <= 54


def test_where_nothing_failed_there_is_nothing_to_say() -> None:
    """No block at all."""
    assert why_failed(_found({SymptomKind.LOOP: 0}, failed=0)) is None
    assert why_command(_found({SymptomKind.LOOP: 0}, failed=0), "r") is None


def test_errored_and_spoiled_trials_are_counted_beside_the_others() -> None:
    """What nothing is known of is no success; no footnote stands under a table that is not there."""
    lost = LostTrial(task="move-3", trial=0, cause=Cause.ENDPOINT, kind="EndpointError", reason="503 after 5 attempts")
    found = Symptoms(trials=3, failed=0, spoiled=0, without=0, rows=(), cases=(), lost=(lost,))
    out = _shown(symptom_table(found, title="why"))
    assert "4 trials: 3 succeeded, 0 failed, 1 errored" in out
    assert "may show several" not in out and "--show errored" in out
    spoiled = msgspec.structs.replace(_found({SymptomKind.LOOP: 1}, failed=2), spoiled=1)
    out = _shown(symptom_table(spoiled, title="why"))
    assert "3 trials: 1 succeeded, 2 failed (1 of them spoiled by the user), 0 errored" in out
    assert "may show several" in out


def test_an_errored_trial_is_shown_with_its_reason() -> None:
    """Behind the cases, with whatever the reader has to know beside them."""
    lost = LostTrial(task="move-3", trial=0, cause=Cause.ENDPOINT, kind="EndpointError", reason="503 after 5 attempts")
    out = _shown(symptom_cases((), (lost,), ("the run is not finished",)))
    assert "move-3, trial 0: errored, endpoint (EndpointError)" in out
    assert "503 after 5 attempts" in out and "- the run is not finished" in out


def test_a_case_shows_each_symptom_with_its_message() -> None:
    """Characters that steer a terminal are shown as such in the name of a task."""
    out = _shown(symptom_cases(_found({SymptomKind.LOOP: 1}, failed=1, task="a\x1bb").cases))
    assert "a\N{REPLACEMENT CHARACTER}b, trial 1: reward 0" in out
    assert "loop, event 2: d" in out
