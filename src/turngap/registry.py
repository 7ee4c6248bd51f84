"""Short names for the implementations of a seam, loaded when asked for.

Each seam (formats, models, judges, ...) owns one `Registry`. A short name maps to ``"module:attribute"``; a dotted
``module:attribute`` path works too; entry points of the group ``turngap.<seam>`` are read only when a name is missing.
Names come from the command line or from configuration written by the user, never from data files.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from turngap.errors import UsageError


class Registry:
    """One seam's table of names."""

    def __init__(self, seam: str, table: Mapping[str, str]) -> None:
        self.seam = seam
        self._table = dict(table)

    def names(self) -> list[str]:
        """The built-in names and those that installed packages add, sorted."""
        return sorted({*self._table, *(point.name for point in self._points())})

    def load(self, name: str) -> Any:
        """Import and return what `name` stands for.

        Raises:
            UsageError: the name is unknown (the known ones are listed), defined twice, or cannot be imported.
        """
        target = self._table.get(name)
        if target is None and ":" in name:
            target = name
        if target is None:
            found = [point for point in self._points() if point.name == name]
            if len(found) > 1:
                raise UsageError(
                    f"{self.seam[:-1]} {name!r} is defined by several installed packages; use module:attribute"
                )
            if not found:
                raise UsageError(
                    f"unknown {self.seam[:-1]} {name!r}; known: {', '.join(self.names())}; or module:attribute"
                )
            target = found[0].value
        module, _, attribute = target.partition(":")
        try:
            loaded = import_module(module)
        except ImportError as error:
            # A missing optional dependency inside one of ours explains itself; only the module's own absence is usage.
            if getattr(error, "name", None) not in (module, module.partition(".")[0]):
                raise
            raise UsageError(f"{self.seam[:-1]} {name!r}: cannot import {module!r}: {error}") from None
        try:
            return getattr(loaded, attribute)
        except AttributeError:
            raise UsageError(f"{self.seam[:-1]} {name!r}: module {module!r} has no {attribute!r}") from None

    def make(self, name: str, *arguments: Any) -> Any:
        """Load a factory and call it.

        Raises:
            UsageError: see `load`; or what `name` stands for is no factory that takes these arguments.
        """
        factory = self.load(name)
        if name in self._table:
            return factory(*arguments)
        try:
            return factory(*arguments)
        except TypeError as error:
            raise UsageError(
                f"{self.seam[:-1]} {name!r} should be a factory that takes {len(arguments)} arguments: {error}"
            ) from error

    def _points(self) -> Any:
        return entry_points(group=f"turngap.{self.seam}")
