"""`turngap compare`: runs against a baseline, paired, with a verdict in plain words."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.analysis.compare import SEE, to_document
from turngap.analysis.compare import compare as hold_against
from turngap.errors import UsageError
from turngap.report.compare_table import comparison_report
from turngap.report.table import console
from turngap.runs.store import RunStore


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="Run directories; the first is the baseline.")
    ],
    metrics: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Figures to compare; the usual ones if not given.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare runs that did not measure the same thing, and say so.")
    ] = False,
    see: Annotated[
        float, typer.Option(metavar="POINTS", help="Say how many conversations would show so large a difference.")
    ] = 100 * SEE,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON, nothing else.")] = False,
) -> None:
    """Hold runs against the first of them: paired differences, how sure they are, and what they mean.

    Only what all runs have measured is compared. Runs on different data, or measured with another matcher or judge, are
    refused.
    """
    if not 0 < see <= 100:
        raise UsageError(f"--see is a difference in points, above 0 and at most 100, not {see:g}")
    names = None if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()]
    with ExitStack() as closing:
        stores = [closing.enter_context(RunStore.open(run)) for run in runs]
        found = hold_against(stores, force=force, metrics=names, see=see / 100, seed=seed)
    if as_json:
        typer.echo(jsonio.dumps(to_document(found), indent=2))
        return
    console().print(comparison_report(found))
