"""The same units in several runs: what every run measured, figure by figure, and what had to be left out.

Units are paired by conversation id and decision index, never by position, and only those count that every run has
measured: an errored unit of one run is in nobody's figure. Runs that did not measure the same thing (another matcher,
judge, tokenizer, tool parser, rules of the closed loop; other content under the same id) are refused, with every
difference named, unless forced; what was forced is then part of the panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turngap.analysis import trial
from turngap.analysis.comparable import can_be_scored_again, contents, noun, settings_that_differ
from turngap.analysis.figure import FIGURES, Columns, Measure, Unit, columns, compute
from turngap.analysis.finish import unfinished
from turngap.analysis.sample import measure_of, sample, scorer_of
from turngap.analysis.scorer import judges
from turngap.config import RolloutConfig
from turngap.data import Figure
from turngap.errors import ConfigError, UsageError
from turngap.protocols.recovering import caveat
from turngap.protocols.scoring import scored_with
from turngap.runs.manifest import COMMANDS
from turngap.runs.store import RunStore

SHOWN = (
    "text.rouge1",
    "turn.success.text",
    "turn.success.tool",
    "turn.success",
    "strict.exact",
    "strict.arg_f1",
    "replay.completed",
    "workflow.success",
)
"""What is compared where nothing else is asked for."""
OF_TRIALS = ("pass^1", "pass^K", "reward", "reward.COMPONENT", "user_error")
"""Likewise, of runs of live trials: K is the most trials that all of them have, and every component is meant that the
reward counts anywhere."""
LOWER_IS_BETTER = ("strict.spurious", "user_error")
_NAMED = 5  # ids that a sentence lists


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs."""

    label: str
    """Its model, or the name of its directory where two runs share a model."""
    directory: str
    conversations: int
    lacks: tuple[str, ...]
    """Conversations that another run has and this one has not, in order."""


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """One figure's units that every run has measured."""

    name: str
    measure: Measure
    judge: str
    """Of the first run; empty where nobody judged."""
    places: tuple[tuple[str, int], ...]
    """(conversation, decision) of each unit; -1 for a whole conversation."""
    columns: tuple[Columns, ...]
    """Values and weights of these units, one entry for each run."""
    shared: tuple[Figure, ...]
    """The figure over these units, of each run."""
    full: tuple[Figure, ...]
    """The figure over everything that the run measured."""
    left_out: tuple[int, ...]
    """Units of each run that stand in its own figure and not here."""

    @property
    def clusters(self) -> list[str]:
        """The conversation of each unit."""
        return [conversation for conversation, _ in self.places]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """Several runs, ready to be held against each other."""

    runs: tuple[Contestant, ...]
    shared: tuple[str, ...]
    """Conversations that all of them have, with the same content."""
    pairings: tuple[Pairing, ...]
    forced: tuple[str, ...]
    """Differences between the runs that would have been refused."""
    notes: tuple[str, ...]
    """What a reader has to know: coverage, figures that not every run has."""


def panel(
    stores: Sequence[RunStore], *, metrics: Sequence[str] | None = None, force: bool = False, seed: int = 0
) -> Panel:
    """Put runs side by side.

    Args:
        stores: two or more open runs; only read.
        metrics: names of figures; None for those of `SHOWN` that every run has.
        force: go on although the runs did not measure the same thing.
        seed: of what is drawn at random.

    Raises:
        UsageError: fewer than two runs, the same run twice, an unknown figure, or one that a run has no scores for.
        ConfigError: the runs did not measure the same thing, or have no conversation in common.
    """
    _require_several(stores)
    labels = _labels(stores)
    data = [contents(store) for store in stores]
    what = noun(stores[0])
    shared, changed = _shared(data)
    names, notes = _names(stores, labels, metrics)
    differences = [] if not changed else [f"{_count(len(changed), what)} changed: {_listed(changed)}"]
    fixed: dict[str, None] = dict.fromkeys(["data"] if changed else [])
    for at, store in enumerate(stores[1:], 1):
        for line, scored in _settings(stores[0], store, names).items():
            differences.append(f"{labels[0]} against {labels[at]}: {line}")
            if not scored:
                fixed[line.partition(" is ")[0]] = None
    if not shared:
        raise ConfigError(f"{' and '.join(labels)} have no {what} in common; compare runs on the same data")
    if differences and not force:
        raise ConfigError(
            f"the runs did not measure the same thing: {'; '.join(differences)}; "
            f"{_remedy(stores[0], list(fixed))}, or --force to compare all the same"
        )
    order = {key: place for place, key in enumerate(dict.fromkeys(key for one in data for key in one))}
    everything = sorted(order, key=order.__getitem__)
    runs = tuple(
        Contestant(
            label=label,
            directory=str(store.directory),
            conversations=len(one),
            lacks=tuple(key for key in everything if key not in one),
        )
        for label, store, one in zip(labels, stores, data, strict=True)
    )
    allowed = set(shared)
    pairings = tuple(_pairing(stores, name, allowed, seed) for name in names)
    alone = [one.name for one in pairings if len(set(one.clusters)) == 1]
    if alone:
        notes.append(f"from one {what} only, which says next to nothing about others: {', '.join(alone)}")
    return Panel(
        runs=runs,
        shared=tuple(key for key in everything if key in allowed),
        pairings=pairings,
        forced=tuple(differences),
        notes=(*_open(stores, labels), *_caveats(stores, labels), *_coverage(runs, len(shared), what), *notes),
    )


def _open(stores: Sequence[RunStore], labels: Sequence[str]) -> list[str]:
    return [f"{label}: {said}" for label, store in zip(labels, stores, strict=True) for said in unfinished(store)]


def _caveats(stores: Sequence[RunStore], labels: Sequence[str]) -> list[str]:
    return [f"{label}: {said}" for label, store in zip(labels, stores, strict=True) if (said := caveat(store))]


def _require_several(stores: Sequence[RunStore]) -> None:
    if len(stores) < 2:
        raise UsageError("a comparison takes two or more runs")
    seen: set[str] = set()
    for store in stores:
        path = str(store.directory.resolve())
        if path in seen:
            raise UsageError(f"{store.directory} is named twice; compare different runs")
        seen.add(path)
        if type(store.settings) is not type(stores[0].settings):
            kinds = [f"{one.directory} holds {noun(one)}s" for one in (stores[0], store)]
            raise UsageError(f"{' and '.join(kinds)}; live trials and recorded conversations cannot be compared")


def _labels(stores: Sequence[RunStore]) -> list[str]:
    labels = [store.settings.model.spec for store in stores]
    if len(set(labels)) < len(labels):
        labels = [store.directory.resolve().name for store in stores]
    if len(set(labels)) < len(labels):
        labels = [str(store.directory) for store in stores]
    return labels


def _shared(data: Sequence[dict[str, str]]) -> tuple[list[str], list[str]]:
    """Ids in all runs, and among them those whose content differs (which are not shared)."""
    everywhere = [key for key in data[0] if all(key in other for other in data[1:])]
    changed = [key for key in everywhere if len({one[key] for one in data}) > 1]
    return [key for key in everywhere if key not in set(changed)], changed


def _names(
    stores: Sequence[RunStore], labels: Sequence[str], metrics: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """The figures to compare, and a note on those that some run lacks."""
    live = isinstance(stores[0].settings, RolloutConfig)
    known = OF_TRIALS if live else [measure.name for measure in FIGURES]
    usual, aside = _of_trials(stores) if live else (SHOWN, [])
    chosen: list[str] = []
    lacking: dict[str, list[str]] = {}
    for name in dict.fromkeys(usual if metrics is None else metrics):
        if measure_of(name) is None:
            raise UsageError(f"unknown figure {name!r}; known: {', '.join(known)}")
        without = [label for store, label in zip(stores, labels, strict=True) if not _has(store, name)]
        if not without:
            chosen.append(name)
        elif metrics is not None:
            for said in _open(stores, labels):
                raise UsageError(f"{name}: not scored yet: {said}")
            raise UsageError(f"{name}: no scores in {', '.join(without)}; score it first, or choose others")
        elif len(without) < len(stores):
            lacking.setdefault(", ".join(without), []).append(name)
    if not chosen:
        for said in _open(stores, labels):
            raise UsageError(f"nothing to compare yet: {said}")
        raise UsageError(f"{' and '.join(labels)} have no scored figure in common; choose some with --metrics")
    notes = [f"not compared, for {runs} has no scores: {', '.join(names)}" for runs, names in lacking.items()]
    return chosen, [*notes, *(aside if metrics is None else ())]


def _of_trials(stores: Sequence[RunStore]) -> tuple[list[str], list[str]]:
    """What `OF_TRIALS` stands for in these runs, and a note on figures that are compared only where asked for."""
    most = min(store.rollout.trials for store in stores)
    rows = [one for store in stores for one in trial.rows_of(store)]
    parts = sorted({name for one in rows for name in one.values if name.startswith("reward.")})
    hats = ["pass^1", *([f"pass^{most}"] if most > 1 else [])]
    between = f"pass^2{f' to pass^{most - 1}' if most > 3 else ''}"
    notes = [f"not compared unless asked for (--metrics): {between}"] if most > 2 else []
    return [*hats, "reward", *parts, "user_error"], notes


def _has(store: RunStore, name: str) -> bool:
    """Whether a run has scores for a figure; one of trials, a trial that counts."""
    scorer = _scorer(store, name)
    return scorer is not None and (
        not isinstance(store.settings, RolloutConfig) or bool(sample(store, name, scorer).units)
    )


def _scorer(store: RunStore, name: str) -> str | None:
    scorer = scorer_of(name, {protocol: judges(store, protocol) for protocol in ("turn", "workflow")})
    return scorer if scorer in store.scorers() else None


def _remedy(store: RunStore, fixed: Sequence[str]) -> str:
    """What to do about differences, given the settings among them that are fixed when a run is made."""
    if not fixed:
        return "score them alike (turngap score)"
    return f"repeat turngap {COMMANDS[type(store.settings)]} for one of them with the same {', '.join(fixed)}"


def _settings(first: RunStore, other: RunStore, names: Iterable[str]) -> dict[str, bool]:
    """Each difference once, whatever number of figures it touches, and whether scoring again does away with it."""
    scorers = dict.fromkeys((_scorer(first, name) or "", _scorer(other, name) or "") for name in names)
    found: dict[str, bool] = {}
    for pair in scorers:
        lines = settings_that_differ(first, other, pair)
        if isinstance(first.settings, RolloutConfig):
            found.update({line: can_be_scored_again(line, pair[0]) for line in lines})
            continue
        protocol = pair[0].partition(":")[0]
        parsers = [scored_with(store, protocol)["tool_parser"] for store in (first, other)]
        if parsers[0] != parsers[1]:
            lines.append(f"tool_parser is {parsers[0]!r}, there {parsers[1]!r}")
        for line in lines:
            found[line] = found.get(line, True) and can_be_scored_again(line, pair[0])
    return found


def _pairing(stores: Sequence[RunStore], name: str, allowed: set[str], seed: int) -> Pairing:
    scorers = [_scorer(store, name) or "" for store in stores]
    samples = [sample(store, name, scorer) for store, scorer in zip(stores, scorers, strict=True)]
    measure = samples[0].measure
    own = [columns(measure, one.units) for one in samples]
    common = set(own[0].places).intersection(*(one.places for one in own[1:]))
    places = sorted(place for place in common if place[0] in allowed)
    kept = set(places)
    paired: list[list[Unit]] = [
        [unit for unit in one.units if (unit.conversation, unit.decision) in kept] for one in samples
    ]
    return Pairing(
        name=name,
        measure=measure,
        judge=scorers[0].partition(":")[2],
        places=tuple(places),
        columns=tuple(columns(measure, units) for units in paired),
        shared=tuple(compute(measure, units, seed=seed) for units in paired),
        full=tuple(compute(measure, one.units, seed=seed) for one in samples),
        left_out=tuple(len(one.places) - len(places) for one in own),
    )


def _coverage(runs: Sequence[Contestant], shared: int, what: str) -> list[str]:
    if all(run.conversations == shared for run in runs):
        return []
    sizes = ", ".join(f"{run.label} has {run.conversations}" for run in runs)
    notes = [f"the runs cover different {what}s ({sizes}): compared on the {shared} that all of them have"]
    notes += [f"{run.label} lacks {_count(len(run.lacks), what)}: {_listed(run.lacks)}" for run in runs if run.lacks]
    return notes


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
