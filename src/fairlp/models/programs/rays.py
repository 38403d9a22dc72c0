"""Proofs that a program has no optimum: an endless direction, and multipliers of rows (Farkas)."""

from __future__ import annotations

import numpy as np

from ...tolerances import FEASIBILITY, SOLVER_TIGHTEST, VERIFIED
from .program import Program
from .sizes import implied_reach, largest_of, sign_errors, units_of_still_rows


def proves_unbounded(program: Program, direction: np.ndarray) -> bool:
    """Whether the objective improves in a direction that no row or bound ends; O(nonzeros).

    Together with a feasible point it proves that there is no optimum. Of a logarithm or power in
    the objective nothing is proved.
    """
    if program.logs is not None or not np.isfinite(direction).all():
        return False
    sign = 1.0 if program.sense == "min" else -1.0
    steps = program.A @ direction
    terms = abs(program.A) @ abs(direction)
    is_ray = all(
        (sides * step <= SOLVER_TIGHTEST * size)[np.isfinite(bound)].all()
        for step, size, lower, upper in (
            (steps, terms, program.row_lower, program.row_upper),
            (direction, np.zeros_like(direction), program.col_lower, program.col_upper),
        )
        for sides, bound in ((-1.0, lower), (1.0, upper))
    )
    return is_ray and bool(
        -sign * (program.c @ direction) > VERIFIED * (abs(program.c) @ abs(direction))
    )


def proves_infeasible(program: Program, multipliers: np.ndarray) -> bool:
    """Whether row multipliers y prove that no point satisfies all rows and bounds (Farkas).

    The rows ask for y·Ax of at least the smallest that the right-hand sides allow; the bounds of
    the variables allow less. That must be more than what violations of the rows within
    ``FEASIBILITY`` of their unit are worth: large multipliers that cancel each other multiply the
    rounding of the coefficients, too, and prove nothing. O(nonzeros).
    """
    multipliers, price = farkas(program, multipliers)
    with np.errstate(invalid="ignore"):
        largest_activity = np.where(price > 0, price * program.col_upper, price * program.col_lower)
        least_sides = np.where(
            multipliers > 0, multipliers * program.row_lower, multipliers * program.row_upper
        )
    # a bound that is not there makes them +∞ and −∞, which prove nothing
    largest_activity = largest_activity[price != 0]
    least_sides = least_sides[multipliers != 0]
    size = float(abs(largest_activity).sum() + abs(least_sides).sum())
    reach = np.repeat(np.minimum(implied_reach(program), 1.0), np.diff(program.A.indptr))
    unit = largest_of(abs(program.A.data) * reach, program.A.indices, program.n_rows)
    unit = np.maximum(unit, units_of_still_rows(program))
    within_tolerance = FEASIBILITY * float(abs(multipliers) @ unit)
    beyond = float(least_sides.sum() - largest_activity.sum())
    return beyond > max(VERIFIED * size, within_tolerance)


def farkas(program: Program, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers of rows with that side, and Aᵀ times them.

    Both are 0 where they are rounding noise.
    """
    multipliers = np.asarray(multipliers, dtype=float)
    y = np.where(
        sign_errors(multipliers, program.row_lower, program.row_upper) > 0, 0.0, multipliers
    )
    price = program.A.T @ y
    noise = SOLVER_TIGHTEST * (abs(program.A).T @ abs(y))
    return y, np.where(abs(price) <= noise, 0.0, price)
