"""The profile of Hypothesis, and the number of examples of tests that state their own."""

from __future__ import annotations

import os

#: quick, or nightly.
PROFILE = os.environ.get("FAIRLP_HYPOTHESIS_PROFILE", "quick")


def many(examples: int) -> int:
    """Return ten times so many examples at night, and a third as many (rounded up) by day."""
    return examples * 10 if PROFILE == "nightly" else (examples + 2) // 3
