"""Tool names that the API accepts, mapped both ways.

Servers refuse names outside ``[a-zA-Z0-9_-]{1,64}``, and with one of them the whole tool list. Such names go out under
another name and come back under their own before anything is stored or compared. The mapping depends on the tools
alone, so it is the same in every turn and when stored output is read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST = 64


class Names:
    """The two-way mapping for one set of tools."""

    __slots__ = ("_back", "_out")

    def __init__(self, names: Iterable[str]) -> None:
        real = list(dict.fromkeys(names))
        self._out = {name: name for name in real if _ALLOWED.match(name)}
        self._back = dict(self._out)
        for name in real:
            if name not in self._out:
                self._add(name)

    def _add(self, name: str) -> str:
        stem = _REFUSED.sub("_", name).strip("_")[:_LONGEST] or "tool"
        candidate, number = stem, 1
        while candidate in self._back:
            number += 1
            suffix = f"_{number}"
            candidate = stem[: _LONGEST - len(suffix)] + suffix
        self._out[name] = candidate
        self._back[candidate] = name
        return candidate

    @property
    def renamed(self) -> dict[str, str]:
        """Only the names that go out under another: real name -> name on the wire."""
        return {name: out for name, out in self._out.items() if name != out}

    def outward(self, name: str) -> str:
        """The name on the wire; one that no tool has (a model invented it) is made acceptable too."""
        found = self._out.get(name)
        if found is not None:
            return found
        # Not remembered: what a model invents must not change how later names map, nor look like a tool there is.
        candidate = name if _ALLOWED.match(name) else _REFUSED.sub("_", name).strip("_")[:_LONGEST] or "tool"
        while candidate in self._back:
            candidate = f"{candidate[: _LONGEST - 1]}_" if len(candidate) == _LONGEST else f"{candidate}_"
        return candidate

    def inward(self, name: str) -> str:
        """The tool's own name; any other name stays as the model gave it."""
        return self._back.get(name, name)
