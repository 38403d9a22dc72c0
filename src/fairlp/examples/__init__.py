"""Every worked instance of the papers, by name, and clusters made from published server tables.

>>> from fairlp import examples
>>> examples.load("ghodsi")
<Instance 'ghodsi': 2 users, 1 server, resources cpu, memory>
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pandas as pd

from ..errors import named
from ..models.instances.instance import Instance
from . import pools
from .pools import (
    bhattacharya_blocked,
    bhattacharya_starvation,
    cycles,
    dolev_circle,
    dolev_figure_2,
    dolev_section_3,
    dolev_section_4,
    dolev_section_5,
    epsilon,
    ghodsi,
    ghodsi_59_19,
    google_cluster,
    google_servers,
    khamse_ashari_figure_1,
    khamse_ashari_figure_4,
    khamse_ashari_section_3a,
    khamse_ashari_table_3,
    m_squared_plus_one,
    parkes_zero_demands,
    requests,
    two_servers,
    wang_figure_1,
    wang_figure_4,
)

#: Configurations of Google's servers: CPU and memory relative to the largest server, and how many
#: there are (Wang, Li and Liang, Table I, from the 2011 cluster trace).
GOOGLE_SERVERS = pools.GOOGLE_SERVERS

EXAMPLES: dict[str, Callable[..., Instance]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        ghodsi,
        ghodsi_59_19,
        cycles,
        parkes_zero_demands,
        epsilon,
        m_squared_plus_one,
        wang_figure_1,
        wang_figure_4,
        google_cluster,
        khamse_ashari_figure_1,
        khamse_ashari_section_3a,
        khamse_ashari_figure_4,
        khamse_ashari_table_3,
        two_servers,
        dolev_figure_2,
        dolev_section_3,
        dolev_section_4,
        dolev_section_5,
        dolev_circle,
        bhattacharya_starvation,
        bhattacharya_blocked,
    )
}


def names() -> list[str]:
    """Return the names of all examples.

    Returns
    -------
    list of str
    """
    return list(EXAMPLES)


def load(name: str) -> Instance:
    """Return the example of that name, in any case.

    Parameters
    ----------
    name : str

    Returns
    -------
    Instance

    Raises
    ------
    UnknownNameError
        For a name that there is not; the nearest are named.
    """
    return EXAMPLES[named(name, EXAMPLES, "example")]()


def table() -> pd.DataFrame:
    """Return every example with its first line of documentation, indexed by name.

    Returns
    -------
    DataFrame
        One column, ``about``.
    """
    lines = {
        name: (inspect.getdoc(function) or "").splitlines()[0]
        for name, function in EXAMPLES.items()
    }
    return pd.DataFrame({"about": lines}).rename_axis("example")


__all__ = [
    "GOOGLE_SERVERS",
    "bhattacharya_blocked",
    "bhattacharya_starvation",
    "cycles",
    "dolev_circle",
    "dolev_figure_2",
    "dolev_section_3",
    "dolev_section_4",
    "dolev_section_5",
    "epsilon",
    "ghodsi",
    "ghodsi_59_19",
    "google_cluster",
    "google_servers",
    "khamse_ashari_figure_1",
    "khamse_ashari_figure_4",
    "khamse_ashari_section_3a",
    "khamse_ashari_table_3",
    "load",
    "m_squared_plus_one",
    "names",
    "parkes_zero_demands",
    "requests",
    "table",
    "two_servers",
    "wang_figure_1",
    "wang_figure_4",
]


def __dir__() -> list[str]:
    return __all__
