"""The body of a server's answer: read it, and keep it in the cache.

What a server sends is decoded with tolerance: only the assistant message matters, and it is kept byte for byte beside
its decoded form. Whether the message makes sense as an action is decided in `reading`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Usage
from turngap.models.fault import Transient, excerpt, refusal


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a server."""

    message: dict[str, Any]
    """The assistant message, decoded as the server gave it."""
    raw: bytes
    """The same as JSON, byte for byte."""
    finish_reason: str | None = None
    usage: Usage = Usage()
    """Tokens as reported (0 where not reported); cost is for the caller, who knows the prices."""
    seconds: float = 0.0
    """Wall time of the request that succeeded."""
    attempts: int = 1
    """Requests that were made for it; 0 when it came from the cache."""
    cached: bool = False


class _Choice(msgspec.Struct):
    message: msgspec.Raw = msgspec.Raw()
    finish_reason: Any = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class _Stored(msgspec.Struct):
    """What the cache keeps of an answer."""

    message: msgspec.Raw
    finish_reason: str | None
    usage: Usage
    seconds: float


_REPLY = msgspec.json.Decoder(_Reply)
_MESSAGE = msgspec.json.Decoder(dict[str, Any])
_STORED = msgspec.json.Decoder(_Stored)


def completion(data: bytes, seconds: float, attempts: int, where: str) -> Completion:
    """Read the body of a 200.

    Raises:
        Transient: no message can be read from it (cut short, not JSON, no choices). Any exception of
            `fault.refusal`: the body holds an error with an HTTP code instead.
    """
    try:
        reply = _REPLY.decode(data)
        raw = bytes(reply.choices[0].message) if reply.choices else b""
        message = _MESSAGE.decode(raw) if raw else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reply, raw, message = _tolerant(data)
    if message is None:
        if isinstance(reply.error, dict) and isinstance(reply.error.get("code"), int):
            raise refusal(reply.error["code"], jsonio.dumps({"error": reply.error}), {}, where)
        raise Transient(f"an answer without a message: {excerpt(data.decode('utf-8', 'replace'))}")
    reason = reply.choices[0].finish_reason if reply.choices else None
    return Completion(
        message=message,
        raw=raw,
        finish_reason=reason if isinstance(reason, str) else None,
        usage=read_usage(reply.usage),
        seconds=seconds,
        attempts=attempts,
    )


def _tolerant(data: bytes) -> tuple[_Reply, bytes, dict[str, Any] | None]:
    # The fast decoder refuses lone surrogates, which models do emit; the slow one replaces them.
    try:
        reply = msgspec.convert(jsonio.loads(data), dict[str, Any])
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    except (jsonio.JsonError, msgspec.ValidationError):
        raise Transient(f"an answer that cannot be read: {excerpt(data.decode('utf-8', 'replace'))[:80]}") from None
    message = choice.get("message")
    whole = _Reply(
        choices=[_Choice(finish_reason=choice.get("finish_reason"))], usage=reply.get("usage"), error=reply.get("error")
    )
    return whole, jsonio.encode(message), message if isinstance(message, dict) else None


def read_usage(value: Any) -> Usage:
    """Read a server's `usage` object; what is missing or of the wrong type counts as not reported."""

    def count(holder: Any, key: str) -> int:
        found = holder.get(key) if isinstance(holder, dict) else None
        return found if isinstance(found, int) and found > 0 else 0

    details = value.get("prompt_tokens_details") if isinstance(value, dict) else None
    return Usage(
        prompt_tokens=count(value, "prompt_tokens"),
        completion_tokens=count(value, "completion_tokens"),
        cached_tokens=count(details, "cached_tokens"),
    )


def store(completion: Completion) -> bytes:
    """Encode an answer for the cache."""
    stored = _Stored(
        message=msgspec.Raw(completion.raw),
        finish_reason=completion.finish_reason,
        usage=completion.usage,
        seconds=completion.seconds,
    )
    return jsonio.encode(stored)


def restore(data: bytes) -> Completion:
    """Read an answer back from the cache."""
    stored = _STORED.decode(data)
    raw = bytes(stored.message)
    return Completion(
        message=_MESSAGE.decode(raw),
        raw=raw,
        finish_reason=stored.finish_reason,
        usage=stored.usage,
        seconds=stored.seconds,
        attempts=0,
        cached=True,
    )
