"""The shared slow-down."""

from __future__ import annotations

import random

import pytest

from turngap.models.gate import Gate


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    """A clock that the test turns."""
    return _Clock()


@pytest.fixture
def told() -> list[tuple[float, str]]:
    """What the person was told."""
    return []


@pytest.fixture
def gate(clock: _Clock, told: list[tuple[float, str]]) -> Gate:
    """An open gate."""
    return Gate(clock, lambda seconds, reason: told.append((seconds, reason)), random.Random(7))


def _gate(clock: _Clock, told: list[tuple[float, str]], seed: int) -> Gate:
    return Gate(clock, lambda seconds, reason: told.append((seconds, reason)), random.Random(seed))


def test_an_open_gate_costs_nothing(gate: Gate) -> None:
    """Nobody waits without a reason."""
    assert gate.delay() == 0


def test_a_closed_gate_holds_everyone_for_as_long_as_the_server_asks(gate: Gate, clock: _Clock) -> None:
    """Retry-After holds, and waiters come back spread over some time after it."""
    gate.close(asked_at=100, retry_after=8, reason="429")
    delays = [gate.delay() for _ in range(200)]
    assert min(delays) >= 8
    assert max(delays) <= 8 + 2
    assert max(delays) - min(delays) > 1
    clock.now = 108.0
    assert gate.delay() == 0


@pytest.mark.parametrize("seed", range(200))
def test_one_burst_is_one_strike_and_is_told_once(clock: _Clock, told: list[tuple[float, str]], seed: int) -> None:
    """Sixteen refusals of requests that were under way together are one event, whatever the random numbers."""
    gate = _gate(clock, told, seed)
    for number in range(16):
        gate.close(asked_at=99, retry_after=None, reason="429")
        clock.now += 0.01 * (number % 3)
    assert len(told) == 1
    assert told[0][0] == pytest.approx(1, abs=0.25)
    assert gate.opens_at - clock.now < told[0][0] + 1e-6


@pytest.mark.parametrize("seed", range(50))
def test_each_burst_is_told(clock: _Clock, told: list[tuple[float, str]], seed: int) -> None:
    """A refusal of a request that went out after the gate had opened again is news; those beside it are not."""
    gate = _gate(clock, told, seed)
    for burst in range(5):
        asked_at = clock.now
        for _ in range(4):
            gate.close(asked_at=asked_at, retry_after=None, reason=f"busy {burst}")
            clock.now += 0.001
        clock.now = gate.opens_at + 0.1
    assert [reason for _, reason in told] == [f"busy {burst}" for burst in range(5)]


def test_a_server_that_asks_for_more_within_a_burst_gets_it(
    gate: Gate, clock: _Clock, told: list[tuple[float, str]]
) -> None:
    """The longest wait that any answer of a burst asks for counts, and the latest reason is kept."""
    for seconds in (1, 9, 3):
        gate.close(asked_at=99, retry_after=seconds, reason=f"429, {seconds} s")
    assert gate.opens_at == clock.now + 9
    assert told == [(1, "429, 1 s")]
    assert gate.reason == "429, 3 s"


@pytest.mark.parametrize("seed", range(50))
def test_pauses_double_with_each_burst_and_fall_back_after_a_success(
    clock: _Clock, told: list[tuple[float, str]], seed: int
) -> None:
    """Without a word from the server, each further burst waits longer; an answer resets it."""
    gate = _gate(clock, told, seed)
    pauses = []
    for _ in range(4):
        gate.close(asked_at=clock.now, retry_after=None, reason="503")
        pauses.append(gate.opens_at - clock.now)
        clock.now = gate.opens_at + 0.1
    assert pauses[3] > 4 * pauses[0]
    gate.passed(asked_at=clock.now)
    gate.close(asked_at=clock.now, retry_after=None, reason="503")
    assert gate.opens_at - clock.now < 2


@pytest.mark.parametrize("seed", range(20))
def test_a_server_that_asks_for_no_pause_gets_one_that_doubles(
    clock: _Clock, told: list[tuple[float, str]], seed: int
) -> None:
    """Retry-After: 0 on every refusal is no tight loop: in ten minutes few bursts fit, and no number overflows."""
    gate = _gate(clock, told, seed)
    bursts = 0
    begun = clock.now
    while clock.now < begun + 600:
        gate.close(asked_at=clock.now, retry_after=0.0, reason="429")
        clock.now = gate.opens_at + 0.001
        bursts += 1
    assert bursts < 25
    assert told[0][0] == pytest.approx(0.05)
    for _ in range(3000):
        gate.close(asked_at=clock.now, retry_after=0.0, reason="429")
        clock.now = gate.opens_at + 0.001
    assert told[-1][0] == 60


def test_nobody_is_told_of_a_wait_that_nobody_will_make(
    gate: Gate, clock: _Clock, told: list[tuple[float, str]]
) -> None:
    """A pause longer than anybody's patience closes the gate without a word."""
    gate.close(asked_at=99, retry_after=100_000, reason="429", in_vain=True)
    assert told == []
    assert gate.opens_at == clock.now + 100_000
