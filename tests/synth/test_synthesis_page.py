"""docs/synthesis.md: its phrases are phrases, its commands are commands, its figures are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from boatdomain import domain as boats

from turngap.cli.main import load
from turngap.data import Scenario
from turngap.metrics import contamination
from turngap.synth import validity
from turngap.synth.phrase import load as load_phrases

PAGE = (Path(__file__).parents[2] / "docs" / "synthesis.md").read_text(encoding="utf-8")


def test_the_phrases_are_taken(tmp_path: Path) -> None:
    """The TOML block is a file of phrases, for a tool and its arguments as the boat desk has them."""
    block = PAGE.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "phrases.toml").write_text(block, encoding="utf-8")
    phrases = load_phrases(boats(), (tmp_path / "phrases.toml",))
    told = tomllib.loads(block)["tool"]["move_booking"]
    assert list(phrases.tools["move_booking"].wish) == told["wish"]
    parameters = {"booking_id", "date", "seats"}
    assert set(re.findall(r"\{(\w+)\}", block)) == parameters


def test_every_option_of_its_commands_is_there() -> None:
    """No command names an option that the verb has not."""
    group = load("synth")
    known = {
        option for one in (group, *group.commands.values()) for parameter in one.params for option in parameter.opts
    }
    lines = re.sub(r"\\\n\s+", " ", PAGE).splitlines()
    commands = [line for line in lines if line.startswith("turngap synth")]
    assert len(commands) >= 7
    for line in commands:
        assert set(re.findall(r"(?<= )--?[a-z][\w-]*", line.partition("      ")[0])) <= known, line


def test_scenarios_and_figures_are_those_of_the_code() -> None:
    """A row for each scenario; the numbers of the rules."""
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row in set(Scenario)] == [scenario.value for scenario in Scenario]
    assert f"One score under {validity.LEAST} " in PAGE
    assert (contamination.LENGTH, contamination.SHARE, contamination.COMMON) == (8, 0.5, 3)
    assert "runs of eight words" in PAGE and "at least half" in PAGE and "three tasks share" in PAGE
