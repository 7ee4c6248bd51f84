"""Replies of judges: any wrapping, but only a structured, complete, boolean verdict."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.judges.reply import Answer, Unreadable, read, read_object

PASS = '{"success": true, "failure_category": "none", "rationale": "It looks the booking up first."}'
FAIL = '{"success": false, "failure_category": "wrong date", "rationale": "Says 3 May."}'


@pytest.mark.parametrize(
    "text",
    [
        FAIL,
        f"\ufeff{FAIL}".lstrip("\ufeff"),
        f"```json\n{FAIL}\n```",
        f"```\n{FAIL}\n```\nI hope this helps.",
        f"Here is my verdict: {FAIL}",
        f"The set {{a, b}} of options was not offered. {FAIL} That is all.",
        f"<think>maybe {PASS}</think>{FAIL}",
        f"<thinking>{PASS}</thinking>\n\n{FAIL}",
        f"maybe {PASS} after all?</think>\n{FAIL}",
        f"<think>a <think>b</think> {PASS} c</think>{FAIL}",
        f"An example would be {PASS}\nMine: {FAIL}",
        f"[{FAIL}]",
        '{\n  "rationale": "Braces { in \\" text", "success": false, "failure_category": "wrong date"\n}',
    ],
)
def test_wrapped_verdicts_are_read(text: str) -> None:
    """JDG-01: fences, prose, reasoning and a copied example do not hide the verdict."""
    answer = read(text)
    assert isinstance(answer, Answer)
    assert not answer.success
    assert answer.category == "wrong date"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "INCORRECT",
        "CORRECT",
        "success: no. A success: yes would need the date.",
        "verdict: pass-through of the request failed",
        "success: true",
        '{"success": "true", "failure_category": "none", "rationale": ""}',
        '{"success": 1, "failure_category": "none"}',
        '{"success": null}',
        '{"turn_success": true, "failure_category": "none", "rationale": ""}',
        '{"verdict": {"success": true, "failure_category": "none", "rationale": ""}}',
        '{"success": true, "success": false, "failure_category": "x", "rationale": ""}',
        "{'success': True}",
        f"<think>I would say {PASS}",
        f"<think>I would say {PASS}</think>",
        f'{FAIL} or rather {{"success": true}}',
        "true",
    ],
)
def test_no_verdict_is_guessed(text: str) -> None:
    """JDG-06: words, wrong types, nested, doubled or contradicting fields, and reasoning alone are no verdict."""
    assert isinstance(read(text), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        '{"success": true, "rationale": "The agent corr',
        '{"success": true,',
        '{"note": {"success": true, "failure_category": "none", "rationale": ""}, "success": fal',
        f'{PASS} No, that was the example. {{"success": false, "failure_cat',
    ],
)
def test_half_an_object_is_never_read(text: str) -> None:
    """JDG-03: neither its first field, nor an object inside it, nor one that stands before it."""
    assert read(text) == Unreadable("its JSON object was not complete")


def test_category_and_rationale_are_tidied() -> None:
    """A success has category none, a failure never has; rationale may be left out, and is one line."""
    assert read('{"success": true, "failure_category": "policy"}') == Answer(
        success=True, category="none", rationale=""
    )
    assert read('{"success": false, "failure_category": " None "}') == Answer(
        success=False, category="unspecified", rationale=""
    )
    answer = read('{"success": false, "failure_category": "a\\nb", "rationale": "two\\n lines"}')
    assert answer == Answer(success=False, category="a b", rationale="two lines")


@given(st.text(max_size=60), st.booleans())
def test_whatever_the_rationale_holds(rationale: str, success: bool) -> None:
    """Braces, quotes and tags inside a verdict's own text do not disturb it."""
    verdict = {"success": success, "failure_category": "x", "rationale": rationale + ' <think>{"success": 3}'}
    answer = read(json.dumps(verdict))
    assert isinstance(answer, Answer)
    assert answer.success is success


@given(st.text(alphabet='{}"\\:,truefalsn <think>/succes', max_size=60))
def test_no_reply_breaks_the_reader(text: str) -> None:
    """Any text is either an answer or a reason."""
    assert isinstance(read(text), Answer | Unreadable)


def test_any_object_is_read_with_the_same_tolerance() -> None:
    """Fences, prose and reasoning around it; the last of several; half of one is none."""
    assert read_object('{"a": 1}') == {"a": 1}
    assert read_object('<think>{"b": 2}</think>Sure:\n```json\n{"a": {"c": "}"}}\n```') == {"a": {"c": "}"}}
    assert read_object('First {"a": 1}, no: {"a": 2}') == {"a": 2}
    for text, reason in (
        ("", "it was empty"),
        ("<think>{}</think>", "it held reasoning only"),
        ('{"a": ', "its JSON object was not complete"),
        ("none", "it held no JSON object"),
    ):
        assert read_object(text) == Unreadable(reason)
