"""The profile of Hypothesis, and the number of examples of tests that state their own."""

from __future__ import annotations

import os

#: quick, or nightly.
PROFILE = os.environ.get("FAIRLP_HYPOTHESIS_PROFILE", "quick")


def many(examples: int) -> int:
    """Return so many examples, or ten times as many at night."""
    return examples * (10 if PROFILE == "nightly" else 1)
