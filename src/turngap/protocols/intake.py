"""Take the conversations of somebody's files into the run directory, and note what was found on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from turngap import formats
from turngap.config import EvalConfig
from turngap.data import Conversation
from turngap.engines.base import Progress
from turngap.errors import DataError
from turngap.runs.store import RunStore


def walk(config: EvalConfig) -> Iterator[Conversation]:
    """Yield the data of an evaluation, storing nothing.

    Raises:
        UsageError, DataError: a file cannot be read, or there is no conversation; the latter at the end.
    """
    reading = formats.read(config.data, seed=config.seed)
    yield from reading
    _require_some(reading)


def take_in(store: RunStore, progress: Progress) -> None:
    """Read the data of `store.config` into `store`; on a resumed run, check that it is still the same.

    Raises:
        DataError: a file cannot be read, or holds no conversation.
        ConfigError: the run was made with other conversations.
    """
    config = store.config
    reading = formats.read(config.data, seed=config.seed)
    progress.stage("read", 0)
    store.add_conversations(reading)
    _require_some(reading)
    report = _report(reading)
    store.set_note("data", report)
    for line in reading.notes:
        progress.note(line)
    for kind, number in report["oddities"].items():
        progress.note(f"{number} x {kind} in the data; see `turngap inspect`")
    if report["skipped"]:
        progress.note(f"{report['skipped']} record(s) could not be read and were left out (--skip-bad)")


def _require_some(reading: formats.Reading) -> None:
    if not reading.n_read:
        left_out = f"; {reading.n_unsuccessful} without reward were left out" if reading.n_unsuccessful else ""
        raise DataError(f"no conversation to evaluate{left_out}", file=", ".join(reading.config.paths))


def _report(reading: formats.Reading) -> dict[str, Any]:
    return {
        "read": reading.n_read,
        "skipped": reading.n_skipped,
        "unsuccessful": reading.n_unsuccessful,
        "oddities": dict(sorted(reading.oddity_counts.items())),
        "skipped_first": [str(error) for error in reading.skipped],
        "oddities_first": [msgspec.to_builtins(oddity) for oddity in reading.oddities],
    }
