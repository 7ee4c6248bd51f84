"""Data into a run: stored once, and from then on only compared.

Two data sets are the same when they have the same ids with the same content. Where a record stood in its file does not
count, so reordered lines or a renamed file are no change; one edited character is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from turngap import jsonio
from turngap.data import Conversation, Source
from turngap.errors import ConfigError, DataError
from turngap.runs.blob import pack
from turngap.runs.database import Database

_NAMED = 3  # ids that a message lists


class Intake:
    """One pass over the data of a run."""

    def __init__(self, database: Database, directory: Path) -> None:
        self._database = database
        self._directory = directory
        self.count = 0
        """Different conversations seen."""

    def store(self, conversations: Iterable[Conversation]) -> str:
        """Store all of them (inside the caller's transaction); returns the digest of the set.

        Raises:
            DataError: two different conversations have one id.
        """
        for conversation in conversations:
            digest = content_digest(conversation)
            known = self._known(conversation.id)
            if known is None:
                self._database.write(
                    "INSERT INTO conversation VALUES (?, ?, ?, ?)",
                    (self.count, conversation.id, digest, pack(conversation)),
                )
                self.count += 1
            elif known != digest:
                source = conversation.source
                raise DataError(
                    f"two different conversations have the id {conversation.id!r}; ids must be unique",
                    file=source.file,
                    line=source.line,
                )
        total = hashlib.sha256()
        for key, digest in self._database.rows("SELECT id, digest FROM conversation ORDER BY id"):
            total.update(f"{key}\0{digest}\n".encode())
        return total.hexdigest()

    def compare(self, conversations: Iterable[Conversation], hints: list[str]) -> None:
        """Check that they are exactly the stored ones, in any order.

        Raises:
            ConfigError: names what differs, with `hints` (settings that differ too).
        """
        seen: set[str] = set()
        for conversation in conversations:
            known = self._known(conversation.id)
            if known is None:
                raise self._refusal(f"conversation {conversation.id!r} is not among those of the run", hints)
            if known != content_digest(conversation):
                raise self._refusal(f"conversation {conversation.id!r} has changed", hints)
            seen.add(conversation.id)
        self.count = len(seen)
        missing = [row[0] for row in self._database.rows("SELECT id FROM conversation ORDER BY position")]
        missing = [key for key in missing if key not in seen]
        if missing:
            named = ", ".join(repr(key) for key in missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
            raise self._refusal(f"{len(missing)} conversation(s) of the run are missing: {named}", hints)

    def _known(self, key: str) -> str | None:
        row = self._database.row("SELECT digest FROM conversation WHERE id = ?", (key,))
        return None if row is None else row[0]

    def _refusal(self, problem: str, hints: list[str]) -> ConfigError:
        because = f" ({'; '.join(hints)})" if hints else ""
        return ConfigError(
            f"{self._directory}: the data differ from those of the stored run: {problem}{because}; "
            "name another directory with -o, or use the stored data and settings"
        )


def content_digest(conversation: Conversation) -> str:
    """Identity of a conversation, wherever it stands."""
    content = msgspec.to_builtins(msgspec.structs.replace(conversation, source=Source()))
    if not conversation.start:
        del content["start"]  # so that runs stored before there was such a thing still know their conversations
    return jsonio.digest(content)
