"""`turngap eval`: one model on recorded conversations under all protocols, from the command line to the table.

This module turns options into an `EvalConfig`, has it evaluated, and shows the summary; what the figures mean is
decided elsewhere. The run directory is the same for the same data and model, so repeating the command resumes the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turngap import jsonio
from turngap.analysis.summary import Summary, summarise, to_document
from turngap.cli import interrupt, settings
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.config import EvalConfig
from turngap.errors import DataError, StoreError
from turngap.protocols.evaluate import Services
from turngap.protocols.evaluate import evaluate as run_evaluation
from turngap.protocols.plan import Plan
from turngap.protocols.plan import plan as make_plan
from turngap.report.table import console, summary_table
from turngap.runs.cache import SharedCache
from turngap.runs.store import RunStore

_SETTINGS = {
    "data": "data.paths",
    "source": "data.format",
    "tools": "data.tools",
    "only_successful": "data.only_successful",
    "skip_bad": "data.skip_bad",
    "limit": "data.limit",
    "sample": "data.sample",
    "model": "model.spec",
    "base_url": "model.base_url",
    "api_key_env": "model.api_key_env",
    "temperature": "model.temperature",
    "max_tokens": "model.max_tokens",
    "model_seed": "model.seed",
    "tool_parser": "model.tool_parser",
    "fold_roles": "model.fold_roles",
    "send_reasoning": "model.send_reasoning",
    "context_length": "model.context_length",
    "timeout": "model.timeout",
    "give_up_after": "model.give_up_after",
    "concurrency": "model.concurrency",
    "judge": "judge.specs",
    "judge_base_url": "judge.base_url",
    "judge_api_key_env": "judge.api_key_env",
    "attempts": "replay.attempts",
    "when_silent": "replay.when_silent",
    "after_failure": "replay.after_failure",
    "horizon_max": "horizon.max",
    "tokenizer": "text.tokenizer",
    "seed": "seed",
}
"""Option -> the setting it gives as it is; those that need reading are in `_settings`."""


def evaluate(
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA...", help="Files or folders of recorded conversations.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model: see turngap list models.")] = None,
    protocols: Annotated[
        str | None, typer.Option(help="all, or some of text,turn,strict,replay,workflow; also horizon.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="rules, or a model; repeat for several. The first gives the figures."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RUN", help="Run directory; runs/<data>-<model> if not given."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many conversations, the first ones.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw --limit at random, by --seed.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of --sample and of the intervals.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Format of the data; detected if not given.")] = None,
    tools: Annotated[str | None, typer.Option(help="File with tool schemas for recordings without.")] = None,
    only_successful: Annotated[
        bool, typer.Option("--only-successful", help="Keep what the recording marks as rewarded.")
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Go on past bad records, and count them.")] = False,
    concurrency: Annotated[int | None, typer.Option(help="Requests under way at once.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the model's server; else OPENAI_BASE_URL.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the server's key.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 if not given.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of one answer.")] = None,
    model_seed: Annotated[int | None, typer.Option(help="Seed sent to the model's server.")] = None,
    extra_body: Annotated[
        str | None, typer.Option(metavar="JSON|FILE", help="Further fields of the request body.")
    ] = None,
    tool_parser: Annotated[
        str | None, typer.Option(help="Dialect of calls written as text: auto, none or a name.")
    ] = None,
    fold_roles: Annotated[
        bool, typer.Option("--fold-roles", help="For templates that refuse system and tool roles.")
    ] = False,
    send_reasoning: Annotated[
        bool, typer.Option("--send-reasoning", help="Send reasoning of the current turn back.")
    ] = False,
    context_length: Annotated[int | None, typer.Option(help="The model's context in tokens; else asked for.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one request.")] = None,
    give_up_after: Annotated[float | None, typer.Option(help="Seconds of retrying before a unit is errored.")] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="Of the judge's server; else TURNGAP_JUDGE_BASE_URL.")
    ] = None,
    judge_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the judge's key.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Replay: tries at each recorded step, 3 if not given.")] = None,
    when_silent: Annotated[
        str | None,
        typer.Option(
            metavar="carry|fail",
            help="Replay: what text does where calls are recorded: they may still come in a later turn, or it fails.",
        ),
    ] = None,
    after_failure: Annotated[
        str | None,
        typer.Option(metavar="stop|continue|repair-first", help="Replay: what an unresolved error does."),
    ] = None,
    horizon_max: Annotated[int | None, typer.Option(help="Horizon: decisions from each start, 8 if not given.")] = None,
    compare_args: Annotated[
        str | None, typer.Option(metavar="JSON|FILE", help="Tool -> the only arguments that count.")
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(metavar="auto|default|unicode", help="Of ROUGE.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with all of this and prices; options win.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    save_prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every judge prompt here, as JSONL.")
    ] = None,
    max_errored: Annotated[
        int, typer.Option(min=0, metavar="N", help="Exit 1 when more units than this are errored.")
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; ask no model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print metrics as JSON, nothing else.")] = False,
) -> None:
    """Score a model on recorded conversations under all protocols.

    Repeating the command resumes the run. Exit code 1 means that units were errored: they are in no figure.
    """
    given = locals().copy()  # every option by name, before there is any other local
    resolved = settings.resolve(config, os.environ, _settings(given))
    if dry_run:
        show_plan(make_plan(resolved), as_json=as_json)
        return
    directory = output or settings.default_directory(resolved.data.paths, resolved.model.spec)
    with opened(cache, save_prompts) as (shared, save):
        summary = perform(resolved, directory, cache=shared, save_prompt=save)
    show(summary, directory, resolved, as_json=as_json)
    if summary.n["errored"] > max_errored:
        raise typer.Exit(1)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Dotted setting -> value, None where the option was not given (an unset flag or list is not given)."""
    found = {
        path: None if given[name] is False or given[name] == [] else given[name] for name, path in _SETTINGS.items()
    }
    # The pace that is asked for is that of all servers; a file can tell them apart.
    for pace in ("concurrency", "timeout", "give_up_after"):
        found[f"judge.{pace}"] = given[pace]
    if given["protocols"] is not None:
        found["protocols"] = settings.protocols(given["protocols"])
    for name, path in (("extra_body", "model.extra_body"), ("compare_args", "match.compare_args")):
        if given[name]:
            found[path] = settings.json_object(f"--{name.replace('_', '-')}", given[name])
    return found


def perform(
    config: EvalConfig,
    directory: Path,
    *,
    cache: SharedCache | None = None,
    save_prompt: Callable[[dict[str, Any]], None] | None = None,
) -> Summary:
    """Run or resume one evaluation with live progress, write `metrics.json`, and return its summary."""
    progress = Terminal()
    tools = Services(progress=progress, cache=cache, save_prompt=save_prompt)
    # Absolute, since code of others may be elsewhere when the directory is made.
    interrupt.run(run_evaluation(config, directory.absolute(), tools), progress)
    return sum_up(directory)


def sum_up(directory: Path) -> Summary:
    """Compute the figures of a stored run and write its `metrics.json`."""
    with RunStore.open(directory, write=True) as store:
        summary = summarise(store, seed=store.config.seed)
        store.write_metrics(to_document(summary))
    return summary


def show(summary: Summary, directory: Path, config: EvalConfig, *, as_json: bool) -> None:
    """Print a summary to standard output, and where the run lies to standard error."""
    if as_json:
        typer.echo(jsonio.dumps({"run": str(directory), **to_document(summary)}, indent=2))
        return
    title = f"{summary.model} on {', '.join(config.data.paths)}"
    console(least=54).print(summary_table(summary, title=title))
    say(f"run: {directory}", err=True)


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what an evaluation would cost."""
    if as_json:
        typer.echo(jsonio.dumps(plan, indent=2))
        return
    asked = f"{plan.prompt_tokens:,} prompt and {plan.completion_tokens:,} completion tokens{_price(plan.cost)}"
    judged = (
        f"{plan.judge_prompt_tokens:,} prompt and {plan.judge_completion_tokens:,} completion tokens"
        f"{_price(plan.judge_cost)}"
    )
    far = f", about {plan.horizon_calls} in horizon" if plan.horizon_calls else ""
    calls = f"{plan.gold_calls} calls on recorded history, about {plan.replay_calls} in replay{far}; about {asked}"
    lines = [
        f"{plan.conversations} conversations, {plan.tool_conversations} with tool calls, {plan.decisions} decisions",
        f"model: {calls}" if plan.calls_model else f"model: {plan.model} answers by itself; nothing is called",
        f"judge: {plan.judge_calls} calls; about {judged}" if plan.judge_calls else "judge: rules, no calls",
    ]
    if plan.calls_model or plan.judge_calls:
        lines.append("tokens are estimated; no model was asked")
    lines += [f"note: {note}" for note in plan.notes]
    say("\n".join(lines))


def _price(cost: float | None) -> str:
    return "; price unknown" if cost is None else f"; cost about {cost:,.2f}"


@contextmanager
def opened(
    cache: Path | None, prompts: Path | None
) -> Iterator[tuple[SharedCache | None, Callable[[dict[str, Any]], None] | None]]:
    """Open what lies outside the run directory: the shared call cache and the file of judge prompts."""
    shared = SharedCache(cache) if cache else None
    try:
        if prompts is None:
            yield shared, None
            return
        try:
            stream = prompts.open("ab")
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror}", file=str(prompts)) from None
        with stream:

            def save(prompt: dict[str, Any]) -> None:
                try:
                    stream.write(msgspec.json.encode(prompt) + b"\n")
                    stream.flush()
                except OSError as error:
                    raise StoreError(f"{prompts}: cannot be written: {error.strerror}") from None

            yield shared, save
    finally:
        if shared:
            shared.close()
