"""The rows of the table for per-server dominant share fairness (PS-DSF)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from ...formulations import normalisers, per_server
from ...formulations.per_server import could_gain
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...tolerances import AGREEMENT
from ..allocation import Allocation
from ..max_min.methods import by_interior_points
from ..mechanism import NO_QUEUE_LIMITS, ONE_WEIGHT, Division, Mechanism, Method
from ..validation import Check, agreement, in_floats
from . import methods
from .check import fixed_point, judge
from .distributed import CLOCK_OPTIONS

# How ``validate`` checks PS-DSF: every method against Definition 5 by linear programs.

#: More pairs of user and server than this are not put before an integer program for a check, nor before methods that
#: may take thousands of sweeps.
LARGEST = {"milp": 40, "sweeps": 2000, "algorithm-1": 2000, "distributed": 2000}
#: More users than this are not asked by a linear program each whether they could gain.
MOST_PROGRAMS = 50


def validate_methods(check: Check) -> pd.DataFrame:
    """Compare every method's totals with the best response's, and each certificate with Definition 5 by LPs.

    Under resource division there may be several fixed points, so that methods agree when each is one.
    """
    division = check.mechanism.division
    reference = check.allocate(method="best-response")
    rows = {}
    pairs = np.count_nonzero(check.instance.gamma())
    exact = [method.name for method in check.mechanism.methods if method.is_exact_for(check.instance)]
    for method in exact:
        if pairs > LARGEST.get(method, np.inf):
            continue
        found = check.allocate(method=method)
        row = agreement(check.instance, found, reference)
        gain = _largest_gain(check, found, division)
        unique = division == "tdm" and bool(np.isinf(check.instance.task_limits).all())
        rows[method] = {**row, "agrees": gain <= AGREEMENT and (row["agrees"] or not unique), "gain": gain}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _largest_gain(check: Check, found: Allocation, division: Division) -> float:
    """Return the largest gain by Definition 5, relative to what one could run alone; by LPs where users are few."""
    if len(check.instance.users) > MOST_PROGRAMS:
        return fixed_point(check.instance, found.tasks_array, division).violation
    alone = check.instance.gamma().sum(axis=1)
    worst = 0.0
    for user, total, most in zip(check.instance.users, found.totals, alone, strict=True):
        if most > 0:
            model = could_gain(check.instance, found.tasks_array, user, division)
            optimum = model.solve(solver=check.solver).require_optimal().objective
            worst = max(worst, (optimum - total) / most)
    return worst


_SWEEPS = ("most_sweeps",)
_CLOCKS = (*CLOCK_OPTIONS, "seconds")

BEST_RESPONSE = Method(
    "best-response", methods.with_pivots, options=_SWEEPS, cost="O(NK(R + log N)) a sweep, tens of sweeps"
)
SWEEPS = Method("sweeps", methods.without_pivots, options=_SWEEPS, cost="O(NK(R + log N)) a sweep, thousands of sweeps")
ALGORITHM_1 = Method(
    "algorithm-1", methods.by_algorithm_1, options=_SWEEPS, cost="Algorithm I; as many sweeps, twice the time of each"
)
DISTRIBUTED = Method(
    "distributed",
    methods.distributed,
    options=_CLOCKS,
    cost="as sweeps; a simulation of clocks and messages",
    by_name=True,
)
INTERIOR_POINT = replace(by_interior_points(methods.interior_point), options=_SWEEPS)
MARKET = Method("convex", methods.convex, options=_SWEEPS, cost="one convex program", solves=True)


def _without_limits(instance: Instance) -> bool:
    """Whether nobody has a task limit, of which Theorem 2 knows nothing."""
    return bool(np.isinf(instance.task_limits).all())


def _milp(formulation: Callable[[Instance], Model], applies: Callable[[Instance], bool] | None = None) -> Method:
    """Return the method of a formulation whose binaries choose the bottlenecks."""
    return Method(
        "milp",
        partial(methods.milp, formulation=formulation),
        applies=applies,
        options=_SWEEPS,
        needs="" if applies is None else "no task limits",
        cost="one integer program (small instances)",
        solves=True,
    )


ROWS = (
    Mechanism(
        "psdsf-rdm",
        "Per-server dominant share fairness, resources divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_rdm,
        normalisers.containerized,
        (BEST_RESPONSE, SWEEPS, ALGORITHM_1, DISTRIBUTED, _milp(per_server.psdsf_rdm)),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource"),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        validate=validate_methods,
        prove=partial(in_floats, judge=partial(judge, division="rdm")),
        limits="never",  # the paper has none (docs/per-server-fairness.md)
    ),
    Mechanism(
        "psdsf-tdm",
        "Per-server dominant share fairness, time divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_tdm,
        normalisers.containerized,
        (
            BEST_RESPONSE,
            SWEEPS,
            ALGORITHM_1,
            DISTRIBUTED,
            INTERIOR_POINT,
            MARKET,
            _milp(partial(per_server.psdsf_tdm, theorem=True), _without_limits),
        ),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource", "Pareto-optimal", "strategy-proof"),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        validate=validate_methods,
        prove=partial(in_floats, judge=partial(judge, division="tdm")),
        division="tdm",
        limits="never",
    ),
)
