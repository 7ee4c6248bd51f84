"""The files that conversations are made for: ``conversations.jsonl``, ``left_out.jsonl`` and ``account.json``.

What is kept and what is left out are both conversations as `turngap eval` reads them, in order, each with its scenario
and the judges' reasons in the metadata. Left out is what took place and was not kept: rejected, undecided, or the same
as an earlier one. Each file appears when it is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from turngap import jsonio
from turngap.errors import StoreError
from turngap.formats.writer import write_openai
from turngap.synth.converse.account import Account, Made

CONVERSATIONS, LEFT_OUT, ACCOUNT = "conversations.jsonl", "left_out.jsonl", "account.json"


def export(directory: Path, made: Sequence[Made], account: Account) -> tuple[int, int]:
    """Write the files; returns how many conversations were kept and left out.

    Raises:
        StoreError, UsageError: a file cannot be written.
    """
    kept = write_openai(
        (one.conversation for one in made if one.kept and one.conversation is not None), directory / CONVERSATIONS
    )
    others = (one for one in made if not one.kept and one.stage != "unfinished")
    left = write_openai(
        (
            msgspec.structs.replace(
                one.conversation, metadata={**one.conversation.metadata, "lost": f"{one.stage}: {one.reason}"}
            )
            for one in others
            if one.conversation is not None
        ),
        directory / LEFT_OUT,
    )
    path = directory / ACCOUNT
    try:
        jsonio.write_atomic(path, jsonio.dumps(msgspec.to_builtins(account), indent=2) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
    return kept, left
