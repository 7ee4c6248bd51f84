"""`turngap synth`: make verified tasks of a domain; and, as verbs of its own, `graph`, `check` and `overlap`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turngap import domains, jsonio
from turngap.cli import interrupt, settings
from turngap.cli.eval import opened
from turngap.cli.guard import guarded
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.cli.synth_check import check
from turngap.cli.synth_graph import graph
from turngap.cli.synth_overlap import overlap
from turngap.config import SCENARIOS, ModelConfig, SynthConfig
from turngap.errors import StoreError, UsageError
from turngap.report.synth_card import card, synth_table
from turngap.report.table import console
from turngap.synth.account import Account, account
from turngap.synth.export import export
from turngap.synth.pipeline import stored_graph, synthesise, tool_graph
from turngap.synth.store import SynthStore

synth = typer.Typer(
    name="synth",
    add_completion=False,
    rich_markup_mode=None,
    help="Make verified tasks from trajectories; or look at a domain's tool graph, check tasks, find overlaps.",
    invoke_without_command=True,
)
synth.command("graph")(graph)
synth.command("check")(check)
synth.command("overlap")(overlap)

CARD = "card.md"
_MOST, _EACH = 1000, 20
"""Explorations where none are asked for: in all, and for each task of a scenario."""


@synth.callback()
def make(
    context: typer.Context,
    domain: Annotated[
        str | None, typer.Option(help="retail, tau2:NAME, FILE.py, module:attribute: see turngap list domains.")
    ] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"{', '.join(SCENARIOS)} or all; repeat for several.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", help="Tasks of each scenario; all that come of it else.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where all goes; repeating resumes.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is left to chance.")] = 0,
    explorations: Annotated[int | None, typer.Option(help="Most explorations; 1000, or 20 for each of -n.")] = None,
    explorer: Annotated[str, typer.Option(metavar="MODEL", help="program, or a model that explores.")] = "program",
    summariser: Annotated[str, typer.Option(metavar="MODEL", help="template, or a model that words.")] = "template",
    scorer: Annotated[str | None, typer.Option(metavar="MODEL", help="A model that scores each task 0 to 10.")] = None,
    max_steps: Annotated[int, typer.Option(help="Calls of one exploration.")] = 20,
    tools: Annotated[int, typer.Option(help="Tools that an exploration is offered.")] = 12,
    people: Annotated[str | None, typer.Option(metavar="TABLE", help="Where customers stand; found out else.")] = None,
    overrides: Annotated[
        str | None, typer.Option("--graph", metavar="FILE", help="TOML with edges to add to the tool graph, or remove.")
    ] = None,
    phrases: Annotated[str | None, typer.Option(metavar="FILE", help="TOML with wordings of your own.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the models' server; else OPENAI_BASE_URL.")] = None,
    api_key_env: Annotated[str, typer.Option(help="Variable that holds the server's key.")] = "OPENAI_API_KEY",
    temperature: Annotated[float, typer.Option(min=0, help="Of explorer and summariser.")] = 0.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Explorations under way at once.")] = 8,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one request.")] = 120.0,
    give_up_after: Annotated[float, typer.Option(min=0, help="Seconds of retrying a request.")] = 600.0,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the account as JSON, nothing else.")] = False,
) -> None:
    """Make verified tasks from trajectories, with their reference trajectories and a data card.

    DIR gets tasks.json, trajectories.jsonl and card.md. Exit code 1 means that fewer tasks than asked for came of it,
    that a model's server failed (the same command goes on), or that code of the domain failed.
    """
    if context.invoked_subcommand is not None:
        _require_none_before(context)
        return
    if domain is None:
        raise UsageError("no domain: give --domain, e.g. retail or FILE.py (turngap list domains)")
    if output is None:
        raise UsageError("no directory: give -o DIR")

    def asked(spec: str) -> ModelConfig:
        return ModelConfig(
            spec=spec,
            base_url=base_url,
            api_key_env=api_key_env,
            temperature=temperature,
            concurrency=concurrency,
            timeout=timeout,
            give_up_after=give_up_after,
        )

    config = SynthConfig(
        domain=domain,
        scenarios=settings.scenarios(scenario or ["all"]),
        count=n,
        explorations=_enough(n) if explorations is None else explorations,
        explorer=asked(explorer),
        summariser=asked(summariser),
        scorer=None if scorer is None else asked(scorer),
        seed=seed,
        max_steps=max_steps,
        tools=tools,
        people=people,
        graph=overrides,
        phrases=phrases,
    )
    progress = Terminal()
    with opened(cache, None) as (shared, _):
        failed = interrupt.run(synthesise(config, output, progress, shared), progress)
    conclude(output, failed, as_json=as_json)


def conclude(directory: Path, failed: int, *, as_json: bool) -> None:
    """Write tasks, trajectories and card; print what came of it.

    Raises:
        typer.Exit: with code 1, when less was made than was asked for.
    """
    with guarded():
        found, written = _written(directory)
    config = found.config
    if as_json:
        typer.echo(jsonio.dumps({"synthesis": str(directory), **jsonio.loads(jsonio.encode(found))}, indent=2))
    else:
        console().print(synth_table(found))
        say(f"{written} tasks: {directory / 'tasks.json'}, card: {directory / CARD}", err=True)
    if found.further:
        say(f"{found.further} further explorations are stored, and left out; --explorations takes them in", err=True)
    if found.faults:
        first = next(iter(found.faults))
        say(f"code failed in {sum(found.faults.values())} explorations and candidates, the first: {first}", err=True)
    short = [name for name, kept in found.tasks.items() if config.count is not None and kept < config.count]
    if failed:
        say(f"{failed} explorations could not be finished; the same command tries them again", err=True)
    elif short:
        say(
            f"{', '.join(short)}: fewer tasks than {config.count} came of {config.explorations} explorations; "
            "give more with --explorations",
            err=True,
        )
    if failed or short or found.faults:
        raise typer.Exit(1)


def _written(directory: Path) -> tuple[Account, int]:
    """Write the files; what the synthesis came to, and how many tasks were written. The domain is at work."""
    with SynthStore.open(directory) as store:
        config = store.config
        found = account(store, stored_graph(store) or tool_graph(config, domains.build(config.domain)))
        written = export(store)
    try:
        jsonio.write_atomic(directory / CARD, card(found))
    except OSError as error:
        raise StoreError(f"{directory / CARD}: cannot be written: {error.strerror}") from None
    return found, written


def _enough(n: int | None) -> int:
    return _MOST if n is None else max(_EACH * n, 1)


def _require_none_before(context: typer.Context) -> None:
    """Options before a verb of the group would be lost in silence."""
    # By name: newer Typer has a copy of this enumeration of Click's.
    if any(getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE" for name in context.params):
        raise UsageError(f"options stand before {context.invoked_subcommand!r}; put them behind it")
