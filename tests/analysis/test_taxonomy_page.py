"""docs/taxonomy.md names what the program knows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from turngap.analysis.detector import Detector
from turngap.judges.label import LABELS, read_labels

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "taxonomy.md").read_text(encoding="utf-8")


def test_every_finding_is_explained() -> None:
    """The table has exactly the detectors."""
    table = PAGE.partition("| finding | what is seen")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {str(detector) for detector in Detector}


def test_every_built_in_label_is_named() -> None:
    """The page lists exactly the built-in labels."""
    listed = PAGE.partition("Built in: ")[2].partition(". A TOML")[0]
    assert re.findall(r"`(\w+)`", listed) == list(LABELS)


def test_the_example_file_is_read(tmp_path: Path) -> None:
    """The TOML of the page does what the page says."""
    example = PAGE.partition("```toml\n")[2].partition("```")[0]
    assert set(tomllib.loads(example)) == {"lost_thread", "broke_policy", "tool_trouble"}
    file = tmp_path / "labels.toml"
    file.write_text(example, encoding="utf-8")
    labels = read_labels(file)
    assert "tool_trouble" not in labels
    assert labels["broke_policy"].startswith("did what section 4")
