"""A report as one page that opens offline: styles, charts and their scripts are inside, nothing is fetched.

What comes from data is text: Jinja escapes it, and nothing of it is ever markup, a link, a style or a script. The page
forbids the rest by its own policy: scripts and styles run only if they are the very ones that were put in (by hash),
pictures only from the page itself, and there is no network. Texts are shown byte for byte; only what no page can hold
(lone surrogates, NUL) appears as U+FFFD.

Without scripts the page is complete: every chart is a picture too, and its values are a table.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import MissingExtra
from turngap.report import charts
from turngap.report.document import Cell, Chart, Column, Document, chart_table

try:
    import jinja2
    from markupsafe import Markup

    from turngap.report.exact import exact
except ImportError as error:
    raise MissingExtra(
        f"an HTML report needs the package {error.name or 'jinja2'}: pip install 'turngap[report]'"
    ) from None

_INERT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class _Picture(msgspec.Struct, frozen=True):
    """A chart for pages without scripts, as addresses that hold the picture itself."""

    light: str
    dark: str


class _Group(msgspec.Struct, frozen=True):
    """Neighbouring columns with one heading above them."""

    title: str
    span: int


def render(document: Document) -> str:
    """The page.

    Raises:
        MissingExtra: when imported, if the extra ``report`` is not installed.
    """
    style = _palette() + _asset("page.css")
    scripts = [charts.scripts(), _asset("page.js")] if document.charts else []
    data = {
        "charts": {chart.name: charts.specification(chart) for chart in document.charts},
        "themes": {"light": charts.theme(dark=False), "dark": charts.theme(dark=True)},
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            document=document,
            policy=_policy(style, scripts),
            # These are ours, and have to stand as they are: their hashes are in the policy.
            style=Markup(style),  # noqa: S704 - a file of this package
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - a file of this package, and vl-convert's bundle
            data=Markup(inert_json(data)),  # noqa: S704 - holds no character that HTML knows
            pictures={chart.name: _picture(chart) for chart in document.charts},
            keys={chart.name: charts.keys(chart) for chart in document.charts},
        )
    )


def page(template: str, style: str, **values: Any) -> str:
    """A page without scripts from a template of this package.

    Args:
        template: its file in ``page/``; is given `values`, ``policy`` and ``style``.
        style: the file of the styles that it has beside those of all pages.
        values: what the template shows.
    """
    styles = _asset("page.css") + _asset(style)
    marked = Markup(styles)  # noqa: S704 - two files of this package, and their hash is in the policy
    return _environment().get_template(template).render(policy=_policy(styles, []), style=marked, **values)


def inert_json(value: Any) -> str:
    """Strict JSON without a character that could end a script element or mean anything to HTML."""
    return jsonio.dumps(value).translate(_INERT)


def _policy(style: str, scripts: Sequence[str]) -> str:
    sources = {
        "default-src": ["'none'"],
        "img-src": ["data:"],
        "style-src": [_hash(style)],
        "script-src": [_hash(script) for script in scripts] or ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(allowed)}" for name, allowed in sources.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _picture(chart: Chart) -> _Picture:
    return _Picture(*(_address(charts.svg(chart, dark=dark)) for dark in (False, True)))


def _address(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _groups(columns: Sequence[Column]) -> list[_Group]:
    """Runs of columns with the same group, in order."""
    found: list[_Group] = []
    for column in columns:
        if found and found[-1].title == column.group:
            found[-1] = _Group(column.group, found[-1].span + 1)
        else:
            found.append(_Group(column.group, 1))
    return found


def _palette() -> str:
    """The colours of series, so that legends have those of the charts."""

    def block(dark: bool) -> str:
        values = "".join(f"--c{at}:{color};" for at, color in enumerate(charts.colors(dark=dark)))
        return f":root{{{values}}}"

    classes = "".join(f".k{at}{{fill:var(--c{at})}}" for at in range(len(charts.colors(dark=False))))
    return f"{block(False)}@media screen and (prefers-color-scheme:dark){{{block(True)}}}{classes}\n"


def _spans(rows: Sequence[Sequence[Cell]]) -> list[int]:
    """For each row, over how many rows its first cell reaches: 0 where the one above covers it."""
    spans: list[int] = []
    start = 0
    for at, row in enumerate(rows):
        if at and row[0] == rows[start][0]:
            spans[start] += 1
            spans.append(0)
        else:
            start = at
            spans.append(1)
    return spans


def _asset(name: str) -> str:
    return (files("turngap.report") / "page" / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(exact=exact, chart_table=chart_table, runs_of_groups=_groups, spans=_spans)
    return environment
