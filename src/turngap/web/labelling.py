"""A drawn sample of verdicts, one after the other, for a person who labels them without seeing what the judge said.

The draw is that of ``turngap judge sample``: equal numbers give equal samples, here and there. It is remembered as
long as the run does not change, since it reads every verdict of the run.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from turngap.analysis.calibration import JUDGED, Calibration, calibrate, draw, each_item
from turngap.errors import UsageError
from turngap.report.label_sheet import fields
from turngap.runs.store import RunStore
from turngap.web import notes
from turngap.web.shelf import Run, Unknown

_MOST = 1000


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Which sample, and where in it."""

    protocol: str = "turn"
    judge: str = ""
    """The run's first one if empty."""
    n: int = 50
    seed: int = 0
    at: int = 0
    """1-based; 0 is the first one without a label."""
    results: bool = False
    """Whether to say what the labels come to: whoever has seen that labels no longer blind."""


class Place(msgspec.Struct, frozen=True):
    """One unit of the sample."""

    item: str
    conversation: str
    decision: int | None


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    sample: Sample
    """With what was left open filled in."""
    judges: tuple[str, ...]
    places: tuple[Place, ...] = ()
    labels: tuple[str, ...] = ()
    """Of each place: yes, no, unclear, or nothing yet."""
    shown: dict[str, Any] = {}
    """Column -> text of the unit at hand, as on a sheet; empty where there is none."""
    comment: str = ""
    counts: tuple[notes.Count, ...] = ()
    found: Calibration | None = None

    @property
    def done(self) -> int:
        """How many have a label."""
        return sum(bool(label) for label in self.labels)


def desk(run: Run, sample: Sample) -> Desk:
    """Lay out a sample.

    Raises:
        Unknown: the run holds live trials, which are not judged so.
        UsageError: numbers or names that make no sense.
    """
    if run.kind != "eval":
        raise Unknown("live trials are not judged decision by decision; there is nothing to label")
    if sample.protocol not in JUDGED:
        raise UsageError(f"nobody judges {sample.protocol[:40]!r}; a protocol is {' or '.join(JUDGED)}")
    if not 1 <= sample.n <= _MOST:
        raise UsageError(f"a sample has between 1 and {_MOST} verdicts")
    with run.store() as store:
        judges = tuple(store.judges())
        if not judges:
            return Desk(sample=sample, judges=())
        if sample.judge not in judges:
            sample = msgspec.structs.replace(sample, judge=judges[0])
        places = _drawn(run, run.stamp(), sample.protocol, sample.judge, sample.n, sample.seed)
        said = notes.read(run.path)
        known = [said.by_unit.get((place.item, sample.judge)) for place in places]
        given = tuple(_word(note) for note in known)
        at = sample.at if 1 <= sample.at <= len(places) else 1 + next((i for i, one in enumerate(given) if not one), 0)
        here = known[at - 1]
        blind = said.of(sample.protocol, sample.judge, blind=True)
        return Desk(
            sample=msgspec.structs.replace(sample, at=at),
            judges=judges,
            places=places,
            labels=given,
            shown=_shown(store, sample, places[at - 1]),
            comment=here.comment if here else "",
            counts=tuple(notes.counts(said)),
            found=_held_against(store, sample, blind) if sample.results and blind else None,
        )


def _word(note: notes.Note | None) -> str:
    if note is None or not note.blind:
        return ""
    return {True: "yes", False: "no", None: "unclear"}[note.good]


@lru_cache(maxsize=32)
def _drawn(run: Run, stamp: str, protocol: str, judge: str, n: int, seed: int) -> tuple[Place, ...]:
    del stamp  # what it stands for decides whether an earlier draw still holds
    with run.store() as store:
        items = draw(store, protocol=protocol, judge=judge, n=n, seed=seed)
        return tuple(
            Place(item.id, item.conversation.id, item.decision.index if item.decision else None) for item in items
        )


def _shown(store: RunStore, sample: Sample, place: Place) -> dict[str, Any]:
    for item in each_item(store, sample.protocol, sample.judge, [place.conversation]):
        if item.id == place.item:
            return fields(item, sample.judge, show_verdict=False)
    return {}


def _held_against(store: RunStore, sample: Sample, said: list[notes.Note]) -> Calibration:
    current = {
        item.id
        for conversation in dict.fromkeys(note.conversation for note in said)
        for item in each_item(store, sample.protocol, sample.judge, [conversation])
    }
    labels = notes.labels(note for note in said if note.item in current)
    return calibrate(store, labels, protocol=sample.protocol, judge=sample.judge, seed=store.config.seed)
