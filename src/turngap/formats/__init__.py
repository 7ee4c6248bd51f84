"""Conversations of others: read any known recording, write chat-completions.

`read` finds out what a file is by its content and streams conversations that obey `turngap.data.conversation`; `write`
is its inverse. One module per format (`openai`, `taubench`, `tau2`, `sgd`, `tooltalk`); `assemble` is what makes loose
messages sound. Nothing here filters by quality or asks a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from turngap.config import DataConfig
from turngap.data import Conversation
from turngap.errors import UsageError
from turngap.formats.base import ODDITIES, Format, GivenTools, Oddity
from turngap.formats.detect import plan
from turngap.formats.reading import Reading
from turngap.formats.toolfile import load_tools
from turngap.formats.writer import write_openai
from turngap.registry import Registry

REGISTRY = Registry(
    "formats",
    {
        "taubench": "turngap.formats.taubench:TauBench",
        "tau2": "turngap.formats.tau2:Tau2",
        "sgd": "turngap.formats.sgd:Sgd",
        "tooltalk": "turngap.formats.tooltalk:ToolTalk",
        "openai": "turngap.formats.openai:OpenAI",
    },
)
"""Format name -> class of the reader (`turngap.formats.base.Format`)."""


def read(config: DataConfig, *, seed: int = 0) -> Reading:
    """Make ready to read a data set: find the files and their formats, load the given tools.

    Args:
        config: which files, as what, and which of their conversations.
        seed: of the random sample, where one is asked for.

    Raises:
        UsageError: unknown format, a limit below 1, or no path.
        DataError: a file is missing or unreadable, or nothing fits.
    """
    if not config.paths or "" in config.paths:  # as a path an empty name would be the current folder
        raise UsageError("no data given; name at least one file or folder")
    if config.limit is not None and config.limit < 1:
        raise UsageError(f"--limit should be at least 1, not {config.limit}")
    given = load_tools(Path(config.tools)) if config.tools is not None else GivenTools()
    names = REGISTRY.names() if config.format is None else [config.format]
    formats: list[Format] = [REGISTRY.make(name) for name in names]
    tools = None if config.tools is None else Path(config.tools)
    found = [plan(Path(path), formats, forced=config.format is not None, tools=tools) for path in config.paths]
    files = [file for each in found for file in each.files]
    return Reading(config, files, given, seed=seed, notes=[note for each in found for note in each.notes])


def write(conversations: Iterable[Conversation], path: Path, format: str = "openai") -> int:  # noqa: A002 - the word
    """Write conversations to a file that appears complete or not at all.

    Returns:
        How many were written.

    Raises:
        UsageError: a format that is not written.
        DataError: a conversation could not be read on the way; no file is left.
    """
    if format != "openai":
        raise UsageError(f"cannot write format {format!r}; known: openai")
    return write_openai(conversations, path)


__all__ = ["ODDITIES", "REGISTRY", "Format", "GivenTools", "Oddity", "Reading", "read", "write"]
