"""Find texts in a conversation that speak to the judge instead of to the conversation.

Fencing keeps such texts from being obeyed (see `turngap.judges.fence`); this module tells the reader that they are
there. It only flags: no verdict depends on it, for a customer may well write "the grader said" or paste JSON. Of a long
text the beginning and the end are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from turngap.data import Conversation, Message, Spoken
from turngap.judges.base import TurnCase, WorkflowCase
from turngap.judges.knowledge import Recent

_SIGNS = {
    "imitates a verdict": re.compile(
        r"""["']?\b(?:turn_)?success["']?\s*[:=]\s*["']?(?:true|false)\b|["']failure_category["']|\bverdict\s*[:=]""",
        re.IGNORECASE,
    ),
    "speaks to the judge": re.compile(
        r"\b(?:note|message|instructions?|attention|dear|hey|hello)\b[^.\n]{0,20}\b(?:evaluator|judge|grader|assessor)s?\b"
        r"|\b(?:evaluator|judge|grader|assessor)\b\s*[:,]"
        r"|\b(?:mark|grade|score|rate|judge|count)\s+(?:this|it|the\s+\w+)\s+(?:\w+\s+)?as\s+(?:a\s+)?"
        r"(?:success|successful|pass|passed|correct)\b",
        re.IGNORECASE,
    ),
    "overrides instructions": re.compile(
        r"\b(?:ignore|disregard|forget)\b[^.\n]{0,20}\b(?:previous|above|prior|earlier|all|your)\b[^.\n]{0,20}"
        r"\b(?:instructions?|rules|prompt|policy|guidelines)\b",
        re.IGNORECASE,
    ),
    "imitates a boundary": re.compile(
        r"</\s*(?:transcript|conversation|history|data|policy|tools|reference|prediction|candidate|replay|system|user|"
        r"assistant|tool_response)\s*>|<\|[\w ]+\|>|\[/?INST\]|\b(?:BEGIN|END) DATA\b"
    ),
}


_END = 100_000
"""Characters at either end of a text that are looked at."""


def signs(text: str) -> tuple[str, ...]:
    """What in a text looks meant for the judge; empty for nearly all texts."""
    return _signs(text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}")


@lru_cache(maxsize=1024)
def _signs(text: str) -> tuple[str, ...]:
    return tuple(sign for sign, pattern in _SIGNS.items() if pattern.search(text))


def of_turn(case: TurnCase) -> tuple[str, ...]:
    """Name the suspicious texts up to a decision, e.g. "messages[3] (user) imitates a verdict"."""
    history = (flag for position, flag in _RECENT.of(case.conversation) if position < case.decision.position)
    return (*history, *_flags([("prediction", case.prediction.message.content)]))


def of_workflow(case: WorkflowCase) -> tuple[str, ...]:
    """Name the suspicious texts of a replay, e.g. "replay event 4 (assistant) speaks to the judge"."""
    return _flags(_replay_places(case))


def _flags(places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{place} {sign}" for place, text in places for sign in signs(text))


def _history(conversation: Conversation) -> list[tuple[int, str]]:
    """Every flag of a recording with the position of its message, in order."""
    return [
        (index, flag)
        for index, message in enumerate(conversation.messages)
        for flag in _flags([(f"messages[{index}] ({_role(message)})", message.content)])
    ]


_RECENT = Recent(_history)


def _replay_places(case: WorkflowCase) -> Iterator[tuple[str, str]]:
    for index, event in enumerate(case.trajectory.events):
        yield f"replay event {index} ({_role(event.message)})", event.message.content
        if not isinstance(event, Spoken):
            for result in event.results:
                yield f"replay event {index} (tool)", result.content


def _role(message: Message) -> str:
    return str(message.__struct_config__.tag)
