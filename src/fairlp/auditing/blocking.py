"""Who blocks whom: for each user the saturated resource that stops it, the server, and the users who hold it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from ..mechanisms.allocation import Allocation, tasks_of
from ..mechanisms.mechanism import Division
from ..mechanisms.per_server.market import Market
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .basics import plain


def blockers(
    instance: Instance, allocation: Allocation | pd.DataFrame | Any, *, division: Division = "rdm"
) -> pd.DataFrame:
    """Return what stops each user on each server where it could run, and who holds it.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks; of one with prices (LPs gave them) the price of the resource is shown.
    division : {"rdm", "tdm"}

    Returns
    -------
    DataFrame
        One row for each user and server where it may run: ``user``, ``server``, ``resource`` that is scarcest for it
        there ("time" under time division; "its tasks" when it has all of them), ``free`` (what is left of it, as a
        fraction of what one task needs), ``blocked`` (less than nothing of use is left), ``held_by`` (users and the
        amounts they hold, largest first), ``unit`` (of those amounts) and ``price`` (of one unit, in the level of the
        mechanism; NaN without).

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.examples.load("ghodsi")
    >>> found = fairlp.blockers(instance, fairlp.allocate(instance, "drf"))
    >>> found.loc[0, ["user", "resource", "held_by"]].tolist()
    ['A', 'cpu', {'B': 6.0, 'A': 3.0}]
    """
    tasks = tasks_of(instance, allocation)
    market = Market.of(plain(instance), division)
    prices = allocation.prices_array if isinstance(allocation, Allocation) else None
    tdm = division == "tdm"
    names = ["time"] if tdm else list(instance.resources)
    rows: list[tuple[Any, ...]] = []
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - AUDIT)
    for i, who in enumerate(market.users):
        if not who.size:
            continue
        amounts = tasks[who, i][:, None] * market.demands[i]
        left = np.maximum(market.capacity[i] - amounts.sum(axis=0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(market.demands[i] > 0, left / market.demands[i], np.inf)
        scarcest = ratio.argmin(axis=1)
        for k, n in enumerate(who.tolist()):
            r = int(scarcest[k])
            resource, unit, holders = "its tasks", "", {}
            if not full[n]:
                resource = names[r]
                unit = instance.units.get(str(resource), "part of the server's time" if tdm else "")
                order = np.argsort(-amounts[:, r], kind="stable")
                holders = {instance.users[who[h]]: float(amounts[h, r]) for h in order if amounts[h, r] > 0}
            blocked = bool(full[n] or ratio[k, r] <= AUDIT * market.gamma[n, i])
            price = np.nan if prices is None or tdm else prices[i, r]
            rows.append(
                (n, instance.users[n], instance.servers[i], resource, ratio[k, r], blocked, holders, unit, price)
            )
    rows.sort(key=itemgetter(0))
    columns = ["user", "server", "resource", "free", "blocked", "held_by", "unit", "price"]
    return pd.DataFrame([row[1:] for row in rows], columns=columns)
