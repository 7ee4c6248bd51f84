"""Fixtures for the domains of tau2; tests that need the package are skipped where it is not installed."""

from __future__ import annotations

import pytest
from tau2peer import absent

from turngap import domains
from turngap.domains.tau2.domain import Tau2Domain

_ABSENT = absent()


def _domain(name: str) -> Tau2Domain:
    if _ABSENT:
        pytest.skip(_ABSENT)
    found = domains.build(f"tau2:{name}")
    assert isinstance(found, Tau2Domain)
    return found


@pytest.fixture(scope="session")
def mock() -> Tau2Domain:
    """The smallest domain: tasks that are created and finished."""
    return _domain("mock")


@pytest.fixture(scope="session")
def telecom() -> Tau2Domain:
    """The domain in which the user has tools."""
    return _domain("telecom")


@pytest.fixture(scope="session")
def retail() -> Tau2Domain:
    """The shop."""
    return _domain("retail")
