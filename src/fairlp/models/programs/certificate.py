"""Residuals and duality gap of an answer, computed from the Program alone: correctness without a solver's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tolerances import (
    ACCEPTED,
    AGREEMENT,
    FEASIBILITY,
    MILP_TOLERANCES,
    NEGLIGIBLE,
    ROUNDING,
    SOLVER_TIGHTEST,
    VERIFIED,
)
from .program import Program

if TYPE_CHECKING:
    from pathlib import Path

    from scipy.sparse import csc_array

# What a verdict in rationals was reached by, kept so that it can be written down: programs, bases,
# points, duals.

#: Statuses of columns and rows.
Basis = tuple[list[int], list[int]]


@dataclass(frozen=True)
class ProofRound:
    """One program proved optimal: its basis, the point, the duals of its rows, and who is blocked at which floor.

    Attributes
    ----------
    basis : pair of lists of int
        Statuses of columns and rows, in HiGHS's numbers.
    x, row_duals : sequence of Fraction
        Point, and ∂objective/∂right-hand side in the program's sense.
    blocked : sequence of (int, Fraction)
        Rows with a dual, and the lower bound that each has from the next round on, without t.
    """

    basis: Basis
    x: Sequence[Fraction]
    row_duals: Sequence[Fraction]
    blocked: Sequence[tuple[int, Fraction]] = ()


@dataclass(frozen=True)
class ProvedLevel:
    """Somebody's level: the row of the program that says it (None who can have nothing), and what it comes to.

    ``claimed`` is the level of the allocation that is proved, a float; None where there is no
    allocation.
    """

    name: str
    row: int | None
    level: Fraction | None
    claimed: float | None = None


@dataclass(frozen=True)
class ExactProof:
    """A proof that others can check: the rounds of a leximin, or the optimum of one program (no levels, one round).

    Attributes
    ----------
    program : Program
        Of the first round.
    rounds : tuple of ProofRound
    t : int or None
        The column that the rounds maximise.
    levels : tuple of ProvedLevel
    notes : tuple of str
        What a reader should know of how the program was made.
    """

    program: Program
    rounds: tuple[ProofRound, ...]
    t: int | None = None
    levels: tuple[ProvedLevel, ...] = ()
    notes: tuple[str, ...] = ()


#: Why there is no proof in a file, of a verdict that says nothing else.
NO_PROOF = (
    "only verdicts in rationals that rest on linear programs can be written: certify(exact=True) "
    "of an allocation by a "
    "max-min mechanism without queues, of a leximin, or of a linear program's solution. Fixed "
    "points (PS-DSF), "
    "logarithms (no justified complaints, CEEI) and whole tasks are proved by other means than "
    "duals"
)


@dataclass(frozen=True)
class Proof:
    """What ``certify()`` returns: whether something holds, proved, and what says so or what fails.

    Attributes
    ----------
    holds : bool
        Whether it is proved.
    message : str
        "optimal, proved …", or what fails.
    gap : float
        Largest difference from what is proved right, relative: of a user's level, or the duality
        gap of a program; NaN where nothing was measured.
    levels : tuple of (Fraction or None)
        Exact levels by user, where they were computed; None for a user who can run nothing.
    exact : ExactProof or str
        What :meth:`write` writes, or why there is nothing to write.
    """

    holds: bool
    message: str
    gap: float = float("nan")
    levels: tuple[Fraction | None, ...] = field(default=(), repr=False)
    exact: ExactProof | str = field(default=NO_PROOF, repr=False, compare=False, kw_only=True)

    def compared(
        self,
        claim: str,
        names: Sequence[str],
        levels: np.ndarray,
        right_levels: np.ndarray,
        errors: np.ndarray,
    ) -> Proof:
        """Return the proof that some levels are the right ones, which self proves.

        Parameters
        ----------
        claim : str
            What is claimed: "optimal".
        names : sequence of str
            Of those who have the levels.
        levels, right_levels, errors : ndarray
            The levels, those that are right, and how far they are apart, relatively.

        Returns
        -------
        Proof
        """
        worst = int(errors.argmax())
        largest_error = float(errors[worst])
        if largest_error <= AGREEMENT:
            return replace(
                self,
                message=f"{claim}, proved ({self.message}); levels agree to {largest_error:.1e}",
                gap=largest_error,
            )
        comparison = f"{names[worst]} has the level {levels[worst]:.12g}, and {right_levels[worst]:.12g} is right"
        return Proof(
            False, f"not {claim}: {comparison} ({self.message})", largest_error, self.levels
        )

    def write(self, path: str | Path) -> Path:
        """Write the proof to a file that others can check, and return its path.

        Parameters
        ----------
        path : path-like
            ``.json``: for ``python -m fairlp_check``, which shares no code with fairlp
            (docs/proofs.md). ``.vipr``: of a single linear program, for VIPR's ``viprchk``.

        Returns
        -------
        Path

        Raises
        ------
        NoSolutionError
            Nothing is proved; the message says what is missing.
        UnsupportedError
            A proof of another kind; the message says which can be written.
        """
        from ..files.proofs import write_proof

        return write_proof(self, path)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{'proved' if self.holds else 'not proved'}</b>: {escape(self.message)}</p>"


def figure(value: float | None) -> str:
    """Return a residual in words."""
    return "—" if value is None else f"{value:.1e}"


@dataclass(frozen=True)
class Certificate:
    """How far a primal point (and duals) are from feasible and optimal, each relative to the numbers it is made of.

    What is not a number makes the residuals infinite.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a row or bound, relative to the row's own terms.
    integrality_residual : float
        Largest distance of an integer variable from a whole number.
    dual_residual : float or None
        Largest reduced cost of the wrong sign, relative to the column's own terms, or to the
        objective by what the rows let the column reach; None without duals.
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
    """

    primal_residual: float
    integrality_residual: float
    dual_residual: float | None = None
    complementarity: float | None = None
    gap: float | None = None
    objective_gap: float | None = None
    tolerance: float = VERIFIED
    bound: float | None = None

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

    def __str__(self) -> str:
        residuals = (
            f"primal residual {figure(self.primal_residual)}, dual residual "
            f"{figure(self.dual_residual)}"
        )
        if self.bound is not None:
            residuals += f", bound {self.bound:.10g} by the solver's word"
        loose = "" if self.tolerance == VERIFIED else f" (within {self.tolerance:g})"
        return f"{residuals}, gap {figure(self.gap)}{loose}"


def certify(
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
    magnitude = abs(program.A)
    rhs = finite_size(program.row_lower, program.row_upper)
    activity = program.A @ x
    size = np.maximum(magnitude @ abs(x), rhs)
    whole = program.integrality > 0
    point = (
        _primal_residual(program, x, activity, size),
        float(abs(x[whole] - np.round(x[whole])).max(initial=0.0)),
    )
    if row_duals is None and bound is None:
        return Certificate(*point)
    sign = 1.0 if program.sense == "min" else -1.0
    cost = program.c
    size_of_cost = abs(program.c)
    if program.logs is not None:
        slope = program.logs.slopes(program.logs.arguments(x))
        cost = cost + program.logs.A.T @ slope
        size_of_cost = size_of_cost + abs(program.logs.A).T @ abs(slope)
    total = float(size_of_cost @ abs(x))
    if bound is not None:
        apart = abs(program.objective_value(x) - bound)
        return Certificate(*point, gap=apart / max(total, worth_of(program, x)), bound=bound)
    assert row_duals is not None
    if not np.isfinite(row_duals).all() or not np.isfinite(total):
        return Certificate(*point, np.inf, np.inf, np.inf)
    if not size_of_cost.any():  # every feasible point is optimal, whatever the duals
        return Certificate(*point, 0.0, 0.0, 0.0)
    # a dual proves something only with a sign that a bound of its row bears
    sign_errors = _wrong_sign(sign * row_duals, program.row_lower, program.row_upper)
    y = np.where(sign_errors > 0, 0.0, sign * row_duals)
    reduced = sign * cost - program.A.T @ y
    row_part = y * _bound_for(y, program.row_lower, program.row_upper)
    column_part = reduced * _bound_for(reduced, program.col_lower, program.col_upper)
    terms = size_of_cost + magnitude.T @ abs(y)
    dual = max(
        _dual_residual(program, x, reduced, terms, size_of_cost, total),
        # a dual matters by what it is worth at the row's size
        float((sign_errors * size).max(initial=0.0) / total) if total > 0 else 0.0,
    )
    primal_value = float(sign * cost @ x)
    dual_value = float(row_part.sum() + column_part.sum())
    slack = np.minimum(abs(activity - program.row_lower), abs(program.row_upper - activity))
    complementarity = float((abs(y) * np.where(np.isfinite(slack), slack, 0.0)).max(initial=0.0))
    ends = np.maximum(finite_size(program.col_lower, program.col_upper), abs(x))
    noise = ROUNDING * float(terms @ ends + abs(row_part).sum())
    apart = abs(primal_value - dual_value)
    total = max(
        total, abs(dual_value)
    )  # not the dual's own terms: those can cancel each other and be of any size
    if (
        apart <= noise and total <= noise
    ):  # nothing but the rounding of reduced costs, at an optimum of 0
        return Certificate(*point, dual, complementarity, 0.0)
    if (
        apart > VERIFIED * total
    ):  # beside what the objective could be, an optimum of 0 is known to a solver's tolerance
        total = max(total, _NEAR_ZERO * float(size_of_cost @ reach_of(program)))
    alone = apart / abs(primal_value) if primal_value else None
    return Certificate(*point, dual, complementarity / total, apart / total, alone)


def dual_bound(program: Program, row_duals: np.ndarray) -> float:
    """Return the bound on the objective, in the user's sense, that row duals prove, whatever point there is.

    Weak duality: y·Ax is at least what the right-hand sides say, and each reduced cost is worth no
    more than the bounds of its column, or what the rows imply of them. Rounding is taken off. Duals
    of the wrong sign are left out. With integers it is rounded where all that costs something is
    integer, at integer costs. Infinite where nothing is proved; O(nonzeros).
    """
    sign = 1.0 if program.sense == "min" else -1.0
    if program.logs is not None or not np.isfinite(row_duals).all():
        return -sign * np.inf
    y = np.where(
        _wrong_sign(sign * row_duals, program.row_lower, program.row_upper) > 0,
        0.0,
        sign * row_duals,
    )
    reduced = sign * program.c - program.A.T @ y
    counts = 2.0 + np.diff(program.A.indptr)
    noise = np.finfo(float).eps * counts * (abs(program.c) + abs(program.A).T @ abs(y))
    low = program.col_lower
    high = program.col_upper
    if np.isinf(low).any() or np.isinf(high).any():
        reach = implied_reach(program)
        low = np.maximum(low, -reach)
        high = np.minimum(high, reach)
    nothing = abs(reduced) <= noise
    end = np.where(nothing, 0.0, np.where(reduced > 0, low, high))
    # a reduced cost that is nothing but rounding, of a column that nothing bounds, counts as 0
    size = np.where(nothing, 2.0 * np.maximum(abs(low), abs(high)), abs(end))
    size[nothing & np.isinf(size)] = 0.0
    parts = np.concatenate(
        [y * _bound_for(y, program.row_lower, program.row_upper), reduced * end, -noise * size]
    )
    if not np.isfinite(parts).all():
        return -sign * np.inf
    total = float(parts.sum() - np.finfo(float).eps * len(parts) * abs(parts).sum())
    costs = program.c[program.c != 0]
    if (
        program.is_mip
        and program.integrality[program.c != 0].all()
        and (costs == np.round(costs)).all()
    ):
        total = float(np.ceil(total))
    return float(sign * total + program.offset)


def at_integers(program: Program, x: np.ndarray) -> Program:
    """Return the program in which the integers are the whole numbers nearest to ``x``: what is left is linear."""
    whole = program.integrality > 0
    fixed = np.where(whole, np.round(x), 0.0)
    return _rows_at_integers(program, fixed).replace(
        col_lower=np.where(whole, fixed, program.col_lower),
        col_upper=np.where(whole, fixed, program.col_upper),
    )


def _rows_at_integers(program: Program, fixed: np.ndarray) -> Program:
    """Return the program whose rows have the room that whole numbers leave to the continuous columns, and rounding."""
    whole = program.integrality > 0
    continuous = program.A.copy()
    continuous.data = continuous.data * ~np.repeat(whole, np.diff(continuous.indptr))
    continuous.eliminate_zeros()
    activity = program.A @ fixed
    size = finite_size(program.row_lower, program.row_upper)
    noise = ROUNDING * (abs(program.A) @ abs(fixed) + size)
    return program.replace(
        A=continuous,
        row_lower=program.row_lower - activity - noise,
        row_upper=program.row_upper - activity + noise,
        integrality=np.zeros_like(program.integrality),
        switched=np.zeros(0, dtype=np.int64),
    )


def worth_of(program: Program, x: np.ndarray) -> float:
    """Return what differences of an integer program's objective are measured against.

    That is its terms, and so much of the unit of costs that a difference within a solver's
    tolerance is none.
    """
    unit = units(abs(program.c), np.zeros(program.n_columns, dtype=int), 1)[0]
    return max(float(abs(program.c) @ abs(x)), float(unit) * FEASIBILITY / MILP_TOLERANCES[-1])


def units(sizes: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the unit of each line of numbers >= 0: what is nearest to 1 from the smallest to the largest of them.

    So the unit is 1 where numbers stand on both sides of 1, as in x <= 1e9·b, and in a row without
    numbers.
    """
    largest = largest_of(sizes, line, lines)
    smallest = smallest_of(sizes, line, lines)
    return np.where(largest > 0, np.clip(1.0, smallest, largest), 1.0)


def largest_of(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the largest value of each line, 0 where there is none above."""
    largest = np.zeros(lines)
    np.maximum.at(largest, line, values)
    return largest


def smallest_of(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the smallest value above 0 of each line, infinite where there is none."""
    smallest = np.full(lines, np.inf)
    np.minimum.at(
        smallest, line, np.where(values > 0, values, np.inf)
    )  # entries may have been set to 0 in a series
    return smallest


def _primal_residual(
    program: Program, x: np.ndarray, activity: np.ndarray, size: np.ndarray
) -> float:
    """Return the largest violation of a row or bound, relative; ``size`` is what a row is made of at the point.

    Integers count as the whole numbers that they stand for: neither a tolerance times a big M nor
    what the integers are worth excuses a row.
    """
    original = program
    if program.is_mip:
        whole = program.integrality > 0
        x = np.where(whole, np.round(x), x)
        program = _rows_at_integers(program, np.where(whole, x, 0.0))
        activity = program.A @ x
        size = abs(program.A) @ abs(x)
        only_integers = np.bincount(program.A.indices, minlength=program.n_rows) == 0
        size = np.where(only_integers, _row_units(original), size)

    def worst(size: np.ndarray, beside: np.ndarray) -> float:
        return max(
            _violation(activity, size, program.row_lower, program.row_upper),
            _violation(x, beside, program.col_lower, program.col_upper),
        )

    primal = worst(size, abs(x))
    if primal > VERIFIED:  # beside what the numbers could be it may be rounding
        reach = np.maximum(abs(x), reach_of(program))
        size = np.maximum(size, abs(program.A) @ (NEGLIGIBLE * reach))
        size = np.maximum(size, _negligible(original) * min(1.0, float(reach.max(initial=0.0))))
        primal = worst(size, np.maximum(reach, _tightest(program.A, size[program.A.indices])))
    return primal


def _row_units(program: Program) -> np.ndarray:
    return units(abs(program.A.data), program.A.indices, program.n_rows)


def _negligible(program: Program) -> np.ndarray:
    """Return what each row is measured against at least, in its unit: 1e-16 where numbers of about 1 are meant is 0.

    Of a linear program the unit is the smallest coefficient, and what is below the rounding of it
    counts as nothing.
    """
    if program.is_mip:
        return NEGLIGIBLE * _row_units(program)
    smallest = smallest_of(abs(program.A.data), program.A.indices, program.n_rows)
    return ROUNDING / VERIFIED * np.where(np.isfinite(smallest), smallest, 0.0)


def _dual_residual(
    program: Program,
    x: np.ndarray,
    reduced: np.ndarray,
    terms: np.ndarray,
    size_of_cost: np.ndarray,
    total: float,
) -> float:
    """Return the largest reduced cost (minimisation sense) that would need a bound that is not there, relative.

    It is relative to its own terms. Where the rows bound the column, it is also worth no more than
    the column's reach, relative to the objective's terms ``total``.
    """
    sign_errors = _wrong_sign(reduced, program.col_lower, program.col_upper)
    residual = sign_errors / np.where(terms > 0, terms, 1.0)
    if (residual > VERIFIED).any():
        # beside the prices that costs allow it may be a solver's tolerance
        by_row = program.A.T.tocsc()
        prices = _tightest(by_row, size_of_cost[by_row.indices])
        residual = sign_errors / np.maximum(
            terms, _NEAR_ZERO * (abs(program.A).T @ prices) + np.finfo(float).tiny
        )
    if (residual > VERIFIED).any() and total > 0:
        reach = np.maximum(abs(x), implied_reach(program))
        has_error = sign_errors > 0
        residual[has_error] = np.minimum(
            residual[has_error], sign_errors[has_error] * reach[has_error] / total
        )
    return float(residual.max(initial=0.0))


def proves_unbounded(program: Program, direction: np.ndarray) -> bool:
    """Whether the objective improves in a direction of the columns in which no row and no bound ends; O(nonzeros).

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
    the variables allow less. O(nonzeros).
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
    return bool(least_sides.sum() - largest_activity.sum() > VERIFIED * size)


def farkas(program: Program, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers whose rows have that side, and Aᵀ times these; both 0 where they are rounding noise."""
    multipliers = np.asarray(multipliers, dtype=float)
    y = np.where(
        _wrong_sign(multipliers, program.row_lower, program.row_upper) > 0, 0.0, multipliers
    )
    price = program.A.T @ y
    return y, np.where(abs(price) <= SOLVER_TIGHTEST * (abs(program.A).T @ abs(y)), 0.0, price)


def finite_size(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the larger size of two bounds, of which one that is infinite has none."""
    return np.maximum(*(np.where(np.isfinite(bound), abs(bound), 0.0) for bound in (lower, upper)))


def _tightest(A: csc_array[Any], sides: np.ndarray) -> np.ndarray:
    """Return the smallest |side / coefficient| of each column's entries, of sides that are finite and not 0; else 0."""
    tight = np.isfinite(sides) & (sides != 0) & (A.data != 0)
    ratio = np.divide(abs(sides), abs(A.data), out=np.full(len(sides), np.inf), where=tight)
    reach = np.zeros(A.shape[1])
    used = np.flatnonzero(np.diff(A.indptr))
    if used.size:
        reach[used] = np.minimum.reduceat(ratio, A.indptr[used])
    return np.where(np.isfinite(reach), reach, 0.0)


def reach_of(program: Program) -> np.ndarray:
    """Return how large each variable could be by its bounds and the tightest row with a nonzero side; O(nonzeros).

    0 where nothing says so; 1 where nothing in its rows has a size either, so that there is no
    other unit.
    """
    A = program.A
    lower = program.row_lower[program.A.indices]
    upper = program.row_upper[program.A.indices]
    # the side that an entry runs into: it makes the measure of rounding independent of the units of
    # rows and columns
    by_rows = _tightest(A, np.where(A.data > 0, upper, lower))
    below = program.col_lower < 0
    if below.any():
        by_rows = np.where(
            below, np.maximum(by_rows, _tightest(A, np.where(A.data > 0, lower, upper))), by_rows
        )
    by_bounds = finite_size(program.col_lower, program.col_upper)
    has_both = (by_rows > 0) & (by_bounds > 0)
    reach = np.where(has_both, np.minimum(by_rows, by_bounds), np.maximum(by_rows, by_bounds))
    has_size = (abs(A) @ reach > 0) | (finite_size(program.row_lower, program.row_upper) > 0)
    return np.where((reach == 0) & (abs(A).T @ has_size == 0), 1.0, reach)


def _violation(value: np.ndarray, size: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the largest violation of ``lower <= value <= upper`` relative to the terms and the bound."""
    worst = 0.0
    for bound, beyond in ((lower, lower - value), (upper, value - upper)):
        bad = beyond > 0
        if bad.any():
            scale = np.maximum(size[bad], abs(bound[bad]))
            worst = max(worst, float((beyond[bad] / np.where(scale > 0, scale, 1.0)).max()))
    return worst


def _wrong_sign(price: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return how large each price (minimisation sense) is where it would need a bound that is not there, else 0."""
    sign_errors = np.where(np.isneginf(lower), np.maximum(price, 0.0), 0.0)
    return np.maximum(sign_errors, np.where(np.isposinf(upper), np.maximum(-price, 0.0), 0.0))


def implied_reach(program: Program) -> np.ndarray:
    """Return the largest size that bounds and rows allow each column, infinite where they show none; O(nonzeros).

    A row bounds an entry by what its other entries can be at least and at most. What that bounds
    may bound others, so that it is done a few times.
    """
    A = program.A
    used = A.data != 0
    row = A.indices[used]
    a = A.data[used]
    column = np.repeat(np.arange(program.n_columns), np.diff(A.indptr))[used]
    low = program.col_lower.copy()
    high = program.col_upper.copy()
    for _ in range(_REACH_PASSES):
        before = np.isinf(low).sum() + np.isinf(high).sum()
        with np.errstate(over="ignore"):
            ends = (
                a * np.where(a > 0, low[column], high[column]),
                a * np.where(a > 0, high[column], low[column]),
            )
            smallest, largest = (_sum_of_others(end, row, program.n_rows) for end in ends)
            below = (program.row_upper[row] - smallest) / a
            above = (program.row_lower[row] - largest) / a
        np.minimum.at(high, column, np.where(a > 0, below, above))
        np.maximum.at(low, column, np.where(a > 0, above, below))
        if np.isinf(low).sum() + np.isinf(high).sum() == before:
            break
    return np.asarray(np.maximum(abs(low), abs(high)))


#: The part of what an objective or a price could be, of which one that is 0 is known to a solver's
#: tolerance.
_NEAR_ZERO = ACCEPTED / VERIFIED
#: Passes of bounds through rows: shares bound a level, which bounds what is made of it.
_REACH_PASSES = 4


def _sum_of_others(values: np.ndarray, row: np.ndarray, rows: int) -> np.ndarray:
    """Return for each entry the sum of the other entries of its row, infinite where one of them is."""
    endless = np.isinf(values)
    finite = np.where(endless, 0.0, values)
    sums = np.bincount(row, finite, rows)
    counts = np.bincount(row, endless, rows)
    worst = values[endless][0] if endless.any() else 0.0  # all ends of one side are of one sign
    return np.asarray(np.where(counts[row] > endless, worst, sums[row] - finite))


def _bound_for(price: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the bound that a price (minimisation sense) belongs to; 0 where that bound is infinite."""
    bound = np.where(price >= 0, lower, upper)
    return np.where(np.isfinite(bound), bound, 0.0)
