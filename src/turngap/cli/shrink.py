"""`turngap shrink`: cut failed replays of a run down to regression tests, a file of conversations for `turngap eval`.

This module finds the failed replays, has them cut, writes the file and says what it holds; how they are cut is decided
in `turngap.protocols.shrink`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import jsonio
from turngap.cli import interrupt, settings
from turngap.cli.eval import opened
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.errors import UsageError
from turngap.formats import write
from turngap.protocols.cases import shrink_run
from turngap.protocols.evaluate import Services
from turngap.protocols.shrink import Case, Uncut
from turngap.report.harmless import one_line
from turngap.runs.store import RunStore


def shrink(
    run: Annotated[Path, typer.Argument(help="Run directory with replays.")],
    conversation: Annotated[
        list[str] | None, typer.Option(help="Only the replay of this conversation; repeat for several.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the cases go, chat-completions JSONL.")
    ] = Path("cases.jsonl"),
    max_calls: Annotated[int, typer.Option(help="Most questions to the model for one case.")] = 200,
    base_url: Annotated[str | None, typer.Option(help="Of the model's server; else OPENAI_BASE_URL.")] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON, nothing else.")] = False,
) -> None:
    """Cut failed replays down to the shortest history that still fails in the same way.

    The file is read by turngap eval like any recording, and fails there in the same way. Exit code 1 means that a
    replay could not be cut since the model's server failed.
    """
    if max_calls < 1:
        raise UsageError(f"--max-calls is at least 1, not {max_calls}")
    with RunStore.open(run) as store:
        config = settings.changed(
            store.config, {"model.base_url": base_url or os.environ.get("OPENAI_BASE_URL") or None}
        )
    progress = Terminal()
    found: list[Case | Uncut] = []
    with opened(cache, None) as (shared, _):
        services = Services(progress=progress, cache=shared)

        async def work() -> None:
            found.extend(await shrink_run(run, config, services, conversation or None, max_calls))

        interrupt.run(work(), progress)
    cases = [one for one in found if isinstance(one, Case)]
    if cases:
        write((case.conversation for case in cases), output)
    _show(found, output if cases else None, as_json=as_json)
    if any(isinstance(one, Uncut) and one.errored for one in found):
        raise typer.Exit(1)


def _show(found: Sequence[Case | Uncut], output: Path | None, *, as_json: bool) -> None:
    if as_json:
        cases = [
            {"conversation": one.conversation.id, "kept": len(one.conversation.messages)}
            | msgspec.to_builtins(one.origin)
            for one in found
            if isinstance(one, Case)
        ]
        uncut = [msgspec.to_builtins(one) for one in found if isinstance(one, Uncut)]
        typer.echo(jsonio.dumps({"file": str(output) if output else None, "cases": cases, "uncut": uncut}, indent=2))
        return
    for one in found:
        say(_line(one))
    say(f"cases: {output}" if output else "no case: nothing was written", err=True)


def _line(one: Case | Uncut) -> str:
    if isinstance(one, Uncut):
        return f"{one_line(one.conversation)}: {one.reason}"
    origin = one.origin
    place = "past the recording" if origin.decision is None else f"at decision {origin.decision}"
    bound = "" if origin.complete else " (bound reached)"
    return (
        f"{one_line(one.conversation.id)}: {origin.category} {place}, from decision {origin.start} on; "
        f"{len(one.conversation.messages)} of {origin.messages} messages, {origin.calls} calls{bound}"
    )
