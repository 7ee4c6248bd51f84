"""Values that a person makes up: a new address, another passenger, the text of a note.

What the database holds is the model: what belongs to a place (city, state, country, postal code) is taken together from
one record, everything else is put together anew from several, with other digits, and is nobody's: what comes out equals
no record that there is. Free text, and what the database has no example of, comes from a file of phrases.

Non-goals: a value of a kind that has to exist, such as an id. Those are found, not made up.
"""

from __future__ import annotations

import datetime as dt
import random
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.errors import DataError
from turngap.synth.naming import words

_PLACE = frozenset(["city", "town", "state", "country", "zip", "postcode", "postal", "region", "province", "county"])
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DIGITS = re.compile(r"\d+")
_TRIES = 20


class Inventor:
    """Makes values up, by what one database holds."""

    def __init__(self, content: dict[str, dict[str, Any]], phrases: Path | None = None) -> None:
        """Begin.

        Args:
            content: the database (`LiveWorld.content`).
            phrases: a file in the place of the package's own.

        Raises:
            DataError: the file is missing or no such TOML.
        """
        self._content = content
        self._donors: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        self._taken: dict[tuple[str, ...], set[tuple[Any, ...]]] = {}
        self._texts, self._together = _phrases(phrases)
        self.digest = jsonio.digest([self._texts, self._together])[:16]
        """Of the phrases."""

    def bundle(self, fields: tuple[str, ...], rng: random.Random) -> dict[str, Any] | None:
        """Values for fields that belong together, such as those of an address, that are in no record.

        None where the database has no records with these fields, and the phrases do not know them together either.
        """
        fixed = [entry for entry in self._together if all(field in entry for field in fields)]
        if fixed:
            entry = rng.choice(fixed)
            return {field: entry[field] for field in fields}
        donors = self._records(fields)
        if not donors:
            return None
        for _ in range(_TRIES):
            place = rng.choice(donors)
            made = {
                field: place[field] if _is_place(field) else _varied(rng.choice(donors)[field], rng) for field in fields
            }
            if tuple(made.values()) not in self._taken[fields]:
                return made
        return None

    def text(self, name: str, rng: random.Random) -> str | None:
        """Free text for a parameter; None where nothing is known of such."""
        known = self._texts.get(name) or next((self._texts[w] for w in reversed(words(name)) if w in self._texts), None)
        if known:
            return rng.choice(known)
        entries = [entry[name] for entry in self._together if name in entry]
        return str(rng.choice(entries)) if entries else None

    def _records(self, fields: tuple[str, ...]) -> list[dict[str, Any]]:
        if fields not in self._donors:
            found: list[dict[str, Any]] = []
            _collect(self._content, set(fields), found)
            self._donors[fields] = found
            self._taken[fields] = {tuple(record[field] for field in fields) for record in found}
        return self._donors[fields]


def shifted(date: str, days: int) -> str | None:
    """A date some days later, in the same writing; None where the text begins with no date."""
    try:
        return (dt.date.fromisoformat(date[:10]) + dt.timedelta(days=days)).isoformat() + date[10:]
    except (ValueError, OverflowError):
        return None


def is_date(value: Any) -> bool:
    """Whether a value is a date in ISO writing."""
    return isinstance(value, str) and _DATE.match(value) is not None and shifted(value, 0) is not None


def _collect(node: Any, fields: set[str], found: list[dict[str, Any]]) -> None:
    if isinstance(node, dict):
        if fields <= node.keys() and not any(
            isinstance(node[field], (dict, list)) or node[field] is None for field in fields
        ):
            found.append(node)
        for inner in node.values():
            if isinstance(inner, (dict, list)):
                _collect(inner, fields, found)
    else:
        for inner in node:
            if isinstance(inner, (dict, list)):
                _collect(inner, fields, found)


def _is_place(field: str) -> bool:
    return any(word in _PLACE for word in words(field))


def _varied(value: Any, rng: random.Random) -> Any:
    """A value of the same kind: dates move, numbers get other digits, words stay."""
    if is_date(value):
        return shifted(value, rng.randint(-900, 900))
    if isinstance(value, str):
        return _DIGITS.sub(lambda run: _number(len(run[0]), rng), value)
    return value


def _number(length: int, rng: random.Random) -> str:
    return str(rng.randint(10 ** (length - 1), 10**length - 1))


def _phrases(path: Path | None) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    source = files(__package__).joinpath("invention.toml") if path is None else path
    try:
        told = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not TOML: {error}", file=str(path)) from None
    texts, together = told.get("texts", {}), told.get("together", [])
    wrong = next((name for name, lines in texts.items() if not (isinstance(lines, list) and lines)), None)
    if wrong is not None:
        raise DataError("should be a list of texts", file=str(path), field=f"texts.{wrong}")
    return texts, together
