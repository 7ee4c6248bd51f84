"""The closed loop: what is accepted, what costs an attempt, how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.config import MatchConfig, ModelConfig, ReplayConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Category,
    Cause,
    Conversation,
    Failure,
    Finish,
    Prediction,
    Repaired,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    check,
)
from turngap.errors import ContextOverflow, EndpointError
from turngap.metrics.matching import Matcher
from turngap.models import Model, ModelContext, Request, build
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay


def call(name: str, **arguments: Any) -> ToolCall:
    """A well-formed call."""
    return ToolCall(name=name, arguments=arguments)


GET = call("get_booking", booking_id="BK-1042")
MOVE = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2)
WRONG = call("find_customer", email="a@example.org")
MALFORMED = ToolCall(
    name="move_booking", arguments=None, raw='{"booking_id": "BK-1042"', error="Expecting ',' at column 25"
)


async def play(model: Model, conversation: Conversation, **rules: Any) -> Trajectory:
    """Replay under the default rules, or others; an errored replay fails the test."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    result = await replay.run(model, conversation, matcher, ReplayConfig(**rules))
    assert isinstance(result, Trajectory), result
    return result


def acted(trajectory: Trajectory) -> list[Acted]:
    """The model's steps."""
    return [event for event in trajectory.events if isinstance(event, Acted)]


async def test_the_recording_itself_completes(boat_conversation: Conversation) -> None:
    """The reference baseline does what was recorded, and the history is the recording."""
    trajectory = await play(build(ModelConfig(spec="baseline/reference"), ModelContext()), boat_conversation)
    assert trajectory.completed and not trajectory.problems
    assert (trajectory.steps, trajectory.rejected, trajectory.recovered, trajectory.first_error) == (4, 0, 0, None)
    assert trajectory.messages() == boat_conversation.messages


async def test_an_accepted_call_gets_the_recorded_result(boat_conversation: Conversation) -> None:
    """What the tool said in the recording is what the model reads, whatever the spelling of the arguments. REP-09."""
    spelled = call("move_booking", booking_id=" BK-1042 ", date="2031-05-02", seats="2", notify=True)
    trajectory = await play(ScriptedModel([GET, "Shall I?", spelled, "Done."]), boat_conversation)
    assert trajectory.completed
    assert acted(trajectory)[0].results == (boat_conversation.messages[2],)
    assert acted(trajectory)[2].results == (boat_conversation.messages[6],)


async def test_an_invented_tool_is_the_models_error_and_can_be_recovered(boat_conversation: Conversation) -> None:
    """REP-01: rejected with an error result, one attempt spent, then on; never errored."""
    invented = call("cancel_everything", booking_id="BK-1042")
    trajectory = await play(ScriptedModel([invented, GET, "Shall I?", MOVE, "Done."]), boat_conversation)
    assert trajectory.completed
    assert (trajectory.rejected, trajectory.recovered, trajectory.first_error) == (1, 1, 0)
    verdict = acted(trajectory)[0].verdicts[0]
    assert (verdict.accepted, verdict.category, verdict.attempt) == (False, Category.WRONG_TOOL, 1)
    assert acted(trajectory)[0].results[0].error
    assert "cancel_everything" in acted(trajectory)[0].results[0].content


async def test_only_ever_inventing_a_tool_fails_as_wrong_tool(boat_conversation: Conversation) -> None:
    """REP-01: three attempts, then the workflow has failed; the unit stays in n."""
    trajectory = await play(ScriptedModel(lambda _: call("cancel_everything")), boat_conversation)
    assert not trajectory.completed and trajectory.steps == 3
    assert trajectory.problems[0].category is Category.WRONG_TOOL
    score = replay.score(boat_conversation, trajectory)
    assert (score.success, score.cause, score.errored, score.values["completed"]) == (False, Cause.WRONG, False, 0.0)


async def test_rejections_do_not_give_the_answer_away(boat_conversation: Conversation) -> None:
    """Nothing of the due call's arguments stands in what the model is told."""
    tries = [
        call("get_booking", booking_id="BK-1"),
        call("get_booking"),
        call("get_booking", booking_id="BK-1", page=2),
    ]
    trajectory = await play(ScriptedModel(tries), boat_conversation)
    told = " ".join(result.content for step in acted(trajectory) for result in step.results)
    assert "BK-1042" not in told
    assert [step.verdicts[0].category for step in acted(trajectory)] == [Category.WRONG_ARGUMENTS] * 3
    assert all("error" in json.loads(result.content) for step in acted(trajectory) for result in step.results)


async def test_broken_json_is_malformed_and_names_the_position(boat_conversation: Conversation) -> None:
    """ING-01: an error result with the parse position, one attempt, never executed."""
    script = [GET, "Shall I?", MALFORMED, MOVE, "Done."]
    trajectory = await play(ScriptedModel(script), boat_conversation)
    assert trajectory.completed and trajectory.rejected == 1
    step = acted(trajectory)[2]
    assert step.verdicts[0].category is Category.MALFORMED_CALL
    assert "column 25" in step.results[0].content


async def test_three_bad_calls_in_one_message_use_the_whole_budget(boat_conversation: Conversation) -> None:
    """REP-07: attempts are counted call by call, in order; a right call behind them comes too late."""
    message = AssistantMessage(calls=(WRONG, WRONG, WRONG, GET))
    trajectory = await play(ScriptedModel([message]), boat_conversation)
    assert not trajectory.completed
    assert [verdict.attempt for verdict in acted(trajectory)[0].verdicts] == [1, 2, 3, None]
    assert len(acted(trajectory)[0].results) == 4


async def test_two_bad_calls_and_a_good_one_in_one_message_recover(boat_conversation: Conversation) -> None:
    """REP-07: the third attempt may still be right."""
    message = AssistantMessage(calls=(WRONG, WRONG, GET))
    trajectory = await play(ScriptedModel([message, "Shall I?", MOVE, "Done."]), boat_conversation)
    assert trajectory.completed and (trajectory.rejected, trajectory.recovered) == (2, 1)


async def test_invalid_premature_invalid_on_one_due_decision_fails(boat_conversation: Conversation) -> None:
    """REP-07: a call that is right later costs an attempt like any other; the budget does not reset."""
    trajectory = await play(ScriptedModel([MALFORMED, MOVE, WRONG]), boat_conversation)
    categories = [step.verdicts[0].category for step in acted(trajectory)]
    assert categories == [Category.MALFORMED_CALL, Category.PREMATURE_CALL, Category.WRONG_TOOL]
    assert [step.verdicts[0].attempt for step in acted(trajectory)] == [1, 2, 3]
    assert trajectory.problems[0].category is Category.WRONG_TOOL


async def test_each_due_decision_has_its_own_budget(boat_conversation: Conversation) -> None:
    """Two rejected calls before each due call still complete."""
    script = [WRONG, WRONG, GET, "Shall I?", WRONG, WRONG, MOVE, "Done."]
    trajectory = await play(ScriptedModel(script), boat_conversation)
    assert trajectory.completed and (trajectory.rejected, trajectory.recovered) == (4, 2)


async def test_calls_where_nothing_is_due_cost_the_turn_its_attempts(boat_conversation: Conversation) -> None:
    """Repeating an accepted call is a call that is not due."""
    trajectory = await play(ScriptedModel(lambda _: GET), boat_conversation)
    assert not trajectory.completed and trajectory.steps == 4
    assert trajectory.problems[0].category is Category.WRONG_TOOL
    assert trajectory.problems[0].decision == 1


async def test_going_on_for_ever_ends_at_the_step_limit(boat_conversation: Conversation) -> None:
    """REP-06: with attempts to spare the step limit ends it, with count and limit, and it is no success."""
    trajectory = await play(ScriptedModel(lambda _: GET), boat_conversation, attempts=1001)
    assert not trajectory.completed
    assert trajectory.steps == trajectory.step_limit == 2 * 4 + 10
    assert trajectory.problems[0].category is Category.STEP_LIMIT
    assert "18" in trajectory.problems[0].detail


async def test_only_saying_one_moment_leaves_the_calls_missing(boat_conversation: Conversation) -> None:
    """REP-06: the recorded user turns run out, and the first call that was never made is named."""
    trajectory = await play(ScriptedModel(lambda _: "One moment please"), boat_conversation)
    assert not trajectory.completed and trajectory.steps == 2
    assert (trajectory.problems[0].category, trajectory.problems[0].decision) == (Category.MISSING_CALL, 0)
    assert trajectory.first_error == 0


async def test_calls_carry_over_a_user_turn_in_order(boat_conversation: Conversation) -> None:
    """REP-03: text while a call is due is no failure; the call stays due behind the next user message."""
    trajectory = await play(ScriptedModel(["Which boat?", GET, MOVE, "Done."]), boat_conversation)
    assert trajectory.completed and trajectory.rejected == 0


async def test_carried_calls_keep_their_order(boat_conversation: Conversation) -> None:
    """The later call is premature while the carried one is due."""
    trajectory = await play(ScriptedModel(["Which boat?", MOVE, GET, MOVE, "Done."]), boat_conversation)
    assert trajectory.completed
    assert acted(trajectory)[1].verdicts[0].category is Category.PREMATURE_CALL


async def test_silence_may_be_a_failure_at_once(boat_conversation: Conversation) -> None:
    """--when-silent fail."""
    trajectory = await play(ScriptedModel(["Which boat?"]), boat_conversation, when_silent="fail")
    assert trajectory.problems[0].category is Category.MISSING_CALL and trajectory.steps == 1


async def test_an_answer_cut_by_the_token_limit_is_named_as_such(boat_conversation: Conversation) -> None:
    """A due call that never came because the output was cut is truncated_output, and the ledger says cut."""
    cut = Prediction(message=AssistantMessage(content="Let me think about"), finish=Finish.LENGTH)
    trajectory = await play(ScriptedModel(lambda _: cut), boat_conversation)
    assert trajectory.problems[0].category is Category.TRUNCATED_OUTPUT
    assert replay.score(boat_conversation, trajectory).cause is Cause.CUT


async def test_after_a_failure_the_due_decision_is_repaired_on_demand(boat_conversation: Conversation) -> None:
    """--after-failure continue puts the recorded decision in and goes on; the workflow stays failed."""
    script = [WRONG, WRONG, WRONG, "Shall I?", MOVE, "Done."]
    trajectory = await play(ScriptedModel(script), boat_conversation, after_failure="continue")
    assert not trajectory.completed and len(trajectory.problems) == 1
    repaired = [event for event in trajectory.events if isinstance(event, Repaired)]
    assert [(event.decision, event.message.calls) for event in repaired] == [(0, (GET,))]
    assert repaired[0].results == (boat_conversation.messages[2],)


async def test_an_endpoint_that_fails_is_errored_and_never_a_model_failure(boat_conversation: Conversation) -> None:
    """The replay can be run again; nothing is scored."""
    matcher = Matcher(boat_conversation.tools, MatchConfig())
    model = ScriptedModel([GET, EndpointError("503 after 9 attempts")])
    result = await replay.run(model, boat_conversation, matcher, ReplayConfig())
    assert isinstance(result, Failure) and result.cause is Cause.ENDPOINT
    score = replay.score(boat_conversation, result)
    assert score.errored and score.values == {}


async def test_overflow_by_the_models_own_talk_is_its_failure(boat_conversation: Conversation) -> None:
    """PRV-04: a model that talked the context full has failed."""
    model = ScriptedModel(["bla " * 1000, ContextOverflow("maximum context length")])
    trajectory = await play(model, boat_conversation)
    assert trajectory.problems[0].category is Category.CONTEXT_OVERFLOW


async def test_overflow_by_the_recording_alone_is_the_datas(boat_conversation: Conversation) -> None:
    """PRV-04: policy and recorded history that do not fit are nobody's mistake."""
    matcher = Matcher(boat_conversation.tools, MatchConfig())
    model = ScriptedModel([ContextOverflow("maximum context length")])
    result = await replay.run(model, boat_conversation, matcher, ReplayConfig())
    assert isinstance(result, Failure) and result.cause is Cause.DATA


async def test_an_internal_error_costs_one_unit_and_is_not_retried(boat_conversation: Conversation) -> None:
    """STA-09: our own crash is the harness's, stored once with its place."""
    model = ScriptedModel([ZeroDivisionError("division by zero")])
    matcher = Matcher(boat_conversation.tools, MatchConfig())
    result = await replay.run(model, boat_conversation, matcher, ReplayConfig())
    assert isinstance(result, Failure) and result.cause is Cause.HARNESS
    assert "division by zero" in result.reason and len(model.requests) == 1


async def test_policy_and_tools_are_the_same_in_every_request(boat_conversation: Conversation) -> None:
    """USR-09: the closed loop asks the same agent at every step, and every history obeys the invariants."""
    model = ScriptedModel([WRONG, GET, "Shall I?", MOVE, "Done."])
    await play(model, boat_conversation)
    assert len({msgspec.json.encode((request.policy, request.tools)) for request in model.requests}) == 1
    for request in model.requests:
        assert check(msgspec.structs.replace(boat_conversation, messages=request.messages)) is None


TOOLS = tuple(
    ToolSpec(name=name, parameters={"type": "object", "properties": {"x": {"type": "integer"}}}) for name in "abc"
)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Recordings with user turns, several calls in a message, and ends of every kind."""
    messages: list[Any] = [] if draw(st.booleans()) else [AssistantMessage(content="Hello, how can I help?")]
    for turn in range(draw(st.integers(1, 4))):
        messages.extend(UserMessage(content=f"user {turn}") for _ in range(draw(st.integers(1, 2))))
        for _ in range(draw(st.integers(0, 3))):
            calls = tuple(
                call(draw(st.sampled_from("abc")), x=draw(st.integers(0, 2))) for _ in range(draw(st.integers(1, 3)))
            )
            messages.append(AssistantMessage(calls=calls))
            messages.extend(ToolMessage(name=one.name, content=f"result {len(messages)}") for one in calls)
        if draw(st.booleans()):
            messages.append(AssistantMessage(content=f"text {turn}"))
    return Conversation(id="made", policy="p", tools=TOOLS, messages=tuple(messages))


def run_sync(model: Model, conversation: Conversation) -> Trajectory:
    """Replay from synchronous code."""
    return asyncio.run(play(model, conversation))


@given(conversations())
def test_every_recording_completes_by_itself(conversation: Conversation) -> None:
    """Replaying the recording's own decisions completes, spends no attempt, and rebuilds the recording."""
    trajectory = run_sync(ScriptedModel(lambda request: request.seat.reference or "?"), conversation)
    assert trajectory.completed and trajectory.rejected == 0
    assert trajectory.messages() == conversation.messages


def _erratic(choices: list[int]) -> Callable[[Request], Any]:
    remaining = iter(choices)

    def answer(request: Request) -> Any:
        choice = next(remaining, 0)
        if choice == 0 and request.seat.reference is not None:
            return request.seat.reference
        return ["text", call("a", x=7), call("nope"), MALFORMED, AssistantMessage()][choice % 5]

    return answer


@given(conversations(), st.lists(st.integers(0, 9), max_size=30))
def test_every_replay_ends_with_one_reason(conversation: Conversation, choices: list[int]) -> None:
    """Whatever the model does: it ends within the limit, completed exactly when no problem is unresolved, results paired."""
    trajectory = run_sync(ScriptedModel(_erratic(choices)), conversation)
    assert trajectory.steps <= trajectory.step_limit
    assert trajectory.completed == (not trajectory.problems)
    assert (trajectory.first_error is None) or trajectory.first_error >= 0
    for step in acted(trajectory):
        assert len(step.results) == len(step.verdicts) == len(step.message.calls)
    score = replay.score(conversation, trajectory)
    assert score.success == trajectory.completed == (score.cause is None)


@given(conversations(), st.lists(st.integers(0, 9), max_size=30))
def test_replays_are_deterministic(conversation: Conversation, choices: list[int]) -> None:
    """The same answers make the same trajectory."""
    first, second = (run_sync(ScriptedModel(_erratic(choices)), conversation) for _ in range(2))
    assert msgspec.structs.replace(first, seconds=0.0) == msgspec.structs.replace(second, seconds=0.0)


@pytest.mark.parametrize("p", [0.7, 0.9])
async def test_noisy_replays_follow_the_closed_form(p: float, boat_conversation: Conversation) -> None:
    """Two due decisions with three attempts each complete with probability (1-(1-p)^3)^2."""
    runs, completed = 600, 0
    for number in range(runs):
        conversation = msgspec.structs.replace(boat_conversation, id=f"boat-{number}")
        model = build(ModelConfig(spec=f"baseline/noisy?p_text=1&p_tool={p}&seed=1"), ModelContext())
        completed += (await play(model, conversation)).completed
    expected = (1 - (1 - p) ** 3) ** 2
    error = (expected * (1 - expected) / runs) ** 0.5
    assert abs(completed / runs - expected) < 3.5 * error + 1e-9


async def test_every_turn_is_asked_alike(boat_conversation: Conversation) -> None:
    """USR-09: policy and tools are the same in every turn of a replay, and the digest stored with each turn says so."""
    model = ScriptedModel(lambda request: request.seat.reference or AssistantMessage(content="Goodbye."))
    trajectory = await play(model, boat_conversation)
    assert all(request.policy == boat_conversation.policy for request in model.requests)
    assert all(request.tools == boat_conversation.tools for request in model.requests)
    asked = {event.asked for event in acted(trajectory)}
    assert len(model.requests) == 4 and len(asked) == 1
    other = msgspec.structs.replace(boat_conversation, policy=f"{boat_conversation.policy} Be brief.")
    assert {event.asked for event in acted(await play(model, other))} != asked
