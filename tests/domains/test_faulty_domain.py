"""A domain whose tools fail in every way: each trial says what happened, and the trials around it go on."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

from boatdomain import Desk, call, domain

from turngap.data import Acted, Cause, Failure, Finish, Message, SystemMessage, ToolCall, Trajectory, UserMessage
from turngap.data.message import AssistantMessage
from turngap.domains.api import read, write
from turngap.engines.capture import capture
from turngap.episode import Brief, play
from turngap.models.scripted import ScriptedModel


@write
def crashes(desk: Desk) -> str:
    """Crash after a write."""
    desk.today = "never"
    return {}["nothing"]


@write
def loops(desk: Desk) -> str:
    """Loop for ever."""
    while True:
        pass


@read
def sleeps(desk: Desk) -> str:
    """Sleep for long."""
    time.sleep(60)
    return ""


@write
async def waits(desk: Desk) -> str:
    """Wait for long, while others go on."""
    await asyncio.sleep(60)
    return ""


@read
def babbles(desk: Desk) -> Any:
    """Return what is no JSON."""
    return {"desk": desk}


@write
def soils(desk: Desk) -> str:
    """Put something into the state that cannot be stored."""
    desk.papers.put("P-2", {"lock": object()})
    return "done"


@write
def works(desk: Desk) -> str:
    """Work."""
    desk.papers.put("P-2", {"open": True})
    return "done"


class _Caller:
    """A user who says one thing and leaves."""

    left = None

    def __init__(self) -> None:
        self._said = False

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage, ...] | None:
        if self._said:
            return None
        self._said = True
        return (UserMessage(content="Please."),)


_FAULTS = {
    "crashes": ("DomainFault", r"tool crashes failed at test_faulty_domain.py:\d+: KeyError: 'nothing'"),
    "loops": ("unknown_outcome", "tool loops took longer than 0.2 s: whether what it does was done is unknown"),
    "sleeps": ("time_limit", "tool sleeps took longer than 0.2 s, 2 times"),
    "waits": ("unknown_outcome", "tool waits took longer than 0.2 s: whether what it does was done is unknown"),
    "babbles": ("DomainFault", r"tool babbles \(test_faulty_domain.py:\d+\) returned what has no JSON form .*Desk"),
    "soils": ("DomainFault", r"tool soils failed at .*: StateError: papers\['P-2'\].lock: builtins.object has no JSON"),
}


async def test_each_fault_costs_one_trial_and_says_why() -> None:
    """A tool that raises, hangs, returns non-JSON or spoils the state: named as the domain's; the next trial works."""
    boats = domain(
        tools=[crashes, loops, sleeps, waits, babbles, soils, works], user_tools=[], rules=[], time_limit=0.2
    )
    names = [name for fault in _FAULTS for name in (fault, "works")]

    async def trial(name: str) -> Trajectory | Failure:
        model = ScriptedModel([call(name), "There you are."])
        brief = Brief(conversation=name, policy=boats.policy, tools=(), step_limit=5)
        return await capture(play(model, _Caller(), boats.world(), brief))

    done = await asyncio.gather(*map(trial, names))
    assert boats.world().changes() == ()
    for name, result in zip(names, done, strict=True):
        if name == "works":
            assert isinstance(result, Trajectory)
            assert result.completed
            continue
        assert isinstance(result, Failure)
        kind, reason = _FAULTS[name]
        assert (result.cause, result.kind) == (Cause.DOMAIN, kind)
        assert result.cause.errored
        assert re.search(reason, result.reason)


async def test_an_episode_goes_on_after_a_bad_call() -> None:
    """What the agent got wrong comes back as results, with verdicts beside them; its turn ends when it speaks."""
    boats = domain()
    world = boats.world()
    script: list[Any] = [
        AssistantMessage(calls=(call("sell"), ToolCall(name="pay", arguments=None, error="cut", raw="{"))),
        AssistantMessage(content="Let me see.", calls=(call("pay", booking_id="BK-7", amount="x"),)),
        AssistantMessage(calls=(call("pay", booking_id="BK-0", amount=1), call("pay", booking_id="BK-7", amount=1))),
        "Done.",
    ]
    brief = Brief(conversation="pay", policy="", tools=tuple(tool.spec for tool in boats.tools), step_limit=9)
    trajectory = await play(ScriptedModel(script), _Caller(), world, brief)
    acted = [event for event in trajectory.events if isinstance(event, Acted)]
    assert [[verdict.category for verdict in event.verdicts] for event in acted] == [
        ["wrong_tool", "malformed_call"],
        ["wrong_arguments"],
        [None, None],
        [],
    ]
    assert [[result.error for result in event.results] for event in acted] == [[True, True], [True], [True, False], []]
    assert (trajectory.completed, trajectory.steps) == (True, 4)
    assert [str(one) for one in world.changes()] == ["bookings[BK-7].deposit: 0 -> 1"]


async def test_the_seam_of_a_live_world() -> None:
    """A live world expects nothing, repairs nothing and is due nothing; its turn is over when the agent has spoken."""
    world = domain().world()
    world.turn_begins()
    assert not world.turn_is_over()
    assert (world.expected().decision, world.repair(), world.close(), world.outgrown([])) == (None, None, None, True)
    await world.answer(AssistantMessage(content="Wait.", calls=(call("list_tags"),)), Finish.STOP)
    assert not world.turn_is_over()
    await world.answer(AssistantMessage(content=""), Finish.LENGTH)
    assert world.turn_is_over()
    world.turn_begins()
    assert not world.turn_is_over()
