"""The ways of marking turns for which turngap has a chat template of its own, with room for tools, calls and results.

Each is for models that know its marks and come without a template, or with one that drops tools. Non-goals: models that
were not trained on such marks, and templates that models bring themselves.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import msgspec

_FOLDER = Path(__file__).with_name("templates")


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """One way of marking turns, and our template for it."""

    template: Path
    end: str
    """The mark behind a turn."""
    begin: str
    """The mark before one."""
    thinking: Path | None = None
    """The template for models that reason before they answer; None: there is none."""

    def source(self) -> str:
        """The template, in Jinja."""
        return self.template.read_text(encoding="utf-8")


CHATML = Turns(
    template=_FOLDER / "chatml_tools.jinja",
    thinking=_FOLDER / "chatml_tools_thinking.jinja",
    end="<|im_end|>",
    begin="<|im_start|>",
)
GEMMA = Turns(template=_FOLDER / "gemma_tools.jinja", end="<end_of_turn>", begin="<start_of_turn>")


def known_to(vocabulary: Container[str]) -> Turns:
    """The marks that a model knows, whose vocabulary is given; ChatML where it knows neither or both."""
    return GEMMA if GEMMA.begin in vocabulary and CHATML.begin not in vocabulary else CHATML
