"""How alike two conversation contexts are: features of a history, and an index that ranks training contexts by them.

A history becomes sparse features in a few channels: what happened last, the actions so far, the words of the customer
and of the agent, what the last result looked like. Within a channel likeness is the cosine of idf-weighted counts; the
channels add up with fixed weights. Ids, numbers and addresses are folded to their shapes first, so that ``LF-10234``
and ``LF-99871`` are the same word.

The index can leave conversations out exactly: document frequencies too are then those of the rest, so that ranking
without a conversation equals ranking over a corpus that never had it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from turngap.data import AssistantMessage, Message, ToolMessage, UserMessage

CHANNELS: Mapping[str, float] = {
    "event": 2.0,  # whose turn it is, after what
    "acts": 1.5,  # where in the workflow we are
    "user": 2.0,  # what was asked for last
    "agent": 2.0,  # what the customer's answer refers to
    "result": 1.5,  # the state that was found
    "past": 1.0,  # what was asked for earlier
}
"""Channel -> its weight in the likeness."""

Features = dict[str, Counter[str]]
"""Channel -> feature -> count."""

_FACT = re.compile(r"\S*@\S+|\S*\d\S*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[@#?]+")
_SHORT = 24
"""Longest text of a result that counts as a state rather than as prose."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, with everything that holds a digit or an @ folded to its shape."""
    return _WORD.findall(_FACT.sub(_shape, text).lower())


def _shape(match: re.Match[str]) -> str:
    return "@" if "@" in match[0] else re.sub(r"\d+", "#", match[0])


def describe(messages: Sequence[Message]) -> Features:
    """The features of a history."""
    acts = [
        "+".join(call.name for call in message.calls) or "say"
        for message in messages
        if isinstance(message, AssistantMessage)
    ]
    said = [message.content for message in messages if isinstance(message, UserMessage)]
    replies = [message.content for message in messages if isinstance(message, AssistantMessage) and message.content]
    return {
        "event": Counter(_event(messages, acts)),
        "acts": Counter(_acts(acts)),
        "user": Counter(_phrases(said[-1] if said else "")),
        "agent": Counter(_phrases(replies[-1] if replies else "")),
        "result": Counter(_result(messages)),
        "past": Counter(word for text in said[:-1] for word in words(text)),
    }


def _phrases(text: str) -> Iterator[str]:
    found = words(text)
    yield from found
    yield from map(" ".join, pairwise(found))


def _event(messages: Sequence[Message], acts: Sequence[str]) -> Iterator[str]:
    last = messages[-1] if messages else None
    if isinstance(last, ToolMessage):
        name = f"tool {last.name}{' failed' if _failed(last) else ''}"
    else:
        name = "user" if isinstance(last, UserMessage) else "nothing"
    yield name.split()[0]
    yield name
    yield f"{name} after {acts[-1] if acts else 'nothing'}"


def _failed(result: ToolMessage) -> bool:
    return result.error or "error" in result.content[:40].lower()


def _acts(acts: Sequence[str]) -> Iterator[str]:
    yield f"steps {min(len(acts), 6)}"
    for length in (1, 2, 3):
        yield " > ".join(("start", *acts)[-length:])
    for name, count in Counter(acts).items():
        if name != "say":
            yield f"{name} x{min(count, 3)}"


def _result(messages: Sequence[Message]) -> Iterator[str]:
    """Keys of the last result, and its short values that are states rather than facts."""
    last = next((message for message in reversed(messages) if isinstance(message, ToolMessage)), None)
    if last is None:
        return
    yield last.name
    try:
        value = json.loads(last.content)
    except ValueError:
        yield from words(last.content[:200])
        return
    yield from sorted(set(_states("", value)))


def _states(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _states(name, inner)
    elif isinstance(value, list):
        yield f"{key} has {'none' if not value else 'one' if len(value) == 1 else 'several'}"
        for inner in value:
            yield from _states(key, inner)
    elif isinstance(value, bool) or value is None:
        yield f"{key} is {value}"
    elif isinstance(value, str) and len(value) <= _SHORT and not any(letter.isdecimal() for letter in value):
        yield f"{key} is {value.lower()}"


class Likeness:
    """An index over described contexts; each belongs to a group (its conversation) that can be left out."""

    def __init__(self, contexts: Sequence[Features], groups: Sequence[int]) -> None:
        self._groups = np.asarray(groups, dtype=np.int64)
        self._channels = {name: _Channel([context[name] for context in contexts]) for name in CHANNELS}
        self._prepared: tuple[frozenset[int], npt.NDArray[np.int64], dict[str, _Weighed]] | None = None

    def rank(self, features: Features, *, without: frozenset[int], limit: int) -> list[tuple[int, float]]:
        """The most alike contexts, best first.

        Args:
            features: of the context that is asked about.
            without: groups that do not take part, neither as answers nor in the weights.
            limit: how many to return at most.

        Returns:
            Pairs of position and likeness in [0, 1]; ties stand in the order of the contexts.
        """
        rows, weighed = self._without(without)
        total = np.zeros(len(rows))
        for name, weight in CHANNELS.items():
            total += weight * weighed[name].cosines(features[name])
        # Rounding makes equal contexts tie whatever the order of summation was.
        total = np.round(total / sum(CHANNELS.values()), 9)
        best = np.lexsort((rows, -total))[:limit]
        return [(int(rows[place]), float(total[place])) for place in best]

    def _without(self, groups: frozenset[int]) -> tuple[npt.NDArray[np.int64], dict[str, _Weighed]]:
        """The rows that take part, weighed; kept for the next request, mostly one of the same conversation."""
        if self._prepared is None or self._prepared[0] != groups:
            rows = np.flatnonzero(~np.isin(self._groups, list(groups)))
            weighed = {name: _Weighed(channel, rows) for name, channel in self._channels.items()}
            self._prepared = (groups, rows, weighed)
        return self._prepared[1:]


class _Channel:
    """The counts of one channel, one row a context."""

    def __init__(self, counts: Sequence[Counter[str]]) -> None:
        self.columns: dict[str, int] = {}
        indices: list[int] = []
        data: list[float] = []
        starts = [0]
        for count in counts:
            for feature, times in count.items():
                indices.append(self.columns.setdefault(feature, len(self.columns)))
                data.append(1.0 + np.log(times))
            starts.append(len(indices))
        shape = (len(counts), max(len(self.columns), 1))
        self.matrix = sparse.csr_array((data, indices, starts), shape=shape, dtype=np.float64)


class _Weighed:
    """Some rows of a channel with the idf of just these rows, scaled to length 1."""

    def __init__(self, channel: _Channel, rows: npt.NDArray[np.int64]) -> None:
        self._columns = channel.columns
        matrix = channel.matrix[rows]
        frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
        # A feature that these rows lack gets no weight in the query either: the corpus does not know it.
        self._idf = np.where(frequency > 0, np.log(1.0 + len(rows) / np.maximum(frequency, 1)), 0.0)
        matrix = sparse.csr_array(
            (matrix.data * self._idf[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape
        )
        norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        self._norms = np.where(norms > 0, norms, 1.0)
        self._empty = norms == 0
        self._matrix = matrix

    def cosines(self, counts: Counter[str]) -> npt.NDArray[np.float64]:
        """The likeness of every row with the counts; nothing is like nothing."""
        query = np.zeros(self._matrix.shape[1])
        for feature, times in counts.items():
            column = self._columns.get(feature)
            if column is not None:
                query[column] = (1.0 + np.log(times)) * self._idf[column]
        norm = float(np.sqrt(query @ query))
        if not norm:
            return np.where(self._empty, 1.0, 0.0) if not counts else np.zeros(len(self._norms))
        products = np.asarray(self._matrix.dot(query), dtype=np.float64)
        cosines: npt.NDArray[np.float64] = products / (self._norms * norm)
        return cosines
