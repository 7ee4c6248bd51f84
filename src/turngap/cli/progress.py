"""Live progress on standard error: done of total, decisions a second, tokens, errored units, time left.

On a terminal one line is redrawn a few times a second; elsewhere a plain line is written every few seconds, and less
often the longer a stage lasts. Counting and drawing are apart: `advance` only adds numbers, `refresh` is called by a
timer, so that thousands of units a second cost nothing. Everything happens in the thread of the event loop; no lock can
be held when a signal arrives. A stage without units (reading, starting a model) is said while it lasts, and leaves no
line behind; elsewhere than on a terminal it is said once.

A stage is over when the next one begins or its work is done, and its last line comes before whatever is said then: with
the time of its own last unit, and with how far it came where that was not to the end.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import IO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from turngap.data import Usage
from turngap.report.harmless import harmless, one_line

_PLAIN_SECONDS = 10.0
_FIRST_PLAIN_SECONDS = 2.0
_PLAIN_PART = 0.05
"""Of the time that a stage has lasted: so long the next plain line is waited for at least."""
_BAR = 16


class Terminal:
    """A `turngap.engines.base.Progress` for the person at standard error."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self._clock = clock
        self._live: Live | None = None
        self._name, self._total, self.done, self.errored = "", 0, 0, 0
        self._repeat = 0
        self._taken_over = 0
        self._began = self._last = self._clock()
        self._closing = self._ended = False
        self._next_plain = 0.0
        self._wait_until, self._wait_reason = 0.0, ""
        self._said: set[str] = set()
        self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = None
        """Tokens and money of the present stage, as far as this process spent them."""

    def stage(self, name: str, total: int, done: int = 0, errored: int = 0) -> None:
        """See `Progress.stage`; `errored` units are shown as to be repeated."""
        self._close_stage()
        if self._ended:
            return
        self._name, self._total, self.done, self.errored = name, total, done, 0
        self._repeat, self._taken_over = errored, done
        self.prompt_tokens = self.completion_tokens = 0
        self.cost = None
        self._began = self._last = self._clock()
        self._next_plain = self._began + _FIRST_PLAIN_SECONDS
        self._wait_until = 0.0
        if self._console.is_terminal and name:
            self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
            self._draw(self._live)

    def advance(self, *, errored: bool = False, usage: Usage | None = None) -> None:
        """See `Progress.advance`."""
        self.done += 1
        self._last = self._clock()
        self.errored += errored
        if usage is not None:
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
            if usage.cost is not None:
                self.cost = (self.cost or 0.0) + usage.cost

    def waiting(self, seconds: float, reason: str) -> None:
        """See `Progress.waiting`."""
        self._wait_until, self._wait_reason = self._clock() + seconds, reason
        if not self._console.is_terminal:
            self._once(f"waiting {seconds:.0f} s: {reason}")

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        if self._total and self.done >= self._total:
            self._close_stage()
        self._once(one_line(text))

    def refresh(self) -> None:
        """Draw the present state; called by a timer a few times a second."""
        now = self._clock()
        if self._live is not None:
            self._draw(self._live)
        elif self._name and (self.done < self._total or not self._total) and now >= self._next_plain:
            pause = max(_PLAIN_SECONDS, _PLAIN_PART * (now - self._began)) if self._total else math.inf
            self._next_plain = now + pause
            self._print(self.line())

    def close(self) -> None:
        """Take the live line away and leave the last state as an ordinary line."""
        self._close_stage()

    def end(self) -> None:
        """The same, and nothing is shown from now on, whatever is still told."""
        self.close()
        self._ended = True

    @property
    def unfinished(self) -> bool:
        """Whether something is under way that ends by itself after an interrupt, at a place to go on from."""
        return False

    @property
    def where(self) -> str:
        """``30 of 40 done (replay)``, for the message after an interrupt."""
        if not self._total:
            return "nothing done yet" if not self._name else f"stage {self._name!r} not done"
        return f"{self.done} of {self._total} done ({self._name})"

    def line(self) -> str:
        """The present state as one line of text."""
        if not self._total:
            return f"{self._name} ..."
        parts = [f"{self._name} {self.done}/{self._total}", *self.facts()]
        return ", ".join(parts)

    def _close_stage(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._total:
            self._closing = True
            self._print(self.line())
            self._closing = False
        self._name, self._total = "", 0

    def facts(self) -> list[str]:
        """What there is to say beside the count, the most pressing first: a narrow terminal cuts the end off."""
        now = self._clock()
        fresh, left = self.done - self._taken_over, self._total - self.done
        seconds = max((now if left > 0 else self._last) - self._began, 1e-9)
        facts = []
        if now < self._wait_until:
            facts.append(f"waiting {self._wait_until - now:.0f} s: {self._wait_reason}")
        if fresh:
            facts.append(f"{fresh / seconds:.1f}/s")
        facts += self.ahead(seconds, left * seconds / fresh if fresh else None)
        facts.append(f"{self.errored} errored")
        repeat = self._repeat - fresh
        if repeat > 0:
            facts.append(f"{repeat} to repeat")
        # What earlier commands spent on the stage is not counted here, so a resumed stage says whose tokens these are.
        whose = " since resuming" if self._taken_over else ""
        if self.prompt_tokens or self.completion_tokens:
            facts.append(f"tokens {_short(self.prompt_tokens)} in {_short(self.completion_tokens)} out{whose}")
        if self.cost is not None:
            facts.append(f"cost {self.cost:.4g}{whose}")
        return facts

    def ahead(self, seconds: float, rest: float | None) -> list[str]:
        """How long the stage took or will take.

        Args:
            seconds: that it has lasted.
            rest: seconds that it will still take; None where nothing tells.
        """
        if self.done >= self._total:
            return [f"took {duration(seconds)}"]
        if self._closing:
            return [f"stopped after {duration(seconds)}"]
        if rest is not None:
            return [f"{duration(rest)} left"]
        return [f"first answer under way for {duration(seconds)}"] if seconds >= _FIRST_PLAIN_SECONDS else []

    def _draw(self, live: Live) -> None:
        live.update(self._row(), refresh=True)

    def _row(self) -> Text:
        if not self._total:
            return Text(self.line(), no_wrap=True, overflow="ellipsis", end="")
        full = round(_BAR * min(self.done / self._total, 1.0))
        # Cut at the end of a narrow terminal, never wrapped: a second line could not be redrawn in place.
        row = Text(f"{self._name} ", no_wrap=True, overflow="ellipsis", end="")
        row.append("━" * full, style="green").append("━" * (_BAR - full), style="dim")
        return row.append(harmless(f" {self.done}/{self._total} {', '.join(self.facts())}"))

    def _once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._print(text)

    def _print(self, text: str) -> None:
        if not self._ended:
            self._console.print(harmless(text), markup=False, soft_wrap=True)


def _short(count: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def duration(seconds: float) -> str:
    """``40 s``, ``3 min 05 s`` or ``2 h 10 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
