"""What went wrong in a finished trial, each with the message that shows it.

Detectors by rule, over trajectory, task and domain; none asks a model. They name what can be told for certain from
calls and texts: a trial can fail without a symptom (a policy broken in words, say), and succeed with one (a loop that
ended). Changes are only looked at where the final database is wrong, since any way to the right one is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import msgspec

from turngap import jsonio
from turngap.data import Acted, Action, Category, Spoken, Termination, Trajectory, UserMessage
from turngap.data.asking import spell
from turngap.data.reward import Symptom, SymptomKind
from turngap.data.task import Component, hands_over
from turngap.domains import LiveWorld
from turngap.domains.live import Done
from turngap.grading.doing import called
from turngap.grading.saying import spoken, unsaid
from turngap.grading.trial import Trial
from turngap.grading.wanted import cut
from turngap.grading.writes import Slip, slips
from turngap.users.faults import examine
from turngap.users.lapse import Lapse

_AGAIN = 3
"""How often the same step with the same outcome makes a loop."""
_BROKE_OFF = (Termination.ERROR_LIMIT, Termination.EMPTY_ANSWER, Termination.CONTEXT_OVERFLOW)


Seen = tuple[SymptomKind, int, str]
"""Kind, event, detail."""


def symptoms(trial: Trial, broken: Collection[Component], *, failed: bool) -> tuple[Symptom, ...]:
    """Everything that went wrong, in the order of events, of kinds within one.

    Args:
        trial: the finished trial.
        broken: the components that do not hold, counted or not.
        failed: whether the reward is less than 1; the rules that the domain can check are looked at only then, since
            that takes a world in which every call is made again.

    Raises:
        DomainFault: a check of the domain failed.
    """
    found: list[Seen] = [
        *(_changes(trial) if Component.DB in broken else ()),
        *_forbidden(trial),
        *(_breaches(trial) if failed else ()),
        *(_unsaid(trial) if Component.COMMUNICATE in broken else ()),
        *_handed_over(trial),
        *_loops(trial.trajectory),
        *_endings(trial),
        *_unrunnable(trial.trajectory),
        *_users(trial),
    ]
    kinds = list(SymptomKind)
    ordered = sorted(dict.fromkeys(found), key=lambda seen: (seen[1], kinds.index(seen[0])))
    return tuple(
        Symptom(kind=kind, event=event, detail=detail, evidence=_shown(trial.trajectory, event))
        for kind, event, detail in ordered
    )


def _changes(trial: Trial) -> Iterator[Seen]:
    actions = [action for index, action in enumerate(trial.task.criteria.actions) if index not in trial.refused]
    for slip in slips(trial.domain, trial.deeds, actions, trial.calls):
        event = trial.last if slip.one is None else slip.one.event
        yield slip.kind, event, _slipped(trial, slip)
        yield from _unasked(trial, slip, event)
        yield from _stale(trial, slip, event)


def _slipped(trial: Trial, slip: Slip) -> str:
    one, action = slip.one, slip.action
    if one is not None and action is not None:
        return cut(trial.deeds.explain(one, action), 300)
    if one is not None:
        return f"nothing in the reference is like {called(one.call)}"
    if action is None:
        return ""
    tried = next((call for call in reversed(trial.calls) if call.failed and trial.deeds.does(call, action)), None)
    return f"never done: {called(action.call())}{f'; refused: {cut(tried.result.content)}' if tried else ''}"


def _unasked(trial: Trial, slip: Slip, event: int) -> Iterator[Seen]:
    """Values that did not come out right and that the user, who had not told them yet, would have told."""
    if trial.task.intent is None or slip.action is None:
        return
    told = trial.told_before(event)
    for fact in trial.task.intent.facts:
        due = slip.action.arguments.get(fact.slot)
        meant = fact.value == due or (isinstance(due, list) and fact.value in due)
        if meant and fact.slot in slip.arguments and spell(fact.value).casefold() not in told:
            yield SymptomKind.NO_CLARIFICATION, event, f"the user was never asked for {fact.slot}"


def _stale(trial: Trial, slip: Slip, event: int) -> Iterator[Seen]:
    """Values of the agent's change that the user had taken back before."""
    if trial.task.intent is None or slip.one is None:
        return
    given = slip.one.call.arguments or {}
    told = trial.told_before(event)
    for change in trial.task.intent.changes:
        if change.kind != "drift" or change.says.casefold() not in told:
            continue
        now = {fact.slot: fact.value for fact in change.facts}
        for slot, value in now.items():
            earlier = [fact.value for fact in trial.task.intent.facts if fact.slot == slot]
            if slot in given and given[slot] != value and given[slot] in earlier:
                detail = f"{slot} is {spell(given[slot])}, which the user had changed to {spell(value)}"
                yield SymptomKind.STALE_INTENT, event, detail


def _forbidden(trial: Trial) -> Iterator[Seen]:
    for one in trial.calls:
        if any(trial.deeds.does(one, action) for action in trial.task.criteria.forbidden):
            yield SymptomKind.FORBIDDEN_ATTEMPT, one.event, f"the task forbids {called(one.call)}"


def _breaches(trial: Trial) -> Iterator[Seen]:
    """Rules of the domain that a call broke, or would have broken had the tool not refused it."""
    world = trial.domain.world(trial.trajectory.metadata.get("seed", 0), trial.task.initial_state)
    if type(world).breaches is LiveWorld.breaches:
        return  # a domain without checks
    before: list[Done] = []
    for one in trial.calls:
        if one.side == "assistant":
            for rule in world.breaches(one.call, before):
                yield SymptomKind.FORBIDDEN_ATTEMPT, one.event, f"{called(one.call)} is against a rule: {rule}"
            before.append(Done(call=one.call, result=one.result))
        world.call(one.call, requestor=one.side)


def _unsaid(trial: Trial) -> Iterator[Seen]:
    texts = [text for _, text in spoken(trial.trajectory)]
    for fact in unsaid(trial.task.criteria.communicate, texts):
        yield SymptomKind.FACT_NOT_SAID, trial.last, f"the user was never told {fact}"


def _handed_over(trial: Trial) -> Iterator[Seen]:
    def due(actions: tuple[Action, ...]) -> bool:
        return any(hands_over(action.name) for action in actions)

    criteria = trial.task.criteria
    if due(criteria.actions) or due(criteria.required):
        return
    over = next((one.event for one in trial.calls if one.side == "assistant" and hands_over(one.call.name)), None)
    if over is None and trial.ending is Termination.TRANSFER:
        over = trial.last
    if over is not None:
        yield SymptomKind.NEEDLESS_TRANSFER, over, "the reference does not hand the user over"


def _loops(trajectory: Trajectory) -> Iterator[Seen]:
    seen: Counter[str] = Counter()
    before = ""
    for number, event in enumerate(trajectory.events):
        if not isinstance(event, Acted):
            before = event.message.content
            continue
        message = event.message
        # What is said is the same step only as an answer to the same words; calls are by what comes of them.
        step = jsonio.dumps([message.content, message.calls, event.results, "" if message.calls else before])
        seen[step] += 1
        if seen[step] == _AGAIN:
            yield SymptomKind.LOOP, number, f"the same step with the same outcome, {_AGAIN} times"


def _endings(trial: Trial) -> Iterator[Seen]:
    ending = trial.ending
    problem = trial.trajectory.problems[0].detail if trial.trajectory.problems else ending.value
    if ending is Termination.STEP_LIMIT:
        yield SymptomKind.STEP_LIMIT, trial.last, problem
    elif ending in _BROKE_OFF:
        yield SymptomKind.BROKE_OFF, trial.last, problem


def _unrunnable(trajectory: Trajectory) -> Iterator[Seen]:
    for number, event in enumerate(trajectory.events):
        if not isinstance(event, Acted):
            continue
        for call in event.message.calls:
            if call.arguments is None:
                yield SymptomKind.MALFORMED_CALL, number, cut(call.error or "the call could not be read", 200)
        for verdict in event.verdicts:
            if verdict.category in (Category.WRONG_TOOL, Category.WRONG_ARGUMENTS):
                yield SymptomKind.MALFORMED_CALL, number, cut(verdict.detail or "the call could not be run", 200)


def _users(trial: Trial) -> Iterator[Seen]:
    noticed = msgspec.convert(trial.trajectory.metadata.get("lapses", []), list[Lapse])
    writes = {tool.name for tool in trial.domain.tools if tool.kind == "write"}
    events = trial.trajectory.events
    turns = [
        n for n, event in enumerate(events) if isinstance(event, Spoken) and isinstance(event.message, UserMessage)
    ]
    for lapse in examine(trial.trajectory, trial.task, noticed=noticed, writes=writes):
        if not lapse.mended:
            event = turns[lapse.turn - 1] if lapse.turn <= len(turns) else max(len(events) - 1, 0)
            yield SymptomKind.USER_FAULT, event, f"{lapse.kind}: {lapse.detail}"


def _shown(trajectory: Trajectory, number: int) -> str:
    """An event as a reader wants to see it."""
    if number >= len(trajectory.events):
        return ""
    event = trajectory.events[number]
    if isinstance(event, Spoken):
        return f'user: "{cut(event.message.content, 200)}"'
    calls = "; ".join(
        f"{called(call)} -> {cut(result.content, 80)}"
        for call, result in zip(event.message.calls, event.results, strict=False)
    )
    text = f'"{cut(event.message.content, 200)}"' if event.message.content.strip() else ""
    return f"agent: {' '.join(filter(None, (text, calls)))}"
