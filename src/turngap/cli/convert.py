"""`turngap convert`: rewrite recorded conversations of any known format, whole or not at all.

A run of live trials can be written too: each trial as a conversation, or with ``--to tau2`` as the results file that
tau2's own tools read.

The result appears under its name only when every record was read; with ``--redact`` personal data and credentials are
replaced by stand-ins on the way. What was done is said on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from turngap.analysis.tau2_results import to_results
from turngap.analysis.trial_conversations import conversations
from turngap.config import DataConfig
from turngap.data import Conversation
from turngap.domains.tau2 import results
from turngap.errors import UsageError
from turngap.formats import Reading, read, write
from turngap.formats.personal import Redactor
from turngap.report.harmless import one_line
from turngap.runs.store import DATABASE, RunStore


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File or folder of recordings, or a run of trials.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="Format to write; for a run of trials also tau2 (results.json).")
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
    out = Path(target)
    redactor = Redactor() if redact else None
    if to == "tau2" or (Path(source) / DATABASE).is_file():
        useless = {"--from": bool(format), "--tools": bool(tools), "--skip-bad": skip_bad}
        if to == "tau2":
            useless |= {"--redact": redact, "--only-successful": only_successful}
        if named := [option for option, given in useless.items() if given]:
            raise UsageError(f"{source}: a run of trials is written without {', '.join(named)}")
        _require_free(out)
        _write_trials(Path(source), out, to, redactor, only_successful=only_successful)
        return
    reading = read(
        DataConfig(paths=(source,), format=format, tools=tools, only_successful=only_successful, skip_bad=skip_bad)
    )
    _check_target(out, reading, tools)
    count = write(_prepared(reading, redactor), out, to)
    _tell(reading, redactor, count, out)


def _write_trials(directory: Path, out: Path, to: str, redactor: Redactor | None, *, only_successful: bool) -> None:
    with RunStore.open(directory) as store:
        if to == "tau2":
            content = to_results(store)
            results.write(out, content)
            count = len(content["simulations"])
        else:
            told = conversations(store, only_successful=only_successful)
            count = write(_prepared(told, redactor), out, to)
        left = len(store.trials.measured()) - count if only_successful else 0
    parts = [f"{count} trials written to {out}"]
    parts += [f"{left} not successful left out"] * bool(left)
    sys.stderr.write(f"turngap: {'; '.join([*parts, *_replaced(redactor)])}\n")


def _check_target(out: Path, reading: Reading, tools: str | None) -> None:
    inputs = [path for path, _ in reading.files] + ([Path(tools)] if tools else [])
    if any(path.resolve() == out.resolve() for path in inputs):
        raise UsageError(f"{out}: is one of the inputs and would be overwritten; name another file")
    _require_free(out)


def _require_free(out: Path) -> None:
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"{out}: not a file in an existing folder; name one")


def _replaced(redactor: Redactor | None) -> Iterator[str]:
    if redactor is not None:
        counts = ", ".join(f"{count} {kind}" for kind, count in redactor.counts.items())
        yield f"values replaced: {counts} (names and addresses are not found)"


def _prepared(found: Iterable[Conversation], redactor: Redactor | None) -> Iterator[Conversation]:
    for conversation in found:
        yield conversation if redactor is None else redactor.redact(conversation)


def _tell(reading: Reading, redactor: Redactor | None, count: int, out: Path) -> None:
    parts = [f"{count} conversations written to {out}"]
    parts += [f"{reading.n_unsuccessful} not successful left out"] * bool(reading.n_unsuccessful)
    parts += [f"{reading.n_skipped} unreadable records left out"] * bool(reading.n_skipped)
    parts += _replaced(redactor)
    lines = ["; ".join(parts), *map(str, reading.skipped), *reading.notes]
    if reading.oddity_counts:
        kinds = ", ".join(f"{count} {kind}" for kind, count in reading.oddity_counts.most_common())
        lines.append(f"oddities: {kinds} (turngap inspect says where)")
    for line in lines:
        sys.stderr.write(f"turngap: {one_line(line)}\n")
