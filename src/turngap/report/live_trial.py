"""The section on failed live trials: each with its evidence.

The evidence of a trial is what grading found: the symptoms with the event that shows each, how the database differs
from the one wanted, record by record, and what is missing for a full reward. The reference and the whole trial, its
events marked where a symptom lies, are folded away. Trials that the user spoiled stand apart: they are no failures of
an agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turngap.data import Acted, Action, Cause, Event, Score, Task, Trajectory
from turngap.data.reward import Grade, Reward, Symptom
from turngap.metrics.rounding import decimals
from turngap.report.document import Cell, Column, Failed, Failures, Line, Passage, Section, Table, head, number
from turngap.report.live_subject import LiveSubject
from turngap.report.transcript import call_line, event_lines, message_lines, text_line

_BADGES = 2  # symptoms that the heading of a trial names
_RECORDS = 3  # records that its reason names
_TRIALS_LEAD = (
    "Each with what grading found in it. Of many failed trials, those of different tasks are shown first. What the "
    "reference does and the whole trial, word for word, are folded below."
)


def trials(found: Sequence[LiveSubject], *, most: int, transcripts: bool) -> Section | str:
    """Failed trials, at most `most` of each run, and as many that the user spoiled; or why none is shown."""
    if not transcripts:
        return "Failed trials: transcripts were left out on request (--no-transcripts)."
    groups = tuple(group for one in found for group in _groups(one, most) if group.total)
    if not groups:
        return "Failed trials: none."
    return Section(key="trials", title="Failed trials", lead=(_TRIALS_LEAD,), failures=groups)


def _groups(one: LiveSubject, most: int) -> Iterator[Failures]:
    scores = {(score.conversation, score.decision or 0): score for _, score in one.store.scores("reward")}
    lost = {key: score for key, score in scores.items() if not score.success}
    by_agent = [key for key, score in lost.items() if score.cause is not None and not score.cause.errored]
    by_user = [key for key, score in lost.items() if score.cause is Cause.USER]
    for keys, noun in ((by_agent, "failed"), (by_user, "spoiled by the user")):
        shown = tuple(_show(one, lost[key]) for key in _chosen(one, keys, most))
        title = one.label if keys is by_agent else f"{one.label}: spoiled by the user"
        yield Failures(run=title, shown=tuple(filter(None, shown)), total=len(keys), noun=noun)


def _chosen(one: LiveSubject, keys: Iterable[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """At most so many, first one of each task, then a second; in the order of tasks and trials."""
    place = {task: at for at, task in enumerate(one.store.trials.task_ids())}
    ordered = sorted(keys, key=lambda key: (place[key[0]], key[1]))
    seen: dict[str, int] = {}
    ranked: list[tuple[int, int, tuple[str, int]]] = []
    for key in ordered:
        seen[key[0]] = seen.get(key[0], 0) + 1
        ranked.append((seen[key[0]], len(ranked), key))
    chosen = sorted(ranked)[:most]
    return [key for _, _, key in sorted(chosen, key=lambda item: item[1])]


def _show(one: LiveSubject, score: Score) -> Failed | None:
    trial = score.decision or 0
    stored = one.store.trials.get(score.conversation, trial)
    _, reward = one.store.trials.rewards(score.conversation).get(trial, ("", None))
    if stored is None or not isinstance(stored.result, Trajectory) or not isinstance(reward, Reward):
        return None
    task, trajectory = one.store.trials.task(score.conversation), stored.result
    kinds = list(dict.fromkeys(symptom.kind.value for symptom in reward.symptoms))
    tables = [*_evidence(reward), *_mismatches(reward)]
    return Failed(
        conversation=f"task {score.conversation}, trial {trial}",
        category=_badge(kinds),
        place=_place(score, trajectory, reward),
        reason=_reason(score, reward),
        notes=tuple(_observed(reward)),
        tables=tuple(tables),
        folds=(*_wanted(task), *_reference(task), _course(trajectory, reward.symptoms)),
    )


def _place(score: Score, trajectory: Trajectory, reward: Reward) -> str:
    parts = [
        f"reward {reward.value:g}",
        f"ended by {score.category}",
        f"{trajectory.steps} messages of the agent",
        f"{decimals(trajectory.seconds)} s",
    ]
    return ", ".join(parts)


def _badge(kinds: Sequence[str]) -> str:
    """The first kinds of symptoms, and how many more there are."""
    more = f" +{len(kinds) - _BADGES}" if len(kinds) > _BADGES else ""
    return ", ".join(kinds[:_BADGES]) + more if kinds else "no symptom"


def _reason(score: Score, reward: Reward) -> str:
    """Why it counts as it does, in one line: what the user did, else what is missing for a full reward."""
    if score.cause is Cause.USER:
        return score.detail
    missing = [
        _what(name, grade, reward) for name, grade in reward.components.items() if grade.counted and grade.value < 1
    ]
    return "; ".join(missing) or score.detail or f"ended by {score.category}"


def _observed(reward: Reward) -> Iterator[str]:
    """Components that do not hold and do not count."""
    for name, grade in reward.components.items():
        if not grade.counted and grade.value < 1:
            yield f"not counted: {_what(name, grade, reward)}"


def _what(name: str, grade: Grade, reward: Reward) -> str:
    """What a component lacks; where a table below has it place by place, only where."""
    if name != "DB" or not reward.mismatches:
        return f"{name}: {grade.detail or f'{grade.value:g}'}"
    records = list(dict.fromkeys(one.record for one in reward.mismatches))
    more = ", ..." if len(records) > _RECORDS else ""
    differ = "place differs" if reward.mismatched == 1 else "places differ"
    return f"{name}: {reward.mismatched} {differ}, in {', '.join(records[:_RECORDS])}{more}"


def _evidence(reward: Reward) -> Iterator[Table]:
    if reward.symptoms:
        yield Table(
            caption="What went wrong, with the event of the trial that shows it.",
            columns=(
                Column(title="symptom"),
                Column(title="event", number=True),
                Column(title="what is wrong"),
                Column(title="the event, shortened"),
            ),
            rows=tuple(
                (
                    head(symptom.kind.value),
                    number(symptom.event),
                    Cell(text=symptom.detail),
                    Cell(text=symptom.evidence),
                )
                for symptom in reward.symptoms
            ),
        )


def _mismatches(reward: Reward) -> Iterator[Table]:
    if not reward.mismatches:
        return
    first = f", the first {len(reward.mismatches)}" if len(reward.mismatches) < reward.mismatched else ""
    counted = reward.components.get("DB")
    aside = "" if counted is None or counted.counted else "; it does not count here"
    places = _count(reward.mismatched, "place")
    yield Table(
        caption=f"How the database was left, against how it should have been: {places}{first}{aside}.",
        columns=(Column(title="record"), Column(title="field"), Column(title="wanted"), Column(title="found")),
        rows=tuple(
            (
                head(one.record),
                Cell(text=one.field or "the whole record"),
                Cell(text="nothing" if one.wanted is None else one.wanted),
                Cell(text="nothing" if one.found is None else one.found),
            )
            for one in reward.mismatches
        ),
    )


def _wanted(task: Task) -> Iterator[Passage]:
    """What the user was told, and what the agent is to say."""
    told, criteria = task.instructions, task.criteria
    texts = [
        ("user", "reason for the call", told.reason or (task.intent.opening if task.intent else "")),
        ("user", "knows", told.known),
        ("user", "does not know", told.unknown),
        ("user", "is to behave so", told.further),
        ("agent", "has to say", "\n".join(criteria.communicate)),
        ("agent", "has to hold", "\n".join(criteria.nl_assertions)),
    ]
    lines = tuple(text_line(who, text, mark=mark) for who, mark, text in texts if text.strip())
    if lines:
        yield Passage(title="What the user wants", lines=lines)


def _reference(task: Task) -> Iterator[Passage]:
    criteria = task.criteria
    groups = (("", criteria.actions), ("required", criteria.required), ("forbidden", criteria.forbidden))
    lines = tuple(
        call_line(action.call(), mark=", ".join(filter(None, (mark, _side(action)))))
        for mark, actions in groups
        for action in actions
    )
    if lines:
        yield Passage(title=f"What the reference does: {_count(len(lines), 'call')}", lines=lines)


def _side(action: Action) -> str:
    return "by the user" if action.requestor == "user" else ""


def _course(trajectory: Trajectory, symptoms: Sequence[Symptom]) -> Passage:
    """All events, numbered as symptoms name them; where one lies, the first line of its event says so."""
    marks: dict[int, dict[str, None]] = {}
    for symptom in symptoms:
        marks.setdefault(symptom.event, {})[symptom.kind.value] = None
    lines: list[Line] = []
    for at, event in enumerate(trajectory.events):
        own = [msgspec.structs.replace(line, at=str(at)) for line in _event(event)]
        if at in marks:
            named = ", ".join(filter(None, (*marks[at], own[0].mark)))
            own[0] = msgspec.structs.replace(own[0], mark=named, good=False)
        lines += own
    marked = f", {_count(len(marks), 'event')} marked" if marks else ""
    return Passage(
        title=f"The whole trial: {_count(len(trajectory.events), 'event')}{marked}",
        lines=tuple(lines),
        nothing="nothing was said",
    )


def _event(event: Event) -> Iterator[Line]:
    if isinstance(event, Acted):
        # In a live domain a call that runs is nothing to mention.
        verdicts = [None if verdict.accepted else verdict for verdict in event.verdicts]
        yield from message_lines(event.message, event.results, verdicts)
    else:
        yield from event_lines(event)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
