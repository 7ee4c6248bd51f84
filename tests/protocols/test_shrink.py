"""Failed replays cut down: a case fails in the same way, is small, and can be solved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chatserver import ChatServer, call

from turngap import samples
from turngap.config import DataConfig, EvalConfig, MatchConfig, ModelConfig, ReplayConfig
from turngap.data import (
    AssistantMessage,
    Category,
    Conversation,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    check,
)
from turngap.engines.base import Quiet
from turngap.errors import EndpointError, UsageError
from turngap.formats import write
from turngap.metrics.matching import Matcher
from turngap.models import Model, Request
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay
from turngap.protocols.cases import shrink_run
from turngap.protocols.evaluate import Services, evaluate
from turngap.protocols.shrink import METADATA, Case, Setting, Uncut, shrink
from turngap.runs.store import RunStore

WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def long_conversation() -> Conversation:
    """Five turns; the fourth moves a booking that was named in the first and looked up in the second."""
    tools = tuple(ToolSpec(name=name) for name in ("get", "move", "note", "find_customer"))
    messages = (
        UserMessage(content="It is about BK-1042."),
        AssistantMessage(content="What about it?"),
        UserMessage(content="Look it up."),
        AssistantMessage(calls=(_call("get", booking="BK-1042"),)),
        ToolMessage(name="get", content='{"slot": "S-77"}'),
        AssistantMessage(content="It is for two."),
        UserMessage(content="Make a note."),
        AssistantMessage(calls=(_call("note", text="two"),)),
        ToolMessage(name="note", content="ok"),
        AssistantMessage(content="Noted. Shall I move it?"),
        UserMessage(content="Yes."),
        AssistantMessage(calls=(_call("note", text="yes"),)),
        ToolMessage(name="note", content="ok"),
        AssistantMessage(calls=(_call("move", booking="BK-1042", slot="S-77"),)),
        ToolMessage(name="move", content="ok"),
        AssistantMessage(content="Done."),
        UserMessage(content="Bye."),
        AssistantMessage(content="Bye."),
    )
    return Conversation(id="long", policy="p", tools=tools, messages=messages)


def replayed(model: Model, conversation: Conversation) -> Trajectory:
    """A plain replay."""
    matcher = Matcher(conversation.tools, MatchConfig())
    result = asyncio.run(replay.run(model, conversation, matcher, ReplayConfig()))
    assert isinstance(result, Trajectory)
    return result


def cut(answer: Callable[[Request], Any], conversation: Conversation, most_calls: int = 200) -> Case | Uncut:
    """Replay with a model, then cut its failure down with the same one."""
    trajectory = replayed(ScriptedModel(answer), conversation)
    assert trajectory.problems
    setting = Setting(
        ScriptedModel(answer), Matcher(conversation.tools, MatchConfig()), ReplayConfig(), most_calls, "r"
    )
    return asyncio.run(shrink(conversation, trajectory, setting))


def cannot(name: str) -> Callable[[Request], Any]:
    """A model that does what was recorded, except calls of one tool."""

    def answer(request: Request) -> Any:
        reference = request.seat.reference
        if reference is None:
            return "?"
        return WRONG if any(call.name == name for call in reference.calls) else reference

    return answer


def texts(case: Case) -> list[str]:
    """What is said in a case."""
    return [message.content for message in case.conversation.messages if message.content]


def test_a_call_that_the_model_cannot_make_is_left_with_what_it_is_made_of() -> None:
    """The case starts at the failing decision; of its history stays what the call needs, and the question before."""
    conversation = long_conversation()
    case = cut(cannot("move"), conversation)
    assert isinstance(case, Case)
    assert texts(case) == [
        *("Look it up.", '{"slot": "S-77"}', "It is for two."),
        *("Make a note.", "Noted. Shall I move it?", "Yes.", "ok"),
    ]
    assert check(case.conversation) is None
    origin = case.origin
    assert (origin.category, origin.decision, origin.start) == (Category.WRONG_TOOL, 6, 6)
    assert (origin.messages, origin.complete) == (18, True)


def test_a_case_fails_in_the_same_way_when_it_is_replayed() -> None:
    """Same category, same recorded decision, the first thing that the model is asked."""
    conversation = long_conversation()
    case = cut(cannot("move"), conversation)
    assert isinstance(case, Case)
    model = ScriptedModel(cannot("move"))
    problem = replayed(model, case.conversation).problems[0]
    assert (problem.category, problem.decision) == (case.origin.category, case.origin.case_decision)
    assert len(model.requests) == 3
    fixed = replayed(ScriptedModel(lambda request: request.seat.reference or "?"), case.conversation)
    assert fixed.completed


def test_a_failure_of_own_history_keeps_the_start_that_leads_there() -> None:
    """A model that fails only after words of its own: the case begins where it says them."""

    def answer(request: Request) -> Any:
        reference = request.seat.reference
        lost = any(isinstance(one, AssistantMessage) and one.content == "uh" for one in request.messages)
        if reference is None or (reference.calls and lost and reference.calls[0].name == "move"):
            return WRONG
        return "uh" if reference.content == "It is for two." else reference

    case = cut(answer, long_conversation())
    assert isinstance(case, Case)
    assert case.origin.start == 2
    assert case.conversation.messages[-2].content == ""  # the recording ends behind the failing call


def test_what_a_failure_needs_of_the_time_after_it_stays() -> None:
    """A premature call is one only because the recording makes it later."""
    conversation = long_conversation()

    def answer(request: Request) -> Any:
        reference = request.seat.reference
        early = reference is not None and reference.calls and reference.calls[0].name == "get"
        return conversation.messages[13] if early else reference

    case = cut(answer, conversation)
    assert isinstance(case, Case)
    assert case.origin.category is Category.PREMATURE_CALL
    assert texts(case)[-1] == "Done."


def test_a_missing_call_is_found_where_it_was_due() -> None:
    """A model that talks instead: the recording ends right behind the call."""
    case = cut(lambda request: "Hm." if request.seat.reference else "?", long_conversation())
    assert isinstance(case, Case)
    assert case.origin.category is Category.MISSING_CALL
    assert isinstance(case.conversation.messages[-1], ToolMessage)


@pytest.mark.parametrize("most", [3, 4, 5, 7, 9])
def test_the_bound_is_kept_and_what_was_found_is_the_case(most: int) -> None:
    """Never more questions than allowed; the smallest case so far fails in the same way."""
    conversation = long_conversation()
    case = cut(cannot("move"), conversation, most)
    assert isinstance(case, Case)
    assert case.origin.calls <= most
    problem = replayed(ScriptedModel(cannot("move")), case.conversation).problems[0]
    assert problem.decision == case.origin.case_decision


def test_a_bound_that_is_too_small_finds_nothing() -> None:
    """Two questions cannot spend three attempts."""
    found = cut(cannot("move"), long_conversation(), 2)
    assert isinstance(found, Uncut) and not found.errored
    assert "within 2 calls" in found.reason


def test_a_model_that_does_not_fail_again_is_said_to() -> None:
    """No case is made up for a failure that cannot be seen again."""
    conversation = long_conversation()
    trajectory = replayed(ScriptedModel(cannot("move")), conversation)
    well = ScriptedModel(lambda request: request.seat.reference or "?")
    setting = Setting(well, Matcher(conversation.tools, MatchConfig()), ReplayConfig(), 200, "r")
    found = asyncio.run(shrink(conversation, trajectory, setting))
    assert found == Uncut(conversation="long", reason="does not fail in this way again", errored=False)


def test_a_server_that_fails_leaves_no_case() -> None:
    """It is said, and it is not taken for a failure of the model."""
    conversation = long_conversation()
    trajectory = replayed(ScriptedModel(cannot("move")), conversation)
    setting = Setting(
        ScriptedModel([EndpointError("503")]), Matcher(conversation.tools, MatchConfig()), ReplayConfig(), 200, "r"
    )
    found = asyncio.run(shrink(conversation, trajectory, setting))
    assert isinstance(found, Uncut) and found.errored and found.reason == "503"


def test_repeating_a_search_finds_the_same() -> None:
    """Deterministic, down to the number of questions."""
    assert cut(cannot("move"), long_conversation()) == cut(cannot("move"), long_conversation())


# --- in a run


def evaluated(data: Path, model: str, directory: Path) -> None:
    """A run with replays."""
    config = EvalConfig(
        data=DataConfig(paths=(str(data),)), model=ModelConfig(spec=model), protocols=("strict", "replay", "workflow")
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))


def cases_of(directory: Path, names: list[str] | None = None) -> list[Case | Uncut]:
    """Cut the failures of a run down."""
    with RunStore.open(directory) as store:
        config = store.config
    return asyncio.run(shrink_run(directory, config, Services(progress=Quiet()), names, 200))


@pytest.mark.parametrize(
    ("model", "again"),
    [
        ("baseline/noisy?p_tool=0.4&seed=2", "baseline/noisy?p_tool=0.4&seed=2"),
        ("baseline/nearest", f"baseline/nearest?train={samples.path()}"),
    ],
)
def test_evaluating_the_cases_fails_in_the_same_way(tmp_path: Path, model: str, again: str) -> None:
    """Every case, written and read as a file, has the failure that its metadata name; none is longer than its origin."""
    evaluated(samples.path(), model, tmp_path / "run")
    found = cases_of(tmp_path / "run")
    cases = [one for one in found if isinstance(one, Case)]
    assert len(cases) == len(found) > 10
    write((case.conversation for case in cases), tmp_path / "cases.jsonl")
    evaluated(tmp_path / "cases.jsonl", again, tmp_path / "again")
    with RunStore.open(tmp_path / "again") as store:
        for conversation in store.conversations():
            origin = conversation.metadata[METADATA]
            trajectory = store.trajectory(conversation.id)
            assert isinstance(trajectory, Trajectory)
            problem = trajectory.problems[0]
            assert (problem.category, problem.decision) == (origin["category"], origin["case_decision"])
            assert origin["run"] == "run" and origin["file"].endswith("retail.jsonl")
            assert len(conversation.messages) <= origin["messages"]


def test_a_server_is_asked_once_and_cutting_again_is_free(
    tmp_path: Path, boat_conversation: Conversation, chat_server: Callable[..., ChatServer]
) -> None:
    """Real models too: answers are kept in the run, so the same search asks nothing and finds the same case."""

    def answer(body: dict[str, Any], _count: int) -> Any:
        looked_up = any(message["role"] == "tool" and "BK-1042" in message["content"] for message in body["messages"])
        name, arguments = (
            ("find_customer", {"email": "a@x.org"}) if looked_up else ("get_booking", {"booking_id": "BK-1042"})
        )
        return call(name, arguments)

    server = chat_server(answer)
    write([boat_conversation], tmp_path / "boats.jsonl")
    config = EvalConfig(
        data=DataConfig(paths=(str(tmp_path / "boats.jsonl"),)),
        model=ModelConfig(spec="openai/pelican", base_url=server.url),
        protocols=("replay",),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    (first,) = cases_of(tmp_path / "run")
    before = len(server.requests)
    assert cases_of(tmp_path / "run") == [first]
    assert len(server.requests) == before
    assert isinstance(first, Case) and first.origin.start == 1
    assert len(first.conversation.messages) == 4


def test_only_failed_replays_can_be_cut(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A conversation that completed, or that is not there, is named; a run without replays is refused."""
    other = msgspec.structs.replace(boat_conversation, id="other")
    write([boat_conversation, other], tmp_path / "boats.jsonl")
    evaluated(tmp_path / "boats.jsonl", "baseline/reference", tmp_path / "run")
    assert cases_of(tmp_path / "run") == []
    with pytest.raises(UsageError, match="no failed replay of boat; failed are, for example: none"):
        cases_of(tmp_path / "run", ["boat"])
    config = EvalConfig(
        data=DataConfig(paths=(str(tmp_path / "boats.jsonl"),)),
        model=ModelConfig(spec="baseline/reference"),
        protocols=("strict",),
    )
    asyncio.run(evaluate(config, tmp_path / "gold", Services(progress=Quiet())))
    with pytest.raises(UsageError, match="holds no replays"):
        cases_of(tmp_path / "gold")


def test_metadata_of_the_recording_stay(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """What the recording said about itself is kept beside where the case came from."""
    path = tmp_path / "boats.jsonl"
    path.write_text(json.dumps(boat_record | {"id": "boat", "metadata": {"channel": "chat"}}), encoding="utf-8")
    evaluated(path, "baseline/noisy?p_tool=0&seed=2", tmp_path / "run")
    (case,) = cases_of(tmp_path / "run", ["boat"])
    assert isinstance(case, Case)
    assert case.conversation.metadata["channel"] == "chat"
    assert case.conversation.metadata[METADATA]["line"] == 1
