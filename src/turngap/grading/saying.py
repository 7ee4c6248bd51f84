"""Whether an agent said a fact: numbers as numbers, dates as dates, ids as ids, in any common writing.

``10`` is not said by "BK-1042", ``1,500`` is by "1500" and "1 500", ``2 May`` by "02/05", ``54.04`` by "$54.04". What
is left of a fact beside these (``20 hours``, ``943 Maple Drive``) has to stand in the same message as words, in any
order; a fact without anything to read (``mastercard``) has to stand there as it is, whatever the case.

A message says something to the user only where it makes no call beside: what stands beside a call, nobody hears.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turngap.data import Acted, Trajectory
from turngap.judges import facts

_WORD = re.compile(r"[^\W\d_]+")
_MONEY = frozenset({"usd", "eur", "gbp", "dollar", "dollars", "euro", "euros"})


def spoken(trajectory: Trajectory) -> Iterator[tuple[int, str]]:
    """What the user was told: number of the event, text."""
    for number, event in enumerate(trajectory.events):
        if isinstance(event, Acted) and event.message.content.strip() and not event.message.calls:
            yield number, event.message.content


def unsaid(wanted: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """The facts that none of the texts says."""
    told = tuple(texts)
    return tuple(fact for fact in wanted if not any(says(text, fact) for text in told))


def says(text: str, fact: str) -> bool:
    """Whether one text says a fact."""
    read = facts.of_text(fact)
    if not read.stated:
        return _stands(_folded(fact), _folded(text))
    if read.missing_from(facts.of_text(text).readings):
        return False
    rest = fact
    for one in read.stated:
        rest = rest.replace(one.text, " ", 1)
    words = {word.casefold() for word in _WORD.findall(rest)} - _MONEY
    return words <= {word.casefold() for word in _WORD.findall(text)}


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
