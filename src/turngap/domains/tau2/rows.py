"""Rows of a tau2 database that many worlds share: a dict that copies a record before anybody can change it.

tau2's tools look a record up and change it in place. `Rows` is the dict that they look in: the first time that a world
asks for a record, it gets a copy of its own. So a new world costs one shallow copy of the dict, and a record that no
tool asked for is held once for all worlds.

Loops over all records (searching a customer by name) get the shared ones while `looking` is set, which the world does
for tools that only read; otherwise each record they meet is copied first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Rows(dict[str, Any]):
    """Records of one table, by key. Values are pydantic models."""

    def __init__(self, records: Mapping[str, Any], touched: frozenset[str] = frozenset()) -> None:
        """Share records.

        Args:
            records: key -> record; never changed in place from now on.
            touched: keys whose records may differ from those of the database as it was loaded.
        """
        super().__init__(records)
        self.looking = False
        """Whether only tools that read are at work."""
        self._touched = set(touched)
        self._own: set[str] = set()

    @property
    def touched(self) -> frozenset[str]:
        """Keys whose records may differ from those of the database as it was loaded, in it or not."""
        return frozenset(self._touched)

    def shared(self, key: str) -> Any:
        """The record, not to be changed.

        Raises:
            KeyError: there is none.
        """
        return super().__getitem__(key)

    def fork(self) -> Rows:
        """The same rows for another world; both copy from now on."""
        self._own.clear()
        return Rows(self, frozenset(self._touched))

    def __getitem__(self, key: str) -> Any:
        record = super().__getitem__(key)
        if key not in self._own:
            record = record.model_copy(deep=True)
            self[key] = record
        return record

    def __setitem__(self, key: str, record: Any) -> None:
        super().__setitem__(key, record)
        self._own.add(key)
        self._touched.add(key)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._own.discard(key)
        self._touched.add(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The record, or the default."""
        if key in self:
            return self[key]
        return default

    def pop(self, key: str, *default: Any) -> Any:
        """Take a record out."""
        if key not in self and default:
            return default[0]
        record = self[key]
        del self[key]
        return record

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The record, which is put in where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **named: Any) -> None:
        """Put several records in."""
        for key, record in dict(*others, **named).items():
            self[key] = record

    def clear(self) -> None:
        """Take all records out."""
        for key in list(self):
            del self[key]

    def values(self) -> Any:
        """All records."""
        return super().values() if self.looking else _Records(self)

    def items(self) -> Any:
        """All keys and records."""
        return super().items() if self.looking else ((key, self[key]) for key in list(self))


class _Records:
    """Records, each made the world's own when it is met. Can be gone through again, as a view of values can."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return (self._rows[key] for key in list(self._rows))

    def __len__(self) -> int:
        return len(self._rows)
