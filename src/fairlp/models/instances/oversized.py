"""Users whose task fits no single server."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .instance import Instance
from .merging import merge_servers


def users_without_a_server(instance: Instance) -> pd.DataFrame:
    """Return the users whose task fits no single eligible server, with the best server and what it lacks."""
    merged, groups = merge_servers(instance)
    alone = merged.gamma() / merged.counts
    where, best = alone.argmax(axis=1), alone.max(axis=1)
    short = np.flatnonzero(best < 1)
    rows = []
    for user in short:
        server = int(where[user])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(instance.demands[user] > 0, merged.capacities[server] / instance.demands[user], np.inf)
        rows.append(
            {
                "user": instance.users[int(user)],
                "server": instance.servers[int(groups.first[server])],
                "fraction": float(best[user]),
                "resource": instance.resources[int(ratio.argmin())],
            }
        )
    frame = pd.DataFrame(rows, columns=["user", "server", "fraction", "resource"])
    return frame.set_index("user")
