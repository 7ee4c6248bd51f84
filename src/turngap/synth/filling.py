"""Arguments for a call, taken from what is known and fit together.

Everything in one call is about one thing: the items are those of the order, what comes instead of an item is of the
same product, a payment method is the customer's own. What no record holds, such as a new address, is made up. Nothing
here knows whether the world will accept the call.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.synth.invention import Inventor, is_date, shifted
from turngap.synth.knowhow import Knowhow, Outline, fields_of
from turngap.synth.looking import Looking, Sight
from turngap.synth.memory import CUSTOMER, Leaf
from turngap.synth.naming import is_money, likeness, replaced, shape, words
from turngap.synth.parameter import Parameter
from turngap.synth.plan import Customer

_SAME_AGAIN = 0.25
"""How often a person who makes something up means something that is on record, such as the own address."""
_AS_BEFORE = 0.8
"""How often a person who made something up before means the same again: who moves, moves once."""
_OPTIONAL = 0.4
_KEPT = 0.4
"""How often the parts of a thing stay as they are where they may change, such as the flights when the class changes."""
_CONSERVATIVE = 6
"""How much likelier a thing is chosen instead of another the less of it differs."""
_HOW_MANY = ((1, 2, 3, 4, 5), (52, 28, 11, 6, 3))
_DAYS = (-3, -2, -1, 1, 1, 2, 2, 3, 4, 7, 14)
_AMOUNTS = (10, 20, 25, 50, 75, 100, 150, 200)
_DEEP = re.compile(r"[.\[]")
_COUNTS = (1, 1, 2, 2, 3, 4, 5)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What one call is about."""

    tool: Outline
    anchor: Parameter | None
    """The parameter that names it; None where that is the customer."""
    value: Any
    """What the anchor is."""
    sources: tuple[int, ...]
    """The sights that tell of it."""
    around: tuple[int, ...] = ()
    """Those that tell of the customer."""
    instead: Literal["another", "gone", "itself"] = "another"
    """What may take the place of a thing: another one; one that is not to be had, or the thing itself, where it is
    tried what should not come off."""


class Swap(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that takes the place of another."""

    old: dict[str, Any]
    new: dict[str, Any]


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments, and what stands behind them."""

    arguments: dict[str, Any]
    chosen: tuple[dict[str, Any], ...] = ()
    """The records of things of which several could be chosen."""
    swaps: tuple[Swap, ...] = ()
    bundle: tuple[str, ...] = ()
    """The parameters that were made up together."""


class Means:
    """All that calls are filled from, for one customer."""

    def __init__(
        self,
        knowhow: Knowhow,
        inventor: Inventor,
        looking: Looking,
        customer: Customer,
        tools: Sequence[Outline],
        rng: random.Random,
    ) -> None:
        self.knowhow = knowhow
        self.inventor = inventor
        self.looking = looking
        self.customer = customer
        self.tools = tools
        """Those that may be used."""
        self.rng = rng
        self.made: dict[frozenset[str], dict[str, Any]] = {}
        """What the customer made up before, by the names of the fields."""
        self._searched: dict[str, Sight] = {}

    def look_for(self, tool: Outline, record: dict[str, Any], *, otherwise: bool = False) -> dict[str, Any] | None:
        """Arguments of a read tool from one record; None where it does not hold them all.

        Args:
            tool: which.
            record: what holds the values, under names that say the same.
            otherwise: for another day than the record's.
        """
        arguments: dict[str, Any] = {}
        for one in tool.required:
            if Knowhow.is_key_of(self.customer.table, one.name):
                arguments[one.name] = self.customer.key
                continue
            named = (value for field, value in record.items() if likeness(one.name, field) >= 2)
            value = next((value for value in named if _is_of(one, value)), None)
            if value is None:
                return None
            arguments[one.name] = shifted(value, self.rng.choice(_DAYS)) if otherwise and is_date(value) else value
        return arguments

    def reach(self, name: str, record: dict[str, Any]) -> list[Leaf]:
        """Values of a kind that a look at what a record refers to brings up: other items of the same product."""
        found: list[Leaf] = []
        for field, value in record.items():
            if isinstance(value, (str, int)) and not isinstance(value, bool) and likeness(name, field) < 2:
                for tool in self.knowhow.openers(field, self.tools)[:1]:
                    sight = self.looking.look(tool, {tool.required[0].name: value})
                    if not sight.refused:
                        found += self.looking.memory.best(name, (sight.number,))
        return found

    def search(self, record: dict[str, Any]) -> Iterator[Sight]:
        """Look for others like a record by tools that ask for several of its values, such as its ends and a day."""
        for tool in self.rng.sample(self.tools, len(self.tools)):
            if tool.kind == "read" and len(tool.required) > 1:
                told = self.look_for(tool, record)
                if told is None:
                    continue
                # One look for one thing: a person has one other day in mind, not a new one at each try.
                before = self._searched.get(f"{tool.name} {jsonio.canonical(told)}")
                arguments = before.call.arguments if before is not None else self.look_for(tool, record, otherwise=True)
                sight = self.looking.look(tool, arguments or told)
                self._searched[f"{tool.name} {jsonio.canonical(told)}"] = sight
                if not sight.refused:
                    yield sight


def fill(means: Means, scope: Scope) -> Filled | None:
    """Arguments for a call, other ones each time; None where something that it needs is not to be had."""
    drawing = _Drawing(means, scope)
    bundle = means.knowhow.bundled(scope.tool)
    made = _bundle(means, bundle, scope) if bundle else None
    if bundle and made is None and any(one.required for one in scope.tool.parameters if one.name in bundle):
        return None
    for parameter in sorted(scope.tool.parameters, key=lambda one: replaced(one.name) is not None):
        together = made is not None and parameter.name in made
        if not parameter.required and not together and means.rng.random() > _OPTIONAL:
            continue
        value = made[parameter.name] if made is not None and together else drawing.value(parameter)
        if value is not None:
            drawing.arguments[parameter.name] = value
        elif parameter.required:
            return None
    names = (one.name for one in scope.tool.parameters)
    ordered = {name: drawing.arguments[name] for name in names if name in drawing.arguments}
    return Filled(
        arguments=ordered, chosen=tuple(drawing.chosen), swaps=tuple(drawing.swaps), bundle=bundle if made else ()
    )


def _bundle(means: Means, fields: tuple[str, ...], scope: Scope) -> dict[str, Any] | None:
    """What a person makes up: what was made up before, what stands on record already, or something new."""
    rng = means.rng
    before = means.made.get(frozenset(fields))
    if before is not None and rng.random() < _AS_BEFORE:
        return before
    on_record = [
        {field: record[field] for field in fields}
        for _, record in means.looking.memory.objects((*scope.sources, CUSTOMER))
        if all(isinstance(record.get(field), str) for field in fields)
    ]
    differing = [one for index, one in enumerate(on_record) if one not in on_record[:index]]
    if len(differing) > 1 and rng.random() < _SAME_AGAIN:
        return rng.choice(differing)
    return means.inventor.bundle(fields, rng)


class _Drawing:
    """The arguments of one call, one after the other."""

    def __init__(self, means: Means, scope: Scope) -> None:
        self.arguments: dict[str, Any] = {}
        self.chosen: list[dict[str, Any]] = []
        self.swaps: list[Swap] = []
        self._means = means
        self._scope = scope
        self._rng = means.rng
        self._memory = means.looking.memory
        self._old: dict[str, list[Leaf]] = {}
        self._more = self._rng.choice((1, 1, 1, 2, 2, 3))

    def value(self, parameter: Parameter) -> Any:
        """A value; None where there is none."""
        scope = self._scope
        if scope.anchor is not None and parameter.name == scope.anchor.name:
            return scope.value
        if Knowhow.is_key_of(self._means.customer.table, parameter.name):
            return self._means.customer.key
        base = replaced(parameter.name)
        if base is not None and base in self._old:
            return self._instead(parameter, base)
        if parameter.choices:
            return self._choice(parameter)
        draw: dict[str, Callable[[Parameter], Any]] = {
            "text": self._text,
            "integer": self._number,
            "number": self._number,
            "list": self._list,
            "object": self._object,
        }
        return draw[parameter.kind](parameter)

    def _within(self) -> tuple[int, ...]:
        return (*self._scope.sources, *self._scope.around, CUSTOMER)

    def _current(self, name: str) -> Any:
        """What a field of this name holds now, in the record that the call is about."""
        leaves = (leaf for _, leaf in self._memory.find(name, 2, self._scope.sources))
        # Of the record itself: the amount of one of its payments is nothing that a new amount is counted from.
        return next((leaf.value for leaf in leaves if not _DEEP.search(leaf.path)), None)

    def _choice(self, parameter: Parameter) -> Any:
        current = self._current(parameter.name)
        others = [one for one in parameter.choices if one != current]
        return self._rng.choice(others or list(parameter.choices))

    def _candidates(self, parameter: Parameter, sources: tuple[int, ...] | None) -> list[Leaf]:
        """Values for a parameter, one leaf for each: the one whose record tells most.

        Names that fit only in part count where the value is shaped like an example, or where none fits better.
        """
        shapes = {shape(one) for one in parameter.examples}
        named = self._memory.find(parameter.name, 1, sources)
        found = [(fit, leaf) for fit, leaf in named if _is_of(parameter, leaf.value)]
        top = max((fit for fit, _ in found), default=0)
        best: dict[Any, Leaf] = {}
        for fit, leaf in found:
            alike = isinstance(leaf.value, str) and shape(leaf.value) in shapes
            if fit < 2 and (not alike if shapes else fit < top):
                continue
            if leaf.value not in best or len(leaf.record) > len(best[leaf.value].record):
                best[leaf.value] = leaf
        return list(best.values())

    def _found(self, parameter: Parameter) -> list[Leaf]:
        """Values that what the call is about holds, or the customer's record; where it is about nothing, any."""
        found = self._candidates(parameter, self._within())
        return found if found or self._scope.anchor is not None else self._candidates(parameter, None)

    def _text(self, parameter: Parameter) -> Any:
        current = self._current(parameter.name)
        told = parameter.name.endswith("date") or any("YYYY-MM-DD" in one or is_date(one) for one in parameter.examples)
        if is_date(current) or (current is None and told):
            return self._date(current, parameter)
        found = self._found(parameter)
        return self._rng.choice(found).value if found else self._means.inventor.text(parameter.name, self._rng)

    def _date(self, current: Any, parameter: Parameter) -> str | None:
        near = (leaf.value for _, leaf in self._memory.find("date", 2))
        start = next((one for one in (current, *near, *parameter.examples) if is_date(one)), None)
        return None if start is None else shifted(start, self._rng.choice(_DAYS))

    def _number(self, parameter: Parameter) -> Any:
        current = self._current(parameter.name)
        if isinstance(current, (int, float)) and not isinstance(current, bool):
            # One call, one difference: three bags more are three bags more to pay for.
            number = current + self._more
        else:
            number = self._rng.choice(_AMOUNTS if is_money(parameter.name) else _COUNTS)
        number = min([number, *self._totals(parameter.name)])
        return int(number) if parameter.kind == "integer" else round(number, 2)

    def _totals(self, name: str) -> list[float]:
        """The total that a part cannot exceed, where the call has one: ``total_bags`` for ``paid_bags``."""
        kind = words(name)[-1:]
        given = self.arguments.items()
        return [value for other, value in given if words(other)[:1] == ("total",) and words(other)[-1:] == kind]

    def _list(self, parameter: Parameter) -> Any:
        if parameter.item is not None and parameter.item.kind == "object":
            return self._objects(parameter)
        found = self._candidates(parameter, self._scope.sources) or self._found(parameter)
        if not found:
            return None
        picked = self._rng.sample(found, min(len(found), self._rng.choices(*_HOW_MANY)[0]))
        self._old[parameter.name] = picked
        self.chosen += [leaf.record for leaf in picked if leaf.record]
        return [leaf.value for leaf in picked]

    def _instead(self, parameter: Parameter, base: str) -> Any:
        """For each thing that was chosen, another one of its kind."""
        picked = []
        for old in self._old[base]:
            itself = self._scope.instead == "itself"
            leaf = old if itself else self._other(old, self._means.reach(base, old.record))
            if leaf is None:
                return None
            self.swaps.append(Swap(old=old.record, new=leaf.record))
            picked.append(leaf.value)
        return picked if parameter.kind == "list" else picked[0]

    def _other(self, old: Leaf, found: list[Leaf]) -> Leaf | None:
        """One of several things of a kind to take the place of one."""
        to_be_had = self._scope.instead == "another"
        others = [leaf for leaf in found if leaf.value != old.value and _to_be_had(leaf) == to_be_had]
        return self._rng.choices(others, [_nearness(old, one) for one in others])[0] if others else None

    def _objects(self, parameter: Parameter) -> Any:
        """The things that a record lists, as they are or with one of them changed; a new one where it lists none."""
        present = self._listed(parameter, self._scope.sources)
        if not present:
            made = self._searched(parameter, self.arguments) or self._composed(parameter)
            return [made] if made is not None else None
        if self._rng.random() < _KEPT:
            return [one for one, _ in present]
        at = self._rng.randrange(len(present))
        changed = self._searched(parameter, present[at][1]) or self._another(parameter, present[at][0])
        return [changed if changed is not None and index == at else one for index, (one, _) in enumerate(present)]

    def _listed(self, parameter: Parameter, sources: tuple[int, ...]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """What stands in a record under the parameter's name: the fields that are wanted, and the whole."""
        found = (record for held_by, record in self._memory.objects(sources) if likeness(parameter.name, held_by) >= 2)
        return [(part, record) for record in found if (part := _projected(parameter, record)) is not None]

    def _searched(self, parameter: Parameter, record: dict[str, Any]) -> dict[str, Any] | None:
        """Something else that a search by a record's values brings up."""
        for sight in self._means.search(record):
            parts = [_projected(parameter, found) for _, found in self._memory.objects((sight.number,))]
            found = [one for one in parts if one is not None]
            if found:
                return self._rng.choice(found)
        return None

    def _another(self, parameter: Parameter, old: dict[str, Any]) -> dict[str, Any] | None:
        """Somebody or something else of the kind: one that the customer has on record, or a new one."""
        fields = tuple(one.name for one in fields_of(parameter) if isinstance(old.get(one.name), str))
        recorded = [_projected(parameter, record) for _, record in self._memory.objects((CUSTOMER,))]
        others = [one for one in recorded if one is not None and one != old]
        if others and self._rng.random() < _SAME_AGAIN:
            return self._rng.choice(others)
        # What is on record under a key of its own exists, and is not made up.
        exists = any(old[field] in self._means.knowhow.keys for field in fields)
        made = self._means.inventor.bundle(fields, self._rng) if fields and not exists else None
        return None if made is None else {**old, **made}

    def _composed(self, parameter: Parameter) -> dict[str, Any] | None:
        """A thing put together field by field."""
        recorded = [_projected(parameter, record) for _, record in self._memory.objects(self._within())]
        whole = [one for one in recorded if one is not None]
        if whole:
            return self._rng.choice(whole)
        made = {one.name: self.value(one) for one in fields_of(parameter) if one.required}
        return None if not made or None in made.values() else made

    def _object(self, parameter: Parameter) -> Any:
        fields = tuple(one.name for one in parameter.fields if one.kind == "text")
        made = self._means.inventor.bundle(fields, self._rng) if fields else None
        if made is not None:
            return made
        told = {field: self._means.inventor.text(field, self._rng) for field in fields}
        return None if not told or None in told.values() else told


def _projected(parameter: Parameter, record: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of a record that a parameter wants; None where one that it needs is missing or of another type."""
    fields = fields_of(parameter)
    if not fields or any(one.required and not _is_of(one, record.get(one.name)) for one in fields):
        return None
    return {one.name: record[one.name] for one in fields if record.get(one.name) is not None}


def _is_of(parameter: Parameter, value: Any) -> bool:
    """Whether a value is of a parameter's type; of a list's, that of what stands in it."""
    kind = parameter.item.kind if parameter.kind == "list" and parameter.item is not None else parameter.kind
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    if kind == "text":
        return isinstance(value, str) and value != ""
    return isinstance(value, int) or (kind == "number" and isinstance(value, float))


def _to_be_had(leaf: Leaf) -> bool:
    """Whether nothing in a record says no, as ``"available": false`` does."""
    return not any(value is False for value in leaf.record.values())


def _nearness(old: Leaf, new: Leaf) -> float:
    """How likely one is chosen in the place of another: people change one thing or two, not everything."""
    before, after = dict(_flat(old.record)), dict(_flat(new.record))
    differing = sum(before[key] != after[key] for key in before.keys() & after.keys())
    return 1.0 / float((1 + differing) ** _CONSERVATIVE)


def _flat(record: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in record.items():
        if isinstance(value, dict):
            pairs += _flat(value, f"{path}{key}.")
        elif not isinstance(value, list):
            pairs.append((path + key, value))
    return pairs
