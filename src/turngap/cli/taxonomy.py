"""`turngap taxonomy`: why the replays or trials of a run failed, with the evidence.

A judge may label replays that nothing explains.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import formats, jsonio
from turngap.analysis.finish import unfinished
from turngap.analysis.symptom import symptoms
from turngap.analysis.symptom import to_document as symptom_document
from turngap.analysis.taxonomy import Taxonomy, taxonomy, to_document
from turngap.cli import interrupt
from turngap.cli.eval import opened
from turngap.cli.progress import Terminal
from turngap.config import DataConfig, JudgeConfig, RolloutConfig
from turngap.errors import UsageError
from turngap.judges.label import LABELS, build, read_labels
from turngap.models import ModelContext
from turngap.protocols.evaluate import Services
from turngap.protocols.labelling import label_failures
from turngap.report.symptom_table import symptom_cases, symptom_table
from turngap.report.table import console
from turngap.report.taxonomy_table import case_list, taxonomy_table
from turngap.runs.cache import Layered
from turngap.runs.store import RunStore


def explain(
    run: Annotated[Path, typer.Argument(help="Run directory with replays or trials.")],
    show: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="List the failures of a category, finding, label, tool, conversation or task."
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="A language model that labels what no detector explains.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help='TOML with further labels, name = "meaning".')
    ] = None,
    label_all: Annotated[bool, typer.Option("--label-all", help="Have every failed replay labelled.")] = False,
    judge_base_url: Annotated[str | None, typer.Option(help="Of the judge's server.")] = None,
    judge_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds the judge's key.")] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Call cache shared with other runs.")] = None,
    save_prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every judge prompt here, as JSONL.")
    ] = None,
    max_errored: Annotated[
        int, typer.Option(min=0, metavar="N", help="Exit 1 when more failures than this could not be labelled.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Say why the replays or trials of a run failed."""
    with RunStore.open(run) as store:
        live = isinstance(store.settings, RolloutConfig)
    if live:
        if judge is not None:
            raise UsageError(f"{run}: holds trials, which no judge labels; leave --judge away")
        _print_trials(run, show, as_json=as_json)
        return
    if judge is None and (labels or label_all):
        raise UsageError("--labels and --label-all need a judge that labels: --judge openai/NAME")
    if judge is not None:
        known = read_labels(labels) if labels else dict(LABELS)
        with RunStore.open(run) as store:
            config = store.config.judge
        url = judge_base_url or os.environ.get("TURNGAP_JUDGE_BASE_URL") or config.base_url
        asked = msgspec.structs.replace(
            config, specs=(judge,), base_url=url, api_key_env=judge_api_key_env or config.api_key_env
        )
        progress = Terminal()
        with opened(cache, save_prompts) as (shared, save):
            services = Services(progress=progress, cache=shared, save_prompt=save)
            interrupt.run(_label(run, asked, known, services, everything=label_all), progress)
    with RunStore.open(run) as store:
        tally = store.count_trajectories()
        if not tally.good + tally.errored:
            for sentence in unfinished(store):
                raise UsageError(f"{run}: no replays yet: {sentence}")
            raise UsageError(f"{run}: no replays; run turngap eval with --protocols replay first")
        found = taxonomy(store)
        model = store.config.model.spec
    _print(found, run, model, show, as_json=as_json)
    if judge is not None and found.label_errors > max_errored:
        raise typer.Exit(1)


async def _label(
    run: Path, config: JudgeConfig, labels: dict[str, str], services: Services, *, everything: bool
) -> None:
    """Have the failures labelled that have no finding, or all of them."""
    with RunStore.open(run, write=True) as store:
        context = ModelContext(
            corpus=store.conversations,
            load=lambda path: formats.read(DataConfig(paths=(str(path),))),
            cache=store.calls if services.cache is None else Layered(store.calls, services.cache),
            notify=services.progress.note,
            waiting=services.progress.waiting,
        )
        labeller = build(config.specs[0], config, labels, context, services.save_prompt)
        try:
            failed = [case for case in taxonomy(store).cases if case.first]
            wanted = [case.conversation for case in failed if everything or not case.findings]
            await label_failures(store, wanted, labeller, services.progress, concurrency=config.concurrency)
        finally:
            await labeller.aclose()


def _print_trials(run: Path, show: str | None, *, as_json: bool) -> None:
    with RunStore.open(run) as store:
        found = symptoms(store)
        model = store.rollout.model.spec
        tasks = store.trials.task_ids()
    if not found.trials and not found.lost:
        raise UsageError(f"{run}: no trial is graded yet; run turngap rollout first")
    if show is not None:
        cases, lost = found.show(show), found.show_lost(show)
        if not cases and not lost and show not in tasks:
            names = [row.name.value for row in found.rows] + (["errored"] if found.lost else [])
            raise UsageError(f"no symptom and no task is called {show!r}; there are: {', '.join(names) or 'none'}")
        found = msgspec.structs.replace(found, cases=cases, lost=lost)
    if as_json:
        typer.echo(jsonio.dumps({"run": str(run), **symptom_document(found)}, indent=2))
    elif show is not None:
        fine = () if found.cases or found.lost else (f"task {show}: nothing went wrong in the trials that took place",)
        console().print(symptom_cases(found.cases, found.lost, (*fine, *found.notes)))
    else:
        console().print(symptom_table(found, title=f"why trials of {model} failed"))


def _print(found: Taxonomy, run: Path, model: str, show: str | None, *, as_json: bool) -> None:
    if show is not None:
        cases = found.show(show)
        if not cases:
            names = [row.name for rows in (found.categories, found.findings, found.labels, found.tools) for row in rows]
            raise UsageError(f"no failure under {show!r}; there are: {', '.join(names) or 'none at all'}")
        found = msgspec.structs.replace(found, cases=cases)
    if as_json:
        typer.echo(jsonio.dumps({"run": str(run), **to_document(found)}, indent=2))
    elif show is not None:
        console().print(case_list(found.cases, found.notes))
    else:
        console().print(taxonomy_table(found, title=f"why replays of {model} failed"))
