"""An instance in a line, and for notebooks: what it is, demands and capacities as tables, all text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..programs.displays import table

if TYPE_CHECKING:
    from .instance import Instance


def html_of(instance: Instance) -> str:
    """Return an Instance as HTML: demands with weights, limits and queues, capacities with counts, queues."""
    users = pd.DataFrame(instance.demands, index=list(instance.users), columns=list(instance.resources))
    if instance.weights.ndim == 1 and (instance.weights != 1).any():
        users["weight"] = instance.weights
    if np.isfinite(instance.task_limits).any():
        users["task limit"] = np.where(np.isfinite(instance.task_limits), instance.task_limits, np.nan)
    queues = ""
    if instance.queues is not None:
        users["queue"] = instance.queue
        queues = f"<p>queues</p>{table(instance.queues.table(instance.resources))}"
    servers = pd.DataFrame(instance.capacities, index=list(instance.servers), columns=list(instance.resources))
    if (instance.counts != 1).any():
        servers["count"] = instance.counts
    return (
        f"<p>{escape(repr(instance))}</p><p>demands of one task</p>{table(users)}"
        f"<p>capacities of one server</p>{table(servers)}{queues}"
    )


def text_of(instance: Instance) -> str:
    """Return an Instance in a line: how many users and servers, and which resources."""
    servers = instance.n_servers
    rows = f" in {len(instance.servers)} rows" if servers != len(instance.servers) else ""
    constrained = ", placement constraints" if instance.has_constraints else ""
    queued = "" if instance.queues is None else f", {_plural(len(instance.queues) - 1, 'queue')}"
    return (
        f"<Instance{' ' + repr(instance.name) if instance.name else ''}: {_plural(len(instance.users), 'user')}, "
        f"{_plural(servers, 'server')}{rows}, resources {', '.join(map(str, instance.resources))}{constrained}{queued}>"
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
