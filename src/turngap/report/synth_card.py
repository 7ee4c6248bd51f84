"""The data card of a synthesis, as Markdown and for the terminal: counts, funnel, coverage, lengths, diversity, origin.

One description, shown in two ways; nothing is computed here beyond shares that stand in `Account` already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.report import markdown
from turngap.synth.account import Account, Spread
from turngap.synth.coverage import Share
from turngap.synth.funnel import Funnel

_HOW = """\
Made from trajectories: an explorer acted in the domain, what was not necessary was taken out by doing the rest again,
every value was traced to the user or to a result, and a summariser put into words what is left. Each task was checked
by executing it, and done by the reference agent in conversation with the scripted user."""
_MOST_NAMED = 12
"""Things that are missing, of which each is named."""
_MOST_FAULTS = 3


class _Part(msgspec.Struct, frozen=True):
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def card(account: Account) -> str:
    """The card as Markdown."""
    asked = account.config
    kept = sum(account.tasks.values())
    lines = [f"# {kept} synthetic tasks of {markdown.escape(asked.domain)}", "", _HOW]
    for part in _parts(account):
        rows = [[markdown.escape_cell(cell) for cell in row] for row in part.rows]
        numbers = [False, *[True] * (len(part.head) - 1)]
        lines += ["", f"## {part.title}", "", markdown.table(part.head, rows, numbers=numbers)]
        if part.note:
            lines += ["", markdown.escape(part.note)]
    lines += ["", "## How it was made", "", markdown.table(("setting", "value"), list(_origin(account)))]
    return "\n".join(lines) + "\n"


def synth_table(account: Account) -> RenderableType:
    """The same for the terminal, without the settings."""
    parts: list[RenderableType] = []
    for part in _parts(account):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=part.title, title_justify="left", title_style="bold")
        for number, name in enumerate(part.head):
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in part.rows:
            table.add_row(*map(escape, row))
        parts += [table, *([Text(part.note), Text()] if part.note else [])]
    return Group(*parts)


def _parts(account: Account) -> Iterator[_Part]:
    tried = f"{account.explored} explorations; each was tried in every scenario that still wanted tasks."
    lost = tuple(_loss_rows(account.funnels))
    yield _Part(
        "Funnel",
        ("candidates", *(funnel.scenario for funnel in account.funnels)),
        (*_funnel_rows(account.funnels), ("written, as many as asked for", *map(str, account.tasks.values()))),
        " ".join(filter(None, (tried, "" if lost else _faults(account.faults)))),
    )
    if lost:
        head = ("reason", *(one.scenario for one in account.funnels))
        yield _Part("Why candidates were given up", head, lost, _faults(account.faults))
    found = account.coverage
    yield _Part(
        "Coverage by the kept tasks",
        ("of the domain", "met", "of", "share"),
        tuple(
            _share_row(name, share)
            for name, share in (
                ("tools", found.tools),
                ("tools that write", found.writes),
                ("edges of the tool graph", found.arrows),
                ("fields that fill parameters", found.fields),
            )
        ),
        _missing(found.arrows),
    )
    if account.effects:
        yield _Part(
            "What the references do",
            ("tool", "times"),
            tuple((name, str(count)) for name, count in account.effects.items()),
        )
    lengths = account.lengths
    yield _Part(
        "Lengths",
        ("length", "least", "quarter", "median", "three quarters", "most", "mean"),
        tuple(
            _spread_row(name, spread)
            for name, spread in (
                ("calls of an exploration", lengths.exploration),
                ("steps of a reference", lengths.plan),
                ("words of the instructions", lengths.instructions),
                ("messages of the reference agent", lengths.decisions),
            )
            if spread is not None
        ),
    )
    diversity = account.diversity
    yield _Part(
        "Diversity",
        ("measure", "value"),
        (
            ("different sequences of effects, by scenario", str(diversity.chains)),
            ("share of tasks with the commonest one", _percent(diversity.most_frequent_chain)),
            ("different pairs of words, of all pairs", _percent(diversity.distinct_bigrams)),
            ("tasks that repeat an earlier one but for names and ids", _percent(diversity.near_duplicates)),
        ),
    )


def _funnel_rows(funnels: Sequence[Funnel]) -> Iterator[tuple[str, ...]]:
    yield ("begun", *(str(funnel.begun) for funnel in funnels))
    for number, passage in enumerate(funnels[0].passages if funnels else ()):
        yield (passage.became, *(str(funnel.passages[number].left) for funnel in funnels))


def _loss_rows(funnels: Sequence[Funnel]) -> Iterator[tuple[str, ...]]:
    reasons = dict.fromkeys(
        (number, reason)
        for number in range(len(funnels[0].passages) if funnels else 0)
        for funnel in funnels
        for reason in funnel.passages[number].losses
    )
    for number, reason in reasons:
        counts = (funnel.passages[number].losses.get(reason, 0) for funnel in funnels)
        yield (f"{funnels[0].passages[number].stage}: {reason}", *(str(count) if count else "." for count in counts))


def _faults(faults: Mapping[str, int]) -> str:
    if not faults:
        return ""
    named = "; ".join(f"{text} ({count})" for text, count in list(faults.items())[:_MOST_FAULTS])
    more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    return f"Code that failed, and in how many explorations and candidates: {named}{more}."


def _share_row(name: str, share: Share) -> tuple[str, ...]:
    return name, str(share.met), str(share.of), _percent(share.share)


def _missing(share: Share) -> str:
    if not share.missing:
        return ""
    named = ", ".join(share.missing[:_MOST_NAMED])
    more = len(share.missing) - _MOST_NAMED
    return f"Edges that no kept task goes along: {named}{f' and {more} more' if more > 0 else ''}."


def _spread_row(name: str, spread: Spread) -> tuple[str, ...]:
    values = (spread.low, spread.quarter, spread.middle, spread.three_quarters, spread.high)
    return name, *(f"{value:g}" for value in values), f"{spread.mean:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _origin(account: Account) -> Iterator[tuple[str, str]]:
    asked = account.config
    settings: dict[str, object] = {
        "domain": asked.domain,
        "database": str(account.domain.get("database", ""))[:12],
        "seed": asked.seed,
        "explorer": asked.explorer.spec,
        "summariser": asked.summariser.spec,
        "scorer": asked.scorer.spec if asked.scorer else "none: hard checks only",
        "tasks asked for": "all that come" if asked.count is None else f"{asked.count} of each scenario",
        "most explorations": asked.explorations,
        "most calls of an exploration": asked.max_steps,
        "tools offered": asked.tools,
        **account.versions,
    }
    for name, value in settings.items():
        yield markdown.escape_cell(name), markdown.escape_cell(str(value))
