"""Residuals and duality gap of an answer, from the Program alone, without a solver's word.

A certificate only measures. :meth:`.Solution.checked` withdraws a point or a claim that it does not
bear out, :meth:`.Solution.certify` returns the verdict, and the rounds of a leximin
(``fairlp.solvers.leximin``) solve a program again that is not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from math import fsum
from typing import NamedTuple

import numpy as np

from ...tolerances import ROUNDING, VERIFIED
from .program import Block, Program, with_data
from .sizes import Sizes, implied_reach, integer_objective_size, sign_errors

__all__ = ["verify", "why_not"]


def figure(value: float | None) -> str:
    """Return a residual as text, — where there is none."""
    return "—" if value is None else f"{value:.1e}"


@dataclass(frozen=True)
class Certificate:
    """The relative distances of a primal point (and duals) from feasibility and optimality.

    Each error is relative to the numbers that it is computed from. A point with a number that is
    not finite has infinite residuals.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a row or bound, relative to the row's own terms.
    integrality_residual : float
        Largest distance of an integer variable from a whole number.
    dual_residual : float or None
        Largest reduced cost of the wrong sign, relative to the column's terms; or, if that is
        smaller, its worth at the column's reach, relative to the objective; None without duals.
    complementarity : float or None
        Largest product of a dual and the slack of its row, relative to the objective's terms.
    gap : float or None
        Primal minus dual objective, relative to the objective's terms; of an integer program the
        same of the solver's bound.
    objective_gap : float or None
        The same relative to the objective itself, which may be far less than its terms; None where
        that is 0.
    tolerance : float
        What counts as feasible and optimal: ``VERIFIED``, or the looser tolerance that the answer
        of a first-order method states.
    bound : float or None
        Of an integer program: the solver's bound on the objective, which nothing here proves.
    violation : str
        The row, or the variable's bound, that is violated most, with the violation in its own units;
        empty where every row and bound holds.
    price_error : str
        The reduced cost or dual whose wrong sign counts most, by its variable or row; empty where
        none counts.
    """

    primal_residual: float
    integrality_residual: float
    dual_residual: float | None = None
    complementarity: float | None = None
    gap: float | None = None
    objective_gap: float | None = None
    tolerance: float = VERIFIED
    bound: float | None = None
    violation: str = ""
    price_error: str = ""

    @property
    def is_feasible(self) -> bool:
        """Whether the primal point is feasible within ``tolerance``."""
        return self.primal_residual <= self.tolerance and self.integrality_residual <= VERIFIED

    @property
    def is_optimal(self) -> bool:
        """Whether primal and dual prove each other optimal within ``tolerance``.

        False for integer programs: branch and bound leaves no duals. Their ``bound`` and ``gap``
        are the solver's word.
        """
        return self.is_within(self.tolerance)

    def is_within(self, tolerance: float) -> bool:
        """Whether the point is feasible, and dual residual and gap are at most a tolerance.

        Feasible means within the certificate's own :attr:`tolerance`.

        Parameters
        ----------
        tolerance : float

        Returns
        -------
        bool

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve().verify()
        >>> found.is_within(1e-6)
        True
        """
        if self.dual_residual is None or self.gap is None:
            return False
        return self.is_feasible and self.dual_residual <= tolerance and self.gap <= tolerance

    @property
    def verdict(self) -> str:
        """Whether the point is optimal, only feasible, or neither, with its residuals."""
        if self.is_optimal:
            return f"optimal, proved ({self})"
        return f"{'not proved optimal' if self.is_feasible else 'not feasible'}: {self}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        primal = f"primal residual {figure(self.primal_residual)}"
        if self.violation and self.primal_residual > self.tolerance:
            primal += f" ({self.violation})"
        figures = [primal]
        if VERIFIED < self.integrality_residual < np.inf:
            figures.append(f"an integer {figure(self.integrality_residual)} off a whole number")
        if self.dual_residual is not None:
            dual = f"dual residual {figure(self.dual_residual)}"
            if self.price_error and self.dual_residual > self.tolerance:
                dual += f" ({self.price_error})"
            figures.append(dual)
        if self.bound is not None:
            figures.append(f"bound {self.bound:.10g} as the solver says")
        figures.append("no duals" if self.gap is None else f"gap {figure(self.gap)}")
        tolerance = "" if self.tolerance == VERIFIED else f" (asked: {self.tolerance:g})"
        return ", ".join(figures) + tolerance


@np.errstate(over="ignore", invalid="ignore")  # what is beyond floats proves nothing
def verify(
    program: Program,
    x: np.ndarray,
    row_duals: np.ndarray | None = None,
    *,
    bound: float | None = None,
) -> Certificate:
    """Return the certificate of ``x`` and row duals (in the user's sense); O(nonzeros).

    Reduced costs are computed from the row duals. A dual of the wrong sign counts as a residual and
    proves nothing. With logarithms or powers in the objective, its gradient at ``x`` takes the
    place of the costs (the program is concave, so the conditions are the same). ``bound`` is what a
    solver says of an integer program's objective.
    """
    if not np.isfinite(x).all():
        return Certificate(np.inf, np.inf)
    sizes = Sizes(program, x)
    is_whole = program.integrality > 0
    primal_residual, violation = _primal_residual(sizes)
    integrality_residual = float(abs(x[is_whole] - np.round(x[is_whole])).max(initial=0.0))
    of_point = partial(Certificate, primal_residual, integrality_residual, violation=violation)
    if bound is not None:
        difference = abs(program.objective_value(x) - bound)
        size = max(sizes.objective, integer_objective_size(program, x))
        return of_point(gap=difference / size, bound=bound)
    if row_duals is None:
        return of_point()
    if not np.isfinite(row_duals).all() or not np.isfinite(sizes.objective):
        return of_point(np.inf, np.inf, np.inf)
    if not sizes.costs.any():  # every feasible point is optimal, whatever the duals
        return of_point(0.0, 0.0, 0.0)

    # The program as a minimisation, linear at the point.
    sign = 1.0 if program.sense == "min" else -1.0
    costs = sign * program.gradient(x)

    # A dual counts only if its row has the side that its sign needs.
    row_errors = sign_errors(sign * row_duals, program.row_lower, program.row_upper)
    y = np.where(row_errors > 0, 0.0, sign * row_duals)
    columns = program.A.T
    reduced = costs - columns @ y
    terms = sizes.costs + with_data(columns, sizes.magnitude.data) @ abs(y)
    dual_residual, price_error = _dual_residual(sizes, reduced, terms)
    if sizes.objective > 0 and row_errors.any():
        # A wrong-sign dual counts as dual × size of its row, relative to the objective.
        worths = row_errors * sizes.rows
        row = int(worths.argmax())
        # The first size if it is enough; else the second, larger and dearer one.
        for size in sizes.sizes_of_objective(0.0):
            row_residual = float(worths[row]) / size
            if row_residual <= VERIFIED:
                break
        if row_residual > dual_residual:
            dual_residual = row_residual
            price_error = f"the dual of row {_line_name(program.rows, row)!r} has the wrong sign"

    # Weak duality: what rows and bounds say of the objective.
    row_terms = y * _bound_for(y, program.row_lower, program.row_upper)
    ends = _bound_for(reduced, program.col_lower, program.col_upper)
    column_terms = reduced * ends
    primal_value = float(costs @ x)
    dual_value = float(row_terms.sum() + column_terms.sum())
    difference = abs(primal_value - dual_value)
    # What rows are worth that are violated beyond a part of their terms belongs to the gap: it may
    # hide as much of the difference. (Of others it is rounding times their price.)
    excess = np.maximum(program.row_lower - sizes.activity, sizes.activity - program.row_upper)
    beyond_terms = np.where(excess > VERIFIED * sizes.rows, excess, 0.0)
    difference = max(difference, float(abs(y) @ beyond_terms))

    slack = np.minimum(
        abs(sizes.activity - program.row_lower), abs(program.row_upper - sizes.activity)
    )
    complementarity = float((abs(y) * np.where(np.isfinite(slack), slack, 0.0)).max(initial=0.0))

    # If both objectives are 0 but for rounding, the gap is 0.
    noise = ROUNDING * float(terms @ np.maximum(abs(ends), abs(x)) + abs(row_terms).sum())
    if difference <= noise and max(sizes.objective, abs(dual_value)) <= noise:
        return of_point(dual_residual, complementarity, 0.0, price_error=price_error)

    # The first size if it is enough; else the second, larger and dearer one.
    for size in sizes.sizes_of_objective(dual_value):
        gap = difference / size if size else np.inf
        if gap <= VERIFIED:
            break
    objective_gap = difference / abs(primal_value) if primal_value else None
    return of_point(
        dual_residual,
        complementarity / size if size else np.inf,
        gap,
        objective_gap,
        price_error=price_error,
    )


def why_not(program: Program, x: np.ndarray, certificate: Certificate, better: np.ndarray) -> str:
    """Return why a point is not proved optimal: what the certificates of all mechanisms say.

    A point is called not optimal only beside a better one, which is checked here, from the program
    alone. All else is not proved.

    Parameters
    ----------
    program : Program
    x : ndarray
        The point.
    certificate : Certificate
        Its certificate.
    better : ndarray
        A point that may be better.
    """
    if not certificate.is_feasible:
        return f"not feasible: {certificate}"
    beside = verify(program, better)
    value = program.objective_value(x)
    better_value = program.objective_value(better)
    gain = better_value - value if program.sense == "max" else value - better_value
    size = max(Sizes(program, x).objective, Sizes(program, better).objective)
    if beside.is_feasible and gain > VERIFIED * size:
        return f"not optimal: the objective is {value:.12g}, and {better_value:.12g} is possible"
    return f"not proved: {certificate}"


class _Violation(NamedTuple):
    """A violation of a bound: relative to its terms, its position, and in its own units."""

    relative: float
    position: int
    excess: float


def _primal_residual(sizes: Sizes) -> tuple[float, str]:
    """Return the largest violation of a row or bound, relative to the row's terms, and its text.

    Of an integer program: with the integers rounded to whole numbers.
    """
    linear, x = sizes.at_integers
    activity = linear.A @ x if sizes.program.is_mip else sizes.activity
    # The first sizes if they are enough; else the second, larger and dearer ones.
    for row_sizes, column_sizes in sizes.sizes_of_rows_and_columns():
        of_rows = _violation(activity, row_sizes, linear.row_lower, linear.row_upper)
        of_columns = _violation(x, column_sizes, linear.col_lower, linear.col_upper)
        largest = max(of_rows, of_columns)
        if largest.relative <= VERIFIED:
            return largest.relative, ""

    if largest is of_rows:
        subject = f"row {_line_name(sizes.program.rows, largest.position)!r}"
    else:
        subject = f"a bound of variable {_line_name(sizes.program.columns, largest.position)!r}"
    return largest.relative, f"{subject} is violated by {largest.excess:.4g}"


def _line_name(blocks: Sequence[Block], position: int) -> str:
    """Return the name of a row or column: ``capacity[server3,cpu]``; without names its number."""
    for block in blocks:
        if block.start <= position < block.stop:
            return block.name_of(position - block.start)
    return str(position)


def _dual_residual(sizes: Sizes, reduced: np.ndarray, terms: np.ndarray) -> tuple[float, str]:
    """Return the largest relative reduced cost (minimisation) without a bound for it, and its text.

    It is relative to the column's terms, but no more than what it can be worth (see
    :meth:`.Sizes.worth_of_reduced_costs`).
    """
    program = sizes.program
    errors = sign_errors(reduced, program.col_lower, program.col_upper)
    # The first sizes if they are enough; else the second, larger and dearer ones.
    for column_sizes in sizes.sizes_of_reduced_costs(terms):
        residuals = errors / column_sizes
        if (residuals <= VERIFIED).all():
            return float(residuals.max(initial=0.0)), ""

    is_wrong = errors > 0
    residuals[is_wrong] = np.minimum(residuals, sizes.worth_of_reduced_costs(errors))[is_wrong]
    column = int(residuals.argmax())
    name = _line_name(program.columns, column)
    return float(residuals[column]), f"the reduced cost of variable {name!r} has the wrong sign"


def dual_bound(program: Program, row_duals: np.ndarray) -> float:
    """Return the bound that row duals prove on the objective (user's sense), at any point.

    Weak duality: y·Ax is at least what the right-hand sides say, and each reduced cost is worth no
    more than the bounds of its column, or what the rows imply of them. Rounding is taken off. Duals
    of the wrong sign are left out. If all columns with a cost are integer, and the costs whole, the
    bound is rounded to the next whole number. Infinite where nothing is proved; O(nonzeros).
    """
    sign = 1.0 if program.sense == "min" else -1.0
    if program.logs is not None or not np.isfinite(row_duals).all():
        return -sign * np.inf
    duals = sign * row_duals
    errors = sign_errors(duals, program.row_lower, program.row_upper)
    y = np.where(errors > 0, 0.0, duals)
    reduced = sign * program.c - program.A.T @ y
    terms = 2.0 + np.diff(program.A.indptr)
    sizes = abs(program.c) + abs(program.A).T @ abs(y)
    noise = np.finfo(float).eps * terms * sizes

    # The end of each column that its reduced cost asks for.
    low = program.col_lower
    high = program.col_upper
    if np.isinf(low).any() or np.isinf(high).any():
        reach = implied_reach(program)
        low = np.maximum(low, -reach)
        high = np.minimum(high, reach)
    is_noise = abs(reduced) <= noise
    end = np.where(is_noise, 0.0, np.where(reduced > 0, low, high))
    # A reduced cost that is rounding only counts as 0 where nothing bounds its column.
    farther = np.maximum(abs(low), abs(high))
    size = np.where(is_noise, 2.0 * farther, abs(end))
    size[is_noise & np.isinf(size)] = 0.0
    row_terms = y * _bound_for(y, program.row_lower, program.row_upper)
    parts = np.concatenate([row_terms, reduced * end, -noise * size])
    if not np.isfinite(parts).all():
        return -sign * np.inf
    rounding = float(2.0 * np.finfo(float).eps * abs(parts).sum())  # of products, and of the sum
    total = fsum(parts) - rounding

    has_cost = program.c != 0
    costs = program.c[has_cost]
    costs_are_whole = (costs == np.round(costs)).all()
    if program.is_mip and program.integrality[has_cost].all() and costs_are_whole:
        total = float(np.ceil(total))
    return float(sign * total + program.offset)


def _violation(
    value: np.ndarray, size: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> _Violation:
    """Return the largest violation of ``lower <= value <= upper``, relative to terms and bound."""
    largest = _Violation(0.0, 0, 0.0)
    for bound, excess in ((lower, lower - value), (upper, value - upper)):
        violated = np.flatnonzero(excess > 0)
        if not violated.size:
            continue
        scale = np.maximum(size[violated], abs(bound[violated]))
        relative = excess[violated] / np.where(scale > 0, scale, 1.0)
        k = int(relative.argmax())
        position = int(violated[k])
        violation = _Violation(float(relative[k]), position, float(excess[position]))
        largest = max(largest, violation)
    return largest


def _bound_for(price: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the bound that a price (minimisation sense) belongs to, or 0 if it is infinite."""
    bound = np.where(price >= 0, lower, upper)
    return np.where(np.isfinite(bound), bound, 0.0)
