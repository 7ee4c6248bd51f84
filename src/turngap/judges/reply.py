"""Read a verdict out of what a judge wrote: tolerant of wrapping, strict about the verdict.

Around the verdict anything may stand: Markdown fences, prose, reasoning between tags. The verdict itself is one
complete JSON object whose `success` is a JSON boolean, at the top level of the reply (not inside another object); words
are never searched for yes and no. Of several such objects that agree the last counts. When they disagree, the last
counts only if it has all three fields, else the reply is unreadable. Unreadable is also a reply in which an object is
left open: half an answer is none, whatever stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

from turngap import jsonio

_THOUGHT_TAG = re.compile(
    r"<(?P<closing>/?)(?:think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad)\b[^<>]{0,80}>",
    re.IGNORECASE,
)
_LONGEST_CATEGORY = 60
_DECISIONS = {"approve": True, "approved": True, "reject": False, "rejected": False}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge answered."""

    success: bool
    category: str
    """``none`` exactly when it is a success; ``unspecified`` where the judge names no failure."""
    rationale: str


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge called a failure."""

    label: str
    """One of the labels it was given; empty where it says that none fits."""
    rationale: str


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said of a whole conversation."""

    approved: bool
    reasons: tuple[str, ...] = ()


class Unreadable(msgspec.Struct, frozen=True):
    """Why there is no answer in a reply."""

    reason: str


def read(text: str) -> Answer | Unreadable:
    """Read a judge's reply."""
    whole = _verdict(text.strip())
    if whole is not None:
        return _answer(whole)
    objects = _said(text)
    if isinstance(objects, Unreadable):
        return objects
    found = [verdict for verdict in map(_verdict, objects) if verdict is not None]
    if not found:
        return Unreadable("it held no JSON object with a boolean success")
    last = found[-1]
    if any(verdict["success"] is not last["success"] for verdict in found) and not _complete(last):
        return Unreadable("it held verdicts that contradict each other")
    return _answer(last)


def read_label(text: str, labels: Collection[str]) -> Named | Unreadable:
    """Read a reply that names one of `labels`, or ``none``; as tolerant and as strict as `read`."""
    objects = _said(text)
    if isinstance(objects, Unreadable):
        return objects
    found = [value for value in map(_object, objects) if value is not None and isinstance(value.get("label"), str)]
    if not found:
        return Unreadable("it held no JSON object with a text label")
    named = found[-1]["label"].strip()
    if any(value["label"].strip() != named for value in found):
        return Unreadable("it held labels that contradict each other")
    if named not in labels and named != "none":
        return Unreadable("its label is not in the list")
    rationale = found[-1].get("rationale")
    said_why = " ".join(rationale.split()) if isinstance(rationale, str) else ""
    return Named(label="" if named == "none" else named, rationale=said_why)


def read_sentences(text: str, count: int) -> tuple[Answer, ...] | Unreadable:
    """Read a reply that says of `count` statements whether they hold; as tolerant and as strict as `read`."""
    objects = _said(text)
    if isinstance(objects, Unreadable):
        return objects
    found = [value["statements"] for value in map(_object, objects) if value is not None and "statements" in value]
    if not found:
        return Unreadable("it held no JSON object with a list of statements")
    last = found[-1]
    if any(value != last for value in found):
        return Unreadable("it held answers that contradict each other")
    if not isinstance(last, list) or len(last) != count:
        return Unreadable(f"it did not answer for each of the {count} statements")
    if not all(isinstance(one, dict) and isinstance(one.get("holds"), bool) for one in last):
        return Unreadable("a statement has no boolean holds")
    return tuple(_answer({"success": one["holds"], "rationale": one.get("rationale")}) for one in last)


def read_object(text: str) -> dict[str, Any] | Unreadable:
    """Read a reply that is one JSON object, whatever its fields: the last complete one outside of reasoning."""
    whole = _object(text.strip())
    if whole is not None:
        return whole
    objects = _said(text)
    if isinstance(objects, Unreadable):
        return objects
    found = [value for value in map(_object, objects) if value is not None]
    return found[-1] if found else Unreadable("it held no JSON object")


def read_review(text: str) -> Review | Unreadable:
    """Read a reply that approves or rejects; as tolerant and as strict as `read`."""
    found = read_objects(text, "decision")
    if isinstance(found, Unreadable):
        return found
    decisions = [_DECISIONS.get(str(value["decision"]).strip().casefold()) for value in found]
    if decisions[-1] is None:
        return Unreadable("its decision is neither APPROVE nor REJECT")
    if any(decision is not decisions[-1] for decision in decisions):
        return Unreadable("it held decisions that contradict each other")
    reasons = found[-1].get("reasons", [])
    listed = reasons if isinstance(reasons, list) else [reasons]
    said = (" ".join(reason.split()) for reason in listed if isinstance(reason, str))
    return Review(approved=decisions[-1], reasons=tuple(filter(None, said)))


def read_objects(text: str, field: str) -> list[dict[str, Any]] | Unreadable:
    """The JSON objects of a reply that have a field, in order, outside of reasoning; at least one."""
    objects = _said(text)
    if isinstance(objects, Unreadable):
        return objects
    found = [value for value in map(_object, objects) if value is not None and field in value]
    return found or Unreadable(f"it held no JSON object with the field {field}")


def _said(text: str) -> list[str] | Unreadable:
    """The outermost brace groups of a reply, outside of reasoning; there may be none."""
    said = _without_thoughts(text)
    if not said.strip():
        return Unreadable("it was empty" if not text.strip() else "it held reasoning only")
    objects = _objects(said)
    return Unreadable("its JSON object was not complete") if objects is None else objects


def _without_thoughts(text: str) -> str:
    """What was said outside reasoning tags.

    A closing tag alone ends reasoning that began in the prompt; after an opening one alone the reply was cut off.
    """
    said: list[str] = []
    start, thinking = 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        if tag["closing"]:
            if not thinking:
                said.clear()
            start, thinking = tag.end(), False
        elif not thinking:
            said.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        said.append(text[start:])
    return " ".join(said)


def _objects(text: str) -> list[str] | None:
    """The outermost balanced brace groups of a text; None when one is never closed."""
    groups: list[str] = []
    start = depth = 0
    quoted = escaped = False
    for index, character in enumerate(text):
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = depth > 0  # quotation marks of prose quote no braces
        elif character == "{":
            start, depth = (start, depth + 1) if depth else (index, 1)
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                groups.append(text[start : index + 1])
    return None if depth else groups


def _verdict(text: str) -> dict[str, Any] | None:
    value = _object(text)
    return value if value is not None and isinstance(value.get("success"), bool) else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = jsonio.loads(text)
    except jsonio.JsonError:
        return None
    return value if isinstance(value, dict) else None


def _complete(verdict: dict[str, Any]) -> bool:
    return all(isinstance(verdict.get(field), str) for field in ("failure_category", "rationale"))


def _answer(verdict: dict[str, Any]) -> Answer:
    success = verdict["success"]
    named = verdict.get("failure_category")
    category = " ".join(named.split())[:_LONGEST_CATEGORY] if isinstance(named, str) else ""
    rationale = verdict.get("rationale")
    return Answer(
        success=success,
        category="none" if success else category if category.casefold() not in ("", "none") else "unspecified",
        rationale=" ".join(rationale.split()) if isinstance(rationale, str) else "",
    )
