"""The static copy in a browser, from disk: read by links, narrowed down without a server, quiet and accessible."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import viewing

from turngap.web.shelf import Shelf

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def copy(shelf: Shelf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with at most six conversations of each run."""
    export = pytest.importorskip("turngap.web.export", reason="the extra view is not installed").export
    folder = tmp_path_factory.mktemp("copied") / "copy"
    viewing.aside(lambda: export(shelf, folder, conversations=6))
    return folder


@pytest.fixture
def first(open_page: Callable[..., Any], copy: Path) -> Any:
    """Its first page."""
    return open_page((copy / "index.html").as_uri(), viewport={"width": 1280, "height": 800})


def test_a_copy_is_read_by_links(first: Any) -> None:
    """From the overview to a list, a conversation, its walk with and without repair, the next one, and back."""
    assert "89.4" in first.locator("main").inner_text()
    first.get_by_role("link", name="weak", exact=True).first.click()
    assert first.locator("li.unit").count() == 6
    assert "The first 6 of 48 are in this copy" in first.locator("main").inner_text()
    first.locator("li.unit a").nth(2).click()
    title = first.locator("h1").inner_text()
    assert first.locator("main").inner_text().count("Decision") >= 3
    first.get_by_role("link", name="Walk it").click()
    assert first.locator("h1").inner_text() == title
    first.get_by_role("link", name="off", exact=True).click()
    assert first.locator("h1").inner_text() == title
    first.get_by_role("link", name="next").click()
    assert first.locator("h1").inner_text() != title
    first.get_by_role("link", name="List").click()
    first.get_by_role("link", name="turngap", exact=True).click()
    assert first.url.endswith("/index.html")


def test_what_is_not_there_leads_nowhere(copy: Path) -> None:
    """The sixth conversation names a seventh that the copy does not hold; no link of any page is broken."""
    files = list(copy.glob("*.html"))
    assert len(files) > 40
    for file in files:
        for link in re.findall(r'<a\b[^>]*?\shref="([^"]*)"', file.read_text(encoding="utf-8")):
            name = link.partition("#")[0]
            assert not name or (copy / name).is_file(), (file.name, link)


def test_a_list_is_narrowed_down_without_a_server(first: Any) -> None:
    """By words and by result; what is left is said."""
    first.get_by_role("link", name="weak", exact=True).first.click()
    rows = first.locator("li.unit:not([hidden])")
    first.wait_for_selector("#copy-words")
    first.keyboard.press("/")
    first.keyboard.type("RETURN window")
    playwright.expect(rows).to_have_count(1)
    first.locator("#copy-words").fill("")
    playwright.expect(rows).to_have_count(6)
    first.locator("#copy-result").select_option("replay failed")
    shown = rows.count()
    assert 0 < shown < 6
    playwright.expect(first.locator("#said")).to_have_text(f"{shown} of 6")


def test_pairs_are_compared(first: Any) -> None:
    """The runs that can be compared are, each pair on a page of its own."""
    first.get_by_role("link", name="Compare", exact=True).click()
    first.get_by_role("link", name="from weak to strong").click()
    assert "fixed" in first.locator("main").inner_text()


@pytest.mark.parametrize("kind", ["index", "r-r1", "r-r1-c-*", "r-r3-c-*", "r-r1-walk-*", "explore", "compare"])
def test_every_kind_of_page_is_accessible_and_fits(open_page: Callable[..., Any], copy: Path, kind: str) -> None:
    """Axe finds nothing serious; a phone shows it without scrolling sideways, in dark colours; forms are gone."""
    file = min(copy.glob(f"{kind}.html"))
    page = open_page(file.as_uri(), phone=True, color_scheme="dark")
    assert page.complaints == []
    assert viewing.violations(page) == []
    page.complaints.clear()  # axe asks for styles itself, which the page's policy does not let it
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
    assert page.locator("form[action]:visible").count() == 0
