"""The explore page in a browser: sliders, gate, keys, phone, dark, and without scripts."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import viewing

from turngap.analysis.chain import Length, chain, completion
from turngap.analysis.gate import evaluate
from turngap.analysis.rule import Rule
from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.engines import Quiet
from turngap.metrics.rounding import decimals
from turngap.protocols.evaluate import Services
from turngap.protocols.evaluate import evaluate as evaluate_all
from turngap.runs.store import RunStore
from turngap.web.shelf import Shelf

pytestmark = pytest.mark.slow

WIDE = {"viewport": {"width": 1280, "height": 900}}


def _query(page: Any) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def _overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def test_the_script_computes_what_python_does(open_page: Callable[..., Any], viewer: str) -> None:
    """Completion and its percent are Python's for random rates and mixes, and for the edges."""
    page = open_page(f"{viewer}explore?runs=r1,r2")
    draw = random.Random(7)
    rates = [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), *((draw.random(), draw.random()) for _ in range(40))]
    for p_text, p_tool in rates:
        mix = [(draw.randrange(9), draw.randrange(9), 1 + draw.randrange(50)) for _ in range(draw.randrange(1, 12))]
        told = page.evaluate(
            "([a, b, mix]) => [turngapExplore.completion(a, b, mix), turngapExplore.percent(turngapExplore.completion(a, b, mix))]",
            [p_text, p_tool, [list(one) for one in mix]],
        )
        value = completion(p_text, p_tool, [Length(*one) for one in mix])
        assert value is not None
        assert told[0] == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert told[1] == decimals(100 * value)
    assert page.evaluate("turngapExplore.completion(0.5, 0.5, [])") is None
    for share in (0.6375, 0.8375, 0.0005, 0.99949, 1.0, 0.0):
        assert page.evaluate("share => turngapExplore.percent(share)", share) == decimals(100 * share)


def test_sliders_move_everything(open_page: Callable[..., Any], viewer: str, shelf: Shelf) -> None:
    """Both sliders, by keys alone, change answer, curve, table, mixes and address; the address reopens it."""
    page = open_page(f"{viewer}explore?runs=r1,r2&rate=90&length=5", **WIDE)
    curve = page.get_attribute("#asked", "d")
    page.focus("#rate-slide")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    page.focus("#length-slide")
    page.keyboard.press("ArrowRight")
    rate, length = float(page.input_value("#rate")) / 100, int(page.input_value("#length"))
    assert (rate, length) == (0.88, 6)
    left = decimals(100 * rate**length)
    assert page.inner_text('#chain-answer [data-out="finished"]') == left
    assert page.inner_text("#chain-table tr.here td[data-out=left]") == left
    assert page.get_attribute("#asked", "d") != curve
    with shelf.get("r1").store() as store:
        lengths = [Length(0, one.n_tool, one.count) for one in chain(store).lengths]
    expected = completion(rate, rate, lengths)
    assert expected is not None
    assert page.inner_text('[data-out="mix"][data-mix="0"]') == decimals(100 * expected)
    assert (_query(page)["rate"], _query(page)["length"]) == ("88", "6")
    again = open_page(page.url)
    assert again.inner_text('#chain-answer [data-out="finished"]') == left
    drawn = [page.get_attribute("#here", name) for name in ("cx", "cy")]
    assert [float(one.strip("%")) for one in drawn] == pytest.approx(
        [float(again.get_attribute("#here", name).strip("%")) for name in ("cx", "cy")]
    )


def test_keys_move_the_chain(open_page: Callable[..., Any], viewer: str) -> None:
    """Outside of fields, plus and minus change the rate and the angle brackets the length."""
    page = open_page(f"{viewer}explore?runs=r1&rate=90&length=5")
    for key in ("-", "-", "+", ">", ">", "<"):
        page.keyboard.press(key)
    assert (page.input_value("#rate"), page.input_value("#length")) == ("89", "6")


def test_view_06_the_gate_answers_as_it_is_chosen(open_page: Callable[..., Any], viewer: str, shelf: Shelf) -> None:
    """VIEW-06: by keys alone: figure, bound and confidence; each answer is the gate's own and the address keeps it."""
    page = open_page(f"{viewer}explore?runs=r1,r2", **WIDE)
    page.focus("#metric")
    page.keyboard.type("workflow.success")
    page.keyboard.press("Tab")
    for field, value in (("#bound", "40"), ("#confidence", "95")):
        if field == "#bound":
            page.fill(field, value)
            page.keyboard.press("Tab")
        else:
            page.select_option(field, value)
        page.wait_for_url(re.compile(rf"{field[1:]}={value}"))
    page.wait_for_function("document.querySelector('#gate-answer code').textContent.includes('confidence 95%')")
    rule = Rule(metric="workflow.success", min=0.4, confidence=0.95)
    for run in ("r1", "r2"):
        with RunStore.open(shelf.get(run).path) as store:
            (ruling,) = evaluate([rule], store).rulings
        row = page.inner_text(f'tr[data-run="{run}"]')
        assert ruling.reason in row
        assert str(ruling.outcome.value).upper() in row
    assert page.inner_text("#gate-answer code").startswith(rule.title)
    again = open_page(page.url)
    assert again.inner_text("#gate-answer table.gate") == page.inner_text("#gate-answer table.gate")


def test_a_rule_that_is_none_says_why(open_page: Callable[..., Any], viewer: str) -> None:
    """A bound that cannot be is answered in place, in the words of the gate."""
    page = open_page(f"{viewer}explore?runs=r1")
    page.fill("#bound", "140")
    page.press("#bound", "Tab")
    page.wait_for_selector("#gate-answer .problem")
    assert "fractions in [0, 1]" in page.inner_text("#gate-answer .problem")


def test_says_and_calls_are_switched(open_page: Callable[..., Any], viewer: str) -> None:
    """The switch leaves one side, and what gets finished stays; a ring tells what it holds."""
    page = open_page(f"{viewer}explore?runs=r1,r2", **WIDE)
    page.click(".switch >> text=What it calls")
    assert _query(page)["show"] == "calls"
    assert page.locator(".figures tr.part").all_inner_texts() == ["What it calls", "What gets finished"]
    assert page.locator(".spots").count() == 2
    assert "conversation" in (page.locator(".spots g title").first.text_content() or "")
    page.click("article.talk >> nth=0 >> summary")
    page.click("article.talk >> nth=0 >> tbody th a")
    assert re.search(r"/r/r1/c\?id=", page.url)


def test_runs_are_picked(open_page: Callable[..., Any], viewer: str) -> None:
    """Ticked runs are shown, and the address names them with commas."""
    page = open_page(f"{viewer}explore", **WIDE)
    page.click(".picker summary")
    page.uncheck('input[name="runs"][value="r3"]')
    with page.expect_navigation():
        page.click("text=Show these")
    assert _query(page)["runs"] == "r1,r2"
    assert page.locator(".picker .run").count() == 2


def test_without_scripts_forms_do_it(browser: Any, viewer: str) -> None:
    """Scripts off: the form computes the chain and the gate, and nothing is shown that does not work."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{viewer}explore?runs=r1,r2")
        assert not page.is_visible("#rate-slide")
        page.fill("#rate", "50")
        page.fill("#length", "2")
        page.click("text=Compute")
        assert page.inner_text('#chain-answer [data-out="finished"]') == "25.0"
        page.select_option("#metric", "workflow.success")
        page.click("text=Hold the runs against it")
        assert page.inner_text("#gate-answer code").startswith("workflow.success at least 60%")
        assert page.input_value("#rate") == "50"
    finally:
        context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "dark"), (360, "light")])
def test_it_fits_and_axe_is_content(open_page: Callable[..., Any], viewer: str, width: int, scheme: str) -> None:
    """At desk and phone width, light and dark, nothing spills over and axe finds no serious violation."""
    page = open_page(f"{viewer}explore", viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert _overflow(page) == 0
    if (width, scheme) in ((1280, "light"), (390, "dark")):  # it takes its time, and the rest is like one of these
        assert _violations(page) == []


@pytest.fixture(scope="module")
def airline(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A viewer on two runs of recorded airline conversations: one that talks well, one that does not."""
    folder = tmp_path_factory.mktemp("airline")
    runs = []
    for name, p_text in (("base", 0.6), ("sft", 0.95)):
        config = EvalConfig(
            data=DataConfig(
                paths=(str(shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"),),
                tools=str(shared / "tau-bench" / "airline-tools.json"),
                limit=25,
            ),
            model=ModelConfig(spec=f"baseline/noisy?p_text={p_text}&p_tool=0.7"),
            replay=ReplayConfig(after_failure="continue"),
            seed=3,
        )
        with ThreadPoolExecutor(1) as thread:  # a browser that is open occupies this thread's event loop
            thread.submit(asyncio.run, evaluate_all(config, folder / name, Services(progress=Quiet()))).result()
        runs.append(folder / name)
    with viewing.serving(runs) as address:
        yield address


def test_real_recordings(open_page: Callable[..., Any], airline: str) -> None:
    """On real recordings the story is told: talk got better, calls did not, and the numbers stand in tables."""
    page = open_page(f"{airline}explore", **WIDE)
    assert "text +" in page.inner_text("#says .findings")
    assert page.locator(".talk").count() == 2
    assert page.locator("#chain .curve").count() == 2
    assert page.locator("#gate tr[data-run]").count() == 2
    assert _violations(page) == []


def test_a_static_copy_still_computes(open_page: Callable[..., Any], shelf: Shelf, tmp_path: Path) -> None:
    """From a file, without a server: sliders compute, and what only a server could answer is not offered."""
    from turngap.web.export import export  # noqa: PLC0415 - the extra may be missing

    copy = tmp_path / "copy"
    viewing.aside(lambda: export(shelf, copy, conversations=1))
    page = open_page((copy / "explore.html").as_uri())
    page.focus("#length-slide")
    page.keyboard.press("End")
    rate, length = float(page.input_value("#rate")) / 100, int(page.input_value("#length"))
    assert page.inner_text('#chain-answer [data-out="finished"]') == decimals(100 * rate**length)
    assert page.is_visible("#gate-answer")
    assert not page.is_visible("#metric")
