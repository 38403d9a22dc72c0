"""The leximin of levels: by rounds of linear programs, for integers by ordered outcomes.

Ordered outcomes are the sums of the k lowest levels, for one k after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import NoSolutionError, UnsupportedError
from ...models.paths.engine import History
from ...models.programs.backends import AnySolver, solve, spelt
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Backend, Capability
from ...models.programs.solution import Solution
from ...models.programs.status import LIMITS, Termination
from ...tolerances import ACCEPTED, AGREEMENT, LEVEL_ROUNDING, NEGLIGIBLE
from .answers import INTEGER, LeximinSolution
from .by_levels import ServersByLevels
from .level_errors import first_order
from .levels import Levels, extended
from .leximin import rounds_frame
from .programs import Members

_NO_DUALS = "not proved: the solver gives no duals; certify() proves the levels one by one"


def by_levels(
    problem: Levels,
    *,
    solver: AnySolver = "highs",
    check_solution: Callable[[Solution], None] | None = None,
    **options: Any,
) -> LeximinSolution:
    """Return the leximin by rounds, or for integers by ordered outcomes.

    Rounds pass certified solutions to ``check_solution``.
    """
    name = spelt(solver)
    backend_and_options = problem.tightest(name, options)
    stages = priced = round_duals = gap = None
    if problem.program.is_mip:
        stages = Stages()
        x = ordered_outcomes(
            problem.program, problem.places, problem.t, *backend_and_options, stages
        )
        levels = problem.of(x)
        gap = max(stages.gaps) if stages.stopped else None
        unproved = stages.unproved(len(levels)) or INTEGER
        history = by_value(levels)
    else:
        shift = _shift(problem, *backend_and_options)
        weight = problem.weights
        everyone = Members(np.arange(len(weight)), weight, np.full(len(weight), np.inf))
        region = ServersByLevels(
            backend_and_options,
            _shifted(problem, shift),
            problem.places,
            problem.t,
            everyone,
            np.ones(len(weight)),
        )
        region.check_solution = check_solution
        end = region.run()
        x = region.point
        levels = np.array([_unshifted(level, shift) for level in region.level])
        history = [(_unshifted(level, shift), rows) for level, rows in end.history]
        unproved = _NO_DUALS
        if region.has_duals:
            gap = region.gap
            unproved = _unproved(region, shift)
            priced = region.priced_solution
            rows = problem.program.n_rows
            round_duals = sp.csr_array(np.reshape(region.round_duals, (-1, rows)))
        if problem.outcomes is not None:
            round_duals = None  # they say nothing of outcomes that are not known
            problem = replace(
                problem,
                program=(grown := problem.outcomes.extended(problem.program)),
                columns=grown.columns,
            )
            x = np.append(x, np.zeros(grown.n_columns - len(x)))
    shown = problem.labelled(levels), table(problem, history)
    of_stages = stages.table() if stages is not None else None
    return LeximinSolution(
        *shown, str(name), gap, unproved, x, problem, priced, of_stages, round_duals
    )


@dataclass
class Stages:
    """The integer programs of a leximin so far.

    Attributes
    ----------
    sums : list of float
        Stage k: the sum of the k lowest levels.
    bounds : list of float
        What that sum can be at most, as the solver says; equal where the stage ended.
    stopped : list of str
        Why a stage ended before its optimum was proved; empty where none did.
    """

    sums: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    @property
    def gaps(self) -> list[float]:
        """How far each bound is above its sum, relative to the sum."""
        return [
            0.0 if bound <= total else (bound - total) / abs(total) if total else np.inf
            for total, bound in zip(self.sums, self.bounds, strict=True)
        ]

    def table(self) -> pd.DataFrame:
        """Return sum, bound and gap by stage."""
        columns = {"sum": self.sums, "bound": self.bounds, "gap": self.gaps}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self.sums) + 1, name="stage"))

    def unproved(self, size: int) -> str:
        """Return what is not proved of a leximin of so many levels; empty without a limit."""
        if not self.stopped:
            return ""
        gaps = self.gaps
        k = next((k for k, gap in enumerate(gaps) if gap > 0), len(gaps) - 1)
        if self.bounds[k] < np.inf:
            bound = f"at most {self.bounds[k]:.6g} is possible, a gap of {gaps[k]:.2g}"
        else:
            bound = "the solver has no bound"
        return (
            f"not proved: {self.stopped[0]} in stage {k + 1} of {size}, where the sum of the "
            f"{k + 1} lowest levels is {self.sums[k]:.6g} and {bound}"
        )


def ordered_outcomes(
    program: Program,
    rows: np.ndarray,
    t: int,
    backend: Any,
    options: Options,
    stages: Stages | None = None,
) -> np.ndarray:
    """Return a point whose levels are the leximin's, or the best one when a limit was reached.

    Parameters
    ----------
    program : Program
        With rows (level k)·(weight k) − (weight k)·t ≥ a constant, and integers.
    rows : ndarray of int
        Which rows these are.
    t : int
        The column of the lowest level.
    backend : Backend
        One that solves integer programs.
    options : Options
        ``time_limit`` is that of all programs together.
    stages : Stages, optional
        What each program came to is added to it.

    Raises
    ------
    UnsupportedError
        When the back end solves no integer programs.
    NoSolutionError
    """
    if Capability.MILP not in backend.capabilities:
        raise UnsupportedError(
            f"{backend.name} solves no integer programs, and {program.name!r} has integers"
        )
    scaling = np.ones(program.n_rows)
    scaling[rows] = -1.0 / program.A[:, [t]].toarray()[rows, 0]
    base = program.replace(
        A=sp.csc_array(sp.diags_array(scaling) @ program.A), row_lower=program.row_lower * scaling
    )
    levels = base.A[rows].tolil()
    levels[:, t] = 0.0
    constant = base.row_lower[rows]
    stages = Stages() if stages is None else stages
    x = np.zeros(program.n_columns)
    start_time = perf_counter()
    for k in range(1, len(rows) + 1):
        stage = with_ordered_sums(base, levels, constant, stages.sums)
        options_of_stage = options
        if options.time_limit is not None:
            seconds_left = max(options.time_limit - (perf_counter() - start_time), 0.0)
            options_of_stage = replace(options, time_limit=seconds_left)
        solution = solve(stage, backend, options_of_stage)

        # a limit: the best point so far, and a bound on what the stage can come to
        termination = solution.status.termination
        is_limited = not solution.status.is_optimal and termination in LIMITS
        if not is_limited or (k == 1 and not solution.is_feasible):
            solution.require_optimal()
        if solution.is_feasible:
            x = solution.require_point()[: program.n_columns]
        total = np.sort(levels @ x - constant)[:k].sum()
        stages.sums.append(float(total))
        stages.bounds.append(float(total))
        if is_limited:
            bound = np.inf if solution.bound is None else solution.bound
            stages.bounds[-1] = max(bound, float(total))
            stages.stopped.append(f"the {termination} was reached")
            if termination is not Termination.GAP_LIMIT:
                break
    return x


def with_ordered_sums(
    base: Program, levels: Any, constant: np.ndarray, sums: Sequence[float]
) -> Program:
    """Return the program of the largest sum of the k lowest levels, where k − 1 ``sums`` are known.

    The sum of the j lowest of the levels y[i] is the largest j·r[j] − Σ_i δ[j,i] with
    y[i] − r[j] + δ[j,i] ≥ 0 and δ ≥ 0. For each j < k it is at least the sum that is known.

    Parameters
    ----------
    levels, constant : sparse array (M × columns), ndarray
        y = levels·x − constant.
    """
    k = len(sums) + 1
    size = len(constant)
    counts = np.arange(1.0, k + 1)
    stages = sp.eye_array(k)
    deviations = sp.hstack([-np.ones((size, 1)), sp.eye_array(size)])
    sum_of_lowest = sp.hstack([sp.diags_array(counts), -sp.kron(stages, np.ones((1, size)))])
    # columns of a stage are r[j], then δ[j,·]
    order = np.concatenate([np.append(j, k + j * size + np.arange(size)) for j in range(k)])
    sum_of_lowest = sp.csr_array(sum_of_lowest)[:, order]
    matrix = sp.vstack(
        [
            sp.hstack([sp.vstack([levels] * k), sp.kron(stages, deviations)]),
            sp.hstack([sp.csr_array((k - 1, base.n_columns)), sum_of_lowest[: k - 1]]),
        ]
    )
    lowest = np.tile(np.append(-np.inf, np.zeros(size)), k)
    least = np.append(np.tile(constant, k), sums)
    cost = sum_of_lowest[[k - 1]].toarray()[0]
    return extended(base, "ordered", lowest, "ordered", matrix, least, cost)


def _unproved(region: ServersByLevels, shift: float) -> str:
    """Return a warning of the largest relative error of the levels; empty within ``ACCEPTED``."""
    largest_error = region.errors.largest(shift)
    if largest_error <= ACCEPTED:
        return ""
    return (
        f"levels may be off by {first_order(largest_error)}; certify(exact=True) proves them in "
        "rationals"
    )


def _shift(problem: Levels, backend: Backend, options: Options) -> float:
    """Return the shift that makes levels as large as their terms; 0 where no terms cancel.

    A gap, and who is on the same level, is measured by that. The first round is solved for it; a
    model without a leximin ends here.
    """
    solution = backend.solve(problem.program, options)
    kinds = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)
    if solution.status.termination in kinds:
        raise NoSolutionError(
            f"{problem.program.name!r} has no leximin: {solution.status}; infeasible: no point "
            "keeps all rows"
            f"{'' if problem.hand_back else ' (model.explain() names them)'}; unbounded: all "
            "levels can be raised "
            "without end"
        )
    x = solution.require_optimal().x
    assert x is not None
    x = x[: problem.program.n_columns]  # an oracle may have found more
    size = problem.terms(abs(x))
    level = problem.of(x)
    # what the other levels are made of matters in their rounds only
    largest = float(size[level <= level.min() + AGREEMENT * size].max())
    if x[problem.t] > NEGLIGIBLE * largest:
        return 0.0
    return float(2.0 ** np.ceil(np.log2(largest) + 1)) if largest > 0 else 1.0


def _shifted(problem: Levels, shift: float) -> Program:
    """Return the program with t + shift in place of t."""
    if not shift:
        return problem.program
    lower, low, high = (
        getattr(problem.program, name).copy() for name in ("row_lower", "col_lower", "col_upper")
    )
    lower[problem.places] -= shift * problem.weights
    low[problem.t], high[problem.t] = low[problem.t] + shift, high[problem.t] + shift
    return problem.program.replace(row_lower=lower, col_lower=low, col_upper=high)


def _unshifted(level: float, shift: float) -> float:
    """Return the level itself, 0 where rounding is all that there is of it."""
    level = float(level) - shift
    return level if abs(level) > LEVEL_ROUNDING * shift else 0.0


def by_value(levels: np.ndarray) -> History:
    """Return the positions that have each level (but for rounding), from the lowest."""
    order = np.argsort(levels, kind="stable")
    steps = np.diff(levels[order]) > AGREEMENT * abs(levels[order][1:])
    return [
        (float(levels[group].max()), np.sort(group))
        for group in np.split(order, np.flatnonzero(steps) + 1)
    ]


def table(problem: Levels, history: History) -> pd.DataFrame:
    """Return the rounds as a table."""
    labels = [list(problem.labels[rows]) for _, rows in history]
    return rounds_frame(history, {"labels": labels})
