"""The double of progress remembers what it was told."""

from __future__ import annotations

from turngap.data import Usage
from turngap.engines import Progress, Quiet


def test_quiet_counts() -> None:
    """RUN-12: a stage resumed at 25 good and 5 to repeat of 40 starts at 25 and ends at 40."""
    quiet = Quiet()
    progress: Progress = quiet
    progress.stage("predict", 40, done=25, errored=5)
    assert (quiet.done, quiet.errored) == (25, 0)
    for number in range(15):
        progress.advance(errored=number == 0, usage=Usage(prompt_tokens=2, completion_tokens=1, cost=0.5))
    assert (quiet.done, quiet.errored) == (40, 1)
    assert quiet.usage == Usage(prompt_tokens=30, completion_tokens=15, cost=7.5)
    progress.stage("score", 3)
    assert quiet.stages == [("predict", 40, 25, 5), ("score", 3, 0, 0)]
    assert (quiet.done, quiet.errored) == (0, 0)


def test_quiet_notes() -> None:
    """A note said twice is kept once; waits are kept as they came."""
    quiet = Quiet()
    for _ in range(2):
        quiet.note("key trimmed")
        quiet.waiting(7.0, "429 Too Many Requests")
    assert quiet.notes == ["key trimmed"]
    assert quiet.waits == [(7.0, "429 Too Many Requests")] * 2
