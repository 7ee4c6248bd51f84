"""Charts: a `Chart` as a Vega-Lite specification, as SVG, as PNG, and the scripts that draw it in a page.

The only module that knows Altair and vl-convert (extra ``report``). vl-convert draws without a browser and brings the
scripts, so nothing is fetched from anywhere. A specification holds no colours of its own: they come with a theme, so
that a page can switch between light and dark. Series are told apart by colour and by shape or dashes.

Text from data enters as data values, which Vega draws as text; field names are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from turngap.errors import MissingExtra
from turngap.report.document import Chart

try:
    import altair as alt
    import vl_convert
except ImportError as error:
    raise MissingExtra(
        f"charts need the package {(error.name or 'altair').replace('_', '-')}: pip install 'turngap[report]'"
    ) from None

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
_WIDTH = 720
"""Of pictures; in a page the width is that of the page."""
_LONGEST_NAME = 44
"""Characters of a series name in a legend; the table has it whole."""
_ROW, _BAR, _PAD = 18, 14, 16
_PERCENT = ".0%"
_PATHS = {
    "circle": "M-0.8,0a0.8,0.8 0 1,0 1.6,0a0.8,0.8 0 1,0 -1.6,0Z",
    "square": "M-0.7,-0.7H0.7V0.7H-0.7Z",
    "triangle-up": "M0,-0.8L0.9,0.75H-0.9Z",
    "diamond": "M0,-0.95L0.7,0L0,0.95L-0.7,0Z",
    "cross": "M-0.9,-0.3H-0.3V-0.9H0.3V-0.3H0.9V0.3H0.3V0.9H-0.3V0.3H-0.9Z",
    "triangle-down": "M0,0.8L0.9,-0.75H-0.9Z",
    "triangle-left": "M-0.8,0L0.75,-0.9V0.9Z",
}
"""Vega's name of a mark -> the same mark for a legend beside the chart."""
_SHAPES = tuple(_PATHS)  # one fewer than colours, so that 56 series look different
_NEUTRAL = "#8791a1"
"""Of intervals across bars: seen on every colour, light and dark."""
_LIGHT = ("#1d5fa8", "#c2410c", "#0f766e", "#8b3fb5", "#a16207", "#be185d", "#4d5f7a", "#3f6212")
_DARK = ("#7cb4f5", "#f5a06a", "#5fd0bf", "#cf9df0", "#e2bd55", "#f490be", "#aab8cd", "#a5cf6a")


def theme(*, dark: bool) -> dict[str, Any]:
    """The Vega-Lite configuration of a light or dark page; the background is the page's own."""
    ink, quiet, line = ("#e7eaf0", "#a9b1bf", "#39414f") if dark else ("#1b2330", "#566074", "#dbe0e8")
    axis = {
        "labelColor": quiet,
        "titleColor": quiet,
        "gridColor": line,
        "domainColor": line,
        "tickColor": line,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
    }
    legend = {"labelColor": ink, "titleColor": quiet, "labelFontSize": 12, "symbolSize": 90, "labelLimit": 0}
    return {
        "background": "transparent",
        "font": _FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": legend,
        "range": {"category": list(_DARK if dark else _LIGHT)},
        "text": {"color": quiet},
    }


def specification(chart: Chart) -> dict[str, Any]:
    """The chart as plain Vega-Lite JSON, as wide as what contains it, without theme and without legend (`keys`)."""
    found: dict[str, Any] = _build(chart, legend=False).to_dict()
    return found


class Key(msgspec.Struct, frozen=True):
    """How a series is drawn, for a legend beside the chart."""

    series: str
    color: int
    """Place in the colours of a theme."""
    path: str
    """SVG path of its mark, within -1 and 1."""


def keys(chart: Chart) -> list[Key]:
    """The legend of a chart; empty where there is one series."""
    if len(chart.series_order) < 2:
        return []
    paths = [_PATHS["square" if chart.kind == "bars" else _shape_name(at)] for at in range(len(chart.series_order))]
    return [
        Key(name, at % len(_LIGHT), path) for at, (name, path) in enumerate(zip(chart.series_order, paths, strict=True))
    ]


def colors(*, dark: bool) -> tuple[str, ...]:
    """The colours of series, in order."""
    return _DARK if dark else _LIGHT


def svg(chart: Chart, *, dark: bool = False) -> str:
    """The chart as a picture for a page: transparent, text as text."""
    spec = {**specification(chart), "width": _WIDTH}
    return _counted_anew(vl_convert.vegalite_to_svg(spec, vl_version=_version(), config=theme(dark=dark)))


def png(chart: Chart, *, scale: float = 2.0) -> bytes:
    """The chart as a picture on white, with its title."""
    spec = {**_build(chart, legend=True).to_dict(), "width": _WIDTH}
    spec["title"] = {"text": _short(chart.title, 90), "anchor": "start", "offset": 12}
    config = {**theme(dark=False), "background": "white", "padding": 16}
    return bytes(vl_convert.vegalite_to_png(spec, vl_version=_version(), config=config, scale=scale))


@cache
def scripts() -> str:
    """Vega, Vega-Lite and their embedding as one script without dependencies.

    Raises:
        ValueError: it cannot stand in a page as it is (it never could so far).
    """
    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_version()))
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise ValueError("the bundled scripts hold text that ends a script element")
    return bundle


@cache
def _version() -> str:
    """Vega-Lite's version that Altair writes and vl-convert knows: ``6.4``."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _counted_anew(picture: str) -> str:
    """Number clip paths from 1: Vega counts on from picture to picture, and the same chart is to be the same bytes."""
    numbers: dict[str, int] = {}

    def renamed(found: re.Match[str]) -> str:
        return f"{found[1]}clip{numbers.setdefault(found[2], len(numbers) + 1)}{found[3]}"

    return re.sub(r'(<clipPath id="|clip-path="url\(#)clip(\d+)("|\)")', renamed, picture)


def _short(text: str, longest: int = _LONGEST_NAME) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"


def _rows(chart: Chart) -> list[dict[str, Any]]:
    names = _names(chart)
    return [
        {
            "series": names[item.series],
            "at": item.at,
            "value": item.value,
            "low": item.value if item.low is None else item.low,
            "high": item.value if item.high is None else item.high,
            "n": item.n,
            "kind": "expected" if item.expected else "measured",
            "order": chart.at_order.index(str(item.at)) if chart.at_order else item.at,
        }
        for item in chart.marks
    ]


def _names(chart: Chart) -> dict[str, str]:
    """Series -> its name in the legend: short, and unique also where the short ones are not."""
    short = {name: _short(name) for name in chart.series_order}
    taken: dict[str, int] = {}
    for name, text in short.items():
        taken[text] = taken.get(text, 0) + 1
        if taken[text] > 1:
            short[name] = f"{text} ({taken[text]})"
    return short


def _build(chart: Chart, *, legend: bool) -> alt.LayerChart:
    builders: dict[str, Callable[[_Drawing, alt.Chart], alt.LayerChart]] = {
        "points": _points,
        "bars": _bars,
        "lines": _lines,
        "ranks": _ranks,
    }
    base = alt.Chart(alt.InlineData(values=_rows(chart)))
    return builders[chart.kind](_Drawing(chart, legend), base).properties(
        width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )


def _shape_name(at: int) -> str:
    return _SHAPES[at % len(_SHAPES)]


class _Drawing:
    """What the layers of one chart share."""

    def __init__(self, chart: Chart, legend: bool) -> None:
        self.chart = chart
        order = [_names(chart)[name] for name in chart.series_order]
        shown = legend and len(order) > 1
        box = alt.Legend(orient="top", direction="vertical", title=None, offset=14, symbolOpacity=1) if shown else None
        shapes = [_shape_name(at) for at in range(len(order))]
        self.color = alt.Color("series:N", sort=order, scale=alt.Scale(domain=order), legend=box)
        self.shape = alt.Shape("series:N", sort=order, scale=alt.Scale(domain=order, range=shapes), legend=box)
        self.offset = alt.YOffset("series:N", sort=order)


def _tooltip(chart: Chart, *, percent: bool = True) -> list[alt.Tooltip]:
    form = ".1%" if percent else "d"
    at_type = "N" if chart.at_order else "Q"
    found = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip(f"at:{at_type}", title=chart.at_title),
        alt.Tooltip("value:Q", title=chart.value_title, format=form),
    ]
    if any(item.low is not None for item in chart.marks):
        found += [alt.Tooltip("low:Q", title="from", format=form), alt.Tooltip("high:Q", title="to", format=form)]
    if any(item.n is not None for item in chart.marks):
        found.append(alt.Tooltip("n:Q", title="n", format="d"))
    return found


def _value_axis(chart: Chart, *, whole: bool = True) -> dict[str, Any]:
    scale = alt.Scale(domain=[0, 1]) if whole else alt.Scale(domainMin=0, nice=True)
    return {
        "scale": scale,
        "axis": alt.Axis(format=_PERCENT, tickCount=5, labelOverlap=True, labelSeparation=8),
        "title": chart.value_title,
    }


def _places(chart: Chart) -> alt.Y:
    axis = alt.Axis(ticks=False, domain=False, labelLimit=200)
    # Bands have room between them; places of ranks are points, which know no such thing.
    scale = alt.Scale() if chart.kind == "ranks" else alt.Scale(paddingInner=0.25)
    return alt.Y("at:N", sort=list(chart.at_order), title=None, axis=axis, scale=scale)


def _height(chart: Chart, row: int) -> int:
    return len(chart.at_order) * (row * max(1, len(chart.series_order)) + _PAD)


def _points(drawing: _Drawing, base: alt.Chart) -> alt.LayerChart:
    chart = drawing.chart
    shared = {"y": _places(chart), "yOffset": drawing.offset}
    rules = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", **_value_axis(chart)), x2="high:Q", color=drawing.color, **shared
    )
    dots = base.mark_point(filled=True, size=85, opacity=1).encode(
        x=alt.X("value:Q", **_value_axis(chart)),
        color=drawing.color,
        shape=drawing.shape,
        tooltip=_tooltip(chart),
        **shared,
    )
    return alt.LayerChart(layer=[rules, dots]).properties(height=_height(chart, _ROW))


def _bars(drawing: _Drawing, base: alt.Chart) -> alt.LayerChart:
    chart = drawing.chart
    top = max((item.high or item.value for item in chart.marks), default=1.0)
    shared = {"y": _places(chart), "yOffset": drawing.offset}
    value = _value_axis(chart, whole=top > 0.6)
    bars = base.mark_bar(opacity=0.9, cornerRadiusEnd=2).encode(
        x=alt.X("value:Q", **value), color=drawing.color, tooltip=_tooltip(chart), **shared
    )
    rules = base.mark_rule(strokeWidth=1.5, color=_NEUTRAL).encode(x=alt.X("low:Q", **value), x2="high:Q", **shared)
    return alt.LayerChart(layer=[bars, rules]).properties(height=_height(chart, _BAR))


def _lines(drawing: _Drawing, base: alt.Chart) -> alt.LayerChart:
    chart = drawing.chart
    most = max((int(item.at) for item in chart.marks), default=1)
    # Ticks at whole numbers only, however wide the page is.
    values = list(range(1, most + 1, max(1, -(-most // 12))))
    axis = alt.Axis(grid=False, format="d", values=values, labelFlush=False)
    x = alt.X("at:Q", title=chart.at_title, axis=axis, scale=alt.Scale(domain=[1, max(most, 2)], nice=False))
    y = alt.Y("value:Q", **_value_axis(chart))
    measured = base.transform_filter("datum.kind === 'measured'")
    band = measured.mark_area(opacity=0.13).encode(
        x=x, y=alt.Y("low:Q", **_value_axis(chart)), y2="high:Q", color=drawing.color
    )
    line = measured.mark_line(strokeWidth=2).encode(x=x, y=y, color=drawing.color)
    dots = measured.mark_point(filled=True, size=55, opacity=1).encode(
        x=x, y=y, color=drawing.color, shape=drawing.shape, tooltip=_tooltip(chart)
    )
    layers = [band, line, dots]
    if any(item.expected for item in chart.marks):
        expected = base.transform_filter("datum.kind === 'expected'")
        layers.append(expected.mark_line(strokeWidth=1.75, strokeDash=[5, 4]).encode(x=x, y=y, color=drawing.color))
    return alt.LayerChart(layer=layers).properties(height=300)


def _ranks(drawing: _Drawing, base: alt.Chart) -> alt.LayerChart:
    """Places from left to right, protocols from top to bottom: names of protocols have room on a phone, too."""
    chart = drawing.chart
    most = len(chart.series_order)
    ticks = alt.Axis(values=list(range(1, most + 1)), format="d", orient="top", domain=False, ticks=False)
    x = alt.X("value:Q", title=chart.value_title, scale=alt.Scale(domain=[0.5, most + 0.5], nice=False), axis=ticks)
    y = _places(chart)
    line = base.mark_line(strokeWidth=2.5, opacity=0.8).encode(x=x, y=y, color=drawing.color, order="order:Q")
    dots = base.mark_point(filled=True, size=140, opacity=1).encode(
        x=x, y=y, color=drawing.color, shape=drawing.shape, tooltip=_tooltip(chart, percent=False)
    )
    return alt.LayerChart(layer=[line, dots]).properties(height=40 + 38 * len(chart.at_order))
