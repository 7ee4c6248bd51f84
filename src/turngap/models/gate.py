"""The shared slow-down: when a server says "not so fast" to one request, all requests wait, and come back one by one.

Every request passes the gate. A 429 or 503 closes it for as long as the server asks (or, without a word from it, for a
pause that doubles with each burst), and never for less than a moment, which doubles likewise: a server that always says
"at once" is not asked in a tight loop. When it opens, each waiter adds a random delay of its own, so that the crowd
does not return in one instant. Not a retry layer: it decides when requests go, never whether.
"""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_LEAST_PAUSE = 0.05
_MOST_DOUBLINGS = 16
_SPREAD = 0.25
_LEAST_SPREAD, _MOST_SPREAD = 0.05, 5.0


class Gate:
    """One gate for all requests of one event loop.

    Args:
        clock: monotonic seconds (the loop's time).
        waiting: told once per burst of refusals, with seconds and reason.
        chance: where random pauses and delays come from.
    """

    def __init__(
        self, clock: Callable[[], float], waiting: Callable[[float, str], None], chance: random.Random
    ) -> None:
        self.opens_at = 0.0
        """Clock time before which nothing passes."""
        self.reason = ""
        """Why it was closed last, in the server's words."""
        self._clock, self._waiting, self._chance = clock, waiting, chance
        self._closed_at = float("-inf")
        self._strikes = 0
        self._pause = self._least = 0.0
        self._spread = 0.0

    def delay(self) -> float:
        """Seconds to sleep before asking again; 0 when open. A waiter asks anew after each sleep."""
        left = self.opens_at - self._clock()
        return left + self._chance.uniform(0.0, self._spread) if left > 0 else 0.0

    def close(self, *, asked_at: float, retry_after: float | None, reason: str, in_vain: bool = False) -> None:
        """Shut the gate because a request that went out at `asked_at` was refused for being one too many.

        With `in_vain` nobody has the patience to wait until it opens, so nobody is told of a wait.
        """
        now = self._clock()
        self.reason = reason
        # Answers to requests that were under way when the gate closed belong to the same burst: no new strike, no new
        # draw, no new word to the person.
        if asked_at > self._closed_at:
            self._closed_at = now
            self._strikes += 1
            factor = 2 ** min(self._strikes - 1, _MOST_DOUBLINGS)
            self._pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * factor) * self._chance.uniform(0.75, 1.25)
            self._least = min(_LONGEST_PAUSE, _LEAST_PAUSE * factor)
            if not in_vain:
                self._waiting(self._pause if retry_after is None else max(retry_after, self._least), reason)
        pause = self._pause if retry_after is None else max(retry_after, self._least)
        if now + pause > self.opens_at:
            self.opens_at = now + pause
            self._spread = min(_MOST_SPREAD, max(_LEAST_SPREAD, _SPREAD * pause))

    def passed(self, *, asked_at: float) -> None:
        """A request that went out at `asked_at` was answered: the next burst starts with a short pause again."""
        if self._strikes and asked_at > self._closed_at:
            self._strikes = 0
