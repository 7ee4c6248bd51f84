"""A mean under random weights: below which point does it lie with a given chance?

Every unit gets a weight of its own, drawn from the exponential distribution and independent of all others, as in the
Bayesian bootstrap; the mean of the weighted units then varies as the mean of another sample would. Its distribution is
computed, not sampled: that t is not reached means that a sum of independent exponential variables is not positive, and
the chance of that is an integral of their moment generating function along a path in the complex plane. It is accurate
to nine digits (to four where some units outweigh others a thousandfold), so no seed and no number of draws enters.

Sources: D. B. Rubin, The Bayesian Bootstrap, Annals of Statistics 9, 1981 (the weights); N. Gaffke, Three test
statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable, Mathematical Methods of
Statistics 14, 2005 (a bound from them); H. E. Daniels, Saddlepoint approximations in statistics, Annals of Mathematical
Statistics 25, 1954 (the path).

Non-goals: what the units are, and what else has to be reckoned with (`turngap.metrics.interval`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Numbers = npt.NDArray[np.float64]

MOST = 0.25
"""The largest chance that may be asked for: whatever the units are, the mean is missed with one of 1/e at least."""
_STEPS = 100
_NEAR = 1e-11  # of the range: so close is found
_CELLS = 1_000_000  # numbers that are held in memory at once

_NODES, _MASSES = np.polynomial.legendre.leggauss(48)
# The path has no end: from (-1, 1) to (0, infinity), most nodes within a few standard deviations.
_ALONG = 2 * (1 + _NODES) / (1 - _NODES)
_LENGTHS = 4 * _MASSES / (1 - _NODES) ** 2


def low_end(values: Numbers, masses: Numbers, counts: Numbers, chance: float) -> float:
    """The point below which the weighted mean lies with a given chance.

    Args:
        values: of each group of equal units.
        masses: by which a unit of each group enters the mean, besides its random weight; above 0.
        counts: units in each group; above 0.
        chance: in (0, `MOST`].

    Returns:
        The point, between the least value and the mean; the value itself where all are equal.
    """
    total = masses * counts
    mean = float(values @ total / total.sum())
    low, high = float(values.min()), mean
    if high - low <= _NEAR:
        return low
    wanted = float(ndtri(chance))
    spread = math.sqrt(float(counts @ (masses * (values - mean)) ** 2)) / float(total.sum())
    point, before, missed_before = mean + wanted * spread, math.nan, math.nan
    # Seen through the normal distribution the chance is nearly straight in the point, so that secants need few steps.
    for _ in range(_STEPS):
        if not low < point < high:
            point = (low + high) / 2
        missed = float(ndtri(min(max(_not_positive(masses * (values - point), counts), 0.0), 1.0))) - wanted
        low, high = (point, high) if missed < 0 else (low, point)
        slope = (missed - missed_before) / (point - before) if math.isfinite(missed_before) else 1 / spread
        before, missed_before = point, missed
        point = before - missed / slope if slope and math.isfinite(missed) else math.nan
        if abs(point - before) <= _NEAR or high - low <= _NEAR:
            break
    return before


def _not_positive(terms: Numbers, counts: Numbers) -> float:
    """The chance that the sum of so many exponential variables, each times its term, is not positive.

    Args:
        terms: some below 0, some above; their sum is above 0.
        counts: variables with that term.
    """
    saddle = _saddle(terms, counts)
    bent = terms / (1 - terms * saddle)
    width = math.sqrt(float(counts @ bent**2))
    # The path of steepest descent leaves the saddle upright and bends by the third cumulant.
    curve = float(counts @ bent**3) / (3 * width**2)
    up = _ALONG / width
    path, direction = saddle + 1j * up + curve * up**2, 1j + 2 * curve * up
    size, angle = np.zeros(len(path)), np.zeros(len(path))
    columns = max(1, _CELLS // len(path))
    for start in range(0, len(terms), columns):
        some = slice(start, start + columns)
        # The logarithm of 1 - term x path in its two parts: that of complex numbers takes ten times as long.
        real = 1 - np.multiply.outer(path.real, terms[some])
        imaginary = np.multiply.outer(-path.imag, terms[some])
        size -= np.log(real**2 + imaginary**2) @ counts[some] / 2
        angle -= np.arctan2(imaginary, real) @ counts[some]
    heights = (np.exp(size + 1j * angle) / path * direction).imag
    return -float(heights @ _LENGTHS) / (width * math.pi)


def _saddle(terms: Numbers, counts: Numbers) -> float:
    """Where the cumulant generating function is least, below 0: by Newton's method, kept between its pole and 0.

    Any point there gives the same integral; near the least one it does not oscillate, so a near miss does no harm.
    """
    low, high = 1 / float(terms.min()), 0.0
    at = -float(counts @ terms) / float(counts @ terms**2)
    for _ in range(_STEPS):
        if not low < at < high:
            at = (low + high) / 2
        bent = terms / (1 - terms * at)
        rise, turn = float(counts @ bent), float(counts @ bent**2)
        if rise * rise <= 1e-6 * turn:
            break
        low, high = (low, at) if rise > 0 else (at, high)
        at -= rise / turn
    return at
