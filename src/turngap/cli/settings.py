"""From file, environment and options to one configuration: file < environment < options, resolved once.

The file is TOML with the structure of `EvalConfig` (``[data]``, ``[model]``, ``[judge]``, ``[match]``, ``[replay]``,
``[horizon]``, ``[text]``, ``protocols``, ``seed``) or of `RolloutConfig` (``domain``, ``[tasks]``, ``[model]``,
``[user]``, ``[judge]``, ``trials``, ...); prices live only there. An unknown key is an error, never ignored.
Paths in it are relative to the working directory, as they are on the command line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turngap import jsonio
from turngap.config import PROTOCOLS, SCENARIOS, EvalConfig, RolloutConfig
from turngap.errors import ConfigError, DataError, UsageError

ENVIRONMENT = {"OPENAI_BASE_URL": "model.base_url", "TURNGAP_JUDGE_BASE_URL": "judge.base_url"}
"""Environment variable -> the setting it gives. (Keys of servers are read by the clients and are no settings.)"""

_Config = TypeVar("_Config", EvalConfig, RolloutConfig)

_AT_LEAST: tuple[tuple[str, float], ...] = (
    ("data.limit", 1),
    ("tasks.limit", 1),
    *(
        (f"{asked}.{name}", least)
        for asked in ("model", "user", "audit.user", "judge")
        for name, least in (
            ("concurrency", 1),
            ("max_tokens", 1),
            ("temperature", 0),
            ("timeout", 0.001),
            ("give_up_after", 0),
            ("context_length", 1),
            ("prices.prompt", 0),
            ("prices.completion", 0),
            ("prices.cached", 0),
        )
    ),
    ("replay.attempts", 1),
    ("replay.max_steps", 1),
    ("horizon.max", 1),
)


def resolve(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> EvalConfig:
    """Lay options over environment over file.

    Args:
        file: TOML, or None.
        environment: usually `os.environ`.
        options: dotted setting (``model.spec``) -> value; None where the option was not given.

    Raises:
        ConfigError, DataError, UsageError: one line that names the file or option, the setting and what is wrong.
    """
    settings = _read(file) if file else {}
    _lay(settings, {path: environment.get(variable) or None for variable, path in ENVIRONMENT.items()})
    _lay(settings, options)
    if not _get(settings, "data.paths"):
        raise UsageError("no data: name a file or folder of recorded conversations")
    if not _get(settings, "model.spec"):
        raise UsageError("no model: give --model NAME, e.g. openai/NAME or baseline/nearest (turngap list models)")
    if isinstance(_get(settings, "protocols"), str):
        settings["protocols"] = protocols(settings["protocols"])
    config = _convert(settings, f"{file}: " if file else "", EvalConfig)
    if config.data.sample and config.data.limit is None:
        raise UsageError("--sample draws --limit conversations at random: say how many with --limit N")
    return config


def resolve_rollout(
    file: Path | None,
    environment: Mapping[str, str],
    options: Mapping[str, Any],
    otherwise: Mapping[str, Any] | None = None,
) -> RolloutConfig:
    """The same for live tasks; the user's server is that of the environment where no other is named. Raises alike.

    Args:
        file: TOML, or None.
        environment: usually `os.environ`.
        options: dotted setting -> value; None where the option was not given.
        otherwise: settings for which neither file nor environment nor options have a value.
    """
    settings = _read(file) if file else {}
    given = {path: environment.get(variable) or None for variable, path in ENVIRONMENT.items()}
    given["user.base_url"] = environment.get("TURNGAP_USER_BASE_URL") or given["model.base_url"]
    _lay(settings, given)
    _lay(settings, options)
    for path, hint in (
        ("domain", "no domain: give --domain, e.g. retail or FILE.py (turngap list domains)"),
        ("tasks.path", "no tasks: give --tasks FILE"),
        ("model.spec", "no model: give --model NAME, e.g. openai/NAME or baseline/reference (turngap list models)"),
    ):
        if not _get(settings, path):
            raise UsageError(hint)
    for user in (settings.get("user"), _get(settings, "audit.user")):
        if isinstance(user, dict):
            user.setdefault("spec", "scripted")
            user.setdefault("max_tokens", 512)
    _lay(settings, {path: value for path, value in (otherwise or {}).items() if _get(settings, path) is None})
    return _convert(settings, f"{file}: " if file else "", RolloutConfig)


def changed(config: _Config, options: Mapping[str, Any]) -> _Config:
    """A stored configuration with other options laid over it (None: as stored); raises as `resolve`."""
    settings: dict[str, Any] = msgspec.to_builtins(config)
    _lay(settings, options)
    return _convert(settings, "", type(config))


def _convert(settings: dict[str, Any], source: str, kind: type[_Config]) -> _Config:
    try:
        config = msgspec.convert(settings, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}configuration: {_plain(error)}") from None
    for path, least in _AT_LEAST:
        value = _get(settings, path)
        if value is not None and value < least:
            raise UsageError(f"{source}{path} is at least {least:g}, not {value:g}")
    return config


def scenarios(given: Sequence[str]) -> tuple[str, ...]:
    """Names of scenarios, each separated by commas or given apart, ``all`` among them; settings check them."""
    meant = [one for name in given for one in (SCENARIOS if name == "all" else tuple(name.split(",")))]
    return tuple(dict.fromkeys(meant))


def protocols(text: str) -> list[str]:
    """Names separated by commas, ``all`` among them for the five; `EvalConfig` checks them."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    meant = [name for given in names for name in (PROTOCOLS if given == "all" else (given,))]
    return [*dict.fromkeys(meant)]


def json_object(option: str, text: str) -> dict[str, Any]:
    """Read an option's value: a JSON object, or the name of a file that holds one.

    Raises:
        UsageError, DataError: neither.
    """
    if text.lstrip().startswith("{"):
        try:
            value = jsonio.loads(text)
        except jsonio.JsonError as error:
            raise UsageError(f"{option}: not JSON: {error}") from None
    else:
        try:
            value = jsonio.loads(Path(text).read_bytes())
        except OSError as error:
            raise DataError(f"{option}: cannot be read: {error.strerror}", file=text) from None
        except jsonio.JsonError as error:
            raise DataError(f"{option}: not JSON: {error}", file=text) from None
    if not isinstance(value, dict):
        raise UsageError(f"{option}: a JSON object is wanted, e.g. '{{\"top_p\": 0.9}}'")
    return value


def default_directory(paths: Sequence[str], model: str) -> Path:
    """``runs/<data stem>-<model>``, the same for the same data and model, so that the same command resumes."""
    stem = Path(paths[0]).resolve().name.partition(".")[0]
    return _named(f"{stem}-{model}")


def rollout_directory(config: RolloutConfig) -> Path:
    """``runs/<domain>-<tasks stem>-<model>``, the same for the same command."""
    stem = Path(config.tasks.path).resolve().name.partition(".")[0]
    return _named(f"{Path(config.domain).name}-{stem}-{config.model.spec}")


def _named(text: str) -> Path:
    return Path("runs") / re.sub(r"[^\w.=-]+", "-", text).strip("-")[:120]


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not TOML: {error}", file=str(file)) from None


def _lay(settings: dict[str, Any], values: Mapping[str, Any]) -> None:
    for path, value in values.items():
        if value is not None:
            _put(settings, path, value)


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    *tables, key = path.split(".")
    for table in tables:
        inner = settings.setdefault(table, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"configuration: {table} is a table, not {inner!r}")
        settings = inner
    settings[key] = value


def _get(settings: Any, path: str) -> Any:
    for key in path.split("."):
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _plain(error: msgspec.ValidationError) -> str:
    """Msgspec's message with its path in our notation: ``model.concurrency: expected `int`, got `str```."""
    text, path = jsonio.misfit(error)
    path = path.strip(".")
    return f"{path}: {text}" if path else text
