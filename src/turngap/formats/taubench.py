"""Recorded trajectories of tau-bench: a JSON list of ``{task_id, trial, reward, info, traj}``.

``traj`` holds chat-completions messages. The id is ``<task_id>-<trial>``, the goal is the instruction of the simulated
user. Tool specifications are not part of these files; give them with ``--tools``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turngap.data import Conversation
from turngap.errors import DataError
from turngap.formats.assemble import assemble
from turngap.formats.base import Findings, GivenTools, Record, convert_each
from turngap.formats.openai import content_id, read_messages, read_reward
from turngap.formats.records import read_records, top_keys


class TauBench:
    """Reader of tau-bench results."""

    name = "taubench"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first record has a ``traj``."""
        del path
        return "traj" in top_keys(head)[1]

    def members(self, path: Path) -> Iterable[Path]:
        """No further files."""
        del path
        return ()

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield the trajectories of a file."""
        return convert_each(read_records(path), lambda value, findings: _conversation(value, given, findings))


def _conversation(value: Any, given: GivenTools, findings: Findings) -> Conversation:
    if not isinstance(value, dict) or "traj" not in value:
        raise findings.place.error("a record should be an object with traj", "traj")
    wires = read_messages(value["traj"], "traj", findings)
    assembled = assemble(wires, given.specs, findings)
    if not given.specs and any(wire.calls for wire in wires):
        findings.note("no_tools", "calls without tool specifications")
    info = value.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    instruction = task.get("instruction") if isinstance(task, dict) else None
    known = {key: value[key] for key in ("task_id", "trial") if value.get(key) is not None}
    return Conversation(
        id="-".join(str(part) for part in known.values()) or content_id(value["traj"]),
        policy=assembled.policy,
        tools=given.specs,
        messages=assembled.messages,
        goal=instruction if isinstance(instruction, str) and instruction else None,
        reward=read_reward(value.get("reward"), "reward", findings),
        metadata=known,
        source=findings.place.source(),
    )
