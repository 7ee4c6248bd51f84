"""Words that only keep a conversation going: what a user says who has nothing to tell, and how to know them again.

Somebody who waits says much the same again and again, and means nothing by it. So such words are no lapse however often
they come, whoever plays the user; what repeats a wish or a fact is another matter (`turngap.users.faults`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

GO_ON = (
    "All right. Please go on if there is anything left to do.",
    "I see. What is left to be done?",
    "I am still here. Please let me know how it goes.",
)
"""What a scripted user says in turn while it waits; none of it is a yes to anything."""

_EMPTY = frozenset(
    re.findall(
        r"[\w']+",
        """a about again ahead all alright am an and any anything are as be been but by bye can check
        continue could did do does doing don't done else fine for from further give go goes going good got
        great had has have hear hello help here hi hold how i i'll i'm if in is it it's just kind know left
        let like look me minute moment more much my need next nice no not now of oh ok okay on one or other
        perfect please proceed ready right see so some soon still sure take thank thanks that that's the
        then there this time to understand understood up us very wait waiting was we welcome well what
        what's when where which will with would yes you you're your""",
    )
)


def goes_along(words: Sequence[str]) -> bool:
    """Whether a message, as its words in lower case, names nothing: no wish, no fact, no thing."""
    return _EMPTY.issuperset(words)
