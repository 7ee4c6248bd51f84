"""Take out of an exploration what is not needed: what remains is a `Plan`, of which every step matters.

A step is needed when, without it, the final state is another, a later step is refused or breaks a rule that it did not
break, a fact that is to be told is not found out or is another, or a value of a later argument stands in no earlier
result any more though it did. That is tried out: steps that may change the state by doing the rest again, all others by
what values hang on (`turngap.synth.provenance`). Later steps go first, so that what only they needed can go too; then
pairs that undo each other.

What a plan claims, and the tests hold it to: its steps done again give its digest, none is refused and none breaks a
rule; without any one of the steps that change the state the digest is another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

import msgspec

from turngap.data.task import hands_over
from turngap.domains import LiveDomain, LiveWorld
from turngap.synth.known import Known
from turngap.synth.offer import at, token
from turngap.synth.plan import Dropped, Exploration, Fact, Loss, LostError, Plan, Step
from turngap.synth.provenance import Traced, Tracer
from turngap.synth.replay import Replayed, go_on, is_calculation, replay

_REFUSED = "it was refused"
_NOT_WANTED = "it is no part of what this plan is about"
_SAME_STATE = "the final state is the same without it"
_UNUSED = "no later argument and no fact needs its result"
_UNDONE = "it and another step undo each other"


def backbone(
    domain: LiveDomain,
    exploration: Exploration,
    goals: Collection[int] | None = None,
    facts: Sequence[Fact] | None = None,
    *,
    told: Iterable[Any] = (),
) -> Plan:
    """The steps of an exploration that its effects, or some of them, need.

    Args:
        domain: where it took place; it began in a pristine world.
        exploration: what was done.
        goals: indices of the steps to keep for their own sake: effects (changes and hand-overs), calculations, and
            anything else whose doing is the point, such as a look-up that shows why something cannot be. None: every
            effect that breaks no rule, and every calculation.
        facts: what has to be told; None: the exploration's own ones, as far as `goals` leaves their steps in: of a
            change that is not among the goals nothing is told.
        told: values that the customer knows besides the own ones (`provenance.trace`).

    Returns:
        The plan, traced; its steps have the results that they have without what was dropped.

    Raises:
        LostError: nothing is left to do, a goal cannot be had without a step that is refused or breaks a rule, or a
            value comes from nowhere. DomainFault: the domain's own code failed.
    """
    whole = replay(domain, exploration.steps)
    wanted = _goals(whole, exploration) if goals is None else frozenset(goals)
    kept = [fact for fact in (exploration.facts if facts is None else facts) if _stays(whole, fact, wanted)]
    if not wanted and not kept:
        against = next((step.breaches[0] for step in whole.steps if step.has_effect() and step.breaches), None)
        if against is not None:
            raise _lost("every effect is against a rule", against)
        raise _lost("no effect", "nothing is changed, handed over or told")
    work = _Ablation(domain, exploration, wanted, kept, tuple(told))
    return work.plan(whole)


def _goals(whole: Replayed, exploration: Exploration) -> frozenset[int]:
    told = {fact.step for fact in exploration.facts}
    return frozenset(
        index
        for index, step in enumerate(whole.steps)
        if (step.has_effect() and not step.breaches and not step.error) or (is_calculation(step) and index not in told)
    )


def _stays(whole: Replayed, fact: Fact, wanted: frozenset[int]) -> bool:
    step = whole.steps[fact.step]
    return not step.error and (fact.step in wanted or not step.has_effect())


class _Ablation:
    """One exploration on its way to a plan. Indices are those of the exploration until the end."""

    def __init__(
        self,
        domain: LiveDomain,
        exploration: Exploration,
        wanted: frozenset[int],
        facts: Sequence[Fact],
        told: tuple[Any, ...],
    ) -> None:
        self._domain = domain
        self._tracer = Tracer(domain)
        self._exploration = exploration
        self._wanted = wanted
        self._facts = facts
        self._known = Known(exploration.customer, told)
        self._told = told
        self._has_rules = type(domain.world()).breaches is not LiveWorld.breaches
        self._pinned = wanted | {fact.step for fact in facts}
        self._dropped: dict[int, str] = {}
        self._runs: dict[tuple[int, ...], Replayed] = {}

    def plan(self, whole: Replayed) -> Plan:
        left = self._without_refused(whole)
        left = self._without_unwanted(left)
        before: list[int] = []
        while left != before:
            before = left
            left = self._without_idle_writes(left)
            left = self._without_unused(left)
        if not self._wanted & set(left) and not self._facts:
            raise _lost("no effect", "in the end, nothing is changed")
        return self._finished(left)

    # What is not even tried.

    def _without_refused(self, whole: Replayed) -> list[int]:
        """Leave out what was refused, and of repeated calls that change nothing all but the first."""
        for index, step in enumerate(whole.steps):
            if step.error and index in self._wanted:
                raise _lost("a goal is refused", f"step {index + 1}, {step.call.name}: {step.result}")
            if step.error:
                self._dropped[index] = _REFUSED
        left = [index for index in range(len(whole.steps)) if index not in self._dropped]
        if any(step.error and step.changed for step in whole.steps):
            whole_without = self._run(left)
            if whole_without.digest != whole.digest:
                raise _lost("a refused call left something behind", "the world is another without it")
        return left

    def _without_unwanted(self, left: list[int]) -> list[int]:
        """Leave out effects that are no goals, the later ones first; one that a goal needs stays."""
        for index in reversed(left):
            step = self._run(left).steps[left.index(index)]
            if index in self._wanted or not (step.kind == "write" or step.has_effect() or is_calculation(step)):
                continue
            fewer = [one for one in left if one != index]
            if self._works(fewer, left):
                left = self._drop([index], _NOT_WANTED if step.has_effect() else _SAME_STATE, fewer)
            elif step.breaches:
                raise _lost("a goal needs what is against a rule", step.breaches[0])
        return left

    # What is tried.

    def _without_idle_writes(self, left: list[int]) -> list[int]:
        """Leave out calls that may change the state and do not, for the end: overwritten, repeated, undone."""
        writes = [index for index in left if self._step(index).kind == "write"]
        for index in reversed(writes):
            fewer = [one for one in left if one != index]
            if self._same(fewer, left):
                left = self._drop([index], _SAME_STATE, fewer)
        for pair in combinations([index for index in writes if index in left], 2):
            fewer = [one for one in left if one not in pair]
            if set(pair) <= set(left) and self._same(fewer, left):
                left = self._drop(pair, _UNDONE, fewer)
        return left

    def _without_unused(self, left: list[int]) -> list[int]:
        """Leave out what only looks and what nothing hangs on, the later ones first."""
        hangs = _hanging(self._trace(left), left)
        for index in reversed(left):
            if self._step(index).kind == "write" or index in self._pinned or hands_over(self._step(index).call.name):
                continue
            fewer = [one for one in left if one != index]
            if _supplied(hangs, fewer) and (not self._has_rules or self._obeys(fewer, left)):
                left = self._drop([index], _UNUSED, fewer)
        return left

    # How it is tried.

    def _step(self, index: int) -> Step:
        return self._exploration.steps[index]

    def _run(self, left: Sequence[int]) -> Replayed:
        key = tuple(left)
        if key not in self._runs:
            # From where it parts from what was done before.
            there = next((size for size in range(len(key) - 1, -1, -1) if key[:size] in self._runs), None)
            run = self._runs[key[:there]] if there is not None else replay(self._domain, [])
            for size in range(there or 0, len(key)):
                world = run.world.fork()
                made = go_on(world, self._domain, [self._step(key[size]).call], run.steps)
                run = Replayed(world=world, steps=(*run.steps, *made), digest=world.digest())
                self._runs[key[: size + 1]] = run
            self._runs[key] = run
        return self._runs[key]

    def _works(self, fewer: Sequence[int], left: Sequence[int]) -> bool:
        """Whether the goals and facts are still had, whatever became of the rest."""
        run, before = self._run(fewer), self._run(left)
        at_place = {index: place for place, index in enumerate(fewer)}
        for index in self._wanted & set(left):
            if index not in at_place or run.steps[at_place[index]].error:
                return False
            if before.steps[left.index(index)].has_effect() and not run.steps[at_place[index]].has_effect():
                return False
        return self._obeys(fewer, left) and self._told_alike(fewer)

    def _same(self, fewer: Sequence[int], left: Sequence[int]) -> bool:
        """Whether the final state is the same, every step is still taken, and every value is still found."""
        run, before = self._run(fewer), self._run(left)
        if run.digest != before.digest or run.refused or not self._told_alike(fewer) or not self._obeys(fewer, left):
            return False
        if any(hands_over(self._step(index).call.name) for index in left if index not in fewer):
            return False
        return _sourced(self._trace(left), left, fewer) <= _sourced(self._trace(fewer), fewer, fewer)

    def _obeys(self, fewer: Sequence[int], left: Sequence[int]) -> bool:
        """Whether no step breaks a rule, or is refused, that did not before."""
        run, before = self._run(fewer), self._run(left)
        for place, index in enumerate(fewer):
            now, then = run.steps[place], before.steps[left.index(index)]
            if not set(now.breaches) <= set(then.breaches) or (now.error and not then.error):
                return False
        return True

    def _told_alike(self, fewer: Sequence[int]) -> bool:
        """Whether every fact is found out, and is what it was."""
        run = self._run(fewer)
        for fact in self._facts:
            if fact.step not in fewer:
                return False
            try:
                now = at(run.steps[fewer.index(fact.step)].result, fact.path)
                then = at(self._step(fact.step).result, fact.path)
            except KeyError:
                return False
            if token(now) != token(then):
                return False
        return True

    def _trace(self, left: Sequence[int]) -> tuple[Traced, ...]:
        return self._tracer.trace(self._known, self._run(left).steps, lambda step: self._run(left[:step]).world)

    def _drop(self, gone: Sequence[int], reason: str, fewer: list[int]) -> list[int]:
        self._dropped.update(dict.fromkeys(gone, reason))
        return fewer

    # The end.

    def _finished(self, left: list[int]) -> Plan:
        run = self._run(left)
        for index, step in zip(left, run.steps, strict=True):
            if step.error:
                raise _lost("a needed step is refused", f"step {index + 1}, {step.call.name}: {step.result}")
            if step.breaches:
                raise _lost("a needed step is against a rule", f"{step.call.name}: {step.breaches[0]}")
            if step.kind == "write" and self._run([one for one in left if one != index]).digest == run.digest:
                # Nobody changes something to see what the change shows.
                raise _lost("a change is needed for its result only", f"step {index + 1}, {step.call.name}")
        if not self._told_alike(left):
            raise _lost("a fact is another", "without what is not needed, the result says something else")
        places = {index: place for place, index in enumerate(left)}
        return Plan(
            id=self._exploration.id,
            customer=self._exploration.customer,
            steps=run.steps,
            arguments=self._tracer.arguments(self._exploration.customer, run.steps, self._told),
            facts=tuple(msgspec.structs.replace(fact, step=places[fact.step]) for fact in self._facts),
            dropped=tuple(
                Dropped(call=self._step(index).call, reason=reason) for index, reason in sorted(self._dropped.items())
            ),
            digest=run.digest,
        )


def _lost(reason: str, detail: str) -> LostError:
    return LostError(Loss(stage="ablate", reason=reason, detail=detail))


def _hanging(traced: Sequence[Traced], left: Sequence[int]) -> list[tuple[int, frozenset[int]]]:
    """What hangs on what: a step, and the steps of which it needs one. Indices are those of the exploration."""
    return [(left[one.argument.step], frozenset(left[step] for step in need)) for one in traced for need in one.needs]


def _supplied(hangs: Iterable[tuple[int, frozenset[int]]], left: Collection[int]) -> bool:
    """Whether every step that is left still has what it needs."""
    there = set(left)
    return all(step not in there or need & there for step, need in hangs)


def _sourced(traced: Sequence[Traced], left: Sequence[int], among: Collection[int]) -> set[tuple[int, str]]:
    """The leaves whose values are taken from results, of the steps among some."""
    return {
        (left[one.argument.step], one.argument.path) for one in traced if one.needs and left[one.argument.step] in among
    }
