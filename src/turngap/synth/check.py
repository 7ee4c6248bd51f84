"""Verify tasks by executing them, and by holding words and reference against each other; whoever made the tasks.

Everything that can be executed is: initial state, reference, required and forbidden actions, assertions. What stands in
words is compared by words, so that findings about them are for a person to look at: they are warnings, except where a
value that a change takes is in no way to be had.

What is not asked: whether the words are good, and whether an agent could do it in another way (the final state is what
counts).
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Action, Task, ToolMessage
from turngap.data.asking import spell
from turngap.data.task import Change, Component, Criteria, Fact, Intent, Scenario, Side, hands_over
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.live import Done, Kind
from turngap.errors import DataFault, DomainFault
from turngap.grading.doing import Deeds, Made, called
from turngap.synth.archive import Archive
from turngap.synth.finding import Finding, Flaw, Severity
from turngap.synth.knowledge import Knowledge, words_of
from turngap.synth.known import Known
from turngap.synth.motive import Motives, has_way_out
from turngap.synth.naming import words
from turngap.synth.necessity import idle, spare
from turngap.synth.offer import leaves, token
from turngap.synth.parameter import parameters
from turngap.synth.plan import Customer, Step
from turngap.synth.provenance import Tracer
from turngap.synth.replay import kinds
from turngap.synth.wording import mentions

_ARCHIVES = 8
"""How many databases are kept in mind; tasks with an initial state of their own have one each."""
_ASKS = re.compile(r"\?|\b(know|tell|look up|find out|see)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(talk|speak|person|human|somebody|someone|agent)\b", re.IGNORECASE)
_NOBODY = Customer(table="", key="", record={})


def check(task: Task, domain: LiveDomain) -> tuple[Finding, ...]:
    """What is wrong with one task.

    Raises:
        DomainFault: the domain's own code failed outside of the task's actions.
    """
    return Checker(domain).check(task)


def check_all(tasks: Sequence[Task], domain: LiveDomain) -> tuple[Finding, ...]:
    """What is wrong with each task of a file, and which of them are the same; in the order of tasks.

    Raises:
        DomainFault: the domain's own code failed outside of the tasks' actions.
    """
    checker = Checker(domain)
    seen: dict[str, str] = {}
    found: list[Finding] = []
    for task in tasks:
        found += checker.check(task)
        content = jsonio.digest([msgspec.to_builtins(task.instructions), _actions(task), task.initial_state])
        if content in seen:
            detail = f"the same words and reference as task {seen[content]}"
            found.append(Finding(task=task.id, flaw=Flaw.DUPLICATE, severity="warning", detail=detail))
        seen.setdefault(content, task.id)
    return tuple(found)


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the reference, done."""

    action: Action
    step: Step
    misfit: str = ""
    """Why the call cannot be one of the tool's, whatever the database holds."""


class Checker:
    """Checks tasks of one domain."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._deeds = Deeds(domain)
        self._tracer = Tracer(domain)
        self._kinds: dict[Side, dict[str, Kind]] = {side: kinds(domain, side) for side in _SIDES}
        self._motives = Motives(name for name, kind in self._kinds["assistant"].items() if kind == "write")
        self._identity = _identity(domain)
        self._archives: OrderedDict[str, Archive] = OrderedDict()

    def check(self, task: Task) -> tuple[Finding, ...]:
        """See `check`."""
        return tuple(self._findings(task))

    def _findings(self, task: Task) -> Iterator[Finding]:
        try:
            start = self._domain.world(initial_state=task.initial_state)
        except DataFault as fault:
            yield _error(task, Flaw.START, str(fault))
            return
        world = start.fork()
        try:
            done = self._execute(world, task.criteria.actions, complete=bool(task.made))
        except DomainFault as fault:
            yield _error(task, Flaw.REFUSED, f"the domain fails at the reference: {fault}")
            return
        yield from self._refused(task, done)
        yield from self._necessity(task, start, world, done)
        yield from self._criteria(task, world)
        yield from self._constraint(task, start)
        yield from self._scenario(task)
        yield from self._values(task, start, done)
        yield from self._wishes(task, done)

    # By execution.

    def _execute(self, world: LiveWorld, actions: Sequence[Action], *, complete: bool) -> list[Executed]:
        """Do actions one after the other; `complete`: they are all that the agent does, so rules may look back."""
        found: list[Executed] = []
        before: list[Done] = []
        for action in actions:
            call = action.call()
            ours = action.requestor == "assistant"
            breaches = world.breaches(call, before if complete else None) if ours else ()
            digest = world.digest()
            reply = world.reply(call, requestor=action.requestor)
            step = Step(
                call=call,
                result=reply.message.content,
                error=reply.message.error,
                kind=self._kinds[action.requestor].get(action.name, "generic"),
                changed=world.digest() != digest,
                breaches=breaches,
            )
            misfit = reply.detail or reply.message.content if reply.category is not None else ""
            found.append(Executed(action=action, step=step, misfit=misfit))
            if ours:
                before.append(
                    Done(call=call, result=ToolMessage(content=step.result, name=call.name, error=step.error))
                )
        return found

    def _refused(self, task: Task, done: Sequence[Executed]) -> Iterator[Finding]:
        """A write that fails leaves another final state than the one that was meant; a look-up that fails does not."""
        for index, one in enumerate(done):
            if one.misfit:
                yield _error(
                    task, Flaw.REFUSED, f"{called(one.step.call)} cannot be called: {_line(one.misfit)}", index
                )
            elif one.step.error:
                severity: Severity = "error" if one.step.kind == "write" else "warning"
                detail = f"{called(one.step.call)} is refused: {_line(one.step.result)}"
                yield Finding(task=task.id, flaw=Flaw.REFUSED, severity=severity, detail=detail, action=index)
            for rule in one.step.breaches:
                yield _error(task, Flaw.POLICY, f"{called(one.step.call)} is against a rule: {rule}", index)

    def _necessity(self, task: Task, start: LiveWorld, world: LiveWorld, done: Sequence[Executed]) -> Iterator[Finding]:
        actions = [one.action for one in done]

        def without(index: int) -> str:
            other = start.fork()
            for action in (*actions[:index], *actions[index + 1 :]):
                other.call(action.call(), requestor=action.requestor)
            return other.digest()

        def obeys_without(index: int) -> bool:
            rest = self._execute(start.fork(), (*actions[:index], *actions[index + 1 :]), complete=True)
            return not any(one.step.breaches for one in rest)

        counted = " (and ACTION is counted)" if Component.ACTION in task.criteria.reward_basis else ""
        steps = [one.step for one in done]
        same = world.digest()
        person = self._archive(task, start).is_person
        found = dict(idle(steps, task.criteria.communicate, lambda index: without(index) == same, person))
        if task.made and not any(action.requestor == "user" for action in actions):
            # Ours has no step to spare, whatever one would forgive others.
            traced = self._tracer.trace(Known(_NOBODY), steps)
            found = {**dict(spare(steps, traced, task.criteria.communicate, obeys_without)), **found}
        for index, reason in sorted(found.items()):
            if any(self._deeds.does(_made(actions[index]), one) for one in task.criteria.required):
                continue  # it finds out that something cannot be, or who asks
            if done[index].action.requestor == "assistant" or steps[index].kind == "write":
                detail = f"{called(steps[index].call)}: {reason}{counted}"
                yield _warning(task, Flaw.UNNECESSARY, detail, index)

    def _criteria(self, task: Task, world: LiveWorld) -> Iterator[Finding]:
        """What is counted and asks for nothing, and assertions that the reference itself does not fulfil."""
        criteria = task.criteria
        bare = task.raw.get("evaluation_criteria") is None if task.raw else criteria == Criteria()
        if bare or not criteria.reward_basis:
            why = "there are no criteria" if bare else "no component is counted (reward_basis is empty)"
            yield _error(task, Flaw.CONTRADICTION, f"{why}, so nothing is graded: whatever the agent does passes")
        asked: dict[Component, Sequence[Any]] = {
            Component.NL_ASSERTION: criteria.nl_assertions,
            Component.ENV_ASSERTION: criteria.env_assertions,
            Component.ACTION: criteria.actions,
            Component.CONSTRAINT: (*criteria.required, *criteria.forbidden),
        }
        for component, material in asked.items():
            if component in criteria.reward_basis and not material:
                yield _warning(task, Flaw.CONTRADICTION, f"{component} is counted and there is nothing to hold against")
        if asked[Component.CONSTRAINT] and Component.CONSTRAINT not in criteria.reward_basis:
            yield _error(task, Flaw.CONTRADICTION, "actions are required or forbidden, and CONSTRAINT is not counted")
        # Without a reference, nobody says how they should come to hold.
        for one in criteria.env_assertions if criteria.actions else ():
            try:
                holds = self._domain.holds(world, one.name, one.arguments, requestor=one.side)
            except DataFault as fault:
                yield _error(task, Flaw.CONTRADICTION, str(fault))
                continue
            if holds is not one.expected:
                detail = (
                    f"after the reference, {one.name}({jsonio.dumps(one.arguments)}) is {holds}, not {one.expected}"
                )
                counted = Component.ENV_ASSERTION in criteria.reward_basis
                yield (_error if counted else _warning)(task, Flaw.CONTRADICTION, detail)

    def _constraint(self, task: Task, start: LiveWorld) -> Iterator[Finding]:
        """Required actions work, forbidden ones do not or are against a rule, and no action is both wanted and not."""
        required, forbidden = task.criteria.required, task.criteria.forbidden
        world = start.fork()
        done = self._execute(world, required, complete=True)
        for one in done:
            if one.step.error:
                yield _error(
                    task, Flaw.REFUSED, f"required, and refused: {called(one.step.call)}: {_line(one.step.result)}"
                )
        for number, action in enumerate((*task.criteria.actions, *required)):
            if any(self._deeds.does(_made(action), one) for one in forbidden):
                index = number if number < len(task.criteria.actions) else None
                yield _error(task, Flaw.CONTRADICTION, f"{called(action.call())} is wanted and forbidden", index)
        before = [
            Done(call=one.step.call, result=ToolMessage(content=one.step.result, name=one.step.call.name))
            for one in done
            if one.action.requestor == "assistant"
        ]
        for action in forbidden:
            yield from self._forbidden(task, world, action, before)

    def _forbidden(self, task: Task, world: LiveWorld, action: Action, before: Sequence[Done]) -> Iterator[Finding]:
        if action.compare_args == () and not action.arguments:
            return  # any call of the tool is meant, whatever its arguments
        call = action.call()
        broken = world.breaches(call, before)
        reply = world.fork().reply(call, requestor=action.requestor)
        if reply.category is not None:
            detail = f"the forbidden {called(call)} cannot be called: {_line(reply.detail)}"
            yield _warning(task, Flaw.NOT_AS_SAID, detail)
        elif not reply.message.error and not broken:
            yield _error(task, Flaw.NOT_AS_SAID, f"the forbidden {called(call)} goes through and breaks no rule")

    def _scenario(self, task: Task) -> Iterator[Finding]:
        """Whether a task has what its scenario is about."""
        criteria, intent = task.criteria, task.intent
        lacks = {
            Scenario.INFEASIBLE: not (criteria.required or criteria.forbidden),
            Scenario.CHANGING: intent is not None and not intent.changes,
            Scenario.AMBIGUOUS: intent is not None and not self._open(intent),
            Scenario.GENERAL: False,
        }
        if lacks[task.scenario]:
            missing = {
                Scenario.INFEASIBLE: "nothing is required or forbidden",
                Scenario.CHANGING: "the intent never changes",
                Scenario.AMBIGUOUS: "nothing is left to ask for",
            }
            yield _error(task, Flaw.NOT_AS_SAID, f"it is {task.scenario}, and {missing[task.scenario]}")
        if Scenario.INFEASIBLE is task.scenario and any(
            self._kinds[action.requestor].get(action.name) == "write" for action in criteria.actions
        ):
            yield _warning(task, Flaw.NOT_AS_SAID, "it is infeasible, and the reference changes something")
        for change in task.intent.changes if task.intent else ():
            if not self._turns(task, change):
                yield _warning(
                    task, Flaw.NOT_AS_SAID, f"the {change.kind} asks for nothing new: {_line(change.says)!r}"
                )

    def _open(self, intent: Intent) -> list[Fact]:
        """What only an agent that asks is told; who the user is counts where there is nothing else."""
        about = [one for one in intent.facts if one.slot not in self._identity] or intent.facts
        return [one for one in about if not one.told and not mentions(intent.opening, spell(one.value))]

    def _turns(self, task: Task, change: Change) -> bool:
        """Whether a change brings a value, asks a question, or asks for something that an action does."""
        told = {(one.slot, token(one.value)) for one in task.intent.facts} if task.intent else set()
        criteria = task.criteria
        return (
            any((one.slot, token(one.value)) not in told for one in change.facts)
            or (bool(criteria.communicate) and _ASKS.search(change.says) is not None)
            or any(
                self._motives.asked(one.name, change.says)
                or (hands_over(one.name) and _PERSON.search(change.says) is not None)
                for one in (*criteria.actions, *criteria.required, *criteria.forbidden)
                if self._kinds[one.requestor].get(one.name) != "read"
            )
        )

    # By words.

    def _values(self, task: Task, start: LiveWorld, done: Sequence[Executed]) -> Iterator[Finding]:
        knowledge = Knowledge(task, self._archive(task, start), self._domain, [one.step for one in done])
        ours = [index for index, one in enumerate(done) if one.action.requestor == "assistant"]
        traced = self._tracer.trace(Known(_NOBODY), [done[index].step for index in ours])
        for one in traced:
            index = ours[one.argument.step]
            doubt = knowledge.doubt(done[index].step, one)
            if doubt is not None and not done[index].step.error:
                severe = doubt.severe and done[index].step.kind == "write"
                yield (_error if severe else _warning)(task, Flaw.UNKNOWABLE, f"{doubt.detail}", index)
        for fact in task.criteria.communicate:
            if not knowledge.can_be_told(fact):
                yield _warning(
                    task,
                    Flaw.UNKNOWABLE,
                    f"the fact {fact!r} can neither be looked up nor is it a sum or difference of what can be",
                )

    def _archive(self, task: Task, start: LiveWorld) -> Archive:
        key = jsonio.digest(task.initial_state)
        if key not in self._archives:
            self._archives[key] = Archive(self._domain, start.content())
            if len(self._archives) > _ARCHIVES:
                self._archives.popitem(last=False)
        self._archives.move_to_end(key)
        return self._archives[key]

    def _wishes(self, task: Task, done: Sequence[Executed]) -> Iterator[Finding]:
        spoken = task.instructions
        if not (f"{spoken.reason}{spoken.further}" if task.intent is None else task.intent.opening).strip():
            where = "instructions say not why" if task.intent is None else "opening is empty: nobody says why"
            yield _error(task, Flaw.WISH, f"the {where} the user makes contact")
        if Component.DB not in task.criteria.reward_basis:
            return  # what counts is that something works in the end, and the words are of what does not work now
        yield from self._untaken(task)
        words = words_of(task)
        writes = [
            (index, one)
            for index, one in enumerate(done)
            if one.action.requestor == "assistant" and one.step.kind == "write"
        ]
        unasked: dict[str, list[int]] = defaultdict(list)
        for index, one in writes:
            if not self._motives.asked(one.action.name, words):
                unasked[one.action.name].append(index)
        for name, places in unasked.items():
            yield (_error if task.intent else _warning)(
                task, Flaw.WISH, f"nothing in the words asks for {name}", places[0]
            )
        if task.scenario is Scenario.INFEASIBLE or any(hands_over(one.action.name) for one in done):
            return
        forbidden = [action.name for action in task.criteria.forbidden]
        taken_back = bool(task.intent and any(change.kind == "drift" for change in task.intent.changes))
        wish = task.instructions.reason if not task.intent else task.intent.opening
        if not taken_back and not has_way_out(f"{words}\n{' '.join(task.criteria.nl_assertions)}"):
            for verb, sentence in self._motives.unanswered(wish, [one.action.name for one in done] + forbidden):
                yield _warning(
                    task, Flaw.WISH, f"the user wants to {verb} something and the reference does not: {sentence!r}"
                )

    def _untaken(self, task: Task) -> Iterator[Finding]:
        """What a structured intent can tell, beside who the user is, and no action takes: a wish without an action."""
        if task.intent is None:
            return
        drifts = [change for change in task.intent.changes if change.kind == "drift"]
        facts = [*(() if drifts else task.intent.facts), *(fact for one in task.intent.changes for fact in one.facts)]
        criteria = task.criteria
        taken = {
            token(value)
            for action in (*criteria.actions, *criteria.required, *criteria.forbidden)
            for _, value in leaves(action.arguments)
        }
        for fact in facts:
            values = {token(value) for _, value in leaves({"": fact.value})}
            if fact.slot not in self._identity and not values & taken:
                detail = f"the user can tell {fact.slot} ({spell(fact.value)}), and no action takes it"
                yield _warning(task, Flaw.WISH, detail)


_SIDES: tuple[Side, ...] = ("assistant", "user")


def _identity(domain: LiveDomain) -> frozenset[str]:
    """The parameters by which somebody is found: those of reading tools that take no id."""
    found = {
        tool.name: [parameter.name for parameter in parameters(tool.spec)]
        for tool in domain.tools
        if tool.kind == "read"
    }
    taken = {
        name
        for names in found.values()
        if not any(words(name)[-1:] in (("id",), ("ids",)) for name in names)
        for name in names
    }
    return frozenset(taken | {"user_id", "customer_id"})


def _actions(task: Task) -> list[Any]:
    criteria = task.criteria
    return [
        [action.name, action.arguments, action.requestor]
        for action in (*criteria.actions, *criteria.required, *criteria.forbidden)
    ]


def _made(action: Action) -> Made:
    result = ToolMessage(content="", name=action.name)
    return Made(event=0, side=action.requestor, call=action.call(), result=result)


def _line(text: str, length: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else f"{flat[:length]}..."


def _error(task: Task, flaw: Flaw, detail: str, action: int | None = None) -> Finding:
    return Finding(task=task.id, flaw=flaw, severity="error", detail=detail, action=action)


def _warning(task: Task, flaw: Flaw, detail: str, action: int | None = None) -> Finding:
    return Finding(task=task.id, flaw=flaw, severity="warning", detail=detail, action=action)
