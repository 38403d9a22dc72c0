"""What an audit answers: whether a property holds, by how much, and who shows it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import allocate
from ..models.instances.instance import Instance
from ..tolerances import AUDIT

if TYPE_CHECKING:
    from ..mechanisms.allocation import Allocation
    from ..mechanisms.mechanism import Division


@dataclass(frozen=True)
class Finding:
    """The answer for one property.

    Attributes
    ----------
    holds : bool or None
        None when the property is not defined here, when there was nothing to check ("vacuous: …"), or when a search
        found nothing; the witness says which.
    margin : float
        How far it is from breaking, relative (see each property); negative when it is broken, NaN when nothing was
        checked.
    witness : str
        Who shows it, in words.
    better : Allocation or None
        The allocation that shows a violation, where there is one.
    misreport : Instance or None
        The lie that pays, where there is one.
    """

    holds: bool | None
    margin: float
    witness: str
    better: Allocation | None = None
    misreport: Instance | None = None

    @classmethod
    def of_margin(cls, margin: float, witness: str, well: str, **more: Any) -> Finding:
        """Return a finding that holds when the margin is not negative beyond the tolerance ``AUDIT``."""
        holds = bool(margin >= -AUDIT)
        return cls(holds, float(margin), well if holds else witness, **({} if holds else more))

    @classmethod
    def undefined(cls, why: str) -> Finding:
        """Return the answer where the property is not defined."""
        return cls(None, np.nan, why)

    @classmethod
    def vacuous(cls, why: str) -> Finding:
        """Return the answer where there was nothing to check, which is no evidence that a mechanism keeps anything."""
        return cls.undefined(f"vacuous: {why}")


@dataclass(frozen=True)
class Case:
    """An allocation under audit.

    Attributes
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
    mechanism : str
        The mechanism that made it, empty for anyone's.
    options : dict or None
        Options that the mechanism is run again with.
    division : {"rdm", "tdm"}
        What servers divide.
    whole : bool
        Whether tasks are whole.
    tries : int
    seed : int
    """

    instance: Instance
    tasks: np.ndarray
    mechanism: str = ""
    division: Division = "rdm"
    whole: bool = False
    options: dict[str, Any] | None = None
    tries: int = 200
    seed: int = 0

    @property
    def totals(self) -> np.ndarray:
        """Tasks by user."""
        return np.asarray(self.tasks.sum(axis=1))

    @property
    def added_up(self) -> bool:
        """Whether whole tasks run on rows of several servers: how many run on each of them is not known."""
        return self.whole and bool((self.instance.counts > 1).any())

    @property
    def alone(self) -> np.ndarray:
        """Tasks that each user could run with the whole cluster to itself, Σ_i γ[n,i]."""
        return np.asarray(self.instance.gamma().sum(axis=1))

    @property
    def scale(self) -> np.ndarray:
        """What differences of tasks are measured by: Γ[n], and 1 for a user who can run nothing."""
        alone = self.alone
        return np.where(alone > 0, alone, 1.0)

    def name(self, user: int) -> str:
        """Return a user's label for a witness."""
        return repr(self.instance.users[user])

    def again(self, instance: Instance) -> Allocation:
        """Return what the mechanism does with another instance."""
        with warnings.catch_warnings(action="ignore"):
            return allocate(instance, self.mechanism, **(self.options or {}))


def amount(value: float) -> str:
    """Return a number as a witness shows it."""
    return f"{value:.6g}"
