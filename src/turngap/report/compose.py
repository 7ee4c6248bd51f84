"""From stored runs to a `Document`: which sections there are, in which order, and what was left out for what reason.

Runs on recorded conversations and runs of live trials have sections of their own; a report of both begins with a table
in which the runs of one model stand below each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turngap import __version__
from turngap.config import RolloutConfig
from turngap.report import (
    beside,
    curve,
    failure,
    live_overview,
    live_symptom,
    live_task,
    live_trial,
    live_user,
    overview,
    rank,
)
from turngap.report.document import Document, Section
from turngap.report.live_subject import LiveSubject, live_subjects
from turngap.report.subject import Subject, judge_sentence, subjects
from turngap.runs.store import RunStore

MOST_FAILURES = 20
"""Failed workflows or trials that are shown of each run, unless told otherwise."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader of a report wants."""

    failures: int = MOST_FAILURES
    """Most failed workflows or trials of each run."""
    transcripts: bool = True
    """Whether texts of conversations are shown at all."""
    title: str | None = None
    """None: made from the models and the data."""


def compose(stores: Sequence[RunStore], wish: Wish | None = None) -> Document:
    """Read runs and put the report together; nothing is written, no model is asked.

    Args:
        stores: open runs, in the order in which they are to stand.
        wish: what to show.
    """
    wish = wish or Wish()
    lived = [isinstance(store.settings, RolloutConfig) for store in stores]
    recorded = subjects([store for store, live in zip(stores, lived, strict=True) if not live])
    live = live_subjects([store for store, live in zip(stores, lived, strict=True) if live])
    parts: list[Section | str] = [beside.side_by_side(recorded, live)] if recorded and live else []
    parts += _on_recordings(recorded, wish) if recorded else []
    parts += _on_live_tasks(live, wish) if live else []
    absent = tuple(part for part in parts if isinstance(part, str))
    sections = [part for part in parts if isinstance(part, Section)]
    if absent:
        sections.append(Section(key="absent", title="Left out", findings=absent))
    return Document(
        title=wish.title or _title(recorded, live, stores),
        subtitle=" ".join(_subtitle(recorded, live, stores)),
        sections=tuple(sections),
        made_with=f"turngap {__version__}",
    )


def _on_recordings(found: Sequence[Subject], wish: Wish) -> list[Section | str]:
    return [
        overview.headline(found),
        overview.gap(found),
        overview.split(found),
        curve.horizon(found),
        curve.errors(found),
        rank.flips(found),
        failure.categories(found),
        failure.workflows(found, most=wish.failures, transcripts=wish.transcripts),
        overview.runs(found),
    ]


def _on_live_tasks(found: Sequence[LiveSubject], wish: Wish) -> list[Section | str]:
    return [
        live_overview.headline(found),
        live_overview.hats(found),
        live_overview.parts(found),
        live_overview.scenarios(found),
        live_user.users(found),
        live_symptom.reasons(found),
        live_task.endings(found),
        live_task.tau2(found, details=wish.transcripts),
        live_task.tasks(found),
        live_trial.trials(found, most=wish.failures, transcripts=wish.transcripts),
        live_task.runs(found, details=wish.transcripts),
    ]


def _title(recorded: Sequence[Subject], live: Sequence[LiveSubject], stores: Sequence[RunStore]) -> str:
    names = list(dict.fromkeys([*(one.label for one in recorded), *(one.label for one in live)]))
    if live and recorded:
        models = {store.settings.model.spec for store in stores}
        who = next(iter(models)) if len(models) == 1 else f"{len(models)} models"
        return f"{who}: recorded conversations and live tasks"
    who = names[0] if len(names) == 1 else f"{len(names)} models"
    return f"{who}: {'live tasks' if live else 'turns and workflows'}"


def _subtitle(recorded: Sequence[Subject], live: Sequence[LiveSubject], stores: Sequence[RunStore]) -> Iterable[str]:
    sizes = dict.fromkeys(
        f"{one.summary.n['conversations']} recorded conversations, {one.summary.n['decisions']} decisions"
        for one in recorded
    )
    sizes |= dict.fromkeys(
        f"{one.summary.n['tasks']} tasks of {one.domain}, {one.summary.n['trials']} trials" for one in live
    )
    created = sorted(store.created[:10] for store in stores)
    days = created[0] if created[0] == created[-1] else f"{created[0]} to {created[-1]}"
    yield f"{' / '.join(sizes)}, run {days}."
    if recorded:
        yield judge_sentence(recorded)
