"""Make a forked environment cheap for tau2's evaluator, which digests both of its databases whole for every trial.

Here a digest looks at what was changed alone, and a tool that reads copies no record on its way. What the evaluator
finds is the same: the digests of two environments that began as forks of one are equal exactly when tau2's own are,
order of lists and all.

Non-goals: being the digest that tau2 would print.
"""

from __future__ import annotations

import json
from typing import Any

from turngap.domains.tau2 import database
from turngap.domains.tau2.rows import Rows
from turngap.domains.tau2.world import kind_of
from turngap.jsonio import digest


def lighten(environment: Any, pristine: Any) -> Any:
    """Do so, in place.

    Args:
        environment: a fork that nobody else uses.
        pristine: the environment that it is a fork of, whose content never changes.

    Returns:
        The environment.
    """
    for side in ("tools", "user_tools"):
        kit, loaded = getattr(environment, side), getattr(pristine, side)
        if kit is not None:
            # On the instance: the classes are those of every environment.
            kit.get_db_hash = _Digest(kit, loaded.db)
            kit.use_tool = _Use(kit, environment)
    return environment


class _Digest:
    """Digests how the database of a tool kit, whichever it has by now, differs from the one that was loaded."""

    def __init__(self, kit: Any, loaded: Any) -> None:
        self._kit = kit
        self._loaded = loaded

    def __call__(self) -> str:
        db, loaded = self._kit.db, self._loaded
        now, before = {}, {}
        for name in type(db).model_fields:
            table, first = db.__dict__[name], loaded.__dict__[name]
            if isinstance(table, Rows) or (isinstance(first, Rows) and isinstance(table, dict)):
                keys = table.touched if isinstance(table, Rows) else {*table, *first}
                now[name] = {key: dict.__getitem__(table, key) for key in keys if key in table}
                before[name] = {key: first.shared(key) for key in keys if key in first}
            else:
                now[name], before[name] = table, first
        return digest(_changes(_spelled(db, now), _spelled(loaded, before)))


def _spelled(db: Any, content: dict[str, Any]) -> dict[str, Any]:
    """A part of a database as tau2 spells it: each table, or each record of a table, as text.

    A tool may have stored a value of the wrong type, which is spelled as it is; pydantic would warn of it.
    """
    part = db.model_copy()
    part.__dict__.update(content)
    return {
        name: {key: _text(record) for key, record in value.items()} if isinstance(value, dict) else _text(value)
        for name, value in part.model_dump(warnings=False).items()
    }


def _changes(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What is different; a record that is gone is null."""
    found = {}
    for name, value in now.items():
        first = before[name]
        if isinstance(value, dict) and isinstance(first, dict):
            found[name] = {key: value.get(key) for key in {*value, *first} if value.get(key) != first.get(key)}
        elif value != first:
            found[name] = value
    return {name: value for name, value in found.items() if value != {}}


def _text(value: Any) -> str:
    # As tau2 spells what it digests.
    return json.dumps(value, sort_keys=True, default=str)


class _Use:
    """Runs a tool of a kit, as its own `use_tool` does."""

    def __init__(self, kit: Any, environment: Any) -> None:
        self._kit = kit
        self._environment = environment
        self._run = kit.use_tool

    def __call__(self, tool_name: str, **arguments: Any) -> Any:
        reads = self._kit.has_tool(tool_name) and kind_of(self._kit, tool_name) != "write"
        database.look(self._environment, only=reads)
        try:
            return self._run(tool_name=tool_name, **arguments)
        finally:
            # Assertions are not run by way of this, and may be tools that write.
            database.look(self._environment, only=False)
