"""`turngap gate`: hold a run against rules and exit with what came of it: 0 pass, 1 fail, 2 could not decide.

The rules are evaluated once; text, JSON, Markdown, job summary and JUnit show that one result. Several runs can be
named with --what-if only; then the exit code is that of the worst.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.analysis import gate as gating
from turngap.analysis import rule as rules_file
from turngap.analysis.gate import GateResult
from turngap.analysis.rule import Rule
from turngap.analysis.whatif import WhatIf, lent, what_if
from turngap.analysis.whatif import to_document as what_if_document
from turngap.errors import StoreError, UnitError, UsageError
from turngap.report.gate_markdown import gate_markdown
from turngap.report.gate_table import gate_table, what_if_table
from turngap.report.junit import junit
from turngap.report.table import console
from turngap.runs.store import RunStore

_SUMMARY = "GITHUB_STEP_SUMMARY"  # GitHub Actions names the file of the job summary here
_NONE_GIVEN = "no baseline was given (--baseline RUN)"


def gate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directory; several with --what-if.")],
    rules: Annotated[Path, typer.Option(metavar="FILE", help="TOML with [[rule]] tables: see docs/ci.md.")],
    baseline: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The run that max_drop is measured from.")
    ] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML: a test case for each rule.")
    ] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--md", metavar="FILE", help="Write Markdown, for a comment on a pull request.")
    ] = None,
    try_others: Annotated[
        bool, typer.Option("--what-if", help="Show what a gate on one figure alone would let through.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Hold a run against rules. Exit code 0 pass, 1 fail, 2 could not decide."""
    found = rules_file.read(rules)
    if len(runs) > 1 and not try_others:
        raise UsageError("one run is gated at a time; several go with --what-if")
    if len(runs) > 1 and (junit_file or markdown_file):
        raise UsageError("--junit and --md are about one run")
    if try_others:
        lent(found)  # say at once that no rule lends a bound
    try:
        results, table = _evaluate(found, runs, baseline, try_others=try_others)
    except UnitError as error:
        # Scores that contradict each other are no failed gate.
        raise StoreError(f"could not decide: {error}") from None
    _write(results, table, junit_file, markdown_file)
    _print(results, table, as_json=as_json)
    raise typer.Exit(gating.exit_code(gating.worst(result.outcome for result in results)))


def _evaluate(
    rules: tuple[Rule, ...], runs: list[Path], baseline: Path | None, *, try_others: bool
) -> tuple[list[GateResult], WhatIf | None]:
    with ExitStack() as opened:
        stores = [opened.enter_context(RunStore.open(run)) for run in runs]
        before, why = None, _NONE_GIVEN
        if baseline is not None:
            try:
                before = opened.enter_context(RunStore.open(baseline))
            except StoreError as error:
                why = f"the baseline cannot be read: {error}"
        results = [gating.evaluate(rules, store, before, no_baseline=why) for store in stores]
        pairs = list(zip(stores, results, strict=True))
        return results, what_if(rules, pairs, before, no_baseline=why) if try_others else None


def _write(
    results: list[GateResult], table: WhatIf | None, junit_file: Path | None, markdown_file: Path | None
) -> None:
    if junit_file:
        _put(junit_file, junit(results[0]))
    if markdown_file:
        _put(markdown_file, gate_markdown(results[0], table))
    summary = os.environ.get(_SUMMARY)
    if summary and len(results) == 1:
        _append(Path(summary), gate_markdown(results[0], table))


def _put(path: Path, text: str) -> None:
    try:
        jsonio.write_atomic(path, text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"{path} ({_SUMMARY}): cannot be written: {error.strerror}") from None


def _print(results: list[GateResult], table: WhatIf | None, *, as_json: bool) -> None:
    if as_json:
        document = gating.to_document(results[0]) if len(results) == 1 else {}
        if table is not None:
            document["what_if"] = what_if_document(table)
        typer.echo(jsonio.dumps(document, indent=2))
        return
    out = console()
    if len(results) == 1:
        out.print(gate_table(results[0]))
    if table is not None:
        out.print(*([""] if len(results) == 1 else []), what_if_table(table), sep="\n")
