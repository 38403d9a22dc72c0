"""``LeximinSolution``: the levels of a leximin and a point that has them, and their proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import NoSolutionError, UnsupportedError, counted
from ...models.programs.backends import find_backend
from ...models.programs.certificate import dual_bound, verify
from ...models.programs.options import Options
from ...models.programs.program import BlockView, Program
from ...models.programs.proof import Proof
from ...models.programs.sizes import reach_of
from ...models.programs.solution import Solution
from ...models.programs.views import table
from ...tolerances import ACCEPTED, AGREEMENT, BLOCKED_PRICE, LEVEL_ROUNDING, ROUNDING
from .exact import ServersInRationals
from .level_errors import LevelErrors, error_at_prices, program_error
from .levels import Levels
from .networks import PathProof

#: What rests on a solver's word, of integer levels.
INTEGER = "integer levels rest on the optima of the solver's branch and bound"


class _Highest(NamedTuple):
    """The largest sum of some levels, its error to first order, and what each level costs there."""

    total: float
    error: float
    prices: np.ndarray


_UNKNOWN = _Highest(np.nan, np.nan, np.zeros(0))


@dataclass(frozen=True)
class LeximinSolution:
    """The leximin of a model: the lexicographically largest levels, and a point that has them.

    Attributes
    ----------
    levels : Series
        By the labels of the rows, or of the expression's indices.
    rounds : DataFrame
        For each round its ``level``, how many were ``frozen`` there, and ``labels``: which.
    solver : str
    gap : float or None
        Largest duality gap of any program that was solved; None where no duals bound it. With
        integers, after a limit, the gap of the solver's bound.
    unproved : str
        What of the answer nothing proves, and why; empty where all of it is proved by duals.
    x : ndarray
        The point, by column of the model.
    problem : Levels
        The model's program, its lowest level a column, each level a row.
    priced : Solution or None
        The first round, from which prices are read.
    stages : DataFrame or None
        With integers: the ``sum`` of the k lowest levels, the solver's ``bound`` on it, and the
        ``gap``, by stage k.
    round_duals : sparse array or None
        Duals of the rows in programs that show who is blocked, programs × rows.
    path_proof : PathProof or None
        Prices of the rounds, of levels on paths that share links.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1], [1, 0]], [[9, 18]], users=["ann", "bob", "cyd"])
    >>> model = fairlp.formulate(instance, "drf")
    >>> answer = fairlp.leximin(model, levels="fairness")
    >>> answer.levels.round(6).to_dict()
    {'ann': 0.4, 'bob': 0.4, 'cyd': 0.4}
    >>> answer.rounds["labels"].tolist()
    [['ann', 'bob', 'cyd']]
    """

    levels: pd.Series[Any]
    rounds: pd.DataFrame
    solver: str
    gap: float | None
    unproved: str
    x: np.ndarray
    problem: Levels
    priced: Solution | None = None
    stages: pd.DataFrame | None = None
    round_duals: Any = field(default=None, repr=False)
    path_proof: PathProof | None = field(default=None, repr=False)

    @property
    def outcomes(self) -> pd.DataFrame:
        """Outcomes of positive probability, from an oracle: ``probability`` and people's levels."""
        if self.problem.outcomes is None:
            raise NoSolutionError(
                f"the leximin of {self.problem.program.name!r} is not of an oracle's outcomes"
            )
        return self.problem.outcomes.table(self.x)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def values(self) -> BlockView:
        """Values of the variables by name: a float, Series, or DataFrame."""
        return BlockView(self.problem.columns, self.x, "answer.values")

    @property
    def prices(self) -> BlockView:
        """Duals by name of the first round's constraints, the price of the lowest level.

        A dual is the gain of the lowest level by one more unit.
        """
        if self.priced is None or self.priced.row_duals is None:
            raise NoSolutionError(f"{self.solver} gave no duals of {self.problem.program.name!r}")
        return BlockView(self.problem.rows, self.priced.row_duals, "answer.prices")

    def certify(self, exact: bool = False, solver: str = "highs") -> Proof:
        """Return the proof that these are the leximin's levels.

        A point is leximin-optimal if and only if no level can be raised while those that are no
        higher keep what they have, and the others do not fall to it. Duals of the rounds prove it
        by weak duality, from the model's numbers, whatever they are and wherever they come from;
        where they leave a level open, programs do.

        Parameters
        ----------
        exact : bool
            In rationals: rounds whose every program is proved optimal from its basis (needs
            python-flint).
        solver : str
            Not exact: of the programs, one for equal levels.

        Returns
        -------
        Proof
            True or False, with a ``message``.

        Raises
        ------
        UnsupportedError
            Exact, and the model has integers, or outcomes of an oracle.

        Examples
        --------
        >>> import fairlp
        >>> cluster = fairlp.examples.load("wang-figure-1")
        >>> bool(fairlp.leximin(fairlp.formulate(cluster, "drfh")).certify())
        True
        """
        problem = self.problem
        if problem.program.is_mip and exact:
            raise UnsupportedError(
                "a leximin of integers has no proof in rationals here; compare with enumeration"
            )
        problem_of_point = self._wrong_point()
        if problem_of_point or problem.program.is_mip:
            return Proof(False, problem_of_point or f"not proved: {INTEGER}")
        if exact and problem.outcomes is not None:
            raise UnsupportedError(
                "outcomes of an oracle have no proof in rationals here: the oracle's word is needed"
            )
        if exact:
            return self._in_rationals({})
        if self.path_proof is not None:
            bounds, error = self.path_proof.bounds()
            if error <= ACCEPTED and not np.isnan(bounds).any():
                rounds = counted(len(self.path_proof.rounds), "round")
                verdict = self._agreement(bounds, Proof(True, f"by prices of {rounds}"))
                if verdict:
                    return verdict
        reached, errors, programs = self._reached(solver)
        if np.isnan(reached).any():
            label = self.levels.index[int(np.isnan(reached).argmax())]
            message = (
                f"not proved: the program of the level of {label!r} is not solved to its tolerance"
            )
            return Proof(False, f"{message}; certify(exact=True)")
        # what prices tell of a level is as right as their rows are, and the levels that it builds on
        doubt = errors.largest()
        told = max(doubt, ACCEPTED)
        source = f"by duals, {counted(programs, 'program')} solved"
        verdict = self._agreement(reached, Proof(True, source), told)
        if not doubt <= max(verdict.gap, ACCEPTED):
            message = (
                f"not proved: prices tell levels to {doubt:.1e} of themselves only; "
                "certify(exact=True)"
            )
            return Proof(False, message, verdict.gap)
        return verdict

    def _in_rationals(self, entries: Mapping[tuple[int, int], Fraction]) -> Proof:
        problem = self.problem
        proof = ServersInRationals(problem.program, problem.places, problem.t, entries).run()
        if not proof.holds:
            return proof
        levels = [float(level) for level in proof.levels if level is not None]
        return self._agreement(np.array(levels), proof)

    def _wrong_point(self) -> str:
        """Return why the point does not have the levels that are shown; empty where it has."""
        problem = self.problem
        levels = self.levels.to_numpy(dtype=float)
        if not np.isfinite(levels).all() or self.x.shape != (problem.program.n_columns,):
            return "not proved: levels or the point are not numbers of the model"
        x = self.x.copy()
        x[problem.t] = levels.min(initial=np.inf)
        certificate = verify(problem.program, x)
        if not certificate.is_feasible:
            return f"not the leximin: the point is not feasible: {certificate}"
        of_point = problem.of(x)
        shortfalls = np.where(of_point < levels, self._differences(of_point), 0.0)
        worst = int(shortfalls.argmax())
        if shortfalls[worst] > AGREEMENT:
            label = self.levels.index[worst]
            return (
                f"not the leximin: the point has {levels[worst] - of_point[worst]:.3g} less than "
                f"the level of {label!r}"
            )
        return ""

    @cached_property
    def _rounding(self) -> np.ndarray:
        """The rounding error of each level, from the size of its terms."""
        return self.problem.terms(abs(self.x)) * ROUNDING

    @cached_property
    def _zero(self) -> np.ndarray:
        """Below which each level is 0: its rounding error at the largest size of its terms."""
        sizes = np.maximum(abs(self.x), reach_of(self.problem.program))
        return self.problem.terms(sizes) * ROUNDING

    def _reached(self, solver: str) -> tuple[np.ndarray, LevelErrors, int]:
        """Return the highest value of each level, their errors, and how many programs were solved.

        Those of levels that are equal come from the duals of their rounds; where these leave it
        open, from one program, which raises their sum; and where it can be raised, or is not
        solved, from one program for each.
        """
        levels = self.levels.to_numpy(dtype=float)
        reached = np.full(len(levels), np.nan)
        errors = LevelErrors(len(levels))
        programs = 0

        def add(equal: np.ndarray, highest: _Highest) -> None:
            reached[equal] = levels[equal] + (highest.total - levels[equal].sum())
            if np.isfinite(highest.error):
                level = np.where(abs(levels) > self._zero, levels, 0.0)[equal[0]]
                share = highest.prices[equal].sum()
                errors.add_round(level, highest.error / share, highest.prices / share)
                errors.stop(equal)

        level_of_round = self._levels_of_rounds()
        in_order = np.argsort(levels, kind="stable")
        is_higher = np.diff(levels[in_order]) > AGREEMENT * abs(levels[in_order[1:]])
        for equal in np.split(in_order, np.flatnonzero(is_higher) + 1):
            is_here = (level_of_round >= levels[equal[0]]) & (level_of_round <= levels[equal[-1]])
            of_sum = self._by_duals(equal, np.flatnonzero(is_here))
            if not self._is_told(equal, of_sum):
                of_sum = self._most(equal, solver)
                programs += 1
            if len(equal) == 1 or self._is_told(equal, of_sum):
                add(equal, of_sum)
                continue
            for k in equal[:, None]:
                add(k, self._most(k, solver))
                programs += 1
        return reached, errors, programs

    def _is_told(self, equal: np.ndarray, highest: _Highest) -> bool:
        """Return whether the largest sum of equal levels shows that none of them can be raised."""
        if not np.isfinite(highest.total):
            return False
        levels = self.levels.to_numpy(dtype=float)
        gain = highest.total - levels[equal].sum()
        is_near = self._differences(levels + gain)[equal] <= AGREEMENT
        sizes = abs(levels)[equal]
        is_zero = (sizes <= self._zero[equal]).all()
        return bool(is_near.all() and (is_zero or highest.error <= ACCEPTED * sizes.min()))

    def _levels_of_rounds(self) -> np.ndarray:
        """Return the highest level that has a price in each round: whoever has it is blocked."""
        problem = self.problem
        if self.round_duals is None:
            return np.zeros(0)
        prices = sp.csr_array(-self.round_duals[:, problem.places] * problem.weights)
        largest = prices.max(axis=1).toarray().reshape(-1)
        entries = prices.tocoo()
        is_priced = entries.data > BLOCKED_PRICE * largest[entries.row]
        highest = np.full(len(largest), -np.inf)
        levels = self.levels.to_numpy(dtype=float)[entries.col[is_priced]]
        np.maximum.at(highest, entries.row[is_priced], levels)
        return highest

    def _by_duals(self, equal: np.ndarray, rounds: np.ndarray) -> _Highest:
        """Return what duals of rounds prove of the sum that :meth:`_most` raises.

        NaN where one of these levels has no price.
        """
        if not rounds.size:
            return _UNKNOWN
        problem = self.problem
        row_duals = self.round_duals[rounds].sum(axis=0)
        weights = problem.weights[equal]
        least_price = float((-row_duals[problem.places[equal]] * weights).min())
        if not least_price > 0:
            return _UNKNOWN
        program, constant = self._raising(equal, 0.0)
        row_duals = row_duals / least_price
        row_duals[problem.places[equal]] += 1.0 / weights  # what the sum itself counts
        total = dual_bound(program, row_duals) - constant
        of_floors = ROUNDING * abs(program.row_lower[problem.places])
        of_floors[np.isinf(of_floors)] = 0.0
        error = error_at_prices(program, self.x, abs(row_duals), problem.places, of_floors)
        return _Highest(total, error, self._prices(equal, row_duals))

    def _prices(self, equal: np.ndarray, row_duals: np.ndarray) -> np.ndarray:
        """Return what each level costs in a program that raises the sum of equal levels."""
        prices = abs(row_duals[self.problem.places]) * self.problem.weights
        prices[equal] += 1.0
        return np.asarray(prices)

    def _raising(self, equal: np.ndarray, slack: float) -> tuple[Program, float]:
        """Return the program that raises the sum of equal levels above floors with some slack.

        Its objective is more than the sum by the second number.
        """
        problem = self.problem
        levels = self.levels.to_numpy(dtype=float)
        places = problem.places
        weights = problem.weights
        constants = problem.program.row_lower[places]
        lower_levels = np.minimum(levels, levels[equal].min())
        lower_levels[equal] = levels[equal]
        floors = lower_levels - slack * abs(lower_levels) - (slack / ROUNDING) * self._rounding
        floor = constants + floors * weights
        floor[abs(floor) <= 2 * self._zero * weights] = 0.0
        if len(equal) == 1:
            floor[equal] = -np.inf
        lower = problem.program.row_lower.copy()
        lower[places] = floor
        cost = problem.without_t[places[equal]].T @ (1.0 / weights[equal])
        program = problem.program.replace(A=problem.without_t, row_lower=lower, c=cost)
        return program, float((constants[equal] / weights[equal]).sum())

    def _most(self, equal: np.ndarray, solver: str) -> _Highest:
        """Return the largest sum of equal levels, while lower ones stay and no other falls below.

        NaN where the program is not solved. The program is without t: it raises the levels
        themselves. A level by itself may also fall.
        """
        problem = self.problem
        # levels are rounded: to the last digit all may be too much to ask
        for slack in (0.0, LEVEL_ROUNDING):
            program, constant = self._raising(equal, slack)
            if problem.outcomes is None:
                solution = program.solve(solver)
            else:
                solution = problem.outcomes.behind(find_backend(solver)).solve(program, Options())
            if solution.status.is_optimal:
                floor = program.row_lower[problem.places]
                floor[np.isneginf(floor)] = 0.0
                error = program_error(
                    solution,
                    solution.verify().gap or 0.0,
                    problem.places,
                    floor,
                    np.zeros(len(floor)),
                )
                assert solution.row_duals is not None
                prices = self._prices(equal, solution.row_duals)
                return _Highest(solution.objective - constant, error, prices)
        return _UNKNOWN

    def _agreement(self, expected: np.ndarray, proof: Proof, told: float = 0.0) -> Proof:
        """Return the verdict on the levels beside those expected.

        ``told`` is how far those expected may be off.
        """
        levels = self.levels.to_numpy(dtype=float)
        names = [*map(repr, self.levels.index)]
        differences = self._differences(expected)
        return proof.compared("the leximin", names, levels, expected, differences, told)

    def _differences(self, expected: np.ndarray) -> np.ndarray:
        """Return how far the levels are from others: relative to the level, less its rounding."""
        levels = self.levels.to_numpy(dtype=float)
        size = np.maximum(np.maximum(abs(expected), abs(levels)), np.finfo(float).tiny)
        differences = np.maximum(abs(levels - expected) - self._rounding, 0.0) / size
        differences[size <= self._zero] = 0.0
        return np.asarray(differences)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{table(self.levels.to_frame())}"

    def __repr__(self) -> str:
        return (
            f"<Leximin of {self.problem.program.name!r} by {self.solver}: {len(self.levels)} "
            "levels>"
        )


def proved_as_written(
    answer: LeximinSolution, entries: Mapping[tuple[int, int], Fraction]
) -> Proof:
    """Return the proof in rationals, with exact entries in the place of rounded ones."""
    problem_of_point = answer._wrong_point()
    return Proof(False, problem_of_point) if problem_of_point else answer._in_rationals(entries)
