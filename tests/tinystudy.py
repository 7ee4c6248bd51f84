"""A study of seconds: a new model of a few thousand weights learns next to nothing at the corner shop."""

from __future__ import annotations

from pathlib import Path

_SHOP = Path(__file__).parents[1] / "experiments" / "corner_shop.py"
_TEXT = f"""\
base = "new:qwen3?hidden=32&layers=1&heads=2&vocabulary=600"
seed = 1
[train]
domain = "{_SHOP}?seed=1"
each = 2
[evaluate]
domain = "{_SHOP}?seed=2"
each = 1
[recipe]
base = "laptop"
limit = 8000
[ask]
conversations = 2
tasks = 2
max_tokens = 24
max_steps = 4
"""


def write(path: Path) -> Path:
    """The study as a file."""
    path.write_text(_TEXT, encoding="utf-8")
    return path
