"""One pool of servers: Ghodsi et al., Metin, Parkes et al., Li et al., and Bhattacharya et al. with queues."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..models.instances.instance import Instance


def ghodsi() -> Instance:
    """Ghodsi et al., §4.1: 9 CPUs and 18 GB; tasks of A need (1, 4), of B (3, 1). DRF: 3 and 2 tasks.

    Returns
    -------
    Instance
        2 users, 1 server.
    """
    return _pool([[1, 4], [3, 1]], [9, 18], users=["A", "B"], units={"cpu": "CPUs", "memory": "GB"}, name="ghodsi")


def ghodsi_59_19() -> Instance:
    """Metin, Precomputed DRF, §6.2: 59 CPUs and 19 GB, users as in Ghodsi et al.; stopping early leaves (33, 3).

    Returns
    -------
    Instance
        2 users, 1 server.
    """
    users = ["A", "B"]
    return _pool([[1, 4], [3, 1]], [59, 19], users=users, units={"cpu": "CPUs", "memory": "GB"}, name="ghodsi-59-19")


def cycles() -> Instance:
    """Metin, Precomputed DRF, §6.1: one resource of 35 units, demands 2, 4 and 10.

    Returns
    -------
    Instance
        3 users, 1 server; a cycle is 10, 5 and 2 tasks.
    """
    return Instance.from_arrays(
        [[2], [4], [10]], [[35]], users=["A", "B", "C"], servers=["pool"], resources=["units"], name="cycles"
    )


def parkes_zero_demands() -> Instance:
    """Three users of two resources, two of whom need one only: EDRF needs two rounds (in the manner of Parkes et al.).

    The demanders of cpu (A and C) stop at 1/2; B, who needs memory only, goes on to 3/4.

    Returns
    -------
    Instance
        3 users, 1 server.
    """
    return _pool([[2, 1], [0, 1], [2, 0]], [2, 2], users=["A", "B", "C"], name="parkes-zero-demands")


def epsilon(resources: int = 3, small: float = 1e-3) -> Instance:
    """Li et al. (2019): n = m + 1 users; user k ≤ m needs resource k mostly, the last needs all; CR1 exceeds 1.

    Parameters
    ----------
    resources : int
        m, at least 1.
    small : float
        What users need of the other resources, > 0.

    Returns
    -------
    Instance
        m + 1 users who arrive in this order, 1 server.
    """
    m = resources
    demands = np.full((m + 1, m), small)
    np.fill_diagonal(demands, 1.0)
    demands[m] = 1.0
    return _arriving(demands, "epsilon")


def m_squared_plus_one(resources: int = 3, small: float = 1e-3) -> Instance:
    """Li et al. (2019): m² + 1 users, user k needs resource k mod m mostly; CR2 → (m + 1)/(m² + 1) at the last.

    Parameters
    ----------
    resources : int
        m, at least 1.
    small : float
        What users need of the other resources, > 0.

    Returns
    -------
    Instance
        m² + 1 users who arrive in this order, 1 server.
    """
    m = resources
    demands = np.full((m * m + 1, m), small)
    users = np.arange(m * m + 1)
    demands[users, users % m] = 1.0
    return _arriving(demands, "m-squared-plus-one")


def _arriving(demands: np.ndarray, name: str) -> Instance:
    """Return users who come in this order to one of every resource."""
    users, resources = demands.shape
    return Instance.from_arrays(
        demands,
        np.ones((1, resources)),
        servers=["pool"],
        resources=[f"resource{k}" for k in range(1, resources + 1)],
        user_attributes=pd.DataFrame({"arrival": range(1, users + 1)}),
        name=name,
    )


def bhattacharya_starvation() -> Instance:
    """Bhattacharya et al., SoCC 2013: 60 CPUs and 60 GPUs, queue n2 with a (CPU) and b (GPU) beside n1 (GPU).

    Hierarchical DRF gives n1 and b half of the GPUs each and a all CPUs; a naive tree of shares starves b.

    Returns
    -------
    Instance
        3 users in a tree of queues, 1 server.
    """
    table, queue = [[0, 1], [1, 0], [0, 1]], [None, "n2", "n2"]
    return _queued(table, ["n1", "a", "b"], queue, "bhattacharya-starvation")


def bhattacharya_blocked() -> Instance:
    """Bhattacharya et al., SoCC 2013: CPUs for n1, n2 and n3's first user, GPUs for its second one and n4.

    Hierarchical DRF shares each in equal parts; counting what a blocked user has would take from its sibling.

    Returns
    -------
    Instance
        5 users in a tree of queues, 1 server.
    """
    table = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    users, queue = ["n1", "n2", "n3,1", "n3,2", "n4"], [None, None, "n3", "n3", None]
    return _queued(table, users, queue, "bhattacharya-blocked")


def _pool(
    demands: list[list[float]],
    capacity: list[float],
    *,
    users: list[str],
    name: str,
    units: dict[str, str] | None = None,
) -> Instance:
    return Instance.from_arrays(
        demands, [capacity], users=users, servers=["pool"], resources=["cpu", "memory"], units=units, name=name
    )


def _queued(demands: object, users: list[str], queue: list[str | None], name: str) -> Instance:
    resources = ["cpu", "gpu"]
    return Instance.from_arrays(
        demands, [[60, 60]], users=users, servers=["pool"], resources=resources, queue=queue, name=name
    )
