"""The profile of Hypothesis, and the number of examples of tests that state their own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

#: quick, or nightly.
PROFILE = os.environ.get("FAIRLP_HYPOTHESIS_PROFILE", "quick")


def by_day(cases: Iterable[Any], every: int) -> list[Any]:
    """Return all cases at night, and by day every second, third … of them, the first included."""
    return list(cases)[:: 1 if PROFILE == "nightly" else every]


def chequered(*lists: list[Any]) -> list[tuple[Any, ...]]:
    """Return all combinations at night, and by day every second one, so that each two of the names still meet."""
    places = itertools.product(*(range(len(names)) for names in lists))
    chosen = [choice for choice in places if PROFILE == "nightly" or sum(choice) % 2 == 0]
    return [tuple(names[k] for names, k in zip(lists, choice, strict=True)) for choice in chosen]


def many(examples: int) -> int:
    """Return ten times so many examples at night, and a tenth as many (rounded up) by day."""
    return examples * 10 if PROFILE == "nightly" else (examples + 9) // 10
