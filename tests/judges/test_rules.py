"""The `rules` judge: calls with the tolerance for reads, texts by their facts, replays by both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap import judges
from turngap.config import DataConfig, JudgeConfig, MatchConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Conversation,
    Decision,
    Event,
    Prediction,
    Problem,
    Spoken,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    Verdict,
    decisions,
    results_of,
)
from turngap.formats import read
from turngap.judges import Judge, TurnCase, WorkflowCase
from turngap.models import ModelContext


def call(name: str, **arguments: Any) -> ToolCall:
    """A call by keyword arguments."""
    return ToolCall(name=name, arguments=arguments)


LOOK = call("get_booking", booking_id="BK-1042")
MOVE = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2)
FIND = call("find_customer", email="ann@example.org")
SLOTS = call("list_slots")


@pytest.fixture
def rules() -> Judge:
    """The judge as the command line builds it."""
    return judges.build("rules", JudgeConfig(), MatchConfig(), ModelContext())


async def verdict(judge: Judge, conversation: Conversation, index: int, answer: AssistantMessage | str) -> Verdict:
    """Judge an answer to one decision of a conversation."""
    message = AssistantMessage(content=answer) if isinstance(answer, str) else answer
    decision = list(decisions(conversation))[index]
    return await judge.turn(
        TurnCase(conversation=conversation, decision=decision, prediction=Prediction(message=message))
    )


def calling(*calls: ToolCall) -> AssistantMessage:
    """A tool decision."""
    return AssistantMessage(calls=calls)


def recorded_replay(conversation: Conversation) -> Trajectory:
    """The replay of an agent that does what the recording does."""
    events: list[Event] = []
    pending = {decision.position: decision for decision in decisions(conversation)}
    for position, message in enumerate(conversation.messages):
        if position in pending:
            events.append(_acted(conversation, pending[position]))
        elif not isinstance(message, ToolMessage | AssistantMessage):
            events.append(Spoken(message=message))
    return Trajectory(conversation=conversation.id, events=tuple(events), completed=True)


def _acted(conversation: Conversation, decision: Decision) -> Acted:
    accepted = tuple(CallVerdict(accepted=True, decision=decision.index) for _ in decision.reference.calls)
    return Acted(message=decision.reference, results=results_of(conversation, decision), verdicts=accepted)


def saying(trajectory: Trajectory, *texts: str) -> Trajectory:
    """The same replay with other texts, in order, where the agent speaks."""
    pending = list(texts)
    events = [
        msgspec.structs.replace(event, message=AssistantMessage(content=pending.pop(0)))
        if isinstance(event, Acted) and not event.message.calls
        else event
        for event in trajectory.events
    ]
    assert not pending
    return msgspec.structs.replace(trajectory, events=tuple(events))


class TestCalls:
    async def test_equal_calls_pass(self, rules: Judge, boat_conversation: Conversation) -> None:
        """Calls are compared as in `strict`: lossless spellings are equal."""
        spelled = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats="2", notify=True)
        assert (await verdict(rules, boat_conversation, 2, calling(spelled))).success

    @pytest.mark.parametrize(
        ("answer", "category"),
        [
            (calling(call("move_booking", booking_id="BK-1042", date="2031-05-03", seats=2)), "wrong_arguments"),
            (calling(call("add_note", booking_id="BK-1042", text="moved")), "wrong_tool"),
            (calling(call("cancel_everything")), "wrong_tool"),
            (calling(MOVE, call("add_note", booking_id="BK-1042", text="moved")), "wrong_tool"),
            (calling(MOVE, MOVE), "wrong_tool"),
            (calling(LOOK), "wrong_tool"),
            (calling(ToolCall(name="move_booking", arguments=None, raw="{", error="cut")), "malformed_call"),
            (AssistantMessage(content="Done, it is moved."), "missing_call"),
            (AssistantMessage(), "missing_call"),
        ],
    )
    async def test_what_is_not_due_fails(
        self, rules: Judge, boat_conversation: Conversation, answer: AssistantMessage, category: str
    ) -> None:
        """Where a write is due: another write, a second one, a read in its place, a broken call, or text fails."""
        judged = await verdict(rules, boat_conversation, 2, answer)
        assert (judged.success, judged.category) == (False, category)
        assert judged.rationale
        assert "\n" not in judged.rationale

    async def test_wrong_arguments_are_explained_by_side(self, rules: Judge, boat_conversation: Conversation) -> None:
        """MAT-11: the rationale says which value is the reference's."""
        wrong = call("move_booking", booking_id="BK-1042", date="2031-05-03", seats=2)
        judged = await verdict(rules, boat_conversation, 2, calling(wrong))
        assert 'reference "2031-05-02", prediction "2031-05-03"' in judged.rationale

    async def test_further_reads_beside_the_due_calls_pass(self, rules: Judge, boat_conversation: Conversation) -> None:
        """A read that works and asks for what is known does no harm."""
        assert (await verdict(rules, boat_conversation, 2, calling(SLOTS, MOVE, LOOK))).success

    @pytest.mark.parametrize("extra", [call("get_booking", booking_id="BK-9999"), call("get_booking"), FIND])
    async def test_further_reads_that_guess_or_break_the_schema_fail(
        self, rules: Judge, boat_conversation: Conversation, extra: ToolCall
    ) -> None:
        """An identifier that nobody mentioned, or a missing argument, is no harmless read."""
        judged = await verdict(rules, boat_conversation, 2, calling(MOVE, extra))
        assert (judged.success, judged.category) == (False, "wrong_arguments")

    async def test_reads_before_writes(self, rules: Judge, boat_conversation: Conversation) -> None:
        """Reads that the recording makes later in the turn may come first; its writes may not."""
        looked = AssistantMessage(calls=(LOOK, FIND))
        result = ToolMessage(content='{"ok": true}')
        messages = (
            UserMessage(content="Move BK-1042 to 2 May 2031; I am ann@example.org and say yes. Two seats."),
            AssistantMessage(calls=(SLOTS,)),
            result,
            looked,
            result,
            result,
            AssistantMessage(calls=(MOVE,)),
            result,
            AssistantMessage(content="Done."),
            UserMessage(content="Also look at BK-1043."),
            AssistantMessage(calls=(call("get_booking", booking_id="BK-1043"),)),
            result,
            AssistantMessage(content="Seen."),
        )
        conversation = msgspec.structs.replace(boat_conversation, messages=messages)

        async def passes(index: int, *calls: ToolCall) -> bool:
            return (await verdict(rules, conversation, index, calling(*calls))).success

        assert await passes(0, LOOK)
        assert await passes(0, FIND, LOOK, SLOTS)
        assert await passes(1, LOOK)
        assert not await passes(1, LOOK, LOOK)
        assert not await passes(0, MOVE)
        assert not await passes(0, LOOK, MOVE)
        assert not await passes(0, SLOTS, MOVE)
        assert not await passes(0, call("get_booking", booking_id="BK-1043"))
        assert not await passes(3, SLOTS)

    async def test_a_call_where_text_is_due_fails(self, rules: Judge, boat_conversation: Conversation) -> None:
        """The recording speaks to the user here, so even a read is out of place."""
        judged = await verdict(rules, boat_conversation, 1, calling(LOOK))
        assert (judged.success, judged.category) == (False, "uncalled_call")


class TestTexts:
    @pytest.mark.parametrize(
        "answer",
        [
            "It is for two people on 30 April. Shall I move it to 2 May?",
            "Your booking for 2 people is on 2031-04-30 now. Should I move it to 2031-05-02?",
            "I see two people on April 30th under BK-1042; shall I move that to May 2?",
        ],
    )
    async def test_other_words_for_the_same_facts_pass(
        self, rules: Judge, boat_conversation: Conversation, answer: str
    ) -> None:
        """Every fact of the reference, in any spelling, and facts of the history beside them."""
        assert (await verdict(rules, boat_conversation, 1, answer)).success

    @pytest.mark.parametrize(
        ("answer", "category", "named"),
        [
            ("It is for three people on 30 April. Shall I move it to 2 May?", "missing_fact", "two"),
            ("It is for two people. Shall I move it to 2 May?", "missing_fact", "30 April"),
            ("It is for two people on 30 April. Shall I move it to 12 May?", "missing_fact", "12 May"),
            ("It is for two people on 30 April, 45 euros each. Shall I move it to 2 May?", "invented_fact", "45"),
            ("BK-1043 is for two people on 30 April. Shall I move it to 2 May?", "invented_fact", "BK-1043"),
            ("", "empty_answer", ""),
            (" \n", "empty_answer", ""),
        ],
    )
    async def test_missing_and_invented_facts_fail_by_name(
        self, rules: Judge, boat_conversation: Conversation, answer: str, category: str, named: str
    ) -> None:
        """The rationale names what is missing or invented."""
        judged = await verdict(rules, boat_conversation, 1, answer)
        assert (judged.success, judged.category) == (False, category)
        assert named in judged.rationale

    async def test_unrelated_talk_fails_by_the_floor(self, rules: Judge, boat_conversation: Conversation) -> None:
        """Where the reference states no fact, a little likeness is asked for; a floor of 0 asks for none."""
        messages = (UserMessage(content="I want to move it."), AssistantMessage(content="Which booking do you mean?"))
        conversation = msgspec.structs.replace(boat_conversation, messages=messages)
        assert (await verdict(rules, conversation, 0, "Could you tell me which booking that is?")).success
        judged = await verdict(rules, conversation, 0, "Bananas grow quickly under warm skies.")
        assert (judged.success, judged.category) == (False, "dissimilar")
        lenient = judges.build("rules", JudgeConfig(similarity_floor=0.0), MatchConfig(), ModelContext())
        assert (await verdict(lenient, conversation, 0, "Bananas grow quickly under warm skies.")).success
        assert lenient.identity() != rules.identity()

    async def test_texts_without_latin_letters_are_compared(
        self, rules: Judge, boat_conversation: Conversation
    ) -> None:
        """TXT-01: likeness of other scripts is not 0."""
        reference = "どの予約のことですか。"
        messages = (UserMessage(content="移したい"), AssistantMessage(content=reference))
        conversation = msgspec.structs.replace(boat_conversation, messages=messages)
        assert (await verdict(rules, conversation, 0, reference)).success
        assert not (await verdict(rules, conversation, 0, "Bananas grow.")).success

    async def test_nothing_after_the_decision_vouches_for_a_fact(
        self, rules: Judge, boat_conversation: Conversation
    ) -> None:
        """JDG-08: what a later result brings is invented when it is said before."""
        later = ToolMessage(content='{"ok": true, "fee": 77}')
        messages = (*boat_conversation.messages[:6], later, boat_conversation.messages[7])
        conversation = msgspec.structs.replace(boat_conversation, messages=messages)
        judged = await verdict(
            rules, conversation, 1, "It is for two people on 30 April. Shall I move it to 2 May? That costs 77."
        )
        assert (judged.success, judged.category) == (False, "invented_fact")


class TestWorkflows:
    @pytest.fixture
    def replay(self, boat_conversation: Conversation) -> Trajectory:
        """The recording replayed as it is."""
        return recorded_replay(boat_conversation)

    async def judge(self, rules: Judge, conversation: Conversation, trajectory: Trajectory) -> Verdict:
        return await rules.workflow(WorkflowCase(conversation=conversation, trajectory=trajectory))

    async def test_the_recording_itself_passes(
        self, rules: Judge, boat_conversation: Conversation, replay: Trajectory
    ) -> None:
        """The reference is a success."""
        assert (await self.judge(rules, boat_conversation, replay)).success

    async def test_facts_may_be_told_elsewhere_and_the_users_own_not_at_all(
        self, rules: Judge, boat_conversation: Conversation, replay: Trajectory
    ) -> None:
        """What counts is that the user was told; what the user said need not be told back."""
        told = saying(replay, "Shall I move it?", "Done: two people, 2 May instead of 30 April. Your booking is moved.")
        assert (await self.judge(rules, boat_conversation, told)).success
        brief = saying(replay, "It is for two people on 30 April. Shall I move it?", "Done, it is moved.")
        assert (await self.judge(rules, boat_conversation, brief)).success

    @pytest.mark.parametrize(
        ("texts", "category"),
        [
            (("Shall I move it for the two of you?", "Done, your booking is on 2 May."), "missing_fact"),
            (("It is for two people on 30 April. Shall I move it?", "Done, it is on 3 May."), "invented_fact"),
            (("It is for two people on 30 April. Shall I move it?", ""), "empty_answer"),
        ],
    )
    async def test_a_completed_replay_fails_by_what_it_says(
        self,
        rules: Judge,
        boat_conversation: Conversation,
        replay: Trajectory,
        texts: tuple[str, str],
        category: str,
    ) -> None:
        """All calls were right, but the user was not told, told wrongly, or left without an answer."""
        judged = await self.judge(rules, boat_conversation, saying(replay, *texts))
        assert (judged.success, judged.category) == (False, category)

    async def test_an_unresolved_error_keeps_its_category(
        self, rules: Judge, boat_conversation: Conversation, replay: Trajectory
    ) -> None:
        """A replay that did not complete fails for the replay's own reason."""
        problem = Problem(category=Category.MISSING_CALL, decision=2, event=5, detail="move_booking was never called")
        failed = msgspec.structs.replace(replay, completed=False, problems=(problem,))
        judged = await self.judge(rules, boat_conversation, failed)
        assert (judged.success, judged.category) == (False, "missing_call")
        assert judged.rationale == "move_booking was never called"


async def test_the_recording_is_right_about_itself(rules: Judge, shared: Path) -> None:
    """On real recordings every reference passes, as a decision and as a whole."""
    for folder in ("tau2-results", "tooltalk"):
        for conversation in read(DataConfig(paths=(str(shared / folder),))):
            for decision in decisions(conversation):
                judged = await verdict(rules, conversation, decision.index, decision.reference)
                assert judged.success, (conversation.id, decision.index, judged)
            case = WorkflowCase(conversation=conversation, trajectory=recorded_replay(conversation))
            judged = await rules.workflow(case)
            assert judged.success, (conversation.id, judged)
