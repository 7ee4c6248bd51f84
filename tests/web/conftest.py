"""Runs to look at, a server that shows them, and a browser whose every complaint fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viewing

from turngap.web.caller import Caller
from turngap.web.shelf import Shelf

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The viewer's own cache, away from the person's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TURNGAP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three runs: `strong` and `weak` on the packaged conversations, `boats` of live trials."""
    folder = tmp_path_factory.mktemp("runs")
    viewing.evaluated(folder, "weak")
    viewing.evaluated(folder, "strong")
    viewing.played(folder)
    return folder


@pytest.fixture(scope="session")
def shelf(runs_folder: Path) -> Shelf:
    """`r1` weak, `r2` strong, `r3` boats."""
    return Shelf.open([runs_folder / name for name in ("weak", "strong", "boats")])


@pytest.fixture
def caller(shelf: Shelf) -> Iterator[Caller]:
    """Asks the whole application without a server."""
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(shelf, viewing.guarding.local())) as asking:
        yield asking


@pytest.fixture(scope="session")
def viewer(runs_folder: Path) -> Iterator[str]:
    """The address of a server that shows `r1` weak, `r2` strong, `r3` boats; ends in a slash."""
    pytest.importorskip("uvicorn", reason="the extra view is not installed")
    with viewing.serving([runs_folder / name for name in ("weak", "strong", "boats")]) as address:
        yield address


# Not for the session: a browser that is open occupies the event loop that other modules' tests need.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless browser for a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if _CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu", *_QUIET], timeout=60_000
        )
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """`open_page(address, **context)` gives a page; whatever one complains about fails the test at its end.

    `page.complaints.expect(text)` takes out what the test itself brought about. `phone=True` is a small screen.
    """
    opened: list[Any] = []

    def opening(address: str, *, phone: bool = False, **context: Any) -> Any:
        page = browser.new_context(**(PHONE if phone else {}), **context).new_page()
        page.set_default_timeout(120_000)  # other work may have the machine
        page.complaints = viewing.Complaints()
        page.complaints.watch(page, "/".join(address.split("/")[:3]))
        opened.append(page)
        page.goto(address)
        return page

    yield opening
    complaints = [line for page in opened for line in page.complaints]
    for page in opened:
        page.context.close()
    assert complaints == []


@pytest.fixture
def browser_page(open_page: Callable[..., Any], viewer: str) -> Any:
    """A page on the viewer's first address, at 1280 by 800."""
    return open_page(viewer, viewport={"width": 1280, "height": 800})
