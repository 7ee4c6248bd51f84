"""The page in a real browser: nothing runs, nothing is reported, texts are seen, charts are drawn, nothing overflows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lived import course, made_up
from reports import HOSTILE, hostile_document, hostile_run

from turngap.data import Cause
from turngap.data.reward import Grade, Mismatch, Reward, Symptom, SymptomKind
from turngap.jsonio import write_atomic
from turngap.report.compose import compose
from turngap.runs.store import RunStore

playwright = pytest.importorskip("playwright.sync_api")
html = pytest.importorskip("turngap.report.html")

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(_CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless browser for the module."""
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu", *_QUIET], timeout=60_000
        )
        yield found
        found.close()


def _open(browser: Any, path: Path, **context: Any) -> tuple[Any, list[str]]:
    """Open a page, wait for its charts; returns it and everything that it complained about or asked for."""
    page = browser.new_context(**context).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: _asked(complaints, request.url))

    def dialog(found: Any) -> None:
        complaints.append(f"dialog: {found.message}")
        found.dismiss()

    page.on("dialog", dialog)
    page.goto(path.as_uri())
    if context.get("java_script_enabled", True):
        page.wait_for_selector("html[data-charts=ready]", timeout=60_000)
    return page, complaints


def _asked(complaints: list[str], url: str) -> None:
    if not url.startswith(("file:", "data:")):
        complaints.append(f"request: {url}")


def _width(page: Any) -> int:
    """How wide the page is: as wide as its window, unless something in it overflows."""
    return int(page.evaluate("document.documentElement.scrollWidth"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a document with hostile text in every place."""
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    write_atomic(path, html.render(hostile_document()))
    return path


def test_sec_07_nothing_runs_and_everything_is_seen(browser: Any, hostile: Path) -> None:
    """SEC-07: no dialog, no console line, no request; every hostile text is visible, charts are drawn."""
    page, complaints = _open(browser, hostile)
    assert complaints == []
    assert page.locator("figure.drawing").count() == page.locator("figure").count() == 4
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    seen = page.locator("main").inner_text()
    for text in HOSTILE[:-2]:
        assert " ".join(text.split()) in " ".join(seen.split()), text
    assert HOSTILE[-2] in seen
    assert complaints == []


def test_tooltips_stay_within_the_policy(browser: Any, hostile: Path) -> None:
    """SEC-07: pointing at a mark shows its values as text, and breaks no rule of the page."""
    page, complaints = _open(browser, hostile)
    bar = page.locator("figure[data-chart=bars] .live path[aria-roledescription=bar]").first
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert HOSTILE[0] in page.locator("#vg-tooltip-element").inner_text()
    assert complaints == []


def test_without_scripts_the_page_is_complete(browser: Any, hostile: Path) -> None:
    """Where scripts are off, every chart is its picture."""
    page, complaints = _open(browser, hostile, java_script_enabled=False)
    pictures = page.locator("figure img.light")
    assert pictures.count() == 4
    assert all(pictures.nth(at).bounding_box()["height"] > 50 for at in range(4))
    assert complaints == []


def test_nothing_overflows_on_a_phone(browser: Any, hostile: Path) -> None:
    """VIEW-04: at phone width the page itself never scrolls sideways, whatever it holds."""
    page, complaints = _open(browser, hostile, **_PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    assert _width(page) == _PHONE["viewport"]["width"]
    assert complaints == []


def test_dark_pages_have_dark_charts(browser: Any, hostile: Path) -> None:
    """The colours of marks follow the page, also when the page changes while it is open."""
    page, _ = _open(browser, hostile, color_scheme="light")
    mark = "figure[data-chart=bars] .live path[aria-roledescription=bar]"
    light = page.locator(mark).first.get_attribute("fill")
    page.emulate_media(color_scheme="dark")
    playwright.expect(page.locator(mark).first).not_to_have_attribute("fill", light)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"


def test_view_04_a_run_of_hostile_conversations(browser: Any, tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """VIEW-01, VIEW-04, SEC-07: a report of such a run opens, shows texts byte for byte, and holds 200 KB in a line."""
    with RunStore.open(hostile_run(tmp_path, boat_record)) as store:
        document = compose([store])
    path = tmp_path / "report.html"
    write_atomic(path, html.render(document))
    page, complaints = _open(browser, path)
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    texts = page.locator("pre").all_text_contents()
    for at, text in enumerate(HOSTILE):
        assert any(found.startswith(f"Please move BK-1042 to 2 May. {text}") for found in texts), at
    assert page.locator("details.failed").count() == len(HOSTILE)
    assert _width(page) <= page.viewport_size["width"]
    assert complaints == []


def test_view_04_a_run_of_hostile_trials(browser: Any, tmp_path: Path) -> None:
    """VIEW-01, VIEW-04, SEC-07: hostile words of user, agent, tools and database are seen as they are, on a phone too."""
    probe = "".join(HOSTILE[:-2])
    wrong = Reward(
        value=0.0,
        components={"DB": Grade(value=0.0, counted=True, detail=probe)},
        mismatches=(Mismatch(record=probe, field=probe, wanted=probe, found=None),),
        mismatched=1,
        symptoms=(Symptom(kind=SymptomKind.EXTRA_WRITE, event=3, detail=probe, evidence=probe),),
    )
    trials = {f"{text} {at}": [(wrong, Cause.WRONG)] for at, text in enumerate(HOSTILE)}
    said = course(*[f"{probe} {number}" for number in range(4)])
    with made_up(
        tmp_path / "<b>run</b>", trials, trajectory=said, instructions=probe, model=f"openai/{probe}"
    ) as store:
        document = compose([store])
    path = tmp_path / "report.html"
    write_atomic(path, html.render(document))
    page, complaints = _open(browser, path, **_PHONE)
    assert page.locator("details.failed").count() == len(HOSTILE)
    assert page.locator("details.failed details[open]").count() == 0
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    texts = page.locator("details.failed pre").all_text_contents()
    assert sum(found == f"{probe} 1" for found in texts) == len(HOSTILE)
    assert page.locator(".line.wrong .mark.bad").first.inner_text() == "extra_write"
    assert _width(page) == _PHONE["viewport"]["width"]
    assert complaints == []
