"""`turngap experiment`: a whole study from one TOML file, resumable, to the figures before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import jsonio
from turngap.cli import interrupt
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.report.study_table import study_page, study_table
from turngap.report.table import console
from turngap.study.findings import Findings, findings
from turngap.study.laboratory import Laboratory
from turngap.study.plan import read
from turngap.training.moment import Moment

PAGE, DOCUMENT = "study.md", "study.json"
_EVERY = 20.0
"""Seconds between two lines about a training."""


def experiment(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="What to do; see docs/experiments.md.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where all goes, runs/<study> else; repeating resumes."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, nothing else.")] = False,
) -> None:
    """Make tasks, let a teacher act on them, train a model on that, and measure it before and after.

    Every stage is resumable and is done once: repeating the command goes on, or shows what was found.
    """
    plan = read(study)
    directory = output or Path("runs") / plan.name
    found = perform_study(study, directory)
    if as_json:
        typer.echo(jsonio.dumps({"study": str(directory), **msgspec.to_builtins(found, enc_hook=str)}, indent=2))
        return
    console().print(study_table(found))
    say(f"study: {directory}, page: {directory / PAGE}", err=True)


def perform_study(study: Path, directory: Path) -> Findings:
    """Run or resume a study with live progress; write its page and document, and return what was found."""
    plan = read(study)
    progress = Terminal()
    results = interrupt.run(Laboratory(plan, directory, progress, _Told(progress)).run(), progress)
    found = findings(plan, results)
    jsonio.write_atomic(directory / PAGE, study_page(found))
    jsonio.write_atomic(directory / DOCUMENT, jsonio.dumps(msgspec.to_builtins(found, enc_hook=str), indent=2) + "\n")
    return found


class _Told:
    """Says now and then how a training goes."""

    def __init__(self, progress: Terminal) -> None:
        self._progress = progress
        self._next = 0.0

    def __call__(self, moment: Moment) -> None:
        if moment.seconds < self._next and moment.step < moment.steps:
            return
        self._next = moment.seconds + _EVERY
        self._progress.note(training_line(moment))


def training_line(moment: Moment) -> str:
    """How far a training is, in one line."""
    held = "" if moment.validation is None else f", validation {moment.validation:.3f}"
    left = moment.seconds / moment.step * (moment.steps - moment.step) if moment.step else 0.0
    return (
        f"training: step {moment.step} of {moment.steps}, loss {moment.loss:.3f}{held}, "
        f"{moment.tokens_per_second:.0f} tokens/s, about {left / 60:.0f} min left"
    )
