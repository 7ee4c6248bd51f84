"""From a `Request` to what goes over the wire: messages and tools as chat-completions servers want them.

Rules: ids are made up from the place of a call (nine letters and digits, which every server accepts), results pair with
calls by position, `content` is null beside calls without text, and an answer that was empty goes out as `NOTHING_SAID`,
since no server takes a message with neither text nor calls. Malformed calls of the model's own history go out as it
emitted them, or, for servers that decode recorded arguments and fail on them, as an object that holds the emitted text
(`MALFORMED`). The stored history keeps the truth in each case.

With `fold_roles` only user and assistant turns that alternate are sent: the policy, the tools and the call format stand
in the first user turn, calls are text, results are user turns. This is for chat templates that refuse the other roles.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage
from turngap.models.base import Request
from turngap.models.reading import ToolView

NOTHING_SAID = "(no answer)"
"""Stands for an empty answer of the model in its own history."""

MALFORMED = "malformed_arguments"
"""Key under which emitted text that is no JSON object goes out to servers that accept nothing else."""

_KEPT_SETS = 256

FOLDED_TOOLS = """\
You can use the tools below; each line describes one as JSON. To use a tool, answer with a block of this form, one \
block for each call:
<tool_call>{{"name": "NAME OF THE TOOL", "arguments": {{"PARAMETER": "VALUE"}}}}</tool_call>
The results come back in <tool_result> blocks. When no tool is needed, answer in plain text.

{tools}"""


class _Tools(msgspec.Struct):
    """One set of tools, encoded once."""

    tools: tuple[ToolSpec, ...]
    view: ToolView
    encoded: msgspec.Raw | None
    lines: str


class Wire:
    """Encodes requests for one server.

    Args:
        fold_roles: send user and assistant turns only.
        send_reasoning: send the reasoning of the current turn (after the last user message) back.
        wrap_malformed: send malformed calls as valid JSON from the start; may be set later.
    """

    def __init__(self, *, fold_roles: bool = False, send_reasoning: bool = False, wrap_malformed: bool = False) -> None:
        self._fold, self._reasoning = fold_roles, send_reasoning
        self.wrap_malformed = wrap_malformed
        self._sets: dict[int, _Tools] = {}

    def view(self, tools: tuple[ToolSpec, ...]) -> ToolView:
        """The tools as `reading.read` needs them."""
        return self._set(tools).view

    def encode(self, request: Request) -> tuple[list[dict[str, Any]], msgspec.Raw | None]:
        """The messages, and the encoded tool list (None where there is none)."""
        tools = self._set(request.tools)
        if self._fold:
            return _folded(request, tools), None
        return self._messages(request, tools.view), tools.encoded

    def _set(self, tools: tuple[ToolSpec, ...]) -> _Tools:
        # Keyed by identity, since specs hold dicts; the entry keeps the tuple alive, so an id cannot be reused.
        found = self._sets.get(id(tools))
        if found is None:
            if len(self._sets) >= _KEPT_SETS:
                self._sets.clear()
            found = self._sets[id(tools)] = _encode_tools(tools)
        return found

    def _messages(self, request: Request, view: ToolView) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        if request.policy:
            sent.append({"role": "system", "content": request.policy})
        turn = _last_user(request) if self._reasoning else len(request.messages)
        count = 0
        waiting: list[tuple[str, str]] = []
        for index, message in enumerate(request.messages):
            if isinstance(message, ToolMessage):
                call_id, name = waiting.pop(0)
                sent.append({"role": "tool", "tool_call_id": call_id, "name": name, "content": message.content})
            elif isinstance(message, AssistantMessage):
                waiting = [
                    (f"call{count + offset:05d}", _name(call, view)) for offset, call in enumerate(message.calls)
                ]
                count += len(message.calls)
                said = _assistant(message, waiting, wrap=self.wrap_malformed)
                if index > turn and message.reasoning:
                    said["reasoning_content"] = message.reasoning
                sent.append(said)
            else:
                role = "user" if isinstance(message, UserMessage) else "system"
                sent.append({"role": role, "content": message.content})
        return sent


def _last_user(request: Request) -> int:
    return max(
        (index for index, message in enumerate(request.messages) if isinstance(message, UserMessage)), default=-1
    )


def _name(call: ToolCall, view: ToolView) -> str:
    return view.names.outward(call.name)


def _assistant(message: AssistantMessage, ids: list[tuple[str, str]], *, wrap: bool) -> dict[str, Any]:
    text = message.content if message.content.strip() else ""
    if not message.calls:
        return {"role": "assistant", "content": text or NOTHING_SAID}
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": _arguments(call, wrap=wrap)}}
        for (call_id, name), call in zip(ids, message.calls, strict=True)
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _arguments(call: ToolCall, *, wrap: bool) -> str:
    if wrap and call.arguments is None:
        return jsonio.dumps({MALFORMED: call.raw or ""})
    return arguments_text(call)


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as JSON text; of a malformed call, as the model emitted them."""
    return jsonio.dumps(call.arguments) if call.arguments is not None else call.raw or ""


def _encode_tools(tools: tuple[ToolSpec, ...]) -> _Tools:
    view = ToolView(tools)
    functions = [
        {
            "name": view.names.outward(tool.name),
            "description": tool.description,
            "parameters": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in tools
    ]
    encoded = jsonio.encode([{"type": "function", "function": function} for function in functions])
    return _Tools(
        tools=tools,
        view=view,
        encoded=msgspec.Raw(encoded) if tools else None,
        lines="\n".join(jsonio.dumps(function) for function in functions),
    )


def _folded(request: Request, tools: _Tools) -> list[dict[str, Any]]:
    instructions = [request.policy] if request.policy else []
    if tools.lines:
        instructions.append(FOLDED_TOOLS.format(tools=tools.lines))
    turns: list[tuple[str, list[str]]] = [("user", instructions)] if instructions else []
    for message in request.messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        text = _as_text(message, tools.view)
        if turns and turns[-1][0] == role:
            turns[-1][1].append(text)
        else:
            turns.append((role, [text]))
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", [NOTHING_SAID]))
    return [{"role": role, "content": "\n\n".join(texts)} for role, texts in turns]


def _as_text(message: UserMessage | SystemMessage | AssistantMessage | ToolMessage, view: ToolView) -> str:
    if isinstance(message, ToolMessage):
        return f"<tool_result>\n{message.content}\n</tool_result>"
    if isinstance(message, AssistantMessage):
        calls = [
            f'<tool_call>{{"name": {jsonio.dumps(_name(call, view))}, "arguments": {arguments_text(call)}}}</tool_call>'
            for call in message.calls
        ]
        text = [message.content] if message.content.strip() else []
        return "\n".join([*text, *calls]) or NOTHING_SAID
    return message.content
