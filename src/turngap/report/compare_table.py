"""A comparison for the terminal: one block for each run against the baseline, then orders, agreement and flips.

Figures are percentages, differences are points. Everything fits 80 columns, needs no colour and is the same when piped.
Nothing is computed here: a table shows a `Comparison`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.analysis.compare import Comparison, Contrast, PairedFigure
from turngap.analysis.ranks import Flip, Hidden, Order, Ranks
from turngap.metrics.rounding import decimals, signed
from turngap.report.harmless import one_line
from turngap.report.table import folded, percent

_NAME = 18  # columns of the name of a figure
_FLIPS = 3  # flips that are shown; all of them are in --json
_CONVERSATIONS = 3  # conversations that are named for a flip
_MAIN = ("turn.success", "turn.success.tool", "strict.exact", "turn.success.text", "text.rouge1", "strict.arg_f1")
"""Next-turn figures by which flips and hidden failures are shown: the first that was compared."""

_EVERY = {
    "turn.success.text": "every text turn good",
    "turn.success.tool": "every tool turn good",
    "strict.exact": "every call exact",
}
"""What holds of a whole conversation in which each unit of the figure is a success; `turn.success` if not here."""


def comparison_report(comparison: Comparison) -> RenderableType:
    """All of a comparison."""
    letters = {run.label: _letter(at) for at, run in enumerate(comparison.runs)}
    parts: list[RenderableType] = [_runs(comparison, letters)]
    parts += [Text(f"NOT COMPARABLE, forced: {_short(line, letters)}", style="bold") for line in comparison.forced]
    parts += [Text(f"note: {_short(line, letters)}") for line in comparison.notes]
    for contrast in comparison.contrasts:
        parts += [Text(), *_contrast(contrast, letters, comparison.see)]
    parts += [Text(), _legend(comparison)]
    if any(one.left_out for one in comparison.coverage):
        parts += [Text(), Text("over everything that each run has measured: % (n)", style="italic")]
        parts += [_full(comparison, letters)]
    if len(comparison.runs) > 2 or comparison.ranks.flips or any(one.failed for one in comparison.ranks.hidden):
        parts += [Text(), *_ranks(comparison.ranks, letters)]
    return Group(*parts)


def _letter(at: int) -> str:
    return chr(ord("A") + at) if at < 26 else f"R{at + 1}"


def _short(line: str, letters: dict[str, str]) -> str:
    """A sentence with letters in the place of names of runs, the longest first: one name may begin another."""
    for label in sorted(letters, key=len, reverse=True):
        line = line.replace(label, letters[label])
    return one_line(line)


def _runs(comparison: Comparison, letters: dict[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for at, run in enumerate(comparison.runs):
        baseline = " (baseline)" if at == 0 else ""
        table.add_row(
            letters[run.label], escape(one_line(run.label)) + baseline, f"{run.conversations} {comparison.unit}s"
        )
    return table


def _contrast(contrast: Contrast, letters: dict[str, str], see: float) -> list[RenderableType]:
    first, second = letters[contrast.first], letters[contrast.second]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    # Fixed widths, 79 with the gaps: no figure may push another off a terminal of 80 columns.
    table.add_column(f"{second} against {first}", no_wrap=True, width=_NAME, overflow="fold")
    for heading, width in (
        ("n", 5),
        (first, 5),
        (second, 5),
        ("diff", 6),
        ("95% interval", 15),
        ("p", 5),
        ("Holm", 5),
        (f"see {100 * see:g}", 7),
    ):
        table.add_column(heading, justify="right", no_wrap=True, width=width)
    for figure in contrast.figures:
        table.add_row(*(escape(cell) for cell in _row(figure)))
    return [table, Text(contrast.verdict, style="bold"), *_discordances(contrast)]


def _row(figure: PairedFigure) -> tuple[str, ...]:
    difference = figure.difference
    name = figure.name.replace(".success", "").replace(".completed", "") if len(figure.name) > 17 else figure.name
    return (
        "\n".join(folded(name, _NAME)),
        str(difference.n),
        percent(figure.first),
        percent(figure.second),
        points(difference.value),
        "-" if difference.ci95 is None else f"{points(difference.ci95[0])} {points(difference.ci95[1])}",
        probability(figure.p),
        probability(figure.p_holm),
        "-" if figure.needed_for is None else str(figure.needed_for),
    )


def points(value: float | None) -> str:
    """A difference as points with a sign; nothing is plus or minus 0.0; a dash where there is none."""
    return "-" if value is None else signed(100 * value)


def probability(value: float | None) -> str:
    """A p-value with three digits."""
    if value is None:
        return "-"
    return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1"


def _discordances(contrast: Contrast) -> Iterator[Text]:
    for figure in contrast.figures:
        found = figure.discordance
        if found is not None and found.gained + found.lost and figure.difference.n == figure.difference.clusters:
            yield Text(
                f"{figure.name}: {found.gained} gained, {found.lost} lost; McNemar's exact p = {found.p:.3f}"
                if found.p >= 0.0005
                else f"{figure.name}: {found.gained} gained, {found.lost} lost; McNemar's exact p < .001"
            )


def _legend(comparison: Comparison) -> Table:
    judges = sorted({figure.judge for one in comparison.contrasts for figure in one.figures if figure.judge})
    return _lines(
        (
            f"over units that all runs have measured, in {comparison.shared} shared {comparison.unit}s.",
            f"p swaps whole {comparison.unit}s (McNemar's exact where each has one unit); Holm: corrected for all.",
            f"see {100 * comparison.see:g}: {comparison.unit}s it takes to see so many points, in 80 of 100 studies.",
            f"judged by: {', '.join(judges)}." if judges else "nothing here was judged.",
        )
    )


def _full(comparison: Comparison, letters: dict[str, str]) -> Table:
    """Full-set figures beside those of the shared units."""
    table = _plain(1 + len(comparison.runs))
    table.show_header = True
    for column, heading in zip(table.columns, ("", *letters.values()), strict=True):
        column.header = heading
    rows: dict[str, list[str]] = {}
    for one in comparison.coverage:
        rows.setdefault(one.figure, []).append(f"{percent(one.full)} ({one.full.n})")
    for name, cells in rows.items():
        table.add_row(f"  {name}", *cells)
    return table


def _ranks(ranks: Ranks, letters: dict[str, str]) -> list[RenderableType]:
    parts: list[RenderableType] = [Text("order of models, best first", style="italic"), _orders(ranks.orders, letters)]
    names = [order.metric for order in ranks.orders]
    main = next((name for name in _MAIN if name in names), None)
    if ranks.taus and main is not None:
        shown = [tau for tau in ranks.taus if main in (tau.first, tau.second)]
        parts += [
            Text(),
            Text(f"Kendall's tau-b with {main}: how far a figure orders the models alike", style="italic"),
        ]
        table = _plain(3)
        for tau in shown:
            other = tau.second if tau.first == main else tau.first
            value = "-" if tau.tau is None else f"{tau.tau:+.2f}"
            interval = "" if tau.ci95 is None else f"95% {tau.ci95[0]:+.2f} to {tau.ci95[1]:+.2f}"
            table.add_row(f"  {other}", value, interval)
        parts.append(table)
    flips = [flip for flip in ranks.flips if flip.cheap == main]
    hidden = [one for one in ranks.hidden if one.cheap == main and one.failed]
    if flips or hidden:
        parts += [Text(), Text(f"what {main} hides", style="italic")]
        sentences = [_flip(flip, letters) for flip in flips[:_FLIPS]]
        if len(flips) > _FLIPS:
            sentences.append(f"and {len(flips) - _FLIPS} more leads that do not carry over (--json)")
        parts.append(_lines((*sentences, *(_hidden(one, letters) for one in hidden))))
    return parts


def _orders(orders: Sequence[Order], letters: dict[str, str]) -> Table:
    table = _plain(2)
    for order in orders:
        line = ""
        for at, (model, place, value) in enumerate(zip(order.models, order.places, order.values, strict=True)):
            sign = "" if at == 0 else " = " if place == order.places[at - 1] else " > "
            line += f"{sign}{letters[model]} {percent(value)}"
        table.add_row(f"  {order.metric}", line)
    return table


def _flip(flip: Flip, letters: dict[str, str]) -> str:
    leader, other = letters[flip.leader], letters[flip.other]
    ends = (
        f"{other} leads by {decimals(-100 * flip.outcome_lead)}"
        if flip.outcome_lead < 0
        else f"{leader} and {other} are equal"
    )
    text = (
        f"{leader} leads {other} by {decimals(100 * flip.lead)} points; under {flip.outcome} {ends} "
        f"(so in {decimals(100 * flip.certainty, 0)}% of draws)"
    )
    if flip.conversations:
        text += f": see {_named([cause.conversation for cause in flip.conversations])}, where only {other} succeeds"
    return text


def _hidden(one: Hidden, letters: dict[str, str]) -> str:
    every = _EVERY.get(one.cheap, "every turn good")
    return (
        f"{letters[one.model]}: of {one.n} conversations with {every}, {len(one.failed)} failed "
        f"under {one.outcome}: {_named(one.failed)}"
    )


def _named(conversations: Sequence[str]) -> str:
    more = f" and {len(conversations) - _CONVERSATIONS} more" if len(conversations) > _CONVERSATIONS else ""
    return one_line(", ".join(conversations[:_CONVERSATIONS])) + more


def _plain(columns: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(columns):
        table.add_column(overflow="fold")
    return table


def _lines(sentences: Iterable[str]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for sentence in sentences:
        grid.add_row("-", Text(sentence))
    return grid
