"""Who may ask, and what a browser may do with the answer: the outermost layer around the pages.

The runs are a person's own, so the rules are meant against other web pages in the same browser and other machines:

* A request has to name this machine as its host, so that no foreign name that was pointed at it reads anything (DNS
  rebinding). The port does not matter: it differs at the other end of a tunnel.
* Nothing that another origin sends for is answered, except a person's click on a link.
* Bound elsewhere than to this machine itself, a token is asked for. It arrives once in an address, becomes a cookie,
  and leaves the address at once.
* Everything is read by GET and HEAD. The few addresses that write take POST, from a page of ours, in small portions.
* Pages run the scripts and styles of this package and nothing else, talk to this server only, and stand in no frame.

Non-goals: TLS (use a tunnel), and users: whoever has the token sees all.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = "token"  # noqa: S105 - the name of a query field
"""The field of an address that holds the token, once."""
CSRF = "x-turngap-page"
"""The header by which a script of our pages shows that it is one."""
SHORTEST_TOKEN = 16
LONGEST_BODY = 64 * 1024
LONGEST_ADDRESS = 8 * 1024

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What pages may do (Content-Security-Policy)."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # With `no-referrer` a browser would hide our own origin from us in what it posts.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one server."""

    hosts: frozenset[str] = _LOCAL
    """Names by which it may be asked, in lower case, without ports."""
    addresses: bool = False
    """Whether any bare IP address may stand there too: those cannot be rebound."""
    token: str | None = None
    """What has to be known to see anything; None: being on this machine is enough."""
    page_key: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(24))
    """What only pages of this server know; asked for where something is written."""
    session: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(24))
    """The value of the cookie that stands for the token."""
    cookie: str = "turngap"
    """Its name; cookies do not tell ports apart, so each server has one of its own."""
    writing: frozenset[str] = frozenset()
    """Paths that take POST."""


def local(token: str | None = None, **more: Any) -> Security:
    """The rules of a server that this machine alone can reach."""
    return Security(token=token, **more)


def elsewhere(host: str, token: str | None = None, **more: Any) -> Security:
    """The rules of a server that other machines can reach; without a token of the person's, a new one is made."""
    names = {host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()} | _LOCAL
    made = token or secrets.token_urlsafe(24)
    return Security(hosts=frozenset(names), addresses=True, token=made, **more)


class Guard:
    """The layer itself, as an ASGI application around another one."""

    def __init__(self, app: App, security: Security) -> None:
        self._app = app
        self._security = security

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket: nothing here speaks it
            await send({"type": "websocket.close", "code": 1008})
            return
        asked = _Asked(scope)
        refusal = self._refuse(asked)
        if refusal is not None:
            await _answer(_protected(send), asked.method, refusal)
        elif asked.method == "POST":
            await self._pass_body(scope, receive, _protected(send))
        else:
            await self._app(scope, receive, _protected(send))

    def _refuse(self, asked: _Asked) -> _Answer | None:
        """The answer to a request that is not passed on."""
        security = self._security
        if len(asked.path) + len(asked.query) > LONGEST_ADDRESS:
            return _Answer(414, "this address is too long")
        if not self._is_our_host(asked):
            return _Answer(403, "this server does not answer under that name; use the address that the terminal shows")
        if asked.is_foreign():
            return _Answer(403, "another site asked for this; it gets no answer")
        if security.token is not None:
            if _same(asked.field(TOKEN), security.token):
                return self._let_in(asked)
            if not self._knows_the_token(asked):
                return _Answer(401, "open the address that the terminal shows: it holds the token")
        if asked.method in ("GET", "HEAD"):
            return None
        if asked.method != "POST" or asked.path not in security.writing:
            allowed = "GET, HEAD, POST" if asked.path in security.writing else "GET, HEAD"
            return _Answer(405, "nothing is changed here", {"allow": allowed})
        return self._refuse_writing(asked)

    def _refuse_writing(self, asked: _Asked) -> _Answer | None:
        if asked.header("origin") != f"{asked.scheme}://{asked.host}":
            return _Answer(403, "only pages of this server may write")
        if not _same(asked.header(CSRF), self._security.page_key):
            return _Answer(403, "this page is of an earlier server; load it again")
        if asked.header("content-type").partition(";")[0].strip().lower() != "application/json":
            return _Answer(415, "JSON is taken, nothing else")
        length = asked.header("content-length")
        if length and (not length.isdecimal() or int(length) > LONGEST_BODY):
            return _Answer(413, "too much at once")
        return None

    async def _pass_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read what is posted before it is passed on, up to the most that is taken, whatever length was announced."""
        body = b""
        more = True
        while more:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            body += event.get("body", b"")
            more = event.get("more_body", False)
            if len(body) > LONGEST_BODY:
                await _answer(send, "POST", _Answer(413, "too much at once"))
                return
        pending = [{"type": "http.request", "body": body, "more_body": False}]

        async def once() -> Event:
            return pending.pop() if pending else await receive()

        await self._app(scope, once, send)

    def _is_our_host(self, asked: _Asked) -> bool:
        name = host_name(asked.host)
        if name is None:
            return False
        return name in self._security.hosts or (self._security.addresses and _is_address(name))

    def _knows_the_token(self, asked: _Asked) -> bool:
        security = self._security
        scheme, _, given = asked.header("authorization").partition(" ")
        if scheme.lower() == "bearer" and security.token is not None and _same(given.strip(), security.token):
            return True
        return any(_same(value, security.session) for value in asked.cookies(security.cookie))

    def _let_in(self, asked: _Asked) -> _Answer:
        """Take the token out of the address and remember it in a cookie."""
        kept = [(name, value) for name, value in asked.fields() if name != TOKEN]
        # A path that begins with two slashes would be another host.
        target = "/" + asked.raw_path.lstrip("/\\") + (f"?{urlencode(kept)}" if kept else "")
        cookie = f"{self._security.cookie}={self._security.session}; Path=/; HttpOnly; SameSite=Lax"
        return _Answer(303, "", {"location": target, "set-cookie": cookie})


class _Answer(msgspec.Struct, frozen=True):
    """An answer of the guard itself: one line of plain text."""

    status: int
    text: str
    headers: dict[str, str] = {}


class _Asked:
    """What the guard looks at in a request."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"].upper()
        self.scheme: str = scope.get("scheme", "http")
        self.path: str = scope["path"]
        self.raw_path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self._headers: list[tuple[str, str]] = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        named = self.all("host")
        self.host: str = named[0].strip() if len(named) == 1 else ""

    def all(self, name: str) -> list[str]:
        return [value for known, value in self._headers if known == name]

    def header(self, name: str) -> str:
        """A header; empty if absent, or if it comes more than once, since then nobody can say which one is meant."""
        found = self.all(name)
        return found[0] if len(found) == 1 else ""

    def fields(self) -> list[tuple[str, str]]:
        return parse_qsl(self.query, keep_blank_values=True)

    def field(self, name: str) -> str:
        return next((value for known, value in self.fields() if known == name), "")

    def cookies(self, name: str) -> Iterable[str]:
        for header in self.all("cookie"):
            for pair in header.split(";"):
                known, _, value = pair.strip().partition("=")
                if known == name:
                    yield value

    def is_foreign(self) -> bool:
        """Whether another origin sends for this, and it is more than a link that a person followed."""
        origin = self.header("origin")
        if self.all("origin") and origin != f"{self.scheme}://{self.host}":
            return True
        site = self.header("sec-fetch-site")
        if site not in ("cross-site", "same-site"):
            return False
        visited = self.header("sec-fetch-mode") == "navigate" and self.header("sec-fetch-dest") == "document"
        return self.method not in ("GET", "HEAD") or not visited


def host_name(host: str) -> str | None:
    """The name in a Host header, in lower case, without its port and brackets; None where it is none."""
    if not host or any(mark in host for mark in "@/\\?# \t") or not host.isascii():
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - raises where it is no number
        name = parts.hostname
    except ValueError:
        return None
    return name.removesuffix(".") if name else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _protected(send: Send) -> Send:
    """Put the headers of all answers on whatever is sent."""

    async def sending(event: Event) -> None:
        if event["type"] == "http.response.start":
            kept = [(name, value) for name, value in event.get("headers", ()) if name.lower().decode() not in _HEADERS]
            names = {name.lower() for name, _ in kept}
            ours = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            if b"cache-control" not in names:
                ours.append((b"cache-control", b"no-store"))
            event = {**event, "headers": [*kept, *ours]}
        await send(event)

    return sending


async def _answer(send: Send, method: str, answer: _Answer) -> None:
    body = f"{answer.text}\n".encode() if answer.text else b""
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **answer.headers}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})
