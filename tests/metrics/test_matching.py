"""Call matching: the cases by id, and the properties that nobody can see by eye."""

from __future__ import annotations

import copy
import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.data.arguments import parse_call
from turngap.metrics.matching import Matcher

ABSENT = object()
MALFORMED = '{"booking_id": "BK-1042", "date": "2031-05-02"'


@pytest.fixture
def matcher(boat_tools: tuple[ToolSpec, ...]) -> Matcher:
    """The boat-hire desk under the default rules."""
    return Matcher(boat_tools, MatchConfig())


def move(booking: str = "BK-1", date: str = "2031-05-02", **more: Any) -> ToolCall:
    """A call that moves a booking; an argument given as ABSENT is left out."""
    given_ones = {name: value for name, value in more.items() if value is not ABSENT}
    return ToolCall(name="move_booking", arguments={"booking_id": booking, "date": date, **given_ones})


def get(booking: str = "BK-1") -> ToolCall:
    """A call that looks a booking up."""
    return ToolCall(name="get_booking", arguments={"booking_id": booking})


def contact(**fields: Any) -> ToolCall:
    """A call that sets a contact."""
    return ToolCall(name="set_contact", arguments={"booking_id": "BK-1", "contact": fields})


def one_tool(schema: dict[str, Any], rules: MatchConfig | None = None) -> Matcher:
    """A matcher of the single tool `t` with argument `x` of the given schema, optional unless `required` says so."""
    parameters = {"type": "object", "properties": {"x": schema}}
    return Matcher([ToolSpec(name="t", parameters=parameters)], rules or MatchConfig())


def t(value: Any = ABSENT) -> ToolCall:
    """A call of the tool `t`."""
    return ToolCall(name="t", arguments={} if value is ABSENT else {"x": value})


@pytest.mark.parametrize(
    ("predicted", "equal"),
    [(2, True), (2.0, True), ("2", True), ("2.0", True), (" 2 ", True), (2.5, False), (True, False), ("02", False)],
)
def test_mat_01_integers_are_equal_when_nothing_is_lost(matcher: Matcher, predicted: Any, equal: bool) -> None:
    """MAT-01: a text or float that is exactly the integer equals it; anything else differs."""
    assert matcher.same(move(seats=predicted), move(seats=2)) is equal


@pytest.mark.parametrize(
    ("predicted", "equal"), [("true", True), ("True", True), (1, False), ("1", False), ("yes", False)]
)
def test_mat_01_booleans_are_never_numbers(matcher: Matcher, predicted: Any, equal: bool) -> None:
    """MAT-01: the words true and false count in any case (Python writes True), the number 1 does not."""
    assert matcher.same(move(notify=predicted), move(notify=True)) is equal


@pytest.mark.parametrize(("predicted", "equal"), [("02134", True), (2134, False), ("2134", False)])
def test_mat_01_declared_strings_stay_strings(matcher: Matcher, predicted: Any, equal: bool) -> None:
    """MAT-01: no coercion ever loses a leading zero, or turns a number into a string."""
    assert matcher.same(contact(postcode=predicted), contact(postcode="02134")) is equal


def test_mat_01_integers_keep_all_digits(matcher: Matcher) -> None:
    """MAT-01: integers above 2**53 compare exactly, as numbers and as texts."""
    big = 2**53
    assert not matcher.same(move(seats=big), move(seats=big + 1))
    assert not matcher.same(move(seats=str(big)), move(seats=big + 1))
    assert matcher.same(move(seats=f"{big + 1}.0"), move(seats=big + 1))
    assert matcher.same(move(seats=10**60), move(seats="1" + "0" * 60))


def test_numbers_compare_by_value(matcher: Matcher) -> None:
    """5 and 5.0 and 5e0 are one number, also where no schema knows the argument; -0.0 is 0."""
    assert matcher.same(move(deposit=100), move(deposit=1e2))
    assert matcher.same(move(deposit="1e2"), move(deposit=100))
    assert matcher.same(move(deposit=-0.0), move(deposit=0))
    assert matcher.same(move(unknown=5), move(unknown=5.0))
    assert matcher.same(move(deposit=1e23), move(deposit=10**23))
    assert not matcher.same(move(deposit=True), move(deposit=1))
    assert not matcher.same(move(unknown="5"), move(unknown=5))


@pytest.mark.parametrize(
    "text", ["1e999", "1e-999", "NaN", "Infinity", "0x10", "1_000", "1,000", "+5", "٣", "9" * 5000]
)
def test_what_is_no_json_number_stays_text(matcher: Matcher, text: str) -> None:
    """A text that is no finite JSON number is left as it is, and matches only itself."""
    assert matcher.normalise(move(deposit=text)).arguments == move(deposit=text).arguments
    assert matcher.same(move(deposit=text), move(deposit=text))


@pytest.mark.parametrize(
    "predicted", [{}, {"notify": True}, {"deposit": None}, {"seats": 1}, {"seats": None}, {"seats": "1", "tags": None}]
)
def test_mat_02_defaults_and_null_equal_absence(matcher: Matcher, predicted: dict[str, Any]) -> None:
    """MAT-02: a spelled out default, and null for an optional argument that cannot be null, equal an absent argument."""
    assert matcher.same(move(**predicted), move(seats=1))
    assert matcher.problem(move(**predicted)) is None


def test_mat_02_declared_null_beside_another_default_is_a_value() -> None:
    """MAT-02: where the schema declares null and another default, null says something that leaving out does not."""
    nullable = one_tool({"type": ["integer", "null"], "default": 1})
    assert not nullable.same(t(None), t())
    assert nullable.same(t(1), t())
    assert one_tool({"type": ["integer", "null"]}).same(t(None), t())
    assert one_tool({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}).same(t(None), t())


def test_a_required_argument_is_never_taken_as_given(matcher: Matcher) -> None:
    """Neither null nor a stated default makes up for a required argument that is missing."""
    schema = {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}, "required": ["x"]}
    strict = Matcher([ToolSpec(name="t", parameters=schema)], MatchConfig())
    assert not strict.same(t(), t(1))
    assert not matcher.same(ToolCall(name="get_booking", arguments={"booking_id": None}), get())
    assert not matcher.same(
        ToolCall(name="get_booking", arguments={"booking_id": None}), ToolCall(name="get_booking", arguments={})
    )


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_mat_04_pairing_is_optimal(matcher: Matcher, order: tuple[int, ...]) -> None:
    """MAT-04: the partial score does not depend on the order in which calls are listed."""
    reference = [move("BK-1", seats=2), move("BK-2", seats=2)]
    prediction = [move("BK-2", seats=2), move("BK-1", "2031-05-09", seats=9)]
    score = matcher.arg_f1(prediction, [reference[index] for index in order])
    assert score.f1 == pytest.approx(2 / 3)
    assert (score.tp, score.n_pred, score.n_ref) == (4, 6, 6)


def test_mat_05_order_inside_a_message_does_not_matter(matcher: Matcher) -> None:
    """MAT-05: calls of one message compare without order; one call too many is not exact."""
    find = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
    assert matcher.exact([find, get()], [get(), find])
    assert not matcher.exact([find, get()], [get()])
    assert matcher.names([find, get()], [get(), find])
    assert not matcher.names([find, get()], [get()])


@pytest.mark.parametrize("emitted", ["{}", {}, None, "", "null"])
def test_mat_06_empty_equals_empty(matcher: Matcher, boat_tools: tuple[ToolSpec, ...], emitted: Any) -> None:
    """MAT-06: a call without arguments is right when none are due."""
    spec = next(tool for tool in boat_tools if tool.name == "list_slots")
    prediction, reference = parse_call("list_slots", emitted, spec), ToolCall(name="list_slots", arguments={})
    assert matcher.exact([prediction], [reference])
    assert matcher.arg_f1([prediction], [reference]).f1 == 1


def test_mat_06_an_unknown_argument_counts(matcher: Matcher) -> None:
    """MAT-06: an argument that the schema does not know is not dropped, nor is null for it."""
    reference = ToolCall(name="list_slots", arguments={})
    for extra in ({"page": 1}, {"page": None}):
        prediction = ToolCall(name="list_slots", arguments=extra)
        assert not matcher.exact([prediction], [reference])
        assert matcher.arg_f1([prediction], [reference]).f1 == 0


def test_mat_07_text_for_a_tool_decision_scores_0(matcher: Matcher) -> None:
    """MAT-07: no call where one is due scores 0 everywhere; nothing against nothing is 1 and counts no leaf."""
    assert not matcher.exact([], [get()])
    assert not matcher.names([], [get()])
    assert matcher.arg_f1([], [get()]).f1 == 0
    assert matcher.arg_f1([], []).f1 == 1
    assert matcher.exact([], [])


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [(None, ABSENT, True), ([], ABSENT, False), ([], None, False), ("", None, False), ("", ABSENT, False)],
)
def test_mat_10_empty_is_not_absent(matcher: Matcher, left: Any, right: Any, equal: bool) -> None:
    """MAT-10: null for an optional argument equals absent; an empty list or text does not."""
    assert matcher.same(move(tags=left), move(tags=right)) is equal


@pytest.mark.parametrize("other", ["2031-05-02T09:00:00+00:00", "2031-05-02T11:00:00+02:00", "2031-05-02 09:00Z"])
def test_mat_10_instants_fold_only_by_rule(boat_tools: tuple[ToolSpec, ...], matcher: Matcher, other: str) -> None:
    """MAT-10: spellings of one instant differ by default and are equal under an explicit rule for the argument."""
    zulu = "2031-05-02T09:00:00Z"
    folding = Matcher(boat_tools, MatchConfig(fold_times={"move_booking": ("date",)}))
    assert not matcher.same(move(date=other), move(date=zulu))
    assert folding.same(move(date=other), move(date=zulu))
    assert not folding.same(move(date="2031-05-02T09:00:00"), move(date=zulu))
    assert not folding.same(move(date="2031-05-02T09:00:00.0000001Z"), move(date=zulu))


def test_mat_11_explanations_name_the_sides(matcher: Matcher) -> None:
    """MAT-11: the recorded call is called reference and the model's call prediction."""
    find = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
    assert matcher.explain(find, get()) == (
        'reference: get_booking(booking_id="BK-1"), prediction: find_customer(email="a@example.org")'
    )
    assert matcher.explain(move(seats=3), move(date="2031-05-09")) == (
        'move_booking: date: reference "2031-05-09", prediction "2031-05-02"; seats: reference absent, prediction 3'
    )
    assert matcher.explain(move(seats="1"), move()) == "move_booking: no difference"
    malformed = parse_call("move_booking", MALFORMED)
    assert "prediction: move_booking(malformed: " in matcher.explain(malformed, move())


def test_ing_01_malformed_calls_match_nothing(matcher: Matcher) -> None:
    """ING-01: broken arguments score 0 even against themselves, and the problem names the parse position."""
    malformed = parse_call("move_booking", MALFORMED)
    assert not matcher.same(malformed, malformed)
    assert not matcher.exact([malformed], [malformed])
    assert matcher.arg_f1([malformed], [move()]).f1 == 0
    assert matcher.arg_f1([malformed, get()], [get()]).f1 == pytest.approx(2 / 3)
    problem = matcher.problem(malformed)
    assert problem is not None
    assert f"column {len(MALFORMED) + 1}" in problem


def test_ing_04_json_in_strings_is_read_where_the_schema_wants_it(matcher: Matcher) -> None:
    """ING-04: a JSON text is parsed for an object or array argument, and stays a text for a string argument."""
    assert matcher.same(parse_call("get_booking", json.dumps(json.dumps({"booking_id": "BK-1"}))), get())
    spelled = ToolCall(name="set_contact", arguments={"booking_id": "BK-1", "contact": '{"name":"R. Vale"}'})
    assert matcher.same(spelled, contact(name="R. Vale"))
    assert matcher.same(move(tags='["b", "a"]'), move(tags=["a", "b"]))
    note = ToolCall(name="add_note", arguments={"booking_id": "BK-1", "text": '{"seats": 2}'})
    parsed = ToolCall(name="add_note", arguments={"booking_id": "BK-1", "text": {"seats": 2}})
    assert matcher.normalise(note) == note
    assert not matcher.same(note, parsed)


def test_ing_12_texts_from_xml_dialects(matcher: Matcher) -> None:
    """ING-12: 2.0 becomes 2, an id that looks numeric stays text, and what does not fit stays and is refused."""
    assert matcher.same(move("001042", seats="2.0"), move("001042", seats=2))
    assert not matcher.same(move("001042"), move("1042"))
    for odd in ("two", "2.5"):
        assert matcher.normalise(move(seats=odd)).arguments == move(seats=odd).arguments
        assert not matcher.same(move(seats=odd), move(seats=2))
        assert matcher.problem(move(seats=odd)) == (
            f"invalid arguments for move_booking: argument 'seats' should be an integer, not \"{odd}\""
        )


def test_text_is_folded(matcher: Matcher) -> None:
    """Composed and decomposed letters, outer and inner white space do not tell strings apart; case does."""
    assert matcher.same(contact(name="  Jos\u00e9\u00a0  Vale "), contact(name="Jose\u0301 Vale"))
    assert not matcher.same(contact(name="vale"), contact(name="Vale"))


def test_sets_compare_without_order_and_with_multiplicity(boat_tools: tuple[ToolSpec, ...], matcher: Matcher) -> None:
    """The schema's uniqueItems and the rules' set_args switch order off; how often an element stands there still counts."""
    assert matcher.same(move(tags=["a", "b"]), move(tags=["b", "a"]))
    assert not matcher.same(move(tags=["a", "a"]), move(tags=["a"]))
    assert matcher.arg_f1([move(tags=["a", "b"])], [move(tags=["b", "c"])]).tp == 3
    listed = {"set_contact": ("contact.phones",)}
    by_rule = Matcher(boat_tools, MatchConfig(set_args=listed))
    left, right = contact(phones=["1", "2"]), contact(phones=["2", "1"])
    assert by_rule.same(left, right)
    assert not matcher.same(left, right)


def test_an_element_of_a_set_is_one_leaf() -> None:
    """Fields of two objects in a set cannot be mixed to look right: f1 is 1 only where the calls are equal."""
    sets = one_tool({"type": "array", "uniqueItems": True})
    crossed = sets.arg_f1([t([{"a": 1, "b": 2}, {"a": 3, "b": 4}])], [t([{"a": 1, "b": 4}, {"a": 3, "b": 2}])])
    assert crossed.f1 == 0


def test_enums_fold_case_unless_case_tells_values_apart() -> None:
    """An enum's value may be spelled in any case when the values stay distinct without it."""
    assert one_tool({"enum": ["Open", "Closed"]}).same(t("open"), t("Open"))
    assert one_tool({"enum": ["Open", "Closed"]}).problem(t("open")) is None
    assert not one_tool({"enum": ["a", "A"]}).same(t("a"), t("A"))
    assert not one_tool({"type": "string"}).same(t("open"), t("Open"))


def test_ing_02_arguments_that_are_no_object(matcher: Matcher, boat_tools: tuple[ToolSpec, ...]) -> None:
    """ING-02: arguments that decode to something else are malformed and match nothing."""
    for emitted in ('"BK-1042"', "[1]", "17", "null"):
        call = parse_call("get_booking", emitted, boat_tools[0])
        assert not matcher.same(call, get("BK-1042"))
        assert "cannot be read" in (matcher.problem(call) or "")


def test_without_tools_no_name_is_unknown() -> None:
    """A recording that lacks tool schemas can still be matched, by value."""
    matcher = Matcher((), MatchConfig())
    assert matcher.problem(get()) is None
    assert matcher.same(get(), get())
    assert not matcher.same(get("1"), ToolCall(name="get_booking", arguments={"booking_id": 1}))


def test_compare_args_leave_arguments_out(boat_tools: tuple[ToolSpec, ...]) -> None:
    """Only the listed arguments count; the rules' list wins over the conversation's; an empty list leaves the name."""
    say = [ToolCall(name="hand_over", arguments={"summary": text}) for text in ("one", "two")]
    by_conversation = Matcher(boat_tools, MatchConfig(), {"hand_over": (), "move_booking": ("date",)})
    assert by_conversation.exact(say[:1], say[1:])
    assert by_conversation.arg_f1(say[:1], say[1:]).f1 == 1
    assert by_conversation.same(move("BK-1"), move("BK-2"))
    overruled = Matcher(boat_tools, MatchConfig(compare_args={"hand_over": ("summary",)}), {"hand_over": ()})
    assert not overruled.same(*say)


@pytest.mark.parametrize(
    ("switch", "left", "right"),
    [
        ("coerce", move(seats="2"), move(seats=2)),
        ("fold_text", move(" BK-1"), move("BK-1")),
        ("defaults", move(seats=1), move()),
        ("defaults", move(deposit=None), move()),
        ("sets", move(tags=["a", "b"]), move(tags=["b", "a"])),
        ("parse_strings", move(tags='["a"]'), move(tags=["a"])),
        ("parse_strings", parse_call("get_booking", json.dumps('{"booking_id": "BK-1"}')), get()),
    ],
)
def test_every_step_can_be_switched_off(
    boat_tools: tuple[ToolSpec, ...], switch: str, left: ToolCall, right: ToolCall
) -> None:
    """Without its step, what the step makes equal differs."""
    assert Matcher(boat_tools, MatchConfig()).same(left, right)
    assert not Matcher(boat_tools, MatchConfig(**{switch: False})).same(left, right)  # type: ignore[arg-type]


def test_enum_case_can_be_switched_off() -> None:
    """Without its step, an enum's case counts like any other."""
    assert not one_tool({"enum": ["Open"]}, MatchConfig(enum_case=False)).same(t("open"), t("Open"))


def test_deep_arguments_do_not_overflow(matcher: Matcher) -> None:
    """Arguments as deep as the JSON reader allows are compared, explained and checked."""
    deep: Any = 1
    for _ in range(98):
        deep = {"a": [deep]}
    call = ToolCall(name="set_contact", arguments={"booking_id": "BK-1", "contact": deep})
    assert matcher.same(call, copy.deepcopy(call))
    assert matcher.arg_f1([call], [call]).f1 == 1
    assert matcher.problem(call) is None


def test_matching_loads_neither_scipy_nor_jsonschema() -> None:
    """The usual decision of one call is matched without loading a heavy library."""
    program = (
        "import sys\nfrom turngap.metrics.matching import Matcher\nfrom turngap.config import MatchConfig\n"
        "from turngap.data import ToolCall\ncall = ToolCall(name='t', arguments={'x': 1})\n"
        "assert Matcher((), MatchConfig()).arg_f1([call], [call]).f1 == 1\n"
        "assert not {'scipy', 'numpy', 'jsonschema'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
