"""`turngap train`: fine-tune a model on a set of examples, on one processor or on many devices.

This module turns options into a recipe, has `turngap.training.fitting` do the work, and tells how far it is. Repeating
the command goes on where it was stopped, and ends with the same weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import jsonio
from turngap.cli.interrupt import Blocking
from turngap.cli.main import INTERRUPTED
from turngap.cli.say import say
from turngap.cli.training_progress import TrainingTerminal
from turngap.errors import DataError, MissingExtra, StoreError, UsageError
from turngap.models import hub
from turngap.models.packaged import names
from turngap.models.templating import Manner
from turngap.report.preview import preview as shown_of
from turngap.report.preview import preview_text
from turngap.report.table import console
from turngap.report.training_card import CARD, card, training_table
from turngap.training import exchange, fitting
from turngap.training.base import GGUF, MODEL, load, load_tokenizer
from turngap.training.fitting import ENGINES, Engine, Outcome
from turngap.training.moment import Halted, Moment
from turngap.training.recipe import Recipe, overridden, recipe
from turngap.training.vocabulary import texts_of

PREVIEW = "preview.html"
_PACKAGES: dict[str, tuple[str, ...]] = {"lean": ("torch", "transformers"), "trl": ("torch", "transformers", "trl")}


def train(
    examples: Annotated[Path, typer.Argument(metavar="EXAMPLES", help="Directory that turngap examples wrote.")],
    base: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help=f"Folder of transformers, {names()}, FILE.gguf, new:qwen3?hidden=..",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where all goes; repeating goes on.")],
    recipe_name: Annotated[
        str, typer.Option("--recipe", metavar="NAME|FILE", help="p1, p2, laptop or a TOML file.")
    ] = "laptop",
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One setting of the recipe; repeat.")
    ] = None,
    engine: Annotated[str, typer.Option(help="lean, or trl for large or many devices.")] = "lean",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of order, new weights and dropout; else the recipe's.")
    ] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Chat template (Jinja) in place of the model's own.")
    ] = None,
    thinking: Annotated[bool, typer.Option("--thinking", help="The model is to reason before it answers.")] = False,
    today: Annotated[
        str | None, typer.Option(metavar="DATE", help="For templates that write the date; 2031-01-01 else.")
    ] = None,
    preview: Annotated[
        int | None, typer.Option(metavar="N", help="Show N sequences as they would be learnt; train nothing.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")] = False,
) -> None:
    """Fine-tune a model on examples; write it for transformers, and as GGUF where it came from such a file.

    DIR gets model/, model.gguf, training.json, README.md (the card) and checkpoints/. Ctrl-C keeps all steps; the same
    command goes on and ends with the same weights.
    """
    if engine not in ENGINES:
        raise UsageError(f"unknown engine {engine!r}; known: {', '.join(ENGINES)}")
    wanted = overridden(recipe(recipe_name), assignments or ())
    if seed is not None:
        wanted = msgspec.structs.replace(wanted, seed=seed)
    manner = _manner(template, today, thinking=thinking)
    if preview is not None:
        _preview(examples, base, wanted, manner, output, engine=engine, count=preview)
        return
    done = fitting.finished(output, examples, base, wanted, manner=manner, engine=engine)
    if done is None:
        hub.prepare(*_PACKAGES[engine], *(("peft",) if wanted.lora else ()), purpose="turngap train")
        done = _train(examples, base, wanted, output, manner, engine)
    elif fitting.is_first():
        say(f"already trained: {output}", err=True)
    if fitting.is_first():
        _conclude(done, examples, output, as_json=as_json)


def _train(examples: Path, base: str, wanted: Recipe, output: Path, manner: Manner | None, engine: Engine) -> Outcome:
    progress = TrainingTerminal()
    with Blocking(progress) as stop:
        progress.stage(f"loading {base}", 0)
        loaded = load(base, texts_of(exchange.conversations(examples, "train")), seed=wanted.seed)
        progress.stage("rendering examples", 0)

        def watch(moment: Moment) -> None:
            progress.watch(moment)
            progress.refresh()
            if moment.step == moment.steps:
                stop.free()

        try:
            found = fitting.fit(
                examples, loaded, wanted, output, watch=watch, halt=stop.halt, manner=manner, engine=engine
            )
        except Halted as halted:
            if fitting.is_first():
                say(f"{halted}: {output / fitting.CHECKPOINTS}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    return found


def _preview(
    examples: Path, base: str, wanted: Recipe, manner: Manner | None, output: Path, *, engine: Engine, count: int
) -> None:
    """Show sequences with what is learnt of them, here and as a page."""
    if count < 1:
        raise UsageError(f"--preview {count}: at least 1")
    talks = exchange.conversations(examples, "train")
    settled = fitting.plan(examples, load_tokenizer(base, texts_of(talks)), wanted, manner, engine)
    shown = shown_of(settled.learnt[:count], settled.renderer)
    console().print(preview_text(shown))
    for note in settled.notes:
        say(note, err=True)
    try:
        from turngap.report.preview_page import preview_page  # noqa: PLC0415 - needs an extra; the rest does not
    except MissingExtra as missing:
        say(f"no page: {missing}", err=True)
        return
    page = output / PREVIEW
    try:
        output.mkdir(parents=True, exist_ok=True)
        jsonio.write_atomic(page, preview_page(shown, title=f"{examples} for {base}", notes=settled.notes))
    except OSError as error:
        raise StoreError(f"{page}: cannot be written: {error.strerror}") from None
    say(f"as a page: {page}", err=True)


def _manner(template: Path | None, today: str | None, *, thinking: bool) -> Manner | None:
    if template is None and today is None and not thinking:
        return None
    text = None
    if template is not None:
        try:
            text = template.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot be read: {error}", file=str(template)) from None
    found = Manner(template=text, thinking=thinking)
    return found if today is None else msgspec.structs.replace(found, today=today)


def _conclude(found: Outcome, examples: Path, output: Path, *, as_json: bool) -> None:
    manifest, _ = exchange.read(examples)
    if not (output / CARD).is_file():
        jsonio.write_atomic(output / CARD, card(found, manifest, output))
    if as_json:
        document = {"training": str(output), **msgspec.to_builtins(found), "tokens_per_second": found.tokens_per_second}
        typer.echo(jsonio.dumps(document, indent=2))
        return
    console().print(training_table(found))
    for note in found.notes:
        say(note, err=True)
    say(_ask(output), err=True)


def _ask(output: Path) -> str:
    served = [f"hf/{output / MODEL}"]
    if (output / GGUF).is_file():
        served.append(f"local/{output / GGUF}")
    return f"ask it as {' or '.join(served)}; card: {output / CARD}"
