"""Geometry of the viewer's own drawings: fractions as places, so that a template only writes them down.

Drawings are SVG made by the server. What may be stretched (curves, bands) lies in a square of `BOX` units; what may not
(dots, labels) is placed in percent of the width and in pixels of the height, so that texts keep their size on a phone.
Nothing here is markup, and no colour is known: series are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from turngap.data import Figure
from turngap.web.chains import Chains, Curve, left
from turngap.web.says import BINS, Bubble

BOX = 1000
"""Units of the square in which curves are drawn."""
HEIGHT = 260
"""Pixels of a plot of curves."""
SERIES = 8
"""Colours there are; further runs begin again."""
MARKS = (
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z",
    "M-4,-4H4V4H-4Z",
    "M0,-5L5.2,4.2H-5.2Z",
    "M0,-5.6L4.4,0L0,5.6L-4.4,0Z",
    "M-1.8,-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z",
    "M0,5L5.2,-4.2H-5.2Z",
)
"""Shapes of dots as SVG paths around (0, 0), in pixels; one beside the colour, for those who see none."""

_TICKS = 8
_CELL, _GAP, _LARGEST, _LEAST = 20, 6, 9.5, 2.5


class Tick(msgspec.Struct, frozen=True):
    """A label on an axis."""

    at: float
    """Percent of the width, or pixels from the top."""
    text: str
    anchor: str = "middle"


class Dot(msgspec.Struct, frozen=True):
    """A measured value."""

    x: float
    """Percent of the width."""
    y: float
    """Pixels from the top."""
    shape: str
    said: str
    """What it shows, in words."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One curve."""

    label: str
    series: int
    path: str
    """In the square."""
    band: str
    """Its interval, closed; empty where there is none."""
    expected: str
    """The curve under independence; empty where there is none."""
    dots: tuple[Dot, ...]
    shape: str


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """Curves over a number of decisions."""

    lines: tuple[Line, ...]
    asked: str
    """The curve of the rate that was asked for."""
    here: tuple[float, float]
    """Where the chain that was asked for ends, percent and pixels."""
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


class Range(msgspec.Struct, frozen=True):
    """A figure as a dot on its interval; percent of the width."""

    low: float
    high: float
    value: float
    shape: str


class Spot(msgspec.Struct, frozen=True):
    """Conversations in one place, as a ring with a filled part; pixels."""

    x: float
    y: float
    radius: float
    inner: float
    """Radius of the part that was finished."""
    said: str


class Spots(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of all places."""

    size: int
    """Pixels of its square field."""
    spots: tuple[Spot, ...]
    ticks: tuple[Tick, ...]
    """Pixels along either axis from where it begins."""
    cells: tuple[tuple[float, float], ...]
    """Begin and end of every step along either axis."""


def lines(found: Chains) -> Lines:
    """The measured curves and the one that was asked for."""
    most = found.most
    step = max(1, -(-most // _TICKS))
    places = range(0, most + 1, step)
    return Lines(
        lines=tuple(_line(curve, most) for curve in found.curves),
        asked=path([(at, left(found.rate, at)) for at in range(most + 1)], most),
        here=(100 * found.length / most, HEIGHT * (1 - found.finished)),
        across=tuple(
            Tick(100 * at / most, str(at), "start" if at == 0 else "end" if at == most else "middle") for at in places
        ),
        up=tuple(Tick(HEIGHT * (1 - share / 100), f"{share}%") for share in (0, 25, 50, 75, 100)),
    )


def path(points: Sequence[tuple[float, float]], most: int) -> str:
    """A polyline through (place, fraction) in the square; empty for less than two points."""
    if len(points) < 2:
        return ""
    return "M" + "L".join(f"{_number(BOX * at / most)},{_number(BOX * (1 - value))}" for at, value in points)


def interval(figure: Figure, series: int) -> Range | None:
    """A figure as a dot with its interval; None where it has no value."""
    if figure.value is None:
        return None
    low, high = figure.ci95 or (figure.value, figure.value)
    return Range(100 * low, 100 * high, 100 * figure.value, mark(series))


def spots(bubbles: Sequence[Bubble], unit: str) -> Spots:
    """Conversations by how they talk (across) and how they call (up)."""
    edges = [at * _CELL + (_GAP if at == BINS else 0) for at in range(BINS + 1)]
    size = edges[-1] + _CELL
    most = max((bubble.count for bubble in bubbles), default=1)
    # The shares of partial bins begin at their edge; a whole share stands apart, since that is what counts.
    ticks = (Tick(0, "0%"), Tick(5 * _CELL, "50%"), Tick(edges[-1] + _CELL / 2, "all"))
    return Spots(
        size=size,
        spots=tuple(_spots(bubbles, edges, size, most, unit)),
        ticks=ticks,
        cells=tuple((edge, edge + _CELL) for edge in edges),
    )


def mark(series: int) -> str:
    """The shape of a series."""
    return MARKS[series % len(MARKS)]


def shares(counts: Sequence[int]) -> list[tuple[float, float]]:
    """Parts of a bar: where each begins and how wide it is, in percent; all of width 0 for nothing."""
    total = sum(counts)
    begun, found = 0, []
    for count in counts:
        found.append((100 * begun / total, 100 * count / total) if total else (0.0, 0.0))
        begun += count
    return found


def _line(curve: Curve, most: int) -> Line:
    values = [(point.at, point.measured.value or 0.0) for point in curve.points]
    ends = [(point.at, point.measured.ci95) for point in curve.points if point.measured.ci95 is not None]
    upper = [(at, ci95[1]) for at, ci95 in ends]
    lower = [(at, ci95[0]) for at, ci95 in reversed(ends)]
    expected = [(point.at, point.expected) for point in curve.points if point.expected is not None]
    shape = mark(curve.series)
    return Line(
        label=curve.label,
        series=curve.series % SERIES,
        path=path(values, most),
        band=f"{path([*upper, *lower], most)}Z" if len(ends) > 1 else "",
        expected=path(expected, most),
        dots=tuple(
            Dot(
                100 * point.at / most,
                HEIGHT * (1 - (point.measured.value or 0.0)),
                shape,
                f"{curve.label}: {100 * (point.measured.value or 0):.1f}% at {point.at}, n {point.measured.n}",
            )
            for point in curve.points
        ),
        shape=shape,
    )


def _spots(bubbles: Sequence[Bubble], edges: Sequence[int], size: int, most: int, unit: str) -> Iterator[Spot]:
    for bubble in bubbles:
        radius = max(_LEAST, _LARGEST * (bubble.count / most) ** 0.5)
        yield Spot(
            edges[bubble.said] + _CELL / 2,
            size - edges[bubble.called] - _CELL / 2,
            round(radius, 2),
            round(radius * (bubble.ended / bubble.count) ** 0.5, 2),
            f"{bubble.count} {unit}{'' if bubble.count == 1 else 's'}: says {_tenth(bubble.said)}, calls "
            f"{_tenth(bubble.called)}; {bubble.ended:.3g} finished",
        )


def _tenth(step: int) -> str:
    return "all right" if step == BINS else f"{10 * step} to {10 * step + 10}% right"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
