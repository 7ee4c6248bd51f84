"""The overview and the list as pages and as data, without a browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
import pytest
import reports
import scored
import viewing

from turngap.web.caller import Answered, Caller
from turngap.web.shelf import Shelf

app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")


def data(caller: Caller, address: str) -> Any:
    """The JSON of an address, strictly read."""
    answered = caller.get(address)
    assert answered.status == 200, answered.text
    return json.loads(answered.text, parse_constant=pytest.fail)


def complete(caller: Caller, run: str) -> None:
    """Wait until all of a run is in its index."""
    deadline = time.monotonic() + 30
    while data(caller, f"/api/r/{run}/units?count=0")["progress"]["stage"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def links(page: Answered) -> list[str]:
    """Addresses of the rows."""
    return [unescape(link) for link in re.findall(r'<a href="(/r/[^"]*/c\?[^"]*)">', page.text)]


def test_the_page_is_whole_without_scripts(caller: Caller) -> None:
    """Rows, counts and choices are in it; the form gives everything back that the address says."""
    page = caller.get(
        "/r/r1?protocol=turn&result=passed&protocol=replay&result=failed&tool=get_order&min=3&sort=-length"
    )
    assert page.status == 200
    assert '<option value="failed" selected>failed' in page.text
    assert re.search(r'name="tool" value="get_order" checked', page.text)
    assert 'name="min" min="0" inputmode="numeric" value="3"' in page.text
    assert '<option value="-length" selected>' in page.text
    listed = data(caller, "/api/r/r1/units?protocol=replay&result=failed")["window"]["total"]
    assert f'<span id="total">{listed}</span>' in caller.get("/r/r1?protocol=replay&result=failed").text
    assert len(links(caller.get("/r/r1"))) == 48


def test_rows_carry_the_list_on(caller: Caller) -> None:
    """The page of a conversation knows its neighbours in the list it was opened from, and the way back."""
    complete(caller, "r1")
    page = caller.get("/r/r1?protocol=replay&result=failed&sort=-length")
    first, second = links(page)[:2]
    assert parse_qs(urlsplit(first).query)["protocol"] == ["replay"]
    opened = caller.get(first)
    assert opened.status == 200
    following = parse_qs(urlsplit(second).query)["id"][0]
    assert re.search(rf'rel="next" href="[^"]*id={following}', opened.text)
    assert 'rel="prev"' not in opened.text
    assert "/r/r1?protocol=replay&amp;result=failed&amp;sort=-length" in opened.text


def test_trials_have_their_number_in_the_address(caller: Caller) -> None:
    """Task and trial, and the trial's page opens."""
    complete(caller, "r3")
    found = links(caller.get("/r/r3"))
    assert found[:2] == ["/r/r3/c?id=move-1&trial=0", "/r/r3/c?id=move-1&trial=1"]
    assert caller.get(found[1]).status == 200


def test_windows_are_data(caller: Caller) -> None:
    """Windows put together are the list; counts come when they are asked for."""
    complete(caller, "r2")
    whole = data(caller, "/api/r/r2/units?count=48&sort=-length")
    assert whole["facets"] == []
    assert whole["working"] is False
    parts = [data(caller, f"/api/r/r2/units?from={at}&count=20&sort=-length")["window"] for at in (0, 20, 40)]
    assert [row for part in parts for row in part["rows"]] == whole["window"]["rows"]
    assert {part["version"] for part in parts} == {whole["window"]["version"]}
    facets = {one["name"]: one for one in data(caller, "/api/r/r2/units?facets=1&count=0")["facets"]}
    assert {"turn", "replay", "workflow", "tool"} <= facets.keys()
    assert sum(choice["count"] for choice in facets["replay"]["choices"]) == 48


def test_search_shows_what_was_found(caller: Caller) -> None:
    """The words stand in a mark, in the page; with what surrounds them."""
    complete(caller, "r1")
    page = caller.get("/r/r1?q=%22cancel+order%22")
    marks = re.findall(r"<mark>(.*?)</mark>", page.text)
    assert marks
    assert {mark.lower() for mark in marks} <= {"cancel order", "cancel_order", "cancel</bdi>"}


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/r/r9", 404),
        ("/r/r1?sort=nothing", 400),
        ("/r/r1?protocol=rollout&result=failed", 400),
        ("/r/r1?min=x", 400),
        ("/api/r/r1/units?from=x", 400),
        ("/api/r/r1/units?result=fine", 400),
        ("/r/..%2f..%2fetc", 404),
    ],
)
def test_what_makes_no_sense_is_refused(caller: Caller, address: str, status: int) -> None:
    """One line, and no trace of where anything lies."""
    answered = caller.get(address)
    assert answered.status == status
    assert "Traceback" not in answered.text


def test_the_overview_can_be_watched(caller: Caller) -> None:
    """The marks of the page are those of the data, so that nothing is taken anew for nothing."""
    deadline = time.monotonic() + 30
    while data(caller, "/api/runs")["working"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    page = caller.get("/?sort=-turn.success")
    watched = data(caller, "/api/runs?sort=-turn.success")
    marks = dict(re.findall(r'data-run="(r\d)" data-mark="(\w+)"', page.text))
    assert marks == {run["id"]: run["mark"] for run in watched["runs"]}
    assert watched["working"] is False
    assert 'aria-sort="descending"' in page.text
    assert re.findall(r'<a href="/r/(r\d)">', page.text) == ["r2", "r1", "r3"]
    assert re.findall(r'<a href="/r/(r\d)">', caller.get("/?data=retail.jsonl").text) == ["r1", "r2"]
    assert "No run is like that" in caller.get("/?model=other").text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A run whose ids, words, tools and scenarios are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    conversations = [
        msgspec.structs.replace(
            scored.conversation(f"{text} {at}", "c", said=f"{text} find me"), metadata={"scenario": text}
        )
        for at, text in enumerate(reports.HOSTILE)
    ]
    with scored.run(folder / "run", conversations, {}, scored.config("openai/<img src=x onerror=alert(1)>")):
        pass
    with Caller(app.create(Shelf.open([folder / "run"]), viewing.guarding.local())) as asking:
        yield asking


def test_sec_07_nothing_of_a_run_is_markup(hostile: Caller) -> None:
    """SEC-07, VIEW-01: ids, first words, scenarios, models and searches are text, on both pages; links lead to ids."""
    for address in ("/", "/r/r1", "/r/r1?q=find", "/r/r1?q=" + quote(reports.PROBE) + "&tool=" + quote(reports.PROBE)):
        page = hostile.get(address)
        assert page.status == 200, address
        assert "<img src=x" not in page.text
        assert "<script>alert" not in page.text
        assert "<svg onload" not in page.text
        assert "<scratchpad>" not in page.text
    rows = links(hostile.get("/r/r1"))
    assert [parse_qs(urlsplit(link).query)["id"][0] for link in rows] == [
        f"{text} {at}" for at, text in enumerate(reports.HOSTILE)
    ]
    assert all(hostile.get(link).status == 200 for link in rows)


def test_a_static_copy_has_the_rows_it_has_pages_for(shelf: Shelf, tmp_path: Path) -> None:
    """As many as it was asked for, without waiting for scripts."""
    from turngap.web.export import export  # noqa: PLC0415 - the extra may be missing

    export(shelf, tmp_path / "copy", conversations=5)
    lists = [path for path in (tmp_path / "copy").glob("r-r1*.html") if 'id="units"' in path.read_text()]
    assert len(lists) == 1
    assert len(re.findall(r'<li class="unit"', lists[0].read_text())) == 5 + 1  # and the template of a row
