"""Layered layout of a drawing: boxes in columns, lines from a box to the ports of boxes further right.

The usual four steps: columns by longest path, way points where a line passes a column, an order within each column with
few crossings, and heights at which lines are as straight as that order allows. All lines of one box share a trunk: in
each column that they pass there is one way point for them all, from which they branch off.

Pure geometry, the same for the same input. Knows nothing of what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

_SWEEPS = 24
_GAP = 26.0  # between boxes
_WAY_GAP = 13.0  # around way points
_TRUNK = 3.0  # how much straighter trunks want to be than single lines


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be placed."""

    name: str
    height: float
    out: float
    """Where its lines leave, from its top."""
    ports: tuple[float, ...] = ()
    """Where lines arrive, each from its top."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """From a box to a port of another, which must not lead back to it."""

    source: str
    target: str
    port: int = 0


class Way(NamedTuple):
    """The way point of a box's lines in a column."""

    source: str
    column: int


Item = str | Way


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything is."""

    columns: tuple[tuple[Item, ...], ...]
    """Boxes and way points of each column, from the top."""
    tops: dict[Item, float]
    """Of boxes the upper edge, of way points the height at which the trunk passes; the least is 0."""
    height: float


def layered(boxes: Sequence[Box], lines: Sequence[Line]) -> Layout:
    """Place boxes so that every line leads to the right.

    Args:
        boxes: in an order that is kept where nothing speaks against it.
        lines: between them, without circles.
    """
    plan = _Plan(boxes, lines)
    plan.order()
    plan.settle()
    tops = plan.tops()
    least = min(tops.values(), default=0.0)
    moved = {item: top - least for item, top in tops.items()}
    ends = (top + (plan.boxes[item].height if isinstance(item, str) else 0) for item, top in moved.items())
    return Layout(columns=tuple(map(tuple, plan.columns)), tops=moved, height=max(ends, default=0.0))


class _Link(NamedTuple):
    """A piece of a line between neighbouring columns."""

    left: Item
    right: Item
    port: int


class _Plan:
    def __init__(self, boxes: Sequence[Box], lines: Sequence[Line]) -> None:
        self.boxes = {box.name: box for box in boxes}
        column = _columns(boxes, lines)
        self.columns: list[list[Item]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
        for box in boxes:
            self.columns[column[box.name]].append(box.name)
        links: dict[_Link, None] = {}
        for line in lines:
            before: Item = line.source
            for at in range(column[line.source] + 1, column[line.target]):
                way = Way(line.source, at)
                if way not in self.columns[at]:
                    self.columns[at].append(way)
                links[_Link(before, way, 0)] = None
                before = way
            links[_Link(before, line.target, line.port)] = None
        self.left: dict[Item, list[_Link]] = {item: [] for items in self.columns for item in items}
        self.right: dict[Item, list[_Link]] = {item: [] for item in self.left}
        for link in links:
            self.left[link.right].append(link)
            self.right[link.left].append(link)
        self.centre: dict[Item, float] = {}

    def order(self) -> None:
        """Sweep to and fro, each item going where its neighbours are; the best order met is kept."""
        best, least = [list(items) for items in self.columns], self._crossings()
        for sweep in range(_SWEEPS):
            forth = sweep % 2 == 0
            order = range(1, len(self.columns)) if forth else range(len(self.columns) - 2, -1, -1)
            for at in order:
                place = self._places(at - 1 if forth else at + 1)
                # Those without neighbours there stay where they are.
                wanted = [
                    (self._mean(item, place, at_left=forth, otherwise=index), index, item)
                    for index, item in enumerate(self.columns[at])
                ]
                self.columns[at] = [item for _, _, item in sorted(wanted, key=lambda one: one[:2])]
            found = self._crossings()
            if found < least:
                best, least = [list(items) for items in self.columns], found
        self.columns = best

    def settle(self) -> None:
        """Give every item its height, again and again from what its neighbours have."""
        for items in self.columns:
            whole = sum(map(self._size, items)) + sum(self._between(items))
            at = -whole / 2
            for index, item in enumerate(items):
                self.centre[item] = at + self._size(item) / 2
                at += self._size(item) + (self._between(items)[index] if index < len(items) - 1 else 0)
        for sweep in range(_SWEEPS):
            forth = sweep % 2 == 0
            for items in self.columns if forth else reversed(self.columns):
                wants = [self._want(item) for item in items]
                gaps = self._between(items)
                apart = [
                    (self._size(one) + self._size(other)) / 2 + gap
                    for (one, other), gap in zip(pairwise(items), gaps, strict=True)
                ]
                for item, centre in zip(items, _apart(wants, apart), strict=True):
                    self.centre[item] = centre

    def tops(self) -> dict[Item, float]:
        """Upper edges, from centres."""
        return {item: centre - self._size(item) / 2 for item, centre in self.centre.items()}

    def _size(self, item: Item) -> float:
        return self.boxes[item].height if isinstance(item, str) else 0.0

    def _between(self, items: Sequence[Item]) -> list[float]:
        return [_GAP if isinstance(a, str) and isinstance(b, str) else _WAY_GAP for a, b in pairwise(items)]

    def _at(self, item: Item, port: int | None) -> float:
        """How far from its centre a line meets an item; port None: where lines leave."""
        if not isinstance(item, str):
            return 0.0
        box = self.boxes[item]
        return (box.out if port is None else box.ports[port]) - box.height / 2

    def _want(self, item: Item) -> tuple[float, float]:
        """Where an item would like its centre, and how much."""
        wishes = []
        for link in self.left[item]:
            weight = _TRUNK if isinstance(link.left, Way) or isinstance(link.right, Way) else 1.0
            wishes.append((self.centre[link.left] + self._at(link.left, None) - self._at(item, link.port), weight))
        for link in self.right[item]:
            weight = _TRUNK if isinstance(link.left, Way) or isinstance(link.right, Way) else 1.0
            wishes.append((self.centre[link.right] + self._at(link.right, link.port) - self._at(item, None), weight))
        if not wishes:
            return self.centre[item], 0.1
        whole = sum(weight for _, weight in wishes)
        return sum(place * weight for place, weight in wishes) / whole, whole

    def _places(self, column: int) -> dict[Item, float]:
        return {item: float(index) for index, item in enumerate(self.columns[column])}

    def _mean(self, item: Item, place: Mapping[Item, float], *, at_left: bool, otherwise: float) -> float:
        links = self.left[item] if at_left else self.right[item]
        found = [place[link.left] if at_left else place[link.right] + self._share(link) for link in links]
        return sum(found) / len(found) if found else otherwise

    def _share(self, link: _Link) -> float:
        """How far down a box its port is, below 1: lines to one box are to arrive in the order of its ports."""
        return (
            self.boxes[link.right].ports[link.port] / self.boxes[link.right].height
            if isinstance(link.right, str)
            else 0.0
        )

    def _crossings(self) -> int:
        count = 0
        for left, right in pairwise(self.columns):
            at_left = {item: index for index, item in enumerate(left)}
            at_right = {item: index for index, item in enumerate(right)}
            ends = sorted(
                (at_left[link.left], at_right[link.right] + self._share(link))
                for item in left
                for link in self.right[item]
            )
            count += sum(
                1
                for index, one in enumerate(ends)
                for other in ends[index + 1 :]
                if one[0] < other[0] and one[1] > other[1]
            )
        return count


def _columns(boxes: Sequence[Box], lines: Sequence[Line]) -> dict[str, int]:
    """The longest way to each box from one that no line leads to."""
    into: dict[str, list[str]] = {box.name: [] for box in boxes}
    for line in lines:
        into[line.target].append(line.source)
    found: dict[str, int] = {}

    def column(name: str) -> int:
        if name not in found:
            found[name] = max((column(source) + 1 for source in into[name]), default=0)
        return found[name]

    for box in boxes:
        column(box.name)
    return found


def _apart(wants: Sequence[tuple[float, float]], apart: Sequence[float]) -> Iterator[float]:
    """Places in order, at least so far apart, as near as can be (least squares) to where they are wanted.

    Args:
        wants: place and weight of each.
        apart: the least distance from each to the next.
    """
    blocks: list[tuple[float, float, int]] = []  # weighted mean, weight, members
    shift, shifts = 0.0, []
    for index, (place, weight) in enumerate(wants):
        shift += apart[index - 1] if index else 0.0
        shifts.append(shift)
        blocks.append((place - shift, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, much, few), (other, more, rest) = blocks[-2:]
            blocks[-2:] = [((one * much + other * more) / (much + more), much + more, few + rest)]
    at = 0
    for mean, _, members in blocks:
        for _ in range(members):
            yield mean + shifts[at]
            at += 1
