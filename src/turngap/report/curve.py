"""Sections on what happens along a conversation: the horizon curve, and what errors do to what comes after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from turngap.analysis.propagation import Propagation, propagation
from turngap.metrics.paired import Difference
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
    mark,
    number,
    percent,
    points,
    signed,
)
from turngap.report.overview import describe
from turngap.report.subject import Subject

_MOST_NAMED = 6
_FEWEST = 5
"""Steps that a point of a curve by depth rests on at least."""
_HORIZON_LEAD = (
    "From every recorded decision the model goes on alone. With one decision this is next-turn success; with more it "
    "becomes the whole workflow. Dashed: p^h, the curve if errors were independent."
)
_HORIZON_NOTE = (
    "Each h counts the starts that have h decisions ahead, so long horizons rest on longer conversations. Kinds apart: "
    "the rates of text and tool decisions multiplied along the very decisions ahead."
)
_ERRORS_NOTE = (
    "A step is a tool decision that the model faced; it is right when made at the first try. Depth counts tool "
    "decisions from the start. Beyond difficulty: the drop less what recorded history shows at the same steps. "
    f"Curves by depth show points that rest on at least {_FEWEST} steps."
)
_CONDITIONS = ("no error before", "after an error", "on recorded history")


def horizon(found: Sequence[Subject]) -> Section | str:
    """The horizon curve beside p^h; or why there is none."""
    with_curve = [one for one in found if one.summary.horizon]
    if not with_curve:
        return "Horizon curve: no run holds protocol horizon (turngap eval --protocols ...,horizon)."
    marks: list[Mark | None] = []
    rows = []
    for one in with_curve:
        for point in one.summary.horizon:
            marks.append(mark(one.label, point.h, point.measured))
            if point.predicted is not None:
                marks.append(Mark(series=one.label, at=point.h, value=point.predicted, expected=True))
            rows.append(
                (
                    head(one.label),
                    number(point.h),
                    figure_cell(point.measured),
                    number(percent(point.predicted)),
                    number(percent(point.predicted_by_kind)),
                )
            )
    kept = tuple(item for item in marks if item is not None)
    titles = ("decisions", "measured", "p^h", "p^h, kinds apart")
    columns = (Column(title="model"), *(Column(title=title, number=True) for title in titles))
    chart = Chart(
        name="horizon",
        kind="lines",
        title="Decisions survived on own history",
        alt=describe(
            "Lines over the number of decisions: the share of starts that are still without an unresolved error, and "
            "dashed what independent errors would leave.",
            [item for item in kept if item.at in (1, kept[-1].at)],
        ),
        value_title="share of starts",
        at_title="decisions on own history",
        marks=kept,
        series_order=tuple(one.label for one in with_curve),
        data=Table(caption="The horizon curve (percent of starts).", columns=columns, rows=tuple(rows)),
    )
    return Section(
        key="horizon",
        title="Horizon",
        lead=(_HORIZON_LEAD,),
        charts=(chart,),
        notes=(_HORIZON_NOTE,),
    )


def errors(found: Sequence[Subject]) -> Section | str:
    """Whether errors breed errors; or why nothing can be said."""
    pairs = [(one, propagation(one.store, seed=one.store.config.seed)) for one in found]
    pairs = [(one, result) for one, result in pairs if result.steps]
    if not pairs:
        return "Error propagation: no run holds replays of conversations with tool calls."
    notes = [_ERRORS_NOTE]
    stopping = [one.label for one, result in pairs if result.after_failure == "stop"]
    if stopping:
        notes.append(
            f"Stopped at the first unresolved error, so that only errors the model recovered from have steps behind "
            f"them: {', '.join(stopping)}. With --after-failure continue the replay goes on."
        )
    return Section(
        key="errors",
        title="What errors do to what follows",
        findings=tuple(f"{one.label}: {result.verdict}." for one, result in pairs),
        charts=(_survival(pairs), *_by_depth(pairs)),
        tables=(_conditions(pairs), _first_errors(pairs)),
        notes=tuple(notes),
    )


def _survival(pairs: Sequence[tuple[Subject, Propagation]]) -> Chart:
    marks: list[Mark | None] = []
    for one, result in pairs:
        for row in result.depths:
            marks.append(mark(one.label, row.depth, row.survival))
            if row.expected is not None and row.survival.n:
                marks.append(Mark(series=one.label, at=row.depth, value=row.expected, expected=True))
    kept = tuple(item for item in marks if item is not None)
    return Chart(
        name="survival",
        kind="lines",
        title="Replays still free of errors",
        alt=describe(
            "Falling lines over depth: the share of replays without any error so far; dashed what the rates on "
            "recorded history would leave.",
            [item for item in kept if item.at in (1, 5, 10)],
        ),
        value_title="share of replays",
        at_title="tool decisions made",
        marks=kept,
        series_order=tuple(one.label for one, _ in pairs),
    )


def _by_depth(pairs: Sequence[tuple[Subject, Propagation]]) -> Iterator[Chart]:
    for place, (one, result) in enumerate(pairs, 1):
        marks: list[Mark | None] = []
        for row in result.depths:
            figures = (row.p_clean, row.p_after_error, row.p_gold)
            marks += [
                mark(name, row.depth, figure)
                for name, figure in zip(_CONDITIONS, figures, strict=True)
                if figure.n >= _FEWEST
            ]
        kept = tuple(item for item in marks if item is not None)
        if not kept:
            continue
        yield Chart(
            name="propagation" if len(pairs) == 1 else f"propagation-{place}",
            kind="lines",
            title=f"Right calls by depth: {one.label}",
            alt=describe(
                "Lines over depth: the share of right calls without an earlier error, after one, and on recorded "
                "history.",
                [item for item in kept if item.at in (1, 2, 3)],
            ),
            value_title="calls right",
            at_title="depth",
            marks=kept,
            series_order=_CONDITIONS,
        )


def _conditions(pairs: Sequence[tuple[Subject, Propagation]]) -> Table:
    columns = (
        Column(title="model"),
        Column(title="no error before", group="own history", number=True),
        Column(title="after an error", group="own history", number=True),
        Column(title="no error before", group="recorded history, same steps", number=True),
        Column(title="after an error", group="recorded history, same steps", number=True),
        Column(title="drop", group="difference", number=True),
        Column(title="beyond difficulty", group="difference", number=True),
        Column(title="slips recovered", group="replays", number=True),
        Column(title="free of errors", group="replays", number=True),
    )
    rows = tuple(
        (
            head(one.label, f"{result.replays} replays, {result.steps} steps"),
            figure_cell(result.clean.own),
            figure_cell(result.after_error.own),
            figure_cell(result.clean.gold),
            figure_cell(result.after_error.gold),
            _difference(result.drop),
            _difference(result.adjusted),
            figure_cell(result.recovery),
            figure_cell(result.error_free),
        )
        for one, result in pairs
    )
    return Table(caption="Share of right calls, by what happened before (percent).", columns=columns, rows=rows)


def _difference(difference: Difference) -> Cell:
    text = signed(None if difference.value is None else 100 * difference.value)
    return Cell(text=text, note=from_to(points(difference.ci95)), kind="number")


def _first_errors(pairs: Sequence[tuple[Subject, Propagation]]) -> Table:
    rows = tuple(
        (
            head(one.label),
            Cell(text=_counts(result.first_errors.category)),
            Cell(text=_counts(result.first_errors.tool)),
            Cell(text=_counts({f"at step {depth}": count for depth, count in result.first_errors.depth.items()})),
        )
        for one, result in pairs
    )
    titles = ("model", "category", "tool that was due", "depth")
    return Table(
        caption="First slips, where replays first leave the recording, put right or not: how many replays, by what.",
        columns=tuple(Column(title=title) for title in titles),
        rows=rows,
    )


def _counts(found: Mapping[str, int]) -> str:
    """The most frequent first, so many of them, and what is left."""
    ordered = sorted(found.items(), key=lambda item: -item[1])
    left = sum(count for _, count in ordered[_MOST_NAMED:])
    parts = [f"{count} {name}" for name, count in ordered[:_MOST_NAMED]]
    return ", ".join([*parts, f"{left} others"] if left else parts)
