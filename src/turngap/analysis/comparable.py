"""Whether two runs measured the same thing, so that a difference between their figures is one between their models.

Models may differ in every way; what is compared is the data, and the settings that decide how a protocol measures: the
matcher, the judge, the tokenizer, the rules of the closed loop. Each difference is named in words.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.analysis.figure import JUDGED
from turngap.config import RolloutConfig
from turngap.protocols.scoring import scored_with
from turngap.runs.intake import content_digest
from turngap.runs.store import RunStore
from turngap.runs.trials import task_digest


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """The conversations of two runs, or their tasks, by id."""

    shared: frozenset[str]
    """In both, with the same content."""
    changed: tuple[str, ...]
    """In both, with different content."""
    only: tuple[int, int]
    """How many ids each of the two has alone."""


def overlap(one: RunStore, other: RunStore) -> Overlap:
    """Hold the data of two runs against each other; where a record stood in its file does not count."""
    ours, theirs = (contents(store) for store in (one, other))
    both = ours.keys() & theirs.keys()
    return Overlap(
        shared=frozenset(key for key in both if ours[key] == theirs[key]),
        changed=tuple(sorted(key for key in both if ours[key] != theirs[key])),
        only=(len(ours) - len(both), len(theirs) - len(both)),
    )


def contents(store: RunStore) -> dict[str, str]:
    """Id -> digest of every conversation of a run, or of every task, in their order."""
    if isinstance(store.settings, RolloutConfig):
        return {task.id: task_digest(task) for task in store.trials.tasks()}
    return {item.id: content_digest(item) for item in store.conversations()}


def noun(store: RunStore) -> str:
    """What the data of a run are called: ``conversation`` or ``task``."""
    return "task" if isinstance(store.settings, RolloutConfig) else "conversation"


def settings_that_differ(one: RunStore, other: RunStore, scorers: tuple[str, str]) -> list[str]:
    """Name the settings by which a figure of two runs is not the same measurement.

    Args:
        one: the run.
        other: what it is held against.
        scorers: whose score rows give the figure in each of the two (``strict``, ``turn:rules``).

    Returns:
        ``match.coerce is True, there False`` for each difference; empty where there is none.
    """
    ours, theirs = (_settings(store, scorer) for store, scorer in zip((one, other), scorers, strict=True))
    if not all(map(_reads_on, scorers)):
        for found in (ours, theirs):
            found.get("replay", {}).pop("after_failure", None)
    return _differences(ours, theirs, "")


def _reads_on(scorer: str) -> bool:
    """Whether scores depend on what comes behind an unresolved error: only a model that judges looks at it."""
    protocol, _, judge = scorer.partition(":")
    return protocol == "workflow" and judge != "rules"


def can_be_scored_again(difference: str, scorer: str) -> bool:
    """Whether `turngap score` can do away with a difference between the score rows of `scorer`; else only a new run.

    Args:
        difference: one line of `settings_that_differ`, or one on ``tool_parser`` of the same form.
        scorer: of either run.
    """
    setting = difference.partition(" is ")[0]
    if setting == "tool_parser" or setting.startswith("match.compare_args"):
        # The closed loop went on from how calls were read and compared.
        return scorer.partition(":")[0] in ("text", "turn", "strict")
    return setting.partition(".")[0] in ("judge", "text", "grader")


def _settings(store: RunStore, scorer: str) -> dict[str, Any]:
    protocol, _, judge = scorer.partition(":")
    if isinstance(store.settings, RolloutConfig):
        rollout = store.settings
        return {
            "domain": store.note("domain", {}),
            "user": store.note("user", {"spec": rollout.user.spec}),
            "max_steps": rollout.max_steps,
            "max_errors": rollout.max_errors,
            "grader": store.note("scoring", {}).get("grader"),
        }
    how = scored_with(store, protocol)
    found: dict[str, Any] = {name: how[name] for name in ("text", "match") if name in how}
    if protocol in JUDGED:
        found["judge"] = {"name": judge, **store.note("scoring", {}).get("judges", {}).get(judge, {})}
    if protocol not in ("text", "turn", "strict"):
        found["replay"] = msgspec.to_builtins(store.config.replay)
    return found


def _differences(ours: Any, theirs: Any, path: str) -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in sorted({*ours, *theirs})
            for line in _differences(ours.get(key), theirs.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if ours == theirs else [f"{path} is {ours!r}, there {theirs!r}"]
