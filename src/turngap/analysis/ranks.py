"""The order of models under each protocol, where it flips, and the conversations that cause it.

All of it is over the same units (`turngap.analysis.panel`). A *flip* is a pair of models of which one leads under a
next-turn figure and the other, or neither, under a workflow figure: whoever had chosen by the cheap evaluation would
have chosen wrongly, or for nothing. Its *certainty* is the share of bootstrap draws of conversations that show it too.
What the cheap evaluation *hides* in one model are conversations in which every next turn was good and the workflow
failed all the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from turngap.analysis.figure import CONVERSATIONS, Kind
from turngap.analysis.panel import LOWER_IS_BETTER, Pairing, Panel, panel
from turngap.data import Figure
from turngap.metrics.rank import kendall_tau_b
from turngap.metrics.resample import draws, ratio
from turngap.runs.store import RunStore

_TIE = 1e-12
"""Values this close are equal: sums in another order differ in the last digits."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The models under one figure."""

    metric: str
    models: tuple[str, ...]
    """Best first; equal ones in the order they were given."""
    places: tuple[int, ...]
    """1-based place of each of `models`; equal ones share the better place."""
    values: tuple[Figure, ...]
    """Of each of `models`, over the shared units."""


class Tau(msgspec.Struct, frozen=True, kw_only=True):
    """How far two figures order the models alike."""

    first: str
    second: str
    tau: float | None
    """Kendall's tau-b, in [-1, 1]; None where one of the figures does not tell any two models apart."""
    ci95: tuple[float, float] | None
    """Cluster bootstrap over conversations: how far the order depends on the data, for these models. None where
    (nearly) no draw changes it: the conversations at hand then cannot say how far others would."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that speaks for one model under the cheap figure and for the other in the end."""

    conversation: str
    cheap: tuple[float, float]
    """Mean of the next-turn figure in it, of the leader and of the other."""
    outcome: tuple[float, float]
    """The workflow figure, likewise."""


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A lead under a next-turn figure that the workflow figure turns round or does not have."""

    cheap: str
    outcome: str
    leader: str
    """Ahead under `cheap`."""
    other: str
    lead: float
    """By how much, positive."""
    outcome_lead: float
    """Of the same model under `outcome`: negative for a flip, 0 where the lead vanishes."""
    certainty: float
    """Share of draws in which the lead is there and does not carry over."""
    conversations: tuple[Cause, ...]
    """Those in which the leader is at least as good under `cheap` and the other alone succeeds; strongest first."""


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """What a next-turn figure hides in one model."""

    model: str
    cheap: str
    outcome: str
    n: int
    """Conversations in which every unit of `cheap` is a success."""
    failed: tuple[str, ...]
    """Those of them that fail under `outcome`, in order."""


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """Orders, agreement between them, flips, and what is hidden."""

    models: tuple[str, ...]
    orders: tuple[Order, ...]
    taus: tuple[Tau, ...]
    """Every pair of figures; empty with fewer than three models."""
    flips: tuple[Flip, ...]
    """The most certain first."""
    hidden: tuple[Hidden, ...]


def ranks(
    stores: Sequence[RunStore], *, metrics: Sequence[str] | None = None, force: bool = False, seed: int = 0
) -> Ranks:
    """Rank the models of several runs; arguments and errors as for `turngap.analysis.panel.panel`."""
    return of_panel(panel(stores, metrics=metrics, force=force, seed=seed), seed=seed)


def of_panel(found: Panel, *, seed: int = 0) -> Ranks:
    """The same from runs that are already side by side."""
    models = tuple(run.label for run in found.runs)
    tables = [_Table(pairing, found.shared) for pairing in found.pairings if pairing.places]
    drawn = _drawn(tables, len(found.shared), seed)
    cheap = [table for table in tables if not table.whole and table.pairing.name not in LOWER_IS_BETTER]
    outcomes = [table for table in tables if table.whole]
    flips = [
        flip
        for one in cheap
        for other in outcomes
        for flip in _flips(models, one, other, drawn[one.pairing.name], drawn[other.pairing.name])
    ]
    return Ranks(
        models=models,
        orders=tuple(_order(models, table) for table in tables),
        taus=_taus(tables, drawn) if len(models) > 2 else (),
        flips=tuple(sorted(flips, key=lambda flip: -flip.certainty)),
        hidden=tuple(
            _hidden(label, at, one, other)
            for one in cheap
            if one.pairing.measure.kind is Kind.SHARE
            for other in outcomes
            for at, label in enumerate(models)
        ),
    )


class _Table:
    """One figure, summed by conversation for each model; higher is better."""

    def __init__(self, pairing: Pairing, conversations: Sequence[str]) -> None:
        self.pairing = pairing
        self.conversations = conversations
        self.whole = all(kind in CONVERSATIONS for kind in pairing.measure.over)
        sign = -1.0 if pairing.name in LOWER_IS_BETTER else 1.0
        place = {key: at for at, key in enumerate(conversations)}
        self.sums = np.zeros((len(pairing.columns), len(conversations)))
        self.masses = np.zeros_like(self.sums)
        for at, columns in enumerate(pairing.columns):
            for value, weight, conversation in zip(columns.values, columns.weights, columns.conversations, strict=True):
                self.sums[at, place[conversation]] += sign * value * weight
                self.masses[at, place[conversation]] += weight
        self.values = [math.fsum(sums) / math.fsum(masses) for sums, masses in zip(self.sums, self.masses, strict=True)]

    def mean(self, model: int, conversation: int) -> float | None:
        """Of one conversation; None where the figure has no unit in it."""
        mass = self.masses[model, conversation]
        return float(self.sums[model, conversation] / mass) if mass else None


_Draws = npt.NDArray[np.float64]
"""One row a draw, one column a model."""


def _drawn(tables: Sequence[_Table], conversations: int, seed: int) -> dict[str, _Draws]:
    """Every figure of every model in the same draws of conversations."""
    blocks: dict[str, list[_Draws]] = defaultdict(list)
    for counts in draws(conversations, seed=seed):
        for table in tables:
            models = zip(table.sums, table.masses, strict=True)
            blocks[table.pairing.name].append(
                np.stack([ratio(counts, sums, masses) for sums, masses in models], axis=1)
            )
    return {name: np.concatenate(parts) for name, parts in blocks.items()}


def _order(models: Sequence[str], table: _Table) -> Order:
    best = sorted(range(len(models)), key=lambda at: -table.values[at])
    places: list[int] = []
    for rank, at in enumerate(best):
        equal = rank > 0 and abs(table.values[at] - table.values[best[rank - 1]]) <= _TIE
        places.append(places[-1] if equal else rank + 1)
    return Order(
        metric=table.pairing.name,
        models=tuple(models[at] for at in best),
        places=tuple(places),
        values=tuple(table.pairing.shared[at] for at in best),
    )


def _taus(tables: Sequence[_Table], drawn: dict[str, _Draws]) -> tuple[Tau, ...]:
    found = []
    for at, first in enumerate(tables):
        for second in tables[at + 1 :]:
            values = [[round(value, 12) for value in table.values] for table in (first, second)]
            found.append(
                Tau(
                    first=first.pairing.name,
                    second=second.pairing.name,
                    tau=kendall_tau_b(values[0], values[1]),
                    ci95=_tau_interval(drawn[first.pairing.name], drawn[second.pairing.name]),
                )
            )
    return tuple(found)


def _tau_interval(first: _Draws, second: _Draws) -> tuple[float, float] | None:
    signs = [_signs(values) for values in (first, second)]
    both = (signs[0] * signs[1]).sum(axis=1)
    scale = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    defined = scale > 0
    if not defined.any():
        return None
    low, high = np.percentile(both[defined] / scale[defined], (2.5, 97.5))
    return (float(low), float(high)) if high - low > _TIE else None


def _signs(values: _Draws) -> _Draws:
    """Who is ahead in every pair of models, in every draw; a draw without units tells none apart."""
    one, other = np.triu_indices(values.shape[1], 1)
    difference = np.nan_to_num(values[:, one] - values[:, other])
    signs: _Draws = np.where(np.abs(difference) <= _TIE, 0.0, np.sign(difference))
    return signs


def _flips(
    models: Sequence[str], cheap: _Table, outcome: _Table, cheap_draws: _Draws, outcome_draws: _Draws
) -> list[Flip]:
    found = []
    for leader in range(len(models)):
        for other in range(len(models)):
            lead = cheap.values[leader] - cheap.values[other]
            outcome_lead = outcome.values[leader] - outcome.values[other]
            if lead <= _TIE or outcome_lead > _TIE:
                continue
            ahead = cheap_draws[:, leader] - cheap_draws[:, other] > _TIE
            kept = outcome_draws[:, leader] - outcome_draws[:, other] > _TIE
            found.append(
                Flip(
                    cheap=cheap.pairing.name,
                    outcome=outcome.pairing.name,
                    leader=models[leader],
                    other=models[other],
                    lead=lead,
                    outcome_lead=outcome_lead if abs(outcome_lead) > _TIE else 0.0,
                    certainty=float((ahead & ~kept).mean()),
                    conversations=_causes(cheap, outcome, leader, other),
                )
            )
    return found


def _causes(cheap: _Table, outcome: _Table, leader: int, other: int) -> tuple[Cause, ...]:
    found = []
    for at, conversation in enumerate(cheap.conversations):
        turns = cheap.mean(leader, at), cheap.mean(other, at)
        ends = outcome.mean(leader, at), outcome.mean(other, at)
        if turns[0] is None or turns[1] is None or ends[0] is None or ends[1] is None:
            continue
        if turns[0] >= turns[1] - _TIE and ends[0] < ends[1] - _TIE:
            found.append(Cause(conversation=conversation, cheap=(turns[0], turns[1]), outcome=(ends[0], ends[1])))
    return tuple(sorted(found, key=lambda cause: cause.cheap[1] - cause.cheap[0]))


def _hidden(label: str, model: int, cheap: _Table, outcome: _Table) -> Hidden:
    flawless = [
        at
        for at in range(len(cheap.conversations))
        if cheap.masses[model, at] > 0
        and cheap.sums[model, at] >= cheap.masses[model, at] - _TIE
        and outcome.masses[model, at] > 0
    ]
    failed = tuple(cheap.conversations[at] for at in flawless if outcome.sums[model, at] < outcome.masses[model, at])
    return Hidden(model=label, cheap=cheap.pairing.name, outcome=outcome.pairing.name, n=len(flawless), failed=failed)
