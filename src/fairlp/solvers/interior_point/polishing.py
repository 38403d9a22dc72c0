"""The last digits of a concave optimum: Newton's method on columns in use and full rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...blas import blas_threads
from ...models.programs.certificate import verify
from ...models.programs.program import LogTerms, Program
from ...tolerances import DOUBTS, SETTLED, SOLVER_TIGHTEST

#: Points of more unknowns are left as they are: least squares cost their cube.
MOST_UNKNOWNS = 600
#: Newton's steps.
_STEPS = 8


def polished(program: Program, x: np.ndarray, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return point and duals to the last digits, or as they are where Newton's method fails.

    Parameters
    ----------
    program : Program
        A maximum of logarithms and powers of columns of their own, all at least 0, with rows ``≤``
        only; others are left as they are.
    x, duals : ndarray
        Near the optimum; duals ∂objective/∂right-hand side.
    """
    logs = program.logs
    if logs is None or not _suits(program, logs) or not (logs.arguments(x) > 0).all():
        return x, duals
    # numbers beyond floats are of no optimum: the point stays as it was
    with blas_threads(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        system = _System(program, logs)
        prices = system.with_limits(x, duals)
        evidence = system.evidence(x, prices)
        if evidence.is_clear:
            return x, duals
        gap = verify(program, x, duals).gap or 0.0
        for doubt in DOUBTS:
            solution = newton(system, evidence.active(doubt), x, prices)
            if solution is None:
                continue
            point, row_duals = solution[0], solution[1][: len(duals)]
            after = verify(program, point, row_duals)
            error = max(after.gap or 0.0, after.dual_residual or 0.0)
            if after.is_optimal and error <= gap:
                return point, row_duals
    return x, duals


def newton(
    system: _System, active: tuple[np.ndarray, np.ndarray], x: np.ndarray, prices: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return point and prices by Newton's method; None where it fails, or takes too long."""
    if sum(map(len, active)) > MOST_UNKNOWNS:
        return None
    solution = system.solve(*active, x, prices)
    if solution is None:
        return None
    point, row_prices = solution
    return np.maximum(point, 0.0), np.maximum(row_prices, 0.0)


def _suits(program: Program, logs: LogTerms) -> bool:
    """Whether it is a maximum of increasing functions of disjoint columns, under upper bounds."""
    if program.sense != "max" or program.c.any() or logs.constant.any():
        return False
    columns_of_their_own = len(np.unique(logs.A.indices)) == logs.A.nnz
    if not columns_of_their_own or not (logs.A.data > 0).all() or not (logs.weights > 0).all():
        return False
    if program.col_lower.any() or np.isfinite(program.row_lower).any():
        return False
    # no user runs where a resource is lacking: those columns are fixed at 0, or not there
    empty_rows = program.A[np.flatnonzero(program.row_upper <= 0)]
    return not empty_rows[:, np.flatnonzero(program.col_upper > 0)].nnz


@dataclass(frozen=True)
class _Units:
    """Units at a point, of columns and of rows.

    Attributes
    ----------
    gradient : ndarray
    column : ndarray
        The total of the column's user, in units of the column.
    price : ndarray
        The price of the row at which it would take the worth of all tasks.
    """

    gradient: np.ndarray
    column: np.ndarray
    price: np.ndarray


@dataclass(frozen=True)
class _Evidence:
    """What a point nearby says of which columns are in use, and which rows are full.

    Attributes
    ----------
    fraction : ndarray
        The part of each column in its user's total.
    loss : ndarray
        The part of its worth that each column loses.
    price, slack : ndarray
        Of each row, in its own units.
    """

    fraction: np.ndarray
    loss: np.ndarray
    price: np.ndarray
    slack: np.ndarray

    @property
    def is_clear(self) -> bool:
        """Whether of each pair one number is none, so that the point has its last digits."""
        unclear = np.concatenate(
            [np.minimum(self.fraction, self.loss), np.minimum(self.slack, self.price)]
        )
        return bool(unclear.max(initial=0.0) <= SOLVER_TIGHTEST)

    def active(self, doubt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns in use and the full rows.

        A column is in use when its part exceeds its loss times ``doubt``; a row is full when its
        price exceeds its slack.
        """
        is_used = self.fraction > doubt * self.loss
        return np.flatnonzero(is_used), np.flatnonzero(self.price > self.slack)


class _System:
    """The conditions of the optimum on columns that stand in the objective, with limits as rows."""

    def __init__(self, program: Program, logs: LogTerms) -> None:
        self.logs = logs
        self.n_columns = program.n_columns
        in_terms = logs.A.indices
        self.columns = np.unique(in_terms[program.col_upper[in_terms] > 0])
        limits = program.col_upper[self.columns]
        self.limited = np.flatnonzero(np.isfinite(limits))
        limit_rows = sp.eye_array(len(self.columns), format="csr")[self.limited]
        self.A = sp.vstack([program.A[:, self.columns], limit_rows], format="csr")

        is_bound = np.isfinite(program.row_upper) & (program.row_upper > 0)
        self.is_bound = np.concatenate([is_bound, np.ones(len(self.limited), dtype=bool)])
        upper = np.concatenate([program.row_upper, limits[self.limited]])
        self.bound = np.where(self.is_bound, upper, 1.0)
        self.L = logs.A[:, self.columns].tocsc()

    def with_limits(self, x: np.ndarray, duals: np.ndarray) -> np.ndarray:
        """Return the prices of rows and limits; of limits the gains of columns beyond costs."""
        gain = self.units(x).gradient - self.A[: len(duals)].T @ duals
        return np.concatenate([duals, np.maximum(gain[self.limited], 0.0)])

    def units(self, x: np.ndarray) -> _Units:
        """Return the units at a point."""
        arguments = self.logs.arguments(x)
        slopes = self.logs.slopes(arguments)
        return _Units(
            gradient=self.L.T @ slopes,
            column=1.0 / (self.L.T @ (1.0 / arguments)),
            price=float(slopes @ arguments) / self.bound,
        )

    def evidence(self, x: np.ndarray, prices: np.ndarray) -> _Evidence:
        """Return what a point nearby says of columns in use and full rows."""
        units = self.units(x)
        fraction = x[self.columns] / units.column
        loss = abs((self.A.T @ prices) / units.gradient - 1.0)
        usage = (self.A @ x[self.columns]) / self.bound
        slack = np.where(self.is_bound, abs(1.0 - usage), 1.0)
        return _Evidence(fraction, loss, prices / units.price, slack)

    def solve(
        self, used: np.ndarray, full: np.ndarray, x: np.ndarray, prices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return point and prices of these columns and rows; None where Newton's method fails."""
        from scipy.linalg import lstsq

        columns = self.columns[used]
        rows = self.A[full][:, used].toarray()
        point = np.zeros(self.n_columns)
        row_prices = np.zeros(len(prices))
        point[columns], row_prices[full] = x[columns], prices[full]
        lowest_error = np.inf
        for _ in range(_STEPS):
            if not (self.logs.arguments(point) > 0).all():
                return None
            units = self.units(point)
            gradient = units.gradient[used]
            column_unit = units.column[used]
            price_unit = units.price[full]
            stationarity = (rows.T @ row_prices[full]) / gradient - 1.0
            slack = 1.0 - rows @ point[columns] / self.bound[full]
            residual = np.concatenate([stationarity, slack])
            error = float(abs(residual).max(initial=0.0))
            if error >= lowest_error / 2:
                break
            lowest_error = error

            by_price = -(rows * price_unit[:, None]).T / gradient[:, None]
            by_column = rows * column_unit / self.bound[full][:, None]
            nothing = np.zeros((len(full), len(full)))
            matrix = np.block(
                [[self._curvature(point, used, units), by_price], [by_column, nothing]]
            )
            step = lstsq(matrix, residual, cond=SETTLED, lapack_driver="gelsy", check_finite=False)[
                0
            ]
            point[columns] += column_unit * step[: len(used)]
            row_prices[full] += price_unit * step[len(used) :]
        return (point, row_prices) if lowest_error <= SETTLED else None

    def _curvature(self, x: np.ndarray, used: np.ndarray, units: _Units) -> np.ndarray:
        """Return how the gradient changes with the columns, each in its unit."""
        arguments = self.logs.arguments(x)
        scaled = self.L[:, used].toarray() * units.column[used]
        curvature = -self.logs.alpha * self.logs.slopes(arguments) / arguments
        size = (units.gradient * units.column)[used][:, None]
        changes: np.ndarray = (scaled.T * curvature) @ scaled / size
        return changes
