"""Every page of the viewer in a real browser: accessible, quiet, within its window, by keyboard, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from viewing import violations

pytestmark = pytest.mark.slow

PAGES = {
    "overview": "",
    "list": "r/r1",
    "search": "r/r1?q=order&protocol=replay&result=failed",
    "trials": "r/r3",
    "conversation": "r/r1/c?id=retail-0003",
    "trial": "r/r3/c?id=move-1&trial=0",
    "walk on": "r/r1/walk?id=retail-0003&repair=on",
    "walk off": "r/r1/walk?id=retail-0003&repair=off",
    "explore": "explore",
    "compare": "compare?a=r1&b=r2",
    "label": "r/r1/label?n=10",
    "label results": "r/r1/label?n=10&results=true",
}
"""What it shows -> its address."""
_every_page = pytest.mark.parametrize("address", PAGES.values(), ids=PAGES)
_LIGHT, _DARK = "rgb(251, 251, 249)", "rgb(18, 22, 29)"


def _settled(page: Any) -> Any:
    page.wait_for_load_state("networkidle")
    return page


@_every_page
def test_axe_finds_nothing_serious(open_page: Callable[..., Any], viewer: str, address: str) -> None:
    """On a desk in light colours, and on a phone in dark ones."""
    assert violations(_settled(open_page(viewer + address, color_scheme="light"))) == []
    assert violations(_settled(open_page(viewer + address, phone=True, color_scheme="dark"))) == []


@_every_page
def test_nothing_overflows(open_page: Callable[..., Any], viewer: str, address: str) -> None:
    """No page scrolls sideways at 390 or 360 pixels, nor on a desk."""
    page = _settled(open_page(viewer + address, phone=True))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    narrow = _settled(open_page(viewer + address, viewport={"width": 360, "height": 700}))
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
    narrow.set_viewport_size({"width": 1280, "height": 800})
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 1280


@_every_page
def test_pages_can_be_read_without_scripts(open_page: Callable[..., Any], viewer: str, address: str) -> None:
    """What a page is about stands there before any script has run; nothing that needs one shows."""
    page = open_page(viewer + address, java_script_enabled=False)
    assert page.locator("h1").inner_text().strip()
    assert len(page.locator("main").inner_text()) > 100
    assert page.locator("#theme-button").is_hidden()


def test_the_theme_is_the_systems_or_ones_own(open_page: Callable[..., Any], viewer: str) -> None:
    """By keyboard alone; the choice holds on the next page and before anything is drawn."""
    page = open_page(viewer, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == _DARK
    button = page.locator("#theme-button")
    button.focus()
    page.keyboard.press("Enter")
    assert (page.evaluate(colour), button.inner_text()) == (_LIGHT, "Theme: light")
    page.goto(viewer + "explore")
    assert page.evaluate(colour) == _LIGHT
    page.locator("#theme-button").focus()
    page.keyboard.press("Space")
    assert page.evaluate(colour) == _DARK
    page.emulate_media(color_scheme="light")
    assert page.evaluate(colour) == _DARK
    page.keyboard.press("Space")
    assert (page.evaluate(colour), page.locator("#theme-button").inner_text()) == (_LIGHT, "Theme: system")


@_every_page
def test_keyboard_only(open_page: Callable[..., Any], viewer: str, address: str) -> None:
    """The first stop skips to the content; every stop is seen; `?` tells the keys, and Escape leaves them."""
    page = _settled(open_page(viewer + address, viewport={"width": 1280, "height": 800}))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(12):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => {
              const one = document.activeElement;
              if (one === document.body) return "end";
              // Chromium draws the ring around the calendar's sign inside the field itself.
              if (one.type === "date" && !one.matches(":focus")) return "seen";
              const box = one.getBoundingClientRect();
              const style = getComputedStyle(one);
              return box.width > 0 && style.outlineStyle !== "none" ? "seen" : one.outerHTML.slice(0, 200);
            }"""
        )
        if seen == "end":
            break
        assert seen == "seen"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    assert page.locator("#keys-dialog dt").count() >= 1
    assert page.locator("#keys-dialog").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#keys-dialog").is_hidden()


def test_the_policy_stops_what_should_not_run(open_page: Callable[..., Any], viewer: str) -> None:
    """SEC-07: were there markup in a page after all, it would run nothing and fetch nothing."""
    page = open_page(viewer)
    page.evaluate(
        """() => {
          const place = document.getElementById("main");
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          place.append(script);
          const picture = document.createElement("img");
          picture.setAttribute("onerror", "window.ran = 2");
          picture.src = "data:image/png;base64,x";
          place.append(picture);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    page.complaints.expect("Content Security Policy")
    page.complaints.expect("INVALID_URL")  # of the picture, which was tried and is none


def test_another_origin_reads_nothing(open_page: Callable[..., Any], viewer: str) -> None:
    """A page of another port of this machine gets no answer by fetch, picture, script or frame."""
    page = open_page("data:text/html,<title>other</title>")
    found = page.evaluate(
        """async (base) => {
          const fetched = await fetch(base + "api/runs").then(() => "read", () => "refused");
          const blind = await fetch(base + "api/runs", {mode: "no-cors"}).then(() => "sent", () => "refused");
          const script = await new Promise((done) => {
            const one = document.createElement("script");
            one.onload = () => done("ran");
            one.onerror = () => done("refused");
            one.src = base + "static/view.js";
            document.head.append(one);
          });
          return [fetched, blind, script];
        }""",
        viewer,
    )
    assert found == ["refused", "refused", "refused"]
    page.complaints.clear()


def test_unknown_pages_say_so(open_page: Callable[..., Any], viewer: str) -> None:
    """With a way back."""
    page = open_page(viewer + "r/r9")
    assert "no run 'r9'" in page.locator("main").inner_text()
    assert page.get_by_role("link", name="All runs").get_attribute("href") == "/"
    assert violations(page) == []
    page.complaints.expect("404")
