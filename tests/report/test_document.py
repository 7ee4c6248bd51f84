"""Numbers as a report writes them, and the table below a chart."""

from __future__ import annotations

from typing import Any

import pytest

from turngap.data import Figure
from turngap.report.document import (
    Chart,
    Mark,
    Table,
    between,
    chart_table,
    figure_cell,
    from_to,
    mark,
    percent,
    signed,
)


def test_sta_07_no_units_is_a_dash() -> None:
    """STA-07: a figure without units is a dash with n 0, and no point of a chart."""
    empty = Figure(value=None, n=0)
    assert (percent(None), between(None), signed(None)) == ("–", "", "–")
    assert figure_cell(empty).text == "–"
    assert figure_cell(empty).note == "n 0"
    assert mark("a", 1, empty) is None


@pytest.mark.parametrize(("value", "shown"), [(1.26, "+1.3"), (-1.26, "−1.3"), (-0.04, "0.0"), (0.0, "0.0")])
def test_signs_are_real_and_zero_has_none(value: float, shown: str) -> None:
    """A minus is a minus, and what is shown as zero has no sign."""
    assert signed(value) == shown


def test_intervals_are_written_out() -> None:
    """Shares with a dash between, differences with signs and "to"."""
    assert between((0.31, 0.352)) == "31.0–35.2"
    assert from_to((-1.2, 3.4)) == "−1.2 to +3.4"


def _chart(*marks: Mark, **changes: Any) -> Chart:
    fields: dict[str, Any] = {
        "name": "c",
        "kind": "lines",
        "title": "Curve",
        "alt": "",
        "value_title": "share",
        "at_title": "decisions",
        "marks": marks,
        "series_order": ("a",),
    }
    return Chart(**{**fields, **changes})


def test_the_table_has_every_value_of_the_chart() -> None:
    """A row a mark; measured and expected apart; interval and n only where any mark has them."""
    table = chart_table(
        _chart(
            Mark(series="a", at=1, value=0.5, low=0.25, high=0.75, n=4),
            Mark(series="a", at=1, value=0.4, expected=True),
        )
    )
    assert [column.title for column in table.columns] == ["decisions", "series", "kind", "share", "95% interval", "n"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "a", "measured", "50.0", "25.0–75.0", "4"],
        ["1", "a", "expected", "40.0", "–", "–"],
    ]
    plain = chart_table(_chart(Mark(series="a", at="x", value=0.5)))
    assert [column.title for column in plain.columns] == ["decisions", "series", "share"]


def test_a_chart_may_bring_its_own_table() -> None:
    """Where the table says more than the chart, it is the one that is shown."""
    own = Table(caption="own", columns=(), rows=())
    assert chart_table(_chart(data=own)) is own
