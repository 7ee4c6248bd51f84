"""All runs of a viewer beside each other: runs as rows, protocols as columns, and how far those are that are at work.

Figures are those of `turngap.analysis`; the one number made here is the gap, a difference of two of them: how many
points fewer workflows are finished than turns are good. It weighs different units, so it has no interval of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

import msgspec

from turngap import jsonio
from turngap.analysis.rollout import FLOORS
from turngap.analysis.trial import shown_hats
from turngap.config import RolloutConfig
from turngap.data import Figure
from turngap.errors import TurngapError
from turngap.report.live_subject import shown as without_folders
from turngap.runs.store import RunStore, State
from turngap.web.figures import Figures, Summed
from turngap.web.indexing import Indexes
from turngap.web.shelf import Kind, Run, Shelf

GAP = "gap"
_ENDS = ("workflow.success", "replay.completed")
"""What the gap is measured to: the first of these that a run has."""
NOTHING = Figure(value=None, n=0)
_KINDS: tuple[Kind, ...] = ("eval", "rollout")
_ON_GOLD, _CLOSED = {"text", "turn", "strict"}, {"replay", "workflow"}
_HAT = re.compile(r"pass\^\d+")


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """One column of figures."""

    name: str
    """Of the figure; ``gap``."""
    group: str
    """The protocol."""
    title: str


EVAL = (
    Heading(name="text.rouge1", group="text", title="ROUGE-1"),
    Heading(name="turn.success.text", group="turn", title="text"),
    Heading(name="turn.success.tool", group="turn", title="tool"),
    Heading(name="turn.success", group="turn", title="all"),
    Heading(name="strict.exact", group="strict", title="exact"),
    Heading(name="strict.arg_f1", group="strict", title="arguments F1"),
    Heading(name="replay.completed", group="replay", title="completed"),
    Heading(name="workflow.success", group="workflow", title="goal met"),
    Heading(name=GAP, group="the gap", title="turns − workflows"),
)


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What of it is shown, and in which order."""

    model: str = ""
    data: str = ""
    since: str = ""
    """First day, as ``2031-05-01``."""
    until: str = ""
    """Last day."""
    sort: str = ""
    """``run``, ``model``, ``data``, ``created`` or a figure, with ``-`` in front the largest first; empty: as named."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """How far one part of a run is."""

    name: str
    done: int
    errored: int = 0
    total: int | None = None
    """None where it is not known yet."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    id: str
    label: str
    kind: Kind
    model: str
    data: str
    """Names of the files; for live trials domain and tasks."""
    created: str
    judge: str
    state: State
    size: str
    """How much there is, in words."""
    figures: Figures
    work: tuple[Work, ...]
    """Empty unless it is at work."""
    problem: str
    """Why it cannot be shown, in one line."""

    def figure(self, name: str) -> Figure:
        """One figure, or the gap in points; `NOTHING` where it was not measured."""
        return self.figures.metrics.get(name, NOTHING)

    @property
    def gap(self) -> float | None:
        """Points by which fewer workflows are finished than turns are good; None where either is not known."""
        ends = (self.figure(name).value for name in _ENDS)
        end = next((value for value in ends if value is not None), None)
        turns = self.figure("turn.success").value
        return None if turns is None or end is None else 100 * (turns - end)

    @property
    def mark(self) -> str:
        """Changes with everything but `work`."""
        return jsonio.digest(msgspec.structs.replace(self, work=()))[:16]


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one kind."""

    kind: Kind
    headings: tuple[Heading, ...]
    lines: tuple[Line, ...]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The page."""

    grids: tuple[Grid, ...]
    models: tuple[str, ...]
    """All that can be chosen."""
    data: tuple[str, ...]
    shown: int
    total: int

    @property
    def working(self) -> bool:
        """Whether anything will change by itself."""
        return any(line.state == "started" or line.figures.pending for grid in self.grids for line in grid.lines)


_TEXTS: dict[str, Callable[[Line], str]] = {
    "run": lambda line: line.label,
    "model": lambda line: line.model,
    "data": lambda line: line.data,
    "created": lambda line: line.created,
}
"""What lines can be sorted by beside figures."""


class Desk:
    """Makes overviews, and remembers figures for them."""

    def __init__(self, shelf: Shelf, indexes: Indexes) -> None:
        self._shelf, self._indexes = shelf, indexes
        self._summed = Summed()

    def overview(self, query: Query, *, wait: float = 0.0) -> Overview:
        """Everything as it is now.

        Args:
            query: what is wanted.
            wait: seconds that the figures of one run may take.
        """
        lines = [self._line(run, wait) for run in self._shelf.runs]
        shown = [line for line in lines if _wanted(line, query)]
        grids = []
        for kind in _KINDS:
            some = [line for line in shown if line.kind == kind]
            if some:
                headings = EVAL if kind == "eval" else _live_headings(some)
                grids.append(Grid(kind=kind, headings=headings, lines=tuple(_sorted(some, query.sort))))
        return Overview(
            grids=tuple(grids),
            models=tuple(dict.fromkeys(line.model for line in lines if line.model)),
            data=tuple(dict.fromkeys(line.data for line in lines if line.data)),
            shown=len(shown),
            total=len(lines),
        )

    def _line(self, run: Run, wait: float) -> Line:
        empty = Line(
            id=run.id,
            label=run.label,
            kind=run.kind,
            model="",
            data="",
            created=run.created,
            judge="",
            state="interrupted",
            size="",
            figures=Figures(),
            work=(),
            problem="",
        )
        try:
            with run.store() as store:
                state = store.state()
                running = state == "started"
                figures = self._summed.of(run, running=running, wait=wait)
                return msgspec.structs.replace(
                    empty,
                    model=store.settings.model.spec,
                    data=_data(store),
                    judge=_judge(figures),
                    state=state,
                    size=_size(figures),
                    figures=figures,
                    work=tuple(self._work(run, store)) if running else (),
                    problem=figures.problem,
                )
        except TurngapError as error:
            return msgspec.structs.replace(empty, problem=str(error))

    def _work(self, run: Run, store: RunStore) -> Iterator[Work]:
        """How far a run is that is at work, part by part as far as they have begun."""
        settings = store.settings
        if isinstance(settings, RolloutConfig):
            wanted = settings.trials
            failures = sum(trial < wanted for _, trial in store.trials.failures())
            done = sum(trial < wanted for _, trial in store.trials.measured())
            total = len(store.trials.task_ids()) * wanted
            yield Work(name="trials", done=done, errored=failures, total=total or None)
            return
        indexer = self._indexes.of(run)
        columns = indexer.index.columns
        whole = columns.count if columns.count and indexer.progress.stage != "units" else None
        decisions = None if whole is None else round(columns.total("length"))
        predicted, replayed = store.count_predictions(), store.count_trajectories()
        if _ON_GOLD & set(settings.protocols):
            yield Work(name="predictions", done=predicted.good, errored=predicted.errored, total=decisions)
        if _CLOSED & set(settings.protocols):
            yield Work(name="replays", done=replayed.good, errored=replayed.errored, total=whole)
        for one in store.recent.verdicts():
            done, expected = one.count - one.errored, {"turn": decisions, "workflow": whole}.get(one.protocol)
            yield Work(name=f"{one.protocol} by {one.judge}", done=done, errored=one.errored, total=expected)


def _data(store: RunStore) -> str:
    settings = store.settings
    if isinstance(settings, RolloutConfig):
        return f"{without_folders(settings.domain)} {PurePath(settings.tasks.path).name}"
    return ", ".join(PurePath(path).name or path for path in settings.data.paths)


def _judge(figures: Figures) -> str:
    return ", ".join(dict.fromkeys(names[0] for names in figures.judges.values() if names))


def _size(figures: Figures) -> str:
    n = figures.n
    if "conversations" in n:
        return f"{n['conversations']:,} conversations, {n['decisions']:,} decisions"
    if "tasks" in n:
        return f"{n['tasks']:,} tasks, {n['valid']:,} valid trials"
    return ""


def _live_headings(lines: Sequence[Line]) -> tuple[Heading, ...]:
    """Reward, pass^k as far as any of the runs has it, and the floors."""
    names = {name for line in lines for name in line.figures.metrics}
    most = max((int(name[5:]) for name in names if _HAT.fullmatch(name)), default=1)
    hats = [Heading(name=f"pass^{k}", group="all k trials succeed", title=f"pass^{k}") for k in shown_hats(most)]
    floors = [
        Heading(name=name, group="pass^1 of floors", title=name.partition(".")[2]) for name in FLOORS if name in names
    ]
    return (Heading(name="reward", group="reward", title="mean"), *hats, *floors)


def _wanted(line: Line, query: Query) -> bool:
    day = line.created[:10]
    return (
        query.model in ("", line.model)
        and query.data in ("", line.data)
        and (not query.since or day >= query.since)
        and (not query.until or day <= query.until)
    )


def _sorted(lines: Sequence[Line], sort: str) -> list[Line]:
    """Lines by a text or a figure; those without the figure stand last whichever way it goes."""
    name, backwards = sort.removeprefix("-"), sort.startswith("-")
    if not name:
        return list(lines)
    if name in _TEXTS:
        return sorted(lines, key=lambda line: _TEXTS[name](line).casefold(), reverse=backwards)

    def value(line: Line) -> float | None:
        return line.gap if name == GAP else line.figure(name).value

    known = [line for line in lines if value(line) is not None]
    known.sort(key=lambda line: value(line) or 0.0, reverse=backwards)
    return [*known, *(line for line in lines if value(line) is None)]
