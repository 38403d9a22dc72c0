"""Which levels: a model as a program whose column t is the lowest of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, nearest, quoted, require_known
from ...models.notation.arrays import assemble
from ...models.notation.compiler import compile_rows
from ...models.notation.expressions import Index, parameter_values
from ...models.notation.labels import axes_of
from ...models.notation.model import Model
from ...models.programs.backends import AnySolver
from ...models.programs.options import Options
from ...models.programs.program import Block, Program, with_columns, with_rows
from ..backends import cvxpy_backend, pyomo_backend
from ..backends.cvxpy_backend import unused
from .outcomes import Oracle, Outcomes
from .programs import tightest


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
            f"model {program.name!r} has no rows {name!r} to be levels; {nearest(name, names)}"
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
        require_known(
            name, row_of, f"model {program.name!r} has no row {name!r} to be a level", ModelError
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
    over = getattr(levels, "indices", ())
    if not isinstance(model, Model) or not over or levels.degree != 1:
        raise ModelError(
            f"levels are {quoted(levels)}; expected the name of rows, or an expression of a Model, "
            "linear in the variables, with an index"
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
    columns: str | Block,
    lowest: np.ndarray,
    rows: str | Block,
    matrix: Any,
    least: np.ndarray,
    cost: np.ndarray,
) -> Program:
    """Return a program with more columns ≥ ``lowest`` and more rows matrix·x ≥ ``least``.

    It maximises the cost of the new columns.
    """
    free = np.zeros(base.n_columns)
    base = base.replace(sense="max", c=free, offset=0.0, levels="", logs=None)
    return with_rows(with_columns(base, columns, cost, lowest), rows, matrix, least)


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
