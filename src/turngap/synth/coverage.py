"""How much of a tool graph plans exercise: which tools are called, and along which edges values really went.

An edge is exercised by a plan in which a call of the source gave, in the edge's field, a value that a later call of the
target takes in the edge's parameter; an arrow from tool to tool where one of its edges is. The value decides, not where
it was traced to: what two results hold came from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from turngap.synth.graph import Edge, ToolGraph
from turngap.synth.offer import leaves, offers, token
from turngap.synth.place import general, place
from turngap.synth.plan import Plan, Step


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some things occur."""

    met: int
    of: int
    missing: tuple[str, ...] = ()
    """Those that do not, in the order of the graph."""

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None where there are no such things."""
        return self.met / self.of if self.of else None


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What plans exercise of a graph."""

    plans: int
    tools: Share
    writes: Share
    """Of the tools, those that may change the state."""
    arrows: Share
    """Pairs of tools with an edge between them, as ``source -> target``: what is meant by edges of the graph."""
    fields: Share
    """Single edges, as ``source field -> target parameter``."""
    calls: dict[str, int]
    """Tool -> plans that call it, for every tool, in the order of the graph."""


def coverage(graph: ToolGraph, plans: Iterable[Plan]) -> Coverage:
    """Count what some plans exercise of a graph.

    Args:
        graph: of the plans' domain.
        plans: whose steps hold calls and results.
    """
    calls: Counter[str] = Counter()
    gone: set[Edge] = set()
    count = 0
    for plan in plans:
        count += 1
        calls.update({step.call.name for step in plan.steps if not step.error})
        gone.update(_gone(graph, plan.steps))
    arrows = {(edge.source, edge.target) for edge in gone}
    return Coverage(
        plans=count,
        tools=_share((node.name, node.name in calls) for node in graph.tools),
        writes=_share((node.name, node.name in calls) for node in graph.tools if node.kind == "write"),
        arrows=_share((f"{source} -> {target}", (source, target) in arrows) for source, target in graph.arrows),
        fields=_share((_spelled(edge), edge in gone) for edge in graph.edges),
        calls={node.name: calls[node.name] for node in graph.tools},
    )


def _gone(graph: ToolGraph, steps: tuple[Step, ...]) -> Iterator[Edge]:
    """The edges along which values went."""
    given: dict[str, dict[str, set[str]]] = {}
    for step in steps:
        if step.error:
            continue
        taken: dict[str, set[str]] = {}
        for path, value in leaves(step.call.arguments):
            taken.setdefault(general(path), set()).add(token(value))
        for edge in graph.into(step.call.name):
            here = taken.get(edge.parameter, set())
            if not here.isdisjoint(given.get(edge.source, {}).get(edge.field, ())):
                yield edge
        echoes = set().union(*taken.values()) if taken else set()
        fields = given.setdefault(step.call.name, {})
        for offer in offers(step.result):
            if token(offer.value) not in echoes:
                fields.setdefault(place(offer), set()).add(token(offer.value))


def _share(met: Iterable[tuple[str, bool]]) -> Share:
    listed = list(met)
    return Share(
        met=sum(there for _, there in listed),
        of=len(listed),
        missing=tuple(name for name, there in listed if not there),
    )


def _spelled(edge: Edge) -> str:
    source = f"{edge.source} {edge.field}".strip()
    return f"{source} -> {edge.target} {edge.parameter}"
