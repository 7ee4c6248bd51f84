"""The seam between turngap and people's files: a `Format` turns one file into conversations, record by record.

A format yields one `Record` or one `DataError` for each conversation it meets, in file order, and never stops at a bad
one: whoever reads (`turngap.formats.reading`) decides whether to go on. What was unusual but readable is an `Oddity`,
which says what was found, where, and what became of it. Formats do not filter, sample or number duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from turngap.data import Conversation, Source, ToolSpec
from turngap.errors import DataError

ODDITIES = {
    "absent_result": "call without a recorded result; the decision is kept, the result is marked absent",
    "call_in_text": "text that looks like a tool call; it stays text",
    "empty_assistant": "assistant message without text or calls; dropped",
    "empty_name": "call without a function name; kept under an empty name",
    "late_result": "result that stands after other messages; attached to its call by id",
    "malformed_call": "arguments that are no JSON object; the call is kept with its text",
    "merged_assistant": "assistant messages in a row; merged into one decision",
    "no_decision": "conversation without an assistant message; kept, nothing to evaluate",
    "no_tools": "calls, but no tool specifications; give them with --tools",
    "non_text_part": "image, audio, file or other part; a stand-in such as [image] takes its place",
    "orphan_result": "tool result without a call; dropped",
    "refusal": "refusal field; taken as the text of the message",
    "repaired_call": "arguments that needed a repair to be read",
    "repeated_id": "several conversations of one id; each is named by its content, as id#1a2b3c4d",
    "repeated_result": "second result of one call; dropped",
    "repeated_tool": "several tools of one name; the first one counts",
    "result_by_order": "result whose id names no single open call; paired by order",
    "reward": "reward that is no number; ignored",
    "structured_content": "tool result that is not text; kept as JSON text",
    "think_in_text": "reasoning inside the text of a message; kept apart as reasoning",
    "tool_schema": "tool schema that is not JSON Schema; translated",
    "unreadable_tool": "tool specification that could not be read; left out",
    "user_calls": "tool calls made by the user; not the agent's, left out",
}
"""Every kind of oddity, with what it is and what becomes of it."""


class Oddity(msgspec.Struct, frozen=True, kw_only=True):
    """Something unusual in a recording that did not stop it from being read."""

    kind: str
    """A key of `ODDITIES`."""
    text: str
    """What exactly was found, in a few words."""
    file: str
    line: int | None = None
    field: str = ""
    """Path inside the record, such as ``messages[3].tool_calls[0]``."""

    @property
    def where(self) -> str:
        """``file:line: field``, as far as known."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}" if self.field else place


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one record stands."""

    file: str
    line: int | None = None
    """1-based line of a JSONL file, or on which a record of a JSON list begins."""
    record: int | None = None
    """0-based position in a list."""
    root: str = ""
    """Path from the top of the document to the record, such as ``simulations[3]``."""

    def field(self, path: str) -> str:
        """A path inside the record as a path from the top of the document."""
        return f"{self.root}.{path}" if self.root and path and not path.startswith("[") else self.root + path

    def error(self, problem: str, field: str = "") -> DataError:
        """The error that says `problem` about `field` of this record."""
        return DataError(problem, file=self.file, line=self.line, field=self.field(field))

    def source(self) -> Source:
        """This place as a conversation carries it."""
        return Source(file=self.file, line=None if self.record is not None else self.line, record=self.record)


class Findings:
    """The oddities of one record while it is being read."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.oddities: list[Oddity] = []

    def note(self, kind: str, text: str, field: str = "") -> None:
        """Record one oddity; `kind` is a key of `ODDITIES`."""
        place = self.place
        self.oddities.append(Oddity(kind=kind, text=text, file=place.file, line=place.line, field=place.field(field)))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation as read."""

    conversation: Conversation
    oddities: tuple[Oddity, ...] = ()


class GivenTools(msgspec.Struct, frozen=True, kw_only=True):
    """Tool specifications from a file of their own, for recordings that carry none."""

    specs: tuple[ToolSpec, ...] = ()
    services: dict[str, dict[str, Any]] = {}
    """Service name -> service, where the file is a schema of services (Schema-Guided Dialogue)."""


class Format(Protocol):
    """One kind of file."""

    name: str
    """Its short name, as ``--from`` takes it."""

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file that begins with `head` is of this format. Looks at content, not at names."""
        ...

    def members(self, path: Path) -> Iterable[Path]:
        """Further files that `read(path)` takes in, so that a folder is not read twice."""
        ...

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield every conversation of a file, or why it could not be read."""
        ...


Raw = tuple[Place, Any] | DataError
"""One record before it is understood: its place and JSON value, or why it is no JSON."""


def convert_each(raws: Iterable[Raw], convert: Callable[[Any, Findings], Conversation]) -> Iterator[Record | DataError]:
    """Turn raw records into records with `convert`, whose `DataError` concerns that one record only."""
    for raw in raws:
        if isinstance(raw, DataError):
            yield raw
            continue
        place, value = raw
        findings = Findings(place)
        try:
            conversation = convert(value, findings)
        except DataError as error:
            yield error
            continue
        yield Record(conversation=conversation, oddities=tuple(findings.oddities))
