"""What a run says about itself, and what it keeps to itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from turngap.config import EvalConfig, JudgeConfig
from turngap.errors import StoreError
from turngap.runs.database import open_for_writing
from turngap.runs.manifest import Register, installed, without_secrets
from turngap.runs.schema import RUN


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        (None, None),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://me:SECRET@host:8443/v1", "https://host:8443/v1"),
        ("https://me:a@SECRET@host/v1", "https://host/v1"),
        ("http://host/v1?key=SECRET#SECRET", "http://host/v1"),
        ("http://[::1]:8000/v1?SECRET", "http://[::1]:8000/v1"),
        ("https://host/client/@cf/v1", "https://host/client/@cf/v1"),
        ("me:SECRET@host/v1", "host/v1"),
        ("host/v1?key=SECRET", "host/v1"),
        ("http://SECRET@[half", "http://[half"),
    ],
)
def test_base_urls_without_secrets(with_model: Callable[..., EvalConfig], url: str | None, stored: str | None) -> None:
    """SEC-01: what can be a secret in a base URL, of model or judge, is left out; the rest is kept."""
    config = msgspec.structs.replace(with_model(base_url=url), judge=JudgeConfig(base_url=url))
    kept = without_secrets(config)
    assert kept.model.base_url == kept.judge.base_url == stored
    assert without_secrets(kept) == kept
    assert "SECRET" not in repr(kept)


def test_changed_software_is_noted_once(tmp_path: Path, config: EvalConfig) -> None:
    """A run keeps one entry for each change of the software that worked on it."""
    database = open_for_writing(tmp_path / "run.sqlite", RUN)
    register = Register(database, tmp_path / "run.json")
    register.begin(config)
    old = msgspec.structs.replace(installed(), turngap="0.0.0-older")
    register.put(msgspec.structs.replace(register.manifest, versions=(old,)))
    for _ in range(2):
        register.note_versions()
        assert register.manifest.versions == (old, installed())
    register.begin(config)
    assert register.manifest.versions == (old, installed())
    database.close()


def test_unwritable_copy(tmp_path: Path, config: EvalConfig) -> None:
    """A run.json that cannot be written is one line that says the rest is safe."""
    database = open_for_writing(tmp_path / "run.sqlite", RUN)
    register = Register(database, tmp_path / "gone" / "run.json")
    register.begin(config)
    with pytest.raises(StoreError, match=r"run\.json: cannot be written: .*; what is stored is safe"):
        register.export()
    database.close()
