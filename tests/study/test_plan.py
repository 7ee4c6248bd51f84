"""The file of a study: what it may say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from turngap.errors import ConfigError, DataError, UsageError
from turngap.study.plan import read

SMALL = """\
base = "local/smollm2"
[train]
domain = "desk.py?seed=1"
each = 4
[evaluate]
domain = "retail?seed=2"
each = 2
"""
EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
EXPERIMENTS = [path for path in EXPERIMENTS if not path.stem.endswith(".phrases")]


def write(folder: Path, text: str) -> Path:
    """The text as a study file, with a domain file beside it."""
    (folder / "desk.py").write_text("", encoding="utf-8")
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_files_beside_the_study_are_found_from_anywhere(tmp_path: Path) -> None:
    """A domain file is taken from the study's folder; other domains stay as they are; the name is the file's."""
    study = read(write(tmp_path, SMALL))
    assert study.name == "mine"
    assert study.train.domain == f"{tmp_path / 'desk.py'}?seed=1"
    assert study.evaluate.domain == "retail?seed=2"
    assert study.training().name == "laptop"


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        (SMALL + "trials = 3\n", ConfigError, "unknown field `trials`"),
        (SMALL.replace("each = 4", 'each = "many"'), ConfigError, r"Expected `int`.*train.each"),
        (SMALL + "[recipe]\nbase = 'p9'\n", UsageError, "unknown recipe 'p9'; known: p1, p2"),
        (SMALL + "[recipe]\nmax_lenght = 3\n", ConfigError, "max_lenght"),
        (SMALL + "[recipe]\nepochs = -1\n", UsageError, "epochs should be above 0"),
        ("base = [", DataError, "no TOML"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    tmp_path: Path, text: str, kind: type[Exception], problem: str
) -> None:
    """SFT-11: a misspelt setting is an error and never ignored; each error says where."""
    with pytest.raises(kind, match=problem) as caught:
        read(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_the_studies_that_come_with_turngap_can_be_read(path: Path) -> None:
    """Every file in experiments/ is a study whose recipe and domain files exist."""
    study = read(path)
    for side in (study.train, study.evaluate):
        file = Path(side.domain.partition("?")[0])
        assert file.suffix != ".py" or file.is_file()
