"""The first sections on live trials: how often agents serve their users, how reliably, and what rewards are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turngap.analysis.rollout import FLOORS
from turngap.analysis.trial import SCENARIOS, measure_of, shown_hats
from turngap.report.document import (
    Cell,
    Chart,
    Column,
    Section,
    Table,
    figure_cell,
    head,
    mark,
    number,
    percent,
)
from turngap.report.live_subject import LiveSubject
from turngap.report.overview import describe

_HEADLINE_LEAD = (
    "A success is a trial with the full reward. pass^k asks for k successes of k independent trials of one task, "
    "averaged over tasks. Read every figure as a distance from the floors: what agents reach on the same tasks that do "
    "nothing, or hand everybody over."
)
_HEADLINE_NOTE = (
    "Percent; below each value its 95% interval, which goes by whole tasks, and n: tasks for pass^k and floors, trials "
    "for the reward."
)
_HAT_LEAD = "How far single successes carry: the line falls where an agent serves a user well once and not again."
_PARTS_LEAD = (
    "What counts multiplies to the reward; what was only observed does not touch it. A full reward beside an unmatched "
    "reference action is another way to the same end."
)


def headline(found: Sequence[LiveSubject]) -> Section:
    """The table of agents: reward, pass^k, floors."""
    hats = [f"pass^{k}" for k in shown_hats(max((one.most for one in found), default=1))]
    floors = [name for name in FLOORS if any(one.measured(name).n for one in found)]
    columns = (
        Column(title="agent"),
        Column(title="reward", number=True),
        *(Column(title=name, group="all k trials succeed", number=True) for name in hats),
        *(Column(title=name.partition(".")[2], group="pass^1 of floors", number=True) for name in floors),
    )
    rows = tuple(
        (head(one.label, _size(one)), *(figure_cell(one.measured(name)) for name in ("reward", *hats, *floors)))
        for one in found
    )
    notes = [_HEADLINE_NOTE]
    if len({one.summary.tasks["digest"] for one in found}) > 1 or len({one.domain for one in found}) > 1:
        notes.append("Not all of these runs are on the same tasks: rows of different tasks do not compare.")
    return Section(
        key="live",
        title="Agents on live tasks",
        lead=(_HEADLINE_LEAD,),
        findings=tuple(said for one in found for said in _headline_sentences(one)),
        tables=(Table(caption=f"Success in percent. {_who(found)}", columns=columns, rows=rows),),
        notes=tuple(notes),
    )


def hats(found: Sequence[LiveSubject]) -> Section | str:
    """The curve of pass^k; or why there is none."""
    several = [one for one in found if one.most > 1]
    if not several:
        return "pass^k: no task was tried more than once (turngap rollout --trials 4)."
    marks = [mark(one.label, k, one.measured(f"pass^{k}")) for one in several for k in range(1, one.most + 1)]
    kept = tuple(item for item in marks if item is not None)
    chart = Chart(
        name="passk",
        kind="lines",
        title="Tasks solved in all of k trials",
        alt=describe("Falling lines with bands over k: the share of tasks solved in all of k trials.", kept),
        value_title="share of tasks",
        at_title="k trials",
        marks=kept,
        series_order=tuple(one.label for one in several),
    )
    return Section(
        key="passk",
        title="Reliability: pass^k",
        lead=(_HAT_LEAD,),
        findings=tuple(_hat_sentence(one) for one in several),
        charts=(chart,),
    )


def parts(found: Sequence[LiveSubject]) -> Section | str:
    """The components of the reward, those that count apart from those that were only observed."""
    names = dict.fromkeys(name for one in found for name in one.summary.metrics if "[" not in name)
    counted = [name for name in names if name.startswith("reward.") and name != "reward.all"]
    observed = [name for name in names if name.startswith("observed.")]
    if not counted and not observed:
        return "Components of the reward: nothing was graded."
    columns = (
        Column(title="agent"),
        *(Column(title=_component(name), group="counts towards the reward", number=True) for name in counted),
        *(Column(title=_component(name), group="looked at, not counted", number=True) for name in observed),
    )
    rows = tuple(
        (head(one.label), *(figure_cell(one.measured(name)) for name in (*counted, *observed))) for one in found
    )
    return Section(
        key="parts",
        title="What the reward is made of",
        lead=(_PARTS_LEAD,),
        tables=(
            Table(
                caption="Components in percent of the trials whose task has something for them.",
                columns=columns,
                rows=rows,
            ),
        ),
        notes=(
            f"{', '.join(_explained(name) for name in (*counted, *observed))}.",
            *(
                f"{one.label}: left out, for their tasks ask for none: {gone}."
                for one in found
                if (gone := _vacuous(one))
            ),
        ),
    )


def scenarios(found: Sequence[LiveSubject]) -> Section | str:
    """Figures by scenario; or that there is one scenario only."""
    there = [name for name in SCENARIOS if any(_has(one, name) for one in found)]
    if len(there) < 2:
        return f"By scenario: all tasks are {there[0] if there else 'without a scenario'}."
    last = max(one.most for one in found)
    names = ["reward", "pass^1", *([f"pass^{last}"] if last > 1 else []), *FLOORS, "user_error"]
    shown = [name for name in names if any(one.measured(f"{name}[{there[0]}]").n for one in found)]
    rows = tuple(
        (
            head(one.label),
            Cell(text=scenario),
            number(sum(row.scenario == scenario for row in one.summary.per_task)),
            *(figure_cell(one.measured(f"{name}[{scenario}]")) for name in shown),
        )
        for one in found
        for scenario in there
        if _has(one, scenario)
    )
    columns = (
        Column(title="agent"),
        Column(title="scenario"),
        Column(title="tasks", number=True),
        *(Column(title=name.replace("_", " "), number=True) for name in shown),
    )
    marks = [mark(one.label, name, one.measured(f"pass^1[{name}]")) for name in there for one in found]
    kept = tuple(item for item in marks if item is not None)
    chart = Chart(
        name="scenarios",
        kind="points",
        title="pass^1 by scenario",
        alt=describe("Dots with 95% intervals, one row a scenario and one dot an agent.", kept),
        value_title="trials that succeed",
        at_title="scenario",
        marks=kept,
        at_order=tuple(there),
        series_order=tuple(one.label for one in found),
    )
    return Section(
        key="scenarios",
        title="By scenario",
        charts=(chart,) if kept else (),
        tables=(Table(caption="Figures of each kind of task, in percent.", columns=columns, rows=rows),),
    )


def _size(one: LiveSubject) -> str:
    n = one.summary.n
    return f"{n['tasks']} tasks, {n['valid']} of {n['trials']} trials count"


def _who(found: Sequence[LiveSubject]) -> str:
    places = ", ".join(dict.fromkeys(one.domain for one in found))
    return f"Domain {places}; the user is played by {', '.join(dict.fromkeys(one.summary.user for one in found))}."


def _headline_sentences(one: LiveSubject) -> Iterator[str]:
    """What the run came to; before it, where that is not the agent's own doing, why."""
    if one.summary.caveat:
        yield f"{one.label}: {one.summary.caveat}."
    yield _headline_sentence(one)


def _headline_sentence(one: LiveSubject) -> str:
    first = one.measured("pass^1")
    if not first.n:
        return f"{one.label}: no trial counts."
    told = f"{one.label}: {percent(first.value)}% of trials succeed, averaged over tasks"
    if one.most > 1:
        told += f"; {percent(one.measured(f'pass^{one.most}').value)}% of tasks succeed {one.most} times of {one.most}"
    floor = max((one.measured(name) for name in FLOORS), key=lambda figure: figure.value or 0.0)
    return f"{told}. Understanding nothing gives {percent(floor.value)}%." if floor.n else f"{told}."


def _hat_sentence(one: LiveSubject) -> str:
    first, last = one.measured("pass^1"), one.measured(f"pass^{one.most}")
    if first.value is None or last.value is None:
        return f"{one.label}: nothing to compare."
    told = f"{one.label}: from {percent(first.value)}% at one trial to {percent(last.value)}% at {one.most}"
    if first.value in (0.0, 1.0):
        return f"{told}."
    return f"{told}; were all tasks equally hard, it would be {percent(first.value**one.most)}%."


def _component(name: str) -> str:
    return name.partition(".")[2].replace("_", " ")


def _vacuous(one: LiveSubject) -> str:
    """Trials that a component's figure leaves out, ``communicate 88 trials``."""
    kept = ((name, book["vacuous"]) for name, book in one.summary.components.items())
    return ", ".join(f"{name.replace('_', ' ')} {count} trials" for name, count in kept if count)


def _explained(name: str) -> str:
    measure = measure_of(name)
    return f"{_component(name)}: {measure.meaning if measure else ''}"


def _has(one: LiveSubject, scenario: str) -> bool:
    return any(row.scenario == scenario for row in one.summary.per_task)
