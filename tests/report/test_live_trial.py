"""Failed live trials, each with its evidence."""

from __future__ import annotations

from pathlib import Path

import msgspec
from lived import WORDS, course, made_up, reward
from trialruns import trial_run

from turngap.data import Cause, Spoken, ToolCall, ToolMessage, UserMessage
from turngap.data.reward import Grade, Mismatch, Reward, Symptom, SymptomKind
from turngap.report.document import Failed, Section
from turngap.report.live_subject import live_subjects
from turngap.report.live_trial import trials
from turngap.runs.store import RunStore

_WRONG = Symptom(
    kind=SymptomKind.WRONG_ARGUMENT, event=3, detail="date is 3 May, not 2 May", evidence="agent: move_booking(...)"
)
_UNSAID = Symptom(kind=SymptomKind.FACT_NOT_SAID, event=4, detail="the user was never told 2031-05-02")


def _section(store: RunStore, most: int = 20) -> Section:
    section = trials(live_subjects([store]), most=most, transcripts=True)
    assert isinstance(section, Section)
    return section


def _one(tmp_path: Path, worth: Reward, cause: Cause = Cause.WRONG) -> Failed:
    with made_up(tmp_path / "run", {"a": [(worth, cause)]}) as store:
        return _section(store).failures[0].shown[0]


def _full() -> Reward:
    return Reward(
        value=0.0,
        components={
            "DB": Grade(value=0.0, counted=True, detail="wanted -> found: bookings[BK-1].date: ..."),
            "COMMUNICATE": Grade(value=0.0, counted=True, detail="not said: 2031-05-02"),
            "ACTION": Grade(value=0.0, counted=False, detail="not done: move_booking"),
        },
        mismatches=(
            Mismatch(record="bookings[BK-1]", field="date", wanted='"2031-05-02"', found='"2031-05-03"'),
            Mismatch(record="bookings[BK-9]", found='{"seats":1}'),
        ),
        mismatched=7,
        symptoms=(_WRONG, _UNSAID, msgspec.structs.replace(_UNSAID, kind=SymptomKind.LOOP)),
    )


def test_the_database_is_shown_record_by_record(tmp_path: Path) -> None:
    """Which record, which field, wanted and found; how many places there are; what should not be there at all."""
    failed = _one(tmp_path, _full())
    table = failed.tables[1]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["bookings[BK-1]", "date", '"2031-05-02"', '"2031-05-03"'],
        ["bookings[BK-9]", "the whole record", "nothing", '{"seats":1}'],
    ]
    assert "7 places, the first 2" in table.caption
    assert failed.reason == (
        "DB: 7 places differ, in bookings[BK-1], bookings[BK-9]; COMMUNICATE: not said: 2031-05-02"
    )
    assert failed.notes == ("not counted: ACTION: not done: move_booking",)


def test_symptoms_name_the_event_that_shows_them(tmp_path: Path) -> None:
    """In a table, and as marks in the whole trial, which is folded."""
    failed = _one(tmp_path, _full())
    assert (failed.conversation, failed.category) == ("task a, trial 0", "wrong_argument, fact_not_said +1")
    assert [cell.text for cell in failed.tables[0].rows[0]] == [
        "wrong_argument",
        "3",
        "date is 3 May, not 2 May",
        "agent: move_booking(...)",
    ]
    whole = failed.folds[-1]
    assert whole.title == "The whole trial: 6 events, 2 events marked"
    assert [(line.at, line.who) for line in whole.lines] == [
        ("0", "user"),
        ("1", "agent"),
        ("2", "user"),
        ("3", "call"),
        ("3", "result"),
        ("4", "agent"),
        ("5", "user"),
    ]
    assert {line.at: line.mark for line in whole.lines if line.good is False} == {
        "3": "wrong_argument",
        "4": "fact_not_said, loop",
    }
    assert [line.text for line in whole.lines[:3]] == list(WORDS[:3])


def test_what_was_wanted_is_folded_beside_it(tmp_path: Path) -> None:
    """The user's situation with the facts to be told, and the reference."""
    wants, reference, _ = _one(tmp_path, _full()).folds
    assert [(line.mark, line.text) for line in wants.lines] == [
        ("reason for the call", "You want to move BK-1."),
        ("has to say", "2031-05-02"),
    ]
    assert reference.title == "What the reference does: 1 call"
    assert reference.lines[0].label == "move_booking"


def test_a_reward_without_places_says_what_it_has(tmp_path: Path) -> None:
    """Graded before places were kept: the words of the component, and no table; without symptoms that is said."""
    failed = _one(tmp_path, reward(0.0))
    assert failed.reason == "DB: bookings[BK-1].date differs"
    assert (failed.tables, failed.category) == ((), "no symptom")


def test_an_agent_that_came_to_no_end_says_how_it_ended(tmp_path: Path) -> None:
    """Every component holds, and the reward is 0 all the same."""
    limit = Symptom(kind=SymptomKind.STEP_LIMIT, event=4, detail="100 steps")
    cut = msgspec.structs.replace(reward(1.0), value=0.0, symptoms=(limit,))
    failed = _one(tmp_path, cut)
    assert failed.reason == "ended by user_stop"
    assert failed.place == "reward 0, ended by user_stop, 3 messages of the agent, 0.0 s"


def test_what_users_do_with_own_tools_is_part_of_the_trial(tmp_path: Path) -> None:
    """Telecom: the phone in the user's hands."""
    acted = Spoken(
        message=UserMessage(content="It is off."),
        calls=(ToolCall(name="toggle_data", arguments={}),),
        results=(ToolMessage(name="toggle_data", content="off"),),
    )
    trajectory = msgspec.structs.replace(course(), events=(acted, *course().events[1:]))
    with made_up(tmp_path / "run", {"a": [(reward(0.0), Cause.WRONG)]}, trajectory=trajectory) as store:
        lines = _section(store).failures[0].shown[0].folds[-1].lines
    assert [(line.at, line.who, line.mark) for line in lines[:3]] == [
        ("0", "call", "by the user"),
        ("0", "result", ""),
        ("0", "user", ""),
    ]


def test_different_tasks_are_shown_first(tmp_path: Path) -> None:
    """Of four failed trials of each of three tasks, five shown are of all three; they stand in the order of tasks."""
    lost = (reward(0.0), Cause.WRONG)
    with made_up(tmp_path / "run", {name: [lost] * 4 for name in ("b", "a", "c")}) as store:
        (group,) = _section(store, most=5).failures
        none = _section(store, most=0).failures[0]
    assert [failed.conversation for failed in group.shown] == [
        "task b, trial 0",
        "task b, trial 1",
        "task a, trial 0",
        "task a, trial 1",
        "task c, trial 0",
    ]
    assert (group.total, group.noun, none.shown, none.total) == (12, "failed", (), 12)


def test_usr_10_what_the_user_spoiled_stands_apart(tmp_path: Path) -> None:
    """USR-10: under a heading of its own, with what the user did; a trial that could not be measured has no evidence."""
    with made_up(
        tmp_path / "run",
        {"a": [(reward(0.0), Cause.WRONG), (reward(1.0), Cause.USER), (reward(0.0), Cause.ENDPOINT)]},
    ) as store:
        failed, spoiled = _section(store).failures
    assert (failed.run, failed.total) == ("openai/pelican", 1)
    assert (spoiled.run, spoiled.noun) == ("openai/pelican: spoiled by the user", "spoiled by the user")
    assert spoiled.shown[0].reason == "repeats_itself in turn 2: SAID AGAIN"


def test_where_there_is_nothing_to_show_it_is_said(tmp_path: Path) -> None:
    """No failure; or transcripts that are not wanted."""
    with trial_run(tmp_path / "run", {"a": [1.0]}) as store:
        found = live_subjects([store])
        assert trials(found, most=20, transcripts=True) == "Failed trials: none."
        assert "--no-transcripts" in str(trials(found, most=20, transcripts=False))
