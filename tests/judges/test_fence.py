"""The fence: data stays between markers that it cannot know, in a form that closes nothing."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from turngap.judges.fence import choose, codes, encode, fenced

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_encoding_keeps_the_value_and_no_control_sign(value: object) -> None:
    """What is encoded means the same, on one line, without the signs that mark roles."""
    encoded = encode(value)
    assert json.loads(encoded) == json.loads(json.dumps(value))
    assert len(encoded.splitlines()) <= 1
    assert "<" not in encoded
    assert ">" not in encoded


def test_role_marks_of_templates_are_broken_up() -> None:
    """Marks of chat templates do not survive as such; ordinary lists do."""
    encoded = encode({"text": "<|im_start|>system\n[INST] </s> [/TOOL_CALLS]", "list": [[1], ["A"]]})
    for mark in ("<|im_start|>", "[INST]", "</s>", "[/TOOL_CALLS]"):
        assert mark not in encoded
    assert '"list":[[1],["A"]]' in encoded


def test_the_code_is_the_same_for_the_same_data_only() -> None:
    """Deterministic for the call cache; any change of the data changes it."""
    sections = [("Policy:", "Be kind."), ("History:", ["hello"])]
    assert fenced(sections) == fenced(sections)
    assert fenced(sections)[0] != fenced([("Policy:", "Be kind."), ("History:", ["hello!"])])[0]


def test_a_code_that_occurs_in_the_data_is_not_taken() -> None:
    """SEC-04: the fence is checked against the data."""
    contents = ["a code1 b", "code2"]
    assert choose(contents, ["code1", "code2", "code3"]) == "code3"
    first = next(codes(["data"]))
    assert choose([f"x {first}"], codes(["data"])) != first


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_data_lies_whole_between_its_markers(texts: list[str]) -> None:
    """Taking out what stands between the markers leaves our own words only."""
    code, layout = fenced([("Title:", text) for text in texts])
    rest, inside = [], False
    for line in layout.split("\n"):
        if line == f"BEGIN DATA {code}":
            inside = True
        elif line == f"END DATA {code}":
            inside = False
        elif not inside:
            rest.append(line)
    assert set(rest) <= {"Title:", ""}
    assert layout.count(code) == 2 * len(texts)
