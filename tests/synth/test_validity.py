"""Hard checks: each thing that can be wrong with a task is found and named, and a good one passes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from explorations import CANCEL, DELIVERED, EXCHANGE, FIND, MOVE, MUG, PENDING, RETURN, USER, call, shop
from synthtasks import MOVING, SHOPPING, drafted, worded

from turngap.data import ToolCall
from turngap.data.task import Action, Change, Scenario, Task
from turngap.synth.plan import Draft, LostError
from turngap.synth.validity import require_valid, unspoken, words

LATE = call("return_delivered_order_items", order_id="#W1", item_ids=["11"], payment_method_id="g2")
CASES = {
    Scenario.GENERAL: SHOPPING,
    Scenario.AMBIGUOUS: MOVING,
    Scenario.CHANGING: (FIND, USER, DELIVERED, MUG, EXCHANGE),
    Scenario.INFEASIBLE: (FIND, USER, PENDING, LATE),
}


def _made(wanted: Scenario) -> tuple[Task, Draft]:
    draft = drafted(wanted, CASES[wanted], 1)
    return worded(draft), draft


def _lost(task: Task, draft: Draft) -> tuple[str, str]:
    with pytest.raises(LostError) as lost:
        require_valid(task, draft, shop())
    assert lost.value.loss.stage == "validate"
    return lost.value.loss.reason, lost.value.loss.detail


def _with(task: Task, **intent: Any) -> Task:
    assert task.intent is not None
    return msgspec.structs.replace(task, intent=msgspec.structs.replace(task.intent, **intent))


def _referring(task: Task, *calls: ToolCall) -> Task:
    actions = tuple(Action(id=f"step {n}", name=one.name, arguments=one.arguments or {}) for n, one in enumerate(calls))
    return msgspec.structs.replace(task, criteria=msgspec.structs.replace(task.criteria, actions=actions))


@pytest.mark.parametrize("wanted", list(Scenario))
def test_what_the_template_makes_is_valid(wanted: Scenario) -> None:
    """In every scenario."""
    task, draft = _made(wanted)
    require_valid(task, draft, shop())


def test_a_reference_that_the_world_refuses() -> None:
    """SYN-04: a feasible task with a failing write is refused."""
    task, draft = _made(Scenario.GENERAL)
    late = _referring(task, FIND, LATE)
    assert _lost(late, draft)[0] == "the reference is refused"


def test_a_reference_that_breaks_a_rule() -> None:
    """SYN-04: the tools would let it pass."""
    task, draft = _made(Scenario.GENERAL)
    reason, detail = _lost(_referring(task, CANCEL), draft)
    assert reason == "the reference breaks a rule"
    assert "before anything else" in detail


def test_a_reference_that_leads_elsewhere() -> None:
    """One change is missing."""
    task, draft = _made(Scenario.GENERAL)
    assert _lost(_referring(task, FIND, USER, PENDING, CANCEL), draft)[0] == "another final state"


def test_criteria_that_are_not_the_draft_s() -> None:
    """An infeasible task that no longer forbids."""
    task, draft = _made(Scenario.INFEASIBLE)
    criteria = msgspec.structs.replace(task.criteria, forbidden=())
    assert _lost(msgspec.structs.replace(task, criteria=criteria), draft)[0] == "other criteria"


def test_a_wish_that_nobody_says() -> None:
    """SYN-06: the reference does two things, and the words ask for one."""
    task, draft = _made(Scenario.GENERAL)
    first, *_ = task.made["wishes"]
    assert _lost(_with(task, opening=first["text"]), draft) == (
        "a wish is not asked for",
        f"step 6: nobody says {task.made['wishes'][1]['text']!r}",
    )
    silent = msgspec.structs.replace(task, made={**task.made, "wishes": [first]})
    assert _lost(silent, draft) == ("a wish is not asked for", "step 6")


def test_a_wish_that_nothing_fulfils() -> None:
    """SYN-06: the words ask for more than the reference does."""
    task, draft = _made(Scenario.GENERAL)
    more = [*task.made["wishes"], {"wish": "step 99", "text": "Send me a voucher."}]
    assert (
        _lost(msgspec.structs.replace(task, made={**task.made, "wishes": more}), draft)[0] == "a wish without an action"
    )


def test_a_change_of_course_where_there_is_none_and_none_where_there_is_one() -> None:
    """Either way the task is not what it says."""
    task, draft = _made(Scenario.GENERAL)
    assert _lost(_with(task, changes=(Change(says="No."),)), draft)[0] == "an uncalled-for change of course"
    task, draft = _made(Scenario.CHANGING)
    reason, _ = _lost(_with(task, changes=()), draft)
    assert reason in ("no change of course", "a wish is not asked for")
    assert ("no change of course", "changing") in list(words(_with(task, changes=()), draft, shop()))


def test_somebody_who_gives_in_at_once() -> None:
    """Whoever wants what cannot be insists; nobody else does."""
    task, draft = _made(Scenario.INFEASIBLE)
    assert _lost(_with(task, insist=()), draft)[0] == "no insisting"
    task, draft = _made(Scenario.GENERAL)
    assert _lost(_with(task, insist=("Please!",)), draft)[0] == "uncalled-for insisting"


def test_a_value_that_cannot_be_had() -> None:
    """The customer has no answer for it, or one that does not tell it."""
    task, draft = _made(Scenario.AMBIGUOUS)
    assert task.intent is not None
    facts = tuple(fact for fact in task.intent.facts if fact.slot != "city")
    assert _lost(_with(task, facts=facts), draft) == ("a value cannot be had", "city Reno")
    nobody = tuple(fact for fact in task.intent.facts if fact.slot != "email")
    assert _lost(_with(task, facts=nobody), draft) == ("a value cannot be had", "email noor@example.com")


def test_an_answer_that_does_not_tell() -> None:
    """An order number that the customer has at hand has to stand in the answer."""
    task, draft = _made(Scenario.GENERAL)
    assert task.intent is not None
    facts = tuple(
        msgspec.structs.replace(fact, says="I forgot it.") if fact.value == "#W1" else fact
        for fact in task.intent.facts
    )
    assert _lost(_with(task, facts=facts), draft)[0] == "a value cannot be had"


def test_a_first_message_that_leaks() -> None:
    """What is withheld stands in it."""
    task, draft = _made(Scenario.AMBIGUOUS)
    assert task.intent is not None
    leaky = f"{task.intent.opening} It is 9 Oak Row."
    assert _lost(_with(task, opening=leaky), draft)[0] == "leaks a withheld value"


def test_nobody_speaks_in_ids() -> None:
    """An order number is what people have at hand; the id of an item is not, wherever it stands."""
    draft = drafted(Scenario.GENERAL, (FIND, USER, DELIVERED, RETURN))
    plan = draft.plan
    long = msgspec.convert(
        msgspec.to_builtins(plan.arguments[-2]) | {"value": "1008292230", "path": "item_ids[0]"},
        type(plan.arguments[-2]),
    )
    source = msgspec.structs.replace(long.source, step=2)
    other = msgspec.structs.replace(plan, arguments=(*plan.arguments, msgspec.structs.replace(long, source=source)))
    assert unspoken(other) == ("1008292230",)
    task = worded(draft)
    spoken = msgspec.structs.replace(
        task, instructions=msgspec.structs.replace(task.instructions, known="The item is 1008292230.")
    )
    found = list(words(spoken, msgspec.structs.replace(draft, plan=other), shop()))
    assert ("speaks of an id", "1008292230, which no customer has in mind") in found


def test_a_customer_who_recites_the_instructions() -> None:
    """Ten words in a row that speak to whoever plays the customer: a trial with them would be the user's error."""
    task, draft = _made(Scenario.GENERAL)
    said = "You want to cancel order #W1 because you no longer need it and its lamp."
    told = msgspec.structs.replace(task.instructions, further=said)
    spoken = _with(msgspec.structs.replace(task, instructions=told), closing="Bye.", insist=())
    assert spoken.intent is not None
    opening = f"{spoken.intent.opening} {said}"
    assert _lost(_with(spoken, opening=opening), draft)[0] == "recites the instructions"


def test_what_is_wanted_first_has_to_come_to_something_else() -> None:
    """A drift to the same is none."""
    task, draft = _made(Scenario.CHANGING)
    same = msgspec.structs.replace(draft, abandoned=draft.plan)
    assert _lost(task, same)[0] in ("no other first wish", "a wish is not asked for", "a wish without an action")


def test_the_check_of_task_files_has_the_last_word() -> None:
    """What it calls an error is one here too: words that do not speak of the change at all."""
    draft = drafted(Scenario.GENERAL, (FIND, USER, PENDING, MOVE))
    task = worded(draft)
    assert task.intent is not None
    mute = "Hello there. noor@example.com"
    wishes = [{"wish": one["wish"], "text": "Hello there."} for one in task.made["wishes"]]
    facts = tuple(msgspec.structs.replace(fact, says=f"{fact.value}.") for fact in task.intent.facts)
    silent = _with(msgspec.structs.replace(task, made={**task.made, "wishes": wishes}), opening=mute, facts=facts)
    plain = msgspec.structs.replace(silent, instructions=type(task.instructions)(reason="Hello."))
    assert _lost(plain, draft)[0].startswith("check: ")


def test_words_that_say_what_is_to_be_told() -> None:
    """Whoever says "pending" need not be told so: any agent that repeats it would pass."""
    task, draft = _made(Scenario.GENERAL)
    told = msgspec.structs.replace(task.criteria, communicate=("pending",))
    asked = msgspec.structs.replace(task, criteria=told)
    assert task.intent is not None
    said = _with(asked, opening=f"{task.intent.opening} It is pending.")
    reason = "the customer says what is to be told"
    assert (reason, "pending") in list(words(said, draft, shop()))
    assert reason not in [one for one, _ in words(asked, draft, shop())]


def test_a_value_that_nobody_can_say() -> None:
    """An order whose number has a sign that cannot be typed; an empty second line of an address is no such thing."""
    task, draft = _made(Scenario.GENERAL)
    arguments = tuple(
        msgspec.structs.replace(one, value="\x00z") if one.path == "order_id" else one for one in draft.plan.arguments
    )
    steps = tuple(
        msgspec.structs.replace(step, call=call(step.call.name, **{**(step.call.arguments or {}), "order_id": "\x00z"}))
        if "order_id" in (step.call.arguments or {})
        else step
        for step in draft.plan.steps
    )
    plan = msgspec.structs.replace(draft.plan, arguments=arguments, steps=steps)
    odd = msgspec.structs.replace(draft, plan=plan)
    reason = "a value that nobody can say"
    assert reason in [one for one, _ in words(task, odd, shop())]
    assert reason not in [one for one, _ in words(*_made(Scenario.AMBIGUOUS), shop())]
