"""Instances made from another: other data, some users only, one pool."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, UnknownNameError, nearest
from ..notation.expressions import Index
from ..notation.labels import arranged, labels_on
from . import checks
from .instance import EVERYWHERE, Instance
from .tables import named_axes


def replaced(instance: Instance, changes: dict[str, Any]) -> Instance:
    """Return the instance with other data, checked; see :meth:`fairlp.Instance.replace`.

    >>> two = Instance.from_arrays([[1, 2], [0, 3]], [[9, 12]])
    >>> two.replace(weights=[2, 1]).weights.tolist()
    [2.0, 1.0]
    """
    given = {name: getattr(instance, name) for name in inspect.signature(Instance.from_arrays).parameters}
    for name in changes:
        if name not in given:
            raise UnknownNameError(f"an instance has no {name!r} to replace; {nearest(name, given)}")
    if changes.get("queues", 0) is None:
        given["queue"] = None  # no tree, nowhere to stand
    made = Instance.from_arrays(**(given | _attributes_of(instance, changes) | changes))
    kept = "eligible" not in changes and len(made.users) == len(instance.users)
    return made.derived(conditions=instance.conditions) if kept else made


def _attributes_of(instance: Instance, changes: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the attributes of users and servers who are given other labels, under these."""
    found = {}
    for noun, table in (("user", "demands"), ("server", "capacities")):
        if f"{noun}s" in changes:
            frame: pd.DataFrame = getattr(instance, f"{noun}_attributes")
            carried = changes[f"{noun}s"]
            if carried is None:
                carried = labels_on(
                    arranged(changes.get(table), named_axes(table), f"the table of {table}", InstanceError), 0
                )
            if carried is None or len(carried) == len(frame):
                found[f"{noun}_attributes"] = frame.set_axis(checks.labels(carried, len(frame), noun), axis=0)
    return found


def selected(instance: Instance, positions: np.ndarray) -> Instance:
    """Return the instance with these users only; see :meth:`fairlp.Instance.select_users`."""
    return instance.derived(
        users=Index("n", instance.users.labels[positions], "user"),
        demands=instance.demands[positions],
        weights=instance.weights[positions],
        task_limits=instance.task_limits[positions],
        eligible=instance.eligible[positions] if instance.has_constraints else EVERYWHERE,
        rates=None if instance.rates is None else instance.rates[positions],
        entitlements=None,
        queues=None if instance.queues is None else instance.queues.select(positions),
        user_attributes=instance.user_attributes.iloc[positions],
        conditions=tuple(instance.conditions[k] for k in positions) if instance.conditions else (),
    )


def pooled(instance: Instance) -> Instance:
    """Return the instance with one server, the sum of all; see :meth:`fairlp.Instance.pooled`."""
    return instance.derived(
        servers=Index("i", pd.Index(["pool"], dtype=object), "server"),
        capacities=instance.pool[None, :],
        counts=np.ones(1, dtype=np.int64),
        eligible=EVERYWHERE,
        rates=None,
        server_attributes=pd.DataFrame(index=pd.Index(["pool"], dtype=object)),
        conditions=(),
    )
