"""Why the replays of a run failed: counts that add up, shares, examples, drill-down, labels beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.analysis.taxonomy import taxonomy, to_document
from turngap.config import DataConfig, EvalConfig, MatchConfig, ModelConfig, ReplayConfig
from turngap.data import AssistantMessage, Cause, Conversation, Failure, Prediction, ToolCall, Trajectory
from turngap.engines.base import Quiet
from turngap.errors import JudgeError
from turngap.judges.label import LabelCase, ScriptedLabeller
from turngap.metrics.interval import wilson
from turngap.metrics.matching import Matcher
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay
from turngap.protocols.labelling import label_failures
from turngap.runs.store import RunStore

GET = AssistantMessage(calls=(ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"}),))
MOVE = AssistantMessage(
    calls=(ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2}),)
)
WRONG = AssistantMessage(calls=(ToolCall(name="find_customer", arguments={"email": "a@example.org"}),))
ASK, BYE = AssistantMessage(content="Shall I move it?"), AssistantMessage(content="Done, 2 May.")
SCRIPTS: dict[str, list[AssistantMessage]] = {
    "good": [GET, ASK, MOVE, BYE],
    "tool-1": [WRONG] * 3,
    "tool-2": [GET, ASK, WRONG, WRONG, WRONG],
    "silent": [BYE, BYE],
}


@pytest.fixture
async def store(tmp_path: Path, boat_conversation: Conversation) -> Any:
    """A run with one completed replay, three failed ones and an errored one."""
    config = EvalConfig(data=DataConfig(paths=("boats.jsonl",)), model=ModelConfig(spec="scripted"))
    with RunStore.create(tmp_path / "run", config) as found:
        names = [*SCRIPTS, "lost"]
        found.add_conversations(msgspec.structs.replace(boat_conversation, id=name) for name in names)
        for name, script in SCRIPTS.items():
            found.put_trajectory(name, await _replay(found.conversation(name), script))
        found.put_trajectory("lost", Failure(cause=Cause.ENDPOINT, reason="503"))
        yield found


async def _replay(conversation: Conversation, script: list[AssistantMessage], **rules: Any) -> Trajectory:
    answers: Iterator[AssistantMessage] = iter(script)
    model = ScriptedModel(lambda _request: Prediction(message=next(answers, BYE)))
    matcher = Matcher(conversation.tools, MatchConfig())
    found = await replay.run(model, conversation, matcher, ReplayConfig(**rules))
    assert isinstance(found, Trajectory)
    return found


async def test_counts_add_up_and_shares_have_intervals(store: RunStore) -> None:
    """Categories partition the failed replays; errored ones are apart."""
    found = taxonomy(store)
    assert (found.replays, found.completed, found.failed, found.errored) == (4, 1, 3, 1)
    assert {row.name: row.count for row in found.categories} == {"wrong_tool": 2, "missing_call": 1}
    row = found.categories[0]
    assert row.share.value == pytest.approx(2 / 3)
    assert row.share.n == 3
    assert row.share.ci95 == wilson(2, 3)
    assert row.tools == {"get_booking": 1, "move_booking": 1}
    assert [example.conversation for example in row.examples] == ["tool-1", "tool-2"]
    assert sum(row.count for row in found.tools) == found.failed


async def test_what_no_detector_explains_is_counted(store: RunStore) -> None:
    """The model that only talked has a category and no finding."""
    found = taxonomy(store)
    assert found.without_finding == 1
    assert [case.conversation for case in found.cases if not case.findings] == ["silent"]
    assert {row.name for row in found.findings} == {"unrecorded_tool", "invented_value", "unheeded_error"}


async def test_drill_down_by_any_name(store: RunStore) -> None:
    """Category, finding, due tool, called tool and conversation all lead to cases with their evidence."""
    found = taxonomy(store)
    for name in ("wrong_tool", "unheeded_error", "find_customer"):
        assert [case.conversation for case in found.show(name)] == ["tool-1", "tool-2"]
    (case,) = found.show("tool-2")
    assert (case.decision, case.tool, case.called) == (2, "move_booking", "find_customer")
    assert case.detail.startswith("reference: move_booking(")
    assert found.show("nothing") == ()


async def test_errors_behind_the_first_are_counted_apart(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A replay that went on after its failure counts once; the second error is a later one."""
    rules = ReplayConfig(after_failure="continue")
    config = EvalConfig(data=DataConfig(paths=("b",)), model=ModelConfig(spec="scripted"), replay=rules)
    with RunStore.create(tmp_path / "on", config) as store:
        store.add_conversations([boat_conversation])
        script = [WRONG] * 3 + [ASK] + [WRONG] * 3 + [BYE]
        store.put_trajectory("boat", await _replay(boat_conversation, script, after_failure="continue"))
        found = taxonomy(store)
    (row,) = found.categories
    assert (found.failed, row.count, row.later) == (1, 1, 1)
    assert [case.first for case in found.cases] == [True, False]
    assert all(len(case.findings) == 3 for case in found.cases)


def test_a_run_without_failures_has_no_shares(tmp_path: Path, boat_conversation: Conversation) -> None:
    """STA-07: nothing to explain is no row, never a division by zero."""
    config = EvalConfig(data=DataConfig(paths=("b",)), model=ModelConfig(spec="scripted"))
    with RunStore.create(tmp_path / "none", config) as store:
        store.add_conversations([boat_conversation])
        found = taxonomy(store)
    assert (found.replays, found.failed, found.categories) == (0, 0, ())
    json.loads(json.dumps(to_document(found), allow_nan=False))


async def test_labels_stand_beside_and_are_not_asked_for_twice(store: RunStore) -> None:
    """A labeller is asked for what it is given, once; its labels are counted and found by drill-down."""
    labeller = ScriptedLabeller(lambda case: "lost_thread" if case.problem.decision == 0 else "")
    await label_failures(store, ["silent", "tool-2", "good", "lost"], labeller, Quiet(), concurrency=2)
    assert sorted(case.workflow.conversation.id for case in labeller.cases) == ["silent", "tool-2"]
    found = taxonomy(store)
    assert found.labelled_by == "scripted"
    assert [(row.name, row.count) for row in found.labels] == [("lost_thread", 1)]
    assert found.show("lost_thread")[0].rationale == "as the script says"
    await label_failures(store, ["silent", "tool-2"], labeller, Quiet(), concurrency=2)
    assert len(labeller.cases) == 2


async def test_a_label_that_could_not_be_had_is_tried_again(store: RunStore) -> None:
    """A failed labeller leaves the failure unlabelled, counted, and asked about next time."""
    answers: list[str | Exception] = [JudgeError("no answer"), "lost_thread"]

    def script(_case: LabelCase) -> str | Exception:
        return answers.pop(0)

    labeller = ScriptedLabeller(script)
    await label_failures(store, ["silent"], labeller, Quiet(), concurrency=1)
    assert taxonomy(store).label_errors == 1
    await label_failures(store, ["silent"], labeller, Quiet(), concurrency=1)
    found = taxonomy(store)
    assert (found.label_errors, found.labels[0].count) == (0, 1)


async def test_the_document_is_strict_json(store: RunStore) -> None:
    """What --json prints has a format stamp and holds every case."""
    document = to_document(taxonomy(store))
    assert document["format"] == "turngap-taxonomy/1"
    assert len(json.loads(json.dumps(document, allow_nan=False))["cases"]) == 3
