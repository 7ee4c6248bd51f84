"""Takes a text of one conversation over into another: the facts in it are exchanged for those of the current history.

A fact is whatever the text shares with its own history's tool results and calls (names, states, cities), and whatever
looks like one: ids, mail addresses, amounts, numbers, dates. Facts that have no counterpart stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turngap.models.ground import Ground, Scalar
from turngap.models.slots import Constant, refill, trace
from turngap.models.span import MONTHS

_DATE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}})\b(?:st|nd|rd|th)?")
_ISO = re.compile(r"\d{4}-(\d\d)-(\d\d)")
_FACT = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[#$€£]?(?:[A-Z]+-?)?\d(?:[\w,.:/-]*\w)?|\b[A-Z0-9]{5,}\b")
_SHORTEST, _LONGEST = 3, 60
"""Characters of a text in a result that may be recognised in an answer."""


class _Span(NamedTuple):
    start: int
    end: int
    value: Scalar
    """As the history spells it."""


def retell(text: str, theirs: Ground, ours: Ground) -> str:
    """Return the text with each fact that has a counterpart in `ours` exchanged for it."""
    parts: list[str] = []
    done = 0
    for span in _spans(text, theirs):
        if span.start < done:
            continue
        old = text[span.start : span.end]
        parts += (text[done : span.start], _counterpart(span.value, old, theirs, ours))
        done = span.end
    return "".join((*parts, text[done:]))


def _spans(text: str, theirs: Ground) -> list[_Span]:
    """Facts in the text; of overlapping ones the first and longest wins."""
    found = [*_dates(text, theirs), *_known(text, theirs), *_shaped(text, theirs)]
    return sorted(found, key=lambda span: (span.start, -span.end))


def _known(text: str, theirs: Ground) -> Iterator[_Span]:
    values = {leaf.value for leaf in (*theirs.returned, *theirs.called) if isinstance(leaf.value, str)}
    for value in sorted(values):
        if _SHORTEST <= len(value) <= _LONGEST and value in text:
            for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text):
                yield _Span(match.start(), match.end(), value)
    # People are called by their first names, which results hold inside the full one.
    for value in sorted(values):
        first = value.partition(" ")[0]
        if " " in value and first.istitle() and len(value) < 30 and first in text:
            for match in re.finditer(rf"(?<!\w){re.escape(first)}(?!\w)", text):
                yield _Span(match.start(), match.end(), value)


def _dates(text: str, theirs: Ground) -> Iterator[_Span]:
    isos = {str(leaf.value) for leaf in theirs.returned if _ISO.match(str(leaf.value))}
    for match in _DATE.finditer(text):
        ending = f"-{MONTHS.index(match[1]) + 1:02}-{int(match[2]):02}"
        for iso in sorted(isos):
            if iso[4:10] == ending:
                yield _Span(match.start(), match.end(), iso)
                break


def _shaped(text: str, theirs: Ground) -> Iterator[_Span]:
    numbers = {leaf.value for leaf in theirs.returned if isinstance(leaf.value, (int, float))}
    for match in _FACT.finditer(text):
        value = _amount(match[0])
        known = value is not None and value in numbers
        yield _Span(match.start(), match.end(), value if known and value is not None else match[0])


def _amount(text: str) -> float | None:
    try:
        return float(text.lstrip("$€£").replace(",", ""))
    except ValueError:
        return None


def _counterpart(value: Scalar, old: str, theirs: Ground, ours: Ground) -> str:
    scores: dict[Scalar, float] = {}
    for origin in trace(value, theirs):
        if not isinstance(origin, Constant):
            for candidate, weight in refill(origin, ours, ""):
                scores[candidate] = scores.get(candidate, 0.0) + weight
    if not scores:
        return old
    return _spelled(max(scores, key=lambda candidate: scores[candidate]), value, old)


def _spelled(new: Scalar, value: Scalar, old: str) -> str:
    """The new value written as the old one was: a date in words, an amount with its sign, a first name alone."""
    iso = _ISO.match(str(new))
    if iso and _DATE.match(old):
        return f"{MONTHS[int(iso[1]) - 1]} {int(iso[2])}"
    if isinstance(new, (int, float)) and not isinstance(new, bool):
        sign = old[0] if old[:1] in "$€£" else ""
        decimals = len(old.partition(".")[2])
        return f"{sign}{new:,.{decimals}f}" if "," in old else f"{sign}{new:.{decimals}f}"
    if str(value) != old and str(value).startswith(f"{old} "):
        return str(new).partition(" ")[0]
    return str(new)
