"""No justified complaints (Dolev et al., 2012): the check, the trajectory, and DRF beside it.

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

from .errors import InstanceError, quoted, require_known
from .formulations.complaints import UTILIZATION, Criterion, value
from .formulations.options import AllocateOptions
from .keywords import lists
from .mechanisms.allocation import Allocation, tasks_by_user
from .mechanisms.complaints.all_fair import FairAllocations, FairSet, solutions
from .mechanisms.complaints.complaints import ComplaintCheck, check_complaints
from .mechanisms.complaints.methods import in_stages
from .mechanisms.complaints.path import BEGIN, END, by_integration, by_newton
from .mechanisms.mechanism import run
from .mechanisms.table import find, find_defined
from .models.instances.arithmetic import quotients
from .models.instances.instance import Instance, require_instance
from .models.instances.requests import Requests
from .models.notation.expressions import Index
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

    The ``njc`` methods ``milp`` and ``candidates`` maximise this value.

    Parameters
    ----------
    instance : Instance
        One server.
    allocation : Allocation, mapping, Series or array_like
        Tasks by user.
    criterion : str, int or mapping
        As of :meth:`FairAllocations.best`: ``utilization``, ``least-served``, a user, or numbers by
        user.

    Returns
    -------
    float
    """
    requests = Requests.of(instance)
    return value(requests, criterion, requests.granted(tasks_by_user(instance, allocation)))


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The paper's trajectory from nothing to a fair allocation (§5.4), at growing c.

    Attributes
    ----------
    granted : DataFrame
        x[n], rows by c.
    usage : DataFrame
        Fraction of each resource in use, rows by c.
    prices : DataFrame
        1/(c·(1 − usage)), rows by c: they tend to the prices of the Eisenberg–Gale program.
    level : Series
        f(x) = −Σ log(1 − usage), over the resources and the dummy resources of users with a limit,
        by c.
    steps : int
        Evaluations of the differential equation, or Newton steps.
    """

    granted: pd.DataFrame
    usage: pd.DataFrame
    prices: pd.DataFrame
    level: pd.Series[float]
    steps: int

    @property
    def end(self) -> pd.Series[float]:
        """Granted fractions at the last c."""
        return self.granted.iloc[-1].rename("granted")


def trajectory(
    instance: Instance, *, method: str = "ode", until: float = END, points: int = 200
) -> Trajectory:
    """Return the paper's trajectory, on which x[n]·∂f/∂x[n] = c·e[n].

    It ends at the Eisenberg–Gale optimum as c → ∞.

    Parameters
    ----------
    instance : Instance
        One server. Users entitled to nothing, or who ask for nothing, do not move (0 and 1).
    method : {"ode", "newton"}
        Integrate the differential equation with SciPy, or follow the path by Newton's method (c
        doubles each time).
    until : float
        Last c. Granted fractions are within about 1/c of their limit, within √(1/c) where a
        saturated resource has no price; entitlements must be large beside 1/c.
    points : int
        Rows to keep, evenly in log c (``ode``).

    Returns
    -------
    Trajectory

    Raises
    ------
    UnknownNameError
        For another method.
    InstanceError
        When ``until`` is not beyond the first c.

    Examples
    --------
    >>> import fairlp
    >>> path = fairlp.complaints.trajectory(fairlp.examples.load("dolev-section-3"))
    >>> path.end.round(6).tolist()  # as in the paper's example of §3
    [0.978703, 0.607937, 0.130688]
    """
    require_instance(instance)
    find_defined("njc", instance)
    require_known(method, ("ode", "newton"), f"there is no trajectory by {quoted(method)}")
    if not until > BEGIN:
        raise InstanceError(f"until is {until}; expected more than {BEGIN:g}")
    requests = Requests.of(instance)
    entitled = requests.asking & (requests.entitlements > 0)
    entitled_requests = requests.select(entitled)
    if method == "ode":
        path = by_integration(
            entitled_requests.fractions,
            entitled_requests.entitlements,
            entitled_requests.limited,
            until,
            points,
        )
    else:
        path = by_newton(
            entitled_requests.fractions,
            entitled_requests.entitlements,
            entitled_requests.limited,
            until,
        )
    x = np.tile(np.where(requests.asking, 0.0, 1.0), (len(path.c), 1))
    x[:, entitled] = path.x
    c = pd.Index(path.c, name="c")
    dummies = np.log1p(
        -np.minimum(path.x[:, entitled_requests.limited], 1 - np.finfo(float).eps)
    ).sum(axis=1)

    def frame(values: np.ndarray, index: Index, name: str) -> pd.DataFrame:
        return pd.DataFrame(values, index=c, columns=index.labels.rename(name))

    return Trajectory(
        granted=frame(x, requests.users, "user"),
        usage=frame(1 - path.slack, requests.resources, "resource"),
        prices=frame(path.prices, requests.resources, "resource"),
        level=pd.Series(-np.log(path.slack).sum(axis=1) - dummies, index=c, name="f"),
        steps=path.steps,
    )


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

    @property
    def gaining(self) -> tuple[Any, ...]:
        """Users who have more tasks by njc."""
        return tuple(
            self.users.index[
                self.users["gain"] > AGREEMENT * self.users[["njc", "drf"]].max(axis=1)
            ]
        )

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
    "FairAllocations",
    "FairSet",
    "Trajectory",
    "against_drf",
    "best_value",
    "check",
    "solutions",
    "trajectory",
]


def __dir__() -> list[str]:
    return __all__
