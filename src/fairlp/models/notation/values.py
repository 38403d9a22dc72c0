"""What a formula comes to at a solution, with its labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ModelError, nearest, quoted
from ..programs.program import Block, Program
from .compiler import evaluate
from .expressions import Parameter, Relation, Variable, as_expression
from .labels import axes_of, shape_of
from .tables import Constraint
from .walks import named


def value_at(program: Program, formula: Any, x: np.ndarray) -> Any:
    """Return the value of a formula at a program's column values, labelled as `Block.unpack` does.

    Raises
    ------
    ModelError
        For what is no formula, and for a variable that the program does not have with these labels.
    """
    if isinstance(formula, (Relation, Constraint)):
        name = formula.name if isinstance(formula, Constraint) else "name"
        raise ModelError(
            f"{formula!r} is a constraint, which has no value; write "
            f"solution.activity[{quoted(name)}] or solution.slack[{quoted(name)}], or take one side"
        )
    if isinstance(formula, str):
        raise ModelError(
            f"{quoted(formula)} is a text, not a formula; write "
            f"solution.value(model[{quoted(formula)}]), or solution.values[{quoted(formula)}] of a variable"
        )
    expression = as_expression(formula)
    blocks = {block.name: block for block in program.columns}
    for leaf in named(expression):
        if isinstance(leaf, Variable):
            _require_same_elements(program, leaf, blocks.get(leaf.name))
    numbers = evaluate(expression, program.columns, x).reshape(-1)
    name = expression.name if isinstance(expression, (Parameter, Variable)) else "value"
    size = math.prod(shape_of(expression.indices))
    return Block(name, axes_of(expression.indices), 0, size).unpack(numbers)


def _require_same_elements(program: Program, variable: Variable, block: Block | None) -> None:
    """Raise unless the columns of a program are the elements of a variable, in their order."""
    if block is None:
        names = [column_block.name for column_block in program.columns]
        raise ModelError(
            f"the solution of {program.name!r} has no variable {quoted(variable.name)}; "
            f"{nearest(variable.name, names)}"
        )
    own_labels = [labels for _, labels in axes_of(variable.indices)]
    solved_labels = [labels for _, labels in block.axes]
    has_same_labels = len(own_labels) == len(solved_labels) and all(
        own.equals(solved) for own, solved in zip(own_labels, solved_labels, strict=True)
    )
    own_positions = np.arange(variable.size) if variable.positions is None else variable.positions
    if not has_same_labels or not np.array_equal(own_positions, block.flat):
        raise ModelError(
            f"variable {quoted(variable.name)} has other labels in the solution of "
            f"{program.name!r}; take a formula of the model that was solved"
        )
