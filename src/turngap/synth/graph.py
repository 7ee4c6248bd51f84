"""The tool graph: which tool's results can fill which tool's parameters, and how we know.

An edge says: what stands in `field` of the results of `source` can be given as `parameter` of `target`. Evidence is
``schema`` (name and type agree), ``flow`` (the tools were run on records of the domain, and the target told values that
the source had given from made-up ones in the same place) or ``given`` (a person says so, see `turngap.synth.override`).

The graph is acyclic, so that its order is one in which a conversation can go. Where results lead in a circle, the edges
that lead back are cut, and kept aside in `cut`. Which ones lead back: `turngap.synth.order`.

Results of writes count only for what the write has made, such as the id of a new booking: all else could be read
before. Parameters with a handful of allowed values have no edges, since the specification says the values. The user's
own tools are no part of it. Non-goals: values that are computed from results, such as sums.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec
import networkx as nx

from turngap import jsonio
from turngap.domains.live import Kind, LiveDomain
from turngap.errors import DataError
from turngap.synth.order import CircleError, backward, ranks
from turngap.synth.override import Overrides
from turngap.synth.place import Slot, alike, called, fits, owner, slots
from turngap.synth.probe import Findings, probe

FORMAT = "turngap/tool-graph/1"
Evidence = Literal["schema", "flow", "given"]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the agent."""

    name: str
    kind: Kind
    required: tuple[str, ...] = ()
    """Parameters that have to be given, in the order of the schema."""
    optional: tuple[str, ...] = ()


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A field of one tool's results that can fill a parameter of another tool."""

    source: str
    target: str
    field: str
    """Place in the source's results (`turngap.synth.place`), such as ``items[].item_id``; empty for the whole."""
    parameter: str
    """Place in the target's arguments, such as ``item_ids[]``."""
    evidence: tuple[Evidence, ...] = ()
    """How we know; in the order schema, flow, given."""
    seen: int = 0
    """Different values that were seen to flow."""


class ToolGraph(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Tools and edges, acyclic."""

    domain: str
    """The domain's name."""
    seed: int = 0
    """By which records were sampled."""
    tools: tuple[Node, ...]
    """All of the agent's tools, in the domain's order."""
    edges: tuple[Edge, ...]
    """By source, target, parameter and field, in the order of tools and schemas."""
    cut: tuple[Edge, ...] = ()
    """Edges left out since they lead back."""
    silent: tuple[str, ...] = ()
    """Tools that read, and gave nothing to any call that was tried: nothing is known of their results."""

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """Tools by name."""
        return {node.name: node for node in self.tools}

    @cached_property
    def network(self) -> nx.DiGraph[str]:
        """The graph for networkx: an arrow from tool to tool where there is an edge, with ``edges`` on it."""
        network: nx.DiGraph[str] = nx.DiGraph()
        network.add_nodes_from(self.nodes)
        for edge in self.edges:
            if not network.has_edge(edge.source, edge.target):
                network.add_edge(edge.source, edge.target, edges=[])
            network.edges[edge.source, edge.target]["edges"].append(edge)
        return network

    @cached_property
    def arrows(self) -> tuple[tuple[str, str], ...]:
        """Pairs of tools between which there is an edge, in order."""
        return tuple(dict.fromkeys((edge.source, edge.target) for edge in self.edges))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All tools, each after those that feed it; otherwise in the domain's order."""
        at = {name: index for index, name in enumerate(self.nodes)}
        return tuple(nx.lexicographical_topological_sort(self.network, key=lambda name: at[name]))

    def feeders(self, tool: str) -> dict[str, tuple[str, ...]]:
        """What can fill the required parameters of a tool: parameter -> tools, in order; those with none are left out.

        Where values were seen to flow into a parameter, or a person says so, tools of which only names and types agree
        are left out too.

        Raises:
            KeyError: there is no such tool.
        """
        found: dict[str, tuple[str, ...]] = {}
        for name in self.nodes[tool].required:
            edges = [edge for edge in self.into(tool) if owner(edge.parameter) == name]
            sure = [edge for edge in edges if edge.evidence != ("schema",)]
            if edges:
                found[name] = tuple(dict.fromkeys(edge.source for edge in sure or edges))
        return found

    def neighbours(self, tool: str) -> tuple[str, ...]:
        """The tools that feed a tool, and those that it feeds; in the order of arrows."""
        return tuple(
            dict.fromkeys(
                other
                for source, target in self.arrows
                for here, other in ((source, target), (target, source))
                if here == tool
            )
        )

    def into(self, tool: str) -> tuple[Edge, ...]:
        """The edges that lead to a tool."""
        return tuple(self._fed.get(tool, ()))

    @cached_property
    def _fed(self) -> dict[str, list[Edge]]:
        into: dict[str, list[Edge]] = {}
        for edge in self.edges:
            into.setdefault(edge.target, []).append(edge)
        return into

    def json(self) -> str:
        """The graph as a JSON document, which `from_json` reads."""
        return jsonio.dumps({"format": FORMAT, **msgspec.to_builtins(self)}, indent=2) + "\n"


def from_json(text: str | bytes, *, file: str = "") -> ToolGraph:
    """Read a graph that `ToolGraph.json` wrote.

    Args:
        text: the document.
        file: where it stands, for the error.

    Raises:
        DataError: it is no tool graph, one of another version, or not acyclic.
    """
    try:
        document = jsonio.loads(text)
        stamp = document.get("format") if isinstance(document, dict) else None
        if stamp != FORMAT:
            raise DataError(f"should be {FORMAT!r}, not {stamp!r}; write it anew", file=file, field="format")
        graph = msgspec.convert(document, ToolGraph)
    except jsonio.JsonError as error:
        raise DataError(str(error), file=file) from None
    except msgspec.ValidationError as error:
        problem, where = jsonio.misfit(error)
        raise DataError(f"no tool graph: {problem}", file=file, field=where.strip(".")) from None
    unknown = next((edge for edge in graph.edges if not {edge.source, edge.target} <= graph.nodes.keys()), None)
    if unknown is not None:
        raise DataError(f"no tool graph: an edge {unknown.source} -> {unknown.target} without its tools", file=file)
    if not nx.is_directed_acyclic_graph(graph.network):
        raise DataError("no tool graph: its edges lead in a circle", file=file, field="edges")
    return graph


def build(domain: LiveDomain, *, seed: int = 0, overrides: Overrides | None = None) -> ToolGraph:
    """Find out a domain's tool graph. Its tools are run on some of its records; nothing of that remains.

    Args:
        domain: which.
        seed: by which records are sampled; the same seed gives the same graph.
        overrides: what a person knows better.

    Raises:
        DataError: an override does not fit the domain, or the added edges lead in a circle. DomainFault: the database
            cannot be loaded.
    """
    found = probe(domain, seed)
    of = {tool.name: slots(tool.spec) for tool in domain.tools}
    tools = tuple(_node(tool.name, tool.kind, of[tool.name]) for tool in domain.tools)
    edges = _overridden(_edges(found, of), {tool.name: tool for tool in tools}, overrides or Overrides())
    given = {(edge.source, edge.target) for edge in edges if "given" in edge.evidence}
    try:
        back = backward([(edge.source, edge.target) for edge in edges], _ranks(tools, edges, found), given)
    except CircleError as error:
        file = overrides.file if overrides else ""
        raise DataError(f"the added edges lead in a circle: {error}", file=file, field="add") from None
    return ToolGraph(
        domain=domain.name,
        seed=seed,
        tools=tools,
        edges=tuple(edge for edge in edges if (edge.source, edge.target) not in back),
        cut=tuple(edge for edge in edges if (edge.source, edge.target) in back),
        silent=found.silent,
    )


def _node(name: str, kind: Kind, of: tuple[Slot, ...]) -> Node:
    needed = {owner(slot.place): slot.required for slot in reversed(of)}
    for slot in of:
        needed[owner(slot.place)] |= slot.required
    named = list(dict.fromkeys(owner(slot.place) for slot in of))
    return Node(
        name=name,
        kind=kind,
        required=tuple(one for one in named if needed[one]),
        optional=tuple(one for one in named if not needed[one]),
    )


def _edges(found: Findings, of: dict[str, tuple[Slot, ...]]) -> list[Edge]:
    """Edges by source, target, parameter and field, with all evidence that there is."""
    edges = []
    flows = {(flow.source, flow.field, flow.target, flow.parameter): seen for flow, seen in found.flows.items()}
    for source in of:
        fields = found.fields.get(source, {})
        for target, target_slots in of.items():
            for slot in target_slots if target != source else ():
                if slot.parameter.choices:
                    continue
                here = []
                for field, kind in sorted(fields.items()):
                    evidence: list[Evidence] = []
                    if fits(slot, kind) and alike(slot, called(field)) > 1:
                        evidence.append("schema")
                    seen = flows.get((source, field, target, slot.place), 0)
                    if seen:
                        evidence.append("flow")
                    if evidence:
                        here.append(
                            Edge(
                                source=source,
                                target=target,
                                field=field,
                                parameter=slot.place,
                                evidence=tuple(evidence),
                                seen=seen,
                            )
                        )
                edges += _without_doubles(here)
    return edges


def _without_doubles(edges: list[Edge]) -> list[Edge]:
    """The edges without those from keys whose entries hold the same: ``methods[key]`` beside ``methods[*].id``."""
    inner = {edge.field.rpartition(".")[0]: edge.seen for edge in edges}
    return [
        edge
        for edge in edges
        if not edge.field.endswith("[key]") or inner.get(f"{edge.field.removesuffix('[key]')}[*]", -1) < edge.seen
    ]


def _ranks(tools: tuple[Node, ...], edges: list[Edge], found: Findings) -> dict[str, int]:
    givers: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        givers.setdefault((edge.target, edge.parameter), set()).add(edge.source)
    needs: dict[str, list[set[str]]] = {tool.name: [] for tool in tools}
    sizes: dict[str, int] = {}
    for (tool, place), size in found.keys.items():
        if owner(place) in next(one.required for one in tools if one.name == tool):
            sizes[tool] = max(sizes.get(tool, 0), size)
            if (tool, place) in givers:
                needs[tool].append(givers[tool, place])
    return ranks(needs, sizes)


def _overridden(edges: list[Edge], nodes: dict[str, Node], overrides: Overrides) -> list[Edge]:
    kept = list(edges)
    for index, removal in enumerate(overrides.remove):
        wanted = removal.given()
        left = [edge for edge in kept if any(getattr(edge, name) != value for name, value in wanted.items())]
        if len(left) == len(kept) or not wanted:
            problem = "there is no such edge" if wanted else "should say which edges"
            raise DataError(problem, file=overrides.file, field=f"remove[{index}]")
        kept = left
    for index, one in enumerate(overrides.add):
        where = f"add[{index}]"
        for word, name in (("source", one.source), ("target", one.target)):
            if name not in nodes:
                problem = f"there is no tool {name!r}; known: {', '.join(nodes)}"
                raise DataError(problem, file=overrides.file, field=f"{where}.{word}")
        takes = (*nodes[one.target].required, *nodes[one.target].optional)
        if owner(one.parameter) not in takes:
            problem = f"{one.target} has no parameter {owner(one.parameter)!r}; it has {', '.join(takes) or 'none'}"
            raise DataError(problem, file=overrides.file, field=f"{where}.parameter")
        if one.source == one.target:
            raise DataError("a tool does not feed itself", file=overrides.file, field=where)
        same = [edge for edge in kept if _ends(edge) == (one.source, one.target, one.field, one.parameter)]
        seen = same[0].seen if same else 0
        evidence: tuple[Evidence, ...] = (*(same[0].evidence if same else ()), "given")
        kept = [edge for edge in kept if edge not in same]
        kept.append(
            Edge(
                source=one.source,
                target=one.target,
                field=one.field,
                parameter=one.parameter,
                evidence=evidence,
                seen=seen,
            )
        )
    at = {name: index for index, name in enumerate(nodes)}
    return sorted(kept, key=lambda edge: (at[edge.source], at[edge.target]))


def _ends(edge: Edge) -> tuple[str, str, str, str]:
    return edge.source, edge.target, edge.field, edge.parameter
