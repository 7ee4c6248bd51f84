"""`turngap view`: stored runs as pages in a browser, served on this machine, or copied into a folder.

Options are read here; what pages show is decided in `turngap.web`.
"""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from turngap.cli.say import say
from turngap.errors import UsageError
from turngap.web import guarding
from turngap.web.guarding import SHORTEST_TOKEN
from turngap.web.shelf import Shelf

_HOST = "127.0.0.1"
_PORTS = 65535


def view(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories, or directories that hold some.")
    ],
    port: Annotated[int, typer.Option(metavar="N", help="0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Bind elsewhere than to this machine; asks browsers for a token.")
    ] = _HOST,
    token: Annotated[
        str | None,
        typer.Option(metavar="TEXT", envvar="TURNGAP_VIEW_TOKEN", show_envvar=True, help="Ask for this one, here too."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write pages that open from disk there, and serve nothing.")
    ] = None,
    conversations: Annotated[
        int, typer.Option(metavar="N", help="Most conversations or tasks of each run in a copy.")
    ] = 100,
) -> None:
    """Read runs in a browser: figures, conversations, where they went wrong, and what changed between two.

    Serves on this machine until Ctrl-C. Runs are only read, and may still be at work; what people say about verdicts is
    kept beside them. Bound elsewhere, the address holds a token: whoever has it sees the runs, and nobody else.
    """
    if not 0 <= port <= _PORTS:
        raise UsageError(f"--port is between 0 and {_PORTS}, not {port}")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise UsageError(f"--token has at least {SHORTEST_TOKEN} characters")
    if conversations < 0:
        raise UsageError(f"--conversations is at least 0, not {conversations}")
    shelf = Shelf.open(runs)
    for note in shelf.notes:
        say(f"left out: {note}", err=True)
    if export is not None:
        _export(shelf, export, conversations)
        return
    _serve(shelf, host, port, token, browse=not no_browser)


def _serve(shelf: Shelf, host: str, port: int, token: str | None, *, browse: bool) -> None:
    from turngap.web.app import create  # noqa: PLC0415 - FastAPI takes a third of a second and may be missing
    from turngap.web.serving import Bound  # noqa: PLC0415 - the same

    with Bound(host, port) as bound:
        cookie = f"turngap-{bound.port}"
        rules = (
            guarding.local(token, cookie=cookie) if bound.is_local else guarding.elsewhere(host, token, cookie=cookie)
        )
        app = create(shelf, rules)
        secret = f"?{guarding.TOKEN}={quote(rules.token, safe='')}" if rules.token else ""
        say(f"{bound.address}{secret}")
        sys.stdout.flush()
        say(f"{len(shelf.runs)} run{'' if len(shelf.runs) == 1 else 's'}; Ctrl-C ends the viewer", err=True)
        if not bound.is_local:
            say("whoever has this address sees the runs, and the network in between sees both", err=True)
        # A browser's command line can be read by everybody on the machine: no token goes there.
        if browse and not secret and _has_screen():
            webbrowser.open(bound.address)
        bound.serve(app)


def _export(shelf: Shelf, folder: Path, conversations: int) -> None:
    from turngap.web.export import export as write  # noqa: PLC0415 - FastAPI takes a third of a second and may be missing

    written = write(shelf, folder, conversations=conversations)
    say(str(folder / "index.html"))
    left = f"; {written.left_out:,} that pages name are left out (--conversations)" if written.left_out else ""
    say(f"{written.pages:,} pages with {written.conversations:,} conversations or tasks{left}", err=True)


def _has_screen() -> bool:
    """Whether a browser can open a window; a text browser would take the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
