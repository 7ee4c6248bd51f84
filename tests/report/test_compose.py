"""What a report says about stored runs: sections, figures, what is left out and why, failed workflows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boats
import msgspec
import pytest
from lived import course, made_up, played
from reports import HOSTILE, evaluated, hostile_run

from turngap import samples
from turngap.analysis.chain import chain
from turngap.analysis.rollout import summarise as sum_up_trials
from turngap.analysis.summary import summarise
from turngap.config import ReplayConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Cause,
    Problem,
    Spoken,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from turngap.data.reward import Grade, Mismatch, Reward, Symptom, SymptomKind
from turngap.protocols import replay
from turngap.report.compose import Wish, compose
from turngap.report.document import Document, Section
from turngap.report.transcript import LONGEST
from turngap.runs.store import RunStore


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunStore]]:
    """Two noisy baselines on packaged conversations, the second without horizon."""
    folder = tmp_path_factory.mktemp("runs")
    first = evaluated(
        folder / "one",
        samples.path(),
        "baseline/noisy?p_text=0.9&p_tool=0.5",
        protocols=("text", "turn", "strict", "replay", "workflow", "horizon"),
        replay=ReplayConfig(attempts=1),
    )
    second = evaluated(
        folder / "two", samples.path(), "baseline/noisy?p_text=0.6&p_tool=0.9", replay=ReplayConfig(attempts=1)
    )
    stores = [RunStore.open(path) for path in (first, second)]
    yield stores
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def document(runs: list[RunStore]) -> Document:
    """The report on both."""
    return compose(runs)


def _section(document: Document, key: str) -> Section:
    return next(section for section in document.sections if section.key == key)


def test_the_gap_is_told_with_the_tries_of_the_workflow(document: Document, runs: list[RunStore]) -> None:
    """The sentence holds replays, of one try here, against decisions with as many, not judged turns against verdicts."""
    for store, said in zip(runs, _section(document, "gap").findings, strict=True):
        link = next(one for one in chain(store).links if one.name == "with_retries")
        assert link.predicted.value is not None and link.measured.value is not None
        assert (
            f"with 1 try at each decision, would leave {100 * link.predicted.value:.1f}% of workflows finished, "
            f"measured are {100 * link.measured.value:.1f}% (replay.completed)"
        ) in said


def test_sections_stand_in_the_order_of_the_story(document: Document) -> None:
    """From the headline to single failures, and at last what was run."""
    keys = [section.key for section in document.sections]
    assert keys == ["headline", "gap", "split", "horizon", "errors", "ranks", "categories", "workflows", "runs"]
    assert len({chart.name for chart in document.charts}) == len(document.charts)


def test_the_headline_is_the_summary(document: Document, runs: list[RunStore]) -> None:
    """Every cell of the headline table is the run's figure with its interval and n, the judge is named."""
    table = _section(document, "headline").tables[0]
    assert "rules" in table.caption
    for row, store in zip(table.rows, runs, strict=True):
        figure = summarise(store, seed=store.config.seed).metrics["workflow.success"]
        assert figure.value is not None
        assert figure.ci95 is not None
        assert row[0].text == store.config.model.spec
        assert row[-1].text == f"{100 * figure.value:.1f}"
        low, high = figure.ci95
        assert row[-1].note == f"{100 * low:.1f}–{100 * high:.1f}\nn {figure.n}"


def test_failed_workflows_show_both_decisions(document: Document, runs: list[RunStore]) -> None:
    """A failed replay is shown at its first unresolved error: the recorded call beside the rejected one."""
    failures = _section(document, "workflows").failures[0]
    failed = next(one for one in failures.shown if one.category == "wrong_tool")
    recorded, own = (next(line for line in side.lines if line.who == "call") for side in failed.sides)
    assert own.label == f"{recorded.label}_unknown" or own.label != recorded.label
    assert own.mark.startswith("rejected: wrong_tool")
    assert own.good is False
    assert failed.before
    trajectory = runs[0].trajectory(failed.conversation)
    assert f"decision {trajectory.problems[0].decision}" in failed.place


def test_a_completed_replay_with_other_words_is_shown_by_turn(document: Document) -> None:
    """Where a judge fails what was replayed to the end, the first turn with other words stands side by side."""
    shown = [one for run in _section(document, "workflows").failures for one in run.shown]
    failed = next(one for one in shown if one.place.startswith("no step is named"))
    assert failed.reason.startswith("rules: ")
    recorded, own = failed.sides
    assert [line.text for line in recorded.lines] != [line.text for line in own.lines]


def test_transcripts_are_bounded(runs: list[RunStore]) -> None:
    """At most so many failed workflows of each run are shown, and it is said how many there are."""
    failures = _section(compose(runs, Wish(failures=2)), "workflows").failures
    assert [len(each.shown) for each in failures] == [2, 2]
    assert all(each.total > 2 for each in failures)


def test_sec_11_transcripts_can_be_left_out(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """SEC-11: on request no text of a conversation is in the report; figures stay."""
    boat_record["messages"][3]["content"] = "Authorization: Bearer SENTINEL-5"
    data = tmp_path / "boats.jsonl"
    data.write_text(json.dumps(boat_record), encoding="utf-8")
    path = evaluated(tmp_path / "run", data, "baseline/noisy?p_tool=0&p_text=0")
    with RunStore.open(path) as store:
        with_texts, without = compose([store]), compose([store], Wish(transcripts=False))
    assert "SENTINEL-5" in str(with_texts)
    assert "SENTINEL-5" not in str(without)
    assert "--no-transcripts" in " ".join(_section(without, "absent").findings)
    assert _section(without, "headline") == _section(with_texts, "headline")


def test_what_a_run_does_not_hold_is_left_out_with_a_sentence(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """A run of one cheap protocol has a report, which says what is not in it."""
    data = tmp_path / "boats.jsonl"
    data.write_text(json.dumps(boat_record), encoding="utf-8")
    with RunStore.open(evaluated(tmp_path / "run", data, "baseline/reference", protocols=("strict",))) as store:
        document = compose([store])
    keys = [section.key for section in document.sections]
    assert keys == ["headline", "gap", "runs", "absent"]
    absent = " ".join(_section(document, "absent").findings)
    for name in ("turn", "horizon", "replays", "two runs"):
        assert name in absent
    assert "Not measured in any of these runs: text, turn, judged, replay, workflow" in " ".join(
        _section(document, "headline").notes
    )


def test_runs_that_do_not_compare_have_no_ranks(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """Runs over different data stand side by side, and the report says why they are not ranked."""
    paths = []
    for number in (1, 2):
        data = tmp_path / f"{number}.jsonl"
        boat_record["id"] = "boat"
        boat_record["messages"][1]["content"] = f"Please move BK-1042 to 2 May, {number}."
        data.write_text(json.dumps(boat_record), encoding="utf-8")
        paths.append(evaluated(tmp_path / f"run{number}", data, "baseline/reference"))
    with RunStore.open(paths[0]) as one, RunStore.open(paths[1]) as other:
        document = compose([one, other])
    assert "Rank flips: these runs do not compare: " in " ".join(_section(document, "absent").findings)
    labels = [row[0].text for row in _section(document, "headline").tables[0].rows]
    assert labels == ["baseline/reference (run1)", "baseline/reference (run2)"]


def test_the_judge_is_named_or_its_absence_said(runs: list[RunStore], tmp_path: Path) -> None:
    """The caption of the headline says who judged, or that nobody did."""
    path = evaluated(tmp_path / "three", samples.path(), "baseline/reference", protocols=("strict",))
    with RunStore.open(path) as unjudged:
        assert "verdicts of rules" in _section(compose([*runs, unjudged]), "headline").tables[0].caption
        assert "Nobody judged" in _section(compose([unjudged]), "headline").tables[0].caption


def test_view_04_long_and_broken_texts_are_shown_with_a_mark(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """VIEW-04: 200 KB in a line are shown up to a bound, which is said; every failure of a hostile run is there."""
    with RunStore.open(hostile_run(tmp_path, boat_record)) as store:
        failures = _section(compose([store]), "workflows").failures[0]
    assert len(failures.shown) == len(HOSTILE)
    lines = [
        line for one in failures.shown for line in (*one.before, *(line for side in one.sides for line in side.lines))
    ]
    long = next(line for line in lines if line.more)
    assert len(long.text) == LONGEST
    assert len(long.text) + long.more == 200_000 + len(HOSTILE[0])


@pytest.mark.parametrize("arguments", ['{"booking_id": "BK-1042"', "[1]", ""])
def test_ing_01_malformed_calls_are_shown_as_they_were_written(
    tmp_path: Path, boat_record: dict[str, Any], arguments: str
) -> None:
    """ING-01, VIEW-04: a call without readable arguments keeps its raw text, and is marked; so is an empty answer."""
    data = tmp_path / "boats.jsonl"
    data.write_text(json.dumps(boat_record), encoding="utf-8")
    path = evaluated(tmp_path / "run", data, "baseline/reference", protocols=("replay",))
    call = ToolCall(name="get_booking", arguments=None, raw=arguments, error="no JSON object")
    rejected = CallVerdict(accepted=False, category=Category.MALFORMED_CALL, decision=0, attempt=1)
    events = (
        Spoken(message=UserMessage(content="Please.")),
        Acted(message=AssistantMessage(), decision=0),
        Acted(
            message=AssistantMessage(calls=(call,)),
            results=(ToolMessage(content=""),),
            verdicts=(rejected,),
            decision=0,
        ),
    )
    problem = Problem(category=Category.MALFORMED_CALL, decision=0, event=2, detail="malformed")
    with RunStore.open(path, write=True) as store:
        conversation = next(store.conversations())
        trajectory = Trajectory(conversation=conversation.id, events=events, problems=(problem,))
        store.put_trajectory(conversation.id, trajectory)
        store.replace_scores("replay", [replay.score(conversation, trajectory)])
        failed = _section(compose([store]), "workflows").failures[0].shown[0]
    empty, shown, result = failed.sides[1].lines
    assert (empty.text, empty.mark) == ("", "empty answer")
    assert (shown.text, shown.mark) == (
        arguments,
        "malformed: no JSON object, rejected: malformed_call, attempt 1",
    )
    assert result.text == ""


def test_the_same_runs_give_the_same_document(runs: list[RunStore], document: Document) -> None:
    """Nothing in a report depends on when it was made."""
    assert compose(runs) == document


_LIVE = ["live", "passk", "parts", "users", "symptoms", "endings", "tasks", "trials", "live-runs"]


@pytest.fixture(scope="module")
def lived_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunStore]:
    """Two tasks at the boat-hire desk, twice each, by an agent that errs."""
    path = played(
        tmp_path_factory.mktemp("lived") / "run",
        [boats.task(1), boats.task(2)],
        "baseline/noisy?p_tool=0.5&p_text=0.5&seed=4",
        trials=3,
    )
    with RunStore.open(path) as store:
        yield store


def test_live_trials_have_sections_of_their_own(lived_run: RunStore) -> None:
    """From the headline to single trials, and at last what was run; what they cannot fill is said."""
    document = compose([lived_run])
    assert [section.key for section in document.sections] == [*_LIVE, "absent"]
    assert document.title == "baseline/noisy?p_tool=0.5&p_text=0.5&seed=4: live tasks"
    assert document.subtitle.startswith("2 tasks of boats.py, 6 trials, run ")
    absent = _section(document, "absent").findings
    assert [finding.partition(":")[0] for finding in absent] == ["By scenario", "tau2's own scoring"]
    row = _section(document, "live").tables[0].rows[0]
    figure = sum_up_trials(lived_run, seed=lived_run.rollout.seed).metrics["pass^1"]
    assert figure.value is not None
    assert row[2].text == f"{100 * figure.value:.1f}"
    assert _section(document, "trials").failures[0].shown


def test_recorded_and_live_runs_stand_in_one_report(runs: list[RunStore], lived_run: RunStore) -> None:
    """A table of both first, then the sections of each, whatever the order in which they are named."""
    document = compose([lived_run, *runs])
    keys = [section.key for section in document.sections]
    assert keys[:3] == ["beside", "headline", "gap"]
    assert [key for key in keys if key in _LIVE] == _LIVE
    assert len(set(keys)) == len(keys)
    assert len({chart.name for chart in document.charts}) == len(document.charts)
    assert document.title == "3 models: recorded conversations and live tasks"


def test_sec_11_transcripts_of_trials_can_be_left_out(tmp_path: Path) -> None:
    """SEC-11: no word of user, agent, tool or database, also in notes and tables; figures stay."""
    secret = "SENTINEL-5"
    wrong = Reward(
        value=0.0,
        components={"DB": Grade(value=0.0, counted=True, detail=secret)},
        mismatches=(Mismatch(record="bookings[BK-1]", field="name", wanted=secret, found=None),),
        mismatched=1,
        symptoms=(Symptom(kind=SymptomKind.EXTRA_WRITE, event=3, detail=secret, evidence=secret),),
        tau2={"reward": 1.0},
    )
    said = course(secret, secret, secret, secret)
    spoiled = (wrong, Cause.USER)
    with made_up(
        tmp_path / "run", {"a": [(wrong, Cause.WRONG), spoiled]}, trajectory=said, instructions=secret
    ) as store:
        rows = [score for _, score in store.scores("reward")]
        store.replace_scores("reward", [msgspec.structs.replace(row, detail=secret) for row in rows])
        with_texts, without = compose([store]), compose([store], Wish(transcripts=False))
    assert str(with_texts).count(secret) > 10
    assert secret not in str(without)
    assert _section(without, "live") == _section(with_texts, "live")
    assert "--no-transcripts" in " ".join(_section(without, "absent").findings)
