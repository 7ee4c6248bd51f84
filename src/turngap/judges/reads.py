"""Whether a tool only reads, as far as its name and description tell.

The `rules` judge lets reads that nobody asked for pass beside the right calls, and nothing else, so the only question
is which tools can safely be called reads without knowing the domain. A schema does not say; what a recording's tools
happened to do does not either. What is left is the wording, read so that doubt means "it writes":

* the first word of the name, behind any namespace, is a verb that reads (`get_order`, `findCustomer`, `orders.list`);
* no further word of the name is a verb that writes or joins a second action on (`get_or_create`, `check_in`), or names
  what one gets by ordering it (`GetRide`);
* the description, where there is one, does not begin with a verb that writes ("Call a taxi to ...").
"""

from __future__ import annotations

import re

from turngap.data import ToolSpec

_READING = """
    browse calculate check compute count describe fetch find get list look lookup query read retrieve search show think
    view
"""
_WRITING = """
    accept activate add adjust append apply approve archive arrange assign attach authorize ban buy cancel clear commit
    confirm create deactivate decline delete deny deploy disable disconnect dispatch edit emit enable enroll erase
    escalate execute extend forward freeze generate grant hire initiate insert install invite launch login logout make
    mark merge modify move notify pay publish push put reboot redeem refill refuel reject remove rename renew rent
    reopen reschedule reserve reset resolve restart restore resume revoke save send stop submit subscribe suspend swap
    sync terminate toggle trigger undo unlock unsubscribe update upload void withdraw write
"""
# Verbs that are as often nouns: get_order reads, "Order a boat" does not. So they count where a sentence begins.
_WRITING_OR_NOUN = """
    block book call change charge close complete connect copy enter exchange file flag issue lock log open order place
    play post process purchase record refund register release report request return run schedule set share ship sign
    start switch transfer turn upgrade
"""
_SECOND_ACTION = "and or then in out off"
_GOT_BY_ORDERING = "cab cash delivery loan pickup refund ride rides taxi"

_READS = frozenset(_READING.split())
_NEVER_BEHIND = frozenset(f"{_WRITING} {_SECOND_ACTION} {_GOT_BY_ORDERING}".split())
_NEVER_IN_FRONT = frozenset(f"{_WRITING} {_WRITING_OR_NOUN}".split())
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMESPACE = re.compile(r".*(?:\.|/|::|__)")
_INFLECTIONS = (("ies", "y"), ("s", ""), ("es", ""), ("ing", ""), ("ing", "e"))


def is_read(name: str, tool: ToolSpec | None) -> bool:
    """Whether a call of that tool can change nothing, as far as its wording tells; in doubt False.

    Args:
        name: the function name.
        tool: its declaration; None where the recording has none.
    """
    first, *others = [word.lower() for word in _WORD.findall(_NAMESPACE.sub("", name))] or [""]
    if first not in _READS or not _NEVER_BEHIND.isdisjoint(others):
        return False
    described = _WORD.findall(tool.description) if tool is not None else []
    return not (described and _writes(described[0].lower()))


def _writes(verb: str) -> bool:
    """Whether a description that begins with this word tells of a change ("Cancels a booking", "Modifying ...")."""
    forms = {verb, *(verb.removesuffix(end) + stem for end, stem in _INFLECTIONS if verb.endswith(end))}
    return not forms.isdisjoint(_NEVER_IN_FRONT)
