"""The Markdown report: the same content, and nothing in it is markup."""

from __future__ import annotations

import re

from reports import HOSTILE, hostile_document

from turngap.report.document import Cell, Column, Document, Section, Table
from turngap.report.prose import render


def _document(*rows: tuple[Cell, ...]) -> Document:
    columns = (Column(title="model"), Column(title="turn", group="judged", number=True))
    section = Section(key="k", title="Title", tables=(Table(caption="Caption", columns=columns, rows=rows),))
    return Document(title="T", subtitle="S", sections=(section,), made_with="turngap 0")


def test_sec_07_outside_fences_there_is_no_markup() -> None:
    """SEC-07: no HTML, link or picture comes from data; transcripts stand in fences, word for word."""
    text = render(hostile_document())
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)
    outside = re.sub(r"^<details><summary>([^<]*)</summary>$|^</details>$", r"\1", outside, flags=re.MULTILINE)
    assert "<" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert all(line in text for line in HOSTILE)


def test_sec_09_tables_keep_columns_and_disarm() -> None:
    """SEC-09: a cell that is a formula is disarmed, pipes and line ends do not break the row, numbers stay numbers."""
    name = Cell(text='=HYPERLINK("http://example.org") | x\ny', kind="head")
    lines = render(_document((name, Cell(text="−5.0", note="1–2\nn 3", kind="number")))).splitlines()
    row = lines[lines.index("| --- | ---: |") + 1]
    assert row.startswith("| '=HYPERLINK")
    assert row.endswith("| −5.0 (1–2, n 3) |")
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_groups_of_columns_are_named() -> None:
    """A heading above several columns stands in each of them."""
    assert "| model | judged: turn |" in render(_document())


def test_pictures_are_shown_where_they_are() -> None:
    """A chart whose picture was written is shown, by a path that Markdown can hold; its table stays."""
    text = render(hostile_document(), {"points": "my charts/(gap).png"})
    assert text.count("](my%20charts/%28gap%29.png)") == 1
    assert "**Data: " in text
