"""Who blocks whom: for each user and server the scarcest resource, and the users who hold it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance
from fairlp.errors import named
from fairlp.toolkit import largest_first, tolerances


def blockers(
    instance: Instance,
    allocation: Allocation | pd.DataFrame | Any,
    *,
    division: Literal["rdm", "tdm"] = "rdm",
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
    >>> import fairlp, fairlp_clusters
    >>> instance = fairlp.examples.load("ghodsi")
    >>> stops = fairlp_clusters.blockers(instance, fairlp.allocate(instance, "drf"))
    >>> stops.loc[0, ["user", "resource", "held_by"]].tolist()
    ['A', 'cpu', {'B': 6.0, 'A': 3.0}]
    """
    tasks = fairlp.mechanisms.tasks_of(instance, allocation)
    named(division, ("rdm", "tdm"), "division")
    one_weight = instance.derived(weights=np.ones(len(instance.users)))
    market = fairlp.per_server.PerServerMarket.of(one_weight, division)
    prices = allocation.prices_array if isinstance(allocation, Allocation) else None
    divides_time = division == "tdm"
    resources = ["time"] if divides_time else list(instance.resources)
    has_all_tasks = tasks.sum(axis=1) >= instance.task_limits * (1 - tolerances.AUDIT)

    rows = []
    for i, users in enumerate(market.users):
        if not users.size:
            continue
        amounts = tasks[users, i][:, None] * market.demands[i]
        free = np.maximum(market.capacity[i] - amounts.sum(axis=0), 0.0)
        free_tasks = np.divide(
            free,
            market.demands[i],
            out=np.full(market.demands[i].shape, np.inf),
            where=market.demands[i] > 0,
        )
        scarcest = free_tasks.argmin(axis=1)
        for k, n in enumerate(users.tolist()):
            r = int(scarcest[k])
            is_full = free_tasks[k, r] <= tolerances.AUDIT * market.gamma[n, i]
            is_blocked = bool(has_all_tasks[n] or is_full)
            price = np.nan if prices is None or divides_time else prices[i, r]
            if has_all_tasks[n]:
                resource = "its tasks"
                unit = ""
                holders = {}
            else:
                resource = resources[r]
                time_unit = "part of the server's time" if divides_time else ""
                unit = instance.units.get(str(resource), time_unit)
                order = largest_first(amounts[:, r])
                holders = {
                    instance.users[users[h]]: float(amounts[h, r])
                    for h in order
                    if amounts[h, r] > 0
                }
            row = (
                instance.users[n],
                instance.servers[i],
                resource,
                free_tasks[k, r],
                is_blocked,
                holders,
                unit,
                price,
            )
            rows.append((n, row))

    rows.sort(key=itemgetter(0))
    columns = ["user", "server", "resource", "free", "blocked", "held_by", "unit", "price"]
    return pd.DataFrame([row for _, row in rows], columns=columns)
