"""The comparison on a terminal: it fits, says what was forced, and escapes what comes from data."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import scored
from rich.console import Console, RenderableType

from turngap.analysis.compare import Comparison, compare
from turngap.config import MatchConfig
from turngap.report.compare_table import comparison_report, points, probability


def text(renderable: RenderableType, width: int = 80) -> str:
    """What a terminal shows, without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False, highlight=False).print(renderable)
    return stream.getvalue()


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """Three runs, one of them smaller and made with another matcher, with a name that looks like markup."""
    names = [f"c{at:02}" for at in range(40)]
    stores = []
    for at, label in enumerate(("base", "[red]sft[/red]", "small")):
        held = names[: 40 - 5 * (at == 2)]
        turns = [
            scored.turn(name, place, kind, (number + 7 * place) % 10 < 4 + 3 * at)
            for number, name in enumerate(held)
            for place, kind in enumerate(("tool", "text"))
        ]
        scores = {
            "turn:rules": turns,
            "replay": [scored.replayed(name, number % 9 < 8 - 4 * at) for number, name in enumerate(held)],
        }
        settings = scored.config(f"openai/{label}", match=MatchConfig(coerce=at == 0))
        stores.append(scored.run(tmp_path / str(at), [scored.conversation(name) for name in held], scores, settings))
    return compare(stores, force=True)


def test_it_fits_80_columns_and_hides_nothing(three: Comparison) -> None:
    """No line is longer than 80 columns and nothing is cut; every figure, n and verdict is there."""
    shown = text(comparison_report(three))
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "…" not in shown
    for contrast in three.contrasts:
        assert contrast.verdict in " ".join(shown.split())
        for figure in contrast.figures:
            row = next(line for line in shown.splitlines() if line.startswith(f"{figure.name} "))
            assert f" {figure.difference.n} " in row
    assert "[red]sft[/red]" in shown
    assert "rules" in shown


def test_forced_differences_and_coverage_are_said(three: Comparison) -> None:
    """What --force passed over stands at the top; so do missing conversations, with letters for the runs."""
    shown = " ".join(text(comparison_report(three)).split())
    assert "NOT COMPARABLE, forced: A against B: match.coerce is True, there False" in shown
    assert "C lacks 5 conversations: c35, c36, c37, c38, c39" in shown
    assert "over everything that each run has measured" in shown


def test_orders_taus_and_flips_are_shown(three: Comparison) -> None:
    """The order under each figure, agreement between them, and leads that do not carry over."""
    shown = text(comparison_report(three))
    assert "order of models, best first" in shown
    assert "Kendall's tau-b with turn.success" in shown
    assert "what turn.success hides" in shown
    assert "C leads A by" in shown


def test_numbers_as_they_are_written() -> None:
    """Differences have a sign, none is plus or minus 0.0, small p-values are bounds, absent values dashes."""
    assert [points(value) for value in (0.252, -0.0001, 0.0, -1.0, None)] == ["+25.2", "+0.0", "+0.0", "-100.0", "-"]
    assert [probability(value) for value in (0.0214, 0.0001, 1.0, 0.99999, None)] == [".021", "<.001", "1", "1", "-"]


def test_what_a_figure_hides_is_said_in_its_own_words(tmp_path: Path) -> None:
    """Of exact calls alone it is said that every call was exact, and nothing of turns."""
    names = [f"c{at:02}" for at in range(10)]
    stores = []
    for label, good in (("a", 4), ("b", 6)):
        scores = {
            "strict": [scored.exact(name, 0, True) for name in names],
            "replay": [scored.replayed(name, at < good) for at, name in enumerate(names)],
        }
        stores.append(scored.run(tmp_path / label, [scored.conversation(name) for name in names], scores))
    shown = " ".join(text(comparison_report(compare(stores))).split())
    assert "B: of 10 conversations with every call exact, 4 failed under replay.completed: c06, c07, c08" in shown
    assert "every turn good" not in shown
