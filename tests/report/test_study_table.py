"""A study in a terminal, as Markdown and as a chart: what was found is there, and nothing is made up."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from turngap.data import Figure
from turngap.metrics.paired import Difference
from turngap.protocols.recovering import Recovered
from turngap.report.study_chart import study_chart
from turngap.report.study_table import study_figures, study_page, study_table
from turngap.study.findings import Column, Contrasted, Findings
from turngap.study.laboratory import Results, Trained
from turngap.study.plan import Study, Tasks
from turngap.training.fitting import Outcome
from turngap.training.recipe import RECIPES


def _figure(value: float, low: float, high: float, n: int) -> Figure:
    return Figure(value=value, n=n, ci95=(low, high))


def _trained(name: str, recovered: Recovered | None = None) -> Trained:
    outcome = Outcome(
        base="local/pebble",
        recipe=RECIPES["laptop"],
        manner={},
        examples="0" * 32,
        counts={"sequences": 75, "decisions": 598, "tokens": 130621, "learnt_tokens": 19847, "refused": 0},
        parameters=1000,
        steps=19,
        loss=0.07,
        validation=0.123,
        tokens=130621,
        seconds=600.0,
    )
    return Trained(name=name, folder=Path("m"), examples=Path("e"), outcome=outcome, recovered=recovered)


@pytest.fixture
def found() -> Findings:
    """A study of a base, its training and one round, in which the round was not measured under every protocol."""
    strict, workflow = "strict.exact", "workflow.success"
    return Findings(
        study=Study(
            name="pond", base="local/pebble", train=Tasks(domain="a", each=1), evaluate=Tasks(domain="b", each=1)
        ),
        columns=(
            Column(name="before", spec="local/pebble", figures={strict: _figure(0.057, 0.016, 0.186, 35)}),
            Column(
                name="after",
                spec="local/m",
                figures={strict: _figure(0.825, 0.782, 0.861, 349), workflow: _figure(0.173, 0.104, 0.274, 75)},
            ),
            Column(name="recovery 1", spec="local/r", figures={workflow: _figure(0.4, 0.3, 0.5, 75)}),
        ),
        contrasts=(
            Contrasted(
                first="after",
                second="recovery 1",
                differences={workflow: Difference(value=0.227, n=75, clusters=75, ci95=(0.1, 0.35))},
                verdicts=("workflow +22.7: clear",),
            ),
        ),
        results=Results(
            trained=(_trained("after"), _trained("recovery 1", Recovered(trials=48, differed=39, recovered=30))),
            measured=(),
        ),
    )


def _shown(found: Findings) -> str:
    out = Console(file=io.StringIO(), width=140)
    out.print(study_table(found))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def _lines(found: Findings, width: int) -> list[str]:
    out = Console(file=io.StringIO(), width=width)
    out.print(study_table(found))
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_every_model_has_a_column_and_what_was_not_measured_a_dash(found: Findings) -> None:
    """Figures stand with interval and n, differences in points with their sign, verdicts with the models they are of."""
    text = _shown(found)
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert "5.7 [1.6 - 18.6] n 35" in lines["strict.exact"]
    assert lines["strict.exact"].rstrip().endswith("-")
    assert "+22.7 [+10.0, +35.0] n 75" in text
    assert "after -> recovery 1: workflow +22.7: clear" in text
    assert "in 39 of 48 trials a decision of the model was corrected, and 30 of these were brought to success" in text


def test_four_models_find_room_in_eighty_columns(found: Findings) -> None:
    """Value above, interval and n below, every heading and number whole; more models come in blocks below each other."""
    (before, after, _), (contrast,) = found.columns, found.contrasts
    columns = (before, *(msgspec.structs.replace(after, name=name) for name in ("after", "recovery 1", "recovery 2")))
    contrasts = tuple(msgspec.structs.replace(contrast, second=f"recovery {number}") for number in (1, 2, 3))
    four = _lines(msgspec.structs.replace(found, columns=columns, contrasts=contrasts), 80)
    assert max(map(len, four)) <= 80
    at = four.index(next(line for line in four if line.startswith("strict.exact")))
    assert four[at].split() == ["strict.exact", "5.7", "82.5", "82.5", "82.5"]
    assert four[at + 1].split("  ")[-4:] == ["2-19 n 35", "78-86 n 349", "78-86 n 349", "78-86 n 349"]
    assert next(line for line in four if line.startswith("%")).endswith("  recovery 2")
    assert "+10, +35 n 75  " in "\n".join(four)
    many = tuple(msgspec.structs.replace(after, name=f"recovery {number}") for number in range(9))
    nine = _lines(msgspec.structs.replace(found, columns=many, contrasts=()), 80)
    assert max(map(len, nine)) <= 80
    assert sum(line.count("82.5") for line in nine) == len(many)
    assert sum(line.startswith("%") for line in nine) > 1


def test_the_page_holds_the_same_and_names_its_picture(found: Findings) -> None:
    """Markdown has the figures, the facts and the models; the picture is linked only where there is one."""
    page = study_page(found, "pond.png")
    assert study_figures(found) in page
    assert "![From good turns to finished workflows](<pond.png>)" in page
    assert "![" not in study_page(found)
    assert "- recovery 1: local/r" in page
    assert "| workflow.success | +22.7 [+10.0, +35.0] n 75 |" in page
    assert "| strict.exact | 5.7 [1.6 - 18.6] n 35 | 82.5 [78.2 - 86.1] n 349 | - |" in page


def test_the_chart_shows_what_was_measured(found: Findings) -> None:
    """One row a figure that any model has, one dot a model that has it, with its interval."""
    chart = study_chart(found)
    assert chart.at_order == ("calls exact", "workflow finished")
    assert [(one.series, one.at, one.value) for one in chart.marks] == [
        ("before", "calls exact", 0.057),
        ("after", "calls exact", 0.825),
        ("after", "workflow finished", 0.173),
        ("recovery 1", "workflow finished", 0.4),
    ]
