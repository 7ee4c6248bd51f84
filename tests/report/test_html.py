"""The page: everything inside, nothing from data is markup, texts come out byte for byte."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from reports import HOSTILE, PROBE, hostile_document

from turngap import jsonio

pytest.importorskip("altair", reason="needs the extra report")
html = pytest.importorskip("turngap.report.html")


class _Page(HTMLParser):
    """Collects what a browser would see: elements, attributes, and the text of `pre` and of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("pre", "script", "style", "title"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]][-1] += data


@pytest.fixture(scope="module")
def page() -> _Page:
    """The page of a document that is nothing but hostile text."""
    return _Page(html.render(hostile_document()))


def test_sec_07_nothing_from_data_is_markup(page: _Page) -> None:
    """SEC-07: only the template's own elements stand in the page, none with a handler or an address of its own."""
    known = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "p",
        "h1",
        "bdi",
        "nav",
        "ul",
        "li",
        "main",
        "section",
        "h2",
        "h3",
        "h4",
        "figure",
        "figcaption",
        "div",
        "img",
        "details",
        "summary",
        "span",
        "code",
        "pre",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "svg",
        "path",
        "footer",
        "script",
    }
    assert {tag for tag, _ in page.tags} <= known
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        for name in ("href", "src", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:image/svg+xml;base64,")), (tag, address)


def test_sec_07_the_policy_names_exactly_what_is_inside(page: _Page) -> None:
    """SEC-07: scripts and styles run by hash only, data blocks aside; nothing unsafe, nothing from elsewhere."""
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert "unsafe" not in policy
    assert "http" not in policy
    assert policy.startswith("default-src 'none'; img-src data:; ")
    scripts = [a for tag, a in page.tags if tag == "script"]
    run = [text for text, a in zip(page.texts["script"], scripts, strict=True) if a.get("type") is None]
    assert len(run) == 2
    for text in (*run, *page.texts["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert len(re.findall("'sha256-", policy)) == 3


def test_sec_07_data_of_charts_is_inert_and_strict_json(page: _Page) -> None:
    """SEC-07, VIEW-02: the data block holds no character that HTML knows, and any strict reader takes it."""
    block = next(text for text in page.texts["script"] if text.startswith("{"))
    assert not set("<>&\u2028\u2029") & set(block)

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(block, parse_constant=refuse)
    assert set(found["charts"]) == {"points", "bars", "lines", "ranks"}
    assert PROBE in json.dumps(found["charts"]["points"], ensure_ascii=False).replace("\\\\", "\\").replace('\\"', '"')


def test_view_01_texts_come_out_byte_for_byte() -> None:
    """VIEW-01: what is between the tags of a text is the text: tags, line ends of every kind, spaces, first newline."""
    for text in (*HOSTILE, "\n\nfirst lines", "a\r\nb\rc", "  two  spaces\ttab ", "ends\n"):
        pre = _Page(f"<pre>\n{html.exact(text)}</pre>").texts["pre"][0]
        # A browser drops the newline that opens a pre; Python's parser keeps it.
        assert pre.removeprefix("\n") == text


def test_view_04_what_no_page_can_hold_is_marked() -> None:
    """VIEW-04: lone surrogates and NUL appear as replacement characters instead of breaking the file."""
    assert html.exact("a\ud83d b\x00") == "a\ufffd b\ufffd"
    assert html.exact("a\ud83d").encode()


def test_every_chart_has_a_picture_a_text_and_a_table(page: _Page) -> None:
    """Each chart is there without scripts: two pictures with a text alternative, and a real table."""
    pictures = [a for tag, a in page.tags if tag == "img"]
    assert len(pictures) == 2 * 4
    assert all(a["alt"] == PROBE for a in pictures)
    for attributes in pictures:
        svg = base64.b64decode((attributes["src"] or "").partition(",")[2]).decode()
        assert svg.startswith("<svg")
        assert "<script" not in svg
    assert len([tag for tag, _ in page.tags if tag == "caption"]) == 4 + 1 + 2


def test_the_page_has_landmarks_and_marks_its_headings(page: _Page) -> None:
    """Readers of any kind find their way: language, one h1, header, navigation, main, footer, scoped headings."""
    tags = [tag for tag, _ in page.tags]
    assert tags.count("h1") == tags.count("main") == tags.count("nav") == tags.count("footer") == 1
    assert next(a for tag, a in page.tags if tag == "html")["lang"] == "en"
    assert all(a.get("scope") in ("col", "row", "colgroup", "rowgroup") for tag, a in page.tags if tag == "th")
    assert ("a", {"class": "skip", "href": "#main"}) in page.tags


def test_the_same_document_gives_the_same_page() -> None:
    """A page has no time of its own in it, so that it can be compared and kept under version control."""
    few = msgspec.structs.replace(hostile_document().sections[0], charts=hostile_document().charts[1:2])
    document = msgspec.structs.replace(hostile_document(), sections=(few,))
    assert html.render(document) == html.render(document)


def test_inert_json_reads_back() -> None:
    """What is written for a script element is the value it was made of."""
    value = {"a": [*HOSTILE, "\u2028\u2029", None, 0.5]}
    assert jsonio.loads(html.inert_json(value)) == value
