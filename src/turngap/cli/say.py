"""Print text for a person: `typer.echo`, through `turngap.report.harmless`. JSON is printed as it is, not from here."""

from __future__ import annotations

import typer

from turngap.report.harmless import harmless


def say(text: str, *, err: bool = False) -> None:
    """Print a text and a line end, to standard error if `err`."""
    typer.echo(harmless(text), err=err)
