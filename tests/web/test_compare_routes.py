"""The compare page from the outside, without a browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import quote

import gateruns
import pytest
import viewing

from turngap.web import compare_routes
from turngap.web.caller import Caller
from turngap.web.shelf import Shelf


@pytest.fixture(scope="module")
def asking(shelf: Shelf) -> Iterator[Caller]:
    """One application for all of this module, so that it computes once."""
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(shelf, viewing.guarding.local())) as caller:
        yield caller


def test_the_first_two_of_a_kind(asking: Caller) -> None:
    """Without a choice the first two runs of one kind are compared, whole without scripts."""
    answered = asking.get("/compare")
    assert answered.status == 200
    body = answered.text
    assert '<option value="r1" selected>' in body
    assert '<option value="r2" selected>' in body
    assert 'class="answer verdict"' in body
    assert "McNemar" in body
    assert "style=" not in body


def test_counts_lead_to_their_conversations(asking: Caller) -> None:
    """The number beside a change is that of the conversations which its link shows."""
    body = asking.get("/compare?a=r1&b=r2").text
    links = re.findall(
        r'<a href="(/compare[^"]*)" class="change [a-z-]+"><span aria-hidden="true">.</span> ([\d,]+) ', body
    )
    assert len(links) > 8
    for link, number in links[:6]:
        listed = asking.get(html.unescape(link.partition("#")[0])).text
        assert f"of {number}</p>" in listed
        assert listed.count('class="open"') == min(int(number), compare_routes.PAGE)


def test_a_conversation_opens_side_by_side(asking: Caller) -> None:
    """A row's link shows both, and from there a link leads to the page of each."""
    body = asking.get("/compare?a=r1&b=r2&change=changed").text
    link = html.unescape(re.findall(r'class="open" href="([^"]*)"', body)[1])
    assert "change=changed" in link
    shown = asking.get(link.partition("#")[0]).text
    name = re.findall(r"[?&]id=([^&#]*)", link)[0]
    for run in ("r1", "r2"):
        assert f'href="/r/{run}/c?id={name}"' in shown
        assert asking.get(f"/r/{run}/c?id={name}").status == 200
    assert 'rel="prev"' in shown
    assert 'rel="next"' in shown


def test_live_runs_compare_by_task(asking: Caller, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two runs of live trials are compared by tasks, and each trial leads to its page."""
    folder = tmp_path_factory.mktemp("live")
    viewing.played(folder)
    viewing.played(folder / "twin")
    shelf = Shelf.open([folder / "boats", folder / "twin" / "boats"])
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(shelf, viewing.guarding.local())) as asking:
        body = asking.get("/compare").text
        assert "task</th>" in body
        link = html.unescape(re.findall(r'class="open" href="([^"]*)"', body)[0])
        shown = asking.get(link.partition("#")[0]).text
        assert "trial 3" in shown
        assert "trial=2" in shown


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("a=r1&b=r3", 200, "live trials and recorded conversations cannot be compared"),
        ("a=r1&b=r1", 200, "compare different runs"),
        ("a=r9", 404, ""),
        ("a=r1&b=r2&id=nowhere", 404, "share no conversation"),
        ("a=r1&b=r2&id=..%2F..%2Fetc%2Fpasswd", 404, "share no conversation"),
        ("a=r1&b=r2&at=many", 400, ""),
        ("a=r1&b=r2&at=100000&by=x&change=y&sort=z", 200, "of 41"),
    ],
)
def test_what_cannot_be_compared(asking: Caller, query: str, status: int, words: str) -> None:
    """Each says what is wrong in one line, and no directory is in it."""
    answered = asking.get(f"/compare?{query}")
    assert answered.status == status
    assert words in html.unescape(answered.text)
    assert "/tmp" not in answered.text


def test_one_run_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With a single run the page says what it needs."""
    run = gateruns.make(tmp_path_factory.mktemp("alone") / "run", strict={"a": True})
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(Shelf.open([run]), viewing.guarding.local())) as asking:
        answered = asking.get("/compare")
    assert answered.status == 200
    assert "There is one run here" in answered.text


def test_sec_07_ids_are_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    """SEC-07: a conversation whose id is markup is listed, opened and linked, and never markup."""
    folder = tmp_path_factory.mktemp("hostile")
    name = "</script><img src=x onerror=alert(1)>\u202e&amp;"
    for at, good in (("a", True), ("b", False)):
        gateruns.make(folder / at, strict={name: good}, workflow={name: good})
    app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
    with Caller(app.create(Shelf.open([folder / "a", folder / "b"]), viewing.guarding.local())) as asking:
        body = asking.get(f"/compare?id={quote(name)}").text
    assert "<img" not in body
    assert html.escape(name, quote=False) in body
