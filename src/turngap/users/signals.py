"""How a simulated user says that the conversation is over: three marks at the end of its words, as tau2 has them.

The marks stay in the stored text, so that whoever reads a recording of ours or of others finds them alike; they are
spoken after the agent's last turn and no agent ever sees them.
"""

from __future__ import annotations

import re

from turngap.data import Termination

STOP = "###STOP###"
"""The user has what they came for, or gives up."""
TRANSFER = "###TRANSFER###"
"""The user was handed over to a person."""
OUT_OF_SCOPE = "###OUT-OF-SCOPE###"
"""The instructions say nothing about where the conversation went."""

MEANING = {
    STOP: Termination.USER_STOP,
    TRANSFER: Termination.TRANSFER,
    OUT_OF_SCOPE: Termination.OUT_OF_SCOPE,
}
"""Mark -> how the episode ends."""
_MARK = {meaning: mark for mark, meaning in MEANING.items()}
_ANY = re.compile(r"\s*#{2,}\s*(STOP|TRANSFER|OUT[-_ ]OF[-_ ]SCOPE)\s*#{2,}\s*", re.IGNORECASE)


def parse(text: str) -> tuple[str, Termination | None]:
    """Split a user's text into its words and what its first mark means, None without one.

    Small slips of models in writing a mark (case, blanks, one # less) are understood.
    """
    match = _ANY.search(text)
    if match is None:
        return text.strip(), None
    mark = "###" + re.sub(r"[_ ]", "-", match.group(1).upper()) + "###"
    return _ANY.sub(" ", text).strip(), MEANING[mark]


def sign(words: str, ending: Termination) -> str:
    """The words with the mark of `ending`, which has to be one of the three that users give."""
    return f"{words} {_MARK[ending]}".strip()
