"""The reasons why a model has no answer, in its labels: conflicting constraints and their size.

Infeasible: an irreducible set of rows, bounds and integer variables in conflict, by a deletion
filter on any back end, and the smallest relaxation that would make the whole model feasible (an
elastic program: the sum of relative violations is minimised). Unbounded: a direction in which the
objective grows without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from ...errors import ModelError, NoSolutionError, SolverError
from ...models.programs.backends import find_backend, solve
from ...models.programs.options import Options
from ...models.programs.program import Block, Program, finite_size, with_columns, with_rows
from ...models.programs.protocols import Capability
from ...models.programs.rays import farkas, proves_infeasible, proves_unbounded
from ...models.programs.sizes import largest_of
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import HOPELESS, Point, Status, Termination
from ...tolerances import VERIFIED
from .base import reduced_costs
from .highs import Highs, at_point

#: Seconds that it may take to find that no whole numbers fit, and how much longer each question of
#: the deletion filter: without the bounds of an integer it may have no end.
_PATIENCE = 5.0
_TIMES = 10.0
_COLUMNS = ["kind", "requires", "in_conflict", "relax_by"]


def explain(
    program: Program, *, solver: str = "highs", weights: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return why a program has no optimum, as a table in its own names.

    Parameters
    ----------
    program : Program
    solver : str
        Back end; with integers HiGHS, where it has none.
    weights : mapping, optional
        Name of a constraint or variable → what it costs to relax it, relatively; 1 where nothing is
        said, and infinite where nothing may give way.

    Returns
    -------
    DataFrame
        Infeasible: indexed by the name of the constraint or variable, with ``kind`` ("constraint",
        "bound" or "integer"), ``requires`` (what it says), ``in_conflict`` (part of an irreducible
        set that contradicts itself: without any one of them the others can hold, as far as that was
        decided in time) and ``relax_by`` (how much to give way, so that the whole becomes
        feasible). That a variable is at least 0, and no more, goes without saying. Unbounded:
        indexed by variable, with ``direction`` and ``objective`` (growth of the objective for each
        unit). Empty when there is an optimum.

    Raises
    ------
    SolverError
        When the solver can tell neither.
    UnknownNameError
        For a weight of something that there is not.
    ModelError
        For a weight below 0.
    NoSolutionError
        When what has an infinite weight contradicts itself; of logarithms and powers that have no
        optimum over a feasible region.
    """
    for name, weight in (weights or {}).items():
        if not weight >= 0:
            raise ModelError(
                f"the weight of {name!r} is {weight}; expected a number from 0 on, or infinite"
            )
        if name not in {block.name for block in (*program.rows, *program.columns)}:
            program.row_block(name)  # raises, with the nearest names
    integer_solver = solver if Capability.MILP in find_backend(solver).capabilities else "highs"
    relaxed = program.relaxed()
    relaxation = solve(_without_objective(relaxed), solver, Options())
    if relaxation.status.termination is Termination.INFEASIBLE:
        conflict = _conflict(relaxed, solver, relaxation)
        return _infeasible(
            program, integer_solver if program.is_mip else solver, conflict, weights or {}
        )
    if not relaxation.status.is_optimal:
        raise SolverError(
            f"{solver} cannot tell whether {program.name!r} is feasible: {relaxation.status}"
        )
    start_time = perf_counter()
    infeasible = _infeasible_by(program, integer_solver) if program.is_mip else None
    if infeasible is not None:
        conflict = _conflict(
            program, integer_solver, infeasible, _TIMES * (perf_counter() - start_time)
        )
        return _infeasible(program, integer_solver, conflict, weights or {})
    if program.logs is not None:  # the table is of linear programs
        solve(program, solver, Options()).require_optimal()
    return _unbounded(relaxed)


def _infeasible_by(program: Program, solver: str, seconds: float = _PATIENCE) -> Solution | None:
    """Return the answer that no point satisfies a program; None when undecided in time."""
    limited = program.is_mip and "time_limit" in getattr(
        find_backend(solver), "honours", ("time_limit",)
    )
    solution = solve(
        _without_objective(program), solver, Options(time_limit=seconds if limited else None)
    )
    return solution if solution.status.termination is Termination.INFEASIBLE else None


def _without_objective(program: Program) -> Program:
    """Return a program of which every feasible point is an optimum."""
    return program.replace(c=np.zeros(program.n_columns), logs=None)


def _conflict(
    program: Program, solver: str, infeasible: Solution, seconds: float = _PATIENCE
) -> np.ndarray:
    """Return an irreducible conflict as one mask of rows, bounds of columns and integers.

    Blocks are left out as long as nothing fits, then halves of blocks; what cannot be decided in
    time stays. Of an answer with row multipliers only those rows and bounds stay that they need.
    Bounds of 0 are not asked about.
    """
    m = program.n_rows
    n = program.n_columns
    plain = _plain(program)
    left_out = np.concatenate([np.zeros(m + n, dtype=bool), program.integrality == 0])

    def needed(infeasible: Solution, left_out: np.ndarray) -> np.ndarray:
        if infeasible.row_ray is not None:
            left_out = left_out.copy()
            multipliers, prices = farkas(infeasible.program, infeasible.row_ray)
            left_out[np.flatnonzero(~left_out[:m])[multipliers == 0]] = True
            left_out[m : m + n] |= ~plain & (prices == 0)
        return left_out

    left_out = needed(infeasible, left_out)
    waiting = [
        m + k * n + np.arange(block.start, block.stop) for k in (0, 1) for block in program.columns
    ]
    waiting += [np.arange(block.start, block.stop) for block in program.rows]
    restrictive = ~np.concatenate([np.zeros(m, dtype=bool), plain, np.zeros(n, dtype=bool)])
    while waiting:
        candidates = waiting.pop()
        candidates = candidates[~left_out[candidates] & restrictive[candidates]]
        if not candidates.size:
            continue
        trial = left_out.copy()
        trial[candidates] = True
        still_infeasible = _infeasible_by(_without(program, trial), solver, seconds)
        if still_infeasible is not None:
            left_out = needed(still_infeasible, trial)
        elif candidates.size > 1:
            waiting += np.array_split(candidates, 2)
    return np.asarray(~left_out & restrictive)


def _plain(program: Program) -> np.ndarray:
    """Return which columns are at least 0, and no more is said of them. Bool."""
    return np.asarray((program.col_lower == 0) & np.isposinf(program.col_upper))


def _without(program: Program, left_out: np.ndarray) -> Program:
    """Return a program without these rows, bounds of columns and integers."""
    m = program.n_rows
    n = program.n_columns
    rows = ~left_out[:m]
    free = left_out[m : m + n]
    real = left_out[m + n :]
    count = int(rows.sum())
    return program.replace(
        A=program.A.tocsr()[rows].tocsc(),
        row_lower=program.row_lower[rows],
        row_upper=program.row_upper[rows],
        col_lower=np.where(free, -np.inf, program.col_lower),
        col_upper=np.where(free, np.inf, program.col_upper),
        integrality=np.where(real, 0, program.integrality).astype(np.uint8),
        rows=(Block("row", (("row", pd.RangeIndex(count)),), 0, count),),
        levels="",
        switched=np.zeros(0, dtype=np.int64),
    )


def settled(solution: Solution, options: Options) -> Solution:
    """Return an answer with the proof that there is no optimum, which HiGHS finds.

    HiGHS solves the program as it is written.

    "Infeasible" stands with row multipliers (Farkas), "unbounded" with a feasible point and a
    direction in which the objective improves without end. What nothing proves is "infeasible or
    unbounded", what a feasible point refutes is unknown. That no whole numbers fit is the solver's
    word.

    Parameters
    ----------
    solution : Solution
        Checked, and not optimal.
    options : Options
        Of which the time limit is heeded.
    """
    program = solution.program
    status = solution.status
    if not Highs().available()[0]:
        reason = "nothing proves which, without HiGHS"
        settled_already = solution.row_ray is not None or status.termination not in HOPELESS
        return (
            solution
            if settled_already
            else _ended(solution, Termination.INFEASIBLE_OR_UNBOUNDED, reason)
        )
    if solution.row_ray is not None and proves_infeasible(program, solution.row_ray):
        return _ended(
            solution, Termination.INFEASIBLE, "proved by row multipliers", row_ray=solution.row_ray
        )
    relaxed = program.relaxed()
    simplex = Options(method="simplex", time_limit=options.time_limit)
    relaxation = _answer(_without_objective(relaxed), simplex)
    multipliers = next(
        (
            ray
            for ray in _multipliers(relaxed, relaxation, simplex)
            if proves_infeasible(relaxed, ray)
        ),
        None,
    )
    if multipliers is not None:
        return _ended(
            solution, Termination.INFEASIBLE, "proved by row multipliers", row_ray=multipliers
        )
    direction = _direction(relaxed, simplex)
    x = solution.x if solution.is_feasible else None
    if x is None and not program.is_mip:
        of_relaxation = relaxation.checked()
        x = of_relaxation.x if of_relaxation.is_feasible else None
    elif x is None and (direction is not None or status.termination in HOPELESS):
        feasible = (
            Highs()
            .solve(_without_objective(program), Options(time_limit=options.time_limit, scale=False))
            .checked()
        )
        x = feasible.x if feasible.is_feasible else None
    if direction is not None and x is not None:
        reason = "proved by a point and a direction"
        return _ended(solution, Termination.UNBOUNDED, reason, x=x, column_ray=direction)
    if status.termination not in HOPELESS:
        return solution
    if x is not None and direction is None and program.logs is None:
        reason = "refuted: a point is feasible, and no direction without end was found"
        return _ended(solution, Termination.UNKNOWN, reason, x=x)
    low, high = program.whole_bounds()
    crossed = np.flatnonzero(low > high)
    if program.is_mip and crossed.size:
        name = program.column_names[crossed[0]]
        reason = f"no whole number lies between the bounds of {name}"
        return _ended(solution, Termination.INFEASIBLE, reason)
    if program.is_mip and status.termination is Termination.INFEASIBLE:
        return _ended(solution, status.termination, "no whole numbers fit, as the solver says")
    return _ended(solution, Termination.INFEASIBLE_OR_UNBOUNDED, "neither is proved")


def with_duals(solution: Solution) -> Solution:
    """Return a linear program's optimum with duals that prove it, where the solver gave none.

    HiGHS's simplex finds them from the rows and bounds that hold with equality. Where they prove
    nothing, the answer stays as the solver says.
    """
    program = solution.program
    x = solution.x
    is_linear = not program.is_mip and program.logs is None
    if x is None or solution.row_duals is not None or not is_linear or not Highs().available()[0]:
        return solution
    try:
        duals = at_point(program, x).row_duals
    except SolverError:
        duals = None
    if duals is None:
        return solution
    reduced = reduced_costs(program, x, duals)
    message = solution.status.message.removesuffix("; as the solver says")
    status = replace(
        solution.status, dual=Point.OPTIMAL, message=f"{message}; duals by HiGHS's simplex"
    )
    proved = replace(solution, status=status, row_duals=duals, column_duals=reduced)
    return proved if proved.verify().is_optimal else solution


def _answer(program: Program, options: Options) -> Solution:
    """Return what HiGHS answers; unknown where it fails."""
    try:
        return Highs().solve(program, options)
    except SolverError as error:
        return solution_at(program, Termination.UNKNOWN, str(error), "highs", None, None, None)


def _multipliers(program: Program, solution: Solution, options: Options) -> Iterator[np.ndarray]:
    """Yield row multipliers that may prove a linear program infeasible.

    ``solution`` is the simplex's answer.

    Where simplex settles nothing, the prices of the cheapest relaxation prove it: that program has
    an optimum, which interior points find, too.
    """
    if solution.row_ray is not None:
        yield solution.row_ray
    yield from _rows_that_cannot_hold(program)
    if solution.x is None:
        elastic, _ = _elastic(program, np.zeros(program.n_columns, dtype=bool), {})
        for method in ("simplex", "ipm"):
            duals = _answer(elastic, replace(options, method=method)).row_duals
            if duals is not None:
                yield duals


def _rows_that_cannot_hold(program: Program) -> Iterator[np.ndarray]:
    """Yield row multipliers that are 0 but for one row without entries, whose sides exclude 0."""
    empty = np.bincount(program.A.indices, program.A.data != 0, program.n_rows) == 0
    for side in (program.row_lower > 0, -1.0 * (program.row_upper < 0)):
        rows = np.flatnonzero(empty * side)
        if rows.size:
            yield side * (np.arange(program.n_rows) == rows[0])


def _ended(solution: Solution, termination: Termination, reason: str, **fields: Any) -> Solution:
    """Return the answer that a program has no optimum, and why."""
    point = Point.NONE if fields.get("x") is None else Point.FEASIBLE
    status = Status(termination, point, Point.NONE, f"{solution.status.message}; {reason}")
    return replace(
        solution, status=status, **{"x": None, "row_duals": None, "column_duals": None, **fields}
    )


def _infeasible(
    program: Program, solver: str, conflict: np.ndarray, weights: Mapping[str, float]
) -> pd.DataFrame:
    """Return the table of a conflict (a mask of rows, bounds and integers), with a relaxation.

    The relaxation is the cheapest one.
    """
    m = program.n_rows
    n = program.n_columns
    rows = conflict[:m]
    columns = conflict[m : m + n]
    whole = conflict[m + n :]
    low, high = program.whole_bounds()
    try:
        relaxed_by = _relaxation(program, columns | (low > high), solver, weights)
    except NoSolutionError:  # rows that may not give way are in other conflicts, too
        try:
            relaxed_by = _relaxation(program, ~_plain(program), solver, weights)
        except NoSolutionError as error:
            raise NoSolutionError(
                f"what must hold of {program.name!r} contradicts itself; without weights the table "
                "shows a conflict"
            ) from error
    entries = []
    sides = (
        ("constraint", program.rows, program.row_lower, program.row_upper, rows, relaxed_by[:m]),
        ("bound", program.columns, program.col_lower, program.col_upper, columns, relaxed_by[m:]),
        ("integer", program.columns, None, None, whole, np.zeros(n)),
    )
    for kind, blocks, lower, upper, taking_part, amount in sides:
        names = [name for block in blocks for name in block.names()]
        for place in np.flatnonzero(taking_part | (amount > 0)):
            requires = (
                "whole" if lower is None or upper is None else _requires(lower[place], upper[place])
            )
            entries.append(
                (names[place], kind, requires, bool(taking_part[place]), float(amount[place]))
            )
    frame = pd.DataFrame(entries, columns=["name", *_COLUMNS]).set_index("name")
    return frame.sort_values(["in_conflict", "relax_by"], ascending=False, kind="stable")


def _requires(lower: float, upper: float) -> str:
    if lower == upper:
        return f"= {lower:.6g}"
    parts = [f"≥ {lower:.6g}"] if np.isfinite(lower) else []
    return ", ".join([*parts, *([f"≤ {upper:.6g}"] if np.isfinite(upper) else [])]) or "free"


def _relaxation(
    program: Program, bounds: np.ndarray, solver: str, weights: Mapping[str, float]
) -> np.ndarray:
    """Return the amount that each row and bound gives way in the cheapest relaxation.

    The bounds are those of the columns in ``bounds``.
    """
    n = program.n_columns
    m = program.n_rows
    elastic, size = _elastic(program, bounds, weights)
    total = len(size)
    x = solve(elastic, solver, Options()).require_optimal().require_point()
    amount = x[n : n + total] + x[n + total :]
    amount[amount <= VERIFIED * size] = 0.0
    relaxed_by = np.zeros(m + n)
    relaxed_by[:m], relaxed_by[m + np.flatnonzero(bounds)] = amount[:m], amount[m:]
    return relaxed_by


def _elastic(
    program: Program, bounds: np.ndarray, weights: Mapping[str, float]
) -> tuple[Program, np.ndarray]:
    """Return the program whose rows and some bounds give way at a cost, and their sizes.

    The bounds are those of the columns in ``bounds``.

    Minimise Σ weight·(up + down)/size over slacks, size being the row's right-hand side or largest
    coefficient.
    """
    from scipy.sparse import csc_array, eye_array

    n = program.n_columns
    m = program.n_rows
    columns = np.flatnonzero(bounds)
    selection = csc_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), n)
    )
    total = m + len(columns)
    low = np.concatenate([program.row_lower, program.col_lower[columns]])
    high = np.concatenate([program.row_upper, program.col_upper[columns]])
    largest = largest_of(abs(program.A.data), program.A.indices, m)
    size = np.maximum(np.concatenate([largest, np.ones(len(columns))]), finite_size(low, high))
    size[size == 0] = 1.0
    by_block = [
        np.full(len(block), weights.get(block.name, 1.0))
        for block in (*program.rows, *program.columns)
    ]
    weight = np.concatenate([np.zeros(0), *by_block])[np.concatenate([np.arange(m), m + columns])]
    rigid = np.isinf(weight)
    cost = np.where(rigid, 0.0, weight) / size
    slack_limit = np.where(rigid, 0.0, np.inf)
    slack = eye_array(total)
    elastic = program.replace(
        name=f"{program.name}, elastic",
        sense="min",
        c=np.zeros(n),
        offset=0.0,
        col_lower=np.where(bounds, -np.inf, program.col_lower),
        col_upper=np.where(bounds, np.inf, program.col_upper),
        logs=None,
        levels="",
        switched=program.switched[:0],
    )
    elastic = with_rows(elastic, "bound", selection, low[m:], high[m:])
    elastic = with_columns(elastic, "up", cost, 0.0, slack_limit, slack)
    return with_columns(elastic, "down", cost, 0.0, slack_limit, -slack), size


def _direction(program: Program, options: Options) -> np.ndarray | None:
    """Return a direction d, |d| ≤ 1, that improves the objective without end; None without one."""

    def ray(bound: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(bound), 0.0, bound)

    cone = program.replace(
        offset=0.0,
        row_lower=ray(program.row_lower),
        row_upper=ray(program.row_upper),
        col_lower=np.maximum(ray(program.col_lower), -1.0),
        col_upper=np.minimum(ray(program.col_upper), 1.0),
    )
    direction = _answer(cone, options).x
    return direction if direction is not None and proves_unbounded(program, direction) else None


def _unbounded(program: Program) -> pd.DataFrame:
    """Return the direction that improves the objective without end, as a table; or an empty one."""
    direction = _direction(program, Options(method="simplex"))
    if direction is None:
        return pd.DataFrame(columns=["direction", "objective"]).rename_axis("name")
    moving = np.flatnonzero(abs(direction) > VERIFIED)
    names = program.column_names
    frame = pd.DataFrame(
        {"direction": direction[moving], "objective": program.c[moving] * direction[moving]},
        index=pd.Index([names[j] for j in moving], name="name"),
    )
    return frame.iloc[np.argsort(-abs(frame["objective"].to_numpy()), kind="stable")]
