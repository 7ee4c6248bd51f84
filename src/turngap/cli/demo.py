"""`turngap demo`: the whole story offline. Packaged conversations, four models, five protocols, one table.

Everything comes from installed packages: the conversations are the project's own, the language model is SmolLM2-135M,
the judge is `rules`. The demo is made of ordinary evaluations, so their run directories can be looked at, re-scored and
resumed like any other. With ``--train`` it is the packaged study `small-cpu` instead, run as `turngap experiment` runs
it and in the same place, and explained.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from turngap import jsonio, samples
from turngap.analysis.summary import Summary, to_document
from turngap.cli.eval import perform
from turngap.cli.experiment import document, is_finished, page, perform_study, place
from turngap.cli.say import say
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.errors import MissingExtra
from turngap.report.study_table import study_table
from turngap.report.table import comparison_table, console, percent
from turngap.samples import studies
from turngap.study.findings import Column
from turngap.study.plan import read


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the demo."""

    name: str
    """Of its run directory."""
    label: str
    """What the tables call it."""
    model: ModelConfig
    is_what: str
    """Plain words for the reader: what this is, and what it is not."""
    limit: int | None = None
    """How many conversations it gets; None: all."""
    patience: str = ""
    """What to know before it begins; empty where it is over in a moment."""


ACTS = (
    Act(
        name="reference",
        label="reference",
        model=ModelConfig(spec="baseline/reference"),
        is_what="no model: repeats the recording, the upper bound of every figure",
    ),
    Act(
        name="noisy",
        label="noisy 0.9/0.9",
        model=ModelConfig(spec="baseline/noisy?p_text=0.9&p_tool=0.9"),
        is_what="no model: the recording with simulated errors, each decision right 9 times in 10",
    ),
    Act(
        name="nearest",
        label="nearest",
        model=ModelConfig(spec="baseline/nearest"),
        is_what="no model: retrieval, copies what was done in the most similar other conversation",
    ),
    Act(
        name="smollm2",
        label="smollm2",
        model=ModelConfig(spec="local/smollm2", max_tokens=64, concurrency=1),
        is_what="a real language model, SmolLM2-135M-Instruct, asked without any training for this",
        limit=4,
        patience="this one takes a few minutes: it really runs, on this machine's processor",
    ),
)
"""In the order of the table. The language model gets a sample that fits into two minutes on 2 cores."""

_EXPLANATION = (
    "rules is a fixed program that checks calls and facts, no language model. n counts text turns, tool turns, or "
    "conversations with tool calls. In replay and workflow the model lives with what it did before, and may try a "
    "wrong call twice more. rules does not read: a text without facts (a greeting, a goodbye, a wrong promise) passes "
    "as soon as its words are like the recorded ones, so a good text turn can be one that says nothing."
)

STUDY = "small-cpu"
"""What ``--train`` runs."""
_RUNS = Path("runs/demo")

_TRAINING = (
    "SmolLM2-135M-Instruct, a real language model, learns from some hundred decisions how a corner shop's customers "
    "are served, and is measured before and after on other customers of another shop. Offline, about 25 minutes on 2 "
    "cores; Ctrl-C keeps what is done, and the same command goes on. (turngap demo without --train: four models under "
    "five protocols, in a few minutes.)"
)

_EXPLANATION_OF_TRAINING = (
    "What it learnt from, and is held against, is the work of a program that knows the shop's rules "
    "(baseline/reference), once with each customer. text, turn and strict look at one next decision on a history in "
    "which all went well before; in replay and workflow the model lives with what it did before, and a workflow takes "
    "all of its decisions: so finished workflows can stay far behind good turns. pass^1 is live: simulated customers, "
    "tools that change a database, and a task is solved when all of it ends as it should; in brackets, the kind of "
    "task: all that is needed is said or can be looked up (general), is missing at first (ambiguous), changes on the "
    "way (changing), or must be refused (infeasible)."
)


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help=f"Where all goes, {_RUNS} else, with --train runs/{STUDY}; repeating the command resumes.",
        ),
    ] = None,
    train: Annotated[
        bool,
        typer.Option("--train", help=f"Show a model before and after training instead (study {STUDY}, 25 minutes)."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the metrics of all runs as JSON, nothing else.")
    ] = False,
) -> None:
    """Show the whole story offline in a few minutes."""
    if train:
        study = studies.find(STUDY)
        plan = read(study)
        if not is_finished(plan, output or place(plan)):
            typer.echo(_filled(f"study {STUDY}: {_TRAINING}"), err=True)
        train_act(study, output or place(plan), as_json=as_json)
        return
    runs = output or _RUNS
    done: list[tuple[Act, Summary]] = []
    for number, act in enumerate(ACTS, start=1):
        typer.echo(_heading(number, act), err=True)
        try:
            done.append((act, perform(_config(act), runs / act.name)))
        except MissingExtra as error:
            say(f"left out {act.model.spec}: {error}", err=True)
    if as_json:
        documents = [{"run": str(runs / act.name), **to_document(summary)} for act, summary in done]
        typer.echo(jsonio.dumps({"runs": documents}, indent=2))
    else:
        _show(done, runs)
    if any(summary.n["errored"] for _, summary in done):
        raise typer.Exit(1)


def train_act(study: Path, directory: Path, *, as_json: bool = False) -> None:
    """Run or resume a study, show what it found, and explain it; raises as `perform_study`."""
    found = perform_study(read(study), directory)
    if as_json:
        typer.echo(document(found, directory))
        return
    out = console()
    out.print(study_table(found))
    out.print(f"\n{_EXPLANATION_OF_TRAINING}\n", markup=False)
    out.print("How far good turns are from finished workflows, and from tasks that are solved live:", style="bold")
    out.print(_listing((column.name, _reached(column)) for column in found.columns))
    out.print(f"\nstudy: {directory}, as a page: {page(found.study, directory)}", markup=False)


def _reached(column: Column) -> str:
    """How much of what one model was asked for it did, in words."""
    said = {
        "turn.success": "of turns good",
        "workflow.success": "of workflows finished",
        "pass^1": "of tasks solved",
    }
    known = {name: figure for name, figure in column.figures.items() if figure.value is not None}
    return ", ".join(f"{percent(known[name])}% {words}" for name, words in said.items() if name in known)


def _config(act: Act) -> EvalConfig:
    data = DataConfig(paths=(str(samples.path()),), limit=act.limit, sample=act.limit is not None)
    return EvalConfig(data=data, model=act.model, seed=samples.SEED)


def _show(done: list[tuple[Act, Summary]], output: Path) -> None:
    out = console()
    out.print(
        f"\n{samples.COUNT} recorded retail-support conversations, made by a generator and packaged with turngap.\n",
        markup=False,
    )
    out.print(comparison_table([(act.label, summary) for act, summary in done]))
    out.print(f"\n{_EXPLANATION}\n", markup=False)
    out.print(_listing((act.label, _what(act, summary)) for act, summary in done))
    out.print("\nHow far good turns are from finished workflows:", style="bold")
    out.print(_listing((act.label, _gap(summary)) for act, summary in done))
    out.print(f"\nruns: {output}/*; figures are defined in docs/figures.md", markup=False)


def _gap(summary: Summary) -> str:
    turns, workflows = summary.metrics["turn.success"], summary.metrics["workflow.success"]
    return f"{percent(turns)}% of turns good, {percent(workflows)}% of workflows finished"


def _what(act: Act, summary: Summary) -> str:
    sample = f"; on a sample of {summary.n['conversations']} conversations" if act.limit else ""
    return f"{act.is_what}{sample} ({act.model.spec})"


def _heading(number: int, act: Act) -> str:
    """Which model comes next, and what it is, in lines of 80 columns."""
    said = "; ".join(filter(None, (act.is_what, act.patience)))
    return _filled(f"{number}/{len(ACTS)} {act.label}: {said}")


def _filled(text: str) -> str:
    return textwrap.fill(text, width=80, subsequent_indent="    ")


def _listing(lines: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for name, text in lines:
        grid.add_row(escape(name), escape(text))
    return grid
