"""Configurations: frozen, complete, comparable."""

from __future__ import annotations

import msgspec
import pytest

from turngap import jsonio
from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig, decode, differences
from turngap.errors import ConfigError, UsageError

CONFIG = EvalConfig(data=DataConfig(paths=("a.jsonl",)), model=ModelConfig(spec="openai/m"))


def test_a_configuration_survives_storage() -> None:
    """What is written beside the results reads back equal."""
    assert decode(jsonio.dumps(CONFIG)) == CONFIG


def test_unknown_and_mistyped_fields_are_errors() -> None:
    """SFT-11: a misspelt key is named, never ignored."""
    with pytest.raises(ConfigError, match="max_lenght"):
        decode('{"data": {"paths": ["a"]}, "model": {"spec": "m", "max_lenght": 1}}')
    with pytest.raises(ConfigError, match=r"temperature"):
        decode('{"data": {"paths": ["a"]}, "model": {"spec": "m", "temperature": "hot"}}')


def test_unknown_protocols_list_the_known_ones() -> None:
    """A typo in a protocol is found at once."""
    with pytest.raises(UsageError, match="repaly; known: all, text"):
        EvalConfig(data=CONFIG.data, model=CONFIG.model, protocols=("repaly",))


@pytest.mark.parametrize("rules", [{"when_silent": "shout"}, {"after_failure": "cry"}])
def test_rules_outside_the_closed_set_are_refused(rules: dict[str, str]) -> None:
    """Only what the design names."""
    with pytest.raises(UsageError, match="not"):
        EvalConfig(data=CONFIG.data, model=CONFIG.model, replay=ReplayConfig(**rules))


def test_pace_and_price_do_not_change_what_a_model_answers() -> None:
    """Timeouts, concurrency and prices may differ between a run and its resumption."""
    faster = msgspec.structs.replace(CONFIG, model=msgspec.structs.replace(CONFIG.model, concurrency=99, timeout=1.0))
    hotter = msgspec.structs.replace(CONFIG, model=msgspec.structs.replace(CONFIG.model, temperature=1.0))
    assert faster.generation_identity() == CONFIG.generation_identity()
    assert differences(hotter.generation_identity(), CONFIG.generation_identity()) == [
        "model.temperature: 1.0 asked for, 0.0 stored"
    ]


def test_options_of_a_spec_are_read_once_each() -> None:
    """baseline/noisy?p_tool=0.7&seed=1."""
    config = ModelConfig(spec="baseline/noisy?p_tool=0.7&seed=1")
    assert (config.provider, config.name, config.options()) == ("baseline", "noisy", {"p_tool": "0.7", "seed": "1"})
    for spec in ("baseline/noisy?p", "baseline/noisy?p=1&p=2"):
        with pytest.raises(UsageError, match="key=value"):
            ModelConfig(spec=spec).options()
