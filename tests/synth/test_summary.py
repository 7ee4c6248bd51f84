"""The summariser that needs no model: what its tasks say, and that they say it three times over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from explorations import (
    CANCEL,
    DELIVERED,
    EXCHANGE,
    FIND,
    HAND_OVER,
    LAMP,
    MUG,
    PENDING,
    RETURN,
    SWAP,
    USER,
    call,
    explored,
    shop,
)
from synthtasks import ADA, MOVING, SHOPPING, drafted, worded

from turngap.data.task import Component, Scenario, Task
from turngap.formats import tasks
from turngap.synth import scenario
from turngap.synth.plan import Fact, LostError
from turngap.synth.summary import TemplateSummariser
from turngap.synth.wording import mentions
from turngap.users.prompt import system_text

LATE = call("return_delivered_order_items", order_id="#W1", item_ids=["11"], payment_method_id="g2")
"""Of an order that is still pending."""
LESS = call("calculate", expression="1.05 - 1.0")


def _drift() -> Task:
    return worded(drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, MUG, EXCHANGE), 1))


def test_a_general_task_tells_everything_at_once() -> None:
    """Who it is, both wishes and all values; the facts say the same when asked for, and are marked as told."""
    task = worded(drafted(Scenario.GENERAL))
    assert task.intent is not None
    for value in ("noor@example.com", "#W1", "#W2", "the mug", "in blue"):
        assert value in task.intent.opening
    assert [one["wish"] for one in task.made["wishes"]] == ["step 3", "step 6"]
    assert {fact.slot for fact in task.intent.facts} >= {"email", "order_id", "reason", "new_item_ids"}
    assert all(fact.told for fact in task.intent.facts if fact.slot not in ("first_name", "last_name"))


def test_instructions_are_in_the_second_person() -> None:
    """For whoever plays the user, also in tau2, which reads nothing else."""
    told = worded(drafted(Scenario.GENERAL)).instructions
    assert told.reason.startswith("You want to ")
    assert "You also want to " in told.reason
    assert "noor@example.com" in told.known
    for word in (" I ", " my ", " me "):
        assert word not in told.text()


def test_an_ambiguous_task_begins_with_nothing_but_the_wish() -> None:
    """None of the withheld values is in the first message; each has an answer, and the instructions say how to go on."""
    draft = drafted(Scenario.AMBIGUOUS, MOVING)
    task = worded(draft)
    assert task.intent is not None
    for index in draft.withheld:
        value = str(draft.plan.arguments[index].value)
        assert not value or not mentions(task.intent.opening, value)
    answers = {fact.slot: fact.says for fact in task.intent.facts}
    assert "9 Oak Row, Reno, NV 89501, USA" in answers["address1"]
    assert "noor@example.com" in answers["email"]
    assert "when the agent asks for it, not before" in task.instructions.further
    assert "9 Oak Row" in task.instructions.known
    assert {one["slot"] for one in task.made["withheld"]} >= {"email", "address1", "city"}


def test_answers_to_the_same_question_say_what_they_are_about() -> None:
    """Two orders: which is for the cancellation, which for the exchange."""
    task = worded(drafted(Scenario.AMBIGUOUS))
    assert task.intent is not None
    said = {fact.value: fact.says for fact in task.intent.facts if fact.slot == "order_id"}
    assert said["#W1"].startswith("For the cancellation: ")
    assert said["#W2"].startswith("For the exchange: ")


def test_a_question_that_would_tell_too_much_is_put_vaguely() -> None:
    """Whoever asks for the order number learns what was meant."""
    facts = (Fact(step=2, path="status", value="pending", about="the status of order #W1"),)
    exploration = explored(SHOPPING, facts=facts)
    task = worded(scenario.draft(shop(), exploration, Scenario.AMBIGUOUS))
    assert task.intent is not None
    assert "the status of an order" in task.intent.opening
    assert "#W1" not in task.intent.opening
    meant = [fact.says for fact in task.intent.facts if fact.slot == "order_id" and "#W1" in fact.says]
    assert any("status" in says or "state" in says for says in meant)


def test_a_drift_takes_the_first_wish_back_when_asked_for_a_yes() -> None:
    """The opening has the first wish only; what is said then has the second, with its facts; both stand in `made`."""
    task = _drift()
    assert task.intent is not None
    (change,) = task.intent.changes
    assert (change.kind, change.when) == ("drift", "confirm")
    assert change.says not in task.intent.opening
    assert task.made["first"][0]["name"] != ""
    assert {fact.slot for fact in change.facts} >= {"order_id", "new_item_ids"}
    assert [action.call() for action in task.criteria.actions][-1] == EXCHANGE
    assert "change your mind" in task.instructions.further


def test_a_correction_is_no_change_of_heart() -> None:
    """Whoever wants the same with another card takes nothing back, and gives no reason a second time."""
    task = worded(drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, RETURN)))
    assert task.intent is not None
    (change,) = task.intent.changes
    assert task.made["first"][0]["name"] == RETURN.name
    assert change.says.startswith(
        ("Actually, wait. One thing", "Hold on, not quite", "Wait, I have to", "Sorry, I got")
    )
    assert len(change.says.split(". ")) <= 3 and "Visa credit card ending in 0001" in change.says


def test_what_was_reckoned_says_of_which_change_where_there_are_several() -> None:
    """One change of items: the difference in price. Two of them: for the exchange."""
    for calls, about in (((), "the difference in price?"), ((PENDING, LAMP, SWAP), "the difference in price for the ")):
        made = (FIND, USER, *calls, DELIVERED, MUG, LESS, EXCHANGE)
        fact = Fact(step=made.index(LESS), path="", value="0.05", about="the difference in price")
        task = worded(scenario.draft(shop(), explored(made, facts=(fact,)), Scenario.GENERAL))
        assert task.intent is not None
        assert about.rstrip("?") in task.intent.opening
        assert ("for the exchange" in task.intent.opening) == bool(calls)


def test_what_was_reckoned_of_something_else_is_given_up() -> None:
    """A difference that is not that of the change which is made: a correct agent would tell another one."""
    other = call("calculate", expression="9.00 - 1.00")
    made = (FIND, USER, DELIVERED, MUG, other, EXCHANGE)
    fact = Fact(step=4, path="", value="8.00", about="the difference in price")
    with pytest.raises(LostError, match="words do not determine"):
        worded(scenario.draft(shop(), explored(made, facts=(fact,)), Scenario.GENERAL))


def test_a_value_of_a_record_is_asked_for_with_the_record() -> None:
    """Where no phrase knows the place, the order is named; in an ambiguous task to whoever asks for its number."""
    fact = Fact(step=2, path="address.city", value="Atlanta", about="the city")
    exploration = explored(SHOPPING, facts=(fact,))
    task = worded(scenario.draft(shop(), exploration, Scenario.GENERAL))
    assert task.intent is not None and "the city of order #W1" in task.intent.opening
    task = worded(scenario.draft(shop(), exploration, Scenario.AMBIGUOUS))
    assert task.intent is not None and "#W1" not in task.intent.opening
    assert any("the city of order #W1" in fact.says for fact in task.intent.facts if fact.slot == "order_id")


def test_the_same_question_twice_is_given_up() -> None:
    """Nobody asks for "the status of an order" and then for that of another in the same words."""
    facts = tuple(Fact(step=step, path="status", value="x", about="the status") for step in (2, 4))
    with pytest.raises(LostError, match="words do not determine"):
        worded(scenario.draft(shop(), explored(SHOPPING, facts=facts), Scenario.AMBIGUOUS))


def test_a_thing_that_is_to_take_its_own_place_is_no_wrong_version() -> None:
    """No reason is given why another one would be better."""
    same = call(
        "exchange_delivered_order_items", order_id="#W2", item_ids=["11"], new_item_ids=["11"], payment_method_id="c1"
    )
    for seed in range(8):
        task = worded(drafted(Scenario.INFEASIBLE, (FIND, USER, DELIVERED, MUG, same), seed))
        assert task.intent is not None
        assert "exactly the same one" in task.intent.opening
        assert "version" not in task.intent.opening and "quite right" not in task.intent.opening


def test_an_addition_comes_when_the_first_is_done() -> None:
    """And not before: the opening does not speak of it."""
    found = [worded(drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, RETURN, HAND_OVER), n)) for n in range(12)]
    task = next(one for one in found if "added_from" in one.made)
    assert task.intent is not None
    (change,) = task.intent.changes
    assert (change.kind, change.when) == ("addition", "done")
    assert any(word in change.says for word in ("person", "human", "somebody"))
    assert not any(word in task.intent.opening for word in (" person", "human", "somebody"))
    assert "bring up something else" in task.instructions.further


def test_an_infeasible_task_insists_and_says_why_it_cannot_be() -> None:
    """The reference is the diagnosis; the call is forbidden, whatever its other arguments."""
    task = worded(drafted(Scenario.INFEASIBLE, (FIND, USER, PENDING, LATE)))
    assert task.intent is not None
    assert 1 <= len(task.intent.insist) <= 2
    assert "#W1" in task.intent.opening
    assert "pending" not in task.intent.opening
    criteria = task.criteria
    assert [action.name for action in criteria.required] == [FIND.name, PENDING.name]
    assert [(action.name, action.compare_args) for action in criteria.forbidden] == [(LATE.name, ("order_id",))]
    assert Component.CONSTRAINT in criteria.reward_basis
    assert Component.DB in criteria.reward_basis
    assert criteria.reason == "Only a delivered order can be returned; this one is 'pending'."
    assert "insist" in task.instructions.further


def test_a_wish_for_somebody_else_says_so() -> None:
    """Ada asks for Noor's order, and does not call it hers."""
    found = call("find_user_id_by_name_zip", first_name="Ada", last_name="Vega", zip="83702")
    task = worded(scenario.draft(shop(), explored((found, PENDING, CANCEL), customer=ADA), Scenario.INFEASIBLE))
    assert task.intent is not None
    assert any(word in task.intent.opening for word in ("friend", "sister", "partner", "colleague", "Colleague"))
    assert "my order" not in task.intent.opening
    assert "Ada Vega" in task.intent.opening


def test_a_hand_over_is_looked_for() -> None:
    """It changes nothing, so that an agent that does nothing would pass; any summary will do."""
    task = worded(drafted(Scenario.GENERAL, (FIND, USER, DELIVERED, RETURN, HAND_OVER)))
    (required,) = task.criteria.required
    assert (required.name, required.compare_args) == (HAND_OVER.name, ())
    assert Component.CONSTRAINT in task.criteria.reward_basis


def test_the_same_draft_gives_the_same_task() -> None:
    """Another seed of the draft gives other words."""
    draft = drafted(Scenario.GENERAL)
    assert worded(draft) == worded(draft)
    others = [worded(msgspec.structs.replace(draft, seed=seed)).intent for seed in range(8)]
    assert len({one.opening for one in others if one is not None}) > 4


def test_a_task_goes_through_a_file_unchanged(tmp_path: Path) -> None:
    """As tau2 reads it, with all of ours under its own key; a model that plays the user is told all of it."""
    task = _drift()
    path = tmp_path / "tasks.json"
    tasks.write(path, [task])
    (read,) = tasks.read(path).tasks
    assert msgspec.structs.replace(read, raw={}) == task
    assert task.intent is not None
    assert task.intent.changes[0].says in system_text(task)


def test_the_person_s_own_phrases_are_used(tmp_path: Path) -> None:
    """In place of the shipped ones; they are part of the summariser's identity."""
    own = tmp_path / "own.toml"
    own.write_text('[tool.cancel_pending_order]\nwish = ["get rid of {order_id}, {reason}"]\n', encoding="utf-8")
    draft = drafted(Scenario.GENERAL, (FIND, USER, PENDING, CANCEL))
    summariser = TemplateSummariser(shop(), phrases=[own])
    task = asyncio.run(summariser.summarise(draft, shop()))
    assert task.intent is not None
    assert "get rid of #W1" in task.intent.opening
    assert summariser.identity() != TemplateSummariser(shop()).identity()


@pytest.mark.parametrize("wanted", [Scenario.GENERAL, Scenario.AMBIGUOUS, Scenario.CHANGING])
def test_every_wish_has_its_sentence(wanted: Scenario) -> None:
    """SYN-06: each effect of the reference is asked for in words that the customer says, and there is no other wish."""
    task = worded(drafted(wanted))
    assert task.intent is not None
    said = " ".join([task.intent.opening, *(change.says for change in task.intent.changes)])
    effects = {
        f"step {n + 1}" for n, action in enumerate(task.criteria.actions) if action.name in (CANCEL.name, EXCHANGE.name)
    }
    final = [one for one in task.made["wishes"] if not one["wish"].startswith("first")]
    assert effects <= {one["wish"] for one in final}
    assert all(one["text"] in said for one in task.made["wishes"])
