"""When servers act on their own, and how long their messages take: the options of distributed PS-DSF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UnknownNameError, UnsupportedError, nearest

#: Messages take between this part of the delay and as much more than it, in random order of arrival.
SPREAD = 0.5
PROCEDURES: tuple[str, ...] = ("best-response", "algorithm-1")
#: Names of the options that say what clocks there are.
CLOCK_OPTIONS: tuple[str, ...] = ("period", "jitter", "delay", "damping", "procedure", "clock_seed")


@dataclass(frozen=True)
class Clocks:
    """When servers act and how long their messages take.

    Attributes
    ----------
    period : float
        Seconds between two actions of a server.
    jitter : float
        Each interval is longer or shorter by up to this fraction of the period.
    delay : float
        Seconds that a message takes, on average; each takes between half of it and half more.
    damping : float
        How far a server goes towards its answer each time, in (0, 1].
    procedure : {"best-response", "algorithm-1"}
        What a server does when it acts: the water-filling, or the paper's server procedure.
    seed : int
        Of phases, jitter and delays.
    """

    period: float = 1.0
    jitter: float = 0.1
    delay: float = 0.0
    damping: float = 1.0
    procedure: str = "best-response"
    seed: int = 0

    @property
    def longest(self) -> float:
        """Seconds after which everything that was under way has arrived and every server has acted on it."""
        return self.period * (1 + self.jitter) + self.delay * (1 + SPREAD)


def clocks_of(parameters: Mapping[str, Any]) -> Clocks:
    """Return the clocks that options describe, checked.

    Without ``damping``, it is 1/(1 + delay/period): servers that hear late move less.
    """
    given = {name: value for name, value in parameters.items() if name in CLOCK_OPTIONS}
    period = positive("period", given.get("period", Clocks.period))
    delay = positive("delay", given.get("delay", Clocks.delay), zero=True)
    jitter = positive("jitter", given.get("jitter", Clocks.jitter), zero=True)
    damping = given.get("damping")
    damping = 1 / (1 + delay / period) if damping is None else positive("damping", damping)
    procedure = given.get("procedure", Clocks.procedure)
    if procedure not in PROCEDURES:
        raise UnknownNameError(f"procedure={procedure!r} does not exist; {nearest(str(procedure), PROCEDURES)}")
    if damping > 1:
        raise UnsupportedError(f"damping={damping:g}; expected a number in (0, 1]")
    if jitter >= 1:
        raise UnsupportedError(f"jitter={jitter:g}; expected a fraction of the period, in [0, 1)")
    return Clocks(period, jitter, delay, damping, procedure, int(given.get("clock_seed", Clocks.seed)))


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return an option that must be a finite positive number, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise UnsupportedError(f"{name}={value!r}; expected a finite number {'≥' if zero else '>'} 0")
    return number
