"""The release gate chooser: one rule of a reader's choice, and which of the loaded runs it lets through.

The rule is written as the TOML that `turngap gate` reads, read by the same code, and judged by the same evaluation
(`turngap.analysis.gate`); the same bound on every usual figure comes from `turngap.analysis.whatif`. So the page cannot
say another thing than the command: it shows the file and the command line that give its answer.

Non-goals: gates of several rules; those stay in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turngap.analysis.figure import FIGURES
from turngap.analysis.gate import GateResult, Outcome, Ruling, evaluate
from turngap.analysis.rule import LOWER_IS_BETTER, Rule, parse
from turngap.analysis.whatif import RunTrials, WhatIf, let_through, what_if
from turngap.data import Figure
from turngap.errors import DataError
from turngap.metrics.rounding import decimals
from turngap.report.ruling import verdict
from turngap.web.opened import Opened

KINDS = {"min": "at least", "max": "at most", "max_drop": "drops at most"}
"""Kind of bound -> how it is said."""
LEVELS = (80.0, 90.0, 95.0, 99.0)
"""Confidences that are offered, in percent."""
FIRST = ("turn.success", "reward.db")
"""Figures that are measured where nothing was chosen."""
BOUND = 60.0
_ENDS = ("workflow.success", "replay.completed")
_OF_TRIALS = ("pass^1",)
_NONE = "no baseline was chosen"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader chose."""

    metric: str = ""
    """Empty: the first of `FIRST` that a run has."""
    kind: str = "min"
    """One of `KINDS`."""
    bound: float = BOUND
    """In percent, or points for ``max_drop``."""
    confidence: float | None = None
    """In percent; None: the value alone is held against the bound."""
    max_errored: int = 0
    baseline: str = ""
    """Id of a run, for ``max_drop``; empty: the first one."""


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says about one run."""

    run: str
    label: str
    live: bool
    result: GateResult
    """As `turngap gate` gives it, of one rule."""
    ended_by: str
    """The figure of what is wanted in the end: workflow success, or pass^k of live trials."""
    ended: Figure
    in_the_end: Outcome | None
    """What the same bound on that figure says; None where no bound can be put on it (a bound from above)."""
    let_through: bool | None
    """Whether the gate passes a run that fails in the end; None where one of the two is undecided."""

    @property
    def ruling(self) -> Ruling:
        """Of the one rule."""
        return self.result.rulings[0]

    @property
    def verdict(self) -> str:
        """The result in one line, the words of `turngap gate`."""
        return verdict(self.result)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The chooser with its answer."""

    wish: Wish
    """With defaults filled in."""
    metrics: tuple[tuple[str, str], ...]
    """Figures that can be chosen, with their meaning: those that some run has measured."""
    rule: Rule | None
    """None where the wish makes no rule."""
    problem: str
    """Why it makes none; empty where it does."""
    toml: str
    """The file for `turngap gate --rules`."""
    passed: tuple[Passed, ...]
    """In the order of the runs."""
    tables: tuple[WhatIf, ...]
    """The bound on every usual figure: one table for recorded conversations, one for live trials."""

    @property
    def finding(self) -> str:
        """Who comes through and should not, in one sentence."""
        through = [one.label for one in self.passed if one.let_through]
        came = [one.label for one in self.passed if one.result.outcome is Outcome.PASS]
        if not came:
            return "No loaded run passes this gate."
        said = f"{len(came)} of {len(self.passed)} runs pass this gate: {', '.join(came)}."
        if through:
            return f"{said} Of these, {', '.join(through)} would fail the same bound on what gets finished."
        return said


def choices(runs: Iterable[Opened]) -> tuple[tuple[str, str], ...]:
    """The figures of runs that a rule can be on, those of recorded conversations first, with what they say."""
    found = {name for one in runs for name, figure in one.metrics.items() if figure.n}
    meanings = {measure.name: measure.meaning for measure in FIGURES}
    order = {name: at for at, name in enumerate(meanings)}
    kept = [name for name in found if _can_be_ruled(name)]
    kept.sort(key=lambda name: (order.get(name, len(order)), _natural(name)))
    return tuple((name, meanings.get(name, "")) for name in kept)


def choose(runs: Sequence[Opened], wish: Wish) -> Choice:
    """Hold all runs against the rule that a reader chose.

    A wish that makes no rule gives a `Choice` that says why, in the words of `turngap gate`.

    Raises:
        HarnessFault: stored scores contradict each other.
    """
    metrics = choices(runs)
    wish = _filled(wish, runs, metrics)
    toml = _toml(wish)
    try:
        (rule,) = parse(toml)
    except DataError as error:
        return Choice(wish=wish, metrics=metrics, rule=None, problem=str(error), toml=toml, passed=(), tables=())
    baseline = next((one.store for one in runs if one.id == wish.baseline), None)
    if rule.max_drop is None:
        baseline = None
    results = [evaluate([rule], one.store, baseline, no_baseline=_NONE) for one in runs]
    tables: list[WhatIf] = []
    ends: dict[str, tuple[WhatIf, RunTrials]] = {}
    for live in (False, True):
        of_kind = [(one, result) for one, result in zip(runs, results, strict=True) if one.live is live]
        if not of_kind or rule.max is not None or rule.metric in LOWER_IS_BETTER:
            continue
        table = what_if([rule], [(one.store, result) for one, result in of_kind], baseline, no_baseline=_NONE)
        tables.append(table)
        ends |= {one.id: (table, trials) for (one, _), trials in zip(of_kind, table.runs, strict=True)}
    passed = tuple(_passed(one, result, ends.get(one.id)) for one, result in zip(runs, results, strict=True))
    return Choice(wish=wish, metrics=metrics, rule=rule, problem="", toml=toml, passed=passed, tables=tuple(tables))


def _passed(one: Opened, result: GateResult, end: tuple[WhatIf, RunTrials] | None) -> Passed:
    names = _OF_TRIALS if one.live else _ENDS
    last = None
    if end is not None:
        table, trials = end
        names = (table.wanted, *names)
        last = next(trial.outcome for trial in trials.trials if trial.metric == table.wanted)
    ended_by = next((name for name in names if one.figure(name).n), names[0])
    return Passed(
        run=one.id,
        label=one.label,
        live=one.live,
        result=result,
        ended_by=ended_by,
        ended=one.figure(ended_by),
        in_the_end=last,
        let_through=None if last is None else let_through(result.outcome, last),
    )


def _filled(wish: Wish, runs: Sequence[Opened], metrics: Sequence[tuple[str, str]]) -> Wish:
    names = [name for name, _ in metrics]
    metric = wish.metric or next((name for name in (*FIRST, *names) if name in names), FIRST[0])
    baseline = wish.baseline if any(one.id == wish.baseline for one in runs) else (runs[0].id if runs else "")
    return msgspec.structs.replace(wish, metric=metric, baseline=baseline)


def _toml(wish: Wish) -> str:
    """The rule as a file; what is wrong with it is told by whoever reads it."""
    kind = wish.kind if wish.kind in KINDS else "min"
    lines = ["[[rule]]", f'metric = "{_quoted(wish.metric)}"', f"{kind} = {_fraction(wish.bound)}"]
    if wish.confidence is not None:
        lines.append(f"confidence = {_fraction(wish.confidence)}")
    if wish.max_errored:
        lines.append(f"max_errored = {wish.max_errored}")
    return "\n".join(lines) + "\n"


def _fraction(percent: float) -> str:
    return f"{percent / 100:.10g}" if abs(percent) < 1e9 else "1e9"


def _quoted(text: str) -> str:
    return "".join(f"\\u{ord(sign):04x}" if sign in '"\\' or ord(sign) < 0x20 else sign for sign in text)


def _can_be_ruled(name: str) -> bool:
    try:
        parse(_toml(Wish(metric=name)))
    except DataError:
        return False
    return True


def _natural(name: str) -> tuple[str, int, str]:
    """Names with numbers in the order of the numbers: horizon.2 before horizon.10."""
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if digits else -1, name


def figure_text(figure: Figure) -> str:
    """A figure in one line, ``31.2% [20.1, 44.0], n 41``; a dash where nothing was measured."""
    if figure.value is None:
        return "–"
    ends = "" if figure.ci95 is None else f" [{decimals(100 * figure.ci95[0])}, {decimals(100 * figure.ci95[1])}]"
    return f"{decimals(100 * figure.value)}%{ends}, n {figure.n}"
