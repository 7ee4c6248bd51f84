"""Whether the words of a task and its reference want the same: each change is asked for, and each wish has its change.

A change is asked for when the words hold the verb of its tool, one that means the same, or a thing that only this
tool is about (``add_note``: add, leave, write; note). A wish has its change when some tool of that verb is in the
reference. English only, by words: it tells what is not spoken of at all from what is, not what is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from turngap.synth.naming import singular, words

_MEANS: dict[str, str] = {
    "cancel": "cancel call_off undo withdraw drop",
    "return": "return send_back give_back refund bring_back",
    "exchange": "exchange swap replace trade",
    "book": "book reserve make_a_reservation fly",
    "create": "create make add set_up open new",
    "add": "add leave write put note",
    "send": "send get receive compensate give issue want",
    "pay": "pay settle deposit",
    "delete": "delete remove drop erase cancel",
    "move": "move change postpone reschedule shift bring_forward",
    "refuel": "refuel top_up add buy more",
    "suspend": "suspend pause freeze hold stop",
    "resume": "resume reactivate unfreeze lift continue back restore unsuspend",
    "enable": "enable turn_on activate switch_on use on",
    "disable": "disable turn_off deactivate switch_off off",
}
_ANY_CHANGE = (
    "change modify update switch correct edit set adjust move replace upgrade downgrade convert add remove fix use "
    "ship deliver put instead rather prefer different make_it "
    "exchange swap mark"
)
_CHANGES = ("modify", "update", "change", "edit", "set", "adjust")
_STRONG = ("cancel", "return", "exchange", "book")
"""Verbs that are hardly ever said but to ask for what they name."""
_WISH = r"\b(?:want|wants|like|wish|need|decided|going|prefer|try|trying)\s+to\s+(?:\w+\s+){0,2}?(?:%s)"
_PLEASE = r"(?:^|[.!?]\s+)(?:please\s+)?(?:%s)\b"
_CONDITION = re.compile(
    r"\b(or|if|unless|otherwise|in case|whether|cannot|can't|could not|not possible|impossible|instead of|before"
    r"|rather than|changed? your mind|not|don't|won't|would|might|how much|how)\b",
    re.IGNORECASE,
)
_WAY_OUT = re.compile(
    r"\b(if not|not possible|impossible|cannot|can't|could not|unable|only (?:do|one|change|return|exchange|cancel)"
    r"|chang\w+ (?:your|my) mind|(?:asks?|asking|asked) (?:you )?(?:for|to) .{0,20}confirm|regret|rethink|otherwise"
    r"|refus\w+|denies|deny|insist\w*|not allowed|does not|doesn't)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Motives:
    """The verbs and things of a domain's tools that change something."""

    def __init__(self, writes: Iterable[str]) -> None:
        """Take in the names of the tools."""
        self._writes = tuple(writes)
        uses = Counter(word for name in self._writes for word in set(_things(name)))
        self._own = {name: [word for word in _things(name) if uses[word] == 1] for name in self._writes}

    def asked(self, tool: str, text: str) -> bool:
        """Whether words speak of what a tool does."""
        phrases = [*_phrases(_verb(tool)), *self._own.get(tool, _things(tool))]
        return any(re.search(_stem(phrase), text, re.IGNORECASE) for phrase in phrases)

    def unanswered(self, text: str, actions: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Verbs of wishes for which the reference has no action, each with the sentence that has it."""
        done = {_verb(name) for name in actions}
        done |= {"exchange"} if done & set(_CHANGES) else set()
        for verb in dict.fromkeys(_verb(name) for name in self._writes):
            if verb not in _STRONG or verb in done:
                continue
            wish = re.compile((_WISH + "|" + _PLEASE) % (verb, verb), re.IGNORECASE)
            for sentence in _SENTENCE.split(text):
                if wish.search(sentence) and not _CONDITION.search(sentence):
                    yield verb, " ".join(sentence.split())
                    break


def has_way_out(text: str) -> bool:
    """Whether words say what to do when a wish cannot be had or is taken back; then it may rightly go unanswered."""
    return _WAY_OUT.search(text) is not None


def _verb(tool: str) -> str:
    return next(iter(words(tool)), "")


def _things(tool: str) -> list[str]:
    return [singular(word) for word in words(tool)[1:] if len(word) > 3]


def _phrases(verb: str) -> list[str]:
    said = _ANY_CHANGE if verb in _CHANGES else _MEANS.get(verb, "")
    return [verb, *(phrase.replace("_", " ") for phrase in said.split())]


def _stem(phrase: str) -> str:
    """A pattern that finds a word or phrase with its endings."""
    stem = re.escape(phrase[:-1] if phrase.endswith("e") and len(phrase) > 3 else phrase).replace(r"\ ", r"\s+")
    return rf"\b{stem}\w{{0,4}}\b"
