"""Rows of identical servers, one row for each of them."""

from __future__ import annotations

import numpy as np

from ...errors import InstanceError, TooLargeError
from ..notation.indices import Index
from .instance import EVERYWHERE, Instance

#: More pairs of user and server than this are not written one by one.
MOST_PAIRS = 2**28


def expanded(instance: Instance) -> Instance:
    """Return the instance with a row for every server; see :meth:`~fairlp.Instance.expanded`."""
    if (instance.counts == 1).all():
        return instance
    servers, users = float(instance.counts.sum(dtype=float)), len(instance.users)
    if servers * users > MOST_PAIRS:
        raise TooLargeError(
            f"{servers:,.0f} servers one by one are {servers * users:,.0f} pairs with {users:,} users; expected at "
            f"most {MOST_PAIRS:,} (counts of identical servers cost nothing)"
        )
    row = np.repeat(np.arange(len(instance.counts)), instance.counts)
    kth = np.arange(len(row)) - np.repeat(np.cumsum(instance.counts) - instance.counts, instance.counts)
    old = list(instance.servers)
    labels = [old[i] if instance.counts[i] == 1 else f"{old[i]} #{k + 1}" for i, k in zip(row, kth, strict=True)]
    if len(set(labels)) < len(labels):
        twice = next(label for at, label in enumerate(labels) if label in labels[:at])
        raise InstanceError(f"two servers would be called {twice!r}; give rows of identical servers other labels")
    attributes = instance.server_attributes.iloc[row].set_axis(labels, axis=0)
    return instance.derived(
        servers=Index("i", labels, "server"),
        capacities=instance.capacities[row],
        counts=np.ones(len(row), dtype=np.int64),
        eligible=instance.eligible[:, row] if instance.has_constraints else EVERYWHERE,
        rates=None if instance.rates is None else instance.rates[:, row],
        server_attributes=attributes,
    )
