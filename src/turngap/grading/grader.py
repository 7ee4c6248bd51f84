"""Grade a finished trial: each component that its task has material for, and the reward they make.

The reward is the product of the components that the task's reward basis names; the others are graded all the same where
there is something to grade, and marked as only observed. Every component is 1 or 0. An agent that never came to an end
(step limit, error limit, nothing said, context full) gets 0, whatever state it left, as in tau2.

For the domains of tau2, its own verdict stands beside ours (`Reward.tau2`). Where they differ, one of these is why:
tau2 finds ``10`` in ``100``, compares lists in the database by their order, passes an action of which arguments are
missing, and has no `CONSTRAINT`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from turngap.data import Task, Termination, Trajectory
from turngap.data.reward import Grade, Reward
from turngap.data.task import Component
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.verdict import verdict
from turngap.errors import DataFault, JudgeError
from turngap.grading.doing import Deeds, Made, made
from turngap.grading.saying import spoken, unsaid
from turngap.grading.wanted import Wanted, cut
from turngap.judges.sentences import SentenceCase, SentenceJudge

VERSION = 1
"""Raised when the same trial would be graded otherwise."""
ENDED = (Termination.USER_STOP, Termination.TRANSFER, Termination.OUT_OF_SCOPE, Termination.USER_ERROR)
"""How a conversation ends that the agent did not break off."""

Found = tuple[Component, bool, str]


class RewardGrader:
    """Grades trials of any domain.

    Args:
        judge: says which sentences hold; None to grade without, and then a task that counts them cannot be graded.
    """

    def __init__(self, judge: SentenceJudge | None = None) -> None:
        self._judge = judge
        self._deeds: tuple[LiveDomain, Deeds] | None = None

    def identity(self) -> dict[str, Any]:
        """The version of the rules, and the judge."""
        return {"grader": "reward", "version": VERSION, "judge": self._judge.identity() if self._judge else None}

    async def grade(self, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld) -> Reward:
        """Grade one trial.

        Args:
            task: what the trial is held against.
            domain: where it took place.
            trajectory: what was said and done.
            world: as the trial left it.

        Raises:
            JudgeError, EndpointError: sentences count and no verdict on them could be had.
            DataFault, DomainFault: task and domain do not fit, or the domain's code failed.
        """
        basis = task.criteria.reward_basis
        deeds = self._deeds_of(domain)
        found = dict[Component, tuple[bool, str]]()
        for component, holds, detail in _by_rule(task, domain, trajectory, world, deeds):
            found[component] = (holds, detail)
        if task.criteria.nl_assertions and (self._judge is not None or Component.NL_ASSERTION in basis):
            found[Component.NL_ASSERTION] = await self._sentences(task, domain, trajectory)
        for component in basis:
            # What is counted and asks for nothing holds.
            found.setdefault(component, (True, ""))
        grades = {
            component.value: Grade(
                value=float(found[component][0]), counted=component in basis, detail=found[component][1]
            )
            for component in Component
            if component in found
        }
        value = math.prod(grade.value for grade in grades.values() if grade.counted)
        if Termination(trajectory.metadata["termination"]) not in ENDED:
            value = 0.0
        return Reward(value=value, components=grades, tau2=_by_tau2(task, domain, trajectory))

    async def aclose(self) -> None:
        """Close the judge."""
        if self._judge is not None:
            await self._judge.aclose()

    def _deeds_of(self, domain: LiveDomain) -> Deeds:
        # One run has one domain, and reading its schemas costs more than grading a trial.
        if self._deeds is None or self._deeds[0] is not domain:
            self._deeds = (domain, Deeds(domain))
        return self._deeds[1]

    async def _sentences(self, task: Task, domain: LiveDomain, trajectory: Trajectory) -> tuple[bool, str]:
        if self._judge is None:
            raise JudgeError(
                f"task {task.id!r} counts sentences that only a language model can judge; give --judge openai/NAME"
            )
        case = SentenceCase(
            task=task.id,
            policy=domain.policy,
            tools=tuple(tool.spec for tool in domain.tools),
            trajectory=trajectory,
            sentences=task.criteria.nl_assertions,
        )
        answers = await self._judge.hold(case)
        broken = [
            f"does not hold: {cut(sentence)} ({cut(answer.rationale)})"
            for sentence, answer in zip(task.criteria.nl_assertions, answers, strict=True)
            if not answer.holds
        ]
        return not broken, "; ".join(broken)


def _by_rule(task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld, deeds: Deeds) -> Iterator[Found]:
    """The components that need no judge, where the task has something for them."""
    criteria = task.criteria
    wanted = Wanted.of(task, domain, trajectory.metadata.get("seed", 0))
    calls = made(trajectory)
    difference = wanted.differs(world)
    notes = [str(one) for one in wanted.refused] if difference else []
    yield Component.DB, not difference, "; ".join(filter(None, (difference, *notes)))
    if criteria.communicate:
        missing = unsaid(criteria.communicate, (text for _, text in spoken(trajectory)))
        yield Component.COMMUNICATE, not missing, f"not said: {'; '.join(missing)}" if missing else ""
    if criteria.actions:
        yield _actions(task, calls, deeds, wanted)
    if criteria.env_assertions:
        yield _assertions(task, domain, world)
    if criteria.required or criteria.forbidden:
        yield _constraint(task, calls, deeds)


def _actions(task: Task, calls: tuple[Made, ...], deeds: Deeds, wanted: Wanted) -> Found:
    """What the domain refuses to the reference, nobody has to do."""
    refused = {one.index for one in wanted.refused}
    actions = [action for index, action in enumerate(task.criteria.actions) if index not in refused]
    missing = [_told(actions[index].call().name, actions[index].arguments) for index in deeds.undone(actions, calls)]
    return Component.ACTION, not missing, f"not done: {'; '.join(missing)}" if missing else ""


def _assertions(task: Task, domain: LiveDomain, world: LiveWorld) -> Found:
    broken = [
        f"{one.name} is {not one.expected}{f': {one.message}' if one.message else ''}"
        for one in task.criteria.env_assertions
        if domain.holds(world, one.name, one.arguments, requestor=one.side) is not one.expected
    ]
    return Component.ENV_ASSERTION, not broken, "; ".join(broken)


def _constraint(task: Task, calls: tuple[Made, ...], deeds: Deeds) -> Found:
    required, forbidden = task.criteria.required, task.criteria.forbidden
    broken = [
        f"required, not done: {_told(required[index].name, required[index].arguments)}"
        for index in deeds.undone(required, calls)
    ]
    broken += [
        f"forbidden, attempted: {_told(one.call.name, one.call.arguments or {})}"
        for one in calls
        if any(deeds.does(one, action) for action in forbidden)
    ]
    return Component.CONSTRAINT, not broken, "; ".join(broken)


def _told(name: str, arguments: dict[str, Any]) -> str:
    return cut(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")


def _by_tau2(task: Task, domain: LiveDomain, trajectory: Trajectory) -> dict[str, Any] | None:
    if not isinstance(domain, Tau2Domain) or not task.raw:
        return None
    try:
        return verdict(domain, task, trajectory)
    except DataFault:
        # tau2 cannot score it (a sentence counts, which it asks a model about): ours stands alone.
        return None
