"""No justified complaints (Dolev et al., 2012): the check, and DRF beside it.

>>> import fairlp
>>> instance = fairlp.examples.load("ghodsi")
>>> print(fairlp.complaints.check(instance, fairlp.allocate(instance, "drf")))
'A' is owed 1.5 tasks (bottlenecks: cpu)
>>> fairlp.allocate(instance, "njc").totals.round(6).to_dict()
{'A': 4.090909, 'B': 1.636364}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd

from .formulations.complaints import UTILIZATION, Criterion, value
from .formulations.options import AllocateOptions
from .keywords import lists
from .mechanisms.allocation import Allocation, tasks_by_user
from .mechanisms.complaints.complaints import ComplaintCheck, check_complaints
from .mechanisms.complaints.methods import in_stages
from .mechanisms.mechanism import run
from .mechanisms.table import find, find_defined
from .models.instances.arithmetic import quotients
from .models.instances.instance import Instance, require_instance
from .models.instances.requests import Requests
from .tolerances import AGREEMENT


def check(
    instance: Instance,
    allocation: Allocation | Mapping[Any, float] | Any,
    tolerance: float = AGREEMENT,
) -> ComplaintCheck:
    """Return who may justifiably complain about an allocation, and what they are owed.

    Parameters
    ----------
    instance : Instance
        One server, one weight a user.
    allocation : Allocation, mapping, Series or array of shape (N,) or (N, 1)
        Tasks by user; ours or anyone's.
    tolerance : float
        Relative: what counts as saturated, as all that was asked for, and as the entitlement.

    Returns
    -------
    ComplaintCheck
        True when feasible and no user may complain; ``table`` tells by user what is missing.

    Raises
    ------
    NotDefinedError
        For more than one server, given rates, or weights per resource.
    InstanceError
        When the tasks do not fit the instance's users.

    Notes
    -----
    A saturated resource justifies only the shares of those who use it. The paper's formula (2)
    differs for users entitled to nothing: they would be content with any saturated resource. Its
    words ask for this, and Pareto optimality does. O(NR).
    """
    require_instance(instance)
    find_defined("njc", instance)
    return check_complaints(Requests.of(instance), tasks_by_user(instance, allocation), tolerance)


def best_value(
    instance: Instance, allocation: Allocation | Any, criterion: Criterion = UTILIZATION
) -> float:
    """Return the value of an allocation by a criterion.

    The ``njc`` method ``milp`` maximises this value.

    Parameters
    ----------
    instance : Instance
        One server.
    allocation : Allocation, mapping, Series or array_like
        Tasks by user.
    criterion : str, int or mapping
        ``utilization`` (mean over resources of the fraction in use), ``least-served`` (smallest
        granted fraction), a user (its granted fraction), or numbers by user.

    Returns
    -------
    float
    """
    requests = Requests.of(instance)
    return value(requests, criterion, requests.granted(tasks_by_user(instance, allocation)))


@dataclass(frozen=True, eq=False)
class DrfComparison:
    """No justified complaints beside dominant resource fairness with the entitlements as weights.

    Attributes
    ----------
    users : DataFrame
        By user: tasks by ``njc`` and ``drf``, ``gain`` (tasks more by njc), ``njc_share`` and
        ``drf_share`` (dominant shares), and ``complains``: whether the user may complain about
        DRF's allocation.
    resources : DataFrame
        Fraction of each resource in use, by ``njc`` and ``drf``.
    complaints : ComplaintCheck
        Of DRF's allocation.
    """

    users: pd.DataFrame
    resources: pd.DataFrame
    complaints: ComplaintCheck

    def __str__(self) -> str:
        return f"{self.users.to_string()}\n\n{self.resources.to_string()}\n\nDRF: {self.complaints}"


@lists(AllocateOptions)
def against_drf(instance: Instance, **options: Unpack[AllocateOptions]) -> DrfComparison:
    """Compare no justified complaints with DRF: shares, utilisation, gains and complaints.

    Parameters
    ----------
    instance : Instance
        One server. DRF takes the entitlements as weights, and users entitled to nothing afterwards,
        on what is left.
    **options
        Of ``allocate(instance, "njc", …)``: ``method``, ``criterion``, ``solver`` and its options.

    Returns
    -------
    DrfComparison

    Examples
    --------
    >>> import fairlp
    >>> fairlp.complaints.against_drf(fairlp.examples.load("dolev-figure-2")).users[["njc", "drf"]].round(4)
              njc  drf
    user
    user1  0.3333  0.4
    user2  0.3333  0.4
    user3  0.8333  0.5
    """
    require_instance(instance)
    njc_tasks = run(find_defined("njc", instance), instance, **options).totals.to_numpy()
    requests = Requests.of(instance)
    drf_tasks = _drf(requests)
    dominant = np.where(requests.tasks > 0, requests.fractions.max(axis=1), 0.0)
    share = quotients(dominant, requests.tasks)
    verdict = check_complaints(requests, drf_tasks)
    users = pd.DataFrame(
        {
            "njc": njc_tasks,
            "drf": drf_tasks,
            "gain": njc_tasks - drf_tasks,
            "njc_share": njc_tasks * share,
            "drf_share": drf_tasks * share,
            "complains": verdict.table["complains"].to_numpy(),
        },
        index=instance.users.labels.rename("user"),
    )
    used = {
        "njc": njc_tasks @ instance.demands / instance.pool,
        "drf": drf_tasks @ instance.demands / instance.pool,
    }
    resources = pd.DataFrame(used, index=instance.resources.labels.rename("resource"))
    return DrfComparison(users, resources, verdict)


def _drf(requests: Requests) -> np.ndarray:
    """Return DRF's tasks with entitlements as weights.

    Users without an entitlement share what the others leave.
    """
    mechanism = find("drf")

    def optimum(stage: Requests, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # one request as one task, so that x is in the unit of the path: fractions of a request
        limits = np.where(stage.limited, 1.0, np.inf)
        pool = Instance.from_arrays(
            stage.fractions, [free], weights=stage.entitlements, task_limits=limits
        )
        return run(mechanism, pool).totals.to_numpy(), np.zeros(len(free))

    return requests.to_tasks(in_stages(requests, optimum, AGREEMENT)[0])


__all__ = [
    "ComplaintCheck",
    "DrfComparison",
    "against_drf",
    "best_value",
    "check",
]


def __dir__() -> list[str]:
    return __all__
