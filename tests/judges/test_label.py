"""Naming causes: the list and its file, the request, and how replies are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, text

from turngap.config import JudgeConfig
from turngap.data import Acted, AssistantMessage, Category, Conversation, Problem, Spoken, Trajectory, UserMessage
from turngap.errors import DataError, JudgeError, UsageError
from turngap.judges.base import WorkflowCase
from turngap.judges.label import LABELS, LabelCase, build, read_labels
from turngap.judges.reply import Named, Unreadable, read_label
from turngap.models import ModelContext


def reply(label: str) -> Any:
    """A judge's reply that names a label."""
    return text(json.dumps({"label": label, "rationale": "It never looked."}))


def case(conversation: Conversation) -> LabelCase:
    """A replay in which the agent only talked."""
    events = (
        Spoken(message=UserMessage(content="Please move BK-1042.")),
        Acted(message=AssistantMessage(content="Done.")),
    )
    problem = Problem(category=Category.MISSING_CALL, decision=0, event=1)
    trajectory = Trajectory(conversation="boat", events=events, problems=(problem,))
    return LabelCase(workflow=WorkflowCase(conversation=conversation, trajectory=trajectory), problem=problem)


async def test_a_label_of_the_list_is_taken(
    chat_server: Callable[..., ChatServer], boat_conversation: Conversation
) -> None:
    """The reply becomes a verdict without success that carries the label; the request holds list, place and replay."""
    server = chat_server([reply("claimed_undone")])
    saved: list[dict[str, Any]] = []
    labeller = build("openai/j", JudgeConfig(base_url=server.url), LABELS, ModelContext(), saved.append)
    verdict = await labeller.name(case(boat_conversation))
    await labeller.aclose()
    assert (verdict.success, verdict.category, verdict.rationale) == (False, "claimed_undone", "It never looked.")
    prompt = saved[0]["messages"][1]["content"]
    assert LABELS["claimed_undone"] in prompt
    assert '"rule_broken":"missing_call"' in prompt
    assert saved[0]["protocol"] == "label"


async def test_a_label_outside_the_list_is_asked_for_again(
    chat_server: Callable[..., ChatServer], boat_conversation: Conversation
) -> None:
    """Once; then there is no label."""
    server = chat_server([reply("bad_luck"), reply("none")])
    labeller = build("openai/j", JudgeConfig(base_url=server.url), LABELS, ModelContext())
    verdict = await labeller.name(case(boat_conversation))
    assert (verdict.category, verdict.asks) == ("", 2)
    await labeller.aclose()
    server = chat_server([reply("bad_luck"), reply("bad_luck")])
    labeller = build("openai/j", JudgeConfig(base_url=server.url), LABELS, ModelContext())
    with pytest.raises(JudgeError, match="not in the list"):
        await labeller.name(case(boat_conversation))
    await labeller.aclose()


def test_the_identity_holds_the_labels() -> None:
    """Another list is another labeller, so stored labels of the old one are asked for again."""
    config = JudgeConfig(base_url="http://127.0.0.1:9/v1")
    one, other = (build("openai/j", config, labels, ModelContext()) for labels in (LABELS, {"only": "one"}))
    assert one.identity() != other.identity()


def test_rules_cannot_name_causes() -> None:
    """A judge without a model is refused with what to do."""
    with pytest.raises(UsageError, match="give a language model"):
        build("rules", JudgeConfig(), LABELS, ModelContext())


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ('{"label": "a", "rationale": "x  y"}', Named(label="a", rationale="x y")),
        ('Well:\n```json\n{"label": "none"}\n```', Named(label="", rationale="")),
        ('<think>{"label": "b"}</think>{"label": "a"}', Named(label="a", rationale="")),
        ('{"label": "c"}', Unreadable("its label is not in the list")),
        ('{"label": "a"} {"label": "b"}', Unreadable("it held labels that contradict each other")),
        ('{"label": "a"', Unreadable("its JSON object was not complete")),
        ("I think it is a.", Unreadable("it held no JSON object with a text label")),
        ("", Unreadable("it was empty")),
    ],
)
def test_reading_replies(said: str, read: Named | Unreadable) -> None:
    """Tolerant of wrapping, strict about the label."""
    assert read_label(said, ["a", "b"]) == read


def test_a_file_adds_replaces_and_drops(tmp_path: Path) -> None:
    """The user's labels are laid over the built-in ones."""
    file = tmp_path / "labels.toml"
    file.write_text('lost_thread = "forgot what was asked"\nwrong_plan = "other words"\ntool_trouble = ""\n')
    labels = read_labels(file)
    assert labels["lost_thread"] == "forgot what was asked"
    assert labels["wrong_plan"] == "other words"
    assert "tool_trouble" not in labels
    assert "misread_user" in labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lost = 3", "lost: a label is given as"),
        ('"Lost thread" = "x"', "lower-case word"),
        ('none = "x"', "not none"),
        ("lost = ", "not TOML"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    """One line with file and field."""
    file = tmp_path / "labels.toml"
    file.write_text(content)
    with pytest.raises(DataError, match=message) as error:
        read_labels(file)
    assert str(file) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is said to be so."""
    with pytest.raises(DataError, match="cannot be read"):
        read_labels(tmp_path / "none.toml")
