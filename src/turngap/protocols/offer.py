"""Which tools a model is offered: those that the recordings declare, and no others.

A language model without tools cannot call any. Recordings that hold calls but no schemas (plain chat logs often do)
make every tool figure 0, which says nothing about the model; whoever reads the figures has to be told. Baselines and
recorded predictions need no offer.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from turngap.config import ModelConfig
from turngap.data import Conversation, requires_tools

WITHOUT_CALLS = ("baseline", "recorded")
"""Providers that answer by themselves: nothing is called, and no tools need be offered."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """In how many conversations there is something to call with."""

    calling: int = 0
    """Conversations with calls."""
    without: int = 0
    """Of them, those that declare no tools."""

    @property
    def warning(self) -> str:
        """What the person has to know; empty where nothing is amiss."""
        if not self.without:
            return ""
        return (
            f"the model was offered no tools in {self.without} of {self.calling} conversations with calls: their tool "
            "figures say nothing about it; give --tools FILE"
        )

    def and_in(self, conversation: Conversation) -> Offer:
        """With one conversation more."""
        if not requires_tools(conversation):
            return self
        return Offer(calling=self.calling + 1, without=self.without + (not conversation.tools))


def offer(model: ModelConfig, conversations: Iterable[Conversation]) -> Offer:
    """Count; nothing is counted for a model that needs no offer, and no conversation is read."""
    found = Offer()
    if model.provider not in WITHOUT_CALLS:
        for conversation in conversations:
            found = found.and_in(conversation)
    return found
