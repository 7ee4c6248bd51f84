"""Table for the terminal: a judge beside people, and its figures corrected. Nothing is computed here."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.calibration import Calibration
from turngap.data import Figure
from turngap.metrics.misjudged import Assessment, Estimate
from turngap.report.table import interval, percent

_ROWS = (
    ("approved by the judge", "apparent"),
    ("corrected: good by people", "corrected"),
    ("bias (judge less people)", "bias"),
    ("sensitivity: good ones approved", "sensitivity"),
    ("specificity: bad ones rejected", "specificity"),
    ("agreement", "agreement"),
)


def calibration_table(found: Calibration, *, title: str) -> RenderableType:
    """One judge of one run."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("figure")
    for name in ("%", "95% interval", "labels", "units"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, figure in found.figures.items():
        if not figure.units:
            continue
        table.add_row(Text(name, style="bold"), "", "", str(figure.labelled), str(figure.units))
        if figure.assessment is None:
            table.add_row("  cannot be corrected", "-", "-", "", "")
            continue
        for meaning, field in _ROWS:
            estimate = getattr(figure.assessment, field)
            table.add_row(f"  {meaning}", *_percent(estimate), "", "")
        table.add_row("  kappa", *_plain(figure.assessment), "", "")
        for run, moved in figure.elsewhere.items():
            table.add_row(Text(f"  {run}: approved"), *_percent(moved.apparent), "", "")
            table.add_row(Text(f"  {run}: corrected"), *_percent(moved.corrected), "", "")
    return Group(Text(title, style="bold"), Text(_sizes(found)), Text(), table, Text(), *_notes(found))


def _sizes(found: Calibration) -> str:
    counts = found.table
    return (
        f"{found.labels} labels, {found.unclear} of them unclear; judge approved: {counts['approved_good']} good, "
        f"{counts['approved_bad']} bad; judge rejected: {counts['rejected_good']} good, {counts['rejected_bad']} bad"
    )


def _percent(estimate: Estimate) -> tuple[str, str]:
    if estimate.value is None:
        return "-", "-"
    figure = Figure(value=estimate.value, n=1, ci95=estimate.ci95)
    return percent(figure), interval(figure)


def _plain(assessment: Assessment) -> tuple[str, str]:
    kappa = assessment.kappa
    if kappa.value is None or kappa.ci95 is None:
        return "-", "-"
    return f"{kappa.value:.2f}", f"{kappa.ci95[0]:.2f} - {kappa.ci95[1]:.2f}"


def _notes(found: Calibration) -> list[Text]:
    kappa, ends = found.sample.kappa, found.sample.ci95
    notes = ["all rows are about all units of the run, not only the labelled ones; labels are taken to be right."]
    if kappa is not None and ends is not None:
        notes.append(
            f"in the labelled sample itself: kappa {kappa:.2f} ({ends[0]:.2f} - {ends[1]:.2f}), n {found.sample.n}."
        )
    if found.asked_again.n:
        notes.append(
            f"the judge approved {percent(found.first_try)}% of {found.first_try.n} verdicts read at once, and "
            f"{percent(found.asked_again)}% of {found.asked_again.n} for which it was asked again."
        )
    return [Text(f"- {note}") for note in (*notes, *found.notes)]
