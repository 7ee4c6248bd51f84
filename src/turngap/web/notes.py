"""What people say about verdicts, kept beside the run in ``annotations.jsonl``: the only thing a viewer ever writes.

A line is one statement about one judge's verdict on one unit: right, wrong, unclear, or withdrawn. Lines are only ever
added; of several about one verdict the last holds. A statement holds the name that `turngap.analysis.calibration` gives
the unit, a digest of what the model did there, so that it is not held against another answer later.

Said blind means: without sight of the verdict, on a unit of a drawn sample. Only such statements measure a judge
without bias; the others are marks that a reader made on the way. Both can be exported as the sheet that
``turngap judge calibrate`` reads, together or apart.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from turngap import jsonio
from turngap.analysis.calibration import JUDGED, Item, Label, each_item
from turngap.errors import StoreError, UsageError
from turngap.report.label_sheet import write_csv
from turngap.runs.store import RunStore

FILE = "annotations.jsonl"
FORMAT = "turngap-annotation/1"
LONGEST_COMMENT = 4000

Said = Literal["right", "wrong", "unclear", "withdrawn"]
_WORDS: dict[bool | None, str] = {True: "yes", False: "no", None: "unclear"}


class Marking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a page sends."""

    protocol: str
    judge: str
    conversation: str
    decision: int | None = None
    """None for a whole conversation."""
    label: Literal["right", "wrong", "yes", "no", "unclear", "withdrawn"]
    """Of the verdict (right, wrong), or of the unit itself (yes, no: it is good)."""
    blind: bool = False
    """Said without sight of the verdict, on a unit of a drawn sample."""
    comment: Annotated[str, msgspec.Meta(max_length=LONGEST_COMMENT)] = ""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the file."""

    format: str = FORMAT
    time: str
    """UTC, ISO 8601."""
    item: str
    """The unit and what the model did there, as calibration names it."""
    protocol: str
    judge: str
    conversation: str
    decision: int | None
    approved: bool
    """What the judge had said by then."""
    said: Said
    """Of the verdict."""
    good: bool | None
    """Of the unit; None where nobody can tell, or the statement is withdrawn."""
    blind: bool
    comment: str


class Notes(msgspec.Struct, frozen=True):
    """The statements that hold."""

    by_unit: dict[tuple[str, str], Note]
    """(item, judge) -> the last statement, without withdrawn ones."""
    unreadable: int
    """Lines that are none, such as the rest of one that a full disk cut."""

    def of(self, protocol: str, judge: str, *, blind: bool = False) -> list[Note]:
        """Those about one judge's verdicts; only the blind ones if `blind`."""
        return [
            note
            for note in self.by_unit.values()
            if note.protocol == protocol and note.judge == judge and (note.blind or not blind)
        ]


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """How often people and a judge said the same."""

    protocol: str
    judge: str
    right: int = 0
    wrong: int = 0
    unclear: int = 0
    blind: int = 0
    """How many of them were said blind."""


def read(directory: Path) -> Notes:
    """The statements about a run; none if there is no file.

    Raises:
        StoreError: the file cannot be read.
    """
    found: dict[tuple[str, str], Note] = {}
    unreadable = 0
    try:
        with (directory / FILE).open("rb") as stream:
            for _, line in jsonio.read_lines(stream):
                try:
                    note = msgspec.json.decode(line, type=Note)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    unreadable += 1
                    continue
                found.pop((note.item, note.judge), None)  # the last one stands last
                if note.said != "withdrawn":
                    found[note.item, note.judge] = note
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{directory / FILE}: cannot be read: {error.strerror}") from None
    return Notes(found, unreadable)


def mark(store: RunStore, marking: Marking) -> Note:
    """Write a statement down.

    Raises:
        UsageError: the run has no such verdict.
        StoreError: the run's directory cannot be written.
    """
    item = _find(store, marking)
    approved = item.verdict.success
    good, said = _meant(marking.label, approved=approved)
    note = Note(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        item=item.id,
        protocol=marking.protocol,
        judge=marking.judge,
        conversation=marking.conversation,
        decision=marking.decision,
        approved=approved,
        said=said,
        good=good,
        blind=marking.blind,
        comment=jsonio.clean(marking.comment),
    )
    _append(store.directory / FILE, jsonio.encode(note) + b"\n")
    return note


def counts(notes: Notes) -> list[Count]:
    """How often each judge was held right, by protocol and judge."""
    said: dict[tuple[str, str], Counter[str]] = {}
    for note in notes.by_unit.values():
        tally = said.setdefault((note.protocol, note.judge), Counter())
        tally[note.said] += 1
        tally["blind"] += note.blind
    return [Count(protocol=protocol, judge=judge, **tally) for (protocol, judge), tally in sorted(said.items())]


def about(store: RunStore, notes: Notes, conversation: str) -> list[Note]:
    """The statements about one conversation that are still about what the model did there."""
    theirs = [note for note in notes.by_unit.values() if note.conversation == conversation]
    current = {
        (item.id, judge)
        for protocol, judge in {(note.protocol, note.judge) for note in theirs}
        for item in each_item(store, protocol, judge, [conversation])
    }
    return [note for note in theirs if (note.item, note.judge) in current]


def labels(notes: Iterable[Note]) -> list[Label]:
    """Statements as calibration takes them."""
    return [Label(item=note.item, good=note.good, file=FILE) for note in notes]


def sheet(store: RunStore, notes: Iterable[Note], judge: str) -> str:
    """Statements about one judge's verdicts of one protocol, as a CSV sheet for ``turngap judge calibrate``.

    Units that the model has answered anew since are left out.
    """
    given = {note.item: note for note in notes}
    words: Mapping[str, tuple[str, str]] = {item: (_WORDS[note.good], note.comment) for item, note in given.items()}
    return write_csv(_items(store, given.values()), judge, show_verdict=False, labels=words)


def _items(store: RunStore, notes: Iterable[Note]) -> Iterator[Item]:
    wanted: dict[tuple[str, str, str], set[str]] = {}
    for note in notes:
        wanted.setdefault((note.protocol, note.judge, note.conversation), set()).add(note.item)
    for (protocol, judge, conversation), items in wanted.items():
        yield from (item for item in each_item(store, protocol, judge, [conversation]) if item.id in items)


def _find(store: RunStore, marking: Marking) -> Item:
    if marking.protocol not in JUDGED:
        raise UsageError(f"nobody judges {marking.protocol[:40]!r}")
    try:
        for item in each_item(store, marking.protocol, marking.judge, [marking.conversation]):
            if (item.decision.index if item.decision else None) == marking.decision:
                return item
    except KeyError:
        pass  # no such conversation
    raise UsageError("there is no verdict of that judge here (any more); load the page again")


def _meant(label: str, *, approved: bool) -> tuple[bool | None, Said]:
    """What a label says of the unit, and of the verdict."""
    match label:
        case "right":
            return approved, "right"
        case "wrong":
            return not approved, "wrong"
        case "yes" | "no":
            good = label == "yes"
            return good, "right" if good == approved else "wrong"
        case "unclear":
            return None, "unclear"
        case _:
            return None, "withdrawn"


def _append(path: Path, line: bytes) -> None:
    """Add a line in one piece, whoever else does so at the same moment; after half a line, on a new one."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            written = os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; nothing was noted") from None
    if written < len(line):
        raise StoreError(f"{path}: cannot be written: the disk is full; nothing was noted")
