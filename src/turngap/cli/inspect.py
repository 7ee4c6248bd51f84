"""`turngap inspect`: say what is in recorded conversations, without a model and in bounded memory.

The report goes to standard output (tables, or one JSON document); progress, notes and unreadable records go to standard
error. Unreadable records do not stop the report, but without ``--skip-bad`` they make the exit code 2.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
import typer

from turngap import jsonio
from turngap.config import DataConfig
from turngap.formats import ODDITIES, Oddity, Reading, read
from turngap.formats.inventory import Inventory, Summary, ToolCount
from turngap.report.columns import columns, width, wrapped
from turngap.report.harmless import harmless, one_line

_EVERY = 200
"""Conversations between two updates of the progress line."""
_PLACES = 3
"""Places that the table shows for one kind of oddity."""
_TOOLS = 40
"""Tools that the table names one by one."""
_PERSONAL = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "card": "card numbers",
    "credential": "credentials",
}


def inspect(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="Files or folders of recordings.")],
    format: Annotated[  # noqa: A002 - the word of the option's meaning
        str | None, typer.Option("--from", metavar="FORMAT", help="Format; found out by content when not given.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tool schemas for recordings that have none.")
    ] = None,
    only_successful: Annotated[
        bool, typer.Option("--only-successful", help="Only conversations that the file marks as rewarded.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Unreadable records are counted, but are no error.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Say what is in a file of recorded conversations."""
    config = DataConfig(paths=tuple(data), format=format, tools=tools, only_successful=only_successful, skip_bad=True)
    reading = read(config)
    inventory = Inventory()
    with _progress() as tell:
        for conversation in reading:
            inventory.add(conversation)
            if reading.n_read % _EVERY == 0:
                tell(f"{reading.n_read} conversations read")
    summary = inventory.summary()
    if as_json:
        sys.stdout.write(jsonio.dumps(document(reading, summary), indent=2) + "\n")
    else:
        _show(reading, summary)
    _complain(reading)
    return 2 if reading.n_skipped and not skip_bad else 0


def document(reading: Reading, summary: Summary) -> dict[str, Any]:
    """The whole report as plain values."""
    return {
        "files": [str(path) for path, _ in reading.files],
        "formats": reading.formats,
        "read": reading.n_read,
        "skipped": reading.n_skipped,
        "unsuccessful": reading.n_unsuccessful,
        **msgspec.to_builtins(summary),
        "oddities": [
            {
                "kind": kind,
                "count": count,
                "meaning": ODDITIES.get(kind, ""),
                "places": [{"where": o.where, "text": o.text} for o in reading.oddities if o.kind == kind],
            }
            for kind, count in reading.oddity_counts.most_common()
        ],
        "skipped_records": [str(error) for error in reading.skipped],
        "notes": reading.notes,
    }


def _complain(reading: Reading) -> None:
    for line in [*map(str, reading.skipped), *reading.notes]:
        sys.stderr.write(f"turngap: {one_line(line)}\n")
    if reading.n_skipped > len(reading.skipped):
        sys.stderr.write(f"turngap: ... and {reading.n_skipped - len(reading.skipped)} more unreadable records\n")


@contextmanager
def _progress() -> Iterator[Any]:
    """A line on standard error that is redrawn on a terminal; elsewhere nothing."""
    from rich.console import Console  # noqa: PLC0415 - not needed for --help

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _text: None
        return
    with console.status("reading") as status:
        yield status.update


def _show(reading: Reading, summary: Summary) -> None:
    within = width()
    tables = (
        ("Per conversation", _lengths(summary), (1, 2, 3)),
        ("Tools", _tools(summary), (1, 2, 3)),
        ("Likely personal data (turngap convert --redact replaces it)", _personal(summary), (1, 2)),
    )
    lines = [_name(reading), *_indented(columns(_overview(reading, summary), right=(1,), within=within - 2))]
    for title, rows, right in tables:
        # A heading alone says nothing.
        if len(rows) > 1:
            lines += ["", title, *_indented(columns(rows, right=right, within=within - 2))]
    lines += [*_idle(summary, within), *_free_text(summary, within)]
    if reading.oddity_counts:
        lines += ["", "Oddities", *_indented(_oddities(reading, within - 2))]
    # One by one, so that a closed pipe ends it early.
    for line in lines:
        sys.stdout.write(harmless(line) + "\n")


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _name(reading: Reading) -> str:
    paths = " ".join(reading.config.paths)
    files = f", {len(reading.files)} files" if len(reading.files) > 1 else ""
    return f"{_plain(paths)} ({', '.join(reading.formats)}{files})"


def _overview(reading: Reading, summary: Summary) -> list[tuple[str, str, str]]:
    left_out = ", ".join(
        f"{count} {word}"
        for count, word in ((reading.n_skipped, "unreadable"), (reading.n_unsuccessful, "not successful"))
        if count
    )
    marked = f"of {summary.marked} that carry a reward" if summary.marked else "the recording marks none"
    several = f"{summary.several_calls} with several calls" if summary.several_calls else ""
    faults = ((summary.malformed_calls, "malformed"), (summary.absent_results, "without a recorded result"))
    return [
        ("conversations", f"{summary.conversations}", f"left out: {left_out}" if left_out else ""),
        ("  with tool calls", f"{summary.tool_requiring}", ""),
        ("  marked as successful", f"{summary.rewarded}", marked),
        ("user turns", f"{summary.user_turns}", ""),
        ("decisions", f"{summary.decisions}", ""),
        ("  text", f"{summary.text_decisions}", ""),
        ("  tool", f"{summary.tool_decisions}", several),
        ("calls", f"{summary.calls}", ", ".join(f"{count} {word}" for count, word in faults if count)),
    ]


def _lengths(summary: Summary) -> list[tuple[str, ...]]:
    spreads = summary.lengths.items()
    rows = [(name, f"{spread.min:,}", f"{spread.median:,.10g}", f"{spread.max:,}") for name, spread in spreads]
    return [("", "min", "median", "max"), *rows]


def _tools(summary: Summary) -> list[tuple[str, ...]]:
    called = [tool for tool in summary.tools if tool.calls]
    rows = [
        (_plain(tool.name) or "(no name)", f"{tool.calls}", f"{tool.malformed}", f"{tool.declared}", _remark(tool))
        for tool in called[:_TOOLS]
    ]
    if len(called) > _TOOLS:
        rest = called[_TOOLS:]
        calls, malformed = (sum(getattr(tool, field) for tool in rest) for field in ("calls", "malformed"))
        rows.append((f"{len(rest)} more (--json names all)", f"{calls}", f"{malformed}", "", ""))
    return [("name", "calls", "malformed", "declared in", ""), *rows]


def _remark(tool: ToolCount) -> str:
    if not tool.declared:
        return "never declared"
    return f"{tool.undeclared_calls} calls where it is not declared" if tool.undeclared_calls else ""


def _personal(summary: Summary) -> list[tuple[str, ...]]:
    rows = [
        (_PERSONAL[kind], f"{found['values']}", f"{found['conversations']}")
        for kind, found in summary.personal.items()
        if found["values"]
    ]
    return [("", "different values", "conversations"), *rows]


def _idle(summary: Summary, within: int) -> list[str]:
    idle = [_plain(tool.name) for tool in summary.tools if tool.declared and not tool.calls]
    if not idle:
        return []
    more = f" and {len(idle) - _TOOLS} more" if len(idle) > _TOOLS else ""
    return ["", *wrapped(f"Declared, never called: {', '.join(idle[:_TOOLS])}{more}", within, "  ")]


def _free_text(summary: Summary, within: int) -> list[str]:
    """Which arguments two models hardly ever word alike, and the option that leaves them out of the comparison."""
    tools = [tool for tool in summary.tools if tool.free_text]
    if not tools:
        return []
    named = ", ".join(_plain(f"{tool.name}.{argument}") for tool in tools for argument in tool.free_text)
    option = jsonio.dumps({tool.name: tool.other_arguments for tool in tools})
    return [
        "",
        *wrapped(f"Free text in arguments, which has to match word for word: {named}", within, "  "),
        "To leave it out, give this to turngap eval:",
        f"  --compare-args {shlex.quote(_plain(option))}",
    ]


def _oddities(reading: Reading, within: int) -> Iterator[str]:
    several = len(reading.files) > 1
    kinds = [(kind, f"{count}", ODDITIES.get(kind, "")) for kind, count in reading.oddity_counts.most_common()]
    longest, most = (max(len(row[at]) for row in kinds) for at in (0, 1))
    for kind, count, meaning in kinds:
        yield from columns([(kind.ljust(longest), count.rjust(most), meaning)], within=within)
        first = [oddity for oddity in reading.oddities if oddity.kind == kind][:_PLACES]
        file = ""
        for oddity in first:
            # A path is said once, and not at all where there is only one.
            if several and oddity.file != file:
                file = oddity.file
                yield f"  {_plain(file)}"
            yield from wrapped(f"{'    ' if several else '  '}{_plain(_place(oddity))}", within, "      ")


def _place(oddity: Oddity) -> str:
    line = "" if oddity.line is None else f"line {oddity.line}"
    return ": ".join(part for part in (line, oddity.field, oddity.text) if part)


def _plain(text: str) -> str:
    """Text of a recording as it is, without control characters that would move the cursor."""
    return "".join(char if char.isprintable() else " " for char in text)
