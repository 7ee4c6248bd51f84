"""`turngap judge`: give verdicts to people to label (`sample`), and hold the judge against them (`calibrate`)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import jsonio
from turngap.analysis.calibration import FORMAT, JUDGED, calibrate, draw
from turngap.cli.say import say
from turngap.errors import StoreError, UsageError
from turngap.report.calibration_table import calibration_table
from turngap.report.label_sheet import read_sheet, write_csv, write_jsonl
from turngap.report.table import console
from turngap.runs.store import RunStore

judge = typer.Typer(name="judge", add_completion=False, rich_markup_mode=None, help="Hold a judge against people.")


@judge.command("sample")
def write_sample(
    run: Annotated[Path, typer.Argument(help="Run directory with verdicts.")],
    n: Annotated[int, typer.Option("-n", help="How many verdicts to label.")] = 50,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV or JSONL, by its ending; RUN/labels.csv if not given."
        ),
    ] = None,
    protocol: Annotated[str, typer.Option(metavar="turn|workflow", help="Whose verdicts.")] = "turn",
    judge_name: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Whose verdicts; the run's first judge if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    show_verdict: Annotated[
        bool, typer.Option("--show-verdict", help="Put the judge's verdict into the sheet; else it is blind.")
    ] = False,
) -> None:
    """Write verdicts for people to label, drawn from what the judge approved and what it rejected."""
    _check(protocol)
    if n < 1:
        raise UsageError(f"-n is at least 1, not {n}")
    target = output or run / "labels.csv"
    if target.exists():
        raise UsageError(f"{target} is there already, perhaps with labels; name another file with -o")
    with RunStore.open(run) as store:
        name = judge_name or store.config.judge.specs[0]
        items = draw(store, protocol=protocol, judge=name, n=n, seed=seed)
        write = write_jsonl if target.suffix in (".jsonl", ".ndjson") else write_csv
        text = write(items, name, show_verdict=show_verdict)
    try:
        # Not `write_text`, which would turn the line ends of CSV into others on some systems.
        target.write_bytes(text.encode())
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from None
    say(f"{len(items)} verdicts of {name} to label: {target}; fill in the column label with yes, no or unclear")


@judge.command("calibrate")
def hold_against_people(
    run: Annotated[Path, typer.Argument(help="Run directory that the sample was drawn from.")],
    labels: Annotated[Path, typer.Argument(help="The sheet, with labels.")],
    apply: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Correct the figures of this run of the same judge too; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the intervals; the run's own if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Hold the judge against people: agreement, kappa, bias, and the figures corrected for its errors."""
    sheet = read_sheet(labels)
    _check(sheet.protocol)
    with ExitStack() as opened:
        store = opened.enter_context(RunStore.open(run))
        found = calibrate(
            store,
            sheet.labels,
            protocol=sheet.protocol,
            judge=sheet.judge,
            elsewhere=[opened.enter_context(RunStore.open(other)) for other in apply or ()],
            seed=store.config.seed if seed is None else seed,
        )
    if as_json:
        document = {"run": str(run), "format": FORMAT, "unlabelled": sheet.unlabelled, **msgspec.to_builtins(found)}
        typer.echo(jsonio.dumps(document, indent=2))
        return
    console().print(calibration_table(found, title=f"{found.judge} on {found.protocol}, held against people"))
    if sheet.unlabelled:
        say(f"{sheet.unlabelled} rows have no label yet", err=True)


def _check(protocol: str) -> None:
    if protocol not in JUDGED:
        raise UsageError(f"nobody judges {protocol!r}; a protocol is {' or '.join(JUDGED)}")
