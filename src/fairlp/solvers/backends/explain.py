"""Why a model has no answer, in its own labels: which constraints contradict each other, and by how much.

Infeasible: an irreducible set of rows and bounds in conflict (HiGHS's IIS), and the smallest relaxation that would make
the whole model feasible (an elastic program: the sum of relative violations is minimised). Where only the whole numbers
do not fit, the set is found by a deletion filter. Unbounded: a direction in which the objective grows without end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SolverError
from ...models.programs.backends import solve
from ...models.programs.certificate import proves_infeasible, proves_unbounded
from ...models.programs.program import Block, Program
from ...models.programs.solution import HOPELESS, Options, Point, Solution, Status, Termination
from ...tolerances import VERIFIED
from .highs import Highs

if TYPE_CHECKING:
    import pandas as pd

#: Seconds that a search for whole numbers may take.
_PATIENCE = 5.0
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
    relaxed = program.relaxed()
    feasible = relaxed.replace(c=np.zeros(program.n_columns))
    status = solve(feasible, solver, Options()).status
    if status.termination is Termination.INFEASIBLE:
        return _infeasible(relaxed, solver, *Highs(method="simplex").session(relaxed, Options()).conflict())
    if not status.is_optimal:
        raise SolverError(f"{solver} cannot tell whether {program.name!r} is feasible: {status}")
    if program.is_mip and _fits_no_whole_numbers(program):
        return _infeasible(program, "highs", *_deletion_filter(program))
    return _unbounded(relaxed)


def _fits_no_whole_numbers(program: Program) -> bool:
    whole = program.replace(c=np.zeros(program.n_columns), logs=None)
    return Highs().solve(whole, Options(time_limit=_PATIENCE)).status.termination is Termination.INFEASIBLE


def _deletion_filter(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns (whose bounds matter) without which some whole numbers fit, as masks.

    Halves are left out as long as nothing fits; what cannot be decided in time stays.
    """
    gone = np.zeros(program.n_rows + program.n_columns, dtype=bool)

    def without(gone: np.ndarray) -> Program:
        parts = {"row": gone[: program.n_rows], "col": gone[program.n_rows :]}
        ends = {"lower": -np.inf, "upper": np.inf}
        return program.replace(
            **{
                f"{kind}_{side}": np.where(part, end, getattr(program, f"{kind}_{side}"))
                for kind, part in parts.items()
                for side, end in ends.items()
            }
        )

    waiting = [np.arange(len(gone))]
    while waiting:
        part = waiting.pop()
        trial = gone.copy()
        trial[part] = True
        if _fits_no_whole_numbers(without(trial)):
            gone = trial
        elif len(part) > 1:
            waiting += np.array_split(part, 2)
    return ~gone[: program.n_rows], ~gone[program.n_rows :]


def settled(solution: Solution, options: Options) -> Solution:
    """Return an answer with what proves that there is no optimum, found by HiGHS in the program as it is written.

    "Infeasible" stands with row multipliers (Farkas), "unbounded" with a feasible point and a direction in which the
    objective improves without end. What nothing proves is "infeasible or unbounded", what a feasible point refutes is
    unknown. That no whole numbers fit is the solver's word.

    Parameters
    ----------
    solution : Solution
        Checked, and not optimal.
    options : Options
        Of which the time limit is heeded.
    """
    program, said = solution.program, solution.status
    if not Highs().available()[0]:
        words = "nothing proves which, without HiGHS"
        known = solution.row_ray is not None or said.termination not in HOPELESS
        return solution if known else _ended(solution, Termination.INFEASIBLE_OR_UNBOUNDED, words)
    relaxed, ask = program.relaxed(), Options(method="simplex", time_limit=options.time_limit)
    found = Highs().solve(relaxed.replace(c=np.zeros(program.n_columns)), ask)
    rays = (solution.row_ray, found.row_ray, *_rows_that_cannot_hold(relaxed))
    multipliers = next((ray for ray in rays if ray is not None and proves_infeasible(relaxed, ray)), None)
    if multipliers is not None:
        return _ended(solution, Termination.INFEASIBLE, "proved by row multipliers", row_ray=multipliers)
    direction = _direction(relaxed, ask)
    if (
        program.is_mip
        and solution.x is None
        and (direction is not None or said.termination is not Termination.INFEASIBLE)
    ):
        whole = program.replace(c=np.zeros(program.n_columns), logs=None)
        found = Highs().solve(whole, Options(time_limit=options.time_limit))
    x = solution.x if solution.x is not None else found.checked().x
    if direction is not None and x is not None:
        words = "proved by a point and a direction"
        return _ended(solution, Termination.UNBOUNDED, words, x=x, column_ray=direction)
    if said.termination not in HOPELESS:
        return solution
    if program.is_mip and said.termination is Termination.INFEASIBLE:
        return _ended(solution, said.termination, "no whole numbers fit, by the solver's word")
    if x is not None and direction is None and program.logs is None:
        words = "refuted: a point is feasible, and no direction without end was found"
        return _ended(solution, Termination.UNKNOWN, words)
    return _ended(solution, Termination.INFEASIBLE_OR_UNBOUNDED, "neither is proved")


def _rows_that_cannot_hold(program: Program) -> Iterator[np.ndarray]:
    """Yield row multipliers that are 0 but for one row without entries, whose sides exclude 0."""
    empty = np.bincount(program.A.indices, program.A.data != 0, program.n_rows) == 0
    for side in (program.row_lower > 0, -1.0 * (program.row_upper < 0)):
        at = np.flatnonzero(empty * side)
        if at.size:
            yield side * (np.arange(program.n_rows) == at[0])


def _ended(solution: Solution, termination: Termination, words: str, **parts: Any) -> Solution:
    """Return the answer that a program has no optimum, and why."""
    there = Point.NONE if parts.get("x") is None else Point.FEASIBLE
    status = Status(termination, there, Point.NONE, f"{solution.status.message}; {words}")
    return replace(solution, status=status, **{"x": None, "row_duals": None, "column_duals": None, **parts})


def _infeasible(program: Program, solver: str, rows: np.ndarray, columns: np.ndarray) -> pd.DataFrame:
    """Return the table of a conflict of rows and bounds of columns (masks), and of the cheapest relaxation."""
    import pandas as pd

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
        integrality=np.append(program.integrality, np.zeros(2 * total, dtype=np.uint8)),
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


def _direction(program: Program, options: Options) -> np.ndarray | None:
    """Return a direction d, |d| ≤ 1, in which the objective improves and no row or bound ends; None without one."""

    def ray(bound: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(bound), 0.0, bound)

    cone = program.replace(
        offset=0.0,
        row_lower=ray(program.row_lower),
        row_upper=ray(program.row_upper),
        col_lower=np.maximum(ray(program.col_lower), -1.0),
        col_upper=np.minimum(ray(program.col_upper), 1.0),
    )
    found = Highs().solve(cone, options).x
    return found if found is not None and proves_unbounded(program, found) else None


def _unbounded(program: Program) -> pd.DataFrame:
    """Return the direction in which the objective improves without end, as a table; empty without one."""
    import pandas as pd

    direction = _direction(program, Options(method="simplex"))
    if direction is None:
        return pd.DataFrame(columns=["direction", "objective"]).rename_axis("name")
    moving = np.flatnonzero(abs(direction) > VERIFIED)
    names = program.column_names
    frame = pd.DataFrame(
        {"direction": direction[moving], "objective": program.c[moving] * direction[moving]},
        index=pd.Index([names[j] for j in moving], name="name"),
    )
    order = np.argsort(-abs(frame["objective"].to_numpy()), kind="stable")
    return frame.iloc[order]
