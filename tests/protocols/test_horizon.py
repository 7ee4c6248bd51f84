"""How far a model gets from every decision on: what counts as behind it, and that the limit changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chatserver import ChatServer, call
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.analysis.summary import Summary, summarise
from turngap.config import DataConfig, EvalConfig, HorizonConfig, MatchConfig, ModelConfig, ReplayConfig
from turngap.data import (
    AssistantMessage,
    Category,
    Cause,
    Conversation,
    Failure,
    Score,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
)
from turngap.engines.base import Quiet
from turngap.errors import EndpointError, UsageError
from turngap.formats import write
from turngap.metrics.matching import Matcher
from turngap.models import Model, Request
from turngap.models.scripted import ScriptedModel
from turngap.protocols import horizon, replay
from turngap.protocols.evaluate import Services, evaluate, rescore
from turngap.runs.store import RunStore

GET = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})


def start(
    model: Model, conversation: Conversation, place: int, most: int = 8, **rules: Any
) -> tuple[Trajectory | Failure, Score]:
    """One run, and its score."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    counted = horizon.starts(conversation)[place:]
    result = asyncio.run(horizon.run(model, conversation, counted, matcher, ReplayConfig(**rules), most))
    return result, horizon.score(conversation, counted, result, most)


def reached(score: Score) -> tuple[float, float]:
    """Survived of reach."""
    return score.values["survived"], score.values["reach"]


def test_the_run_ends_when_enough_is_behind_it(boat_conversation: Conversation) -> None:
    """Two decisions from the start: the third is never asked for."""
    model = ScriptedModel([GET, "Shall I?"])
    result, score = start(model, boat_conversation, 0, most=2)
    assert isinstance(result, Trajectory) and result.steps == 2
    assert reached(score) == (2, 2) and score.success


def test_an_unresolved_error_is_held_against_its_decision(boat_conversation: Conversation) -> None:
    """From the text on: text and nothing more is behind a model that cannot make the second call."""
    _, score = start(ScriptedModel(["Shall I?", WRONG, WRONG, WRONG]), boat_conversation, 1)
    assert reached(score) == (1, 3)
    assert (score.success, score.cause, score.category) == (False, Cause.WRONG, Category.WRONG_TOOL)
    assert (score.decision, score.kind) == (1, "text")


def test_a_recovered_error_is_none(boat_conversation: Conversation) -> None:
    """Attempts are those of a replay."""
    _, score = start(ScriptedModel([WRONG, WRONG, GET, "Shall I?"]), boat_conversation, 0, most=2)
    assert reached(score) == (2, 2)


def test_a_carried_call_is_neither_done_nor_failed(boat_conversation: Conversation) -> None:
    """Silence where a call is due: the run goes on over the next user message, until the call is made."""
    result, score = start(ScriptedModel(["One moment.", GET]), boat_conversation, 0, most=1)
    assert isinstance(result, Trajectory) and result.steps == 2
    assert reached(score) == (1, 1)


def test_a_carried_call_that_never_comes_fails_where_it_was_due(boat_conversation: Conversation) -> None:
    """What was said meanwhile counts only behind the call: nothing is behind this model."""
    _, score = start(ScriptedModel(lambda _: "One moment."), boat_conversation, 0)
    assert reached(score) == (0, 4) and score.category == Category.MISSING_CALL


def test_silence_may_fail_at_once(boat_conversation: Conversation) -> None:
    """--when-silent fail holds here as in a replay."""
    result, score = start(ScriptedModel(["One moment."]), boat_conversation, 0, when_silent="fail")
    assert isinstance(result, Trajectory) and result.steps == 1
    assert reached(score) == (0, 4)


def test_an_error_beyond_the_window_does_not_count(boat_conversation: Conversation) -> None:
    """The message that makes the last decision of the window may err behind it: that belongs to a longer window."""
    tools = (ToolSpec(name="a"), ToolSpec(name="b"))
    a, b, bad = (ToolCall(name=name, arguments={}) for name in ("a", "b", "bad"))
    conversation = Conversation(
        id="two",
        tools=tools,
        messages=(
            UserMessage(content="do"),
            AssistantMessage(calls=(a,)),
            ToolMessage(content="1"),
            AssistantMessage(calls=(b,)),
            ToolMessage(content="2"),
        ),
    )
    message = AssistantMessage(calls=(a, bad, bad, bad))
    assert start(ScriptedModel([message]), conversation, 0, most=1)[1].success
    assert reached(start(ScriptedModel([message]), conversation, 0, most=2)[1]) == (1, 2)


def test_errors_behind_the_last_call_of_a_turn_count_against_it() -> None:
    """Where nothing is due and nothing is recorded, the decision of the same message is the one that failed."""
    over, bad = ToolCall(name="over", arguments={}), ToolCall(name="bad", arguments={})
    messages = (UserMessage(content="do"), AssistantMessage(calls=(over,)), ToolMessage(content="1"))
    conversation = Conversation(id="over", tools=(ToolSpec(name="over"),), messages=messages)
    _, score = start(ScriptedModel([AssistantMessage(calls=(over, bad, bad, bad))]), conversation, 0)
    assert reached(score) == (0, 1) and not score.success


def test_a_decision_that_asks_nothing_is_no_start() -> None:
    """A recorded call that is malformed is never due, so there is nothing to survive."""
    broken = ToolCall(name="a", arguments=None, raw="{", error="cut")
    messages = (
        UserMessage(content="do"),
        AssistantMessage(calls=(broken,)),
        ToolMessage(content="1"),
        AssistantMessage(content="Done."),
    )
    conversation = Conversation(id="broken", tools=(ToolSpec(name="a"),), messages=messages)
    assert [decision.index for decision in horizon.starts(conversation)] == [1]


def test_a_server_that_fails_is_no_error_of_the_model(boat_conversation: Conversation) -> None:
    """The start is errored, without values, and no other start suffers."""
    result, score = start(ScriptedModel([GET, EndpointError("503")]), boat_conversation, 0)
    assert isinstance(result, Failure)
    assert score.errored and score.values == {} and score.kind == "tool"


def erratic(choices: list[int]) -> ScriptedModel:
    """A model that errs as the numbers say, and does what was recorded afterwards."""
    left = iter(choices)

    def answer(request: Request) -> Any:
        wrong = ["text", ToolCall(name="nope", arguments={}), AssistantMessage(calls=(MOVE, WRONG)), AssistantMessage()]
        choice = next(left, 0)
        return (request.seat.reference or "?") if choice == 0 else wrong[choice % 4]

    return ScriptedModel(answer)


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(st.lists(st.integers(0, 8), max_size=16), st.integers(0, 3))
def test_how_far_it_may_go_does_not_change_how_far_it_gets(choices: list[int], place: int) -> None:
    """Whether h decisions are survived is the same for every limit that is at least h: one run gives the whole curve."""
    conversation = Conversation(
        id="long",
        tools=tuple(ToolSpec(name=name) for name in ("get_booking", "move_booking", "find_customer")),
        messages=(
            UserMessage(content="one"),
            AssistantMessage(calls=(GET,)),
            ToolMessage(content="1"),
            AssistantMessage(calls=(GET, MOVE)),
            ToolMessage(content="2"),
            ToolMessage(content="3"),
            AssistantMessage(content="Yes?"),
            UserMessage(content="two"),
            AssistantMessage(calls=(MOVE,)),
            ToolMessage(content="4"),
        ),
    )
    scores = [start(erratic(choices), conversation, place, most=most)[1] for most in range(1, 6)]
    furthest = scores[-1].values["survived"]
    for most, score in enumerate(scores, 1):
        assert reached(score) == (min(furthest, score.values["reach"]), min(most, 4 - place))
        assert score.success == (score.values["survived"] == score.values["reach"]) == (score.cause is None)
    if place == 0:
        matcher = Matcher(conversation.tools, MatchConfig())
        whole = asyncio.run(replay.run(erratic(choices), conversation, matcher, ReplayConfig()))
        assert isinstance(whole, Trajectory)
        assert whole.completed == scores[-1].success


# --- in a run


def config(path: Path, model: str = "baseline/reference", **other: Any) -> EvalConfig:
    """An evaluation of `horizon` alone."""
    settings = {"protocols": ("horizon",), **other}
    return EvalConfig(data=DataConfig(paths=(str(path),)), model=ModelConfig(spec=model), **settings)


def run(wanted: EvalConfig, directory: Path) -> tuple[Summary, Quiet]:
    """Evaluate and sum up."""
    progress = Quiet()
    asyncio.run(evaluate(wanted, directory, Services(progress=progress)))
    with RunStore.open(directory) as store:
        return summarise(store, seed=0), progress


@pytest.fixture
def boats(tmp_path: Path, boat_conversation: Conversation) -> Path:
    """Two boat-hire conversations of different lengths."""
    path = tmp_path / "boats.jsonl"
    short = msgspec.structs.replace(boat_conversation, id="short", messages=boat_conversation.messages[:4])
    write([boat_conversation, short], path)
    return path


def test_n_counts_the_starts_that_have_so_many_decisions_ahead(boats: Path, tmp_path: Path) -> None:
    """4 + 2 decisions: six starts, of which four have two ahead, two have three, one has four; beyond that nobody."""
    summary, _ = run(config(boats), tmp_path / "run")
    assert [summary.metrics[f"horizon.{h}"].n for h in range(1, 9)] == [6, 4, 2, 1, 0, 0, 0, 0]
    assert summary.metrics["horizon.5"].value is None
    assert summary.ledger["horizon"].units == 6 and summary.missing == {}
    assert summary.protocols == ("horizon",)


def test_a_finished_run_asks_nothing_again_and_a_further_horizon_only_what_it_must(boats: Path, tmp_path: Path) -> None:
    """Runs that ended by an error or at the end of the recording serve any horizon."""
    near = config(boats, horizon=HorizonConfig(max=2))
    first, progress = run(near, tmp_path / "run")
    assert ("horizon", 6, 0, 0) in progress.stages
    again, progress = run(near, tmp_path / "run")
    assert again == first and ("horizon", 6, 6, 0) in progress.stages
    far, progress = run(config(boats, horizon=HorizonConfig(max=4)), tmp_path / "run")
    assert ("horizon", 6, 4, 0) in progress.stages
    assert far == run(config(boats, horizon=HorizonConfig(max=4)), tmp_path / "new")[0]
    nearer, progress = run(near, tmp_path / "run")
    assert nearer == first and ("horizon", 6, 6, 0) in progress.stages


def test_it_joins_a_run_of_other_protocols(boats: Path, tmp_path: Path) -> None:
    """What was stored stays; the run from the first decision on is the replay."""
    model = "baseline/noisy?p_tool=0.3&seed=5"
    run(config(boats, model, protocols=("replay",)), tmp_path / "run")
    summary, _ = run(config(boats, model, protocols=("replay", "horizon")), tmp_path / "run")
    assert summary.protocols == ("replay", "horizon")
    with RunStore.open(tmp_path / "run") as store:
        for name, whole in (("boat", store.trajectory("boat")), ("short", store.trajectory("short"))):
            part = store.horizon(name, 8)[0]
            assert isinstance(part, Trajectory) and isinstance(whole, Trajectory)
            assert part.events == whole.events and part.problems == whole.problems


def test_scores_can_be_made_again(boats: Path, tmp_path: Path) -> None:
    """Re-scoring reads the stored runs; without any it is refused with the way out."""
    wanted = config(boats, "baseline/noisy?p_tool=0.3&seed=5")
    first, _ = run(wanted, tmp_path / "run")
    asyncio.run(rescore(tmp_path / "run", wanted, Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        assert summarise(store, seed=0) == first
    run(config(boats, protocols=("replay",)), tmp_path / "other")
    with pytest.raises(UsageError, match="nothing is stored for horizon"):
        asyncio.run(rescore(tmp_path / "other", config(boats), Services(progress=Quiet())))


def test_recorded_predictions_have_no_own_history(boats: Path, tmp_path: Path) -> None:
    """Somebody's predictions cannot go on by themselves."""
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text('{"conversation": "x", "decision": 0, "message": {"role": "assistant", "content": "a"}}\n')
    with pytest.raises(UsageError, match="leave out horizon"):
        run(config(boats, f"recorded/{predictions}"), tmp_path / "run")


def test_equal_questions_are_asked_once(boats: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]) -> None:
    """The run's call cache serves all starts: the run from the first decision repeats what the replay has asked."""
    server = chat_server(lambda _body, _count: call("find_customer", {"email": "a@example.org"}))

    def asked(*protocols: str) -> int:
        before = len(server.requests)
        model = ModelConfig(spec="openai/wrong", base_url=server.url, concurrency=1)
        wanted = EvalConfig(data=DataConfig(paths=(str(boats),)), model=model, protocols=protocols)
        run(wanted, tmp_path / "run")
        return len(server.requests) - before

    assert asked("replay") == 3  # attempts; both conversations begin alike
    # Six starts of three attempts; those at the first decisions are known, those at the second ones are the same.
    assert asked("replay", "horizon") == 3 * 3
    assert asked("replay", "horizon") == 0
