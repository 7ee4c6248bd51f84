"""Finds in running text what could be the value of an argument: ids, numbers, names, dates, times, plain words.

`locate` finds a value in a text and says of which `Kind` it is there; `spans` finds everything of a kind in another
text. Values come out in the spelling that tools use: a spoken date as ``MM-DD``, a spoken time as
``HH:MM``, a number word as digits. English only, as far as words are concerned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
"""A mail address."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
"""The months, in order."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MONTH = "|".join(rf"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_SPOKEN_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\.? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<first>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<then>{_MONTH})|\d{{4}}-(?P<mm>\d\d)-(?P<dd>\d\d))\b",
    re.IGNORECASE,
)
_SPOKEN_TIME = re.compile(
    r"\b(?:(?P<half>half past|quarter past|quarter to) )?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?"
    r"(?: ?(?P<pm>[ap]\.?m\b)| (?P<part>in the morning|in the afternoon|in the evening|at night|o'clock))?",
    re.IGNORECASE,
)
_DATE_VALUE = re.compile(r"(\d{4}-)(\d\d-\d\d)")
_TIME_VALUE = re.compile(r"(\d\d:\d\d)(:\d\d)?")
_CAPITAL = r"[^\W\d_a-zà-ÿ][\w'’&.-]*\w|[A-Z](?![\w'’])"
_RUN = re.compile(rf"(?:{_CAPITAL})(?:[ ](?:(?:of|the|and|&|\d+) )*(?:{_CAPITAL}))*")
_OPENERS = frozenset((
    "a", "also", "an", "and", "any", "are", "as", "at", "but", "by", "can", "could", "do", "does", "found", "from",
    "good", "great", "have", "hello", "hey", "hi", "how", "hm", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "is",
    "it", "it's", "its", "just", "let", "let's", "may", "maybe", "my", "name", "no", "not", "now", "oh", "ok", "okay",
    "on", "order", "please", "sorry", "so", "sure", "thank", "thanks", "that", "that's", "the", "then", "there",
    "they", "this", "to", "try", "wait", "we", "what", "when", "where", "which", "who", "will", "with", "would",
    "yes", "you", "your",
))  # fmt: skip
"""Words that stand capitalised at the beginning of a sentence and are no names."""
_WORD = r"[^\W\d_](?:[\w'’-]*\w)?"


class Kind(NamedTuple):
    """What a value looks like."""

    name: str
    """``shape``, ``name``, ``words``, ``date`` or ``time``."""
    detail: str = ""
    """The regular expression of a shape; ``whole``, ``first`` or ``last`` of a name; how many words."""
    prefix: str = ""
    """What tools put before a spoken date: the year."""
    suffix: str = ""
    """What tools put after a spoken time: the seconds."""

    @property
    def vague(self) -> bool:
        """Whether a neighbouring word has to agree, because nearly everything is of this kind."""
        return self.name == "words" or self.detail.startswith(r"\d{1,3}|")


class Span(NamedTuple):
    """Something of a kind inside a text."""

    start: int
    end: int
    value: str


def locate(value: str, text: str) -> tuple[Kind, Span] | None:
    """Find a value in a text, also where the text spells it in words, and say of which kind it is there."""
    for kind in _moments(value):
        for span in spans(kind, text):
            if span.value == value:
                return kind, span
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE)
    if found is None and value.isdecimal() and len(value) < 3 and int(value) < len(_NUMBERS):
        found = re.search(rf"\b{_NUMBERS[int(value)]}\b", text, re.IGNORECASE)
    if found is None:
        return None
    span = Span(found.start(), found.end(), value)
    return _kind_at(text, span), span


def _moments(value: str) -> Iterator[Kind]:
    date, time = _DATE_VALUE.fullmatch(value), _TIME_VALUE.fullmatch(value)
    if date:
        yield Kind("date", prefix=date[1])
    if time:
        yield Kind("time", suffix=time[2] or "")


def _kind_at(text: str, span: Span) -> Kind:
    shape = shape_of(span.value)
    if shape:
        return Kind("shape", shape)
    for run in _names(text):
        if run.start <= span.start and span.end <= run.end:
            if (run.start, run.end) == (span.start, span.end):
                return Kind("name", "whole")
            if run.start == span.start:
                return Kind("name", "first")
            if run.end == span.end:
                return Kind("name", "last")
    return Kind("words", str(len(span.value.split())))


def shape_of(value: str) -> str:
    """The regular expression of values like this one; empty when only its words tell anything."""
    if EMAIL.fullmatch(value):
        return EMAIL.pattern
    if value.isdecimal():
        return rf"\d{{{len(value)}}}" if len(value) > 3 else rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
    if value.isalnum() and value.isascii() and value.isupper() and len(value) > 2:
        return rf"[A-Z0-9]{{{len(value)}}}"
    return _coded(value) if any(letter.isdecimal() for letter in value) else ""


def _coded(value: str) -> str:
    """An id or an address: long runs of digits keep their length, capitals stay, words may vary."""
    parts = []
    for run in re.finditer(r"\d+|[A-Z]+(?![a-z])|[^\W\d_]+|\s+|.", value):
        piece = run[0]
        if piece.isdecimal():
            parts.append(rf"\d{{{len(piece)}}}" if len(piece) > 2 else r"\d{1,3}")
        elif piece.isalpha():
            parts.append(piece if piece.isupper() else r"[^\W\d_]+")
        else:
            parts.append(r"\s+" if piece.isspace() else re.escape(piece))
    return "".join(parts)


def spans(kind: Kind, text: str) -> Iterator[Span]:
    """Everything of a kind in a text, in order."""
    if kind.name == "date":
        for match in _SPOKEN_DATE.finditer(text):
            yield Span(match.start(), match.end(), f"{kind.prefix}{_month_and_day(match)}")
    elif kind.name == "time":
        for match in _SPOKEN_TIME.finditer(text):
            clock = _clock(match)
            if clock:
                yield Span(match.start(), match.end(), f"{clock}{kind.suffix}")
    elif kind.name == "name":
        for run in _names(text):
            yield from _part(run, kind.detail)
    else:
        pattern = kind.detail if kind.name == "shape" else " ".join([_WORD] * int(kind.detail))
        for match in _compiled(pattern).finditer(text):
            word = match[0].lower()
            yield Span(match.start(), match.end(), str(_NUMBERS.index(word)) if word in _NUMBERS else match[0])


def _month_and_day(match: re.Match[str]) -> str:
    if match["mm"]:
        return f"{match['mm']}-{match['dd']}"
    month = (match["month"] or match["then"])[:3].title()
    number = next(place for place, name in enumerate(MONTHS, start=1) if name.startswith(month))
    return f"{number:02}-{int(match['day'] or match['first']):02}"


def _clock(match: re.Match[str]) -> str:
    """The time of day as ``HH:MM``; empty for a number that is no time."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "").lower()
    part = (match["pm"] or match["part"] or "").lower()
    if hour > 24 or minute > 59 or not (match["minute"] or half or part):
        return ""
    minute += {"half past": 30, "quarter past": 15}.get(half, 0)
    if half == "quarter to":
        hour, minute = hour - 1, 45
    if part[:1] == "p" or part in ("in the afternoon", "in the evening", "at night"):
        hour = hour % 12 + 12
    elif part[:1] == "a" and hour == 12:
        hour = 0
    return f"{hour:02}:{minute:02}"


def _names(text: str) -> Iterator[Span]:
    """Runs of capitalised words, without the words that only open a sentence."""
    for match in _RUN.finditer(text):
        start, value = match.start(), match[0]
        while value.partition(" ")[0].lower().replace("’", "'") in _OPENERS:
            first = value.partition(" ")[0]
            rest = value[len(first) :].lstrip(" ")
            start, value = start + len(value) - len(rest), rest
        value = value.rstrip(".-&")
        if value:
            yield Span(start, start + len(value), value)


def _part(run: Span, part: str) -> Iterator[Span]:
    if part == "whole":
        yield run
        return
    first, _, rest = run.value.partition(" ")
    if rest and part == "first":
        yield Span(run.start, run.start + len(first), first)
    elif rest:
        last = run.value.rpartition(" ")[2]
        yield Span(run.end - len(last), run.end, last)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Number words are spelled in any case; everywhere else capitals tell ids from words.
    return re.compile(rf"(?<![\w#@])(?:{pattern})(?![\w@])", re.IGNORECASE if pattern.startswith(r"\d{1,3}|") else 0)
