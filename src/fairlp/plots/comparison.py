"""Allocations of one instance side by side: the table that ``compare`` returns and figures draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UnknownNameError, nearest, quoted
from ..models.instances.instance import Instance

__all__ = ["comparison_table"]


def comparison_table(
    instance: Instance,
    allocations: Mapping[str, Any] | Iterable[tuple[str, Any]],
    value: str = "tasks",
) -> pd.DataFrame:
    """Return allocations side by side; see :func:`fairlp.compare` for ``value``.

    Without an allocation a mechanism has NaN. Of pairs of name and allocation one is there at a
    time. ``DataFrame.attrs["value"]`` says what the table holds.
    """
    pairs = allocations.items() if isinstance(allocations, Mapping) else allocations
    columns: dict[str, Any] = {}
    users = instance.users.labels.rename("user")
    resources = instance.resources.labels.rename("resource")
    largest = (instance.demands / instance.pool).max(axis=1)
    for name, allocation in pairs:
        if allocation is None:
            columns[name] = np.nan
        elif value == "tasks":
            columns[name] = allocation.totals
        elif value == "shares":
            columns[name] = allocation.totals * largest
        elif value == "utilization":
            columns[name] = allocation.pool_utilization
        elif value == "summary":
            columns[name] = _figures(allocation, largest)
        else:
            kinds = ["tasks", "shares", "utilization", "summary"]
            raise UnknownNameError(
                f"there is no comparison by {quoted(value)}; {nearest(value, kinds)}"
            )
    if value == "summary":
        frame = pd.DataFrame(columns).T.rename_axis("mechanism")
    else:
        frame = pd.DataFrame(columns, index=resources if value == "utilization" else users)
        frame = frame.rename_axis("mechanism", axis=1)
    frame.attrs["value"] = value
    return frame


def _figures(allocation: Any, largest: np.ndarray) -> pd.Series[float]:
    """Return the figures of one allocation for the summary of a comparison."""
    shares = allocation.totals.to_numpy() * largest
    figures = {
        "total tasks": float(allocation.totals.sum()),
        "smallest share": float(shares.min()),
        "median share": float(np.median(shares)),
        "largest share": float(shares.max()),
        **{
            f"{resource} used": float(used)
            for resource, used in allocation.pool_utilization.items()
        },
    }
    return pd.Series(figures)
