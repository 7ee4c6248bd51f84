"""Which tools come first, and which arrows lead back.

A customer can say names, addresses and dates, but seldom keys of records. So a tool is *ready at once* where it needs
no key that another tool could give; it is ready in the next round where every key it needs comes from tools that are
ready. Where no tool is left that could become ready, that one is, of those left, which works on the smallest table:
there are fewer customers than orders. Its round is a tool's rank.

Tools that feed each other in a circle keep only the arrows from a lower rank to a higher one. So results lead from the
person to the thing and not back: from the e-mail address to the user, from the user to the orders. Arrows that a person
gave are kept where that is possible at all; then another arrow of the circle is cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import networkx as nx

Arrow = tuple[str, str]


class CircleError(Exception):
    """Arrows that may not be cut form a circle; `tools` are its tools in order."""

    def __init__(self, tools: Sequence[str]) -> None:
        super().__init__(" -> ".join(tools))
        self.tools = tuple(tools)

    def __reduce__(self) -> tuple[type[CircleError], tuple[tuple[str, ...]]]:
        return (type(self), (self.tools,))


def ranks(needs: Mapping[str, Sequence[Collection[str]]], sizes: Mapping[str, int]) -> dict[str, int]:
    """The round in which each tool is ready.

    Args:
        needs: tool -> for each key that it has to be given, the tools that can give it. All tools, in order.
        sizes: tool -> records in the largest table that its keys are of; absent where that is unknown.
    """
    found: dict[str, int] = {}
    turn = 0
    while len(found) < len(needs):
        left = [tool for tool in needs if tool not in found]
        ready = [tool for tool in left if all(any(one in found for one in givers) for givers in needs[tool])]
        if not ready:
            most = max(sizes.values(), default=0) + 1
            ready = [min(left, key=lambda tool: sizes.get(tool, most))]
        found.update(dict.fromkeys(ready, turn))
        turn += 1
    return found


def backward(arrows: Iterable[Arrow], rank: Mapping[str, int], firm: Collection[Arrow] = ()) -> set[Arrow]:
    """The arrows to cut so that none lead in a circle.

    Args:
        arrows: from tool to tool.
        rank: of each tool.
        firm: arrows that have to stay.

    Raises:
        CircleError: the firm ones lead in a circle.
    """
    network: nx.DiGraph[str] = nx.DiGraph()
    network.add_edges_from(arrows)
    cut = {
        arrow
        for circle in nx.strongly_connected_components(network)
        for arrow in network.subgraph(circle).edges
        if arrow not in firm and rank[arrow[0]] >= rank[arrow[1]]
    }
    network.remove_edges_from(cut)
    while True:
        try:
            circle = [(one, other) for one, other in nx.find_cycle(network)]
        except nx.NetworkXNoCycle:
            return cut
        loose = [arrow for arrow in circle if arrow not in firm]
        if not loose:
            raise CircleError([circle[0][0], *(other for _, other in circle)])
        worst = min(loose, key=lambda arrow: (rank[arrow[1]] - rank[arrow[0]], arrow))
        network.remove_edge(*worst)
        cut.add(worst)
