"""A tool graph as a picture: one SVG that needs nothing else, legible on light and on dark paper.

Each tool is a box that lists its parameters. A line leads from a tool to the parameters that its results can fill;
parameters with the same sources share a line of text, so that an address is one row. Solid lines: values were seen to
flow, or a person says so; dashed ones: names and types agree. Pointing at a line tells the fields. Tools without edges
stand below, and so do the arrows that were cut since they lead back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from turngap import jsonio
from turngap.report.harmless import one_line
from turngap.report.layers import Box, Item, Layout, Line, Way, layered
from turngap.synth.graph import Edge, Node, ToolGraph
from turngap.synth.place import owner

_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_LIGHT_PAPER = {
    "paper": "#fbfbf9",
    "card": "#ffffff",
    "ink": "#1b2330",
    "quiet": "#566074",
    "line": "#c9d0da",
    "read": "#e9f0f8",
    "write": "#fbe9dc",
    "generic": "#eceef1",
}
_DARK_PAPER = {
    "paper": "#12161d",
    "card": "#181d26",
    "ink": "#e7eaf0",
    "quiet": "#a9b1bf",
    "line": "#414b5c",
    "read": "#1d2c40",
    "write": "#40291b",
    "generic": "#2a303a",
}
_LIGHT = ("#1d5fa8", "#c2410c", "#0f766e", "#8b3fb5", "#a16207", "#be185d", "#4d5f7a", "#3f6212")
_DARK = ("#7cb4f5", "#f5a06a", "#5fd0bf", "#cf9df0", "#e2bd55", "#f490be", "#aab8cd", "#a5cf6a")
_KINDS = {"read": "looks something up", "write": "may change something", "generic": "neither"}
_STYLES = {"flow": "values were seen to flow", "schema": "names and types agree", "given": "given by a person"}

_NAME, _ROW = 13, 12  # font sizes
_ADVANCE = 0.61  # of a monospaced letter, in font sizes
_LETTER = 6.8  # of a letter in legend and notes, in pixels
_LINE, _HEAD, _PAD = 17.0, 32.0, 12.0
_ROW_GAP = 7.0
_WIDEST = 40  # letters in one line of a box
_BETWEEN = 92.0  # columns, at least
_CROWD = 16  # lines that find room there; each further one gets a little more
_MARGIN = 32.0
_TOP = 118.0  # title and legend
_NARROWEST = 1040.0


class _Row(NamedTuple):
    """Parameters that the same tools fill."""

    lines: tuple[str, ...]
    sources: tuple[str, ...]
    owners: frozenset[str]


class _Card(NamedTuple):
    """A tool as it is drawn."""

    node: Node
    rows: tuple[_Row, ...]

    def least_width(self) -> float:
        """What the longest line of text needs, in pixels."""
        letters = [(len(self.node.name) + 7) * _NAME, *(len(line) * _ROW for row in self.rows for line in row.lines)]
        return max(letters) * _ADVANCE + 2 * _PAD + 4

    @property
    def height(self) -> float:
        """Of the box, in pixels."""
        if not self.rows:
            return _HEAD
        return _HEAD + sum(len(row.lines) * _LINE + _ROW_GAP for row in self.rows) + 5

    def row_tops(self) -> Iterator[float]:
        """Upper edges of the rows, from the card's."""
        at = _HEAD + 4
        for row in self.rows:
            yield at
            at += len(row.lines) * _LINE + _ROW_GAP

    def ports(self) -> tuple[float, ...]:
        """Where lines arrive at each row."""
        return tuple(top + _LINE / 2 + 1 for top in self.row_tops())


def svg(graph: ToolGraph) -> str:
    """The picture of a graph. The same graph gives the same text."""
    return _Picture(graph).draw()


class _Picture:
    """One drawing."""

    def __init__(self, graph: ToolGraph) -> None:
        self.graph = graph
        joined = {name for arrow in graph.arrows for name in arrow}
        rows = {node.name: _rows(node, graph.into(node.name)) for node in graph.tools}
        cards = [_Card(node, rows[node.name]) for node in graph.tools]
        self.cards = {card.node.name: card for card in cards if card.node.name in joined}
        self.alone = [card for card in cards if card.node.name not in joined]
        sources = list(dict.fromkeys(source for source, _ in graph.arrows))
        self.colour = {source: index % len(_LIGHT) for index, source in enumerate(sources)}
        boxes = [
            Box(name=name, height=card.height, out=_HEAD / 2, ports=card.ports()) for name, card in self.cards.items()
        ]
        self.layout: Layout = layered(boxes, list(self._lines()))
        self.left: dict[Item, float] = {}
        self.width: dict[Item, float] = {}
        """Of the column that an item stands in."""
        self.across = _MARGIN
        crowds = self._crowds()
        for at, items in enumerate(self.layout.columns):
            width = max(self.cards[item].least_width() for item in items if isinstance(item, str))
            for item in items:
                self.left[item], self.width[item] = self.across, width
            room = _BETWEEN + min(2.5 * max(0, crowds[at] - _CROWD), 150.0) if crowds[at] else 0.0
            self.across += width + room
        self.across = max(self.across + _MARGIN, _NARROWEST)

    def _lines(self) -> Iterator[Line]:
        for card in self.cards.values():
            for port, row in enumerate(card.rows):
                for source in row.sources:
                    yield Line(source=source, target=card.node.name, port=port)

    def _crowds(self) -> list[int]:
        """How many lines arrive from the left of the column after each one."""
        column = {item: at for at, items in enumerate(self.layout.columns) for item in items}
        counted = Counter(column[line.target] - 1 for line in self._lines())
        return [counted[at] for at in range(len(self.layout.columns))]

    def draw(self) -> str:
        """The whole picture, from the top: title, lines, boxes, what stands below."""
        body = [*self._head(), *self._strands()]
        for name, card in self.cards.items():
            top = self.layout.tops[name] + _TOP
            body += _drawn(card, self.left[name], top, self.width[name], self.colour.get(name))
        bottom = _TOP + self.layout.height
        below, bottom = self._below(bottom)
        notes, bottom = self._notes(bottom)
        across = _n(self.across)
        size = f'viewBox="0 0 {across} {_n(bottom)}" width="{across}" height="{_n(bottom)}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc">',
                f'<title id="title">Tool graph of {_text(self.graph.domain)}</title>',
                f'<desc id="desc">{_text(self._said())}</desc>',
                f"<style>{_style()}</style>",
                f'<rect class="paper" width="{across}" height="{_n(bottom)}"/>',
                *body,
                *below,
                *notes,
                "</svg>",
                "",
            ]
        )

    def _said(self) -> str:
        tools, arrows = len(self.graph.tools), len(self.graph.arrows)
        counted = f"{_count(tools, 'tool')}, {_count(arrows, 'arrow')}"
        return f"{counted}. A line leads from a tool to the parameters that its results can fill."

    def _head(self) -> Iterator[str]:
        yield f'<text class="title" x="{_n(_MARGIN)}" y="46">{_text(self.graph.domain)}: tool graph</text>'
        yield f'<text class="said" x="{_n(_MARGIN)}" y="70">{_text(self._said())}</text>'
        at = _MARGIN
        for kind, said in _KINDS.items():
            label = f"{_label(kind)}: {said}"
            yield f'<rect class="card" x="{_n(at)}" y="84" width="22" height="15" rx="4"/>'
            yield f'<rect class="{kind}" x="{_n(at)}" y="84" width="22" height="15" rx="4"/>'
            yield f'<text class="key" x="{_n(at + 30)}" y="96">{label}</text>'
            at += 30 + len(label) * _LETTER + 22
        there = {_evidence([edge]) for edge in self.graph.edges}
        for style, said in _STYLES.items():
            if style in there:
                yield f'<path class="strand {style}" d="M{_n(at)},92h34"/>'
                yield f'<text class="key" x="{_n(at + 42)}" y="96">{said}</text>'
                at += 42 + len(said) * _LETTER + 22

    def _strands(self) -> Iterator[str]:
        """All lines, under the boxes: trunks once, then the branches to each row."""
        trunks: dict[tuple[Item, Way], None] = {}
        ends: list[tuple[Item, _Card, int, str]] = []
        column = {item: at for at, items in enumerate(self.layout.columns) for item in items}
        for card in self.cards.values():
            for port, row in enumerate(card.rows):
                for source in row.sources:
                    before: Item = source
                    for at in range(column[source] + 1, column[card.node.name]):
                        trunks[before, Way(source, at)] = None
                        before = Way(source, at)
                    ends.append((before, card, port, source))
        for one, other in trunks:
            there = self.layout.tops[other] + _TOP
            path = f"{_curve(*self._leaves(one), self.left[other], there)}H{_n(self.left[other] + self.width[other])}"
            yield f'<path class="strand c{self.colour[other.source]}" d="{path}"/>'
        for before, card, port, source in ends:
            name = card.node.name
            x, y = self.left[name], self.layout.tops[name] + _TOP + card.ports()[port]
            edges = [
                edge
                for edge in self.graph.into(name)
                if edge.source == source and owner(edge.parameter) in card.rows[port].owners
            ]
            told = [f"{source} \N{RIGHTWARDS ARROW} {name}", *map(_told, edges)]
            yield (
                f'<g class="branch c{self.colour[source]}"><title>{"&#10;".join(map(_text, told))}</title>'
                f'<path class="strand {_evidence(edges)}" d="{_curve(*self._leaves(before), x - 8, y)}"/>'
                f'<path class="tip" d="M{_n(x - 9)},{_n(y - 4)}l8,4l-8,4z"/></g>'
            )

    def _leaves(self, item: Item) -> tuple[float, float]:
        """Where lines leave an item, to the right."""
        out = _HEAD / 2 if isinstance(item, str) else 0.0
        return self.left[item] + self.width[item], self.layout.tops[item] + _TOP + out

    def _below(self, bottom: float) -> tuple[list[str], float]:
        """The tools without edges, in as many rows as they need."""
        if not self.alone:
            return [], bottom
        said = "Without edges, usable at any time" if self.cards else "No tool's results fill a parameter of another"
        at = bottom + (52 if self.cards else 20)
        parts = [f'<text class="section" x="{_n(_MARGIN)}" y="{_n(at)}">{said}</text>']
        at += 16
        width = max(card.least_width() for card in self.alone)
        per_row = max(1, int((self.across - 2 * _MARGIN + 24) // (width + 24)))
        for start in range(0, len(self.alone), per_row):
            here = self.alone[start : start + per_row]
            for index, card in enumerate(here):
                parts += _drawn(card, _MARGIN + index * (width + 24), at, width, None)
            at += max(card.height for card in here) + 20
        return parts, at - 20

    def _notes(self, bottom: float) -> tuple[list[str], float]:
        told = []
        cut = list(dict.fromkeys(f"{edge.source} \N{RIGHTWARDS ARROW} {edge.target}" for edge in self.graph.cut))
        if cut:
            told.append(f"Left out, since they lead back: {'; '.join(cut)}.")
        if self.graph.silent:
            silent = ", ".join(self.graph.silent)
            told.append(f"Nothing is known of the results of {silent}: no call that was tried gave any.")
        at, parts = bottom + 30, []
        for note in told:
            for line in _wrapped(note.split(" "), int((self.across - 2 * _MARGIN) / _LETTER), " "):
                at += 18
                parts.append(f'<text class="note" x="{_n(_MARGIN)}" y="{_n(at)}">{_text(line)}</text>')
        return parts, at + _MARGIN


def _drawn(card: _Card, x: float, y: float, width: float, colour: int | None) -> Iterator[str]:
    """A tool's box at a place; `colour` is that of the lines that leave it."""
    node = card.node
    right, head = _n(width), _n(_HEAD)
    yield f'<g transform="translate({_n(x)} {_n(y)})">'
    yield f'<rect class="card" width="{right}" height="{_n(card.height)}" rx="7"/>'
    if card.rows:
        yield f'<path class="{node.kind}" d="M0,{head}V7a7,7 0 0 1 7,-7H{_n(width - 7)}a7,7 0 0 1 7,7V{head}z"/>'
    else:
        yield f'<rect class="{node.kind}" width="{right}" height="{head}" rx="7"/>'
    yield f'<text class="name" x="{_n(_PAD)}" y="21">{_text(node.name)}</text>'
    yield f'<text class="kind" x="{_n(width - _PAD)}" y="20.5">{_label(node.kind)}</text>'
    for row, top in zip(card.rows, card.row_tops(), strict=True):
        style = "row" if row.sources else "row free"
        for index, line in enumerate(row.lines):
            yield f'<text class="{style}" x="{_n(_PAD)}" y="{_n(top + 13 + index * _LINE)}">{_text(line)}</text>'
    if colour is not None:
        yield f'<circle class="out c{colour}" cx="{right}" cy="{_n(_HEAD / 2)}" r="4"/>'
    yield "</g>"


def _rows(node: Node, into: Sequence[Edge]) -> tuple[_Row, ...]:
    """The parameters of a tool, those together that the same tools fill on the same evidence."""
    fill: dict[str, dict[str, list[Edge]]] = {}
    for edge in into:
        fill.setdefault(owner(edge.parameter), {}).setdefault(edge.source, []).append(edge)
    grouped: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in (*node.required, *node.optional):
        by = tuple((source, _evidence(edges)) for source, edges in fill.get(name, {}).items())
        grouped.setdefault(by, []).append(name)
    rows = []
    for by, names in grouped.items():
        shown = [f"{name}?" if name in node.optional else name for name in names]
        rows.append(_Row(tuple(_wrapped(shown, _WIDEST, ", ")), tuple(source for source, _ in by), frozenset(names)))
    # What others fill stands first, so that the eye finds lines and rows together.
    return tuple(sorted(rows, key=lambda row: not row.sources))


def _wrapped(words: Iterable[str], most: int, between: str) -> list[str]:
    """Words in lines of at most so many letters, as far as words allow; those that are longer are cut."""
    lines: list[str] = []
    for whole in words:
        word = whole if len(whole) <= most else f"{whole[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
        if lines and len(lines[-1]) + len(between) + len(word) <= most:
            lines[-1] += between + word
        else:
            if lines:
                lines[-1] += between.rstrip()
            lines.append(word)
    return lines


def _evidence(edges: Sequence[Edge]) -> str:
    known = {one for edge in edges for one in edge.evidence}
    return next((one for one in _STYLES if one in known and one != "schema"), "schema")


def _told(edge: Edge) -> str:
    words = {"schema": "names and types agree", "flow": f"{_count(edge.seen, 'value')} seen to flow", "given": "given"}
    how = ", ".join(words[one] for one in edge.evidence)
    return f"{edge.field or 'the whole result'} -> {edge.parameter} ({how})"


def _curve(x: float, y: float, end_x: float, end_y: float) -> str:
    bend = max(28.0, (end_x - x) * 0.5)
    return f"M{_n(x)},{_n(y)}C{_n(x + bend)},{_n(y)} {_n(end_x - bend)},{_n(end_y)} {_n(end_x)},{_n(end_y)}"


def _label(kind: str) -> str:
    return "other" if kind == "generic" else kind


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape(one_line(jsonio.clean(text)))


def _style() -> str:
    """Colours of light and of dark paper, and the look of each class."""
    return (
        f":root{{{_colours(_LIGHT_PAPER)}}}{_series(_LIGHT)}"
        f"@media (prefers-color-scheme:dark){{:root{{{_colours(_DARK_PAPER)}}}{_series(_DARK)}}}"
        f"text{{font-family:{_SANS};fill:var(--ink)}}"
        ".paper{fill:var(--paper)}.card{fill:var(--card);stroke:var(--line)}"
        ".title{font-size:24px;font-weight:600;letter-spacing:-.01em}.said,.key,.note,.kind{fill:var(--quiet)}"
        ".said{font-size:14px}.key,.note{font-size:12.5px}.section{font-size:14px;font-weight:600}"
        f".name{{font:600 {_NAME}px {_MONO}}}.kind{{font-size:11px;text-anchor:end}}"
        f".row{{font:{_ROW}px {_MONO}}}.free{{fill:var(--quiet)}}"
        ".read,.write,.generic{stroke:var(--line)}"
        ".read{fill:var(--read)}.write{fill:var(--write)}.generic{fill:var(--generic)}"
        ".strand{fill:none;stroke:var(--c,var(--quiet));stroke-width:1.6}"
        ".schema{stroke-dasharray:5 4}.given{stroke-dasharray:1.5 3.5;stroke-linecap:round}"
        ".tip,.out{fill:var(--c)}.out{stroke:var(--card);stroke-width:1.5}"
        ".branch:hover .strand{stroke-width:3.2}"
    )


def _colours(of: dict[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in of.items())


def _series(of: tuple[str, ...]) -> str:
    return "".join(f".c{index}{{--c:{colour}}}" for index, colour in enumerate(of))
