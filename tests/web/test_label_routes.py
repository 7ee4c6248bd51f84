"""The desk at which people label verdicts, and the addresses of what they said, asked without a server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turngap.analysis.calibration import draw
from turngap.runs.store import RunStore
from turngap.web import guarding
from turngap.web.caller import Answered, Caller
from turngap.web.guarding import CSRF
from turngap.web.shelf import Shelf

app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
_RULES = guarding.local()


@pytest.fixture
def run(runs_folder: Path, tmp_path: Path) -> Path:
    """A copy of the run `weak`, to write beside."""
    return Path(shutil.copytree(runs_folder / "weak", tmp_path / "run"))


@pytest.fixture
def asking(run: Path, runs_folder: Path) -> Iterator[Caller]:
    """`r1` is that copy, `r2` holds live trials."""
    with Caller(app.create(Shelf.open([run, runs_folder / "boats"]), _RULES)) as caller:
        yield caller


def _post(caller: Caller, value: Any, run: str = "r1") -> Answered:
    sent = [("origin", "http://127.0.0.1"), (CSRF, _RULES.page_key), ("content-type", "application/json")]
    return caller.ask("POST", f"/api/r/{run}/notes", sent, json.dumps(value).encode())


def _first(caller: Caller) -> dict[str, Any]:
    """What the page sends about the unit it shows."""
    page = caller.get("/r/r1/label?n=10").text
    said = dict(re.findall(r'data-(protocol|judge|conversation|decision)="([^"]*)"', page))
    return {**said, "decision": int(said["decision"]), "label": "no", "blind": True}


def test_the_desk_shows_the_drawn_sample_blind(asking: Caller, run: Path) -> None:
    """The units of `turngap judge sample`, in its order, and nothing of what the judge said."""
    with RunStore.open(run) as store:
        drawn = draw(store, protocol="turn", judge="rules", n=10, seed=3)
    for at, item in enumerate(drawn, start=1):
        page = asking.get(f"/r/r1/label?n=10&seed=3&at={at}").text
        assert f'data-conversation="{item.conversation.id}"' in page
        assert item.decision is not None and f'data-decision="{item.decision.index}"' in page
        assert "approved" not in page and (not item.verdict.rationale or item.verdict.rationale not in page)
    assert "0 of 10 labelled" in page


def test_labels_are_kept_and_the_next_unit_comes(asking: Caller, run: Path) -> None:
    """After each label the page shows the next unit without one; the answer gives the verdict away to nobody."""
    seen = []
    for count in range(10):
        marking = _first(asking)
        seen.append((marking["conversation"], marking["decision"]))
        answered = _post(asking, marking)
        assert answered.status == 200
        assert "approved" not in answered.text and '"said"' not in answered.text
        assert f"{count + 1} of 10 labelled" in asking.get("/r/r1/label?n=10").text
    assert len(set(seen)) == 10
    assert len((run / "annotations.jsonl").read_text().splitlines()) == 10
    results = asking.get("/r/r1/label?n=10&results=true").text
    assert "10 labels, 0 of them unclear" in results and "turn.success.tool" in results
    sheet = asking.get("/r/r1/labels.csv?protocol=turn&judge=rules&blind=true")
    assert sheet.header("content-type").startswith("text/csv") and sheet.text.count(",no,") >= 10


def test_statements_about_one_conversation(asking: Caller) -> None:
    """What was said about it, and how often judge and people agree in the whole run."""
    marking = {**_first(asking), "label": "wrong", "blind": False, "comment": "<b>why</b>"}
    assert json.loads(_post(asking, marking).body)["counts"] == [
        {"protocol": "turn", "judge": "rules", "right": 0, "wrong": 1, "unclear": 0, "blind": 0}
    ]
    found = json.loads(asking.get(f"/api/r/r1/notes?id={marking['conversation']}").body)
    (note,) = found["notes"]
    assert (note["said"], note["comment"], note["decision"]) == ("wrong", "<b>why</b>", marking["decision"])
    assert json.loads(asking.get("/api/r/r1/notes?id=nothing").body)["notes"] == []


@pytest.mark.parametrize(
    "changed", [{"label": "maybe"}, {"more": 1}, {"comment": "x" * 4001}, {"decision": "one"}, {"conversation": None}]
)
def test_what_is_no_statement_is_refused(asking: Caller, run: Path, changed: dict[str, Any]) -> None:
    """400 with one line; nothing is written."""
    answered = _post(asking, {**_first(asking), **changed})
    assert answered.status == 400 and json.loads(answered.body)["error"]
    assert not (run / "annotations.jsonl").exists()


def test_runs_without_verdicts_are_told_so(asking: Caller) -> None:
    """Live trials have none; neither has a judge that nobody knows, nor is there a sheet before there are labels."""
    assert asking.get("/r/r2/label").status == 404
    assert asking.get("/r/r9/label").status == 404
    assert asking.get("/r/r1/label?protocol=text").status == 400
    assert asking.get("/r/r1/label?n=0").status == 400
    assert asking.get("/r/r1/label?n=many").status == 400
    assert asking.get("/r/r1/labels.csv?judge=rules").status == 404
    assert _post(asking, _first(asking) | {"judge": "nobody"}).status == 400
    assert _post(asking, {}, run="r9").status == 405


def test_posting_needs_a_page_of_ours(asking: Caller, run: Path) -> None:
    """The guard knows the address as one that writes, and what it asks for there."""
    body = json.dumps(_first(asking)).encode()
    assert asking.ask("POST", "/api/r/r1/notes", [], body).status == 403
    assert asking.ask("POST", "/r/r1/label", [], body).status == 405
    assert not (run / "annotations.jsonl").exists()
