"""Reading a data set: files in order, bad records, filters, sampling, unique ids, and a report of what was met.

A `Reading` streams: it can be walked any number of times and holds one conversation at a time, except for a random
sample, which has to be held. The report describes the latest complete walk; lists in it are bounded, counts are not.

A name must not depend on where a conversation stands. So each walk first goes through the data for the ids alone, and
conversations that share one are named by their content.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from turngap import jsonio
from turngap.config import DataConfig
from turngap.data import Conversation, Source
from turngap.errors import BadRecords, DataError
from turngap.formats.base import Format, GivenTools, Oddity, Record

SHOWN = 20
"""Oddities of one kind, and skipped records, that are kept with their place."""
_NEAR = 1e-6
_DIGITS = 8
"""Of a digest, in the name of a conversation whose id is not its own."""


class Reading:
    """The conversations of a data set, and after a walk what was met on the way."""

    def __init__(
        self,
        config: DataConfig,
        files: Sequence[tuple[Path, Format]],
        given: GivenTools,
        *,
        seed: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        """Use `turngap.formats.read`; `notes` are lines for the person that are known before the first walk."""
        self.config, self.files, self._given, self._seed = config, tuple(files), given, seed
        self._known = tuple(notes)
        self._reset()

    def _reset(self) -> None:
        self.n_read = 0
        """Conversations that were yielded."""
        self.n_skipped = 0
        """Records that could not be read."""
        self.n_unsuccessful = 0
        """Conversations that `only_successful` left out."""
        self.n_left_out = 0
        """Conversations that `sample` left out."""
        self.oddities: list[Oddity] = []
        """The first `SHOWN` oddities of each kind."""
        self.oddity_counts: Counter[str] = Counter()
        """Kind -> how many, all of them."""
        self.skipped: list[DataError] = []
        """The first `SHOWN` unreadable records."""
        self.notes: list[str] = [*self._known]
        """Lines for the person."""

    @property
    def formats(self) -> list[str]:
        """Names of the formats that are read."""
        return sorted({fmt.name for _, fmt in self.files})

    def __iter__(self) -> Iterator[Conversation]:
        """Walk the data set.

        Raises:
            BadRecords: records could not be read and `skip_bad` is off; it names all of them.
        """
        taken, shared = self._ids()
        self._reset()
        copies: Counter[str] = Counter()
        for record in self._chosen():
            conversation = record.conversation
            if conversation.id in shared:
                conversation = self._with_own_id(conversation, taken, copies)
            self._take_note(record.oddities)
            self.n_read += 1
            yield conversation
        if self.n_skipped and not self.config.skip_bad:
            raise BadRecords.of(self.skipped, self.n_skipped)

    def _chosen(self) -> Iterator[Record]:
        kept, limit = self._wanted(), self.config.limit
        if limit is None:
            return kept
        return iter(self._draw(kept, limit)) if self.config.sample else islice(kept, limit)

    def _ids(self) -> tuple[set[str], set[str]]:
        """All ids, and those that several conversations have."""
        self._reset()
        taken: set[str] = set()
        shared: set[str] = set()
        for record in self._chosen():
            (shared if record.conversation.id in taken else taken).add(record.conversation.id)
        return taken, shared

    def _with_own_id(self, conversation: Conversation, taken: set[str], copies: Counter[str]) -> Conversation:
        """Name by content; copies, of which any may stand for any other, are numbered."""
        digest = jsonio.digest(msgspec.structs.replace(conversation, source=Source()))
        length = next(n for n in range(_DIGITS, len(digest) + 1) if f"{conversation.id}#{digest[:n]}" not in taken)
        own = f"{conversation.id}#{digest[:length]}"
        copies[own] += 1
        if copies[own] > 1:
            own += f".{copies[own]}"
        source = conversation.source
        field = "" if source.record is None else f"[{source.record}]"
        text = f"{conversation.id} -> {own}"
        oddity = Oddity(kind="repeated_id", text=text, file=source.file, line=source.line, field=field)
        self._take_note([oddity])
        return msgspec.structs.replace(conversation, id=own)

    def _take_note(self, oddities: Sequence[Oddity]) -> None:
        for oddity in oddities:
            self.oddity_counts[oddity.kind] += 1
            if self.oddity_counts[oddity.kind] <= SHOWN:
                self.oddities.append(oddity)

    def _outcomes(self) -> Iterator[Record | DataError]:
        for path, fmt in self.files:
            yield from fmt.read(path, self._given)

    def _readable(self) -> Iterator[Record]:
        """Records until the first bad one, or all readable ones; bad ones are counted to the end in any case."""
        for outcome in self._outcomes():
            if isinstance(outcome, DataError):
                self.n_skipped += 1
                if len(self.skipped) < SHOWN:
                    self.skipped.append(outcome)
            elif self.config.skip_bad or not self.n_skipped:
                yield outcome

    def _wanted(self) -> Iterator[Record]:
        if not self.config.only_successful:
            yield from self._readable()
            return
        if not any(isinstance(o, Record) and o.conversation.reward is not None for o in self._outcomes()):
            self.notes.append("the recording marks no conversation as successful or not; all are kept")
            yield from self._readable()
            return
        for record in self._readable():
            reward = record.conversation.reward
            if reward is not None and abs(reward - 1.0) <= _NEAR:
                yield record
            else:
                self.n_unsuccessful += 1

    def _draw(self, records: Iterator[Record], size: int) -> list[Record]:
        """A uniform sample in file order (reservoir sampling: one pass, `size` records held)."""
        source = random.Random(self._seed)
        held: list[tuple[int, Record]] = []
        for index, record in enumerate(records):
            if len(held) < size:
                held.append((index, record))
                continue
            self.n_left_out += 1
            slot = source.randrange(index + 1)
            if slot < size:
                held[slot] = (index, record)
        return [record for _, record in sorted(held, key=lambda item: item[0])]
