"""The project's own retail-support conversations, and the generator that made them.

48 recorded conversations of an invented shop's support desk, packaged so that every command can be tried without any
data of one's own. `turngap.samples.generate` makes them again, or others.
"""

from __future__ import annotations

from pathlib import Path

SEED = 7
"""The seed of the packaged file."""
COUNT = 48
"""How many conversations the packaged file holds."""


def path() -> Path:
    """The packaged file, chat-completions JSONL."""
    return Path(__file__).with_name("retail.jsonl")


__all__ = ["COUNT", "SEED", "path"]
