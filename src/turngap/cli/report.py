"""`turngap report`: stored runs as one self-contained page, or as Markdown, with charts as PNG on request.

Reads runs and asks nobody. Options are read here; what a report says is decided in `turngap.report.compose`.
"""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.cli.say import say
from turngap.errors import DataError, UsageError
from turngap.report.compose import MOST_FAILURES, Wish, compose
from turngap.report.document import Document
from turngap.runs.store import RunStore


class Form(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "md"


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories, in the order in which they are to stand.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="report.html (or report.md) if not given.")
    ] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="html, or md for Markdown without scripts; else by FILE's ending.")
    ] = None,
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write every chart there, as PNG.")] = None,
    failures: Annotated[int, typer.Option(help="Most failed workflows or trials of each run.")] = MOST_FAILURES,
    no_transcripts: Annotated[
        bool, typer.Option("--no-transcripts", help="Leave texts of conversations out; figures stay.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Of the report; made from the models if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON, nothing else.")] = False,
) -> None:
    """Write a report on stored runs: one file that opens offline."""
    if failures < 0:
        raise UsageError(f"--failures is at least 0, not {failures}")
    if len({path.resolve() for path in runs}) < len(runs):
        raise UsageError("a run is named twice")
    form, output = _place(form, output)
    with ExitStack() as closing:
        stores = [closing.enter_context(RunStore.open(path)) for path in runs]
        document = compose(stores, Wish(failures=failures, transcripts=not no_transcripts, title=title))
    pictures = _draw(document, png) if png else {}
    _write(output, _text(document, form, pictures, output))
    if as_json:
        written = {"report": str(output), "runs": [str(path) for path in runs], "png": [*map(str, pictures.values())]}
        typer.echo(jsonio.dumps(written, indent=2))
        return
    say(f"report: {output}")
    if png:
        say(f"charts: {len(pictures)} in {png}")


def _place(form: Form | None, output: Path | None) -> tuple[Form, Path]:
    """The form by the option, else by the file's ending, else HTML; and the file."""
    if form is None:
        form = Form.MARKDOWN if output is not None and output.suffix.lower() in (".md", ".markdown") else Form.HTML
    return form, output or Path(f"report.{form}")


def _text(document: Document, form: Form, pictures: dict[str, Path], output: Path) -> str:
    # The page needs packages that Markdown does not, so neither is imported before it is asked for.
    if form is Form.HTML:
        from turngap.report.html import render as page  # noqa: PLC0415 - see above

        return page(document)
    from turngap.report.prose import render as prose  # noqa: PLC0415 - see above

    return prose(document, {name: _from(output, path) for name, path in pictures.items()})


def _from(output: Path, path: Path) -> str:
    """A picture's path as the report has to name it."""
    try:
        return path.resolve().relative_to(output.resolve().parent).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _draw(document: Document, folder: Path) -> dict[str, Path]:
    from turngap.report import charts  # noqa: PLC0415 - needs the extra `report`

    found: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for chart in document.charts:
            found[chart.name] = folder / f"{chart.name}.png"
            found[chart.name].write_bytes(charts.png(chart))
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", file=str(folder)) from None
    return found


def _write(output: Path, text: str) -> None:
    try:
        jsonio.write_atomic(output, text)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", file=str(output)) from None
