"""Charts: a `Chart` as a Vega-Lite specification, as SVG, as PNG, and the scripts that draw it in a page.

The only module that knows Altair and vl-convert (extra ``report``). vl-convert draws without a browser and brings the
scripts, so nothing is fetched from anywhere. A specification holds no colours of its own: they come with a theme, so
that a page can switch between light and dark. Series are told apart by colour and by shape or dashes.

Text from data enters as data values, which Vega draws as text; field names are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

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
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right"]
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
    """The chart as plain Vega-Lite JSON, as wide as what contains it, without theme."""
    found: dict[str, Any] = _build(chart).to_dict()
    return found


def svg(chart: Chart, *, dark: bool = False) -> str:
    """The chart as a picture for a page: transparent, text as text."""
    return str(vl_convert.vegalite_to_svg(_fixed(chart), vl_version=_version(), config=theme(dark=dark)))


def png(chart: Chart, *, scale: float = 2.0) -> bytes:
    """The chart as a picture on white, with its title."""
    spec = {**_fixed(chart), "title": {"text": _short(chart.title, 90), "anchor": "start", "offset": 12}}
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


def _fixed(chart: Chart) -> dict[str, Any]:
    return {**specification(chart), "width": _WIDTH}


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


def _build(chart: Chart) -> alt.LayerChart:
    builders: dict[str, Callable[[Chart, alt.Chart], alt.LayerChart]] = {
        "points": _points,
        "bars": _bars,
        "lines": _lines,
        "ranks": _ranks,
    }
    base = alt.Chart(alt.InlineData(values=_rows(chart)))
    return builders[chart.kind](chart, base).properties(
        width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )


def _series(chart: Chart) -> dict[str, Any]:
    """Colour and its legend; a single series needs none."""
    order = [_names(chart)[name] for name in chart.series_order]
    legend = (
        alt.Legend(orient="top", direction="vertical", title=None, offset=14, symbolOpacity=1)
        if len(order) > 1
        else None
    )
    return {"sort": order, "scale": alt.Scale(domain=order), "legend": legend}


def _color(chart: Chart) -> alt.Color:
    return alt.Color("series:N", **_series(chart))


def _shape(chart: Chart) -> alt.Shape:
    found = _series(chart)
    order = found["sort"]
    found["scale"] = alt.Scale(domain=order, range=[_SHAPES[at % len(_SHAPES)] for at in range(len(order))])
    return alt.Shape("series:N", **found)


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
    return {"scale": scale, "axis": alt.Axis(format=_PERCENT, tickCount=5), "title": chart.value_title}


def _places(chart: Chart) -> alt.Y:
    axis = alt.Axis(ticks=False, domain=False, labelLimit=200)
    return alt.Y("at:N", sort=list(chart.at_order), title=None, axis=axis, scale=alt.Scale(paddingInner=0.25))


def _offset(chart: Chart) -> alt.YOffset:
    return alt.YOffset("series:N", sort=[_names(chart)[name] for name in chart.series_order])


def _height(chart: Chart, row: int) -> int:
    return len(chart.at_order) * (row * max(1, len(chart.series_order)) + _PAD)


def _points(chart: Chart, base: alt.Chart) -> alt.LayerChart:
    shared = {"y": _places(chart), "yOffset": _offset(chart)}
    rules = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", **_value_axis(chart)), x2="high:Q", color=_color(chart), **shared
    )
    dots = base.mark_point(filled=True, size=85, opacity=1).encode(
        x=alt.X("value:Q", **_value_axis(chart)),
        color=_color(chart),
        shape=_shape(chart),
        tooltip=_tooltip(chart),
        **shared,
    )
    return alt.LayerChart(layer=[rules, dots]).properties(height=_height(chart, _ROW))


def _bars(chart: Chart, base: alt.Chart) -> alt.LayerChart:
    top = max((item.high or item.value for item in chart.marks), default=1.0)
    shared = {"y": _places(chart), "yOffset": _offset(chart)}
    value = _value_axis(chart, whole=top > 0.6)
    bars = base.mark_bar(opacity=0.9, cornerRadiusEnd=2).encode(
        x=alt.X("value:Q", **value), color=_color(chart), tooltip=_tooltip(chart), **shared
    )
    rules = base.mark_rule(strokeWidth=1.5, color=_NEUTRAL).encode(x=alt.X("low:Q", **value), x2="high:Q", **shared)
    return alt.LayerChart(layer=[bars, rules]).properties(height=_height(chart, _BAR))


def _lines(chart: Chart, base: alt.Chart) -> alt.LayerChart:
    most = max((int(item.at) for item in chart.marks), default=1)
    # Ticks at whole numbers only, however wide the page is.
    values = list(range(1, most + 1, max(1, -(-most // 12))))
    axis = alt.Axis(grid=False, format="d", values=values, labelFlush=False)
    x = alt.X("at:Q", title=chart.at_title, axis=axis, scale=alt.Scale(domain=[1, max(most, 2)], nice=False))
    y = alt.Y("value:Q", **_value_axis(chart))
    measured = base.transform_filter("datum.kind === 'measured'")
    band = measured.mark_area(opacity=0.13).encode(
        x=x, y=alt.Y("low:Q", **_value_axis(chart)), y2="high:Q", color=_color(chart)
    )
    line = measured.mark_line(strokeWidth=2).encode(x=x, y=y, color=_color(chart))
    dots = measured.mark_point(filled=True, size=55, opacity=1).encode(
        x=x, y=y, color=_color(chart), shape=_shape(chart), tooltip=_tooltip(chart)
    )
    layers = [band, line, dots]
    if any(item.expected for item in chart.marks):
        expected = base.transform_filter("datum.kind === 'expected'")
        layers.append(expected.mark_line(strokeWidth=1.75, strokeDash=[5, 4]).encode(x=x, y=y, color=_color(chart)))
    return alt.LayerChart(layer=layers).properties(height=300)


def _ranks(chart: Chart, base: alt.Chart) -> alt.LayerChart:
    most = len(chart.series_order)
    x = alt.X(
        "at:N",
        sort=list(chart.at_order),
        title=None,
        axis=alt.Axis(labelAngle=0, domain=False, ticks=False, labelOverlap=False, labelExpr="split(datum.label, ' ')"),
        scale=alt.Scale(padding=0.4),
    )
    scale = alt.Scale(domain=[0.5, most + 0.5], reverse=True, nice=False)
    y = alt.Y(
        "value:Q",
        title=chart.value_title,
        scale=scale,
        axis=alt.Axis(values=list(range(1, most + 1)), format="d", domain=False, ticks=False),
    )
    line = base.mark_line(strokeWidth=2.5, opacity=0.8).encode(x=x, y=y, color=_color(chart))
    dots = base.mark_point(filled=True, size=140, opacity=1).encode(
        x=x, y=y, color=_color(chart), shape=_shape(chart), tooltip=_tooltip(chart, percent=False)
    )
    return alt.LayerChart(layer=[line, dots]).properties(height=60 + 42 * most)
