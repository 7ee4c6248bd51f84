"""turngap beside people: two public sets of human annotations, and what comes out when they are set side by side.

``python tests/people.py FOLDER`` prints the tables of docs/decisions/against-people.md; tests/peers/test_people.py holds
the figures. FOLDER has the files as their NOTICE files describe them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from turngap import formats
from turngap.analysis.deviation import Deviation, first_deviation
from turngap.config import DataConfig, MatchConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Decision,
    Message,
    Prediction,
    ToolCall,
    ToolMessage,
    UserMessage,
    decisions,
)
from turngap.judges.base import TurnCase
from turngap.judges.rules import RulesJudge
from turngap.metrics.agreement import cohen_kappa
from turngap.metrics.matching import Matcher

# --- failed runs of tau-bench retail, annotated step by step (AgentRx) ------------------------------------------------

_RULES = MatchConfig(
    compare_args={"transfer_to_human_agents": ()}, set_args={"return_delivered_order_items": ("item_ids",)}
)
"""The summary of a hand-over is the agent's own wording, and what is sent back has no order."""


class Annotated(msgspec.Struct, frozen=True):
    """One recorded run beside its annotation."""

    task: int
    rewarded: bool
    steps: tuple[tuple[int, str, str], ...]
    """Annotated failures: index of the message, who failed, category."""
    root: int | None
    """Index of the message that people call the root cause."""
    ours: Deviation | None
    ours_step: int | None
    """Index of the message of our decision."""

    @property
    def by_agent(self) -> list[tuple[int, str, str]]:
        """Failures that people put down to the agent, in order."""
        return sorted(step for step in self.steps if step[1] == "Assistant")

    @property
    def root_category(self) -> str:
        """People's category of the root cause."""
        return next(category for step, _, category in self.steps if step == self.root)


def annotated_runs(folder: Path) -> list[Annotated]:
    """All 55 recorded runs, those that failed with their annotations."""
    file = folder / "agentrx-tau-retail" / "retail-tasks-000-054.json"
    notes = json.loads((folder / "agentrx-tau-retail" / "failure-annotations-000-054.json").read_text())
    annotations = {note["trajectory_id"]: note for note in notes}
    records = {record["task_id"]: record for record in json.loads(file.read_text())}
    tools = folder / "tau-bench" / "retail-tools.json"
    found = []
    for conversation in formats.read(DataConfig(paths=(str(file),), tools=str(tools)), seed=0):
        record = records[conversation.metadata["task_id"]]
        found.append(_annotated(conversation, record, annotations.get(record["task_id"], {"failures": []})))
    return found


def _annotated(conversation: Conversation, record: dict[str, Any], note: dict[str, Any]) -> Annotated:
    task = record["info"]["task"]
    actions = [ToolCall(name=action["name"], arguments=action["kwargs"]) for action in task["actions"]]
    ours = first_deviation(conversation, actions, Matcher(conversation.tools, _RULES), told=task["outputs"])
    steps = [message["index"] for message in record["traj"] if message["role"] == "assistant"]
    assert len(steps) == sum(1 for _ in decisions(conversation))
    root = note.get("root_cause", {}).get("failure_id")
    return Annotated(
        task=record["task_id"],
        rewarded=record["reward"] == 1,
        steps=tuple((one["step_number"], one["failed_agent"], one["failure_category"]) for one in note["failures"]),
        root=next((one["step_number"] for one in note["failures"] if one["failure_id"] == root), None),
        ours=ours,
        ours_step=None if ours is None else steps[ours.decision],
    )


def named_alike(runs: Iterable[Annotated]) -> dict[str, int]:
    """How often the same step is named, over the annotated runs."""
    failed = [run for run in runs if run.steps]
    return {
        "failed runs": len(failed),
        "found": sum(run.ours is not None for run in failed),
        "root cause": sum(run.ours_step == run.root for run in failed),
        "first failure": sum(run.ours_step == min(run.steps)[0] for run in failed),
        "first failure of the agent": sum(bool(run.by_agent) and run.ours_step == run.by_agent[0][0] for run in failed),
        "any annotated failure": sum(run.ours_step in [step for step, _, _ in run.steps] for run in failed),
        "later than the root cause": sum((run.ours_step or 0) > (run.root or 0) for run in failed),
        "earlier than the root cause": sum((run.ours_step or 0) < (run.root or 0) for run in failed),
    }


def confusion(runs: Iterable[Annotated]) -> Counter[tuple[str, str]]:
    """(people's category of the root cause, ours) -> runs."""
    return Counter((run.root_category, str(run.ours.category) if run.ours else "none") for run in runs if run.steps)


# --- single decisions with a verdict (Taskmaster 3 and 4) -------------------------------------------------------------


class Pair(msgspec.Struct, frozen=True):
    """One generation with a human verdict, held against a reference that the files imply."""

    kind: str
    people: bool
    rules: bool
    category: str


def verdicts(file: Path, floor: float = 0.15) -> tuple[list[Pair], Counter[tuple[str, bool]]]:
    """Judge generations by `rules` against what people approved at the same point.

    The files hold no reference. Where several generations stand at one point, those that people approved and that differ
    from the one in question serve as references; it passes when it would pass against any of them.

    Returns:
        The pairs, and for the decisions that the dialogue went on with: (kind, people's verdict) -> count.
    """
    records = [(one["context"], one["generation"], one["reward"] == 1) for one in json.loads(file.read_text())]
    approved: dict[str, list[str]] = defaultdict(list)
    for context, generation, good in records:
        if good:
            approved[context].append(generation)
    judge = RulesJudge(MatchConfig(), similarity_floor=floor)
    pairs = []
    for context, generation, good in records:
        references = dict.fromkeys(other for other in approved[context] if other != generation)
        said = [_judged(judge, context, other, generation) for other in references]
        if said:
            kind = "tool" if "api" in json.loads(generation) else "text"
            best = next((verdict for verdict in said if verdict.success), said[0])
            pairs.append(Pair(kind=kind, people=good, rules=best.success, category=best.category))
    return pairs, _went_on_with(records)


def _went_on_with(records: Iterable[tuple[str, str, bool]]) -> Counter[tuple[str, bool]]:
    records = list(records)
    taken = set()
    for context in {context for context, _, _ in records}:
        turns = json.loads(context)
        taken |= {
            (json.dumps(turns[:at]), json.dumps(turn)) for at, turn in enumerate(turns) if turn["role"] == "agent"
        }
    found: Counter[tuple[str, bool]] = Counter()
    for context, generation, good in records:
        said = json.loads(generation)
        if (json.dumps(json.loads(context)), json.dumps(said)) in taken:
            found["tool" if "api" in said else "text", good] += 1
    return found


def _judged(judge: RulesJudge, context: str, reference: str, generation: str) -> Any:
    history = tuple(message for turn in json.loads(context) for message in _messages(turn))
    (recorded,), (predicted,) = _messages(json.loads(reference)), _messages(json.loads(generation))
    assert isinstance(recorded, AssistantMessage)
    assert isinstance(predicted, AssistantMessage)
    case = TurnCase(
        conversation=Conversation(id="taskmaster", messages=(*history, recorded)),
        decision=Decision(index=0, position=len(history), reference=recorded),
        prediction=Prediction(message=predicted),
    )
    return asyncio.run(judge.turn(case))


def _messages(turn: dict[str, Any]) -> Iterator[Message]:
    if turn["role"] == "user":
        yield UserMessage(content=turn["text"])
    elif "api" in turn:
        yield AssistantMessage(calls=tuple(ToolCall(name=name, arguments=given) for name, given in turn["api"].items()))
    elif turn["role"] == "agent":
        yield AssistantMessage(content=turn["text"])
    else:
        yield from (ToolMessage(name=name, content=json.dumps(value)) for name, value in turn["response"].items())


def beside(pairs: Iterable[Pair], kind: str) -> dict[str, Any]:
    """Accuracy, kappa and counts of one kind of decision."""
    chosen = [pair for pair in pairs if kind in (pair.kind, "all")]
    table = Counter((pair.rules, pair.people) for pair in chosen)
    return {
        "n": len(chosen),
        "people approve": sum(pair.people for pair in chosen),
        "both approve": table[True, True],
        "only rules approves": table[True, False],
        "only people approve": table[False, True],
        "both reject": table[False, False],
        "accuracy": (table[True, True] + table[False, False]) / len(chosen) if chosen else None,
        "kappa": cohen_kappa([pair.rules for pair in chosen], [pair.people for pair in chosen]).kappa,
    }


def main(folder: Path) -> None:
    """Print all tables."""
    runs = annotated_runs(folder)
    for run in runs:
        if run.steps:
            people = "; ".join(f"{step} {who}: {category}" for step, who, category in run.steps)
            ours = f"{run.ours_step} {run.ours.category}" if run.ours else "none"
            print(f"| {run.task} | {people} | {run.root} | {ours} |")
    print(named_alike(runs))
    for (people, ours), count in sorted(confusion(runs).items()):
        print(f"| {people} | {ours} | {count} |")
    alarms = [(run.task, run.ours_step, str(run.ours.category)) for run in runs if run.rewarded and run.ours]
    print("rewarded runs:", sum(run.rewarded for run in runs), "named all the same:", alarms)
    for name in ("TM-3", "TM-4"):
        for floor in (0.15, 0.0):
            pairs, went_on = verdicts(folder / "taskmaster" / f"{name}_reward_00.json", floor)
            for kind in ("text", "tool", "all"):
                print(name, f"floor {floor}", kind, beside(pairs, kind))
            missed = Counter(pair.category for pair in pairs if pair.people and not pair.rules)
            print("  rejected though people approve:", dict(missed))
        print("  went on with:", dict(went_on))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
