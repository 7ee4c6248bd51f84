"""The picture of a tool graph."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from boatdomain import domain
from shopgraph import shop_graph

from turngap.report.tool_graph import svg
from turngap.synth.graph import Edge, Node, ToolGraph, build

_SVG = "{http://www.w3.org/2000/svg}"


def _texts(picture: str, kind: str) -> list[str]:
    found = ET.fromstring(picture).iter(f"{_SVG}text")
    return [one.text or "" for one in found if kind in (one.get("class") or "").split()]


def test_everything_of_a_graph_is_in_its_picture() -> None:
    """Every tool and parameter stands once, every arrow has its lines, and what was cut is told."""
    graph = shop_graph()
    picture = svg(graph)
    assert sorted(_texts(picture, "name")) == sorted(graph.nodes)
    rows = [name for line in _texts(picture, "row") for name in line.replace("?", "").rstrip(",").split(", ")]
    assert sorted(rows) == sorted(name for node in graph.tools for name in (*node.required, *node.optional))
    titles = [one.text or "" for one in ET.fromstring(picture).iter(f"{_SVG}title")]
    drawn = {tuple(title.partition("\n")[0].split(" \N{RIGHTWARDS ARROW} ")) for title in titles[1:]}
    assert drawn == set(graph.arrows)
    told = "\n".join(titles)
    assert "items[*].product_id -> product_id (names and types agree, " in told
    assert all(f"{edge.field or 'the whole result'} -> {edge.parameter} (" in told for edge in graph.edges)
    assert any(line.startswith("Left out, since they lead back: ") for line in _texts(picture, "note"))


def test_the_same_graph_is_the_same_picture() -> None:
    """To the byte, and needing nothing from elsewhere."""
    picture = svg(shop_graph())
    assert svg(shop_graph()) == picture
    assert "href" not in picture
    assert "url(" not in picture


def test_odd_names_and_large_and_empty_graphs() -> None:
    """Names that would break the picture do not; long ones are cut; no tools make a picture too."""
    odd = Node(name="a<b>&\x1b[31m", kind="read", required=("x" * 90, "<&>"))
    other = Node(name="next", kind="generic", optional=("y",))
    edge = Edge(source=odd.name, target="next", field="<i>", parameter="y", evidence=("given",))
    picture = svg(ToolGraph(domain='"<d>&', tools=(odd, other), edges=(edge,), silent=(odd.name,)))
    assert _texts(picture, "name") == ["a<b>&\N{REPLACEMENT CHARACTER}[31m", "next"]
    assert max(map(len, _texts(picture, "row"))) <= 41
    assert "given by a person" in picture
    assert any("Nothing is known of the results of a<b>" in line for line in _texts(picture, "note"))
    assert _texts(svg(ToolGraph(domain="none", tools=(), edges=())), "title") == ["none: tool graph"]


def test_tools_without_edges_stand_below() -> None:
    """They are told apart, and listed under a heading of their own."""
    assert "Without edges, usable at any time" in _texts(svg(build(domain())), "section")
    alone = ToolGraph(domain="d", tools=(Node(name="a", kind="read"),), edges=())
    assert _texts(svg(alone), "section") == ["No tool's results fill a parameter of another"]


@pytest.mark.slow
def test_no_text_runs_out_of_its_box(tmp_path: Path) -> None:
    """In a browser, the text of each box ends inside of it, and all text inside of the picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs a Chromium on the path")
    api = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "graph.svg"
    file.write_text(svg(shop_graph()), encoding="utf-8")
    measure = """() => {
        const wide = document.documentElement.viewBox.baseVal.width;
        const out = [...document.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > wide);
        for (const box of document.querySelectorAll('g')) {
            const card = box.querySelector(':scope > .card');
            if (!card) continue;
            const edge = card.getBoundingClientRect().right - 4;
            out.push(...[...box.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > edge));
            const [name, kind] = [box.querySelector('.name'), box.querySelector('.kind')];
            if (name.getBoundingClientRect().right > kind.getBoundingClientRect().left) out.push(name);
        }
        return out.map(t => t.textContent);
    }"""
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser)
        page = chromium.new_page()
        page.goto(file.as_uri())
        assert page.evaluate(measure) == []
        chromium.close()
