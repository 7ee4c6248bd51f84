"""What becomes of a set before it is trained on: too long ones stop it, are dropped or are cut, as the recipe says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tinytokens import family

from turngap.data import Conversation
from turngap.errors import DataError
from turngap.training.exchange import Manifest, write
from turngap.training.making import Options, make
from turngap.training.recipe import Recipe

pytest.importorskip("torch", reason="the extra train is not installed")
fitting = pytest.importorskip("turngap.training.fitting")


@pytest.fixture
def directory(tmp_path: Path, boat_conversation: Conversation) -> Path:
    """A set of four examples, of 1,018 to 1,268 tokens in our template."""
    options = Options(validation=0)
    made = make([boat_conversation], options)
    write(tmp_path / "set", made, Manifest(options=options, sources=(), counts=made.counts()))
    return tmp_path / "set"


def _prepared(directory: Path, **settings: Any) -> Any:
    return fitting.prepare(directory, family("ours"), Recipe(**settings))


def test_sft_03_what_does_not_fit_stops_the_training_by_name(directory: Path) -> None:
    """SFT-03: by default nothing is trained where an example is too long; its id and the number of them are said."""
    with pytest.raises(DataError, match=r"2 of 4 sequences .* 1200 tokens: boat#2, boat#3"):
        _prepared(directory, limit=1200)
    assert len(_prepared(directory, limit=1300).learnt) == 4


def test_sft_03_dropped_ones_are_counted(directory: Path) -> None:
    """SFT-03: with `drop` the others are trained on, and who was left out is said; no sequence is without a target."""
    found = _prepared(directory, limit=1200, too_long="drop")
    assert [one.id for one in found.learnt] == ["boat#0", "boat#1"]
    assert [(one.id, one.why) for one in found.refused] == [("boat#2", "too long"), ("boat#3", "too long")]
    assert "2 sequences were left out: boat#2" in found.notes[0]
    assert all(one.targets for one in found.learnt)


def test_sft_11_cutting_is_asked_for_and_counted(directory: Path) -> None:
    """SFT-11: only with `cut` anything is cut, from the oldest turn; each sequence knows how much."""
    found = _prepared(directory, limit=1200, too_long="cut")
    assert [(one.id, one.cut) for one in found.learnt] == [("boat#0", 0), ("boat#1", 0), ("boat#2", 4), ("boat#3", 4)]
    assert all(len(one.tokens) <= 1200 for one in found.learnt)
    assert found.refused == ()


def test_a_template_that_rewrites_turns_gives_examples_one_by_one(directory: Path) -> None:
    """Whole conversations where the template allows it; else single examples, and it is said."""
    whole = _prepared(directory, whole=True)
    assert (whole.whole, [one.decisions for one in whole.learnt]) == (True, [4])
    single = fitting.prepare(directory, family("qwen3"), Recipe(whole=True))
    assert (single.whole, len(single.learnt)) == (False, 4)
    assert "one sequence for each decision" in single.notes[-1]
