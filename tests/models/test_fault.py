"""What a server's refusal means."""

from __future__ import annotations

import json

import pytest

from turngap.errors import ConfigError, ContextOverflow, EndpointError
from turngap.models.fault import ArgumentsRefused, Transient, Withheld, excerpt, refusal, retry_after


def _refusal(status: int, body: str) -> Exception:
    return refusal(status, body, {}, "http://h/v1")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "This model's maximum context length is 4096 tokens, however you requested 5000 tokens"),
        (400, "max_tokens must be at least 1, got -5"),
        (500, '{"error": {"type": "exceed_context_size_error", "message": "exceed_context_size"}}'),
        (413, ""),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_prv_04_overflow_in_every_spelling(status: int, body: str) -> None:
    """PRV-04: the ways servers say that a prompt does not fit are one kind."""
    assert isinstance(_refusal(status, body), ContextOverflow)


@pytest.mark.parametrize(
    "body",
    [
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "After the optional system message, conversation roles must alternate",
        "System role not supported",
        "Only user and assistant roles are supported!",
        "Unexpected role 'tool' in message",
        "messages should start with a user message",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_prv_08_roles_that_a_template_refuses_name_the_remedy(status: int, body: str) -> None:
    """PRV-08: a template's refusal is a fault of the configuration, with --fold-roles as the way out."""
    found = _refusal(status, json.dumps({"error": {"message": body}}))
    assert isinstance(found, ConfigError)
    assert "--fold-roles" in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (401, "bad key", "--api-key-env"),
        (403, "", "key"),
        (404, "model x not found", "--base-url"),
        (307, "", "--base-url"),
        (402, "", "pay"),
        (429, '{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}', "pay"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', "tool calling"),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", "--extra-body"),
        (400, "The model `gpt-9` does not exist", "model's name"),
    ],
)
def test_faults_of_the_configuration_say_what_to_do(status: int, body: str, remedy: str) -> None:
    """No request of the run could succeed, so the run stops with one line."""
    found = _refusal(status, body)
    assert isinstance(found, ConfigError)
    assert remedy in str(found)
    assert str(found).startswith(f"http://h/v1: HTTP {status}")


@pytest.mark.parametrize(
    ("status", "crowded"), [(429, True), (503, True), (529, True), (500, False), (502, False), (408, False)]
)
def test_what_may_pass_is_transient(status: int, crowded: bool) -> None:
    """Time-outs, 429 and 5xx are asked again; 429 and 503 slow everybody down."""
    found = _refusal(status, "oops")
    assert isinstance(found, Transient)
    assert found.crowded is crowded


def test_other_bad_requests_cost_one_unit() -> None:
    """A 400 of its own kind is neither retried nor the end of the run."""
    assert type(_refusal(400, "invalid schema for function 'x'")) is EndpointError


def test_arguments_that_the_server_cannot_decode_are_told_apart() -> None:
    """A server that decodes recorded arguments and fails has a cure, also when it says 500."""
    body = '{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: parse error"}}'
    assert isinstance(_refusal(500, body), ArgumentsRefused)


def test_a_filtered_prompt_is_an_answer() -> None:
    """The provider withheld the answer: no error of the endpoint."""
    assert isinstance(_refusal(400, '{"error": {"code": "content_filter", "message": "content_filter"}}'), Withheld)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_prv_05_retry_after_in_both_forms(headers: dict[str, str], seconds: float | None) -> None:
    """PRV-05: seconds and HTTP dates are read, by the server's own clock where it tells it."""
    assert retry_after(headers) == seconds


def test_excerpt_is_one_short_line() -> None:
    """Error messages of JSON bodies are found, HTML is stripped, long ones are cut."""
    assert excerpt('{"error": {"message": "no\\n way", "code": 1}}') == "no way"
    assert excerpt('{"detail": "Not Found"}') == "Not Found"
    assert excerpt("<html><h1>Bad  Gateway</h1></html>") == "Bad Gateway"
    assert len(excerpt("x" * 1000)) == 240
