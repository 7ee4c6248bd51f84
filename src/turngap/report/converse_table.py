"""Made conversations for the terminal: funnel, reasons of losses, scenarios, judges. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.synth.converse.account import Account

_HINT = "An undecided conversation is neither approved nor rejected; the same command asks again."


def converse_table(account: Account) -> RenderableType:
    """Funnel, reasons, scenarios, judges and their agreement."""
    parts: list[RenderableType] = [_table("Funnel", ("conversations", "n"), _passages(account))]
    losses = [(f"{one.stage}: {reason}", str(count)) for one in account.funnel for reason, count in one.losses.items()]
    if losses:
        parts.append(_table("Why conversations were lost", ("reason", "n"), losses))
    if account.scenarios:
        rows = ((name, str(kept), str(begun)) for name, (kept, begun) in account.scenarios.items())
        parts.append(_table("By scenario", ("scenario", "kept", "of"), rows))
    parts.append(
        _table(
            "Judges, each over all that took place",
            ("judge", "approved", "rejected", "errored", "asked twice"),
            (
                (one.judge, str(one.approved), str(one.rejected), str(one.errored), str(one.asked_twice))
                for one in account.judges
            ),
        )
    )
    return Group(*parts, *(Text(line) for line in _lines(account)))


def _passages(account: Account) -> Iterator[tuple[str, ...]]:
    yield "begun", str(account.begun)
    if account.unfinished:
        yield "unfinished: the same command goes on", str(account.unfinished)
    for passage in account.funnel:
        yield passage.became, str(passage.left)


def _lines(account: Account) -> Iterator[str]:
    found = account.agreement
    if found is not None and found.observed is not None:
        share = f"{100 * found.observed:.1f}%"
        if found.kappa is None or found.ci95 is None:
            yield f"Judges agree on {share} of {found.n}; kappa has no value where all say the same."
        else:
            low, high = found.ci95
            yield f"Judges agree on {share} of {found.n}; kappa {found.kappa:.2f} [{low:.2f}, {high:.2f}]."
    if any(one.errored for one in account.judges):
        yield _HINT
    for role, usage in account.usage.items():
        cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
        yield f"{role}: {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens{cost}"


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
