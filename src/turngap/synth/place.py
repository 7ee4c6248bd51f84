"""Places: paths that name a spot in every result of a tool, or in every call of it, and not in one.

``items[*].item_id`` is the item id of any item, ``payment_methods[*].id`` the id in any entry of a map,
``payment_methods[key]`` the key of such an entry; the empty place is a result that is one value. Places of arguments
are written in the same way: ``flights[*].date``. Paths in one result, with indices, are `turngap.synth.offer`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turngap.data import ToolSpec
from turngap.synth.naming import likeness, replaced
from turngap.synth.offer import Offer
from turngap.synth.parameter import Parameter, parameters

_INDEX = re.compile(r"\[[^\]]*\]")
_KINDS: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "text"))


class Slot(NamedTuple):
    """A parameter, or the part of one that takes one value. A list has one slot, whatever its length."""

    place: str
    parameter: Parameter
    """Of the part: name, type, choices, examples."""
    required: bool
    """The parameter that it belongs to has to be given, and it in that."""


def owner(place: str) -> str:
    """The parameter that a place in the arguments belongs to: ``flights`` for ``flights[*].date``."""
    return re.split(r"[.\[]", place, maxsplit=1)[0]


def general(path: str) -> str:
    """The place of a path in one call's arguments: ``item_ids[*]`` for ``item_ids[0]``."""
    return _INDEX.sub("[*]", path)


def place(offer: Offer) -> str:
    """Where a value stands in every result of its tool."""
    return f"{offer.kind.removesuffix('[*]')}[key]" if offer.is_key else offer.kind


def called(field: str) -> str:
    """What a field is called: the last name in its place."""
    return _INDEX.sub("", field).rpartition(".")[2]


def slots(spec: ToolSpec) -> tuple[Slot, ...]:
    """Every slot of a tool's arguments, in the order of its schema; objects without known fields have none."""
    return tuple(slot for one in parameters(spec) for slot in _slots(one, one.name, required=one.required))


def _slots(parameter: Parameter, at: str, *, required: bool) -> Iterator[Slot]:
    if parameter.kind == "list" and parameter.item is not None:
        yield from _slots(parameter.item, f"{at}[*]", required=required)
    elif parameter.kind == "object":
        for field in parameter.fields:
            yield from _slots(field, f"{at}.{field.name}", required=required and field.required)
    else:
        yield Slot(at, parameter, required)


def arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call from the value of each slot; every list has one member."""
    built: dict[str, Any] = {}
    for at, value in values.items():
        _put(built, re.findall(r"\[\*\]|[^.\[]+", at), value)
    return built


def _put(holder: Any, parts: list[str], value: Any) -> None:
    at, rest = (0 if parts[0] == "[*]" else parts[0]), parts[1:]
    if not rest:
        if isinstance(holder, list):
            holder.append(value)
        else:
            holder[at] = value
        return
    fresh: Any = [] if rest[0] == "[*]" else {}
    if isinstance(holder, list):
        if not holder:
            holder.append(fresh)
    else:
        holder.setdefault(at, fresh)
    _put(holder[at], rest, value)


def kind_of(value: Any) -> str:
    """The kind of a single value, in the words of `Parameter.kind`; empty for null."""
    return next((kind for of, kind in _KINDS if isinstance(value, of)), "")


def fits(slot: Slot, kind: str) -> bool:
    """Whether a slot takes values of a kind."""
    wanted = slot.parameter.kind
    return kind == wanted or (kind == "integer" and wanted == "number")


def alike(slot: Slot, field: str) -> int:
    """How well a field's name fits a slot's, from 0 to 3 as `turngap.synth.naming.likeness`.

    What takes the place of something (``new_item_ids``) may be another of its kind, which is worth a try: 1.
    """
    old = replaced(slot.parameter.name)
    return max(likeness(slot.parameter.name, field), min(1, likeness(old, field)) if old else 0)


def beside(place: str) -> str:
    """The slot of what this one's value takes the place of: ``item_ids[*]`` for ``new_item_ids[*]``; else empty."""
    head, dot, last = place.rpartition(".")
    old = replaced(owner(last))
    return f"{head}{dot}{old}{last[len(owner(last)) :]}" if old else ""
