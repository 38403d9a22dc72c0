"""Which levels: a model as a program whose column t is the lowest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, nearest
from ...models.notation.compiler import assemble, compile_rows
from ...models.notation.entries import parameter_values
from ...models.notation.expressions import Expression, Index
from ...models.notation.model import Model
from ...models.programs.program import CONTINUOUS, Block, Program


@dataclass(frozen=True)
class Levels:
    """A program whose column ``t`` is the lowest level: rows (level k)·(weight k) − (weight k)·t ≥ 0 in one block.

    ``hand_back`` writes a point into the variables of the CVXPY problem or Pyomo model that it was read from.
    """

    program: Program
    block: Block
    t: int
    columns: tuple[Block, ...]
    rows: tuple[Block, ...]
    hand_back: Callable[[np.ndarray], None] | None = None

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

    def terms(self, x: np.ndarray) -> np.ndarray:
        """Return the sizes of the numbers that each level is made of at a point of such sizes."""
        rest = x.copy()
        rest[self.t] = 0.0
        sizes = abs(self.program.A) @ rest + abs(self.program.row_lower)
        return np.asarray(sizes[self.places] / self.weights)

    def labelled(self, values: Sequence[Any] | np.ndarray) -> pd.Series[Any]:
        """Return one value a level, by its labels."""
        labels = list(self.block.labels())
        names = [symbol for symbol, _ in self.block.axes]
        index: Any = pd.Index([one[0] for one in labels], name=names[0]) if len(names) == 1 else None
        if index is None:
            index = pd.MultiIndex.from_tuples(labels, names=names) if names else pd.RangeIndex(1)
        return pd.Series(list(values), index=index, name="level")


def by_rows(model: Model | Program, name: str, weights: Any) -> Levels:
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


def by_names(program: Model | Program, names: Sequence[str], weights: Any) -> Levels:
    """Return the levels of rows … ≥ w·t that are named one by one, as in a file that somebody else wrote."""
    program = program if isinstance(program, Program) else program.compile()
    labels = [str(one[-1]) if len(one) == 1 else block.name for block in program.rows for one in block.labels()]
    known = {name: row for found in (labels, program.row_names) for row, name in enumerate(found)}
    for name in names:
        if name not in known:
            raise ModelError(f"model {program.name!r} has no row {name!r} to be a level; {nearest(str(name), known)}")
    chosen = np.array([known[name] for name in names], dtype=np.intp)
    if len(np.unique(chosen)) < len(chosen) or not len(chosen):
        raise ModelError(f"rows of levels are named once each; expected at least one, found {list(names)}")
    rest = np.setdiff1d(np.arange(program.n_rows), chosen)
    order = np.concatenate([rest, chosen])
    kept = pd.Index([program.row_names[row] for row in rest])
    blocks = (
        Block("row", (("row", kept),), 0, len(rest)),
        Block("levels", (("row", pd.Index(list(names))),), len(rest), len(order)),
    )
    moved = program.replace(
        A=sp.csc_array(program.A.tocsr()[order]),
        row_lower=program.row_lower[order],
        row_upper=program.row_upper[order],
        rows=blocks,
    )
    return by_rows(moved, "levels", weights)


def by_expression(model: Model | Program, levels: Any, weights: Any) -> Levels:
    """Return the model's feasible points with a column t, and rows (element k) − (weight k)·t ≥ 0."""
    if not isinstance(model, Model) or not isinstance(levels, Expression):
        raise ModelError(f"levels are {type(levels).__name__}; expected the name of rows, or an expression of a Model")
    if not levels.indices or levels.degree != 1:
        raise ModelError(f"levels {levels} are expected to be linear in the variables, and to have an index")
    base = model.compile()
    over = levels.indices
    starts = {block.name: block.start for block in base.columns}
    triples, constant = compile_rows(levels, starts, over, None)
    slopes = assemble(triples, (len(constant), base.n_columns), "csc")
    axes = tuple((index.symbol, index.labels) for index in over)
    block = Block("levels", axes, base.n_rows, base.n_rows + len(constant))
    return with_levels(base, slopes, constant, block, checked_weights(weights, over))


def checked_weights(weights: Any, over: tuple[Index, ...]) -> np.ndarray:
    """Return the weight of each level, 1 where none are given."""
    if weights is None:
        return np.ones(int(np.prod([len(index) for index in over])))
    weight = parameter_values(weights, over, "weights").reshape(-1)
    if not (weight > 0).all():
        raise ModelError(f"weights of levels are above 0; found {weight.min():g}")
    return weight


def with_levels(base: Program, slopes: Any, constant: np.ndarray, block: Block, weight: np.ndarray) -> Levels:
    """Return a program's feasible points with a column t, and rows slopes·x + constant − weight·t ≥ 0 as the block."""
    size, t = slopes.shape
    rows = sp.hstack([slopes, sp.csc_array(-weight[:, None])])
    matrix = sp.vstack([sp.hstack([base.A, sp.csc_array((base.n_rows, 1))]), rows]).tocsc()
    block = replace(block, name=unused(block.name, base.rows))
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
        columns=(*base.columns, Block(unused("level", base.columns), (), t, t + 1)),
        source=base.source,
    )
    return Levels(program, block, t, base.columns, base.rows)


def unused(name: str, blocks: Sequence[Block]) -> str:
    """Return a name that no block has."""
    while name in {block.name for block in blocks}:
        name += "_"
    return name
