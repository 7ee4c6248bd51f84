"""Probing: the tools of a domain, really run on some of its records, to see what flows from one to another.

Around some sampled records, everything that the records say is tried in the tools that read; what they answer is tried
too, round after round. Then the tools that write are tried, each call in a fork of its own, so that nothing comes of
it. Arguments are searched for one at a time (`turngap.synth.search`), among the values of fields with a name alike, or
among all values where no field has one.

A value is *recognised* where the tool answers otherwise to it than to a made-up one of the same form in the same place:
something instead of nothing, a result instead of an error, or, where nothing ever went through, another error. An
address or a note is not recognised, since any will do. A recognised value that an earlier result held was seen to flow.

Generic tools are not probed: they know nothing of the records. A domain's own faults on odd arguments are its answers;
a tool that runs out of time is not called again.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains.live import LiveDomain, LiveTool
from turngap.errors import DomainFault
from turngap.synth.naming import key_name
from turngap.synth.offer import Offer, offers, token
from turngap.synth.place import arguments, kind_of, place, slots
from turngap.synth.search import Pool, Search

_RECORDS = 3  # sampled from each table
_MORE_RECORDS = 2  # of each table, while a writing tool has not gone through anywhere
_MOST_RECORDS = 24
_LINKED = 6  # records around one, at most
_ROUNDS = 3  # of reading: what a result holds is tried in the next
_WANTED = 4  # results of one reading tool around one record
_MOST_CALLS = 1500  # of one writing tool, all records together
_ENOUGH = 3  # records around which a writing tool has gone through: more say nothing new


class Flow(NamedTuple):
    """A field of one tool's results whose values another tool recognised."""

    source: str
    field: str
    target: str
    parameter: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What probing found out about a domain."""

    fields: dict[str, dict[str, str]]
    """Tool -> place in its results -> kind of the values, for every place that was seen. Of a writing tool only places
    of what it made."""
    flows: dict[Flow, int]
    """How many different values flowed."""
    keys: dict[tuple[str, str], int]
    """(Tool, slot) -> records in the largest table whose keys the slot recognised."""
    silent: tuple[str, ...]
    """Tools that read, and gave nothing to any call."""


def probe(domain: LiveDomain, seed: int = 0) -> Findings:
    """Try a domain's tools on some of its records.

    Args:
        domain: which.
        seed: by which records and values are drawn; the same seed finds the same.

    Raises:
        DomainFault: the database cannot be loaded.
    """
    return _Probe(domain, seed).run()


class _Probe:
    """One go at a domain."""

    def __init__(self, domain: LiveDomain, seed: int) -> None:
        self.seed = seed
        self.world = domain.world()
        self.tables = {name: table for name, table in self.world.content().items() if name}
        self.tools = [tool for tool in domain.tools if tool.kind != "generic"]
        self.slots = {tool.name: slots(tool.spec) for tool in self.tools}
        self.holders: dict[str, list[tuple[str, str]]] = {}
        for name, rows in self.tables.items():
            for key, row in rows.items():
                for value in {key: None, **{token(offer.value): None for offer in _values_of(row)}}:
                    self.holders.setdefault(value, []).append((name, key))
        self.fields: dict[str, dict[str, str]] = {}
        self.flowed: dict[tuple[Flow, bool], set[str]] = {}
        self.went: set[tuple[str, str]] = set()
        self.keys: dict[tuple[str, str], int] = {}
        self.gone_through: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        self.slow: set[str] = set()
        """Tools that ran out of time: not called again, since each call would wait as long."""

    def run(self) -> Findings:
        writing = [tool.name for tool in self.tools if tool.kind == "write"]
        for turn, table, key in self._starts():
            if turn >= _RECORDS and all(name in self.gone_through or self._tired(name) for name in writing):
                break
            self._around(table, key)
        reading = (tool.name for tool in self.tools if tool.kind == "read")
        flowed = {
            flow: len(values)
            for (flow, through), values in self.flowed.items()
            if through or (flow.target, flow.parameter) not in self.went
        }
        return Findings(
            fields=self.fields,
            flows=flowed,
            keys=self.keys,
            silent=tuple(name for name in reading if name not in self.fields),
        )

    def _starts(self) -> list[tuple[int, str, str]]:
        """Records to begin from, the tables by turns: turn, table, key."""
        drawn = []
        for name, table in self.tables.items():
            rng = Random(f"{self.seed}/probe/{name}")
            picked = rng.sample(sorted(table), min(_RECORDS + _MORE_RECORDS, len(table)))
            drawn += [(turn, name, key) for turn, key in enumerate(picked)]
        return sorted(drawn, key=lambda one: one[0])[:_MOST_RECORDS]

    def _around(self, table: str, key: str) -> None:
        """Probe all tools on what is around one record."""
        rng = Random(f"{self.seed}/probe/{table}/{key}")
        pool = Pool()
        for name, near in self._near(table, key):
            row = self.tables[name][near]
            pool.add("", jsonio.dumps(row))
            if all(offer.value != near for offer in _values_of(row)):
                pool.add("", jsonio.dumps({key_name(name): near}))
        done: set[str] = set()
        for _ in range(_ROUNDS):
            before = len(done)
            for tool in self.tools:
                if tool.kind == "read" and tool.name not in self.slow:
                    self._read(tool, pool, rng, done)
            if len(done) == before:
                break
        for tool in self.tools:
            enough = self.gone_through.get(tool.name, 0) >= _ENOUGH
            if tool.kind == "write" and not enough and not self._tired(tool.name):
                self._write(tool, pool, rng)

    def _tired(self, tool: str) -> bool:
        return tool in self.slow or self.asked.get(tool, 0) >= _MOST_CALLS

    def _near(self, table: str, key: str) -> list[tuple[str, str]]:
        """The record, what it names and what names it."""
        named = {token(offer.value): None for offer in _values_of(self.tables[table][key])}
        found = [(table, key)]
        found += [(name, other) for other in named for name, rows in self.tables.items() if other in rows]
        found += self.holders[key][:_LINKED]
        return list(dict.fromkeys(found))[: _LINKED + 1]

    def _read(self, tool: LiveTool, pool: Pool, rng: Random, done: set[str]) -> None:
        search = Search(tool, self.slots[tool.name], pool, rng)
        for values, text in search.run(self.world, wanted=_WANTED):
            made = jsonio.canonical([tool.name, values])
            if made in done:
                continue
            done.add(made)
            seen = self.fields.setdefault(tool.name, {})
            for heard in pool.add(tool.name, text, values.values()):
                seen.setdefault(heard.field, kind_of(heard.value))
        self._note(tool, search, pool)

    def _write(self, tool: LiveTool, pool: Pool, rng: Random) -> None:
        search = Search(tool, self.slots[tool.name], pool, rng)
        for values, text in search.run(self.world, wanted=1):
            self.gone_through[tool.name] = self.gone_through.get(tool.name, 0) + 1
            given = {token(value) for value in values.values()}
            made = self._made(tool, values) - given
            for offer in offers(text) if made else ():
                if offer.value in made:
                    self.fields.setdefault(tool.name, {}).setdefault(place(offer), kind_of(offer.value))
        self._note(tool, search, pool)
        self.asked[tool.name] = self.asked.get(tool.name, 0) + search.asked

    def _made(self, tool: LiveTool, values: Mapping[str, Any]) -> set[str]:
        """Keys of the records that a call makes."""
        world = self.world.fork()
        try:
            world.call(ToolCall(name=tool.name, arguments=arguments(values)))
        except DomainFault:
            return set()  # it failed by chance
        return {change.key for change in world.changes() if change.kind == "added" and not change.path}

    def _note(self, tool: LiveTool, search: Search, pool: Pool) -> None:
        if search.slow:
            self.slow.add(tool.name)
            return
        for slot, value, through in search.recognised(self.world, self.holders):
            if through:
                self.went.add((tool.name, slot))
            for rows in self.tables.values():
                if value in rows:
                    self.keys[tool.name, slot] = max(self.keys.get((tool.name, slot), 0), len(rows))
            for heard in pool.holding(value):
                if heard.tool and heard.tool != tool.name:
                    flow = Flow(heard.tool, heard.field, tool.name, slot)
                    self.flowed.setdefault((flow, through), set()).add(value)


def _values_of(record: Any) -> tuple[Offer, ...]:
    return offers(jsonio.dumps(record))
