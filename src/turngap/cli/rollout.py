"""`turngap rollout`: one agent on live tasks, with a simulated user, in a domain that its tools really change.

This module turns options into a `RolloutConfig`, has the trials take place, and shows the summary; what the figures
mean is decided elsewhere. Repeating the command resumes the run; asking for more trials adds them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turngap import domains, jsonio
from turngap.analysis.rollout import RolloutSummary, summarise, to_document
from turngap.analysis.symptom import Symptoms, symptoms
from turngap.cli import interrupt, settings
from turngap.cli.eval import opened
from turngap.cli.progress import Terminal
from turngap.cli.say import say
from turngap.errors import UsageError
from turngap.protocols import recovering
from turngap.protocols.evaluate import Services
from turngap.protocols.keeping import TRIALS, Kept, keep
from turngap.protocols.trials import roll_out
from turngap.report.rollout_table import rollout_table
from turngap.report.symptom_table import why_command
from turngap.report.table import console
from turngap.runs.store import DATABASE, RunStore

_SETTINGS = {
    "domain": "domain",
    "tasks": "tasks.path",
    "split": "tasks.split",
    "task": "tasks.ids",
    "scenario": "tasks.scenarios",
    "limit": "tasks.limit",
    "model": "model.spec",
    "base_url": "model.base_url",
    "api_key_env": "model.api_key_env",
    "temperature": "model.temperature",
    "max_tokens": "model.max_tokens",
    "model_seed": "model.seed",
    "tool_parser": "model.tool_parser",
    "fold_roles": "model.fold_roles",
    "context_length": "model.context_length",
    "timeout": "model.timeout",
    "give_up_after": "model.give_up_after",
    "concurrency": "model.concurrency",
    "user": "user.spec",
    "user_base_url": "user.base_url",
    "user_api_key_env": "user.api_key_env",
    "user_temperature": "user.temperature",
    "user_seed": "user.seed",
    "judge": "judge.specs",
    "judge_base_url": "judge.base_url",
    "judge_api_key_env": "judge.api_key_env",
    "trials": "trials",
    "max_steps": "max_steps",
    "max_errors": "max_errors",
    "user_audit": "audit.user.spec",
    "audit_base_url": "audit.user.base_url",
    "audit_share": "audit.share",
    "seed": "seed",
}
"""Option -> the setting it gives as it is."""


def rollout(
    domain: Annotated[
        str | None, typer.Option(help="retail, tau2:NAME, FILE.py, module:attribute: see turngap list domains.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(metavar="FILE", help="Task file, tau2's or turngap's.")] = None,
    model: Annotated[str | None, typer.Option(help="Which agent: see turngap list models.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Who plays the user: scripted (if not given), or llm/openai/NAME.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Independent trials of every task, 1 if not given.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RUN", help="Run directory; runs/<domain>-<tasks>-<model> else."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of worlds, users and intervals.")] = None,
    split: Annotated[str | None, typer.Option(help="One of the task file's splits.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeat for several.")] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="Only tasks of this scenario; repeat for several.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many tasks, the first ones.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Messages of the agent in a trial, 100 if not given.")] = None,
    max_errors: Annotated[int | None, typer.Option(help="Failed calls in a trial, 10 if not given.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Trials under way at once, 8 if not given.")] = None,
    user_audit: Annotated[
        str | None, typer.Option(metavar="USER", help="Repeat a sample of the tasks with this user.")
    ] = None,
    audit_share: Annotated[float | None, typer.Option(help="Of the tasks, 0.2 if not given.")] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Of assertions in words: a model.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the agent's server; else OPENAI_BASE_URL.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the server's key.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the agent; 0 if not given.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of one answer of the agent.")] = None,
    model_seed: Annotated[int | None, typer.Option(help="Sent to the agent's server, plus the trial's number.")] = None,
    extra_body: Annotated[
        str | None, typer.Option(metavar="JSON|FILE", help="Further fields of the agent's request body.")
    ] = None,
    tool_parser: Annotated[
        str | None, typer.Option(help="Dialect of calls written as text: auto, none or a name.")
    ] = None,
    fold_roles: Annotated[
        bool, typer.Option("--fold-roles", help="For templates that refuse system and tool roles.")
    ] = False,
    context_length: Annotated[int | None, typer.Option(help="The agent's context in tokens; else asked for.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one request.")] = None,
    give_up_after: Annotated[float | None, typer.Option(help="Seconds of retrying before a trial is errored.")] = None,
    user_base_url: Annotated[
        str | None,
        typer.Option(help="Of the user's server; else TURNGAP_USER_BASE_URL, else OPENAI_BASE_URL."),
    ] = None,
    user_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the user's key.")] = None,
    user_temperature: Annotated[float | None, typer.Option(help="Of the user; 0 if not given.")] = None,
    user_seed: Annotated[int | None, typer.Option(help="Sent to the user's server, plus the trial's number.")] = None,
    audit_base_url: Annotated[str | None, typer.Option(help="Of the audit's user; else the user's.")] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="Of the judge's server; else TURNGAP_JUDGE_BASE_URL.")
    ] = None,
    judge_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the judge's key.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with all of this and prices; options win.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    keep_successful: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write verified successes as JSONL; then 2 trials if not given.")
    ] = None,
    keep_recoveries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write corrections and recoveries as JSONL; of corrected/MODEL."),
    ] = None,
    max_errored: Annotated[
        int, typer.Option(min=0, metavar="N", help="Exit 1 when more trials than this are errored.")
    ] = 0,
    max_user_errors: Annotated[
        int, typer.Option(min=0, metavar="N", help="Exit 1 when the user spoils more trials than this.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print metrics as JSON, nothing else.")] = False,
) -> None:
    """Let an agent serve simulated users in a live domain; report rewards and pass^k.

    Repeating the command resumes the run. Exit code 1 means that trials were errored or spoiled by the user: they are
    in no figure.
    """
    given = locals().copy()  # every option by name, before there is any other local
    options = _settings(given)
    resolved = settings.resolve_rollout(config, os.environ, options)
    directory = output or settings.rollout_directory(resolved)
    if keep_recoveries is not None:
        recovering.require_corrected(resolved.model.spec)
        _require_place("--keep-recoveries", keep_recoveries)
        if keep_successful is not None and keep_successful.absolute() == keep_recoveries.absolute():
            raise UsageError(f"--keep-successful and --keep-recoveries both name {keep_recoveries}; name two files")
    if keep_successful is not None:
        _require_place("--keep-successful", keep_successful)
        resolved = settings.resolve_rollout(config, os.environ, options, {"trials": _usual_trials(directory)})
    progress = Terminal()
    with opened(cache, None) as (shared, _):
        # Absolute, since code of others may be elsewhere when the directory is made.
        interrupt.run(roll_out(resolved, directory.absolute(), Services(progress=progress, cache=shared)), progress)
    conclude(
        directory,
        max_errored=max_errored,
        max_user_errors=max_user_errors,
        as_json=as_json,
        keep_in=keep_successful,
        recoveries_in=keep_recoveries,
    )


def _require_place(option: str, file: Path) -> None:
    """Find out before the trials that what comes of them has no place to go."""
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.parent}")
    if file.is_dir():
        raise UsageError(f"{option} {file}: is a folder; name a file")


def _usual_trials(directory: Path) -> int:
    """How many trials a task gets for training: as many as a stored run has, so that writing it asks nobody."""
    if not (directory / DATABASE).is_file():
        return TRIALS
    with RunStore.open(directory) as store:
        return store.rollout.trials


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Dotted setting -> value, None where the option was not given (an unset flag or list is not given)."""
    found = {
        path: None if given[name] is False or given[name] == [] else given[name] for name, path in _SETTINGS.items()
    }
    for path in ("user.concurrency", "judge.concurrency"):
        found[path] = given["concurrency"]
    for path, name in (("user.timeout", "timeout"), ("user.give_up_after", "give_up_after")):
        found[path] = given[name]
    if given["user_audit"] is not None and given["audit_base_url"] is None:
        found["audit.user.base_url"] = given["user_base_url"]
    if given["extra_body"]:
        found["model.extra_body"] = settings.json_object("--extra-body", given["extra_body"])
    return found


def conclude(
    directory: Path,
    *,
    max_errored: int,
    max_user_errors: int,
    as_json: bool,
    keep_in: Path | None = None,
    recoveries_in: Path | None = None,
) -> None:
    """Sum a run of trials up: write `metrics.json`, print the summary, and say with the exit code what is missing.

    Args:
        directory: the run.
        max_errored: errored and missing trials that are allowed.
        max_user_errors: trials that the user may spoil.
        as_json: print one JSON document.
        keep_in: the file for the verified successes, where they are wanted.
        recoveries_in: the file for corrections and recoveries, likewise.

    Raises:
        UsageError: a file cannot be written, or recoveries are wanted of a model that is not corrected.
        typer.Exit: with code 1, when more trials are errored, missing or spoiled than allowed.
    """
    with RunStore.open(directory, write=True) as store:
        config = store.rollout
        summary = summarise(store, seed=config.seed)
        store.write_metrics(to_document(summary))
        why = symptoms(store)
        kept = None if keep_in is None else keep(store, domains.build(config.domain), keep_in)
        recovered = None
        if recoveries_in is not None:
            recovered = recovering.keep_recoveries(store, domains.build(config.domain), recoveries_in)
    document = {"run": str(directory), **to_document(summary)}
    if kept is not None:
        document["kept"] = {"file": str(keep_in), "scenarios": {one.scenario: _numbers(one) for one in kept}}
    if recovered is not None:
        document["recoveries"] = {"file": str(recoveries_in), **msgspec.to_builtins(recovered)}
    if as_json:
        typer.echo(jsonio.dumps(document, indent=2))
    else:
        show(summary, why, directory)
    for line in _told(kept or (), keep_in):
        say(line, err=True)
    if recovered is not None:
        counts = f"corrections {recovered.differed}, recoveries {recovered.recovered}, of {recovered.trials} trials"
        say(f"{counts}: {recoveries_in}", err=True)
    n = summary.n
    if n["errored"] + n["missing"] > max_errored or n["user_errors"] > max_user_errors:
        raise typer.Exit(1)


def show(summary: RolloutSummary, why: Symptoms, directory: Path) -> None:
    """Print a summary to standard output, and where the run lies to standard error."""
    title = f"{summary.model} in {summary.domain}"
    console().print(rollout_table(summary, title=title, why=why))
    if command := why_command(why, str(directory)):
        # Not part of the table, which would break it at the terminal's edge.
        say(f"why trials failed, one by one: {command}")
    say(f"run: {directory}", err=True)


def _numbers(one: Kept) -> dict[str, Any]:
    return {
        "kept": one.kept,
        "valid": one.valid,
        "rate": one.rate,
        "user_errors": one.user_errors,
        "errored": one.errored,
    }


def _told(kept: Sequence[Kept], file: Path | None) -> Iterator[str]:
    """What was kept, scenario by scenario."""
    if file is None:
        return
    yield f"{sum(one.kept for one in kept)} verified successes: {file}"
    for one in kept:
        share = "" if one.rate is None else f" ({100 * one.rate:.1f}%)"
        others = ((one.user_errors, "spoiled by the user"), (one.errored, "errored"))
        aside = "".join(f", {count} {what}" for count, what in others if count)
        yield f"{one.scenario}: {one.kept} of {one.valid} trials kept{share}{aside}"
