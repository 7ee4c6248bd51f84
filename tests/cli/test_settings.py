"""File, environment and options become one configuration; the later one wins, and mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turngap.cli import settings
from turngap.config import PROTOCOLS, EvalConfig
from turngap.errors import ConfigError, DataError, UsageError

_ENOUGH: dict[str, Any] = {"data.paths": ["logs.jsonl"], "model.spec": "openai/m"}


def _file(folder: Path, text: str) -> Path:
    path = folder / "turngap.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_options_win_over_environment_over_file(tmp_path: Path) -> None:
    """Each setting comes from the last of the three that gives it."""
    file = _file(
        tmp_path,
        'protocols = "text,strict"\nseed = 3\n[data]\npaths = ["a.jsonl"]\nlimit = 5\n'
        '[model]\nspec = "openai/from-file"\nbase_url = "http://file/v1"\nmax_tokens = 99\n'
        "prices = { prompt = 0.15, completion = 0.6 }\n",
    )
    environment = {"OPENAI_BASE_URL": "http://environment/v1"}
    found = settings.resolve(file, environment, {"model.spec": "openai/from-option", "data.limit": None})
    assert found.model.spec == "openai/from-option"
    assert found.model.base_url == "http://environment/v1"
    assert found.model.max_tokens == 99
    assert found.model.prices is not None
    assert found.model.prices.completion == 0.6
    assert (found.data.paths, found.data.limit, found.seed) == (("a.jsonl",), 5, 3)
    assert found.protocols == ("text", "strict")
    option = settings.resolve(file, environment, {"model.base_url": "http://option/v1"})
    assert option.model.base_url == "http://option/v1"


def test_without_options_the_defaults_hold() -> None:
    """Data and model are enough; everything else has its default."""
    found = settings.resolve(None, {}, _ENOUGH)
    assert found.protocols == PROTOCOLS
    assert found.judge.specs == ("rules",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[model]\nmax_lenght = 3\n", "max_lenght"),
        ('[model]\nconcurrency = "many"\n', "model.concurrency: Expected `int`, got `str`"),
        ("[model]\nconcurrency = 0\n", "model.concurrency is at least 1, not 0"),
        ("[modle]\nspec = 3\n", "modle"),
        ("model = 3\n", "model is a table, not 3"),
        ("[model\n", "not TOML"),
    ],
)
def test_sft_11_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    """SFT-11's kind: an unknown key or a wrong value is an error with its name, never ignored."""
    with pytest.raises((ConfigError, DataError, UsageError)) as caught:
        settings.resolve(_file(tmp_path, text), {}, _ENOUGH)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_protocols_may_be_all_or_a_list() -> None:
    """`all` stands for every protocol; names keep their order and are taken once."""
    assert tuple(settings.protocols("all")) == PROTOCOLS
    assert settings.protocols("strict, text,strict") == ["strict", "text"]


def test_a_json_option_is_inline_or_a_file(tmp_path: Path) -> None:
    """Text that begins with a brace is JSON, anything else names a file; both have to hold an object."""
    file = tmp_path / "body.json"
    file.write_text('{"top_p": 0.5}', encoding="utf-8")
    assert settings.json_object("--extra-body", '{"top_p": 0.9}') == {"top_p": 0.9}
    assert settings.json_object("--extra-body", str(file)) == {"top_p": 0.5}
    file.write_text("[1]", encoding="utf-8")
    with pytest.raises(UsageError, match="a JSON object is wanted"):
        settings.json_object("--extra-body", str(file))


@pytest.mark.parametrize(
    ("data", "model", "name"),
    [
        ("logs/day.jsonl", "openai/gpt-x", "day-openai-gpt-x"),
        ("logs/day.v2.jsonl", "baseline/noisy?p_text=0.9&p_tool=1", "day-baseline-noisy-p_text=0.9-p_tool=1"),
        ("logs/", "local/../models/a b.gguf", "logs-local-..-models-a-b.gguf"),
    ],
)
def test_the_default_directory_is_stable_and_plain(data: str, model: str, name: str) -> None:
    """The same data and model give the same directory, one level below runs, without odd characters."""
    assert settings.default_directory([data], model) == Path("runs") / name


def test_changed_lays_options_over_a_stored_configuration() -> None:
    """Re-scoring takes the stored configuration and replaces what was asked for."""
    stored: EvalConfig = settings.resolve(None, {}, {**_ENOUGH, "seed": 4})
    found = settings.changed(stored, {"judge.specs": ["openai/judge"], "protocols": None})
    assert found.judge.specs == ("openai/judge",)
    assert (found.seed, found.model, found.protocols) == (4, stored.model, stored.protocols)
