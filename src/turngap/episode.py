"""One closed loop: a model, a user and a world make a `Trajectory`.

The user speaks; the model acts until it gives text without calls (or nothing is left to do in this turn); the user
speaks again; until the user has nothing left to say. Limits are checked in one place, and every way out sets its
reason.
"""

from __future__ import annotations

import time

import msgspec

from turngap.data import (
    Acted,
    Category,
    Event,
    Message,
    Prediction,
    Problem,
    Repaired,
    Spoken,
    ToolSpec,
    Trajectory,
    Usage,
)
from turngap.domains.base import World
from turngap.errors import ContextOverflow, DataFault
from turngap.models import Model, Request, Seat
from turngap.users.base import User


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What an episode is given."""

    conversation: str
    """Id of the recorded conversation or task."""
    policy: str
    tools: tuple[ToolSpec, ...]
    step_limit: int
    """Most messages of the model."""
    given: tuple[Message, ...] = ()
    """What was said and done before the episode begins. The model sees it; it is no part of the trajectory."""
    stop: int | None = None
    """Recorded decision at which the episode ends, as if that were all; None to go on to the end."""
    repairs: int | None = 0
    """Most unresolved errors that are repaired, so that the episode goes on; one more ends it. None: all are."""
    trial: int = 0


class _Log:
    """The trajectory under construction."""

    def __init__(self, given: tuple[Message, ...]) -> None:
        self.events: list[Event] = []
        self.history: list[Message] = [*given]
        self.problems: list[Problem] = []
        self.usage = Usage()
        self.steps = 0

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.history.append(event.message)
        if not isinstance(event, Spoken):
            self.history.extend(event.results)

    def blame(self, problem: tuple[Category, int | None, str]) -> None:
        category, decision, detail = problem
        event = max(len(self.events) - 1, 0)
        self.problems.append(Problem(category=category, decision=decision, event=event, detail=detail))


async def play(model: Model, user: User, world: World, brief: Brief) -> Trajectory:
    """Run one episode to its end.

    Raises:
        EndpointError: the model's server failed; nothing of the episode is kept, since it can be run again.
        DataFault: the recording alone does not fit the model's context.
    """
    started = time.monotonic()
    log = _Log(brief.given)
    await _loop(model, user, world, brief, log)
    return Trajectory(
        conversation=brief.conversation,
        events=tuple(log.events),
        completed=not log.problems,
        problems=tuple(log.problems),
        steps=log.steps,
        step_limit=brief.step_limit,
        usage=log.usage,
        seconds=time.monotonic() - started,
    )


async def _loop(model: Model, user: User, world: World, brief: Brief, log: _Log) -> None:
    while (turn := await user.speak(log.history)) is not None:
        for message in turn:
            log.add(Spoken(message=message))
        world.turn_begins()
        while not world.turn_is_over():
            decision = world.expected().decision
            if brief.stop is not None and decision is not None and decision >= brief.stop:
                return
            if log.steps >= brief.step_limit:
                log.blame((Category.STEP_LIMIT, decision, f"{log.steps} steps, the limit is {brief.step_limit}"))
                return
            if not await _step(model, world, brief, log):
                return
    while (undone := world.close()) is not None:
        log.blame(undone)
        if not _repair(world, brief, log):
            return


async def _step(model: Model, world: World, brief: Brief, log: _Log) -> bool:
    """Ask the model, then act. Returns whether the episode goes on."""
    expected = world.expected()
    seat = Seat(
        conversation=brief.conversation,
        protocol="replay",
        decision=expected.decision,
        attempt=expected.attempt,
        trial=brief.trial,
        reference=expected.reference,
    )
    request = Request(policy=brief.policy, tools=brief.tools, messages=tuple(log.history), seat=seat)
    try:
        prediction: Prediction = await model.act(request)
    except ContextOverflow as error:
        if not world.outgrown(log.history):
            raise DataFault(f"policy and recorded history alone do not fit the context: {error}") from error
        log.blame((Category.CONTEXT_OVERFLOW, expected.decision, str(error)))
        return False
    log.steps += 1
    log.usage += prediction.usage
    outcome = world.answer(prediction.message, prediction.finish)
    log.add(
        Acted(
            message=prediction.message,
            results=outcome.results,
            verdicts=outcome.verdicts,
            decision=expected.decision,
            finish=prediction.finish,
            notes=prediction.notes,
            raw=prediction.raw,
        )
    )
    if outcome.problem is None:
        return True
    log.blame(outcome.problem)
    return _repair(world, brief, log)


def _repair(world: World, brief: Brief, log: _Log) -> bool:
    """Put right what was just blamed, where the brief allows it. Returns whether the episode goes on."""
    if brief.repairs is not None and len(log.problems) > brief.repairs:
        return False
    repaired: Repaired | None = world.repair()
    if repaired is not None:
        log.add(repaired)
    return True
