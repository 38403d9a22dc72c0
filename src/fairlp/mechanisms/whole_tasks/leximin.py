"""The leximin optimum with whole tasks, by a few integer programs.

It is the exact yardstick for discrete heuristics.

Levels are found from the smallest up. With tasks divided, users who cannot be raised are frozen;
with whole tasks several sets of users could be, so that a round settles a *level* and *how many*
users stay at or below it, and later rounds may still choose who they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import SolverError
from ...formulations.whole_tasks import SettledLevel, whole_tasks
from ...models.instances.arithmetic import usable
from ...models.instances.instance import Instance
from ...tolerances import FEASIBILITY, VERIFIED
from .filling import Pool


@dataclass
class DiscreteLeximin:
    """The leximin in whole tasks: tasks by user, and the rounds.

    A round is a level with the number of users who stay at or below it.
    """

    tasks: np.ndarray
    levels: list[tuple[Fraction, int]] = field(default_factory=list)
    unproved: str = ""


def discrete_leximin(
    instance: Instance, pool: Pool, *, solver: str = "highs", options: dict[str, Any] | None = None
) -> DiscreteLeximin:
    """Return the whole tasks whose sorted weighted dominant shares are lexicographically largest.

    Two integer programs a level: the smallest share above the levels settled so far, and the most
    users above it. Both answers are whole numbers of tasks, from which levels follow as exact
    rationals; what the solver says of a level is not used. If the second program shows the first
    answer not to be the best (levels closer than the solver's tolerance), the level is raised and
    the second one repeated.

    Parameters
    ----------
    instance : Instance
        One server; small (users × distinct levels binaries).
    pool : Pool
        Its whole-number data.
    solver : str
        Any that takes integer variables.
    options : dict, optional
        Options of the solver.

    Raises
    ------
    SolverError
        When the solver fails, or its whole tasks break a capacity.
    """
    users = np.flatnonzero(pool.can_run)
    result = DiscreteLeximin(np.zeros(len(pool.limits)))
    shares = pool.fractions()
    settled: list[SettledLevel] = []
    staying = 0
    room = IntegerCapacity(instance, pool)

    def solve(levels: list[SettledLevel], goal: str) -> list[Fraction]:
        while True:
            model = whole_tasks(instance, levels, goal, room.limits)
            solution = model.solve(solver=solver, **(options or {})).require_optimal()
            result.unproved = solution.unproved
            result.tasks = np.rint(solution.values["x"].to_numpy())
            over = np.asarray(pool.usage(result.tasks) > pool.capacity, dtype=bool)
            if not over.any():
                break
            room.lower(over, solver)
        return sorted(int(result.tasks[n]) * shares[n] for n in users)

    while staying < len(users):
        levels = solve(settled, "level")
        while True:
            level = levels[staying]
            least = np.array([float(-(-level // share)) if share else 0.0 for share in shares])
            above = np.array([float(level // share + 1) if share else 0.0 for share in shares])
            levels = solve([*settled, SettledLevel(least, above, 0)], "count")
            count = sum(value <= level for value in levels)
            if count > staying:
                break
        staying = count
        settled.append(SettledLevel(least, above, staying))
        result.levels.append((level, staying))
    result.unproved = room.unproved or result.unproved
    return result


class IntegerCapacity:
    """The capacity of integer programs, lowered where a solver's tolerance lets tasks exceed it."""

    def __init__(self, instance: Instance, pool: Pool) -> None:
        self.all = instance.pool
        self.pool = pool
        self.limits: np.ndarray | None = None
        self.reduction = 0.0

    def lower(self, over: np.ndarray, solver: str) -> None:
        """Hold tasks to the exact usable capacity; next, lower that of the overused resources."""
        if self.limits is None:
            self.limits = self.all * usable(self.pool.demands, self.pool.capacity[None, :])[0]
            return
        self.reduction = 10 * self.reduction if self.reduction else FEASIBILITY
        if self.reduction > VERIFIED:
            raise SolverError(
                f"{solver} gave whole tasks that break a capacity by rounding; scale the data, or "
                "use another solver"
            )
        self.limits = np.where(
            over, np.minimum(self.limits, self.all * (1 - self.reduction)), self.limits
        )

    @property
    def unproved(self) -> str:
        """Text on tasks that no program looked at, as they leave almost nothing free."""
        if not self.reduction:
            return ""
        return (
            f"not proved: whole tasks that leave less than {self.reduction:.0e} of a resource free were "
            "not all looked at"
        )
