"""The tool graph: edges with their evidence, the order, what a person adds, and the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from boatdomain import Booking, Desk, call, domain
from shopgraph import shop, shop_graph

from turngap.domains.api import Domain, ToolError, generic, read, write
from turngap.errors import DataError
from turngap.synth import override
from turngap.synth.graph import Edge, Node, ToolGraph, build, from_json
from turngap.synth.offer import offers
from turngap.synth.place import place

_BOTH = ("schema", "flow")


def _edge(graph: ToolGraph, source: str, target: str, parameter: str) -> dict[str, tuple[str, ...]]:
    """Field -> evidence of the edges into a parameter."""
    return {
        edge.field: edge.evidence for edge in graph.into(target) if (edge.source, edge.parameter) == (source, parameter)
    }


def test_edges_of_a_shop() -> None:
    """Known flows of the retail tools are found, each with the evidence that there is for it."""
    graph = shop_graph()
    assert _edge(graph, "find_user_id_by_email", "get_user_details", "user_id") == {"": ("flow",)}
    assert _edge(graph, "get_user_details", "get_order_details", "order_id") == {"orders[*]": _BOTH}
    assert _edge(graph, "get_order_details", "get_product_details", "product_id") == {"items[*].product_id": _BOTH}
    assert _edge(graph, "list_all_product_types", "get_product_details", "product_id") == {"[*]": ("flow",)}
    pays = _edge(graph, "get_user_details", "return_delivered_order_items", "payment_method_id")
    assert pays == {"payment_methods[*].id": ("flow",)}
    home = _edge(graph, "get_user_details", "modify_pending_order_address", "city")
    assert home == {"address.city": ("schema",)}
    new = _edge(graph, "get_product_details", "exchange_delivered_order_items", "new_item_ids[*]")
    assert "flow" in new["variants[*].item_id"]


def test_what_is_no_edge() -> None:
    """No edge from what a call echoes or a write could have read, to what anything fits, or to a few allowed values."""
    graph = shop_graph()
    sources = {edge.source for edge in graph.edges}
    assert not sources & {node.name for node in graph.tools if node.kind != "read"}
    assert not _edge(graph, "get_order_details", "cancel_pending_order", "order_id")
    assert not {edge.target for edge in graph.edges} & {"calculate", "transfer_to_human_agents"}
    assert not [edge for edge in (*graph.edges, *graph.cut) if edge.parameter == "reason"]
    assert all(edge.source != edge.target and edge.evidence for edge in graph.edges)


def test_circles_are_opened_from_the_person_to_the_thing() -> None:
    """The user's details lead to the orders and not back, nor back to how the user was found."""
    graph = shop_graph()
    assert nx.is_directed_acyclic_graph(graph.network)
    cut = {(edge.source, edge.target) for edge in graph.cut}
    assert ("get_order_details", "get_user_details") in cut
    assert ("get_user_details", "find_user_id_by_email") in cut
    assert not cut & set(graph.arrows)
    at = {name: index for index, name in enumerate(graph.order)}
    assert set(at) == set(graph.nodes)
    assert all(at[source] < at[target] for source, target in graph.arrows)


def test_the_same_seed_gives_the_same_graph_in_any_process() -> None:
    """Neither the hash seed nor a second look changes a byte."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import boatdomain; from turngap.synth.graph import build; print(build(boatdomain.domain(), seed=4).json())"
    tests = str(Path(__file__).parents[1])
    texts = [
        subprocess.run(
            [sys.executable, "-c", code, tests],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] == build(domain(), seed=4).json() + "\n"


def test_probing_changes_nothing() -> None:
    """The domain's next world is as it was, though every writing tool was tried."""
    boats = domain()
    before = boats.world().digest()
    graph = build(boats)
    assert boats.world().digest() == before
    assert graph.nodes["move_booking"].required == ("booking_id", "date")
    assert graph.nodes["move_booking"].optional == ("seats",)


@read
def find_booking(desk: Desk, name: str) -> str:
    """Find a booking by who comes."""
    for key, booking in desk.bookings.items():
        if booking.contact is not None and booking.contact.name == name:
            return key
    raise ToolError("nobody of this name has a booking")


@write
def copy_booking(desk: Desk, original: str) -> dict[str, str]:
    """Book the same once more."""
    if original not in desk.bookings:
        raise ToolError("there is no such booking")
    desk.bookings.put("BK-2001", desk.bookings[original])
    return {"copy_id": "BK-2001", "of": original, "day": desk.today}


@write
def open_booking(desk: Desk, copy_id: str) -> dict[str, str]:
    """Make a booking under a number that the caller says."""
    desk.bookings.put(copy_id, Booking(date=desk.today))
    return {"copy_id": copy_id}


@read
def get_copy(desk: Desk, copy_id: str) -> str:
    """Look at a copy."""
    return desk.bookings[copy_id].date if copy_id in desk.bookings else ""


@read
def crash(desk: Desk, booking_id: str) -> str:
    """Fails on whatever it does not expect."""
    return desk.bookings[booking_id].notes[7]


@generic
def note(day: str) -> str:
    """Take a note."""
    return day


def _boats(*tools: object) -> Domain:
    return domain(tools=list(tools), user_tools=[], rules=[])


def test_flow_needs_no_name() -> None:
    """A bare text that another tool recognises is an edge by flow alone, whatever the parameter is called."""
    graph = build(_boats(find_booking, copy_booking))
    assert _edge(graph, "find_booking", "copy_booking", "original") == {"": ("flow",)}


def test_writes_feed_with_what_they_make() -> None:
    """The key of a new record counts; what a write returns besides does not, nor a key that the caller chose."""
    graph = build(_boats(copy_booking, open_booking, get_copy, note))
    assert {(edge.source, edge.field) for edge in graph.edges} == {("copy_booking", "copy_id")}
    assert ("copy_booking", "get_copy") in graph.arrows


def test_a_crashing_tool_is_named_and_stops_nothing() -> None:
    """A tool that gives nothing to any call is silent; the others are found out."""
    graph = build(_boats(crash, find_booking, copy_booking))
    assert graph.silent == ("crash",)
    assert ("find_booking", "copy_booking") in graph.arrows


def test_a_domain_without_tools_or_records() -> None:
    """Nothing to try is no error."""
    assert build(_boats()).edges == ()
    empty = build(domain(database={}, user_tools=[], rules=[]))
    assert empty.edges == ()
    assert set(empty.nodes) == {tool.name for tool in domain().tools}


def _overrides(folder: Path, text: str) -> override.Overrides:
    file = folder / "edges.toml"
    file.write_text(text, encoding="utf-8")
    return override.read(file)


def test_a_person_adds_and_removes_edges(tmp_path: Path) -> None:
    """A given edge bears its evidence beside what was found; a removal takes all edges that fit."""
    text = """
        [[remove]]
        source = "get_booking"
        target = "set_contact"
        [[add]]
        source = "get_booking"
        target = "move_booking"
        field = "date"
        parameter = "date"
        [[add]]
        source = "list_tags"
        target = "hand_over"
        parameter = "summary"
    """
    graph = build(domain(), overrides=_overrides(tmp_path, text))
    assert _edge(graph, "get_booking", "move_booking", "date") == {"date": ("schema", "given")}
    assert _edge(graph, "list_tags", "hand_over", "summary") == {"": ("given",)}
    assert ("get_booking", "set_contact") not in graph.arrows


def test_a_given_edge_wins_over_a_found_one(tmp_path: Path) -> None:
    """Where a given edge leads back, the found one is cut instead; two given ones in a circle are refused."""
    back = '[[add]]\nsource = "copy_booking"\ntarget = "find_booking"\nparameter = "name"\n'
    forth = '[[add]]\nsource = "find_booking"\ntarget = "copy_booking"\nparameter = "original"\n'
    boats = _boats(find_booking, copy_booking)
    graph = build(boats, overrides=_overrides(tmp_path, back))
    assert graph.arrows == (("copy_booking", "find_booking"),)
    assert [(edge.source, edge.target) for edge in graph.cut] == [("find_booking", "copy_booking")]
    with pytest.raises(DataError, match=r"edges\.toml: add: the added edges lead in a circle: .*copy_booking"):
        build(boats, overrides=_overrides(tmp_path, back + forth))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[add", "no TOML"),
        ('[[add]]\nsource = "a"', "missing required field `target`"),
        ('[[drop]]\nsource = "a"', "unknown field `drop`"),
        (
            '[[add]]\nsource = "sail"\ntarget = "pay"\nparameter = "amount"',
            r"add\[0\]\.source: there is no tool 'sail'; known: get_",
        ),
        (
            '[[add]]\nsource = "list_tags"\ntarget = "pay"\nparameter = "tip"',
            r"add\[0\]\.parameter: pay has no parameter 'tip'; it has booking_id, amount",
        ),
        ('[[add]]\nsource = "pay"\ntarget = "pay"\nparameter = "amount"', r"add\[0\]: a tool does not feed itself"),
        ('[[remove]]\nsource = "pay"', r"remove\[0\]: there is no such edge"),
        ("[[remove]]", r"remove\[0\]: should say which edges"),
    ],
)
def test_overrides_that_make_no_sense(tmp_path: Path, text: str, problem: str) -> None:
    """File and place are named, and what would do."""
    with pytest.raises(DataError, match=rf"edges\.toml: .*{problem}"):
        build(domain(), overrides=_overrides(tmp_path, text))


def test_missing_overrides(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(DataError, match=r"none\.toml: cannot be read"):
        override.read(tmp_path / "none.toml")


def test_json_and_back() -> None:
    """What is written is read as the same graph; everything of it is in the file."""
    graph = shop_graph()
    assert from_json(graph.json()) == graph
    assert from_json(graph.json()).json() == graph.json()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "g.json: "),
        ("[]", "g.json: format: should be 'turngap/tool-graph/1', not None"),
        ('{"format": "turngap/tool-graph/0"}', "format: should be"),
        ('{"format": "turngap/tool-graph/1", "domain": 7}', "g.json: domain: no tool graph"),
    ],
)
def test_files_that_are_no_graph(text: str, problem: str) -> None:
    """The file and the field are named."""
    with pytest.raises(DataError) as caught:
        from_json(text, file="g.json")
    assert problem in str(caught.value)


def test_a_graph_that_was_edited_into_a_circle_is_refused() -> None:
    """So are edges between tools that are not there."""
    graph = shop_graph()
    back = Edge(source="get_order_details", target="get_user_details", field="user_id", parameter="user_id")
    nowhere = Edge(source="sail", target="get_user_details", field="", parameter="user_id")
    for edge, problem in ((back, "lead in a circle"), (nowhere, "without its tools")):
        edited = ToolGraph(domain=graph.domain, tools=graph.tools, edges=(*graph.edges, edge))
        with pytest.raises(DataError, match=problem):
            from_json(edited.json())


def test_feeders_prefer_what_was_seen() -> None:
    """A tool of which values flowed stands for a parameter; names that agree do only where nothing better is known."""
    graph = shop_graph()
    exchange = graph.feeders("exchange_delivered_order_items")
    assert exchange["new_item_ids"] == ("get_product_details",)
    assert "get_order_details" in exchange["item_ids"]
    assert set(graph.feeders("modify_pending_order_address")["city"]) == {"get_user_details", "get_order_details"}
    assert "reason" not in graph.feeders("cancel_pending_order")
    with pytest.raises(KeyError):
        graph.feeders("sail")


def test_feeders_of_a_small_graph() -> None:
    """Of three tools for one parameter, those seen and given are left, in order; alone, one by name is enough."""
    tools = tuple(Node(name=name, kind="read", required=("a", "b")) for name in "pqrst")
    graph = ToolGraph(
        domain="small",
        tools=tools,
        edges=(
            Edge(source="p", target="t", field="a", parameter="a[*]", evidence=("schema",)),
            Edge(source="q", target="t", field="a", parameter="a[*]", evidence=("schema", "flow")),
            Edge(source="r", target="t", field="", parameter="a[*]", evidence=("given",)),
            Edge(source="p", target="t", field="b", parameter="b.c", evidence=("schema",)),
        ),
    )
    assert graph.feeders("t") == {"a": ("q", "r"), "b": ("p",)}
    assert graph.neighbours("t") == ("p", "q", "r")


def test_flows_hold_for_all_records() -> None:
    """Beside the whole database: what a field held anywhere, the target of a flow goes through with."""
    world = shop().world()
    content = world.content()
    results = {
        "get_user_details": [call("get_user_details", user_id=key) for key in content["users"]],
        "get_order_details": [call("get_order_details", order_id=key) for key in content["orders"]],
        "get_product_details": [call("get_product_details", product_id=key) for key in content["products"]],
        "list_all_product_types": [call("list_all_product_types")],
    }
    held: dict[tuple[str, str], set[str]] = {}
    for tool, calls in results.items():
        for one in calls:
            for offer in offers(world.call(one).content):
                held.setdefault((tool, place(offer)), set()).add(offer.value)
    looking = [
        edge
        for edge in shop_graph().edges
        if "flow" in edge.evidence and edge.source in results and edge.target.startswith("get_")
    ]
    assert len(looking) >= 5
    for edge in looking:
        for value in sorted(held[edge.source, edge.field]):
            answer = world.call(call(edge.target, **{edge.parameter: value}))
            # An article that was ordered may be sold no more, so that a look at it fails.
            assert not answer.error or edge.target == "get_item_details", (edge, value)
