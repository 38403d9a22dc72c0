"""Errors of levels: the gaps of programs, and their effect on the levels of later rounds."""

from __future__ import annotations

import numpy as np

from ...models.programs.program import Program, with_data
from ...models.programs.solution import Solution
from ...tolerances import LEVEL_ROUNDING, ROUNDING


class LevelErrors:
    """By how much levels may be off, from the programs of the rounds; to first order.

    The floors of a round are what earlier rounds gave. A floor that is off by one task moves the
    round's level by the price of that floor, so that errors propagate by a triangular matrix of
    prices. Where floors are off so much that other prices hold, levels may be off by more.

    Attributes
    ----------
    stop_round : ndarray of int, shape (M,)
        The round at whose level each member stopped, −1 before it has.
    upper_bounds : ndarray, shape (M,)
        The level that prices allow each member, by weak duality.
    levels, program_errors : list of float
        Level of each round, and the error of its own program.
    floor_prices : list of ndarray
        Of each round, the price of the floors that members have from each earlier round.
    """

    def __init__(self, members: int) -> None:
        self.stop_round = np.full(members, -1)
        self.upper_bounds = np.full(members, np.inf)
        self.levels: list[float] = []
        self.program_errors: list[float] = []
        self.floor_prices: list[np.ndarray] = []

    def add_round(
        self, level: float, program_error: float, prices: np.ndarray, doubt: float = 0.0
    ) -> None:
        """Add a round: its level, its program's error, and the price of each member's level.

        ``doubt`` is what reduced costs of the wrong sign may be worth.
        """
        stopped = self.stop_round >= 0
        floor_prices = np.bincount(
            self.stop_round[stopped], weights=prices[stopped], minlength=len(self.levels)
        )
        self.floor_prices.append(floor_prices)
        self.levels.append(level)
        self.program_errors.append(program_error)
        excess = np.full(len(prices), np.inf)
        np.divide(program_error + doubt, prices, out=excess, where=prices > 0)
        self.upper_bounds = np.minimum(self.upper_bounds, level + excess)

    def stop(self, members: np.ndarray) -> None:
        """Note which members stop at the level of the last round."""
        self.stop_round[members] = len(self.levels) - 1

    def largest(self, shift: float = 0.0) -> float:
        """Return the largest relative error of a level; levels were raised by a shift."""
        n_rounds = len(self.levels)
        if not n_rounds:
            return 0.0
        errors = np.array(self.program_errors)
        if n_rounds > 1:  # else there is no level to build on
            from scipy.linalg import solve_triangular

            prices = np.eye(n_rounds)
            for k, floor_prices in enumerate(self.floor_prices):
                prices[k, :k] = floor_prices[:k]
            with np.errstate(over="ignore", invalid="ignore"):
                propagation = solve_triangular(
                    prices, np.eye(n_rounds), lower=True, check_finite=False
                )
                errors = abs(propagation) @ errors

        levels = abs(np.array(self.levels) - shift)
        relative_errors = np.zeros(n_rounds)
        np.divide(errors, levels, out=relative_errors, where=levels > LEVEL_ROUNDING * shift)
        largest = relative_errors.max()
        return float(largest) if np.isfinite(largest) else 1.0


def first_order(error: float) -> str:
    """Return an estimate of the relative error of levels in words: no bound, as prices may change.

    >>> first_order(0.024)
    'some 2.4e-02 of themselves (to first order: no bound)'
    """
    return f"some {error:.1e} of themselves (to first order: no bound)"


def row_violations(program: Program, x: np.ndarray) -> np.ndarray:
    """Return by how much a point violates each row; 0 where it does not."""
    activity = program.A @ x
    violation = np.maximum(program.row_lower - activity, activity - program.row_upper)
    return np.asarray(np.maximum(violation, 0.0))


def program_error(
    solution: Solution, gap: float, rows: np.ndarray, floors: np.ndarray, lowered: np.ndarray
) -> float:
    """Return the error of the level of a program with exact floors, to first order.

    That of its point and prices, and the duality gap.
    """
    x = solution.x
    row_duals = solution.row_duals
    assert x is not None and row_duals is not None
    error = error_at_prices(
        solution.program, x, abs(row_duals), rows, lowered + ROUNDING * abs(floors)
    )
    return error + gap * abs(solution.objective)


def error_at_prices(
    program: Program, x: np.ndarray, prices: np.ndarray, rows: np.ndarray, of_floors: np.ndarray
) -> float:
    """Return what errors are worth: violations of rows, their rounding, and errors of floors."""
    violations = row_violations(program, x)
    violations += ROUNDING * (with_data(program.A, abs(program.A.data)) @ abs(x))
    return float(prices @ violations + prices[rows] @ of_floors)
