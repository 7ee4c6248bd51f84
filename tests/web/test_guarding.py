"""The guard: who may ask, by which name, with what in hand; and what a browser may do with the answers."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
import viewing

from turngap.web import guarding
from turngap.web.caller import Answered, Caller
from turngap.web.guarding import CSRF, Event, Guard, Receive, Scope, Security, Send, host_name

_TOKEN = "a-token-of-the-tests-1234"
_FOREIGN = "http://evil.example"


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what reached it: the double of the pages behind the guard."""
    said = json.dumps({"path": scope["path"], "body": (await receive()).get("body", b"").decode()}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-security-policy", b"default-src *")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def asking(
    security: Security | None = None,
    *,
    method: str = "GET",
    address: str = "/",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
) -> Answered:
    """Ask the guarded double."""
    with Caller(Guard(_echo, security or guarding.local())) as caller:
        return caller.ask(method, address, headers, body)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8123", "localhost", "LocalHost:1", "localhost.:9", "[::1]", "[::1]:8123"]
)
def test_this_machine_is_answered_at_any_port(host: str) -> None:
    """The port at the near end of a tunnel is another one."""
    assert asking(headers=[("host", host)]).status == 200


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"], ["evil.example:8123"], ["127.0.0.1.evil.example"], ["localhost.evil.example"], ["10.0.0.5"],
        ["0.0.0.0"], ["[fd00::1]:80"], ["user@127.0.0.1"], ["127.0.0.1@evil.example"], ["evil.example#127.0.0.1"],
        ["127.0.0.1:80:80"], ["127.0.0.1:x"], ["127.0.0.1/"], ["[::1"], [""], [" "], ["evil.example", "127.0.0.1"],
        ["127.0.0.1", "evil.example"], ["127.0.0.1\u00ad"],
    ],
)  # fmt: skip
def test_dns_rebinding_is_refused(hosts: list[str]) -> None:
    """A foreign name that was pointed at this machine, and whatever might be read as one, gets one line."""
    answered = asking(headers=[("host", host) for host in hosts])
    assert answered.status == 403
    assert "path" not in answered.text


def test_bound_elsewhere_addresses_and_own_names_are_answered() -> None:
    """Nobody can point an address at us; names are those given and the machine's own."""
    rules = guarding.elsewhere("0.0.0.0", _TOKEN)
    bearer = ("authorization", f"Bearer {_TOKEN}")
    for host in ("192.168.1.7:8123", "[fd00::1]", "localhost", socket.gethostname()):
        assert asking(rules, headers=[("host", host), bearer]).status == 200, host
    assert asking(rules, headers=[("host", "evil.example"), bearer]).status == 403


@pytest.mark.parametrize(
    ("site", "mode", "dest", "status"),
    [
        ("none", "navigate", "document", 200),
        ("same-origin", "cors", "empty", 200),
        ("cross-site", "navigate", "document", 200),  # a link that a person followed
        ("cross-site", "no-cors", "script", 403),
        ("cross-site", "no-cors", "image", 403),
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "cors", "empty", 403),
        ("same-site", "no-cors", "image", 403),  # another port of this machine
    ],
)
def test_other_sites_get_no_answer(site: str, mode: str, dest: str, status: int) -> None:
    """What browsers say about who asks is heeded."""
    sent = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]
    assert asking(headers=sent).status == status


@pytest.mark.parametrize("origin", [_FOREIGN, "null", "http://127.0.0.1:9", "https://127.0.0.1", ""])
def test_another_origin_reads_nothing(origin: str) -> None:
    """An origin that is named has to be this server's, to the port."""
    assert asking(headers=[("origin", origin)]).status == 403


def _posting(rules: Security, **changed: str | None) -> list[tuple[str, str]]:
    sent: dict[str, str | None] = {
        "host": "127.0.0.1:8123",
        "origin": "http://127.0.0.1:8123",
        CSRF: rules.page_key,
        "content-type": "application/json",
    }
    sent |= {name.replace("_", "-"): value for name, value in changed.items()}
    return [(name, value) for name, value in sent.items() if value is not None]


def test_only_pages_of_ours_write() -> None:
    """POST needs the origin, the page's key and JSON, and reaches only the addresses that take it."""
    rules = guarding.local(writing=frozenset({"/notes"}))

    def post(address: str = "/notes", method: str = "POST", **changed: str | None) -> int:
        return asking(rules, method=method, address=address, headers=_posting(rules, **changed), body=b"{}").status

    assert post() == 200
    assert post(origin=_FOREIGN) == post(origin="http://127.0.0.1:9") == post(origin=None) == post(origin="null") == 403
    assert post(**{CSRF: "x"}) == post(**{CSRF: None}) == post(**{CSRF: ""}) == 403
    assert post(content_type="text/plain") == post(content_type=None) == 415
    assert post("/") == post("/notes/x") == 405
    assert post(sec_fetch_site="cross-site") == 403
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "post x"):
        assert post(method=method) == 405, method


def test_what_is_posted_is_small() -> None:
    """By what is announced, and by what comes."""
    rules = guarding.local(writing=frozenset({"/notes"}))
    body = b"x" * (guarding.LONGEST_BODY + 1)
    large = asking(rules, method="POST", address="/notes", headers=_posting(rules), body=body)
    announced = asking(rules, method="POST", address="/notes", headers=_posting(rules, content_length=str(len(body))))
    odd = asking(rules, method="POST", address="/notes", headers=_posting(rules, content_length="-1"))
    assert large.status == announced.status == odd.status == 413
    small = asking(rules, method="POST", address="/notes", headers=_posting(rules), body=body[:-1])
    assert json.loads(small.body)["body"] == body[:-1].decode()


def test_addresses_are_short() -> None:
    """A query of megabytes is not looked at."""
    assert asking(address="/?q=" + "x" * guarding.LONGEST_ADDRESS).status == 414


def test_the_token_opens_the_door_once() -> None:
    """It becomes a cookie and leaves the address; the cookie is not the token, and scripts cannot read it."""
    rules = guarding.local(_TOKEN, cookie="turngap-8123")
    assert asking(rules).status == 401
    assert asking(rules, address="/?token=wrong").status == 401
    assert asking(rules, address=f"/x?token={_TOKEN[:-1]}").status == 401
    let_in = asking(rules, address=f"/r/r1%20x?q=a%26b&token={_TOKEN}&at=3")
    assert (let_in.status, let_in.header("location")) == (303, "/r/r1%20x?q=a%26b&at=3")
    assert _TOKEN not in str(let_in)
    (cookie,) = SimpleCookie(let_in.header("set-cookie")).values()
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == "/"
    sent = [("cookie", f"other=1; {cookie.key}={cookie.value}")]
    assert asking(rules, headers=sent).status == 200
    assert asking(guarding.local(_TOKEN, cookie="turngap-8123"), headers=sent).status == 401  # another server's
    assert asking(rules, headers=[("cookie", f"turngap-8123={_TOKEN}")]).status == 401
    assert asking(rules, headers=[("authorization", f"bearer {_TOKEN}")]).status == 200
    assert asking(rules, headers=[("authorization", f"Basic {_TOKEN}")]).status == 401


def test_the_token_leads_to_no_other_host() -> None:
    """A path that a browser would take for a host stays a path."""
    rules = guarding.local(_TOKEN)
    for path in ("//evil.example/x", "/\\evil.example", "///evil.example", "/\\/evil.example"):
        place = asking(rules, address=f"{path}?token={_TOKEN}").header("location")
        assert place.startswith("/") and not place.startswith(("//", "/\\"))


def test_whoever_binds_elsewhere_has_a_token() -> None:
    """Without one of the person's a new one is made, each time another."""
    made = {guarding.elsewhere("0.0.0.0").token for _ in range(3)}
    assert len(made) == 3 and all(len(token or "") >= guarding.SHORTEST_TOKEN for token in made)
    assert guarding.local().token is None


def test_every_answer_has_the_headers() -> None:
    """Refusals and pages alike; what stands behind the guard cannot loosen them."""
    rules = guarding.local(_TOKEN)
    good = [("authorization", f"Bearer {_TOKEN}")]
    answers = [
        asking(rules, headers=good),
        asking(rules),
        asking(rules, headers=[("host", "evil.example")]),
        asking(rules, method="DELETE", headers=good),
        asking(rules, address=f"/?token={_TOKEN}"),
    ]
    assert [one.status for one in answers] == [200, 401, 403, 405, 303]
    for answered in answers:
        policies = [value for name, value in answered.headers if name == "content-security-policy"]
        assert policies == [guarding.POLICY]
        assert answered.header("x-content-type-options") == "nosniff"
        assert answered.header("referrer-policy") == "same-origin"
        assert answered.header("cross-origin-resource-policy") == "same-origin"
        assert answered.header("cache-control") == "no-store"
        assert not answered.header("access-control-allow-origin")


def test_the_policy_has_no_exception() -> None:
    """No inline scripts or styles, nothing evaluated, nothing from elsewhere, no frames."""
    rules = dict(rule.split(" ", 1) for rule in guarding.POLICY.split("; "))
    assert "unsafe" not in guarding.POLICY and "http" not in guarding.POLICY and "*" not in guarding.POLICY
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"


def test_web_sockets_are_closed() -> None:
    """Nothing here speaks them."""
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)

    async def receive() -> Event:
        raise AssertionError

    step = Guard(_echo, guarding.local())({"type": "websocket", "headers": []}, receive, send)
    with pytest.raises(StopIteration):
        step.__await__().__next__()  # type: ignore[attr-defined]
    assert [event["type"] for event in sent] == ["websocket.close"]


def test_names_of_hosts() -> None:
    """The name alone, in lower case."""
    assert host_name("LOCALHOST:80") == "localhost"
    assert host_name("[::1]:80") == "::1"
    assert host_name("a b") is None


def _raw(address: str, request: bytes) -> bytes:
    host, port = address.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(request)
        found = b""
        while part := line.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    "target",
    [
        "/../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/static/../app.py",
        "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%2e%2e%2f%2e%2e%2f__init__.py",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/base.html.j2", "/static/view.css%00.js",
        "/static/..%5c..%5capp.py", "/static/%c0%ae%c0%ae/app.py", "/static/%252e%252e/app.py",
        "/r/%2e%2e/%2e%2e", "/r/..%2f..%2fetc%2fpasswd", "/r/%2fetc%2fpasswd", "/r/r1%00", "/r/r1/../r1/../../x",
        "/r/r1/c?id=../../../../etc/passwd", "/r/r1/c?id=%00", "/r/r1/c?id=/etc/passwd", "/r/r1/c?id=file:///etc/passwd",
        "file:///etc/passwd", "/openapi.json", "/docs", "//etc/passwd",
    ],
)  # fmt: skip
def test_no_path_in_an_address_reaches_a_file(viewer: str, target: str) -> None:
    """Traversal in every spelling, over a real socket, finds nothing: ids and names are looked up, never joined."""
    answer = _raw(viewer, f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"404", b"400")
    assert b"root:" not in answer and b"import annotations" not in answer and b"{%" not in answer


def test_a_foreign_absolute_address_is_refused(viewer: str) -> None:
    """What a proxy would be asked reads nothing either."""
    request = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert _raw(viewer, request).split(b" ", 2)[1] == b"403"
    assert _raw(viewer, b"GET / HTTP/1.1\r\n\r\n").split(b" ", 2)[1] in (b"400", b"403")
    assert _raw(viewer, b"GET / HTTP/1.0\r\n\r\n").split(b" ", 2)[1] == b"403"


def test_sec_01_the_token_is_said_nowhere(runs_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """SEC-01: not in what the server prints, nor in what it answers, whatever is done with it."""
    rules = guarding.local(_TOKEN)
    answers = b""
    with viewing.serving([runs_folder / "boats"], rules) as address:
        for target in (f"/?token={_TOKEN}", f"/nothing?token={_TOKEN}", f"/?token={_TOKEN}%00"):
            answers += _raw(address, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            answers += _raw(address, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        broken = f"GET /?token={_TOKEN} HTTP/9\r\nHost: localhost\r\n\r\n".encode()
        answers += _raw(address, broken)
    printed = capfd.readouterr()
    assert _TOKEN.encode() not in answers
    assert _TOKEN not in printed.out + printed.err
