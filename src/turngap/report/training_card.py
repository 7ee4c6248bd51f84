"""The card of a fine-tuned model, as Markdown and for the terminal: what it is, what it learnt from, and how.

Figures of its quality are not known when it is written; whoever measures them writes the card again with `results`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich import box
from rich.markup import escape
from rich.table import Table

from turngap.report import markdown
from turngap.training.base import GGUF, MODEL
from turngap.training.exchange import Manifest
from turngap.training.fitting import Outcome

CARD = "README.md"
"""What the card is called, in the directory of the training."""
_UNMEASURED = """\
None are measured yet. `turngap eval DATA --model MODEL` and `turngap rollout --domain DOMAIN --model MODEL` measure
them; next-turn figures alone do not say whether workflows are finished."""


def card(outcome: Outcome, manifest: Manifest, directory: Path, results: str = "") -> str:
    """The card.

    Args:
        outcome: of the training.
        manifest: of the examples that it learnt from.
        directory: where the model lies.
        results: Markdown with figures before and after, where they are known.
    """
    lines = [f"# {markdown.escape(outcome.base)}, fine-tuned with turngap", ""]
    lines += [
        "An agent that calls tools, trained on recorded decisions: next actions, given the history before them.",
        "",
    ]
    lines += ["To ask it:", "", "```"]
    if (directory / GGUF).is_file():
        lines.append(f"turngap eval DATA --model local/{directory / GGUF}")
    lines += [f"turngap eval DATA --model hf/{directory / MODEL}", "```", ""]
    lines += ["## Figures", "", results.strip() or _UNMEASURED, ""]
    lines += [
        "## Data",
        "",
        markdown.table(("split", "conversations", "examples", "text", "tool"), _splits(manifest)),
        "",
    ]
    sources = ", ".join(f"`{markdown.escape(one)}`" for one in manifest.sources) or "not named"
    lines += [f"From {sources}; digest `{outcome.examples[:12]}`.", ""]
    for name, found in manifest.checked_against.items():
        lines += [f"Held against {markdown.escape(name)}: {markdown.escape(found)}", ""]
    lines += ["## Training", "", markdown.table(("", ""), [[_cell(one), _cell(two)] for one, two in rows(outcome)]), ""]
    lines += [
        "## Recipe",
        "",
        markdown.table(("setting", "value"), [[_cell(a), _cell(b)] for a, b in _recipe(outcome)]),
    ]
    if outcome.notes:
        lines += ["", "## Notes", "", *(f"* {markdown.escape(note)}" for note in outcome.notes)]
    return "\n".join(lines) + "\n"


def training_table(outcome: Outcome) -> Table:
    """What came of a training, for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False, title=outcome.base, title_justify="left")
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in rows(outcome):
        table.add_row(escape(name), escape(value))
    return table


def rows(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """What came of a training, by name."""
    counts = outcome.counts
    yield "base", f"{outcome.base}, {outcome.parameters:,} weights"
    yield "learnt from", f"{counts['decisions']:,} decisions in {counts['sequences']:,} sequences"
    yield "tokens", f"{counts['tokens']:,} in one pass; {counts['learnt_tokens']:,} learnt, repeats counted"
    if counts["cut_messages"]:
        yield "cut for length", f"{counts['cut_messages']:,} messages of contexts"
    if counts["refused"]:
        yield "left out", f"{counts['refused']:,} sequences"
    yield "steps", f"{outcome.steps:,}{f' ({outcome.stopped})' if outcome.stopped else ''}"
    if outcome.loss is not None:
        yield "loss of the last step", f"{outcome.loss:.4f}"
    if outcome.validation is not None:
        yield "best validation loss", f"{outcome.validation:.4f}"
    yield "time", f"{outcome.seconds:,.0f} s, {outcome.tokens_per_second:,.0f} tokens/s"
    yield "engine", outcome.engine


def _splits(manifest: Manifest) -> list[list[str]]:
    return [
        [split, *(str(counts.get(name, 0)) for name in ("conversations", "examples", "text", "tool"))]
        for split, counts in manifest.counts.items()
    ]


def _recipe(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for name, value in msgspec.to_builtins(outcome.recipe).items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", str(one)) for inner, one in value.items())
        else:
            yield name, "all weights" if name == "lora" else str(value)


def _cell(text: str) -> str:
    return markdown.escape_cell(text)
