"""`turngap gap`: why the turns and the workflows of one run differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.analysis.gap import gap as analyse
from turngap.analysis.gap import to_document
from turngap.report.gap_table import gap_report
from turngap.report.table import console
from turngap.runs.store import RunStore


def gap(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    seed: Annotated[int, typer.Option(help="Of what is drawn at random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON, nothing else.")] = False,
) -> None:
    """Say why a run's turns and its workflows differ.

    What single decisions predict for whole conversations beside what was measured, and whether errors breed errors.
    Make the run with --after-failure continue, or little is known of what comes after a failure.
    Exit code 1 means that nothing was measured.
    """
    with RunStore.open(run) as store:
        found = analyse(store, seed=seed)
    if as_json:
        typer.echo(jsonio.dumps({"run": str(run), **to_document(found)}, indent=2))
    else:
        console().print(gap_report(found, title=f"{found.model}: {run}"))
    if found.empty:
        raise typer.Exit(1)
