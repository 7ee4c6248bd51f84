"""The files of a synthesis: SYN-08, what is written can be read and nothing is lost on the way."""

from __future__ import annotations

import asyncio
from pathlib import Path

from madeshop import made_shop

from turngap import formats
from turngap.config import DataConfig, SynthConfig
from turngap.engines.base import Quiet
from turngap.formats import tasks as task_files
from turngap.synth.export import TASKS, TRAJECTORIES, export, kept
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore


def test_as_many_are_written_as_are_kept_and_each_reads_back(tmp_path: Path) -> None:
    """SYN-08: n written is n kept; each recording validates, has its task's goal and id, and a reward of one."""
    config = SynthConfig(domain=made_shop(tmp_path), explorations=5, count=3)
    asyncio.run(synthesise(config, tmp_path / "s", Quiet()))
    with SynthStore.open(tmp_path / "s") as store:
        count = export(store)
        chosen = list(kept(store, config))
    tasks = task_files.read(tmp_path / "s" / TASKS).tasks
    recorded = formats.read(DataConfig(paths=(str(tmp_path / "s" / TRAJECTORIES),)))
    conversations = list(recorded)
    assert count == len(chosen) == len(tasks) == len(conversations)
    for task, conversation, candidate in zip(tasks, conversations, chosen, strict=True):
        assert task.id == conversation.id == (candidate.task and candidate.task.id)
        assert conversation.goal == task.instructions.text()
        assert conversation.reward == 1.0
        made = [call.name for message in conversation.messages for call in getattr(message, "calls", ())]
        for action in task.criteria.actions:
            assert action.name in made
