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
    if closing is not None and (opening is None or closing.start() < opening.start()):
        thoughts.append(text[: closing.start()])
        text = text[closing.end() :]
        opening = _OPEN.search(text)
    while opening is not None:
        start = opening.start()
        call = _CALL.search(text)
        if call is not None and call.start() < start:
            break  # what looks like a tag may be text in an argument
        end = text.find(f"</{opening.group(1)}>", opening.end())
        if end < 0:
            if not text[:start].strip():
                thoughts.append(text[opening.end() :])
                text = ""
            break
        thoughts.append(text[opening.end() : end])
        text = text[:start] + text[end + len(opening.group()) + 1 :]
        opening = _OPEN.search(text, start)
    return text.strip() if thoughts else text, "\n\n".join(part for part in map(str.strip, thoughts) if part)
