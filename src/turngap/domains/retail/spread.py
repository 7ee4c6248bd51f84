"""Whole numbers with a given smallest, greatest, mean and standard deviation, as alike in each draw as can be."""

from __future__ import annotations

import math
import random
from itertools import accumulate

import msgspec

from turngap.errors import UsageError


class Spread(msgspec.Struct, frozen=True):
    """How a number varies."""

    low: int
    high: int
    """Included."""
    mean: float
    sd: float

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """`count` numbers in random order.

        They follow the distribution that assumes nothing beyond these four figures (of greatest entropy), one from each
        of `count` equal shares of it, so that even a small draw has about the mean and deviation that were asked for.

        Raises:
            UsageError: no distribution has these figures.
        """
        below = list(accumulate(self._shares()))
        numbers = []
        for index in range(count):
            point = (index + rng.random()) / count
            step = next((step for step, share in enumerate(below) if point < share), len(below) - 1)
            numbers.append(self.low + step)
        rng.shuffle(numbers)
        return numbers

    def _shares(self) -> list[float]:
        """The probability of each number from `low` to `high`."""
        if self.low == self.high == self.mean and self.sd == 0:
            return [1.0]
        room = (self.mean - self.low) * (self.high - self.mean)
        if self.low >= self.high or room <= 0 or not 0 < self.sd < math.sqrt(room):
            raise self._impossible()
        return self._fit()

    def _fit(self) -> list[float]:
        """Newton's method for the two multipliers of ``exp(a x + b x^2)``, x in deviations from the mean."""
        xs = [(number - self.mean) / self.sd for number in range(self.low, self.high + 1)]
        linear, square = 0.0, -0.5
        gap = math.inf
        for _ in range(200):
            shares = _normal([linear * x + square * x * x for x in xs])
            m1, m2, m3, m4 = (math.fsum(s * x**k for s, x in zip(shares, xs, strict=True)) for k in (1, 2, 3, 4))
            gap = abs(m1) + abs(m2 - 1)
            if gap < 1e-9:
                return shares
            v11, v12, v22 = m2 - m1 * m1, m3 - m1 * m2, m4 - m2 * m2
            scale = v11 * v22 - v12 * v12
            if scale < 1e-12:
                break
            # Shorter steps far from the solution keep it from overshooting.
            pace = min(1.0, 0.5 / gap)
            linear += pace * (-m1 * v22 - (1 - m2) * v12) / scale
            square += pace * ((1 - m2) * v11 + m1 * v12) / scale
        raise self._impossible()

    def _impossible(self) -> UsageError:
        return UsageError(
            f"no whole numbers from {self.low} to {self.high} have a mean of {self.mean:g} and a standard deviation of "
            f"{self.sd:g}; widen the range or change the figures"
        )


def _normal(logarithms: list[float]) -> list[float]:
    top = max(logarithms)
    weights = [math.exp(value - top) for value in logarithms]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
