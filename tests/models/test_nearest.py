"""The retrieval baseline as a whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from turngap import samples
from turngap.config import DataConfig, MatchConfig, ModelConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    decisions,
)
from turngap.errors import DataError, UsageError
from turngap.formats import read
from turngap.metrics.matching import Matcher
from turngap.models import ModelContext, Request, Seat, build
from turngap.models.nearest import Nearest

_SPEC = ModelConfig(spec="baseline/nearest")


@pytest.fixture(scope="module")
def packaged() -> list[Conversation]:
    """The packaged sample conversations."""
    return list(read(DataConfig(paths=(str(samples.path()),))))


def _answers(model: Nearest, conversations: Iterable[Conversation]) -> list[AssistantMessage]:
    """The model's answers on gold history, decision by decision."""

    async def run() -> list[AssistantMessage]:
        return [
            (
                await model.act(
                    Request(
                        policy=conversation.policy,
                        tools=conversation.tools,
                        messages=conversation.messages[: decision.position],
                        seat=Seat(conversation=conversation.id, protocol="gold", decision=decision.index),
                    )
                )
            ).message
            for conversation in conversations
            for decision in decisions(conversation)
        ]

    return asyncio.run(run())


def _ask(model: Nearest, *messages: Message, tools: tuple[ToolSpec, ...] = (), name: str = "new") -> AssistantMessage:
    seat = Seat(conversation=name, protocol="gold", decision=0)
    return asyncio.run(model.act(Request(policy="", tools=tools, messages=messages, seat=seat))).message


def _calls(*calls: tuple[str, dict[str, object]]) -> AssistantMessage:
    return AssistantMessage(calls=tuple(ToolCall(name=name, arguments=dict(arguments)) for name, arguments in calls))


def _booking(name: str, booking: str, email: str, reason: str = "plans") -> Conversation:
    """A small conversation about one booking."""
    return Conversation(
        id=name,
        messages=(
            UserMessage(content=f"Please cancel my booking, I am {email}."),
            _calls(("find_customer", {"email": email})),
            ToolMessage(name="find_customer", content=f'{{"email": "{email}", "bookings": ["{booking}"]}}'),
            _calls(("cancel_booking", {"booking_id": booking, "reason": reason})),
            ToolMessage(name="cancel_booking", content='{"ok": true}'),
            AssistantMessage(content=f"Booking {booking} is cancelled."),
        ),
    )


def test_the_scored_conversation_is_never_looked_at(packaged: list[Conversation]) -> None:
    """Answers are the same whether the scored conversation, or a copy of it, is in the corpus or was never there."""
    scored = packaged[:6]
    copies = [msgspec.structs.replace(conversation, id=f"copy-{conversation.id}") for conversation in scored]
    for conversation, copy in zip(scored, copies, strict=True):
        others = [other for other in packaged if other.id != conversation.id]
        alone = _answers(Nearest(lambda others=others: others), [conversation])
        within = _answers(Nearest(lambda copy=copy: [*packaged, copy]), [conversation])
        assert within == alone


def test_a_copy_in_a_training_file_is_left_out(packaged: list[Conversation]) -> None:
    """A training file that holds the scored conversation under another id gives nothing away."""
    conversation = packaged[0]
    others = packaged[1:20]
    copy = msgspec.structs.replace(conversation, id="another-id")
    clean = Nearest(lambda: others, scored=lambda: packaged)
    leaky = Nearest(lambda: [copy, *others], scored=lambda: packaged)
    assert _answers(leaky, [conversation]) == _answers(clean, [conversation])


def test_the_order_of_the_corpus_does_not_matter(packaged: list[Conversation]) -> None:
    """Ties are broken by id, so a shuffled file gives the same answers."""
    forward, backward = Nearest(lambda: packaged[:20]), Nearest(lambda: packaged[19::-1])
    assert _answers(forward, packaged[20:24]) == _answers(backward, packaged[20:24])


def test_on_the_samples_it_beats_the_most_frequent_tool_by_far(packaged: list[Conversation]) -> None:
    """Two thirds of the sample tool decisions are met exactly; naming the most frequent tool names one in three."""
    answers = iter(_answers(Nearest(lambda: packaged), packaged))
    exact = names = tool_decisions = 0
    for conversation in packaged:
        matcher = Matcher(conversation.tools, MatchConfig())
        for decision in decisions(conversation):
            answer = next(answers)
            if decision.reference.calls:
                tool_decisions += 1
                exact += matcher.exact(answer.calls, decision.reference.calls)
                names += matcher.names(answer.calls, decision.reference.calls)
    assert names / tool_decisions > 0.7
    assert exact / tool_decisions > 0.6


def test_slots_are_filled_from_the_current_history() -> None:
    """The action comes from training, its values from the customer's words and the tools' results of this history."""
    model = Nearest(lambda: [_booking("a", "BK-1042", "ann@example.com"), _booking("b", "BK-7731", "bo@example.org")])
    opening = UserMessage(content="Please cancel my booking, I am cy@example.net.")
    found = _ask(model, opening)
    assert found == _calls(("find_customer", {"email": "cy@example.net"}))
    result = ToolMessage(name="find_customer", content='{"email": "cy@example.net", "bookings": ["BK-9999"]}')
    cancelled = _ask(model, opening, found, result)
    assert cancelled == _calls(("cancel_booking", {"booking_id": "BK-9999", "reason": "plans"}))
    done = _ask(model, opening, found, result, cancelled, ToolMessage(name="cancel_booking", content='{"ok": true}'))
    assert done == AssistantMessage(content="Booking BK-9999 is cancelled.")


def test_only_tools_of_the_conversation_are_called() -> None:
    """An action with a tool that the current conversation lacks is passed over."""
    model = Nearest(lambda: [_booking("a", "BK-1042", "ann@example.com")])
    opening = UserMessage(content="Please cancel my booking, I am cy@example.net.")
    answer = _ask(model, opening, tools=(ToolSpec(name="list_slots"),))
    assert not answer.calls


def test_a_value_that_the_enum_lacks_is_not_used() -> None:
    """The schema's enum limits what a slot takes: the neighbours' other value is used."""
    parameters = {"type": "object", "properties": {"reason": {"enum": ["storm"]}, "booking_id": {"type": "string"}}}
    tools = (ToolSpec(name="find_customer"), ToolSpec(name="cancel_booking", parameters=parameters))
    training = [
        _booking("a", "BK-1042", "ann@example.com"),
        _booking("b", "BK-7731", "bo@example.org"),
        _booking("c", "BK-5544", "di@example.org", reason="storm"),
    ]
    history = (
        UserMessage(content="Please cancel my booking, I am cy@example.net."),
        _calls(("find_customer", {"email": "cy@example.net"})),
        ToolMessage(name="find_customer", content='{"email": "cy@example.net", "bookings": ["BK-9999"]}'),
    )
    answer = _ask(Nearest(lambda: training), *history, tools=tools)
    assert answer == _calls(("cancel_booking", {"booking_id": "BK-9999", "reason": "storm"}))


def test_a_call_that_was_made_is_not_made_again() -> None:
    """Where the first choice was called before, the next element of the list is taken."""

    def two(name: str, first: str, second: str) -> Conversation:
        listing = f'{{"bookings": ["{first}", "{second}"]}}'
        return Conversation(
            id=name,
            messages=(
                UserMessage(content="What have I booked?"),
                _calls(("list_bookings", {})),
                ToolMessage(name="list_bookings", content=listing),
                _calls(("get_booking", {"booking_id": first})),
                ToolMessage(name="get_booking", content='{"state": "open"}'),
                _calls(("get_booking", {"booking_id": second})),
                ToolMessage(name="get_booking", content='{"state": "open"}'),
                AssistantMessage(content="Both are open."),
            ),
        )

    model = Nearest(lambda: [two("a", "BK-1", "BK-2"), two("b", "BK-3", "BK-4")])
    scored = two("c", "BK-5", "BK-6")
    assert _answers(model, [scored]) == [decision.reference for decision in decisions(scored)]


def test_an_empty_corpus_gives_an_empty_answer() -> None:
    """With nothing to learn from, as with a single conversation, the answer is empty: the model's own failure."""
    assert _ask(Nearest(list), UserMessage(content="Hello")) == AssistantMessage()
    only = _booking("a", "BK-1042", "ann@example.com")
    assert _ask(Nearest(lambda: [only]), only.messages[0], name="a") == AssistantMessage()


def test_it_learns_from_a_training_file(tmp_path: Path) -> None:
    """`?train=FILE` reads the file with the loader of the context, at the first request."""
    file = tmp_path / "train.jsonl"
    file.write_text("{}")
    loaded: list[Path] = []

    def load(path: Path) -> list[Conversation]:
        loaded.append(path)
        return [_booking("a", "BK-1042", "ann@example.com")]

    config = ModelConfig(spec=f"baseline/nearest?train={file}")
    model = build(config, ModelContext(load=load))
    assert loaded == []
    assert isinstance(model, Nearest)
    answer = _ask(model, UserMessage(content="Please cancel my booking, I am cy@example.net."))
    assert answer == _calls(("find_customer", {"email": "cy@example.net"}))
    assert loaded == [file]
    identity = model.identity()
    file.write_text('{"other": 1}')
    assert build(config, ModelContext(load=load)).identity() != identity


def test_it_learns_from_the_corpus_of_the_context(packaged: list[Conversation]) -> None:
    """Without a training file the conversations being scored are the corpus."""
    model = build(_SPEC, ModelContext(corpus=lambda: packaged))
    assert isinstance(model, Nearest)
    assert model.label == "baseline/nearest"
    assert _answers(model, packaged[:2]) == _answers(Nearest(lambda: packaged), packaged[:2])


def test_a_training_file_that_is_absent_is_named() -> None:
    """A missing file is said before anything is asked; without a loader the option makes no sense."""
    with pytest.raises(DataError, match=r"absent\.jsonl: there is no such training file"):
        build(ModelConfig(spec="baseline/nearest?train=absent.jsonl"), ModelContext(load=lambda _: []))
    with pytest.raises(UsageError, match="no training file"):
        build(ModelConfig(spec="baseline/nearest?train=absent.jsonl"))


def test_real_recordings(shared: Path) -> None:
    """On real airline conversations it names far more tools right than the most frequent tool does (22 %)."""
    file = shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"
    conversations = list(read(DataConfig(paths=(str(file),), limit=15)))
    answers = iter(_answers(Nearest(lambda: conversations), conversations))
    hits = total = 0
    for conversation in conversations:
        for decision in decisions(conversation):
            answer = next(answers)
            if decision.reference.calls:
                total += 1
                hits += [call.name for call in answer.calls] == [call.name for call in decision.reference.calls]
    assert hits / total > 0.35


def test_an_empty_name_is_no_training_file(tmp_path: Path) -> None:
    """`train=` without a name is refused, for it would mean the current folder; so is a pipe."""
    context = ModelContext(load=lambda _: [])
    with pytest.raises(UsageError, match="train= names no file"):
        build(ModelConfig(spec="baseline/nearest?train="), context)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="no regular file"):
        build(ModelConfig(spec=f"baseline/nearest?train={tmp_path / 'pipe.jsonl'}"), context)
