"""Why a model has no answer, in its own labels: which constraints contradict each other, and by how much.

Infeasible: an irreducible set of rows and bounds in conflict (HiGHS's IIS), and the smallest relaxation that would make
the whole model feasible (an elastic linear program: the sum of relative violations is minimised). Unbounded: a
direction in which the objective grows without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SolverError
from ...models.programs.backends import solve
from ...models.programs.program import Block, Program
from ...models.programs.solution import Options, Termination
from ...tolerances import SOLVER_TIGHTEST, VERIFIED
from .highs import Highs

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ["kind", "requires", "in_conflict", "relax_by"]


def explain(program: Program, *, solver: str = "highs") -> pd.DataFrame:
    """Return why a program has no optimum, as a table in its own names.

    Parameters
    ----------
    program : Program
    solver : str
        Back end for the linear programs.

    Returns
    -------
    DataFrame
        Infeasible: indexed by the name of the constraint or variable, with ``kind`` ("constraint" or "bound"),
        ``requires`` (what it says), ``in_conflict`` (part of an irreducible set that contradicts itself) and
        ``relax_by`` (how much to give way, so that the whole becomes feasible); bounds of 0 that take part in the
        conflict go without saying. Unbounded: indexed by variable, with
        ``direction`` and ``objective`` (growth of the objective for each unit). Empty when there is an optimum.

    Raises
    ------
    SolverError
        When the solver can tell neither.
    """
    relaxed = program.replace(integrality=np.zeros_like(program.integrality), logs=None)
    feasible = relaxed.replace(c=np.zeros(program.n_columns))
    status = solve(feasible, solver, Options()).status
    if status.termination is Termination.INFEASIBLE:
        return _infeasible(relaxed, solver)
    if not status.is_optimal:
        raise SolverError(f"{solver} cannot tell whether {program.name!r} is feasible: {status}")
    return _unbounded(relaxed, solver)


def _infeasible(program: Program, solver: str) -> pd.DataFrame:
    import pandas as pd

    rows, columns = Highs(method="simplex").session(program, Options()).conflict()
    give = _relaxation(program, columns, solver)
    entries: dict[str, dict[str, Any]] = {}
    sides = (
        ("constraint", program.rows, program.row_lower, program.row_upper, rows, give[: program.n_rows]),
        ("bound", program.columns, program.col_lower, program.col_upper, columns, give[program.n_rows :]),
    )
    for kind, blocks, lower, upper, conflict, amount in sides:
        names = [name for block in blocks for name in block.names()]
        for at in np.flatnonzero(conflict | (amount > 0)):
            entries[names[at]] = {
                "kind": kind,
                "requires": _requires(lower[at], upper[at]),
                "in_conflict": bool(conflict[at]),
                "relax_by": float(amount[at]),
            }
    frame = pd.DataFrame.from_dict(entries, orient="index", columns=_COLUMNS)
    # "≥ 0" goes without saying, and there may be thousands
    plain = (frame["kind"] == "bound") & (frame["requires"] == "≥ 0") & (frame["relax_by"] == 0)
    frame = frame[~plain].sort_values(["in_conflict", "relax_by"], ascending=False, kind="stable")
    return frame.rename_axis("name")


def _requires(lower: float, upper: float) -> str:
    if lower == upper:
        return f"= {lower:.6g}"
    parts = [f"≥ {lower:.6g}"] if np.isfinite(lower) else []
    return ", ".join([*parts, *([f"≤ {upper:.6g}"] if np.isfinite(upper) else [])]) or "free"


def _relaxation(program: Program, bounds: np.ndarray, solver: str) -> np.ndarray:
    """Return how much each row, and each bound in ``bounds``, gives way in the cheapest relaxation.

    Minimise Σ (up + down)/size over slacks, size being the row's right-hand side or largest coefficient.
    """
    import pandas as pd
    from scipy.sparse import block_array, csc_array, eye_array

    n, m = program.n_columns, program.n_rows
    at = np.flatnonzero(bounds)
    pick = csc_array((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), n))
    total = m + len(at)
    low = np.concatenate([program.row_lower, program.col_lower[at]])
    high = np.concatenate([program.row_upper, program.col_upper[at]])
    largest = np.zeros(m)
    np.maximum.at(largest, program.A.indices, abs(program.A.data))
    size = np.concatenate([largest, np.ones(len(at))])
    for bound in (low, high):
        size = np.maximum(size, np.where(np.isfinite(bound), abs(bound), 0.0))
    size[size == 0] = 1.0
    slack = eye_array(total)
    matrix = block_array([[block_array([[program.A], [pick]]), slack, -slack]]).tocsc()
    matrix.sort_indices()
    free = bounds.copy()
    axis = (("k", pd.RangeIndex(total)),)
    elastic = Program(
        name=f"{program.name}, elastic",
        sense="min",
        c=np.concatenate([np.zeros(n), 1 / size, 1 / size]),
        offset=0.0,
        A=matrix,
        row_lower=low,
        row_upper=high,
        col_lower=np.concatenate([np.where(free, -np.inf, program.col_lower), np.zeros(2 * total)]),
        col_upper=np.concatenate([np.where(free, np.inf, program.col_upper), np.full(2 * total, np.inf)]),
        integrality=np.zeros(n + 2 * total, dtype=np.uint8),
        rows=(Block("row", axis, 0, total),),
        columns=(
            Block("x", (("j", pd.RangeIndex(n)),), 0, n),
            Block("up", axis, n, n + total),
            Block("down", axis, n + total, n + 2 * total),
        ),
    )
    solution = solve(elastic, solver, Options()).require_optimal()
    assert solution.x is not None
    amount = solution.x[n : n + total] + solution.x[n + total :]
    amount[amount <= VERIFIED * size] = 0.0
    give = np.zeros(m + n)
    give[:m], give[m + at] = amount[:m], amount[m:]
    return give


def _unbounded(program: Program, solver: str) -> pd.DataFrame:
    """Return a direction d with the objective growing: rows and bounds without end in that direction, |d| ≤ 1."""
    import pandas as pd

    def ray(bound: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(bound), 0.0, bound)

    cone = program.replace(
        offset=0.0,
        row_lower=ray(program.row_lower),
        row_upper=ray(program.row_upper),
        col_lower=np.maximum(ray(program.col_lower), -1.0),
        col_upper=np.minimum(ray(program.col_upper), 1.0),
    )
    solution = solve(cone, solver, Options()).require_optimal()
    assert solution.x is not None
    sign = 1.0 if program.sense == "max" else -1.0
    if sign * solution.objective <= SOLVER_TIGHTEST * abs(program.c).max(initial=0.0):
        return pd.DataFrame(columns=["direction", "objective"]).rename_axis("name")
    moving = np.flatnonzero(abs(solution.x) > VERIFIED)
    names = program.column_names
    frame = pd.DataFrame(
        {"direction": solution.x[moving], "objective": program.c[moving] * solution.x[moving]},
        index=pd.Index([names[j] for j in moving], name="name"),
    )
    order = np.argsort(-abs(frame["objective"].to_numpy()), kind="stable")
    return frame.iloc[order]
