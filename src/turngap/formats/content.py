"""Message content of every wire shape as one text.

Content is null, text, a list of parts, or, in tool results, any JSON value. Null, empty text, an absent key and an
empty list are equal. Parts that are not text are replaced by a stated stand-in: what they held cannot be scored.
"""

from __future__ import annotations

from typing import Any

from turngap import jsonio
from turngap.formats.base import Findings

_TEXT_KEYS = ("text", "value", "refusal", "content")
_STAND_INS = {"image_url": "image", "input_image": "image", "input_audio": "audio", "audio_url": "audio"}


def text_of(value: Any, at: str, findings: Findings, *, is_result: bool = False) -> str:
    """The text of a message's content.

    Args:
        value: the content as it stands.
        at: where it stands in the record.
        findings: where oddities are noted.
        is_result: tool results may be any JSON value, which is kept as JSON text.

    Raises:
        DataError: content that is an object, a number or a boolean where text should be.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and (not is_result or all(_is_part(part) for part in value)):
        return "\n".join(_part(part, f"{at}[{index}]", findings) for index, part in enumerate(value))
    if is_result:
        findings.note("structured_content", f"a {_kind(value)}", at)
        return jsonio.dumps(value)
    raise findings.place.error(f"content is a {_kind(value)}; it should be text, null or a list of parts", at)


def _is_part(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("type"), str))


def _part(part: Any, at: str, findings: Findings) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise findings.place.error(f"a part of the content is a {_kind(part)}; it should be an object with a type", at)
    kind = part.get("type")
    if kind in ("text", "input_text", "output_text", "refusal", None):
        for key in _TEXT_KEYS:
            if isinstance(part.get(key), str):
                return str(part[key])
    name = _STAND_INS.get(str(kind), str(kind))
    findings.note("non_text_part", f"{name} part", at)
    return f"[{name}]"


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "JSON object"}
    return names.get(type(value), "null")
