"""Dolev et al.: requests, fractions of one pool that users are entitled to parts of."""

from __future__ import annotations

import numpy as np

from ..errors import InstanceError
from ..models.instances.instance import Instance


def requests(fractions: object, entitlements: object, name: str = "") -> Instance:
    """Return an instance of requests r[n,j] in [0, 1], fractions of capacity: one task each, which may run in part.

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
        raise InstanceError("requests must be a table of fractions of capacity in [0, 1], users × resources")
    return Instance.from_arrays(
        table,
        np.ones((1, table.shape[1])),
        servers=["pool"],
        task_limits=np.ones(len(table)),
        entitlements=entitlements,
        name=name,
    )


def dolev_figure_2() -> Instance:
    """Dolev et al., §4, Fig. 2: requests (1, .2), (1, .2), (.4, .8), equal entitlements; NJC gives 1/3, 1/3, 5/6.

    Returns
    -------
    Instance
        3 users, 1 server of 2 resources.
    """
    return requests([[1, 0.2], [1, 0.2], [0.4, 0.8]], [1 / 3] * 3, "dolev-figure-2")


def dolev_section_3() -> Instance:
    """Dolev et al., §3: three users, entitlements ½, ⅜, ⅛; their trajectory ends at .978703, .607937, .130688.

    Returns
    -------
    Instance
        3 users, 1 server of 3 resources.
    """
    table = [[0.5, 0.5, 2 / 3], [0.5, 5 / 8, 0.5], [1, 1, 1 / 3]]
    return requests(table, [0.5, 0.375, 0.125], "dolev-section-3")


def dolev_section_4() -> Instance:
    """Dolev et al., §4: requests (½, 0, 0, 1), (1, 1, 1, 0), equal entitlements; NJC gives 1 and ½, DRF ⅔ each.

    Returns
    -------
    Instance
        2 users, 1 server of 4 resources.
    """
    return requests([[0.5, 0, 0, 1], [1, 1, 1, 0]], [0.5, 0.5], "dolev-section-4")


def dolev_section_5() -> Instance:
    """Dolev et al., §5.5: requests (1, 1), (0, 1), (1, 0): the fair ones are (z, 1−z, 1−z), .5 ≤ z ≤ .7.

    Returns
    -------
    Instance
        3 users, 1 server of 2 resources.
    """
    return requests([[1, 1], [0, 1], [1, 0]], [0.5, 0.3, 0.2], "dolev-section-5")


def dolev_circle() -> Instance:
    """Dolev et al., §5.5: a circle of four, each needing all resources but the opposite one; a continuum is fair.

    Returns
    -------
    Instance
        4 users, 1 server of 4 resources.
    """
    return requests(1 - np.roll(np.eye(4), 2, axis=1), [0.25] * 4, "dolev-circle")
