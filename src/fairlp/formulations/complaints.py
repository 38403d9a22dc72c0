"""No justified complaints (Dolev et al., 2012): Eisenberg–Gale, and programs of bottlenecks.

x[n] is the granted fraction of a request, r[n,j] the request as a fraction of the capacity of j,
e[n] the entitlement. The fair allocations are a union of polytopes, one for each set of
bottlenecks; the Eisenberg–Gale program finds one of them without knowing the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InstanceError, UnknownNameError, nearest, quoted, require_known
from ..models.instances.instance import Instance
from ..models.instances.requests import Requests
from ..models.notation.expressions import Expression, Index, log
from ..models.notation.model import Model
from ..models.notation.variables import Variable
from ..models.programs.program import free_name

SOURCE = "Dolev et al., No Justified Complaints, ITCS 2012"
UTILIZATION = "utilization"
LEAST_SERVED = "least-served"
CRITERIA = (UTILIZATION, LEAST_SERVED)
Criterion = str | int | Mapping[Any, float]


def njc(
    instance: Instance,
    bottlenecks: Iterable[Any] | str | None = None,
    criterion: Criterion | None = None,
) -> Model:
    """NJC: the Eisenberg–Gale program, that of chosen bottlenecks, or the best by a criterion.

    Parameters
    ----------
    instance : Instance
        One server.
    bottlenecks : iterable of str, optional
        Resources that are to be saturated and to justify every user's share: a linear program,
        feasible if there is such a fair allocation.
    criterion : str, int or mapping, optional
        What to maximise, linear in x: ``utilization`` (mean over resources of the fraction in use),
        ``least-served`` (smallest granted fraction), a user (its granted fraction), or numbers by
        user. Without bottlenecks: an integer program with one binary for each resource, over all
        fair allocations. The default with bottlenecks is ``utilization``.
    """
    requests = Requests.of(instance)
    if bottlenecks is not None:
        return candidate(
            requests, chosen(requests, bottlenecks), UTILIZATION if criterion is None else criterion
        )
    return eisenberg_gale(requests) if criterion is None else selection(requests, criterion)


def eisenberg_gale(requests: Requests, remaining: np.ndarray | None = None) -> Model:
    """Return the program whose optimum is fair: maximise Σ e[n]·log x[n].

    The duals of its rows ``capacity`` name the bottlenecks.

    Stationarity, Σ_j λ[j]·x[n]·r[n,j] = e[n] for users with x[n] < 1, and Σ_j λ[j] ≤ 1 make some
    saturated j have x[n]·r[n,j] ≥ e[n]. ``remaining`` is the fraction of each resource to give out
    (default 1), shape (R,).
    """
    n = requests.users
    j = requests.resources.alias("j")
    model = Model("NJC, Eisenberg–Gale", f"optimum of the path of {SOURCE}, §5.4", (n, j))
    x, used = _granted(model, requests)
    e = model.parameter(
        "e",
        n,
        np.where(requests.asking, requests.entitlements, 0.0),
        "entitlement of n (0: no term)",
    )
    c = model.parameter(
        "c", j, np.ones(len(j)) if remaining is None else remaining, "fraction of j to give out"
    )
    model.constraint("capacity", used <= c, doc="(1)")
    model.maximize((e * log(x)).sum(n))
    return model


def candidate(
    requests: Requests, bottlenecks: np.ndarray, criterion: Criterion = UTILIZATION
) -> Model:
    """Return the linear program of a set of bottlenecks (bool, shape (R,)).

    They are saturated, and every user's share is just.

    Σ_n x[n]·r[n,j] = 1 for the bottlenecks, ≤ 1 for the others; x[n] ≥ min(1, e[n]/max r[n,j] over
    the bottlenecks).
    """
    n = requests.users
    j = requests.resources.alias("j")
    names = (
        ", ".join(str(name) for name, is_one in zip(j, bottlenecks, strict=True) if is_one)
        or "none"
    )
    model = Model(f"NJC, bottlenecks {names}", f"{SOURCE}, §5.2", (n, j))
    x, used = _granted(model, requests)
    if not bottlenecks.all():
        model.constraint("capacity", used <= 1, where=~bottlenecks, doc="(1)")
    if bottlenecks.any():
        model.constraint("bottleneck", used == 1, where=bottlenecks)
    just = requests.thresholds(bottlenecks)
    least = model.parameter(
        "a", n, just, "min(1, e[n] / largest r[n,j] of a bottleneck): no complaint from here on"
    )
    model.constraint("fairness", x >= least, doc="(2)")
    model.maximize(_objective(model, requests, x, criterion))
    return model


def selection(requests: Requests, criterion: Criterion) -> Model:
    """Return the integer program of the best fair allocation.

    It has one binary for each resource, 1 if it justifies shares.

    With a[n,k] = min(1, e[n]/r[n,k]), and 1 for k = none: if no bottleneck has a smaller a[n,j]
    than k, n needs a[n,k]. This one row for each k says all (it is the projection of one binary for
    each user and resource), so users need no binaries.
    """
    n = requests.users
    j = requests.resources.alias("j")
    model = Model(
        "NJC, best fair allocation", f"selection among all solutions, {SOURCE}, §5.5", (n, j)
    )
    x, used = _granted(model, requests)
    contended = requests.contended
    z = model.variable(
        "z",
        j,
        upper=contended.astype(float),
        integer=True,
        doc="1: j is saturated and justifies shares",
    )
    k = Index("k", [*j, free_name("none of them", list(j))], "bottleneck, or none")
    just = np.column_stack(
        [requests.thresholds(row) for row in np.eye(len(j), dtype=bool)] + [np.ones(len(n))]
    )
    a = model.parameter(
        "a", (n, k), just, "min(1, e[n]/r[n,k]): what n needs if k justifies its share; 1 for none"
    )
    gain = np.maximum(just[:, :, None] - just[:, None, :-1], 0.0)
    reduction = model.parameter(
        "b", (n, k, j), gain, "max(0, a[n,k] − a[n,j]): how much less n needs if j justifies it"
    )
    model.constraint("capacity", used <= 1, doc="(1)")
    model.constraint("bottleneck", used >= z)
    model.constraint("fairness", x + (reduction * z).sum(j) >= a, doc="(2)")
    model.maximize(_objective(model, requests, x, criterion))
    return model


def chosen(requests: Requests, bottlenecks: Iterable[Any] | str) -> np.ndarray:
    """Return named resources as bool, shape (R,); a text may hold several, separated by commas."""
    resources = list(requests.resources)
    if isinstance(bottlenecks, str):
        bottlenecks = (
            [bottlenecks]
            if bottlenecks in resources
            else [name.strip() for name in bottlenecks.split(",")]
        )
    elif not isinstance(bottlenecks, Iterable):
        bottlenecks = [bottlenecks]
    mask = np.zeros(len(resources), dtype=bool)
    for name in bottlenecks:
        require_known(name, resources, f"no resource is called {quoted(name)}")
        mask[resources.index(name)] = True
    return mask


def coefficients(requests: Requests, criterion: Criterion) -> np.ndarray | None:
    """Return the criterion's coefficient of each x[n], (N,); None for ``least-served``.

    That criterion has a variable instead.
    """
    users = list(requests.users)
    if isinstance(criterion, str) and criterion in CRITERIA:
        return None if criterion == LEAST_SERVED else np.asarray(requests.fractions.mean(axis=1))
    values = np.zeros(len(users))
    named = criterion if isinstance(criterion, Mapping) else {criterion: 1.0}
    for user, value in named.items():
        if user not in users:
            raise UnknownNameError(
                f"criterion: {quoted(user)} is no user; {nearest(user, [*CRITERIA, *users])}"
            )
        if not np.isfinite(value):
            raise InstanceError(
                f"criterion: the number of user {quoted(user)} is {value}; expected a finite one"
            )
        values[users.index(user)] = value
    return values


def value(requests: Requests, criterion: Criterion, x: np.ndarray) -> float:
    """Return what granted fractions (shape (N,)) are worth by a criterion."""
    values = coefficients(requests, criterion)
    if values is None:
        return float(x[requests.asking].min(initial=1.0))
    return float(values @ x)


def _granted(model: Model, requests: Requests) -> tuple[Variable, Expression]:
    """Return x and the use of each resource, with the tasks that x means."""
    n, j = model.indices[:2]
    r = model.parameter(
        "r", (n, j), requests.fractions, "what n asks for of j, as a fraction of its capacity"
    )
    tasks = model.parameter(
        "T", n, requests.tasks, "tasks n asks for: its limit, or what it could run alone"
    )
    fixed = np.where(requests.asking, 0.0, 1.0)
    upper = np.where(requests.limited, 1.0, np.inf)
    x = model.variable("x", n, lower=fixed, upper=upper, doc="granted fraction of what n asks for")
    model.define("tasks", tasks * x)
    return x, (r * x).sum(n)


def _objective(model: Model, requests: Requests, x: Variable, criterion: Criterion) -> Expression:
    """Return what a criterion maximises, as a formula of the model."""
    n = requests.users
    values = coefficients(requests, criterion)
    if values is None:
        t = model.variable("t", upper=1.0, doc="smallest granted fraction")
        model.constraint("least", x >= t, where=requests.asking)
        return t
    named = criterion if isinstance(criterion, str | int) else "the numbers given"
    meaning = f"what x[n] is worth: {named}" + (
        " (mean fraction of a resource)" if criterion == UTILIZATION else ""
    )
    return (model.parameter("v", n, values, meaning) * x).sum(n)
