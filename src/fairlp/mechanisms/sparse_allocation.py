"""``SparseAllocation``: the answer of a max-min mechanism by pairs, with the prices that bound its levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..errors import InstanceError
from ..models.instances.sparse import SparseInstance
from ..models.programs.certificate import Verdict
from ..solvers.matrix_free.rounds import Round
from .allocation import Shared
from .sparse_certificate import attained, certified, misfit, violation


@dataclass(frozen=True, eq=False)
class SparseAllocation(Shared):
    """Who runs how many tasks where, by pair, and how far levels are from what any allocation can have, at most.

    Attributes
    ----------
    instance : SparseInstance
    mechanism, method : str
    user, server : ndarray of int, shape (E,)
        Positions of the pairs that can run, sorted by server.
    tasks_array : ndarray, shape (E,)
        Tasks of each pair (on the servers of a row: of all of them together).
    gamma, entitled : ndarray, shape (N,)
        Γ[n], and the tasks at level 1, φ[n]·Γ[n].
    aim : float
        The relative gap that was asked for.
    bounds : tuple of Round
        Every round's floors and prices: what proves the levels.
    iterations, steps, passes : int
        Interior-point iterations, conjugate-gradient steps, passes over the pairs.
    times : mapping
        Seconds by phase.
    notes : tuple of str
        What is proved, and what is not.
    """

    instance: SparseInstance
    mechanism: str
    method: str
    user: np.ndarray
    server: np.ndarray
    tasks_array: np.ndarray
    gamma: np.ndarray
    entitled: np.ndarray
    aim: float
    bounds: tuple[Round, ...]
    iterations: int = 0
    steps: int = 0
    passes: int = 0
    times: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        wrong = misfit(self)
        if wrong:
            raise InstanceError(f"no allocation of this instance: {wrong}")
        object.__setattr__(self, "notes", self._said())

    @cached_property
    def tasks(self) -> pd.Series[float]:
        """Tasks of each pair that runs some, by user and server."""
        order = np.lexsort((self.server, self.user))
        some = order[self.tasks_array[order] > 0]
        index = pd.MultiIndex(
            levels=[list(self.instance.users), list(self.instance.servers)],
            codes=[self.user[some].tolist(), self.server[some].tolist()],
            names=["user", "server"],
            verify_integrity=False,
        )
        return pd.Series(self.tasks_array[some], index=index, name="tasks")

    def to_sparse(self) -> sparse.csr_array:
        """Return tasks as a sparse matrix, users × servers.

        Returns
        -------
        csr_array, shape (N, K)
        """
        shape = len(self.instance.users), len(self.instance.servers)
        return sparse.csr_array((self.tasks_array, (self.user, self.server)), shape=shape)

    @cached_property
    def totals(self) -> pd.Series[float]:
        """Tasks by user."""
        found = np.bincount(self.user, weights=self.tasks_array, minlength=len(self.instance.users))
        return pd.Series(found, index=self._users, name="tasks")

    @cached_property
    def usage(self) -> pd.DataFrame:
        """Amount of each resource in use, servers × resources."""
        size = len(self.instance.servers)
        demands = self.instance.demands
        used = [np.bincount(self.server, self.tasks_array * row[self.user], minlength=size) for row in demands.T]
        return pd.DataFrame(np.stack(used, axis=1), index=self._servers, columns=self._resources)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Rounds by connected component: the level, what no allocation exceeds, the gap, and who stopped there.

        The bound of a later round holds given the levels of those who stopped before.
        """
        tables = []
        for number, one in enumerate(self.bounds, 1):
            level, gap = attained(one, self.levels.to_numpy(), one.upper, self.aim)
            stopped = np.bincount(one.group, weights=one.stopped, minlength=len(level)).astype(int)
            table = pd.DataFrame({"level": level, "bound": one.upper, "gap": gap, "frozen": stopped})
            table.insert(0, "round", number)
            tables.append(table.rename_axis("component").reset_index())
        columns = ["round", "component", "level", "bound", "gap", "frozen"]
        return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)

    def reached(self, one: Round) -> np.ndarray:
        """Return the level that all who rose in a round have at least, or all of their tasks (but for the aim).

        By component.

        Parameters
        ----------
        one : Round
            One of the rounds that made this allocation.

        Returns
        -------
        ndarray
            One level for each component of the round.
        """
        return attained(one, self.levels.to_numpy(), one.upper, self.aim)[0]

    @cached_property
    def gap(self) -> float:
        """Relative gap of the smallest level: no allocation raises it by more (the largest over components)."""
        first = self.rounds[self.rounds["round"] == 1]
        return float(first["gap"].max()) if len(first) else 0.0

    def _said(self) -> tuple[str, ...]:
        """Return what is proved, in words."""
        later = self.rounds[self.rounds["round"] > 1].groupby("round")["gap"].max()
        found = [f"the smallest level is within {self.gap:.1e} of the largest that there is, proved by prices"]
        if len(later):
            found.append(
                f"{len(later)} later round{'s' * (len(later) > 1)}: each level within "
                f"{', '.join(f'{gap:.1e}' for gap in later)} of the largest, given the levels before it"
            )
        if self.unsettled:
            found.append(
                f"{self.unsettled} users could rise further: what was left is shared among them in proportion, and no "
                "bound is proved of their levels beyond the last round's"
            )
        return tuple(found)

    @cached_property
    def unsettled(self) -> int:
        """Number of users who had not stopped when the rounds ended."""
        able, stopped = (np.zeros(len(self.instance.users), dtype=bool) for _ in range(2))
        for one in self.bounds:
            able[one.users[one.rows.slope > 0]] = True
            stopped[one.users[one.stopped]] = True
        return int((able & ~stopped).sum())

    @cached_property
    def residual(self) -> float:
        """Largest violation of a capacity, task limit or sign, relative to the capacity or limit."""
        return violation(self)

    def certify(self) -> Verdict:
        """Return whether every round's level is within ``aim`` of what any allocation can have, computed anew.

        From tasks, demands and capacities: that the allocation is feasible, and that prices bound the levels. Of what
        the method computed it takes prices, of which any would do, and who stopped in which round. The allocation is
        not proved where prices alone would leave users who stopped twice as much; the message says how many.

        Returns
        -------
        Verdict
            True or False, with a ``message``.
        """
        return certified(self)

    def summary(self) -> pd.DataFrame:
        """Return one row for each user: tasks, share, weight-adjusted level, servers used.

        Returns
        -------
        DataFrame
            Indexed by user: ``tasks``, ``share``, ``level`` and ``server_rows``.
        """
        used = np.bincount(self.user[self.tasks_array > 0], minlength=len(self.instance.users))
        return pd.DataFrame({"tasks": self.totals, "share": self.shares, "level": self.levels, "server_rows": used})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: method, users, the nonzero tasks, gap, notes.

        Returns
        -------
        dict
            Mappings and lists of text and numbers.
        """
        users = self.summary().reset_index()
        return {
            "mechanism": self.mechanism,
            "method": self.method,
            "users": users.drop(columns="server_rows").to_dict("records"),
            "tasks": self.tasks.reset_index().to_dict("records"),
            "utilization": {str(r): float(u) for r, u in self.pool_utilization.items()},
            "residual": self.residual,
            "gap": self.gap,
            "times": dict(self.times),
            "notes": list(self.notes),
        }

    def _csv(self) -> pd.DataFrame:
        return self.tasks.to_frame()

    def __repr__(self) -> str:
        least = f"smallest level {self.levels.min():.6g}" if len(self.levels) else ""
        return (
            f"<SparseAllocation by {self.mechanism} ({self.method}): {len(self.instance.users)} users, {least}, "
            f"gap {self.gap:.1e}>"
        )
