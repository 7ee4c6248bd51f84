"""``recorded/FILE``: predictions that somebody else made, scored as if a model had answered now.

FILE is JSONL, one prediction a line::

    {"conversation": "retail-0007", "decision": 3, "message": {"content": "...", "tool_calls": [...]}}

`conversation` is the id that ``turngap inspect`` shows and `decision` the 0-based index among its assistant messages.
`message` is an assistant message of the chat-completions shape; `content` and `tool_calls` may also stand at the top
level, and `finish_reason` beside either. Arguments may be a JSON string or an object; malformed ones stay a malformed
call. Calls written inside the text are not searched for: what the file says is what is scored.

Such predictions were made on the recorded history, so they serve text, turn and strict. They cannot follow a
history of their own: `Recorded.gold_only` says so, and a replay or workflow is refused. Before a run, what in the file
is of no use and what is missing from it is said in a line each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Conversation, Finish, Prediction, ToolCall, ToolSpec, decisions
from turngap.data.arguments import parse_call
from turngap.errors import DataError, DataFault, UsageError
from turngap.models.base import ModelContext, Request

_FINISH = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}


class _Line(msgspec.Struct, frozen=True):
    number: int
    record: dict[str, Any]


class Recorded:
    """Looks a prediction up by conversation and decision."""

    gold_only = True
    """Whether it can answer on gold history only; `replay` and `workflow` need a model that can go on by itself."""

    def __init__(
        self,
        path: Path,
        *,
        label: str = "",
        corpus: Callable[[], Iterable[Conversation]] = lambda: (),
        notify: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """Read and check the whole file.

        Args:
            path: the file.
            label: how tables name it.
            corpus: what is evaluated, for `preflight`.
            notify: where `preflight` says what it found.

        Raises:
            DataError: the file or one of its lines cannot be read, or two lines predict the same decision.
        """
        self.label = label or f"recorded/{path}"
        self._path, self._corpus, self._notify = path, corpus, notify
        self._digest, self._lines = _load(path)

    def identity(self) -> dict[str, Any]:
        """The digest of the file."""
        return {"model": "recorded", "sha256": self._digest}

    async def preflight(self, request: Request) -> None:
        """Hold the file against all that is evaluated, and say what of it is of no use and what is missing."""
        del request
        left = dict(self._lines)
        known: set[str] = set()
        missing, first = 0, ""
        for conversation in self._corpus():
            known.add(conversation.id)
            for decision in decisions(conversation):
                if left.pop((conversation.id, decision.index), None) is None:
                    missing += 1
                    first = first or f"decision {decision.index} of {conversation.id!r}"
        if missing:
            self._notify(f"{self._path}: {missing} x no prediction, first for {first}; these are errored")
        strangers = {key: line for key, line in left.items() if key[0] not in known}
        beyond = {key: line for key, line in left.items() if key[0] in known}
        self._tell_unused(strangers, "conversations that are not in the data")
        self._tell_unused(beyond, "decisions that are not evaluated")

    def _tell_unused(self, unused: Mapping[tuple[str, int | None], _Line], what: str) -> None:
        if unused:
            (conversation, decision), line = min(unused.items(), key=lambda item: item[1].number)
            self._notify(
                f"{self._path}: {len(unused)} x prediction for {what}, first in line {line.number}: "
                f"decision {decision} of {conversation!r}"
            )

    async def act(self, request: Request) -> Prediction:
        """Answer with the recorded prediction.

        Raises:
            DataFault: there is none for this decision, or the request arises in a replay.
        """
        seat = request.seat
        if seat.protocol != "gold":
            raise DataFault("recorded predictions follow no history of their own; use --protocols text,turn,strict")
        line = self._lines.get((seat.conversation, seat.decision))
        if line is None:
            # Which decision, the unit itself says: one cause reads the same for all of them.
            raise DataFault(f"{self._path}: no prediction")
        message = _message(line, {tool.name: tool for tool in request.tools}, str(self._path))
        body = line.record.get("message", line.record)
        return Prediction(
            message=message,
            raw=jsonio.dumps(body),
            finish=_FINISH.get(line.record.get("finish_reason", body.get("finish_reason")), Finish.STOP),
        )

    async def aclose(self) -> None:
        """Nothing to release."""


def build(config: ModelConfig, context: ModelContext) -> Recorded:
    """Build the model from the file that `config.spec` names.

    Raises:
        UsageError: no file is named, or options are given. DataError: the file cannot be read.
    """
    if not config.name:
        raise UsageError("recorded/FILE: name the JSONL file that holds the predictions")
    if config.options():
        raise UsageError(f"model {config.spec!r}: recorded/FILE has no options")
    return Recorded(Path(config.name), label=config.spec, corpus=context.corpus, notify=context.notify)


def _load(path: Path) -> tuple[str, dict[tuple[str, int | None], _Line]]:
    """The file's SHA-256 and its lines by (conversation, decision)."""
    digest = hashlib.sha256()
    found: dict[tuple[str, int | None], _Line] = {}
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe may never end
            raise DataError("is no regular file (a pipe or a device); save the data to a file first", file=str(path))
        with path.open("rb") as stream:
            for number, text in jsonio.read_lines(stream):
                digest.update(text + b"\n")
                line = _line(text, number, str(path))
                key = (str(line.record["conversation"]), line.record["decision"])
                if key in found:
                    first = found[key].number
                    raise _problem(line, str(path), f"decision {key[1]} of {key[0]!r} was predicted in line {first}")
                found[key] = line
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if not found:
        raise DataError("holds no predictions", file=str(path))
    return digest.hexdigest(), found


def _line(text: bytes, number: int, file: str) -> _Line:
    try:
        record = jsonio.loads(text)
    except jsonio.JsonError as error:
        raise DataError(str(error), file=file, line=number) from None
    if not isinstance(record, dict):
        raise DataError("should be an object with conversation, decision and message", file=file, line=number)
    line = _Line(number, record)
    conversation, decision = record.get("conversation"), record.get("decision")
    if isinstance(conversation, bool) or not isinstance(conversation, (str, int)):
        raise _problem(line, file, "should be the id of a conversation", "conversation")
    if isinstance(decision, bool) or not isinstance(decision, int) or decision < 0:
        raise _problem(line, file, "should be the 0-based index of a decision", "decision")
    _message(line, {}, file)  # a bad line is found now, not in the middle of a run
    return line


def _problem(line: _Line, file: str, problem: str, field: str = "") -> DataError:
    return DataError(problem, file=file, line=line.number, field=field)


def _message(line: _Line, tools: Mapping[str, ToolSpec], file: str) -> AssistantMessage:
    """Read a chat-completions assistant message; `tools` say whether empty arguments are complete."""
    nested = "message" in line.record
    where = "message." if nested else ""
    body = line.record["message"] if nested else line.record
    if not isinstance(body, dict):
        raise _problem(line, file, "should be an assistant message object", "message")
    if "content" not in body and not body.get("tool_calls"):
        raise _problem(line, file, "should hold content or tool_calls", where.rstrip(".") or "message")
    calls = body.get("tool_calls") or []
    if not isinstance(calls, list):
        raise _problem(line, file, "should be a list", f"{where}tool_calls")
    reasoning = body.get("reasoning_content", body.get("reasoning"))
    return AssistantMessage(
        content=_text(line, file, body.get("content"), f"{where}content"),
        calls=tuple(_call(line, file, call, tools, f"{where}tool_calls[{n}]") for n, call in enumerate(calls)),
        reasoning=reasoning if isinstance(reasoning, str) else None,
    )


def _text(line: _Line, file: str, content: Any, field: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return "".join(texts)
    raise _problem(line, file, "should be a string, null or a list of text parts", field)


def _call(line: _Line, file: str, call: Any, tools: Mapping[str, ToolSpec], field: str) -> ToolCall:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise _problem(line, file, "should be a call with function.name and function.arguments", field)
    return parse_call(function["name"], function.get("arguments"), tools.get(function["name"]))
