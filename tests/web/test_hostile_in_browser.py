"""A run over conversations that do their worst, in a browser: all of it is seen, and none of it does anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import reports
import viewing

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that shows such a run, twice, so that it can be compared."""
    pytest.importorskip("uvicorn", reason="the extra view is not installed")
    folder = tmp_path_factory.mktemp("hostile")
    runs = [viewing.hostile(folder / name) for name in ("one", "two")]
    with viewing.serving(runs) as address:
        yield address


def _page(hostile: str, kind: str, name: str) -> str:
    return f"{hostile}r/r1/{kind}?id={quote(name, safe='')}"


def _opened(page: Any) -> Any:
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    return page


def _squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("at", range(len(reports.HOSTILE)))
def test_sec_07_markup_is_text(open_page: Callable[..., Any], hostile: str, at: int) -> None:
    """SEC-07, VIEW-01: in ids, messages, arguments, keys and results; seen as it is, on the conversation and the walk."""
    text = reports.HOSTILE[at]
    for kind in ("c", "walk"):
        page = _opened(open_page(_page(hostile, kind, f"{text} {at}"), viewport={"width": 1280, "height": 800}))
        seen = _squeezed(page.locator("main").text_content())
        assert seen.count(_squeezed(text)) >= 4, kind
        assert page.title().startswith(f"{text} {at}")
        assert (
            page.locator("main script:not([type='application/json']), main img[src=x], main svg[onload]").count() == 0
        )


@pytest.mark.parametrize("address", ["", "r/r1", "r/r1?q=script", "explore", "compare?a=r1&b=r2", "r/r1/label"])
def test_sec_07_lists_of_hostile_names(open_page: Callable[..., Any], hostile: str, address: str) -> None:
    """SEC-07: nothing runs where many of them stand together, on a phone too; nothing overflows."""
    page = _opened(open_page(hostile + address, phone=True))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert len(page.locator("main").inner_text()) > 50


def test_a_search_for_markup_finds_it(open_page: Callable[..., Any], hostile: str) -> None:
    """The passage that was found is text as well."""
    page = _opened(open_page(hostile + "r/r1?" + "q=" + quote('"secret plan"')))
    assert "<scratchpad>" in page.locator("main").text_content()


@pytest.mark.parametrize("kind", ["c", "walk"])
def test_view_04_a_megabyte_in_a_message(open_page: Callable[..., Any], hostile: str, kind: str) -> None:
    """VIEW-04: its beginning comes with the page, which stays small; the rest when it is asked for."""
    page = open_page(_page(hostile, kind, "long"))
    assert page.evaluate("document.documentElement.outerHTML.length") < 1_000_000
    assert page.locator("main").text_content().count("long ") > 1000
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("kind", ["c", "walk"])
def test_view_04_odd_signs(open_page: Callable[..., Any], hostile: str, kind: str) -> None:
    """VIEW-04: controls, marks that turn writing around, emoji of many parts: the page opens and holds them."""
    page = _opened(open_page(_page(hostile, kind, "odd")))
    seen = page.locator("main").text_content()
    assert viewing.EMOJI in seen
    assert "\u202e" in seen and "\x1b" in seen
    # What follows a text that turns writing around is not turned with it.
    assert page.locator("h1").evaluate("one => getComputedStyle(one.querySelector('bdi') ?? one).unicodeBidi") in (
        "isolate",
        "plaintext",
    )


@pytest.mark.parametrize("kind", ["c", "walk"])
def test_five_hundred_calls_in_a_message(open_page: Callable[..., Any], hostile: str, kind: str) -> None:
    """All of them are there, and the page answers."""
    page = _opened(open_page(_page(hostile, kind, "many")))
    assert page.locator("main").text_content().count("get_booking") >= viewing.CALLS
    page.keyboard.press("?")
    assert page.locator("#keys-dialog").is_visible()


def test_a_copy_of_it_runs_nothing(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """SEC-07: the files are as harmless as the pages."""
    from turngap.web.export import export  # noqa: PLC0415 - the extra may be missing
    from turngap.web.shelf import Shelf  # noqa: PLC0415

    copy = tmp_path / "copy"
    run = viewing.hostile(tmp_path / "run")
    viewing.aside(lambda: export(Shelf.open([run]), copy, conversations=20))
    files = sorted(copy.glob("*.html"))
    assert len(files) > 20
    for file in files[:40]:
        page = open_page(file.as_uri())
        assert page.locator("h1").inner_text().strip()
        page.close()
