"""What results offer."""

from __future__ import annotations

from typing import Any

import pytest
from explorations import MUG, PENDING, PRODUCTS, USER, shop
from hypothesis import given
from hypothesis import strategies as st

from turngap import jsonio
from turngap.synth.offer import at, leaves, offers, parsed, parts, placed, token
from turngap.synth.replay import replay

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_names_places_and_kinds() -> None:
    """Values of one kind stand at places that differ by index or key only."""
    result = replay(shop(), [PENDING]).steps[0].result
    ids = [one for one in offers(result) if one.kind == "items[*].item_id"]
    assert [(one.path, one.value) for one in ids] == [("items[0].item_id", "11"), ("items[1].item_id", "21")]
    assert ids[0].holder == "items[0]"


def test_keys_of_maps_are_values_and_names_of_fields_are_not() -> None:
    """Ids under which records stand are offered, and so are the things that a list of names tells."""
    user, mug, products = replay(shop(), [USER, MUG, PRODUCTS]).steps
    assert [one.value for one in offers(user.result) if one.is_key] == ["c1", "g1", "g2"]
    assert [one.value for one in offers(mug.result) if one.is_key] == ["11", "12", "13"]
    assert [one.value for one in offers(products.result)] == ["Lamp", "2", "Mug", "1"]


def test_text_is_one_value() -> None:
    """A result that is no JSON is offered as it is; a number is one."""
    assert [one.value for one in offers("noor_castillo_4967")] == ["noor_castillo_4967"]
    assert [one.value for one in offers("54.04")] == [54.04]
    assert parsed('"quoted"') == '"quoted"'


@given(_VALUES)
def test_every_offer_is_at_its_place(value: Any) -> None:
    """What stands at an offer's path is its value, whatever the keys look like."""
    result = jsonio.dumps(value)
    for offer in offers(result):
        if not offer.is_key:
            assert at(result, offer.path) == offer.value or isinstance(value, str)


@given(st.dictionaries(st.text(min_size=1, max_size=8), _VALUES, max_size=3))
def test_every_leaf_can_be_replaced(arguments: dict[str, Any]) -> None:
    """A value put in place of a leaf stands there, and nothing else is another."""
    for path, _ in leaves(arguments):
        changed = placed(arguments, path, "new")
        assert dict(leaves(changed)) == {**dict(leaves(arguments)), path: "new"}


def test_a_path_that_leads_nowhere_is_an_error() -> None:
    """The path is named."""
    with pytest.raises(KeyError, match="price"):
        at('{"items": []}', "items[0].price")


def test_takes_paths_apart() -> None:
    """Keys with dots and brackets stand in quotes."""
    assert parts('variants["a.b]"].options[2]') == ("variants", "a.b]", "options", 2)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(5, 5.0, True), (True, 1, False), ("5", 5, True), (None, "null", True), ("a", "b", False)],
)
def test_values_that_mean_the_same(one: Any, other: Any, same: bool) -> None:
    """Numbers go by value, and an id by its signs whether a tool wrote it as text or as a number."""
    assert (token(one) == token(other)) is same
