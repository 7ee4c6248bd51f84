"""One exploration of the program: goals, and what is looked at on the way to them.

The parts of `turngap.synth.program` that belong to a single customer; see there for what it is to look like.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.data import ToolCall
from turngap.synth.aim import INSTEAD, Aim, probe, scalars, search
from turngap.synth.explore import Brief
from turngap.synth.filling import Filled, Means, Scope, fill
from turngap.synth.inquiry import about, can_be_asked, named, reckonings, totals
from turngap.synth.invention import Inventor
from turngap.synth.knowhow import Knowhow, Outline
from turngap.synth.looking import Looking, Sight
from turngap.synth.memory import CUSTOMER, Leaf
from turngap.synth.naming import ends_it, key_name
from turngap.synth.parameter import Parameter
from turngap.synth.plan import Fact, Step

_GOALS = ((1, 2, 3, 4), (20, 42, 26, 12))
_LENGTH = (12, 2)
"""Mean and standard deviation of the steps aimed at."""
_ATTEMPTS: tuple[tuple[Aim | None, ...], tuple[int, ...]] = (("refused", "unfit", "forbidden", None), (16, 14, 28, 42))
_STRANGER = 0.5
"""How often what is forbidden is about somebody else's things."""
_HANDS_OVER = 0.12
_RECKONS = 0.5
_QUESTIONS = ((0, 1, 2), (50, 36, 14))
_SAME_THING = 0.4
"""How often a second thing is done about what was changed before."""
_A_GOAL = 2.5
"""Steps that a goal takes, with the looks that it needs."""
_THINGS = 6


class Course:
    """One exploration in the making."""

    def __init__(self, brief: Brief, looking: Looking, knowhow: Knowhow, inventor: Inventor) -> None:
        self.facts: list[Fact] = []
        self._brief = brief
        self._customer = brief.customer
        self._knowhow = knowhow
        self._rng = random.Random(f"{brief.seed}/program")
        self._tools = knowhow.offered(brief.tools)
        self._writes = [tool for tool in self._tools if tool.kind == "write"]
        self._own = key_name(brief.customer.table)
        self._looking = looking
        looking.remember(brief.customer)
        self._means = Means(knowhow, inventor, self._looking, brief.customer, self._tools, self._rng)
        self._finders: set[str] = set()
        self._theirs = {brief.customer.key, *_texts(brief.customer.record), *brief.customer.linked}
        self._done: set[tuple[str, Any]] = set()
        self._touched: set[Any] = set()
        self._ended: set[Any] = set()
        self._vain: set[tuple[str, Any, Aim]] = set()
        self._length = min(brief.most_steps, max(4, round(self._rng.gauss(*_LENGTH))))

    @property
    def steps(self) -> list[Step]:
        """What was done so far."""
        return self._looking.steps

    async def run(self) -> None:
        """Everything, from the first look to the last."""
        rng = self._rng
        await self._identify()
        goals = rng.choices(*_GOALS)[0]
        attempt = rng.choices(*_ATTEMPTS)[0]
        refused_before = rng.randrange(goals + 1) if attempt in ("refused", "unfit") else None
        reached = 0
        for tool in self._wishes():
            if attempt is not None and reached == refused_before:
                await self._attempt(attempt)
                refused_before = None
            if reached == goals or self._room() < 2:
                break
            spare = self._length - len(self.steps) - _A_GOAL * (goals - reached)
            await self._look_around(round(spare * rng.uniform(0.2, 0.9) / (goals - reached)))
            reached += await self._pursue(tool, "do")
        if attempt is not None and refused_before is not None:
            await self._attempt(attempt)
        await self._answer(rng.choices(*_QUESTIONS)[0])
        await self._look_around(self._length - len(self.steps) - 2 * (attempt == "forbidden"))
        if attempt == "forbidden":
            await self._attempt(attempt)
        if rng.random() < _HANDS_OVER or not reached:
            await self._hand_over()

    def _room(self) -> int:
        return self._brief.most_steps - len(self.steps)

    def _wishes(self) -> list[Outline]:
        """The tools that change something, in the order in which they are tried: an example's first, now and then.

        What is about the customer comes late: it can always be done, and would crowd out what is about their things.
        """
        table = self._customer.table
        about_things = [tool for tool in self._writes if self._knowhow.anchor(tool, table) is not None]
        about_people = [tool for tool in self._writes if tool not in about_things]
        order = [tool for _ in range(2) for tool in self._rng.sample(about_things, len(about_things))]
        for tool in self._rng.sample(about_people, len(about_people)):
            order.insert(self._rng.choice((self._rng.randrange(len(order) + 1), len(order), len(order))), tool)
        example = self._brief.example
        if example is not None and self._rng.random() < 0.5:
            named = [step.call.name for step in example.steps if step.changed and not step.breaches]
            order = [tool for name in named for tool in self._writes if tool.name == name] + order
        return order

    async def _identify(self) -> None:
        """Find the customer as an agent has to, and open the record."""
        for tool in self._rng.sample(self._tools, len(self._tools)):
            arguments = self._from_the_customer(tool)
            if arguments is None:
                continue
            sight = self._looking.look(tool, arguments)
            found = sight.shows(self._customer.key)
            if found and tool.required:
                self._finders.add(tool.name)
            if found and not self.steps:
                await self._looking.keep(sight)
            self._looking.forget()
        opened = self._open(self._own, self._customer.key)
        if opened and self._rng.random() < 0.92:
            await self._looking.keep(opened[0])
        self._looking.forget()

    def _from_the_customer(self, tool: Outline) -> dict[str, Any] | None:
        """Arguments that the customer can give without any id; None for a tool that takes others."""
        if tool.kind != "read" or any(Knowhow.is_key_of(self._customer.table, one.name) for one in tool.parameters):
            return None
        arguments: dict[str, Any] = {}
        for one in tool.required:
            leaves = self._looking.memory.best(one.name, (CUSTOMER,))
            value = next((leaf.value for leaf in leaves if leaf.value not in self._knowhow.keys), None)
            if not isinstance(value, str):
                return None
            arguments[one.name] = value
        return arguments

    def _open(self, parameter: str, value: Any) -> list[Sight]:
        """Look a record up by a value that names it: the sights that hold the value, else all."""
        openers = self._knowhow.openers(parameter, self._tools)
        sights = [self._looking.look(tool, {tool.required[0].name: value}) for tool in openers]
        sights = [sight for sight in sights if not sight.refused]
        return [sight for sight in sights if sight.shows(value)] or sights

    async def _attempt(self, aim: Aim) -> None:
        """Try what should not come off; about a stranger's things now and then."""
        there_is_one = self._brief.stranger is not None
        stranger = there_is_one and self._rng.random() < _STRANGER
        ways: dict[Aim, list[tuple[Aim, bool]]] = {
            "unfit": [("unfit", False), ("refused", False)],
            "forbidden": [("forbidden", stranger), ("forbidden", there_is_one and not stranger)],
        }
        for way, about_a_stranger in ways.get(aim, [(aim, False)]):
            for tool in self._rng.sample(self._writes, len(self._writes)):
                if self._room() > 0 and await self._pursue(tool, way, stranger=about_a_stranger):
                    return

    async def _pursue(self, tool: Outline, aim: Aim, *, stranger: bool = False) -> bool:
        """Do something with a tool, if it can be done."""
        anchor = self._knowhow.anchor(tool, self._customer.table)
        name = self._own if anchor is None else anchor.name
        for value in self._things(tool, anchor, aim, stranger=stranger):
            self._looking.forget()
            sights = self._open(name, value)
            # Whose things these are stands in the customer's record, and so does what they can pay with.
            theirs = [] if stranger else self._open(self._own, self._customer.key)[:1]
            sources = tuple(sight.number for sight in sights[:1]) or (CUSTOMER,)
            manners = self._rng.sample(INSTEAD[aim], len(INSTEAD[aim]))
            about_it = Scope(
                tool=tool,
                anchor=anchor,
                value=value,
                sources=sources,
                around=tuple(sight.number for sight in theirs),
            )
            scopes = (msgspec.structs.replace(about_it, instead=one) for one in manners)
            found = next((filled for scope in scopes if (filled := search(self._means, scope, aim)) is not None), None)
            looks = [one for one in self._looking.trial if one in sights or one in theirs or _used(one, found)]
            if found is None:
                self._vain.add((tool.name, value, aim))
            if found is None or len(looks) + 1 > self._room() or not await self._looking.keep(*looks):
                continue
            if aim == "do":
                await self._reckon(found, sights, named(name, value))
            await self._looking.do(ToolCall(name=tool.name, arguments=found.arguments), tool.kind)
            self._note(tool, value, found)
            return True
        self._looking.forget()
        return False

    def _things(self, tool: Outline, anchor: Parameter | None, aim: Aim, *, stranger: bool) -> list[Any]:
        """What a tool could be used on, in random order."""
        if anchor is None:
            values: list[Any] = [] if stranger else [self._customer.key]
        elif stranger and self._brief.stranger is not None:
            other = self._brief.stranger
            texts = [*_texts(other.record), *other.linked]
            values = [text for text in texts if Knowhow.is_key_of(self._knowhow.table_of(text), anchor.name)]
        else:
            values = [leaf.value for _, leaf in self._looking.memory.find(anchor.name, 2)]
        left = [one for one in dict.fromkeys(values) if (tool.name, one) not in self._done and one not in self._ended]
        again = aim != "do" or (not ends_it(tool.name) and (anchor is None or self._rng.random() < _SAME_THING))
        left = [one for one in left if again or one not in self._touched]
        left = [one for one in left if (tool.name, one, aim) not in self._vain]
        drawn = self._rng.sample(left, len(left))
        return sorted(drawn, key=lambda one: aim != "do" and one in self._touched)[:_THINGS]

    def _note(self, tool: Outline, value: Any, filled: Filled) -> None:
        self._done.add((tool.name, value))
        self._touched.add(value)
        if ends_it(tool.name):
            self._ended.add(value)
        if filled.bundle:
            self._means.made[frozenset(filled.bundle)] = {name: filled.arguments[name] for name in filled.bundle}

    async def _reckon(self, filled: Filled, sights: Sequence[Sight], subject: str) -> None:
        """Work out what a customer wants to know before saying yes."""
        tool = next((tool for tool in self._tools if tool.calculates), None)
        if tool is None or self._room() < 2 or self._rng.random() > _RECKONS:
            return
        known = reckonings(filled)
        if not known and self._rng.random() < _RECKONS:
            known = [one for sight in sights[:1] for one in totals(sight.value)]
        if known:
            asked = self._rng.choice(known)
            call = ToolCall(name=tool.name, arguments={tool.required[0].name: asked.expression})
            if not self._looking.probe(call).error:
                step = await self._looking.do(call, tool.kind)
                about_it = asked.about if filled.swaps or filled.chosen else f"{asked.about} of {subject}"
                self.facts.append(Fact(step=len(self.steps) - 1, path="", value=step.result, about=about_it))

    async def _answer(self, count: int) -> None:
        """Note questions that what was read has the answers to."""
        asked: dict[str, list[Fact]] = {}
        for step, sight in self._looking.kept if count else ():
            for leaf, what in self._questions(sight):
                fact = Fact(step=step, path=leaf.path, value=_said(leaf.value), about=what)
                asked.setdefault(f"{sight.call.name} {leaf.field}", []).append(fact)
        for kind in self._rng.sample(sorted(asked), min(count, len(asked))):
            self.facts.append(self._rng.choice(asked[kind]))

    def _questions(self, sight: Sight) -> Iterator[tuple[Leaf, str]]:
        """What could be asked about a sight, in words, as far as it still is so."""
        if sight.page is None:
            return
        changed = not self._touched.isdisjoint(scalars(sight.call.arguments))
        still = self._looking.now(sight) if changed else None
        for leaf in filter(can_be_asked, sight.page.leaves):
            what = about(leaf, sight.value, self._knowhow.keys, self._customer.key, sight.call.arguments)
            if what and (still is None or still.get(leaf.path) == leaf.value):
                yield leaf, what

    async def _look_around(self, count: int) -> None:
        """Look at things that belong to the customer, or that these refer to."""
        for _ in range(min(count, self._room() - 2)):
            looks = list(self._openings())
            if not looks:
                return
            # What only stands in a list of everything is not met yet.
            met = [sight for _, sight in self._looking.kept if sight.call.arguments]
            tool, arguments = self._rng.choices(looks, [self._interest(arguments, met) for _, arguments in looks])[0]
            sight = self._looking.look(tool, arguments)
            await self._looking.keep(sight)

    def _interest(self, arguments: dict[str, Any], met: Sequence[Sight]) -> float:
        """How likely a look is: at what is the customer's, at a thing rather than at a list of everything."""
        if not arguments:
            return 0.5
        if any(value in self._theirs for value in arguments.values()):
            return 6.0
        if not any(sight.shows(value) for value in arguments.values() for sight in met):
            return 0.3
        return 1.0 if any(value in self._knowhow.keys for value in arguments.values()) or len(arguments) > 1 else 0.4

    def _openings(self) -> Iterator[tuple[Outline, dict[str, Any]]]:
        """Calls of read tools that were not made yet, a few for each tool."""
        memory = self._looking.memory
        for tool in self._tools:
            if tool.kind != "read" or tool.name in self._finders:
                continue
            if not tool.required:
                choices = [dict[str, Any]()]
            elif len(tool.required) == 1:
                name = tool.required[0].name
                leaves = [leaf for _, leaf in memory.find(name, 2)] if name != "id" else []
                values = dict.fromkeys(leaf.value for leaf in leaves if isinstance(leaf.value, str))
                choices = [{name: value} for value in self._rng.sample(list(values), min(4, len(values)))]
            else:
                records = [record for _, record in memory.objects()]
                drawn = self._rng.sample(records, min(8, len(records)))
                made = [self._means.look_for(tool, record) for record in drawn]
                choices = [one for one in made if one is not None]
            yield from ((tool, one) for one in choices if not self._looking.was_seen(tool, one))

    async def _hand_over(self) -> None:
        tool = next((tool for tool in self._tools if tool.hands_over), None)
        if tool is not None and self._room() > 0:
            scope = Scope(tool=tool, anchor=None, value=None, sources=(CUSTOMER,))
            filled = fill(self._means, scope)
            if filled is not None and not probe(self._means, scope, filled).error:
                await self._looking.do(ToolCall(name=tool.name, arguments=filled.arguments), tool.kind)


def _used(sight: Sight, filled: Filled | None) -> bool:
    """Whether arguments hold a value that a sight shows and was not asked for."""
    asked = set(scalars(sight.call.arguments or {}))
    given = [] if filled is None else [one for one in scalars(filled.arguments) if one not in asked]
    return any(leaf.value == one for leaf in (sight.page.leaves if sight.page is not None else ()) for one in given)


def _said(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _texts(value: Any) -> Iterator[str]:
    return (one for one in scalars(value) if isinstance(one, str))
