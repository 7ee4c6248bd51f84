"""Overview and list in a real browser: filters, search, orders, links, keys, many rows, and a run that grows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import scored
import viewing

from turngap.data import AssistantMessage, Prediction, Trajectory
from turngap.runs.store import RunStore

pytestmark = pytest.mark.slow

DESK = {"width": 1280, "height": 800}
MANY = 3000


def opened(open_page: Callable[..., Any], address: str, **context: Any) -> Any:
    """A page of a list that is wholly read."""
    page = open_page(address, **({"viewport": DESK} | context))
    page.wait_for_selector("#building", state="hidden")
    return page


def total(page: Any) -> int:
    """How many units the list says it has."""
    return int(page.locator("#total").inner_text().replace(",", ""))


def counted(viewer: str, run: str, query: str) -> int:
    """How many the server says there are."""
    with urlopen(f"{viewer}api/r/{run}/units?{query}", timeout=30) as answer:
        found: int = json.load(answer)["window"]["total"]
    return found


def shows(page: Any, wanted: int) -> None:
    """Wait until the list has so many units, and its rows are there."""
    page.wait_for_function(
        "wanted => Number(document.getElementById('total').textContent.replace(',', '')) === wanted", arg=wanted
    )
    page.wait_for_function("() => !document.querySelector('#units .waiting')")


@pytest.mark.parametrize(
    ("run", "choose", "query"),
    [
        ("r1", lambda page: page.select_option("#result-replay", "failed"), "protocol=replay&result=failed"),
        ("r1", lambda page: page.check('input[name="category"][value="wrong_tool"]'), "category=wrong_tool"),
        ("r1", lambda page: page.check('input[name="tool"][value="get_product"]'), "tool=get_product"),
        ("r3", lambda page: page.check('input[name="scenario"][value="ambiguous"]'), "scenario=ambiguous"),
        ("r1", lambda page: page.fill('input[name="min"]', "9"), "min=9"),
        ("r1", lambda page: page.fill("#q", "refund"), "q=refund"),
    ],
    ids=["result", "category", "tool", "scenario", "length", "words"],
)
def test_filters_narrow_the_list_and_stand_in_the_address(
    open_page: Callable[..., Any], viewer: str, run: str, choose: Callable[[Any], None], query: str
) -> None:
    """Each kind of filter; a link opens the same again, with its choices, and without scripts too."""
    page = opened(open_page, f"{viewer}r/{run}")
    wanted = counted(viewer, run, query)
    assert 0 < wanted < total(page)
    choose(page)
    shows(page, wanted)
    assert page.url == f"{viewer}r/{run}?{query}"
    assert page.locator("#units li").count() == min(wanted, page.locator("#units li").count()) > 0
    for context in ({}, {"java_script_enabled": False}):
        again = open_page(page.url, viewport=DESK, **context)
        assert total(again) == wanted
        assert again.locator("#units li a").first.get_attribute("href") == page.locator(
            "#units li a"
        ).first.get_attribute("href")
    page.click("#clear")
    page.wait_for_url(f"{viewer}r/{run}")
    assert total(page) == counted(viewer, run, "")


def test_filters_add_up_and_back_takes_them_away(open_page: Callable[..., Any], viewer: str) -> None:
    """Counts follow each choice; "back" leads through the choices."""
    page = opened(open_page, f"{viewer}r/r1")
    before = total(page)
    page.select_option("#result-turn", "failed")
    first = counted(viewer, "r1", "protocol=turn&result=failed")
    shows(page, first)
    offered = page.locator("#result-replay option[value=failed]").inner_text()
    page.select_option("#result-replay", "failed")
    both = counted(viewer, "r1", "protocol=turn&result=failed&protocol=replay&result=failed")
    shows(page, both)
    assert offered == f"failed ({both})"
    page.go_back()
    shows(page, first)
    page.go_back()
    shows(page, before)


def test_search_marks_what_it_finds(open_page: Callable[..., Any], viewer: str) -> None:
    """While typing; a phrase, and nothing at all."""
    page = opened(open_page, f"{viewer}r/r1")
    page.locator("#q").press_sequentially('"gift card"', delay=10)
    wanted = counted(viewer, "r1", "q=%22gift+card%22")
    shows(page, wanted)
    assert {text.lower() for text in page.locator("#units mark").all_inner_texts()} <= {"gift card"}
    page.fill("#q", "zeppelin")
    shows(page, 0)
    assert page.locator("#nothing").is_visible()
    page.fill("#q", '"*^:( NOT')
    shows(page, counted(viewer, "r1", "q=NOT"))


def test_sec_07_found_words_are_text(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """SEC-07: markup in first words, passages, tools and scenarios is seen as it is."""
    text = "<img src=x onerror=alert(1)> ship"
    with scored.run(tmp_path / "run", [scored.conversation("<b>1</b>", "c", said=text)], {}):
        pass
    with viewing.serving([tmp_path / "run"]) as address:
        page = opened(open_page, f"{address}r/r1")
        page.fill("#q", "ship")
        page.wait_for_selector("#units mark")
        page.wait_for_function("() => !document.querySelector('#units .waiting')")
        assert page.locator(".title").first.inner_text() == text
        assert "<img src=x onerror=alert(1)> ship" in page.locator(".about").first.inner_text()
        assert page.locator("main img").count() == 0


def test_orders(open_page: Callable[..., Any], viewer: str) -> None:
    """The longest conversations come first when asked for."""
    page = opened(open_page, f"{viewer}r/r1")
    page.select_option("#sort", "-length")
    page.wait_for_url("**sort=-length")
    page.wait_for_function("() => document.querySelector('#units .about').textContent.includes('18 decisions')")
    lengths = [int(re.findall(r"(\d+) decisions", text)[0]) for text in page.locator("#units .about").all_inner_texts()]
    assert lengths == sorted(lengths, reverse=True)


def test_the_list_is_walked_by_keys(open_page: Callable[..., Any], viewer: str) -> None:
    """Search, move, open, and come back to the place that was left."""
    page = opened(open_page, f"{viewer}r/r1")
    page.keyboard.press("/")
    page.keyboard.type("order")
    shows(page, counted(viewer, "r1", "q=order"))
    page.keyboard.press("Escape")
    for key in ("j", "j", "k", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.closest('li').getAttribute('aria-posinset')") == "2"
    page.keyboard.press("G")
    place = page.evaluate("document.activeElement.closest('li').getAttribute('aria-posinset')")
    assert place == str(counted(viewer, "r1", "q=order"))
    page.wait_for_url("**at=*")
    listed = page.url
    page.keyboard.press("Enter")
    page.wait_for_url("**/c?id=*")
    page.go_back()
    page.wait_for_url(listed)
    page.wait_for_function("() => window.scrollY > 300")


def test_filters_fold_on_a_phone(open_page: Callable[..., Any], viewer: str) -> None:
    """A button shows them, and says whether they are shown."""
    page = opened(open_page, f"{viewer}r/r1", viewport={"width": 390, "height": 844})
    assert not page.locator("#filters").is_visible()
    page.click("#filters-button")
    assert page.locator("#filters-button").get_attribute("aria-expanded") == "true"
    page.select_option("#result-replay", "failed")
    shows(page, counted(viewer, "r1", "protocol=replay&result=failed"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that shows a run of many small conversations."""
    folder = tmp_path_factory.mktemp("many")
    conversations = (scored.conversation(f"c{at:04}", "t", said=f"this is number {at}") for at in range(MANY))
    with scored.run(folder / "run", conversations, {}):
        pass
    with viewing.serving([folder / "run"]) as address:
        yield address


def test_of_many_rows_only_those_in_sight_exist(open_page: Callable[..., Any], many: str) -> None:
    """From the first to the last, and a link leads to the middle."""
    page = opened(open_page, f"{many}r/r1")
    shows(page, MANY)
    assert page.locator("#units li").count() < 60
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_selector(f"text=number {MANY - 1}")
    assert page.locator("#units li").last.get_attribute("aria-posinset") == str(MANY)
    assert page.locator("#units li").count() < 60
    middle = opened(open_page, f"{many}r/r1?at=1500")
    middle.wait_for_function("() => !document.querySelector('#units .waiting')")
    box = middle.locator('#units li[aria-posinset="1501"]').bounding_box()
    assert -60 <= box["y"] <= 120


def test_a_run_that_grows_is_followed(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """Bars of the overview move, the list gets its results and stays where it is, and figures come at the end."""
    names = [f"c{at}" for at in range(40)]
    settings = scored.config(protocols=("replay",))
    with RunStore.create(tmp_path / "run", settings) as store:
        store.set_note("state", "started")
        store.add_conversations(scored.conversation(name, "ct", said=f"about {name}") for name in names)
        with viewing.serving([tmp_path / "run"]) as address:
            overview = open_page(address, viewport=DESK)
            listed = open_page(f"{address}r/r1", viewport=DESK)
            overview.wait_for_selector("text=0 of 40")
            shows(listed, 40)
            listed.evaluate("window.scrollTo(0, 600)")
            for name in names[:7]:
                store.put_prediction(name, 0, Prediction(message=AssistantMessage(content="zeppelin")))
                store.put_trajectory(name, Trajectory(conversation=name, completed=True))
            overview.wait_for_selector("text=7 of 40")
            assert overview.locator("progress").first.evaluate("bar => bar.value / bar.max") == pytest.approx(7 / 40)
            listed.wait_for_selector("#result-replay option[value=passed]", state="attached")
            assert listed.evaluate("window.scrollY") == pytest.approx(600, abs=2)
            listed.fill("#q", "zeppelin")
            shows(listed, 7)
            store.replace_scores("replay", [scored.replayed(name, at < 7) for at, name in enumerate(names)])
            store.set_note("state", "finished")
            overview.wait_for_selector("td.number strong")
            assert "17.5" in overview.locator("tbody tr").first.inner_text()
            assert overview.locator("progress").count() == 0


def test_the_overview_is_sorted_and_filtered(open_page: Callable[..., Any], viewer: str) -> None:
    """By links and choices, all in the address; keys go from run to run."""
    page = open_page(viewer, viewport=DESK)
    page.wait_for_function("() => !document.getElementById('runs').dataset.working")
    heading = page.get_by_role("columnheader", name="exact").get_by_role("link")
    heading.click()
    page.wait_for_url("**sort=-strict.exact")
    assert page.locator("tbody th a").all_inner_texts() == ["strong", "weak", "boats"]
    page.get_by_role("columnheader", name="exact").get_by_role("link").click()
    page.wait_for_url("**sort=strict.exact")
    assert page.locator("tbody th a").all_inner_texts() == ["weak", "strong", "boats"]
    page.get_by_label("data").select_option("retail.jsonl")
    page.wait_for_url("**data=retail.jsonl*")
    assert page.locator("tbody th a").all_inner_texts() == ["weak", "strong"]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/r2")
