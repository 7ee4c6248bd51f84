"""Templates and files of the viewer: what text becomes, and what is served."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pages_module = pytest.importorskip("turngap.web.pages", reason="the extra view is not installed")
from turngap.web.pages import Pages, address, encode, exact, interval, percent  # noqa: E402

_ESCAPES = {"&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&#13;": "\r", "&amp;": "&"}


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_view_01_text_is_shown_byte_for_byte(text: str) -> None:
    """VIEW-01: nothing of it is markup, and what a browser reads is what was there."""
    shown = str(exact(text))
    assert not re.search(r"[<>\"']", shown)
    assert re.sub("|".join(_ESCAPES), lambda found: _ESCAPES[found[0]], shown) == text


def test_view_04_what_no_page_can_hold_is_marked() -> None:
    """VIEW-04: lone surrogates and NUL appear as U+FFFD, in pages and in data."""
    assert str(exact("a\ud83d\0b")) == "a\ufffd\ufffdb"
    assert json.loads(encode({"k\0": ["a\0b", "\\u0000", "\\\0"]})) == {"k\ufffd": ["a\ufffdb", "\\u0000", "\\\ufffd"]}
    assert json.loads(encode({"k\ud83d": ["\ud83d"]})) == {"k\ufffd": ["\ufffd"]}


def test_view_02_data_are_strict_json() -> None:
    """VIEW-02: NaN and Infinity are null."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    text = encode({"a": float("nan"), "b": [float("inf"), -float("inf")], "c": 1.5})
    assert json.loads(text, parse_constant=refuse) == {"a": None, "b": [None, None], "c": 1.5}


def test_sec_07_templates_escape() -> None:
    """SEC-07: whatever a template shows, in text and in attributes, is text."""
    page = Pages("key").render(
        "problem.html.j2", title='"><script>alert(1)</script>', line="</main><img src=x onerror=1>"
    )
    assert "<script>alert" not in page and "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_nothing_is_inline() -> None:
    """No template has a script, a style or a handler of its own: the policy would refuse it."""
    folder = pages_module.files("turngap.web") / "page"
    templates = [file for file in folder.iterdir() if file.name.endswith(".j2")]
    assert len(templates) > 3
    for file in templates:
        text = file.read_text(encoding="utf-8")
        for script in re.findall(r"<script\b[^>]*>", text):
            assert "src=" in script or 'type="application/json"' in script, (file.name, script)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe\b", text), file.name


def test_scripts_make_no_markup_of_text() -> None:
    """Scripts of ours set text, never markup, and evaluate nothing."""
    folder = pages_module.files("turngap.web") / "page"
    for file in folder.iterdir():
        if file.name.endswith(".js"):
            text = file.read_text(encoding="utf-8")
            found = re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text
            )
            assert found is None, (file.name, found)


def test_files_are_served_by_fixed_names() -> None:
    """Templates are none of them; an address changes with its file."""
    pages = Pages()
    assert pages.asset("base.html.j2") is None
    assert pages.asset("../pages.py") is None and pages.asset("") is None
    for name in ("view.css", "view.js", "theme.js", "tokens.css"):
        asset = pages.asset(name)
        assert asset is not None and asset.body
        assert re.fullmatch(rf"/static/{re.escape(name)}\?v=[0-9a-f]{{12}}", pages.static(name))
    with pytest.raises(KeyError):
        pages.static("nothing.js")


def test_the_colours_are_those_of_the_report() -> None:
    """Light, dark by the system, and dark by choice."""
    asset = Pages().asset("tokens.css")
    assert asset is not None
    text = asset.body.decode()
    report = (pages_module.files("turngap.report") / "page" / "page.css").read_text(encoding="utf-8")
    for name in ("--paper", "--ink", "--accent", "--good", "--bad"):
        light, dark = re.findall(rf"{name}: (#[0-9a-f]+);", report)[:2]
        assert re.findall(rf"{name}: (#[0-9a-f]+);", text) == [light, dark, dark]


def test_the_scripts_of_charts_come_from_a_package() -> None:
    """vl-convert's bundle, made when asked for."""
    pytest.importorskip("vl_convert", reason="the extra view is not installed")
    asset = Pages().asset("vega.js")
    assert asset is not None and b"vegaEmbed" in asset.body


def test_figures_as_people_read_them() -> None:
    """Shares in percent, and a dash for what is not there."""
    assert (percent(0.6375), percent(None), percent(1.0)) == ("63.8", "–", "100.0")
    assert (interval((0.5, 0.75)), interval(None)) == ("[50.0, 75.0]", "")


def test_addresses_keep_what_they_are_given() -> None:
    """Ids are percent-encoded, empty fields left out."""
    assert address("/r/r1/c", id="a/b?c&d=é\n", trial=None, q="") == "/r/r1/c?id=a%2Fb%3Fc%26d%3D%C3%A9%0A"
    assert address("/") == "/"
