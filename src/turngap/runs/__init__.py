"""The run directory, resume and the call cache."""

from turngap.runs.cache import Layered, SharedCache
from turngap.runs.store import RunStore, State, Tally

__all__ = ["Layered", "RunStore", "SharedCache", "State", "Tally"]
