"""`turngap list`: the names that a seam knows, those of installed plug-ins included."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from turngap import jsonio
from turngap.errors import UsageError
from turngap.models.packaged import names

_NOTES: dict[str, dict[str, str]] = {
    "models": {
        "openai": "openai/NAME: any chat-completions server (--base-url or OPENAI_BASE_URL)",
        "local": f"{names()}, local/FILE.gguf: llama.cpp in this process (extra `local`)",
        "hf": "hf/FOLDER: a model of transformers in this process, in batches (extra `train`)",
        "baseline": "baseline/nearest[?train=FILE], baseline/reference, baseline/noisy?p_text=..&p_tool=..&seed=..; on "
        "live tasks also baseline/nothing, baseline/transfer",
        "recorded": "recorded/FILE: somebody else's predictions",
        "corrected": "corrected/SPEC: on live tasks, the model of SPEC until it errs, then the reference agent",
    },
    "formats": {},
    "domains": {
        "retail": "retail[?seed=N|?db=FILE|?db=tau2]: a web shop, made up or in tau2's schema",
        "tau2": "tau2:retail, tau2:airline, tau2:telecom, tau2:mock (extra `tau2`)",
    },
    "users": {
        "scripted": "scripted[?patience=N]: acts out a task without a model",
        "llm": "llm/openai/NAME, llm/local/smollm2: a model plays the user",
        "recorded": "recorded/FILE: says what was recorded",
    },
    "judges": {"rules": "deterministic and offline, no model"},
}
"""Seam -> name -> what a person types, where the name alone does not say it."""

_OWN: dict[str, tuple[str, str]] = {
    "domains": (
        "FILE.py",
        "a domain of your own; FILE.py:NAME where it is not called DOMAIN (docs/your-own-domain.md)",
    ),
}
"""Seam -> a form that is no name, and what it is for. Every seam takes ``module:attribute``."""


def show(
    what: Annotated[str, typer.Argument(metavar="models|domains|users|formats|judges", help="Which seam.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of names.")] = False,
) -> None:
    """List the known models, domains, users, formats or judges, plug-ins included."""
    if what not in _NOTES:
        raise UsageError(f"nothing to list under {what!r}; known: {', '.join(_NOTES)}")
    # Each seam's package is imported only when it is asked about.
    names: list[str] = import_module(f"turngap.{what}").REGISTRY.names()
    if as_json:
        typer.echo(jsonio.dumps(names))
        return
    rows = [(name, _NOTES[what].get(name, "")) for name in names]
    rows += [_OWN[what]] if what in _OWN else []
    rows.append(("module:attribute", f"what an importable Python module holds under that name, as one of the {what}"))
    width = max(len(name) for name, _ in rows)
    for name, note in rows:
        typer.echo(f"{name:{width}}  {note}".rstrip())
