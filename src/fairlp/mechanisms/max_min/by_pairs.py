"""Max-min mechanisms on instances by pairs, without a table of users × servers."""

from __future__ import annotations

from numbers import Integral, Real
from time import perf_counter
from typing import Any, cast

import numpy as np

from ...errors import InstanceError
from ...models.instances.instance import Instance
from ...models.instances.sparse import SparseInstance
from ...solvers.matrix_free.rounds import Sharing, leximin
from ...tolerances import MATRIX_FREE_AIM
from ..mechanism import Mechanism
from ..sparse_allocation import SparseAllocation

#: The one method for instances by pairs.
MATRIX_FREE = "matrix-free"


def share(
    instance: SparseInstance,
    mechanism: Mechanism,
    *,
    aim: float = MATRIX_FREE_AIM,
    time_limit: float = np.inf,
    rounds: int | None = None,
    client: Any = None,
) -> SparseAllocation:
    """Share by a max-min mechanism.

    Parameters
    ----------
    instance : SparseInstance
    mechanism : Mechanism
        One that is defined for it, and ``by_pairs``.
    aim : float
        Relative gap at which a round ends.
    time_limit : float
        Seconds; what is there then is the answer, with its certified gap.
    rounds : int, optional
        Most rounds of the leximin (1: the smallest level only); then what is left is shared in proportion.
    client : distributed.Client, optional
        A Dask cluster over whose workers the servers are divided.
    """
    if not isinstance(aim, Real) or not 0 < aim < 1:
        raise InstanceError(f"aim is {aim!r}; expected a relative gap between 0 and 1, such as {MATRIX_FREE_AIM:g}")
    if not isinstance(time_limit, Real) or not time_limit >= 0:
        raise InstanceError(f"time_limit is {time_limit!r}; expected seconds >= 0, infinite for no limit")
    if rounds is not None and (isinstance(rounds, bool) or not isinstance(rounds, Integral) or rounds < 1):
        raise InstanceError(f"rounds is {rounds!r}; expected a whole number >= 1, or None for all")
    if client is not None and not hasattr(client, "scheduler_info"):
        raise InstanceError(f"client is {client!r}; expected a distributed.Client, or None for none")
    begin = perf_counter()
    user, server = instance.pairs
    order = np.lexsort((user, server))
    known = cast(Instance, instance)  # a mechanism that is by_pairs asks for nothing else
    due = mechanism.due(known)
    able = np.flatnonzero(due[user[order]] > 0)
    user, server = user[order][able], server[order][able]
    capacities = instance.capacities * instance.counts[:, None]
    sharing = Sharing(instance.demands, capacities, user, server, due, instance.task_limits)
    ready = perf_counter()
    found = leximin(sharing, aim, time_limit=time_limit, rounds=rounds, client=client)
    return SparseAllocation(
        instance,
        mechanism.name,
        MATRIX_FREE,
        user,
        server,
        found.tasks,
        mechanism.gamma(known),
        due,
        aim,
        tuple(found.rounds),
        found.iterations,
        found.steps,
        found.passes,
        {"prepare": ready - begin, "solve": perf_counter() - ready},
    )
