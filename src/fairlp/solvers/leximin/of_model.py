"""``leximin``: the lexicographic max-min of any linear model, from the lowest level up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, NoSolutionError, SolverError, UnsupportedError, nearest
from ...models.instances.merging import identity
from ...models.notation.compiler import assemble, compile_rows
from ...models.notation.entries import parameter_values
from ...models.notation.expressions import Expression
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.certificate import Verdict
from ...models.programs.program import CONTINUOUS, Block, Program
from ...models.programs.solution import BlockView, Capability, Options, Solution, Termination
from ...tolerances import AGREEMENT, SAME_LEVEL
from .exact import ExactRounds
from .ordered import ordered_outcomes
from .rounds import Rounds

_NO_DUALS = "not proved: the solver gives no duals; certify() proves the levels one by one"
_INTEGER = "integer levels rest on the optima of the solver's branch and bound"


@dataclass(frozen=True)
class Levels:
    """A program whose column ``t`` is the lowest level: rows (level k)·(weight k) − (weight k)·t ≥ 0 in one block."""

    program: Program
    block: Block
    t: int
    columns: tuple[Block, ...]
    rows: tuple[Block, ...]

    @property
    def places(self) -> np.ndarray:
        """Positions of the rows."""
        return np.arange(self.block.start, self.block.stop)

    @property
    def weights(self) -> np.ndarray:
        """What each level is divided by."""
        return np.asarray(-self.program.A[:, [self.t]].toarray()[self.places, 0])

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return the levels at a point."""
        rest = x.copy()
        rest[self.t] = 0.0
        return np.asarray((self.program.A @ rest - self.program.row_lower)[self.places] / self.weights)

    def labelled(self, values: Sequence[Any] | np.ndarray) -> pd.Series[Any]:
        """Return one value a level, by its labels."""
        labels = list(self.block.labels())
        names = [symbol for symbol, _ in self.block.axes]
        index: Any = pd.Index([one[0] for one in labels], name=names[0]) if len(names) == 1 else None
        if index is None:
            index = pd.MultiIndex.from_tuples(labels, names=names) if names else pd.RangeIndex(1)
        return pd.Series(list(values), index=index, name="level")


@dataclass(frozen=True)
class LeximinSolution:
    """The leximin of a model: levels that no other point of it has lexicographically larger, and a point with them.

    Attributes
    ----------
    levels : Series
        By the labels of the rows, or of the expression's indices.
    rounds : DataFrame
        For each round its ``level``, how many were ``frozen`` there, and ``labels``: which.
    solver : str
    gap : float or None
        Largest duality gap of any program that was solved; None where no duals bound it.
    unproved : str
        What of the answer nothing proves, and why; empty where all of it is proved by duals.
    x : ndarray
        The point, by column of the model.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1], [1, 0]], [[9, 18]], users=["ann", "bob", "cyd"])
    >>> model = fairlp.formulate(instance, "drf")
    >>> answer = fairlp.leximin(model, levels="fairness")
    >>> answer.levels.round(6).to_dict()
    {'ann': 0.391304, 'bob': 0.391304, 'cyd': 0.413043}
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

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def values(self) -> BlockView:
        """Values of the variables by name: a float, Series, or DataFrame."""
        return BlockView(self.problem.columns, self.x)

    @property
    def prices(self) -> BlockView:
        """Duals of the constraints in the first round, by name: what one more unit would add to the lowest level."""
        if self.priced is None or self.priced.row_duals is None:
            raise NoSolutionError(f"{self.solver} gave no duals of {self.problem.program.name!r}")
        return BlockView(self.problem.rows, self.priced.row_duals)

    def certify(self, exact: bool = False, solver: str = "highs") -> Verdict:
        """Return whether these are the levels of the leximin, proved without the rounds that found them.

        Parameters
        ----------
        exact : bool
            In rationals: rounds whose every program is proved optimal from its basis (needs python-flint).
        solver : str
            Not exact: of the programs, one a level. A point is leximin-optimal if and only if no level can be raised
            while those that are no higher keep what they have, and the others do not fall to it.

        Raises
        ------
        UnsupportedError
            Exact, and the model has integers.
        """
        if self.problem.program.is_mip:
            if exact:
                raise UnsupportedError("a leximin of integers has no proof in rationals here; compare with enumeration")
            return Verdict(False, f"not proved: {_INTEGER}")
        if exact:
            found = ExactRounds(self.problem.program, self.problem.places, self.problem.t).run()
            if not found.proved:
                return found
            return self._agreement(np.array([float(level) for level in found.levels if level is not None]), found)
        reached = np.array([self._most(k, solver) for k in range(len(self.levels))])
        return self._agreement(reached, Verdict(True, "one program a level"))

    def _most(self, k: int, solver: str) -> float:
        """Return how high a level goes while those that are no higher keep theirs, and nobody falls below it."""
        problem, mine = self.problem, self.levels.to_numpy(dtype=float)
        lower = problem.program.row_lower.copy()
        lower[problem.places] += np.minimum(mine, mine[k]) * problem.weights
        A = problem.program.A.tolil(copy=True)
        others = np.delete(problem.places, k)
        A[others, problem.t] = 0.0
        lower[problem.places[k]] = problem.program.row_lower[problem.places[k]]
        program = problem.program.replace(A=sp.csc_array(A), row_lower=lower)
        return program.solve(solver).require_optimal().objective

    def _agreement(self, expected: np.ndarray, how: Verdict) -> Verdict:
        mine = self.levels.to_numpy(dtype=float)
        size = max(float(abs(expected).max(initial=0.0)), float(abs(mine).max(initial=0.0)), np.finfo(float).tiny)
        difference = abs(mine - expected) / size
        worst = int(difference.argmax())
        most = float(difference[worst])
        if most > AGREEMENT:
            label = self.levels.index[worst]
            wrong = f"{label!r} has the level {mine[worst]:.12g}, and {expected[worst]:.12g} is right"
            return Verdict(False, f"not the leximin: {wrong} ({how.message})", most, how.levels)
        return Verdict(True, f"the leximin, proved ({how.message}); levels agree to {most:.1e}", most, how.levels)

    def __repr__(self) -> str:
        return f"<Leximin of {self.problem.program.name!r} by {self.solver}: {len(self.levels)} levels>"


def leximin(
    model: Model | Program,
    levels: str | Expression = "fairness",
    *,
    weights: Any = None,
    solver: str = "highs",
    **options: Any,
) -> LeximinSolution:
    """Return the lexicographic max-min of any linear model: the lowest level as high as can be, then the next.

    Parameters
    ----------
    model : Model or Program
        Ours, edited or your own; a file, a Pyomo or a CVXPY model comes as a Program (:func:`fairlp.read_program`).
    levels : str or Expression
        A block of rows ``… ≥ w·t`` where the model maximises t (the mechanisms call it ``fairness``), or an expression
        with an index: its elements are the levels, and the model's own objective plays no part.
    weights : array_like, Series or mapping, optional
        Of an expression's elements: a level is the element divided by its weight, above 0. A block has its own.
    solver : str
    **options
        Of the solver.

    Returns
    -------
    LeximinSolution

    Raises
    ------
    ModelError
        When there is no such block, its rows are of another form, or the model is not linear.
    NoSolutionError
        When the model is infeasible, or a level can be raised without end.
    SolverError

    Notes
    -----
    Linear models by rounds: raise t, freeze whose rows have a price, and go on (:class:`.rounds.Rounds`); the rounds of
    the mechanisms are these. Integer models by ordered outcomes (Ogryczak and Śliwiński, 2006).

    Examples
    --------
    Three jobs on two machines, in hours: raise the least served first.

    >>> from fairlp import Index, Model
    >>> j, m = Index("j", ["a", "b", "c"]), Index("m", ["fast", "slow"])
    >>> model = Model("jobs", indices=(j, m))
    >>> x = model.variable("x", j, m, where=[[1, 0], [1, 1], [0, 1]])
    >>> model.constraint("hours", x.sum(j) <= model.parameter("h", (m,), [8, 2]))
    >>> answer = leximin(model, levels=x.sum(m))
    >>> answer.levels.to_dict()
    {'a': 4.0, 'b': 4.0, 'c': 2.0}
    >>> print(answer.certify(exact=True))
    the leximin, proved (in rationals, 2 rounds); levels agree to 0.0e+00
    """
    problem = _by_rows(model, levels, weights) if isinstance(levels, str) else _by_expression(model, levels, weights)
    backend = find_backend(solver)
    parsed = Options.from_keywords(solver, options).tightened(backend)
    if problem.program.is_mip:
        x = ordered_outcomes(problem.program, problem.places, problem.t, backend, parsed)
        found = problem.of(x)
        return LeximinSolution(
            problem.labelled(found), _table(problem, _by_value(found)), solver, None, _INTEGER, x, problem
        )
    has_duals = Capability.DUALS in backend.capabilities
    everyone, weight = identity(len(problem.block)), problem.weights
    session = backend.session(problem.program, parsed)
    unlimited = np.full(len(weight), np.inf)
    rounds = Rounds(
        session, problem.places, problem.t, everyone, weight, unlimited, np.ones(len(weight)), has_duals, signed=True
    )
    try:
        rounds.run()
    except SolverError:
        _refuse(problem.program, solver, parsed)
        raise
    assert rounds.last is not None
    return LeximinSolution(
        problem.labelled(rounds.level),
        _table(problem, rounds.history),
        solver,
        rounds.gap if has_duals else None,
        "" if has_duals else _NO_DUALS,
        rounds.last,
        problem,
        rounds.priced if has_duals else None,
    )


def _by_rows(model: Model | Program, name: str, weights: Any) -> Levels:
    """Return the levels of rows … ≥ w·t of a program that maximises t."""
    program = model if isinstance(model, Program) else model.compile()
    if weights is not None:
        raise ModelError(
            f"rows {name!r} have weights of their own, as coefficients of t; give weights with an expression"
        )
    names = [block.name for block in program.rows]
    if name not in names:
        raise ModelError(
            f"model {program.name!r} has no rows {name!r} to be levels; {nearest(name, names)}, or give an expression "
            "with an index, such as x.sum(i)"
        )
    block = program.rows[names.index(name)]
    towards = program.c if program.sense == "max" else -program.c
    (at,) = np.nonzero(towards)
    if program.logs is not None or len(at) != 1 or towards[at[0]] < 0:
        raise ModelError(
            f"model {program.name!r} does not maximise one variable t, of which rows {name!r} say … ≥ w·t; "
            "give an expression with an index as levels"
        )
    t = int(at[0])
    where = np.arange(block.start, block.stop)
    slope = program.A[:, [t]].toarray()[:, 0]
    below = np.isneginf(program.row_lower[where])  # … written as w·t ≤ …
    sign = np.where(below, -1.0, 1.0)
    wrong = ~(sign * slope[where] < 0) | (below == np.isposinf(program.row_upper[where]))
    if wrong.any():
        label = block.names()[int(wrong.argmax())]
        raise ModelError(f"row {label} is not of the form … ≥ w·t with w > 0, so it gives no level")
    elsewhere = np.delete(slope, where)
    if elsewhere.any():
        raise ModelError(f"model {program.name!r} uses t outside of rows {name!r}; it is to be the lowest level only")
    scale = np.ones(program.n_rows)
    scale[where] = sign
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[where] = np.where(below, -upper[where], lower[where])
    upper[where] = np.inf
    cost = np.zeros(program.n_columns)
    cost[t] = 1.0
    raised = program.replace(
        A=sp.csc_array(sp.diags_array(scale) @ program.A),
        row_lower=lower,
        row_upper=upper,
        c=cost,
        offset=0.0,
        sense="max",
    )
    return Levels(raised, block, t, program.columns, tuple(b for b in program.rows if b is not block))


def _by_expression(model: Model | Program, levels: Expression, weights: Any) -> Levels:
    """Return the model's feasible points with a column t, and rows (element k) − (weight k)·t ≥ 0."""
    if not isinstance(model, Model) or not isinstance(levels, Expression):
        raise ModelError(f"levels are {type(levels).__name__}; expected the name of rows, or an expression of a Model")
    if not levels.indices or levels.degree != 1:
        raise ModelError(f"levels {levels} are expected to be linear in the variables, and to have an index")
    base = model.compile()
    over = levels.indices
    starts = {block.name: block.start for block in base.columns}
    triples, constant = compile_rows(levels, starts, over, None)
    weight = np.ones(len(constant))
    if weights is not None:
        weight = parameter_values(weights, over, "weights").reshape(-1)
        if not (weight > 0).all():
            raise ModelError(f"weights of levels are above 0; found {weight.min():g}")
    size, t = len(constant), base.n_columns
    rows = sp.hstack([assemble(triples, (size, t), "csc"), sp.csc_array(-weight[:, None])])
    matrix = sp.vstack([sp.hstack([base.A, sp.csc_array((base.n_rows, 1))]), rows]).tocsc()
    axes = tuple((index.symbol, index.labels) for index in over)
    block = Block(_unused("levels", base.rows), axes, base.n_rows, base.n_rows + size)
    program = Program(
        name=base.name,
        sense="max",
        c=np.append(np.zeros(t), 1.0),
        offset=0.0,
        A=sp.csc_array(matrix),
        row_lower=np.append(base.row_lower, -constant),
        row_upper=np.append(base.row_upper, np.full(size, np.inf)),
        col_lower=np.append(base.col_lower, -np.inf),
        col_upper=np.append(base.col_upper, np.inf),
        integrality=np.append(base.integrality, np.uint8(CONTINUOUS)),
        rows=(*base.rows, block),
        columns=(*base.columns, Block(_unused("level", base.columns), (), t, t + 1)),
        source=base.source,
    )
    return Levels(program, block, t, base.columns, base.rows)


def _unused(name: str, blocks: tuple[Block, ...]) -> str:
    """Return a name that no block has."""
    while name in {block.name for block in blocks}:
        name += "_"
    return name


def _refuse(program: Program, solver: str, options: Options) -> None:
    """Raise NoSolutionError when the first round says that there is nothing to be had, or no end to it."""
    status = find_backend(solver).solve(program, options).status
    kinds = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)
    if status.termination in kinds:
        raise NoSolutionError(
            f"{program.name!r} has no leximin: {status}; infeasible: no point keeps all rows (model.explain() names "
            "them); unbounded: all levels can be raised without end"
        )


def _by_value(levels: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Return the positions that have each level (but for rounding), from the lowest."""
    order = np.argsort(levels, kind="stable")
    steps = np.diff(levels[order]) > SAME_LEVEL * abs(levels).max(initial=0.0)
    return [(float(levels[part].max()), np.sort(part)) for part in np.split(order, np.flatnonzero(steps) + 1)]


def _table(problem: Levels, history: list[tuple[float, np.ndarray]]) -> pd.DataFrame:
    """Return the rounds as a table."""
    labels = problem.labelled(np.zeros(len(problem.block))).index
    rows = [(level, len(at), list(labels[at])) for level, at in history]
    frame = pd.DataFrame(rows, columns=["level", "frozen", "labels"], index=range(1, len(rows) + 1))
    return frame.rename_axis("round")
