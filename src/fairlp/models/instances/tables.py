"""The two tables of an instance, demands and capacities, and whose labels its indices have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError
from ..notation.expressions import Index
from ..notation.labels import aligned, arranged, carries_labels, is_default, labels_on
from . import checks


def named_axes(table: str) -> tuple[Index, Index]:
    """Return what the axes of demands or capacities are called, before their labels are known."""
    rows = Index("n", (), "user") if table == "demands" else Index("i", (), "server")
    return rows, Index("r", (), "resource")


def indices_and_tables(
    demands: Any, capacities: Any, users: Any, servers: Any, resources: Any
) -> tuple[Index, Index, Index, np.ndarray, np.ndarray]:
    """Return users, servers and resources, and demands N×R and capacities K×R in their order, checked.

    Labels that are given are the ones; else those of demands and capacities, a default 0, 1, … last.
    """
    if _one_server(capacities):
        capacities = [capacities]
    demands = arranged(demands, named_axes("demands"), "the table of demands", InstanceError)
    capacities = arranged(capacities, named_axes("capacities"), "the table of capacities", InstanceError)
    named = (
        _first("users", users, labels_on(demands, 0)),
        _first("servers", servers, labels_on(capacities, 0)),
        _first("resources", resources, labels_on(demands, 1), labels_on(capacities, 1)),
    )
    kinds = (("n", "user"), ("i", "server"), ("r", "resource"))
    n, i, r = (
        None if found is None else Index(symbol, checks.distinct(found, what), what)
        for found, (symbol, what) in zip(named, kinds, strict=True)
    )
    d, c = checks.tables(
        aligned(demands, (n, r), "the table of demands", InstanceError),
        aligned(capacities, (i, r), "the table of capacities", InstanceError),
    )
    sizes = (len(d), len(c), d.shape[1])
    n, i, r = (
        Index(symbol, checks.labels(found, size, what), what)
        for found, size, (symbol, what) in zip(named, sizes, kinds, strict=True)
    )
    checks.amounts(d, "demand", n, r, "user", "resource")
    checks.amounts(c, "capacity", i, r, "server", "resource")
    checks.demands_something(d, n)
    checks.offered_somewhere(c, r)
    return n, i, r, d, c


def _first(what: str, given: Any, *carried: Any) -> Any:
    """Return the labels that were given, else those that a table carries, a default index last."""
    if isinstance(given, str):
        raise InstanceError(f"{what} is the text {given!r}; expected a list of labels, such as [{given!r}]")
    if given is not None:
        return list(given)
    there = [labels for labels in carried if labels is not None]
    return next((list(labels) for labels in there if not is_default(labels)), list(there[0]) if there else None)


def _one_server(capacities: Any) -> bool:
    """Whether capacities are labelled and of one server only, a number for each resource."""
    if isinstance(capacities, pd.Series):
        return not isinstance(capacities.index, pd.MultiIndex) and all(np.ndim(entry) == 0 for entry in capacities)
    if not isinstance(capacities, Mapping):
        return carries_labels(capacities) and capacities.ndim == 1  # of xarray
    return all(np.ndim(entry) == 0 and not isinstance(entry, Mapping) for entry in capacities.values())
