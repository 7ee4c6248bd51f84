"""From hints and docstrings to what the agent is told, and from its arguments to typed values."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest
from boatdomain import Booking, Contact, Desk, get_booking, move_booking, set_contact

from turngap.data import ToolSpec
from turngap.domains.api import Record, generic, write
from turngap.domains.signature import Signature
from turngap.errors import UsageError


class Size(enum.Enum):
    """How large a boat is."""

    SMALL = "small"
    LARGE = "large"


class Tree(Record):
    """A record that holds its own kind."""

    name: str
    below: list[Tree] = msgspec.field(default_factory=list)


def _full(  # noqa: D417 - that most parameters have no description is part of the case
    desk: Desk,
    count: int,
    price: Decimal,
    share: float,
    size: Size,
    on: dt.date,
    way: Literal["in", "out"],
    contact: Contact | None = None,
    tags: frozenset[str] = frozenset(),
    limit: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3,
    *,
    notify: bool = True,
) -> None:
    """Do everything.

    And say so in two paragraphs.

    Args:
        desk: not told.
        count (int): how many,
            at least one.
        way: in or out.

    Returns:
        size: nothing.
    """


def test_schemas_say_what_the_hints_say() -> None:
    """Types, choices, bounds, defaults, nested records and descriptions reach the agent; the state does not."""
    signature = Signature(_full)
    assert signature.state is Desk
    assert signature.spec() == ToolSpec(
        name="_full",
        description="Do everything.\n\nAnd say so in two paragraphs.",
        parameters={
            "type": "object",
            "properties": {
                "count": {"type": "integer", "description": "how many, at least one."},
                "price": {"type": "number"},
                "share": {"type": "number"},
                "size": {"type": "string", "enum": ["large", "small"], "description": "How large a boat is."},
                "on": {"type": "string", "format": "date"},
                "way": {"type": "string", "enum": ["in", "out"], "description": "in or out."},
                "contact": {
                    "anyOf": [
                        {
                            "type": "object",
                            "description": "Who comes.",
                            "properties": {"name": {"type": "string"}, "postcode": {"type": "string", "default": ""}},
                            "required": ["name"],
                            "additionalProperties": False,
                        },
                        {"type": "null"},
                    ],
                    "default": None,
                },
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": []},
                "limit": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "notify": {"type": "boolean", "default": True},
            },
            "required": ["count", "price", "share", "size", "on", "way"],
            "additionalProperties": False,
        },
    )


def test_a_recursive_type_keeps_its_reference() -> None:
    """Where a record holds its own kind, the schema refers to a definition that it carries."""

    def plant(tree: Tree) -> None:
        """Plant."""

    schema = Signature(plant).schema
    assert schema["properties"]["tree"]["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    assert Signature(plant).read({"tree": {"name": "a", "below": [{"name": "b"}]}}) == {
        "tree": Tree(name="a", below=[Tree(name="b")])
    }
    assert "below[0]" in str(Signature(plant).read({"tree": {"name": "a", "below": [{"name": 1}]}}))


def test_parameters_may_be_called_like_words_of_schemas() -> None:
    """A parameter named title, enum or format is a parameter."""

    def publish(title: str, enum: int = 1, format: str = "a") -> None:  # noqa: A002 - that is the case
        """Publish."""

    assert Signature(publish).schema["properties"] == {
        "title": {"type": "string"},
        "enum": {"type": "integer", "default": 1},
        "format": {"type": "string", "default": "a"},
    }


def test_arguments_become_typed_values() -> None:
    """JSON values become the types that the function asks for; what is left out takes its default."""
    arguments = {
        "count": 2.0,
        "price": 12.5,
        "share": 1,
        "size": "small",
        "on": "2031-05-02",
        "way": "in",
        "contact": {"name": "Ines"},
        "tags": ["b", "a"],
    }
    assert Signature(_full).read(arguments) == {
        "count": 2,
        "price": Decimal("12.5"),
        "share": 1.0,
        "size": Size.SMALL,
        "on": dt.date(2031, 5, 2),
        "way": "in",
        "contact": Contact(name="Ines"),
        "tags": frozenset({"a", "b"}),
        "limit": 3,
        "notify": True,
    }


@pytest.mark.parametrize(
    ("function", "arguments", "problem"),
    [
        (get_booking, {}, "missing required argument 'booking_id'"),
        (get_booking, {"booking_id": 5}, "argument 'booking_id' should be a string, not 5"),
        (get_booking, {"booking_id": "B", "force": True}, "unknown argument 'force'"),
        (
            move_booking,
            {"booking_id": "B", "date": "d", "seats": "2"},
            "argument 'seats' should be an integer, not \"2\"",
        ),
        (
            move_booking,
            {"booking_id": "B", "date": "d", "seats": 2.5},
            "argument 'seats' should be an integer, not 2.5",
        ),
        (
            move_booking,
            {"booking_id": "B", "date": "d", "seats": True},
            "argument 'seats' should be an integer, not true",
        ),
        (move_booking, {"booking_id": "B", "date": None}, "argument 'date' should be a string, not null"),
        (set_contact, {"booking_id": "B", "contact": {"postcode": "1"}}, "missing required argument 'contact.name'"),
        (_full, {"on": "2 May"}, "missing required arguments 'count', 'price', 'share', 'size', 'way'"),
    ],
)
def test_unfit_arguments_are_explained(function: Any, arguments: dict[str, Any], problem: str) -> None:
    """The text names the argument and what was asked for, and gives nothing else away."""
    signature = Signature(function if callable(function) and not hasattr(function, "signature") else function.function)
    told = signature.read(arguments)
    assert isinstance(told, str)
    assert told.startswith(problem)


def test_what_the_schema_cannot_say_is_still_checked() -> None:
    """A date that is none is refused, although schemas do not check formats."""

    def on(day: dt.date) -> None:
        """Take a day."""

    assert Signature(on).read({"day": "2 May"}) == "Invalid RFC3339 encoded date - at 'day'"


def _untyped(desk: Desk, x) -> None:  # type: ignore[no-untyped-def]
    """Take something."""


def _many(desk: Desk, *xs: int) -> None:
    """Take several."""


def _late(x: int, desk: Desk) -> None:
    """Take the state late."""


def _odd(x: Callable[[], int]) -> None:
    """Take a function."""


def _unresolved(x: Nowhere) -> None:  # type: ignore[name-defined] # noqa: F821 - that is the case
    """Take nothing known."""


def _stray(x: int) -> None:
    """Take x.

    Args:
        x: one.
        y: not there.
    """


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_untyped, "_untyped: parameter 'x' needs a type hint"),
        (_many, "_many: parameter 'xs' should be an ordinary one, not . or /"),
        (_late, "_late: the state should be the first parameter, not 'desk'"),
        (_odd, "_odd: a parameter has a type that JSON cannot hold"),
        (_unresolved, "_unresolved: a type hint cannot be resolved: name 'Nowhere' is not defined"),
        (_stray, "_stray: the docstring describes 'y', which is no parameter"),
    ],
)
def test_signatures_that_cannot_be_told_are_refused(function: Any, problem: str) -> None:
    """What is wrong with a tool is said when it is defined, with its name and the parameter's."""
    with pytest.raises(UsageError, match=problem):
        generic(function)


def test_reading_and_writing_need_the_state() -> None:
    """A tool that neither sees nor changes a state is generic."""

    def nothing() -> str:
        """Do nothing."""
        return ""

    with pytest.raises(UsageError, match="nothing: a write tool needs the state as its first parameter"):
        write(nothing)


def test_tools_can_be_called_as_functions() -> None:
    """Inside a domain a tool is the function that it was."""
    desk = Desk.of({"bookings": {"B": {"date": "d"}}})
    assert get_booking(desk, "B") == Booking(date="d")


def test_mutable_defaults_are_nobody_s_to_change() -> None:
    """A default that is a list is a new one in every call."""

    def gather(names: list[str] = ["a"]) -> str:  # noqa: B006 - that is the case
        """Gather."""
        names.append("b")
        return ",".join(names)

    signature = Signature(gather)
    for _ in range(2):
        values = signature.read({})
        assert isinstance(values, dict)
        assert gather(**values) == "a,b"
