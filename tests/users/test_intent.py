"""Intent derived from prose."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from turngap.data import Action, Criteria, Instructions, Intent, Task
from turngap.data.asking import spell
from turngap.formats import tasks
from turngap.users.intent import derive, intent_of

TASK = Task(
    id="boat",
    domain="boats",
    instructions=Instructions(
        reason=(
            "You want to move your booking BK-1042 to 2 May. If the agent asks for confirmation, only change the notes. "
            "If no boat is free, you'd take 3 May."
        ),
        known="You are Ada Byron in zip code 19122, and your email is ada@example.com.",
        unknown="You do not remember your order number.",
        further=(
            "Be brief. If the agent asks about the colour, say that you like red. If the agent says that it is not "
            "possible, mention that you were promised it. Once the change is done, ask how much you owe."
        ),
    ),
    criteria=Criteria(
        actions=(
            Action(name="find_customer", arguments={"email": "ada@example.com"}),
            Action(name="move_booking", arguments={"booking_id": "BK-1042", "boat_id": "X-9", "cabin": "front_deck"}),
            Action(name="restart", arguments={"secret": "ada@example.com"}, requestor="user"),
        )
    ),
)


def test_the_opening_leaves_directions_out() -> None:
    """What the user wants is said in the first person; what directs the play is not."""
    assert derive(TASK).opening == "I want to move my booking BK-1042 to 2 May. If no boat is free, I'd take 3 May."


def test_facts_come_from_the_text_or_are_marked() -> None:
    """Who the user is, values that the text names, and open choices of the reference; never ids that it does not name."""
    facts = {fact.slot: (fact.value, fact.source) for fact in derive(TASK).facts}
    assert facts == {
        "first_name": ("Ada", "text"),
        "last_name": ("Byron", "text"),
        "zip": ("19122", "text"),
        "email": ("ada@example.com", "text"),
        "booking_id": ("BK-1042", "text"),
        "cabin": ("front_deck", "reference"),
    }


def test_changes_refusals_and_remarks_are_found() -> None:
    """Conditional directions become set points, insistence and answers."""
    intent = derive(TASK)
    assert [(change.when, change.says) for change in intent.changes] == [
        ("confirm", "Actually, please only change the notes."),
        ("done", "Could you tell me how much I owe?"),
    ]
    assert intent.insist == ("I was promised it.",)
    assert intent.unknown == ("order_id",)
    assert ("I like red.", "the agent asks about the colour") in [
        (remark.says, remark.about.strip()) for remark in intent.remarks
    ]


def test_several_values_of_one_slot_say_what_they_are_for() -> None:
    """An address of two kinds is told with the action that it belongs to."""
    actions = (
        Action(name="modify_user_address", arguments={"city": "Rome"}),
        Action(name="modify_order_address", arguments={"city": "Oslo"}),
    )
    facts = derive(Task(id="t", criteria=Criteria(actions=actions))).facts
    assert [fact.says for fact in facts] == [
        "To modify user address, the city is Rome.",
        "To modify order address, the city is Oslo.",
    ]


def test_structured_intent_is_never_touched() -> None:
    """A task's own intent is what is acted out."""
    own = Intent(opening="Hello.")
    assert intent_of(msgspec.structs.replace(TASK, intent=own)) is own
    assert derive(Task(id="empty")).opening == "Hello, I need some help."


@pytest.mark.parametrize("file", ["retail-tasks.json", "airline-tasks.json"])
def test_real_tasks(shared: Path, file: str) -> None:
    """Every task of tau2 yields an opening without directions, and who the user is; text facts stand in the text."""
    for task in tasks.read(shared / "tau2-head" / file).tasks:
        intent = derive(task)
        assert intent == derive(task)
        assert "agent" not in intent.opening.lower(), task.id
        assert {"first_name", "user_id", "email"} & {fact.slot for fact in intent.facts}, task.id
        text = jointly(task)
        for fact in intent.facts:
            if fact.source == "text":
                words = spell(fact.value).lower().lstrip("#")
                assert words in text or words.replace("_", " ") in text, (task.id, fact)


def jointly(task: Task) -> str:
    """All that the task tells its user."""
    told = task.instructions
    return f"{told.reason}\n{told.known}\n{told.further}".lower()
