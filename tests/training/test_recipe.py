"""Recipes: the papers' by name, others from TOML and options, and nothing unknown or impossible."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from turngap.errors import ConfigError, DataError, TurngapError, UsageError
from turngap.training.recipe import RECIPES, Lora, overridden, recipe


def test_the_papers_recipes_say_what_the_papers_say() -> None:
    """p1 trains all weights for five epochs; p2 is Adam, 1e-5, .9 and .95, 1e-8, three epochs."""
    p1, p2 = recipe("p1"), recipe("p2")
    assert (p1.epochs, p1.lora) == (5, None)
    assert (p2.epochs, p2.learning_rate, p2.beta1, p2.beta2, p2.epsilon) == (3, 1e-5, 0.9, 0.95, 1e-8)


def test_a_file_begins_from_a_recipe(tmp_path: Path) -> None:
    """A TOML file lays its settings over the recipe it names, and gives its own name."""
    file = tmp_path / "mine.toml"
    file.write_text('base = "p2"\nepochs = 1\n[lora]\nrank = 8\n', encoding="utf-8")
    found = recipe(str(file))
    assert (found.name, found.epochs, found.beta2) == ("mine", 1, 0.95)
    assert found.lora == Lora(rank=8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epoch = 1", "unknown setting 'epoch'; known: name, epochs"),
        ("[lora]\nranks = 1", "lora: unknown setting 'ranks'"),
        ('epochs = "many"', "epochs should be a number, not 'many'"),
        ("save = 2.5", "save should be a whole number, not 2.5"),
        ("whole = 1", "whole should be true or false, not 1"),
        ("too_long = 1", "too_long should be a word, not 1"),
        ("lora = 5", "lora should be true, false, or set part by part, as in lora.rank=8, not 5"),
        ('[lora]\nrank = "x"', "lora.rank should be a whole number, not 'x'"),
        ("epochs = {a = 1}", "epochs should be a number, not {'a': 1}"),
        ("limit = 5", "limit should be from 16 up to 10,000,000, not 5"),
        ("learning_rate = 0", "learning_rate should be above 0 up to 10, not 0"),
        ("seed = -5", "seed should be from 0 up to 4,294,967,295, not -5"),
        ("epochs = 0", "epochs should be above 0"),
        ('schedule = "steps"', "schedule is one of cosine"),
        ("[lora]\nrank = 0", "rank"),
        ('base = "p3"', "known: p1, p2, laptop"),
        ("epochs =", "no TOML"),
    ],
)
def test_what_a_file_has_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    """Unknown settings, wrong types and values out of range are errors of one line."""
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TurngapError) as raised:
        recipe(str(file))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    """Neither a name nor a file: both are told apart."""
    with pytest.raises(UsageError, match="known: p1, p2, laptop, or a TOML file"):
        recipe("p9")
    with pytest.raises(DataError, match="cannot be read"):
        recipe(str(tmp_path / "none.toml"))


def test_settings_are_laid_over_one_by_one() -> None:
    """NAME=VALUE sets numbers, truth values and words; a part of lora keeps the others; false trains all weights."""
    found = overridden(
        RECIPES["laptop"], ["epochs=2", "whole=false", "too_long=cut", "lora.rank=8", "lora.dropout=0.1"]
    )
    assert (found.epochs, found.whole, found.too_long) == (2, False, "cut")
    assert found.lora == Lora(rank=8, alpha=64, dropout=0.1)
    assert overridden(found, ["lora=false"]).lora is None
    assert overridden(RECIPES["p1"], ["lora=true"]).lora == Lora()


def test_a_seed_is_in_range_however_it_comes() -> None:
    """One that no generator takes is refused where a recipe is changed, too, and not after minutes of loading."""
    assert overridden(RECIPES["p1"], [f"seed={2**32 - 1}"]).seed == 2**32 - 1
    for seed in (-1, 2**32):
        with pytest.raises(UsageError, match="seed should be from 0"):
            msgspec.structs.replace(RECIPES["p1"], seed=seed)


@pytest.mark.parametrize(
    "one", ["epochs", "=3", "epoch=3", "lora.ranks=3", "epochs=x", "lora=5", "lora.rank=x", "epochs.x=1"]
)
def test_settings_that_make_no_sense_are_refused(one: str) -> None:
    """Each is an error that begins with where it stood."""
    with pytest.raises((UsageError, ConfigError), match="--set"):
        overridden(RECIPES["p1"], [one])
