"""Geometry of the viewer's own drawings."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import Figure
from turngap.web import plot
from turngap.web.chains import Curve, Measured, Point, chains
from turngap.web.says import BINS, Bubble


def test_curves_lie_in_their_square() -> None:
    """Places go from left to right and shares from bottom to top; the chain that was asked for is a point on its curve."""
    points = (
        Point(at=1, measured=Figure(value=0.5, n=4, ci95=(0.2, 0.8)), expected=0.5),
        Point(at=2, measured=Figure(value=0.25, n=2, ci95=(0.0, 0.6)), expected=0.25),
    )
    found = chains([Measured(run="r1", label="a", curves={"trials": points}, chain=None)], rate=0.5, length=2)
    drawn = plot.lines(found)
    (line,) = drawn.lines
    assert found.most == 10
    assert line.path == "M100,500L200,750"
    assert line.band == "M100,200L200,400L200,1000L100,800Z"
    assert line.expected == line.path
    assert drawn.asked.startswith("M0,0L100,500L200,750")
    assert drawn.here == (20.0, plot.HEIGHT * 0.75)
    assert [tick.text for tick in drawn.across] == ["0", "2", "4", "6", "8", "10"]


def test_one_point_is_no_line() -> None:
    """A curve of one point has a dot and nothing that is drawn between points."""
    assert plot.path([(1, 0.5)], 10) == ""


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=7))
def test_parts_of_a_bar_fill_it(counts: list[int]) -> None:
    """Parts follow on each other and make up the whole; of nothing there is nothing."""
    parts = plot.shares(counts)
    assert sum(width for _, width in parts) == pytest.approx(100 if sum(counts) else 0)
    for (begin, width), (after, _) in pairwise(parts):
        assert begin + width == pytest.approx(after if sum(counts) else 0)


@given(
    st.lists(
        st.builds(
            lambda said, called, count, part: Bubble(said=said, called=called, count=count, ended=count * part),
            st.integers(0, BINS),
            st.integers(0, BINS),
            st.integers(1, 10_000),
            st.floats(0, 1),
        ),
        max_size=20,
    )
)
def test_rings_stay_in_their_cell(bubbles: list[Bubble]) -> None:
    """Every ring lies within its field, and the finished part within its ring."""
    picture = plot.spots(bubbles, "conversation")
    for spot in picture.spots:
        assert 0 < spot.radius <= 10
        assert 0 <= spot.inner <= spot.radius + 0.01
        assert spot.radius <= spot.x <= picture.size - spot.radius
        assert spot.radius <= spot.y <= picture.size - spot.radius


def test_a_figure_is_a_dot_on_its_interval() -> None:
    """Without a value there is nothing to draw; without an interval the dot stands alone."""
    assert plot.interval(Figure(value=None, n=0), 0) is None
    found = plot.interval(Figure(value=0.5, n=1), 1)
    assert found is not None
    assert (found.low, found.value, found.high, found.shape) == (50.0, 50.0, 50.0, plot.mark(1))
    assert plot.mark(0) != plot.mark(1)


def test_series_have_the_colours_of_the_charts() -> None:
    """The style sheet repeats the colours of the report's charts, light and dark."""
    charts = pytest.importorskip("turngap.report.charts", reason="the extra report is not installed")
    style = (files("turngap.web") / "page" / "explore.css").read_text(encoding="utf-8")
    blocks = [re.findall(r"--s\d: (#\w+);", block) for block in re.findall(r"\{([^{}]*--s0[^{}]*)\}", style)]
    light, *dark = [tuple(block) for block in blocks if block]
    assert light == charts.colors(dark=False)
    assert dark == [charts.colors(dark=True)] * 2
    assert len(light) == plot.SERIES


def test_a_curve_knows_its_places() -> None:
    """A point is found by its place, and there is none elsewhere."""
    point = Point(at=3, measured=Figure(value=1.0, n=1), expected=None)
    curve = Curve(run="r1", label="a", series=0, points=(point,))
    assert curve.at(3) is point
    assert curve.at(2) is None
