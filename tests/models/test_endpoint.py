"""Where requests go, and what is never shown."""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import pytest

from turngap.errors import ConfigError
from turngap.models.endpoint import public, read_key, resolve


def test_sec_01_the_shown_url_has_no_query_and_no_user() -> None:
    """SEC-01: user, password, query and key are used, and masked in every text."""
    endpoint = resolve("http://user-1:SENTINEL-3@127.0.0.1:9/v1/?key=SENTINEL-1&v=1", "SENTINEL-2")
    assert endpoint.shown == "http://127.0.0.1:9/v1"
    assert repr(endpoint) == "Endpoint(http://127.0.0.1:9/v1)"
    assert endpoint.at("/chat/completions") == "http://127.0.0.1:9/v1/chat/completions?key=SENTINEL-1&v=1"
    assert endpoint.headers["Authorization"].startswith("Basic ")
    text = "SENTINEL-1 SENTINEL-2 SENTINEL-3 " + endpoint.headers["Authorization"]
    assert "SENTINEL" not in endpoint.scrub(text)
    assert endpoint.headers["Authorization"].split()[1] not in endpoint.scrub(text)
    assert b"SENTINEL" not in endpoint.scrub_bytes(text.encode())


def test_the_key_goes_into_the_header_and_short_query_values_are_no_secrets() -> None:
    """A bearer header carries the key; ?v=1 does not turn every 1 into stars."""
    endpoint = resolve("https://example.org/v1/chat/completions?v=1", "sk-abcdef")
    assert endpoint.headers["Authorization"] == "Bearer sk-abcdef"
    assert endpoint.scrub("HTTP 401 for sk-abcdef") == "HTTP 401 for ***"
    assert endpoint.shown == "https://example.org/v1"


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://x/v1", "http://", "http://[::1", "http://a:b/v1", "SENTINEL-1"]
)
def test_a_url_that_cannot_work_is_refused_without_showing_it(url: str) -> None:
    """One line says what a base URL looks like; the value may hold a secret and is not repeated."""
    with pytest.raises(ConfigError, match="http://HOST:PORT/v1") as caught:
        resolve(url)
    assert "SENTINEL" not in str(caught.value)


def test_loopback_by_ipv6_is_understood() -> None:
    """Brackets survive."""
    assert resolve("http://[::1]:8000/v1").shown == "http://[::1]:8000/v1"


def test_sec_01_white_space_around_the_key_is_cut_with_a_note() -> None:
    """SEC-01: a trailing line break is trimmed, and the note holds no key."""
    notes: list[str] = []
    assert read_key("KEY", {"KEY": " SENTINEL-2\r\n"}, notes.append) == "SENTINEL-2"
    assert len(notes) == 1
    assert "SENTINEL" not in notes[0]
    assert read_key("KEY", {}, notes.append) == ""


@pytest.mark.parametrize("key", ["SENT\nINEL", "SENTINEL é", "SENT INEL"])
def test_sec_01_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    """SEC-01: the message names the variable and not the key."""
    with pytest.raises(ConfigError, match="the key in KEY") as caught:
        read_key("KEY", {"KEY": key}, lambda _: None)
    assert "SENT" not in str(caught.value)


_KEY = 'sk/SENT+INEL=é\U0001f600"x'


def _escape_all(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@pytest.mark.parametrize(
    "spelled",
    [
        _KEY,
        json.dumps(_KEY)[1:-1],
        json.dumps(_KEY)[1:-1].replace("/", "\\/").replace("+", "\\u002B"),
        _escape_all(_KEY),
        _escape_all(_KEY).upper().replace("\\U", "\\u"),
        json.dumps(_escape_all(_KEY))[1:-1],
        json.dumps(json.dumps({"key": _KEY}))[1:-1],
        json.dumps(json.dumps(json.dumps(_KEY)))[1:-1],
        quote(_KEY, safe=""),
        "".join(f"%{byte:02x}" for byte in _KEY.encode()),
        "".join(f"&#{ord(character)};" for character in _KEY),
        "".join(f"&#x{ord(character):04X};" for character in _KEY),
        _KEY.replace('"', "&quot;"),
    ],
)
def test_sec_01_a_secret_is_found_however_it_is_spelled(spelled: str) -> None:
    """SEC-01: JSON escapes at any depth, percent signs and HTML entities hide nothing."""
    endpoint = resolve("http://127.0.0.1:9/v1", _KEY)
    told = f'{{"a": "before {spelled} after"}}'
    scrubbed = endpoint.scrub(told)
    assert "SENT" not in scrubbed
    assert "***" in scrubbed
    assert scrubbed.startswith('{"a": "before ')
    assert scrubbed.endswith(' after"}')
    assert endpoint.scrub_bytes(told.encode()) == scrubbed.encode()


def test_scrubbing_takes_time_in_proportion() -> None:
    """A megabyte of what escapes begin with is read in a moment."""
    endpoint = resolve("http://user-1:password@127.0.0.1:9/v1?key=abcdefgh", "sk-abcdef")
    began = time.monotonic()
    for piece in ("\\", "\\u0073", "%73", "&#115;", "sk-abcde", "s\\n"):
        endpoint.scrub_bytes(piece.encode() * (1_000_000 // len(piece)))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:SENTINEL@host:8000/v1?key=SENTINEL", "http://host:8000/v1"),
        ("HTTP://user:SENTINEL@host/v1", "http://host/v1"),
        ("  https://SENTINEL@host/v1#SENTINEL ", "https://host/v1"),
        ("user:SENTINEL@host:8000/v1?key=SENTINEL", "host:8000/v1"),
        ("http://u:SENTINEL@[::1]:8000/v1/@cf/m", "http://[::1]:8000/v1/@cf/m"),
        ("http://user:SENT/INEL@host/v1", "http://***"),
        ("http://user:SENT?INEL@host/v1", "http://***"),
        ("http://SENT#INEL@host/v1", "http://***"),
        ("ws://SENTINEL:SENTINEL@host", "ws://host"),
    ],
)
def test_sec_01_a_url_is_shown_without_secrets_however_it_is_written(url: str, shown: str) -> None:
    """SEC-01: case, blanks, other schemes and characters that should have been escaped give nothing away."""
    assert public(url) == shown
