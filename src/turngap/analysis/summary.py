"""Sum a run up: its figures with n and intervals, and the blame ledger. Reads stored score rows, asks nobody.

What a run says is decided here once; the table, `metrics.json` and everything that compares runs read the `Summary`.
Score rows are streamed and only their numbers are kept, so that memory does not grow with trajectories. The same scores
give the same document byte for byte, in whatever order they were stored.

Two promises are checked, not hoped for: every unit is a success or has exactly one cause, and each ledger adds up
to its figure's n plus what was errored. A run that breaks them is an internal error, never a quiet number.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from turngap.analysis.agreement import Agreement, AskedAgain, about_judging, agreement, asked_again
from turngap.analysis.figure import FIGURES, JUDGED, PER_CONVERSATION, Measure, Unit, compute, figure_name
from turngap.analysis.horizon import HorizonPoint, horizon
from turngap.analysis.remark import (
    about_data,
    about_errors,
    about_reading,
    about_repairs,
    about_scoring,
    about_spending,
)
from turngap.analysis.scorer import judges as judges_of
from turngap.config import FURTHER, PROTOCOLS
from turngap.data import Cause, Figure, Score, Spending, decisions
from turngap.data.prediction import RECORDED_CAUSES
from turngap.errors import HarnessFault
from turngap.protocols.horizon import starts
from turngap.protocols.scoring import scored_with
from turngap.protocols.stock import Answers, answers
from turngap.runs.store import RunStore

FORMAT = "turngap-metrics/1"

LEDGERS: dict[str, str] = {
    "text": "text.rouge1",
    "turn": "turn.success",
    "strict": "strict.exact",
    "strict.text": "strict.spurious",
    "replay": "replay.completed.all",
    "workflow": "workflow.success.all",
    "horizon": "horizon.1",
}
"""Ledger -> the figure over the same units. `strict.text` is what strict says about text decisions: no call was due."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Where the units of one protocol went; `success` and `causes` add up to `units`."""

    units: int
    success: int
    causes: dict[str, int]
    """Every `Cause` that there can be, in its order, with the number of units it explains."""

    @property
    def errored(self) -> int:
        """Units that could not be measured, and so stand in no denominator."""
        return sum(count for cause, count in self.causes.items() if Cause(cause).errored)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run says in numbers."""

    model: str
    protocols: tuple[str, ...]
    """Those that were scored, in table order."""
    judges: dict[str, tuple[str, ...]]
    """Judged protocol -> who judged; the first one gives the figures without ``@``."""
    n: dict[str, int]
    """Sizes of the data, and `errored`: decisions and conversations that some protocol could not measure."""
    metrics: dict[str, Figure]
    """Fractions in [0, 1] by name; see docs/figures.md."""
    horizon: tuple[HorizonPoint, ...] = ()
    """The measured curve, which is in `metrics` too, with its predictions; empty for a run without `horizon`."""
    per_conversation: dict[str, Figure]
    """Means of counts."""
    ledger: dict[str, Ledger]
    missing: dict[str, int]
    """Protocol (or ``turn@JUDGE``) -> units of the data that have no score yet. Empty for a whole run."""
    tokenizers: dict[str, int]
    """ROUGE tokenizer -> text turns it scored."""
    agreement: dict[str, Agreement]
    asked_again: dict[str, AskedAgain]
    """``turn@JUDGE`` or ``workflow@JUDGE`` of an LLM judge -> its verdicts for which it had to be asked again."""
    tool_parser: dict[str, str] = {}
    """Protocol -> the parser by which calls written as text were read; for closed loops, while they ran."""
    answers: dict[str, Answers] = {}
    """Answers on recorded history (``gold``) and in replays (``closed_loops``), and how they were read."""
    spending: Spending = Spending()
    """Tokens and money."""
    notes: tuple[str, ...]
    """What a reader has to know beside the numbers, one sentence each."""


class _Rows(msgspec.Struct):
    """What is kept of one scorer's rows."""

    units: list[Unit] = []
    errored: dict[tuple[str, int], str] = {}
    """Unit that could not be measured -> cause and reason."""
    success: dict[str, int] = {}
    causes: dict[str, Counter[str]] = {}
    tokenizers: Counter[str] = msgspec.field(default_factory=Counter)


def summarise(store: RunStore, *, seed: int = 0) -> Summary:
    """Compute every figure of a run.

    Args:
        store: an open run; only read.
        seed: of what is drawn at random.

    Raises:
        HarnessFault: score rows contradict each other, or a ledger does not add up.
    """
    judges = {protocol: names for protocol in JUDGED if (names := judges_of(store, protocol))}
    rows = _collect(store, judges)
    n = _sizes(store)
    errored: dict[tuple[str, int], str] = {}
    for found in rows.values():
        errored = {**found.errored, **errored}
    n["errored"] = len(errored)
    metrics: dict[str, Figure] = {}
    for measure in FIGURES:
        for scorer in _scorers(measure, judges):
            units = rows[scorer].units if scorer in rows else []
            protocol, _, judge = scorer.partition(":")
            metrics[figure_name(measure.name, judge, judges.get(protocol, ()))] = compute(measure, units, seed=seed)
    curve = horizon(store) if "horizon" in rows else None
    points = curve.points if curve else ()
    metrics |= {f"horizon.{point.h}": point.measured for point in points}
    replayed = rows["replay"].units if "replay" in rows else []
    ledger = _ledgers(rows, judges)
    _check(ledger, metrics)
    protocols = tuple(
        name for name in (*PROTOCOLS, *FURTHER) if any(scorer.partition(":")[0] == name for scorer in rows)
    )
    spending = msgspec.convert(store.note("spending", {}), Spending)
    judging = {name for names in judges.values() for name in names}
    summary = Summary(
        model=store.config.model.spec,
        protocols=protocols,
        judges=judges,
        n=n,
        metrics=metrics,
        horizon=points,
        per_conversation={measure.name: compute(measure, replayed, seed=seed) for measure in PER_CONVERSATION},
        ledger=ledger,
        missing=_missing(rows, judges, _expected(store, rows, n)),
        tokenizers=dict(sorted(rows["text"].tokenizers.items())) if "text" in rows else {},
        agreement=agreement(lambda scorer: _successes(rows[scorer]), judges, seed),
        asked_again=asked_again(store, judges),
        tool_parser={name: scored_with(store, name)["tool_parser"] for name in protocols},
        answers=answers(store),
        spending=msgspec.structs.replace(
            spending, judges={name: usage for name, usage in spending.judges.items() if name in judging}
        ),
        notes=(),
    )
    return msgspec.structs.replace(summary, notes=tuple(_notes(summary, store, errored.values())))


def to_document(summary: Summary) -> dict[str, Any]:
    """The content of `metrics.json`: plain values, strict JSON, keys in a fixed order.

    Where several judge, the figures and ledgers of the first one stand under its name too, as those of the others do.
    """
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(summary)}
    for protocol, judges in summary.judges.items():
        if len(judges) > 1:
            for table in (document["metrics"], document["ledger"]):
                named = {
                    f"{name}@{judges[0]}": value
                    for name, value in table.items()
                    if name.partition(".")[0] == protocol and "@" not in name
                }
                table.update(named)
    return document


def _collect(store: RunStore, judges: Mapping[str, Sequence[str]]) -> dict[str, _Rows]:
    """The rows of every scorer, those of judges left out who were not named in the latest scoring."""
    rows: dict[str, _Rows] = {}
    for scorer, score in store.scores():
        protocol, _, judge = scorer.partition(":")
        if protocol in JUDGED and judge not in judges.get(protocol, ()):
            continue
        _add(rows.setdefault(scorer, _Rows()), scorer, score)
    for scorer, found in rows.items():
        found.units.sort(key=_place)
        for before, after in pairwise(found.units):
            if _place(before) == _place(after):
                raise HarnessFault(f"two scores of {scorer!r} for {_place(after)}; please report this")
    return dict(sorted(rows.items()))


def _place(unit: Unit) -> tuple[str, int]:
    return unit.conversation, unit.decision


def _successes(rows: _Rows) -> dict[tuple[str, int], float]:
    return {_place(unit): unit.values["success"] for unit in rows.units}


def _add(rows: _Rows, scorer: str, score: Score) -> None:
    key = (score.conversation, -1 if score.decision is None else score.decision)
    if score.success == (score.cause is not None):
        raise HarnessFault(f"score of {scorer!r} for {key}: a success has no cause, the rest one; please report this")
    if score.errored:
        rows.errored[key] = f"{score.cause}: {score.detail or score.category}"
    else:
        # Every row brings its own copies of the same few names.
        values = {sys.intern(name): value for name, value in score.values.items()}
        rows.units.append(Unit(sys.intern(key[0]), key[1], sys.intern(score.kind), values))
    name = "strict.text" if score.protocol == "strict" and score.kind == "text" else score.protocol
    if name not in rows.causes:
        rows.causes[name] = Counter()
    if score.cause is None:
        rows.success[name] = rows.success.get(name, 0) + 1
    else:
        rows.causes[name][score.cause.value] += 1
    if score.protocol == "text" and score.category in ("default", "unicode"):
        rows.tokenizers[score.category] += 1


def _sizes(store: RunStore) -> dict[str, int]:
    """Count the data itself, since a run of few protocols has score rows for only part of it."""
    conversations = tool_conversations = text = tool = 0
    for conversation in store.conversations():
        kinds = Counter(decision.kind for decision in decisions(conversation))
        conversations += 1
        tool_conversations += kinds["tool"] > 0
        text += kinds["text"]
        tool += kinds["tool"]
    return {
        "conversations": conversations,
        "tool_conversations": tool_conversations,
        "decisions": text + tool,
        "text_decisions": text,
        "tool_decisions": tool,
        "errored": 0,
    }


def _scorers(measure: Measure, judges: Mapping[str, Sequence[str]]) -> list[str]:
    if measure.protocol not in JUDGED:
        return [measure.protocol]
    return [f"{measure.protocol}:{judge}" for judge in judges.get(measure.protocol, ())] or [measure.protocol]


def _ledgers(rows: Mapping[str, _Rows], judges: Mapping[str, Sequence[str]]) -> dict[str, Ledger]:
    found: dict[str, Ledger] = {}
    for name in LEDGERS:
        protocol = name.partition(".")[0]
        judged = judges.get(protocol, ())
        scorers = [f"{protocol}:{judge}" for judge in judged] if protocol in JUDGED else [protocol]
        for scorer in scorers:
            if scorer not in rows or name not in rows[scorer].causes:
                continue
            judge = scorer.partition(":")[2]
            causes = {cause.value: rows[scorer].causes[name][cause.value] for cause in RECORDED_CAUSES}
            success = rows[scorer].success.get(name, 0)
            found[figure_name(name, judge, judged)] = Ledger(
                units=success + sum(causes.values()), success=success, causes=causes
            )
    return found


def _check(ledger: Mapping[str, Ledger], metrics: Mapping[str, Figure]) -> None:
    for key, book in ledger.items():
        name, at, judge = key.partition("@")
        figure = metrics[LEDGERS[name] + at + judge]
        if figure.n != book.units - book.errored:
            raise HarnessFault(
                f"ledger {key}: {book.units} units less {book.errored} errored are not the {figure.n} of "
                f"{LEDGERS[name]}; please report this"
            )


def _expected(store: RunStore, rows: Mapping[str, _Rows], n: Mapping[str, int]) -> dict[str, int]:
    """Protocol -> units that the data has for it."""
    started = sum(len(starts(conversation)) for conversation in store.conversations()) if "horizon" in rows else 0
    return {
        "text": n["text_decisions"],
        "turn": n["decisions"],
        "strict": n["decisions"],
        "replay": n["conversations"],
        "workflow": n["conversations"],
        "horizon": started,
    }


def _missing(
    rows: Mapping[str, _Rows], judges: Mapping[str, Sequence[str]], expected: Mapping[str, int]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for scorer, kept in rows.items():
        protocol, _, judge = scorer.partition(":")
        lacking = expected[protocol] - len(kept.units) - len(kept.errored)
        if lacking:
            found[figure_name(protocol, judge, judges.get(protocol, ()))] = lacking
    return found


def _notes(summary: Summary, store: RunStore, reasons: Iterable[str]) -> Iterator[str]:
    yield from about_reading(store, summary.answers)
    yield from about_scoring(store, summary.tool_parser)
    yield from about_data(store)
    if set(summary.tokenizers) - {"default"}:
        parts = [f"{count} by the {name} tokenizer" for name, count in summary.tokenizers.items()]
        yield f"text turns scored: {', '.join(parts)}"
    yield from about_spending(summary.spending)
    if store.state() != "finished":
        yield "the run is not finished: repeat its command to go on"
    if summary.missing:
        parts = [f"{count} of {name}" for name, count in summary.missing.items()]
        yield f"partial run: no score yet for {', '.join(parts)}"
    yield from about_errors(reasons)
    if "replay" in summary.protocols:
        yield from about_repairs(store)
    yield from about_judging(summary.asked_again, summary.agreement)
