"""From stored runs to a `Document`: which sections there are, in which order, and what was left out for what reason."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap import __version__
from turngap.report import curve, failure, overview, rank
from turngap.report.document import Document, Section
from turngap.report.subject import Subject, judge_sentence, subjects
from turngap.runs.store import RunStore

MOST_FAILURES = 20
"""Failed workflows that are shown of each run, unless told otherwise."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader of a report wants."""

    failures: int = MOST_FAILURES
    """Most failed workflows of each run."""
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
    found = subjects(stores)
    parts: list[Section | str] = [
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
    absent = tuple(part for part in parts if isinstance(part, str))
    sections = [part for part in parts if isinstance(part, Section)]
    if absent:
        sections.append(Section(key="absent", title="Left out", findings=absent))
    return Document(
        title=wish.title or _title(found),
        subtitle=_subtitle(found),
        sections=tuple(sections),
        made_with=f"turngap {__version__}",
    )


def _title(found: Sequence[Subject]) -> str:
    if len(found) == 1:
        return f"{found[0].label}: turns and workflows"
    return f"{len(found)} models: turns and workflows"


def _subtitle(found: Sequence[Subject]) -> str:
    sizes = dict.fromkeys(
        f"{one.summary.n['conversations']} recorded conversations, {one.summary.n['decisions']} decisions"
        for one in found
    )
    created = sorted(one.store.created[:10] for one in found)
    days = created[0] if created[0] == created[-1] else f"{created[0]} to {created[-1]}"
    return f"{' / '.join(sizes)}, run {days}. {judge_sentence(found)}"
