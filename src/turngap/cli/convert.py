"""`turngap convert`: rewrite recorded conversations of any known format, whole or not at all.

A run of live trials can be written too, ``--to tau2``: as the results file that tau2's own tools read.

The result appears under its name only when every record was read; with ``--redact`` personal data and credentials are
replaced by stand-ins on the way. What was done is said on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from turngap.analysis.tau2_results import to_results
from turngap.config import DataConfig
from turngap.data import Conversation
from turngap.domains.tau2 import results
from turngap.errors import UsageError
from turngap.formats import Reading, read, write
from turngap.formats.personal import Redactor
from turngap.report.harmless import one_line
from turngap.runs.store import RunStore


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File or folder of recordings, or a run of trials.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="Format to write; tau2 (results.json) for a run of trials.")
    ] = "openai",
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
        bool, typer.Option("--skip-bad", help="Go on past unreadable records, and count them.")
    ] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace likely personal data and credentials by stand-ins.")
    ] = False,
) -> None:
    """Rewrite recorded conversations in another format."""
    if to == "tau2":
        _write_results(Path(source), Path(target))
        return
    reading = read(
        DataConfig(paths=(source,), format=format, tools=tools, only_successful=only_successful, skip_bad=skip_bad)
    )
    out = Path(target)
    _check_target(out, reading, tools)
    redactor = Redactor() if redact else None
    count = write(_prepared(reading, redactor), out, to)
    _tell(reading, redactor, count, out)


def _write_results(directory: Path, out: Path) -> None:
    with RunStore.open(directory) as store:
        content = to_results(store)
    results.write(out, content)
    sys.stderr.write(f"turngap: {len(content['simulations'])} trials written to {out}\n")


def _check_target(out: Path, reading: Reading, tools: str | None) -> None:
    inputs = [path for path, _ in reading.files] + ([Path(tools)] if tools else [])
    if any(path.resolve() == out.resolve() for path in inputs):
        raise UsageError(f"{out}: is one of the inputs and would be overwritten; name another file")
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"{out}: not a file in an existing folder; name one")


def _prepared(reading: Reading, redactor: Redactor | None) -> Iterator[Conversation]:
    for conversation in reading:
        yield conversation if redactor is None else redactor.redact(conversation)


def _tell(reading: Reading, redactor: Redactor | None, count: int, out: Path) -> None:
    parts = [f"{count} conversations written to {out}"]
    parts += [f"{reading.n_unsuccessful} not successful left out"] * bool(reading.n_unsuccessful)
    parts += [f"{reading.n_skipped} unreadable records left out"] * bool(reading.n_skipped)
    if redactor is not None:
        counts = ", ".join(f"{count} {kind}" for kind, count in redactor.counts.items())
        parts.append(f"values replaced: {counts} (names and addresses are not found)")
    lines = ["; ".join(parts), *map(str, reading.skipped), *reading.notes]
    if reading.oddity_counts:
        kinds = ", ".join(f"{count} {kind}" for kind, count in reading.oddity_counts.most_common())
        lines.append(f"oddities: {kinds} (turngap inspect says where)")
    for line in lines:
        sys.stderr.write(f"turngap: {one_line(line)}\n")
