"""One fine-tuning from a set of examples to a model that can be asked: render, train, merge, write.

``DIR`` gets ``checkpoints/`` (with ``log.jsonl``), ``model/`` (weights, tokenizer and chat template as transformers
read them, adapters merged), ``model.gguf`` where the base came from such a file, and ``training.json``: what was
trained on what, how, and what came of it. Repeating the same call goes on where it was, or finds it done.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import DataError, StoreError
from turngap.models.templating import Manner, Templated, fitted
from turngap.training import exchange, gguf_writer
from turngap.training.adapter import merged
from turngap.training.base import Base
from turngap.training.example import Split
from turngap.training.lean import Moment, Trained, train
from turngap.training.recipe import Recipe
from turngap.training.rendering import Refused, Rendered, Renderer

SUMMARY, MODEL, GGUF, CHECKPOINTS = "training.json", "model", "model.gguf", "checkpoints"
_MOST_NAMED = 5


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences, ready to be trained on."""

    templated: Templated
    learnt: tuple[Rendered, ...]
    validation: tuple[Rendered, ...]
    refused: tuple[Refused, ...]
    whole: bool
    """Whether each sequence is a conversation; else one example each."""
    notes: tuple[str, ...] = ()
    """What a person should know of the template and of what was left out."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a fine-tuning; the content of ``training.json``."""

    format: str = "turngap-training/1"
    base: str
    recipe: Recipe
    manner: dict[str, Any]
    """How prompts are rendered; a model in this process is asked in the same manner."""
    examples: str
    """Digest of the set."""
    counts: dict[str, int]
    """Sequences, decisions, tokens, learnt tokens, cut messages, refused."""
    parameters: int
    steps: int
    loss: float | None
    validation: float | None
    tokens: int
    seconds: float
    stopped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def tokens_per_second(self) -> float:
        """Of training, over all processes that worked on it."""
        return self.tokens / self.seconds if self.seconds else 0.0


def prepare(directory: Path, base: Base, recipe: Recipe, manner: Manner | None = None) -> Prepared:
    """Render the training and the validation split of a set of examples.

    Raises:
        DataError: the set cannot be read; or sequences do not fit and the recipe says to fail, and they are named.
    """
    templated, said = fitted(base.tokenizer, manner)
    renderer = Renderer(templated, recipe.limit if recipe.too_long != "fail" else None)
    _, examples = exchange.read(directory)
    notes = [said] if said else []
    whole = recipe.whole
    if whole:
        first = next(iter(exchange.conversations(directory, "train")), None)
        trial = None if first is None else Renderer(templated).conversation(first)
        if isinstance(trial, Refused) and trial.why == "rewritten":
            notes.append(f"conversations cannot be one sequence with this template ({trial.detail}): one each decision")
            whole = False
    made: dict[Split, list[Rendered]] = {}
    refused: list[Refused] = []
    for split in ("train", "validation"):
        found: list[Rendered | Refused]
        if whole:
            found = [renderer.conversation(one) for one in exchange.conversations(directory, split)]
        else:
            found = [_fit(renderer, recipe, example) for example in examples[split]]
        made[split] = [one for one in found if isinstance(one, Rendered)]
        refused += [one for one in found if isinstance(one, Refused)]
    _require_fitting([*made["train"], *made["validation"]], refused, recipe, directory)
    if refused:
        named = "; ".join(map(str, refused[:_MOST_NAMED]))
        notes.append(f"{len(refused)} sequences were left out: {named}{'; ...' if len(refused) > _MOST_NAMED else ''}")
    return Prepared(
        templated=templated,
        learnt=tuple(made["train"]),
        validation=tuple(made["validation"]),
        refused=tuple(refused),
        whole=whole,
        notes=tuple(notes),
    )


def _fit(renderer: Renderer, recipe: Recipe, example: Any) -> Rendered | Refused:
    found = renderer.example(example)
    if isinstance(found, Rendered) and found.cut and recipe.too_long == "drop":
        return Refused(id=example.id, why="too long", detail=f"more than {recipe.limit} tokens")
    return found


def _require_fitting(rendered: Sequence[Rendered], refused: Sequence[Refused], recipe: Recipe, directory: Path) -> None:
    if recipe.too_long != "fail":
        return
    long = [one.id for one in rendered if len(one.tokens) > recipe.limit]
    long += [one.id for one in refused if one.why == "too long"]
    if long:
        named = ", ".join(long[:_MOST_NAMED])
        raise DataError(
            f"{len(long)} of {len(rendered) + len(refused)} sequences have more than {recipe.limit} tokens: {named}"
            f"{', ...' if len(long) > _MOST_NAMED else ''}; raise limit, or choose too_long = drop or cut",
            file=str(directory),
        )


def fit(
    examples: Path,
    base: Base,
    recipe: Recipe,
    directory: Path,
    *,
    watch: Callable[[Moment], None] = lambda _moment: None,
    manner: Manner | None = None,
) -> Outcome:
    """Fine-tune a base on a set of examples.

    Raises:
        DataError, UsageError, ConfigError: as `prepare` and `turngap.training.lean.train`. StoreError: nothing can be
            written.
    """
    done = outcome(directory)
    manifest, _ = exchange.read(examples)
    if done is not None and (done.base, done.recipe, done.examples) == (base.spec, recipe, manifest.digest):
        return done
    prepared = prepare(examples, base, recipe, manner)
    trained = train(base, recipe, prepared.learnt, prepared.validation, directory / CHECKPOINTS, watch)
    found = _summed(base, recipe, prepared, trained, manifest.digest)
    _write(directory, base, prepared.templated, trained)
    jsonio.write_atomic(directory / SUMMARY, jsonio.dumps(found, indent=2) + "\n")
    return found


def outcome(directory: Path) -> Outcome | None:
    """What came of a finished fine-tuning; None where there is none.

    Raises:
        DataError: it cannot be read.
    """
    path = directory / SUMMARY
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Outcome)
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"no summary of a training: {error}", file=str(path)) from None


def _summed(base: Base, recipe: Recipe, prepared: Prepared, trained: Trained, digest: str) -> Outcome:
    learnt = prepared.learnt
    return Outcome(
        base=base.spec,
        recipe=recipe,
        manner=msgspec.to_builtins(prepared.templated.manner),
        examples=digest,
        counts={
            "sequences": len(learnt),
            "decisions": sum(one.decisions for one in learnt),
            "tokens": sum(len(one.tokens) for one in learnt),
            "learnt_tokens": sum(one.targets for one in learnt),
            "cut_messages": sum(one.cut for one in learnt),
            "validation_sequences": len(prepared.validation),
            "refused": len(prepared.refused),
        },
        parameters=base.parameters,
        steps=trained.steps,
        loss=trained.loss,
        validation=trained.validation,
        tokens=trained.tokens,
        seconds=trained.seconds,
        stopped=trained.stopped,
        notes=prepared.notes,
    )


def _write(directory: Path, base: Base, templated: Templated, trained: Trained) -> None:
    """Write the model; what lay there before is replaced when the new one is complete."""
    model = merged(trained.model)
    part = directory / f".{MODEL}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        model.save_pretrained(part)
        base.tokenizer.chat_template = templated.template
        base.tokenizer.save_pretrained(part)
        (part / "turngap.json").write_text(jsonio.dumps({"manner": templated.manner}) + "\n", encoding="utf-8")
        shutil.rmtree(directory / MODEL, ignore_errors=True)
        part.rename(directory / MODEL)
    except OSError as error:
        raise StoreError(f"{directory}: the model cannot be written: {error.strerror or error}") from None
    if base.origin is not None:
        gguf_writer.write(base.origin, model.state_dict(), directory / GGUF, template=templated.template)
