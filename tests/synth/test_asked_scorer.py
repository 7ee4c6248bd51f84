"""What a model thinks of a task, against a server that answers by script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from chatserver import ChatServer, Step, text
from explorations import DELIVERED, EXCHANGE, FIND, MUG, PENDING, USER, call, shop
from synthtasks import SHOPPING, drafted, worded

from turngap import models
from turngap.config import ModelConfig
from turngap.data.task import Scenario, Task
from turngap.synth.asked_scorer import AskedScorer
from turngap.synth.plan import LostError

Start = Callable[..., ChatServer]
LATE = call("return_delivered_order_items", order_id="#W1", item_ids=["11"], payment_method_id="g2")
CALLS = {
    Scenario.GENERAL: SHOPPING,
    Scenario.AMBIGUOUS: SHOPPING,
    Scenario.CHANGING: (FIND, USER, DELIVERED, MUG, EXCHANGE),
    Scenario.INFEASIBLE: (FIND, USER, PENDING, LATE),
}


def _score(server: ChatServer, wanted: Scenario = Scenario.GENERAL) -> Task:
    draft = drafted(wanted, CALLS[wanted])
    task = worded(draft)

    async def run() -> Task:
        scorer = AskedScorer(models.build(ModelConfig(spec="openai/m", base_url=server.url, give_up_after=1.0)), shop())
        try:
            return await scorer.score(task, draft)
        finally:
            await scorer.aclose()

    return asyncio.run(run())


def _scores(**scores: Any) -> Step:
    given = {"realism": 9, "necessity": 7, "correctness": 8.5, "relevance": 8, "soundness": 8, **scores}
    return text(json.dumps({"scores": given, "rationale": "Plain and likely."}))


def test_scores_stand_in_the_task(chat_server: Start) -> None:
    """Those of its scenario, with the rationale; nothing else of the task changes."""
    task = _score(chat_server([_scores()]))
    assert task.made["scores"] == {
        "realism": 9,
        "necessity": 7,
        "correctness": 8.5,
        "rationale": "Plain and likely.",
        "asks": 1,
    }
    assert task.intent == worded(drafted(Scenario.GENERAL)).intent


@pytest.mark.parametrize(
    ("wanted", "aspect"),
    [
        (Scenario.GENERAL, "realism"),
        (Scenario.AMBIGUOUS, "relevance"),
        (Scenario.CHANGING, "relevance"),
        (Scenario.INFEASIBLE, "soundness"),
    ],
)
def test_a_judge_that_rejects_gives_the_task_up(chat_server: Start, wanted: Scenario, aspect: str) -> None:
    """Below seven in any aspect of the scenario; seven is enough."""
    assert aspect in _score(chat_server([_scores(**{aspect: 7})]), wanted).made["scores"]
    with pytest.raises(LostError) as lost:
        _score(chat_server([_scores(**{aspect: 6.9})]), wanted)
    loss = lost.value.loss
    assert (loss.stage, loss.reason) == ("validate", "a score is too low")
    assert f"{aspect} 6.9: Plain and likely." in loss.detail


@pytest.mark.parametrize("score", [None, True, "9", 11, -1])
def test_what_is_no_score_is_asked_for_once_more(chat_server: Start, score: Any) -> None:
    """Then the task is given up, and its reason says that there was none."""
    task = _score(chat_server([_scores(necessity=score), _scores()]))
    assert (task.made["scores"]["asks"], task.made["scores"]["mishaps"]) == (2, {"no scores": 1})
    with pytest.raises(LostError) as lost:
        _score(chat_server([_scores(necessity=score)]))
    assert lost.value.loss.reason == "no scores"


def test_malformed_json_is_no_score(chat_server: Start) -> None:
    """As little as silence."""
    with pytest.raises(LostError) as lost:
        _score(chat_server([text('{"scores": {'), text("")]))
    assert lost.value.loss.reason == "unreadable answer"


@pytest.mark.parametrize("wanted", list(Scenario))
def test_the_model_sees_all_that_it_judges(chat_server: Start, wanted: Scenario) -> None:
    """Words, reference with results, criteria, the record and the policy; the questions of its scenario."""
    server = chat_server([_scores()])
    task = _score(server, wanted)
    asked = "\n".join(message["content"] for message in server.requests[0]["messages"])
    assert task.intent is not None
    for words in (task.intent.opening, task.instructions.reason, *(one.says for one in task.intent.changes)):
        assert json.dumps(words, ensure_ascii=False)[1:-1] in asked
    draft = drafted(wanted, CALLS[wanted])
    assert all(step.result[:40].replace('"', '\\"') in asked for step in draft.plan.steps)
    for action in (*task.criteria.required, *task.criteria.forbidden):
        assert action.name in asked
    assert task.criteria.reason in asked
    assert "Know who you are talking to" in asked
    assert ("relevance" in asked) == (wanted in (Scenario.AMBIGUOUS, Scenario.CHANGING))
    assert ("soundness" in asked) == (wanted is Scenario.INFEASIBLE)
