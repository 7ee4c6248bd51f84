"""The first sections of a report: what was run, the headline table, the gap, and text against tool decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from turngap.analysis.chain import Chain, Link, chain
from turngap.analysis.figure import FIGURES
from turngap.data.prediction import RECORDED_CAUSES
from turngap.metrics.rounding import decimals
from turngap.report.document import (
    DASH,
    Cell,
    Chart,
    Column,
    Mark,
    Section,
    Table,
    between,
    figure_cell,
    from_to,
    head,
    mark,
    number,
    percent,
    points,
    signed,
)
from turngap.report.subject import Subject, judge_sentence

_HEADLINE: tuple[tuple[str, str, str], ...] = (
    ("text", "ROUGE-1", "text.rouge1"),
    ("turn, judged", "text", "turn.success.text"),
    ("turn, judged", "tool", "turn.success.tool"),
    ("turn, judged", "all", "turn.success"),
    ("strict", "exact calls", "strict.exact"),
    ("strict", "argument F1", "strict.arg_f1"),
    ("replay", "completed", "replay.completed"),
    ("workflow, judged", "goal met", "workflow.success"),
)
"""Group, column, figure of the headline table."""
_STEPS: tuple[tuple[str, str], ...] = (
    ("text ROUGE-1", "text.rouge1"),
    ("turns good", "turn.success"),
    ("calls exact", "strict.exact"),
    ("replay completed", "replay.completed"),
    ("workflow success", "workflow.success"),
)
"""From the cheapest evaluation to the hardest: the rows of the gap chart."""
_KINDS = (("text turns", "turn.success.text"), ("tool turns", "turn.success.tool"))
_HEADLINE_NOTE = (
    "Percent; below each value its 95% interval and n: text turns, tool turns, all turns, or conversations with tool "
    "calls. In replay and workflow the model lives with what it did before."
)
_GAP_LEAD = (
    "The same model under each protocol, from the cheapest to the hardest. The upper rows ask about one decision on "
    "recorded history, the lower ones about whole conversations on the model's own history."
)
_CHAIN_NOTE = (
    "Expected: completion if every decision succeeded with the rates on recorded history and none had to do with any "
    "other, p_text^n_text × p_tool^n_tool, averaged over conversations. Measured above expected: errors are recovered "
    "from, or lie together in hard conversations. Below: errors breed errors."
)
_MEANING = {measure.name: measure.meaning for measure in FIGURES}


def headline(found: Sequence[Subject]) -> Section:
    """The table of models against protocols."""
    shown = [entry for entry in _HEADLINE if any(one.measured(entry[2]).n for one in found)]
    columns = (
        Column(title="model"),
        *(Column(title=title, group=group, number=True) for group, title, _ in shown),
    )
    rows = tuple(
        (head(one.label, _size(one)), *(figure_cell(one.measured(name)) for _, _, name in shown)) for one in found
    )
    absent = [group for group in dict.fromkeys(group for group, _, _ in _HEADLINE) if group not in _groups(shown)]
    notes = [
        _HEADLINE_NOTE,
    ]
    if absent:
        notes.append(f"Not measured in any of these runs: {', '.join(absent)}.")
    caption = f"Success in percent, by model and protocol. {judge_sentence(found)}"
    return Section(
        key="headline",
        title="Models by protocol",
        findings=tuple(_gap_sentence(one) for one in found if one.measured("turn.success").n),
        tables=(Table(caption=caption, columns=columns, rows=rows),),
        notes=tuple(notes),
    )


def gap(found: Sequence[Subject]) -> Section:
    """From good turns to finished workflows: the chart, and what independent errors would have led to."""
    steps = [(title, name) for title, name in _STEPS if any(one.measured(name).n for one in found)]
    marks = [mark(one.label, title, one.measured(name)) for title, name in steps for one in found]
    kept = tuple(item for item in marks if item is not None)
    chains = [(one, chain(one.store, seed=one.store.config.seed)) for one in found]
    links = [(one, link) for one, found_chain in chains for link in found_chain.links]
    tables = tuple(_chain_tables(chains)) if links else ()
    lead = (_GAP_LEAD,)
    chart = Chart(
        name="gap",
        kind="points",
        title="From good turns to finished workflows",
        alt=describe("Dots with 95% intervals, one row a protocol and one dot a model.", kept),
        value_title="success",
        at_title="protocol",
        marks=kept,
        at_order=tuple(title for title, _ in steps),
        series_order=tuple(one.label for one in found),
    )
    notes = () if not links else (_CHAIN_NOTE,)
    return Section(
        key="gap",
        title="The gap",
        lead=lead,
        findings=tuple(
            _link_sentence(one, _told(found_chain.links)) for one, found_chain in chains if found_chain.links
        ),
        charts=(chart,) if kept else (),
        tables=tables,
        notes=notes,
    )


def split(found: Sequence[Subject]) -> Section | str:
    """Text turns against tool turns; or why there is nothing to say."""
    marks = [mark(one.label, kind, one.measured(name)) for kind, name in _KINDS for one in found]
    kept = tuple(item for item in marks if item is not None)
    if not kept:
        return "Text against tool turns: no run holds verdicts of protocol turn."
    chart = Chart(
        name="split",
        kind="points",
        title="Good turns, text and tool apart",
        alt=describe("Dots with 95% intervals, text turns above tool turns, one dot a model.", kept),
        value_title="turns good",
        at_title="kind of turn",
        marks=kept,
        at_order=tuple(kind for kind, _ in _KINDS),
        series_order=tuple(one.label for one in found),
    )
    return Section(
        key="split",
        title="Text and tool turns",
        lead=(
            "A gain in talk can hide that calls are no better: the all-turn figure weighs both by how many there are.",
        ),
        findings=tuple(_split_sentence(one) for one in found),
        charts=(chart,),
        tables=(_strict_table(found),) if any(one.measured("strict.exact").n for one in found) else (),
    )


def runs(found: Sequence[Subject]) -> Section:
    """What was run, how much of it could not be measured, and what each summary notes."""
    columns = (
        Column(title="model"),
        Column(title="data"),
        Column(title="conversations", number=True),
        Column(title="text turns", number=True),
        Column(title="tool turns", number=True),
        Column(title="errored", number=True),
        Column(title="judge"),
        Column(title="state"),
    )
    rows = []
    for one in found:
        n, config = one.summary.n, one.store.config
        judges = dict.fromkeys(judge for names in one.summary.judges.values() for judge in names)
        counted = Cell(text=str(n["conversations"]), note=f"{n['tool_conversations']} with calls", kind="number")
        rows.append(
            (
                head(one.label, f"run {one.store.directory.name}"),
                Cell(text=", ".join(Path(path).name or path for path in config.data.paths)),
                counted,
                number(n["text_decisions"]),
                number(n["tool_decisions"]),
                number(n["errored"]),
                Cell(text=", ".join(judges) or DASH),
                Cell(text=str(one.store.state())),
            )
        )
    notes = tuple(f"{one.label}: {note}" for one in found for note in one.summary.notes)
    tables = [Table(caption="The runs of this report.", columns=columns, rows=tuple(rows)), _ledger(found)]
    return Section(key="runs", title="What was run", tables=tuple(tables), notes=notes)


def describe(opening: str, marks: Sequence[Mark]) -> str:
    """A text alternative: the opening and the first values; the rest stands in the table below."""
    shown = [
        f"{item.series}, {item.at}: {percent(item.value)}%{' expected' if item.expected else ''}" for item in marks[:12]
    ]
    more = " All values stand in the table below." if len(marks) > 12 else ""
    return f"{opening} {'; '.join(shown)}.{more}"


def _groups(entries: Sequence[tuple[str, str, str]]) -> set[str]:
    return {group for group, _, _ in entries}


def _size(one: Subject) -> str:
    return f"{one.summary.n['conversations']} conversations, {one.summary.n['decisions']} decisions"


def _gap_sentence(one: Subject) -> str:
    turns, workflows = one.measured("turn.success"), one.measured("workflow.success")
    good = f"{one.label}: {percent(turns.value)}% of turns are good"
    if not workflows.n:
        return f"{good}; whole workflows were not judged."
    return f"{good}, {percent(workflows.value)}% of workflows are finished."


def _split_sentence(one: Subject) -> str:
    text, tool = (one.measured(name) for _, name in _KINDS)
    if text.value is None or tool.value is None:
        return f"{one.label}: only one kind of turn was judged."
    difference = 100 * (text.value - tool.value)
    size = decimals(abs(difference))
    if float(size) == 0:
        return f"{one.label}: text turns are good as often as tool turns."
    which = "more" if difference > 0 else "less"
    return f"{one.label}: text turns are good {size} points {which} often than tool turns."


def _told(links: Sequence[Link]) -> Link:
    """The link that a sentence is about: where there is one, that whose decisions have the tries of its workflows."""
    measured = [link for link in links if link.measured.n] or links
    return next((link for link in measured if link.name == "with_retries"), measured[0])


def _link_sentence(one: Subject, link: Link) -> str:
    if link.predicted.value is None or link.measured.value is None:
        return f"{one.label}: nothing to hold the expected completion against."
    ends = f" (95% interval {_signed(link)})" if link.gap.ci95 else ""
    return (
        f"{one.label}: independent errors, with {_tries(link)} at each decision, would leave "
        f"{percent(link.predicted.value)}% of workflows finished, measured are {percent(link.measured.value)}% "
        f"({link.measured_name}): {_points(link.gap.value)}{ends}."
    )


def _tries(link: Link) -> str:
    return "1 try" if link.attempts == 1 else f"{link.attempts} tries"


def _points(value: float | None) -> str:
    return f"{signed(None if value is None else 100 * value)} points"


def _signed(link: Link) -> str:
    return from_to(points(link.gap.ci95))


def _chain_tables(chains: Sequence[tuple[Subject, Chain]]) -> Iterator[Table]:
    rows = [_chain_row(one, link) for one, found in chains for link in found.links]
    titles = ("text turns", "tool turns", "expected", "measured", "difference")
    columns = (
        Column(title="model"),
        Column(title="a good decision"),
        *(Column(title=title, number=True) for title in titles),
    )
    yield Table(
        caption="Completion if errors were independent, beside what was measured (percent).",
        columns=columns,
        rows=tuple(rows),
    )
    targets = next((found.targets for _, found in chains if found.targets), ())
    if targets:
        yield Table(
            caption="What a wanted completion asks of every single decision, at this mix of conversation lengths.",
            columns=(
                Column(title="wanted completion"),
                Column(title="rate of each decision", number=True),
            ),
            rows=tuple(
                (
                    head(f"{100 * target.completion:g}%"),
                    Cell(text=f"{percent(target.rate)}%", note=between(target.ci95), kind="number"),
                )
                for target in targets
            ),
        )


def _chain_row(one: Subject, link: Link) -> tuple[Cell, ...]:
    return (
        head(one.label),
        Cell(text=link.meaning, note=f"against {link.measured_name}"),
        *(figure_cell(figure) for figure in (link.p_text, link.p_tool, link.predicted, link.measured)),
        Cell(text=_points(link.gap.value), note=_signed(link), kind="number"),
    )


def _strict_table(found: Sequence[Subject]) -> Table:
    names = ("strict.name", "strict.exact", "strict.arg_f1", "strict.spurious")
    return Table(
        caption="Tool calls, held against the recorded ones (percent).",
        columns=(Column(title="model"), *(Column(title=_MEANING[name], number=True) for name in names)),
        rows=tuple((head(one.label), *(figure_cell(one.measured(name)) for name in names)) for one in found),
    )


class _Book(msgspec.Struct, frozen=True):
    label: str
    units: str
    counts: tuple[int, ...]


def _ledger(found: Sequence[Subject]) -> Table:
    """Where every unit went; causes that never occur have no column."""
    books = [
        _Book(
            one.label,
            {"strict": "strict, tool", "strict.text": "strict, text"}.get(name, name),
            (book.units, book.success, *(book.causes[cause.value] for cause in RECORDED_CAUSES)),
        )
        for one in found
        for name, book in one.summary.ledger.items()
    ]
    titles = ("units", "success", *(cause.value for cause in RECORDED_CAUSES))
    used = [at for at in range(len(titles)) if at < 2 or any(book.counts[at] for book in books)]
    return Table(
        caption="Where the units went. Malformed, wrong and cut are the model's own; every other cause counts as "
        "errored and stands in no denominator.",
        columns=(
            Column(title="model"),
            Column(title="protocol"),
            *(Column(title=titles[at], number=True) for at in used),
        ),
        rows=tuple(
            (head(book.label), Cell(text=book.units), *(number(book.counts[at] or "0") for at in used))
            for book in books
        ),
    )
