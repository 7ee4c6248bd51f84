"""Live progress of trainings: what a line says, one training after another, and moments told from another thread."""

from __future__ import annotations

import io
import threading

from turngap.cli.training_progress import TrainingTerminal
from turngap.training.moment import Moment


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def _moment(step: int, *, steps: int = 10, seconds: float = 5.0, validation: float | None = None) -> Moment:
    return Moment(
        step=step,
        steps=steps,
        epoch=step / steps,
        loss=1.0 / step,
        validation=validation,
        learning_rate=0.1,
        tokens_per_second=120.0,
        seconds=seconds * step,
    )


def test_a_line_says_step_loss_validation_speed_and_time_left() -> None:
    """Time left is counted by the steps of this process: a training that goes on at step 5 has done one at step 6."""
    terminal = TrainingTerminal(stream=io.StringIO())
    moment = Moment(
        step=6, steps=10, epoch=1.2, loss=0.5, validation=0.75, learning_rate=0.1, tokens_per_second=120.0, seconds=30.0
    )
    terminal.watch(moment)
    assert terminal.where == "6 of 10 done (training)"  # asked after an interrupt, whatever is drawn
    assert terminal.line() == "training 6/10, loss 0.500, validation 0.750, 120 tokens/s, 2 min 00 s left"


def test_what_another_thread_tells_is_drawn_by_the_thread_that_draws() -> None:
    """Nothing is written when a moment is told; the stage before ends with its own facts; no moment is lost."""
    stream = io.StringIO()
    terminal = TrainingTerminal(stream=stream)
    terminal.stage("floors", 1, done=1)
    thread = threading.Thread(target=lambda: [terminal.watch(_moment(step)) for step in range(1, 5)])
    thread.start()
    thread.join()
    assert stream.getvalue() == ""
    terminal.refresh()
    assert stream.getvalue() == "floors 1/1, took 0 s, 0 errored\n"
    assert terminal.line() == "training 4/10, loss 0.250, 120 tokens/s, 30 s left"


def test_trainings_and_other_stages_follow_each_other() -> None:
    """Each training leaves a line of its own, also right after another one, and what follows is counted as usual."""
    stream = io.StringIO()
    terminal = TrainingTerminal(stream=stream)
    for steps in (2, 3):
        for step in range(1, steps + 1):
            terminal.watch(_moment(step, steps=steps, validation=0.5))
    terminal.stage("predict", 2)
    terminal.advance(errored=True)
    terminal.close()
    first, second, third = stream.getvalue().splitlines()
    assert first == "training 2/2, loss 0.500, validation 0.500, 120 tokens/s, took 10 s"
    assert second == "training 3/3, loss 0.333, validation 0.500, 120 tokens/s, took 15 s"
    assert third.startswith("predict 1/2")
    assert third.endswith("1 errored")


def test_on_a_terminal_it_is_one_live_line() -> None:
    """Step of steps and loss are redrawn in place, and one ordinary line is left."""
    stream = _Tty()
    terminal = TrainingTerminal(stream=stream)
    for step in range(1, 11):
        terminal.watch(_moment(step))
        terminal.refresh()
    terminal.close()
    drawn = stream.getvalue()
    assert " 1/10 loss 1.000, 120 tokens/s, 45 s left" in drawn
    assert " 10/10 loss 0.100, 120 tokens/s, took 50 s" in drawn
    assert drawn.rstrip().splitlines()[-1].endswith("training 10/10, loss 0.100, 120 tokens/s, took 50 s")


def test_elsewhere_a_long_training_writes_a_line_now_and_then() -> None:
    """An hour of steps of a second is told in less than a hundred lines, the first of them at once."""

    class _Clock:
        now = 0.0

        def __call__(self) -> float:
            return self.now

    clock, stream = _Clock(), io.StringIO()
    terminal = TrainingTerminal(stream=stream, clock=clock)
    for step in range(1, 3601):
        clock.now += 1.0
        terminal.watch(_moment(step, steps=3600, seconds=1.0))
        terminal.refresh()
    terminal.close()
    lines = stream.getvalue().splitlines()
    assert 40 < len(lines) < 100
    assert lines[0].startswith("training 3/3600")
    assert lines[-1].startswith("training 3600/3600")
