"""Tools and arguments that settings name are held against the data, so that a typo is no lenient comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.config import DataConfig, EvalConfig, MatchConfig, ModelConfig
from turngap.data import Conversation, ToolSpec
from turngap.errors import UsageError
from turngap.protocols.naming import Known, check, require_known


def _known(*conversations: Conversation) -> Known:
    known = Known()
    for conversation in conversations:
        known.add(conversation)
    return known


def test_names_of_the_data_pass(boat_conversation: Conversation) -> None:
    """Declared tools with their arguments, the name alone, and a path below an argument are all known."""
    match = MatchConfig(
        compare_args={"move_booking": ("booking_id", "seats"), "hand_over": ()},
        set_args={"move_booking": ("tags",)},
        fold_times={"set_contact": ("contact.name",)},
    )
    assert check(match, _known(boat_conversation)) == []


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (
            MatchConfig(compare_args={"move_booking": ("bookingid",)}),
            "move_booking has no argument 'bookingid'; did you mean booking_id?",
        ),
        (
            MatchConfig(compare_args={"move_boking": ()}),
            "no tool 'move_boking' in the data; did you mean move_booking or get_booking?",
        ),
        (MatchConfig(compare_args={"hand_over": ("zzz",)}), "hand_over has no argument 'zzz'; known: summary"),
        (MatchConfig(compare_args={"list_slots": ("day",)}), "list_slots has no argument 'day'; it takes none"),
        (MatchConfig(compare_args={"set_contact": ("contact.name",)}), "no argument 'contact.name'"),
        (MatchConfig(set_args={"move_booking": ("tagz",)}), "match.set_args: move_booking has no argument 'tagz'"),
        (MatchConfig(fold_times={"move": ("date",)}), "match.fold_times: no tool 'move' in the data"),
    ],
)
def test_an_unknown_name_is_an_error_with_what_comes_near(
    boat_conversation: Conversation, match: MatchConfig, said: str
) -> None:
    """Each setting is named with the tool or argument that the data do not know."""
    with pytest.raises(UsageError) as caught:
        check(match, _known(boat_conversation))
    assert said in str(caught.value)


def test_every_unknown_name_is_told_at_once(boat_conversation: Conversation) -> None:
    """Several mistakes are one error."""
    match = MatchConfig(compare_args={"move_booking": ("dat", "seets")})
    with pytest.raises(UsageError, match=r"'dat'.*; match.*'seets'"):
        check(match, _known(boat_conversation))


def test_properties_behind_a_union_are_known() -> None:
    """A schema may declare its arguments in alternatives."""
    schema = {"anyOf": [{"properties": {"email": {}}}, {"properties": {"phone": {}}}]}
    conversation = Conversation(id="c", tools=(ToolSpec(name="find", parameters=schema),))
    assert check(MatchConfig(compare_args={"find": ("email", "phone")}), _known(conversation)) == []


def test_without_schemas_there_is_a_note_and_recorded_calls_speak(boat_conversation: Conversation) -> None:
    """Data that declare no tools: what recorded calls name is known, the rest cannot be checked, and is said."""
    bare = msgspec.structs.replace(boat_conversation, tools=())
    assert check(MatchConfig(compare_args={"move_booking": ("date",)}), _known(bare)) == []
    assert check(MatchConfig(compare_args={"move_booking": ("dat",)}), _known(bare)) == [
        "match.compare_args (--compare-args): move_booking has no schema in the data, and no recorded call has dat"
    ]
    (note,) = check(MatchConfig(compare_args={"fly": ()}), _known(bare))
    assert "'fly' was not checked: the data declare no tools" in note


def test_data_are_read_only_where_something_is_named(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """Without such settings no file is opened; with them, the configured files say what is known."""
    config = EvalConfig(data=DataConfig(paths=(str(tmp_path / "boats.jsonl"),)), model=ModelConfig(spec="openai/m"))
    assert require_known(config) == []
    (tmp_path / "boats.jsonl").write_text(json.dumps(boat_record), encoding="utf-8")
    wrong = msgspec.structs.replace(config, match=MatchConfig(compare_args={"hand_ower": ()}))
    with pytest.raises(UsageError, match="hand_over"):
        require_known(wrong)
