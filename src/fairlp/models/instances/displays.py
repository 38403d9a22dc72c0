"""An instance for notebooks: what it is, demands and capacities as tables, all text escaped."""

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
