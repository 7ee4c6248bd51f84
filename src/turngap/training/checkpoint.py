"""Where a training is: weights, optimiser and place in the data, saved so that a kill at any moment harms nothing.

A checkpoint is written beside the last one and then takes its place. It belongs to one training: base, recipe and data;
with any other it is refused. The log has one line for each step, and none twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import ConfigError, StoreError
from turngap.training.base import Base
from turngap.training.recipe import Recipe
from turngap.training.rendering import Rendered


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How far a training is."""

    step: int = 0
    """Steps that are done."""
    tokens: int = 0
    """Tokens of all their sequences."""
    seconds: float = 0.0
    """Of training, over all processes that worked on it."""
    best: float | None = None
    """The best validation loss."""
    bad: int = 0
    """Looks at the validation set since then."""
    validated: float | None = None
    """The latest validation loss."""
    stopped: str = ""
    """Why it ended early; empty where it did not."""
    looking: bool = False
    """Whether the look at the validation set that is due after the last step is still to be done. The weights are those
    after the step, which is not logged yet."""
    loss: float = 0.0
    """Of the last step."""


def identity(
    engine: str, base: Base, recipe: Recipe, data: tuple[Sequence[Rendered], Sequence[Rendered]]
) -> dict[str, Any]:
    """What makes a training the one that it is: with any other of these, its checkpoints mean nothing."""
    return {
        "engine": engine,
        "base": [base.spec, base.digest],
        "recipe": msgspec.to_builtins(recipe),
        "data": [jsonio.digest([(one.id, one.tokens, one.learnt) for one in part]) for part in data],
    }


_LAST, _BEST, _NAME = "last.pt", "best.pt", "training.json"


class Checkpoint:
    """The checkpoints of one training."""

    def __init__(self, directory: Path, identity: Mapping[str, Any]) -> None:
        """Take a directory.

        Raises:
            ConfigError: it holds another training. StoreError: it cannot be written.
        """
        self._directory = directory
        digest = jsonio.digest(identity)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            name = directory / _NAME
            if name.exists():
                if _digest_in(name) != digest:
                    raise ConfigError(
                        f"{directory}: holds a training of another base, recipe or data set; name another directory"
                    )
            else:
                jsonio.write_atomic(name, jsonio.dumps({"digest": digest}) + "\n")
        except OSError as error:
            raise StoreError(f"{directory}: cannot be written: {error.strerror}") from None

    def save(self, weights: Mapping[str, Any], optimiser: Any, state: State) -> None:
        """Note where the training is."""
        saved = {"weights": _copied(weights), "optimiser": optimiser.state_dict(), "state": msgspec.to_builtins(state)}
        self._write(_LAST, saved)

    def load(self, weights: Mapping[str, Any], optimiser: Any) -> State:
        """Go back to the last note; the beginning where there is none."""
        found = self._read(_LAST)
        if found is None:
            return State()
        try:
            state = msgspec.convert(found["state"], State)
            _fill(weights, found["weights"])
            optimiser.load_state_dict(found["optimiser"])
        except _UNFIT:
            raise _damaged(self._directory / _LAST) from None
        return state

    def save_best(self, weights: Mapping[str, Any]) -> None:
        """Note the weights with the best validation loss."""
        self._write(_BEST, _copied(weights))

    def load_best(self, weights: Mapping[str, Any]) -> None:
        """Go back to them. Raises StoreError: they are not there, or damaged."""
        found = self._read(_BEST)
        try:
            _fill(weights, found)
        except _UNFIT:
            raise _damaged(self._directory / _BEST) from None

    def _write(self, name: str, value: Any) -> None:
        import torch  # noqa: PLC0415 - seconds to import, wanted only to train

        path = self._directory / name
        part = path.with_name(f".{name}.part")
        try:
            torch.save(value, part)
            part.replace(path)
        except (OSError, RuntimeError) as error:
            part.unlink(missing_ok=True)
            said = " ".join(str(error).split())[:200]
            raise StoreError(f"{path}: cannot be written: {said}; the checkpoint before it is safe") from None

    def _read(self, name: str) -> Any:
        import torch  # noqa: PLC0415 - seconds to import, wanted only to train

        path = self._directory / name
        if not path.exists():
            return None
        try:
            # Tensors and plain values alone: a checkpoint of somebody else's cannot run code.
            return torch.load(path, map_location="cpu", weights_only=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (RuntimeError, ValueError, EOFError, UnpicklingError):
            raise _damaged(path) from None


class Log:
    """One JSON line for each step."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def cut(self, step: int) -> None:
        """Drop what was logged after a step: it is done again."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            kept = [text for _, text in jsonio.read_lines(stream) if _number(text, "step", math.inf) <= step]
        jsonio.write_atomic(self._path, "".join(f"{text.decode()}\n" for text in kept))

    def seconds(self) -> float:
        """Of training, over all processes that worked on it: each counts from its own beginning."""
        total = latest = 0.0
        if self._path.exists():
            with self._path.open("rb") as stream:
                for _, text in jsonio.read_lines(stream):
                    now = _number(text, "seconds", 0.0)
                    total += latest if now < latest else 0.0
                    latest = now
        return total + latest

    def add(self, moment: msgspec.Struct) -> None:
        """Log a step."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(jsonio.dumps(moment) + "\n")


_UNFIT = (KeyError, TypeError, ValueError, RuntimeError, AttributeError, msgspec.ValidationError)
"""What comes of a checkpoint that can be read and is none of this training."""


def _damaged(path: Path) -> StoreError:
    # What torch says of a broken file is about archives and bytes, and helps nobody who wants to train.
    return StoreError(f"{path}: is damaged or no checkpoint; remove {path.parent} to train from the beginning")


def _digest_in(path: Path) -> str:
    try:
        return str(jsonio.loads(path.read_bytes())["digest"])
    except (jsonio.JsonError, KeyError, TypeError):
        raise _damaged(path) from None


def _number(text: bytes, name: str, otherwise: float) -> float:
    """A number of a line of the log; `otherwise` where that was being written when the process died."""
    try:
        return float(jsonio.loads(text)[name])
    except (jsonio.JsonError, KeyError, TypeError, ValueError):
        return otherwise


def _copied(weights: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one.detach().to("cpu", copy=True) for name, one in weights.items()}


def _fill(weights: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train

    with torch.no_grad():
        for name, one in weights.items():
            one.copy_(saved[name])
