"""Charts: what a specification holds, that pictures come out, that series can be told apart."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from reports import hostile_document

from turngap.report.document import Chart, Mark

pytest.importorskip("altair", reason="needs the extra report")
charts = pytest.importorskip("turngap.report.charts")


def _chart(series: tuple[str, ...] = ("a", "b"), **changes: Any) -> Chart:
    fields: dict[str, Any] = {
        "name": "gap",
        "kind": "points",
        "title": "The gap",
        "alt": "dots",
        "value_title": "success",
        "at_title": "protocol",
        "marks": tuple(
            Mark(series=one, at=at, value=0.4, low=0.3, high=0.5, n=9) for one in series for at in ("turn", "replay")
        ),
        "at_order": ("turn", "replay"),
        "series_order": series,
    }
    return Chart(**{**fields, **changes})


def _numbers(series: tuple[str, ...] = ("a", "b")) -> Chart:
    marks = tuple(
        Mark(series=one, at=at, value=0.5, expected=expected)
        for one in series
        for at in (1, 2, 3)
        for expected in (False, True)
    )
    return _chart(series, kind="lines", marks=marks, at_order=())


@pytest.mark.parametrize("chart", [_chart(), _chart(kind="bars"), _chart(kind="ranks"), _numbers()])
def test_every_kind_is_drawn_both_ways(chart: Chart) -> None:
    """Each kind becomes a picture of text and paths, and a PNG."""
    svg = charts.svg(chart)
    assert svg.startswith("<svg")
    assert "success" in svg
    assert charts.png(chart, scale=1.0).startswith(b"\x89PNG")


def test_a_specification_takes_its_width_and_colours_from_the_page() -> None:
    """As wide as its container, and without a theme, so that a page can switch between light and dark."""
    spec = charts.specification(_chart())
    assert spec["width"] == "container"
    assert "legend" not in json.dumps(spec).replace('"legend": null', "")
    assert not re.search(r"#[0-9a-f]{6}", json.dumps(spec))


def test_nothing_is_fetched() -> None:
    """The data stand in the specification; no address but Vega-Lite's own name of its schema."""
    spec = charts.specification(_numbers())
    schema = spec.pop("$schema")
    assert schema.startswith("https://vega.github.io/schema/vega-lite/")
    assert "http" not in json.dumps(spec)


def test_light_and_dark_differ() -> None:
    """The picture for dark pages has other colours than the one for light pages."""
    assert charts.svg(_chart()) != charts.svg(_chart(), dark=True)
    assert charts.colors(dark=True) != charts.colors(dark=False)


def test_series_are_told_apart_without_colour() -> None:
    """Neighbouring series differ in shape, and 56 of them in colour or shape."""
    keys = charts.keys(_chart(tuple(f"model {at}" for at in range(56))))
    assert len({(key.color, key.path) for key in keys}) == 56
    assert all(one.path != other.path for one, other in pairwise(keys))


def test_one_series_needs_no_legend() -> None:
    """A chart of one model has no legend."""
    assert charts.keys(_chart(("only",))) == []


def test_long_names_stay_apart() -> None:
    """Two names that are alike at both ends are two series in the picture too."""
    names = tuple(f"openai/{'x' * 30}{middle}{'y' * 40}" for middle in "ab")
    spec = charts.specification(_chart(names))
    values = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["data"]["values"]
    assert len({row["series"] for row in values}) == 2


def test_sec_07_labels_are_text() -> None:
    """SEC-07: markup in a series or a place is text in the picture."""
    for chart in hostile_document().charts[:1]:
        svg = charts.svg(chart)
        assert "<img" not in svg
        assert "<b>" not in svg
        assert "&lt;img" in svg


def test_the_bundle_can_stand_in_a_page() -> None:
    """The scripts hold nothing that ends a script element."""
    assert "</script" not in charts.scripts().lower()
    assert charts.scripts().rstrip().endswith(";")
