"""Tools and arguments that the matching settings name, held against the data: a typo would count as a comparison less.

``match.compare_args``, ``match.set_args`` and ``match.fold_times`` say how arguments are compared. A name that the data
does not know would do nothing, or (an argument of `compare_args`) make calls equal that are not. So it is an error,
with the names that come near. Known are the declared tools with the properties of their schemas, and whatever the
recorded calls name.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator

from turngap import formats
from turngap.config import EvalConfig, MatchConfig
from turngap.data import AssistantMessage, Conversation
from turngap.errors import UsageError
from turngap.metrics.schema import Shape

_NEAR = 3  # names that an error offers
_SHOWN = 12  # names that an error lists where none is near


class Known:
    """What data say about names; filled conversation by conversation."""

    def __init__(self) -> None:
        self.declared: dict[str, set[str]] = {}
        """Declared tool -> its arguments."""
        self.called: dict[str, set[str]] = {}
        """Tool of a recorded call -> arguments that it was given."""

    def add(self, conversation: Conversation) -> None:
        """Take in one conversation."""
        for tool in conversation.tools:
            self.declared.setdefault(tool.name, set()).update(_properties(Shape(tool.parameters)))
        for message in conversation.messages:
            for call in message.calls if isinstance(message, AssistantMessage) else ():
                self.called.setdefault(call.name, set()).update(call.arguments or {})


def require_known(config: EvalConfig, conversations: Iterable[Conversation] | None = None) -> list[str]:
    """Check the names of `config.match`; reads no data where it names none.

    Args:
        config: the evaluation.
        conversations: its data; None to read them from the files that it names.

    Returns:
        What could not be checked, one line each.

    Raises:
        UsageError: the data know no such tool, or no such argument of it. DataError: the files cannot be read.
    """
    if not any(_settings(config.match)):
        return []
    known = Known()
    for conversation in formats.read(config.data, seed=config.seed) if conversations is None else conversations:
        known.add(conversation)
    return check(config.match, known)


def check(match: MatchConfig, known: Known) -> list[str]:
    """Hold the names of `match` against what data say; returns and raises as `require_known`."""
    problems: list[str] = []
    notes: list[str] = []
    for setting, tool, arguments in _settings(match):
        if tool not in known.declared and tool not in known.called:
            if known.declared:
                near = _near(tool, {*known.declared, *known.called})
                problems.append(f"{setting}: no tool {tool!r} in the data{near}")
            else:
                notes.append(f"{setting}: {tool!r} was not checked: the data declare no tools, and nothing calls it")
            continue
        names = known.declared.get(tool, set()) | known.called.get(tool, set())
        # A path below an argument (contact.tags) is known by the argument that it begins with.
        unknown = [name for name in arguments if _argument(setting, name) not in names]
        if unknown and tool not in known.declared:
            notes.append(f"{setting}: {tool} has no schema in the data, and no recorded call has {', '.join(unknown)}")
        elif unknown:
            problems += [f"{setting}: {tool} has no argument {name!r}{_near(name, names)}" for name in unknown]
    if problems:
        raise UsageError("; ".join(problems))
    return notes


def _settings(match: MatchConfig) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for setting, named in (
        ("match.compare_args (--compare-args)", match.compare_args),
        ("match.set_args", match.set_args),
        ("match.fold_times", match.fold_times),
    ):
        for tool, arguments in named.items():
            yield setting, tool, arguments


def _argument(setting: str, name: str) -> str:
    return name if "compare_args" in setting else name.partition(".")[0]


def _properties(shape: Shape) -> Iterator[str]:
    yield from shape.names()
    for option in shape.options:
        yield from _properties(option)


def _near(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=_NEAR, cutoff=0.6)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    if not known:
        return "; it takes none"
    more = ", ..." if len(known) > _SHOWN else ""
    return f"; known: {', '.join(sorted(known)[:_SHOWN])}{more}"
