"""Layered layout: columns, order and heights."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turngap.report.layers import Box, Layout, Line, Way, layered


def _box(name: str, height: float = 40.0, ports: int = 1) -> Box:
    return Box(name=name, height=height, out=10, ports=tuple(20.0 + 10 * port for port in range(ports)))


def _line(text: str) -> Line:
    return Line(source=text[0], target=text[1])


def _columns(layout: Layout) -> list[list[object]]:
    return [list(items) for items in layout.columns]


def test_columns_are_longest_ways() -> None:
    """A box stands right of all that lead to it; a line that passes a column has a way point there."""
    layout = layered([_box(name) for name in "abc"], [_line("ab"), _line("bc"), _line("ac")])
    assert _columns(layout)[0] == ["a"]
    assert set(layout.columns[1]) == {"b", Way("a", 1)}
    assert _columns(layout)[2] == ["c"]


def test_crossings_are_avoided() -> None:
    """Lines that would cross in the order given do not."""
    layout = layered([_box(name) for name in "abcd"], [_line("ad"), _line("bc")])
    order = [layout.tops["a"] < layout.tops["b"], layout.tops["d"] < layout.tops["c"]]
    assert order[0] == order[1]


def test_a_single_line_is_straight() -> None:
    """It leaves and arrives at one height."""
    layout = layered([_box("a"), _box("b", 90)], [_line("ab")])
    assert abs(layout.tops["a"] + 10 - (layout.tops["b"] + 20)) < 1e-6


def test_nothing_to_place() -> None:
    """No boxes, no height."""
    assert layered([], []) == Layout(columns=(), tops={}, height=0.0)


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 2)).filter(lambda one: one[0] < one[1])),
    st.lists(st.floats(40, 200), min_size=8, max_size=8),
)
def test_boxes_never_overlap(pairs: list[tuple[int, int, int]], heights: list[float]) -> None:
    """In each column everything stands apart and in order, nothing above the top or below the bottom; and it is stable."""
    boxes = [_box("abcdefgh"[at], height, ports=3) for at, height in enumerate(heights)]
    lines = [Line(source="abcdefgh"[one], target="abcdefgh"[other], port=port) for one, other, port in pairs]
    layout = layered(boxes, lines)
    tall = {box.name: box.height for box in boxes}
    assert sorted(item for items in layout.columns for item in items if isinstance(item, str)) == list("abcdefgh")
    for items in layout.columns:
        at = -1e-6
        for item in items:
            assert layout.tops[item] >= at
            at = layout.tops[item] + (tall[item] if isinstance(item, str) else 0.0)
        assert at <= layout.height + 1e-6
    assert layered(boxes, lines) == layout
