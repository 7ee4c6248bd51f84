"""Which sequences a step has, and at which learning rate: the same for every engine, and known without running.

Steps are consecutive pieces of one long row of sequences, the epochs one after the other, each in a shuffled order of
its own that hangs on the seed alone. A step may so begin in one epoch and end in the next.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from turngap.training.recipe import Recipe


class Schedule:
    """The plan of one training.

    Args:
        recipe: how.
        sequences: how many there are to learn from, at least one.
    """

    def __init__(self, recipe: Recipe, sequences: int) -> None:
        self.recipe, self._count = recipe, sequences
        self.total = max(1, round(recipe.epochs * sequences))
        """Sequences of all steps together, repeated ones counted as often as they come."""
        self.steps = math.ceil(self.total / recipe.batch)
        """How many steps there are; the last one may have fewer sequences."""
        self.per_epoch = max(1, math.ceil(sequences / recipe.batch))
        """Steps that see about all sequences once."""
        self._ordered: tuple[int, list[int]] = (-1, [])

    def row(self) -> Iterator[int]:
        """Indices of the sequences of the whole training, in order."""
        return map(self._at, range(self.total))

    def batch(self, step: int) -> list[int]:
        """Indices of the sequences of a step; steps count from 1."""
        size = self.recipe.batch
        return [self._at(place) for place in range((step - 1) * size, min(step * size, self.total))]

    def epoch(self, step: int) -> float:
        """How often the set was seen after a step."""
        return min(step * self.recipe.batch, self.total) / self._count

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        recipe = self.recipe
        warm = math.ceil(recipe.warmup * self.steps)
        if step <= warm:
            return recipe.learning_rate * step / warm
        done = (step - warm - 1) / max(1, self.steps - warm)
        if recipe.schedule == "cosine":
            return recipe.learning_rate * (1 + math.cos(math.pi * done)) / 2
        return recipe.learning_rate * (1 - done if recipe.schedule == "linear" else 1)

    def looks(self, step: int) -> bool:
        """Whether the validation set is looked at after a step."""
        return step % (self.recipe.validate or self.per_epoch) == 0 or step == self.steps

    def _at(self, place: int) -> int:
        epoch, index = divmod(place, self._count)
        if self._ordered[0] != epoch:
            order = list(range(self._count))
            random.Random(f"{self.recipe.seed}/epoch/{epoch}").shuffle(order)
            self._ordered = (epoch, order)
        return self._ordered[1][index]
