"""What to buy next: what one more unit of a capacity is worth, by class of servers."""

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
        ``class``, ``resource``, ``unit``, ``price`` of one unit on a server of the class (at most what one more adds to
        the level of the round in which capacity first ends), ``worth`` (of all that has a price, the part that the
        class's amount is worth) and ``server`` (the same of one server more of the class, all its resources). What has
        no price is left out.
    """
    priced = _priced(fair)
    if priced is None or priced.prices_array is None:
        return None
    instance = fair.instance
    prices = np.maximum(priced.prices_array, 0.0)
    of_class = np.array([prices[classes.of == k].max(axis=0) for k in range(len(classes.names))])
    whole = float((of_class * classes.capacities).sum())
    first = np.unique(classes.of, return_index=True)[1]
    rows = []
    for k, name in enumerate(classes.names):
        most = of_class[k]
        server = float(most @ instance.capacities[first[k]])
        for r in np.flatnonzero(most > 0).tolist():
            amount = float(classes.capacities[k, r])
            resource = str(instance.resources[r])
            unit = instance.units.get(resource, "")
            rows.append((name, resource, unit, float(most[r]), most[r] * amount / whole, server / whole))
    columns = ["class", "resource", "unit", "price", "worth", "server"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("worth", ascending=False, kind="stable", ignore_index=True)


def _priced(fair: Allocation) -> Allocation | None:
    """Return the allocation with prices, where the mechanism has a method that gives them."""
    if fair.prices_array is not None:
        return fair
    row = TABLE.get(fair.mechanism)
    if row is None:
        return None
    solving = [method.name for method in row.methods if method.solves and not method.by_name]
    return allocate(fair.instance, row, method=solving[-1], **fair.parameters) if solving else None
