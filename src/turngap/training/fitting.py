"""One fine-tuning from a set of examples to a model that can be asked: render, train, merge, write.

``DIR`` gets ``checkpoints/`` (with ``log.jsonl``), ``model/`` (weights, tokenizer and chat template as transformers
read them, adapters merged), ``model.gguf`` where the base came from such a file, and ``training.json``: what was
trained on what, how, and what came of it. Repeating the same call goes on where it was, or finds it done. One process
writes a directory; of those that `accelerate` starts together, the first one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.errors import DataError, StoreError, UsageError
from turngap.models.templating import MANNER, Manner, Templated, Tokenizer, fitted
from turngap.runs.lock import WriterLock
from turngap.training import exchange, gguf_writer
from turngap.training.adapter import as_stored, merged
from turngap.training.base import GGUF, MODEL, Base
from turngap.training.drawn import Drawn, UnmatchedError, drawn
from turngap.training.example import Example, Split
from turngap.training.moment import Halt, Trained, Watch, never, nobody
from turngap.training.recipe import Recipe
from turngap.training.rendering import Refused, Rendered, Renderer

SUMMARY, CHECKPOINTS = "training.json", "checkpoints"
Engine = Literal["lean", "trl"]
ENGINES: tuple[Engine, ...] = ("lean", "trl")
"""``lean``: `turngap.training.lean`; ``trl``: `turngap.training.sft`."""
_TAUGHT: tuple[Split, ...] = ("train", "validation")
_LOCK = ".lock"
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
    engine: Engine = "lean"
    recipe: Recipe
    manner: dict[str, Any]
    """How prompts are rendered; a model in this process is asked in the same manner."""
    asked: str = ""
    """Digest of the manner that was asked for; empty where it was left to the tokenizer."""
    examples: str
    """Digest of the set."""
    counts: dict[str, int]
    """Sequences, decisions, tokens, learnt tokens, cut messages, refused; what is learnt several times counts so often.
    """
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


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How sequences are made of a set of examples."""

    renderer: Renderer
    learnt: tuple[Example | Drawn, ...]
    """What the sequences of the training split are made of, one each."""
    validation: tuple[Example | Drawn, ...]
    whole: bool
    """Whether each is a conversation; else one example each."""
    notes: tuple[str, ...] = ()
    """What a person should know of the template, and why it is one example each where conversations were wanted."""


def plan(
    directory: Path, tokenizer: Tokenizer, recipe: Recipe, manner: Manner | None = None, engine: Engine = "lean"
) -> Plan:
    """Settle what is rendered, and how, for the model that has the tokenizer; arguments and errors as `prepare`."""
    templated, said = fitted(tokenizer, manner)
    notes = [said] if said else []
    _, examples = exchange.read(directory)
    chosen: dict[Split, tuple[Example | Drawn, ...]] = {split: tuple(examples[split]) for split in _TAUGHT}
    whole = False
    if recipe.whole:
        try:
            chosen |= _conversations(directory, examples, templated, engine)
            whole = True
        except _OneByOneError as why:
            notes.append(f"one sequence for each decision: {why}")
    return Plan(
        renderer=Renderer(templated, recipe.limit if recipe.too_long != "fail" else None),
        learnt=chosen["train"],
        validation=chosen["validation"],
        whole=whole,
        notes=tuple(notes),
    )


class _OneByOneError(Exception):
    """Why conversations of a set cannot be sequences."""


def _conversations(
    directory: Path, examples: Mapping[Split, Sequence[Example]], templated: Templated, engine: Engine
) -> dict[Split, tuple[Drawn, ...]]:
    """The conversations of a set as its examples want them learnt."""
    try:
        found = {split: drawn(exchange.conversations(directory, split), examples[split]) for split in _TAUGHT}
    except UnmatchedError as error:
        raise _OneByOneError(str(error)) from None
    everything = [*found["train"], *found["validation"]]
    most = max((count for one in everything for count in one.counts.values()), default=0)
    if engine == "trl" and most > 1:
        raise _OneByOneError(f"a decision was drawn {most} times, which TRL's labels cannot say (the lean engine can)")
    if everything:
        # What a template does to earlier turns shows where there are most of them, whichever are learnt.
        longest = max((one.conversation for one in everything), key=lambda one: len(one.messages))
        trial = Renderer(templated).conversation(msgspec.structs.replace(longest, start=0))
        if isinstance(trial, Refused) and trial.why == "rewritten":
            raise _OneByOneError(f"the chat template writes conversations anew ({trial.detail})")
    return found


def prepare(
    directory: Path, tokenizer: Tokenizer, recipe: Recipe, manner: Manner | None = None, engine: Engine = "lean"
) -> Prepared:
    """Render the training and the validation split of a set of examples for the model that has the tokenizer.

    Args:
        directory: the set. A decision is learnt as often as it has examples, whether conversations are sequences or
            each example is one.
        tokenizer: with its chat template.
        recipe: how long sequences are, and whether conversations are.
        manner: how prompts are rendered, where the tokenizer's own template is not to be used as it is.
        engine: that they are for; TRL cannot learn a decision of a conversation several times.

    Raises:
        DataError: the set cannot be read; or sequences do not fit and the recipe says to fail, and they are named.
    """
    settled = plan(directory, tokenizer, recipe, manner, engine)
    notes = list(settled.notes)
    learnt, left = _rendered(settled.learnt, settled.renderer, recipe)
    validation, more = _rendered(settled.validation, settled.renderer, recipe)
    refused = [*left, *more]
    _require_fitting([*learnt, *validation], refused, recipe, directory)
    if refused:
        named = "; ".join(map(str, refused[:_MOST_NAMED]))
        notes.append(f"{len(refused)} sequences were left out: {named}{'; ...' if len(refused) > _MOST_NAMED else ''}")
    return Prepared(
        templated=settled.renderer.templated,
        learnt=tuple(learnt),
        validation=tuple(validation),
        refused=tuple(refused),
        whole=settled.whole,
        notes=tuple(notes),
    )


def _rendered(
    items: Sequence[Example | Drawn], renderer: Renderer, recipe: Recipe
) -> tuple[list[Rendered], list[Refused]]:
    found = [
        _fit(renderer, recipe, one) if isinstance(one, Example) else renderer.conversation(one.conversation, one.counts)
        for one in items
    ]
    return [one for one in found if isinstance(one, Rendered)], [one for one in found if isinstance(one, Refused)]


def _fit(renderer: Renderer, recipe: Recipe, example: Example) -> Rendered | Refused:
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
    watch: Watch = nobody,
    halt: Halt = never,
    manner: Manner | None = None,
    engine: Engine = "lean",
) -> Outcome:
    """Fine-tune a base on a set of examples.

    Args:
        examples: a directory that `turngap.training.exchange` wrote.
        base: its weights are changed.
        recipe: how.
        directory: see the module.
        watch: see `turngap.training.moment`.
        halt: the same.
        manner: how prompts are rendered, where the tokenizer's own template is not to be used as it is.
        engine: the loop; both give the same within rounding.

    Raises:
        DataError, UsageError, ConfigError: as `prepare` and the engine. StoreError: nothing can be written, or another
            process writes there. MissingExtra: the engine is not installed. Halted: as the engine.
    """
    if engine == "lean" and os.environ.get("WORLD_SIZE", "1") != "1":
        raise UsageError("the lean engine trains in one process; choose --engine trl under accelerate launch")
    with _writing(directory):
        manifest, _ = exchange.read(examples)
        done = outcome(directory)
        key = _Key(base=base.spec, recipe=recipe, examples=manifest.digest, engine=engine, asked=_asked(manner))
        if done is not None and key.fits(done):
            return done
        prepared = prepare(examples, base.tokenizer, recipe, manner, engine)
        problem = gguf_writer.problem(base.origin) if base.origin is not None else None
        if problem is not None:
            prepared = msgspec.structs.replace(prepared, notes=(*prepared.notes, problem))
        weights = base.parameters  # before adapters come on top
        trained = _engine(engine)(
            base, recipe, prepared.learnt, prepared.validation, directory / CHECKPOINTS, watch=watch, halt=halt
        )
        found = _summed(weights, key, prepared, trained)
        if is_first():
            _write(directory, base, prepared.templated, trained, with_gguf=problem is None)
            jsonio.write_atomic(directory / SUMMARY, jsonio.dumps(found, indent=2) + "\n")
        return found


def finished(
    directory: Path,
    examples: Path,
    base: str,
    recipe: Recipe,
    *,
    manner: Manner | None = None,
    engine: Engine = "lean",
) -> Outcome | None:
    """What came of exactly this training where it is done; None else. Needs neither torch nor the base."""
    done = outcome(directory)
    if done is None or not (directory / MODEL).is_dir():
        return None
    manifest, _ = exchange.read(examples)
    key = _Key(base=base, recipe=recipe, examples=manifest.digest, engine=engine, asked=_asked(manner))
    return done if key.fits(done) else None


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    """What tells one training from another."""

    base: str
    recipe: Recipe
    examples: str
    engine: Engine
    asked: str

    def fits(self, done: Outcome) -> bool:
        return all(getattr(done, name) == getattr(self, name) for name in self.__struct_fields__)


def _asked(manner: Manner | None) -> str:
    return "" if manner is None else manner.digest()


def is_first() -> bool:
    """Whether this is the process that writes, among those that were started together to train on many devices."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    if not is_first():
        yield
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror}") from None
    lock = WriterLock(directory / _LOCK)
    try:
        yield
    finally:
        lock.release()


def _engine(name: Engine) -> Callable[..., Trained]:
    if name == "lean":
        from turngap.training import lean  # noqa: PLC0415 - imports torch, which takes seconds and may be missing

        return lean.train
    from turngap.training import sft  # noqa: PLC0415 - the same

    return sft.train


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


def _summed(weights: int, key: _Key, prepared: Prepared, trained: Trained) -> Outcome:
    learnt = prepared.learnt
    return Outcome(
        **{name: getattr(key, name) for name in key.__struct_fields__},
        manner=msgspec.to_builtins(prepared.templated.manner),
        counts={
            "sequences": len(learnt),
            "decisions": sum(one.decisions for one in learnt),
            "tokens": sum(len(one.tokens) for one in learnt),
            "learnt_tokens": sum(one.targets for one in learnt),
            "cut_messages": sum(one.cut for one in learnt),
            "validation_sequences": len(prepared.validation),
            "refused": len(prepared.refused),
        },
        parameters=weights,
        steps=trained.steps,
        loss=trained.loss,
        validation=trained.validation,
        tokens=trained.tokens,
        seconds=trained.seconds,
        stopped=trained.stopped,
        notes=prepared.notes,
    )


def _write(directory: Path, base: Base, templated: Templated, trained: Trained, *, with_gguf: bool) -> None:
    """Write the model; what lay there before is replaced when the new one is complete."""
    model = merged(trained.model)
    part = directory / f".{MODEL}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        if base.origin is not None and with_gguf:
            gguf_writer.write(base.origin, model.state_dict(), directory / GGUF, template=templated.template)
        as_stored(model, base.stored).save_pretrained(part)
        base.tokenizer.chat_template = templated.template
        base.tokenizer.save_pretrained(part)
        (part / MANNER).write_text(jsonio.dumps({"manner": templated.manner}) + "\n", encoding="utf-8")
        shutil.rmtree(directory / MODEL, ignore_errors=True)
        part.rename(directory / MODEL)
    except OSError as error:
        raise StoreError(f"{directory}: the model cannot be written: {error.strerror or error}") from None
