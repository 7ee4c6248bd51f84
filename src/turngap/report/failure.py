"""Sections on failures: their categories, and each failed workflow at the step where it went wrong.

A replay names that step itself: the first unresolved error. Where the replay came to its end and a judge nevertheless
says that the goal was not met, no step is named, and what is shown is the first turn whose words differ from the
recorded ones, with the judge's reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turngap.analysis.taxonomy import Taxonomy, taxonomy
from turngap.data import (
    Acted,
    Conversation,
    Event,
    Problem,
    Score,
    Spoken,
    Trajectory,
    decisions,
    results_of,
    segments,
)
from turngap.metrics.interval import wilson
from turngap.report.document import (
    Cell,
    Chart,
    Column,
    Failed,
    Failures,
    Line,
    Mark,
    Passage,
    Section,
    Table,
    figure_cell,
    head,
    number,
)
from turngap.report.overview import describe
from turngap.report.subject import Subject
from turngap.report.transcript import event_lines, message_lines

_CATEGORIES_NOTE = (
    "Counted is the first unresolved error of each replay. A finding is what a detector reads off the texts; a failure "
    "may have several findings, or none."
)
_WORKFLOWS_LEAD = (
    "Each at the step where it went wrong, the recorded decision beside the model's own. Calls and texts stand as they "
    "were written."
)
_MOST_MESSAGES = 6
"""Own messages that are shown of one failed step, the last ones (and what was said to the model between them)."""


def categories(found: Sequence[Subject]) -> Section | str:
    """Why replays failed, by category and by what a detector found; or why nothing can be said."""
    pairs = [(one, taxonomy(one.store)) for one in found if "replay" in one.summary.protocols]
    if not pairs:
        return "Failure categories: no run holds replays."
    failing = [(one, result) for one, result in pairs if result.failed]
    if not failing:
        return "Failure categories: every replay came to its end."
    names = _in_order(failing)
    marks = []
    for name in names:
        for one, result in failing:
            count = next((row.count for row in result.categories if row.name == name), 0)
            ends = wilson(count, result.replays)
            low, high = ends or (None, None)
            share = count / result.replays
            marks.append(Mark(series=one.label, at=name, value=share, low=low, high=high, n=result.replays))
    chart = Chart(
        name="categories",
        kind="bars",
        title="First unresolved error, by category",
        alt=describe("Bars: the share of replays that failed in each category.", marks),
        value_title="share of replays",
        at_title="category",
        marks=tuple(marks),
        at_order=names,
        series_order=tuple(one.label for one, _ in failing),
    )
    tables = [_rows_table(failing, "category")]
    if any(result.findings for _, result in failing):
        tables.append(_rows_table(failing, "finding"))
    return Section(
        key="categories",
        title="Why replays failed",
        findings=tuple(
            f"{one.label}: {result.failed} of {result.replays} replays failed, "
            f"most often by {result.categories[0].name} ({result.categories[0].count})."
            for one, result in failing
        ),
        charts=(chart,),
        tables=tuple(tables),
        notes=(_CATEGORIES_NOTE,),
    )


def workflows(found: Sequence[Subject], *, most: int, transcripts: bool) -> Section | str:
    """Every failed workflow, at most `most` of each run; or why none is shown."""
    with_replays = [one for one in found if "replay" in one.summary.protocols]
    if not with_replays:
        return "Failed workflows: no run holds replays."
    if not transcripts:
        return "Failed workflows: transcripts were left out on request (--no-transcripts)."
    failures = tuple(_failures(one, most) for one in with_replays)
    if not any(each.total for each in failures):
        return "Failed workflows: none, every workflow was finished."
    return Section(
        key="workflows",
        title="Failed workflows",
        lead=(_WORKFLOWS_LEAD,),
        failures=tuple(each for each in failures if each.total),
    )


def _in_order(pairs: Sequence[tuple[Subject, Taxonomy]]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for _, result in pairs:
        for row in result.categories:
            counts[row.name] = counts.get(row.name, 0) + row.count
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def _rows_table(pairs: Sequence[tuple[Subject, Taxonomy]], what: str) -> Table:
    rows = [
        (
            head(one.label),
            Cell(text=row.name),
            number(row.count),
            figure_cell(row.share),
            Cell(text=", ".join(f"{tool} {count}" for tool, count in list(row.tools.items())[:3])),
            Cell(text=", ".join(example.conversation for example in row.examples)),
        )
        for one, result in pairs
        for row in (result.categories if what == "category" else result.findings)
    ]
    columns = (
        Column(title="model"),
        Column(title=what),
        Column(title="replays", number=True),
        Column(title="share of failed", number=True),
        Column(title="most, by due tool"),
        Column(title="for example"),
    )
    return Table(caption=f"Failed replays by {what}.", columns=columns, rows=tuple(rows))


def _failures(one: Subject, most: int) -> Failures:
    shown: list[Failed] = []
    total = 0
    for conversation, replay, verdict in _failed(one):
        total += 1
        if len(shown) < most:
            trajectory = one.store.trajectory(conversation)
            if isinstance(trajectory, Trajectory):
                shown.append(_show(one, one.store.conversation(conversation), trajectory, replay, verdict))
    return Failures(run=one.label, shown=tuple(shown), total=total)


def _failed(one: Subject) -> Iterator[tuple[str, Score, Score | None]]:
    """Conversation, replay score and the first judge's workflow score of what failed in either, in data order."""
    judge = next(iter(one.summary.judges.get("workflow", ())), None)
    judged = {} if judge is None else {score.conversation: score for _, score in one.store.scores(f"workflow:{judge}")}
    replayed = {score.conversation: score for _, score in one.store.scores("replay")}
    for name in one.store.conversation_ids():
        replay, verdict = replayed.get(name), judged.get(name)
        if replay is None or replay.errored:
            continue
        unmet = verdict is not None and not verdict.success and not verdict.errored
        if not replay.success or unmet:
            yield name, replay, verdict if unmet else None


def _show(
    one: Subject, conversation: Conversation, trajectory: Trajectory, replay: Score, verdict: Score | None
) -> Failed:
    judge = next(iter(one.summary.judges.get("workflow", ())), "")
    if trajectory.problems:
        notes = () if verdict is None or verdict.detail in replay.detail else (f"{judge}: {verdict.detail}",)
        return _at_problem(conversation, trajectory, trajectory.problems[0], notes)
    return _at_words(conversation, trajectory, verdict, judge)


def _at_problem(conversation: Conversation, trajectory: Trajectory, problem: Problem, notes: tuple[str, ...]) -> Failed:
    events = trajectory.events[: problem.event + 1]
    acted = [at for at, event in enumerate(events) if isinstance(event, Acted)]
    # Where the error is not one of a step (the limit of steps), the last message stands for it.
    at_step = [at for at in acted if _decision(events[at]) == problem.decision] or acted[-1:]
    skipped = max(0, len(at_step) - _MOST_MESSAGES)
    if skipped:
        notes = (*notes, f"{skipped} earlier messages of the model at this step are not shown.")
    first = at_step[skipped] if at_step else len(events)
    recorded: tuple[Line, ...] = ()
    place = "past the end of the recording, where nothing was due"
    for decision in decisions(conversation):
        if decision.index == problem.decision:
            place = f"decision {decision.index}"
            recorded = tuple(message_lines(decision.reference, results_of(conversation, decision)))
    return Failed(
        conversation=conversation.id,
        category=problem.category,
        place=f"{place}, message {sum(isinstance(event, Acted) for event in events)} of the model",
        reason=problem.detail,
        notes=notes,
        before=tuple(_before(trajectory, first)),
        sides=_sides(recorded, (line for event in events[first:] for line in event_lines(event))),
    )


def _decision(event: Event) -> int | None:
    return event.decision if isinstance(event, Acted) else None


def _at_words(conversation: Conversation, trajectory: Trajectory, verdict: Score | None, judge: str) -> Failed:
    """A replay that came to its end: the first turn whose words differ."""
    turns = _turns(trajectory)
    recorded = [
        [decision.reference for decision in segment.decisions if decision.reference.content]
        for segment in segments(conversation)
    ]
    at = next(
        (
            place
            for place, (ours, theirs) in enumerate(zip(turns, recorded, strict=False))
            if [event.message.content for _, event in ours] != [message.content for message in theirs]
        ),
        None,
    )
    reason = f"{judge}: {verdict.detail or verdict.category}" if verdict else ""
    if at is None:
        return Failed(
            conversation=conversation.id,
            category=verdict.category if verdict else "",
            place="no step: the replay came to its end, in the recorded words",
            reason=reason,
            sides=_sides((), ()),
        )
    first = turns[at][0][0] if turns[at] else 0
    return Failed(
        conversation=conversation.id,
        category=verdict.category if verdict else "",
        place=f"no step is named: the replay came to its end; turn {at + 1} is the first with other words",
        reason=reason,
        before=tuple(_before(trajectory, first)) if first else (),
        sides=_sides(
            (line for message in recorded[at] for line in message_lines(message)),
            (line for _, event in turns[at] for line in message_lines(event.message, event.results, event.verdicts)),
        ),
    )


def _sides(recorded: Iterable[Line], own: Iterable[Line]) -> tuple[Passage, ...]:
    return (
        Passage(title="Recorded", lines=tuple(recorded), nothing="nothing was recorded here"),
        Passage(title="The model", lines=tuple(own), nothing="nothing was said here"),
    )


def _turns(trajectory: Trajectory) -> list[list[tuple[int, Acted]]]:
    """Own messages with text, by turn, each with its event's index; a turn begins where somebody speaks."""
    turns: list[list[tuple[int, Acted]]] = []
    spoke = False
    for at, event in enumerate(trajectory.events):
        if isinstance(event, Spoken):
            if not spoke or not turns:
                turns.append([])
            spoke = True
            continue
        if not turns:
            turns.append([])
        spoke = False
        if isinstance(event, Acted) and event.message.content:
            turns[-1].append((at, event))
    return turns


def _before(trajectory: Trajectory, stop: int) -> Iterator[Line]:
    """The last thing said to the model before an event, and what the model did since."""
    start = max((at for at in range(stop) if isinstance(trajectory.events[at], Spoken)), default=0)
    for event in trajectory.events[start:stop]:
        yield from event_lines(event)
