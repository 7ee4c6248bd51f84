"""What an experiment is: one TOML file, read into frozen settings; an unknown field is an error.

Paths in it are relative to the file. A study makes training tasks in one domain and evaluation tasks in another (a
database of its own), has a teacher act on both, trains a base on what the teacher did on the training tasks, and
measures the base before and after on the others.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from turngap.errors import ConfigError, DataError, UsageError
from turngap.training.making import Mix
from turngap.training.recipe import RECIPES, Recipe, laid_over

_KEYS_OF_PATHS = ("domain", "phrases")


class Tasks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks of one domain, and how many."""

    domain: str
    """As in `turngap rollout --domain`."""
    each: int
    """Tasks of each scenario."""
    scenarios: tuple[str, ...] = ("general", "ambiguous", "changing", "infeasible")
    explorations: int = 2000
    seed: int = 0
    phrases: str | None = None


class Teacher(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who shows how it is done."""

    model: str = "baseline/reference"
    user: str = "scripted"
    trials: int = 1
    base_url: str | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the base and the trained model are asked, and what they are measured on."""

    model: str | None = None
    """Spec of the model before training, where that is another than the base; ``{}`` in `served` is its place."""
    served: str = "auto"
    """How the trained model is served: ``gguf`` (llama.cpp), ``hf`` (in this process), ``auto``, or a spec with ``{}``
    for its folder, such as ``openai/{}`` for a server of one's own."""
    base_url: str | None = None
    conversations: int = 80
    """Evaluation conversations, the first ones; they are taken evenly from the scenarios."""
    tasks: int = 60
    """Live evaluation tasks, evenly from the scenarios."""
    before: int | None = None
    """Conversations and tasks that the base gets, where that is fewer: an untrained model is slow and always fails."""
    protocols: tuple[str, ...] = ("text", "turn", "strict", "replay", "workflow")
    judge: str = "rules"
    horizon: int = 0
    """Decisions of the horizon; 0 leaves it out."""
    trials: int = 1
    max_tokens: int = 128
    max_steps: int = 30
    concurrency: int = 4

    def trained(self, protocols: tuple[str, ...] | None = None) -> Asked:
        """What a trained model is asked, under these protocols where they are not the usual ones."""
        return msgspec.structs.replace(self, before=None, protocols=protocols or self.protocols)

    def untrained(self) -> Asked:
        """What a model is asked before it is trained."""
        most = self.before or max(self.conversations, self.tasks)
        return msgspec.structs.replace(
            self, conversations=min(self.conversations, most), tasks=min(self.tasks, most), before=None
        )


class Recovery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rounds of rollout, correction and further training (`turngap.protocols.recovering`), behind the training.

    In each round the model of the round before acts on training tasks of its own, the reference agent takes over where
    it errs, and the model learns from that, mixed with conversations of the teacher so that it forgets nothing.
    """

    rounds: int = 0
    tasks: int = 60
    """Tasks that the model is let loose on in each round, evenly from the scenarios; others in each."""
    rehearsed: int = 60
    """Conversations of the teacher, and of the rounds before, that are learnt again in each round."""
    protocols: tuple[str, ...] | None = None
    """Under which the model of each round is measured on recorded conversations; None: as the others."""

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.tasks < 1 or self.rehearsed < 0:
            raise UsageError("recovery: rounds and rehearsed are at least 0, tasks at least 1")


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One experiment."""

    name: str
    base: str
    """As in `turngap train --base`."""
    train: Tasks
    evaluate: Tasks
    teacher: Teacher = Teacher()
    mix: Mix = "natural"
    examples: int | None = None
    """Next-action examples that are trained on; None: all."""
    recipe: dict[str, Any] = {}
    """Fields of a recipe, over the one that ``base`` in it names."""
    ask: Asked = Asked()
    recovery: Recovery = Recovery()
    seed: int = 0

    def training(self) -> Recipe:
        """The recipe.

        Raises:
            UsageError, ConfigError: it makes no sense.
        """
        settings = dict(self.recipe)
        base = settings.pop("base", "laptop")
        if base not in RECIPES:
            raise UsageError(f"study {self.name}: unknown recipe {base!r}; known: {', '.join(RECIPES)}")
        return laid_over(RECIPES[base], {"seed": self.seed, **settings}, source=f"study {self.name}: recipe")


def read(path: Path) -> Study:
    """Read a study.

    Raises:
        DataError: the file cannot be read. ConfigError: an unknown field, or one of the wrong type.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"no TOML: {error}", file=str(path)) from None
    for side in ("train", "evaluate"):
        part = settings.get(side)
        if isinstance(part, dict):
            for key in _KEYS_OF_PATHS:
                if isinstance(part.get(key), str):
                    part[key] = _beside(path, part[key])
    try:
        study = msgspec.convert({"name": path.stem, **settings}, Study)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}") from None
    study.training()
    return study


def _beside(path: Path, text: str) -> str:
    """A file that lies beside the study's, by its path; a name stays a name."""
    file, mark, options = text.partition("?")
    there = path.parent / file
    return f"{there}{mark}{options}" if file.endswith((".py", ".toml", ".json")) and there.is_file() else text
