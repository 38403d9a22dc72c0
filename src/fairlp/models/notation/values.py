"""What a formula comes to at a solution, with its labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import ModelError, UnknownNameError
from ..programs.program import Block, Program
from .combinations import listed_numbers
from .evaluation import evaluate, evaluate_at
from .expressions import Expression, Relation, as_expression, named
from .labels import Index, Indices, axes_of, shape_of, symbols_of
from .tables import Constraint
from .variables import Parameter, Variable, subset_of
from .walks import mapped


def value_at(program: Program, formula: Any, x: np.ndarray, where: Any = None) -> Any:
    """Return the value of a formula at a program's column values, labelled as `Block.unpack` does.

    With ``where``, a Series of its combinations of labels alone.

    Raises
    ------
    ModelError
        For what is no formula, and for a variable that the program does not have with these labels.
    """
    if isinstance(formula, (Relation, Constraint)):
        raise ModelError(
            f"{formula!r} is a constraint, which has no value; write solution.activity['name'] or "
            "solution.slack['name'], or take one side"
        )
    expression = as_expression(formula)
    if where is not None and not expression.indices:
        raise ModelError(
            f"{expression} is one number, without an index: write solution.value(…) without where"
        )
    blocks = {block.name: block for block in program.columns}
    for leaf in {id(leaf): leaf for leaf in named(expression)}.values():
        if isinstance(leaf, Variable):
            _require_same_elements(program, leaf, blocks.get(leaf.name))
    solved = _as_solved(expression, program)
    if where is not None:
        over = _in_order(expression)
        places = subset_of(where, over, "the value").positions
        return _series(over, places, evaluate_at(solved, program.columns, x, over, places))
    numbers = evaluate(solved, program.columns, x).reshape(-1)
    name = expression.name if isinstance(expression, (Parameter, Variable)) else "value"
    size = math.prod(shape_of(expression.indices))
    return Block(name, axes_of(expression.indices), 0, size).unpack(numbers)


def packed(block: Block, values: Any) -> np.ndarray:
    """Return labelled values in a block's order, NaN for missing ones; `Block.unpack` inverts it.

    Parameters
    ----------
    block : Block
    values : float, mapping, Series or DataFrame
        One number for all elements, or numbers by label (tuples of labels over several indices).

    Raises
    ------
    ModelError
        For what has no labels; an array is not read by position.
    UnknownNameError
        For labels that the block does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> packed(Block("x", (("n", pd.Index(["ann", "bob"])),), 0, 2), {"bob": 3})
    array([nan,  3.])
    """
    if np.ndim(values) == 0 and not isinstance(values, Mapping):
        return np.full(len(block), float(values))
    subject = f"the values of {block.name!r}"
    over = tuple(Index(symbol, labels) for symbol, labels in block.axes)
    listed = listed_numbers(values, over, subject, UnknownNameError)
    if listed is None:
        raise ModelError(
            f"{subject} are {type(values).__name__}; expected a Series, a DataFrame or a mapping by "
            "label"
        )
    dense: np.ndarray = np.full(math.prod(block.shape), np.nan)
    dense[listed.positions] = listed.values
    return np.asarray(dense[block.flat])


def _as_solved(expression: Expression, program: Program) -> Expression:
    """Return an expression whose parameters have the numbers that they had in a program.

    A parameter that the program does not have with these labels keeps the numbers of now.
    """
    leaves: dict[str, Parameter | Variable] = {leaf.name: leaf for leaf in named(expression)}
    has_others = False
    for name, leaf in leaves.items():
        axes, stored = program.parameters.get(name, ((), None))
        if not isinstance(leaf, Parameter) or stored is None or leaf.stored is stored:
            continue
        if _have_same_labels(axes_of(leaf.indices), axes):
            leaves[name] = Parameter(name, leaf.indices, stored, leaf.doc, default=leaf.default)
            has_others = True
    return mapped(expression, leaves) if has_others else expression


def _have_same_labels(first: Any, second: Any) -> bool:
    """Whether two lists of symbols and labels have the same labels."""
    return len(first) == len(second) and all(
        labels.equals(other) for (_, labels), (_, other) in zip(first, second, strict=True)
    )


def _in_order(expression: Expression) -> Indices:
    """Return the free indices of a formula in the model's order, as its constraints have them."""
    free = {index.symbol: index for index in expression.indices}
    symbols: list[str] = []
    for leaf in named(expression):
        symbols += symbols_of(getattr(leaf.model, "indices", ()))
    order = dict.fromkeys([*symbols, *free])
    return tuple(free[symbol] for symbol in order if symbol in free)


def _series(over: Indices, places: np.ndarray, values: np.ndarray) -> pd.Series[Any]:
    """Return values at places over indices, with a MultiIndex over several indices."""
    coordinates = np.unravel_index(places, shape_of(over))
    if len(over) == 1:
        labels = over[0].labels[coordinates[0]].rename(over[0].symbol)
        return pd.Series(values, labels, name="value")
    levels: Any = [index.labels for index in over]
    codes: Any = coordinates
    index = pd.MultiIndex(levels=levels, codes=codes, names=symbols_of(over))
    return pd.Series(values, index, name="value")


def _require_same_elements(program: Program, variable: Variable, block: Block | None) -> None:
    """Raise unless the columns of a program are the elements of a variable, in their order."""
    if block is None:
        raise ModelError(f"the solution of {program.name!r} has no variable {variable.name!r}")
    has_same_labels = _have_same_labels(axes_of(variable.indices), block.axes)
    own_positions = np.arange(variable.size) if variable.positions is None else variable.positions
    if not has_same_labels or not np.array_equal(own_positions, block.flat):
        raise ModelError(
            f"variable {variable.name!r} has other labels in the solution of "
            f"{program.name!r}; take a formula of the model that was solved"
        )
