"""The tables of the terminal: what they name, that they fit, that nothing is hidden."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, RenderableType

from turngap.analysis.figure import FIGURES, PER_CONVERSATION
from turngap.analysis.summary import Ledger, Summary
from turngap.data import Cause, Figure
from turngap.report.table import comparison_table, console, folded, interval, percent, summary_table


def _summary(**changes: Any) -> Summary:
    causes = {cause.value: at for at, cause in enumerate(Cause)}
    fields: dict[str, Any] = {
        "model": "openai/some-model",
        "protocols": ("text", "turn", "strict", "replay", "workflow"),
        "judges": {"turn": ("rules",), "workflow": ("rules",)},
        "n": {
            "conversations": 84000,
            "tool_conversations": 77000,
            "decisions": 542000,
            "text_decisions": 376000,
            "tool_decisions": 166000,
            "errored": 1,
        },
        "metrics": {
            measure.name: Figure(value=at / 100, n=10000 + at, ci95=(at / 200, 1.0))
            for at, measure in enumerate(FIGURES)
        },
        "per_conversation": {measure.name: Figure(value=1.5, n=84, ci95=(1.0, 2.0)) for measure in PER_CONVERSATION},
        "ledger": {
            name: Ledger(units=100021, success=100000, causes=causes)
            for name in ("text", "turn", "strict", "strict.text", "replay", "workflow")
        },
        "missing": {},
        "tokenizers": {"default": 3},
        "agreement": {},
        "asked_again": {},
        "notes": ("text turns scored: 3 by the default tokenizer",),
    }
    return Summary(**{**fields, **changes})


def _text(renderable: RenderableType, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False).print(renderable)
    return stream.getvalue()


def _line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(start))


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_hides_nothing(width: int) -> None:
    """At 80 and at 120 columns every line fits, no number is cut, no escape code is written."""
    text = _text(summary_table(_summary(), title="openai/some-model on logs.jsonl"), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    assert "\x1b" not in text
    assert _line(text, "replay.completed.all").split()[-4:] == ["6.0", "-", "100.0", "10012"]


def test_next_turn_strict_and_workflow_stand_apart() -> None:
    """Three sections in the order of the story, and the ledger below."""
    text = _text(summary_table(_summary(), title="t"), 80)
    places = [
        text.index(part)
        for part in (
            "next turn",
            "text.rouge1",
            "turn.success.text",
            "turn.success.tool",
            "turn.success  ",
            "tool calls",
            "strict.name",
            "strict.exact",
            "strict.arg_f1",
            "strict.spurious",
            "whole workflows",
            "replay.completed",
            "workflow.success",
            "ledger",
        )
    ]
    assert places == sorted(places)


def test_every_judged_row_names_its_judge() -> None:
    """Turn and workflow rows say who judged; of two judges each has rows and a ledger under its name."""
    metrics = dict(_summary().metrics)
    for name in ("turn.success", "turn.success.text", "turn.success.tool"):
        metrics[f"{name}@big-model"] = Figure(value=0.5, n=9, ci95=(0.4, 0.6))
    judges = {"turn": ("rules", "big-model"), "workflow": ("rules",)}
    ledger = {**_summary().ledger, "turn@big-model": _summary().ledger["turn"]}
    text = _text(summary_table(_summary(judges=judges, metrics=metrics, ledger=ledger), title="t"), 80)
    names = [line.split()[0] for line in text.splitlines() if line.strip().startswith(("turn", "workflow.success"))]
    assert names == [
        *(f"turn.success{part}@{judge}" for part in (".text", ".tool", "") for judge in ("rules", "big-model")),
        "workflow.success",
        "workflow.success.all",
        "turn@rules",
        "turn@big-model",
    ]
    assert text.count("judge: rules") == 2
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_narrow_terminal_gets_every_number() -> None:
    """At 60 columns the words go, names and numbers stay whole, and the judge is named below."""
    ledger = {"turn": Ledger(units=3, success=1, causes={cause.value: 2 * (cause is Cause.WRONG) for cause in Cause})}
    text = _text(summary_table(_summary(ledger=ledger), title="t"), 60)
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "…" not in text
    assert _line(text, "replay.completed.all").split() == ["replay.completed.all", "12.0", "6.0", "-", "100.0", "10012"]
    assert "all turns good" not in text
    assert _line(text, "turn  ").split() == ["turn", "3", "1", "2"]
    assert "judged by: turn rules, workflow rules" in text


def test_no_line_that_is_printed_ends_in_white_space(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, notes and plain text alike."""
    out = console()
    out.print(summary_table(_summary(), title="t"))
    out.print(comparison_table([("one", _summary()), ("two", _summary())]))
    out.print("a text with [brackets] that is so long that it has to be wrapped somewhere " * 2, markup=False)
    shown = capsys.readouterr().out
    assert "with [brackets] that" in shown
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("baseline/noisy?p_text=0.9&p_tool=0.9", ["baseline/noisy?", "p_text=0.9&", "p_tool=0.9"]),
        ("openai/some-long-model-name-v2", ["openai/some-long-", "model-name-v2"]),
        ("short", ["short"]),
        ("x" * 25, ["x" * 20, "x" * 5]),
        ("", [""]),
    ],
)
def test_names_break_behind_their_separators(name: str, lines: list[str]) -> None:
    """A part of a name is cut only where it alone is too long; nothing of it is lost."""
    assert folded(name, 20) == lines


def test_protocols_that_were_not_scored_have_no_rows() -> None:
    """A run of text and strict shows neither turn nor workflow figures."""
    text = _text(summary_table(_summary(protocols=("text", "strict"), judges={}, ledger={}), title="t"), 80)
    assert "strict.exact" in text
    assert "turn.success" not in text
    assert "whole workflows" not in text


def test_sta_07_a_figure_without_units_is_a_dash() -> None:
    """STA-07: null is shown as a dash, with n 0."""
    empty = Figure(value=None, n=0)
    assert (percent(empty), interval(empty)) == ("-", "-")
    metrics = {**_summary().metrics, "strict.exact": empty}
    text = _text(summary_table(_summary(metrics=metrics), title="t"), 80)
    assert _line(text, "strict.exact").split()[-3:] == ["-", "-", "0"]


def test_markup_in_names_is_text() -> None:
    """VIEW-01: a model or judge called [bold] is shown as it is called."""
    judges = {"turn": ("[bold]",), "workflow": ("[bold]",)}
    text = _text(summary_table(_summary(judges=judges), title="[red]x[/red]"), 120)
    assert "[red]x[/red]" in text
    assert "judge: [bold]" in text


def test_several_models_stand_below_each_other() -> None:
    """One row a model, one column a protocol, each with value, interval and n; the judge is named."""
    other = _summary(metrics={measure.name: Figure(value=None, n=0) for measure in FIGURES})
    text = _text(comparison_table([("baseline/noisy?p_text=0.9&p_tool=0.9", _summary()), ("second", other)]), 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    labels = [line.split()[0] for line in text.splitlines()[3:6]]
    assert labels == ["baseline/noisy?", "p_text=0.9&", "p_tool=0.9"]
    assert _line(text, "second").split() == ["second", "%", *["-"] * 6]
    assert "judged by: rules" in text
