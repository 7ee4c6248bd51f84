"""Whether a run is finished, and the sentence that says so where it is not, the same in every command."""

from __future__ import annotations

from turngap.runs.manifest import COMMANDS
from turngap.runs.store import RunStore


def unfinished(store: RunStore, whose: str = "run") -> tuple[str, ...]:
    """One sentence on a run that is not finished; nothing on one that is.

    Args:
        store: an open run; only read.
        whose: what the sentence calls it.
    """
    state = store.state()
    if state == "finished":
        return ()
    command = COMMANDS[type(store.settings)]
    return (f"the {whose} is not finished ({state}); repeat its turngap {command} command to go on",)
