"""What a server's refusal means: retry it, blame the context, stop the run, or give this one unit up.

Servers agree on little, so statuses are read together with the text of the body. The kinds:

* `Transient`: worth asking again (time-out, reset, 408, 429, 5xx, an answer that cannot be read);
* `ContextOverflow`: the prompt does not fit; never asked again;
* `ConfigError`: no request of this run can succeed (key, URL, model name, roles that the chat template refuses); the
  message holds the remedy;
* `EndpointError`: this request was refused for a reason of its own; `ArgumentsRefused` names one that has a cure;
* `Withheld`: the provider filtered the prompt; an answer, though an empty one.

Bodies are scrubbed of secrets by the caller before they come here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from turngap.errors import ConfigError, ContextOverflow, EndpointError

_EXCERPT = 240


def _says(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.DOTALL)


_OVERFLOW = _says(
    r"context[_ ](length|window|size)",
    r"exceeds? the (available|model'?s?) context",
    r"max(_completion)?_tokens must be at least 1, got -",
    r"(prompt|input) is too long",
    r"input length.{0,40}exceeds",
    r"(prompt|input|request) (contains|has) .{0,40}tokens.{0,60}(max|limit)",
    r"too many (input |prompt )?tokens",
    r"reduce the length",
)
_ROLES = _says(
    r"must alternate",
    r"roles? .{0,40}(not supported|unsupported|must be)",
    r"(unknown|unexpected|invalid|unsupported) role",
    r"system (role|message|prompt).{0,20}(not |un)supported",
    r"only (the )?user.{0,30}roles? (are|is) supported",
    r"(should|must|has to|need to) (start|begin) with (a |the )?user",
    r"conversation roles",
    r"after the optional system message",
)
_NO_TOOLS = _says(
    r"tool choice requires",
    r"enable-auto-tool-choice",
    r"does not support tools",
    r"tools? .{0,20}not supported",
    r"requires --jinja",
)
_ARGUMENTS = _says(
    r"(parse|decode|decoding|load).{0,40}(tool[_ ]call|function)?.{0,20}arguments",
    r"arguments.{0,60}(valid|parsable|decode|parse).{0,20}json",
    r"invalid.{0,40}arguments.{0,40}json",
)
_PARAMETER = _says(
    r"unsupported (parameter|value)",
    r"unrecognized (request )?argument",
    r"unknown (parameter|field)",
    r"extra inputs are not permitted",
    r"max(_completion)?_tokens is too large",
)
_NO_MODEL = _says(r"model .{0,80}(not found|does not exist|not available|unknown)", r"(invalid|unknown) model")
_FILTERED = _says(r"content_filter", r"responsibleaipolicy", r"content management policy")
_NO_MONEY = _says(r"insufficient_quota", r"insufficient (quota|credit|balance)", r"exceeded your current quota")
_CONFIGURATION = {
    301: "the server redirects; give the final address with --base-url",
    302: "the server redirects; give the final address with --base-url",
    307: "the server redirects; give the final address with --base-url",
    308: "the server redirects; give the final address with --base-url",
    401: "check the key in the environment variable that --api-key-env names",
    402: "the account cannot pay for the request",
    403: "the key may not use this model or address",
    404: "check the model's name and --base-url (it usually ends in /v1)",
    405: "check --base-url (it usually ends in /v1)",
    501: "the server cannot do chat-completions; check --base-url",
}
_CROWDED = frozenset({429, 503, 529})
_AGAIN = frozenset({408, 409, 425})


class Transient(Exception):
    """A failure that may be gone when asked again; `retry_after` in seconds where the server said so."""

    def __init__(self, reason: str, *, retry_after: float | None = None, crowded: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.crowded = reason, retry_after, crowded


class ArgumentsRefused(EndpointError):
    """The server tried to decode the arguments of a call in the history, and they are malformed."""


class Withheld(Exception):
    """The provider refused to answer this prompt on grounds of content."""


def refusal(status: int, body: str, headers: Mapping[str, str], where: str) -> Exception:
    """Turn an HTTP status that is not 200 into the exception that says what it means.

    Args:
        status: the HTTP status, or the code that an error inside a 200 body carried.
        body: the body as text, without secrets.
        headers: for Retry-After.
        where: the endpoint as people may see it.
    """
    said = excerpt(body)
    told = f"{where}: HTTP {status}: {said}" if said else f"{where}: HTTP {status}"
    if status == 413 or (status in (400, 422, 500, 502) and _OVERFLOW.search(body)):
        return ContextOverflow(f"{told} (the prompt does not fit the model's context)")
    if status == 429 and _NO_MONEY.search(body):
        return ConfigError(f"{told}; {_CONFIGURATION[402]}")
    if status in _CONFIGURATION:
        return ConfigError(f"{told}; {_CONFIGURATION[status]}")
    if status in (400, 422, 500) and _ROLES.search(body):
        return ConfigError(
            f"{told}; the model's chat template refuses these roles: use --fold-roles, which puts the system text into "
            "the first user turn and tool results into user turns"
        )
    if status in (400, 422, 500) and _ARGUMENTS.search(body):
        return ArgumentsRefused(told)
    if status in _CROWDED or status in _AGAIN or status >= 500:
        return Transient(
            f"HTTP {status}: {said}" if said else f"HTTP {status}",
            retry_after=retry_after(headers),
            crowded=status in _CROWDED,
        )
    return _bad_request(body, told)


def _bad_request(body: str, told: str) -> Exception:
    if _FILTERED.search(body):
        return Withheld(told)
    if _NO_TOOLS.search(body):
        return ConfigError(
            f"{told}; start the server with tool calling enabled, or use --fold-roles, which writes tools as text"
        )
    if _PARAMETER.search(body):
        return ConfigError(
            f"{told}; change the request with --extra-body: a field set to null is left out, "
            'e.g. {"max_tokens": null, "max_completion_tokens": 1024}'
        )
    if _NO_MODEL.search(body):
        return ConfigError(f"{told}; {_CONFIGURATION[404]}")
    return EndpointError(told)


def excerpt(body: str) -> str:
    """What a body says, on one line and short: its error message where it is JSON, else its beginning."""
    try:
        found = _message(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        found = None
    line = " ".join((found or re.sub(r"<[^>]*>", " ", body)).split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def _message(value: Any) -> str | None:
    for key in ("error", "message", "detail", "msg"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
    return value if isinstance(value, str) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks for (both forms: seconds, or an HTTP date); None without a usable one."""
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = parsedate_to_datetime(value)
            # The server's own clock counts, where it tells it; ours may be off.
            now = parsedate_to_datetime(headers["Date"]) if "Date" in headers else datetime.now(UTC)
            if then.tzinfo is None:
                then = then.replace(tzinfo=UTC)
            if now.tzinfo is None:
                now = now.replace(tzinfo=UTC)
        except (TypeError, ValueError):
            return None
        seconds = (then - now).total_seconds()
    return seconds if 0 <= seconds < 1e6 else None
