"""``rise``: along a path of your own, as far as servers or a region of yours allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ...errors import InstanceError, NotDefinedError, counted, quoted
from ...formulations import region as formulas
from ...formulations.max_min import in_tasks
from ...formulations.normalisers import dominant, tasks_at_level_1
from ...keywords import lists
from ...models.instances.arithmetic import effort
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.rationals import rational
from ...models.paths import engine
from ...models.paths.engine import History, Reached, Region
from ...models.paths.path import Path
from ...models.programs.backends import AnySolver, spelt
from ...models.programs.options import SolveOptions
from ...models.programs.proof import Proof
from ...tolerances import AGREEMENT, ROUNDING, VERIFIED
from .exact import gain_in_rationals, rise_in_rationals
from .leximin import climb, rounds_frame

__all__ = ["PathSolution", "rise"]


@dataclass(frozen=True)
class PathSolution:
    """Where users come to along a path, and the rounds on the way.

    Attributes
    ----------
    totals : Series
        Tasks by user; rationals along a path of rationals.
    tasks : DataFrame or None
        Tasks, users × servers; None with a region of one's own.
    rounds : DataFrame
        For each round its ``level`` (the path's t), how many users were ``frozen`` there, which
        ``users``, and which of them were ``blocked`` (the others have all their tasks).
    prices : DataFrame or None
        Of the first round that a resource ended: what one more unit of it on a server would add to
        the path's t. Servers × resources; None without duals, in rationals, or where nobody was
        blocked.
    solver : str
        Empty with a region of one's own.
    gap : float or None
        Largest duality gap of the programs that were solved.
    instance : Instance or None
    reached : list of (tasks, blocked)
        Of each round, the tasks of all users at its end, and who was blocked there.
    path : Path
        That users rose along, where it begins.
    """

    totals: pd.Series[float]
    tasks: pd.DataFrame | None
    rounds: pd.DataFrame
    prices: pd.DataFrame | None
    solver: str
    gap: float | None
    instance: Instance | None
    reached: list[Reached]
    path: Path

    @property
    def levels(self) -> pd.Series[float]:
        """The level, the path's t, at which each user stopped; NaN of those who never rose."""
        levels = pd.Series(np.nan, self.totals.index, name="level")
        for level, users in zip(self.rounds["level"], self.rounds["users"], strict=True):
            levels[users] = level
        return levels

    def certify(self, solver: AnySolver = "highs") -> Proof:
        """Return the proof that who was blocked could not have had more; one program a round.

        What it covers: the tasks fit; every user who rises was blocked, or has all its tasks; each
        has what it had when it stopped; and at the end of its round no user who was blocked could
        gain while all others kept what they had. It does not cover how tasks grow: that is what the
        path says.

        Parameters
        ----------
        solver : str, Backend or class
            Of the programs.

        Returns
        -------
        Proof
            True or False, with a ``message``.

        Raises
        ------
        NotDefinedError
            With a region of one's own, of which fairlp knows no more than what it says.
        """
        instance = self.instance
        if instance is None:
            raise NotDefinedError(
                "what fits is said by a region of your own, so there is nothing to check it by; "
                "give an Instance in its place"
            )
        if wrong := self._misfit(instance):
            return Proof(False, wrong)
        users = instance.users.labels
        small, _ = merge_servers(instance)
        is_exact = self.path.tasks.dtype == object
        gap = 0.0
        for number, (tasks, blocked) in enumerate(self.reached, 1):
            if not blocked.any():
                continue
            gain = _gain(small, tasks, blocked, solver)
            if isinstance(gain, str):
                return Proof(False, f"not proved: round {number}: {gain}")
            if gain > (0 if is_exact else VERIFIED):
                names = ", ".join(quoted(user) for user in users[blocked])
                message = f"round {number}: of {names}, who stopped, one can have more"
                return Proof(False, f"not proved: {message}", float(min(gain, 1)))
            gap = max(gap, float(gain))
        count = sum(bool(blocked.any()) for _, blocked in self.reached)
        programs = counted(count, "program")
        return Proof(
            True,
            f"proved: who was blocked could not have more while others kept what they had, by "
            f"{programs}{' in rationals' if is_exact else ''}; how tasks grow is what the path says",
            gap,
        )

    def _misfit(self, instance: Instance) -> str:
        """Return why the tasks are no allocation that the rounds lead to; empty where they are."""
        assert self.tasks is not None
        tasks = self.tasks.to_numpy(dtype=float)
        runs = instance.runnable()
        multiple = effort(instance)  # given rates scale what a task needs on a server
        usage = (tasks if multiple is None else tasks * np.where(runs, multiple, 0.0)).T
        over = usage @ instance.demands > instance.total_capacities * (1 + AGREEMENT)
        if over.any():
            server, resource = np.argwhere(over)[0].tolist()
            return (
                f"not feasible: server {quoted(instance.servers[server])} has too little "
                f"{quoted(instance.resources[resource])}"
            )
        if (tasks < 0).any() or (tasks[~runs] > 0).any():
            return "not feasible: a user has tasks where it cannot run"
        path = self.path
        totals = self.totals.to_numpy(dtype=float)
        stops = np.where(path.active, path.limits, path.tasks).astype(float)
        for reached, blocked in reversed(self.reached):
            stops[blocked] = reached[blocked]
        slack = AGREEMENT * totals + ROUNDING * instance.tasks_in_pool
        is_off = ~(abs(totals - stops) <= slack) | ~(abs(tasks.sum(axis=1) - totals) <= slack)
        if is_off.any():
            user = quoted(instance.users[int(is_off.argmax())])
            return f"user {user} has not what it had when it stopped, nor all its tasks"
        return ""

    def __repr__(self) -> str:
        by = f" by {self.solver}" if self.solver else ""
        return f"<PathSolution{by}: {len(self.totals)} users, {counted(len(self.rounds), 'round')}>"


def _gain(
    instance: Instance, tasks: np.ndarray, blocked: np.ndarray, solver: AnySolver
) -> float | Fraction | str:
    """Return what blocked users can gain, as a part of the most that one has, or why it is open.

    In rationals, of which the sign alone counts, it is in dominant shares.
    """
    if tasks.dtype == object:
        return gain_in_rationals(instance, tasks, blocked)
    solution = formulas.gain(instance, tasks * (1 - AGREEMENT), blocked).solve(solver)
    if not solution.status.is_optimal:
        return str(solution.status)
    shares = formulas.inverse(dominant(instance)) * tasks
    # Each user was lowered by a billionth, which the blocked ones may gain back.
    slack = AGREEMENT * float(shares.sum()) * len(blocked)
    excess = float(solution.objective) - slack
    largest = float(shares[blocked].max())
    if largest == 0:
        return np.inf if excess > 0 else 0.0
    return max(excess / largest, 0.0)


@lists(SolveOptions)
def rise(
    path: Path,
    region: Region | Instance,
    *,
    solver: AnySolver = "highs",
    **options: Unpack[SolveOptions],
) -> PathSolution:
    """Return where users come to along a path, as far as an instance's servers or a region allow.

    Parameters
    ----------
    path : Path
        How the tasks of users grow (:class:`fairlp.Path`).
    region : Instance or Region
        What fits: the servers, eligibility and caps of an instance, by linear programs; or a region
        of your own (:class:`fairlp.Region`). An instance's task limits and guarantees are the
        path's business: it begins with the tasks that it says, and ends at its limits.
    solver : str, Backend or class
        For an instance: a name from :func:`fairlp.solvers`, or a back end of your own.
    **options
        Of the solver.

    Returns
    -------
    PathSolution

    Raises
    ------
    InstanceError
        Where the path is not one of the instance's users.
    SolverError
        Along a path of rationals, where a program is not proved optimal.
    NoProgressError
        Where a round stops nobody: a region that says neither that there is room nor who is
        blocked, or rates of 0.

    Notes
    -----
    Rounds as in all max-min mechanisms: a few programs a round, at most a round for each user.
    Along a path of rationals (``start(instance, exact=True)``) each program is proved optimal in
    rationals, from a basis that HiGHS proposes, and totals are rationals.

    Examples
    --------
    >>> import fairlp, numpy as np
    >>> class ByWeight(fairlp.Path):
    ...     rate = property(lambda path: np.array([1.0, 2.0]))
    >>> cluster = fairlp.Instance.from_arrays([[1, 1], [1, 2]], [[9, 12], [3, 8]], users=["ann", "bob"])
    >>> answer = fairlp.rise(ByWeight.start(cluster), cluster)
    >>> answer.totals.round(6).to_dict()
    {'ann': 3.6, 'bob': 7.2}
    >>> print(answer.certify())
    proved: who was blocked could not have more ...
    """
    is_exact = path.tasks.dtype == object
    if isinstance(region, Region):
        reached: list[Reached] = []
        end = engine.rise(path, region, reached)
        labels = pd.RangeIndex(len(path.tasks), name="user")
        kind = object if is_exact else float
        totals = pd.Series(end.path.tasks, labels, name="tasks", dtype=kind)
        table = _rounds_table(labels, end.history, reached)
        return PathSolution(totals, None, table, None, "", None, None, reached, path)

    instance = region
    if not isinstance(instance, Instance):
        raise InstanceError(
            f"what fits is {type(region).__name__}; expected an Instance, or a Region of your own"
        )
    n_users = len(instance.users)
    if len(path.tasks) != n_users:
        raise InstanceError(
            f"the path has {len(path.tasks)} users, and the instance has {n_users}; "
            "begin it with Path.start(instance)"
        )
    reached = []
    level_1 = tasks_at_level_1(instance, dominant(instance))
    users = instance.users.labels.rename("user")
    servers = instance.servers.labels.rename("server")
    resources = instance.resources.labels.rename("resource")
    if is_exact:
        first = replace(path, row_tasks=rational(level_1))
        end, amounts = rise_in_rationals(instance, in_tasks(dominant), first, reached)
        totals = pd.Series(end.path.tasks, users, name="tasks", dtype=object)
        tasks = pd.DataFrame(amounts, users, servers)
        table = _rounds_table(users, end.history, reached)
        return PathSolution(totals, tasks, table, None, "highs", 0.0, instance, reached, path)
    result = climb(
        instance,
        in_tasks(dominant),
        replace(path, row_tasks=level_1),
        solver=solver,
        options=options,
        round_ends=reached,
    )
    tasks = pd.DataFrame(np.maximum(result.tasks, 0.0), users, servers)
    prices = None if result.prices is None else pd.DataFrame(result.prices, servers, resources)
    table = _rounds_table(users, result.rounds, reached)
    totals = tasks.sum(axis=1).rename("tasks")
    by = str(spelt(solver))
    return PathSolution(totals, tasks, table, prices, by, result.gap, instance, reached, path)


def _rounds_table(labels: pd.Index[Any], history: History, reached: list[Reached]) -> pd.DataFrame:
    """Return the rounds as a table."""
    columns = {
        "users": [list(labels[users]) for _, users in history],
        "blocked": [list(labels[blocked]) for _, blocked in reached],
    }
    return rounds_frame(history, columns)
