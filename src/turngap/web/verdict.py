"""What every protocol says of one conversation: results decision by decision, with what judges said word for word.

Read from stored scores and verdicts; nothing is measured here. Which words a result gets depends on its protocol alone,
so a page and the tables call the same thing the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from turngap.config import FURTHER, PROTOCOLS
from turngap.data import Failure, Score, Usage, Verdict
from turngap.metrics.rounding import decimals
from turngap.protocols import labelling
from turngap.runs.store import RunStore
from turngap.web.piece import Ink, Text

Tone = Literal["good", "bad", "plain", "errored"]
Scores = Mapping[str, Mapping[int | None, Score]]
"""Scorer -> decision (None: the whole conversation) -> score."""

_ORDER = (*PROTOCOLS, *FURTHER)


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """One protocol's result on one unit, in a word."""

    protocol: str
    judge: str = ""
    tone: Tone
    word: str
    detail: str = ""
    """One line for readers."""


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What one judge said of one unit."""

    protocol: str
    judge: str
    decision: int | None
    """None for the conversation as a whole."""
    success: bool | None
    """None where there is no verdict."""
    category: str = ""
    rationale: Text | None = None
    raw: Text | None = None
    """The reply, word for word."""
    notes: tuple[str, ...] = ()
    """Flags, how often it was asked, tokens."""


def chips(scores: Scores, decision: int | None) -> tuple[Chip, ...]:
    """All results on a decision, or on the conversation as a whole, in the order of protocols."""
    found = [(_place(scorer), scorer, of[decision]) for scorer, of in scores.items() if decision in of]
    return tuple(_chip(scorer, score) for _, scorer, score in sorted(found, key=lambda one: one[:2]))


def failing(found: tuple[Chip, ...]) -> tuple[str, ...]:
    """The protocols among some results that say "not good"."""
    return tuple(dict.fromkeys(chip.protocol for chip in found if chip.tone == "bad"))


class Opinions:
    """The verdicts of all judges on one conversation."""

    def __init__(self, store: RunStore, conversation: str, scores: Scores, ink: Ink) -> None:
        self._ink = ink
        self._found: dict[int | None, list[tuple[str, str, Verdict | Failure]]] = {}
        asked = [(protocol, judge) for protocol, _, judge in (name.partition(":") for name in sorted(scores)) if judge]
        if labelled_by := str(store.note(labelling.NOTE, "")):
            asked.append((labelling.PROTOCOL, labelled_by))
        for protocol, judge in sorted(asked, key=lambda pair: _place(pair[0])):
            for decision, (_, verdict) in store.verdicts(judge, protocol, conversation).items():
                self._found.setdefault(decision, []).append((protocol, judge, verdict))

    def on(self, decision: int | None) -> tuple[Opinion, ...]:
        """What was said of a decision, or of the whole."""
        return tuple(self._opinion(decision, *one) for one in self._found.get(decision, ()))

    def _opinion(self, decision: int | None, protocol: str, judge: str, verdict: Verdict | Failure) -> Opinion:
        at = f"v.{protocol}.{'' if decision is None else decision}.{judge}"
        if isinstance(verdict, Failure):
            return Opinion(
                protocol=protocol,
                judge=judge,
                decision=decision,
                success=None,
                category=verdict.kind,
                rationale=self._ink.some(at, verdict.reason),
            )
        return Opinion(
            protocol=protocol,
            judge=judge,
            decision=decision,
            success=None if protocol == labelling.PROTOCOL else verdict.success,
            category="" if verdict.category == "none" else verdict.category,
            rationale=self._ink.some(at, verdict.rationale),
            raw=self._ink.some(f"{at}.raw", verdict.raw),
            notes=tuple(_notes(verdict)),
        )


def cost(usage: Usage, seconds: float = 0.0, *, cached: bool = False) -> str:
    """Tokens, money and time in words; empty where none of it is known."""
    parts = []
    if usage.prompt_tokens or usage.completion_tokens:
        read = f" ({usage.cached_tokens:,} from its cache)" if usage.cached_tokens else ""
        parts.append(f"{usage.prompt_tokens:,} tokens read{read}, {usage.completion_tokens:,} written")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:.6g}")
    if seconds >= 0.05:
        parts.append(f"{decimals(seconds)} s")
    if cached:
        parts.append("from the call cache")
    return ", ".join(parts)


def _notes(verdict: Verdict) -> Iterator[str]:
    if verdict.flags:
        yield f"a text speaks to the judge: {', '.join(verdict.flags)}"
    if verdict.asks > 1:
        yield f"asked {verdict.asks} times"
    if spent := cost(verdict.usage):
        yield spent


def _place(scorer: str) -> int:
    protocol = scorer.partition(":")[0]
    return _ORDER.index(protocol) if protocol in _ORDER else len(_ORDER)


def _chip(scorer: str, score: Score) -> Chip:
    protocol, _, judge = scorer.partition(":")
    tone: Tone = "errored" if score.errored else "good" if score.success else "bad"
    word = "not measured" if score.errored else _word(protocol, score)
    if protocol in ("text", "horizon") and not score.errored:
        tone = "plain"
    return Chip(protocol=protocol, judge=judge, tone=tone, word=word, detail=score.detail)


def _word(protocol: str, score: Score) -> str:
    values = score.values
    if protocol == "text" and "rouge1" in values:
        return f"ROUGE-1 {decimals(100 * values['rouge1'], 0)}"
    if protocol == "strict" and score.kind == "tool":
        return "exact" if score.success else f"not exact, arguments {decimals(100 * values.get('arg_f1', 0.0), 0)}"
    if protocol == "strict":
        return "no call" if score.success else "uncalled-for call"
    if protocol == "replay":
        return "completed" if score.success else score.category.replace("_", " ") or "not completed"
    if protocol == "horizon" and "survived" in values:
        return f"{values['survived']:.0f} of {values['reach']:.0f} ahead"
    return "success" if score.success else score.category.replace("_", " ") or "no success"
