"""Why replays failed, for the terminal."""

from __future__ import annotations

import pytest

from turngap.analysis.taxonomy import Row, Taxonomy
from turngap.data import Figure
from turngap.report.table import console
from turngap.report.taxonomy_table import taxonomy_table

_TOOLS = ("get_reservation_details", "transfer_to_human_agents", "update_reservation_baggages_of_passengers")


def test_names_are_not_cut_in_the_middle_of_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    """At 80 columns long names of tools and judges break behind their separators, and every part is there whole."""
    share = Figure(value=0.5, n=20, ci95=(0.3, 0.7))
    counts = dict.fromkeys(_TOOLS, 10)
    rows = tuple(Row(name=name, count=10, share=share, tools={"wrong_arguments": 10}) for name in _TOOLS)
    found = Taxonomy(
        replays=40,
        completed=20,
        failed=20,
        errored=0,
        categories=(Row(name="wrong_arguments", count=20, share=share, tools=counts),),
        findings=(),
        tools=rows,
        without_finding=0,
        labels=(Row(name="asked_instead", count=20, share=share, tools=counts),),
        labelled_by="openai/some-vendor/a-judge-with-a-long-name",
        label_errors=0,
        cases=(),
    )
    console().print(taxonomy_table(found, title="why"))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)
    shown = "\n".join(lines)
    for name in (
        "get_reservation_details",
        "transfer_to_human_agents",
        "update_reservation_",
        "baggages_of_passengers",
    ):
        assert name in shown
    assert "a-judge-with-a-long-" in shown
