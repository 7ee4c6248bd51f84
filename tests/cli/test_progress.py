"""Live progress: right counts, cheap counting, one line on a terminal and plain lines elsewhere."""

from __future__ import annotations

import io
import time

from turngap.cli.progress import Terminal
from turngap.data import Usage


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_says_how_far_how_fast_and_how_long() -> None:
    """Done of total, units a second, tokens, errored units and time left."""
    clock = _Clock()
    progress = Terminal(io.StringIO(), clock)
    progress.stage("predict", 100)
    clock.now += 10
    for at in range(20):
        progress.advance(errored=at == 3, usage=Usage(prompt_tokens=1000, completion_tokens=50))
    assert progress.line() == "predict 20/100, 2.0/s, 40 s left, 1 errored, tokens 20.0k in 1.0k out"


def test_run_12_a_resumed_stage_starts_where_it_was() -> None:
    """RUN-12: 25 good and 5 to repeat of 40 start at 25/40 and end at 40/40; speed counts new units only."""
    clock = _Clock()
    progress = Terminal(io.StringIO(), clock)
    progress.stage("predict", 40, done=25, errored=5)
    assert progress.line() == "predict 25/40, 0 errored, 5 to repeat"
    clock.now += 5
    for _ in range(15):
        progress.advance()
    assert progress.line() == "predict 40/40, 3.0/s, took 5 s, 0 errored"


def test_a_resumed_stage_says_whose_tokens_it_counts() -> None:
    """Tokens and money start at nothing when a stage is resumed, and are said to be of the time since resuming."""
    progress = Terminal(io.StringIO(), _Clock())
    progress.stage("predict", 40, done=25)
    progress.advance(usage=Usage(prompt_tokens=1000, completion_tokens=50, cost=0.5))
    assert progress.line().endswith("tokens 1.0k in 50 out since resuming, cost 0.5 since resuming")
    progress.stage("replay", 40)
    progress.advance(usage=Usage(prompt_tokens=1000, completion_tokens=50))
    assert progress.line().endswith("tokens 1.0k in 50 out")


def test_what_goes_on_before_the_first_unit_is_said() -> None:
    """A stage without units has its name, and leaves no line; a slow first answer is said to be under way."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("start local/smollm2", 0)
    progress.refresh()
    assert stream.getvalue() == ""
    clock.now += 3
    progress.refresh()
    assert stream.getvalue() == "start local/smollm2 ...\n"
    progress.stage("predict", 37)
    clock.now += 3
    progress.refresh()
    assert stream.getvalue().splitlines()[1:] == ["predict 0/37, first answer under way for 3 s, 0 errored"]
    terminal = _Tty()
    Terminal(terminal, clock).stage("start local/smollm2", 0)
    assert "start local/smollm2 ..." in terminal.getvalue()


def test_prv_05_waiting_is_said_with_its_reason() -> None:
    """PRV-05: a pause shows how long it lasts and why, until it is over."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("predict", 10)
    progress.waiting(7.0, "429 Too Many Requests")
    assert "waiting 7 s: 429 Too Many Requests" in progress.line()
    assert stream.getvalue() == "waiting 7 s: 429 Too Many Requests\n"
    clock.now += 8
    assert "waiting" not in progress.line()


def test_without_a_terminal_a_line_is_written_every_few_seconds() -> None:
    """Refreshing often writes seldom, plainly, and says the end of the stage."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("replay", 1000)
    for _ in range(100):
        clock.now += 0.2
        progress.advance()
        progress.refresh()
    progress.close()
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 4
    assert "\x1b" not in stream.getvalue()
    assert lines[-1].startswith("replay 100/1000, 5.0/s")


def test_on_a_terminal_the_line_is_redrawn_and_taken_away() -> None:
    """A terminal sees the state while it runs and one ordinary line when a stage is over."""
    stream = _Tty()
    progress = Terminal(stream)
    progress.stage("replay", 3)
    for _ in range(3):
        progress.advance()
    progress.refresh()
    progress.close()
    assert "3/3" in stream.getvalue()
    assert stream.getvalue().rstrip().splitlines()[-1].strip().endswith("took 0 s, 0 errored")


def test_a_stage_that_is_over_is_told_before_what_comes_next() -> None:
    """Its last line stands before a note, and has the time up to its last unit; a note amid a stage ends nothing."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("floors", 2)
    clock.now += 5
    progress.advance()
    progress.note("in between")
    clock.now += 5
    progress.advance()
    clock.now += 1200
    progress.note("stage training: runs/x")
    progress.stage("training", 0)
    progress.close()
    assert stream.getvalue().splitlines() == [
        "in between",
        "floors 2/2, 0.2/s, took 10 s, 0 errored",
        "stage training: runs/x",
    ]


def test_a_stage_that_ends_early_says_how_far_it_came() -> None:
    """No time is left where nothing more comes; a stage without name only ends the one before."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("explorations", 2000)
    clock.now += 30
    for _ in range(25):
        progress.advance()
    progress.stage("", 0)
    clock.now += 60
    progress.refresh()
    progress.note("stage train-teacher: runs/x")
    progress.close()
    assert stream.getvalue().splitlines() == [
        "explorations 25/2000, 0.8/s, stopped after 30 s, 0 errored",
        "stage train-teacher: runs/x",
    ]


def test_a_stage_without_units_is_said_once_in_a_pipe() -> None:
    """However long it lasts."""
    clock = _Clock()
    stream = io.StringIO()
    progress = Terminal(stream, clock)
    progress.stage("loading local/smollm2", 0)
    for _ in range(600):
        clock.now += 0.2
        progress.refresh()
    progress.close()
    assert stream.getvalue() == "loading local/smollm2 ...\n"


def test_after_the_end_nothing_is_shown() -> None:
    """An interrupt has the last word, whatever work that is under way still tells."""
    for stream in (io.StringIO(), _Tty()):
        progress = Terminal(stream)
        progress.stage("predict", 3)
        progress.advance()
        progress.end()
        said = stream.getvalue()
        assert "predict 1/3" in said
        progress.advance()
        progress.note("one thing")
        progress.waiting(3.0, "busy")
        progress.stage("replay", 1)
        progress.advance()
        progress.refresh()
        progress.close()
        assert stream.getvalue() == said


def test_notes_are_said_once() -> None:
    """The same note twice is one line."""
    stream = io.StringIO()
    progress = Terminal(stream)
    progress.note("parallel calls although forbidden [x]")
    progress.note("parallel calls although forbidden [x]")
    assert stream.getvalue() == "parallel calls although forbidden [x]\n"


def test_counting_is_cheap() -> None:
    """A unit costs microseconds, however many there are."""
    progress = Terminal(_Tty())
    progress.stage("predict", 100_000)
    usage = Usage(prompt_tokens=10, completion_tokens=1)
    began = time.perf_counter()
    for _ in range(20_000):
        progress.advance(usage=usage)
    assert (time.perf_counter() - began) / 20_000 < 20e-6
    progress.close()
