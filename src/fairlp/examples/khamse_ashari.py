"""Khamse-Ashari et al.: servers that some users only may use, and fairness on each server."""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance


def khamse_ashari_figure_1() -> Instance:
    """Khamse-Ashari et al., Fig. 1: two servers, only the third user may run on the second; weights 1, 1, 2.

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
    demands: list[list[float]] = [[1.5, 1, 10], [1, 2, 10], [0.5, 1, 0], [1, 0.5, 0]]
    return _khamse_ashari(demands, "khamse-ashari-section-3a")


def khamse_ashari_figure_4() -> Instance:
    """Khamse-Ashari et al., Fig. 4: two users share three wireless channels; PS-DSF 1500 and 1000 kb/s.

    A task is 1 kb/s, and rates are given: what a channel carries for each user alone. The rates stand only in the
    figure; these agree with what the text says of the result: the first channel goes to the first user, the third to
    the second, and they share the time of the second channel equally.

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

    The demands are not printed in the paper; these give its Table III exactly. TSF: 205, 107.5, 58.33, 35.55 tasks.

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
    """Servers (20, 30) and (30, 20), tasks (2, 1) and (1, 2): where per-server fairness and DRFH differ.

    Returns
    -------
    Instance
        2 users, 2 servers; no paper's.
    """
    return Instance.from_arrays([[2, 1], [1, 2]], [[20, 30], [30, 20]], resources=["cpu", "memory"], name="two-servers")


def _khamse_ashari(
    demands: list[list[float]], name: str, weights: list[float] | None = None, eligible: np.ndarray | None = None
) -> Instance:
    return Instance.from_arrays(
        demands,
        [[9, 12, 100], [12, 12, 0]],
        resources=["cpu", "memory", "network"],
        units={"cpu": "cores", "memory": "GB", "network": "Mb/s"},
        weights=weights,
        eligible=eligible,
        name=name,
    )
