"""What a user without a model hears in an agent's words: a question for a yes, a refusal, a good-bye.

Deterministic recognition of plain English by its usual turns of phrase. It errs on the side of hearing nothing:
what no phrase covers is ordinary talk, to which a scripted user has an answer as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from turngap.data import AssistantMessage, Message, UserMessage

_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_YES = re.compile(
    r"\b(shall i|should i|may i|can i go ahead|could i go ahead"
    r"|would you like (me )?to|do you want me to|do you want to (proceed|go ahead|continue)|want me to|like to proceed"
    r"|do you (confirm|agree|approve|accept)|(can|could) you (please )?confirm(?! your)|please confirm(?! your)"
    r"|confirm (that|whether|if)|to confirm|(reply|respond|answer|say|type) (with )?['\"]?yes|yes or no|yes/no"
    r"|is (that|this|it) (all )?(correct|right|ok|okay|fine|acceptable)|are (these|those) (all )?(correct|right)"
    r"|(does|would) (that|this) (work|sound|look|suit)|sounds? good)\b"
    r"|\b(go ahead|proceed)\?",
    re.IGNORECASE,
)
_CONFIRM_WORD = re.compile(r"\?|\bplease confirm\b|\(?yes[/ ]|\byes or no\b|['\"]yes['\"]|\byes to\b", re.IGNORECASE)
_HANDED_OVER = re.compile(
    r"\b(you are being|you're being|you have been|you've been|you will be|i am|i'm|i have|i've|i will now|i'll now"
    r"|am now|has been|is being)\b[^.?!]{0,40}\btransferr(ed|ing)\b(?![^.?!]*\bflight)",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(can ?not|can't|could not|couldn't|unable|not able|not possible|impossible|not allowed|not permitted"
    r"|not eligible|ineligible|do not (offer|allow|support)|don't (offer|allow|support)|does not allow|doesn't allow"
    r"|not available for|against (our|the) policy|policy (does not|doesn't|prohibits)|no longer possible|must decline"
    r"|have to decline)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(anything else|any other (question|request|issue|concern|thing)|something else i can|further assistance"
    r"|can i (assist|help) you further|need (any )?(more|further) help|good ?bye|take care|you(?:'re| are) all set"
    r"|have a (great|good|nice|wonderful|lovely|pleasant) (day|evening|one|weekend|time))\b",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b((has|have) (now )?(been )?(successfully )?[a-z]+(ed|en|nt|ade)\b|successfully|is now|are now|all done|done[.!]"
    r"|(i've|i have) (now )?[a-z]+(ed|en|nt|ade)\b)",
    re.IGNORECASE,
)


_ASKS_FOR = re.compile(r"\b(let me know|tell me|specify) (which|what|how|the|your)\b", re.IGNORECASE)
_ASKING = re.compile(r"\b(please|let me know|tell me|provide|share|give me|i (will )?need|specify)\b", re.IGNORECASE)
_OFFERS = re.compile(r"\b(let me know|tell me) if\b|\bfeel free\b", re.IGNORECASE)


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's last words as a scripted user takes them in."""

    text: str
    asks_yes: str = ""
    """The sentences that ask for a yes, empty when none does."""
    asks: str = ""
    """The other sentences that ask, empty when none does."""
    handed_over: bool = False
    """A person takes over from here."""
    refuses: bool = False
    """Something cannot or must not be done."""
    closes: bool = False
    """It asks whether there is anything else, or says good-bye."""
    reports: bool = False
    """It says that something was done."""


def hear(text: str) -> Heard:
    """Take in a text of the agent."""
    sentences = [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]
    asking_yes = [part for part in sentences if _proposes(part)]
    others = [part for part in sentences if part not in asking_yes and _may_ask(part) and not closing(part)]
    refuses = [part for part in sentences if _REFUSES.search(part) and not part.endswith("?")]
    return Heard(
        text=text,
        asks_yes=" ".join(asking_yes),
        asks=" ".join(others),
        handed_over=any(_HANDED_OVER.search(part) and not part.endswith("?") for part in sentences),
        refuses=bool(refuses),
        closes=any(map(closing, sentences)),
        reports=any(_REPORTS.search(part) for part in sentences if part not in refuses),
    )


def closing(sentence: str) -> bool:
    """Whether a sentence asks for further wishes or says good-bye, and asks for nothing in particular."""
    return _CLOSES.search(sentence) is not None and _ASKS_FOR.search(sentence) is None


def last_words(history: Sequence[Message]) -> str:
    """What the agent said since the user last spoke, calls left aside; empty when it said nothing."""
    words: list[str] = []
    for message in reversed(history):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, AssistantMessage) and message.content.strip() and not message.calls:
            words.append(message.content.strip())
    return "\n".join(reversed(words))


def _proposes(sentence: str) -> bool:
    """Whether a sentence asks for a yes; a choice between things to like does not."""
    match = _YES.search(sentence)
    if match is None or not _CONFIRM_WORD.search(sentence) or closing(sentence):
        return False
    choice = match.group().lower().startswith("would you like") and " or " in sentence
    return not choice or "proceed" in sentence.lower()


def _may_ask(sentence: str) -> bool:
    if _OFFERS.search(sentence):
        return False
    return "?" in sentence or _ASKING.search(sentence) is not None
