"""The rows of the table for entitlements and bottlenecks: no justified complaints, proportional and α-fairness."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...formulations import complaints, normalisers, proportional
from ...formulations.alpha_fair import SOURCE, alpha_fair
from ...formulations.complaints import UTILIZATION, better, value
from ...formulations.proportional import better as better_tasks
from ...formulations.region import runnable_users
from ...models.instances.requests import Requests, entitlements
from ...models.notation.model import Model
from ...tolerances import AGREEMENT, CONVEX_POINT
from ..allocation import Allocation
from ..max_min.methods import by_interior_points
from ..max_min.rounds import is_one_server
from ..mechanism import NO_QUEUE_LIMITS, NO_RATES, ONE_SERVER, ONE_WEIGHT, Mechanism, Method
from ..validation import Check, Compared, agreement, in_floats
from . import alpha_fairness, methods
from . import proportional as ceei
from .complaints import check_complaints

# How ``validate`` checks ``njc``, ``ceei`` and ``alpha-fair``: methods, complaints, optimality by
# linear programs.

#: Candidate sets are enumerated for a check up to this many resources that could be saturated.
MOST_RESOURCES = 12


def check_njc(check: Check) -> Compared:
    """Check every method of ``njc``: against ``eg``, whose optimality a linear program bounds, and for complaints.

    Methods that choose by a criterion are compared with each other in its value.
    """
    requests = Requests.of(check.instance)
    criterion = check.options.get("criterion") or UTILIZATION
    exact = check.allocate(method="eg", criterion=None)
    rows = {"eg": _fair_row(check, requests, exact, exact, "first-order condition", AGREEMENT)}
    x = requests.granted(exact.totals.to_numpy())
    first_order = _gain(better(requests, x), requests.entitlements[requests.asking].sum())
    rows["eg"] |= {
        "agrees": rows["eg"]["agrees"] and first_order <= AGREEMENT,
        "difference": first_order,
    }
    for method in ("interior-point", "convex", "trajectory", "newton"):
        found = check.allocate(method=method, criterion=None)
        rows[method] = _fair_row(check, requests, found, exact, "eg", found.certificate.tolerance)
    best = check.allocate(method="milp", criterion=criterion)
    reference, name = exact, "at least eg"
    if int(requests.contended.sum()) <= MOST_RESOURCES:
        reference, name = check.allocate(method="candidates", criterion=criterion), "candidates"
        rows["candidates"] = _best_row(check, requests, reference, exact, criterion, "at least eg")
    rows["milp"] = _best_row(check, requests, best, reference, criterion, name)
    return rows


def check_ceei(check: Check) -> Compared:
    """Check ``ceei``: its methods and CLARABEL against each other, and each by a linear program that bounds its gap."""
    runs = {method: check.allocate(method=method) for method in ("interior-point", "convex")}
    if check.instance.n_servers == 1:
        runs["eg"] = check.allocate(method="eg")
    other = Check(check.instance, check.mechanism, "cvxpy:CLARABEL", {})
    runs["convex, CLARABEL"] = other.allocate(method="convex")
    reference = runs.get("eg", runs["interior-point"])
    able = entitlements(check.instance)[runnable_users(check.instance)]
    least = able[able > 0].min(initial=1.0)
    rows = {}
    for method, found in runs.items():
        gain = _gain(better_tasks(check.instance, found.totals.to_numpy()), able.sum())
        row = agreement(check.instance, found, reference)
        # an objective right to g is at tasks that are right to √(2g/e) only: Σ e·log x curves by e
        # at each user
        close = row["difference"] <= max(CONVEX_POINT, 2 * np.sqrt(2 * gain / least))
        rows[method] = {
            **row,
            "agrees": bool(close and gain <= CONVEX_POINT and found.residual <= CONVEX_POINT),
            "reference": reference.method,
            "first_order": gain,
        }
    return rows


def check_alpha_fair(check: Check) -> Compared:
    """Check ``alpha-fair``: its methods and CLARABEL against each other, and each by the prices of a linear program."""
    methods = [method for method in check.mechanism.methods if method.is_exact_for(check.instance)]
    runs = {method.name: check.allocate(method=method.name) for method in methods}
    other = Check(check.instance, check.mechanism, "cvxpy:CLARABEL", check.options)
    runs["convex, CLARABEL"] = other.allocate(method="convex")
    reference = runs[methods[0].name]
    rows = {}
    for method, found in runs.items():
        row = agreement(check.instance, found, reference)
        gap = found.certify().gap
        good = gap <= CONVEX_POINT and found.residual <= CONVEX_POINT
        rows[method] = {
            **row,
            "agrees": bool(good),
            "reference": "prices of a linear program",
            "gap": gap,
        }
    return rows


def _gain(model: Model, spent: float) -> float:
    """Return max Σ e[n]·y[n]/x[n] − Σ e[n] over feasible y: it bounds how far Σ e[n]·log x[n] is from its maximum."""
    return max(0.0, model.solve().require_optimal().objective - spent)


def _fair_row(
    check: Check,
    requests: Requests,
    found: Allocation,
    reference: Allocation,
    name: str,
    tolerance: float,
) -> dict[str, Any]:
    """Return agreement with the Eisenberg–Gale optimum, and the largest complaint."""
    row = agreement(check.instance, found, reference)
    fair = check_complaints(requests, found.totals.to_numpy(), found.certificate.tolerance)
    good = row["difference"] <= tolerance and fair.holds
    return {**row, "agrees": bool(good), "reference": name, "complaint": fair.complaint}


def _best_row(
    check: Check,
    requests: Requests,
    found: Allocation,
    reference: Allocation,
    criterion: Any,
    name: str,
) -> dict[str, Any]:
    """Return whether the value of a criterion is that of another method (or at least that of ``eg``)."""
    ours, other = (
        value(requests, criterion, requests.granted(one.totals.to_numpy()))
        for one in (found, reference)
    )
    size = max(abs(ours), abs(other), np.finfo(float).tiny)
    short = (other - ours) / size
    apart = max(0.0, short) if name == "at least eg" else abs(short)
    fair = check_complaints(requests, found.totals.to_numpy(), AGREEMENT)
    return {
        **agreement(check.instance, found, reference),
        "agrees": bool(apart <= AGREEMENT and fair.holds),
        "difference": apart,
        "reference": f"{name}, {criterion if isinstance(criterion, str | int) else 'criterion'}",
        "complaint": fair.complaint,
    }


EISENBERG_GALE = Method(
    "eg",
    methods.market,
    applies=is_one_server,
    options=(),
    needs="one server",
    cost="O(NR²) a Newton step, some 20 steps",
)
INTERIOR_POINT = replace(by_interior_points(methods.convex), options=())
CONVEX = Method("convex", methods.convex, options=(), cost="one convex program", solves=True)
BEST_FAIR = Method(
    "milp", methods.by_selection, cost="one integer program of R binaries", solves=True
)
CANDIDATES = Method(
    "candidates", methods.by_candidates, cost="up to 2^R linear programs", solves=True
)
TRAJECTORY = Method(
    "trajectory", methods.by_integration, options=(), cost="O(NR²) a step, hundreds of steps"
)
NEWTON = Method("newton", methods.by_newton, options=(), cost="O(NR²) a step, hundreds of steps")

_MARKET = ("sharing incentive", "envy-free", "Pareto-optimal", "bottleneck", "single-resource")

ROWS = (
    Mechanism(
        "njc",
        "No justified complaints (entitlements and bottlenecks)",
        "Dolev et al., ITCS 2012; Gutman and Nisan, AAMAS 2012",
        complaints.njc,
        normalisers.dominant,
        (EISENBERG_GALE, INTERIOR_POINT, CONVEX, BEST_FAIR, CANDIDATES, TRAJECTORY, NEWTON),
        _MARKET,
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=("criterion",),
        validate=check_njc,
        prove=partial(in_floats, judge=methods.judge),
        limits="always",  # a request is a limit
    ),
    Mechanism(
        "ceei",
        "Proportional fairness (competitive equilibrium from given incomes)",
        "Eisenberg and Gale, 1959; Varian, 1974",
        proportional.ceei,
        normalisers.containerized,
        (
            replace(EISENBERG_GALE, run=ceei.one_server),
            replace(by_interior_points(ceei.convex), pays=None),
            replace(CONVEX, run=ceei.convex),
        ),
        _MARKET,
        (NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        validate=check_ceei,
        prove=partial(in_floats, judge=ceei.judge),
    ),
    Mechanism(
        "alpha-fair",
        "α-fairness of dominant shares, from the largest total to max-min (alpha=1: proportional)",
        SOURCE,
        alpha_fair,
        normalisers.dominant,
        (
            replace(
                by_interior_points(alpha_fairness.optimum),
                options=None,
                pays=None,
                applies=lambda instance: not instance.tree.capped.any(),
                needs="no caps of queues",
            ),
            replace(CONVEX, run=alpha_fairness.optimum, options=None),
        ),
        _MARKET,
        (NO_RATES,),
        options=("alpha",),
        validate=check_alpha_fair,
        prove=alpha_fairness.prove,
        compared=False,
    ),
)
