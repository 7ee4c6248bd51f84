"""The courses that sample conversations take: who is identified how, and what they want.

A step is ``kind:find:twist`` (see `turngap.samples.ask`); ``friend`` asks about somebody else's order, ``product``
about stock and needs no account, ``ask.*`` is a question that the policy answers.
"""

from __future__ import annotations

from typing import NamedTuple


class Recipe(NamedTuple):
    """The course of one conversation."""

    identify: str
    """``given`` and ``given_name`` (in the first message), ``email`` and ``name`` (when asked), ``retry`` (an email
    that does not exist, then the name), ``stranger`` (no account is found), ``none`` (none is needed)."""
    steps: tuple[str, ...]


RECIPES = (
    Recipe("given", ("cancel:id",)),
    Recipe("email", ("return:id",)),
    Recipe("none", ("ask.returns", "ask.refund")),
    Recipe("name", ("exchange:id",)),
    Recipe("given", ("late:id",)),
    Recipe("retry", ("status:asked",)),
    Recipe("email", ("address:wrong", "friend")),
    Recipe("given_name", ("return:search:credit",)),
    Recipe("email", ("cancel:id:keep",)),
    Recipe("given", ("exchange:parallel:out", "status:id")),
    Recipe("email", ("too_late:id:insist",)),
    Recipe("none", ("product:x:other",)),
    Recipe("given", ("cancel:id", "return:id", "address:id:save")),
    Recipe("email", ("hand_over:id:damage",)),
    Recipe("name", ("too_old:id",)),
    Recipe("none", ("ask.delivery", "ask.countries", "ask.cost")),
    Recipe("given", ("return:id:final",)),
    Recipe("given", ("status:id",)),
    Recipe("email", ("exchange:asked:switch",)),
    Recipe("retry", ("address:asked:tell", "late:id")),
    Recipe("stranger", ("cancel:id",)),
    Recipe("given", ("cancel:id:readdress",)),
    Recipe("given", ("friend",)),
    Recipe("none", ("ask.europe",)),
    Recipe("email", ("late:search:more",)),
    Recipe("given_name", ("return:id:more", "exchange:id")),
    Recipe("given", ("hand_over:asked:payment",)),
    Recipe("email", ("return:wrong:credit", "cancel:asked", "status:id")),
    Recipe("none", ("product",)),
    Recipe("name", ("address:id:save",)),
    Recipe("given", ("too_old:parallel:insist",)),
    Recipe("none", ("ask.exchange", "ask.returns")),
    Recipe("email", ("exchange:id:out",)),
    Recipe("given", ("cancel:wrong", "late:id")),
    Recipe("email", ("return:asked:more", "address:id", "exchange:id")),
    Recipe("given", ("too_late:id", "status:id")),
    Recipe("email", ("cancel:parallel", "friend")),
    Recipe("none", ("ask.late", "ask.cancel", "ask.discount")),
    Recipe("given", ("exchange:search",)),
    Recipe("name", ("status:parallel", "return:id")),
    Recipe("email", ("late:wrong",)),
    Recipe("none", ("ask.weather", "ask.delivery")),
    Recipe("given", ("address:search:tell",)),
    Recipe("stranger", ("return:asked",)),
    Recipe("given_name", ("cancel:id", "status:id", "hand_over:id:damage")),
    Recipe("none", ("ask.cost", "ask.countries")),
    Recipe("given", ("return:parallel:final", "cancel:id:keep")),
    Recipe("retry", ("exchange:wrong:out", "late:id:more")),
)
"""In the order of the file; a longer file goes through them again."""
