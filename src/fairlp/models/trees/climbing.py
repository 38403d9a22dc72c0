"""How leaves rise together: what each asks for at a level, until one of them has all its tasks or a resource ends.

At level t an active leaf asks for max(what it has, base + rate·t), at most its task limit; the others keep what they
have. When somebody has all its tasks it leaves, the rates of those that go on are new, and t begins at 0 again. That
is one :class:`Stretch`; how far along it everybody can go is the affair of a linear program or of one pool's sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .rates import Rates


@dataclass(frozen=True)
class Stretch:
    """Leaves that rise at constant rates.

    Attributes
    ----------
    has : ndarray, shape (N,)
        Tasks of each leaf where the stretch begins.
    base, rate, limits : ndarray, shape (N,)
        An active leaf asks for base + rate·t tasks, at most its limit.
    active : ndarray of bool, shape (N,)
    """

    has: np.ndarray
    base: np.ndarray
    rate: np.ndarray
    limits: np.ndarray
    active: np.ndarray

    @cached_property
    def ends(self) -> np.ndarray:
        """The level at which each active leaf has all its tasks; infinite where it never has. Shape (N,)."""
        left = self.limits - self.base
        finite = self.active & np.isfinite(left)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.divide(left, self.rate, out=np.full(len(self.rate), np.inf), where=finite))

    @cached_property
    def end(self) -> float:
        """The level at which the first leaf has all its tasks."""
        return float(self.ends.min(initial=np.inf))

    def asked(self, level: float) -> np.ndarray:
        """Return the tasks that everybody has at a level of this stretch."""
        risen = np.minimum(self.base + self.rate * level, self.limits)
        return np.where(self.active, np.maximum(self.has, risen), self.has)

    def full(self, level: float) -> np.ndarray:
        """Return which active leaves have all their tasks at a level. Bool, shape (N,)."""
        full = self.active & (self.ends <= level)
        return np.asarray(full | (self.active & (self.has >= self.limits)))

    def after(self, level: float, stops: np.ndarray, rates: Rates) -> Stretch:
        """Return the next stretch: it begins where this one is at ``level``, and some leaves go no further."""
        active = self.active & ~stops
        return replace(self, has=self.asked(level), active=active, rate=rates(active))

    def next(self, rates: Rates) -> Stretch:
        """Return the next stretch when this one is passed to its end: whoever has all its tasks there stops."""
        end = self.end
        return self.after(end, self.full(end), rates)


def begin(rates: Rates, floors: np.ndarray, base: np.ndarray, limits: np.ndarray, able: np.ndarray) -> Stretch:
    """Return the first stretch: those who can run anything rise, from what they are guaranteed."""
    has = np.where(able, floors, 0.0)
    return Stretch(has, np.where(able, base, 0.0), rates(able), limits, able)
