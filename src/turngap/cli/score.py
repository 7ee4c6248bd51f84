"""`turngap score`: judge and score a stored run again, with another judge, tool parser or tokenizer.

The model is not asked. What the run was made with stays as it is in `run.json`; only verdicts and scores change. Live
trials are graded again: their recorded calls are made anew in fresh worlds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from turngap.cli import interrupt, settings
from turngap.cli.eval import opened, show, sum_up
from turngap.cli.progress import Terminal
from turngap.cli.rollout import conclude
from turngap.config import RolloutConfig
from turngap.errors import UsageError
from turngap.protocols.evaluate import Services, rescore
from turngap.protocols.trials import regrade
from turngap.runs.store import RunStore


def score(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Whose verdicts give the figures: rules, or a model; repeat for several, the first for the plain "
            "figures. The run's own if not given.",
        ),
    ] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="Of the judge's server.")] = None,
    judge_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the judge's key.")] = None,
    protocols: Annotated[str | None, typer.Option(help="all, or some; those of the run if not given.")] = None,
    tool_parser: Annotated[
        str | None,
        typer.Option(help="Read calls in answers on recorded history with this dialect; replays stay as they ran."),
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(metavar="auto|default|unicode", help="Of ROUGE.")] = None,
    compare_args: Annotated[
        str | None, typer.Option(metavar="JSON|FILE", help="Strict: tool -> the only arguments that count.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    save_prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every judge prompt here, as JSONL.")
    ] = None,
    max_errored: Annotated[
        int, typer.Option(min=0, metavar="N", help="Exit 1 when more units than this are errored.")
    ] = 0,
    max_user_errors: Annotated[
        int, typer.Option(min=0, metavar="N", help="Live trials: exit 1 when the user spoils more than this.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print metrics as JSON, nothing else.")] = False,
) -> None:
    """Judge and score a stored run again, without asking the model.

    Afterwards the figures are by the judges named here. What other judges said stays stored, and stands in no figure.
    """
    with RunStore.open(run) as store:
        config = store.settings
    judging = {
        "judge.specs": judge or None,
        "judge.base_url": judge_base_url or os.environ.get("TURNGAP_JUDGE_BASE_URL") or None,
        "judge.api_key_env": judge_api_key_env,
    }
    progress = Terminal()
    if isinstance(config, RolloutConfig):
        given: dict[str, object] = {"--protocols": protocols, "--tool-parser": tool_parser, "--tokenizer": tokenizer}
        given |= {"--compare-args": compare_args, "--save-prompts": save_prompts}
        if useless := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"{run} holds trials of live tasks; {', '.join(useless)} is for recorded conversations")
        anew = settings.changed(config, judging)
        with opened(cache, None) as (shared, _):
            interrupt.run(regrade(run.absolute(), anew, Services(progress=progress, cache=shared)), progress)
        conclude(run, max_errored=max_errored, max_user_errors=max_user_errors, as_json=as_json)
        return
    changes = {
        **judging,
        "model.tool_parser": tool_parser,
        "text.tokenizer": tokenizer,
        "match.compare_args": settings.json_object("--compare-args", compare_args) if compare_args else None,
        "protocols": None if protocols is None else settings.protocols(protocols),
    }
    wanted = settings.changed(config, changes)
    with opened(cache, save_prompts) as (shared, save):
        tools = Services(progress=progress, cache=shared, save_prompt=save)
        interrupt.run(rescore(run.absolute(), wanted, tools), progress)
    summary = sum_up(run)
    show(summary, run, config, as_json=as_json)
    if summary.n["errored"] > max_errored:
        raise typer.Exit(1)
