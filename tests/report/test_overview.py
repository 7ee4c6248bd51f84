"""Sentences of the first sections of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
import scored

from turngap.report import overview
from turngap.report.document import Section
from turngap.report.subject import subjects


@pytest.mark.parametrize(
    ("texts", "tools", "said"),
    [
        (5, 5, "good as often as tool turns."),
        (6, 5, "good 10.0 points more often than tool turns."),
        (5, 6, "good 10.0 points less often than tool turns."),
    ],
)
def test_equal_rates_are_called_equal(tmp_path: Path, texts: int, tools: int, said: str) -> None:
    """No difference is said as such, not as 0.0 points more."""
    names = [f"c{at}" for at in range(10)]
    verdicts = [scored.turn(name, 0, "tool", at < tools) for at, name in enumerate(names)]
    verdicts += [scored.turn(name, 1, "text", at < texts) for at, name in enumerate(names)]
    store = scored.run(tmp_path / "run", [scored.conversation(name, "ct") for name in names], {"turn:rules": verdicts})
    section = overview.split(subjects([store]))
    assert isinstance(section, Section)
    assert section.findings[0].endswith(said)


def test_the_gap_names_the_tries_of_its_workflows(tmp_path: Path) -> None:
    """Half the calls right at one try are 1 - 0.5^3 = 87.5% in three, which is what 60% of replays are held against."""
    names = [f"c{at}" for at in range(10)]
    scores = {
        "turn:rules": [scored.turn(name, 0, "tool", at < 2) for at, name in enumerate(names)],
        "strict": [scored.exact(name, 0, at < 5) for at, name in enumerate(names)],
        "replay": [scored.replayed(name, at < 6) for at, name in enumerate(names)],
        "workflow:rules": [scored.finished(name, at < 6) for at, name in enumerate(names)],
    }
    store = scored.run(tmp_path / "run", [scored.conversation(name, "c") for name in names], scores)
    [said] = overview.gap(subjects([store])).findings
    assert (
        "independent errors, with 3 tries at each decision, would leave 87.5% of workflows finished, measured are 60.0% "
        "(replay.completed)"
    ) in said


def test_judged_turns_alone_are_said_to_have_one_try(tmp_path: Path) -> None:
    """Without strict scores the sentence is about judged turns, and says how many tries they had."""
    names = [f"c{at}" for at in range(10)]
    scores = {
        "turn:rules": [scored.turn(name, 0, "tool", at < 2) for at, name in enumerate(names)],
        "workflow:rules": [scored.finished(name, at < 6) for at, name in enumerate(names)],
    }
    store = scored.run(tmp_path / "run", [scored.conversation(name, "c") for name in names], scores)
    [said] = overview.gap(subjects([store])).findings
    assert "with 1 try at each decision, would leave 20.0%" in said
    assert "measured are 60.0% (workflow.success)" in said
