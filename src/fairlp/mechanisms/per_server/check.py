"""Per-server dominant share fairness: is an allocation a fixed point, and who could gain on which server from whom.

>>> import fairlp
>>> instance = fairlp.examples.load("khamse-ashari-figure-1")
>>> print(fairlp.per_server.check(instance, fairlp.allocate(instance, "tsf")))
PS-DSF (resources are divided): no; user 'user1' could run 2 more tasks on server 'server1' from 'user3', and 1 more
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...formulations import per_server
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ..allocation import Allocation, tasks_of
from ..mechanism import Division
from .fixed_point import FixedPoint, fixed_point
from .tracking import Tracking, track


def check(instance: Instance, allocation: Allocation | pd.DataFrame | Any, division: Division = "rdm") -> FixedPoint:
    """Return whether an allocation is PS-DSF (Definition 5), or who could gain, on which server, how much, from whom.

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


def could_gain(instance: Instance, allocation: Allocation | Any, user: object, division: Division = "rdm") -> Model:
    """Return Definition 5 for one user as a linear program, to read, solve with any solver, or export.

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


__all__ = ["FixedPoint", "Tracking", "check", "could_gain", "track"]


def __dir__() -> list[str]:
    return __all__
