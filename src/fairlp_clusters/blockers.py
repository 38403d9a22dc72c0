"""Who blocks whom: for each user and server the scarcest resource, and the users who hold it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, per_server
from fairlp.errors import named
from fairlp.toolkit import largest_first, tolerances

AUDIT = tolerances.AUDIT
Division = Literal["rdm", "tdm"]

COLUMNS = ["user", "server", "resource", "free", "blocked", "held_by", "unit", "price"]


def blockers(
    instance: Instance,
    allocation: Allocation | pd.DataFrame | Any,
    *,
    division: Division = "rdm",
) -> pd.DataFrame:
    """Return what stops each user on each server where it could run, and the users who hold it.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks; of one with prices (LPs give them) the price of the resource is shown.
    division : {"rdm", "tdm"}

    Returns
    -------
    DataFrame
        One row for each user and server where it may run: ``user``, ``server``, the ``resource``
        that is scarcest for it ("time" under time division; "its tasks" when it has all of them),
        ``free`` (the free amount of it, as a fraction of what one task needs), ``blocked`` (whether
        that is of no use), ``held_by`` (users and the amounts they hold, largest first), ``unit``
        (of those amounts) and ``price`` (of one unit, in the level of the mechanism; NaN without).

    Examples
    --------
    >>> import fairlp_clusters
    >>> import fairlp, fairlp_clusters
    >>> instance = fairlp.examples.load("ghodsi")
    >>> stops = fairlp_clusters.blockers(instance, fairlp.allocate(instance, "drf"))
    >>> stops.loc[0, ["user", "resource", "held_by"]].tolist()
    ['A', 'cpu', {'B': 6.0, 'A': 3.0}]
    """
    tasks = per_server.tasks_of(instance, allocation)
    division = cast(Division, named(division, get_args(Division), "division"))
    if instance.has_resource_weights:  # which do not matter here
        instance = instance.derived(weights=np.ones(len(instance.users)))
    market = per_server.PerServerMarket.of(instance, division)
    divides_time = division == "tdm"
    prices = allocation.prices_array if isinstance(allocation, Allocation) else None
    resources = ["time"] if divides_time else list(instance.resources)
    has_all_tasks = tasks.sum(axis=1) >= instance.task_limits * (1 - AUDIT)

    rows = []
    for i, users in enumerate(market.users):
        if not users.size:
            continue
        demands = market.demands[i]
        amounts = tasks[users, i][:, None] * demands
        free = np.maximum(market.capacity[i] - amounts.sum(axis=0), 0.0)
        nothing = np.full(demands.shape, np.inf)
        free_tasks = np.divide(free, demands, out=nothing, where=demands > 0)
        for k, n in enumerate(users.tolist()):
            r = int(free_tasks[k].argmin())
            row = {
                "user": instance.users[n],
                "server": instance.servers[i],
                "resource": "its tasks",
                "free": free_tasks[k, r],
                "blocked": bool(has_all_tasks[n] or free_tasks[k, r] <= AUDIT * market.gamma[n, i]),
                "held_by": {},
                "unit": "",
                "price": np.nan if prices is None or divides_time else prices[i, r],
                "place": n,
            }
            if not has_all_tasks[n]:
                row["resource"] = resources[r]
                time_unit = "part of the server's time" if divides_time else ""
                row["unit"] = instance.units.get(str(resources[r]), time_unit)
                row["held_by"] = {
                    instance.users[users[h]]: float(amounts[h, r])
                    for h in largest_first(amounts[:, r])
                    if amounts[h, r] > 0
                }
            rows.append(row)

    in_order = sorted(rows, key=itemgetter("place"))
    return pd.DataFrame(in_order, columns=COLUMNS)
