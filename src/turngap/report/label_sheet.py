"""Sheets for people who label verdicts: written blind as CSV or JSONL, and read back with the labels.

The one column that a person fills in is ``label`` (``yes`` / ``no`` / ``unclear``, several spellings); ``item`` says
which answer it is about. Nothing else is read back, so a spreadsheet program may do what it likes to the rest. See
docs/calibration.md for the columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from turngap import jsonio
from turngap.analysis.calibration import Item, Label
from turngap.data import Acted, AssistantMessage, Message, Prediction, Repaired, Spoken, ToolCall, ToolMessage
from turngap.errors import DataError
from turngap.report.cell import cell, restore

COLUMNS = (
    "item",
    "label",
    "comment",
    "protocol",
    "judge",
    "kind",
    "conversation",
    "decision",
    "history",
    "reference",
    "prediction",
    "policy",
)
"""Of a blind sheet."""
SHOWN = ("judge_verdict", "judge_category", "judge_rationale")
"""Further columns of a sheet that shows what the judge said."""
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("yes", "y", "1", "1.0", "true", "good", "pass", "success"), True),
    **dict.fromkeys(("no", "n", "0", "0.0", "false", "bad", "fail", "failure"), False),
    **dict.fromkeys(("unclear", "?", "skip", "unsure"), None),
}


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A sheet that came back."""

    protocol: str
    judge: str
    labels: tuple[Label, ...]
    unlabelled: int
    """Rows whose label is still empty."""


Given = Mapping[str, tuple[str, str]]
"""Item -> label and comment that a person has given already."""


def write_csv(items: Iterable[Item], judge: str, *, show_verdict: bool, labels: Given = MappingProxyType({})) -> str:
    """The text of a CSV sheet; cells are disarmed against formulas. `labels` are filled in."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *(SHOWN if show_verdict else ())])
    for item in items:
        row = fields(item, judge, show_verdict=show_verdict)
        row["label"], row["comment"] = labels.get(item.id, ("", ""))
        writer.writerow([cell(value if isinstance(value, (str, int)) else "") for value in row.values()])
    # The mark in front makes spreadsheet programs read UTF-8.
    return "\ufeff" + stream.getvalue()


def write_jsonl(items: Iterable[Item], judge: str, *, show_verdict: bool) -> str:
    """The text of a JSONL sheet: the same fields, with the tools, and nothing cut."""
    lines = []
    for item in items:
        row = fields(item, judge, show_verdict=show_verdict)
        row["label"] = None
        lines.append(jsonio.dumps({**row, "tools": item.conversation.tools}) + "\n")
    return "".join(lines)


def read_sheet(file: Path) -> Sheet:
    """Read a sheet with labels; JSONL when the name says so, else CSV (comma, semicolon or tab).

    Raises:
        DataError: not readable, no label at all, or a row that is wrong: one line with file, line and field.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8; save it as CSV in UTF-8", file=str(file)) from None
    rows = _json_rows(text, file) if file.suffix in (".jsonl", ".ndjson") else _csv_rows(text, file)
    labels: list[Label] = []
    unlabelled = 0
    about: dict[str, str] = {}
    for line, row in rows:
        for field in ("protocol", "judge"):
            if about.setdefault(field, row[field]) != row[field]:
                problem = f"{row[field]!r}, but {about[field]!r} in the rows before; a sheet is about one"
                raise DataError(problem, file=str(file), line=line, field=field)
        word = row["label"].strip().casefold()
        if not word:
            unlabelled += 1
        elif word not in _WORDS:
            problem = f"{row['label'].strip()!r} is no label; write yes, no or unclear"
            raise DataError(problem, file=str(file), line=line, field="label")
        else:
            labels.append(Label(item=row["item"].strip(), good=_WORDS[word], file=str(file), line=line))
    if not labels:
        raise DataError("no row has a label yet; fill in the column label with yes or no", file=str(file))
    return Sheet(labels=tuple(labels), unlabelled=unlabelled, **about)


_Row = dict[str, str]
_READ = ("item", "label", "protocol", "judge")


def _csv_rows(text: str, file: Path) -> Iterator[tuple[int, _Row]]:
    first = text.split("\n", 1)[0]
    mark = next((one for one in ",;\t" if {*_READ} <= {*next(csv.reader([first], delimiter=one), [])}), None)
    if mark is None:
        raise DataError(f"the first line should name the columns {', '.join(_READ)}", file=str(file), line=1)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=mark)
    line = 2
    try:
        for row in reader:
            if lacking := [field for field in _READ if row.get(field) is None]:
                raise DataError("the row ends before this column", file=str(file), line=line, field=lacking[0])
            yield line, {field: restore(row[field]) for field in _READ}
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"not CSV: {error}", file=str(file), line=line) from None


def _json_rows(text: str, file: Path) -> Iterator[tuple[int, _Row]]:
    for line, raw in jsonio.read_lines(io.BytesIO(text.encode())):
        try:
            value = jsonio.loads(raw)
        except jsonio.JsonError as error:
            raise DataError(f"not JSON: {error}", file=str(file), line=line) from None
        if not isinstance(value, dict):
            raise DataError("a row should be an object", file=str(file), line=line)
        row: _Row = {}
        for field in _READ:
            given = value.get(field)
            if field == "label" and (given is None or isinstance(given, (bool, int))):
                given = "" if given is None else str(int(given))
            if not isinstance(given, str):
                raise DataError("should be a text", file=str(file), line=line, field=field)
            row[field] = given
        yield line, row


def fields(item: Item, judge: str, *, show_verdict: bool) -> dict[str, Any]:
    """Column -> value of one row, without a label: texts, and the number of the decision or None."""
    decision, conversation = item.decision, item.conversation
    if decision is not None and isinstance(item.result, Prediction):
        history = _told(conversation.messages[: decision.position])
        reference, prediction = _told([decision.reference]), _told([item.result.message])
    else:
        history, reference, prediction = "", _told(conversation.messages), _replayed(item)
    row: dict[str, Any] = {
        "item": item.id,
        "label": "",
        "comment": "",
        "protocol": item.protocol,
        "judge": judge,
        "kind": item.kind,
        "conversation": conversation.id,
        "decision": None if decision is None else decision.index,
        "history": history,
        "reference": reference,
        "prediction": prediction,
        "policy": conversation.policy,
    }
    if show_verdict:
        said = "yes" if item.verdict.success else "no"
        row |= dict(zip(SHOWN, (said, item.verdict.category, item.verdict.rationale), strict=True))
    return row


def _told(messages: Iterable[Message]) -> str:
    return "\n".join(line for message in messages for line in _lines(message))


def _lines(message: Message) -> Iterator[str]:
    if isinstance(message, AssistantMessage):
        if message.content.strip() or not message.calls:
            yield f"Agent: {message.content}"
        yield from (f"Agent calls {_call(call)}" for call in message.calls)
    elif isinstance(message, ToolMessage):
        yield f"Result of {message.name}: {message.content}"
    else:
        yield f"{'User' if message.__struct_config__.tag == 'user' else 'Instruction'}: {message.content}"


def _call(call: ToolCall) -> str:
    arguments = f"unreadable arguments {call.raw}" if call.arguments is None else jsonio.dumps(call.arguments)
    return f"{call.name} {arguments}"


def _replayed(item: Item) -> str:
    lines: list[str] = []
    for event in getattr(item.result, "events", ()):
        if isinstance(event, Spoken):
            lines += _lines(event.message)
            continue
        inserted = "(inserted from the recording) " if isinstance(event, Repaired) else ""
        said, *_ = [*_lines(AssistantMessage(content=event.message.content)), ""]
        if event.message.content.strip() or not event.message.calls:
            lines.append(inserted + said)
        marks: Sequence[str] = ["accepted"] * len(event.message.calls)
        if isinstance(event, Acted):
            marks = ["accepted" if verdict.accepted else "rejected" for verdict in event.verdicts]
        for call, mark, result in zip(event.message.calls, marks, event.results, strict=True):
            lines += [f"{inserted}Agent calls {_call(call)}: {mark}", *_lines(result)]
    return "\n".join(lines)
