"""The page on one conversation: both sides, what differs, what every protocol says, and whatever content there is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sidebyside
from reports import HOSTILE
from sidebyside import BROKEN, GET, MOVE, OTHER_DAY, WRONG

from turngap.data import AssistantMessage, Cause, Conversation, Failure, ToolCall, ToolMessage, UserMessage, Verdict
from turngap.runs.store import RunStore
from turngap.web.conversation import Asked, Beside, View, view
from turngap.web.shelf import Unknown

GOLD = [GET, "Shall I?", OTHER_DAY, "Done."]
UNREACHABLE = Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts", kind="EndpointError")


def page(directory: Path, name: str = "boat", **asked: Any) -> View:
    """The page of a conversation of a run."""
    with RunStore.open(directory) as store:
        return view(store, Asked(id=name, **asked))


def row(found: View, number: int) -> Beside:
    """The row of a decision."""
    return next(one for one in found.rows() if one.number == number and not one.late)


def test_both_sides_and_what_differs(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A rejected call is marked leaf by leaf on its side, and where it differs on the recorded side."""
    own = {"boat": [GET, "Shall I?", OTHER_DAY, MOVE, "Done."]}
    found = page(sidebyside.run(tmp_path / "run", [boat_conversation], own, {"boat": GOLD}))
    moved = row(found, 2)
    assert (moved.word, moved.first, moved.slipped, moved.failed) == ("recovered", True, True, False)
    rejected, accepted = (message.calls[0] for message in moved.own)
    assert (rejected.standing, rejected.category, rejected.attempt) == ("rejected", "wrong arguments", 1)
    assert accepted.standing == "accepted"
    assert {leaf.path: (leaf.mark, leaf.wanted) for leaf in rejected.leaves if leaf.mark} == {
        "date": ("differs", '"2031-05-02"'),
        "gift": ("extra", ""),
        "seats": ("lacking", "2"),
    }
    assert moved.recorded is not None
    marked = {leaf.path for leaf in moved.recorded.calls[0].leaves if leaf.mark}
    assert marked == {"date", "seats"}
    assert accepted.result is not None
    assert accepted.result.text.body == '{"ok": true}'


def test_where_differing_values_had_been_heard(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A value that stands nowhere says so, and one that a tool returned says where; a long conversation asks first."""
    stale = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-04-30", "seats": 9})
    run = sidebyside.run(tmp_path / "run", [boat_conversation], {"boat": [GET, "Shall I?", stale, MOVE, "Done."]})
    heard = {leaf.path: leaf.heard for leaf in row(page(run), 2).own[0].calls[0].leaves}
    assert heard["date"].startswith("this value: in result of get_booking (event 1)")
    assert "nowhere" in heard["seats"]
    silent = page(run, evidence=False)
    assert not silent.evidence
    assert not any(leaf.heard for leaf in row(silent, 2).own[0].calls[0].leaves)


def test_every_protocol_and_every_judge(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Results by decision, the rationale and reply of the judge, and the answer on recorded history with its marks."""
    verdicts = {
        ("boat", 1): Verdict(success=True),
        ("boat", 2): Verdict(success=False, category="wrong_date", rationale="the third", raw='{"success": false}'),
    }
    run = sidebyside.run(
        tmp_path / "run", [boat_conversation], {"boat": [GET, "Shall I?", MOVE, "Done."]}, {"boat": GOLD}, verdicts
    )
    found = page(run)
    moved = row(found, 2)
    assert [(chip.protocol, chip.judge, chip.tone) for chip in moved.chips] == [
        ("turn", "kea", "bad"),
        ("strict", "", "bad"),
    ]
    assert moved.failing == ("turn", "strict")
    assert moved.opinions[0].rationale is not None
    assert moved.opinions[0].rationale.body == "the third"
    assert moved.opinions[0].raw is not None
    assert moved.gold is not None
    assert moved.gold.message is not None
    assert [leaf.mark for leaf in moved.gold.message.calls[0].leaves if leaf.mark] == ["differs", "extra", "lacking"]
    assert row(found, 1).failing == ()
    assert [(chip.protocol, chip.tone) for chip in found.outcome] == [("replay", "good")]


def test_an_unresolved_error_says_what_it_was(tmp_path: Path, boat_conversation: Conversation) -> None:
    """The error stands at its decision with what detectors found; what is behind it is told apart."""
    own = {"boat": [GET, "Shall I?", WRONG, WRONG, WRONG]}
    found = page(sidebyside.run(tmp_path / "run", [boat_conversation], own))
    trouble = row(found, 2).troubles[0]
    assert (trouble.category, trouble.first) == ("wrong tool", True)
    assert "unheeded error" in [name for name, _ in trouble.findings]
    assert [(one.number, one.behind, one.word) for one in found.rows()] == [
        (0, False, "right"),
        (1, False, "right"),
        (2, False, "wrong"),
        (3, True, "not reached"),
    ]


def test_without_a_replay_the_answer_on_recorded_history_stands_beside(
    tmp_path: Path, boat_conversation: Conversation
) -> None:
    """A run without replays, or whose replay could not be measured, still shows two sides."""
    only_gold = page(sidebyside.run(tmp_path / "a", [boat_conversation], {}, {"boat": GOLD}))
    assert only_gold.own == "gold"
    assert [one.own[0].brief for one in only_gold.rows()][1] == "Shall I?"
    marked = row(only_gold, 2).recorded
    assert marked is not None
    assert any(leaf.mark for leaf in marked.calls[0].leaves)
    errored = page(sidebyside.run(tmp_path / "b", [boat_conversation], {"boat": UNREACHABLE}, {"boat": GOLD}))
    assert errored.error == "endpoint: 503 after 5 attempts"
    failed_gold = page(sidebyside.run(tmp_path / "c", [boat_conversation], {}, {"boat": [UNREACHABLE]}))
    first = row(failed_gold, 0)
    assert first.gold is not None
    assert first.gold.error.startswith("endpoint")
    nothing = page(sidebyside.run(tmp_path / "d", [boat_conversation], {}))
    assert nothing.own == "none"


def test_an_unknown_conversation(tmp_path: Path, boat_conversation: Conversation) -> None:
    """An id that the run does not have is said to be unknown, whatever it looks like."""
    run = sidebyside.run(tmp_path / "run", [boat_conversation], {})
    for name in ("", "../run.json", "x" * 10_000, "a\x00b"):
        with pytest.raises(Unknown):
            page(run, name)


def test_view_04_malformed_content(tmp_path: Path, boat_conversation: Conversation) -> None:
    """VIEW-04: unreadable arguments, empty answers and results, one line of 200 KB, surrogates: all is on the page."""
    odd = Conversation(
        id="odd",
        tools=boat_conversation.tools,
        messages=(
            UserMessage(content=""),
            AssistantMessage(calls=(BROKEN, GET)),
            ToolMessage(content="", name=""),
            ToolMessage(content="y" * 200_000, name="get_booking", error=True),
            AssistantMessage(content=""),
            UserMessage(content="".join(HOSTILE)),
            AssistantMessage(content="ok"),
        ),
    )
    nameless = AssistantMessage(calls=(ToolCall(name="", arguments=None, raw="\ufffd"), *[BROKEN] * 500))
    run = sidebyside.run(tmp_path / "run", [odd], {"odd": [nameless, "", "x"]}, {"odd": [nameless, ""]})
    found = page(run, "odd")
    assert found.rounds
    assert any(key.startswith("d0.x1") for key in found.whole)
    assert len(row(found, 0).own[0].calls) == 501
    assert row(found, 0).own[0].calls[4].standing == "ignored"


def test_a_long_conversation_is_quick(tmp_path: Path) -> None:
    """200 decisions, ten of them with 1 MB messages on both sides: the page is made in well under a second."""
    long = sidebyside.long(200, 1_000_000)
    answers = [
        msgspec.structs.replace(one, content=f"{one.content} indeed") if not one.calls else one
        for one in sidebyside.recorded(long)
    ]
    run = sidebyside.run(tmp_path / "run", [long], {"long": answers}, {"long": answers})
    with RunStore.open(run) as store:
        began = time.process_time()
        found = view(store, Asked(id="long"))
        seconds = time.process_time() - began
    assert len(list(found.rows())) == 200
    assert not found.evidence
    assert found.whole
    assert seconds < 1.0  # about 0.1 s
