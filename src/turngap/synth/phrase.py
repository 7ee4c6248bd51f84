"""The phrases that tasks are worded with: data files that say how people ask for what a tool does.

A file is TOML (``phrases/general.toml`` explains itself). `load` lays those on top of each other that fit a domain: the
general one, each shipped one that speaks of most of the domain's writing tools, then the person's own. What no file
speaks of is worded from the tool's specification, so that every domain can be talked about.

In a phrase ``{name}`` is a value in words, and ``<I>``, ``<my>``, ``<I'm>`` and so on are the person: `voiced` makes
them "I" for a message and "you" for instructions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.domains import LiveDomain
from turngap.errors import DataError
from turngap.synth.phrase_check import hint, require_sound

_SIGN = re.compile(r"<(I|me|my|mine|myself|am|was|have|I'm|I'd|I've|I'll|My)>")
_YOU = {
    "I": "you",
    "me": "you",
    "my": "your",
    "My": "Your",
    "mine": "yours",
    "myself": "yourself",
    "am": "are",
    "was": "were",
    "have": "have",
    "I'm": "you're",
    "I'd": "you'd",
    "I've": "you've",
    "I'll": "you'll",
}
_START = re.compile(r"(^|[.!?]\s+)([a-z])")


class Voice(Enum):
    """Who speaks of the person."""

    SELF = "I"
    """The person, in a message."""
    TO = "you"
    """Whoever instructs the one who plays the person."""


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How records of one kind are called."""

    when: dict[str, Any]
    """The fields, with values, by which the kind is told."""
    says: tuple[str, ...]


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kinds": "as"}):
    """How the value of an argument is told."""

    answer: tuple[str, ...] = ()
    """Sentences for when it is asked for."""
    words: dict[str, tuple[str, ...]] = {}
    """Value -> how people put it."""
    kinds: tuple[Kind, ...] = ()
    """For ids of records of several kinds."""
    thing: str = ""
    """For ids of articles: the field that names them."""
    options: str = ""
    """Beside `thing`: the field with what tells variants of one article apart."""
    instead_of: str = ""
    """The argument whose article this one takes the place of, entry by entry."""
    each: tuple[str, ...] = ()
    """For objects and lists of them: one entry, from its fields."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several arguments told together."""

    join: tuple[str, ...] = ()
    """Arguments whose values stand in a row, such as the parts of an address; no comma between those in one text."""
    pair: tuple[str, ...] = ()
    """Two lists whose entries belong together."""
    each: tuple[str, ...] = ()
    """For pairs: how one pair is told."""
    answer: tuple[str, ...] = ()
    """Sentences for when one of the arguments is asked for."""

    def covers(self) -> tuple[str, ...]:
        """The arguments that are told."""
        return (*(name for names in self.join for name in names.split()), *self.pair)


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a call is asked for."""

    wish: tuple[str, ...] = ()
    """What goes after "I'd like to", with every value that the person has to give."""
    vague: tuple[str, ...] = ()
    """The same with none of them."""
    topic: str = ""
    """What goes after "for" where several wishes have to be told apart."""
    why: tuple[str, ...] = ()
    """Sentences that say why; an empty one says nothing."""
    parts: dict[str, Part] = {}
    answer: dict[str, tuple[str, ...]] = {}
    """Argument -> sentences for when it is asked for, before those of the slot."""


class Together(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Slots that are told in one sentence."""

    slots: tuple[str, ...]
    says: tuple[str, ...]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the options of articles are told."""

    inside: tuple[str, ...] = ()
    """Options that one has a thing "in", such as a color."""
    before: tuple[str, ...] = ()
    """Options that stand before the thing, such as a type."""
    quality: tuple[str, ...] = ()
    """Options that are yes or no and that a thing is, such as foldable; all others it has."""
    bare: tuple[str, ...] = ()
    """Options that one has a thing "with" and whose value says enough without their name."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How something that a result tells is asked for."""

    place: str = ""
    """Where it stands, such as ``payment_history[].amount``."""
    about: str = ""
    """For what no place tells: the words in which an explorer says what it is."""
    when: dict[str, Any] = {}
    """Fields of its record, with values."""
    says: tuple[str, ...]
    """What goes after "I'd like to know"; holes are fields of the record, ``{thing}`` is the article."""
    vague: tuple[str, ...] = ()
    """The same without a value."""
    thing: str = ""
    """The field that names the article which it is about."""
    options: str = ""
    """Beside `thing`: the field with what tells variants of one article apart."""


class Phrases(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of how people talk in one domain."""

    talk: dict[str, tuple[str, ...]]
    """Turns of phrase for every domain."""
    tools: dict[str, Tool]
    slots: dict[str, Slot]
    identity: dict[str, tuple[str, ...]]
    """Slot -> sentences in which a person says who they are."""
    together: tuple[Together, ...]
    """The same for slots that are told in one sentence."""
    asked: tuple[Asked, ...]
    """How facts are asked for; the first that fits counts."""
    options: Options
    sources: tuple[str, ...]
    """The files, in the order in which they were laid on top of each other."""
    digest: str
    """Of what the files say, in that order."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"tools": "tool", "slots": "slot"}):
    talk: dict[str, tuple[str, ...]] = {}
    tools: dict[str, Tool] = {}
    slots: dict[str, Slot] = {}
    identity: dict[str, tuple[str, ...]] = {}
    together: tuple[Together, ...] = ()
    asked: tuple[Asked, ...] = ()
    options: Options = Options()


_FIELDS = tuple(
    dict.fromkeys(
        name
        for kind in (_File, Tool, Slot, Part, Kind, Together, Asked, Options)
        for name in kind.__struct_encode_fields__
    )
)
_UNKNOWN = re.compile("unknown field `(.+)`")


def load(domain: LiveDomain, paths: Sequence[Path] = ()) -> Phrases:
    """The phrases for a domain.

    Args:
        domain: whose tools are asked for.
        paths: files of the person's own; what they say takes the place of what others say.

    Raises:
        DataError: a file cannot be read or is not of the form, or one of the person's own cannot serve in this domain
            (`turngap.synth.phrase_check`); the field is named.
    """
    shipped = sorted(files(__package__).joinpath("phrases").iterdir(), key=lambda file: file.name)
    writes = {tool.name for tool in domain.tools if tool.kind == "write"}
    read = [(file.name, _read(file.read_bytes(), file.name)) for file in shipped if file.name.endswith(".toml")]
    chosen = [(name, one) for name, one in read if name == "general.toml"]
    chosen += [(name, one) for name, one in read if name != "general.toml" and _fits(one, writes)]
    for path in paths:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
        chosen.append((str(path), _read(text, str(path))))
        require_sound(str(path), tomllib.loads(text.decode()), domain, msgspec.to_builtins(chosen[0][1]))
    return _laid([one for _, one in chosen], tuple(name for name, _ in chosen))


def voiced(text: str, voice: Voice) -> str:
    """A phrase as the person says it of themselves, or as it is said to the person; sentences begin with a capital."""

    def put(sign: re.Match[str]) -> str:
        word = sign[1]
        return word if voice is Voice.SELF else _YOU[word]

    return _START.sub(lambda start: start[1] + start[2].upper(), _SIGN.sub(put, text))


def _fits(one: _File, writes: set[str]) -> bool:
    return 2 * len(writes & one.tools.keys()) > len(writes)


def _read(text: bytes, file: str) -> _File:
    try:
        return msgspec.convert(tomllib.loads(text.decode()), _File)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not TOML: {error}", file=file) from None
    except msgspec.ValidationError as error:
        problem, where = jsonio.misfit(error)
        unknown = _UNKNOWN.search(problem)
        meant = hint(unknown[1], _FIELDS) if unknown else ""
        raise DataError(problem[:1].lower() + problem[1:] + meant, file=file, field=where.strip(".")) from None


def _laid(layers: Sequence[_File], sources: tuple[str, ...]) -> Phrases:
    def merged(name: str) -> dict[str, Any]:
        return {key: value for layer in layers for key, value in getattr(layer, name).items()}

    options = [layer.options for layer in layers if layer.options != Options()]
    return Phrases(
        talk=merged("talk"),
        tools=merged("tools"),
        slots=merged("slots"),
        identity=merged("identity"),
        together=tuple(one for layer in reversed(layers) for one in layer.together),
        asked=tuple(one for layer in reversed(layers) for one in layer.asked),
        options=options[-1] if options else Options(),
        sources=sources,
        digest=jsonio.digest([msgspec.to_builtins(layer) for layer in layers])[:16],
    )
