"""`turngap converse`: conversations that an agent and a user make about scenarios, and that judges approve.

This module turns options into a `ConverseConfig`, has the conversations made, and writes and shows what came of it.
Repeating the command goes on where it was; a larger ``-n`` adds conversations, other judges are asked about the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.cli import interrupt, settings
from turngap.cli.eval import opened
from turngap.cli.guard import guarded
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.config import SCENARIOS, ConverseConfig, ModelConfig
from turngap.errors import UsageError
from turngap.report.converse_table import converse_table
from turngap.report.table import console
from turngap.synth.converse.account import account, gather
from turngap.synth.converse.desk import open_desk
from turngap.synth.converse.export import CONVERSATIONS, LEFT_OUT, export
from turngap.synth.converse.pipeline import converse as make
from turngap.synth.converse.store import ConverseStore


def converse(
    domain: Annotated[
        str | None, typer.Option(help="retail, tau2:NAME, FILE.py, module:attribute: see turngap list domains.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Conversations to begin; what judges approve is kept.")] = 10,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where all goes; repeating resumes.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tasks to talk about; synthesised if not given.")
    ] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"{', '.join(SCENARIOS)} or all; repeat for several.")
    ] = None,
    writer: Annotated[str, typer.Option(metavar="MODEL", help="template, or a model that writes.")] = "template",
    model: Annotated[str, typer.Option(help="Which agent: see turngap list models.")] = "baseline/reference",
    user: Annotated[str, typer.Option(help="Who plays the user: scripted, or llm/openai/NAME.")] = "scripted",
    judge: Annotated[
        list[str] | None, typer.Option(help="reward, rules, or a model; all must approve. Both if not given.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tool specifications, where there is no domain.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="FILE", help="The policy that goes with --tools.")] = None,
    simulator: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model that answers calls of --tools.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is left to chance.")] = 0,
    max_steps: Annotated[int, typer.Option(help="Messages of the agent in a conversation.")] = 60,
    max_errors: Annotated[int, typer.Option(help="Failed calls in a conversation.")] = 10,
    temperature: Annotated[float, typer.Option(min=0, help="Of agent, user and writer.")] = 0.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one answer of any model.")] = 1024,
    base_url: Annotated[str | None, typer.Option(help="Of the models' server; else OPENAI_BASE_URL.")] = None,
    user_base_url: Annotated[str | None, typer.Option(help="Of the user's server, where it is another one.")] = None,
    judge_base_url: Annotated[
        list[str] | None, typer.Option(help="Of the judges' server; repeat it, one for each --judge.")
    ] = None,
    api_key_env: Annotated[str, typer.Option(help="Variable that holds the server's key.")] = "OPENAI_API_KEY",
    judge_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the judges' key.")] = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one request.")] = 120.0,
    give_up_after: Annotated[float, typer.Option(min=0, help="Seconds of retrying one request.")] = 600.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Conversations under way at once.")] = 8,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the account as JSON, nothing else.")] = False,
) -> None:
    """Make conversations of an agent and a user; keep those that all judges approve.

    DIR gets conversations.jsonl, left_out.jsonl and account.json. Exit code 1 means that a server failed, that a judge
    could not decide, that there were fewer scenarios than asked for, or that nothing was kept.
    """
    if output is None:
        raise UsageError("no directory: give -o DIR")
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None

    def asked(spec: str, heat: float, url: str | None = base_url, key: str = api_key_env) -> ModelConfig:
        return ModelConfig(
            spec=spec,
            base_url=url,
            api_key_env=key,
            temperature=heat,
            max_tokens=max_tokens,
            timeout=timeout,
            give_up_after=give_up_after,
            concurrency=concurrency,
        )

    judges = judge or (["rules"] if tools is not None else ["reward", "rules"])
    urls = _urls(judge_base_url or [os.environ.get("TURNGAP_JUDGE_BASE_URL") or base_url], len(judges))
    config = ConverseConfig(
        domain=domain,
        tools=tools,
        policy=policy,
        tasks=tasks,
        scenarios=settings.scenarios(scenario or ["all"]),
        count=n,
        writer=asked(writer, temperature),
        model=asked(model, temperature),
        user=asked(user, temperature, user_base_url or os.environ.get("TURNGAP_USER_BASE_URL") or base_url),
        simulator=None if simulator is None else asked(simulator, 0.0),
        judges=tuple(
            asked(spec, 0.0, url, judge_api_key_env or api_key_env) for spec, url in zip(judges, urls, strict=True)
        ),
        seed=seed,
        max_steps=max_steps,
        max_errors=max_errors,
    )
    progress = Terminal()
    with opened(cache, None) as (shared, _):
        failed = interrupt.run(make(config, output, progress, shared), progress)
    conclude(output, failed, as_json=as_json)


def conclude(directory: Path, failed: int, *, as_json: bool) -> None:
    """Write the conversations and the account; print what came of it.

    Raises:
        typer.Exit: with code 1, when less was made than was asked for.
    """
    with guarded(), ConverseStore.open(directory) as store:
        config = store.config
        made = list(gather(store, open_desk(config)))
        found = account(store, made)
        kept, left_out = export(directory, made, found)
    if as_json:
        document = {"conversations": str(directory / CONVERSATIONS), **jsonio.loads(jsonio.encode(found))}
        typer.echo(jsonio.dumps(document, indent=2))
    else:
        console().print(converse_table(found))
    say(f"{kept} conversations: {directory / CONVERSATIONS}", err=True)
    if left_out:
        say(f"{left_out} that took place and are left out, with the reasons: {directory / LEFT_OUT}", err=True)
    if failed:
        say(f"{failed} conversations could not be finished; the same command tries them again", err=True)
    if found.begun < config.count:
        say(f"there are scenarios for {found.begun} conversations only, not for {config.count}", err=True)
    if failed or found.begun < config.count or not kept:
        raise typer.Exit(1)


def _urls(given: list[str | None] | list[str], judges: int) -> list[str | None]:
    """A server for each judge: the one that is named, or one for each.

    Raises:
        UsageError: as many as neither.
    """
    if len(given) == 1:
        return [given[0]] * judges
    if len(given) != judges:
        raise UsageError(f"--judge-base-url is given {len(given)} times for {judges} judges: once, or one for each")
    return [*given]
