"""Data into a run: stored once, then compared by id and content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turngap.config import EvalConfig
from turngap.data import AssistantMessage, Conversation, Source, UserMessage
from turngap.errors import ConfigError, DataError
from turngap.runs.intake import content_digest
from turngap.runs.store import RunStore


@pytest.fixture
def resume(tmp_path: Path, config: EvalConfig, conversations: list[Conversation]) -> Callable[..., int]:
    """A stored run, and a way to resume it with other data."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_conversations(conversations)

    def again(data: list[Conversation], changed: EvalConfig = config) -> int:
        with RunStore.create(tmp_path / "run", changed) as store:
            return store.add_conversations(data)

    return again


def test_same_data(resume: Callable[..., int], conversations: list[Conversation]) -> None:
    """The same data again are no news."""
    assert resume(conversations) == 10
    assert resume(conversations) == 10


def test_reordered_lines_are_harmless(
    resume: Callable[..., int], conversations: list[Conversation], tmp_path: Path
) -> None:
    """RUN-02: other order, other lines, another file name: the same data, in the order of the first reading."""
    moved = [
        msgspec.structs.replace(each, source=Source(file="renamed.jsonl", line=99 - number))
        for number, each in enumerate(reversed(conversations))
    ]
    assert resume(moved) == 10
    with RunStore.open(tmp_path / "run") as store:
        assert store.conversation_ids() == [each.id for each in conversations]


def test_one_character_of_the_policy(resume: Callable[..., int], conversations: list[Conversation]) -> None:
    """RUN-02: one edited character is refused, naming the conversation and the ways out."""
    conversations[3] = msgspec.structs.replace(conversations[3], policy="Be kind!")
    with pytest.raises(ConfigError, match=r"conversation 'c3' has changed.*-o") as caught:
        resume(conversations)
    assert "\n" not in str(caught.value)


def test_unknown_conversation(resume: Callable[..., int], conversations: list[Conversation]) -> None:
    """RUN-02: a conversation that the run does not have is refused."""
    new = msgspec.structs.replace(conversations[0], id="heron")
    with pytest.raises(ConfigError, match="conversation 'heron' is not among those of the run"):
        resume([*conversations, new])


def test_missing_conversations_name_the_setting(
    resume: Callable[..., int], conversations: list[Conversation], config: EvalConfig
) -> None:
    """RUN-02: another --limit shows up as missing conversations, and the message says so."""
    limited = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, limit=4))
    with pytest.raises(
        ConfigError,
        match=r"6 conversation\(s\) of the run are missing: 'c4', 'c5', 'c6', \.\.\. \(data\.limit: 4 asked",
    ):
        resume(conversations[:4], limited)


def test_refused_data_leave_the_run_as_it_was(
    resume: Callable[..., int], conversations: list[Conversation], config: EvalConfig, tmp_path: Path
) -> None:
    """RUN-02: a refused resume changes neither the stored data nor the stored settings."""
    other = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, limit=1), protocols=("text",))
    with pytest.raises(ConfigError):
        resume(conversations[:1], other)
    with RunStore.open(tmp_path / "run") as store:
        assert store.config == config
        assert list(store.conversations()) == conversations
    assert resume(conversations) == 10


def test_interrupted_reading_stores_nothing(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation]
) -> None:
    """Data that break off half way leave an empty run, which then takes the whole."""

    def broken() -> Iterator[Conversation]:
        yield from conversations[:5]
        raise DataError("not JSON", file="logs.jsonl", line=6)

    with RunStore.create(tmp_path / "run", config) as store:
        with pytest.raises(DataError, match=r"logs\.jsonl:6"):
            store.add_conversations(broken())
        assert store.conversation_ids() == []
        assert store.add_conversations(conversations) == 10
        assert store.conversation_ids() == [each.id for each in conversations]


def test_two_conversations_of_one_id(tmp_path: Path, config: EvalConfig, conversations: list[Conversation]) -> None:
    """The same conversation twice is one; two different ones of one id are refused with their place."""
    twice = [*conversations, conversations[0]]
    clash = msgspec.structs.replace(conversations[0], policy="x", source=Source(file="logs.jsonl", line=11))
    with RunStore.create(tmp_path / "run", config) as store:
        with pytest.raises(DataError, match=r"logs\.jsonl:11: two different conversations have the id 'c0'"):
            store.add_conversations([*conversations, clash])
        assert store.add_conversations(twice) == 10
        assert store.add_conversations(twice) == 10


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), min_size=1, max_size=4), order=st.randoms(use_true_random=False))
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, config: EvalConfig, texts: list[str], order: object
) -> None:
    """Conversations of any text come back equal, and any order of them is the same data."""
    data = [
        Conversation(id=f"{number}-{text}", messages=(UserMessage(content=text), AssistantMessage(content=text[::-1])))
        for number, text in enumerate(texts)
    ]
    with RunStore.create(tmp_path_factory.mktemp("any") / "run", config) as store:
        store.add_conversations(data)
        assert list(store.conversations()) == data
        order.shuffle(data)  # type: ignore[attr-defined]
        assert store.add_conversations(data) == len(data)


def test_digest_covers_everything_but_the_place(boat_conversation: Conversation) -> None:
    """Each field of a conversation except its source moves the digest."""
    base = content_digest(boat_conversation)
    changes = {
        "id": "x",
        "policy": "x",
        "tools": (),
        "messages": boat_conversation.messages[:-1],
        "goal": "x",
        "reward": 0.5,
        "compare_args": {"hand_over": ()},
        "metadata": {"a": 1},
        "start": 1,
    }
    assert set(changes) == set(Conversation.__struct_fields__) - {"source"}
    for field, value in changes.items():
        assert content_digest(msgspec.structs.replace(boat_conversation, **{field: value})) != base, field
    assert content_digest(msgspec.structs.replace(boat_conversation, source=Source(file="a", line=3))) == base
