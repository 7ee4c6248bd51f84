"""Results that pages share between requests: the most recently used, each under a key that says all it depends on.

A key holds the stamps of the runs that were read, so a run that goes on being written never shows old figures. Results
are immutable values. Safe to use from the threads of a server; two that want the same at once may both compute it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Kept:
    """So many results; the one that nobody has asked for the longest goes first."""

    def __init__(self, most: int = 128) -> None:
        """Args: most: results that are kept, at least one."""
        if most < 1:
            raise ValueError(f"at least one result is kept, not {most}")
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result under `key`; made by `make` where it is not there. What `make` raises is not kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return cast("T", self._found[key])
        made = make()
        with self._lock:
            self._found[key] = made
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return made

    def __len__(self) -> int:
        """How many results there are."""
        return len(self._found)
