"""The checkable facts that a text states: identifiers, numbers, dates, times of day.

The `rules` judge asks two questions of two texts: does this one say everything checkable that that one says, and does
it say anything checkable that nobody else said? Both need spellings of one fact to meet ("1,500" and "1500", "2 May"
and "2031-05-02") and different facts to stay apart ("10" is not in "1042").

A text yields the facts it *states* and the *readings* it supports. A stated fact carries keys; another text says it too
when one of its keys is among that text's readings. Whatever a text states is among its own readings, so a text never
lacks its own facts. What is less precise meets what is more precise (2 May meets 2031-05-02, 11:30 meets 11:30 am),
what contradicts does not (2031-05-02 and 2032-05-02, 11:30 am and 11:30 pm).

Of a text, `LONGEST` characters are read (encoded blobs left out), so that one of many megabytes does not hold a run up.
What was not read may say anything: where a source was cut, nothing counts as invented. As said it does not count.

Not recognised, on purpose: names, places, weekdays, "tomorrow", yes and no, negation. Signs, currencies, percent signs
and units are ignored: 5 kg, 5% and -5 all state the number 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

import msgspec

from turngap import jsonio

LONGEST = 200_000
"""Characters of a text, or of all leaves of structured data together, that are read."""
UNREAD = "unread"
"""Among the readings of a text of which a part was not read."""
_BETWEEN = "\n\ufffc\n"
"""What no spelling of a fact goes across."""

Kind = Literal["id", "number", "date", "time"]


class Fact(msgspec.Struct, frozen=True):
    """One checkable statement."""

    kind: Kind
    text: str
    """As the text spells it, for readers."""
    keys: frozenset[str]
    """Any of these among another text's readings means that the other text says it too."""
    year: str = ""
    """Key of the year that a date names: a date with a year nobody mentioned is invented, though the day is known."""
    count_word: bool = False
    """A number spelled as a word ("two options"): as often talk as data, so it is never held to be invented."""


class Facts(msgspec.Struct, frozen=True):
    """What one text states and what it can be read as."""

    stated: tuple[Fact, ...] = ()
    """In the order of the text."""
    readings: frozenset[str] = frozenset()
    capitals: tuple[Fact, ...] = ()
    """Words of five to eight capitals (VAAOXJ, PLEASE): identifiers only where the conversation's `codes` know them."""
    codes: frozenset[str] = frozenset()
    """Keys of such words that stand alone as a value in structured data."""

    def missing_from(self, readings: Container[str], codes: Container[str] = frozenset()) -> list[Fact]:
        """The facts stated here that a text with those readings does not say."""
        known = [fact for fact in self.capitals if _meet(fact.keys, (codes,))]
        return [fact for fact in (*self.stated, *known) if not _meet(fact.keys, (readings,))]

    def invented_beside(self, *readings: Container[str]) -> list[Fact]:
        """The facts stated here that sources with those readings do not support; none where a source was cut."""
        if _meet((UNREAD,), readings):
            return []
        return [
            fact
            for fact in self.stated
            if not fact.count_word
            and (not _meet(fact.keys, readings) or (fact.year and not _meet((fact.year,), readings)))
        ]


def _meet(keys: Iterable[str], readings: Iterable[Container[str]]) -> bool:
    return any(key in known for known in readings for key in keys)


def union(parts: Iterable[Facts]) -> tuple[set[str], set[str]]:
    """All readings and all codes of several texts."""
    readings: set[str] = set()
    codes: set[str] = set()
    for part in parts:
        readings |= part.readings
        codes |= part.codes
    return readings, codes


class _Hit(msgspec.Struct, frozen=True):
    """What one recognised stretch of text yields; `fact` is None for what is only a reading."""

    fact: Fact | None
    readings: frozenset[str]


_Reader = Callable[[re.Match[str]], list[_Hit]]


def _hit(kind: Kind, text: str, keys: Iterable[str], *, also: Iterable[str] = (), year: str = "") -> _Hit:
    own = frozenset(keys)
    return _Hit(Fact(kind, text.strip(), own, year), own | frozenset(also))


# --- the vocabulary ---------------------------------------------------------------------------------------------------

_MONTH_NAMES = (
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|"
    "november nov|december dec"
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split("|"), start=1) for name in names.split()}
_UNIT_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TEN_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {name: number for number, name in enumerate(_UNIT_NAMES.split())}
_TENS = {name: 10 * number for number, name in enumerate(_TEN_NAMES.split(), start=2)}
_ONES = {name: number for name, number in _UNITS.items() if 1 <= number <= 9}
_HOURS = {word: number for word, number in _UNITS.items() if 1 <= number <= 12}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
# Letters right behind a number that measure it (16GB); any others make an identifier of it (seat 12A).
_MEASURE = (
    "kg|g|mg|lbs?|oz|ml|cl|l|cm|mm|m|km|ft|in|inch|mi|gb|tb|mb|kb|ghz|mhz|hz|mah|kwh?|w|v|hrs?|h|mins?|secs?|ms|s|d|k|x|px|"
    "usd|eur|gbp"
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_MONTH = rf"(?P<month>{_any_of(_MONTHS)})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_OTHER = r"(?P<other>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?[\s-]+(?P<year>\d{4})\b)?"
_TO = r"\s*(?:-|–|—|to|through|until)\s*"
_END_OF_DAY = r"(?!\w|[:.,]\d|\s*[ap]\.?m\b)"
_PERIOD = r"(?P<period>\s*(?:[ap]\.m\.|[ap]m\b)|\s+in\s+the\s+(?:morning|afternoon|evening)\b|\s+(?:morning|evening)\b)"
_PERIOD_BEFORE = r"(?:\b(?P<before>morning|afternoon|evening)\s+(?:at\s+)?)?"
_SCALE = rf"(?:[\s-](?P<scale>{_any_of(_SCALES)})\b)?"
_GAP = "[ \u00a0\u202f]"


# --- readers: one per spelling ---------------------------------------------------------------------------------------


def _name(match: re.Match[str]) -> list[_Hit]:
    text = match[0].rstrip(".,;:!?")
    return [_hit("id", text, [f"id:{text.removeprefix('#').casefold()}"])]


def _date(text: str, pairs: Iterable[tuple[int, int]], year: str | None) -> list[_Hit]:
    """A date by its (month, day) readings; several where the order is not known."""
    days = [f"{month:02}-{day:02}" for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31]
    if not days:
        return []
    loose = {f"date:?-{day}" for day in days}
    bare = {f"date:{day}" for day in days}
    also = {f"day:{int(day[3:])}" for day in days}
    if year is None:
        return [_hit("date", text, bare, also=also | loose)]
    full = {f"date:{year}-{day}" for day in days}
    fact = Fact("date", text.strip(), frozenset(full | loose), f"year:{year}")
    return [_Hit(fact, frozenset(full | bare | also | {f"year:{year}"}))]


def _iso_date(match: re.Match[str]) -> list[_Hit]:
    return _date(match[0].removesuffix("T"), [(int(match["month"]), int(match["day"]))], match["year"])


def _figures_date(match: re.Match[str]) -> list[_Hit]:
    one, two = int(match["one"]), int(match["two"])
    if match["year"] is None and (match["mark"] == "." or (one, two) == (24, 7)):
        return []
    return _date(match[0], dict.fromkeys([(one, two), (two, one)]), match["year"])


def _month_date(match: re.Match[str]) -> list[_Hit]:
    month = _MONTHS[match["month"].casefold()]
    days = [int(day) for day in (match["day"], match["other"]) if day is not None]
    hits = [_date(match[0], [(month, day)], match["year"]) for day in days]
    return [hit for found in hits for hit in found] if all(hits) else []


def _time(text: str, hour: int, minute: int, period: str | None) -> list[_Hit]:
    """A time of day; without am, pm or an hour that only a 24-hour clock has, it may be either half of the day."""
    half = None
    if hour == 0 or hour > 12:
        half = "pm" if hour else "am"
    elif period:
        half = "am" if re.search(r"a\.?m|morning", period.casefold()) else "pm"
    base = f"time:{hour % 12 * 60 + minute}"
    if half is None:
        return [_hit("time", text, [base], also=[f"{base}?"])]
    return [_Hit(Fact("time", text.strip(), frozenset({base + half, f"{base}?"})), frozenset({base + half, base}))]


def _clock(match: re.Match[str]) -> list[_Hit]:
    return _time(match[0], int(match["hour"]), int(match["minute"]), match["period"] or match["before"])


def _hour(word: str) -> int:
    return _HOURS.get(word.casefold()) or int(word)


def _spoken_clock(match: re.Match[str]) -> list[_Hit]:
    minutes = 60 * _hour(match["hour"])
    part = 30 if match["part"].casefold() == "half" else 15
    minutes += part if match["side"].casefold() == "past" else -part
    # Hour 0 would mean midnight to `_time`; a spoken clock knows twelve hours only.
    return _time(match[0], minutes // 60 or 12, minutes % 60, match["period"] or match["before"])


def _full_hour(match: re.Match[str]) -> list[_Hit]:
    return _time(match[0], _hour(match["hour"]), 0, match["period"] or match["before"])


def _value(figure: str) -> str:
    """A number's key: by value, but figures with a leading zero (02134) are an identifier."""
    if len(figure) > 1 and figure[0] == "0" and figure.isdigit():
        return f"id:{figure}"
    return f"number:{Decimal(figure).normalize():f}"


def _number(match: re.Match[str]) -> list[_Hit]:
    figure, scale = match["figure"], _SCALES.get((match["scale"] or "").casefold(), 1)
    plain = re.sub(_GAP, "", figure)
    readings = {plain}
    also: set[str] = set()
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", plain):
        readings = {plain.replace(",", "")}
    elif re.fullmatch(r"\d{1,3}(\.\d{3}){2,}|\d{1,3}(\.\d{3})+,\d{1,2}|\d+,\d{1,2}", plain):
        readings = {plain.replace(".", "").replace(",", ".")}
    elif re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", plain):
        readings.add(plain.replace(".", ""))
    if plain != figure:
        also = {_value(part) for part in re.split(_GAP, figure) if part.isdigit()}
    keys = {_value(str(Decimal(reading) * scale) if scale > 1 else reading) for reading in readings}
    if re.fullmatch(r"(?:19|20)\d\d", plain):
        also.add(f"year:{plain}")
    return [_hit("number", match[0], keys, also=also)]


def _digits(match: re.Match[str]) -> list[_Hit]:
    return [_hit("number", match[0], [_value(match[0])])]


def _phone(match: re.Match[str]) -> list[_Hit]:
    return [_hit("number", match[0], [_value(re.sub(r"\D", "", match[0]))])]


def _ordinal(match: re.Match[str]) -> list[_Hit]:
    number = int(match["number"])
    return [_hit("number", match[0], {f"number:{number}", f"day:{number}"})]


def _number_word(match: re.Match[str]) -> list[_Hit]:
    tens, unit = (match["tens"] or "").casefold(), (match["more"] or match["unit"] or "").casefold()
    value = (_TENS.get(tens, 0) + _UNITS.get(unit, 0)) * _SCALES.get((match["scale"] or "").casefold(), 1)
    keys = frozenset({f"number:{value}"})
    # "one" is mostly a pronoun and "zero" an idiom: they confirm a number but do not ask for one.
    return [_Hit(Fact("number", match[0], keys, count_word=True) if value > 1 else None, keys)]


_FIGURE = (
    r"(?P<figure>\d{1,3}(?:,\d{3})+(?:\.\d+)?"  # 1,500.25
    r"|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d{1,2}"  # 1.500.000 and 1.500,25
    rf"|\d{{1,3}}(?:{_GAP}\d{{3}})+(?:[.,]\d{{1,2}})?"  # 1 500
    r"|(?<=[$€£¥])\d+,\d{2}|\d+,\d{2}(?=\s?(?:[€£¥]|eur\b|kr\b))"  # €12,50: a decimal comma needs its currency
    r"|\d+(?:\.\d+)?)"
)

_URL = r"https?://[^\s<>\"'\])}]+"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_ISO = r"(?<![\w-])(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?:T(?=\d\d:)|(?![\w-]))"
_SLASHES = r"(?<![\w/.-])(?P<one>\d{1,2})(?P<mark>[/.])(?P<two>\d{1,2})(?:(?P=mark)(?P<year>\d{4}))?(?![\w/]|\.\d|-\w)"
_DAY_MONTH = rf"(?<![\w.,:-])(?:{_OTHER}{_TO})?{_DAY}(?:\s+of\s+|\s+|-){_MONTH}{_YEAR}"
_MONTH_DAY = rf"\b{_MONTH}[\s-]*(?:the\s+)?{_DAY}{_END_OF_DAY}(?:{_TO}{_OTHER}{_END_OF_DAY})?{_YEAR}"
_CLOCK = (
    rf"{_PERIOD_BEFORE}(?<![\w:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?!\d)"
    rf"{_PERIOD}?"
)
_SPOKEN_CLOCK = (
    rf"{_PERIOD_BEFORE}\b(?P<part>half|quarter)\s+(?P<side>past|to)\s+(?P<hour>1[0-2]|[1-9]|{_any_of(_HOURS)})\b"
    rf"{_PERIOD}?"
)
_OCLOCK = rf"{_PERIOD_BEFORE}(?<![\w:.,-])(?P<hour>1[0-2]|0?[1-9]|{_any_of(_HOURS)})\s*o['’]clock\b{_PERIOD}?"
_WORD_HOUR = (
    rf"(?P<before>)\b(?P<hour>{_any_of(_HOURS)})"
    r"(?P<period>\s+(?:[ap]\.m\.|[ap]m\b)|\s+in\s+the\s+(?:morning|afternoon|evening)\b)"
)
_HOUR = rf"(?P<before>)(?<![\w:.,$€£-])(?P<hour>1[0-2]|0?[1-9]){_PERIOD}"
# The first hour of "from 8 to 10 pm" is a time as well, of a half of the day that is not said.
_FROM_HOUR = (
    r"(?P<period>)(?P<before>)(?<![\w:.,$€£-])(?P<hour>1[0-2]|0?[1-9])"
    r"(?=\s*(?:-|–|to|until)\s*(?:1[0-2]|0?[1-9])(?::[0-5]\d)?\s*(?:[ap]\.m\.|[ap]m\b))"
)
_PHONE = r"(?<![\w-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\)\s?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"
_NTH = r"(?<![\w.,-])(?P<number>\d{1,3})(?:st|nd|rd|th)\b"
# A digit behind a letter and a hyphen belongs to an identifier (BK-1042), behind a space and a hyphen it does not (-5).
_NUMBER = rf"(?<![\w.,])(?<!\w[-_]){_FIGURE}(?:(?:{_MEASURE})\b|(?-i:-[a-z]{{2,}})\b)?(?!\w|-\w){_SCALE}"
_MIXED = r"#?(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[^\W_]+(?:[-_]+[^\W_]+|(?<=\d)\.\d+)*"
_REST = r"\d+(?:\.\d+)?"
_WORDS = (
    rf"\b(?:(?P<tens>{_any_of(_TENS)})(?:[\s-](?P<more>{_any_of(_ONES)})\b)?|(?P<unit>{_any_of(_UNITS)}))\b{_SCALE}"
)

_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (_URL, _name),
        (_EMAIL, _name),
        (_ISO, _iso_date),
        (_SLASHES, _figures_date),
        (_DAY_MONTH, _month_date),
        (_MONTH_DAY, _month_date),
        (_FROM_HOUR, _full_hour),
        (_CLOCK, _clock),
        (_SPOKEN_CLOCK, _spoken_clock),
        (_OCLOCK, _full_hour),
        (_WORD_HOUR, _full_hour),
        (_HOUR, _full_hour),
        (_PHONE, _phone),
        (_NTH, _ordinal),
        (_NUMBER, _number),
        (_MIXED, _name),
        (_REST, _digits),
        (_WORDS, _number_word),
    )
)
"""In this order; what one has read, the next ones do not see."""

# A longer run is an encoded blob, not something that anybody tells; searching it would take quadratic time.
_BLOB = re.compile(r"(?<![\w.+-])[\w.+-]{160,}+")
_LIST_MARKER = re.compile(r"^(?P<lead>[ \t>*_#-]*)\d{1,2}[.)](?=[ \t])", re.MULTILINE)
_CAPITALS = re.compile(r"(?<![\w-])[A-Z]{5,8}(?![\w-])")
_READ = "\ufffc"


def _code(text: str) -> str:
    return f"id:{text.casefold()}"


def of_text(text: str) -> Facts:
    """Read the facts of a text. Numbers that only count list items ("1. ...") are none, nor are encoded blobs."""
    if len(text) <= LONGEST:
        return _of_text(text)
    text = _BLOB.sub(_READ, text)
    found = _of_text(text[:LONGEST])
    if len(text) <= LONGEST:
        return found
    return msgspec.structs.replace(found, readings=found.readings | {UNREAD})


@lru_cache(maxsize=1024)
def _of_text(text: str) -> Facts:
    rest = _BLOB.sub(lambda match: _READ * len(match[0]), text)
    rest = _LIST_MARKER.sub(lambda match: match["lead"] + " " * (len(match[0]) - len(match["lead"])), rest)
    found: list[tuple[int, _Hit]] = []
    for pattern, reader in _READERS:
        pieces: list[str] = []
        end = 0
        for match in pattern.finditer(rest):
            hits = reader(match)
            if not hits:
                continue
            found.extend((match.start(), hit) for hit in hits)
            # Placeholders of the same length keep positions; being no word character they keep borders too.
            pieces += (rest[end : match.start()], _READ * len(match[0]))
            end = match.end()
        if pieces:
            rest = "".join((*pieces, rest[end:]))
    found.sort(key=lambda item: item[0])
    capitals = tuple(Fact("id", match[0], frozenset({_code(match[0])})) for match in _CAPITALS.finditer(rest))
    return Facts(
        stated=tuple(dict.fromkeys(hit.fact for _, hit in found if hit.fact is not None)),
        readings=frozenset().union(*(hit.readings for _, hit in found), *(fact.keys for fact in capitals)),
        capitals=tuple(dict.fromkeys(capitals)),
    )


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield f"{Decimal(str(value)):f}"


def of_value(value: Any) -> Facts:
    """Read the facts of structured data: every key and every leaf, each apart."""
    leaves = list(_leaves(value))
    found = of_text(_BETWEEN.join(leaves))
    return Facts(
        stated=found.stated,
        readings=found.readings,
        codes=frozenset(_code(leaf) for leaf in leaves if _CAPITALS.fullmatch(leaf)),
    )


def of_result(text: str) -> Facts:
    """Read the facts of a tool result: of its values where it is JSON, else of its text."""
    return _of_result(text) if len(text) <= LONGEST else _read_result(text)


@lru_cache(maxsize=1024)
def _of_result(text: str) -> Facts:
    return _read_result(text)


def _read_result(text: str) -> Facts:
    try:
        value = jsonio.loads(text)
    except jsonio.JsonError:
        return of_text(text)
    return of_value(value)
