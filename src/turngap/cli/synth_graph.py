"""`turngap synth graph`: which tool's results fill which tool's parameters; as a picture, as JSON, or as a list."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from turngap import domains, jsonio
from turngap.cli.guard import guarded
from turngap.cli.say import say
from turngap.errors import StoreError, UsageError
from turngap.report.tool_graph import svg
from turngap.synth import override
from turngap.synth.graph import ToolGraph, build


def graph(
    domain: Annotated[
        str, typer.Option(help="retail, tau2:NAME, FILE.py, module:attribute: see turngap list domains.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write: .svg for a picture, .json for all of it."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="By which records of the domain are tried.")] = 0,
    overrides: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with edges to add and to remove.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the graph as JSON, nothing else.")] = False,
) -> None:
    """Find out which tool's results fill which tool's parameters, by trying the tools on records of the domain."""
    if output is not None:
        _check(output)
    with guarded():
        found = build(domains.build(domain), seed=seed, overrides=override.read(overrides) if overrides else None)
    if output is not None:
        _write(output, svg(found) if output.suffix == ".svg" else found.json())
    if as_json:
        sys.stdout.write(found.json())
    elif output is None:
        for line in _listed(found):
            say(line)
    _note(found, output)


def _check(output: Path) -> None:
    if output.suffix not in (".svg", ".json"):
        raise UsageError(f"{output}: a graph is written as .svg or .json; name such a file")
    if output.is_dir() or not output.parent.is_dir():
        raise UsageError(f"{output}: not a file in an existing folder; name one")


def _write(output: Path, text: str) -> None:
    try:
        jsonio.write_atomic(output, text)
    except OSError as error:
        raise StoreError(f"{output}: cannot be written: {error.strerror}") from None


def _listed(found: ToolGraph) -> Iterator[str]:
    """Every arrow, and under it the fields and parameters with their evidence."""
    for source, target in found.arrows:
        yield f"{source} -> {target}"
        for edge in found.into(target):
            if edge.source == source:
                yield f"    {edge.field or '(whole result)'} -> {edge.parameter}  [{', '.join(edge.evidence)}]"


def _note(found: ToolGraph, output: Path | None) -> None:
    where = f"; written to {output}" if output else ""
    say(f"turngap: {len(found.tools)} tools, {len(found.arrows)} arrows, {len(found.edges)} edges{where}", err=True)
    if found.silent:
        silent = ", ".join(found.silent)
        say(f"turngap: no call that was tried gave a result, so no edge leads from: {silent}", err=True)
