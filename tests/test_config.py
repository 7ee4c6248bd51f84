"""Configurations: frozen, complete, comparable."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from turngap import jsonio
from turngap.config import (
    AuditConfig,
    DataConfig,
    EvalConfig,
    JudgeConfig,
    ModelConfig,
    Prices,
    ReplayConfig,
    RolloutConfig,
    TaskConfig,
    TextConfig,
    decode,
    differences,
)
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


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": ModelConfig(spec="m", timeout=float("inf"))}, "model.timeout should be a finite number"),
        ({"model": ModelConfig(spec="m", temperature=float("nan"))}, "model.temperature"),
        ({"model": ModelConfig(spec="m", prices=Prices(prompt=float("inf"), completion=1))}, "model.prices.prompt"),
        ({"model": ModelConfig(spec="m", context_length=0)}, "model.context_length"),
        ({"text": TextConfig(tokenizer="unicde")}, "unknown tokenizer 'unicde'; known: auto"),
        ({"seed": -1}, "seed is at least 0, not -1"),
        ({"data": DataConfig(paths=("a",), limit=10**24)}, "data.limit"),
        ({"judge": JudgeConfig(specs=())}, "no judge"),
        ({"judge": JudgeConfig(similarity_floor=5.0)}, "similarity_floor is at most 1"),
    ],
)
def test_values_that_no_run_could_use_are_refused(settings: dict[str, Any], words: str) -> None:
    """They are told before anything is asked or created."""
    with pytest.raises(UsageError, match=words):
        EvalConfig(**{"data": CONFIG.data, "model": CONFIG.model, **settings})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"trials": 0}, "trials is at least 1, not 0"),
        ({"max_steps": 0}, "max_steps is at least 1"),
        ({"max_errors": -1}, "max_errors is at least 1"),
        ({"seed": 2**70}, "seed is at most"),
        ({"audit": AuditConfig(user=ModelConfig(spec="scripted"), share=1.1)}, "audit.share is a share of the tasks"),
        ({"audit": AuditConfig(user=ModelConfig(spec="u", temperature=float("nan")))}, "audit.user.temperature"),
        ({"user": ModelConfig(spec="scripted", timeout=float("inf"))}, "user.timeout should be a finite number"),
        ({"tasks": TaskConfig(path="t", limit=0)}, "tasks.limit is at least 1"),
    ],
)
def test_rollouts_refuse_what_no_run_could_use(settings: dict[str, Any], words: str) -> None:
    """Counts, shares and numbers of live trials are looked at before anything is asked."""
    whole = AuditConfig(user=ModelConfig(spec="scripted"), share=1.0)
    given = {"domain": "d", "tasks": TaskConfig(path="t"), "model": CONFIG.model, "audit": whole}
    assert RolloutConfig(**given).trials == 1
    with pytest.raises(UsageError, match=words):
        RolloutConfig(**{**given, **settings})


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
