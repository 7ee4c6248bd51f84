"""Counts of a set of examples for the terminal, as the papers give them: examples of a split, text and tool."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.table import Table

COLUMNS = ("conversations", "examples", "text", "tool")


def examples_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """A row for each split, as `turngap.training.making.ExampleSet.counts` has them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("split", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for split, found in counts.items():
        table.add_row(split, *(f"{found[name]:,}" for name in COLUMNS))
    return table
