"""One pool of servers: Ghodsi et al., Metin, Parkes et al., Li et al., Bhattacharya et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import InstanceError
from ..models.instances.instance import Instance

# Wang, Li and Liang: several kinds of servers, and Google's published table of them.

#: Configurations of Google's servers: CPU and memory relative to the largest server, and how many
#: there are (Wang, Li and Liang, Table I, from the 2011 cluster trace).
GOOGLE_SERVERS = (
    (0.50, 0.50, 6732),
    (0.50, 0.25, 3863),
    (0.50, 0.75, 1001),
    (1.00, 1.00, 795),
    (0.25, 0.25, 126),
    (0.50, 0.12, 52),
    (0.50, 0.03, 5),
    (0.50, 0.97, 5),
    (1.00, 0.50, 3),
    (0.50, 0.06, 1),
)


def wang_figure_1() -> Instance:
    """Wang, Li and Liang, Figs. 1–3: servers (2, 12) and (12, 2), tasks (0.2, 1) and (1, 0.2).

    DRFH: 10 tasks each, a global dominant share of 5/7. DRF on each server separately: 6 each.

    Returns
    -------
    Instance
        2 users, 2 servers.
    """
    return Instance.from_arrays(
        [[0.2, 1], [1, 0.2]],
        [[2, 12], [12, 2]],
        resources=["cpu", "memory"],
        units={"cpu": "CPUs", "memory": "GB"},
        name="wang-figure-1",
    )


def google_servers() -> pd.DataFrame:
    """Return Google's server configurations (Wang, Li and Liang, Table I).

    Returns
    -------
    DataFrame
        By server: ``cpu``, ``memory`` (relative to the largest) and ``count``.
    """
    rows = [
        {"server": f"google{k}", "cpu": c, "memory": m, "count": q}
        for k, (c, m, q) in enumerate(GOOGLE_SERVERS, 1)
    ]
    return pd.DataFrame(rows).set_index("server")


def google_cluster(users: int = 100, seed: int = 0, one_by_one: bool = False) -> Instance:
    """Google's 12,583 servers and random users.

    Parameters
    ----------
    users : int
        Number of users; each demands between 0.01 and 0.1 of the largest server's CPU and memory
        per task.
    seed : int
    one_by_one : bool
        Give each server a row of its own instead of a count.

    Returns
    -------
    Instance
        Servers in 10 rows with counts, unless one by one.
    """
    rng = np.random.default_rng(seed)
    table = google_servers()
    capacities = table[["cpu", "memory"]].to_numpy()
    counts = table["count"].to_numpy()
    names = list(table.index)
    if one_by_one:
        names = [
            f"{name}-{k}"
            for name, count in zip(names, counts, strict=True)
            for k in range(1, count + 1)
        ]
        capacities = np.repeat(capacities, counts, axis=0)
        counts = np.ones(counts.sum(), dtype=int)
    demands = rng.uniform(0.01, 0.1, (users, 2)).round(4)
    return Instance.from_arrays(
        demands,
        capacities,
        servers=names,
        resources=["cpu", "memory"],
        counts=counts,
        units=dict.fromkeys(("cpu", "memory"), "largest server = 1"),
        name="google-cluster",
    )


def wang_figure_4(seed: int = 0) -> Instance:
    """Wang, Li and Liang, Fig. 4: 100 servers of Google's table, three users who arrive in turn.

    Tasks are (0.2, 0.3), (0.5, 0.1) and (0.1, 0.3). Draws are repeated until the pool is near the
    paper's (52.75 CPU, 51.32 memory); it is not to the digit.

    Parameters
    ----------
    seed : int

    Returns
    -------
    Instance
        3 users who arrive at 0, 200 and 500 s; 100 servers, identical ones in one row.
    """
    rng = np.random.default_rng(seed)
    table = google_servers()
    capacities = table[["cpu", "memory"]].to_numpy()
    counts = table["count"].to_numpy()
    target = np.array([52.75, 51.32])
    draws = rng.multinomial(100, counts / counts.sum(), size=2000)
    drawn_counts = draws[np.abs(draws @ capacities / target - 1).max(axis=1).argmin()]
    is_drawn = drawn_counts > 0
    joins = pd.DataFrame({"arrival": [0, 200, 500]})
    return Instance.from_arrays(
        [[0.2, 0.3], [0.5, 0.1], [0.1, 0.3]],
        capacities[is_drawn],
        servers=list(table.index[is_drawn]),
        resources=["cpu", "memory"],
        counts=drawn_counts[is_drawn],
        user_attributes=joins,
        name="wang-figure-4",
    )


def ghodsi() -> Instance:
    """Ghodsi et al., §4.1: 9 CPUs and 18 GB, tasks (1, 4) and (3, 1). DRF: 3 and 2 tasks.

    Returns
    -------
    Instance
        2 users, 1 server.
    """
    return _ghodsi([9, 18], "ghodsi")


def ghodsi_59_19() -> Instance:
    """Metin, Precomputed DRF, §6.2: 59 CPUs and 19 GB, users as in Ghodsi et al.

    Stopping early leaves (33, 3).

    Returns
    -------
    Instance
        2 users, 1 server.
    """
    return _ghodsi([59, 19], "ghodsi-59-19")


def cycles() -> Instance:
    """Metin, Precomputed DRF, §6.1: one resource of 35 units, demands 2, 4 and 10.

    Returns
    -------
    Instance
        3 users, 1 server; a cycle is 10, 5 and 2 tasks.
    """
    return Instance.from_arrays(
        [[2], [4], [10]],
        [[35]],
        users=["A", "B", "C"],
        servers=["pool"],
        resources=["units"],
        name="cycles",
    )


def parkes_zero_demands() -> Instance:
    """Three users of two resources, two of whom need one only: EDRF needs two rounds.

    The demanders of cpu (A and C) stop at 1/2; B, who needs memory only, goes on to 3/4.

    Returns
    -------
    Instance
        3 users, 1 server.
    """
    return _pool(
        [[2, 1], [0, 1], [2, 0]], [2, 2], users=["A", "B", "C"], name="parkes-zero-demands"
    )


def epsilon(resources: int = 3, small: float = 1e-3) -> Instance:
    """Li et al. (2019): user k ≤ m needs resource k mostly, the last needs all; CR1 exceeds 1.

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
    """Li et al. (2019): m² + 1 users, user k needs resource k mod m mostly; CR2 is small at last.

    CR2 tends to (m + 1)/(m² + 1) at the last step.

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
    """Bhattacharya et al., SoCC 2013: 60 CPUs and 60 GPUs, queue n2 with a and b beside n1.

    Hierarchical DRF gives n1 and b half of the GPUs each and a all CPUs; a naive tree of shares
    starves b.

    Returns
    -------
    Instance
        3 users in a tree of queues, 1 server.
    """
    table = [[0, 1], [1, 0], [0, 1]]
    queue = [None, "n2", "n2"]
    return _queued(table, ["n1", "a", "b"], queue, "bhattacharya-starvation")


def bhattacharya_blocked() -> Instance:
    """Bhattacharya et al., SoCC 2013: CPUs for n1, n2 and a user of n3, GPUs for the others.

    Hierarchical DRF shares each in equal parts; counting what a blocked user has would take from
    its sibling.

    Returns
    -------
    Instance
        5 users in a tree of queues, 1 server.
    """
    table = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    users = ["n1", "n2", "n3,1", "n3,2", "n4"]
    queue = [None, None, "n3", "n3", None]
    return _queued(table, users, queue, "bhattacharya-blocked")


def _ghodsi(capacity: list[float], name: str) -> Instance:
    units = {"cpu": "CPUs", "memory": "GB"}
    return _pool([[1, 4], [3, 1]], capacity, users=["A", "B"], units=units, name=name)


def _pool(demands: list[list[float]], capacity: list[float], **options: Any) -> Instance:
    return Instance.from_arrays(
        demands, [capacity], servers=["pool"], resources=["cpu", "memory"], **options
    )


def _queued(demands: object, users: list[str], queue: list[str | None], name: str) -> Instance:
    resources = ["cpu", "gpu"]
    return Instance.from_arrays(
        demands,
        [[60, 60]],
        users=users,
        servers=["pool"],
        resources=resources,
        queue=queue,
        name=name,
    )


# Khamse-Ashari et al.: servers that some users only may use, and fairness on each server.


def khamse_ashari_figure_1() -> Instance:
    """Khamse-Ashari et al., Fig. 1: two servers, one for the third user only; weights 1, 1, 2.

    PS-DSF 3, 3, 6 tasks; C-DRFH 2.609, 3.130, 6.261; TSF 2, 2, 8.

    Returns
    -------
    Instance
        3 users, 2 servers.
    """
    return _khamse_ashari(
        [[1, 2, 10], [1, 2, 1], [1, 2, 0]],
        "khamse-ashari-figure-1",
        weights=[1, 1, 2],
        eligible=np.array([[1, 0], [1, 0], [1, 1]], dtype=bool),
    )


def khamse_ashari_section_3a() -> Instance:
    """Khamse-Ashari et al., §III-A: four users of the servers of Fig. 1; PS-DSF 3.6, 3.6, 8, 8.

    Returns
    -------
    Instance
        4 users, 2 servers.
    """
    return _khamse_ashari(
        [[1.5, 1, 10], [1, 2, 10], [0.5, 1, 0], [1, 0.5, 0]], "khamse-ashari-section-3a"
    )


def khamse_ashari_figure_4() -> Instance:
    """Khamse-Ashari et al., Fig. 4: two users share three channels; PS-DSF 1500 and 1000 kb/s.

    A task is 1 kb/s, and rates are given: what a channel carries for each user alone. The rates
    stand only in the figure; these agree with what the text says of the result: the first channel
    goes to the first user, the third to the second, and they share the time of the second channel
    equally.

    Returns
    -------
    Instance
        2 users, 3 servers, the channels; with given rates.
    """
    return Instance.from_arrays(
        [[1], [1]],
        [[1], [1], [1]],
        servers=["channel1", "channel2", "channel3"],
        resources=["bandwidth"],
        units={"bandwidth": "channel"},
        rates=[[750, 1500, 500], [250, 1000, 500]],
        name="khamse-ashari-figure-4",
    )


def khamse_ashari_table_3() -> Instance:
    """Khamse-Ashari et al., §V: server classes A–D (8, 68, 33, 11), users 3 and 4 on C and D only.

    The demands are not printed in the paper; these give its Table III exactly. TSF: 205, 107.5,
    58.33, 35.55 tasks.

    Returns
    -------
    Instance
        4 users, 120 servers in 4 rows.
    """
    return Instance.from_arrays(
        [[0.1, 0.1], [0.1, 0.2], [0.2, 0.1], [0.2, 0.3]],
        [[1, 1], [0.5, 0.5], [0.5, 0.25], [0.5, 0.75]],
        servers=["A", "B", "C", "D"],
        resources=["cpu", "memory"],
        counts=[8, 68, 33, 11],
        weights=[2, 2, 1, 1],
        eligible=[None, None, ["C", "D"], ["C", "D"]],
        name="khamse-ashari-table-3",
    )


def two_servers() -> Instance:
    """Servers (20, 30) and (30, 20), tasks (2, 1) and (1, 2): PS-DSF and DRFH differ.

    Returns
    -------
    Instance
        2 users, 2 servers; no paper's.
    """
    return Instance.from_arrays(
        [[2, 1], [1, 2]], [[20, 30], [30, 20]], resources=["cpu", "memory"], name="two-servers"
    )


def _khamse_ashari(demands: list[list[float]], name: str, **options: Any) -> Instance:
    return Instance.from_arrays(
        demands,
        [[9, 12, 100], [12, 12, 0]],
        resources=["cpu", "memory", "network"],
        units={"cpu": "cores", "memory": "GB", "network": "Mb/s"},
        name=name,
        **options,
    )


# Dolev et al.: requests, fractions of one pool that users are entitled to parts of.


def requests(fractions: object, entitlements: object, name: str = "") -> Instance:
    """Return an instance of requests r[n,j] in [0, 1]: a task each, which may run in part.

    Parameters
    ----------
    fractions : array_like, shape (N, R)
        r[n,j].
    entitlements : array_like, shape (N,)
        They sum to 1.
    name : str

    Returns
    -------
    Instance
        One server of capacity 1.

    Raises
    ------
    InstanceError
        For a request outside [0, 1], or what is no table.
    """
    table = np.asarray(fractions, dtype=float)
    if table.ndim != 2 or not ((table >= 0) & (table <= 1)).all():
        raise InstanceError(
            "requests must be a table of fractions of capacity in [0, 1], users × resources"
        )
    return Instance.from_arrays(
        table,
        np.ones((1, table.shape[1])),
        servers=["pool"],
        task_limits=np.ones(len(table)),
        entitlements=entitlements,
        name=name,
    )


def dolev_figure_2() -> Instance:
    """Dolev et al., §4, Fig. 2: (1, .2), (1, .2), (.4, .8), equal entitlements; NJC 1/3, 1/3, 5/6.

    Returns
    -------
    Instance
        3 users, 1 server of 2 resources.
    """
    return requests([[1, 0.2], [1, 0.2], [0.4, 0.8]], [1 / 3] * 3, "dolev-figure-2")


def dolev_section_3() -> Instance:
    """Dolev et al., §3: entitlements ½, ⅜, ⅛; the trajectory ends at .978703, .607937, .130688.

    Returns
    -------
    Instance
        3 users, 1 server of 3 resources.
    """
    return requests(
        [[0.5, 0.5, 2 / 3], [0.5, 5 / 8, 0.5], [1, 1, 1 / 3]],
        [0.5, 0.375, 0.125],
        "dolev-section-3",
    )


def dolev_section_4() -> Instance:
    """Dolev et al., §4: requests (½, 0, 0, 1), (1, 1, 1, 0); NJC gives 1 and ½, DRF ⅔ each.

    Returns
    -------
    Instance
        2 users, 1 server of 4 resources.
    """
    return requests([[0.5, 0, 0, 1], [1, 1, 1, 0]], [0.5, 0.5], "dolev-section-4")


def dolev_section_5() -> Instance:
    """Dolev et al., §5.5: requests (1, 1), (0, 1), (1, 0); fair: (z, 1−z, 1−z), .5 ≤ z ≤ .7.

    Returns
    -------
    Instance
        3 users, 1 server of 2 resources.
    """
    return requests([[1, 1], [0, 1], [1, 0]], [0.5, 0.3, 0.2], "dolev-section-5")


def dolev_circle() -> Instance:
    """Dolev et al., §5.5: a circle of four, each needing all but the opposite one's resource.

    Returns
    -------
    Instance
        4 users, 1 server of 4 resources.
    """
    return requests(1 - np.roll(np.eye(4), 2, axis=1), [0.25] * 4, "dolev-circle")
