"""The cyclic structure of progressive filling in exact rationals.

Metin, Precomputed DRF, §3.3 and §6.1.

>>> import fairlp
>>> fairlp.cycles.length(fairlp.examples.load("ghodsi"))
5
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .mechanisms.table import find_defined
from .mechanisms.whole_tasks import precomputed as algorithms
from .mechanisms.whole_tasks.filling import Pool
from .mechanisms.whole_tasks.placement import pick_by_pick
from .mechanisms.whole_tasks.precomputed import algorithm_1, precomputed
from .models.instances.instance import Instance


def summary(instance: Instance) -> pd.DataFrame:
    """Return each user's share per task, its tasks in one whole cycle, and in the basic subcycle.

    A cycle ends where all shares meet again, at the least common multiple of the shares per task:
    user n runs lcm(ds)/ds[n] tasks in it. The basic subcycle is the part in which the user of the
    largest share ds* runs one task: floor(ds*/ds[n]) of user n.

    Parameters
    ----------
    instance : Instance
        One server.

    Returns
    -------
    DataFrame
        Indexed by user: ``share`` (weighted dominant share of one task), ``cycle``,
        ``basic_subcycle`` (Python integers, which have no bound; 0 for a user who cannot run a
        task).

    Raises
    ------
    NotDefinedError
        With several servers.

    Examples
    --------
    >>> from fairlp import cycles, examples
    >>> cycles.summary(examples.load("ghodsi")).round(4)
           share cycle basic_subcycle
    user
    A     0.2222     3              1
    B     0.3333     2              1
    """
    pool = _pool(instance)
    columns = {
        "share": pool.per_task(),
        "cycle": algorithms.cycle(pool)[0],
        "basic_subcycle": algorithms.basic_subcycle(pool),
    }
    return pd.DataFrame(columns, index=instance.users.labels.rename("user"))


def length(instance: Instance) -> int:
    """Return the number of tasks in one whole cycle, Σ_n lcm(ds)/ds[n].

    Parameters
    ----------
    instance : Instance
        One server.

    Returns
    -------
    int
    """
    return int(sum(algorithms.cycle(_pool(instance))[0]))


def higher_order(instance: Instance) -> pd.DataFrame:
    """Return the first cycle and the cycles of higher order that fit after it (§6.1).

    Parameters
    ----------
    instance : Instance
        One server.

    Returns
    -------
    DataFrame
        Indexed by order: ``turns`` (k), ``largest`` (share per task of its largest user), ``tasks``
        (user → whole tasks) and ``remaining`` (resource → amount that is left after it).
    """
    users = list(instance.users)
    resources = list(instance.resources)
    total = np.zeros(len(users))
    rows = []
    for cycle in algorithms.higher_order_cycles(_pool(instance)):
        total[cycle.users] += cycle.tasks
        remaining = instance.pool - total @ instance.demands
        rows.append(
            {
                "turns": float(cycle.turns),
                "largest": float(cycle.largest),
                "tasks": {
                    users[n]: int(t)
                    for n, t in sorted(zip(cycle.users.tolist(), cycle.tasks, strict=True))
                },
                "left": dict(zip(resources, remaining.tolist(), strict=True)),
            }
        )
    return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="order"))


def _pool(instance: Instance) -> Pool:
    find_defined("pdrf", instance)
    return Pool.of(instance)


__all__ = [
    "Pool",
    "algorithm_1",
    "higher_order",
    "length",
    "pick_by_pick",
    "precomputed",
    "summary",
]


def __dir__() -> list[str]:
    return __all__
