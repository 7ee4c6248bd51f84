"""The gap of one run for the terminal: chain, error propagation, horizon. Shows a `Gap`, computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.chain import Chain, Link
from turngap.analysis.gap import Gap
from turngap.analysis.horizon import Horizon
from turngap.analysis.propagation import FEW, Condition, DepthRow, Propagation
from turngap.data import Figure
from turngap.metrics.paired import Difference
from turngap.metrics.rounding import decimals
from turngap.report.compare_table import points
from turngap.report.harmless import one_line
from turngap.report.table import interval, percent

_DEPTHS = 12  # rows by depth that are shown; all of them are in --json
_FIRST = 5  # places of first slips that are named


def gap_report(found: Gap, *, title: str) -> RenderableType:
    """All of it."""
    parts: list[RenderableType] = [Text(one_line(title), style="bold")]
    parts.append(Text(f"{found.conversations} conversations with calls"))
    parts += [Text(note, style="bold") for note in found.notes]
    if found.empty:
        parts.append(Text("nothing was measured: no decision is scored and no replay is there", style="bold"))
        return Group(*parts)
    parts += [Text(), *_chain(found.chain)]
    if found.propagation.replays:
        parts += [Text(), *_propagation(found.propagation)]
    else:
        parts += [Text(), Text("no replays: nothing is known of errors on the model's own history")]
    if found.horizon.points:
        parts += [Text(), *_horizon(found.horizon)]
    return Group(*parts)


def _horizon(found: Horizon) -> list[RenderableType]:
    table = _table("h", "n", "measured", "95% interval", "p^h", "by kind")
    for point in found.points:
        predictions = [
            "-" if value is None else decimals(100 * value) for value in (point.predicted, point.predicted_by_kind)
        ]
        measured = point.measured
        table.add_row(str(point.h), str(measured.n), percent(measured), interval(measured), *predictions)
    heading = f"horizon: no unresolved error within h decisions of own history, from {found.starts} starts"
    return [Text(heading, style="italic"), table]


def _chain(chain: Chain) -> list[RenderableType]:
    parts: list[RenderableType] = [
        Text("chain: what single decisions predict, were they independent", style="italic"),
    ]
    if chain.links:
        table = _table("decision is good when", "text", "tool", "try", "predicted", "measured", "difference")
        for link in chain.links:
            table.add_row(*_link(link))
        parts.append(table)
        parts += [Text(f"  {link.name} is measured by: {link.measured_name}") for link in chain.links]
    if chain.targets:
        needs = ", ".join(
            f"{decimals(100 * target.completion, 0)}% needs {decimals(100 * target.rate)}%" for target in chain.targets
        )
        parts += [Text(), Text("needed of every decision at this mix of lengths:", style="italic"), Text(f"  {needs}")]
    return parts


def _link(link: Link) -> tuple[str, ...]:
    return (
        f"{link.name}\n{link.meaning}",
        f"{percent(link.p_text)}\n",
        f"{percent(link.p_tool)}\n",
        f"{link.attempts}\n",
        _with_interval(link.predicted),
        _with_interval(link.measured),
        _difference(link.gap),
    )


def _propagation(found: Propagation) -> list[RenderableType]:
    history = _table("calls right at the first try", "n", "own history", "recorded", "difference")
    for name, condition in (
        ("clean so far", found.clean),
        ("after an error", found.after_error),
        ("after an unresolved one", found.after_unresolved),
    ):
        history.add_row(*_condition(name, condition))
    parts: list[RenderableType] = [
        Text(f"errors: {found.replays} replays, {found.steps} calls that were due", style="italic"),
        history,
        *_few(found),
        Text(found.verdict, style="bold"),
        *([Text(f"recovered from: {_line(found.recovery)} of {found.recovery.n} slips")] if found.recovery.n else []),
        Text(f"without any error: {_line(found.error_free)} of {found.error_free.n} replays"),
    ]
    if found.after_failure != "continue":
        parts.append(
            Text(f"replays ended as --after-failure {found.after_failure} says: little is seen after failures")
        )
    errors = found.first_errors
    if errors.category:
        parts += [
            Text(),
            Text("first slips: replays by the first call that was not right, put right later or not", style="italic"),
        ]
        parts += [Text(f"  by {name}: {_counts(where)}") for name, where in _places(found)]
    return [*parts, Text(), Text("by depth (tool decisions of a conversation)", style="italic"), _depths(found.depths)]


def _few(found: Propagation) -> Iterable[Text]:
    """A note on rates that rest on few conversations, whatever their n is."""
    counts = (
        ("clean so far", found.clean.conversations),
        ("after an error", found.after_error.conversations),
        ("after an unresolved one", found.after_unresolved.conversations),
        ("recovered from", found.slip_conversations),
    )
    few = ", ".join(f"{name} {count}" for name, count in counts if 0 < count < FEW)
    if few:
        yield Text(f"from few conversations: {few}")


def _places(found: Propagation) -> Iterable[tuple[str, Mapping[str, int]]]:
    errors = found.first_errors
    yield "category", errors.category
    yield "tool", errors.tool
    yield "depth", {str(depth): count for depth, count in errors.depth.items()}


def _condition(name: str, condition: Condition) -> tuple[str, ...]:
    return (
        f"{name}\n",
        f"{condition.own.n}\n",
        _with_interval(condition.own),
        _with_interval(condition.gold),
        _difference(condition.effect),
    )


def _depths(rows: Iterable[DepthRow]) -> RenderableType:
    shown = list(rows)
    table = _table("depth", "n", "clean", "after error", "recorded", "error-free", "95% interval", "expected")
    for row in shown[:_DEPTHS]:
        table.add_row(
            str(row.depth),
            str(row.n),
            percent(row.p_clean),
            percent(row.p_after_error),
            percent(row.p_gold),
            percent(row.survival),
            interval(row.survival),
            "-" if row.expected is None else decimals(100 * row.expected),
        )
    if len(shown) <= _DEPTHS:
        return table
    return Group(table, Text(f"and {len(shown) - _DEPTHS} more depths (--json)"))


def _table(first: str, *headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _with_interval(figure: Figure) -> str:
    return f"{percent(figure)}\n{interval(figure)}"


def _difference(found: Difference) -> str:
    ends = "-" if found.ci95 is None else f"{points(found.ci95[0])} {points(found.ci95[1])}"
    return f"{points(found.value)}\n{ends}"


def _line(figure: Figure) -> str:
    return "-" if figure.value is None else f"{percent(figure)}% ({interval(figure)})"


def _counts(counts: Mapping[str, int]) -> str:
    named = ", ".join(f"{one_line(name)} {count}" for name, count in list(counts.items())[:_FIRST])
    return f"{named}, ..." if len(counts) > _FIRST else named
