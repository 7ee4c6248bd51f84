"""Where requests go, with what key, and how to speak of it without giving a secret away.

The base URL may hold a user, a password and a query (gateways do that); the key comes from the environment. All of
these are used for requests and none is ever shown: `Endpoint.shown` is the URL without them, every text that leaves the
client passes `Endpoint.scrub`, and whoever else shows or stores a URL asks `public`.

A server may send a secret back in another spelling, which whoever decodes the answer would turn into the secret. So it
is looked for however its characters are escaped: as in JSON (also JSON within JSON), in URLs, in HTML.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from turngap.errors import ConfigError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_SHORTEST_SECRET = 6
_MASK = b"***"
_ESCAPES = (b"\\", b"%", b"&")
_ENTITIES = {"&": b"&amp;?", "<": b"&lt;?", ">": b"&gt;?", '"': b"&quot;?", "'": b"&apos;?", " ": rb"\+"}


class Endpoint:
    """One chat-completions server."""

    __slots__ = ("_escaped", "_secrets", "headers", "proxy", "shown", "url")

    def __init__(
        self, url: str, shown: str, headers: dict[str, str], secrets: tuple[str, ...], proxy: str | None
    ) -> None:
        self.url = url
        """The base URL for requests: with query, without user part. Never show it."""
        self.shown = shown
        """The base URL for people: without query and user part."""
        self.headers = headers
        """Headers of every request; hold the key."""
        self.proxy = proxy
        self._secrets = [secret.encode("utf-8", "replace") for secret in secrets]
        self._escaped = re.compile(b"|".join(b"".join(map(_spellings, secret)) for secret in secrets) or b"(?!)")

    def __repr__(self) -> str:
        return f"Endpoint({self.shown})"

    def at(self, path: str) -> str:
        """The URL of a path below the base URL, query included; for requests only."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))

    def scrub(self, text: str) -> str:
        """Replace every secret of this endpoint in a text."""
        return self.scrub_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def scrub_bytes(self, data: bytes) -> bytes:
        """`scrub` for an encoded answer: neither it nor anything that is decoded from it holds a secret."""
        if any(mark in data for mark in _ESCAPES):
            return self._escaped.sub(_MASK, data)
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, _MASK)
        return data


def _spellings(character: str) -> bytes:
    """A pattern of all that decodes to one character; each alternative begins with a fixed one, which keeps it fast."""
    plain = character.encode("utf-8", "replace")
    units = character.encode("utf-16-be", "replace")
    json_escape = b"".join(rb"\\\\{0,7}u(?i:%s)" % units[at : at + 2].hex().encode() for at in range(0, len(units), 2))
    ways = [
        re.escape(plain),
        json_escape,
        b"".join(b"%%(?i:%02x)" % byte for byte in plain),
        b"&#0{0,4}(?:%d|[xX]0{0,4}(?i:%x));?" % (ord(character), ord(character)),
    ]
    if character in '"/\\':
        ways.append(rb"\\\\{0,7}" + re.escape(plain))
    if character in _ENTITIES:
        ways.append(_ENTITIES[character])
    return b"(?:" + b"|".join(ways) + b")"


def public(url: str) -> str:
    """A URL as people may see it: without user part, query and fragment, whether or not it is one that can be used."""
    before, mark, after = url.strip().partition("://")
    scheme, rest = (before, after) if mark else ("", before)
    kept, *dropped = re.split(r"[?#]", rest, maxsplit=1)
    authority, slash, path = kept.partition("/")
    authority = authority.rpartition("@")[2]
    # With a / ? or # in a password that is not escaped, what looks like the host is the user part or half of it.
    doubtful = not slash and "@" in "".join(dropped)
    if doubtful or not re.fullmatch(r"[^:]*(:\d*)?|\[[^\]]*\](:\d*)?", authority):
        authority, slash, path = _MASK.decode(), "", ""
    return scheme.lower() + mark + authority + slash + path


def resolve(base_url: str, key: str = "") -> Endpoint:
    """Take a base URL apart.

    Raises:
        ConfigError: not an http(s) URL with a host.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("the base URL should look like http://HOST:PORT/v1 (see --base-url and OPENAI_BASE_URL)")
    secrets = [key]
    for _, value in parse_qsl(parts.query, keep_blank_values=False):
        secrets += [value, quote(value, safe="")]
    secrets += [part.partition("=")[2] for part in re.split("[&;]", parts.query)]
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    headers = {"Content-Type": "application/json"}
    if parts.username:
        user, password = unquote(parts.username), unquote(parts.password or "")
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        secrets += [user, password, parts.username, parts.password or "", token]
        headers["Authorization"] = f"Basic {token}"
    elif key:
        headers["Authorization"] = f"Bearer {key}"
    # What runs here is never behind a proxy, whatever the environment forgets to say.
    direct = host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host)
    proxy = None if direct else getproxies().get(parts.scheme)
    # Too short a secret (?api-version=1) would turn every text into stars.
    kept = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
    return Endpoint(
        url=urlunsplit((parts.scheme, netloc, path, parts.query, "")),
        shown=urlunsplit((parts.scheme, netloc, path, "", "")),
        headers=headers,
        secrets=tuple(sorted(kept, key=len, reverse=True)),
        proxy=proxy,
    )


def read_key(variable: str, environ: Mapping[str, str], notify: Callable[[str], None]) -> str:
    """Read the key from the environment; white space around it is cut off with a note.

    Returns:
        The key; empty when the variable is unset or blank.

    Raises:
        ConfigError: the key holds characters that no header can carry.
    """
    found = environ.get(variable, "")
    key = found.strip()
    if key != found:
        notify(f"white space around the key in {variable} was ignored")
    if re.search(r"[^\x21-\x7e]", key):
        raise ConfigError(f"the key in {variable} holds characters that no HTTP header can carry; set it again")
    return key
