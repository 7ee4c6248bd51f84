"""Have a labeller name the causes of failed replays; names that still hold are not asked for again.

A name is stored as a verdict under the protocol `PROTOCOL`, beside what judges said. Which failures are worth asking
about is the caller's business: detectors come first (`turngap.analysis.taxonomy`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap import jsonio
from turngap.data import Failure, Trajectory, Verdict
from turngap.engines.base import Progress
from turngap.engines.capture import capture
from turngap.engines.local import run_units
from turngap.judges.base import WorkflowCase
from turngap.judges.label import LabelCase, Labeller
from turngap.runs.store import RunStore

PROTOCOL = "label"
"""Under which the store keeps labels."""
NOTE = "labelled_by"
"""Note of the run: the label of who named causes last."""


async def label_failures(
    store: RunStore, conversations: Sequence[str], labeller: Labeller, progress: Progress, *, concurrency: int
) -> None:
    """Ask for every name that is missing, errored, or given to another replay or from another list.

    Args:
        store: open for writing.
        conversations: whose replays failed; others among them are passed over.
        labeller: names the causes.
        progress: is told of every name.
        concurrency: requests under way at once.
    """
    identity = labeller.identity()
    keys: dict[str, str] = {}
    for name in conversations:
        trajectory = store.trajectory(name)
        if isinstance(trajectory, Trajectory) and trajectory.problems:
            keys[name] = jsonio.digest([identity, msgspec.structs.replace(trajectory, seconds=0.0)])
    open_units = [name for name, key in keys.items() if not _holds(store, labeller.label, name, key)]
    progress.stage(f"labels by {labeller.label}", len(keys), len(keys) - len(open_units))

    async def work(name: str) -> None:
        trajectory = store.trajectory(name)
        assert isinstance(trajectory, Trajectory)  # noqa: S101 - what `keys` has just been made of
        workflow = WorkflowCase(conversation=store.conversation(name), trajectory=trajectory)
        case = LabelCase(workflow=workflow, problem=trajectory.problems[0])
        result = await capture(labeller.name(case), judging=True)
        store.put_verdict(labeller.label, PROTOCOL, name, None, result, keys[name])
        progress.advance(errored=isinstance(result, Failure))

    await run_units(open_units, work, concurrency=concurrency)
    store.set_note(NOTE, labeller.label)


def _holds(store: RunStore, judge: str, name: str, key: str) -> bool:
    held = store.verdicts(judge, PROTOCOL, name).get(None)
    return held is not None and held[0] == key and isinstance(held[1], Verdict)
