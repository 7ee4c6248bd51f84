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
from collections.abc import Iterator, Sequence
from typing import Any

from turngap.data import Task, Termination, ToolCall, Trajectory
from turngap.data.reward import Grade, Reward
from turngap.data.task import Component
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.difference import Difference
from turngap.domains.tau2.verdict import peer_of, retold, verdict
from turngap.errors import DataFault, JudgeError
from turngap.grading.doing import Deeds, called, made
from turngap.grading.saying import spoken, unsaid
from turngap.grading.symptom import symptoms
from turngap.grading.trial import Trial
from turngap.grading.wanted import Wanted, cut, mismatches, told
from turngap.judges.sentences import SentenceCase, SentenceJudge

VERSION = 3
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

    async def grade(
        self, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld, *, beside: bool = True
    ) -> Reward:
        """Grade one trial.

        Args:
            task: what the trial is held against.
            domain: where it took place.
            trajectory: what was said and done.
            world: as the trial left it.
            beside: whether tau2's own figure is wanted too, where there is one.

        Raises:
            JudgeError, EndpointError: sentences count and no verdict on them could be had.
            DataFault, DomainFault: task and domain do not fit, or the domain's code failed.
        """
        basis = task.criteria.reward_basis
        trial = Trial(
            task=task,
            domain=domain,
            trajectory=trajectory,
            world=world,
            wanted=Wanted.of(task, domain, trajectory.metadata.get("seed", 0)),
            calls=made(trajectory),
            deeds=self._deeds_of(domain),
        )
        differences = trial.wanted.differences(world)
        found = {component: (holds, detail) for component, holds, detail in _by_rule(trial, differences)}
        if task.criteria.nl_assertions and (self._judge is not None or Component.NL_ASSERTION in basis):
            found[Component.NL_ASSERTION] = await self._sentences(trial)
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
        if trial.ending not in ENDED:
            value = 0.0
        broken = {component for component, (holds, _) in found.items() if not holds}
        return Reward(
            value=value,
            components=grades,
            tau2=_by_tau2(task, domain, trajectory) if beside else None,
            mismatches=mismatches(differences),
            mismatched=len(differences),
            symptoms=symptoms(trial, broken, failed=value < 1),
        )

    async def aclose(self) -> None:
        """Close the judge."""
        if self._judge is not None:
            await self._judge.aclose()

    def _deeds_of(self, domain: LiveDomain) -> Deeds:
        # One run has one domain, and reading its schemas costs more than grading a trial.
        if self._deeds is None or self._deeds[0] is not domain:
            self._deeds = (domain, Deeds(domain))
        return self._deeds[1]

    async def _sentences(self, trial: Trial) -> tuple[bool, str]:
        sentences = trial.task.criteria.nl_assertions
        if self._judge is None:
            raise JudgeError(
                f"task {trial.task.id!r} counts sentences, which take a language model; give --judge openai/NAME"
            )
        case = SentenceCase(
            task=trial.task.id,
            policy=trial.domain.policy,
            tools=tuple(tool.spec for tool in trial.domain.tools),
            trajectory=trial.trajectory,
            sentences=sentences,
        )
        broken = [
            f"does not hold: {cut(sentence)} ({cut(answer.rationale)})"
            for sentence, answer in zip(sentences, await self._judge.hold(case), strict=True)
            if not answer.holds
        ]
        return not broken, "; ".join(broken)


def _by_rule(trial: Trial, differences: Sequence[Difference]) -> Iterator[Found]:
    """The components that need no judge, where the task has something for them."""
    criteria = trial.task.criteria
    notes = map(str, trial.wanted.refused) if differences else ()
    yield Component.DB, not differences, "; ".join(filter(None, (told(differences), *notes)))
    if criteria.communicate:
        missing = unsaid(criteria.communicate, (text for _, text in spoken(trial.trajectory)))
        yield Component.COMMUNICATE, not missing, f"not said: {'; '.join(missing)}" if missing else ""
    if criteria.actions:
        yield _actions(trial)
    if criteria.env_assertions:
        yield _assertions(trial)
    if criteria.required or criteria.forbidden:
        yield _constraint(trial)


def _actions(trial: Trial) -> Found:
    actions = [action for index, action in enumerate(trial.task.criteria.actions) if index not in trial.refused]
    missing = [called(actions[index].call()) for index in trial.deeds.undone(actions, trial.calls)]
    return Component.ACTION, not missing, f"not done: {'; '.join(missing)}" if missing else ""


def _assertions(trial: Trial) -> Found:
    broken = [
        f"{called(ToolCall(name=one.name, arguments=one.arguments))} is {not one.expected}, wanted {one.expected}"
        f"{f': {one.message}' if one.message else ''}"
        for one in trial.task.criteria.env_assertions
        if trial.domain.holds(trial.world, one.name, one.arguments, requestor=one.side) is not one.expected
    ]
    return Component.ENV_ASSERTION, not broken, "; ".join(broken)


def _constraint(trial: Trial) -> Found:
    required, forbidden = trial.task.criteria.required, trial.task.criteria.forbidden
    undone = trial.deeds.undone(required, trial.calls)
    broken = [f"required, not done: {called(required[index].call())}" for index in undone]
    broken += [
        f"forbidden, attempted: {called(one.call)}"
        for one in trial.calls
        if any(trial.deeds.does(one, action) for action in forbidden)
    ]
    return Component.CONSTRAINT, not broken, "; ".join(broken)


def _by_tau2(task: Task, domain: LiveDomain, trajectory: Trajectory) -> dict[str, Any] | None:
    peer = peer_of(domain)
    if peer is None or not task.raw:
        return None
    try:
        return verdict(peer, task, trajectory if peer is domain else retold(peer, task, trajectory))
    except DataFault:
        # tau2 cannot score it (a sentence counts, which it asks a model about; or it takes a call that our shop
        # refuses): ours stands alone.
        return None
