"""The section on the order of models: under each protocol, where it flips, and the conversations that cause it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from turngap.analysis.ranks import Flip, Ranks, ranks
from turngap.errors import TurngapError
from turngap.metrics.rounding import decimals
from turngap.report.document import (
    Cell,
    Chart,
    Column,
    Mark,
    Section,
    Table,
    figure_cell,
    from_to,
    head,
    number,
    percent,
    signed,
)
from turngap.report.subject import Subject

_MOST_FLIPS = 12
_MOST_CONVERSATIONS = 6
_WHOLE = ("turn.success", "strict.exact")
"""Next-turn figures that look at whole decisions: what they hide is shown."""
_NOTE = (
    "Over the units that all runs measured. A flip is a lead under a next-turn figure that a workflow figure turns "
    "round or does not have; its certainty is the share of resampled data sets in which that happens."
)
_NAMES = {
    "text.rouge1": "text ROUGE-1",
    "turn.success.text": "text turns",
    "turn.success.tool": "tool turns",
    "turn.success": "all turns",
    "strict.exact": "exact calls",
    "strict.arg_f1": "argument F1",
    "replay.completed": "replay",
    "workflow.success": "workflow",
}


def flips(found: Sequence[Subject]) -> Section | str:
    """Who leads under which protocol; or why that cannot be said."""
    if len(found) < 2:
        return "Rank flips: it takes two runs to have an order."
    try:
        result = ranks([one.store for one in found], seed=found[0].store.config.seed)
    except TurngapError as error:
        return f"Rank flips: these runs do not compare: {error}"
    labels = dict(zip(result.models, (one.label for one in found), strict=True))
    tables = []
    if result.flips:
        tables.append(_flips(result, labels))
    if result.taus:
        tables.append(_agreement(result))
    hidden = _hidden(result, labels)
    if hidden.rows:
        tables.append(hidden)
    return Section(
        key="ranks",
        title="Who leads under which protocol",
        findings=tuple(_sentences(result, labels)),
        charts=(_chart(result, labels),) if result.orders else (),
        tables=tuple(tables),
        notes=(_NOTE,),
    )


def _name(metric: str) -> str:
    return _NAMES.get(metric, metric)


def _sentences(result: Ranks, labels: Mapping[str, str]) -> Iterator[str]:
    turned = [flip for flip in result.flips if flip.outcome_lead < 0]
    vanished = [flip for flip in result.flips if flip.outcome_lead == 0]
    if not result.flips:
        yield "No next-turn figure orders these models otherwise than their workflows do."
        return
    if turned:
        yield f"The order turns round: {_flip_sentence(turned[0], labels)}"
    if vanished:
        yield f"A lead vanishes: {_flip_sentence(vanished[0], labels)}"


def _flip_sentence(flip: Flip, labels: Mapping[str, str]) -> str:
    points = decimals(-100 * flip.outcome_lead)
    behind = f"is {points} points behind it" if flip.outcome_lead < 0 else "is level with it"
    return (
        f"{labels[flip.leader]} leads {labels[flip.other]} by {decimals(100 * flip.lead)} points in "
        f"{_name(flip.cheap)}, and {behind} in {_name(flip.outcome)} (in {decimals(100 * flip.certainty, 0)}% of "
        "resampled data sets)."
    )


def _chart(result: Ranks, labels: Mapping[str, str]) -> Chart:
    marks = tuple(
        Mark(series=labels[model], at=_name(order.metric), value=float(place), n=figure.n)
        for order in result.orders
        for model, place, figure in zip(order.models, order.places, order.values, strict=True)
    )
    first = [f"{_name(order.metric)}: {', '.join(labels[model] for model in order.models)}" for order in result.orders]
    return Chart(
        name="ranks",
        kind="ranks",
        title="Place of each model, by protocol",
        alt=f"Lines from protocol to protocol, from top to bottom; the best model is on the left. {'; '.join(first)}.",
        value_title="place",
        at_title="protocol",
        marks=marks,
        at_order=tuple(_name(order.metric) for order in result.orders),
        series_order=tuple(labels[model] for model in result.models),
        data=_orders(result, labels),
    )


def _orders(result: Ranks, labels: Mapping[str, str]) -> Table:
    rows = tuple(
        (head(_name(order.metric)), number(place), Cell(text=labels[model]), figure_cell(figure))
        for order in result.orders
        for model, place, figure in zip(order.models, order.places, order.values, strict=True)
    )
    return Table(
        caption="Models in order, best first (percent, over shared units).",
        columns=(
            Column(title="protocol"),
            Column(title="place", number=True),
            Column(title="model"),
            Column(title="value", number=True),
        ),
        rows=rows,
    )


def _flips(result: Ranks, labels: Mapping[str, str]) -> Table:
    shown = result.flips[:_MOST_FLIPS]
    left = len(result.flips) - len(shown)
    caption = f"Leads that do not carry over{f'; {left} less certain ones are left out' if left else ''}."
    rows = tuple(
        (
            head(labels[flip.leader], f"ahead of {labels[flip.other]}"),
            Cell(text=_name(flip.cheap), note=f"{signed(100 * flip.lead)} points"),
            Cell(text=_name(flip.outcome), note=f"{signed(100 * flip.outcome_lead)} points"),
            number(f"{decimals(100 * flip.certainty, 0)}%"),
            Cell(text=_some([cause.conversation for cause in flip.conversations])),
        )
        for flip in shown
    )
    columns = (
        Column(title="leader"),
        Column(title="lead in"),
        Column(title="not in"),
        Column(title="certainty", number=True),
        Column(title="conversations behind it"),
    )
    return Table(caption=caption, columns=columns, rows=rows)


def _agreement(result: Ranks) -> Table:
    """A half matrix: every pair of protocols once."""
    metrics = [order.metric for order in result.orders]
    found = {(tau.first, tau.second): tau for tau in result.taus}
    rows = []
    for at, metric in enumerate(metrics[:-1]):
        row = [head(_name(metric))]
        for place, other in enumerate(metrics[1:], 1):
            tau = found.get((metric, other))
            if place <= at or tau is None:
                row.append(Cell(text=""))
            else:
                ends = "" if tau.ci95 is None or tau.ci95[0] == tau.ci95[1] else from_to(tau.ci95, 2)
                row.append(Cell(text=signed(tau.tau, 2), note=ends, kind="number"))
        rows.append(tuple(row))
    return Table(
        caption="How far two protocols order the models alike (Kendall's tau-b, 95% interval where it has any width).",
        columns=(Column(title="protocol"), *(Column(title=_name(metric), number=True) for metric in metrics[1:])),
        rows=tuple(rows),
    )


def _hidden(result: Ranks, labels: Mapping[str, str]) -> Table:
    rows = tuple(
        (
            head(labels[hidden.model]),
            Cell(text=_name(hidden.cheap)),
            Cell(text=_name(hidden.outcome)),
            number(hidden.n),
            number(f"{len(hidden.failed)} ({percent(len(hidden.failed) / hidden.n)}%)"),
            Cell(text=_some(hidden.failed)),
        )
        for model in result.models
        for hidden in result.hidden
        if hidden.model == model and hidden.n and hidden.cheap in _WHOLE
    )
    columns = (
        Column(title="model"),
        Column(title="flawless in"),
        Column(title="held against"),
        Column(title="conversations", number=True),
        Column(title="failed all the same", number=True),
        Column(title="which"),
    )
    return Table(
        caption="What next-turn figures hide: conversations flawless turn by turn whose workflow failed.",
        columns=columns,
        rows=rows,
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_CONVERSATIONS
    return ", ".join(names[:_MOST_CONVERSATIONS]) + (f" and {more} more" if more > 0 else "")
