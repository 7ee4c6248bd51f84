"""Properties of call matching that nobody can see by eye, and that every call has to obey."""

from __future__ import annotations

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.metrics.matching import Matcher
from turngap.metrics.normalise import key_of

TOOLS = (
    ToolSpec(
        name="book",
        parameters={
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "seats": {"type": "integer", "default": 1},
                "price": {"type": "number"},
                "state": {"enum": ["Open", "Closed"]},
                "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                "stops": {"type": "array", "items": {"type": ["integer", "null"]}},
                "person": {"type": "object", "properties": {"age": {"type": "integer"}}},
                "mode": {"anyOf": [{"type": "boolean"}, {"type": "integer"}, {"type": "null"}]},
            },
            "required": ["id"],
        },
    ),
    ToolSpec(name="free", parameters={}),
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["1", " 1 ", "1.0", "true", "null", "open", "Open", "", '{"age": "3"}', "[1, null]", "e\u0301", "é"]
    )
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["age", "a", ""]), inner, max_size=2),
    max_leaves=5,
)
NAMES = [*TOOLS[0].parameters["properties"], "other", ""]
CALLS = st.builds(
    ToolCall,
    name=st.sampled_from(["book", "free", "unknown"]),
    arguments=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
)
MESSAGES = st.lists(CALLS, max_size=4)
MATCHER = Matcher(TOOLS, MatchConfig())


def brute_force(prediction: list[ToolCall], reference: list[ToolCall]) -> int:
    """The most shared leaves over all pairings, by trying them all."""
    longer, shorter = sorted((prediction, reference), key=len, reverse=True)
    return max(
        sum(MATCHER.arg_f1([left], [right]).tp for left, right in zip(order, shorter, strict=True))
        for order in itertools.permutations(longer, len(shorter))
    )


@given(CALLS)
def test_normalisation_is_idempotent(call: ToolCall) -> None:
    """A normal form is its own normal form."""
    once = MATCHER.normalise(call)
    assert key_of(MATCHER.normalise(once).arguments) == key_of(once.arguments)


@given(CALLS, CALLS)
def test_matching_is_symmetric(left: ToolCall, right: ToolCall) -> None:
    """Which side is the reference makes no difference to whether two calls match, or to how much they share."""
    assert MATCHER.same(left, right) == MATCHER.same(right, left)
    assert MATCHER.arg_f1([left], [right]).f1 == MATCHER.arg_f1([right], [left]).f1


@given(CALLS, st.data())
def test_missing_and_extra_keys_never_match(call: ToolCall, data: st.DataObject) -> None:
    """Leaving out an argument that counts, or adding one, makes another call."""
    normal = MATCHER.normalise(call)
    assert normal.arguments is not None
    if normal.arguments:
        name = data.draw(st.sampled_from(sorted(normal.arguments)))
        less = {key: value for key, value in call.arguments.items() if key != name}  # type: ignore[union-attr]
        shorter = ToolCall(name=call.name, arguments=less)
        assert not MATCHER.same(shorter, call)
        assert not MATCHER.same(call, shorter)
        assert MATCHER.arg_f1([shorter], [call]).f1 < 1
    longer = ToolCall(name=call.name, arguments={**(call.arguments or {}), "never given": None})
    assert not MATCHER.same(longer, call)


@given(MESSAGES)
def test_a_reference_against_itself_is_1(message: list[ToolCall]) -> None:
    """Every message scores 1 against itself in every figure."""
    assert MATCHER.exact(message, message)
    assert MATCHER.names(message, message)
    assert MATCHER.arg_f1(message, message).f1 == 1


@settings(deadline=None)
@given(MESSAGES, MESSAGES, st.randoms(use_true_random=False))
def test_permuting_either_side_changes_nothing(
    prediction: list[ToolCall], reference: list[ToolCall], chance: random.Random
) -> None:
    """MAT-04: all strict figures are the same for every order of the calls on both sides."""
    shuffled = chance.sample(prediction, len(prediction)), chance.sample(reference, len(reference))
    for figure in (MATCHER.exact, MATCHER.names, MATCHER.arg_f1):
        assert figure(prediction, reference) == figure(*shuffled)


@settings(deadline=None)  # the first pairing of several calls loads scipy
@given(MESSAGES, MESSAGES)
def test_pairing_equals_brute_force(prediction: list[ToolCall], reference: list[ToolCall]) -> None:
    """The pairing finds as many shared leaves as trying every pairing does."""
    score = MATCHER.arg_f1(prediction, reference)
    assert score.tp == brute_force(prediction, reference)
    assert 0 <= score.f1 <= 1


@settings(deadline=None)
@given(MESSAGES, MESSAGES)
def test_f1_is_1_exactly_for_exact_messages(prediction: list[ToolCall], reference: list[ToolCall]) -> None:
    """Full agreement of leaves and equality of calls say the same."""
    assert (MATCHER.arg_f1(prediction, reference).f1 == 1) == MATCHER.exact(prediction, reference)


@given(CALLS, st.integers(1, 4), st.integers(0, 4))
def test_n_references_need_n_predictions(call: ToolCall, due: int, made: int) -> None:
    """One prediction never answers for two references."""
    assert MATCHER.exact([call] * made, [call] * due) == (made == due)
    assert (MATCHER.arg_f1([call] * made, [call] * due).f1 == 1) == (made == due)


@settings(deadline=None)  # the first problem loads jsonschema
@given(CALLS)
def test_explanation_and_problem_never_raise(call: ToolCall) -> None:
    """Any call can be explained and checked; what is explained as no difference matches."""
    MATCHER.problem(call)
    other = ToolCall(name=call.name, arguments={**(call.arguments or {}), "seats": 7})
    assert MATCHER.explain(call, other).endswith("no difference") == MATCHER.same(call, other)
