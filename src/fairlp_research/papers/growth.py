"""Claims of cost: an exponent is fitted to measured times of growing sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np

from .verdicts import Agreement, ItemAnswer, Number

#: Runs of each size, of which the quickest counts.
REPETITIONS = 5
#: What measured exponents may exceed a claimed one by: sizes differ by sixteen times or more, and a
#: factor of two between the ends (caches, other programs) is a quarter.
MARGIN = 0.25


@dataclass(frozen=True)
class Growth:
    """Measured seconds of growing sizes, and the exponent that a paper claims.

    Attributes
    ----------
    of : str
        What grows.
    sizes : sequence of int
    seconds : sequence of float
    claimed : float
        Seconds are at most proportional to the size to this power.
    """

    of: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    claimed: float

    @property
    def exponent(self) -> float:
        """The slope of log seconds over log sizes, by least squares."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])

    @property
    def holds(self) -> bool:
        """Whether the exponent is no more than the claimed one, but for the margin."""
        return self.exponent <= self.claimed + MARGIN


def measured(
    of: str,
    sizes: Sequence[int],
    prepare: Callable[[int], Any],
    work: Callable[[Any], object],
    claimed: float,
) -> Growth:
    """Return how long work takes on inputs of several sizes.

    Seconds are those of the thread, so that other programs count little.

    Examples
    --------
    >>> import numpy as np
    >>> measured("numbers", [2**14, 2**18], np.ones, np.sum, 1).holds
    True
    """
    seconds = []
    for size in sizes:
        prepared = prepare(size)
        work(prepared)
        runs = []
        for _ in range(REPETITIONS):
            start = thread_time()
            work(prepared)
            runs.append(thread_time() - start)
        seconds.append(max(min(runs), np.finfo(float).eps))
    return Growth(of, sizes, seconds, claimed)


def judged(growths: Iterable[Growth], why: str = "") -> ItemAnswer:
    """Return *holds* where no measured exponent exceeds the claimed one, else *differs*.

    The exponents are numbers of the answer; its words are the same on every machine.
    """
    growths = list(growths)
    numbers = tuple(
        Number(f"exponent of {growth.of}", f"{growth.claimed:g}", growth.exponent)
        for growth in growths
    )
    beyond = [growth.of for growth in growths if not growth.holds]
    claims = ", ".join(
        f"{growth.of} {growth.sizes[0]:,} to {growth.sizes[-1]:,}" for growth in growths
    )
    ours = (
        f"seconds grow faster with {', '.join(beyond)}"
        if beyond
        else "seconds grow no faster (the exponents fitted to them are numbers of this item)"
    )
    return ItemAnswer(
        Agreement.DIFFERS if beyond else Agreement.HOLDS,
        ours,
        why,
        numbers,
        count=sum(len(growth.sizes) for growth in growths),
        size=claims,
    )
