"""One finished trial with all that its grading looks at."""

from __future__ import annotations

import msgspec

from turngap.data import Acted, Spoken, Task, Termination, Trajectory
from turngap.domains import LiveDomain, LiveWorld
from turngap.grading.doing import Deeds, Made
from turngap.grading.wanted import Wanted


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is graded."""

    task: Task
    domain: LiveDomain
    trajectory: Trajectory
    world: LiveWorld
    """As the trial left it."""
    wanted: Wanted
    """As the reference leaves it."""
    calls: tuple[Made, ...]
    deeds: Deeds

    @property
    def ending(self) -> Termination:
        """How it ended."""
        return Termination(self.trajectory.metadata["termination"])

    @property
    def last(self) -> int:
        """The last event of the agent; the last of all where it did nothing."""
        events = self.trajectory.events
        acted = [number for number, event in enumerate(events) if isinstance(event, Acted)]
        return acted[-1] if acted else max(len(events) - 1, 0)

    @property
    def refused(self) -> frozenset[int]:
        """Indices of the reference actions that the domain refuses: nobody has to do them."""
        return frozenset(one.index for one in self.wanted.refused)

    def told_before(self, event: int) -> str:
        """What the user had said before an event, in lower case."""
        events = self.trajectory.events[:event]
        return "\n".join(one.message.content for one in events if isinstance(one, Spoken)).casefold()
