"""The places where tau2's scoring is known to be lenient or to hang on an order: both figures are given, and differ.

Each trial is scored by tau2's own evaluator and by ours. See docs/grading.md.
"""

from __future__ import annotations

import asyncio
import copy
import functools

import msgspec
import pytest
from tau2peer import absent

from turngap import domains
from turngap.data import Acted, AssistantMessage, Event, Spoken, Task, Termination, ToolCall, Trajectory, UserMessage
from turngap.data.reward import Reward
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.verdict import peer_of
from turngap.formats import tasks as task_files
from turngap.formats.tasks import parse
from turngap.grading.grader import RewardGrader

_ABSENT = absent()
pytestmark = pytest.mark.skipif(bool(_ABSENT), reason=_ABSENT or "")

_domain = functools.cache(domains.build)
SHOPS = ["tau2:retail", "retail?db=tau2"]
CANCEL = ToolCall(name="cancel_pending_order", arguments={"order_id": "#W5918442", "reason": "no longer needed"})
"""A call that both shops take."""


def _task(basis: str, actions: tuple[ToolCall, ...] = (), communicate: tuple[str, ...] = ()) -> Task:
    """A task in tau2's form."""
    return parse(
        {
            "id": "t",
            "user_scenario": {"instructions": "Help yourself."},
            "evaluation_criteria": {
                "actions": [
                    {"action_id": str(number), "name": call.name, "arguments": call.arguments}
                    for number, call in enumerate(actions)
                ],
                "communicate_info": list(communicate),
                "reward_basis": [basis],
            },
        }
    )


def _trial(domain: LiveDomain, *steps: ToolCall | str) -> tuple[Trajectory, LiveWorld]:
    world = domain.world()
    events: list[Event] = [Spoken(message=UserMessage(content="Please see to it."))]
    for step in steps:
        if isinstance(step, str):
            events.append(Acted(message=AssistantMessage(content=step)))
        else:
            events.append(Acted(message=AssistantMessage(calls=(step,)), results=(world.call(step),)))
    ending = {"termination": Termination.USER_STOP.value}
    return Trajectory(conversation="t", events=tuple(events), metadata=ending), world


def _figures(spec: str, task: Task, *steps: ToolCall | str) -> tuple[float, float | None, Reward]:
    """Ours and tau2's, and all that we say."""
    domain = _domain(spec)
    trajectory, world = _trial(domain, *steps)
    reward = asyncio.run(RewardGrader().grade(task, domain, trajectory, world))
    return reward.value, reward.tau2 and reward.tau2["reward"], reward


@pytest.mark.parametrize("shop", SHOPS)
def test_a_number_inside_another_is_not_said(shop: str) -> None:
    """tau2 finds "10" in "100"; we do not. Where it is said, both find it."""
    task = _task("COMMUNICATE", communicate=("10",))
    assert _figures(shop, task, "It costs $100.")[:2] == (0.0, 1.0)
    assert _figures(shop, task, "It costs $10.")[:2] == (1.0, 1.0)


@pytest.mark.parametrize("shop", SHOPS)
def test_words_beside_a_call_are_not_heard(shop: str) -> None:
    """tau2 lets a fact count that the agent puts beside a call, where no user reads it; we do not."""
    task = _task("COMMUNICATE", communicate=("54.04",))
    domain = _domain(shop)
    trajectory, world = _trial(domain, CANCEL, "Done.")
    said = msgspec.structs.replace(trajectory.events[1].message, content="It is 54.04.")
    events = (trajectory.events[0], msgspec.structs.replace(trajectory.events[1], message=said), trajectory.events[2])
    trajectory = msgspec.structs.replace(trajectory, events=events)
    reward = asyncio.run(RewardGrader().grade(task, domain, trajectory, world))
    assert (reward.value, reward.tau2 and reward.tau2["reward"]) == (0.0, 1.0)


@pytest.mark.parametrize("shop", SHOPS)
def test_an_action_with_missing_arguments_is_not_done(shop: str) -> None:
    """tau2 takes a call for a reference action as far as it goes, refused or not; we want all of it, and taken."""
    task = _task("ACTION", (CANCEL,))
    for arguments in ({"order_id": "#W5918442"}, {}):
        ours, theirs, reward = _figures(shop, task, ToolCall(name=CANCEL.name, arguments=arguments), "Done.")
        assert (ours, theirs) == (0.0, 1.0)
        assert "not done: cancel_pending_order" in reward.detail
    assert _figures(shop, task, CANCEL, "Done.")[:2] == (1.0, 1.0)


@pytest.mark.parametrize("shop", SHOPS)
def test_one_call_does_not_do_two_actions(shop: str) -> None:
    """tau2 lets one call stand for any number of equal reference actions; we want one for each."""
    look = ToolCall(name="get_order_details", arguments={"order_id": "#W5918442"})
    assert _figures(shop, _task("ACTION", (look, look)), look, "Done.")[:2] == (0.0, 1.0)
    assert _figures(shop, _task("ACTION", (look, look)), look, look, "Done.")[:2] == (1.0, 1.0)


@pytest.mark.parametrize("shop", SHOPS)
def test_a_reference_action_that_fails_is_named(shop: str) -> None:
    """tau2 passes over it for the database, yet asks for the call; we ask nobody for it, and name it where it matters."""
    late = ToolCall(name="cancel_pending_order", arguments={"order_id": "#W2378156", "reason": "no longer needed"})
    assert _domain(shop).world().call(late).error
    assert _figures(shop, _task("DB", (late,)), "No.")[:2] == (1.0, 1.0)
    assert _figures(shop, _task("ACTION", (late,)), "No.")[:2] == (1.0, 0.0)
    ours, theirs, reward = _figures(shop, _task("DB", (late,)), CANCEL, "Done.")
    assert (ours, theirs) == (0.0, 0.0)
    assert "the domain refuses reference action 1, cancel_pending_order" in reward.detail


def test_the_order_of_passengers_makes_no_other_booking() -> None:
    """tau2's database check fails a booking whose passengers are named in another order; ours does not."""
    domain = domains.build("tau2:airline")
    assert isinstance(domain, Tau2Domain)
    book = next(
        action.call()
        for task in task_files.read(domain.task_file).tasks
        for action in task.criteria.actions
        if action.name == "book_reservation" and len(action.arguments["passengers"]) > 1
    )
    turned = copy.deepcopy(dict(book.arguments or {}))
    turned["passengers"].reverse()
    task = _task("DB", (book,))
    assert _figures("tau2:airline", task, ToolCall(name=book.name, arguments=turned), "Done.")[:2] == (1.0, 0.0)
    assert _figures("tau2:airline", task, book, "Done.")[:2] == (1.0, 1.0)


@pytest.mark.parametrize("shop", SHOPS)
def test_a_trial_with_malformed_arguments_stays(shop: str) -> None:
    """In tau2 such a run stops and is in no figure; here it is a trial like any other, and tau2 scores what is left."""
    malformed = ToolCall(name=CANCEL.name, arguments=None, raw='{"order_id": ', error="the JSON ends too early")
    assert _figures(shop, _task("DB", (CANCEL,)), malformed, "Done.")[:2] == (0.0, 0.0)
    assert _figures(shop, _task("DB", (CANCEL,)), malformed, CANCEL, "Done.")[:2] == (1.0, 1.0)


def test_a_call_that_only_our_shop_refuses_leaves_no_figure_of_tau2s() -> None:
    """Where the two shops disagree on whether a call is one, there is nothing that tau2 could score."""
    call = ToolCall(name="transfer_to_human_agents", arguments={"summary": 5})
    ours, theirs, _ = _figures("retail?db=tau2", _task("DB"), call, "Done.")
    assert (ours, theirs) == (1.0, None)


def test_only_tau2s_own_database_brings_its_figure() -> None:
    """The shop on tau2's database is scored by tau2's retail; one on any other has no peer."""
    peer = domains.build("tau2:retail")
    assert isinstance(peer, Tau2Domain)
    assert peer_of(domains.build("retail?db=tau2")) is peer is peer_of(peer)
    other = domains.build(f"retail?db={peer.task_file.with_name('db.json')}")
    assert peer_of(other) is None
    assert other.identity() == domains.build("retail?db=tau2").identity()
