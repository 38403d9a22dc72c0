"""What an audit answers: whether a property holds, by how much, and who shows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from shutil import get_terminal_size
from time import monotonic
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ..api import allocate
from ..mechanisms.allocation import Allocation
from ..mechanisms.mechanism import Division, run
from ..mechanisms.table import find_defined
from ..models.instances.instance import Instance
from ..models.instances.requests import entitlements
from ..models.programs.views import whole_table
from ..tolerances import AUDIT

__all__ = ["NOTHING_TO_CHECK"]

# The table of an audit: a DataFrame whose long witnesses are shortened where it is shown, and whole
# in the data.

#: Letters of a witness that a notebook shows, and the fewest that a printed table does.
_SHOWN = 200
_FEWEST = 40
#: Columns of a printed table where no terminal says how many it has, and of all but the witness.
_COLUMNS = 160
_OTHERS = 60
_CUT = "… witnesses are cut; those of .witness are whole"
#: Columns that hold objects; a printed table lists the properties that have some.
_OBJECTS = {"better": "allocations that show it", "misreport": "lies that pay"}


class AuditTable(pd.DataFrame):
    """Findings by property; what is taken from it (rows, columns) is one, too."""

    @property
    def _constructor(self) -> Callable[..., AuditTable]:
        return AuditTable

    def __repr__(self) -> str:
        if self.empty:
            return str(super().__repr__())
        width = max(get_terminal_size((_COLUMNS, 24)).columns - _OTHERS, _FEWEST)
        frame, lines = self._shown(width)
        margin = {"margin": lambda value: f"{value + 0.0:.3g}"}
        text = frame.to_string(formatters=margin, justify="left", max_colwidth=width + 1)
        return "\n".join([*(line.rstrip() for line in text.split("\n")), *lines])

    def _repr_html_(self) -> str:
        frame, lines = self._shown(_SHOWN)
        shown = whole_table(frame.where(frame.notna(), ""))
        return shown + "".join(f"<p>{escape(line)}</p>" for line in lines)

    def _shown(self, width: int) -> tuple[pd.DataFrame, list[str]]:
        """Return the columns without objects, witnesses cut to a width, and lines to stand below."""
        frame = pd.DataFrame(self).drop(columns=list(_OBJECTS), errors="ignore").astype(object)
        lines = []
        if "witness" in frame:
            witnesses = [_cut(str(text), width) for text in frame["witness"]]
            widest = max(map(len, witnesses), default=0)
            lines = [_CUT] if any(text.endswith("…") for text in witnesses) else []
            frame["witness"] = [text.ljust(widest) for text in witnesses]
        for name, title in _OBJECTS.items():
            properties = self.index[self[name].notna()] if name in self.columns else ()
            if len(properties):
                lines.append(f"{title} (.{name}): {', '.join(map(str, properties))}")
        return frame, lines


def _cut(text: str, limit: int) -> str:
    """Return a text in one line, its beginning where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


#: How the witness begins where there is nothing to check.
NOTHING_TO_CHECK = "nothing to check"


@dataclass(frozen=True)
class Finding:
    """The answer for one property.

    Attributes
    ----------
    holds : bool or None
        None when the property is not defined here, when there was nothing to check ("nothing to check: …"),
        or when a search found nothing; the witness says which.
    margin : float
        How far it is from breaking, relative (see each property); negative when it is broken, NaN
        when nothing was checked.
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
    def of_margin(cls, margin: float, witness: str, success: str, **evidence: Any) -> Finding:
        """Return a finding that holds when the margin is at least −``AUDIT``."""
        holds = bool(margin >= -AUDIT)
        return cls(
            holds, float(margin), success if holds else witness, **({} if holds else evidence)
        )

    @classmethod
    def undefined(cls, reason: str) -> Finding:
        """Return the answer where the property is not defined."""
        return cls(None, np.nan, reason)

    @classmethod
    def vacuous(cls, reason: str) -> Finding:
        """Return the answer for nothing to check, which is no evidence for a mechanism."""
        return cls.undefined(f"{NOTHING_TO_CHECK}: {reason}")


@dataclass(frozen=True)
class Deadline:
    """The end of the time in which a search runs a mechanism again.

    Attributes
    ----------
    time_limit : float
        Seconds from ``start``; by default there is no end.
    start : float
    """

    time_limit: float = np.inf
    start: float = field(default_factory=lambda: monotonic())

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.start

    @property
    def has_passed(self) -> bool:
        """Whether no other run may begin."""
        return self.seconds >= self.time_limit

    @property
    def remaining(self) -> float | None:
        """Seconds until the end, at least 0; None where there is no end."""
        return None if self.time_limit == np.inf else max(self.time_limit - self.seconds, 0.0)


NO_DEADLINE = Deadline()


@dataclass(frozen=True)
class AuditCase:
    """An allocation under audit.

    Attributes
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
    mechanism : str
        The mechanism of the allocation, empty where it is not known.
    options : dict or None
        Options that the mechanism is run again with.
    division : {"rdm", "tdm"}
        What servers divide.
    whole : bool
        Whether tasks are whole.
    tries : int
    seed : int
    deadline : Deadline
        Until when the mechanism may be run again.
    """

    instance: Instance
    tasks: np.ndarray
    mechanism: str = ""
    division: Division = "rdm"
    whole: bool = False
    options: dict[str, Any] | None = None
    tries: int = 200
    seed: int = 0
    deadline: Deadline = NO_DEADLINE

    @cached_property
    def totals(self) -> np.ndarray:
        """Tasks by user."""
        return np.asarray(self.tasks.sum(axis=1))

    @property
    def added_up(self) -> bool:
        """Whether whole tasks run on rows of several servers: those of each server are unknown."""
        return self.whole and bool((self.instance.counts > 1).any())

    @cached_property
    def gamma(self) -> np.ndarray:
        """Tasks γ[n,i] that each user could run alone on each server."""
        return self.instance.gamma()

    @cached_property
    def alone(self) -> np.ndarray:
        """Tasks that each user could run with the whole cluster to itself, Σ_i γ[n,i]."""
        return np.asarray(self.gamma.sum(axis=1))

    @cached_property
    def scale(self) -> np.ndarray:
        """What differences of tasks are measured by: Γ[n], and 1 for a user who can run nothing."""
        alone = self.alone
        return np.where(alone > 0, alone, 1.0)

    @cached_property
    def parts(self) -> np.ndarray:
        """The fair part of each user: e[n] where there are entitlements, φ[n]/Σφ else."""
        return entitlements(self.instance)

    @property
    def incomparable(self) -> str | None:
        """Why users cannot be compared by their parts, None where they can."""
        instance = self.instance
        if instance.entitlements is None:
            if not instance.has_resource_weights:
                return None
            return "weights are given per resource; this compares users by one weight each"
        if self.parts.all():
            return None
        user = self.name(int(self.parts.argmin()))
        return f"{user} is entitled to nothing; this compares users by what they are entitled to"

    def name(self, user: int) -> str:
        """Return a user's label for a witness."""
        return repr(self.instance.users[user])

    def again(self, instance: Instance) -> Allocation:
        """Return what the mechanism does with another instance.

        It is what :func:`fairlp.allocate` comes to, without notes on tasks that fit no server.
        """
        options = dict(self.options or {})
        with warnings.catch_warnings(action="ignore"):
            if "oversized" in options:
                return allocate(instance, self.mechanism, **options)
            row = find_defined(self.mechanism, instance, options)
            allocation: Allocation = run(row, instance, **options)
            return allocation


def amount(value: float) -> str:
    """Return a number as a witness shows it."""
    return f"{value:.6g}"


def changed(values: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """Return the values with another one at a place."""
    copy = values.copy()
    copy[place] = value
    return copy


#: A lie; its gain comes first.
Lie = TypeVar("Lie", bound=tuple[Any, ...])


def searched(
    lies: list[Lie],
    near: Callable[[Lie], Lie],
    tries: int,
    rng: np.random.Generator,
    deadline: Deadline,
) -> list[Lie]:
    """Return these lies and others, as many as there are tries: each is near one of the five best."""
    while lies and len(lies) < tries and not deadline.has_passed:
        lies.sort(key=lambda lie: -lie[0])
        lies.append(near(lies[rng.integers(0, min(5, len(lies)))]))
    return lies
