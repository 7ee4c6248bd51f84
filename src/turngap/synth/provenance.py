"""Where every value of every argument comes from: the user, an earlier result, the specification, a computation.

Tracing is total: every leaf of every step's arguments has exactly one `Source`, or the candidate is given up
(`LostError`), since a value comes from nowhere: an id that no earlier result offers and that the customer cannot know,
or a calculation with a number that nobody has seen.

An id is looked for everywhere in earlier results. Where they offer it among others of its kind, only the user can say
which is meant (`Origin.CHOICE`). Where one result offers it alone and another among others, it is a choice if the tool
accepts one of the others, which is tried out: a refund can go to any payment method of the customer, but of an order
with one item only this item can be returned. Any other value has to stand in a field of the same name: in a record by
itself, in an object (an address, one of several passengers) with all its siblings, since half an address is none.

Non-goals: necessity. `Traced.needs` names all results that a value could be taken from, of which
`turngap.synth.ablation` keeps as few as will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from turngap.data import ToolCall
from turngap.data.task import hands_over
from turngap.domains import LiveDomain, LiveWorld
from turngap.metrics.schema import ABSENT, Shape
from turngap.synth.known import Known
from turngap.synth.naming import likeness, replaced, words
from turngap.synth.offer import leaves, parts, placed, token
from turngap.synth.plan import Argument, Customer, Loss, LostError, Origin, Source, Step
from turngap.synth.replay import kinds
from turngap.synth.seen import Hit, Seen

_WORDED = frozenset({"summary", "thought", "thoughts", "reasoning"})
_EXPRESSIONS = frozenset({"expression", "formula", "equation"})
_ARITHMETIC = re.compile(r"[\d\s.,+\-*/()%]*\d\s*[-+*/][\d\s.,+\-*/()%]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PLAIN_COUNT = 100
"""Whole numbers up to this stand in calculations by themselves: counts and percentages."""
_MOST_TRIED = 6
"""How many other values of a kind are tried before it is no choice."""

_ROUND = 10
_MOST_NUMBERS = 40
"""How many numbers of one kind are put together to get another."""


class Traced(NamedTuple):
    """One traced leaf, and what it hangs on."""

    argument: Argument
    needs: tuple[frozenset[int], ...] = ()
    """For each value that is taken from a result: the steps of which any one would do."""
    nowhere: str = ""
    """Why the value comes from nowhere, where it does; the source is then the user, who would have to know it."""


def trace(
    domain: LiveDomain, customer: Customer, steps: Sequence[Step], told: Iterable[Any] = ()
) -> tuple[Argument, ...]:
    """The origin of every leaf of the arguments of a trajectory that begins in a pristine world.

    Args:
        domain: where it took place.
        customer: for whom.
        steps: with their results.
        told: values that the customer knows besides the own ones, such as somebody else's order number.

    Raises:
        LostError: a value comes from nowhere. DomainFault: the domain's own code failed.
    """
    return Tracer(domain).arguments(customer, steps, told)


class Tracer:
    """Traces trajectories of one domain."""

    def __init__(self, domain: LiveDomain) -> None:
        self.domain = domain
        self._kinds = kinds(domain)
        self._shapes = {tool.name: Shape(tool.spec.parameters) for tool in domain.tools}

    def arguments(self, customer: Customer, steps: Sequence[Step], told: Iterable[Any] = ()) -> tuple[Argument, ...]:
        """The origin of every leaf; see `trace`."""
        traced = self.trace(Known(customer, told), steps)
        lost = next((one.nowhere for one in traced if one.nowhere), None)
        if lost is not None:
            raise LostError(Loss(stage="trace", reason="a value comes from nowhere", detail=lost))
        return tuple(one.argument for one in traced)

    def trace(
        self, known: Known, steps: Sequence[Step], world: Callable[[int], LiveWorld] | None = None
    ) -> tuple[Traced, ...]:
        """Every leaf in the order of steps, those too whose value comes from nowhere.

        Args:
            known: what the customer knows.
            steps: with their results.
            world: the world as it was before a step, where that is at hand; it is forked before anything is tried.
        """
        return tuple(_Tracing(self, known, steps, world).all())

    def calculates(self, tool: str, parameter: str) -> bool:
        """Whether a text that looks like arithmetic is meant so; a date does too."""
        return self._kinds.get(tool) == "generic" or parameter in _EXPRESSIONS

    def shape(self, tool: str, path: str) -> tuple[Shape, bool]:
        """What the schema says of a leaf, and whether it has to be there."""
        shape, required = self._shapes.get(tool, Shape({})), False
        for part in parts(path):
            shape = next((option for option in shape.options if not option.declares_null), shape)
            if isinstance(part, int):
                shape, required = shape.item(part), True
            else:
                required = part in shape.required
                shape = shape.property(part) or Shape({})
        return shape, required


_Needs = tuple[frozenset[int], ...]
_Found = tuple[Source, _Needs]
_NO_NEEDS: _Needs = ()


class _Nowhere(Exception):
    """A value that nobody can know."""


class _Leaf(NamedTuple):
    step: int
    call: ToolCall
    path: str
    value: Any

    @property
    def name(self) -> str:
        return next((part for part in reversed(parts(self.path)) if isinstance(part, str)), "")

    @property
    def beside(self) -> dict[str, str]:
        """The leaves at the same place of the call by their names, this one too."""
        place = parts(self.path)[:-1]
        return {
            str(parts(path)[-1]): token(value)
            for path, value in leaves(self.call.arguments)
            if parts(path)[:-1] == place
        }

    def is_id(self) -> bool:
        return isinstance(self.value, str) and words(self.name)[-1:] in (("id",), ("ids",))

    def is_opaque(self) -> bool:
        """Whether the value could be a name that a system gave: one word with a digit in it."""
        text = self.value
        return isinstance(text, str) and len(text) > 2 and not re.search(r"\s|@", text) and bool(re.search(r"\d", text))


class _Tracing:
    def __init__(
        self, tracer: Tracer, known: Known, steps: Sequence[Step], world: Callable[[int], LiveWorld] | None
    ) -> None:
        self._tracer = tracer
        self._known = known
        self._steps = steps
        self._seen = Seen()
        self._told: set[str] = set()
        self._world = world or self._made_again
        self._worlds: list[LiveWorld] = []

    def all(self) -> list[Traced]:
        found = []
        for index, step in enumerate(self._steps):
            for path, value in leaves(step.call.arguments):
                leaf = _Leaf(index, step.call, path, value)
                source, needs, nowhere = Source(origin=Origin.USER), _NO_NEEDS, ""
                try:
                    source, needs = self._source(leaf)
                except _Nowhere as lost:
                    nowhere = str(lost)
                if source.origin is Origin.USER and not nowhere and (leaf.is_id() or leaf.is_opaque()):
                    self._told.add(token(value))
                argument = Argument(step=index, path=path, value=value, source=source)
                found.append(Traced(argument, needs, nowhere))
            self._seen.add(step)
        return found

    def _source(self, leaf: _Leaf) -> _Found:
        shape, required = self._tracer.shape(leaf.call.name, leaf.path)
        if _is_constant(leaf.value, shape, required=required):
            return Source(origin=Origin.CONSTANT), _NO_NEEDS
        if isinstance(leaf.value, str):
            if hands_over(leaf.call.name) or leaf.name in _WORDED:
                return Source(origin=Origin.AGENT), _NO_NEEDS
            if self._tracer.calculates(leaf.call.name, leaf.name) and _ARITHMETIC.fullmatch(leaf.value):
                return self._expression(leaf)
            if leaf.is_id() or leaf.is_opaque():
                found = self._id(leaf)
                if found is not None:
                    return found
        elif _is_number(leaf.value):
            found = self._number(leaf)
            if found is not None:
                return found
        trivial = not isinstance(leaf.value, str) or shape.choices is not None
        return self._field(leaf, trivial=trivial) or (Source(origin=Origin.USER), _NO_NEEDS)

    # An id: from anywhere in earlier results, or from what the customer has in hand.

    def _id(self, leaf: _Leaf) -> _Found | None:
        if token(leaf.value) in self._told:
            return Source(origin=Origin.USER), _NO_NEEDS
        hits = self._seen.hits(leaf.value)
        if not leaf.is_id():
            # Not named like one: it is one where a result has it as a key, or in a field that is named like one.
            hits = [hit for hit in hits if hit.offer.is_key or _names_ids(hit.offer.name, leaf.name)]
        hits = hits or (self._seen.mentions(leaf.value) if leaf.is_opaque() else [])
        if hits:
            return self._offered(leaf, hits)
        if leaf.is_id() and leaf.value not in self._known:
            raise _Nowhere(f"{leaf.call.name}: {leaf.path} is {leaf.value!r}, which nothing before shows")
        return (Source(origin=Origin.USER), _NO_NEEDS) if leaf.is_id() else None

    def _offered(self, leaf: _Leaf, hits: Sequence[Hit]) -> _Found:
        """Of several places, one in a result about the same thing, with few others of its kind, named alike, early."""
        beside = {value for path, value in _tokens(leaf.call) if path != leaf.path and re.search(r"\d", value)}

        def about_it(hit: Hit) -> bool:
            return bool(beside & self._seen.given(hit.step))

        def others(hit: Hit) -> int:
            return len(self._seen.of_kind(hit)) - 1

        def rank(hit: Hit) -> tuple[bool, int, int, int]:
            return not about_it(hit), others(hit), hit.step, -_alike(leaf.name, hit.offer.name)

        ranked = sorted(hits, key=rank)
        needs = (frozenset(hit.step for hit in hits),)
        if copied := next((hit for hit in ranked if hit.offer.path == leaf.path and about_it(hit)), None):
            # It stays where it is in the record that the call is about, such as the flights that nobody changes.
            return self._taken(Origin.OUTPUT, copied), needs
        if self._steps[leaf.step].kind == "read" or (len(hits) == 1 and others(hits[0])):
            best = min(ranked, key=lambda hit: (others(hit) > 0, rank(hit)))
            return self._taken(Origin.CHOICE if others(best) else Origin.OUTPUT, best), needs
        open_ = [hit for hit in ranked if others(hit) and self._is_choice(leaf, hit)]
        # Where no result is about the same thing, one that lists what there is says more than a mention by chance.
        fitting = [hit for hit in ranked if hit in open_ or about_it(hit)] or [hit for hit in ranked if others(hit)]
        fitting = fitting or ranked
        needs = (frozenset(hit.step for hit in fitting),)
        alone = [hit for hit in fitting if not others(hit)]
        if alone and not open_:
            return self._taken(Origin.OUTPUT, alone[0]), needs
        best = open_[0] if open_ else fitting[0]
        return self._taken(Origin.CHOICE if others(best) else Origin.OUTPUT, best), needs

    def _is_choice(self, leaf: _Leaf, hit: Hit) -> bool:
        """Whether the tool would have taken one of the others that a result offers."""
        others = [one for one in self._seen.of_kind(hit) if token(one) != token(leaf.value)]
        return any(self._accepted(leaf, other) for other in others[:_MOST_TRIED])

    def _accepted(self, leaf: _Leaf, other: Any) -> bool:
        """Whether the tool would have taken another value."""
        arguments = placed(leaf.call.arguments or {}, leaf.path, other)
        return not self._world(leaf.step).fork().call(ToolCall(name=leaf.call.name, arguments=arguments)).error

    def _made_again(self, step: int) -> LiveWorld:
        """The world as it was before a step."""
        if not self._worlds:
            self._worlds.append(self._tracer.domain.world())
        while len(self._worlds) <= step:
            world = self._worlds[-1].fork()
            world.call(self._steps[len(self._worlds) - 1].call)
            self._worlds.append(world)
        return self._worlds[step]

    def _taken(self, origin: Origin, hit: Hit) -> Source:
        among = len(self._seen.of_kind(hit)) if origin is Origin.CHOICE else 1
        return Source(origin=origin, step=hit.step, path=hit.offer.path, among=among)

    # Any other value: from a field of the same name.

    def _field(self, leaf: _Leaf, *, trivial: bool) -> _Found | None:
        if leaf.value in ("", None) or isinstance(leaf.value, (list, dict)):
            trivial = True
        shared = {value for _, value in _tokens(leaf.call) if re.search(r"\d", value)}
        hits = []
        for hit in self._seen.hits(leaf.value):
            linked = bool(shared & self._seen.given(hit.step))
            if linked and hit.offer.path == leaf.path:
                return self._taken(Origin.OUTPUT, hit), (frozenset({hit.step}),)
            if hit.offer.is_key or _alike(leaf.name, hit.offer.name) < 2:
                continue
            if (linked or not trivial) and self._fits(leaf, hit):
                hits.append(hit)
        if not hits:
            return None
        best = min(hits, key=lambda hit: (len(self._seen.of_kind(hit)), hit.step))
        origin = Origin.CHOICE if len(self._seen.of_kind(best)) > 1 else Origin.OUTPUT
        return self._taken(origin, best), (frozenset(hit.step for hit in hits),)

    def _fits(self, leaf: _Leaf, hit: Hit) -> bool:
        """Whether all that stands beside a value in the call stands beside it in the result too, where it has to."""
        inside = _inside(hit)
        if not inside and len(parts(leaf.path)) < 2:
            return True
        beside, siblings = leaf.beside, self._seen.siblings(hit)
        common = [name for name in beside if name in siblings]
        return all(beside[name] == siblings[name] for name in common) and (len(common) > 1 or not inside)

    # Numbers: seen, or worked out from seen ones.

    def _number(self, leaf: _Leaf) -> _Found | None:
        number = float(leaf.value)
        if number.is_integer() and abs(number) <= _PLAIN_COUNT:
            return None
        hits = [hit for hit in self._seen.hits(leaf.value) if _is_number(hit.offer.value)]
        if hits:
            best = max(hits, key=lambda hit: (_alike(leaf.name, hit.offer.name), -hit.step))
            return self._taken(Origin.OUTPUT, best), (frozenset(hit.step for hit in hits),)
        if number % _ROUND == 0:
            # Round sums have many ways to come about, of which none says anything.
            return None
        for step, name, values in self._seen.numbers():
            how = _worked_out(number, values[:_MOST_NUMBERS])
            if how:
                note = f"from {name} in the result of step {step + 1}: {how}"
                return Source(origin=Origin.COMPUTED, step=step, note=note), (frozenset({step}),)
        return None

    def _expression(self, leaf: _Leaf) -> _Found:
        needs: list[frozenset[int]] = []
        for text in _NUMBER.findall(leaf.value.replace(",", "")):
            steps = self._seen.with_number(float(text))
            if steps:
                needs.append(steps)
            elif "." in text or int(text) > _PLAIN_COUNT:
                if text in self._known or text in self._told:
                    continue
                raise _Nowhere(f"{leaf.call.name}: {text} of {leaf.value!r} stands in no earlier result")
        note = f"numbers from the results of steps {sorted(min(steps) + 1 for steps in needs)}" if needs else ""
        return Source(origin=Origin.COMPUTED, note=note), tuple(dict.fromkeys(needs))


def _is_constant(value: Any, shape: Shape, *, required: bool) -> bool:
    if value is None and not required:
        return True
    if shape.choices is not None and len(shape.choices) == 1 and token(shape.choices[0]) == token(value):
        return True
    return shape.default is not ABSENT and token(shape.default) == token(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _alike(parameter: str, field: str) -> int:
    """How well names fit, be it that one thing takes the other's place (``new_item_ids``, ``item_id``)."""
    instead = replaced(parameter)
    return max(likeness(parameter, field), likeness(instead, field) if instead else 0)


def _names_ids(field: str, parameter: str) -> bool:
    return words(field)[-1:] in (("id",), ("ids",)) or (likeness(parameter, field) > 1 and "number" in words(field))


def _inside(hit: Hit) -> bool:
    """Whether a value stands in an object inside a record, such as an address, and not in the record itself."""
    holder = parts(hit.offer.holder)
    return bool(holder) and isinstance(holder[-1], str) and not hit.offer.holder.endswith("]")


def _tokens(call: ToolCall) -> list[tuple[str, str]]:
    return [(path, token(value)) for path, value in leaves(call.arguments)]


def _worked_out(number: float, values: Sequence[float]) -> str:
    """How a number follows from others of one kind; empty where it does not."""
    wanted = round(number, 2)
    if len(values) > 2 and round(sum(values), 2) == wanted:
        return "the sum of all"
    for value in values:
        count = wanted / value if value else 0.0
        if value and 2 <= round(count) <= 9 and round(value * round(count), 2) == wanted:
            return f"{round(count)} times {value:g}"
    for one, other in combinations(values, 2):
        if round(one + other, 2) == wanted:
            return f"{one:g} and {other:g}"
        if round(abs(one - other), 2) == abs(wanted):
            return f"the difference of {one:g} and {other:g}"
    return ""
