"""A weighted sum of logarithms and powers on any LP solver, by tangents and a certified gap.

Each argument z of a term is cut into segments: on segment s, the term is replaced from above by its
tangent at a point p_s, so that z = Σ_s u_s with 0 ≤ u_s ≤ (length of segment s) and the objective
grows by u_s·p_s^(−α): u_s/p_s for a logarithm. The linear program bounds the true optimum from
above, its point gives a value from below. The grid of tangents is then drawn around the point
sixteen times finer (or wider again, where the point lies at its edge), until the two meet. Each
program is solved afresh, because its segments need other scales than the last one's.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ...errors import NotConvergedError, SolverError, UnsupportedError
from ...models.programs.certificate import verify
from ...models.programs.options import Options
from ...models.programs.program import Program, Sense, with_columns, with_rows
from ...models.programs.protocols import Backend
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED, CONVEX_POINT, FEASIBILITY, SOLVER_TIGHTEST, VERIFIED
from .base import reduced_costs, sign

#: Tangents of one logarithm; programs solved before giving up (10 to 15 are usual); first and
#: widest half-width of the grid, in logarithms.
_POINTS = 32
MOST_PROGRAMS = 80
_WIDEST = 12.0
#: Grids are never finer than the solvers' own tolerance.
_FINEST = SOLVER_TIGHTEST


def solve_with_logs(backend: Backend, program: Program, options: Options) -> Solution:
    """Return the solution of a program whose objective has logarithms, on a back end that has none.

    Raises
    ------
    UnsupportedError
        When a variable is integer.
    NotConvergedError
        When the gap does not close; the message gives it.
    """
    logs = program.logs
    assert logs is not None
    if program.is_mip:
        raise UnsupportedError(
            f"{program.name!r}: tangents of logarithms are for continuous variables"
        )
    start_time = perf_counter()
    first = _positive_point(backend, program, options)
    if isinstance(first, Solution):
        return first
    options = options.tightened(backend)
    widest = _WIDEST / np.maximum(logs.alpha, 1.0)
    center = np.log(first)
    width = widest
    spent = 0.0
    best = -np.inf
    bound = np.inf
    scale = 1.0
    candidates: list[
        tuple[float, float, Solution]
    ] = []  # error of the optimality conditions, value, answer
    for step in range(1, MOST_PROGRAMS + 1):
        if options.time_limit is not None and perf_counter() - start_time >= options.time_limit:
            return _stopped(
                program, backend, _best(candidates), Termination.TIME_LIMIT, spent, step
            )
        grid = np.exp(center[:, None] + width[:, None] * np.linspace(-1, 1, _POINTS))
        kinks, segmented = _segmented(program, grid)
        try:
            solution = backend.solve(segmented, options)
        except SolverError:
            if not candidates:  # what the back end does not support it says at the first
                raise
            break  # segments finer than the solver can bear: what was found before may do
        spent += solution.times.get("solve", 0.0)
        if not solution.status.is_optimal or solution.x is None:
            if candidates and bound - best <= VERIFIED * scale:
                break  # the last digits are beyond the solver
            return _stopped(
                program, backend, _best(candidates), solution.status.termination, spent, step
            )
        x = solution.x[: program.n_columns]
        duals = None if solution.row_duals is None else solution.row_duals[: program.n_rows]
        z = logs.arguments(x)
        finer = np.maximum(4 * width / (_POINTS - 1), _FINEST)
        center = np.log(np.clip(z, grid[:, 0], grid[:, -1]))
        if not (z > 0).all():
            if candidates:
                break  # so short are the segments now that the solver takes them for nothing
            # below the grid, or worth too little beside the others for the solver to see
            width = np.where(z <= kinks[:, 1], widest, finer)
            continue
        constant = logs.value(grid[:, 0]) - float(logs.slopes(grid[:, 0]) @ grid[:, 0])
        scale = float(abs(logs.slopes(z) @ z))
        bound = min(bound, -sign(program) * (solution.objective + constant))
        value = -sign(program) * program.objective_value(x)
        best = max(best, value)
        proof = verify(program, x, duals)
        error = max(proof.primal_residual, proof.gap or 0.0, proof.dual_residual or 0.0)
        candidates.append((error, value, _final(program, backend, x, duals, spent, step)))
        if bound - value <= ACCEPTED * scale and error <= FEASIBILITY:
            return candidates[-1][2]
        if (width <= _FINEST).all():
            break
        edge = (z <= kinks[:, 1]) | (z >= kinks[:, -2])
        width = np.where(edge & (width > _FINEST), np.minimum(4 * width, widest), finer)
    return _last_digits(program, backend, candidates, bound, best, scale, step)


def _last_digits(
    program: Program,
    backend: Backend,
    candidates: list[tuple[float, float, Solution]],
    bound: float,
    best: float,
    scale: float,
    programs: int,
) -> Solution:
    """Return the answer of the least error where the gap almost closed; else raise SolverError."""
    good = [
        entry
        for entry in candidates
        if bound - entry[1] <= VERIFIED * scale and entry[0] <= CONVEX_POINT
    ]
    if good:
        return min(good, key=lambda entry: entry[0])[2]
    reason = "what some terms are worth is below the tolerance of the solver"
    if candidates:
        error = min(error for error, _, _ in candidates)
        reason = (
            f"a relative gap of {(bound - best) / scale:.1e} and optimality conditions off by "
            f"{error:.1e}"
        )
    raise NotConvergedError(
        f"{backend.name}: tangents of {program.name!r} stopped after {programs} programs: {reason}; "
        "use a back end with "
        "logarithms and powers (solver='interior-point' or 'cvxpy:CLARABEL')"
    )


def _best(candidates: list[tuple[float, float, Solution]]) -> Solution | None:
    """Return the answer of the largest value."""
    return max(candidates, key=lambda entry: entry[1])[2] if candidates else None


def _segmented(program: Program, grid: np.ndarray) -> tuple[np.ndarray, Program]:
    """Return the kinks between the tangents at ``grid`` (logs × points), and their program.

    The columns of the linear program are segments.

    Rows A·x + constant = Σ_s u_s for each logarithm, columns u within the length of their segment.
    """
    from scipy.sparse import csc_array

    logs = program.logs
    assert logs is not None
    kinks = grid[:, :-1] * _meeting(np.diff(np.log(grid), axis=1), logs.alpha[:, None])
    ends = np.column_stack([np.zeros(len(grid)), kinks, np.full(len(grid), np.inf)])
    lengths = np.diff(ends, axis=1).reshape(-1)
    costs = np.concatenate(
        [program.c, (logs.weights[:, None] * grid ** -logs.alpha[:, None]).reshape(-1)]
    )
    count = len(grid)
    size = len(lengths)
    of = np.repeat(np.arange(count), _POINTS)  # the logarithm that a segment belongs to
    segments = csc_array((-np.ones(size), of, np.arange(size + 1)), shape=(count, size))
    return kinks, _extended(
        program, logs.A, segments, -logs.constant, costs, lengths, program.sense
    )


def _meeting(steps: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return where the tangents at p and at p·exp(step) meet, as a multiple of p.

    The slope is p^(−α); the tangent's value at 0 is α/(1−α)·p^(1−α), log p − 1 at α = 1.
    """
    power = np.where(alpha == 1, 1.0, 1.0 - alpha)
    rise = np.where(alpha == 1, steps, np.expm1(power * steps) / power)
    return np.asarray(rise / (-np.expm1(-alpha * steps) / alpha))


def _positive_point(backend: Backend, program: Program, options: Options) -> np.ndarray | Solution:
    """Return arguments of the logs at a feasible point, all positive; or a failed Solution.

    One linear program: maximise s, each argument being at least s times its own size.
    """
    from scipy.sparse import csc_array

    logs = program.logs
    assert logs is not None
    size = np.asarray(
        abs(logs.A).max(axis=1).todense() if logs.A.nnz else np.zeros(len(logs.weights))
    ).reshape(-1)
    size = np.where(size > 0, size, 1.0)
    costs = np.r_[np.zeros(program.n_columns), 1.0]
    auxiliary = _extended(
        program,
        logs.A,
        csc_array(-size[:, None]),
        -logs.constant,
        costs,
        np.ones(1),
        "max",
        equal=False,
    )
    solution = backend.solve(auxiliary, options)
    if not solution.status.is_optimal or solution.x is None:
        return _stopped(program, backend, None, solution.status.termination, 0.0, 1)
    z = np.asarray(logs.A @ solution.x[: program.n_columns] + logs.constant)
    if not (z > 0).all():
        return _stopped(program, backend, None, Termination.INFEASIBLE, 0.0, 1)  # −∞ everywhere
    return z


def _extended(
    program: Program,
    rows: Any,
    new_columns: Any,
    bound: np.ndarray,
    costs: np.ndarray,
    upper: np.ndarray,
    sense: Sense,
    equal: bool = True,
) -> Program:
    """Return the program with new columns in [0, upper] and new rows.

    The rows are ``rows·x + new_columns·new`` = ``bound``, or ≥ it.
    """
    from scipy.sparse import hstack

    linear = program.replace(c=costs[: program.n_columns], sense=sense, logs=None, levels="")
    wide = with_columns(linear, "segment", costs[program.n_columns :], 0.0, upper)
    return with_rows(
        wide, "argument", hstack([rows, new_columns]), bound, bound if equal else np.inf
    )


def _final(
    program: Program,
    backend: Backend,
    x: np.ndarray,
    duals: np.ndarray | None,
    seconds: float,
    programs: int,
) -> Solution:
    return solution_at(
        program,
        Termination.OPTIMAL,
        f"{programs} linear programs with tangents",
        backend.name,
        x,
        duals,
        None if duals is None else reduced_costs(program, x, duals),
        times={"solve": seconds},
        iterations={"programs": programs},
        method="tangents",
    )


def _stopped(
    program: Program,
    backend: Backend,
    last: Solution | None,
    termination: Termination,
    seconds: float,
    programs: int,
) -> Solution:
    """Return the best feasible point when the series ends early, never called optimal."""
    x = None if last is None else last.x
    logs = program.logs
    bounded = logs is not None and bool((logs.alpha > 1).all()) and not program.c.any()
    if termination is Termination.OPTIMAL or (bounded and termination is Termination.UNBOUNDED):
        termination = Termination.UNKNOWN
    message = f"stopped after {programs} linear programs with tangents: {termination.value}"
    return solution_at(
        program,
        termination,
        message,
        backend.name,
        x,
        None,
        None,
        times={"solve": seconds},
        method="tangents",
    )
