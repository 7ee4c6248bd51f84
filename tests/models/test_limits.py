"""Limits that bite in silence."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import UserMessage
from turngap.errors import ConfigError, EndpointError
from turngap.models.base import Request, Seat
from turngap.models.limits import TRUNCATED, PromptWatch, check_open_files, least_tokens, prompt_words, words


def _sent(count: int, conversation: str = "c") -> tuple[Seat, int]:
    seat = Seat(conversation=conversation, protocol="gold", decision=0)
    message = UserMessage(content=" ".join(["booking"] * count))
    return seat, prompt_words(Request(policy="Be kind.", tools=(), messages=(message,), seat=seat))


def test_prv_14_too_many_connections_name_both_ways_out() -> None:
    """PRV-14: the file limit is checked beforehand; the message has the limit, ulimit and a concurrency that fits."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(ConfigError, match=rf"may open {soft}.*ulimit -n {soft + 64}.*--concurrency {soft - 64}"):
        check_open_files(soft)
    check_open_files(1)


def test_prv_02_a_prompt_that_the_server_cut_is_seen_at_the_first_request() -> None:
    """PRV-02: 2048 reported tokens for some 9,000 are a cut, with a kind of its own and the cure in the text."""
    with pytest.raises(EndpointError, match="num_ctx") as caught:
        PromptWatch().check(*_sent(7000), 2048)
    assert caught.value.kind == TRUNCATED


def test_prv_02_a_prompt_that_stops_growing_is_seen() -> None:
    """PRV-02: the same count for a history that grew by hundreds of words is a cut, below any estimate."""
    watch = PromptWatch()
    watch.check(*_sent(3000), 4096)
    with pytest.raises(EndpointError):
        watch.check(*_sent(3400), 4096)


@pytest.mark.parametrize("reported", [0, 15, 100, 9000, 20000])
def test_no_alarm_when_the_server_does_not_say_or_reads_all(reported: int) -> None:
    """No usage, only the uncached tokens, and honest counts pass."""
    PromptWatch().check(*_sent(7000), reported)


def test_no_alarm_for_servers_that_count_only_new_tokens() -> None:
    """A server that reports what its cache lacked says little more than what was added."""
    watch = PromptWatch()
    watch.check(*_sent(3000), 4000)
    watch.check(*_sent(3300), 420)


def test_no_alarm_between_conversations() -> None:
    """Growth is only looked at within one conversation."""
    watch = PromptWatch()
    watch.check(*_sent(3000, "a"), 4096)
    watch.check(*_sent(3400, "b"), 4096)


def test_white_space_and_lines_of_dashes_are_no_words() -> None:
    """What one token may hold a hundred of does not count; Chinese counts next to nothing."""
    assert words(" " * 500 + "-" * 500 + "\n=====\n") == 0
    assert words("请把我的预订改到五月二日") == 1
    assert words("Move BK-1042, please.") == 3


@given(st.integers(0, 3000), st.integers(0, 3000), st.floats(1.0, 3.0))
def test_honest_counts_never_alarm(first: int, second: int, rate: float) -> None:
    """A tokenizer that spends at least one token a word never looks like a cut, in any order of requests."""
    watch = PromptWatch()
    for count in (first, second):
        watch.check(*_sent(count), int(rate * count) + 400)
        assert least_tokens(count) <= int(rate * count) + 400
