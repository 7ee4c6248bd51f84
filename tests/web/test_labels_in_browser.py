"""Labels and marks in a browser: by keyboard, kept, counted, and gone when they are taken back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viewing

from turngap.web import guarding

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture
def own(runs_folder: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on a run of its own, since these tests write beside it."""
    pytest.importorskip("uvicorn", reason="the extra view is not installed")
    run = Path(shutil.copytree(runs_folder / "weak", tmp_path / "weak"))
    with viewing.serving([run]) as address:
        yield address, run


def _lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "annotations.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_sample_is_labelled_by_keyboard(open_page: Callable[..., Any], own: tuple[str, Path]) -> None:
    """y, n and u label and bring the next unit; j and k move; a comment is kept; a label can be taken back."""
    address, run = own
    page = open_page(f"{address}r/r1/label?n=5")
    for done, key in enumerate("ynuy", start=1):
        page.keyboard.press(key)
        playwright.expect(page.locator("#progress")).to_contain_text(f"{done} of 5 labelled")
    page.locator("#comment").fill("y and n are letters here")
    page.locator("#comment").press("Escape")
    page.keyboard.press("n")
    playwright.expect(page.locator("#progress")).to_contain_text("5 of 5 labelled")
    assert [(line["blind"], line["good"]) for line in _lines(run)] == [
        (True, True), (True, False), (True, None), (True, True), (True, False),
    ]  # fmt: skip
    assert _lines(run)[-1]["comment"] == "y and n are letters here"
    page.keyboard.press("j")
    page.wait_for_url("**at=2*")
    page.get_by_role("button", name="Take back").click()
    playwright.expect(page.locator("#progress")).to_contain_text("4 of 5 labelled")


def test_a_verdict_is_marked_wrong_with_a_reason(open_page: Callable[..., Any], own: tuple[str, Path]) -> None:
    """On a conversation: kept over a reload, counted as agreement, taken back by a second press."""
    address, run = own
    page = open_page(f"{address}r/r1/c?id=retail-0003")
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    note = page.locator(".verdict-note").first
    note.get_by_role("textbox").fill("<i>it was asked for</i>")
    note.get_by_role("button", name="wrong").click()
    playwright.expect(note).to_contain_text("on 0 of 1")
    (line,) = _lines(run)
    assert (line["said"], line["blind"], line["comment"]) == ("wrong", False, "<i>it was asked for</i>")
    page.reload()
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
    note = page.locator(".verdict-note").first
    button = note.get_by_role("button", name="wrong")
    playwright.expect(button).to_have_attribute("aria-pressed", "true")
    assert note.get_by_role("textbox").input_value() == "<i>it was asked for</i>"
    button.click()
    playwright.expect(button).to_have_attribute("aria-pressed", "false")
    assert _lines(run)[-1]["said"] == "withdrawn"


def test_what_cannot_be_written_is_said_on_the_page(open_page: Callable[..., Any], own: tuple[str, Path]) -> None:
    """The person sees why, and can try again."""
    address, run = own
    page = open_page(f"{address}r/r1/label?n=5")
    page.wait_for_load_state("networkidle")
    (run / "annotations.jsonl").mkdir()
    page.keyboard.press("y")
    playwright.expect(page.locator("#problem")).to_contain_text("cannot be written")
    page.complaints.expect("503")


def test_a_token_opens_the_pages_once(open_page: Callable[..., Any], runs_folder: Path) -> None:
    """With the printed address the browser is let in, sees no token in its own, sends none on, and can write."""
    token = "a-token-of-the-tests-1234"
    with viewing.serving([runs_folder / "weak"], guarding.local(token)) as address:
        page = open_page(f"{address}?token={token}")
        assert page.url == address
        asked: list[Any] = []
        page.on("request", lambda request: asked.extend([request]))  # playwright looks into what it is given
        page.goto(f"{address}r/r1/label?n=5")
        page.wait_for_load_state("networkidle")
        assert asked and all(token not in str(request.all_headers()) + request.url for request in asked)
        assert page.evaluate("document.cookie") == ""
        other = open_page(address)
        assert "it holds the token" in other.locator("body").inner_text()
        other.complaints.expect("401")
