"""What is wrong with a person's own file of phrases, beyond its form: found when it is loaded, not in the tasks.

A wording that leaves out the value which it should tell, or has a hole that nothing fills, would make tasks that nobody
can do; a tool or slot that the domain does not have is a slip of the pen. The first problem is named, with its field.
What the holes of turns of phrase (``[talk]``) are, the shipped ones show.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from turngap.domains import LiveDomain
from turngap.errors import DataError

_HOLE = re.compile(r"\{(\w*)\}")
_INFLECTED = ("It", "is", "does", "them")
"""Holes of reasons: how the thing is spoken of, as it is one or several."""
_MAY_BE_EMPTY = ("why", "persona")


def hint(name: str, known: Iterable[str]) -> str:
    """What may have been meant: `` (did you mean 'tool'?)``, or nothing."""
    near = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""


def require_sound(file: str, said: Mapping[str, Any], domain: LiveDomain, general: Mapping[str, Any]) -> None:
    """Refuse a file whose phrases cannot serve in a domain.

    Args:
        file: where they stand.
        said: what the file says, of the right form.
        domain: whose tools are talked about.
        general: what the shipped file for every domain says.

    Raises:
        DataError: names the first problem.
    """
    _Check(file, domain, general).all(said)


class _Check:
    def __init__(self, file: str, domain: LiveDomain, general: Mapping[str, Any]) -> None:
        self._file = file
        self._general = general
        self._tools = {tool.name: tuple(tool.spec.parameters.get("properties", {})) for tool in domain.tools}
        self._slots = {name for tool in domain.tools for name in _names(tool.spec.parameters)}

    def all(self, said: Mapping[str, Any]) -> None:
        for key, phrases in said.get("talk", {}).items():
            self._talk(key, phrases)
        for name, tool in said.get("tool", {}).items():
            if name in self._tools:
                self._tool(f"tool.{name}", self._tools[name], tool)
            elif name not in self._general["tool"]:  # as in a copy of the shipped file, which is for every domain
                self._refuse(f"tool.{name}", f"the domain has no such tool{hint(name, self._tools)}")
        for name, slot in said.get("slot", {}).items():
            self._is_slot(f"slot.{name}", name)
            self._slot(f"slot.{name}", name, slot)
        for name, phrases in said.get("identity", {}).items():
            if name not in self._general["identity"]:
                self._is_slot(f"identity.{name}", name)
            self._phrases(f"identity.{name}", phrases, known=[name], told=[[name]])
        self._sentences(said)

    def _sentences(self, said: Mapping[str, Any]) -> None:
        for index, one in enumerate(said.get("together", ())):
            where = f"together[{index}]"
            self._filled(f"{where}.slots", one["slots"])
            told = [[slot] for slot in one["slots"]]
            self._phrases(f"{where}.says", one["says"], known=one["slots"], told=told)
        for index, one in enumerate(said.get("asked", ())):
            self._filled(f"asked[{index}].says", one["says"])
            if "vague" in one:
                self._phrases(f"asked[{index}].vague", one["vague"], known=())

    def _talk(self, key: str, phrases: Sequence[str]) -> None:
        shipped = self._general["talk"].get(key)
        if shipped is None:
            self._refuse(f"talk.{key}", f"there is no such turn of phrase{hint(key, self._general['talk'])}")
        holes = [set(_HOLE.findall(one)) for one in shipped]
        needed = set.intersection(*holes)
        known = set.union(*holes)
        self._phrases(f"talk.{key}", phrases, known=known, told=[[one] for one in sorted(needed)])

    def _tool(self, where: str, takes: Sequence[str], tool: Mapping[str, Any]) -> None:
        parts: dict[str, tuple[str, ...]] = {}
        for name, part in tool.get("parts", {}).items():
            covered = [*(one for names in part.get("join", ()) for one in names.split()), *part.get("pair", ())]
            for one in covered:
                if one not in takes:
                    self._refuse(f"{where}.parts.{name}", f"the tool takes no {one!r}{hint(one, takes)}")
            parts[name] = tuple(covered)
            self._part(f"{where}.parts.{name}", name, part, [*takes, *tool["parts"]])
        known = [*takes, *parts]
        if "wish" in tool:
            self._phrases(f"{where}.wish", tool["wish"], known=known)
        if "vague" in tool:
            self._phrases(f"{where}.vague", tool["vague"], known=())
        if "topic" in tool:
            self._phrases(f"{where}.topic", [tool["topic"]], known=())
        self._phrases(f"{where}.why", tool.get("why", ()), known=_INFLECTED)
        for slot, phrases in tool.get("answer", {}).items():
            if slot not in takes:
                self._refuse(f"{where}.answer.{slot}", f"the tool takes no such argument{hint(slot, takes)}")
            told = [[slot, *(name for name, covered in parts.items() if slot in covered)]]
            self._phrases(f"{where}.answer.{slot}", phrases, known=known, told=told)

    def _part(self, where: str, name: str, part: Mapping[str, Any], known: Collection[str]) -> None:
        pair = part.get("pair", ())
        if pair or "each" in part:
            if len(pair) != 2:
                self._refuse(f"{where}.pair", f"two arguments are a pair, not {len(pair)}")
            self._phrases(f"{where}.each", part.get("each", ()), known=pair, told=[[one] for one in pair])
            self._filled(f"{where}.each", part.get("each", ()))
        elif not part.get("join"):
            self._refuse(where, "should say which arguments are told together: join, or pair and each")
        if "answer" in part:
            self._phrases(f"{where}.answer", part["answer"], known=known, told=[[name]])

    def _slot(self, where: str, name: str, slot: Mapping[str, Any]) -> None:
        if "answer" in slot:
            self._phrases(f"{where}.answer", slot["answer"], known=self._slots | {name}, told=[[name]])
        for value, words in slot.get("words", {}).items():
            self._phrases(f"{where}.words.{value}", words, known=())
        for index, kind in enumerate(slot.get("as", ())):
            self._filled(f"{where}.as[{index}].says", kind["says"])
        if "each" in slot:
            self._phrases(f"{where}.each", slot["each"], known=self._slots)
        if slot.get("instead_of"):
            self._is_slot(f"{where}.instead_of", slot["instead_of"])

    def _is_slot(self, where: str, name: str) -> None:
        if name not in self._slots:
            self._refuse(where, f"no tool of the domain takes {name!r}{hint(name, self._slots)}")

    def _phrases(
        self, where: str, phrases: Sequence[str], *, known: Collection[str], told: Sequence[Sequence[str]] = ()
    ) -> None:
        """Hold phrases against their holes: those that can be filled, and sets of which one each has to be there."""
        self._filled(where, phrases)
        for index, phrase in enumerate(phrases):
            holes = _HOLE.findall(phrase)
            for hole in holes:
                if hole not in known:
                    there_are = f"known here: {', '.join(sorted(known))}" if known else "no value is put in here"
                    self._refuse(f"{where}[{index}]", f"nothing fills {{{hole}}}; {there_are}")
            for needed in told:
                if phrase.strip() and not set(needed) & set(holes):
                    wanted = " or ".join(f"{{{one}}}" for one in needed)
                    self._refuse(f"{where}[{index}]", f"does not tell the value; put {wanted} where it goes")

    def _filled(self, where: str, phrases: Sequence[str]) -> None:
        if where.rpartition(".")[2] in _MAY_BE_EMPTY:
            return
        if not phrases:
            self._refuse(where, "is empty; leave it out, or say something")
        for index, phrase in enumerate(phrases):
            if not phrase.strip():
                self._refuse(f"{where}[{index}]", "is empty; leave it out, or say something")

    def _refuse(self, where: str, problem: str) -> NoReturn:
        raise DataError(problem, file=self._file, field=where)


def _names(schema: Any) -> Iterator[str]:
    """The names of all parameters, those of objects inside of others too."""
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key == "properties" and isinstance(inner, dict):
                yield from inner
            yield from _names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _names(inner)
