"""Judges without a model: what the conversation came to, and rules on what was said and done.

`RewardReviewer` makes every call again in a new world and grades the result by the task's own criteria.
`RulesReviewer` reads the conversation step by step. It can be wrong in both directions where words decide (it hears
plain English by its usual turns of phrase), and it knows nothing of tone or tact; every table names it `rules`.

A conversation is rejected by `rules` for any of these:

* it did not come to its end (step limit, too many errors, an empty answer);
* the user did something that users do wrong (`turngap.users.faults`);
* a call could not be run: malformed, unknown tool, against the schema;
* a call broke a rule that the domain can check itself;
* a write without a yes to a question for one, where the policy asks for a yes;
* a write, or a hand-over, that the scenario expects was never done, or one was done that it does not expect;
* an argument, or something checkable that the agent said, comes from nowhere: no result, no specification, not the
  policy and not the customer has it (so does a sum that it worked out without a tool; a count of what is listed may be
  said);
* a tool's refusal was neither made good by a later call nor told to the customer;
* the agent said that it hands over, or that it changed something, and had done nothing of the kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from turngap import jsonio, live
from turngap.data import AssistantMessage, Category, Message, Scenario, ToolCall, ToolMessage, UserMessage
from turngap.data.task import hands_over
from turngap.domains.live import Done, LiveWorld
from turngap.errors import DataFault
from turngap.grading.doing import called, made
from turngap.grading.grader import ENDED, RewardGrader
from turngap.grading.wanted import cut
from turngap.judges import facts
from turngap.metrics.passk import succeeded
from turngap.synth.converse.review import Case, Opinion, Reason
from turngap.users.faults import examine
from turngap.users.hearing import hear
from turngap.users.lapse import Lapse

VERSION = 1
"""Raised when the rules would judge the same conversation otherwise."""

_WANTS_YES = re.compile(
    r"\b(explicit(ly)? (\w+ )?(confirm\w*|consent|yes|approval|agree\w*)|(a|clear|explicit) (clear )?yes\b"
    r"|(user|customer)('s)? (confirmation|consent|approval)|confirmation \(yes\)"
    r"|(obtain|gets?|asks? for|waits? for|without|needs?) (\w+ ){0,3}(confirmation|consent|approval))",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\b(yes|yeah|yep|yup|sure|ok|okay|correct|right|go ahead|please do|do it|confirm(ed)?|absolutely|agreed?|fine"
    r"|proceed|perfect|sounds good|that works|of course)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"^\W*(no\b|nope|not\b|wait|hold on|actually|don't|do not|stop)", re.IGNORECASE)
_TELLS = re.compile(
    r"\b(sorry|unfortunately|apolog\w+|afraid|error|problem|issue|fail\w*|could(n't| not)|did(n't| not)|does(n't| not)"
    r"|no (such|record|account|order|booking)|not (found|possible|available))\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(i|we)(?:'ve| have)(?: \w+){0,2} (?:updat|chang|modifi|cancel|exchang|return|refund|mov|book|process|submit"
    r"|plac|add|remov|issu|initiat|complet|transferr|reschedul)\w*ed\b"
    r"|\bsuccessfully \w+ed\b",
    re.IGNORECASE,
)
"""An agent's words that something was changed just now; what a record says of the past is put in other words."""
_MOST_NAMED = 5


class RewardReviewer:
    """Approves what the task's own criteria reward in full."""

    label = "reward"

    def __init__(self) -> None:
        self._grader = RewardGrader()

    def identity(self) -> dict[str, Any]:
        """The grader's."""
        return {"reviewer": self.label, "grader": self._grader.identity()}

    async def review(self, case: Case) -> Opinion:
        """Make the calls again, and grade. See `Reviewer.review`.

        Raises:
            DataFault: the desk has no domain. JudgeError: the task counts sentences, which take a model.
        """
        domain = case.desk.domain
        if domain is None:
            raise DataFault("a reward takes a domain whose state can be compared")
        world = await live.rebuild(domain, case.situation.task, case.trajectory)
        reward = await self._grader.grade(case.situation.task, domain, case.trajectory, world, beside=False)
        if succeeded(reward.value):
            return Opinion(approved=True)
        broken = [
            Reason(f"{name} does not hold", cut(grade.detail, 300))
            for name, grade in reward.components.items()
            if grade.counted and not succeeded(grade.value)
        ]
        ending = live.termination(case.trajectory)
        return Opinion(approved=False, reasons=tuple(broken) or (Reason("it did not end", ending.value),))

    async def aclose(self) -> None:
        """Nothing is held."""


class RulesReviewer:
    """Approves what breaks none of the rules of this module."""

    label = "rules"

    def identity(self) -> dict[str, Any]:
        """The rules' version."""
        return {"reviewer": self.label, "version": VERSION}

    async def review(self, case: Case) -> Opinion:
        """Read a conversation by the rules. See `Reviewer.review`."""
        checks = (_ending, _user, _unrunnable, _breaches, _unconfirmed, _steps, _ungrounded, _unanswered, _undone)
        found = tuple(reason for check in checks for reason in check(case))
        return Opinion(approved=not found, reasons=found)

    async def aclose(self) -> None:
        """Nothing is held."""


def _ending(case: Case) -> Iterator[Reason]:
    ending = live.termination(case.trajectory)
    if case.trajectory.problems or ending not in ENDED:
        detail = case.trajectory.problems[0].detail if case.trajectory.problems else ""
        yield Reason("it did not end", f"{ending.value}: {cut(detail)}" if detail else ending.value)
    if not any(isinstance(message, AssistantMessage) for message in case.conversation.messages):
        yield Reason("it did not end", "the agent never acted")


def _user(case: Case) -> Iterator[Reason]:
    noticed = msgspec.convert(case.trajectory.metadata.get("lapses", []), list[Lapse])
    for lapse in examine(case.trajectory, case.situation.task, noticed=noticed, writes=case.desk.writes):
        if not lapse.mended:
            yield Reason("user fault", f"{lapse.kind.value} in turn {lapse.turn}: {cut(lapse.detail)}")


def _unrunnable(case: Case) -> Iterator[Reason]:
    for event in case.trajectory.events:
        for verdict in getattr(event, "verdicts", ()):
            if verdict.category in (Category.MALFORMED_CALL, Category.WRONG_TOOL, Category.WRONG_ARGUMENTS):
                yield Reason("invalid call", cut(verdict.detail, 200))


def _breaches(case: Case) -> Iterator[Reason]:
    """Rules of the domain that a call broke, or would have broken had the tool not refused it."""
    domain = case.desk.domain
    if domain is None:
        return
    world = domain.world(case.trajectory.metadata.get("seed", 0), case.situation.task.initial_state)
    if type(world).breaches is LiveWorld.breaches:
        return  # a domain without checks
    before: list[Done] = []
    for one in made(case.trajectory):
        if one.side == "assistant":
            for rule in world.breaches(one.call, before):
                yield Reason("policy breach", f"{called(one.call)}: {rule}")
            before.append(Done(call=one.call, result=one.result))
        world.call(one.call, requestor=one.side)


def _unconfirmed(case: Case) -> Iterator[Reason]:
    if not _WANTS_YES.search(case.desk.policy):
        return
    asked, agreed = "", False
    for message, call, result in _steps_of(case.conversation.messages):
        if isinstance(message, UserMessage):
            agreed = bool(hear(asked).asks_yes) and _agrees(message.content)
            asked = ""
        elif call is None:
            asked = f"{asked}\n{message.content}" if isinstance(message, AssistantMessage) else asked
        elif call.name in case.desk.writes and result is not None and not result.error and not agreed:
            yield Reason("write without a yes", called(call))


def _agrees(words: str) -> bool:
    return _YES.search(words) is not None and _NO.search(words) is None


def _steps(case: Case) -> Iterator[Reason]:
    """Hold the writes and hand-overs that went through against those that the scenario expects, by name."""

    def counts(name: str) -> bool:
        return name in case.desk.writes or hands_over(name)

    due = Counter(action.name for action in case.situation.expected if counts(action.name))
    done = Counter(
        call.name
        for _, call, result in _steps_of(case.conversation.messages)
        if call is not None and result is not None and not result.error and counts(call.name)
    )
    for name, count in (due - done).items():
        yield Reason("expected step missing", f"{name}{f', {count} times' if count > 1 else ''}")
    for name, count in (done - due).items():
        # Whoever cannot meet a wish may hand the customer over.
        if name in case.desk.writes or case.situation.task.scenario is not Scenario.INFEASIBLE:
            yield Reason("step that nobody expects", f"{name}{f', {count} times' if count > 1 else ''}")


def _ungrounded(case: Case) -> Iterator[Reason]:
    """Arguments, and checkable words of the agent, that nobody gave it; counting what a result lists is none."""
    largest = 0
    tools = jsonio.dumps(case.desk.tools)
    readings: set[str] = {*facts.of_text(case.desk.policy).readings, *facts.of_result(tools).readings}
    for message, call, result in _steps_of(case.conversation.messages):
        if isinstance(message, AssistantMessage):
            stated = facts.of_text(message.content) if call is None else facts.of_value(call.arguments)
            invented = [
                one for one in stated.invented_beside(readings) if call is not None or not _counts(one, largest)
            ]
            if invented:
                what = "says" if call is None else f"calls {call.name} with"
                named = ", ".join(dict.fromkeys(fact.text for fact in invented[:_MOST_NAMED]))
                kind = "claim from nowhere" if call is None else "argument from nowhere"
                yield Reason(kind, f"{what} {cut(named)}")
        else:
            readings |= facts.of_text(message.content).readings
        if result is not None:
            readings |= facts.of_result(result.content).readings
            largest = max(largest, _size(result.content))


def _counts(fact: facts.Fact, most: int) -> bool:
    return fact.kind == "number" and fact.text.isdigit() and int(fact.text) <= most


def _size(text: str) -> int:
    """How many things the longest list, or the largest object, of a result holds."""

    def size(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return max((len(inner), *map(size, inner)), default=0) if inner else 0

    try:
        return size(jsonio.loads(text))
    except jsonio.JsonError:
        return 0


def _unanswered(case: Case) -> Iterator[Reason]:
    """Refusals of tools after which that tool neither went through nor the customer heard of it."""
    steps = list(_steps_of(case.conversation.messages))
    for number, (_, call, result) in enumerate(steps):
        if call is None or result is None or not result.error:
            continue
        later = steps[number + 1 :]
        mended = any(one is not None and one.name == call.name and not (got and got.error) for _, one, got in later)
        told = any(
            isinstance(message, AssistantMessage) and one is None and _tells(message.content)
            for message, one, _ in later
        )
        if not mended and not told:
            yield Reason("refusal left unanswered", f"{called(call)}: {cut(result.content)}")


def _tells(words: str) -> bool:
    heard = hear(words)
    return heard.refuses or heard.handed_over or bool(heard.asks) or _TELLS.search(words) is not None


def _undone(case: Case) -> Iterator[Reason]:
    """Words that something was done, where nothing of the kind had been done."""
    transfers = any(hands_over(name) for name in case.desk.names())
    over = changed = False
    for message, call, result in _steps_of(case.conversation.messages):
        if call is not None:
            done = result is not None and not result.error
            over = over or (done and hands_over(call.name))
            changed = changed or (done and call.name in case.desk.writes)
        elif isinstance(message, AssistantMessage):
            if transfers and not over and hear(message.content).handed_over:
                yield Reason("hand-over only said", cut(message.content))
            if not changed and not over and (said := _CHANGED.search(message.content)):
                yield Reason("change only said", cut(message.content[max(said.start() - 20, 0) :]))


def _steps_of(messages: tuple[Message, ...]) -> Iterator[tuple[Message, ToolCall | None, ToolMessage | None]]:
    """Messages in order: words with neither call nor result, and each call with its message and its result.

    What an agent says beside calls comes before them, as words of its own.
    """
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AssistantMessage) or not message.calls:
            yield message, None, None
            continue
        if message.content.strip():
            yield AssistantMessage(content=message.content), None, None
        for offset, call in enumerate(message.calls, start=1):
            result = messages[position + offset]
            yield message, call, result if isinstance(result, ToolMessage) else None
