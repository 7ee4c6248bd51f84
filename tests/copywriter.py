"""A stand-in for a model that words and scores tasks: it reads the material of a request and answers as it is asked to.

Its sentences are clumsy and right. What a test wants wrong, it makes wrong in the answer.
"""

from __future__ import annotations

import json
import re
from typing import Any

from chatserver import Say, text

_BLOCK = re.compile(r"^(.+)\nBEGIN DATA (\w+)\n(.*)\nEND DATA \2$", re.MULTILINE)
SECOND = "An earlier answer to this request was of no use"


def system(body: dict[str, Any]) -> str:
    """What a model is told to do."""
    return str(body["messages"][0]["content"])


def asked(body: dict[str, Any]) -> str:
    """What a model is asked about."""
    return str(body["messages"][-1]["content"])


def is_second(body: dict[str, Any]) -> bool:
    """Whether an earlier answer to the same request was of no use."""
    return SECOND in asked(body)


def scores(body: dict[str, Any]) -> bool:
    """Whether scores are asked for, and not words."""
    return '"scores"' in system(body)


def material(body: dict[str, Any]) -> dict[str, Any]:
    """The titled data of a request."""
    return {title: json.loads(content) for title, _, content in _BLOCK.findall(asked(body))}


def aspects(body: dict[str, Any]) -> list[str]:
    """The aspects that are to be scored."""
    return re.findall(r"^- (\w+): ", system(body), re.MULTILINE)


def score(body: dict[str, Any], **low: int) -> Say:
    """Full marks, but for those that are named."""
    return text(json.dumps({"scores": {name: low.get(name, 10) for name in aspects(body)}, "rationale": "as said"}))


def words(body: dict[str, Any]) -> dict[str, Any]:
    """The customer's part, said as plainly as can be."""
    told = material(body)
    secret = "What must not be in the opening" in told
    values = told["What the customer tells"]
    wishes = told["What the customer wants"]
    sentences = {one["wish"]: _wish(number, one, secret=secret) for number, one in enumerate(wishes)}
    parts: dict[str, list[str]] = {"opening": [], "change": []}
    if not secret:
        parts["opening"] += [f"My {slot} is {value}." for slot, value in told["Who the customer says they are"].items()]
    places = {one["wish"]: one["asked_for_in"] for one in wishes}
    for wish, sentence in sentences.items():
        parts[places[wish]].append(sentence)
    if not secret:
        parts["opening"] += [one["in_words"] for one in values]
    return {
        "persona": "You are to the point.",
        "opening": " ".join(parts["opening"]),
        "answers": {one["key"]: one["in_words"] for one in values},
        "change": " ".join(parts["change"]),
        "insist": ["Please try all the same."],
        "closing": "Thank you, bye.",
        "wishes": sentences,
        "reason": f"You begin like this: {' '.join(parts['opening'])}",
        "known": " ".join(one["in_words"] for one in values),
        "further": f"Later: {' '.join(parts['change']) or 'answer what you are asked'}",
    }


def answer(body: dict[str, Any]) -> Say:
    """Whatever is asked for, done well."""
    return score(body) if scores(body) else text(json.dumps(words(body)))


def _wish(number: int, wish: dict[str, Any], *, secret: bool) -> str:
    if "to_be_told" in wish:
        what = "a secret" if secret else wish["to_be_told"]
        return f"Thing {'abcdefghij'[number]} that I want to know is {what}."
    return f"Thing {'abcdefghij'[number]} that I want is called {wish['call'].replace('_', ' ')}."
