"""Which tools come first, and which arrows are cut."""

from __future__ import annotations

import pickle

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.synth.order import CircleError, backward, ranks


def test_tools_are_ready_when_their_keys_are() -> None:
    """What needs no key is ready at once; a key waits for the first tool that can give it."""
    needs = {"cancel": [["user", "find"], ["order"]], "order": [["user"]], "user": [["find"]], "find": []}
    assert ranks(needs, {}) == {"find": 0, "user": 1, "order": 2, "cancel": 3}


def test_where_nothing_is_ready_the_smallest_table_begins() -> None:
    """Users and orders that lead to each other: there are fewer users, so they come first."""
    assert ranks({"order": [["user"]], "user": [["order"]]}, {"order": 900, "user": 50}) == {"user": 0, "order": 1}


def test_arrows_back_are_cut_and_others_are_not() -> None:
    """Only circles are opened: an arrow to a lower rank outside of any circle stays."""
    rank = {"find": 0, "products": 0, "user": 1, "order": 2}
    arrows = [("find", "user"), ("user", "find"), ("user", "order"), ("order", "user"), ("order", "products")]
    assert backward(arrows, rank) == {("user", "find"), ("order", "user")}


def test_firm_arrows_stay() -> None:
    """A firm arrow back has the circle opened elsewhere; firm ones in a circle are refused by name."""
    rank = {"a": 0, "b": 1}
    assert backward([("a", "b"), ("b", "a")], rank, {("b", "a")}) == {("a", "b")}
    with pytest.raises(CircleError) as caught:
        backward([("a", "b"), ("b", "a")], rank, {("a", "b"), ("b", "a")})
    assert set(caught.value.tools) == {"a", "b"}
    assert pickle.loads(pickle.dumps(caught.value)).tools == caught.value.tools


_ARROWS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).filter(lambda a: a[0] != a[1]))


@given(_ARROWS, st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3)))
def test_nothing_leads_in_a_circle(arrows: list[tuple[str, str]], some: dict[str, int]) -> None:
    """Whatever the ranks, what is left is acyclic, and cut arrows were in circles."""
    rank = {name: some.get(name, 0) for name in "abcdef"}
    cut = backward(arrows, rank)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([arrow for arrow in arrows if arrow not in cut]))
    reach = nx.transitive_closure(nx.DiGraph(arrows))
    assert all(reach.has_edge(target, source) for source, target in cut)
