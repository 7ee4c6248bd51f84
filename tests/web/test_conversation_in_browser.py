"""One conversation, its walk and a trial in a browser: keys, folding, long texts, the switch, on real and live runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reports
import sidebyside
import viewing
from sidebyside import GET, MOVE, OTHER_DAY, WRONG

from turngap.config import ReplayConfig
from turngap.data import Conversation, Verdict
from turngap.runs.store import RunStore

pytestmark = pytest.mark.slow

WIDE = {"viewport": {"width": 1280, "height": 800}}


@pytest.fixture
def boat(tmp_path: Path, boat_conversation: Conversation) -> Iterator[str]:
    """The address of a server on two conversations: one whose replay goes wrong twice, and one that ends early."""
    pytest.importorskip("uvicorn", reason="the extra view is not installed")
    other = Conversation(id="other", messages=boat_conversation.messages, tools=boat_conversation.tools)
    own: dict[str, Any] = {
        "boat": [WRONG, GET, "Shall I?", OTHER_DAY, MOVE, "Done."],
        "other": [WRONG, WRONG, WRONG],
    }
    gold = [GET, "Shall I?", OTHER_DAY, "Done."]
    verdicts = {
        ("boat", 2): Verdict(success=False, category="wrong_date", rationale="It was the second of May.", raw="{}")
    }
    run = sidebyside.run(
        tmp_path / "run",
        [boat_conversation, other],
        own,
        {"boat": gold, "other": [GET, "Shall I?", MOVE, "Done."]},
        verdicts,
    )
    with viewing.serving([run]) as address:
        yield address


def chosen(page: Any) -> str:
    """The decision in which the reader is."""
    return str(page.locator(".row[data-chosen]").get_attribute("data-decision"))


def test_failures_by_key(open_page: Callable[..., Any], boat: str) -> None:
    """`n` and `p` go from failure to failure and stop at the ends; the address says where one is, and reopens it."""
    page = open_page(boat + "r/r1/c?id=boat", **WIDE)
    page.keyboard.press("n")
    assert chosen(page) == "0"
    page.keyboard.press("n")
    assert (chosen(page), "decision=2" in page.url) == ("2", True)
    page.keyboard.press("n")
    assert chosen(page) == "2"
    page.keyboard.press("p")
    assert chosen(page) == "0"
    again = open_page(boat + "r/r1/c?id=boat&decision=2", **WIDE)
    assert chosen(again) == "2"
    assert again.locator("#d2").is_visible()
    assert again.evaluate("document.querySelector('#d2').getBoundingClientRect().top < window.innerHeight")


def test_failures_of_one_protocol(open_page: Callable[..., Any], boat: str) -> None:
    """A list that was narrowed to a protocol makes the keys stop at its failures alone; a choice changes it."""
    page = open_page(boat + "r/r1/c?id=boat&protocol=turn&result=failed", **WIDE)
    assert page.locator("#failures-of").input_value() == "turn"
    page.keyboard.press("n")
    assert chosen(page) == "2"
    page.locator("#failures-of").select_option("replay")
    page.locator("#failures-of").blur()
    page.keyboard.press("p")
    assert chosen(page) == "0"


def test_next_conversation_and_back(open_page: Callable[..., Any], boat: str) -> None:
    """`]` and `[` go through the list, `w` to the walk and back, `u` to the list; filters come along."""
    page = open_page(boat + "r/r1/c?id=boat&sort=id", **WIDE)
    page.keyboard.press("]")
    page.wait_for_url("**id=other*sort=id*")
    page.keyboard.press("[")
    page.wait_for_url("**id=boat*")
    page.keyboard.press("w")
    page.wait_for_url("**/walk?*id=boat*")
    assert "sort=id" in page.url
    page.keyboard.press("w")
    page.wait_for_url("**/c?*")
    page.keyboard.press("u")
    page.wait_for_url("**/r/r1?sort=id")


def test_folding_and_tool_results(open_page: Callable[..., Any], boat: str) -> None:
    """`f` folds every decision to a line and unfolds them; `t` shows all tool results, which are folded at first."""
    page = open_page(boat + "r/r1/c?id=boat", **WIDE)
    assert page.locator("details.row:not([open])").count() == 0
    assert page.locator("details.result[open]").count() == 0
    page.keyboard.press("f")
    assert page.locator("details.row[open]").count() == 0
    assert page.locator("#d2 > summary .glimpse").is_visible()
    assert page.locator("#fold-all").get_attribute("aria-pressed") == "true"
    page.keyboard.press("f")
    assert page.locator("details.row:not([open])").count() == 0
    page.locator("#show-results").click()
    assert page.locator("details.result:not([open])").count() == 0
    assert page.locator("#d0 details.result pre").first.is_visible()
    assert '"seats": 2' in page.locator("#d0 details.result pre").first.inner_text()


def test_what_differs_is_marked_on_both_sides(open_page: Callable[..., Any], boat: str) -> None:
    """The wrong argument with the recorded one beside it, accepted and rejected calls, rationale, reply, gold answer."""
    page = open_page(boat + "r/r1/c?id=boat", **WIDE)
    own = page.locator("#d2 .side").nth(1)
    assert own.locator(".leaf.differs").first.inner_text().split("\n")[0] == "date"
    assert '≠ recorded "2031-05-02"' in " ".join(own.locator(".leaf.differs").first.inner_text().split())
    assert own.locator(".leaf.extra").count() == 1
    assert own.locator(".leaf.lacking").count() == 1
    assert own.get_by_text("✗ wrong arguments, attempt 1").is_visible()
    assert own.get_by_text("✓ accepted").is_visible()
    assert page.locator("#d2 .side").nth(0).locator(".leaf.differs, .leaf.extra").count() == 2
    page.locator("#d2 details.gold > summary").click()
    assert page.get_by_text("It was the second of May.").first.is_visible()
    assert page.locator("#d2 .gold .leaf.differs").is_visible()


def test_help_lists_the_keys(open_page: Callable[..., Any], boat: str) -> None:
    """`?` shows what every key does, Escape leaves, and keys do nothing while it is open."""
    page = open_page(boat + "r/r1/c?id=boat", **WIDE)
    page.keyboard.press("?")
    text = page.locator("#keys-dialog").inner_text()
    for meaning in ("next failure", "next in the list", "fold or unfold all"):
        assert meaning in text
    page.keyboard.press("f")
    assert page.locator("details.row[open]").count() > 0
    page.keyboard.press("Escape")
    assert page.locator("#keys-dialog").is_hidden()


def test_the_switch_keeps_the_place(open_page: Callable[..., Any], boat: str) -> None:
    """`s` turns the repair of history off and on at the same decision; both ways are seen at a glance."""
    page = open_page(boat + "r/r1/walk?id=other&repair=on", **WIDE)
    assert page.locator(".switch [aria-current]").inner_text() == "on"
    assert page.locator(".divergence").count() == 0
    assert page.locator("#s2 > summary").get_by_text("✓ right").is_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert (chosen(page), "decision=2" in page.url) == ("2", True)
    page.keyboard.press("s")
    page.wait_for_url("**repair=off*")
    assert chosen(page) == "2"
    assert page.locator(".divergence").is_visible()
    assert page.locator("#s2 > summary").get_by_text("never asked").first.is_visible()
    assert page.locator("#s2 > summary").get_by_text("right when history is repaired").is_visible()
    assert page.locator(".strip.here .step.to-unreached").count() == 3
    assert page.locator(".strip:not(.here) .step.to-right").count() == 2
    page.locator(".strip.here .step.first").click()
    assert chosen(page) == "0"
    page.keyboard.press("s")
    page.wait_for_url("**repair=on*")
    assert chosen(page) == "0"
    page.go_back()
    page.wait_for_url("**repair=off*")


def test_without_scripts(open_page: Callable[..., Any], boat: str) -> None:
    """Both pages are whole without scripts: the switch is a link, folds open, links to a decision work."""
    page = open_page(boat + "r/r1/walk?id=other&repair=on", java_script_enabled=False, **WIDE)
    page.locator("#repair-off").click()
    assert page.locator(".divergence").is_visible()
    page.locator("#s2 > summary").click()
    assert page.locator("#s2 .side").first.is_visible()
    page.locator("#to-page").click()
    assert page.locator("#next-failure").is_hidden()
    page.locator("#d0 details.result > summary").first.click()
    assert page.locator("#d0 details.result pre").first.is_visible()


def test_the_rest_of_a_long_text(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """A text of a megabyte is cut; the link puts all of it in its place, without leaving the page."""
    long = sidebyside.long(4, 1_000_000)
    answers = sidebyside.recorded(long)
    with viewing.serving([sidebyside.run(tmp_path / "run", [long], {"long": answers})]) as address:
        page = open_page(address + "r/r1/c?id=long", **WIDE)
        shown = page.locator(".round .by-user pre").first
        assert len(shown.inner_text()) < 21_000
        page.locator(".round a.rest").first.click()
        page.wait_for_selector(".round .by-user .more", state="detached")
        assert len(shown.inner_text()) > 999_000
        assert "/c?" in page.url
        page.close()  # before its server


def test_a_trial(open_page: Callable[..., Any], viewer: str, runs_folder: Path) -> None:
    """A live trial that failed: its world, its symptoms, which lead to their events, and the other trials."""
    with RunStore.open(runs_folder / "boats") as store:
        lost = [score for _, score in store.scores("reward") if not score.success and not score.errored]
    page = open_page(f"{viewer}r/r3/c?id={lost[0].conversation}&trial={lost[0].decision}", **WIDE)
    assert page.locator("table.world").is_visible()
    assert page.locator("table.world .wanted-value").first.inner_text()
    page.locator(".signs a").first.click()
    assert page.locator(".said-by:target").is_visible()
    page.keyboard.press("n")
    assert page.locator(".row[data-chosen].to-wrong").is_visible()
    page.locator(".trials a:not([aria-current])").first.click()
    assert "trial" in page.locator("h1").inner_text()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[str]:
    """The address of a server on a run over recordings of an airline's desk."""
    data = shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"
    if not data.exists():
        pytest.skip("no recordings of tau-bench here")
    run = reports.evaluated(
        tmp_path_factory.mktemp("real") / "run",
        data,
        "baseline/noisy?p_text=0.8&p_tool=0.7&seed=1",
        replay=ReplayConfig(after_failure="continue"),
    )
    with viewing.serving([run]) as address:
        yield address


def test_real_recordings(open_page: Callable[..., Any], real: str) -> None:
    """From conversation to conversation by key, through whatever was recorded: every page opens and says nothing."""
    page = open_page(real + "r/r1/c?id=0-0", **WIDE)
    for _ in range(60):
        if page.locator("a[rel=next]").count():
            break
        page.wait_for_timeout(500)  # the index is being made
        page.reload()
    for _ in range(8):
        assert page.locator(".row").count() > 0
        page.keyboard.press("n")
        page.keyboard.press("f")
        before = page.url
        page.keyboard.press("]")
        page.wait_for_url(lambda url, before=before: url != before)
    page.keyboard.press("w")
    page.wait_for_url("**/walk?*")
    for _ in range(4):
        page.keyboard.press("s")
        page.wait_for_load_state()
        page.keyboard.press("j")
        page.keyboard.press("]")
        page.wait_for_load_state()
    assert page.locator(".told").inner_text()
