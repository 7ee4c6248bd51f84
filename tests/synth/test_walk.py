"""Walks: tools that go together."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from boatdomain import domain
from hypothesis import given
from hypothesis import strategies as st
from shopgraph import shop_graph

from turngap.synth.graph import Edge, Node, ToolGraph, build
from turngap.synth.walk import needed, walk


@given(st.integers(0, 10**6), st.integers(5, 16))
def test_tools_of_a_walk_go_together(seed: int, count: int) -> None:
    """So many as asked for, each once, a write among them, every filled parameter's source before its tool."""
    graph = shop_graph()
    found = walk(graph, Random(seed), count)
    assert len(found) == len(set(found)) == count
    assert any(graph.nodes[name].kind == "write" for name in found)
    for at, name in enumerate(found):
        for sources in graph.feeders(name).values():
            assert set(sources) & set(found[:at])


def test_the_same_generator_gives_the_same_walk() -> None:
    """And others give others."""
    graph = shop_graph()
    drawn = [walk(graph, Random(f"walk/{seed}"), 6) for seed in range(30)]
    assert drawn == [walk(graph, Random(f"walk/{seed}"), 6) for seed in range(30)]
    assert len(set(drawn)) > 15


def test_every_tool_is_met() -> None:
    """Each tool, and every write about as often as the others."""
    graph = shop_graph()
    met = Counter(name for seed in range(200) for name in walk(graph, Random(seed)))
    assert set(met) == set(graph.nodes)
    writes = [met[node.name] for node in graph.tools if node.kind == "write"]
    assert max(writes) < 2 * min(writes)


def test_fewer_tools_than_asked_for() -> None:
    """All of them, in order."""
    graph = build(domain())
    assert walk(graph, Random(0), 12) == graph.order


def test_a_tool_brings_what_it_needs_even_where_that_is_more() -> None:
    """One tool is asked for; it comes with a chain of those that feed it, and no other."""
    graph = ToolGraph(
        domain="chain",
        tools=(
            Node(name="write", kind="write", required=("b",)),
            Node(name="first", kind="read"),
            Node(name="second", kind="read", required=("a",), optional=("c",)),
            Node(name="other", kind="read"),
        ),
        edges=(
            Edge(source="first", target="second", field="a", parameter="a", evidence=("flow",)),
            Edge(source="second", target="write", field="b", parameter="b[*].x", evidence=("flow",)),
            Edge(source="other", target="second", field="c", parameter="c", evidence=("flow",)),
        ),
    )
    assert walk(graph, Random(0), 1) == ("first", "second", "write")
    assert needed(graph, "write", Random(0)) == {"first", "second", "write"}
    assert needed(graph, "write", Random(0), {"second"}) == {"write"}


def test_a_walk_of_nothing_is_refused() -> None:
    """At least one tool."""
    with pytest.raises(ValueError, match="at least one"):
        walk(shop_graph(), Random(0), 0)
