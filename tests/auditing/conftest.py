"""A mechanism of one's own that is declared for one test."""

from __future__ import annotations

import pytest

import fairlp
from audit_cases import needs_rates


@pytest.fixture
def equal_time():
    """The same time on every server for everybody."""
    declare = fairlp.mechanism(
        "equal-time", promises=("envy-free", "sharing incentive"), domain=needs_rates
    )
    return declare(lambda instance: instance.gamma() / len(instance.users))
