"""Derive a structured intent from a task that has only instructions in prose, as tau2's tasks do.

What is derived, and from what:

* the opening: the reason for the call in the first person, without sentences that direct the one who plays the user;
* facts: who the user is, from what the user knows; and every value of a reference action that the task's text names.
  Choices that the text leaves open (a reason, a city, a cabin) are taken from the reference action and marked so
  (`Fact.source`); ids, amounts, summaries and computations never are, since the agent has to find those;
* changes: "if the agent asks for confirmation, ..." and the like;
* what is said to refusals, and remarks for questions that name no slot.

No language understanding: what none of the patterns covers is left out, which makes the derived user simpler than the
prose, never richer. A file that carries structured intent is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from turngap.data import Change, Fact, Intent, Remark, Task
from turngap.data.arguments import leaves
from turngap.data.asking import spell, spoken
from turngap.data.task import is_write
from turngap.users.person import first_person

VERSION = 1
"""Raised when the same task would yield another intent."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(\"'])|\n\s*\n|\n(?=\s*-)|\n(?=[A-Z])")
_DIRECTION = re.compile(
    r"\b(agent|assistant|representative|conversation|reveal|mention|volunteer|pretend|confirmation|respond|reply|replies"
    r"|when asked|if asked|your messages|typos?|tool calls?|interaction|after a few|attempts?|make up|you are trying"
    r"|insist persistently)\b",
    re.IGNORECASE,
)
_BEHAVIOUR = re.compile(
    r"^\W*(you are|you're|be|do not|don't|always|never|try|make sure|keep|act|speak|insist|you like to|under no)\b",
    re.IGNORECASE,
)
_CONFIRM = re.compile(
    r"^\W*(?:but |and )?(?:if|when|once)\b[^,]*\b(?:asks?|asking)\b[^,]*\bconfirm\w*\b[^,]*,\s*(?P<then>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_DONE = re.compile(
    r"^\W*(?:but |and )?(?:once|after)\b[^,]*\b(?:done|complete|completed|confirmed|finished|processed|made)\b[^,]*,\s*"
    r"(?:then )?(?P<then>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_MIDWAY = re.compile(r"^\W*(?:in the middle of|halfway|midway)\b[^,]*,\s*(?P<then>.+)$", re.IGNORECASE | re.DOTALL)
_REFUSED = re.compile(
    r"^\W*(?:but |and )?(?:if)\b[^,]*\b(?:agent|assistant|representative)\b[^,]*"
    r"\b(?:not|cannot|can't|unable|refuses?|denies|impossible)\b[^,]*,\s*(?P<then>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_WHEN_ASKED = re.compile(
    r"^\W*(?:but |and )?(?:if|when)\b(?P<about>[^,]*\bask(?:s|ed)?\b[^,]*),\s*(?P<then>.+)$", re.IGNORECASE | re.DOTALL
)
_SAYING = re.compile(
    r"^(?:then |suddenly |also |abruptly |you (?:should |can )?|and )*"
    r"(?:(?P<say>say|mention|insist|answer|respond|reply|tell (?:it|them|him|her|(?:the )?agent))"
    r"(?: exactly)?(?: with)?(?: that)?"
    r"|(?P<ask>ask(?: the agent| it| them)?(?= (?:how|what|when|which|whether|if|why|who)\b))"
    r"|(?P<want>ask to|(?:you )?want to|add another request and also want to|change your mind and (?:ask|want) to)"
    r"|(?P<wish>ask for|change your mind to)|(?P<give>provide|give))\s+(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d+\b")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_ZIP = re.compile(r"(?:zip ?code|zip|,)?\s*\b(\d{5})\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?:You are|You're|Your? name is|named)\s+(?P<first>[A-Z][a-z]+)(?:\s+(?P<last>[A-Z][a-z]+))?")
_FOUND_BY_AGENT = re.compile(r"(^|_)ids?$|^(summary|expression|amount|price|total\w*|nonfree\w*|flight_number)$")
_GIVES_UP = re.compile(r"^\W*(?:\w+ )?(move on|end the|accept|hang up|do nothing|no action)\b", re.IGNORECASE)
_STUBBORN = re.compile(r"\b(insist\w*|persist\w*|do(?:n't| not) accept the first)\b", re.IGNORECASE)
_INSISTS = "I understand, but I really need this. Is there really no way?"
_GREETING = "Hello, I need some help."
_UNKNOWN = {"email": "email", "e-mail": "email", "zip": "zip", "order": "order_id", "reservation": "reservation_id"}


def intent_of(task: Task) -> Intent:
    """The task's own structured intent, or one derived from its prose."""
    return task.intent or derive(task)


def derive(task: Task) -> Intent:
    """An intent from the instructions and the reference actions of a task. The same task always yields the same."""
    told = task.instructions
    reason = list(_sentences(told.reason))
    further = list(_sentences(told.further))
    wishes = [part for part in reason if not _DIRECTION.search(part)]
    if not wishes:
        wishes = [part for part in further if not _DIRECTION.search(part) and not _BEHAVIOUR.search(part)][:1]
    opening = " ".join(map(first_person, wishes))
    facts = _facts(task)
    directions = [part for part in (*reason, *further) if _DIRECTION.search(part)]
    refused = [match["then"] for part in directions if (match := _REFUSED.search(part))]
    insist = [_as_said(then) for then in refused if not _GIVES_UP.search(then)]
    insist += [_as_said(part) for part in (*reason, *further) if re.match(r"\W*insist that\b", part, re.IGNORECASE)]
    if not insist and _STUBBORN.search(f"{told.reason} {told.further}"):
        insist = [_INSISTS]
    return Intent(
        opening=opening or _GREETING,
        facts=tuple(facts),
        remarks=tuple(_remarks(told.known, reason, further)),
        unknown=tuple(_unknown(told.unknown, facts)),
        changes=tuple(_changes((*reason, *further))),
        insist=tuple(insist),
    )


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE.split(text):
        sentence = " ".join(part.split()).strip(" ")
        if re.search(r"\w", sentence):
            yield sentence


def _facts(task: Task) -> list[Fact]:
    """Who the user is first, then what the reference actions show, in their order; values of one slot together."""
    told = task.instructions
    text = f"{told.reason}\n{told.known}\n{told.further}"
    # slot -> [(value, action, source)], distinct values only
    found: dict[str, list[tuple[Any, str, str]]] = {}

    def add(slot: str, value: Any, action: str, source: str) -> None:
        values = found.setdefault(slot, [])
        if all(value != known for known, _, _ in values):
            values.append((value, action, source))

    for slot, value in _identity(told.known or told.reason):
        add(slot, value, "", "text")
    for action in task.criteria.actions:
        if action.requestor != "assistant":
            continue
        for slot, value in leaves(action.arguments):
            if _named(value, text):
                add(slot, value, action.name, "text")
            elif not _FOUND_BY_AGENT.search(slot) and _is_choice(value) and is_write(action.name):
                add(slot, value, action.name, "reference")
    return [fact for slot, values in found.items() for fact in _told(slot, values)]


def _told(slot: str, values: list[tuple[Any, str, str]]) -> Iterator[Fact]:
    """One fact for one value; for several that belong to different actions, each says to which."""
    for value, action, source in values:
        several = len({name for _, name, _ in values}) > 1 and is_write(action or "get")
        says = f"To {spoken(action)}, the {spoken(slot)} is {spell(value)}." if several else ""
        yield Fact(slot=slot, value=value, says=says, source="text" if source == "text" else "reference")


def _identity(known: str) -> Iterator[tuple[str, str]]:
    """Who the user is; the name from an id such as ``mei_kovacs_8020`` where no name is told."""
    match = _NAME.search(known)
    if match is None and (user := _USER_ID.search(known)):
        first, last, _ = user.group().split("_")
        yield "first_name", first.capitalize()
        yield "last_name", last.capitalize()
    if match:
        yield "first_name", match["first"]
        if match["last"]:
            yield "last_name", match["last"]
    for slot, pattern in (("email", _EMAIL), ("user_id", _USER_ID), ("phone_number", _PHONE)):
        for value in pattern.findall(known):
            yield slot, value
    if match := _ZIP.search(_EMAIL.sub("", known)):
        yield "zip", match[1]


def _named(value: Any, text: str) -> bool:
    """Whether the text names a value; `basic_economy` is named by "basic economy", `#W1` by "W1"."""
    if isinstance(value, bool) or value is None or value == "":
        return False
    words = spell(value).lower().lstrip("#")
    choices = {words, words.replace("_", " ")}
    return any(re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", text.lower()) for choice in choices)


def _is_choice(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and bool(value.strip()))


def _unknown(text: str, facts: Iterable[Fact]) -> Iterator[str]:
    known = {fact.slot for fact in facts}
    for word, slot in _UNKNOWN.items():
        if re.search(rf"\b{word}", text, re.IGNORECASE) and slot not in known:
            known.add(slot)
            yield slot


def _changes(sentences: Iterable[str]) -> Iterator[Change]:
    for sentence in sentences:
        if match := _CONFIRM.search(sentence):
            yield Change(says=_as_said(match["then"], "Actually, "), when="confirm")
        elif match := _DONE.search(sentence):
            yield Change(says=_as_said(match["then"]), when="done", kind="addition")
        elif match := _MIDWAY.search(sentence):
            yield Change(says=_as_said(match["then"]), when="turn", turn=2, kind="addition")


def _remarks(known: str, reason: list[str], further: list[str]) -> Iterator[Remark]:
    for sentence in (*reason, *_sentences(known), *further):
        match = _WHEN_ASKED.search(sentence)
        if match and not _CONFIRM.search(sentence):
            yield Remark(says=_as_said(match["then"]), about=match["about"])
        elif not _DIRECTION.search(sentence) and not (sentence in further and _BEHAVIOUR.search(sentence)):
            yield Remark(says=first_person(sentence))


def _as_said(direction: str, lead: str = "") -> str:
    """What the user says who is told "say that ...", "ask whether ...", "you want to ..."."""
    direction = direction.strip().rstrip(".")
    match = _SAYING.match(direction)
    if match is not None and match["ask"]:
        return f"Could you tell me {_lower(first_person(match['rest']))}?"
    if match is None:
        orders = re.match(r"(only|do|don't|exchange|return|cancel|change)\b", direction)
        said = f"please {direction}" if orders else direction
    elif match["say"] or match["give"]:
        said = match["rest"].strip("'\"")
    elif match["want"]:
        said = f"I would like to {match['rest']}"
    else:
        said = f"I would like {match['rest']}"
    said = first_person(lead + (_lower(said) if lead else said))
    return f"{said[:1].upper()}{said[1:]}."


def _lower(text: str) -> str:
    """The text as the rest of a sentence."""
    return text if re.match(r"I\b", text) else text[:1].lower() + text[1:]
