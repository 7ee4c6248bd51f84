"""Where requests go, with what key, and how to speak of it without giving a secret away.

The base URL may hold a user, a password and a query (gateways do that); the key comes from the environment. All of
these are used for requests and none is ever shown: `Endpoint.shown` is the URL without them, and every text that
leaves the client passes `Endpoint.scrub`.
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
_MASK = "***"


class Endpoint:
    """One chat-completions server."""

    __slots__ = ("_secrets", "headers", "proxy", "shown", "url")

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
        self._secrets = secrets

    def __repr__(self) -> str:
        return f"Endpoint({self.shown})"

    def at(self, path: str) -> str:
        """The URL of a path below the base URL, query included; for requests only."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))

    def scrub(self, text: str) -> str:
        """Replace every secret of this endpoint in a text."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, _MASK)
        return text

    def scrub_bytes(self, data: bytes) -> bytes:
        """`scrub` for an encoded answer."""
        for secret in self._secrets:
            encoded = secret.encode()
            if encoded in data:
                data = data.replace(encoded, _MASK.encode())
        return data


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
