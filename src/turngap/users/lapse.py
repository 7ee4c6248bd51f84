"""A lapse: something that the simulated user did wrong, which must not be booked on the agent."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class LapseKind(StrEnum):
    """What a simulated user can do wrong: a closed set."""

    ENDS_EARLY = "ends_early"
    """It agrees and leaves in the same breath, while the reference still has something to be done."""
    REPEATS_ITSELF = "repeats_itself"
    """It says a message of its own again, word for word, although nobody asked again."""
    ROLE_BREAK = "role_break"
    """It speaks as the agent, or as a language model."""
    REASONING_LEAK = "reasoning_leak"
    """Its private deliberation stands in what it says."""
    INSTRUCTIONS_LEAK = "instructions_leak"
    """It recites its instructions, or speaks of them."""
    INVENTED_FACT = "invented_fact"
    """It gives an id, an address of mail or a number that neither its instructions nor the agent ever named."""
    EMPTY_USER = "empty_user"
    """It says nothing, also when asked again."""


class Lapse(msgspec.Struct, frozen=True, kw_only=True):
    """One lapse of one trial."""

    kind: LapseKind
    turn: int
    """1-based turn of the user in which it happened."""
    detail: str
    """What exactly, in one line for readers."""
    mended: bool = False
    """Whether it was kept from the agent and from the course of the conversation; such a trial still counts."""
