"""The last proof of a task: whoever cannot be served is given up, with the reason."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from explorations import FIND, shop
from synthtasks import drafted, worded

from turngap.data import Acted, Action, Task
from turngap.data.task import Scenario
from turngap.synth.plan import LostError
from turngap.synth.player import MOST_STEPS, Player

LOOK = Action(name=FIND.name, arguments=FIND.arguments or {})


def _task(wanted: Scenario = Scenario.GENERAL) -> Task:
    return worded(drafted(wanted))


def _criteria(task: Task, **changed: Any) -> Task:
    return msgspec.structs.replace(task, criteria=msgspec.structs.replace(task.criteria, **changed))


@pytest.mark.parametrize("wanted", [Scenario.GENERAL, Scenario.AMBIGUOUS, Scenario.CHANGING])
def test_a_good_task_is_played_to_its_end(wanted: Scenario) -> None:
    """The recording holds every action of the reference, and the same task gives the same recording."""
    task = _task(wanted)
    played = asyncio.run(Player(shop()).play(task))
    made = [call.name for event in played.events if isinstance(event, Acted) for call in event.message.calls]
    assert [action.name for action in task.criteria.actions if action.name not in made] == []
    again = asyncio.run(Player(shop()).play(task))
    assert msgspec.structs.replace(again, seconds=0.0) == msgspec.structs.replace(played, seconds=0.0)


@pytest.mark.parametrize(
    ("spoilt", "detail"),
    [
        (lambda task: _criteria(task, forbidden=(task.criteria.actions[-1],), reward_basis=("CONSTRAINT",)), "forbid"),
        (lambda task: _criteria(task, actions=(LOOK,) * (MOST_STEPS + 10)), "the limit is 60"),
    ],
    ids=["the reference is forbidden", "the reference is too long"],
)
def test_a_task_that_cannot_be_done_is_lost_in_play(spoilt: Any, detail: str) -> None:
    """The loss names its stage, and says why."""
    task = spoilt(_task(Scenario.AMBIGUOUS))
    with pytest.raises(LostError) as lost:
        asyncio.run(Player(shop()).play(task))
    assert (lost.value.loss.stage, lost.value.loss.reason) == ("play", "the reference agent does not get through")
    assert detail in lost.value.loss.detail
