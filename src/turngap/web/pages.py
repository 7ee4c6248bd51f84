"""Templates, styles and scripts of the viewer, and how text from data comes into a page.

Jinja escapes every value; `exact` shows a text byte for byte, with U+FFFD for what no page can hold. What is served
as a file is a fixed set of names, read from this package when the server begins. Nothing in a page is inline, so the
policy that forbids inline scripts and styles has no exception.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import msgspec

from turngap import __version__, jsonio
from turngap.errors import MissingExtra
from turngap.metrics.rounding import decimals

try:
    import jinja2
    from starlette.responses import Response

    from turngap.report.exact import exact
except ImportError as error:
    raise MissingExtra(f"the viewer needs the package {error.name or 'jinja2'}: pip install 'turngap[view]'") from None

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_ROOT_RULE = re.compile(r":root \{(.*?)\}", re.DOTALL)
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
VEGA = "vega.js"
"""The scripts that draw charts: vl-convert's own, not a file of this package; made when first asked for."""
TOKENS = "tokens.css"
"""Colours and fonts: those of the report, and of the series of its charts."""


class Link(msgspec.Struct, frozen=True):
    """An entry of the navigation."""

    title: str
    address: str


class Asset(msgspec.Struct, frozen=True):
    """A file that pages refer to."""

    body: bytes
    kind: str
    """Its media type."""


class Pages:
    """Makes pages from the templates of this package."""

    navigation: tuple[Link, ...] = ()
    """What stands at the top of each."""

    def __init__(self, page_key: str = "", *, copied: int | None = None) -> None:
        """Read what is served as files.

        Args:
            page_key: what a page shows when its scripts write something.
            copied: for a static copy, how many conversations of each run it holds: there is no server that could give
                more rows of a list later. None otherwise.
        """
        self.copied = copied
        self._assets: dict[str, Asset] = {TOKENS: Asset(_tokens().encode(), _TYPES[".css"])}
        for file in (files("turngap.web") / "page").iterdir():
            kind = _TYPES.get("." + file.name.rpartition(".")[2])
            if kind is not None:
                self._assets[file.name] = Asset(file.read_bytes(), kind)
        self._made: dict[str, Callable[[], Asset]] = {VEGA: _vega}
        self._environment = jinja2.Environment(
            loader=jinja2.FunctionLoader(_template),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.filters.update(exact=exact, percent=percent, interval=interval, count=count)
        self._environment.globals.update(
            static=self.static, address=address, page_key=page_key, version=__version__, pages=self
        )

    def render(self, template: str, **values: Any) -> str:
        """The text of a page.

        Args:
            template: its file in ``page/``; most extend ``base.html.j2``, which wants ``title`` (a text) and shows
                ``here`` (the address of its entry in the navigation) and ``kicker`` (a line above the title), if given.
            values: what it shows.
        """
        return self._environment.get_template(template).render(**values)

    def html(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page as a response."""
        body = self.render(template, **values).encode("utf-8", "replace")
        return Response(body, status_code=status, media_type="text/html; charset=utf-8")

    def json(self, value: Any, *, status: int = 200) -> Response:
        """Plain values or Structs as strict JSON: NaN is null, what no text can hold is U+FFFD."""
        return Response(encode(value), status_code=status, media_type="application/json")

    def static(self, name: str) -> str:
        """The address of a file that pages refer to; it changes when the file does.

        Raises:
            KeyError: there is none of that name.
        """
        if name in self._made:
            return f"/static/{name}?v={__version__}"
        return f"/static/{name}?v={hashlib.sha256(self._assets[name].body).hexdigest()[:12]}"

    def asset(self, name: str) -> Asset | None:
        """A file by its name, None for an unknown one. Names are looked up, never joined to a path."""
        if name in self._made and name not in self._assets:
            self._assets[name] = self._made[name]()
        return self._assets.get(name)


def address(path: str, **query: Any) -> str:
    """An address with a query; fields that are None or empty are left out."""
    kept = {name: jsonio.clean(str(value)) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def percent(value: float | None) -> str:
    """A share as ``63.8``, or a dash where there is none."""
    return "–" if value is None else decimals(100 * value)


def interval(ci95: Sequence[float] | None) -> str:
    """An interval of shares as ``[52.1, 73.9]``; empty where there is none."""
    return "" if ci95 is None else f"[{percent(ci95[0])}, {percent(ci95[1])}]"


def count(value: int) -> str:
    """A whole number with thousands apart."""
    return f"{value:,}"


def encode(value: Any) -> bytes:
    """Strict JSON that every browser can show."""
    try:
        body = jsonio.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which only text that was never stored can hold
        body = jsonio.encode(_clean(msgspec.to_builtins(value)))
    return _NUL.sub(rb"\1\\ufffd", body) if b"\\u0000" in body else body


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return jsonio.clean(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def _template(name: str) -> str:
    return (files("turngap.web") / "page" / name).read_text(encoding="utf-8")


def _tokens() -> str:
    """The variables of the report's style, for a page that can be switched between light and dark."""
    style = (files("turngap.report") / "page" / "page.css").read_text(encoding="utf-8")
    light, dark = _ROOT_RULE.findall(style)[:2]
    dark = f"color-scheme: dark;{dark}"
    return (
        f":root {{{light}}}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme]) {{{dark}}} }}\n"
        f':root[data-theme="dark"] {{{dark}}}\n'
        f':root[data-theme="light"] {{ color-scheme: light; }}\n'
    )


def _vega() -> Asset:
    from turngap.report import charts  # noqa: PLC0415 - half a second, and only pages with charts need it

    return Asset(charts.scripts().encode(), _TYPES[".js"])
