"""Likeness of contexts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turngap.data import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from turngap.models.likeness import CHANNELS, Likeness, describe, words

_NOBODY: frozenset[int] = frozenset()


def _histories() -> list[list[Message]]:
    """Some different contexts."""
    call = AssistantMessage(calls=(ToolCall(name="get_order", arguments={}),))
    return [
        [UserMessage(content="Cancel order LF-10234, please.")],
        [UserMessage(content="Where is my parcel?")],
        [UserMessage(content="Where is my parcel?"), call, ToolMessage(name="get_order", content='{"status": "sent"}')],
        [UserMessage(content="Where is my parcel?"), call, ToolMessage(name="get_order", content='{"error": "no"}')],
        [],
    ]


def test_ids_are_words_of_the_same_shape() -> None:
    """Digits and mail addresses fold to their shape, letters to lower case, accents stay."""
    assert words("Order LF-10234, Łukasz@x.org!") == words("order lf-99, a.b@example.com")
    assert "łukasz" in words("Łukasz")


def test_a_context_is_most_like_itself() -> None:
    """Every context finds itself first, with likeness 1."""
    described = [describe(history) for history in _histories()]
    index = Likeness(described, range(len(described)))
    for place, features in enumerate(described):
        best = index.rank(features, without=_NOBODY, limit=2)
        assert best[0] == (place, 1.0)
        assert best[1][1] < 1.0


def test_what_the_tool_said_tells_contexts_apart() -> None:
    """After a failed look-up the failed context is nearer than the good one."""
    described = [describe(history) for history in _histories()]
    failed = describe([*_histories()[3][:2], ToolMessage(name="get_order", content='{"error": "gone"}')])
    ranked = Likeness(described, range(len(described))).rank(failed, without=_NOBODY, limit=5)
    assert [place for place, _ in ranked[:2]] == [3, 2]


def test_equal_contexts_stand_in_their_order() -> None:
    """Ties are broken by position."""
    described = [describe(_histories()[0]) for _ in range(5)]
    ranked = Likeness(described, range(5)).rank(described[0], without=_NOBODY, limit=3)
    assert [place for place, _ in ranked] == [0, 1, 2]


@given(st.lists(st.text(alphabet="abc ", max_size=12), min_size=2, max_size=8), st.integers(0, 7))
def test_leaving_out_equals_never_having_seen(texts: list[str], gone: int) -> None:
    """Ranking without a group equals ranking in an index that never held it, to the last digit."""
    gone %= len(texts)
    described = [describe([UserMessage(content=text)]) for text in texts]
    rest = [place for place in range(len(texts)) if place != gone]
    full = Likeness(described, range(len(texts))).rank(described[gone], without=frozenset({gone}), limit=9)
    small = Likeness([described[place] for place in rest], rest).rank(described[gone], without=_NOBODY, limit=9)
    assert full == [(rest[place], likeness) for place, likeness in small]


def test_an_empty_index_ranks_nothing() -> None:
    """No contexts, no neighbours."""
    assert Likeness([], []).rank(describe([]), without=_NOBODY, limit=3) == []


def test_every_channel_is_described() -> None:
    """Descriptions and weights speak of the same channels."""
    assert set(describe(_histories()[2])) == set(CHANNELS)
