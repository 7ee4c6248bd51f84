"""What code of other people cannot take from a command: its standard output, and the working directory.

While models, domains and tools are at work, whatever anybody prints goes to standard error, programs that they start
included, so that `--json` stays JSON and a table stays whole. Afterwards the command is where it began, also when a
tool went elsewhere: relative paths mean the same to the end.

Non-goals: threads that are left behind and print later.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

_OUT, _ERR = 1, 2


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """A block in which others are at work."""
    with _kept_output(), contextlib.redirect_stdout(sys.stderr), _kept_place():
        yield


@contextlib.contextmanager
def _kept_output() -> Iterator[None]:
    """Have the process's standard output lead to standard error, below everything that Python knows of it."""
    sys.stdout.flush()
    with contextlib.ExitStack() as after:
        with contextlib.suppress(OSError):  # one of the two was closed before we began: there is nothing to keep apart
            ours = os.dup(_OUT)
            after.callback(os.close, ours)
            os.dup2(_ERR, _OUT)
            after.callback(os.dup2, ours, _OUT)
        yield


@contextlib.contextmanager
def _kept_place() -> Iterator[None]:
    with contextlib.ExitStack() as after:
        with contextlib.suppress(OSError):  # it is gone
            place = os.open(".", os.O_RDONLY)
            after.callback(os.close, place)
            after.callback(os.fchdir, place)
        yield
