"""One closed loop: a model, a user and a world make a `Trajectory`.

The user speaks; the model acts until it gives text without calls (or nothing is left to do in this turn); the user
speaks again; until the user has nothing left to say, or leaves. Limits are checked in one place, and every way out sets
its reason: an unresolved error for a recording, and for a task also how the episode ended (`metadata`).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import (
    Acted,
    Category,
    Event,
    Message,
    Prediction,
    Problem,
    Repaired,
    Spoken,
    Termination,
    ToolSpec,
    Trajectory,
    Usage,
)
from turngap.data.task import Task
from turngap.domains.base import World
from turngap.errors import ContextOverflow, DataFault, UserFault
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
    task: Task | None = None
    """What a live user wants; None for a recording."""
    error_limit: int | None = None
    """Most results of the model's calls that are errors; at so many the episode ends. None for any number."""


class _Log:
    """The trajectory under construction."""

    def __init__(self, given: tuple[Message, ...]) -> None:
        self.events: list[Event] = []
        self.history: list[Message] = [*given]
        self.problems: list[Problem] = []
        self.usage = Usage()
        self.steps = 0
        self.errors = 0
        self.answer_seconds = 0.0
        self.fault: UserFault | None = None
        self._offered: tuple[str, tuple[ToolSpec, ...], str] | None = None

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.history.append(event.message)
        if not isinstance(event, Spoken):
            self.history.extend(event.results)
            self.errors += sum(result.error for result in event.results)

    def offer(self, request: Request) -> str:
        """Identity of policy and tools. Digesting them costs as much as a turn of a fast world, so it is done once."""
        if self._offered is None or self._offered[0] is not request.policy or self._offered[1] is not request.tools:
            digest = jsonio.digest([request.policy, request.tools])
            self._offered = (request.policy, request.tools, digest)
        return self._offered[2]

    def blame(self, problem: tuple[Category, int | None, str]) -> None:
        category, decision, detail = problem
        event = max(len(self.events) - 1, 0)
        self.problems.append(Problem(category=category, decision=decision, event=event, detail=detail))

    def spent(self, brief: Brief) -> tuple[Category, str] | None:
        """The limit that is used up, if one is."""
        if self.steps >= brief.step_limit:
            return Category.STEP_LIMIT, f"{self.steps} steps, the limit is {brief.step_limit}"
        if brief.error_limit is not None and self.errors >= brief.error_limit:
            return Category.ERROR_LIMIT, f"{self.errors} calls ended in errors, the limit is {brief.error_limit}"
        return None


async def play(model: Model, user: User, world: World, brief: Brief) -> Trajectory:
    """Run one episode to its end.

    Raises:
        EndpointError: the model's server failed; nothing of the episode is kept, since it can be run again.
        DataFault: the recording alone does not fit the model's context.
        DomainFault: the code of a live world failed.
    """
    started = time.monotonic()
    log = _Log(brief.given)
    try:
        await _loop(model, user, world, brief, log)
    except UserFault as fault:
        # What happened is kept for the reader; `termination` says that it speaks neither for nor against the model.
        log.fault = fault
    return Trajectory(
        conversation=brief.conversation,
        events=tuple(log.events),
        completed=not log.problems,
        problems=tuple(log.problems),
        steps=log.steps,
        step_limit=brief.step_limit,
        usage=log.usage,
        seconds=time.monotonic() - started,
        metadata={} if brief.task is None else _ending(log, user),
    )


def _ending(log: _Log, user: User) -> dict[str, Any]:
    """How a live episode ended (``termination``, ``user_fault`` where the user failed), and what the answers took."""
    found: dict[str, Any] = {"answer_seconds": log.answer_seconds}
    if log.fault is not None:
        kind = getattr(log.fault, "kind", type(log.fault).__name__)
        fault = {"kind": kind, "detail": str(log.fault)}
        return {**found, "termination": Termination.USER_ERROR.value, "user_fault": fault}
    ending = Termination(log.problems[0].category.value) if log.problems else user.left or Termination.USER_STOP
    return {**found, "termination": ending.value}


async def _loop(model: Model, user: User, world: World, brief: Brief, log: _Log) -> None:
    while (turn := await user.speak(log.history)) is not None:
        for words in turn:
            log.add(words if isinstance(words, Spoken) else Spoken(message=words))
        if user.left is not None:
            return
        world.turn_begins()
        while not world.turn_is_over():
            decision = world.expected().decision
            if brief.stop is not None and decision is not None and decision >= brief.stop:
                return
            if (limit := log.spent(brief)) is not None:
                log.blame((limit[0], decision, limit[1]))
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
        protocol="replay" if brief.task is None else "rollout",
        decision=expected.decision,
        attempt=expected.attempt,
        trial=brief.trial,
        reference=expected.reference,
        task=brief.task,
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
    log.answer_seconds += prediction.seconds
    outcome = world.answer(prediction.message, prediction.finish)
    if isinstance(outcome, Awaitable):
        outcome = await outcome
    log.add(
        Acted(
            message=prediction.message,
            results=outcome.results,
            verdicts=outcome.verdicts,
            decision=expected.decision,
            finish=prediction.finish,
            notes=prediction.notes,
            raw=prediction.raw,
            asked=_standing(model, log.offer(request)),
        )
    )
    if brief.task is not None and prediction.empty:
        log.blame((Category.EMPTY_ANSWER, None, f"neither text nor a call (finish: {prediction.finish})"))
        return False
    if outcome.problem is None:
        return True
    log.blame(outcome.problem)
    return _repair(world, brief, log)


def _standing(model: Model, offer: str) -> str:
    """Identity of what a model is asked with whatever the history: it has to stay the same from turn to turn."""
    return jsonio.digest([model.identity(), offer])[:16]


def _repair(world: World, brief: Brief, log: _Log) -> bool:
    """Put right what was just blamed, where the brief allows it. Returns whether the episode goes on."""
    if brief.repairs is not None and len(log.problems) > brief.repairs:
        return False
    repaired: Repaired | None = world.repair()
    if repaired is not None:
        log.add(repaired)
    return True
