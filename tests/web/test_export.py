"""The static copy: pages become files that link to each other, and everything else leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import pytest

from turngap.errors import StoreError, UsageError
from turngap.web.shelf import Shelf

pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
from starlette.requests import Request
from starlette.responses import Response

from turngap.web.export import export
from turngap.web.pages import Pages
from turngap.web.routing import Route

_FIRST = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="turngap-page" content="KEY">
<link rel="stylesheet" href="/static/view.css?v=1"><title>a &lt; b</title></head>
<body>
<pre>
 href="/r/r1" &amp; &lt;a href="/r/r1"&gt; \u00e9\r
</pre><a class="x" href="/r/r1?q=1&amp;sort=2#there">list</a> <a href='/label?x=1'>label</a>
<a href="//evil.example/">other</a> <a href="https://example.org/">outside</a>
<img src="/static/icon.svg?v=2" alt="&quot;"><div data-next="/r/r1/c?id=a%26b&amp;decision=3" data-odd="/nowhere" hidden></div>
<a href="/broken">broken</a><form action="/r/r1"><input disabled></form>
</body></html>
"""


def _part(_shelf: Shelf, _pages: Pages) -> Sequence[Route]:
    def first(_: Request) -> Response:
        return Response(_FIRST, media_type="text/html")

    def listing(_: Request) -> Response:
        links = "".join(f'<a href="/r/r1/c?id={name}&amp;decision={at}">x</a>' for at, name in enumerate("vwxyz"))
        return Response(f'<html><a href="/">home</a>{links}<a href="/r/r1/c?id=a%26b">y</a></html>')

    def conversation(request: Request) -> Response:
        name = request.query_params["id"]
        return Response(f'<html><b>{name.replace("&", "&amp;")}</b><a href="/r/r1">list</a></html>')

    def broken(_: Request) -> Response:
        return Response("no", status_code=500)

    return [
        Route(path="/", handler=first, copied=()),
        Route(path="/r/{run}", handler=listing, copied=()),
        Route(path="/r/{run}/c", handler=conversation, copied=("id", "trial")),
        Route(path="/broken", handler=broken, copied=()),
        Route(path="/label", handler=broken),
    ]


@pytest.fixture
def copy(shelf: Shelf, tmp_path: Path) -> Path:
    """A copy with at most three conversations."""
    written = export(shelf, tmp_path / "copy", conversations=3, parts=[_part])
    assert (written.pages, written.conversations, written.left_out) == (7, 3, 3)
    return tmp_path / "copy"


def test_links_become_files(copy: Path) -> None:
    """What tells pages apart stays, filters and fragments are told from it; files of the package come along."""
    text = (copy / "index.html").read_text(encoding="utf-8")
    assert 'class="x" href="r-r1.html#there"' in text
    assert '<link rel="stylesheet" href="static/view.css">' in text
    assert '<img src="static/icon.svg" alt="&quot;">' in text
    assert (copy / "static" / "view.css").is_file() and (copy / "static" / "icon.svg").is_file()
    names = re.findall(r'href="(r-r1-c-[0-9a-f]{12}\.html)"', (copy / "r-r1.html").read_text())
    assert [(copy / name).read_text().count("<b>") for name in names] == [1, 1, 1]
    assert len({(copy / name).read_text() for name in names}) == 3
    assert 'href="index.html"' in (copy / "r-r1.html").read_text()


def test_what_is_not_part_of_it_leads_nowhere(copy: Path) -> None:
    """Left-out pages, failed ones and those that need a server are text; addresses elsewhere stay what they are."""
    text = (copy / "index.html").read_text(encoding="utf-8")
    for words in ("label", "broken"):
        assert re.search(rf'<a role="link" aria-disabled="true" title="not part of this copy">{words}</a>', text), words
    assert 'href="https://example.org/"' in text and "evil.example" not in text.replace("//evil.example/", "", 1)
    assert (copy / "r-r1.html").read_text().count("not part of this copy") == 3
    assert "data-odd" not in text and 'data-next="' not in text.replace('data-next="r-r1-c-', "")
    assert '"/' not in text.replace('href="/r/r1"', "", 2)


def test_texts_stay_byte_for_byte(copy: Path) -> None:
    """Only start tags are touched, however their texts look."""
    page = (copy / "index.html").read_bytes().decode()
    pre = _FIRST[_FIRST.index("<pre>") : _FIRST.index("</pre>")]
    assert pre in page
    assert unescape(pre) in unescape(page)


def test_every_page_forbids_what_the_served_one_forbids(copy: Path) -> None:
    """Its policy stands in the page; the key for writing does not."""
    text = (copy / "index.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', text)
    assert "default-src &#x27;none&#x27;" in policy and "unsafe" not in policy and "connect-src" not in policy
    assert "turngap-page" not in text and '<html lang="en" data-copy>' in text


def test_names_of_files_are_ours(shelf: Shelf, tmp_path: Path) -> None:
    """SEC-07: whatever an id holds, the file's name is letters, digits and a digest, inside the folder."""

    def part(_shelf: Shelf, _pages: Pages) -> Sequence[Route]:
        names = ("..%2F..%2Fx", "%2Fetc%2Fpasswd", "a%00b", "CON", "%F0%9F%98%80", "x" * 3000)
        page = "".join(f'<a href="/r/../c?id={name}">x</a><a href="/r/r1/c?id={name}">x</a>' for name in names)

        def first(_: Request) -> Response:
            return Response(page)

        return [
            Route(path="/", handler=first, copied=()),
            Route(path="/r/{run}/c", handler=first, copied=("id",)),
        ]

    export(shelf, tmp_path / "copy", parts=[part])
    files = [path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert len(files) >= 7
    assert all(re.fullmatch(r"[A-Za-z0-9-]+\.html", name) for name in files)
    assert {path.name for path in tmp_path.iterdir()} == {"copy"}


def test_a_folder_with_something_in_it_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    """Nothing is overwritten; a place that cannot be written is said."""
    (tmp_path / "file").write_text("x")
    for place, part in ((tmp_path, "is not empty"), (tmp_path / "file", "is a file")):
        with pytest.raises(UsageError, match=part):
            export(shelf, place, parts=[_part])
    with pytest.raises((UsageError, StoreError)):
        export(shelf, tmp_path / "file" / "inside", parts=[_part])


def test_a_run_is_no_place_for_a_copy(shelf: Shelf) -> None:
    """Run directories are read only, whatever is asked for."""
    with pytest.raises(UsageError, match="lies in the run"):
        export(shelf, shelf.runs[0].path / "copy", parts=[_part])
    assert not (shelf.runs[0].path / "copy").exists()


def test_a_copy_that_is_interrupted_leaves_nothing(shelf: Shelf, tmp_path: Path) -> None:
    """The next one finds the place free."""

    def interrupted(done: int, _known: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(shelf, tmp_path / "copy", parts=[_part], progress=interrupted)
    assert list(tmp_path.iterdir()) == []
    export(shelf, tmp_path / "copy", parts=[_part])
    assert (tmp_path / "copy" / "index.html").is_file()


def test_a_first_page_that_fails_is_said(shelf: Shelf, tmp_path: Path) -> None:
    """There is no copy then."""
    with pytest.raises(StoreError, match="the first page answers 404"):
        export(shelf, tmp_path / "copy", parts=[])
