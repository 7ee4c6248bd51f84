"""The files of phrases: which are laid on top of which, and what is wrong with one that is not of the form."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from boatdomain import domain as boats
from explorations import shop

from turngap.errors import DataError
from turngap.synth.phrase import Voice, load, voiced


def test_a_domain_gets_the_files_that_speak_of_its_tools() -> None:
    """A shop those of shops, whatever it is called; a domain of the person's own the general ones."""
    assert load(shop()).sources == ("general.toml", "retail.toml")
    assert load(boats()).sources == ("general.toml",)


def test_every_write_tool_of_the_shop_has_its_phrases() -> None:
    """A wish, a vague wish and a topic."""
    tools = load(shop()).tools
    for tool in shop().tools:
        if tool.kind == "write":
            assert len(tools[tool.name].wish) > 1, tool.name
            assert len(tools[tool.name].vague) > 1, tool.name
            assert tools[tool.name].topic, tool.name


def test_the_person_s_own_file_counts_last(tmp_path: Path) -> None:
    """What it says takes the place of what is shipped; the digest tells that it does."""
    own = tmp_path / "own.toml"
    own.write_text('[tool.cancel_pending_order]\nwish = ["get rid of order {order_id}: {reason}"]\n', encoding="utf-8")
    plain, mine = load(shop()), load(shop(), [own])
    assert mine.tools["cancel_pending_order"].wish == ("get rid of order {order_id}: {reason}",)
    assert mine.tools["return_delivered_order_items"] == plain.tools["return_delivered_order_items"]
    assert mine.digest != plain.digest
    assert mine.sources[-1] == str(own)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wish = [", "not TOML"),
        ("[tool.x]\nwishes = []\n", r"own.toml: tool\[...\]: object contains unknown field `wishes`"),
        ("[tool.x]\nwish = 5\n", r"tool\[...\].wish: expected `array`, got `int`"),
        ("[tools.cancel_pending_order]\n", "unknown field `tools`; did you mean 'tool'"),
    ],
)
def test_a_file_that_is_not_of_the_form_is_named(tmp_path: Path, text: str, problem: str) -> None:
    """With the field, where there is one."""
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        load(shop(), [own])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[slot.reason]\nanswer = ["never"]', r"slot.reason.answer\[0\]: does not tell the value; put \{reason\}"),
        ("[slot.reason]\nanswer = []", "slot.reason.answer: is empty"),
        (
            '[slot.reson]\nanswer = ["{reson}"]',
            "slot.reson: no tool of the domain takes 'reson'; did you mean 'reason'",
        ),
        ("[slot.reason.words]\nlost = []", "slot.reason.words.lost: is empty"),
        (
            '[tool.cancel_pending_order]\nwish = ["{nothing}"]',
            r"wish\[0\]: nothing fills \{nothing\}; known here: order_id",
        ),
        ('[tool.cancel_pending_order]\nwish = ["{}"]', r"wish\[0\]: nothing fills \{\}"),
        ('[tool.cancel_pending_order]\nwish = [" "]', r"tool.cancel_pending_order.wish\[0\]: is empty"),
        ("[tool.cancel_pending_order]\nwish = []", "tool.cancel_pending_order.wish: is empty"),
        (
            '[tool.cancel_pending_order]\nvague = ["cancel {order_id}"]',
            r"vague\[0\]: nothing fills \{order_id\}; no value",
        ),
        ('[tool.cancel_pending_order.answer]\nreason = ["Well."]', r"answer.reason\[0\]: does not tell the value"),
        ('[tool.cancel_pending_order.answer]\nwhy = ["{why}"]', "answer.why: the tool takes no such argument"),
        ('[tool.cancel_order]\nwish = ["cancel"]', "tool.cancel_order: .* did you mean 'cancel_pending_order'"),
        (
            '[tool.cancel_pending_order.parts.all]\npair = ["order_id"]',
            "parts.all.pair: two arguments are a pair, not 1",
        ),
        ('[tool.cancel_pending_order.parts.all]\njoin = ["order"]', "parts.all: the tool takes no 'order'"),
        ('[talk]\nwish = ["<I> want something"]', r"talk.wish\[0\]: does not tell the value; put \{wish\}"),
        ('[talk]\ngreetings = ["Hi"]', "talk.greetings: there is no such turn of phrase; did you mean 'greeting'"),
        ('[talk]\ngreeting = [""]', r"talk.greeting\[0\]: is empty"),
        ('[identity]\nemail = ["I have one."]', r"identity.email\[0\]: does not tell the value; put \{email\}"),
        (
            '[[together]]\nslots = ["email"]\nsays = ["{email} {zip}"]',
            r"together\[0\].says\[0\]: nothing fills \{zip\}",
        ),
        ('[[asked]]\nplace = "amount"\nsays = []', r"asked\[0\].says: is empty"),
    ],
)
def test_phrases_that_cannot_serve_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    """What leaves out the value, has a hole that nothing fills, says nothing, or is about what the domain has not."""
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"own\.toml: .*{problem}") as caught:
        load(shop(), [own])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["general.toml", "retail.toml"])
def test_what_is_shipped_could_be_a_person_s_own(tmp_path: Path, name: str) -> None:
    """The rules for files of one's own hold for those that come with turngap, so that they can be copied and changed."""
    text = files("turngap.synth").joinpath("phrases", name).read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    assert load(shop(), [own]).sources[-1] == str(own)
    if name == "general.toml":
        assert load(boats(), [own]).sources[-1] == str(own)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """As one that cannot be read."""
    with pytest.raises(DataError, match=r"none\.toml: cannot be read"):
        load(shop(), [tmp_path / "none.toml"])


def test_one_phrase_speaks_for_two() -> None:
    """The person says I, the instructions say you; sentences begin with a capital."""
    phrase = "<I'm> moving, so change <my> address. it's <my> new one, and tell <me> when <I> <am> done."
    assert voiced(phrase, Voice.SELF) == (
        "I'm moving, so change my address. It's my new one, and tell me when I am done."
    )
    assert voiced(phrase, Voice.TO) == (
        "You're moving, so change your address. It's your new one, and tell you when you are done."
    )
