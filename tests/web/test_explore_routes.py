"""The explore page from the outside, without a browser."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator

import pytest
import viewing

from turngap.analysis.sums import sum_up
from turngap.runs.store import RunStore
from turngap.web.caller import Caller
from turngap.web.explore import Explorer, Query
from turngap.web.kept import Kept
from turngap.web.shelf import Shelf


@pytest.fixture(scope="module")
def asking(shelf: Shelf) -> Iterator[Caller]:
    """One application for all of this module, so that it computes once."""
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(shelf, viewing.guarding.local())) as caller:
        yield caller


def _text(body: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


def test_the_page_is_whole_without_scripts(asking: Caller, shelf: Shelf) -> None:
    """Figures, curves and the gate's answer are in the page itself, each run by its name."""
    answered = asking.get("/explore")
    assert answered.status == 200
    body = answered.text
    for run in shelf.runs:
        assert f">{run.label}</bdi>" in body
    with RunStore.open(shelf.get("r1").path) as store:
        value = sum_up(store).metrics["turn.success.text"].value
    assert value is not None
    assert f"<strong>{100 * value:.1f}</strong>" in body
    assert "Hold the runs against it" in body
    assert 'class="curve"' in body
    assert "style=" not in body, "the policy allows no inline styles"


def test_the_address_is_the_state(asking: Caller) -> None:
    """Every choice comes from the address, and links keep all of it but what they change."""
    body = asking.get(
        "/explore?runs=r2,r1&show=calls&rate=80&length=4&metric=strict.exact&kind=max&bound=90&confidence=90&errored=2"
    ).text
    assert 'id="rate" name="rate" form="ask" min="0" max="100" step="any" value="80"' in body
    assert 'name="errored" form="ask" min="0" step="1" value="2"' in body
    assert '<option value="max" selected>' in body
    assert '<option value="90" selected>90%' in body
    assert "41.0" in _text(body), "0.8^4"
    assert "What it says" not in re.findall(r'<tr class="part">.*?</tr>', body)[0]
    link = html.unescape(re.findall(r'href="(/explore\?[^"]*)#says"', body)[0])
    for part in ("runs=r2%2Cr1", "rate=80.0", "length=4", "metric=strict.exact", "confidence=90.0"):
        assert part in link


def test_repeated_fields_name_several_runs(asking: Caller) -> None:
    """What a form without scripts sends means the same as ids with commas."""
    one, other = (asking.get(f"/explore?{query}").text for query in ("runs=r1&runs=r3", "runs=r1,r3"))
    assert one == other


@pytest.mark.parametrize(
    ("query", "status"),
    [("runs=r9", 404), ("runs=../../etc/passwd", 404), ("rate=much", 400), ("length=1.5", 400), ("runs=r1,r1,r1", 200)],
)
def test_addresses_that_make_no_sense(asking: Caller, query: str, status: int) -> None:
    """Unknown runs are not found, other nonsense is not understood, and neither looks at a path."""
    assert asking.get(f"/explore?{query}").status == status


@pytest.mark.parametrize("query", ["rate=nan", "rate=-5", "rate=1e9", "length=-3", "bound=nan", "bound=1e300"])
def test_numbers_out_of_range_are_pages(asking: Caller, query: str) -> None:
    """VIEW-02: a number that is none, or none that can be, never spoils the page."""
    answered = asking.get(f"/explore?{query}")
    assert answered.status == 200
    if query.startswith("rate"):
        assert "nan" not in _text(answered.text).lower().split()


def test_sec_07_what_a_reader_sends_is_text(asking: Caller) -> None:
    """SEC-07: markup in a field of the address is shown as it is and is never markup."""
    body = asking.get("/explore?metric=%3Cscript%3Ealert(1)%3C/script%3E&show=%22%3E%3Cimg+src=x%3E&curve=%3Cb%3E").text
    assert "<script>alert" not in body
    assert "<img" not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body


def test_the_script_gets_what_python_computed_with(asking: Caller) -> None:
    """The mixes of conversations in the page are JSON of [text decisions, tool decisions, conversations]."""
    body = asking.get("/explore?runs=r1,r2").text
    (mixes,) = re.findall(r'data-mixes="([^"]*)"', body)
    found = json.loads(html.unescape(mixes))
    assert len(found) == 2
    assert sum(count for _, _, count in found[0]) == 41


def test_results_are_kept_until_a_run_changes(shelf: Shelf) -> None:
    """A second look reads nothing anew; another question about the same chains reads no run."""
    kept = Kept()
    explorer = Explorer(kept)
    runs = [shelf.get("r1"), shelf.get("r2")]
    first = explorer.explore(runs, Query())
    size = len(kept)
    second = explorer.explore(runs, Query(rate=50.0, length=3))
    assert len(kept) == size
    assert second.says is first.says
    assert second.choice is first.choice
    assert second.chains.finished == 0.125
