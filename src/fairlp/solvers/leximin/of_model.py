"""``leximin``: the lexicographic max-min of any linear model, from the lowest level up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, NoSolutionError, UnsupportedError, counted, nearest
from ...keywords import lists
from ...models.notation.arrays import assemble
from ...models.notation.compiler import compile_rows
from ...models.notation.concave_levels import has_curves
from ...models.notation.expressions import Expression, Index, parameter_values
from ...models.notation.labels import axes_of
from ...models.notation.model import Model
from ...models.notation.tables import check_own
from ...models.notation.walks import mapped
from ...models.paths.engine import History
from ...models.programs.backends import AnySolver, find_backend, solve, spelt
from ...models.programs.certificate import certify, dual_bound
from ...models.programs.options import Options, SolveOptions
from ...models.programs.program import CONTINUOUS, Block, BlockView, Program
from ...models.programs.proof import Proof
from ...models.programs.protocols import Backend, Capability
from ...models.programs.sizes import reach_of
from ...models.programs.solution import Solution
from ...models.programs.status import LIMITS, Termination
from ...tolerances import ACCEPTED, AGREEMENT, BLOCKED_PRICE, LEVEL_ROUNDING, NEGLIGIBLE, ROUNDING
from ..backends import cvxpy_backend, pyomo_backend
from ..backends.cvxpy_backend import unused
from .by_levels import ServersByLevels
from .exact import ServersInRationals
from .level_errors import LevelErrors, error_at_prices, first_order, program_error
from .leximin import rounds_frame
from .outcomes import Oracle, Outcomes
from .programs import Members, tightest

# Which levels: a model as a program whose column t is the lowest of them.


@dataclass(frozen=True)
class Levels:
    """A program whose column ``t`` is the lowest level.

    Its rows are (level k)·(weight k) − (weight k)·t ≥ a constant.

    ``places`` are the positions of these rows, and ``labels`` what the levels are called.
    ``columns`` and ``rows`` are the blocks of the model itself. ``hand_back`` writes a point into
    the variables of the CVXPY problem or Pyomo model that it was read from. ``outcomes`` has an
    oracle for further columns.
    """

    program: Program
    places: np.ndarray
    labels: Any
    t: int
    columns: tuple[Block, ...]
    rows: tuple[Block, ...]
    hand_back: Callable[[np.ndarray], None] | None = None
    outcomes: Outcomes | None = None

    @cached_property
    def weights(self) -> np.ndarray:
        """What each level is divided by."""
        return np.asarray(-self.program.A[:, [self.t]].toarray()[self.places, 0])

    @cached_property
    def without_t(self) -> Any:
        """The program's matrix with nothing in column t."""
        others = sp.diags_array((np.arange(self.program.n_columns) != self.t).astype(float))
        matrix = sp.csc_array(self.program.A @ others)
        matrix.eliminate_zeros()
        return matrix

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return the levels at a point."""
        return np.asarray((self.without_t @ x - self.program.row_lower)[self.places] / self.weights)

    def terms(self, sizes: np.ndarray) -> np.ndarray:
        """Return the sizes of the numbers that each level is made of at a point of such sizes."""
        terms = abs(self.without_t) @ sizes + abs(self.program.row_lower)
        return np.asarray(terms[self.places] / self.weights)

    def tightest(self, solver: AnySolver, options: Mapping[str, Any]) -> tuple[Any, Options]:
        """Return a back end for these programs, and its options with the tightest tolerances."""
        backend, chosen = tightest(solver, options)
        return backend if self.outcomes is None else self.outcomes.behind(backend), chosen

    def labelled(self, values: Iterable[Any]) -> pd.Series[Any]:
        """Return one value a level, by its labels."""
        return pd.Series(list(values), index=self.labels, name="level")


def labels_of(block: Block) -> Any:
    """Return the labels of a block's rows as an index."""
    labels = list(block.labels())
    names = [symbol for symbol, _ in block.axes]
    if len(names) == 1:
        return pd.Index([label[0] for label in labels], name=names[0], tupleize_cols=False)
    return pd.MultiIndex.from_tuples(labels, names=names) if names else pd.RangeIndex(1)


def by_rows(program: Program, name: str, weights: Any) -> Levels:
    """Return the levels of a block of rows … ≥ w·t of a program that maximises t."""
    names = [block.name for block in program.rows]
    if name not in names:
        raise ModelError(
            f"model {program.name!r} has no rows {name!r} to be levels; {nearest(name, names)}, or "
            "give an expression "
            "with an index, such as x.sum(i)"
        )
    block = program.rows[names.index(name)]
    levels = _raised(
        program, np.arange(block.start, block.stop), labels_of(block), repr(name), weights
    )
    return replace(levels, rows=tuple(other for other in program.rows if other is not block))


def by_names(program: Program, names: Sequence[str], weights: Any) -> Levels:
    """Return the levels of rows … ≥ w·t by the names of the rows.

    The names are those of a file that another tool wrote.
    """
    labels = [
        str(label[-1]) if len(label) == 1 else block.name
        for block in program.rows
        for label in block.labels()
    ]
    row_of = {
        name: row for all_names in (labels, program.row_names) for row, name in enumerate(all_names)
    }
    for name in names:
        if name not in row_of:
            raise ModelError(
                f"model {program.name!r} has no row {name!r} to be a level; "
                f"{nearest(str(name), row_of)}"
            )
    places = np.array([row_of[name] for name in names], dtype=np.intp)
    if len(np.unique(places)) < len(places) or not len(places):
        raise ModelError(
            f"rows of levels are named once each; expected at least one, found {list(names)}"
        )
    return _raised(
        program, places, pd.Index(list(names), name="row"), "of the names given", weights
    )


def _raised(
    program: Program, places: np.ndarray, labels: Any, rows_text: str, weights: Any
) -> Levels:
    """Return the levels of rows … ≥ w·t of a program that maximises t.

    ``rows_text`` names the rows in error messages.
    """
    if weights is not None:
        raise ModelError(
            f"rows {rows_text} have weights of their own, as coefficients of t; give weights with an "
            "expression"
        )
    towards = program.c if program.sense == "max" else -program.c
    (objective_columns,) = np.nonzero(towards)
    if program.logs is not None or len(objective_columns) != 1 or towards[objective_columns[0]] < 0:
        raise ModelError(
            f"model {program.name!r} does not maximise one variable t, of which rows {rows_text} say … "
            "≥ w·t; "
            "give an expression with an index as levels"
        )
    t = int(objective_columns[0])
    slope = program.A[:, [t]].toarray()[:, 0]
    lower = program.row_lower.copy()
    upper = program.row_upper.copy()
    below = np.isneginf(lower[places])  # … written as w·t ≤ …
    sign = np.ones(program.n_rows)
    sign[places[below]] = -1.0
    refused = ~((sign * slope)[places] < 0) | (below == np.isposinf(upper[places]))
    if refused.any():
        label = program.row_names[places[refused.argmax()]]
        raise ModelError(f"row {label} is not of the form … ≥ w·t with w > 0, so it gives no level")
    if np.delete(slope, places).any():
        raise ModelError(
            f"model {program.name!r} uses t outside of rows {rows_text}; it is to be the lowest level "
            "only"
        )
    lower[places] = np.where(below, -upper[places], lower[places])
    upper[places] = np.inf
    raised = program.replace(
        A=sp.csc_array(sp.diags_array(sign) @ program.A),
        row_lower=lower,
        row_upper=upper,
        c=np.eye(1, program.n_columns, t)[0],
        offset=0.0,
        sense="max",
    )
    return Levels(raised, places, labels, t, program.columns, program.rows)


def by_expression(model: Any, levels: Any, weights: Any) -> Levels:
    """Return the model's feasible points, a column t, and rows (element k) − (weight k)·t ≥ 0."""
    if not isinstance(model, Model) or not isinstance(levels, Expression):
        raise ModelError(
            f"levels are {type(levels).__name__}; expected the name of rows, or an expression of a "
            "Model"
        )
    over = levels.indices
    if not over or levels.degree != 1:
        raise ModelError(
            f"levels {levels} are expected to be linear in the variables, and to have an index"
        )
    base = model.compile()
    triples, constant = compile_rows(
        levels, {block.name: block.start for block in base.columns}, over, None
    )
    slopes = assemble(triples, (len(constant), base.n_columns), "csc")
    block = Block("levels", axes_of(over), 0, len(constant))
    return with_levels(base, (slopes, constant, block), over, weights)


def with_levels(
    base: Program, expressions: tuple[Any, np.ndarray, Block], over: tuple[Index, ...], weights: Any
) -> Levels:
    """Return a program's feasible points, a column t, and a block of rows of its levels.

    The rows are slopes·x + constant − weight·t ≥ 0.
    """
    slopes, constant, block = expressions
    size, t = slopes.shape
    weight = (
        np.ones(size) if weights is None else parameter_values(weights, over, "weights").reshape(-1)
    )
    if not (weight > 0).all():
        raise ModelError(f"weights of levels are above 0; found {weight.min():g}")
    block = replace(
        block, name=unused(block.name, base.rows), start=base.n_rows, stop=base.n_rows + size
    )
    lowest = Block(unused("level", base.columns), (), t, t + 1)
    rows = sp.hstack([slopes, sp.csc_array(-weight[:, None])])
    program = extended(base, lowest, np.array([-np.inf]), block, rows, -constant, np.ones(1))
    return Levels(
        program, np.arange(block.start, block.stop), labels_of(block), t, base.columns, base.rows
    )


def extended(
    base: Program,
    columns: Block,
    lowest: np.ndarray,
    rows: Block,
    matrix: Any,
    least: np.ndarray,
    cost: np.ndarray,
) -> Program:
    """Return a program with more columns ≥ ``lowest`` and more rows matrix·x ≥ ``least``.

    It maximises the cost of the new columns.
    """
    size = len(columns)
    wide = sp.hstack([base.A, sp.csc_array((base.n_rows, size))])
    return base.replace(
        sense="max",
        c=np.append(np.zeros(base.n_columns), cost),
        offset=0.0,
        A=sp.csc_array(sp.vstack([wide, matrix])),
        row_lower=np.append(base.row_lower, least),
        row_upper=np.append(base.row_upper, np.full(len(rows), np.inf)),
        col_lower=np.append(base.col_lower, lowest),
        col_upper=np.append(base.col_upper, np.full(size, np.inf)),
        integrality=np.append(base.integrality, np.full(size, CONTINUOUS, dtype=np.uint8)),
        rows=(*base.rows, rows),
        columns=(*base.columns, columns),
        levels="",
        logs=None,
    )


def of_oracle(people: Any, oracle: Oracle, levels: Any, weights: Any) -> Levels:
    """Return the levels of a lottery over an oracle's outcomes."""
    if levels is not None or isinstance(people, Model | Program | str):
        raise ModelError(
            "with an oracle the first argument is the people (an Index, or labels), and levels are "
            "theirs"
        )
    outcomes = Outcomes(
        people if isinstance(people, Index) else Index("n", people, "person"), oracle
    )
    return replace(by_rows(outcomes.program(weights), "levels", None), outcomes=outcomes)


def levels_of(model: Any, levels: Any = None, weights: Any = None) -> Levels:
    """Return the levels of a model of fairlp or of another tool.

    A tool is imported only for its own models.
    """
    tools = {base.__module__.partition(".")[0] for base in type(model).__mro__} & {"cvxpy", "pyomo"}
    if not tools and (levels is None or isinstance(levels, str | list | tuple)):
        program = model.compile() if isinstance(model, Model) else model
        if isinstance(levels, list | tuple) and all(isinstance(name, str) for name in levels):
            return by_names(program, levels, weights)
        if levels is None or isinstance(levels, str):
            return by_rows(
                program, program.leximin()[0].name if levels is None else levels, weights
            )
    if not tools:
        return by_expression(model, levels, weights)
    if levels is None:
        raise ModelError(
            f"a {type(model).__name__} does not say what its levels are; give them as levels="
        )
    tool = cvxpy_backend if "cvxpy" in tools else pyomo_backend
    program, rows_or_expression, save = tool.read(model, levels)
    if isinstance(rows_or_expression, str):
        result = by_rows(program, rows_or_expression, weights)
    elif isinstance(rows_or_expression, list):
        result = by_names(program, rows_or_expression, weights)
    else:
        labels = [
            label[0] if len(label) == 1 else label for label in rows_or_expression[2].labels()
        ]
        over = Index("level", pd.Index(labels, tupleize_cols=False))
        result = with_levels(program, rows_or_expression, (over,), weights)
    return replace(result, hand_back=save)


# Integer programs, by ordered outcomes: the sums of the k lowest levels, for one k after another.


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
    columns, rows = (
        Block(unused("ordered", blocks), (("at", pd.RangeIndex(count)),), start, start + count)
        for blocks, start, count in (
            (base.columns, base.n_columns, k * (size + 1)),
            (base.rows, base.n_rows, matrix.shape[0]),
        )
    )
    lowest = np.tile(np.append(-np.inf, np.zeros(size)), k)
    least = np.append(np.tile(constant, k), sums)
    cost = sum_of_lowest[[k - 1]].toarray()[0]
    return extended(base, columns, lowest, rows, matrix, least, cost)


# The answer.


class _Highest(NamedTuple):
    """The largest sum of some levels, its error to first order, and what each level costs there."""

    total: float
    error: float
    prices: np.ndarray


_UNKNOWN = _Highest(np.nan, np.nan, np.zeros(0))

_NO_DUALS = "not proved: the solver gives no duals; certify() proves the levels one by one"
_INTEGER = "integer levels rest on the optima of the solver's branch and bound"


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
            return Proof(False, problem_of_point or f"not proved: {_INTEGER}")
        if exact and problem.outcomes is not None:
            raise UnsupportedError(
                "outcomes of an oracle have no proof in rationals here: the oracle's word is needed"
            )
        if exact:
            return self._in_rationals({})
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
        certificate = certify(problem.program, x)
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

    def __repr__(self) -> str:
        return (
            f"<Leximin of {self.problem.program.name!r} by {self.solver}: {len(self.levels)} "
            "levels>"
        )


@lists(SolveOptions)
def leximin(
    model: Model | Program | Any,
    levels: str | Sequence[str] | Expression | Any = None,
    *,
    weights: Any = None,
    oracle: Oracle | None = None,
    solver: AnySolver = "highs",
    **options: Unpack[SolveOptions],
) -> LeximinSolution:
    """Return the lexicographic max-min of any linear model, the lowest level first.

    Parameters
    ----------
    model : Model, Program, cvxpy.Problem or Pyomo model
        Ours, edited or your own; what another tool wrote as a file comes as a Program
        (:func:`fairlp.read_program`). CVXPY's and Pyomo's variables are given the values of the
        answer.
    levels : str, sequence of str, Expression, or what CVXPY or Pyomo has for it, optional
        Where the model itself says what its levels are (:meth:`.Model.leximin`), nothing. Else a
        block of rows ``… ≥ w·t`` where the model maximises t (the mechanisms call it ``fairness``),
        or an expression with an index: its elements are the levels, and the model's own objective
        plays no part. Several names are those of single rows, as a file has them. Of a CVXPY
        problem: an affine expression, a list of them (numbered through, each in C order), or a dict
        by label. Of a Pyomo model: constraints ``… ≥ w·t``, or linear expressions (an indexed
        component, a list, or a dict by label). With expressions, the objective plays no part.
    weights : array_like, Series or mapping, optional
        Of an expression's elements: a level is the element divided by its weight, above 0. A block
        has its own.
    oracle : callable, optional
        With an Index, or a sequence of labels, in the model's place: the people. Given weights ≥ 0
        (a Series by person), it returns an outcome whose weighted sum of levels is largest: one
        number a person (Series, mapping or array), or a collection of the people who have level 1.
        The leximin is that of expected levels under a lottery over outcomes,
        :attr:`LeximinSolution.outcomes`. It is as right as the oracle is.
    solver : str, Backend or class
        A name from :func:`fairlp.solvers`, or a back end of your own (:class:`fairlp.Backend`).
    **options
        Of the solver.

    Returns
    -------
    LeximinSolution

    Raises
    ------
    ModelError
        When nothing says what the levels are, there is no such block, its rows are of another form,
        or the model is not linear.
    NoSolutionError
        When the model is infeasible, or a level can be raised without end.
    SolverError

    Notes
    -----
    Outcomes of an oracle by column generation (:mod:`.outcomes`). Linear models by rounds: raise t,
    freeze whose rows have a price, and go on (:func:`fairlp.rise`); the rounds of the
    mechanisms are these. Integer models by ordered outcomes (Ogryczak and Śliwiński, 2006).

    Examples
    --------
    Three jobs on two machines, in hours: raise the least served first.

    >>> from fairlp import Index, Model
    >>> j, m = Index("j", ["a", "b", "c"]), Index("m", ["fast", "slow"])
    >>> model = Model("jobs", indices=(j, m))
    >>> x = model.variable("x", j, m, where=[[True, False], [True, True], [False, True]])
    >>> hours = model.constraint("hours", x.sum(j) <= model.parameter("h", (m,), [8, 2]))
    >>> answer = leximin(model, levels=x.sum(m))
    >>> answer.levels.round(9).to_dict()
    {'a': 4.0, 'b': 4.0, 'c': 2.0}
    >>> print(answer.certify(exact=True))
    the leximin, proved (in rationals, 2 rounds); levels agree to ...

    A panel of two of four people, one of the two women at least: each person is on it with
    probability ½.

    >>> def best_panel(weight):
    ...     first = weight[["ann", "bea"]].idxmax()
    ...     return [first, weight.drop(first).idxmax()]
    >>> answer = leximin(["ann", "bea", "carl", "dan"], oracle=best_panel)
    >>> answer.levels.round(9).to_dict()
    {'ann': 0.5, 'bea': 0.5, 'carl': 0.5, 'dan': 0.5}
    """
    if oracle is None and isinstance(model, Model):
        if isinstance(levels, Expression) and levels.degree > 1:
            model, levels, weights = with_declared_levels(model, levels, weights), None, None
        is_own = levels is None or (isinstance(levels, str) and levels == model.levels)
        if is_own and weights is None and model.levels is not None and has_curves(model):
            from .concave import concave_leximin

            return concave_leximin(model, solver, options)
    problem = (
        levels_of(model, levels, weights)
        if oracle is None
        else of_oracle(model, oracle, levels, weights)
    )
    solution = by_levels(problem, solver=solver, **options)
    if problem.hand_back is not None:
        problem.hand_back(solution.x)
    return solution


def with_declared_levels(model: Model, levels: Expression, weights: Any) -> Model:
    """Return a copy of a model that has concave levels as its own."""
    check_own(model, "the levels", levels)
    if weights is not None:
        weight = parameter_values(weights, levels.indices, "weights")
        if not (weight > 0).all():
            raise ModelError(f"weights of levels are above 0; found {weight.min():g}")
        levels = levels / weight
    copy = model.copy()
    copy.leximin(mapped(levels, {**copy.parameters, **copy.variables}))
    return copy


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
    stages = None
    if problem.program.is_mip:
        stages = Stages()
        x = ordered_outcomes(
            problem.program, problem.places, problem.t, *backend_and_options, stages
        )
        levels = problem.of(x)
        gap = max(stages.gaps) if stages.stopped else None
        unproved = stages.unproved(len(levels)) or _INTEGER
        priced = None
        round_duals = None
        history = _by_value(levels)
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
        gap = None
        unproved = _NO_DUALS
        priced = None
        round_duals = None
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
    shown = problem.labelled(levels), _table(problem, history)
    table = stages.table() if stages is not None else None
    return LeximinSolution(*shown, str(name), gap, unproved, x, problem, priced, table, round_duals)


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


def _by_value(levels: np.ndarray) -> History:
    """Return the positions that have each level (but for rounding), from the lowest."""
    order = np.argsort(levels, kind="stable")
    steps = np.diff(levels[order]) > AGREEMENT * abs(levels[order][1:])
    return [
        (float(levels[group].max()), np.sort(group))
        for group in np.split(order, np.flatnonzero(steps) + 1)
    ]


def _table(problem: Levels, history: History) -> pd.DataFrame:
    """Return the rounds as a table."""
    labels = [list(problem.labels[rows]) for _, rows in history]
    return rounds_frame(history, {"labels": labels})


def proved_as_written(
    answer: LeximinSolution, entries: Mapping[tuple[int, int], Fraction]
) -> Proof:
    """Return the proof in rationals, with exact entries in the place of rounded ones."""
    problem_of_point = answer._wrong_point()
    return Proof(False, problem_of_point) if problem_of_point else answer._in_rationals(entries)
