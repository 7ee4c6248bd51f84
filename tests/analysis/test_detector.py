"""What detectors find in failed replays of the boat-hire desk, and where their evidence lies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from turngap.analysis.detector import Detector, Finding, Scene, detect
from turngap.config import MatchConfig, ReplayConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Prediction,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from turngap.metrics.matching import Matcher
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay


def call(name: str, **arguments: Any) -> AssistantMessage:
    """A message with one call."""
    return AssistantMessage(calls=(ToolCall(name=name, arguments=arguments),))


def say(text: str) -> AssistantMessage:
    """A message of text."""
    return AssistantMessage(content=text)


GET = call("get_booking", booking_id="BK-1042")
MOVE = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2)


def replayed(conversation: Conversation, script: Iterable[AssistantMessage | Prediction], **rules: Any) -> Trajectory:
    """The replay of a scripted model, which says goodbye when the script is over."""
    answers = iter(script)

    def act(_request: Any) -> Prediction:
        answer = next(answers, say("Goodbye."))
        return answer if isinstance(answer, Prediction) else Prediction(message=answer)

    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    found = asyncio.run(replay.run(ScriptedModel(act), conversation, matcher, ReplayConfig(**rules)))
    assert isinstance(found, Trajectory)
    return found


def findings(conversation: Conversation, script: Iterable[AssistantMessage | Prediction]) -> dict[Detector, Finding]:
    """What is found in the first failure."""
    trajectory = replayed(conversation, script)
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    scene = Scene(conversation, trajectory, trajectory.problems[0], matcher)
    return {finding.detector: finding for finding in detect(scene)}


def test_an_invented_value_stands_nowhere_in_the_history(boat_conversation: Conversation) -> None:
    """A date that nobody mentioned is named with the place of the right one."""
    found = findings(
        boat_conversation,
        [GET, say("Shall I?"), call("move_booking", booking_id="BK-1042", date="2031-05-09", seats=2)] * 3,
    )
    evidence = found[Detector.INVENTED_VALUE]
    assert 'date: "2031-05-09" for "2031-05-02" stands nowhere' in evidence.evidence
    assert "user (event 0)" in evidence.evidence
    assert evidence.event == 4


def test_spellings_of_a_known_value_are_not_invented(boat_conversation: Conversation) -> None:
    """2 May, said by the user, bears out 2031-05-02 in a call."""
    wrong = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=9)
    found = findings(boat_conversation, [GET, say("Shall I?"), *[wrong] * 3])
    assert Detector.INVENTED_VALUE in found
    assert "seats" in found[Detector.INVENTED_VALUE].evidence
    assert "date" not in found[Detector.INVENTED_VALUE].evidence


def test_an_invented_value_does_not_become_known_by_being_said(boat_conversation: Conversation) -> None:
    """What the agent says itself is no source."""
    wrong = call("move_booking", booking_id="BK-1042", date="2031-06-07", seats=2)
    found = findings(boat_conversation, [GET, say("Shall I move it to 2031-06-07?"), *[wrong] * 3])
    assert Detector.INVENTED_VALUE in found


def _with_two_bookings(conversation: Conversation) -> Conversation:
    first, *rest = conversation.messages
    del first
    return msgspec.structs.replace(
        conversation, messages=(UserMessage(content="Not BK-2000, please move BK-1042 to 2 May."), *rest)
    )


def test_an_identifier_of_something_else_is_a_wrong_entity(boat_conversation: Conversation) -> None:
    """The other booking that the history names."""
    found = findings(_with_two_bookings(boat_conversation), [call("get_booking", booking_id="BK-2000")] * 3)
    assert 'booking_id: "BK-2000" for "BK-1042", heard in user (event 0)' in found[Detector.WRONG_ENTITY].evidence
    assert Detector.INVENTED_VALUE not in found


def test_a_value_that_the_user_replaced_is_stale(boat_conversation: Conversation) -> None:
    """The user first wanted 5 May, then 2 May."""
    messages = list(boat_conversation.messages)
    messages[0] = UserMessage(content="Please move BK-1042 to 5 May.")
    messages[4] = UserMessage(content="No, rather to 2 May. Yes.")
    changed = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    stale = call("move_booking", booking_id="BK-1042", date="2031-05-05", seats=2)
    found = findings(changed, [GET, say("Shall I?"), *[stale] * 3])
    assert "last heard in user (event 0), the other then in user (event 3)" in found[Detector.STALE_VALUE].evidence


def test_a_value_that_had_to_be_worked_out_is_not_called_invented(boat_conversation: Conversation) -> None:
    """Where the recorded value stands nowhere either, the finding says so."""
    messages = list(boat_conversation.messages)
    right = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2, deposit=73.5)
    messages[5] = right
    changed = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    wrong = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2, deposit=61.5)
    found = findings(changed, [GET, say("Shall I?"), *[wrong] * 3])
    assert Detector.MISCOMPUTED_VALUE in found
    assert Detector.INVENTED_VALUE not in found


def test_missing_and_extra_arguments_are_named(boat_conversation: Conversation) -> None:
    """What the recorded call has and the other has not, and the other way round."""
    wrong = call("move_booking", booking_id="BK-1042", date="2031-05-02", deposit=10.0)
    found = findings(boat_conversation, [GET, say("Shall I?"), *[wrong] * 3])
    assert found[Detector.MISSING_ARGUMENT].evidence == "seats: 2"
    assert found[Detector.EXTRA_ARGUMENT].evidence.startswith("deposit: 10")


def test_arguments_that_the_schema_refuses(boat_conversation: Conversation) -> None:
    """The schema's own words are the evidence."""
    found = findings(boat_conversation, [call("get_booking", id="BK-1042")] * 3)
    assert "booking_id" in found[Detector.REFUSED_BY_SCHEMA].evidence


def test_a_tool_that_does_not_exist(boat_conversation: Conversation) -> None:
    """An invented tool name, repeated although it was rejected."""
    found = findings(boat_conversation, [call("fetch_booking", booking_id="BK-1042")] * 3)
    assert "fetch_booking" in found[Detector.UNKNOWN_TOOL].evidence
    assert found[Detector.UNHEEDED_ERROR].evidence == "fetch_booking as in event 1"
    assert Detector.UNRECORDED_TOOL not in found


def test_a_tool_that_the_recording_never_calls(boat_conversation: Conversation) -> None:
    """An existing tool that nobody needs here, asking for something that nobody said."""
    found = findings(boat_conversation, [call("find_customer", email="a@example.org")] * 3)
    assert set(found) == {Detector.UNRECORDED_TOOL, Detector.INVENTED_VALUE, Detector.UNHEEDED_ERROR}


def test_a_call_before_the_user_has_spoken_again(boat_conversation: Conversation) -> None:
    """The evidence is what the user says before the recording makes that call."""
    found = findings(boat_conversation, [MOVE] * 3)
    evidence = found[Detector.BEFORE_USER_TURN].evidence
    assert evidence == 'the recording calls move_booking so at decision 2, after the user has said "Yes."'


def test_a_call_that_skips_the_due_one(boat_conversation: Conversation) -> None:
    """Both calls in one turn, in the wrong order."""
    messages = [message for message in boat_conversation.messages if message.__struct_config__.tag != "user"]
    del messages[2]
    one_turn = msgspec.structs.replace(
        boat_conversation, messages=(UserMessage(content="Move BK-1042 to 2 May."), *messages)
    )
    found = findings(one_turn, [MOVE] * 3)
    assert "after get_booking" in found[Detector.OUT_OF_ORDER].evidence


def test_a_call_where_the_recording_speaks_and_one_that_was_made_already(boat_conversation: Conversation) -> None:
    """Repeating an accepted call, and calling anything else where text is due."""
    assert Detector.REPEATED_CALL in findings(boat_conversation, [GET] * 4)
    found = findings(boat_conversation, [GET, *[call("list_slots")] * 3])
    assert Detector.UNCALLED_CALL in found


@pytest.mark.parametrize(
    ("answers", "notes", "detector"),
    [
        (["Which booking?", "Sorry, which one?"], (), Detector.ASKED_INSTEAD),
        (["", ""], (), Detector.EMPTY_ANSWER),
        (['{"name": "get_booking"}', "Hm."], ("unparsed_call",), Detector.CALL_IN_TEXT),
    ],
)
def test_what_came_instead_of_a_call(
    boat_conversation: Conversation, answers: list[str], notes: tuple[str, ...], detector: Detector
) -> None:
    """A question, nothing, or a call that nobody could read."""
    script = [Prediction(message=say(answer), notes=notes) for answer in answers]
    found = findings(boat_conversation, script)
    assert detector in found
    assert found[detector].event == 1


def test_plain_talk_instead_of_a_call_is_left_to_a_reader(boat_conversation: Conversation) -> None:
    """No detector guesses why a call was never made."""
    assert findings(boat_conversation, [say("All done."), say("Bye.")]) == {}


def test_some_calls_of_a_decision_were_never_made(boat_conversation: Conversation) -> None:
    """The evidence counts those that were made."""
    messages = list(boat_conversation.messages)
    both = AssistantMessage(calls=(*GET.calls, *call("list_slots").calls))
    slots = ToolMessage(name="list_slots", content="[]")
    changed = msgspec.structs.replace(
        boat_conversation, messages=(messages[0], both, messages[2], slots, *messages[3:])
    )
    found = findings(changed, [GET, say("It is open."), say("Bye.")])
    assert found[Detector.PARTIAL_CALLS].evidence == "1 of 2 calls made; never: list_slots"


def test_values_under_keys_of_results_are_heard(boat_conversation: Conversation) -> None:
    """Some interfaces answer with identifiers as keys of objects."""
    messages = list(boat_conversation.messages)
    messages[2] = ToolMessage(name="get_booking", content=json.dumps({"related": {"BK-3001": {"state": "open"}}}))
    changed = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    wrong = call("move_booking", booking_id="BK-3001", date="2031-05-02", seats=2)
    found = findings(changed, [GET, say("Shall I?"), *[wrong] * 3])
    assert Detector.WRONG_ENTITY in found


def test_a_reference_has_no_findings(boat_conversation: Conversation) -> None:
    """A model that does what was recorded has no failure to explain."""
    done = say("Done, your booking is on 2 May.")
    assert replayed(boat_conversation, [GET, say("Shall I move it?"), MOVE, done]).problems == ()
