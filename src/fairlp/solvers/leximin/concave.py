"""The leximin of concave levels, by tangents: linear leximins from outside, a point from inside.

A term z ≤ u(a·x + c) of the levels, a logarithm or a power, is kept below tangents of u. The
leximin of the linear program is no lower than the right one, and the levels at its point are no
higher. Each time the terms get a tangent at the point, until the two meet: where each term has a
tangent at the argument that it ends with, the leximin of the tangents is that of the levels
(docs/results.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import NoSolutionError, UnsupportedError, quoted
from ...models.notation.concave_levels import Curves, program_and_curves, required_levels
from ...models.notation.model import Model
from ...models.programs.backends import AnySolver, spelt
from ...models.programs.program import Program, with_columns, with_rows
from ...models.programs.proof import Proof
from ...models.programs.sizes import reach_of
from ...tolerances import ACCEPTED, AGREEMENT, CONVEX_POINT, NEGLIGIBLE, ROUNDING, VERIFIED
from .answers import LeximinSolution
from .levels import Levels, by_rows
from .of_levels import by_levels

#: Leximins of tangents, at most; 4 to 12 are usual.
MOST_LEXIMINS = 40
#: First tangents, as multiples of the argument at a point inside.
_FIRST_TANGENTS = 4.0 ** np.arange(-3, 4)
#: Where an argument is 0, a tangent of infinite slope: the next one is at this part of the least
#: argument that has one, down to this part of the first.
_TOWARDS_0 = 2.0**-10
_NEAREST_TO_0 = ROUNDING


@dataclass(frozen=True)
class ConcaveLeximin(LeximinSolution):
    """The leximin of concave levels: a point, the levels that it has, and how far off they can be.

    Attributes
    ----------
    tangent_levels : Series
        The leximin of the tangents, which is no lower than the right one.
    leximins : int
        Leximins of tangents that were solved.

    Examples
    --------
    >>> import fairlp
    >>> n = fairlp.Index("n", ["ann", "bob"])
    >>> model = fairlp.Model("cake", indices=(n,))
    >>> x = model.variable("x", n)
    >>> cake = model.constraint("cake", x.sum(n) <= 10)
    >>> rows = model.leximin((x * {"ann": 1, "bob": 0.25}) ** 0.5)
    >>> answer = fairlp.leximin(model)
    >>> answer["x"].round(6).to_dict()
    {'ann': 2.0, 'bob': 8.0}
    >>> answer.bracket.round(6).to_dict("list")
    {'lower': [1.414214, 1.414214], 'upper': [1.414214, 1.414214]}
    """

    tangent_levels: pd.Series[Any] = field(default_factory=lambda: pd.Series(dtype=float))
    leximins: int = 0

    @cached_property
    def bracket(self) -> pd.DataFrame:
        """What each level is, and what it could be at most: ``lower`` and ``upper``.

        The point has the lower number. No point has more than the upper one while the levels that
        are no higher keep what they have, and the others do not fall to it: prices of a linear
        program with tangents at the point prove it, one program a level. NaN where they do not.
        """
        each = range(len(self.levels))
        most = np.array([self._most(np.array([k]), "highs")[:2] for k in each])
        lower = self.levels.to_numpy(dtype=float)
        upper = np.maximum(most[:, 0] + most[:, 1], lower)
        upper = np.where(np.isnan(most).any(axis=1), np.nan, upper)
        return pd.DataFrame({"lower": lower, "upper": upper}, index=self.levels.index)

    def certify(self, exact: bool = False, solver: str = "highs") -> Proof:
        """Return whether :attr:`bracket` proves the levels, and how far off they can be.

        Parameters
        ----------
        exact : bool
            Refused: logarithms and powers have no rationals.
        solver : str
            Of the programs, one a level.

        Returns
        -------
        Proof

        Raises
        ------
        UnsupportedError
            Exact.
        """
        if exact:
            raise UnsupportedError(
                f"levels of {self.problem.program.name!r} have logarithms or powers, which are no "
                "rationals; certify() proves them in floats, and answer.bracket says how far off "
                "each can be"
            )
        if solver != "highs":
            self.__dict__.pop("bracket", None)
        wrong = self._wrong_point()
        if wrong:
            return Proof(False, wrong)
        bracket = self.bracket
        if bracket["upper"].isna().any():
            label = bracket.index[int(bracket["upper"].isna().argmax())]
            return Proof(
                False, f"not proved: the program of the level of {quoted(label)} gives no prices"
            )
        width = bracket["upper"] - bracket["lower"]
        errors = width.to_numpy() / _sizes(self.problem, self.x)
        worst = int(errors.argmax())
        label, error = bracket.index[worst], float(errors[worst])
        shown = (
            f"the level of {quoted(label)} is {bracket['lower'].iloc[worst]:.12g}, and at most "
            f"{bracket['upper'].iloc[worst]:.12g} by prices (one program a level, with tangents)"
        )
        if error <= VERIFIED:
            return Proof(True, f"the leximin, proved to {error:.1e}: {shown}", error)
        return Proof(False, f"not proved: {shown}, a difference of {error:.1e}", error)


def _sizes(problem: Levels, x: np.ndarray) -> np.ndarray:
    """Return what errors of each level are relative to: the numbers that it is made of.

    They are no smaller than a solver's noise beside the largest that they could be.
    """
    largest = problem.terms(reach_of(problem.program))
    sizes = np.maximum(problem.terms(abs(x)), NEGLIGIBLE * largest)
    return np.where(sizes > 0, sizes, 1.0)


def concave_leximin(model: Model, solver: AnySolver, options: Mapping[str, Any]) -> ConcaveLeximin:
    """Return the leximin of a model whose levels have logarithms or powers.

    Parameters
    ----------
    model : Model
    solver : str or Backend
    options : mapping
        Of the solver.

    Returns
    -------
    ConcaveLeximin

    Raises
    ------
    UnsupportedError
        For a model with integers.
    NoSolutionError
        Where a level is −∞ at every point, or the model is infeasible or unbounded.
    """
    base, curves = program_and_curves(model)
    if base.is_mip:
        raise UnsupportedError(
            f"{base.name!r} has integers, and levels with logarithms or powers take continuous "
            "variables only; minimum(...) of linear pieces goes with integers, and so does "
            "model.relax_integrality()"
        )
    linear = by_rows(_with_domains(base, curves), required_levels(model).name, None)
    tangents = Tangents.start(linear, curves, solver, options)
    error = np.inf
    for k in range(1, MOST_LEXIMINS + 1):
        problem = tangents.problem(linear)
        answer = by_levels(problem, solver=solver, **options)
        point = curves.completed(problem.program, answer.x)
        levels = problem.of(point)
        sizes = _sizes(problem, point)
        last_error, error = error, _error(answer.levels.to_numpy(), levels, sizes)
        if k == 1 or error < last_error:
            best = error, answer, point, levels
        is_refined = tangents.refine(curves.terms.arguments(point))
        # once more: bounds of single levels are as right as the root of the levels is
        if max(error, last_error) <= AGREEMENT or not is_refined:
            break
    error, answer, point, levels = best
    tangents.refine(curves.terms.arguments(point))
    return _answer(answer, tangents.problem(linear), point, levels, (error, k, spelt(solver)))


def _error(outer: np.ndarray, levels: np.ndarray, sizes: np.ndarray) -> float:
    """Return by how much the leximin of tangents is above levels, relative to their terms."""
    if not np.isfinite(levels).all():
        return np.inf
    return float((np.maximum(outer - levels, 0.0) / sizes).max())


def _answer(
    answer: LeximinSolution,
    problem: Levels,
    point: np.ndarray,
    levels: np.ndarray,
    facts: tuple[float, int, Any],
) -> ConcaveLeximin:
    """Return the answer with the levels that the point has."""
    error, leximins, solver = facts
    reached = problem.labelled(levels)
    rounds = answer.rounds.copy()
    rounds["level"] = [reached[labels].min() for labels in rounds["labels"]]
    unproved = answer.unproved  # of the leximin of tangents, for which there are no rationals
    if unproved:
        unproved = f"{unproved.partition(';')[0]}; answer.bracket says how far off each can be"
    if error > ACCEPTED:
        unproved = (
            f"levels may be off by {error:.1e} of their terms: tangents at {leximins} points leave "
            "so much; answer.bracket says how far off each can be"
        )
    return ConcaveLeximin(
        reached,
        rounds,
        str(solver),
        answer.gap,
        unproved,
        point,
        problem,
        answer.priced,
        tangent_levels=answer.levels,
        leximins=leximins,
    )


def _with_domains(program: Program, curves: Curves) -> Program:
    """Return the program with rows that keep arguments of logarithms and powers at least 0."""
    arguments = curves.terms.A[curves.has_ends]
    lower = -curves.terms.constant[curves.has_ends]
    grown = with_rows(program, "domain", arguments, lower)
    # A power below 0 is above 0, whatever its tangents say.
    is_inverse = curves.has_ends & (curves.signs < 0)
    col_lower = grown.col_lower.copy()
    col_lower[curves.columns[is_inverse]] = 0.0
    return grown.replace(col_lower=col_lower)


@dataclass
class Tangents:
    """The points at which terms have tangents so far.

    Attributes
    ----------
    curves : Curves
    first : ndarray
        The argument of each term at a point inside.
    points : list of ndarray
        Arguments; NaN where a term has no tangent.
    """

    curves: Curves
    first: np.ndarray
    points: list[np.ndarray]

    @classmethod
    def start(
        cls, linear: Levels, curves: Curves, solver: AnySolver, options: Mapping[str, Any]
    ) -> Tangents:
        """Return first tangents around a point at which all arguments are above 0 that can be.

        Raises
        ------
        NoSolutionError
            Where an argument is 0 at every point and its term is then infinite.
        """
        first = _inner_arguments(linear.program, curves, linear.tightest(spelt(solver), options))
        is_empty = curves.has_ends & (first <= 0)
        infinite = is_empty & (curves.terms.alpha >= 1)
        if infinite.any():
            name = curves.names[int(infinite.argmax())]
            raise NoSolutionError(
                f"{linear.program.name!r} has no leximin: {name} is infinite at every point, as "
                "what is in it is never above 0; leave these labels out with where=, or add a "
                "number above 0 inside"
            )
        spread = np.where(curves.has_ends, first, np.maximum(abs(first), 1.0))
        points = [
            np.where(is_empty, np.nan, np.where(curves.has_ends, 0.0, first) + spread * factor)
            for factor in _FIRST_TANGENTS
        ]
        return cls(curves, first, points)

    def refine(self, arguments: np.ndarray) -> bool:
        """Add tangents at a point; return whether any is new.

        Two tangents that are very near each other are one: their terms differ by the square of
        their distance.
        """
        is_empty = np.isnan(self.points[0])
        has_ends = self.curves.has_ends
        points = np.array(self.points)
        least = np.fmin.reduce(points)
        at_0 = has_ends & (arguments < least * _TOWARDS_0)
        new = np.where(at_0, least * _TOWARDS_0, arguments)
        is_too_near = at_0 & (new < _NEAREST_TO_0 * self.first)
        distance = np.fmin.reduce(abs(points - new))
        is_known = distance <= CONVEX_POINT**2 * np.maximum(abs(new), self.first * _NEAREST_TO_0)
        new[is_empty | is_too_near | is_known] = np.nan
        self.points.append(new)
        return bool(np.isfinite(new).any())

    def problem(self, linear: Levels) -> Levels:
        """Return the levels with a row for each tangent, and no term of an argument of 0."""
        curves = self.curves
        terms = curves.terms
        is_empty = np.isnan(self.points[0])
        matrices, limits, signs = [], [], []
        for points in self.points:
            used = np.flatnonzero(np.isfinite(points))
            chosen = points[used]
            slopes = terms.weights[used] * chosen ** -terms.alpha[used]
            heights = curves.values(np.where(np.isfinite(points), points, 1.0))[used]
            shape = (len(used), linear.program.n_columns)
            places = (np.arange(len(used)), curves.columns[used])
            columns = sp.csr_array((np.ones(len(used)), places), shape=shape)
            matrices.append(columns - sp.diags_array(slopes) @ terms.A[used])
            limits.append(heights + slopes * (terms.constant[used] - chosen))
            signs.append(curves.signs[used])
        matrix = sp.vstack(matrices)
        limit, sign = np.concatenate(limits), np.concatenate(signs)
        program = with_rows(
            linear.program,
            "tangents",
            matrix,
            np.where(sign > 0, -np.inf, limit),
            np.where(sign > 0, limit, np.inf),
        )
        col_lower, col_upper = program.col_lower.copy(), program.col_upper.copy()
        empty = curves.columns[is_empty]
        col_lower[empty] = col_upper[empty] = 0.0
        return replace(linear, program=program.replace(col_lower=col_lower, col_upper=col_upper))


def _inner_arguments(program: Program, curves: Curves, solver: Any) -> np.ndarray:
    """Return the arguments of the terms at a point where all are above 0 that can be.

    Programs raise those that are 0 still, up to their own size; the mean of their points has all.
    """
    backend, options = solver
    ends = np.flatnonzero(curves.has_ends)
    arguments = np.zeros((0, len(curves.columns)))
    is_open = np.ones(len(ends), dtype=bool)
    size = abs(curves.terms.A[ends]).max(axis=1).toarray().reshape(-1) if len(ends) else ends
    rows = sp.hstack([curves.terms.A[ends], -sp.eye_array(len(ends))])
    start = program.n_columns
    free = program.replace(c=np.zeros(start), levels="")
    while True:
        cost = is_open / np.where(size > 0, size, 1.0)
        raising = with_columns(free, "room", cost, 0.0, np.where(size > 0, size, np.inf))
        raising = with_rows(raising, "room", rows, -curves.terms.constant[ends])
        solution = backend.solve(raising, options)
        if not solution.status.is_optimal:
            raise NoSolutionError(
                f"{program.name!r} has no leximin: {solution.status}; no point keeps all rows with "
                "arguments of logarithms and powers of at least 0"
            )
        room = solution.require_point()[start:]
        reached = curves.terms.arguments(solution.require_point()[:start])
        arguments = np.vstack([arguments, reached])
        rises = is_open & (room > ACCEPTED * np.where(size > 0, size, 1.0))
        is_open &= ~rises
        if not rises.any() or not is_open.any():
            break
    mean = arguments.mean(axis=0)
    mean[ends[is_open]] = 0.0
    return np.asarray(mean)
