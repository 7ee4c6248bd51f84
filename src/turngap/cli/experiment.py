"""`turngap experiment`: a whole study from one TOML file, resumable, to the figures before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turngap import jsonio
from turngap.cli import interrupt
from turngap.cli.say import say
from turngap.cli.training_progress import TrainingTerminal
from turngap.errors import MissingExtra
from turngap.report.study_chart import study_chart
from turngap.report.study_table import study_figures, study_page, study_table
from turngap.report.table import console
from turngap.report.training_card import CARD, card
from turngap.samples import studies
from turngap.study.findings import Findings, findings
from turngap.study.laboratory import Laboratory
from turngap.study.plan import Study, read
from turngap.training import exchange

_HELP = f"A TOML file, or one that comes with turngap: {', '.join(studies.names())}."


def experiment(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=_HELP)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where all goes, runs/<study> else; repeating resumes."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, nothing else.")] = False,
) -> None:
    """Make tasks, let a teacher act on them, train a model on that, and measure it before and after.

    Every stage is resumable and is done once: repeating the command goes on, or shows what was found.
    """
    plan = read(studies.find(study))
    directory = output or place(plan)
    found = perform_study(plan, directory)
    if as_json:
        typer.echo(document(found, directory))
        return
    console().print(study_table(found))
    say(f"study: {directory}, page: {page(plan, directory)}", err=True)


def place(plan: Study) -> Path:
    """Where a study goes if nobody says otherwise, whichever command runs it."""
    return Path("runs") / plan.name


def perform_study(plan: Study, directory: Path) -> Findings:
    """Run or resume a study with live progress; write its page, its document and the cards of its models.

    Raises:
        TurngapError: as `Laboratory.run`. typer.Exit: it was interrupted.
    """
    progress = TrainingTerminal()
    results = interrupt.run(Laboratory(plan, directory, progress, progress.watch).run(), progress)
    found = findings(plan, results)
    jsonio.write_atomic(page(plan, directory), study_page(found, _drawn(found, page(plan, directory))))
    jsonio.write_atomic(_stored(plan, directory), jsonio.dumps(_plain(found), indent=2) + "\n")
    figures = study_figures(found)
    for trained in results.trained:
        manifest, _ = exchange.read(trained.examples)
        jsonio.write_atomic(trained.folder / CARD, card(trained.outcome, manifest, trained.folder, figures))
    return found


def _drawn(found: Findings, beside: Path) -> str:
    """The name of the file with the chart, which is written beside the page; nothing where charts are not installed."""
    try:
        from turngap.report import charts  # noqa: PLC0415 - needs an extra; the rest does not
    except MissingExtra:
        return ""
    file = beside.with_suffix(".png")
    jsonio.write_atomic(file, charts.png(study_chart(found)))
    return file.name


def page(plan: Study, directory: Path) -> Path:
    """The Markdown of a study that was run there; its name is the study's, since studies may share a directory."""
    return directory / f"{Path(plan.name).name}.md"


def is_finished(plan: Study, directory: Path) -> bool:
    """Whether a study was run to its end there."""
    return _stored(plan, directory).is_file()


def document(found: Findings, directory: Path) -> str:
    """What ``--json`` prints."""
    return jsonio.dumps({"directory": str(directory), **_plain(found)}, indent=2)


def _stored(plan: Study, directory: Path) -> Path:
    return page(plan, directory).with_suffix(".json")


def _plain(found: Findings) -> Any:
    return msgspec.to_builtins(found, enc_hook=str)
