"""What a program can know of a domain before it acts: which tool takes what, and which one opens which record.

Everything is read off the specs and the names of the tables; no tool is known by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from turngap.data.task import hands_over
from turngap.domains.live import Kind, LiveDomain
from turngap.synth.naming import key_name, likeness, replaced
from turngap.synth.parameter import Parameter, parameters

_FORMULA = ("expression", "formula")


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, as far as its spec tells."""

    name: str
    kind: Kind
    parameters: tuple[Parameter, ...]
    required: tuple[Parameter, ...]
    """The parameters that it cannot do without."""

    @property
    def calculates(self) -> bool:
        """Whether it works out an expression."""
        return self.kind == "generic" and [one.name in _FORMULA for one in self.required] == [True]

    @property
    def hands_over(self) -> bool:
        """Whether it hands the user over to a person."""
        return self.kind != "read" and hands_over(self.name)


class Knowhow:
    """The tools of one domain."""

    def __init__(self, domain: LiveDomain, content: dict[str, dict[str, Any]]) -> None:
        """Read them.

        Args:
            domain: whose tools.
            content: its database, for the names of the tables and the keys in them.
        """
        self.tools = {
            tool.name: Outline(
                name=tool.name,
                kind=tool.kind,
                parameters=(taken := parameters(tool.spec)),
                required=tuple(one for one in taken if one.required),
            )
            for tool in domain.tools
        }
        self.keys: dict[str, str] = {}
        """Key of a record -> what a field that holds it is called."""
        self._tables: dict[str, str] = {}
        for table, rows in content.items():
            if table:
                self.keys.update((key, key_name(table)) for key in rows)
                self._tables.update((key, table) for key in rows)

    def table_of(self, key: str) -> str:
        """The table in which a record stands; empty where there is none with this key."""
        return self._tables.get(key, "")

    def offered(self, names: Iterable[str]) -> list[Outline]:
        """The tools of these names, in the domain's order, so that the order of names changes nothing."""
        wanted = set(names)
        return [tool for name, tool in self.tools.items() if name in wanted]

    @staticmethod
    def openers(parameter: str, tools: Iterable[Outline]) -> list[Outline]:
        """The read tools that look something up by this one value: the best named first."""
        found = []
        for tool in tools:
            if tool.kind == "read" and len(tool.required) == 1:
                (key,) = tool.required
                fit = 2 if key.name == "id" and parameter.endswith("id") else likeness(parameter, key.name)
                if fit >= 2 and key.kind in ("text", "integer") and key.name != "name":
                    found.append((-fit, tool))
        return [tool for _, tool in sorted(found, key=lambda pair: pair[0])]

    def bundled(self, tool: Outline) -> tuple[str, ...]:
        """Parameters that are parts of one thing that a person makes up, such as those of an address; often none.

        What read tools look up, such as the ends of a flight, exists and is not made up.
        """
        free = [one.name for one in tool.parameters if one.kind == "text" and not one.choices and not _is_id(one)]
        looked_up = {one.name for other in self.tools.values() if other.kind == "read" for one in other.parameters}
        return tuple(free) if len(free) > 1 and 2 * len(looked_up.intersection(free)) < len(free) else ()

    @staticmethod
    def is_key_of(table: str, parameter: str) -> bool:
        """Whether a parameter names a record of a table."""
        return likeness(parameter, key_name(table)) >= 2

    def anchor(self, tool: Outline, table: str) -> Parameter | None:
        """The parameter that names what a tool acts on, beside the customer: an order, a reservation; None for none.

        Args:
            tool: which.
            table: the customers'.
        """
        bases = {replaced(one.name) for one in tool.parameters}
        named = [
            one
            for one in tool.required
            if one.kind in ("text", "integer") and not one.choices and not replaced(one.name) and one.name not in bases
        ]
        keys = set(self.keys.values())
        other = [one for one in named if not self.is_key_of(table, one.name)]
        named_after_a_table = [one for one in other if one.name in keys]
        looked_up = [one for one in other if self.openers(one.name, self.tools.values())]
        return next(iter((*named_after_a_table, *looked_up)), None)


def _is_id(parameter: Parameter) -> bool:
    return parameter.name.endswith("id") or replaced(parameter.name) is not None


def fields_of(parameter: Parameter) -> Sequence[Parameter]:
    """The fields of an object, or of the objects in a list."""
    return parameter.item.fields if parameter.kind == "list" and parameter.item is not None else parameter.fields
