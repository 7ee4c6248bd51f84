"""Turn instructions to a user ("You want to cancel your order") into the user's words ("I want to cancel my order").

A pronoun rewriter for plain English, no more: verbs keep their form, since I and you share it but for "are" and "were".
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OBJECT = (
    r"to|for|with|by|from|of|at|on|about|against|without|tell|tells|told|give|gives|gave|ask|asks|asked|help|helps|let"
    r"|lets|allow|allows|refund|refunds|charge|charges|charged|assist|assists|inform|informs|send|sends|sent|contact"
    r"|owe|owes|offer|offers|offered|cost|costs|cause|causes|caused|show|shows|make|makes|made|promise|promised|save|saves"
)
_VERB = r"(?:can|could|have|had|will|would|want|need|do|did|are|were|received|ordered)\b"
_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"\byou are\b", "I am"),
        (r"\byou(?:'|’)re\b", "I'm"),
        (r"\byou were\b", "I was"),
        (r"\byou weren(?:'|’)t\b", "I wasn't"),
        (r"\byou aren(?:'|’)t\b", "I am not"),
        (r"\byou(?:'|’)(ve|d|ll)\b", r"I'\1"),
        (r"\byourself\b", "myself"),
        (r"\byours\b", "mine"),
        (r"\byour\b", "my"),
        (
            rf"\b({_OBJECT}) you\b(?! (?:can|could|have|had|will|would|want|need|do|did|are|were|received|ordered))",
            r"\1 me",
        ),
        (r"\byou(?=\s*[.,;:!?)]|\s*$)", "me"),
        (r"\byou\b", "I"),
    )
)
_START = re.compile(r"(^|[.!?]\s+|\n\s*)([a-z])")


def first_person(text: str) -> str:
    """The text as the one who is addressed as "you" would say it."""
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return _START.sub(lambda match: match.group(1) + match.group(2).upper(), text)
