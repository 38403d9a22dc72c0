"""Per-server dominant share fairness: is an allocation a fixed point, and who could gain on which server from whom.

>>> import fairlp
>>> instance = fairlp.examples.load("khamse-ashari-figure-1")
>>> print(fairlp.per_server.check(instance, fairlp.allocate(instance, "tsf")))
PS-DSF (resources are divided): no; user 'user1' could run 2 more tasks on server 'server1' from 'user3', and 1 more
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import InstanceError
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...tolerances import AGREEMENT
from ..allocation import Allocation
from .fixed_point import FixedPoint, fixed_point
from .methods import CLOCK_OPTIONS
from .tracking import Tracking, track

if TYPE_CHECKING:
    from ..validation import Check
    from .best_response import Division


def check(instance: Instance, allocation: Allocation | pd.DataFrame | Any, division: Division = "rdm") -> FixedPoint:
    """Return whether an allocation is PS-DSF (Definition 5), or who could gain, on which server, how much, from whom.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks; ours or anyone's.
    division : {"rdm", "tdm"}
        Whether servers divide their resources or their time.

    Raises
    ------
    InstanceError
        For a shape or labels that do not fit, or weights per resource.
    """
    return fixed_point(instance, tasks_of(instance, allocation), division)


def could_gain(instance: Instance, allocation: Allocation | Any, user: object, division: Division = "rdm") -> Model:
    """Return Definition 5 for one user as a linear program, to read, solve with any solver, or export.

    Its optimum is the most tasks that the user could have if only users of higher level gave way.
    """
    from ...formulations import per_server

    return per_server.could_gain(instance, tasks_of(instance, allocation), user, division)


def validate_methods(check: Check) -> pd.DataFrame:
    """Compare every method's totals with the best response's, and each certificate with Definition 5 by LPs.

    Under resource division there may be several fixed points, so that methods agree when each is one.
    """
    from ..validation import agreement

    name = check.mechanism.name
    division: Division = "tdm" if name.endswith("tdm") else "rdm"
    reference = _asked(check, "best-response").allocate(method="best-response")
    rows = {}
    pairs = np.count_nonzero(check.instance.gamma())
    for algorithm in check.mechanism.algorithms:
        if pairs > LARGEST.get(algorithm.method, np.inf):
            continue
        found = _asked(check, algorithm.method).allocate(method=algorithm.method)
        row = agreement(check.instance, found, reference)
        gain = _largest_gain(check, found, division)
        unique = division == "tdm" and bool(np.isinf(check.instance.task_limits).all())
        rows[algorithm.method] = {**row, "agrees": gain <= AGREEMENT and (row["agrees"] or not unique), "gain": gain}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


#: More pairs of user and server than this are not put before an integer program for a check, nor before methods that
#: may take thousands of sweeps.
LARGEST = {"milp": 40, "sweeps": 2000, "algorithm-1": 2000, "distributed": 2000}
#: More users than this are not asked by a linear program each whether they could gain.
MOST_PROGRAMS = 50


def _asked(check: Check, method: str) -> Check:
    """Return the check with those options that the method has."""
    other = ("most_sweeps",) if method == "distributed" else CLOCK_OPTIONS
    return replace(check, options={name: value for name, value in check.options.items() if name not in other})


def _largest_gain(check: Check, found: Allocation, division: Division) -> float:
    """Return the largest gain by Definition 5, relative to what one could run alone; by LPs where users are few."""
    if len(check.instance.users) > MOST_PROGRAMS:
        return fixed_point(check.instance, found.tasks_array, division).violation
    alone = check.instance.gamma().sum(axis=1)
    worst = 0.0
    for user, total, most in zip(check.instance.users, found.totals, alone, strict=True):
        if most > 0:
            model = could_gain(check.instance, found, user, division)
            optimum = model.solve(solver=check.solver).require_optimal().objective
            worst = max(worst, (optimum - total) / most)
    return worst


def tasks_of(instance: Instance, allocation: Allocation | pd.DataFrame | Any) -> np.ndarray:
    """Return tasks as an array of users × servers, by label where there are labels."""
    if isinstance(allocation, Allocation):
        allocation = allocation.tasks
    if isinstance(allocation, pd.DataFrame):
        users, servers = list(instance.users), list(instance.servers)
        for label, there, what in ((users, allocation.index, "user"), (servers, allocation.columns, "server")):
            missing = [one for one in label if one not in there]
            if missing:
                raise InstanceError(
                    f"the allocation has no row or column for {what} {missing[0]!r}; expected all {what}s"
                )
        allocation = allocation.loc[users, servers].to_numpy()
    tasks = np.asarray(allocation, dtype=float)
    expected = (len(instance.users), len(instance.servers))
    if tasks.shape != expected:
        raise InstanceError(f"the allocation has shape {tasks.shape}; expected {expected}, users × servers")
    if not np.isfinite(tasks).all():
        raise InstanceError("the allocation has entries that are not finite; expected tasks, users × servers")
    return tasks


__all__ = ["FixedPoint", "Tracking", "check", "could_gain", "track"]
