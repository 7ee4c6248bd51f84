"""Chain arithmetic: what per-decision rates predict for whole conversations, were decisions independent.

A workflow is a chain of decisions. If each text decision succeeded with p_text and each tool decision with p_tool, and
none had to do with any other, a conversation would complete with p_text^n_text * p_tool^n_tool; the prediction for a
data set is the mean over its conversations. Beside it stands what was measured. Where the measured figure is higher,
errors are recovered from or lie together in hard conversations; where it is lower, errors breed errors.

The first half of this module is pure arithmetic on rates and lengths, for anybody's aggregate figures; `chain` feeds it
from a run. A reader finds formulas and their limits in docs/gap.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from turngap.analysis.scorer import headline
from turngap.analysis.walk import walk
from turngap.data import Figure, Score, Trajectory, decisions
from turngap.metrics.interval import cluster_interval, wilson
from turngap.metrics.paired import Difference, difference_of
from turngap.metrics.resample import RESAMPLES, Numbers, interval_of, ratio
from turngap.runs.store import RunStore

TARGETS = (0.5, 0.8, 0.9, 0.95)
"""Completions for which `chain` says what they would need."""
_HALVINGS = 60  # of [0, 1]: beyond what a double can tell apart


class Length(msgspec.Struct, frozen=True):
    """How many decisions a conversation has, and how many conversations are like that."""

    n_text: int
    n_tool: int
    count: int = 1


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """What a wanted completion asks of single decisions."""

    completion: float
    rate: float
    """The success rate that every decision, text or tool, would need."""
    ci95: tuple[float, float] | None
    """How far the rate depends on the conversations at hand: cluster bootstrap over their lengths."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One way to say what a good decision is, and the workflow figure that belongs to it."""

    name: str
    """``judged``, ``flawless`` or ``with_retries``."""
    meaning: str
    p_text: Figure
    p_tool: Figure
    """Success of one decision on recorded history (at the first attempt)."""
    attempts: int
    """Attempts that a replay gives to each decision; the chance of a decision is 1 - (1 - p)^attempts."""
    predicted: Figure
    """Completion under independence; n is the conversations, the interval draws them again with their decisions."""
    measured_name: str
    measured: Figure
    """Over the same conversations."""
    gap: Difference
    """Measured less predicted; the interval puts those of both together (`difference_of`)."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The chain arithmetic of one run, over its tool-requiring conversations."""

    links: tuple[Link, ...]
    """Those that the run has scores for."""
    lengths: tuple[Length, ...]
    """The mix of conversations."""
    targets: tuple[Needed, ...]
    """For `TARGETS`."""

    def needed(self, completion: float) -> float | None:
        """The rate of every decision at which this mix of conversations completes so often; see `needed`."""
        return needed(completion, self.lengths)


def all_turns(p_text: float, n_text: int, p_tool: float, n_tool: int) -> float | None:
    """The success rate over all decisions: the mean of both kinds weighted by how many there are; None for none."""
    total = n_text + n_tool
    return (p_text * n_text + p_tool * n_tool) / total if total else None


def completion(p_text: float, p_tool: float, lengths: Iterable[Length]) -> float | None:
    """Mean over conversations of p_text^n_text * p_tool^n_tool; None without conversations."""
    mix = list(lengths)
    total = sum(one.count for one in mix)
    if not total:
        return None
    return math.fsum(one.count * p_text**one.n_text * p_tool**one.n_tool for one in mix) / total


def needed(wanted: float, lengths: Iterable[Length], *, p_text: float | None = None) -> float | None:
    """The inverse: the rate at which so many conversations complete.

    Args:
        wanted: completion, in [0, 1].
        lengths: the mix of conversations.
        p_text: rate of text decisions, where it is known; the answer is then the rate of tool decisions. None: the
            answer is the one rate of all decisions.

    Returns:
        The rate, by bisection (completion grows with it); None where no rate suffices, or without conversations.

    Raises:
        ValueError: `wanted` is no fraction.
    """
    if not 0 <= wanted <= 1:
        raise ValueError(f"a completion lies in [0, 1], not {wanted}")
    mix = list(lengths)

    def reached(rate: float) -> float | None:
        return completion(rate if p_text is None else p_text, rate, mix)

    most = reached(1.0)
    if most is None or most < wanted:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if (reached(middle) or 0.0) >= wanted else (middle, high)
    return high


def chance(p: float, attempts: int) -> float:
    """Success within so many independent attempts: 1 - (1 - p)^attempts."""
    return 1 - (1 - p) ** attempts


class _Row(msgspec.Struct):
    """What one tool-requiring conversation brings along."""

    n_text: int
    n_tool: int
    good: dict[str, float] = {}
    """``turn.text``, ``turn.tool``, ``strict.text``, ``strict.tool`` -> successes among its scored decisions."""
    scored: dict[str, int] = {}
    """The same -> decisions that could be measured."""
    outcome: dict[str, float] = {}
    """``workflow``, ``replay``, ``flawless`` -> 0 or 1, where measured."""


class _Basis(msgspec.Struct, frozen=True):
    """How a link is put together."""

    name: str
    meaning: str
    decisions: str
    """Prefix in `_Row.good`."""
    outcome: str
    measured_name: str
    retries: bool = False


_BASES = (
    _Basis("judged", "the judge approves", "turn", "workflow", "workflow.success"),
    _Basis("flawless", "exact calls, none uncalled for", "strict", "flawless", "replayed without an error"),
    _Basis("with_retries", "the same, in the attempts of a replay", "strict", "replay", "replay.completed", True),
)


def chain(store: RunStore, *, seed: int = 0) -> Chain:
    """Set prediction and measurement of a run side by side, over its tool-requiring conversations.

    Rates are taken from the same conversations, so that easy talk elsewhere does not enter the prediction.

    Args:
        store: an open run; only read.
        seed: of what is drawn at random.
    """
    rows = _rows(store)
    attempts = store.config.replay.attempts
    links = [_link(rows, basis, attempts if basis.retries else 1, seed) for basis in _BASES]
    mix = Counter((row.n_text, row.n_tool) for row in rows)
    lengths = tuple(Length(*size, count) for size, count in sorted(mix.items()))
    targets = tuple(_target(wanted, lengths, seed) for wanted in TARGETS) if lengths else ()
    return Chain(links=tuple(link for link in links if link is not None), lengths=lengths, targets=targets)


def _rows(store: RunStore) -> list[_Row]:
    found: dict[str, _Row] = {}
    for conversation in store.conversations():
        kinds = Counter(decision.kind for decision in decisions(conversation))
        if not kinds["tool"]:
            continue
        row = found[conversation.id] = _Row(kinds["text"], kinds["tool"])
        trajectory = store.trajectory(conversation.id)
        if isinstance(trajectory, Trajectory):
            flawless = trajectory.completed and walk(conversation, trajectory).first is None
            row.outcome["flawless"] = float(flawless)
    for protocol in ("turn", "strict", "workflow", "replay"):
        for _, score in store.scores(headline(store, protocol)):
            if score.conversation in found and not score.errored:
                _note(found[score.conversation], protocol, score)
    return list(found.values())


def _note(row: _Row, protocol: str, score: Score) -> None:
    if score.decision is None:
        row.outcome[protocol] = float(score.success)
        return
    place = f"{protocol}.{score.kind}"
    row.good[place] = row.good.get(place, 0.0) + score.success
    row.scored[place] = row.scored.get(place, 0) + 1


def _link(rows: Sequence[_Row], basis: _Basis, attempts: int, seed: int) -> Link | None:
    """One basis; None where nothing of it was scored."""
    text, tool = f"{basis.decisions}.text", f"{basis.decisions}.tool"
    rows = [row for row in rows if row.scored.get(text) or row.scored.get(tool)]
    if not rows:
        return None
    worst, best = (_Rates(rows, text, tool, attempts, worth).predicted for worth in (0.0, 1.0))
    value, ci95 = interval_of(worst, best, len(rows), seed=seed)
    predicted = Figure(value=value, n=len(rows) if value is not None else 0, ci95=ci95)
    outcomes = [row.outcome[basis.outcome] for row in rows if basis.outcome in row.outcome]
    successes = round(math.fsum(outcomes))
    measured = Figure(
        value=successes / len(outcomes) if outcomes else None, n=len(outcomes), ci95=wilson(successes, len(outcomes))
    )
    return Link(
        name=basis.name,
        meaning=basis.meaning,
        p_text=_rate(rows, text),
        p_tool=_rate(rows, tool),
        attempts=attempts,
        predicted=predicted,
        measured_name=basis.measured_name,
        measured=measured,
        gap=_gap(predicted, measured),
    )


def _gap(predicted: Figure, measured: Figure) -> Difference:
    if predicted.value is None or predicted.ci95 is None or measured.value is None or measured.ci95 is None:
        return Difference(value=None, n=0, clusters=0)
    value, ci95 = difference_of((predicted.value, predicted.ci95), (measured.value, measured.ci95))
    return Difference(value=value, n=measured.n, clusters=measured.n, ci95=ci95)


class _Rates:
    """The prediction as a statistic of weighings: rates are estimated anew from each of them.

    Behind the conversations stands an unseen one, of middling length, each of whose decisions is worth `unseen`.
    """

    def __init__(self, rows: Sequence[_Row], text: str, tool: str, attempts: int, unseen: float) -> None:
        kinds = (text, tool)
        self._masses = [_and_mean([float(row.scored.get(kind, 0)) for row in rows]) for kind in kinds]
        self._sums = [
            np.append([row.good.get(kind, 0.0) for row in rows], unseen * masses[-1])
            for kind, masses in zip(kinds, self._masses, strict=True)
        ]
        self._lengths = [_and_mean([float(row.n_text) for row in rows]), _and_mean([float(row.n_tool) for row in rows])]
        self._attempts = attempts

    def predicted(self, counts: Numbers) -> Numbers:
        """Completion under independence in every draw; NaN where a rate is unknown that the draw needs."""
        product = np.ones_like(counts)
        for sums, masses, lengths in zip(self._sums, self._masses, self._lengths, strict=True):
            if not lengths.any():
                continue
            rate = 1 - (1 - ratio(counts, sums, masses)) ** self._attempts
            product *= np.where(lengths > 0, rate[:, np.newaxis] ** lengths, 1.0)
        return _mean(counts, product)


def _and_mean(numbers: Sequence[float]) -> Numbers:
    found: Numbers = np.append(numbers, math.fsum(numbers) / len(numbers))
    return found


def _mean(counts: Numbers, values: Numbers) -> Numbers:
    """Mean over drawn conversations of values that differ from draw to draw; one that was not drawn cannot spoil it."""
    total: Numbers = np.where(counts > 0, counts * values, 0.0).sum(axis=1) / counts.sum(axis=1)
    return total


def _rate(rows: Sequence[_Row], kind: str) -> Figure:
    found = [(row.good.get(kind, 0.0), row.scored[kind]) for row in rows if row.scored.get(kind)]
    n = sum(scored for _, scored in found)
    if not n:
        return Figure(value=None, n=0)
    ci95 = cluster_interval(
        [good / scored for good, scored in found], range(len(found)), weights=[scored for _, scored in found]
    )
    return Figure(value=math.fsum(good for good, _ in found) / n, n=n, ci95=ci95)


def _target(wanted: float, lengths: Sequence[Length], seed: int) -> Needed:
    """Every mix reaches any completion at rate 1, so there always is a rate."""
    counts = np.array([one.count for one in lengths], dtype=np.float64)
    total = round(counts.sum())
    sizes = np.array([float(one.n_text + one.n_tool) for one in lengths])
    random = np.random.default_rng(seed)
    mixes = random.multinomial(total, counts / total, RESAMPLES).astype(np.float64)
    low, high = np.zeros(len(mixes)), np.ones(len(mixes))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = (mixes * middle[:, np.newaxis] ** sizes).sum(axis=1) / total >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    rate = needed(wanted, lengths)
    ends = np.percentile(high, (2.5, 97.5))
    value = 1.0 if rate is None else rate
    ci95 = None if total < 2 else (min(float(ends[0]), value), max(float(ends[1]), value))
    return Needed(completion=wanted, rate=value, ci95=ci95)
