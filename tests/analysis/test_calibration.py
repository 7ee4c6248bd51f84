"""Sheets of verdicts drawn for people, and a judge held against their labels."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.calibration import Item, Label, calibrate, draw, even, judged
from turngap.analysis.summary import summarise
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import AssistantMessage, Cause, Conversation, Failure, Prediction, Trajectory, Verdict
from turngap.engines.base import Quiet
from turngap.errors import DataError, UsageError
from turngap.formats.writer import write_openai
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore

PER = 4  # decisions of the boat-hire conversation: two tool, two text


def make_run(directory: Path, conversation: Conversation, count: int, verdicts: Any) -> RunStore:
    """A run of `count` copies; `verdicts` says (copy, decision) -> a judge's verdict or None."""
    config = EvalConfig(data=DataConfig(paths=("b",)), model=ModelConfig(spec="scripted"))
    store = RunStore.create(directory, config)
    names = [f"c{number:02}" for number in range(count)]
    store.add_conversations(msgspec.structs.replace(conversation, id=name) for name in names)
    for number, name in enumerate(names):
        for decision in range(PER):
            store.put_prediction(name, decision, Prediction(message=AssistantMessage(content=f"{name} {decision}")))
            verdict = verdicts(number, decision)
            if verdict is not None:
                store.put_verdict("rules", "turn", name, decision, verdict, "key")
    return store


@pytest.fixture
def store(tmp_path: Path, boat_conversation: Conversation) -> Any:
    """30 conversations, 120 verdicts: every fifth rejected, one errored, one missing."""

    def verdict(number: int, decision: int) -> Verdict | Failure | None:
        if (number, decision) == (0, 0):
            return Failure(cause=Cause.JUDGE, reason="no answer")
        if (number, decision) == (0, 1):
            return None
        return Verdict(success=(number * PER + decision) % 5 != 0)

    with make_run(tmp_path / "run", boat_conversation, 30, verdict) as found:
        yield found


def label(items: list[Item], wrong: set[int] = frozenset()) -> list[Label]:  # type: ignore[assignment]
    """Labels that agree with the judge but for the items of those positions."""
    return [
        Label(item=item.id, good=item.verdict.success is not (at in wrong), file="l.csv", line=at + 2)
        for at, item in enumerate(items)
    ]


def test_the_sample_is_even_over_verdicts_and_kinds(store: RunStore) -> None:
    """Rare verdicts are drawn as often as frequent ones, so that both error rates can be told."""
    items = draw(store, protocol="turn", judge="rules", n=40, seed=1)
    counts = Counter((item.kind, item.verdict.success) for item in items)
    assert sum(counts.values()) == 40
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({item.id for item in items}) == 40


def test_the_order_tells_nothing_and_the_seed_decides(store: RunStore) -> None:
    """Verdicts are mixed; equal seeds give equal sheets, others do not."""
    first = [item.id for item in draw(store, protocol="turn", judge="rules", n=40, seed=1)]
    again = [item.id for item in draw(store, protocol="turn", judge="rules", n=40, seed=1)]
    other = [item.id for item in draw(store, protocol="turn", judge="rules", n=40, seed=2)]
    assert first == again != other
    verdicts = [item.verdict.success for item in draw(store, protocol="turn", judge="rules", n=40, seed=1)]
    assert verdicts != sorted(verdicts)
    assert verdicts != sorted(verdicts, reverse=True)


def test_errored_and_missing_verdicts_are_not_drawn(store: RunStore) -> None:
    """Only what was judged can be held against people."""
    assert len(judged(store, "turn", "rules")) == 30 * PER - 2
    assert len(draw(store, protocol="turn", judge="rules", n=1000, seed=0)) == 30 * PER - 2


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 200))
def test_even_division(sizes: list[int], n: int) -> None:
    """As much as asked for and there is, never more than a stratum has, and no stratum that could have two more."""
    taken = even(sizes, n)
    assert sum(taken) == min(n, sum(sizes))
    assert all(0 <= one <= size for one, size in zip(taken, sizes, strict=True))
    for one, size in zip(taken, sizes, strict=True):
        if one < size:
            assert all(other <= one + 1 for other in taken)


def test_labels_that_agree_leave_the_figure(store: RunStore) -> None:
    """A judge of which people say the same is not corrected; agreement and kappa are 1."""
    items = draw(store, protocol="turn", judge="rules", n=60, seed=1)
    found = calibrate(store, label(items), protocol="turn", judge="rules")
    figure = found.figures["turn.success"]
    assert figure.assessment is not None
    assert figure.assessment.corrected.value == figure.assessment.apparent.value
    assert figure.assessment.kappa.value == pytest.approx(1)
    assert found.sample.kappa == pytest.approx(1)
    assert (figure.labelled, figure.units) == (60, 30 * PER - 2)


def test_the_correction_weighs_by_the_run_and_not_by_the_sample(store: RunStore) -> None:
    """Rejections are a fifth of the run and half of the sample: by hand from the strata."""
    items = draw(store, protocol="turn", judge="rules", n=40, seed=1)
    wrong = {at for at, item in enumerate(items) if not item.verdict.success and at % 2}
    found = calibrate(store, label(items, wrong), protocol="turn", judge="rules")
    units = judged(store, "turn", "rules")
    expected = 0.0
    for kind in ("text", "tool"):
        for verdict in (True, False):
            members = [at for at, item in enumerate(items) if (item.kind, item.verdict.success) == (kind, verdict)]
            good = sum((items[at].verdict.success is not (at in wrong)) for at in members) / len(members)
            expected += good * sum((unit.kind, unit.approved) == (kind, verdict) for unit in units) / len(units)
    assessment = found.figures["turn.success"].assessment
    assert assessment is not None
    assert assessment.corrected.value == pytest.approx(expected)
    assert assessment.corrected.ci95 is not None
    assert assessment.corrected.ci95[0] < expected < assessment.corrected.ci95[1]
    assert found.table["rejected_good"] == len(wrong)


def test_a_verdict_without_labels_leaves_its_figure_uncorrected(store: RunStore) -> None:
    """Nothing is guessed; the note names what has to be labelled."""
    items = draw(store, protocol="turn", judge="rules", n=40, seed=1)
    only = [one for one, item in zip(label(items), items, strict=True) if item.kind == "text" or item.verdict.success]
    found = calibrate(store, only, protocol="turn", judge="rules")
    assert found.figures["turn.success.text"].assessment is not None
    assert found.figures["turn.success"].assessment is None
    assert any("tool units rejected by the judge" in note for note in found.notes)


def test_unclear_items_are_left_out_and_counted(store: RunStore) -> None:
    """A person may say that nobody can tell."""
    labels = label(draw(store, protocol="turn", judge="rules", n=40, seed=1))
    labels[0] = msgspec.structs.replace(labels[0], good=None)
    found = calibrate(store, labels, protocol="turn", judge="rules")
    assert (found.labels, found.unclear, found.sample.n) == (40, 1, 39)


def test_items_of_another_answer_and_doubled_ones_are_refused(store: RunStore) -> None:
    """STA-04: a stale label is never held against a new answer, and a duplicate names both rows."""
    labels = label(draw(store, protocol="turn", judge="rules", n=10, seed=1))
    twice = msgspec.structs.replace(labels[0], line=99)
    with pytest.raises(DataError, match=r"l.csv:99: item: .* stands twice, first in line 2"):
        calibrate(store, [*labels, twice], protocol="turn", judge="rules")
    item = draw(store, protocol="turn", judge="rules", n=10, seed=1)[0]
    assert item.decision is not None
    changed = Prediction(message=AssistantMessage(content="something else"))
    store.put_prediction(item.conversation.id, item.decision.index, changed)
    with pytest.raises(DataError, match=r"l.csv:2: item: .* has changed since"):
        calibrate(store, labels, protocol="turn", judge="rules")


def test_a_judge_without_verdicts_is_named(store: RunStore) -> None:
    """The message says how to get some."""
    with pytest.raises(UsageError, match="turngap score with --judge openai/j"):
        draw(store, protocol="turn", judge="openai/j", n=5, seed=0)


def test_jdg_09_verdicts_after_a_second_request_stand_beside_the_others(
    tmp_path: Path, boat_conversation: Conversation
) -> None:
    """JDG-09: of 20 verdicts 6 needed a re-ask and all of those are failures: both shares are shown."""

    def verdict(number: int, decision: int) -> Verdict:
        hard = number * PER + decision < 6
        return Verdict(success=not hard, raw="{}", asks=2 if hard else 1)

    with make_run(tmp_path / "asked", boat_conversation, 5, verdict) as store:
        items = draw(store, protocol="turn", judge="rules", n=20, seed=0)
        found = calibrate(store, label(items), protocol="turn", judge="rules")
    assert (found.first_try.value, found.first_try.n) == (1.0, 14)
    assert (found.asked_again.value, found.asked_again.n) == (0.0, 6)


def test_more_approvals_than_the_judges_errors_allow_are_not_corrected(
    tmp_path: Path, boat_conversation: Conversation
) -> None:
    """Where another run is approved more often than the sensitivity, or less often than false approvals, a note says so."""
    with (
        make_run(tmp_path / "here", boat_conversation, 5, lambda n, d: Verdict(success=(n + d) % 2 == 0)) as here,
        make_run(tmp_path / "all", boat_conversation, 5, lambda _n, _d: Verdict(success=True)) as every,
        make_run(tmp_path / "none", boat_conversation, 5, lambda _n, _d: Verdict(success=False)) as none,
    ):
        items = draw(here, protocol="turn", judge="rules", n=20, seed=0)
        wrong = {at for verdict in (True, False) for at in _of(items, verdict)[:3]}
        found = calibrate(here, label(items, wrong), protocol="turn", judge="rules", elsewhere=[every, none])
        moved = [found.figures["turn.success"].elsewhere[str(store.directory)] for store in (every, none)]
    assert [one.apparent.value for one in moved] == [1.0, 0.0]
    assert moved[0].raw is not None and moved[0].raw > 1
    assert moved[1].raw is not None and moved[1].raw < 0
    assert [(one.corrected.value, one.corrected.ci95) for one in moved] == [(None, None)] * 2
    notes = [note for note in found.notes if note.startswith("turn.success of ")]
    assert "cannot be corrected: the judge approves more than its sensitivity allows" in notes[0]
    assert "cannot be corrected: the judge approves less than its specificity allows" in notes[1]


def _of(items: list[Item], verdict: bool) -> list[int]:
    return [at for at, item in enumerate(items) if item.verdict.success is verdict]


def test_jdg_09_two_judges_that_disagree_on_4_of_20(tmp_path: Path, boat_conversation: Conversation) -> None:
    """JDG-09: people stand for the second judge: agreement 16 of 20, kappa with n and interval."""
    with make_run(tmp_path / "two", boat_conversation, 5, lambda n, d: Verdict(success=(n + d) % 2 == 0)) as store:
        items = draw(store, protocol="turn", judge="rules", n=20, seed=0)
        found = calibrate(store, label(items, {0, 1, 2, 3}), protocol="turn", judge="rules")
    assert found.sample.observed == pytest.approx(0.8)
    assert found.sample.n == 20
    assert found.sample.kappa is not None
    assert found.sample.ci95 is not None
    assert found.sample.ci95[0] <= found.sample.kappa <= found.sample.ci95[1]


def test_another_run_of_the_same_judge_is_corrected_too(
    tmp_path: Path, store: RunStore, boat_conversation: Conversation
) -> None:
    """Sensitivity and specificity carry over; another judge under the same name is refused."""
    items = draw(store, protocol="turn", judge="rules", n=60, seed=1)
    labels = label(items, {0, 1, 2, 3, 4, 5})
    with make_run(tmp_path / "other", boat_conversation, 10, lambda n, d: Verdict(success=(n + d) % 3 != 0)) as other:
        found = calibrate(store, labels, protocol="turn", judge="rules", elsewhere=[other])
        moved = found.figures["turn.success"].elsewhere[str(other.directory)]
        here = found.figures["turn.success"].assessment
        assert here is not None
        assert here.sensitivity.value is not None
        assert here.specificity.value is not None
        assert moved.apparent.value is not None
        youden = here.sensitivity.value + here.specificity.value - 1
        assert moved.raw == pytest.approx((moved.apparent.value + here.specificity.value - 1) / youden)
        other.set_note("scoring", {"judges": {"rules": {"judge": "rules", "similarity_floor": 0.5}}})
        with pytest.raises(UsageError, match="other settings there"):
            calibrate(store, labels, protocol="turn", judge="rules", elsewhere=[other])


def test_workflow_verdicts_are_drawn_as_whole_conversations(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Items of a workflow are replays, and headline and all-conversations figures are both there."""
    with make_run(tmp_path / "flow", boat_conversation, 8, lambda _n, _d: None) as store:
        for number, name in enumerate(store.conversation_ids()):
            store.put_trajectory(name, Trajectory(conversation=name, completed=True))
            store.put_verdict("rules", "workflow", name, None, Verdict(success=number % 2 == 0), "key")
        items = draw(store, protocol="workflow", judge="rules", n=6, seed=0)
        found = calibrate(store, label(items), protocol="workflow", judge="rules")
    assert {item.kind for item in items} == {"tools"}
    assert all(item.decision is None for item in items)
    assert found.figures["workflow.success"].units == 8
    assert found.figures["workflow.success.all"].units == 8


def test_the_figures_are_those_of_the_run(tmp_path: Path, boat_conversation: Conversation) -> None:
    """What the judge approves is the figure that the summary shows, on a whole evaluation of its own."""
    file = tmp_path / "boats.jsonl"
    write_openai([msgspec.structs.replace(boat_conversation, id=f"b{n}") for n in range(12)], file)
    model = ModelConfig(spec="baseline/noisy?p_text=0.6&p_tool=0.5&seed=3")
    config = EvalConfig(data=DataConfig(paths=(str(file),)), model=model, protocols=("turn",))
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        summary = summarise(store)
        found = calibrate(
            store, label(draw(store, protocol="turn", judge="rules", n=30, seed=0)), protocol="turn", judge="rules"
        )
    for name, figure in found.figures.items():
        assert figure.assessment is not None
        assert figure.assessment.apparent.value == pytest.approx(summary.metrics[name].value)
        assert figure.units == summary.metrics[name].n
