"""Optima of concave models, proved at any tasks: by duals of the model's rows, for every user.

The certificate of a Program measures its gap beside the whole objective. Where users' terms are
many powers of ten apart (large α, task limits far below what others have), users who count little
may have wrong tasks, and no gap shows it. So the gap must be small beside every single term.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import SolverError
from ..models.programs.certificate import verify, why_not
from ..models.programs.program import Program
from ..models.programs.proof import Proof
from ..tolerances import NOISE, ROUNDING, SOLVER_TIGHTEST, VERIFIED

NOTHING_RUNS = "optimal, proved (no user can run anything)"


def columns_at(program: Program, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the columns of a program at values by the names of its variables."""
    x = np.zeros(program.n_columns)
    for block in program.columns:
        x[block.slice] = np.ravel(values[block.name])[block.flat]
    return x


def prove_columns(program: Program, x: np.ndarray, prices: np.ndarray | None = None) -> Proof:
    """Return whether columns are a concave program's optimum, by prices or a linear program's duals.

    The linear program has the program's rows, and as costs the gradient of the objective at the
    columns. They are optimal if it gains nothing. Where prices prove that, none is solved: what a
    column is worth beyond them is the dual of its row ``time``, where it has one.

    Parameters
    ----------
    program : Program
        With prices: with rows ``capacity``, and perhaps ``time`` with entries of 1.
    x : ndarray
    prices : ndarray, optional
        Of the rows ``capacity``, in their order.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        gradient = program.gradient(x)
    if not np.isfinite(gradient).all():
        return Proof(False, "not proved: more tasks are worth more than floats can hold", np.inf)
    if prices is not None:
        proof = proof_of_columns(program, x, _duals_beside(program, gradient, prices), VERIFIED)
        if proof:
            return proof
    try:
        linear = program.replace(c=gradient, logs=None)
        solution = linear.solve(dual_tolerance=SOLVER_TIGHTEST).require_optimal()
    except SolverError as error:
        return Proof(False, f"not proved: {error}", np.inf)
    assert solution.row_duals is not None
    return proof_of_columns(program, x, solution.row_duals, VERIFIED)


def _duals_beside(program: Program, gradient: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the duals of all rows: prices of capacities, and what is beyond them of time."""
    duals = np.zeros(program.n_rows)
    duals[program.row_block("capacity").slice] = prices
    beyond = gradient - program.A.T @ duals
    for block in program.rows:
        if block.name == "time":
            entries = program.A[block.slice].tocoo()
            time = np.zeros(len(block))
            np.maximum.at(time, entries.row, beyond[entries.col])
            duals[block.slice] = time
    return duals


def proof_of_columns(
    program: Program,
    x: np.ndarray,
    row_duals: np.ndarray,
    accepted: float,
    better: np.ndarray | None = None,
) -> Proof:
    """Return what duals of the rows prove of columns, and of each user's part.

    ``accepted`` is the largest residual and gap of the whole; ``better`` a point that may show that
    the columns are no optimum.
    """
    certificate = verify(program, x, row_duals)
    gap = np.inf if certificate.gap is None else certificate.gap
    if not certificate.is_within(accepted):
        if better is None:
            return Proof(False, f"not proved: {certificate}", gap)
        return Proof(False, why_not(program, x, certificate, better), gap)

    if program.logs is None:
        return Proof(True, f"optimal, proved ({certificate})", gap)
    # prices that are too low by ε beside what columns are worth prove a bound that is higher by 2ε
    error = gap + certificate.primal_residual + 2 * (certificate.dual_residual or 0.0) + ROUNDING
    smallest = smallest_part(program, x)
    if not error <= NOISE * smallest:
        message = (
            f"not proved: the whole objective is ({certificate}), but some user's tasks are only "
            f"{smallest:.1e} of it, too little beside the others to be told apart from its gap"
        )
        return Proof(False, message, gap)
    message = f"{certificate}; every user counts for at least {smallest:.1e} of the whole"
    return Proof(True, f"optimal, proved ({message})", gap)


def smallest_part(program: Program, x: np.ndarray) -> float:
    """Return the smallest user's part of the objective's terms.

    The worth of tasks is the slope of their term times the tasks. If the objective is ε below its
    maximum, as a part of the worth of all, a user whose part is f has its tasks within √(2ε/(αf))
    of right.
    """
    logs = program.logs
    assert logs is not None
    arguments = logs.arguments(x)
    values = (logs.slopes(arguments) * arguments)[logs.weights > 0]
    return float(values.min() / values.sum())
