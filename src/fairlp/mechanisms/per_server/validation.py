"""How ``validate`` checks PS-DSF: every method against Definition 5 by linear programs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...formulations.per_server import could_gain
from ...tolerances import AGREEMENT
from ..allocation import Allocation
from ..mechanism import Division
from ..validation import Check, agreement
from .fixed_point import fixed_point

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
