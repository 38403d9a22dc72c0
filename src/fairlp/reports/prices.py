"""What to buy next: what one more unit of a capacity adds to the lowest level, by class of servers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..api import allocate
from ..mechanisms.allocation import Allocation
from ..mechanisms.table import TABLE
from .classes import Classes


def next_to_buy(fair: Allocation, classes: Classes) -> pd.DataFrame | None:
    """Return the prices of capacity by class and resource, dearest first; None where the mechanism has none.

    Parameters
    ----------
    fair : Allocation
        One without prices is found once more by a method that solves linear programs.
    classes : Classes

    Returns
    -------
    DataFrame
        ``class``, ``resource``, ``unit``, ``price`` of one unit on a server of the class, ``percent`` (what one percent
        more of the class's amount adds to the level, relative to it) and ``server`` (what one server more of the class
        would add, relative: at most, since prices hold for small steps only). The level is that of the first round
        which a resource ends. What has no price is left out.
    """
    priced = _priced(fair)
    if priced is None or priced.prices_array is None:
        return None
    instance = fair.instance
    prices = np.maximum(priced.prices_array, 0.0)
    level = _first_level(priced)
    first = np.unique(classes.of, return_index=True)[1]
    rows = []
    for k, name in enumerate(classes.names):
        most = prices[classes.of == k].max(axis=0)
        server = float(most @ instance.capacities[first[k]])
        for r in np.flatnonzero(most > 0).tolist():
            amount = float(classes.capacities[k, r])
            resource = str(instance.resources[r])
            unit = instance.units.get(resource, "")
            rows.append((name, resource, unit, float(most[r]), most[r] * amount / 100 / level, server / level))
    columns = ["class", "resource", "unit", "price", "percent", "server"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("percent", ascending=False, kind="stable", ignore_index=True)


def _first_level(priced: Allocation) -> float:
    """Return the level of the first round that a resource ended, to which prices belong."""
    rounds = priced.rounds
    if rounds is not None and {"level", "users", "satisfied"} <= set(rounds.columns):
        for level, users, satisfied in zip(rounds["level"], rounds["users"], rounds["satisfied"], strict=True):
            if level > 0 and len(users) > len(satisfied):
                return float(level)
    levels = priced.levels.to_numpy()
    return float(np.min(levels[levels > 0], initial=np.inf))


def _priced(fair: Allocation) -> Allocation | None:
    """Return the allocation with prices, where the mechanism has a method that gives them."""
    if fair.prices_array is not None:
        return fair
    row = TABLE.get(fair.mechanism)
    if row is None:
        return None
    solving = [method.name for method in row.methods if method.solves and not method.by_name]
    return allocate(fair.instance, row, method=solving[-1], **fair.parameters) if solving else None
