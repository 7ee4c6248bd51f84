"""How far a judge can be believed: draw verdicts for people to label, and hold the judge against their labels.

The sample is drawn from strata (what the judge said x kind of unit), as evenly as their sizes allow, so that both kinds
of error are seen however rare one verdict is. Nothing of that reaches the people: items come in random order, without
the verdict. What the labels mean for all units of the run, `turngap.metrics.misjudged` computes.

An item's name is a digest of the unit and of what the model did there. So a label stays true when another judge judges
the run, and is refused, instead of being held against something else, when the answer is no longer the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turngap import jsonio
from turngap.data import Conversation, Decision, Failure, Figure, Prediction, Trajectory, Verdict, decisions
from turngap.data import requires_tools as with_tools
from turngap.errors import DataError, UsageError
from turngap.metrics.agreement import Agreement, cohen_kappa
from turngap.metrics.interval import wilson
from turngap.metrics.misjudged import Assessment, Stratum, Transported, assess, transport
from turngap.protocols.scoring import predictions_of, scored_with
from turngap.runs.store import RunStore

FORMAT = "turngap-calibration/1"
JUDGED: dict[str, tuple[str, ...]] = {"turn": ("text", "tool"), "workflow": ("tools", "chat")}
"""Judged protocol -> kinds of units."""
_FIGURES = {
    "turn": {"turn.success": ("text", "tool"), "turn.success.text": ("text",), "turn.success.tool": ("tool",)},
    "workflow": {"workflow.success": ("tools",), "workflow.success.all": ("tools", "chat")},
}
"""Judged protocol -> figure -> kinds of units that it is over."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One unit for people to label."""

    id: str
    protocol: str
    kind: str
    conversation: Conversation
    decision: Decision | None
    """None for a whole conversation."""
    result: Prediction | Trajectory
    """What the model did."""
    verdict: Verdict
    """What the judge said; for who wants to see it."""


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said about one item."""

    item: str
    good: bool | None
    """None: the person could not tell."""
    file: str = ""
    line: int = 0
    """Where it stands, for messages."""


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, as the judge has it and as people would have it."""

    labelled: int
    """Labels behind it."""
    units: int
    """Judged units that it is over."""
    assessment: Assessment | None
    """None where a stratum has units but no label (see `Calibration.notes`), or there are no units."""
    elsewhere: dict[str, Transported] = {}
    """Run -> the same figure of that run, corrected by this run's labels."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A judge held against people."""

    judge: str
    protocol: str
    labels: int
    unclear: int
    """Labels that say that nobody can tell; left out."""
    table: dict[str, int]
    """Labelled items: ``approved_good``, ``approved_bad``, ``rejected_good``, ``rejected_bad``."""
    sample: Agreement
    """Agreement in the labelled sample itself, which holds rare verdicts more often than the run does."""
    figures: dict[str, Corrected]
    first_try: Figure
    """Share of approvals among verdicts that could be read at once."""
    asked_again: Figure
    """The same among verdicts for which the judge had to be asked again."""
    notes: tuple[str, ...]


class Judged(msgspec.Struct, frozen=True):
    """One judged unit, small."""

    item: str
    conversation: str
    decision: int | None
    kind: str
    approved: bool
    asks: int


def judged(store: RunStore, protocol: str, judge: str) -> list[Judged]:
    """Every unit of a run that a judge gave a verdict on, in the order of the data.

    Raises:
        UsageError: the judge gave none.
    """
    found = [
        Judged(item.id, item.conversation.id, item.decision.index if item.decision else None, item.kind, *_said(item))
        for item in each_item(store, protocol, judge, store.conversation_ids())
    ]
    if not found:
        raise UsageError(
            f"{store.directory}: no {protocol} verdicts of judge {judge!r}; run turngap score with --judge {judge}"
        )
    return found


def draw(store: RunStore, *, protocol: str, judge: str, n: int, seed: int) -> list[Item]:
    """Draw items for people to label, in random order.

    Args:
        store: an open run; only read.
        protocol: ``turn`` or ``workflow``.
        judge: whose verdicts are to be held against the labels.
        n: how many; fewer where the run has fewer.
        seed: of the draw; equal input gives equal output.

    Raises:
        UsageError: the judge gave no verdicts.
    """
    strata: dict[tuple[str, bool], list[Judged]] = {}
    for unit in judged(store, protocol, judge):
        strata.setdefault((unit.kind, unit.approved), []).append(unit)
    chance = random.Random(seed)
    names = sorted(strata)
    sizes = even([len(strata[name]) for name in names], n)
    picked = [unit for name, size in zip(names, sizes, strict=True) for unit in chance.sample(strata[name], size)]
    places = {unit.item: rank for rank, unit in enumerate(chance.sample(picked, len(picked)))}
    wanted = dict.fromkeys(unit.conversation for unit in picked)
    items = [item for item in each_item(store, protocol, judge, wanted) if item.id in places]
    return sorted(items, key=lambda item: places[item.id])


def even(sizes: Sequence[int], n: int) -> list[int]:
    """Divide n among strata as evenly as their sizes allow; what is left over goes to the first ones that have more."""
    taken = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        open_strata = [index for index, size in enumerate(sizes) if taken[index] < size]
        share = max(1, left // len(open_strata))
        for index in open_strata:
            step = min(share, sizes[index] - taken[index], left)
            taken[index] += step
            left -= step
    return taken


def calibrate(
    store: RunStore,
    labels: Sequence[Label],
    *,
    protocol: str,
    judge: str,
    elsewhere: Sequence[RunStore] = (),
    seed: int = 0,
) -> Calibration:
    """Hold a judge against people.

    Args:
        store: the run from which the items were drawn; only read.
        labels: what people said.
        protocol: of the items.
        judge: whose verdicts the sample was drawn by.
        elsewhere: runs with verdicts of the same judge, whose figures are to be corrected by the same labels.
        seed: of the intervals.

    Raises:
        DataError: an item that is not of this run, or stands twice; with file and line.
        UsageError: the judge gave no verdicts here or there, or is another one there.
    """
    units = judged(store, protocol, judge)
    people = _known(labels, units)
    pairs = [(unit.approved, people[unit.item]) for unit in units if unit.item in people]
    table = Counter(f"{'approved' if one else 'rejected'}_{'good' if other else 'bad'}" for one, other in pairs)
    others = [(str(other.directory), judged(_same_judge(store, other, judge), protocol, judge)) for other in elsewhere]
    notes: list[str] = []
    figures = {
        name: _corrected(name, kinds, (units, people), others, notes, seed)
        for name, kinds in _FIGURES[protocol].items()
    }
    if any(label.good is None for label in labels):
        notes.append("items that people could not decide are left out; if they are many, say so beside the figures")
    asked = [unit for unit in units if unit.asks]
    return Calibration(
        judge=judge,
        protocol=protocol,
        labels=len(labels),
        unclear=sum(label.good is None for label in labels),
        table={name: table[name] for name in ("approved_good", "approved_bad", "rejected_good", "rejected_bad")},
        sample=cohen_kappa([one for one, _ in pairs], [other for _, other in pairs], seed=seed),
        figures=figures,
        first_try=_share(unit.approved for unit in asked if unit.asks == 1),
        asked_again=_share(unit.approved for unit in asked if unit.asks > 1),
        notes=tuple(dict.fromkeys(notes)),
    )


_People = dict[str, bool]


def _known(labels: Iterable[Label], units: Sequence[Judged]) -> _People:
    """Item -> good, of the labels that decide."""
    items = {unit.item for unit in units}
    seen: dict[str, Label] = {}
    for label in labels:
        before = seen.setdefault(label.item, label)
        if label.item not in items:
            problem = f"{label.item} is not of this run, or the model's answer has changed since; draw a new sample"
        elif before is not label:
            problem = f"{label.item} stands twice, first in line {before.line}; keep one"
        else:
            continue
        raise DataError(problem, file=label.file, line=label.line, field="item")
    return {item: label.good for item, label in seen.items() if label.good is not None}


def _corrected(
    name: str,
    kinds: Sequence[str],
    labelled: tuple[Sequence[Judged], _People],
    others: Sequence[tuple[str, Sequence[Judged]]],
    notes: list[str],
    seed: int,
) -> Corrected:
    units = [unit for unit in labelled[0] if unit.kind in kinds]
    people = labelled[1]
    count = sum(unit.item in people for unit in units)
    strata, empty = _strata(units, kinds, people)
    if empty:
        notes.append(f"{name} cannot be corrected: no label among {', '.join(empty)}")
    if empty or not units:
        return Corrected(labelled=count, units=len(units), assessment=None)
    moved: dict[str, Transported] = {}
    for run, theirs in others:
        over = [unit for unit in theirs if unit.kind in kinds]
        totals, approved = Counter(u.conversation for u in over), Counter(u.conversation for u in over if u.approved)
        if totals:
            moved[run] = transport(
                strata, list(totals.values()), [approved[conversation] for conversation in totals], seed=seed
            )
        raw = moved[run].raw if totals else None
        if raw is not None and moved[run].corrected.value is None:
            why = "more than its sensitivity allows" if raw > 1 else "less than its specificity allows"
            notes.append(
                f"{name} of {run} cannot be corrected: the judge approves {why} (the formula gives {raw:.3f}), "
                "so its errors must differ there"
            )
    return Corrected(labelled=count, units=len(units), assessment=assess(strata, seed=seed), elsewhere=moved)


def _strata(units: Sequence[Judged], kinds: Sequence[str], people: _People) -> tuple[list[Stratum], list[str]]:
    """The strata of a figure, and the names of those that have units and no label."""
    clusters = list(dict.fromkeys(unit.conversation for unit in units))
    found: list[Stratum] = []
    empty: list[str] = []
    for kind in kinds:
        for approved in (True, False):
            members = [unit for unit in units if unit.kind == kind and unit.approved is approved]
            said = [people[unit.item] for unit in members if unit.item in people]
            sizes = Counter(unit.conversation for unit in members)
            if members and not said:
                empty.append(f"{len(members)} {kind} units {'approved' if approved else 'rejected'} by the judge")
            found.append(
                Stratum(
                    approved=approved,
                    units=tuple(sizes[conversation] for conversation in clusters),
                    good=sum(said),
                    bad=len(said) - sum(said),
                )
            )
    return found, empty


def _same_judge(store: RunStore, other: RunStore, judge: str) -> RunStore:
    ours, theirs = (run.note("scoring", {}).get("judges", {}).get(judge) for run in (store, other))
    if ours != theirs:
        raise UsageError(f"{other.directory}: judge {judge!r} has other settings there, so its errors may be others")
    return other


def each_item(store: RunStore, protocol: str, judge: str, conversations: Iterable[str]) -> Iterator[Item]:
    """Every unit with a verdict, of some conversations; the result may have changed since the verdict was given."""
    for name in conversations:
        verdicts = store.verdicts(judge, protocol, name)
        if not verdicts:
            continue
        conversation = store.conversation(name)
        kind_of_all = "tools" if with_tools(conversation) else "chat"
        for decision, result in _results(store, conversation, protocol):
            _, verdict = verdicts.get(decision.index if decision else None, ("", None))
            if isinstance(verdict, Verdict) and not isinstance(result, Failure):
                yield Item(
                    id=_identity(protocol, name, decision, result),
                    protocol=protocol,
                    kind=decision.kind if decision else kind_of_all,
                    conversation=conversation,
                    decision=decision,
                    result=result,
                    verdict=verdict,
                )


def _results(
    store: RunStore, conversation: Conversation, protocol: str
) -> Iterator[tuple[Decision | None, Prediction | Trajectory | Failure]]:
    if protocol == "workflow":
        trajectory = store.trajectory(conversation.id)
        if trajectory is not None:
            yield None, trajectory
        return
    parser = scored_with(store, protocol)["tool_parser"]
    model = msgspec.structs.replace(store.config.model, tool_parser=parser)
    known = predictions_of(store, conversation, msgspec.structs.replace(store.config, model=model))
    for decision in decisions(conversation):
        if decision.index in known:
            yield decision, known[decision.index]


def _identity(protocol: str, conversation: str, decision: Decision | None, result: Prediction | Trajectory) -> str:
    did = result.message if isinstance(result, Prediction) else result.events
    # Letters first and last: no spreadsheet takes it for a number or a date.
    return f"v{jsonio.digest([protocol, conversation, decision.index if decision else None, did])[:14]}v"


def _said(item: Item) -> tuple[bool, int]:
    return item.verdict.success, item.verdict.asks if item.verdict.raw else 0


def _share(outcomes: Iterable[bool]) -> Figure:
    said = list(outcomes)
    if not said:
        return Figure(value=None, n=0)
    return Figure(value=sum(said) / len(said), n=len(said), ci95=wilson(sum(said), len(said)))
