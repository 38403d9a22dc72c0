"""Small random integer programs with bounds of every size, and what HiGHS, SCIP and enumeration say.

None of them calls fairlp: the arrays go to ``highspy`` and ``pyscipopt`` as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csc_array

from fairlp.models.programs.program import Block, Program

#: The bounds of a column: small, of three digits, of a million, of a thousand millions.
BOUNDS = (9.0, 1e3, 1e6, 1e9)

#: Whole points that are looked at one by one.
MOST_POINTS = 1_000_000
#: Seconds that a solver alone may take.
LIMIT = 2.0


@dataclass(frozen=True)
class IntegerArrays:
    """Minimise c·x where lower ≤ A·x ≤ upper, x_lower ≤ x ≤ x_upper, x whole where ``whole``."""

    c: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray
    whole: np.ndarray

    def program(self) -> Program:
        """The same as a Program of fairlp."""
        rows, columns = self.A.shape
        return Program(
            name="small",
            sense="min",
            c=self.c.copy(),
            offset=0.0,
            A=csc_array(self.A),
            row_lower=self.lower.copy(),
            row_upper=self.upper.copy(),
            col_lower=self.x_lower.copy(),
            col_upper=self.x_upper.copy(),
            integrality=self.whole.astype(np.uint8),
            rows=(Block("row", (("i", pd.RangeIndex(rows)),), 0, rows),),
            columns=(Block("x", (("j", pd.RangeIndex(columns)),), 0, columns),),
        )


def small_integer_program(seed: int) -> IntegerArrays:
    """Return 3 to 8 columns, most of them whole, in 2 to 5 rows of whole numbers below 10."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(3, 9))
    rows = int(rng.integers(2, 6))
    A = rng.integers(-9, 10, (rows, columns)) * (rng.random((rows, columns)) < 0.7)
    bound = BOUNDS[seed % len(BOUNDS)]
    ends = np.array(
        [(0, 3), (-5, min(bound, 50)), (-bound, 3), (0, bound), (-bound, bound)], dtype=float
    )
    x_lower, x_upper = ends[rng.integers(len(ends), size=columns)].T
    side = rng.integers(-20, 21, rows).astype(float)
    kind = rng.choice(["at most", "at most", "at most", "equal", "at least"], rows)
    lower = np.where(kind == "at most", -np.inf, side)
    upper = np.where(kind == "at least", np.inf, side)
    whole = rng.random(columns) < 0.8
    whole[rng.integers(columns)] = True
    c = rng.integers(-9, 10, columns).astype(float)
    return IntegerArrays(c, A.astype(float), lower, upper, x_lower, x_upper, whole)


def by_highs_alone(arrays: IntegerArrays) -> tuple[str, float]:
    """Return HiGHS's status and optimum of the arrays, with HiGHS's own options."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("time_limit", LIMIT)
    for low, high in zip(arrays.x_lower, arrays.x_upper, strict=True):
        highs.addVar(low, high)
    for column, cost in enumerate(arrays.c):
        highs.changeColCost(column, cost)
        if arrays.whole[column]:
            highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    for row, coefficients in enumerate(arrays.A):
        places = np.flatnonzero(coefficients).astype(np.int32)
        highs.addRow(
            arrays.lower[row], arrays.upper[row], len(places), places, coefficients[places]
        )
    highs.run()
    status = highs.modelStatusToString(highs.getModelStatus())
    return status, highs.getInfo().objective_function_value


def by_scip_alone(arrays: IntegerArrays) -> tuple[str, float]:
    """Return SCIP's status and optimum of the arrays, with SCIP's own options."""
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", LIMIT)
    columns = range(len(arrays.c))
    x = [
        model.addVar(
            vtype="I" if arrays.whole[column] else "C",
            lb=arrays.x_lower[column],
            ub=arrays.x_upper[column],
        )
        for column in columns
    ]
    for row, coefficients in enumerate(arrays.A):
        expression = pyscipopt.quicksum(coefficients[column] * x[column] for column in columns)
        low = arrays.lower[row]
        high = arrays.upper[row]
        if low == high:
            model.addCons(expression == high)
        elif np.isfinite(high):
            model.addCons(expression <= high)
        else:
            model.addCons(expression >= low)
    model.setObjective(pyscipopt.quicksum(arrays.c[column] * x[column] for column in columns))
    model.optimize()
    status = model.getStatus()
    return status.capitalize(), model.getObjVal() if status == "optimal" else np.nan


def by_enumeration(arrays: IntegerArrays) -> tuple[str, float] | None:
    """Return status and optimum from all whole points; None where there are too many."""
    counts = arrays.x_upper - arrays.x_lower + 1
    if not arrays.whole.all() or counts.prod() > MOST_POINTS:
        return None
    ranges = [
        np.arange(low, high + 1) for low, high in zip(arrays.x_lower, arrays.x_upper, strict=True)
    ]
    points = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(ranges))
    activity = points @ arrays.A.T
    is_feasible = ((activity >= arrays.lower) & (activity <= arrays.upper)).all(axis=1)
    if not is_feasible.any():
        return "Infeasible", np.nan
    return "Optimal", float((points[is_feasible] @ arrays.c).min())
