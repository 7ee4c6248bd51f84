"""Which tools an explorer is offered: a random walk on the tool graph.

A walk begins at a tool that writes, each equally likely, so that rare ones are met as often as others. From there it
goes on along edges in either direction, and begins anew at another tool where none leads on. Tools of a walk are
usable together: where other tools can fill a required parameter of one of them, at least one of those is in the walk
too, and so on up to tools that need none.
"""

from __future__ import annotations

from random import Random

from turngap.synth.graph import ToolGraph


def walk(graph: ToolGraph, rng: Random, count: int = 12) -> tuple[str, ...]:
    """Tools that go together, each after those that feed it.

    Args:
        graph: of the domain.
        rng: draws; the same state gives the same walk.
        count: how many, if there are so many. More only where the first tool and what it needs are more already.

    Raises:
        ValueError: the count is less than one.
    """
    if count < 1:
        raise ValueError(f"a walk has at least one tool, not {count}")
    writes = [node.name for node in graph.tools if node.kind == "write"] or list(graph.nodes)
    at = rng.choice(writes)
    picked = needed(graph, at, rng)
    refused: set[str] = set()
    while len(picked) < count:
        left = [name for name in graph.nodes if name not in picked and name not in refused]
        if not left:
            break
        near = [name for name in graph.neighbours(at) if name in left]
        at = rng.choice(near or left)
        more = needed(graph, at, rng, picked)
        if len(picked | more) <= count:
            picked |= more
        else:
            refused.add(at)
    return tuple(name for name in graph.order if name in picked)


def needed(graph: ToolGraph, tool: str, rng: Random, there: set[str] | frozenset[str] = frozenset()) -> set[str]:
    """A tool with all that has to be there for it to be used, `there` being there already.

    Raises:
        KeyError: there is no such tool.
    """
    found = {tool}
    to_do = [tool]
    while to_do:
        for sources in graph.feeders(to_do.pop()).values():
            if not (found | there).intersection(sources):
                source = rng.choice(sources)
                found.add(source)
                to_do.append(source)
    return found
