"""What people call things: an article by its name and what sets it apart, a card by its brand, and no id.

A value is described from the record that it stands for: the one that an earlier result shows, where the value was taken
from it, else the one in the database. Descriptions are unmistakable among the things of their kind that the result
offers: where a name alone would fit two of them, what sets them apart is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turngap.data.asking import spell
from turngap.synth.offer import parsed, parts
from turngap.synth.phrase import Options
from turngap.synth.plain import with_article

SAME = "exactly the same"
"""Begins the description of a thing that is to take its own place."""

_BOTH = "both"
_SHORT = re.compile(r"[XSML]{1,4}|[XSML]/[XSML]{1,2}|\d+(?:[./-]\d+)?")
_ID = re.compile(r"(?=\S*\d)\S+")


class Found(NamedTuple):
    """A record, and others of its kind that stand beside it."""

    record: dict[str, Any]
    """Its fields, and those of what holds it where it has none of that name."""
    beside: tuple[dict[str, Any], ...] = ()
    """The records in the same list or map, itself among them."""


class Records:
    """Finds the record that an id stands for in the database of a domain."""

    def __init__(self, content: dict[str, dict[str, Any]]) -> None:
        """Take in what `LiveWorld.content` gives; it is looked through when first asked."""
        self._content = content
        self._places: dict[str, tuple[str | int, ...]] | None = None

    def find(self, value: Any) -> Found | None:
        """A record that has an id as its key or in a field; None where there is none."""
        if self._places is None:
            self._places = {}
            for at, text in _ids(self._content, ()):
                # Where it is a key, there it is described; elsewhere it may only be referred to.
                if text not in self._places or (at[-1] == text and self._places[text][-1] != text):
                    self._places[text] = at
        place = self._places.get(value) if isinstance(value, str) else None
        return None if place is None else found_at(self._content, place)


def found_in(result: str, path: str) -> Found | None:
    """The record that holds a place of a result, or that has the key there."""
    return found_at(parsed(result), parts(path))


def found_at(root: Any, place: Sequence[str | int]) -> Found | None:
    """The record at or around a place of a value, None where there is none."""
    record: dict[str, Any] = {}
    beside: tuple[dict[str, Any], ...] = ()
    value, found = root, False
    for part in (None, *place):
        if part is not None:
            inner = _inner(value, part)
            if isinstance(inner, dict):
                siblings = value.values() if isinstance(value, dict) else value
                beside = tuple(one for one in siblings if isinstance(one, dict))
            value = inner
        if isinstance(value, dict):
            found = True
            record = {**{key: held for key, held in record.items() if not isinstance(held, (dict, list))}, **value}
    return Found(record, beside) if found else None


def _inner(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None


def _ids(value: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict) and _ID.fullmatch(key):
                yield (*place, key), key
            yield from _ids(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _ids(inner, (*place, index))
    elif isinstance(value, str) and _ID.fullmatch(value):
        yield place, value


def fits(record: Mapping[str, Any], when: Mapping[str, Any]) -> bool:
    """Whether a record has these fields with these values."""
    return all(record.get(key) == value for key, value in when.items())


def spelled(record: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a record as people write them: brands with a capital."""
    return {key: _brand(spell(value)) for key, value in record.items()}


def _brand(text: str) -> str:
    return text.capitalize() if text in ("visa", "mastercard", "amex", "discover") else text


def listed(words: Sequence[str]) -> str:
    """Words in a row: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing"


def article_name(name: str) -> str:
    """The name of an article as it stands inside a sentence: "Rain Jacket" is "rain jacket", "USB Hub" is "USB hub"."""

    def lowered(word: str) -> str:
        return word.lower() if len(word) > 1 and word[1:].islower() else word

    return " ".join("-".join(map(lowered, word.split("-"))) for word in name.split())


def is_plural(name: str) -> bool:
    """Whether a name speaks of several, or of a pair."""
    return name.endswith("s") and not name.endswith(("ss", "us"))


def article(found: Found, name: str, options: str, rules: Options) -> str:
    """An article among those beside it: "the rain jacket", or "the rain jacket in navy" where there is another one."""
    record = found.record
    said = article_name(spell(record[name]))
    own = record.get(options)
    # Variants in a map bear no name of their own: they are all of the one that holds them.
    namesakes = [one.get(options) for one in found.beside if one.get(name, record[name]) == record[name]]
    telling: dict[str, Any] = {}
    if isinstance(own, dict):
        others = [one for one in namesakes if isinstance(one, dict) and one != own]
        telling = {key: value for key, value in own.items() if any(one.get(key) != value for one in others)}
    return f"the {_with(said, telling, rules)}"


def variant(
    old: dict[str, Any] | None, new: dict[str, Any], options: str, rules: Options, *, whole: bool, several: bool = False
) -> str:
    """Another variant of an article, by what is different from the one there is, or by all that sets it apart.

    Args:
        old: the record of the one there is; None where it is not known.
        new: the record of the one wanted.
        options: the field with what tells variants apart.
        rules: how options are told.
        whole: say all, also what is the same.
        several: the article is a pair or a set, which is spoken of in the plural.
    """
    one = "ones" if several else "one"
    before, after = (old or {}).get(options), new.get(options)
    if not isinstance(after, dict) or not after:
        return f"other {one}" if several else "another one"
    known = before if isinstance(before, dict) else {}
    other = {key: value for key, value in after.items() if known.get(key) != value}
    if not other:
        return f"{SAME} {one}"
    if whole or len(other) == len(after):
        told = _with(one, after, rules)
        if several or told.startswith(one):
            return told
        return with_article(told)
    adjectives = _before(other, rules)
    rest = _after(other, rules)
    but = ["but", " and ".join(adjectives)] if adjectives else []
    return " ".join(filter(None, [f"the same {one}", *but, rest])).replace(" but ", ", but ")


def _with(thing: str, options: dict[str, Any], rules: Options) -> str:
    """A thing and its options: "cordless drill in red with 2 Ah battery and no case"."""
    return " ".join(filter(None, [*_before(options, rules), thing, _after(options, rules)]))


def _before(options: dict[str, Any], rules: Options) -> list[str]:
    told = []
    for key, value in options.items():
        text = spell(value)
        if key in rules.quality and text in ("yes", "no"):
            told.append(key if text == "yes" else f"non-{key}")
        elif key in rules.before and _stands_before(text):
            told.append(text)
    return told


def _stands_before(text: str) -> bool:
    """Whether a value can stand before its thing: "a video with pan one" it cannot."""
    return text not in ("none", _BOTH) and not {"with", "and", "or"} & set(text.split())


def _after(options: dict[str, Any], rules: Options) -> str:
    left = {
        key: value
        for key, value in options.items()
        if not (key in rules.before and _stands_before(spell(value)))
        and not (key in rules.quality and spell(value) in ("yes", "no"))
    }
    inside = [_inside(key, spell(value)) for key, value in left.items() if key in rules.inside]
    beside = [_beside(key, spell(value), rules) for key, value in left.items() if key not in rules.inside]
    # What is not there comes last, so that "with" is said of things that are.
    beside.sort(key=lambda words: words.startswith("no "))
    return " ".join(
        filter(None, [f"in {listed(inside)}" if inside else "", f"with {listed(beside)}" if beside else ""])
    )


def _inside(key: str, text: str) -> str:
    if key not in ("size", "waist"):
        return text
    if _SHORT.fullmatch(text):
        return f"{key} {text}"
    return f"the {text} {key}" if any(sign.isdigit() for sign in text) else f"{text} {key}"


def _beside(key: str, text: str, rules: Options) -> str:
    if text in ("yes", "true"):
        return key
    if text in ("no", "none", "false"):
        return f"no {key}"
    if text == _BOTH:
        return f"both kinds of {key}"
    if key in rules.bare or key.lower() in text.lower():
        return text
    if text.isdigit() and key.endswith("s"):
        return f"{text} {key.removesuffix('s') if text == '1' else key}"
    return f"{key} {text}" if _SHORT.fullmatch(text) else f"{text} {key}"
