"""The rules of a release gate: read from TOML, strictly, so that a mistyped rule never passes for a kept one.

::

    [[rule]]
    metric = "workflow.success"   # a figure of docs/figures.md, with @JUDGE for a further judge's
    min = 0.40                    # exactly one of min, max and max_drop; fractions, as in metrics.json
    confidence = 0.95             # optional: the interval has to keep the bound, not only the value
    max_errored = 2               # optional: so many units of the figure may be errored; 0 if not given

Everything that is wrong with the file is one `DataError` that names file, line, rule and key. What a rule means for a
run is decided in `turngap.analysis.gate`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from turngap.analysis.figure import FIGURES, JUDGED, PER_CONVERSATION
from turngap.analysis.sample import measure_of
from turngap.errors import DataError

BOUNDS = ("min", "max", "max_drop")
LOWER_IS_BETTER = ("strict.spurious", "user_error")
"""Figures of which less is better, so that a drop does no harm."""

_KEYS = ("metric", *BOUNDS, "confidence", "max_errored")
_CONFIDENCE = (0.5, 0.999)
_HEADER = re.compile(r"^\s*\[\[\s*(?:rule|'rule'|\"rule\")\s*\]\]")
_NEAREST = 3  # names that a message about a typo offers


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One condition on one figure. Exactly one of `min`, `max` and `max_drop` is set."""

    metric: str
    min: float | None = None
    """The figure is at least this."""
    max: float | None = None
    """The figure is at most this."""
    max_drop: float | None = None
    """The figure is at most so much below the baseline's, in absolute terms: 0.02 is two percentage points."""
    confidence: float | None = None
    """Level of the two-sided interval that has to keep the bound; None: the value alone has to."""
    max_errored: int = 0
    """Units of the figure that may be errored, in the run and in the baseline each; of live trials, those that the user
    spoiled are among them."""

    @property
    def kind(self) -> str:
        """``min``, ``max`` or ``max_drop``."""
        return next(name for name in BOUNDS if getattr(self, name) is not None)

    @property
    def bound(self) -> float:
        """The number that the rule sets."""
        return float(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """The rule in words: ``workflow.success at least 40%, confidence 95%``."""
        words = {"min": "at least", "max": "at most", "max_drop": "drops at most"}[self.kind]
        sure = "" if self.confidence is None else f", confidence {100 * self.confidence:.10g}%"
        points = " points" if self.kind == "max_drop" else "%"
        return f"{self.metric} {words} {100 * self.bound:.10g}{points}{sure}"


def known_metrics() -> list[str]:
    """Every figure that a rule can be on.

    Judged ones also take ``@JUDGE``, ``horizon.8`` and ``pass^1`` any number, and those of trials a ``[SCENARIO]``.
    """
    return [*(measure.name for measure in FIGURES), "horizon.8", "pass^1", "reward", "user_error"]


def read(file: Path) -> tuple[Rule, ...]:
    """Read a file of rules.

    Raises:
        DataError: it cannot be read, or anything in it is not as the module docstring says.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=str(file)) from None
    return parse(text, file=str(file))


def parse(text: str, *, file: str = "") -> tuple[Rule, ...]:
    """Read rules from TOML text; `file` is its name in messages. Raises as `read`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not TOML: {error}", file=file) from None
    for key in document:
        if key != "rule":
            hint = _suggestion(key, ["rule"])
            raise DataError(f"unknown key {key!r}{hint}; a gate has [[rule]] tables only", file=file)
    tables = document.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError("rules are [[rule]] tables, with two brackets", file=file)
    if not tables:
        raise DataError("no rules: a gate needs at least one [[rule]] table", file=file)
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if _HEADER.match(line)]
    # A header inside a multi-line string would be counted too; then no line is better than a wrong one.
    places = lines if len(lines) == len(tables) else [None] * len(tables)
    rules: dict[str, Rule] = {}
    for number, (table, line) in enumerate(zip(tables, places, strict=True), start=1):
        try:
            rule = _rule(table, rules)
        except _Wrong as wrong:
            field = f"rule {number}" + (f": {wrong.key}" if wrong.key else "")
            raise DataError(wrong.problem, file=file, line=line if file else None, field=field) from None
        rules[rule.title] = rule
    return tuple(rules.values())


class _Wrong(Exception):
    """What is wrong with one rule; becomes a `DataError` with its place."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(key, problem)


def _rule(table: dict[str, Any], before: Mapping[str, Rule]) -> Rule:
    for key in table:
        if key not in _KEYS:
            raise _Wrong(key, f"unknown key{_suggestion(key, _KEYS)}; known: {', '.join(_KEYS)}")
    metric = _metric(table)
    given = [name for name in BOUNDS if name in table]
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "has none"
        hint = "; write two rules for two bounds" if given else ""
        raise _Wrong("", f"needs exactly one of {', '.join(BOUNDS)}, and {found}{hint}")
    bound = _number(table, given[0], (0.0, 1.0), "figures are fractions in [0, 1]")
    if given[0] == "max_drop" and metric.partition("[")[0] in LOWER_IS_BETTER:
        raise _Wrong("max_drop", f"a drop of {metric} is no harm, since less is better; set max instead")
    low, high = _CONFIDENCE
    confidence = None
    if "confidence" in table:
        confidence = _number(table, "confidence", _CONFIDENCE, f"it is between {low:g} and {high:g}, e.g. 0.95")
    errored = table.get("max_errored", 0)
    if type(errored) is not int or errored < 0:
        raise _Wrong("max_errored", f"a number of units is wanted, 0 or more, not {errored!r}")
    rule = msgspec.structs.replace(Rule(metric=metric, confidence=confidence, max_errored=errored), **{given[0]: bound})
    if rule.title in before:
        raise _Wrong("", f"{rule.title!r} stands here twice")
    return rule


def _metric(table: dict[str, Any]) -> str:
    if "metric" not in table:
        raise _Wrong("metric", 'is missing; name a figure, e.g. metric = "workflow.success"')
    metric = table["metric"]
    if not isinstance(metric, str):
        raise _Wrong("metric", f"a name in quotes is wanted, not {metric!r}")
    measure = measure_of(metric)
    base, at, judge = metric.partition("@")
    if measure is None:
        if base in [count.name for count in PER_CONVERSATION]:
            raise _Wrong("metric", f"{metric!r} counts per conversation and is no fraction; no rule can be on it")
        names = known_metrics()
        hint = _suggestion(base, names) or f"; known: {', '.join(names)}"
        raise _Wrong("metric", f"unknown figure {metric!r}{hint}")
    if at and (not judge or measure.protocol not in JUDGED):
        raise _Wrong(
            "metric", f"{metric!r}: @JUDGE goes with figures of {' and '.join(JUDGED)} only, and names a judge"
        )
    return metric


def _number(table: dict[str, Any], key: str, allowed: tuple[float, float], saying: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(key, f"a number is wanted, not {value!r}")
    if not allowed[0] <= value <= allowed[1]:
        percent = value / 100
        hint = f"; for {value:g}% write {percent:g}" if 1 < value <= 100 and allowed[0] <= percent <= allowed[1] else ""
        raise _Wrong(key, f"{value:g} cannot be: {saying}{hint}")
    return float(value)


def _suggestion(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, list(known), n=_NEAREST, cutoff=0.6)
    return f"; did you mean {' or '.join(nearest)}?" if nearest else ""
