"""Per-server dominant share fairness: the check of a fixed point, and the users that could gain.

>>> import fairlp
>>> instance = fairlp.examples.load("khamse-ashari-figure-1")
>>> print(fairlp.per_server.check(instance, fairlp.allocate(instance, "tsf")))
PS-DSF (resources are divided): no; user 'user1' could run 2 more tasks on server 'server1' from 'user3', and 1 more
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from .formulations import per_server
from .mechanisms.allocation import Allocation, tasks_of
from .mechanisms.mechanism import Division
from .mechanisms.per_server.algorithm_1 import separate_start, server_procedure
from .mechanisms.per_server.check import FixedPoint, fixed_point
from .mechanisms.per_server.market import PerServerMarket, positive
from .models.instances.instance import Instance
from .models.notation.model import Model


def check(
    instance: Instance, allocation: Allocation | pd.DataFrame | Any, division: Division = "rdm"
) -> FixedPoint:
    """Return whether an allocation is PS-DSF (Definition 5), with the gains that refute it.

    Each gain names the user, the server, the tasks and the users that would give way.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks; ours or anyone's.
    division : {"rdm", "tdm"}
        Whether servers divide their resources or their time.

    Returns
    -------
    FixedPoint
        True or False, with who could gain.

    Raises
    ------
    InstanceError
        For a shape or labels that do not fit, or weights per resource.
    """
    return fixed_point(instance, tasks_of(instance, allocation), division)


def could_gain(
    instance: Instance, allocation: Allocation | Any, user: object, division: Division = "rdm"
) -> Model:
    """Return Definition 5 for one user as a linear program, for any solver or for export.

    Its optimum is the most tasks that the user could have if only users of higher level gave way.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks.
    user : label
        One user of the instance.
    division : {"rdm", "tdm"}
        Whether servers divide their resources or their time.

    Returns
    -------
    Model
    """
    return per_server.could_gain(instance, tasks_of(instance, allocation), user, division)


__all__ = [
    "FixedPoint",
    "PerServerMarket",
    "check",
    "could_gain",
    "positive",
    "separate_start",
    "server_procedure",
    "tasks_of",
]


def __dir__() -> list[str]:
    return __all__
