"""Environments of tau2 as values: fork one, and lay its content out as a `State`, for digests and differences.

A table of a tau2 database is a dict of models, shared between worlds (`turngap.domains.tau2.rows`), or a list of
models, which is small and copied whole; in a `State` it is a table by the model's first field, which is its id. A
single model, such as the user's phone, is a field. Tables of the user's side have ``user_`` before their name.

Non-goals: the order of a list, and where tau2 keeps 5 and 5.0 apart, is no content here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from turngap.domains.state import Pristine, State
from turngap.domains.table import Table
from turngap.domains.tau2.rows import Rows
from turngap.domains.world import SEALED

_SIDES = (("tools", ""), ("user_tools", "user_"))


def share(environment: Any) -> None:
    """Make a new environment one that can be forked, in place."""
    for kit, _ in _kits(environment):
        # Models on the class would be in the hands of all worlds; some tools change them in place.
        for kind in reversed(type(kit).__mro__):
            kit.__dict__.update(
                {name: copy.deepcopy(value) for name, value in vars(kind).items() if hasattr(value, "model_copy")}
            )
    adopt(environment, environment)


def adopt(environment: Any, pristine: Any) -> None:
    """Share again the tables that tau2 has put new dicts in place of, as its updates of a database do.

    Args:
        environment: the one that was updated.
        pristine: the one that the domain's worlds start from.
    """
    for (kit, _), (loaded, _) in zip(_kits(environment), _kits(pristine), strict=True):
        for name, table in _tables(kit.db):
            if not isinstance(table, dict) or isinstance(table, Rows):
                continue
            before = getattr(loaded.db, name)
            changed = {key for key in {*table, *before} if table.get(key) != dict.get(before, key)}
            kit.db.__dict__[name] = Rows(table, frozenset(changed))


def fork(environment: Any) -> Any:
    """Another environment with the same content; neither sees what happens in the other from now on."""
    twin = copy.copy(environment)
    memo: dict[int, Any] = {}
    for side, _ in _SIDES:
        kit = getattr(environment, side)
        if kit is None:
            continue
        twin_kit = copy.copy(kit)
        twin_kit.__dict__.update({name: copy.deepcopy(v, memo) for name, v in vars(kit).items() if name != "db"})
        twin_kit.db = kit.db.model_copy()
        twin_kit.db.__dict__.update({name: _forked(table, memo) for name, table in _tables(kit.db)})
        setattr(twin, side, twin_kit)
    return twin


def _forked(table: Any, memo: dict[int, Any]) -> Any:
    return table.fork() if isinstance(table, Rows) else copy.deepcopy(table, memo)


def look(environment: Any, *, only: bool) -> None:
    """Say whether the tool that is called next only reads."""
    for kit, _ in _kits(environment):
        for _, table in _tables(kit.db):
            if isinstance(table, Rows):
                table.looking = only


class Layout:
    """How the content of a domain's environments is laid out in a `State`."""

    def __init__(self, pristine: Any) -> None:
        """Take it from the environment that all worlds start from."""
        content: dict[str, Any] = {}
        hints: dict[str, Any] = {}
        for name, table in _named(pristine):
            hints[name] = dict[str, Any] if hasattr(table, "model_dump") else Table[dict[str, Any]]
            content[name] = _plain(table)
        kind: type[State] = type("Tau2State", (State,), {"__annotations__": hints, "__module__": __name__})
        self._pristine = kind(Pristine(kind, content))
        self._pristine.seal(SEALED)

    def state(self, environment: Any) -> State:
        """The content of an environment, as it is now."""
        state = self._pristine.fork()
        for name, table in _named(environment):
            if isinstance(table, Rows):
                changed: Mapping[str, Any] = {
                    key: _plain(table.shared(key)) if key in table else None for key in table.touched
                }
                self._lay(state, name, changed)
            elif hasattr(table, "model_dump"):
                setattr(state, name, _plain(table))
            else:
                rows = _plain(table)
                self._lay(state, name, dict.fromkeys(getattr(state, name)) | rows)
        state.seal(SEALED)
        return state

    @staticmethod
    def _lay(state: State, name: str, changed: Mapping[str, Any]) -> None:
        table: Table[Any] = getattr(state, name)
        for key in sorted(changed):
            if changed[key] is not None:
                table.put(key, changed[key])
            elif key in table:
                table.remove(key)


def _plain(value: Any) -> Any:
    """A record, or the records of a table by key, as JSON values."""
    if hasattr(value, "model_dump"):
        # Some tools store whatever they are given; pydantic would warn of a value of the wrong type.
        return value.model_dump(mode="json", warnings=False)
    if isinstance(value, dict):
        return {key: _plain(dict.__getitem__(value, key)) for key in value}
    records = [_plain(one) for one in value]
    return {str(next(iter(record.values()))): record for record in records}


def _kits(environment: Any) -> list[tuple[Any, str]]:
    """The tool kits that there are, each with what stands before the names of its tables."""
    found = ((getattr(environment, side), prefix) for side, prefix in _SIDES)
    return [(kit, prefix) for kit, prefix in found if kit is not None]


def _tables(db: Any) -> list[tuple[str, Any]]:
    return [(name, db.__dict__[name]) for name in type(db).model_fields]


def _named(environment: Any) -> Iterator[tuple[str, Any]]:
    for kit, prefix in _kits(environment):
        for name, table in _tables(kit.db):
            yield prefix + name, table
