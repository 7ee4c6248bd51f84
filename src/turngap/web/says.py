"""What a model says beside what it calls: the figures of both sides, and how they go together in each conversation.

Figures are those of `turngap.analysis`, in four parts: what is said, what is called, both in one number, and what gets
finished. Below them every conversation (task, for live trials) has a place: the share of its text turns that are good
against the share of its calls that are right, and whether it was finished. These shares are counted from the same
stored scores as the figures.

Non-goals: intervals of a single conversation's shares, which say nothing about others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from turngap.analysis.compare import compare
from turngap.analysis.figure import Kind, columns
from turngap.analysis.sample import measure_of, sample, scorer_of
from turngap.data import Figure
from turngap.errors import ConfigError, UsageError
from turngap.metrics.rounding import decimals
from turngap.web.opened import Opened, directories, in_labels, measured

SIDES = ("says", "calls", "both", "end")
"""Keys of the parts, in order."""
BINS = 10
"""Steps of a share in `Bubble`; the step behind them is for shares that are whole."""
LISTED = 50
"""Conversations of a run that are named."""

_TITLES = {
    "says": "What it says",
    "calls": "What it calls",
    "both": "Both in one number",
    "end": "What gets finished",
}
_RECORDED: dict[str, tuple[str, ...]] = {
    "says": ("text.rouge1", "turn.success.text"),
    "calls": ("turn.success.tool", "strict.name", "strict.exact", "strict.arg_f1"),
    "both": ("turn.success",),
    "end": ("replay.completed", "workflow.success"),
}
_LIVE: dict[str, tuple[str, ...]] = {
    "says": ("reward.communicate", "reward.nl_assertion"),
    "calls": ("reward.db", "reward.action", "reward.env_assertion", "reward.constraint"),
    "both": ("reward",),
    "end": ("pass^1",),
}
_SAID = ("turn.success.text", "text.rouge1", "reward.communicate")
_CALLED = ("turn.success.tool", "strict.exact", "reward.db")
_ENDED = ("workflow.success", "replay.completed", "pass^1")
_HALF = 0.5
"""From here on a likeness counts as good, where a figure is no share of good and bad."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of all runs."""

    name: str
    meaning: str
    figures: tuple[Figure, ...]
    """In the order of the runs."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that belong together."""

    key: str
    """One of `SIDES`."""
    title: str
    rows: tuple[Row, ...]


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation, or one task of live trials."""

    id: str
    said: float | None
    """Mean of its text turns under `Talks.said_by`; None where there is none."""
    called: float | None
    """Likewise of its tool turns."""
    ended: float | None
    """1 where it was finished, 0 where not; of a task, the share of its trials. None where it was not measured."""
    said_n: int
    called_n: int


class Bubble(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations in one place of the picture."""

    said: int
    """0 to `BINS`: tenths, rounded down, so that `BINS` are whole shares only."""
    called: int
    count: int
    ended: float
    """So many of them were finished."""


class Corner(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations by whether all that was said was good and all that was called was right."""

    said: bool
    called: bool
    count: int
    ended: float
    ended_n: int


class Talks(msgspec.Struct, frozen=True, kw_only=True):
    """The conversations of one run that have both sides."""

    run: str
    label: str
    unit: str
    """``conversation`` or ``task``."""
    said_by: str
    """The figure whose units were counted; likewise the two below."""
    called_by: str
    ended_by: str
    said_good: str
    """What `Corner.said` means, in words."""
    talks: tuple[Talk, ...]
    """Those that talk better than they call first, at most `LISTED` of them."""
    total: int
    """How many there are."""
    bubbles: tuple[Bubble, ...]
    corners: tuple[Corner, ...]
    """All four, the good side of both first."""
    aside: int
    """Conversations that have one side only."""

    @property
    def finding(self) -> str:
        """What talk says about the end, in one sentence."""
        good = [corner for corner in self.corners if corner.said and corner.ended_n]
        counted = sum(corner.ended_n for corner in good)
        if not counted:
            return f"No {self.unit} in which {self.said_good} has a measured end."
        share = math.fsum(corner.ended for corner in good) / counted
        wrong = sum(corner.count for corner in good if not corner.called)
        those = f"Of {counted} {self.unit}{'' if counted == 1 else 's'} in which {self.said_good}"
        if self.unit == "task":
            return f"{those}, {wrong} had a wrong database; {decimals(100 * share)}% of their trials succeeded."
        return f"{those}, {wrong} had a wrong call; {round(share * counted)} ({decimals(100 * share)}%) were finished."


class Says(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    labels: tuple[str, ...]
    """What the runs are called, in order."""
    models: tuple[str, ...]
    parts: tuple[Part, ...]
    talks: tuple[Talks, ...]
    """One for each run that has both sides."""
    verdicts: tuple[str, ...]
    """Each further run against the first, in words."""


def says(runs: Sequence[Opened]) -> Says:
    """Set talk against calls, for each run and each conversation.

    Raises:
        HarnessFault: score rows contradict each other.
    """
    opened = tuple(runs)
    return Says(
        labels=tuple(one.label for one in opened),
        models=tuple(one.sums.model for one in opened),
        parts=tuple(_parts(opened)),
        talks=tuple(found for one in opened if (found := talks(one)) is not None),
        verdicts=tuple(_verdicts(opened)),
    )


def talks(one: Opened) -> Talks | None:
    """The conversations of a run; None where it has not measured both sides."""
    said_by, called_by = (next((name for name in names if one.figure(name).n), None) for names in (_SAID, _CALLED))
    if said_by is None or called_by is None:
        return None
    ended_by = next((name for name in _ENDED if one.figure(name).n), "")
    said, called, ended = _means(one, said_by), _means(one, called_by), _means(one, ended_by)
    found = [
        Talk(
            id=name,
            said=said[name][0],
            called=called[name][0],
            ended=ended[name][0] if name in ended else None,
            said_n=said[name][1],
            called_n=called[name][1],
        )
        for name in said.keys() & called.keys()
    ]
    found.sort(key=lambda talk: ((talk.called or 0) - (talk.said or 0), talk.ended or 0, talk.id))
    measure = measure_of(said_by)
    like = measure is not None and measure.kind is Kind.MEAN
    good = _HALF if like else 1.0
    noun = "every fact was told" if one.live else "every text turn is good"
    return Talks(
        run=one.id,
        label=one.label,
        unit="task" if one.live else "conversation",
        said_by=said_by,
        called_by=called_by,
        ended_by=ended_by,
        said_good=f"the texts reach {100 * _HALF:g}% of {said_by} on average" if like else noun,
        talks=tuple(found[:LISTED]),
        total=len(found),
        bubbles=tuple(_bubbles(found)),
        corners=tuple(_corners(found, good)),
        aside=len(said.keys() ^ called.keys()),
    )


def _parts(runs: tuple[Opened, ...]) -> Iterator[Part]:
    for key in SIDES:
        names = [*_RECORDED[key], *_LIVE[key]]
        if key == "end":
            names += sorted({name for one in runs for name in one.metrics if _is_last_hat(name, one)} - set(names))
        rows = []
        for name in names:
            measure = measure_of(name)
            if measure is not None and measured(runs, name):
                rows.append(Row(name=name, meaning=measure.meaning, figures=tuple(one.figure(name) for one in runs)))
        if rows:
            yield Part(key=key, title=_TITLES[key], rows=tuple(rows))


def _is_last_hat(name: str, one: Opened) -> bool:
    return one.live and name == f"pass^{one.store.rollout.trials}"


def _means(one: Opened, name: str) -> dict[str, tuple[float, int]]:
    """Conversation -> mean over its units that were measured, and how many there are."""
    scorer = scorer_of(name, one.sums.judges) if name else None
    if scorer is None:
        return {}
    found = sample(one.store, name, scorer)
    values: dict[str, list[float]] = defaultdict(list)
    counted = columns(found.measure, found.units)
    for conversation, value in zip(counted.conversations, counted.values, strict=True):
        values[conversation].append(value)
    return {key: (math.fsum(list_) / len(list_), len(list_)) for key, list_ in values.items()}


def _bubbles(found: Sequence[Talk]) -> Iterator[Bubble]:
    places: dict[tuple[int, int], list[Talk]] = defaultdict(list)
    for talk in found:
        places[_step(talk.said or 0), _step(talk.called or 0)].append(talk)
    for (said, called), here in sorted(places.items()):
        ended = math.fsum(talk.ended or 0 for talk in here)
        yield Bubble(said=said, called=called, count=len(here), ended=ended)


def _step(share: float) -> int:
    return math.floor(BINS * share + 1e-9)


def _corners(found: Sequence[Talk], good: float) -> Iterator[Corner]:
    for said in (True, False):
        for called in (True, False):
            here = [
                talk for talk in found if ((talk.said or 0) >= good) is said and ((talk.called or 0) >= 1.0) is called
            ]
            ended = [talk.ended for talk in here if talk.ended is not None]
            yield Corner(said=said, called=called, count=len(here), ended=math.fsum(ended), ended_n=len(ended))


def _verdicts(runs: tuple[Opened, ...]) -> Iterator[str]:
    for one in runs[1:]:
        try:
            found = compare([runs[0].store, one.store])
        except (UsageError, ConfigError) as error:
            why = in_labels(str(error), directories((runs[0], one)))
            yield f"{one.label} against {runs[0].label}: not compared, since {why}"
        else:
            yield f"{one.label} against {runs[0].label}: {found.contrasts[0].verdict}"
