"""When two instances are the same: labels, numbers, attributes, units, conditions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .instance import Instance


def equal(one: Instance, other: Instance) -> bool:
    """Whether two instances are the same in everything that a file must keep."""
    indices = ("users", "servers", "resources")
    if any(list(getattr(one, name)) != list(getattr(other, name)) for name in indices):
        return False
    arrays = ("demands", "capacities", "counts", "weights", "task_limits", "rates", "entitlements", "eligible")
    if not all(_same(getattr(one, name), getattr(other, name)) for name in arrays):
        return False
    if (one.queues is None) != (other.queues is None):
        return False
    if one.queues is not None and other.queues is not None and not one.queues.equals(other.queues):
        return False
    frames = ("server_attributes", "user_attributes")
    if any(not _same_frame(getattr(one, name), getattr(other, name)) for name in frames):
        return False
    return dict(one.units) == dict(other.units) and one.conditions == other.conditions and one.name == other.name


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and bool(np.array_equal(a, b))


def _same_frame(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    if list(a.columns) != list(b.columns) or len(a) != len(b):
        return False
    for column in a.columns:
        for left, right in zip(a[column].tolist(), b[column].tolist(), strict=True):
            if not (left == right or (pd.isna(left) and pd.isna(right))):
                return False
    return True
