"""What the index keeps of a unit: its words, on both sides, and its tools."""

from __future__ import annotations

from pathlib import Path

import msgspec
import scored

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Conversation,
    Prediction,
    Spoken,
    Task,
    ToolCall,
    ToolMessage,
    Trajectory,
    Usage,
    UserMessage,
)
from turngap.data.reward import Reward
from turngap.data.task import Instructions
from turngap.web.entry import WHOLE, Entry, of_conversation, of_trial


def entry_of(tmp_path: Path, conversation: Conversation, prediction: Prediction, replay: Trajectory) -> Entry:
    """The entry of one conversation of a run."""
    with scored.run(tmp_path / "run", [conversation], {}) as store:
        store.put_prediction(conversation.id, 0, prediction)
        store.put_trajectory(conversation.id, replay)
        return of_conversation(store, conversation.id)


def test_all_words_of_both_sides_are_kept(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Texts, reasoning, names, argument leaves and results; malformed arguments as they were written."""
    broken = ToolCall(name="tow_boat", arguments=None, raw='{"where": "the reef"', error="cut off")
    prediction = Prediction(
        message=AssistantMessage(content="Let me see.", calls=(broken,), reasoning="they sound impatient")
    )
    nested = ToolCall(name="set_contact", arguments={"contact": {"name": "Zoë Quill", "tags": ["early", 7]}})
    replay = Trajectory(
        conversation="boat",
        events=(
            Spoken(message=UserMessage(content="Please move BK-1042 to 2 May.")),
            Acted(
                message=AssistantMessage(calls=(nested, nested)),
                results=(ToolMessage(content="recorded already"), ToolMessage(content="refused there")),
                verdicts=(
                    CallVerdict(accepted=True, decision=0),
                    CallVerdict(accepted=False, category=Category.WRONG_TOOL, attempt=1),
                ),
            ),
        ),
        steps=1,
        usage=Usage(prompt_tokens=30, completion_tokens=4),
        completed=True,
    )
    found = entry_of(tmp_path, boat_conversation, prediction, replay)
    for words in ("Please move BK-1042", "booking_id BK-1042", '"state": "open"', "Done, your booking"):
        assert words in found.recorded
    for words in ("Let me see.", "they sound impatient", "the reef", "contact.name Zoë Quill", "contact.tags 7"):
        assert words in found.own
    assert "refused there" in found.own
    assert "recorded already" not in found.own
    assert found.tools == ("get_booking", "move_booking", "tow_boat", "set_contact")
    assert (found.title, found.trial, found.length) == ("Please move BK-1042 to 2 May.", WHOLE, 4)
    assert (found.outcome, found.steps, found.tokens, found.first_error) == ("p", 1, 34, None)


def test_escapes_in_results_hide_no_word(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Results that are JSON with escapes are read; what only looks like JSON stays as it is."""
    messages = list(boat_conversation.messages)
    messages[2] = ToolMessage(content='{"name": "Jos\\u00e9", "note": "first\\nsecond"}')
    messages[6] = ToolMessage(content='{"open\\u00')
    conversation = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    found = entry_of(tmp_path, conversation, Prediction(message=AssistantMessage()), Trajectory(conversation="boat"))
    assert "name José note first\nsecond" in found.recorded
    assert '{"open\\u00' in found.recorded


def test_a_scenario_is_taken_from_metadata_where_it_is_a_name(tmp_path: Path) -> None:
    """Whatever else stands there is no scenario; a conversation without a user has no title."""
    for number, (value, wanted) in enumerate((("changing", "changing"), (["x"], ""), (None, ""))):
        conversation = Conversation(id="c", metadata={"scenario": value}, messages=(AssistantMessage(content="hi"),))
        with scored.run(tmp_path / str(number), [conversation], {}) as store:
            found = of_conversation(store, "c")
        assert (found.scenario, found.title, found.outcome) == (wanted, "", "-")


def test_titles_are_one_short_line(tmp_path: Path) -> None:
    """White space folds, and what is long is cut."""
    said = "Hello\n\tthere   " + "x" * 5000
    with scored.run(tmp_path / "run", [scored.conversation("c", "t", said=said)], {}) as store:
        title = of_conversation(store, "c").title
    assert title.startswith("Hello there xxx")
    assert len(title) == 200
    assert title.endswith("…")


def test_a_trial_holds_what_everybody_said_and_did() -> None:
    """Also what the user did with tools in hand; the task's words are the other side."""
    hand = ToolCall(name="toggle_radio", arguments={"on": True})
    result = Trajectory(
        conversation="t",
        events=(
            Spoken(
                message=UserMessage(content="My radio is dead."),
                calls=(hand,),
                results=(ToolMessage(content="still silent"),),
            ),
            Acted(message=AssistantMessage(content="Try the fuse.")),
        ),
        steps=1,
    )
    task = Task(id="t", purpose="a dead radio", instructions=Instructions(reason="You sail at dawn."))
    found = of_trial(task, 2, result, None)
    assert (found.outcome, found.title, found.scenario, found.trial) == ("-", "My radio is dead.", "general", 2)
    assert all(words in found.own for words in ("My radio is dead.", "on True", "still silent", "Try the fuse."))
    assert all(words in found.recorded for words in ("a dead radio", "You sail at dawn."))
    assert found.tools == ("toggle_radio",)
    assert of_trial(task, 2, result, Reward(value=1.0)).outcome == "p"
    assert of_trial(task, 2, result, Reward(value=0.5)).outcome == "f"
