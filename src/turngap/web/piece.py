"""What a page on a conversation is made of: texts, calls with their arguments leaf by leaf, results, messages.

Pieces are values for templates. A text is cut behind its first `LONGEST` characters; the `Ink` that made it keeps the
whole under an address, so that the rest can be fetched: whoever makes the same page again finds every text under the
same address. A call is shown as the leaves of its arguments, since that is where two calls differ; as it was written it
can be had besides. What cannot be read is shown as it is, with a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from turngap import data, jsonio
from turngap.analysis.evidence import Difference
from turngap.data import AssistantMessage, Finish, ToolCall, ToolMessage, UserMessage

LONGEST = 20_000
"""Characters of one text that are shown at once."""
_BUDGET = 1_500_000  # characters of a whole page; what comes behind them is shown in brief
_SHORT = 1_000
_BRIEF = 120
_MOST_CALLS = 8  # that a short line can hold
_LONGEST_VALUE = 1_000
_MOST_LEAVES = 60  # arguments of more are read better as they were written

Path = tuple[str | int, ...]
"""Keys and places that lead to a value."""
Mark = Literal["", "differs", "extra", "lacking"]
Standing = Literal["", "accepted", "rejected", "ignored", "put in"]


class Text(msgspec.Struct, frozen=True):
    """A text, as far as it is shown."""

    body: str
    more: int = 0
    """Characters that are not shown."""
    at: str = ""
    """Under which the whole can be fetched; empty where nothing is missing."""


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One plain value among the arguments of a call."""

    path: str
    """Argument, with ``.key`` and ``[place]`` where it is nested."""
    value: str
    """JSON; empty for an argument that the call lacks."""
    mark: Mark = ""
    """How it stands to the recorded call: another value, one that call does not have, one that this call lacks."""
    wanted: str = ""
    """What the recorded call has in its place, where it has something."""
    heard: str = ""
    """Where the value, and the recorded one, stood in what the model had been given."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came back from a call."""

    name: str
    text: Text
    error: bool = False
    absent: bool = False
    """Whether the recording holds none."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what came of it."""

    name: str
    leaves: tuple[Leaf, ...]
    written: Text | None = None
    """The arguments as they were written, where leaves do not say it: unreadable ones, repaired ones, very many."""
    malformed: str = ""
    """Why they cannot be read."""
    standing: Standing = ""
    category: str = ""
    """Why it was rejected."""
    attempt: int | None = None
    detail: str = ""
    decision: int | None = None
    """The recorded decision it was held against, where it is another than the one it stands beside."""
    result: Result | None = None
    brief: str = ""
    """All of it in one short line."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something said or done by one side."""

    who: Literal["user", "system", "agent", "tool"]
    event: int | None = None
    """Its number in the replay or trial."""
    text: Text | None = None
    """None where there is none beside the calls."""
    calls: tuple[Call, ...] = ()
    reasoning: Text | None = None
    raw: Text | None = None
    """What the server sent, word for word."""
    notes: tuple[str, ...] = ()
    """What a reader has to know: that the limit cut it, tolerances it needed."""
    mark: str = ""
    bad: bool = False
    """Whether the mark is of something wrong."""
    brief: str = ""
    """All of it in one short line."""


class Ink:
    """Makes texts, and keeps the whole of those it cuts.

    A page of very many long texts would be slow to open, so what comes behind its first million characters or so is
    cut much earlier.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self.longest = longest
        self._left = _BUDGET
        self.whole: dict[str, str] = {}
        """Address -> text, of those that were cut."""

    def text(self, at: str, whole: str) -> Text:
        """A text under an address that no other text of the page has."""
        most = self.longest if self._left > 0 else min(self.longest, _SHORT)
        self._left -= min(most, len(whole))
        if len(whole) <= most:
            return Text(whole)
        self.whole[at] = whole
        return Text(whole[:most], len(whole) - most, at)

    def some(self, at: str, whole: str | None) -> Text | None:
        """The same for a text that may not be there."""
        return self.text(at, whole) if whole else None

    def result(self, at: str, result: ToolMessage) -> Result:
        """What came back from a call; a long one is cut."""
        return Result(name=result.name, text=self.text(at, result.content), error=result.error, absent=result.absent)

    def call(
        self,
        at: str,
        call: ToolCall,
        differences: Sequence[Difference] = (),
        heard: Mapping[str, str] | None = None,
        **standing: Any,
    ) -> Call:
        """A call, its leaves marked.

        Args:
            at: the beginning of its addresses.
            call: as it was made.
            differences: from the recorded call it was meant to be, where `predicted` is this call's side.
            heard: path of a difference -> where its values had been heard.
            standing: further fields of `Call`.
        """
        if call.arguments is None:
            return Call(
                name=call.name,
                leaves=(),
                written=self.text(f"{at}.a", call.raw if call.raw is not None else ""),
                malformed=call.error or "no JSON object",
                brief=_signature(call),
                **standing,
            )
        leaves = list(flat(call.arguments))
        written = self.some(f"{at}.a", call.raw)
        if len(leaves) > _MOST_LEAVES:
            leaves = []
            written = written or self.text(f"{at}.a", jsonio.dumps(call.arguments, indent=2))
        return Call(
            name=call.name,
            leaves=tuple(_marked(leaves, differences, heard or {})),
            written=written,
            brief=one_line(_signature(call)),
            **standing,
        )

    def said(self, at: str, message: data.Message) -> Message:
        """A message of any side that nothing is held against."""
        if isinstance(message, ToolMessage):
            mark = message.name + (" (error)" if message.error else "")
            return Message(who="tool", text=self.text(f"{at}.t", message.content), mark=mark, bad=message.error)
        if isinstance(message, AssistantMessage):
            calls = [self.call(f"{at}.c{place}", call) for place, call in enumerate(message.calls)]
            return self.message(at, message, calls)
        who: Literal["user", "system"] = "user" if isinstance(message, UserMessage) else "system"
        return Message(who=who, text=self.text(f"{at}.t", message.content))

    def message(self, at: str, message: AssistantMessage, calls: Sequence[Call], **fields: Any) -> Message:
        """A message of an agent, given its calls."""
        return Message(
            who="agent",
            text=self.text(f"{at}.t", message.content) if message.content or not calls else None,
            calls=tuple(calls),
            reasoning=self.some(f"{at}.r", message.reasoning),
            brief=brief(message),
            **fields,
        )


def flat(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of every leaf, places of arrays included; an empty object or array is a leaf."""
    if isinstance(value, dict) and (value or not path):
        for key, item in value.items():
            yield from flat(item, (*path, str(key)))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from flat(item, (*path, place))
    else:
        yield path, value


def spelled(value: Any) -> str:
    """A value as JSON, cut where it is very long."""
    text = jsonio.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"


def brief(message: AssistantMessage) -> str:
    """What was called, or else said, in one short line."""
    if not message.calls:
        return one_line(message.content) or "(nothing)"
    return one_line(", ".join(_signature(call) for call in message.calls[:_MOST_CALLS]))


def one_line(text: str) -> str:
    """The beginning of a text without its line breaks."""
    flat_text = " ".join(text[: 4 * _BRIEF].split())
    return flat_text if len(flat_text) <= _BRIEF else f"{flat_text[: _BRIEF - 1]}…"


def _signature(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name}(unreadable)"
    values = (f"{name}={spelled(value)}" for name, value in list(call.arguments.items())[:_MOST_CALLS])
    return f"{call.name}({', '.join(values)})"


def finish_notes(finish: Finish, notes: Sequence[str]) -> tuple[str, ...]:
    """What a reader has to know about an answer beside the answer."""
    ends = {Finish.LENGTH: "cut off by the token limit", Finish.FILTER: "withheld by the provider"}
    return tuple(filter(None, (ends.get(finish), *(note.replace("_", " ") for note in notes))))


def turned(differences: Sequence[Difference]) -> list[Difference]:
    """The same differences seen from the other call."""
    sides = {"predicted": "recorded", "recorded": "predicted", "": ""}
    return [
        Difference(path=one.path, predicted=one.recorded, recorded=one.predicted, absent=sides[one.absent])
        for one in differences
    ]


def _marked(
    leaves: Sequence[tuple[Path, Any]], differences: Sequence[Difference], heard: Mapping[str, str]
) -> Iterator[Leaf]:
    by_path: dict[str, list[Difference]] = {}
    for one in differences:
        by_path.setdefault(one.path, []).append(one)
    for path, value in leaves:
        found = _covering(path, value, by_path)
        mark: Mark = "" if found is None else "extra" if found.absent else "differs"
        yield Leaf(
            path=_written(path),
            value=spelled(value),
            mark=mark,
            wanted=spelled(found.recorded) if found and mark == "differs" else "",
            heard=heard.get(found.path, "") if found else "",
        )
    for one in differences:
        if one.absent == "predicted":
            yield Leaf(
                path=one.path, value="", mark="lacking", wanted=spelled(one.recorded), heard=heard.get(one.path, "")
            )


def _covering(path: Path, value: Any, by_path: Mapping[str, Sequence[Difference]]) -> Difference | None:
    """The difference that a leaf belongs to. Differences know no places of arrays: elements are told by value."""
    names = [step for step in path if isinstance(step, str)]
    in_array = len(names) < len(path)
    for length in range(len(names), 0, -1):
        for one in by_path.get(".".join(names[:length]), ()):
            if one.absent != "predicted" and (not in_array or _holds(one.predicted, value)):
                return one
    return None


def _holds(predicted: Any, value: Any) -> bool:
    return any(_alike(part, value) for _, part in flat(predicted))


def _alike(one: Any, other: Any) -> bool:
    """Whether a normal form may be that of a value: numbers and flags are written as strings at times."""
    return jsonio.canonical(one) == jsonio.canonical(other) or str(one).split() == str(other).split()


def _written(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
