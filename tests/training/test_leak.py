"""What is tested is not trained on: found by id, copy and near copy, and not by what everybody shares."""

from __future__ import annotations

import msgspec
import pytest

from turngap.data import AssistantMessage, Conversation, ToolSpec, UserMessage
from turngap.training.leak import Evaluated, Item, check, of_conversations


def _talk(name: str, *lines: str, task: str = "", policy: str = "", tools: tuple[ToolSpec, ...] = ()) -> Conversation:
    said = [
        UserMessage(content=line) if at % 2 == 0 else AssistantMessage(content=line) for at, line in enumerate(lines)
    ]
    metadata = {"task": task} if task else {}
    return Conversation(id=name, messages=tuple(said), policy=policy, tools=tools, metadata=metadata)


_STORY = (
    "Good day, my neighbour borrowed the green kayak that I had booked for the regatta and brought it back with a hole",
    "That is a pity; tell me which booking it was and I shall see whether another kayak is free on that morning",
)
_OTHER = (
    "Hello, I would like to know whether dogs may come along on the small sailing boats during the school holidays",
    "They may, as long as each of them wears a life vest, which you can borrow from the desk beside the jetty",
)


def test_syn_02_evaluation_data_in_training_is_found() -> None:
    """SYN-02: a trial of an evaluated task, a copy and a near copy are found, each with its id and the words."""
    tested = of_conversations("test.jsonl", [_talk("x", *_STORY, task="7"), _talk("y", *_OTHER)])
    found = check(
        [
            _talk("trial", "Nothing alike.", task="7"),
            _talk("copy", *_OTHER),
            _talk("near", *_STORY[:1], "Let me see.", _STORY[1].replace("pity", "shame")),
            _talk("clean", "I want to rent a canoe for the whole of next week, what would that be all in all?"),
        ],
        tested,
    )
    assert [(leak.conversation, leak.evaluated, leak.kind) for leak in found.leaks] == [
        ("trial", "x", "id"),
        ("copy", "y", "copy"),
        ("near", "x", "near"),
    ]
    assert "green kayak" in found.leaks[2].shown and "green kayak" in found.leaks[2].sentence()
    assert "3 conversations left out" in found.sentence()


def test_syn_02_what_all_share_is_no_leak(boat_tools: tuple[ToolSpec, ...]) -> None:
    """SYN-02: the same policy, tools and phrases of a template on both sides flag nothing."""
    policy = "You work for a boat hire. Look a booking up before you change it, and ask for a yes before you move it."
    phrase = "I am sorry to hear that, let me have a look at what I can do for you today"

    def talk(name: str, line: str) -> Conversation:
        # An agent that reads its policy out, word for word, in training and in the test.
        return _talk(name, line, phrase, "Why?", policy, policy=policy, tools=boat_tools)

    tested = of_conversations("test.jsonl", [talk(f"t{at}", f"My boat number {at} leaks.") for at in range(3)])
    found = check([talk(f"l{at}", f"I lost the oar of canoe {at}.") for at in range(4)], tested)
    assert found.leaks == ()
    assert found.sentence() == "3 tasks or conversations, none found in it; 0 ids or addresses on both sides"


def test_all_copies_and_all_trials_are_found() -> None:
    """Several training conversations may hold one evaluated one, and other trials of their tasks leak with them."""
    tested = of_conversations("test.jsonl", [_talk("x", *_STORY)])
    learnt = [
        _talk("a", *_STORY, task="one"),
        _talk("b", *_STORY, task="two"),
        _talk("c", "Different words altogether.", task="two"),
        _talk("d", "Different again.", task="three"),
    ]
    found = check(learnt, tested)
    assert [(leak.conversation, leak.kind) for leak in found.leaks] == [("a", "copy"), ("b", "copy"), ("c", "trial")]


def test_task_numbers_of_another_domain_are_no_leak(boat_tools: tuple[ToolSpec, ...]) -> None:
    """Every domain has a task 0: equal ids count only where the tools fit."""
    learnt = _talk("c", "Hello.", task="0", tools=boat_tools)

    def tested(*tools: str) -> Evaluated:
        return Evaluated(
            name="tasks.json", items=(Item(ids=frozenset({"0"}), name="0", text="A task.", tools=frozenset(tools)),)
        )

    assert check([learnt], tested("get_order", "get_booking")).leaks == ()
    assert check([learnt], tested("get_booking")).leaks[0].kind == "id"
    assert check([learnt], tested()).leaks[0].kind == "id"


@pytest.mark.parametrize("shared", ["ann@mail.org", "#W1234567"])
def test_people_on_both_sides_are_counted(shared: str) -> None:
    """An e-mail address or an order on both sides is told of, and is no leak by itself: one database has many tasks."""
    tested = of_conversations("test.jsonl", [_talk("x", f"I am {shared}, where is my kayak?")])
    found = check([_talk("y", f"Please cancel the canoe of {shared}.")], tested)
    assert (found.leaks, found.entities) == ((), 1)


def test_nothing_depends_on_ids_of_the_other_side(boat_conversation: Conversation) -> None:
    """Two evaluated trials under one id are both held against what is learnt."""
    first, second = _talk("same", *_STORY), _talk("same", *_OTHER)
    found = check(
        [msgspec.structs.replace(first, id="a"), msgspec.structs.replace(second, id="b")],
        of_conversations("t", [first, second]),
    )
    assert [leak.kind for leak in found.leaks] == ["copy", "copy"]
    assert check([boat_conversation], of_conversations("t", [first, second])).leaks == ()
