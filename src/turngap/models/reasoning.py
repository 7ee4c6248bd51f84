"""Part a model's private reasoning from what it says.

Servers deliver it in a field of its own (``reasoning_content``, ``reasoning``) or leave it in the text between tags.
Reasoning is never shown to users or judges; it is kept beside the message. A call written into it counts only under the
rule in `reading`.
"""

from __future__ import annotations

import re
from typing import Any

_FIELDS = ("reasoning_content", "reasoning", "thinking")
_OPEN = re.compile(r"<(think|thinking|thought|reasoning)>")
_CLOSE = re.compile(r"</(think|thinking|thought|reasoning)>")
_CALL = re.compile(r"<tool_calls?>|<function[= ]|<function_call>|\[TOOL_CALLS\]|<\|tool_call")


def field_of(message: dict[str, Any]) -> str:
    """The reasoning that a server delivered apart from the content; empty when there is none."""
    for key in _FIELDS:
        value = message.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def split(text: str) -> tuple[str, str]:
    """Split a text into (what is said, reasoning between tags).

    Understood: blocks before the first call; a closing tag alone (the opening one stood in the prompt); an opening tag
    that is never closed (everything after it is reasoning).
    """
    opening, closing = _OPEN.search(text), _CLOSE.search(text)
    if opening is None and closing is None:
        return text, ""
    thoughts: list[str] = []
    kept: list[str] = []
    position = 0
    if closing is not None and (opening is None or closing.start() < opening.start()):
        thoughts.append(text[: closing.start()])
        position = closing.end()
    call = _CALL.search(text, position)
    while (opening := _OPEN.search(text, position)) is not None:
        if call is not None and call.start() < position:
            call = _CALL.search(text, position)
        if call is not None and call.start() < opening.start():
            break  # what looks like a tag may be text in an argument
        end = text.find(f"</{opening.group(1)}>", opening.end())
        if end < 0:
            if not "".join((*kept, text[position : opening.start()])).strip():
                thoughts.append(text[opening.end() :])
                kept, position = [], len(text)
            break
        kept.append(text[position : opening.start()])
        thoughts.append(text[opening.end() : end])
        position = end + len(opening.group()) + 1
    said = "".join((*kept, text[position:]))
    return said.strip() if thoughts else said, "\n\n".join(part for part in map(str.strip, thoughts) if part)
