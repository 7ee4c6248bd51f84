"""What the list of a run is asked for: the part of its address behind the question mark, read and written.

An address holds the whole state of a list, so a link opens it again. Whatever somebody types there is understood or
refused in one line; nothing of it can reach the full-text index other than as words.

``q``         words; all have to occur. ``"a phrase"`` as it stands; ``begin*`` every word that begins so
``in``        ``recorded`` or ``own``: where the words have to stand; both if absent
``protocol``, ``result``   pairs, in order: what a protocol has to say of a unit. A result without protocol asks the
              hardest protocol of the run, a protocol without result asks for failures
``category``, ``tool``, ``scenario``   each may be repeated; one of the values has to be there
``min``, ``max``   recorded decisions (for a trial, messages of the agent)
``sort``      ``id``, ``length``, ``first_error``, ``steps``, ``seconds`` or ``tokens``, with ``-`` in front backwards
``at``        the first row that is in sight
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal
from urllib.parse import urlencode

import msgspec

from turngap import jsonio
from turngap.errors import UsageError
from turngap.web.columns import NUMBERS, RESULTS
from turngap.web.index import split

SORTS = ("id", *NUMBERS)
FACETS = ("category", "tool", "scenario")
_PARTS = re.compile(r'"([^"]*)"?|(\S+)')
_MOST_WORDS = 64  # of a search; a longer one is most likely pasted by mistake, and would take long
_MOST_DIGITS = 9


class QueryError(UsageError):
    """An address that asks a list for something it does not know."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. The default is everything."""

    q: str = ""
    within: Literal["", "recorded", "own"] = ""
    results: tuple[tuple[str, str], ...] = ()
    """Protocol and result, each protocol once; an empty protocol stands for the hardest one."""
    categories: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    sort: str = ""
    at: int = 0

    @property
    def narrowed(self) -> bool:
        """Whether anything at all is filtered."""
        return msgspec.structs.replace(self, sort="", at=0, within="") != Query()

    def chosen(self, facet: str) -> tuple[str, ...]:
        """The values that a facet has to have one of: those of `FACETS`, or of a protocol."""
        match facet:
            case "category":
                return self.categories
            case "tool":
                return self.tools
            case "scenario":
                return self.scenarios
            case _:
                return tuple(result for protocol, result in self.results if protocol == facet)

    def pairs(self) -> list[tuple[str, str]]:
        """The fields of an address that asks for this; none that say what is meant anyway."""
        found = [("q", self.q), ("in", self.within if self.q else "")]
        for protocol, result in self.results:
            found += [("protocol", protocol), ("result", result)]
        for facet in FACETS:
            found += [(facet, value) for value in self.chosen(facet)]
        found += [("min", _text(self.least)), ("max", _text(self.most))]
        found += [("sort", self.sort), ("at", _text(self.at or None))]
        return [(name, jsonio.clean(value)) for name, value in found if value]

    def address(self) -> str:
        """The part of an address behind the question mark."""
        return urlencode(self.pairs())


def read(pairs: Iterable[tuple[str, str]]) -> Query:
    """Understand the fields of an address; unknown ones do not matter, nor do empty ones.

    Raises:
        QueryError: a value that makes no sense; names the field and what would.
    """
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)

    def last(name: str) -> str:
        return next((value for value in reversed(fields.get(name, [])) if value), "")

    def several(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in fields.get(name, []) if value))

    within, sort = last("in"), last("sort")
    if within not in ("", "recorded", "own"):
        raise QueryError(f"in={within[:40]!r}: is recorded or own")
    if sort.removeprefix("-") not in ("", *SORTS):
        raise QueryError(f"sort={sort[:40]!r}: is one of {', '.join(SORTS)}, with - in front for the other way round")
    return Query(
        q=last("q").strip(),
        within=within,  # type: ignore[arg-type] # checked above
        results=_results(fields.get("protocol", []), fields.get("result", [])),
        categories=several("category"),
        tools=several("tool"),
        scenarios=several("scenario"),
        least=_number("min", last("min")),
        most=_number("max", last("max")),
        sort=sort,
        at=_number("at", last("at")) or 0,
    )


def words(text: str) -> tuple[tuple[str, bool], ...]:
    """What a search looks for: (word or phrase, whether it only has to begin so); what holds no letter is left out."""
    found = []
    for phrase, word in _PARTS.findall(text):
        begins = not phrase and len(word) > 1 and word.endswith("*")
        part = word.rstrip("*") if begins else phrase or word.strip('"')
        if any(sign.isalnum() for sign in part):
            found.append((part, begins))
    return tuple(found[:_MOST_WORDS])


def expression(text: str, within: str = "") -> str:
    """A search as the full-text index takes it; empty where it holds nothing that can be looked for.

    Every word becomes a quoted string, in which nothing has a meaning but its end, and that is doubled.
    """
    parts = [
        f'"{split(part.replace(chr(0), " ")).replace(chr(34), chr(34) * 2)}"{"*" if begins else ""}'
        for part, begins in words(jsonio.clean(text))
    ]
    if not parts:
        return ""
    joined = " AND ".join(parts)
    return f"{{{within}}} : ({joined})" if within else joined


def _results(protocols: Sequence[str], results: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs in order. A form sends every protocol, those without a wish with an empty result."""
    if len(protocols) > 1 or len(results) > 1:
        paired = list(zip(protocols, results, strict=False))
    elif protocols and protocols[0] and not results:
        paired = [(protocols[0], "failed")]
    else:
        paired = [(next(iter(protocols), ""), next(iter(results), ""))]
    found: dict[str, str] = {}
    for protocol, result in paired:
        if result and result not in RESULTS:
            raise QueryError(f"result={result[:40]!r}: is one of {', '.join(RESULTS)}")
        if result:
            found[protocol] = result
    return tuple(found.items())


def _number(name: str, text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise QueryError(f"{name}={text[:40]!r}: is a whole number from 0 on")
    return int(text)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
