"""How far the reference has come in histories that another agent made: what counts as done, asked, and agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from boats import DOMAIN, task
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import AssistantMessage, Message, SystemMessage, Task, ToolCall, ToolMessage, UserMessage
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER, question, spoken
from turngap.data.task import Action, Change, Criteria, Fact, Intent, Scenario
from turngap.models.course import GREETING, REFUSAL, Course

TOOLS = tuple(tool.spec for tool in DOMAIN.tools)
LOOK = Action(name="get_booking", arguments={"booking_id": "BK-1"})
MOVE = Action(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-02"})
OTHER = Action(name="move_booking", arguments={"booking_id": "BK-2", "date": "2031-05-04"})
OPENING = "Hello, please move BK-1 to 2031-05-02 and BK-2 to 2031-05-04."
YES = "Yes, please."


def _task(*actions: Action, opening: str = OPENING, **fields: Any) -> Task:
    return Task(id="t", intent=Intent(opening=opening), criteria=Criteria(actions=actions), **fields)


def _history(*turns: str | Message | ToolCall) -> list[Message]:
    """Texts in turn, of the user first; a call is followed by its result, an error where the tool is unknown."""
    messages: list[Message] = []
    for turn in turns:
        if isinstance(turn, ToolCall):
            known = any(tool.name == turn.name for tool in TOOLS)
            messages += [AssistantMessage(calls=(turn,)), ToolMessage(content="ok", name=turn.name, error=not known)]
        elif isinstance(turn, str):
            users = not messages or not isinstance(messages[-1], (UserMessage, ToolMessage))
            messages.append(UserMessage(content=turn) if users else AssistantMessage(content=turn))
        else:
            messages.append(turn)
    return messages


def _next(one: Task, *turns: str | Message | ToolCall) -> AssistantMessage:
    course = Course(one, TOOLS)
    for message in _history(*turns):
        course.follow(message)
    return course.next()


def _calls(message: AssistantMessage) -> list[tuple[str, dict[str, Any] | None]]:
    return [(call.name, call.arguments) for call in message.calls]


def test_calls_that_equal_no_action_change_nothing() -> None:
    """Hallucinated tools, other values, malformed arguments and tools of nobody leave the next action what it was."""
    one = _task(LOOK, MOVE)
    for call in (
        ToolCall(name="find_boat", arguments={}),
        ToolCall(name="get_booking", arguments={"booking_id": "BK-9"}),
        ToolCall(name="get_booking", arguments={"booking_id": "BK-1", "date": "now"}),
        ToolCall(name="get_booking", arguments=None, raw="{", error="cut"),
        ToolCall(name="", arguments={}),
    ):
        assert _calls(_next(one, OPENING, call)) == [("get_booking", {"booking_id": "BK-1"})]


def test_an_action_is_done_in_whatever_order_and_spelling() -> None:
    """What comes next is the first action that is not done, wherever the done ones stand."""
    one = _task(LOOK, MOVE, OTHER)
    assert GO_AHEAD in _next(one, OPENING, LOOK.call()).content
    text = ToolCall(name="get_booking", arguments={"booking_id": " BK-1 "})
    assert "BK-1" in _next(one, OPENING, text).content
    assert "BK-2" in _next(one, OPENING, MOVE.call(), LOOK.call()).content
    assert _calls(_next(one, OPENING, MOVE.call(), OTHER.call())) == _calls(AssistantMessage(calls=(LOOK.call(),)))
    assert _next(one, OPENING, OTHER.call(), MOVE.call(), LOOK.call()).content == ANYTHING_ELSE


def test_several_calls_at_once_are_taken_one_by_one() -> None:
    """Of a right, a wrong and another right call in one message the right ones are done."""
    calls = (MOVE.call(), ToolCall(name="nonsense", arguments={}), LOOK.call())
    results = [ToolMessage(content="ok", name=call.name, error=call.name == "nonsense") for call in calls]
    said = _next(_task(LOOK, MOVE, OTHER), OPENING, AssistantMessage(calls=calls), *results).content
    assert "BK-2" in said
    assert GO_AHEAD in said


def test_the_same_action_twice_is_done_twice() -> None:
    """One call ticks off one of two equal actions."""
    one = _task(LOOK, LOOK)
    assert _calls(_next(one, OPENING, LOOK.call())) == _calls(AssistantMessage(calls=(LOOK.call(),)))
    assert _next(one, OPENING, LOOK.call(), LOOK.call()).content == ANYTHING_ELSE
    early = (OPENING, LOOK.call(), LOOK.call(), OTHER.call())
    assert _next(_task(OTHER, LOOK, LOOK), *early).content == ANYTHING_ELSE


def test_what_is_refused_out_of_turn_is_made_again_and_what_is_refused_in_its_turn_is_not() -> None:
    """A reference may hold calls that the domain refuses; but what came too early gets its turn."""
    refused = ToolMessage(content="no", name="get_booking", error=True)
    look = AssistantMessage(calls=(LOOK.call(),))
    other = Action(name="get_booking", arguments={"booking_id": "BK-2"})
    assert _next(_task(LOOK), OPENING, look, refused).content == ANYTHING_ELSE
    assert _calls(_next(_task(other, LOOK), OPENING, look, refused, other.call())) == _calls(look)
    assert _next(_task(other, LOOK), OPENING, LOOK.call(), other.call()).content == ANYTHING_ELSE


def test_where_no_argument_counts_any_call_of_the_tool_does_it() -> None:
    """A hand-over in words of the agent's own is the hand-over, also when its arguments cannot be read."""
    hand_over = Action(name="hand_over", arguments={"summary": "All of it."}, compare_args=())
    for call in (
        ToolCall(name="hand_over", arguments={"summary": "Something else."}),
        ToolCall(name="hand_over", arguments=None, raw="{", error="cut"),
    ):
        assert _next(_task(hand_over), OPENING, call).content == HANDED_OVER
    some = msgspec.structs.replace(MOVE, compare_args=("date",))
    done = ToolCall(name="move_booking", arguments={"booking_id": "BK-3", "date": "2031-05-02"})
    assert _next(_task(some), OPENING, done).content == ANYTHING_ELSE


def test_what_was_made_before_the_conversation_is_no_part_of_the_work() -> None:
    """Calls among the given messages are known to everybody, and the reference comes on top of them."""
    before = (UserMessage(content=OPENING), AssistantMessage(calls=(LOOK.call(),)), ToolMessage(content="2 seats"))
    one = _task(LOOK, given=before)
    assert _calls(Course(one, TOOLS).next()) == _calls(AssistantMessage(calls=(LOOK.call(),)))


def test_a_yes_to_a_description_in_other_words_is_agreement_to_what_it_describes() -> None:
    """All values and the right tool's name, or all values and no tool's: the change is made without another proposal."""
    for words in (
        "So I will move the booking BK-1 to 2031-05-02 for you. Is that correct?",
        "BK-1 on 2031-05-02, is that right?",
    ):
        assert _calls(_next(_task(MOVE, OTHER), OPENING, words, YES)) == [("move_booking", MOVE.arguments)]
        assert GO_AHEAD in _next(_task(MOVE, OTHER), OPENING, words, "No, wait.").content


def test_agreement_holds_for_what_was_described_and_lasts_until_its_turn() -> None:
    """A yes to the later of two changes, or to both, is remembered; it is none to the earlier."""
    later = "Shall I move booking BK-2 to 2031-05-04?"
    assert "BK-1" in _next(_task(MOVE, OTHER), OPENING, later, YES).content
    assert _calls(_next(_task(MOVE, OTHER), OPENING, later, YES, MOVE.call())) == [("move_booking", OTHER.arguments)]
    taken_back = (OPENING, later, YES, later, "No, wait.", MOVE.call())
    assert GO_AHEAD in _next(_task(MOVE, OTHER), *taken_back).content
    both = "I move booking BK-1 to 2031-05-02 and booking BK-2 to 2031-05-04, all right?"
    assert _calls(_next(_task(MOVE, OTHER), OPENING, both, YES)) == [("move_booking", MOVE.arguments)]


def test_a_yes_to_something_else_is_no_agreement() -> None:
    """Wrong values, some of the values, another tool's name, or one value alone: the change is proposed properly."""
    for words in (
        f"This is what I would do: move booking, with booking id BK-1; date 2031-05-09.\n{GO_AHEAD}",
        f"I would move your booking BK-1.\n{GO_AHEAD}",
        "Shall I break down BK-1 on 2031-05-02?",
        "One moment, please.",
        "",
    ):
        assert GO_AHEAD in _next(_task(MOVE), OPENING, words, YES).content
    cancel = Action(name="cancel", arguments={"booking_id": "BK-1"})
    assert GO_AHEAD in _next(_task(cancel), OPENING, "Is your booking BK-1?", YES).content
    assert _calls(_next(_task(cancel), OPENING, f"About BK-1: {GO_AHEAD}", YES))


def test_descriptions_in_other_words_use_up_no_proposal() -> None:
    """A user who did not hear the question gets both of the reference's before the change is made all the same."""
    words = "I move booking BK-1 to 2031-05-02, right?"
    proposal = _next(_task(MOVE), OPENING).content
    turns = [OPENING, words, "Hm?", words, "Hm?", proposal, "Hm?"]
    assert _next(_task(MOVE), *turns).content == proposal
    assert _calls(_next(_task(MOVE), *turns, proposal, "Hm?")) == [("move_booking", MOVE.arguments)]


def test_a_change_that_was_made_before_asking_is_not_made_again() -> None:
    """What is done is done: no proposal for it, on with the next."""
    assert "BK-2" in _next(_task(MOVE, OTHER), OPENING, MOVE.call()).content


def test_a_question_that_was_not_understood_is_asked_properly() -> None:
    """Only what the user answers counts as answered, so no value is used that nobody has named."""
    silent = "Hello, I need help with a booking."
    wanted = question(["booking_id", "date"])
    for turns in (
        (silent, "Please confirm the booking id and the date.", YES),
        (silent, "What is the booking id?", "I am afraid I do not know."),
        (silent, "How may I help?", "As I said."),
    ):
        assert _next(_task(MOVE, opening=silent), *turns).content == wanted
    half = (silent, "What is the booking id?", "It is BK-1.")
    assert _next(_task(MOVE, opening=silent), *half).content == question(["date"])


def test_an_answer_in_other_words_to_a_question_in_other_words_is_one() -> None:
    """What the user withholds and has told when asked is not asked for again, although not in the words of the task."""
    intent = Intent(opening="Move it!", facts=(Fact(slot="booking_id", value="BK-1", says="The first one, BK-1."),))
    one = Task(id="t", scenario=Scenario.AMBIGUOUS, intent=intent, criteria=Criteria(actions=(LOOK,)))
    assert _next(one, "Move it!", "Which booking id?", "Well, BK-1.").calls
    assert _next(one, "Move it!", "Hm.", "Well, BK-1.").content == question(["booking_id"])


def test_the_users_own_tools_are_asked_for_until_they_were_used() -> None:
    """Naming the tool does it, and so does a reply that tells what the tool showed; other talk does not."""
    look = Action(name="check_bar", requestor="user")
    toggle = Action(name="toggle_data", requestor="user")
    one = _task(look, toggle, toggle)
    ask = "Please use check_bar and tell me what you see."
    assert _next(one, OPENING).content == ask
    assert _next(one, OPENING, "Let me think.", "All right.").content == ask
    assert _next(one, OPENING, LOOK.call()).content == ask
    for turns in (
        (OPENING, ask, "check_bar: 4"),
        (OPENING, "Would you check_bar?", "It is full."),
        (OPENING, "What does the bar show?", "check_bar: 4"),
    ):
        assert "toggle_data" in _next(one, *turns).content
    twice = (OPENING, ask, "check_bar: 4", "Toggle the data, please.", "toggle_data: on")
    assert "toggle_data" in _next(one, *twice).content
    assert _next(one, *twice, "Now toggle_data again.", "toggle_data: off").content == ANYTHING_ELSE


def test_a_wish_that_comes_later_is_waited_for_whatever_was_done_early() -> None:
    """The second wish is left alone until the user speaks of it, also where a part of it is done already."""
    intent = Intent(opening=OPENING, changes=(Change(says="And BK-2 as well.", when="done", kind="addition"),))
    two = Action(name="get_booking", arguments={"booking_id": "BK-2"})
    criteria = Criteria(actions=(LOOK, two, OTHER))
    one = Task(id="more", intent=intent, criteria=criteria, made={"added_from": 1})
    assert _next(one, OPENING, LOOK.call()).content == ANYTHING_ELSE
    assert _next(one, OPENING, LOOK.call(), two.call()).content == ANYTHING_ELSE
    assert GO_AHEAD in _next(one, OPENING, LOOK.call(), two.call(), "Anything else?", "And BK-2 as well.").content


def test_what_is_wanted_first_is_proposed_until_the_change_of_mind_was_heard() -> None:
    """A learner's question may have brought the change of mind about already."""
    intent = Intent(opening="Move BK-1 to 2031-05-09.", changes=(Change(says="No, 2031-05-02 is better."),))
    first = {"name": "move_booking", "arguments": {"booking_id": "BK-1", "date": "2031-05-09"}}
    one = Task(
        id="drift",
        scenario=Scenario.CHANGING,
        intent=intent,
        criteria=Criteria(actions=(MOVE,)),
        made={"first": [first]},
    )
    assert "2031-05-09" in _next(one, "Move BK-1 to 2031-05-09.", "One moment.", "Yes?").content
    heard = ("Move BK-1 to 2031-05-09.", "Is that all?", "No, 2031-05-02 is better.")
    assert "2031-05-02" in _next(one, *heard).content


def test_what_cannot_be_is_looked_up_and_refused_whatever_was_tried() -> None:
    """An attempt at it changes nothing: the look-ups that show why, then the refusal."""
    one = _task(LOOK, scenario=Scenario.INFEASIBLE)
    assert _calls(_next(one, OPENING, MOVE.call())) == _calls(AssistantMessage(calls=(LOOK.call(),)))
    assert _next(one, OPENING, MOVE.call(), LOOK.call()).content == REFUSAL


def test_decisions_differ_by_kind_and_calls_and_never_by_words() -> None:
    """Two texts are alike; a call in the place of a text, other calls, more calls and nothing at all are not."""
    course = Course(task(1), TOOLS)
    for message in _history("Hello, please move BK-1 to 2031-05-02."):
        course.follow(message)
    assert not course.differs(AssistantMessage(content="Anything, really."))
    assert course.differs(AssistantMessage(content="  "))
    assert course.differs(AssistantMessage(calls=(MOVE.call(),)))
    for message in _history(UserMessage(content="?"), course.next(), UserMessage(content=YES)):
        course.follow(message)
    assert not course.differs(course.next())
    spaced = {"booking_id": " BK-1", "date": "2031-05-02"}
    beside = AssistantMessage(content="Now.", calls=(ToolCall(name="move_booking", arguments=spaced),))
    assert not course.differs(beside)
    assert course.differs(AssistantMessage(content="Now."))
    assert course.differs(AssistantMessage(calls=(MOVE.call(), MOVE.call())))
    assert course.differs(AssistantMessage(calls=(OTHER.call(),)))
    assert course.differs(AssistantMessage(calls=(ToolCall(name="move_booking", arguments=None, raw="{"),)))


# ---- any history at all

_SLOTS = ("booking_id", "date", "summary")
_VALUES = st.sampled_from(["BK-1", "BK-2", "2031-05-02", "", "a lot", 5, True, None, ["BK-1", "BK-2"], {"zip": "1"}])
_ARGUMENTS = st.dictionaries(st.sampled_from(_SLOTS), _VALUES, max_size=3)
_NAMES = st.sampled_from([*(tool.name for tool in TOOLS), "toggle_data", "nonsense", ""])
_ACTIONS = st.builds(
    Action,
    name=_NAMES.filter(bool),
    arguments=_ARGUMENTS,
    requestor=st.sampled_from(["assistant", "assistant", "user"]),
    compare_args=st.sampled_from([None, None, (), ("date",)]),
)
_WORDS = st.sampled_from(
    [
        OPENING,
        "",
        YES,
        "No. 2031-05-02 is better.",
        "And one more thing.",
        "BK-2, please.",
        "toggle_data: on",
        GO_AHEAD,
        ANYTHING_ELSE,
        *(question([slot]) for slot in _SLOTS),
        *(f"I would {spoken(tool.name)}: BK-1, 2031-05-02. {GO_AHEAD}" for tool in TOOLS),
    ]
)
_CALL = st.builds(ToolCall, name=_NAMES, arguments=st.one_of(st.none(), _ARGUMENTS))
_MESSAGE = st.one_of(
    st.builds(UserMessage, content=_WORDS),
    st.builds(SystemMessage, content=_WORDS),
    st.builds(ToolMessage, content=_WORDS, error=st.booleans()),
    st.builds(AssistantMessage, content=_WORDS),
    st.builds(AssistantMessage, calls=st.lists(_CALL, min_size=1, max_size=3).map(tuple)),
)
_CHANGES = (Change(says="No. 2031-05-02 is better."), Change(says="And one more thing.", kind="addition"))
_INTENTS = st.one_of(
    st.none(),
    st.builds(
        Intent,
        opening=st.just(OPENING),
        facts=st.lists(
            st.builds(Fact, slot=st.sampled_from(_SLOTS), value=_VALUES, says=_WORDS, told=st.booleans())
        ).map(tuple),
        changes=st.sampled_from([(), _CHANGES]),
    ),
)
_MADE = st.sampled_from(
    [{}, {"added_from": 1}, {"added_from": None}, {"first": [{"name": "move_booking", "arguments": {"date": "May"}}]}]
)
_TASKS = st.builds(
    Task,
    id=st.just("any"),
    scenario=st.sampled_from(Scenario),
    intent=_INTENTS,
    criteria=st.builds(Criteria, actions=st.lists(_ACTIONS, max_size=4).map(tuple), communicate=st.just(("a fact",))),
    made=_MADE,
)
_REPLIES = st.lists(st.tuples(_WORDS, st.booleans()), min_size=1, max_size=6)


@given(one=_TASKS, history=st.lists(_MESSAGE, max_size=12), replies=_REPLIES)
def test_whatever_was_done_before_the_reference_comes_to_its_last_words(
    one: Task, history: list[Message], replies: list[tuple[str, bool]]
) -> None:
    """After any history and with any user it says and does a bounded number of things before it closes, or waits."""
    course = Course(one, TOOLS)
    for message in (*history, UserMessage(content="Well?")):
        if isinstance(message, AssistantMessage):
            course.differs(message)
        course.follow(message)
    assert course.next().content != GREETING
    values = sum(len(action.arguments) + 1 for action in one.criteria.actions)
    # Each action is proposed twice and done once, each value asked for at most once, what is wanted first proposed twice.
    most = 2 + 3 * len(one.criteria.actions) + 2 * values
    for step in range(most + 1):
        decision = course.next()
        if _closes(decision):
            break
        course.follow(decision)
        _answer(course, decision, *replies[step % len(replies)])
    assert _closes(course.next()), course.next()


def _closes(decision: AssistantMessage) -> bool:
    return any(words in decision.content for words in (ANYTHING_ELSE, REFUSAL, "transferred"))


def _answer(course: Course, decision: AssistantMessage, words: str, error: bool) -> None:
    results: Sequence[Message] = [ToolMessage(content=words, name=call.name, error=error) for call in decision.calls]
    for message in results or [UserMessage(content=words)]:
        course.follow(message)
