"""The one capture point: what ends a run, and what costs a unit."""

from __future__ import annotations

import pytest

from turngap.data import Cause, Failure
from turngap.engines.capture import capture
from turngap.errors import (
    ConfigError,
    ContextOverflow,
    DataFault,
    EndpointError,
    JudgeError,
    StoreError,
    TurngapError,
)


async def fail(error: Exception) -> int:
    """A unit that goes wrong."""
    raise error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (EndpointError("503"), Cause.ENDPOINT),
        (ContextOverflow("too long"), Cause.DATA),
        (DataFault("no result"), Cause.DATA),
        (JudgeError("no verdict"), Cause.JUDGE),
        (KeyError("oops"), Cause.HARNESS),
    ],
)
async def test_a_failed_unit_becomes_a_record_with_one_cause(error: Exception, cause: Cause) -> None:
    """Every unit error has its cause; an unknown one is ours."""
    result = await capture(fail(error))
    assert isinstance(result, Failure)
    assert result.cause is cause
    assert "\n" not in result.reason


@pytest.mark.parametrize("error", [ConfigError("no such model"), StoreError("disk full")])
async def test_what_concerns_the_run_ends_it(error: TurngapError) -> None:
    """A full disk is not the fault of one unit."""
    with pytest.raises(type(error)):
        await capture(fail(error))


@pytest.mark.parametrize("error", [EndpointError("503"), ContextOverflow("too long")])
async def test_a_failed_judge_is_the_judges(error: Exception) -> None:
    """JDG-04: an outage of the judge is never booked on the model or its server."""
    result = await capture(fail(error), judging=True)
    assert isinstance(result, Failure)
    assert result.cause is Cause.JUDGE


async def test_an_internal_error_names_its_place() -> None:
    """File and line, so that a bug report can be written."""
    result = await capture(fail(ZeroDivisionError("x")))
    assert isinstance(result, Failure)
    assert result.kind == "ZeroDivisionError"
    assert ":" in result.reason
