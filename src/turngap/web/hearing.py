"""Where the values of a call had been heard when it was made: for the differences that a page marks.

`turngap.analysis.evidence` says what "heard" means. Reading every text for numbers and identifiers takes time that
grows with the conversation, so this is done once for a whole replay, and only when something is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from turngap.analysis.evidence import Difference, Place, decidable, heard, places
from turngap.data import Conversation, Event

_UNTIL = 200_000
"""Characters of a conversation up to which values are looked for unasked; more would keep a page waiting."""


class Hearing:
    """What the agent had been given before each event of a replay or trial."""

    def __init__(self, conversation: Conversation, events: Sequence[Event]) -> None:
        self._conversation = conversation
        self._events = events

    @property
    def costly(self) -> bool:
        """Whether there is so much to read that a page should ask before it does so."""
        said = sum(len(event.message.content) for event in self._events)
        returned = sum(len(result.content) for event in self._events for result in event.results)
        return len(self._conversation.policy) + said + returned > _UNTIL

    def before(self, event: int) -> list[Place]:
        """What had been heard before an event, in order."""
        return [place for place in self._places if place.event is None or place.event < event]

    def where(self, difference: Difference, event: int) -> str:
        """Where the values of a difference had stood when a call was made, in words; empty where that means nothing."""
        known = self.before(event)
        parts = []
        if difference.absent != "predicted" and decidable(difference.predicted):
            parts.append(f"this value: {_last(heard(difference.predicted, known))}")
        if difference.absent != "recorded" and decidable(difference.recorded):
            parts.append(f"the recorded one: {_last(heard(difference.recorded, known))}")
        return "; ".join(parts)

    @cached_property
    def _places(self) -> list[Place]:
        return places(self._conversation, self._events)


def _last(found: Sequence[Place]) -> str:
    return f"in {found[-1].name}" if found else "nowhere in the history"
