"""What people call things."""

from __future__ import annotations

import pytest
from retailshop import small_shop

from turngap.synth.description import Found, Records, article, article_name, found_in, is_plural, listed, variant
from turngap.synth.phrase import Options

RULES = Options(inside=("color", "size"), before=("type",), quality=("foldable",), bare=("power",))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Rain Jacket", "rain jacket"),
        ("USB Hub", "USB hub"),
        ("T-Shirt", "T-shirt"),
        ("One-Piece Swimsuit", "one-piece swimsuit"),
        ("Chef's Knife", "chef's knife"),
    ],
)
def test_names_inside_a_sentence(name: str, said: str) -> None:
    """Capitals go, but for those of abbreviations."""
    assert article_name(name) == said


def test_an_article_is_called_by_its_name_where_that_will_do() -> None:
    """Beside one of the same name what sets it apart is said as well, and no more than that."""
    red = {"name": "Mug", "options": {"color": "red", "size": "M"}}
    blue = {"name": "Mug", "options": {"color": "blue", "size": "M"}}
    assert article(Found(red, (red, {"name": "Lamp", "options": {}})), "name", "options", RULES) == "the mug"
    assert article(Found(red, (red, blue)), "name", "options", RULES) == "the mug in red"
    assert article(Found(red, (red, red)), "name", "options", RULES) == "the mug"


@pytest.mark.parametrize(
    ("after", "whole", "said"),
    [
        ({"color": "blue", "size": "M", "lid": "yes"}, False, "the same one in blue"),
        ({"color": "blue", "size": "M", "lid": "yes"}, True, "one in blue and size M with lid"),
        ({"color": "red", "size": "30 in", "lid": "no"}, False, "the same one in the 30 in size with no lid"),
        ({"color": "red", "size": "M", "lid": "yes"}, False, "exactly the same one"),
        ({"color": "blue", "size": "L", "lid": "no"}, False, "one in blue and size L with no lid"),
    ],
)
def test_another_variant_is_told_by_what_is_different(after: dict[str, str], *, whole: bool, said: str) -> None:
    """Or by everything, where nothing is the same or where that is asked for."""
    old = {"options": {"color": "red", "size": "M", "lid": "yes"}}
    assert variant(old, {"options": after}, "options", RULES, whole=whole) == said


def test_options_that_stand_before_the_thing() -> None:
    """A type and a quality do; what an article is not, it is "non-" of; a pair is spoken of in the plural."""
    new = {"options": {"type": "electric", "foldable": "no", "power": "9 W", "cups": "1", "reach": "5 m"}}
    assert variant(None, new, "options", RULES, whole=True) == (
        "an electric non-foldable one with 9 W, 1 cup and 5 m reach"
    )
    assert variant(None, {"options": {"color": "red"}}, "options", RULES, whole=True, several=True) == "ones in red"
    both = {"options": {"type": "both", "power": "both"}}
    assert variant(None, both, "options", RULES, whole=True) == "one with both kinds of type and both kinds of power"


def test_lists_and_plurals() -> None:
    """As in a sentence."""
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nothing",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [is_plural(name) for name in ("Ankle Socks", "Dress", "Cactus", "Mug")] == [True, False, False, False]


def test_a_record_is_found_by_its_key_in_the_database() -> None:
    """Where it is a key there it is described, with the fields of what holds it."""
    found = Records(small_shop()).find("12")
    assert found is not None
    assert (found.record["name"], found.record["options"]) == ("Mug", {"color": "blue"})
    assert len(found.beside) == 3
    assert Records(small_shop()).find("nothing") is None


def test_a_record_is_found_at_a_place_of_a_result() -> None:
    """The object around it, and those beside it."""
    result = '{"order_id": "#W1", "items": [{"item_id": "11", "name": "Mug"}, {"item_id": "21", "name": "Lamp"}]}'
    found = found_in(result, "items[1].item_id")
    assert found is not None
    assert found.record["name"] == "Lamp"
    assert found.record["order_id"] == "#W1"
    assert [one["name"] for one in found.beside] == ["Mug", "Lamp"]
