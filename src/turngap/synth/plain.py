"""Plain words where no phrase knows better: for a wish, what it is about and a value, from names and descriptions.

A tool's name is a verb, sometimes one of two words ("hand over"), and what is done to; a description that begins with
the same verb says more. Names that are no verb are asked for by what the description does.

Pure functions of text and specifications; what a domain's phrases say comes before all of this.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from turngap.data import ToolSpec
from turngap.data.asking import answer, spell, spoken
from turngap.synth.naming import singular, words

_DESK = re.compile(r"\b(customer|agent|user|call|tool|must|should|raise)", re.IGNORECASE)
_LONG = 80
"""Characters of a description that is too long for a wish."""
_WITHOUT_ARTICLE = """
data roaming information money insurance luggage baggage access help credit cash support advice mail service all
everything it
"""
_MASS = frozenset(_WITHOUT_ARTICLE.split())
"""Words that have no article."""
_PARTICLES = frozenset(["over", "up", "out", "off", "in", "on", "down", "back", "away"])
_AT_A_DESK = """
accept activate add adjust apply approve ask assign book buy call cancel change check claim clear close
confirm connect convert correct create deactivate delete deliver disable downgrade edit enable exchange
extend file find fix freeze get give grant hand issue join keep leave lift lock make mark merge modify move
open order pause pay place postpone put raise rebook redeem refuel refund register reissue release remove
rename renew reopen reorder repair replace report request reschedule reserve reset restore resume return
revoke schedule send set settle ship shift split start stop submit subscribe suspend swap switch take
terminate toggle top transfer turn undo unlock unsubscribe update upgrade use verify void waive withdraw
write
"""
_VERBS = frozenset(_AT_A_DESK.split())
_STATES = re.compile(r"(.*(ed|able|ible|ive|al)|on|off|open|public|private|urgent|express|free|visible|ready|done)")
_LIKE_YOU = re.compile(r"(uni|use|usu|usa|usb|eu|one|once)", re.IGNORECASE)
_LIKE_AN = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Signs that turn the direction of what follows."""


def with_article(thing: str) -> str:
    """A thing with "a" or "an", by how its first word sounds."""
    vowel = thing[:1].lower() in "aeiou" and not _LIKE_YOU.match(thing)
    return f"{'an' if vowel or _LIKE_AN.match(thing) else 'a'} {thing}"


def can_be_said(value: Any) -> bool:
    """Whether a person could say a value: there is something to it, and no sign in it that nobody can type."""
    text = spell(value)
    return bool(text.strip()) and not any(unicodedata.category(sign) in ("Cc", "Cs") or sign in _TURNS for sign in text)


def general_wish(name: str, spec: ToolSpec | None) -> str:
    """What a tool does, as what goes after "I'd like to": from its description where that begins so, else its name."""
    verb, rest = _taken_apart(name)
    described = _described(spec)
    said, _, further = described.partition(" ")
    first = verb.split()[0]
    if first in (said.lower(), said.lower().removesuffix("s")) and further:
        return f"{first} {further}"
    if first not in _VERBS and (does := next((v for v in _bare(said.lower()) if v in _VERBS), "")):
        return f"{does} {further} ({spoken(name)})".replace("  ", " ")
    if first not in _VERBS and not rest:
        return f"ask for the {first}"
    return f"{verb} {_object(rest) or _about(verb, spec)}".strip()


def general_topic(name: str, spec: ToolSpec | None) -> str:
    """What a wish is about, as what goes after "for" and "about": "cancelling an order"."""
    verb, *rest = general_wish(name, spec).split(" ")
    return " ".join([_gerund(verb), *rest])


def general_answer(slot: str, value: Any, said: str | None = None) -> str:
    """The sentence that tells a slot's value, with the signs that stand for the person.

    Args:
        slot: the argument.
        value: what it is.
        said: the value in words, where it has other ones than `turngap.data.asking.spell` gives.
    """
    if isinstance(value, bool):
        return _yes_or_no(slot, value=value)
    if said is None and isinstance(value, (str, list, dict)) and not value:
        return f"There is no {spoken(slot)}."
    name = spoken(slot)
    if said is None and isinstance(value, dict):
        fields = (spell(one) if key == "name" else f"{spoken(key)} {spell(one)}" for key, one in value.items())
        return f"The {name} is {', '.join(fields)}."
    if said is None and isinstance(value, (int, float)) and name.endswith("s") and not name.endswith("ss"):
        return f"The number of {name} is {spell(value)}."
    told = answer(slot, value if said is None else said.rstrip("."))
    return f"<My>{told[2:]}" if told.startswith("My ") else told


def _yes_or_no(slot: str, *, value: bool) -> str:
    parts = words(slot)
    if parts[:1] in (("is",), ("be",)):
        parts = parts[1:]
        state = True
    else:
        state = _STATES.fullmatch(parts[-1] if parts else "") is not None
    if parts[:1] in (("has",), ("with",), ("include",), ("add",), ("needs",), ("want",), ("wants",), ("use",)):
        parts, state = parts[1:], False
    thing = " ".join(parts) or spoken(slot)
    if thing == "on" and not value:
        return "It should be off."
    if state:
        return f"It should {'' if value else 'not '}be {thing}."
    return f"With {thing}, please." if value else f"Without {thing}, please."


def _taken_apart(name: str) -> tuple[str, list[str]]:
    """The verb of a tool's name, with its particle, and what it is done to."""
    verb, *rest = spoken(name).lower().split() or [name]
    if rest and rest[0] in _PARTICLES:
        verb = f"{verb} {rest.pop(0)}"
    elif len(rest) > 1 and rest[-1] in _PARTICLES and verb in _VERBS:
        verb = f"{verb} {rest.pop()}"  # "turn roaming on"
    return verb, rest


def _described(spec: ToolSpec | None) -> str:
    """The first sentence of a description, where a customer could say it."""
    text = " ".join((spec.description if spec else "").split())
    first = re.sub(r"\s*\([^)]*\)", "", re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0]).rstrip(".;:")
    return first if len(first) < _LONG and not _DESK.search(first) else ""


def _bare(verb: str) -> Iterator[str]:
    yield from (verb, verb.removesuffix("s"), verb.removesuffix("es"))


def _object(rest: list[str]) -> str:
    if not rest:
        return ""
    thing = " ".join(rest)
    several = rest[-1].endswith("s") and not rest[-1].endswith(("ss", "us"))
    named = rest[0] in ("user", "my", "all", "the")
    return thing if several or named or rest[-1] in _MASS else with_article(thing)


def _about(verb: str, spec: ToolSpec | None) -> str:
    """What a verb without anything to be done to is done to: the record that it takes."""
    named = (name for name in (spec.parameters.get("properties", {}) if spec else {}) if name.endswith("_id"))
    things = [" ".join(words(singular(name))[:-1]) for name in named]
    thing = next((one for one in things if one and one not in ("user", "customer")), "")
    return f"{'for ' if verb == 'pay' else ''}{with_article(thing)}" if thing else ""


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    short = re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", verb) and not verb.endswith(("w", "x", "y"))
    return f"{verb}{verb[-1] if short or verb in ('cancel', 'refuel') else ''}ing"
