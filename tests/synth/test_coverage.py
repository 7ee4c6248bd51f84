"""Coverage: what plans exercise of a graph."""

from __future__ import annotations

from typing import Any

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains.live import Kind
from turngap.synth.coverage import coverage
from turngap.synth.graph import Edge, Node, ToolGraph
from turngap.synth.plan import Customer, Plan, Step

_GRAPH = ToolGraph(
    domain="shop",
    tools=(
        Node(name="find", kind="read", required=("email",)),
        Node(name="look", kind="read", required=("user",)),
        Node(name="order", kind="write", required=("user", "things")),
        Node(name="refund", kind="write", required=("user",)),
    ),
    edges=(
        Edge(source="find", target="look", field="", parameter="user", evidence=("flow",)),
        Edge(source="find", target="order", field="", parameter="user", evidence=("flow",)),
        Edge(source="look", target="order", field="seen[*].id", parameter="things[*].id", evidence=("flow",)),
        Edge(source="look", target="order", field="user", parameter="user", evidence=("schema",)),
        Edge(source="find", target="refund", field="", parameter="user", evidence=("flow",)),
    ),
)


def _step(name: str, result: Any, *, error: bool = False, **arguments: Any) -> Step:
    kind: Kind = _GRAPH.nodes[name].kind
    text = result if isinstance(result, str) else jsonio.dumps(result)
    return Step(call=ToolCall(name=name, arguments=arguments), result=text, error=error, kind=kind)


def _plan(*steps: Step) -> Plan:
    return Plan(id="x0", customer=Customer(table="users", key="u1", record={}), steps=steps)


_FOUND = _step("find", "u1", email="a@example.com")
_LOOKED = _step("look", {"user": "u1", "seen": [{"id": "t1"}, {"id": "t2"}]}, user="u1")


def test_values_that_went_are_counted() -> None:
    """An edge is met where a value really went along it: in order, at its places, and not as an echo."""
    found = coverage(_GRAPH, [_plan(_FOUND, _LOOKED, _step("order", "ok", user="u1", things=[{"id": "t2"}]))])
    assert found.arrows.met == 3
    assert found.arrows.missing == ("find -> refund",)
    assert found.arrows.share == 0.75
    assert found.fields.missing == ("look user -> order user", "find -> refund user")
    assert (found.tools.met, found.tools.of, found.writes.missing) == (3, 4, ("refund",))
    assert found.calls == {"find": 1, "look": 1, "order": 1, "refund": 0}


def test_values_that_did_not_go_are_not_counted() -> None:
    """A call before its source, another value, a failed call, and a plan apart exercise nothing."""
    early = _plan(_step("look", {"seen": []}, user="u1"), _FOUND)
    other = _plan(_FOUND, _step("look", {"seen": []}, user="u2"))
    failed = _plan(_FOUND, _step("look", "no", error=True, user="u1"))
    apart = [_plan(_FOUND), _plan(_LOOKED)]
    for plans in ([early], [other], [failed], apart):
        assert coverage(_GRAPH, plans).arrows.met == 0
    assert coverage(_GRAPH, [failed]).calls["look"] == 0


def test_plans_add_up() -> None:
    """Each plan counts a tool once; edges of all plans come together."""
    looking = _plan(_FOUND, _LOOKED, _LOOKED)
    refunding = _plan(_FOUND, _step("refund", "done", user="u1"))
    found = coverage(_GRAPH, [looking, refunding, looking])
    assert found.plans == 3
    assert found.calls == {"find": 3, "look": 2, "order": 0, "refund": 1}
    assert found.arrows.missing == ("find -> order", "look -> order")


def test_nothing_to_cover() -> None:
    """Without plans all is missing; without edges there is no share."""
    assert coverage(_GRAPH, []).tools.share == 0.0
    bare = ToolGraph(domain="bare", tools=_GRAPH.tools, edges=())
    assert coverage(bare, []).arrows.share is None
