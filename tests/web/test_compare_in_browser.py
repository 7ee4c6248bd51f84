"""The compare page in a browser: filter, keys, side by side, phone, dark, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
import reports
import viewing

pytestmark = pytest.mark.slow

WIDE = {"viewport": {"width": 1280, "height": 900}}


def _violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def test_a_count_leads_to_its_conversations(open_page: Callable[..., Any], viewer: str) -> None:
    """From a number of fixed conversations to the list of just these, and the address reopens it."""
    page = open_page(f"{viewer}compare?a=r1&b=r2", **WIDE)
    link = page.locator("td.went a.change.fixed").last
    number = re.findall(r"\d+", link.inner_text())[0]
    link.click()
    assert re.search(r"change=fixed", page.url)
    assert f"of {number}" in page.inner_text("#rows > p >> nth=0")
    assert page.locator("#rows a.open").count() == int(number)
    marks = page.locator("#rows tbody td:nth-of-type(1) .change").all_inner_texts()
    assert {text.split()[-1] for text in marks} == {"fixed"}
    assert open_page(page.url).inner_text("#rows") == page.inner_text("#rows")


def test_the_list_answers_as_it_is_asked(open_page: Callable[..., Any], viewer: str) -> None:
    """Choosing a change, an order and typing part of an id renew the list in place, and the address says so."""
    page = open_page(f"{viewer}compare?a=r1&b=r2&by=strict.exact", **WIDE)
    everything = page.locator("#rows a.open").count()
    page.select_option("#change", "changed")
    page.wait_for_url(re.compile("change=changed"))
    changed = page.locator("#rows a.open").count()
    assert 0 < changed < everything
    page.select_option("#sort", "id")
    page.wait_for_url(re.compile("sort=id"))
    ids = page.locator("#rows a.open").all_inner_texts()
    assert ids == sorted(ids)
    page.fill("#q", ids[3][-2:])
    page.wait_for_url(re.compile(f"q={ids[3][-2:]}"))
    assert ids[3] in page.locator("#rows a.open").all_inner_texts()
    assert page.locator("#rows a.open").count() < changed
    page.select_option("#by", "turn.success")
    page.wait_for_url(re.compile(r"by=turn\.success&"))
    assert "q=" in page.url


def test_keys_walk_into_both_sides(open_page: Callable[..., Any], viewer: str) -> None:
    """With the keyboard alone: to a conversation, into it, to the next, to either run's own page."""
    page = open_page(f"{viewer}compare?a=r1&b=r2&change=changed", **WIDE)
    ids = page.locator("#rows a.open").all_inner_texts()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert ids[0] in page.inner_text("#pair-title")
    with page.expect_navigation():
        page.keyboard.press("n")
    assert ids[1] in page.inner_text("#pair-title")
    assert page.locator("#pair .place .side").count() % 3 == 0
    assert page.locator("#pair .verdicts tbody tr").count() > 0
    with page.expect_navigation():
        page.keyboard.press("p")
    assert ids[0] in page.inner_text("#pair-title")
    page.locator("#pair .ways a").nth(1).focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert re.search(rf"/r/r2/c\?id={ids[0]}$", page.url)


def test_closing_leads_back_to_the_list(open_page: Callable[..., Any], viewer: str) -> None:
    """What was filtered stays filtered when the conversation is closed."""
    page = open_page(f"{viewer}compare?a=r1&b=r2&change=changed", **WIDE)
    page.locator("#rows a.open").nth(2).click()
    with page.expect_navigation():
        page.keyboard.press("c")
    assert page.locator("#pair").count() == 0
    assert "change=changed" in page.url


def test_runs_are_swapped_and_chosen(open_page: Callable[..., Any], viewer: str) -> None:
    """The other way round fixed is broken; runs that cannot be compared say why."""
    page = open_page(f"{viewer}compare?a=r1&b=r2", **WIDE)
    fixed = page.locator("td.went a.change.fixed").last.inner_text()
    page.click("text=Swap")
    broken = page.locator("td.went a.change.broken").last.inner_text()
    assert re.findall(r"\d+", fixed) == re.findall(r"\d+", broken)
    page.select_option("#b", "r3")
    with page.expect_navigation():
        page.click("button:has-text('Compare')")
    assert "cannot be compared" in page.inner_text(".problem")


def test_without_scripts_links_and_forms_do_it(browser: Any, viewer: str) -> None:
    """Scripts off: the filter is a form, the rows are links."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{viewer}compare?a=r1&b=r2")
        page.select_option("#change", "changed")
        page.click("text=Show")
        assert "change=changed" in page.url
        page.locator("#rows a.open").first.click()
        assert page.locator("#pair").count() == 1
    finally:
        context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "dark"), (360, "light")])
def test_it_fits_and_axe_is_content(open_page: Callable[..., Any], viewer: str, width: int, scheme: str) -> None:
    """At desk and phone width, light and dark, with a conversation open, nothing spills over and axe is content."""
    page = open_page(f"{viewer}compare?a=r1&b=r2", viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.locator("#rows a.open").first.click()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    if (width, scheme) in ((1280, "light"), (390, "dark")):  # it takes its time, and the rest is like one of these
        assert _violations(page) == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A viewer on two runs over conversations that do their worst."""
    folder = tmp_path_factory.mktemp("hostile")
    with viewing.serving([viewing.hostile(folder / name) for name in ("one", "two")]) as address:
        yield address


def test_sec_07_both_sides_of_hostile_conversations(open_page: Callable[..., Any], hostile: str) -> None:
    """SEC-07, VIEW-01, VIEW-04: markup, a megabyte, odd signs and 500 calls are shown on both sides, as text."""
    names = [f"{text} {at}" for at, text in enumerate(reports.HOSTILE)] + ["long", "odd", "many"]
    for name in names:
        page = open_page(f"{hostile}compare?a=r1&b=r2&id={quote(name, safe='')}", **WIDE)
        page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
        assert page.locator("#pair-title bdi").text_content() == name
        assert page.locator("main script, main img, main svg[onload]").count() == 0
        seen = page.locator("#pair").text_content() or ""
        if name == "many":
            assert seen.count("get_booking") >= 2 * viewing.CALLS
        elif name == "long":
            assert "more characters" in seen
            assert page.evaluate("document.documentElement.outerHTML.length") < 2_000_000
        elif name != "odd":
            assert " ".join(name.rpartition(" ")[0].split()) in " ".join(seen.split())
        page.close()
