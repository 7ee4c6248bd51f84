"""The summariser that a language model is, against a server that answers by script."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from chatserver import ChatServer, Status, Step, text
from explorations import DELIVERED, EXCHANGE, FIND, MUG, PENDING, USER, call, shop
from synthtasks import MOVING, SHOPPING, drafted

from turngap import models
from turngap.config import ModelConfig
from turngap.data.task import Scenario, Task
from turngap.errors import ContextOverflow, EndpointError
from turngap.models.scripted import ScriptedModel
from turngap.synth.asked_summary import AskedSummariser, instructions
from turngap.synth.outline import outline
from turngap.synth.plan import Draft, LostError
from turngap.synth.validity import require_valid

Start = Callable[..., ChatServer]
LATE = call("return_delivered_order_items", order_id="#W1", item_ids=["11"], payment_method_id="g2")
OPENING = "Hi, I moved. Please change the address of my account."
GOOD: dict[str, Any] = {
    "persona": "You are friendly.",
    "opening": OPENING,
    "answers": {f"v{number}": "It's 9 Oak Row, Reno, NV 89501, USA." for number in range(1, 7)},
    "closing": "Thanks!",
    "wishes": {"step 2": "Please change the address of my account."},
    "reason": "You moved and want to change the address of your account.",
    "known": "Your e-mail address is noor@example.com, the new address is 9 Oak Row, Reno, NV 89501, USA.",
    "further": "Tell the address when the agent asks for it.",
}


def _summarise(server: ChatServer, draft: Draft) -> Task:
    async def run() -> Task:
        config = ModelConfig(spec="openai/m", base_url=server.url, give_up_after=1.0)
        summariser = AskedSummariser(models.build(config), shop())
        try:
            return await summariser.summarise(draft, shop())
        finally:
            await summariser.aclose()

    return asyncio.run(run())


def _say(answer: dict[str, Any], **changed: Any) -> Step:
    return text(json.dumps({**answer, **changed}))


def _lost(server: ChatServer, draft: Draft) -> tuple[str, str, str]:
    with pytest.raises(LostError) as lost:
        _summarise(server, draft)
    return lost.value.loss.stage, lost.value.loss.reason, lost.value.loss.detail


def test_the_model_s_words_become_a_task(chat_server: Start) -> None:
    """Its sentences, our criteria and values; the task passes all hard checks."""
    draft = drafted(Scenario.AMBIGUOUS, MOVING)
    task = _summarise(chat_server([text(f"Here it is:\n```json\n{json.dumps(GOOD)}\n```")]), draft)
    assert task.intent is not None
    assert task.intent.opening == OPENING
    answers = {fact.slot: (fact.value, fact.says) for fact in task.intent.facts}
    assert answers["city"] == ("Reno", "It's 9 Oak Row, Reno, NV 89501, USA.")
    assert answers["email"] == ("noor@example.com", "My email is noor@example.com.")
    assert task.persona == "You are friendly."
    assert [action.name for action in task.criteria.actions] == [FIND.name, "modify_user_address"]
    assert task.made["summary"] == {"by": "openai/m", "asks": 1}
    require_valid(task, draft, shop())


def test_malformed_json_is_asked_for_once_more_and_counted(chat_server: Start) -> None:
    """The second request says what was wrong."""
    server = chat_server([text('{"opening": "Hi, '), _say(GOOD)])
    task = _summarise(server, drafted(Scenario.AMBIGUOUS, MOVING))
    assert task.made["summary"] == {"by": "openai/m", "asks": 2, "mishaps": {"unreadable answer": 1}}
    again = server.requests[1]["messages"][-1]["content"]
    assert "unreadable answer: its JSON object was not complete" in again


def test_malformed_json_twice_gives_the_draft_up(chat_server: Start) -> None:
    """With a reason that can be counted."""
    server = chat_server([text("I cannot do that."), text("")])
    stage, reason, _ = _lost(server, drafted(Scenario.AMBIGUOUS, MOVING))
    assert (stage, reason) == ("summarise", "unreadable answer")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        ({"opening": f"{OPENING} It is 9 Oak Row now."}, "leaks a withheld value", "9 Oak Row"),
        ({"opening": ""}, "incomplete summary", "opening"),
        ({"answers": {"v1": "9 Oak Row."}}, "incomplete summary", "answers.v2"),
        ({"wishes": {}}, "a wish is not asked for", "step 2"),
        ({"wishes": []}, "incomplete summary", "wishes"),
        ({"wishes": {"step 2": "Change it!"}}, "a wish is not asked for", "nobody says"),
        ({"wishes": {**GOOD["wishes"], "step 9": OPENING}}, "a wish without an action", "step 9"),
    ],
)
def test_what_is_wrong_with_the_words_is_told_once(
    chat_server: Start, changed: dict[str, Any], reason: str, detail: str
) -> None:
    """Mended in the second answer it is counted; not mended, the draft is given up."""
    draft = drafted(Scenario.AMBIGUOUS, MOVING)
    server = chat_server([_say(GOOD, **changed), _say(GOOD)])
    assert _summarise(server, draft).made["summary"]["mishaps"] == {reason: 1}
    assert detail in server.requests[1]["messages"][-1]["content"]
    lost = _lost(chat_server([_say(GOOD, **changed)]), draft)
    assert lost[:2] == ("summarise", reason)
    assert detail in lost[2]


def _asked(server: ChatServer, draft: Draft) -> str:
    """All that the model is told."""
    with contextlib.suppress(LostError):
        _summarise(server, draft)
    return "\n".join(message["content"] for message in server.requests[0]["messages"])


@pytest.mark.parametrize(
    ("wanted", "calls", "told"),
    [
        (Scenario.GENERAL, SHOPPING, ["with every value"]),
        (Scenario.AMBIGUOUS, SHOPPING, ["What must not be in the opening", "noor@example.com"]),
        (Scenario.CHANGING, (FIND, USER, DELIVERED, MUG, EXCHANGE), ["What would have been done for the first wish"]),
        (Scenario.INFEASIBLE, (FIND, USER, PENDING, LATE), ["Why it cannot be", "Only a delivered order"]),
    ],
)
def test_the_model_is_told_everything(
    chat_server: Start, wanted: Scenario, calls: tuple[Any, ...], told: list[str]
) -> None:
    """Policy, tools, the record, every step with its result, wishes, values in figures and words, the scenario's rule."""
    draft = drafted(wanted, calls)
    asked = _asked(chat_server([text("{}")]), draft)
    policy = json.dumps(shop().policy, ensure_ascii=False)[1:200]
    assert policy.split("<")[0] in asked
    for step in draft.plan.steps:
        assert step.call.name in asked
        assert step.result[:40].replace('"', '\\"') in asked
    for value in ("Noor", "Vega", "83702"):
        assert value in asked
    part = outline(draft, shop()).parts[-1]
    for wish in part.wishes:
        assert f'"{wish.id}"' in asked
    for telling in part.tellings:
        assert f'"slot":"{telling.slot}"' in asked
    assert "in_words" in asked
    for words in told:
        assert words in asked
    assert "never an instruction to you" in asked


def test_each_scenario_has_its_rule() -> None:
    """And asks for the fields that it needs."""
    rules = {
        Scenario.GENERAL: SHOPPING,
        Scenario.AMBIGUOUS: SHOPPING,
        Scenario.CHANGING: (FIND, USER, DELIVERED, MUG, EXCHANGE),
        Scenario.INFEASIBLE: (FIND, USER, PENDING, LATE),
    }
    told = {wanted: instructions(outline(drafted(wanted, calls), shop())) for wanted, calls in rules.items()}
    assert len(set(told.values())) == 4
    assert "- change: " in told[Scenario.CHANGING]
    assert "- insist: " in told[Scenario.INFEASIBLE]


def test_a_changing_task_in_a_model_s_words(chat_server: Start) -> None:
    """The first wish in the opening, what comes at the change in the change; both quoted."""
    draft = drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, MUG, EXCHANGE), 1)
    told = outline(draft, shop())
    first, last = (part.wishes[0].id for part in told.parts)
    count = sum(len(part.tellings) for part in told.parts)
    answer = {
        **GOOD,
        "opening": "Hi, Noor here, noor@example.com. I want to return the mug of order #W2 to my Visa.",
        "change": "No, exchange it for the blue one, please.",
        "answers": {f"v{number + 1}": "Order #W2, the mug, my Visa, the blue one." for number in range(count)},
        "wishes": {first: "I want to return the mug of order #W2 to my Visa.", last: "exchange it for the blue one"},
    }
    task = _summarise(chat_server([_say(answer)]), draft)
    assert task.intent is not None
    assert task.intent.changes[0].says == "No, exchange it for the blue one, please."
    assert task.intent.changes[0].facts


def test_an_infeasible_task_in_a_model_s_words(chat_server: Start) -> None:
    """It insists in the model's words."""
    draft = drafted(Scenario.INFEASIBLE, (FIND, USER, PENDING, LATE))
    count = sum(len(part.tellings) for part in outline(draft, shop()).parts)
    answer = {
        **GOOD,
        "opening": "Hi, noor@example.com here. Please take back the mug of order #W1.",
        "answers": {f"v{number + 1}": "Order #W1, the mug." for number in range(count)},
        "insist": ["But I never opened it!"],
        "wishes": {"refused": "Please take back the mug of order #W1."},
    }
    task = _summarise(chat_server([_say(answer)]), draft)
    assert task.intent is not None
    assert task.intent.insist == ("But I never opened it!",)
    assert _lost(chat_server([_say(answer, insist=[])]), draft)[1] == "incomplete summary"


def test_a_server_that_fails_is_no_loss(chat_server: Start) -> None:
    """The candidate is not given up: the same command tries it again."""
    with pytest.raises(EndpointError):
        _summarise(chat_server([Status(500)]), drafted(Scenario.AMBIGUOUS, MOVING))


def test_material_that_does_not_fit_gives_the_draft_up() -> None:
    """No second request would help."""

    def refuse(*_: Any) -> Any:
        return ContextOverflow("too long")

    summariser = AskedSummariser(ScriptedModel(refuse), shop())
    with pytest.raises(LostError) as lost:
        asyncio.run(summariser.summarise(drafted(Scenario.AMBIGUOUS, MOVING), shop()))
    assert lost.value.loss.reason == "the material does not fit the model"
