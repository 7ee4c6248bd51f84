"""Addresses of the pages on one conversation: what they show, refuse, carry on, and how long they take."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
import reports
import sidebyside
import viewing
from reports import HOSTILE
from sidebyside import BROKEN, GET, MOVE, WRONG

from turngap.data import Acted, AssistantMessage, Category, Conversation, Problem, Trajectory
from turngap.runs.store import RunStore
from turngap.web.caller import Answered, Caller
from turngap.web.shelf import Shelf

app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")


def asking(*runs: Path) -> Caller:
    """Asks an application that shows some runs."""
    return Caller(app.create(Shelf.open(runs), viewing.guarding.local()))


def shown(answer: Answered) -> str:
    """The text of a page without its markup."""
    assert answer.status == 200, answer.text
    return unescape(re.sub(r"<[^>]*>", " ", answer.text))


def of(page: str, **query: Any) -> str:
    """An address in the first run."""
    return f"/r/r1/{page}?{urlencode(query)}"


@pytest.fixture
def boat(tmp_path: Path, boat_conversation: Conversation) -> Iterator[Caller]:
    """Asks about a run of one conversation, whose replay fails at decision 2."""
    own = {"boat": [GET, "Shall I?", WRONG, WRONG, WRONG]}
    gold = {"boat": [GET, "Shall I?", MOVE, "Done."]}
    with asking(sidebyside.run(tmp_path / "run", [boat_conversation], own, gold)) as caller:
        yield caller


def test_a_conversation_is_whole_without_scripts(boat: Caller) -> None:
    """Both sides, states, the error and the way on are in the page itself."""
    text = shown(boat.get(of("c", id="boat")))
    for part in ("Please move BK-1042", "Decision 3", "not reached", "This failed the workflow", "attempt 3"):
        assert part in text
    assert "first divergence" in text
    assert 'id="d2"' in boat.get(of("c", id="boat")).text


def test_the_walk_with_and_without_repair(boat: Caller) -> None:
    """The switch is a link; on shows answers on recorded history, off the replay with its first divergence."""
    on, off = (boat.get(of("walk", id="boat", repair=state)) for state in ("on", "off"))
    assert "First divergence." in shown(off)
    assert "First divergence." not in shown(on)
    assert "never asked" in shown(off)
    assert re.search(r'id="repair-off" aria-current', off.text)
    assert "repair=off" in on.text
    assert boat.get(of("walk", id="boat")).text.count("data-chosen") == 1
    assert boat.get(of("walk", id="boat", repair="maybe")).status == 400


def test_what_is_not_there(boat: Caller) -> None:
    """Unknown conversations, runs, texts and fields that make no sense are answered with one line."""
    for address, status in (
        (of("c"), 400),
        (of("c", id="nobody"), 404),
        (of("c", id="../../etc/passwd"), 404),
        (of("walk", id="nobody"), 404),
        (of("text", id="boat", at="e1.raw"), 404),
        (of("text", id="boat", at="../run.json"), 404),
        (of("c", id="boat", decision="x"), 400),
        ("/r/r9/c?id=boat", 404),
    ):
        assert boat.get(address).status == status, address
    assert boat.get(of("c", id="boat", decision=99)).status == 200


def test_links_carry_the_list_on(caller: Caller) -> None:
    """Previous and next follow the list that the page was opened from, and every link keeps its filters."""
    fields = {"protocol": "replay", "result": "failed", "sort": "-length"}
    listed: list[str] = []
    deadline = time.monotonic() + 30
    while len(listed) < 3 and time.monotonic() < deadline:  # the index is being made
        page = caller.get(f"/r/r1?{urlencode(fields)}").text
        listed = [unescape(found) for found in re.findall(r'href="(/r/r1/c\?[^"]+)"', page)]
    assert len(listed) > 2
    page = caller.get(listed[1]).text
    after = re.search(r'rel="next" href="([^"]+)"', page)
    before = re.search(r'rel="prev" href="([^"]+)"', page)
    assert after is not None
    assert before is not None
    assert unescape(after[1]).partition("?")[2].split("&")[0] == listed[2].partition("?")[2].split("&")[0]
    assert unescape(before[1]).partition("?")[2].split("&")[0] == listed[0].partition("?")[2].split("&")[0]
    assert "sort=-length" in unescape(after[1])
    walk = re.search(r'id="to-walk" href="([^"]+)"', page)
    assert walk is not None
    assert "sort=-length" in unescape(walk[1])
    assert "protocol=replay" in unescape(walk[1])


def test_trials_have_their_page(caller: Caller) -> None:
    """A rollout's unit is a trial; it has no walk, since nothing was recorded."""
    text = shown(caller.get("/r/r3/c?id=move-1&trial=1"))
    assert "Task move-1, trial 1" in text
    assert "reward" in text
    assert caller.get("/r/r3/walk?id=move-1").status == 404
    assert caller.get("/r/r3/c?id=move-1&trial=99").status == 404


def test_view_01_texts_stand_byte_for_byte(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """VIEW-01, SEC-07: markup, scripts, links and templates in messages, ids, keys and results are text."""
    run = reports.hostile_run(tmp_path, boat_record)
    with RunStore.open(run) as store:
        names = store.conversation_ids()
    with asking(run) as caller:
        for name, text in zip(names, HOSTILE, strict=True):
            for page in ("c", "walk"):
                answer = caller.get(of(page, id=name))
                assert answer.status == 200
                assert text in unescape(answer.text)
                assert re.findall(r"<script(?! src=)|<img|<svg|<b>|javascript:alert\(1\)\"", answer.text) == []


def test_the_rest_of_a_long_text(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """VIEW-04: of 200 KB in one line the first part stands on the page, and its link gives all of it, as mere text."""
    run = reports.hostile_run(tmp_path, boat_record)
    with RunStore.open(run) as store:
        name = store.conversation_ids()[0]
    with asking(run) as caller:
        page = caller.get(of("c", id=name)).text
        links = [unescape(found) for found in re.findall(r'class="rest" href="([^"]+)"', page)]
        assert links
        answer = caller.get(links[0])
        assert answer.header("content-type") == "text/plain; charset=utf-8"
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.text.startswith(HOSTILE[0])
        assert len(answer.text) > 200_000
        assert len(page) < 400_000


@pytest.mark.parametrize("category", list(Category))
def test_view_04_every_failure_category_has_its_page(
    tmp_path: Path, boat_conversation: Conversation, category: Category
) -> None:
    """VIEW-04: whatever a replay failed of, both pages open, with whatever nonsense the trajectory holds."""
    run = sidebyside.run(tmp_path / "run", [boat_conversation], {"boat": [GET, "x", MOVE, "y"]})
    with RunStore.open(run) as store:
        sound = store.trajectory("boat")
    assert isinstance(sound, Trajectory)
    # The message of another program: fewer verdicts and results than calls.
    acted = Acted(message=AssistantMessage(calls=(BROKEN, GET)), raw="\x00", decision=77)
    trajectories = [
        msgspec.structs.replace(sound, completed=False, problems=(Problem(category=category, decision=2, event=0),)),
        msgspec.structs.replace(sound, problems=(Problem(category=category, decision=77, event=3, detail="\x00"),)),
        Trajectory(
            conversation="boat", events=(acted,), problems=(Problem(category=category, decision=None, event=99),)
        ),
    ]
    with asking(run) as caller:
        for trajectory in trajectories:
            with RunStore.open(run, write=True) as store:
                store.put_trajectory("boat", trajectory)
            assert category.value.replace("_", " ") in shown(caller.get(of("c", id="boat")))
            assert caller.get(of("walk", id="boat", repair="off")).status == 200


def test_a_long_conversation_opens_quickly(tmp_path: Path) -> None:
    """200 decisions with 1 MB messages: a whole page takes less than a second of this machine's time."""
    long = sidebyside.long(200, 1_000_000)
    answers = sidebyside.recorded(long)
    with asking(sidebyside.run(tmp_path / "run", [long], {"long": answers}, {"long": answers})) as caller:
        for page in ("c", "walk"):
            began = time.process_time()  # whatever else runs meanwhile
            answer = caller.get(of(page, id="long"))
            assert answer.status == 200
            assert time.process_time() - began < 1.5  # 0.6 s, most of it for templates and the index: once
            assert len(answer.body) < 2_000_000
