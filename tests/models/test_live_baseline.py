"""The baselines of live conversations, with the scripted user in the boat-hire desk."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from boats import DOMAIN, task

from turngap import live
from turngap.config import ModelConfig
from turngap.data import Acted, AssistantMessage, Spoken, Task, Termination, ToolSpec, Trajectory, UserMessage
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER
from turngap.data.task import Action, Change, Criteria, Fact, Intent, Scenario
from turngap.errors import UsageError
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played
from turngap.metrics.passk import mean_pass_hat_k
from turngap.models import Request, Seat, build
from turngap.models.course import REFUSAL
from turngap.models.live_baseline import advice, departures
from turngap.users.scripted import ScriptedSimulator

WANTED = "2031-05-02"


def _play(one: Task, spec: str = "baseline/reference", trial: int = 0) -> Played:
    place = Place(domain=DOMAIN, simulator=ScriptedSimulator(), max_steps=30, max_errors=10, seed=1)
    played = asyncio.run(live.run(build(ModelConfig(spec=spec)), place, one, trial))
    assert isinstance(played, Played), played
    return played


def _said(trajectory: Trajectory) -> list[str]:
    return [event.message.content for event in trajectory.events if not isinstance(event, Acted) or not event.results]


def _date(played: Played, booking: str = "BK-1") -> str:
    return str(played.world.state.bookings[booking].date)  # type: ignore[attr-defined]


def test_the_reference_proposes_waits_for_a_yes_acts_and_says_the_fact() -> None:
    """A change is described, agreed to, made once; then the fact is said and the conversation closes."""
    played = _play(task(1))
    opening, proposal, yes, last, thanks = _said(played.trajectory)
    assert opening.startswith("Hello")
    assert "move booking, with booking id BK-1; date 2031-05-02" in proposal
    assert proposal.endswith(GO_AHEAD)
    assert yes == "Yes, please."
    assert last == f"For your information: {WANTED}. {ANYTHING_ELSE}"
    assert "Thank you" in thanks
    assert _date(played) == WANTED
    assert played.trajectory.metadata["termination"] == Termination.USER_STOP


def test_the_reference_asks_for_what_nobody_has_said() -> None:
    """Values that stand neither in words nor in results are asked for first, all at once."""
    one = task(1)
    assert one.intent is not None
    silent = msgspec.structs.replace(one, intent=msgspec.structs.replace(one.intent, opening="Hello, I need help."))
    said = _said(_play(silent).trajectory)
    assert said[1] == "Could you tell me the booking id and date, please?"
    assert "BK-1" in said[2]
    assert GO_AHEAD in said[3]


def test_the_reference_bears_with_a_user_who_changes_course() -> None:
    """A change of mind at the proposal gets another proposal, and the change is made after the yes."""
    one = msgspec.convert(
        {
            "opening": "Hello, please move BK-1 to 2031-05-09.",
            "facts": [{"slot": "date", "value": "2031-05-09"}],
            "changes": [{"says": "Wait, 2031-05-02 is better.", "facts": [{"slot": "date", "value": WANTED}]}],
        },
        Intent,
    )
    played = _play(msgspec.structs.replace(task(1), intent=one, scenario=Scenario.CHANGING))
    assert sum(GO_AHEAD in words for words in _said(played.trajectory)) == 2
    assert _date(played) == WANTED


def test_what_is_withheld_is_asked_for_although_a_result_has_it() -> None:
    """A result names both bookings; only the user can say which one is meant. What the opening tells is not asked for."""
    intent = Intent(
        opening="Hello, please move one of my bookings to next Friday.",
        facts=(
            Fact(slot="booking_id", value="BK-1", says="The first one, BK-1."),
            Fact(slot="date", value=WANTED, says="On Friday.", told=True),
        ),
    )
    one = msgspec.structs.replace(task(1), intent=intent, scenario=Scenario.AMBIGUOUS)
    reads = (Action(name="get_booking", arguments={"booking_id": "BK-1"}), *one.criteria.actions)
    one = msgspec.structs.replace(one, criteria=msgspec.structs.replace(one.criteria, actions=reads))
    said = _said(_play(one).trajectory)
    assert said[1] == "Could you tell me the booking id, please?"
    assert not any("date, please" in words for words in said)


def test_the_reference_proposes_what_is_wanted_first() -> None:
    """Where the task says what that is, the user takes it back, and what is wanted in the end is proposed and done."""
    intent = Intent(
        opening="Hello, please move BK-1 to 2031-05-09.",
        changes=(Change(says="No, 2031-05-02 is better."),),
    )
    first = {"name": "move_booking", "arguments": {"booking_id": "BK-1", "date": "2031-05-09"}}
    played = _play(msgspec.structs.replace(task(1), intent=intent, scenario=Scenario.CHANGING, made={"first": [first]}))
    proposals = [words for words in _said(played.trajectory) if GO_AHEAD in words]
    assert ["2031-05-09" in words for words in proposals] == [True, False]
    assert _date(played) == WANTED


def test_the_reference_waits_for_a_wish_that_comes_later() -> None:
    """The second booking is left alone until the user speaks of it, which they do when asked for anything else."""
    moves = [Action(name="move_booking", arguments={"booking_id": one, "date": WANTED}) for one in ("BK-1", "BK-2")]
    intent = Intent(
        opening=f"Hello, please move BK-1 to {WANTED}.",
        changes=(Change(says="And BK-2 as well, please.", when="done", kind="addition"),),
    )
    one = Task(id="more", intent=intent, criteria=Criteria(actions=tuple(moves)), made={"added_from": 1})
    played = _play(one)
    said = _said(played.trajectory)
    assert said.index(ANYTHING_ELSE) + 1 == said.index("And BK-2 as well, please.")
    assert _date(played, "BK-2") == WANTED


def test_a_user_without_answers_is_not_asked_again_and_again() -> None:
    """After one question in vain it does what the reference does; the user does not leave over it."""
    dumb = Intent(opening="Hello, please help me with my bookings.", unknown=("booking_id", "date"))
    actions = tuple(Action(name="get_booking", arguments={"booking_id": f"BK-{number}"}) for number in (1, 2, 3))
    one = Task(id="look", intent=dumb, criteria=Criteria(actions=actions))
    played = _play(one)
    assert sum("Could you tell me" in words for words in _said(played.trajectory)) == 1
    assert sum(len(event.results) for event in played.trajectory.events if isinstance(event, Acted)) == 3
    assert played.trajectory.metadata["termination"] == Termination.USER_STOP


def test_an_infeasible_task_is_refused_until_the_user_gives_up() -> None:
    """Nothing is changed, and the user's insisting is refused as often as it comes."""
    stubborn = Intent(opening="Move BK-1 to yesterday!", insist=("But I need it.", "Really?"))
    played = _play(Task(id="no", scenario=Scenario.INFEASIBLE, intent=stubborn))
    assert _said(played.trajectory).count(REFUSAL) == 3
    assert _date(played) == "2031-04-30"


def test_who_hands_over_says_so_at_the_end() -> None:
    """A reference that ends with a hand-over closes with the words for it, and the user leaves as transferred."""
    one = task(1)
    criteria = msgspec.structs.replace(
        one.criteria, actions=(*one.criteria.actions, Action(name="hand_over", arguments={"summary": "The rest."}))
    )
    played = _play(msgspec.structs.replace(one, criteria=criteria))
    assert HANDED_OVER in _said(played.trajectory)[-2]
    assert played.trajectory.metadata["termination"] == Termination.TRANSFER


def test_an_agent_that_has_to_open_greets() -> None:
    """Without words of a user it greets, whatever the task."""
    request = Request(policy="", tools=(), messages=(), seat=_seat(task(1)))
    answer = asyncio.run(build(ModelConfig(spec="baseline/reference")).act(request)).message
    assert answer == AssistantMessage(content="Hello, how can I help you?")


def test_noisy_fails_as_often_as_it_says_and_each_trial_by_itself() -> None:
    """The share of trials that succeed is p_tool * p_text within chance, and the same trial always comes out alike."""
    n, right = 400, 0
    spec = "baseline/noisy?p_tool=0.8&p_text=0.7&seed=3"
    outcomes = []
    for trial in range(n):
        played = _play(_quiet(), spec, trial)
        success = _date(played) == WANTED and any("BOAT-77" in words for words in _said(played.trajectory))
        outcomes.append(success)
        right += success
    assert abs(right / n - 0.56) < 3 * (0.56 * 0.44 / n) ** 0.5
    assert [_date(_play(_quiet(), spec, trial)) for trial in (5, 6)] == [
        _date(_play(_quiet(), spec, t)) for t in (5, 6)
    ]
    assert len(set(outcomes)) == 2


def test_noisy_passes_k_trials_as_its_closed_form_says() -> None:
    """pass^k of tasks with w changes and f facts is the mean of (p_tool^w p_text^f)^k, within four standard errors."""
    n, spec = 60, "baseline/noisy?p_tool=0.9&p_text=0.8&seed=5"
    tasks = [_marked(1, changes=1, fact=True), _marked(2, changes=2, fact=False), _marked(3, changes=2, fact=True)]
    chances = [0.9 * 0.8, 0.9**2, 0.9**2 * 0.8]
    grader = RewardGrader()
    outcomes = []
    for one in tasks:
        played = [_play(one, spec, trial) for trial in range(n)]
        rewards = [asyncio.run(grader.grade(one, DOMAIN, each.trajectory, each.world)).value for each in played]
        outcomes.append((n, round(sum(rewards))))
    for k in (1, 2, 3):
        wanted = sum(chance**k for chance in chances) / len(chances)
        found = mean_pass_hat_k(outcomes, k).value
        # The spread of C(c, k) / C(n, k) is that of k times its slope in c, to first order.
        spread = sum((k * p ** (k - 1)) ** 2 * p * (1 - p) / n for p in chances) ** 0.5 / len(chances)
        assert found is not None and abs(found - wanted) < 4 * spread


def test_noisy_with_certainty_is_the_reference_and_without_it_always_fails() -> None:
    """The ends of the range are exact."""
    assert _play(task(1), "baseline/noisy").trajectory.messages() == _play(task(1)).trajectory.messages()
    failed = _play(task(1), "baseline/noisy?p_tool=0")
    assert _date(failed) == "2031-04-30"
    calls = [
        call.name for event in failed.trajectory.events if isinstance(event, Acted) for call in event.message.calls
    ]
    assert calls == ["move_booking_unknown"]


def test_advice_in_its_own_conversation_is_what_the_reference_did() -> None:
    """At each decision, and no decision departs from it; a fact that is left out is no departure, an error is one."""
    tools = tuple(tool.spec for tool in DOMAIN.tools)
    for one in (task(1), _quiet(), _marked(2, changes=2, fact=True)):
        messages = _play(one).trajectory.messages()
        for index, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                assert advice(one, tools, messages[:index]) == message
        assert not any(departures(one, tools, messages))
    silent = _play(_quiet(), "baseline/noisy?p_text=0").trajectory.messages()
    assert list(departures(_quiet(), tools, silent)) == [False, False, False]
    failed = _play(_marked(2, changes=2, fact=False), "baseline/noisy?p_tool=0").trajectory.messages()
    calls = [
        index for index, departs in enumerate(departures(_marked(2, changes=2, fact=False), tools, failed)) if departs
    ]
    assert calls[0] == 2, "question, proposal, then the first wrong call"


def test_doing_nothing_closes_at_once() -> None:
    """One message, no call, and the user goes."""
    played = _play(task(1), "baseline/nothing")
    assert [event.message.content for event in played.trajectory.events if isinstance(event, Acted)] == [ANYTHING_ELSE]
    assert isinstance(played.trajectory.events[-1], Spoken)


def test_transferring_hands_over_by_the_tool_and_says_so() -> None:
    """The domain's own tool is called with what it requires, and the user leaves as transferred."""
    played = _play(task(1), "baseline/transfer")
    acted = [event for event in played.trajectory.events if isinstance(event, Acted)]
    assert acted[0].message.calls[0].name == "hand_over"
    assert not acted[0].results[0].error
    assert played.trajectory.metadata["termination"] == Termination.TRANSFER


def test_transferring_without_a_tool_is_only_said() -> None:
    """Where nobody can be called, the words have to do."""
    tools = (ToolSpec(name="get_booking"),)
    request = Request(policy="", tools=tools, messages=(UserMessage(content="Hi"),), seat=_seat(task(1)))
    answer = asyncio.run(build(ModelConfig(spec="baseline/transfer")).act(request)).message
    assert HANDED_OVER in answer.content
    assert not answer.calls


def test_floors_take_no_options() -> None:
    """An option that there is not is refused."""
    for name in ("nothing", "transfer"):
        with pytest.raises(UsageError, match="no options"):
            build(ModelConfig(spec=f"baseline/{name}?p=1"))


def _quiet() -> Task:
    """A task whose fact nothing but the closing words says."""
    one = task(1)
    return msgspec.structs.replace(one, criteria=msgspec.structs.replace(one.criteria, communicate=("BOAT-77",)))


def _marked(number: int, *, changes: int, fact: bool) -> Task:
    """A task with that many changes of different bookings, and a fact that nothing but the closing words says."""
    moves = tuple(
        Action(name="move_booking", arguments={"booking_id": f"BK-{booking}", "date": WANTED})
        for booking in range(1, changes + 1)
    )
    criteria = Criteria(actions=moves, communicate=("BOAT-77",) if fact else ())
    return Task(id=f"marked-{number}", intent=Intent(opening="Please move my bookings."), criteria=criteria)


def _seat(one: Task) -> Seat:
    return Seat(conversation=one.id, protocol="rollout", decision=None, task=one)
