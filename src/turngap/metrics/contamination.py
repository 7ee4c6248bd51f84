"""Whether texts that are learnt from hold texts that are tested on: ids, entities, copies and near copies.

A `Document` is a task or a conversation as text. Three things are looked for between what is learnt from and what is
tested on:

* the same id;
* the same entity: an e-mail address, or a word with a digit in it and five characters or more, such as ``#W1234567``,
  but for a bare number of five digits: a postal code is where many live. Where a document says which of its values
  stand for something (`Document.values`), these are entities too, however short they are;
* the same words. A document is cut into runs of `LENGTH` words, without regard to case and punctuation. Runs that
  everybody shares tell nothing, so those of the common text (policy, tool specifications) and those that `COMMON` or
  more tested documents have (phrases of a template) are left out. A tested document is flagged when at least `SHARE`
  of what is left of it stands in one learnt document, and when its words are exactly those of a learnt one.

The rule is a plain containment of n-grams as in decontamination of pre-training data (Brown et al. 2020, appendix C,
who take 13 words; instructions of users are shorter). It finds copies, not paraphrases.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

LENGTH = 8
"""Words of a run."""
SHARE = 0.5
"""Of a tested document's own runs, found in one learnt document."""
COMMON = 3
"""Tested documents that share a run, from which on it is a phrase."""

_WORD = re.compile(r"[^\W_]+(?:['’.@#-][^\W_]+)*", re.UNICODE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_FIGURE = re.compile(r"#?\b(?=\w*\d)\w{5,}\b")
_ENTITY = re.compile(r"#\b(?=\w*\d)\w{5,}\b|(?<!#)\b(?=\w*\d)(?!\d{5}\b)\w{5,}\b")
_RUN = tuple[str, ...]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One task or conversation, as far as contamination goes."""

    id: str
    """Of the task or conversation."""
    text: str
    """What tells it from others: the user's instructions, or what was said. Without policy and tools."""
    values: tuple[str, ...] = ()
    """Further entities: values that are known to stand for somebody or something, such as the order that a call is
    about."""

    def entities(self) -> set[str]:
        """Those of the text and the values, in lower case."""
        return entities(self.text) | {value.lower() for value in self.values}


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A tested document that the learnt ones hold, or nearly."""

    tested: str
    learnt: str
    """Ids of the two."""
    kind: Literal["id", "copy", "near"]
    share: float = 1.0
    """Of the tested document's own runs of words, for ``near``."""
    shown: str = ""
    """The longest stretch that both have, for readers."""


class Contamination(msgspec.Struct, frozen=True, kw_only=True):
    """What learnt and tested documents share."""

    learnt: int
    tested: int
    """How many documents were looked at."""
    matches: tuple[Match, ...] = ()
    """At most one a tested document and kind: the worst."""
    entities: dict[str, int] = {}
    """Entities that stand on both sides -> in how many tested documents; most frequent first."""

    @property
    def flagged(self) -> int:
        """Tested documents with a match."""
        return len({match.tested for match in self.matches})

    @property
    def clean(self) -> bool:
        """Whether no document was flagged and no entity is shared."""
        return not self.matches and not self.entities


def contamination(
    learnt: Iterable[Document], tested: Iterable[Document], *, common: Iterable[str] = ()
) -> Contamination:
    """Hold what is learnt from against what is tested on.

    Args:
        learnt: training tasks or conversations.
        tested: the evaluation set.
        common: texts that both share by nature: policies, tool specifications.
    """
    evaluation = list(tested)
    training = list(learnt)
    ids = {document.id for document in training}
    matches = [Match(tested=one.id, learnt=one.id, kind="id", shown=one.id) for one in evaluation if one.id in ids]
    matches += _copies(training, evaluation)
    copied = {match.tested for match in matches if match.kind == "copy"}
    matches += _near(training, [one for one in evaluation if one.id not in copied], common)
    return Contamination(
        learnt=len(training), tested=len(evaluation), matches=tuple(matches), entities=_shared(training, evaluation)
    )


def duplicates(documents: Iterable[Document]) -> tuple[Match, ...]:
    """Documents that nearly repeat an earlier one when entities and postal codes are taken out."""
    seen: dict[_RUN, str] = {}
    found = []
    for document in documents:
        words = tuple(_words(_FIGURE.sub(" ", _EMAIL.sub(" ", document.text))))
        if words in seen:
            found.append(Match(tested=document.id, learnt=seen[words], kind="copy", shown=" ".join(words)))
        else:
            seen[words] = document.id
    return tuple(found)


def entities(text: str) -> set[str]:
    """The entities of a text, in lower case."""
    mails = _EMAIL.findall(text)
    rest = _EMAIL.sub(" ", text)
    return {found.lower() for found in (*mails, *_ENTITY.findall(rest))}


def _copies(training: list[Document], evaluation: list[Document]) -> Iterator[Match]:
    by_words = {tuple(_words(one.text)): one.id for one in reversed(training)}
    for one in evaluation:
        words = tuple(_words(one.text))
        if words and words in by_words:
            yield Match(tested=one.id, learnt=by_words[words], kind="copy", shown=_shortened(" ".join(words)))


def _near(training: list[Document], evaluation: list[Document], common: Iterable[str]) -> Iterator[Match]:
    own = {one.id: set(_runs(_words(one.text))) for one in evaluation}
    shared = Counter(run for runs in own.values() for run in runs)
    told = {run for text in common for run in _runs(_words(text))}
    where: dict[_RUN, list[str]] = defaultdict(list)
    for name, runs in own.items():
        runs -= {run for run in runs if run in told or shared[run] >= COMMON}
        for run in runs:
            where[run].append(name)
    worst: dict[str, Match] = {}
    for document in training:
        words = _words(document.text)
        hits: dict[str, set[_RUN]] = defaultdict(set)
        for run in _runs(words):
            for name in where.get(run, ()):
                hits[name].add(run)
        for name, found in hits.items():
            share = len(found) / len(own[name])
            if share >= SHARE and share > (worst[name].share if name in worst else 0.0):
                shown = _shortened(_longest(words, found))
                worst[name] = Match(tested=name, learnt=document.id, kind="near", share=share, shown=shown)
    return (worst[one.id] for one in evaluation if one.id in worst)


def _shared(training: list[Document], evaluation: list[Document]) -> dict[str, int]:
    known = {entity for one in training for entity in one.entities()}
    counts = Counter(entity for one in evaluation for entity in one.entities() & known)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(words: list[str]) -> Iterator[_RUN]:
    return (tuple(words[at : at + LENGTH]) for at in range(len(words) - LENGTH + 1))


def _longest(words: list[str], found: set[_RUN]) -> str:
    """The longest stretch of words all of whose runs were found."""
    best: tuple[int, int] = (0, 0)
    start: int | None = None
    for at in range(len(words) - LENGTH + 2):
        inside = at + LENGTH <= len(words) and tuple(words[at : at + LENGTH]) in found
        if inside and start is None:
            start = at
        elif not inside and start is not None:
            end = at - 1 + LENGTH
            if end - start > best[1] - best[0]:
                best = (start, end)
            start = None
    return " ".join(words[best[0] : best[1]])


def _shortened(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
