"""`turngap inspect`: say what is in recorded conversations, without a model and in bounded memory.

The report goes to standard output (tables, or one JSON document); progress, notes and unreadable records go to standard
error. Unreadable records do not stop the report, but without ``--skip-bad`` they make the exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
import typer

from turngap import jsonio
from turngap.config import DataConfig
from turngap.formats import ODDITIES, Reading, read
from turngap.formats.inventory import Inventory, Summary

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
        sys.stderr.write(f"turngap: {line}\n")
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
    from rich.console import Console  # noqa: PLC0415 - not needed for --help

    console = Console(highlight=False)
    tables = (
        (_name(reading), _overview(reading, summary)),
        ("Per conversation", _lengths(summary)),
        ("Tools", _tools(summary)),
        ("Likely personal data (turngap convert --redact replaces it)", _personal(summary)),
        ("Oddities", _oddities(reading)),
    )
    for title, table in tables:
        if table.row_count:
            console.print(f"[bold]{title}[/bold]")
            console.print(table)
    idle = [_plain(tool.name) for tool in summary.tools if tool.declared and not tool.calls]
    if idle:
        more = f" and {len(idle) - _TOOLS} more" if len(idle) > _TOOLS else ""
        console.print(f"Declared, never called: {', '.join(idle[:_TOOLS])}{more}")


def _name(reading: Reading) -> str:
    paths = " ".join(reading.config.paths)
    files = f", {len(reading.files)} files" if len(reading.files) > 1 else ""
    return f"{_plain(paths)} ({', '.join(reading.formats)}{files})"


def _table(*columns: str) -> Any:
    from rich import box  # noqa: PLC0415 - not needed for --help
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        # A + before the heading marks a column of numbers.
        numbers = column.startswith("+")
        table.add_column(
            column.removeprefix("+"), justify="right" if numbers else "left", no_wrap=numbers, overflow="fold"
        )
    return table


def _overview(reading: Reading, summary: Summary) -> Any:
    table = _table("", "+count", "")
    left_out = ", ".join(
        f"{count} {word}"
        for count, word in ((reading.n_skipped, "unreadable"), (reading.n_unsuccessful, "not successful"))
        if count
    )
    table.add_row("conversations", f"{summary.conversations}", f"left out: {left_out}" if left_out else "")
    table.add_row("  with tool calls", f"{summary.tool_requiring}", "")
    marked = f"of {summary.marked} that carry a reward" if summary.marked else "the recording marks none"
    table.add_row("  marked as successful", f"{summary.rewarded}", marked)
    table.add_row("user turns", f"{summary.user_turns}", "")
    table.add_row("decisions", f"{summary.decisions}", "")
    table.add_row("  text", f"{summary.text_decisions}", "")
    several = f"{summary.several_calls} with several calls" if summary.several_calls else ""
    table.add_row("  tool", f"{summary.tool_decisions}", several)
    faults = ((summary.malformed_calls, "malformed"), (summary.absent_results, "without a recorded result"))
    table.add_row("calls", f"{summary.calls}", ", ".join(f"{count} {word}" for count, word in faults if count))
    return table


def _lengths(summary: Summary) -> Any:
    table = _table("", "+min", "+median", "+max")
    for name, spread in summary.lengths.items():
        table.add_row(name, f"{spread.min:,}", f"{spread.median:,.10g}", f"{spread.max:,}")
    return table


def _tools(summary: Summary) -> Any:
    table = _table("name", "+calls", "+malformed", "+declared in", "")
    called = [tool for tool in summary.tools if tool.calls]
    for tool in called[:_TOOLS]:
        remark = "never declared" if not tool.declared else ""
        if tool.declared and tool.undeclared_calls:
            remark = f"{tool.undeclared_calls} calls where it is not declared"
        table.add_row(
            _plain(tool.name) or "(no name)", f"{tool.calls}", f"{tool.malformed}", f"{tool.declared}", remark
        )
    if len(called) > _TOOLS:
        rest = called[_TOOLS:]
        calls, malformed = (sum(getattr(tool, field) for tool in rest) for field in ("calls", "malformed"))
        table.add_row(f"{len(rest)} more (--json names all)", f"{calls}", f"{malformed}", "", "")
    return table


def _personal(summary: Summary) -> Any:
    table = _table("", "+values", "+conversations")
    for kind, found in summary.personal.items():
        if found["values"]:
            table.add_row(_PERSONAL[kind], f"{found['values']}", f"{found['conversations']}")
    return table


def _oddities(reading: Reading) -> Any:
    table = _table("kind", "+count", "what, and where first")
    for kind, count in reading.oddity_counts.most_common():
        first = [oddity for oddity in reading.oddities if oddity.kind == kind][:_PLACES]
        places = [f"{oddity.where}: {oddity.text}" for oddity in first]
        table.add_row(kind, f"{count}", "\n".join([ODDITIES.get(kind, ""), *map(_plain, places)]))
    return table


def _plain(text: str) -> str:
    """Text of a recording as it is: no markup, no control characters that would move the cursor."""
    from rich.markup import escape  # noqa: PLC0415 - not needed for --help

    return escape("".join(char if char.isprintable() else " " for char in text))
