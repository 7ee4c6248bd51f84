"""What a synthesis came to, in numbers: counts, funnel, coverage, lengths, diversity. Nothing is made here.

`Account` is what the data card, the terminal and ``--json`` show. Shares are fractions in [0, 1], None where nothing
can be counted; lengths are quartiles.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from statistics import quantiles
from typing import Any

import msgspec

import turngap
from turngap.config import SynthConfig
from turngap.data import Acted, AssistantMessage, Scenario, Task, Trajectory
from turngap.metrics.contamination import Document, duplicates
from turngap.synth.coverage import Coverage, coverage
from turngap.synth.explore import FAULT
from turngap.synth.export import kept, within
from turngap.synth.funnel import Funnel, funnel
from turngap.synth.graph import ToolGraph
from turngap.synth.plan import Candidate, Exploration, Loss, Plan
from turngap.synth.store import SynthStore


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How a length is distributed."""

    low: float
    """The smallest."""
    quarter: float
    middle: float
    three_quarters: float
    high: float
    """The largest."""
    mean: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Of some values; None of none."""
        if not values:
            return None
        cuts = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(
            low=min(values),
            quarter=cuts[0],
            middle=cuts[1],
            three_quarters=cuts[2],
            high=max(values),
            mean=sum(values) / len(values),
        )


class Diversity(msgspec.Struct, frozen=True, kw_only=True):
    """How unlike each other the tasks are."""

    chains: int
    """Different sequences of effects, by the names of the tools."""
    most_frequent_chain: float | None
    """The share of tasks that have the commonest sequence."""
    distinct_bigrams: float | None
    """Different pairs of neighbouring words in all instructions, of all pairs (distinct-2, Li et al. 2016)."""
    near_duplicates: float | None
    """The share of tasks whose words repeat an earlier one's when names and ids are taken out."""


class Lengths(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are."""

    exploration: Spread | None
    """Calls of an exploration."""
    plan: Spread | None
    """Steps of a kept plan."""
    instructions: Spread | None
    """Words that the user is told."""
    decisions: Spread | None
    """Messages of the reference agent."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """A synthesis in numbers."""

    config: SynthConfig
    domain: dict[str, Any]
    versions: dict[str, str]
    explored: int
    tasks: dict[str, int]
    """Scenario -> tasks kept."""
    funnels: tuple[Funnel, ...]
    coverage: Coverage
    effects: dict[str, int]
    """Tool -> how often kept plans use it to change something or to hand over."""
    lengths: Lengths
    diversity: Diversity
    faults: dict[str, int] = {}
    """What failed of the domain's code, or of turngap's own -> in how many explorations and candidates; the most
    frequent first."""
    further: int = 0
    """Explorations that are stored beyond those asked for, and are counted nowhere here."""


def account(store: SynthStore, graph: ToolGraph) -> Account:
    """Sum a synthesis up.

    Args:
        store: what it made.
        graph: the tool graph of its domain, as the walks saw it.
    """
    config = store.config
    chosen = list(kept(store, config))
    plans = [candidate.draft.plan for candidate in chosen if candidate.draft is not None]
    stored = list(store.explorations())
    explorations = [made for position, made in stored if position < config.explorations]
    candidates = {name: list(within(store, config, name)) for name in config.scenarios}
    return Account(
        config=config,
        domain=store.domain,
        versions={"turngap": turngap.__version__, "python": platform.python_version()},
        explored=len(explorations),
        tasks={name: sum(1 for one in chosen if one.scenario == name) for name in config.scenarios},
        funnels=tuple(funnel(name, explorations, candidates[name]) for name in config.scenarios),
        coverage=coverage(graph, plans),
        effects=_effects(plans),
        lengths=_lengths([one for one in explorations if isinstance(one, Exploration)], chosen),
        diversity=_diversity(chosen),
        faults=_faults(explorations, chain.from_iterable(candidates.values())),
        further=len(stored) - len(explorations),
    )


def _faults(explorations: Iterable[Exploration | Loss], candidates: Iterable[Candidate]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for made in explorations:
        if isinstance(made, Exploration):
            counts.update(name.removeprefix(FAULT) for name in made.mishaps if name.startswith(FAULT))
        elif made.fault:
            counts[made.detail] += 1
    counts.update(one.loss.detail for one in candidates if one.loss is not None and one.loss.fault)
    return dict(counts.most_common())


def _effects(plans: Iterable[Plan]) -> dict[str, int]:
    counts = Counter(plan.steps[index].call.name for plan in plans for index in plan.writes())
    return dict(counts.most_common())


def _lengths(explorations: Sequence[Exploration], chosen: Sequence[Candidate]) -> Lengths:
    return Lengths(
        exploration=Spread.of([len(one.steps) for one in explorations]),
        plan=Spread.of([len(one.draft.plan.steps) for one in chosen if one.draft is not None]),
        instructions=Spread.of([len(one.task.instructions.text().split()) for one in chosen if one.task is not None]),
        decisions=Spread.of([_decisions(one.played) for one in chosen if one.played is not None]),
    )


def _decisions(played: Trajectory) -> int:
    return sum(isinstance(event, Acted) and isinstance(event.message, AssistantMessage) for event in played.events)


def _diversity(chosen: Sequence[Candidate]) -> Diversity:
    tasks = [one.task for one in chosen if one.task is not None]
    chains = Counter((one.scenario, _chain(one)) for one in chosen)
    pairs = [pair for task in tasks for pair in pairwise(task.instructions.text().casefold().split())]
    repeated = duplicates(Document(id=task.id, text=told(task)) for task in tasks)
    return Diversity(
        chains=len(chains),
        most_frequent_chain=max(chains.values()) / len(tasks) if tasks else None,
        distinct_bigrams=len(set(pairs)) / len(pairs) if pairs else None,
        near_duplicates=len(repeated) / len(tasks) if tasks else None,
    )


def _chain(candidate: Candidate) -> tuple[str, ...]:
    draft = candidate.draft
    if draft is None:
        return ()
    if candidate.scenario is Scenario.INFEASIBLE and draft.refusal is not None:
        return (draft.refusal.call.name,)
    first = [] if draft.abandoned is None else [draft.abandoned.steps[at].call.name for at in draft.abandoned.writes()]
    return (*first, *(draft.plan.steps[index].call.name for index in draft.plan.writes()))


def told(task: Task) -> str:
    """What the user is told, as one text; of a task without a structured intent, the instructions."""
    return task.instructions.text()
