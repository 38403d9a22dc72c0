"""Levels that are concave: a variable for each logarithm, power and least of several in them.

The variable stands for the term in the rows of the levels. That of a least of several has rows that
keep it below each; no rows of a linear program say what a logarithm or power is, so that
:func:`fairlp.leximin` draws tangents (:mod:`fairlp.solvers.leximin.concave`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, quoted
from ..programs.program import Block, LogTerms, Program, kind_of
from .arrays import assemble
from .compiler import compile_model, compile_rows, numbers, reciprocal, starts_of
from .expressions import (
    Abs,
    Add,
    Along,
    Expression,
    Log,
    Minimum,
    Power,
    Product,
    Quotient,
    SumOver,
    children,
)
from .tables import level_rows
from .variables import Variable
from .walks import rebuilt

if TYPE_CHECKING:
    from .model import Declarations, Model
    from .tables import Constraint

#: What the variable of a term is called, before its number.
_NAMES: dict[type[Expression], str] = {Log: "log", Power: "power", Minimum: "least"}


def require_concave(levels: Expression) -> None:
    """Raise for levels that are not concave, with the numbers of now.

    Parameters
    ----------
    levels : Expression

    Raises
    ------
    ModelError
        For the first term that is convex where it is added, or concave where it is subtracted.
    """
    for sign, node in _signed_terms(levels, 1):
        if isinstance(node, Abs):
            raise ModelError(
                f"levels {levels} have the absolute value {node}; where it is subtracted write "
                "minimum(e, -e), which is -abs(e), and elsewhere it is convex"
            )
        is_convex = isinstance(node, Power) and (node.exponent < 0 or node.exponent == 2)
        if is_convex == (sign > 0):
            kind = "convex" if is_convex else "concave"
            verb = "added" if sign > 0 else "subtracted"
            raise ModelError(
                f"levels {levels} are not concave: {node} is {kind}, and is {verb}; expected "
                "logarithms, powers between 0 and 1 and minimum(...) with weights of at least 0, "
                "squares and powers below 0 with weights of at most 0"
            )


def _signed_terms(node: Expression, sign: int) -> Iterator[tuple[int, Expression]]:
    """Yield the terms that are not linear, each with every sign that its coefficients have."""
    if node.degree <= 1:
        return
    match node:
        case Add():
            for addend_sign, addend in node.addends():
                yield from _signed_terms(addend, sign * addend_sign)
        case Product() | Quotient():
            factor, term = (
                (reciprocal(node), node.left)
                if isinstance(node, Quotient)
                else (numbers(node.left), node.right)
                if node.right.degree
                else (numbers(node.right), node.left)
            )
            for side in (1, -1):
                if (side * factor.values > 0).any():
                    yield from _signed_terms(term, sign * side)
        case SumOver() | Along():  # the matrices of shifts, sums and selections are at least 0
            yield from _signed_terms(node.body, sign)
        case Minimum():
            yield sign, node
            for part in node.parts:
                yield from _signed_terms(part, sign)
        case _:
            yield sign, node


def in_variables(model: Declarations, levels: Expression) -> Expression:
    """Return levels with a variable of the model for each term that is not linear."""
    variable_of: dict[int, Variable] = {}

    def stand_in(node: Expression) -> Expression | None:
        if not isinstance(node, (Log, Power, Minimum)) or not node.degree:
            return None
        if id(node) not in variable_of:
            parts = [rebuilt(part, stand_in) for part in children(node)]
            name = _free(model, node)
            variable = model.variable(name, node.indices, lower=None, doc=str(node))
            if isinstance(node, Minimum):
                for k, part in enumerate(parts, 1):
                    model.constraint(f"{name}_{k}", variable <= part, where=True)
            model._curves[name] = node
            variable_of[id(node)] = variable
        return variable_of[id(node)]

    return rebuilt(levels, stand_in)


def _free(model: Declarations, node: Expression) -> str:
    """Return a name for the variable of a term, such that those of its rows are free as well."""
    sizes = range(1, len(children(node)) + 1)
    names = (f"{_NAMES[type(node)]}{k}" for k in count(1))
    return next(
        name
        for name in names
        if name not in model and not any(f"{name}_{k}" in model for k in sizes)
    )


def rows_of_curves(model: Declarations) -> set[str]:
    """Return the names of the rows of variables that stand for a least of several."""
    return {
        f"{name}_{k}"
        for name, node in model._curves.items()
        if isinstance(node, Minimum)
        for k in range(1, len(node.parts) + 1)
    }


def as_written(model: Declarations, node: Expression) -> Expression:
    """Return a formula with the terms in the place of the variables that stand for them."""

    def term(leaf: Expression) -> Expression | None:
        return model._curves.get(leaf.name) if isinstance(leaf, Variable) else None

    return rebuilt(node, term) if model._curves else node


def required_levels(model: Declarations) -> Constraint:
    """Return the rows … ≥ w·t of the model's levels; raise where it has none."""
    rows = level_rows(model)
    if rows is None:
        raise ModelError(f"model {model.name!r} does not say what its levels are")
    return rows


def has_curves(model: Declarations) -> bool:
    """Whether levels of the model have logarithms or powers, which no linear program has."""
    return bool(_curves_of(model))


def _curves_of(model: Declarations) -> list[Expression]:
    """Return the logarithms and powers in a model's levels."""
    return [node for node in model._curves.values() if not isinstance(node, Minimum)]


def require_linear(model: Declarations) -> None:
    """Raise where levels have logarithms or powers, and where they are not concave any more."""
    if not model._curves:
        return
    rows = level_rows(model)
    if rows is not None:
        require_concave(as_written(model, rows.relation.left))
    for node in _curves_of(model)[:1]:
        raise ModelError(
            f"levels of model {model.name!r} have {node}, which no linear program says, so that it "
            "is not solved or written as one: answer = fairlp.leximin(model) solves it, and "
            "answer.problem.program is the linear program of its first round, with tangents"
        )


@dataclass(frozen=True)
class Curves:
    """Columns that stand for logarithms and powers: column ``columns[k]`` is the term k.

    Attributes
    ----------
    columns : ndarray of int
    terms : LogTerms
        Their arguments, exponents and weights: a power is its exponent times u(argument).
    names : list of str
        What each is called in messages: ``log(x[n] + 1) of 'ann'``.
    least : list of (Block, list of Block)
        Columns that stand for a least of several, and the rows that keep them below each; those
        inside of others come first.
    """

    columns: np.ndarray
    terms: LogTerms
    names: list[str]
    least: list[tuple[Block, list[Block]]]

    @property
    def has_ends(self) -> np.ndarray:
        """Which arguments are at least 0: all but those of squares."""
        return np.asarray(self.terms.alpha > 0)

    @property
    def signs(self) -> np.ndarray:
        """1 for a concave term, whose column is at most the term; −1 for a convex one."""
        return np.where(self.terms.weights * self.terms.alpha > 0, 1.0, -1.0)

    def values(self, arguments: np.ndarray) -> np.ndarray:
        """Return each term at its argument."""
        is_log = self.terms.alpha == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = arguments ** (1.0 - np.where(is_log, 0.0, self.terms.alpha))
            return np.where(is_log, np.log(arguments), powers)

    def completed(self, program: Program, x: np.ndarray) -> np.ndarray:
        """Return a point with the terms themselves in the columns that stand for them."""
        point = x.copy()
        arguments = self.terms.arguments(x)
        arguments = np.where(self.has_ends, np.maximum(arguments, 0.0), arguments)
        point[self.columns] = self.values(arguments)
        for column, rows in self.least:  # row k: the column less its part k is at most a number
            before = point[column.slice].copy()
            point[column.slice] = 0.0
            activity = program.A @ point
            above = [program.row_upper[row.slice] - activity[row.slice] for row in rows]
            smallest = np.minimum.reduce(above)
            point[column.slice] = np.where(np.isnan(smallest), before, smallest)
        return point


def program_and_curves(model: Model) -> tuple[Program, Curves]:
    """Return the linear program in which terms are free columns, and what these columns stand for.

    Parameters
    ----------
    model : Model

    Returns
    -------
    tuple of (Program, Curves)
        The curves are those that some row uses.
    """
    require_concave(as_written(model, required_levels(model).relation.left))
    program = compile_model(model)
    starts = starts_of(program.columns)
    uses = np.diff(program.A.indptr)
    columns: list[np.ndarray] = []
    constants: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    alphas: list[np.ndarray] = []
    batches: list[Any] = []
    names: list[str] = []
    size = 0
    for name, node in model._curves.items():
        if not isinstance(node, (Log, Power)):
            continue
        block = program.column_block(name)
        triples, constant = compile_rows(node.argument, starts, node.indices)
        batches += [(rows + np.int32(size), places, values) for rows, places, values in triples]
        size += len(constant)
        exponent = node.exponent if isinstance(node, Power) else None
        columns.append(np.arange(block.start, block.stop))
        constants.append(constant)
        weights.append(np.full(len(constant), 1.0 if exponent is None else exponent))
        alphas.append(np.full(len(constant), 1.0 if exponent is None else 1.0 - exponent))
        labels = [", ".join(map(quoted, label)) for label in block.labels()]
        names += [f"{node} of {label}" if label else str(node) for label in labels]
    column = np.concatenate(columns)
    is_used = uses[column] > 0
    alpha = np.concatenate(alphas)[is_used]
    terms = LogTerms(
        kind_of(alpha),
        np.concatenate(weights)[is_used],
        assemble(batches, (size, program.n_columns), "csr")[is_used],
        np.concatenate(constants)[is_used],
        alpha,
    )
    used_names = [name for name, used in zip(names, is_used, strict=True) if used]
    least = [
        (
            program.column_block(name),
            [program.row_block(f"{name}_{k}") for k in range(1, len(node.parts) + 1)],
        )
        for name, node in model._curves.items()
        if isinstance(node, Minimum)
    ]
    return program, Curves(column[is_used], terms, used_names, least)
