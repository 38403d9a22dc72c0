"""How the numbers of a program depend on a parameter, read off the formulas that it stands in.

The derivative of a formula by a parameter p over (n, r) is the formula without the addends that
have no p, in which p gives way to its unit elements: U[n,r,e] is 1 where (n,r) is element e, else
0. It is compiled as any formula, with e as one more index of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UnsupportedError
from ..programs.program import Program
from .arrays import Triples
from .compiler import LogTerm, Term, emitted, starts_of, terms
from .expressions import Add, Along, Conditional, Expression, Product, Quotient, Range, SumOver
from .labels import Index, Indices
from .variables import Parameter, ParameterElement, Variable
from .walks import uses

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Dependence:
    """Numbers of a program that grow with elements of a parameter, an entry for each pair of them.

    Attributes
    ----------
    rows, columns : ndarray of int
        Row and column of the number in the matrix. Row −1: a cost. Column −1: the right-hand side
        of the row, or the constant of the objective.
    elements : ndarray of int
        Element of the parameter, in C order.
    slopes : ndarray
        By how much the number grows with the element.
    lower, upper : ndarray of bool
        Of a right-hand side: whether it is the lower, and the upper one.
    """

    rows: np.ndarray
    columns: np.ndarray
    elements: np.ndarray
    slopes: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def dependence(model: Model, name: str, others: list[str]) -> Dependence:
    """Return which numbers of a model's program depend on which elements of a parameter, and how.

    Raises
    ------
    UnsupportedError
        Where a formula is not linear in the parameter, or multiplies it with one of ``others``.
    """
    program = model.compile()
    unit = _Unit(model.parameters[name], others, program)
    parts = []
    for row, block in zip(model.constraints.values(), program.rows, strict=True):
        relation = row.relation
        if not uses([name], *relation.parts):
            continue
        if isinstance(relation, Conditional):
            raise unit.not_linear(relation)
        over = (*row.over, unit.index)
        positions = unit.positions(row.positions)

        entries, constants = unit.compiled(relation.body, over, positions)
        parts.append(unit.of_rows(entries, block.start, 1.0))
        # a constant of the body is taken off both ends
        parts.append(unit.of_rows(constants, block.start, -1.0, lower=True, upper=True))
        low, high = relation.ends if isinstance(relation, Range) else (None, None)
        if low is not None:
            _, constants = unit.compiled(low, over, positions)
            parts.append(unit.of_rows(constants, block.start, 1.0, lower=True))
        if high is not None:
            _, constants = unit.compiled(high, over, positions)
            parts.append(unit.of_rows(constants, block.start, 1.0, upper=True))
    if model.objective is not None and uses([name], model.objective):
        costs, constants = unit.compiled(model.objective, (unit.index,), None)
        parts += [unit.of_objective(costs), unit.of_objective(constants)]
    return _joined(parts)


def _joined(parts: list[Dependence]) -> Dependence:
    """Return several dependences as one."""
    nothing = np.zeros(0, dtype=int)
    empty = Dependence(nothing, nothing, nothing, np.zeros(0), nothing > 0, nothing > 0)
    names = [column.name for column in fields(Dependence)]
    arrays = [[getattr(entries, name) for entries in (empty, *parts)] for name in names]
    return Dependence(*map(np.concatenate, arrays))


class _Unit:
    """The unit elements of a parameter, and derivatives of formulas by it."""

    def __init__(self, parameter: Parameter, others: list[str], program: Program) -> None:
        shape = parameter.values.shape
        size = parameter.values.size
        self.parameter = parameter
        self.others = others
        self.size = size
        self.index = Index(" element", range(size))
        elements = np.arange(size)
        places = np.unravel_index(elements, shape) if shape else ()
        from scipy.sparse import coo_array

        units = coo_array((np.ones(size), (*places, elements)), shape=(*shape, size))
        self.elements = Parameter(parameter.name, (*parameter.indices, self.index), units)
        #: What constants are multiplied with: the column behind the last.
        self.constant = Variable(" one", (), bounds=(np.ones(1), np.ones(1)))
        self.n_columns = program.n_columns
        self.starts = {**starts_of(program.columns), self.constant.name: program.n_columns}

    def positions(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Return the positions of rows (None: all) with every element behind each."""
        if rows is None:
            return None
        return (rows[:, None] * self.size + np.arange(self.size)).ravel()

    def compiled(
        self, node: Expression, over: Indices, positions: np.ndarray | None
    ) -> tuple[Triples, Triples]:
        """Return the derivative as triples: of columns, and of constants (column −1)."""
        nothing = np.zeros(0, dtype=np.int32)
        batches: list[Triples] = [(nothing, nothing, np.zeros(0))]
        derivative = self.derivative(node)
        if derivative is not None:
            if uses(self.others, derivative):
                raise self.not_linear(node)
            addends = derivative.addends() if isinstance(derivative, Add) else [(1, derivative)]
            for sign, addend in addends:
                with_column = addend if addend.degree else Product(addend, self.constant)
                for term in terms(with_column):
                    if isinstance(term, LogTerm):
                        raise self.not_linear(node)
                    if isinstance(term, Term) and term.variable is None:
                        term = replace(term, variable=self.constant)
                    rows, columns, values = emitted(term, self.starts, over, positions)
                    batches.append((rows, columns, sign * values))

        rows, columns, values = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
        constant = columns == self.n_columns
        entries = rows[~constant], columns[~constant], values[~constant]
        return entries, (rows[constant], np.full(constant.sum(), -1), values[constant])

    def of_rows(
        self, triples: Triples, start: int, sign: float, lower: bool = False, upper: bool = False
    ) -> Dependence:
        """Return triples of rows from ``start`` on as a dependence, slopes times a sign."""
        places, columns, values = triples
        return Dependence(
            rows=start + places // self.size,
            columns=columns,
            elements=places % self.size,
            slopes=sign * values,
            lower=np.full(len(values), lower),
            upper=np.full(len(values), upper),
        )

    def of_objective(self, triples: Triples) -> Dependence:
        """Return triples of the objective as a dependence."""
        dependence = self.of_rows(triples, 0, 1.0)
        return replace(dependence, rows=np.full(len(dependence.rows), -1))

    def derivative(self, node: Expression) -> Expression | None:
        """Return the derivative of a formula; None where the parameter is not in it."""
        if not uses([self.parameter.name], node):
            return None
        match node:
            case ParameterElement():
                return ParameterElement(
                    self.elements, (*node.places, None), (*node.indices, self.index)
                )
            case Parameter():
                return self.elements[(*node.indices, self.index)]
            case Add():
                addends = [(sign, self.derivative(addend)) for sign, addend in node.addends()]
                return Add(*((sign, term) for sign, term in addends if term is not None))
            case Product():
                of_left, of_right = self.derivative(node.left), self.derivative(node.right)
                if of_left is not None and of_right is None:
                    return _product(of_left, node.right)
                if of_right is not None and of_left is None:
                    return _product(of_right, node.left)
            case Quotient():
                numerator = self.derivative(node.left)
                if numerator is not None and self.derivative(node.right) is None:
                    return Quotient(numerator, node.right)
            case SumOver():
                body = self.derivative(node.body)
                return None if body is None else SumOver(body, node.over)
            case Along():
                body = self.derivative(node.body)
                if body is not None:
                    return Along(body, node.index, node.matrix, node.to, node.shown, node.summed)
        raise self.not_linear(node)

    def not_linear(self, formula: object) -> UnsupportedError:
        """Return the error of a formula that is not linear in the parameter."""
        return UnsupportedError(
            f"parameter {self.parameter.name!r} cannot be one of CVXPY's: {formula} is not linear "
            "in it, or multiplies it with another of the parameters asked for; expected formulas "
            "without logarithms, powers, absolute values and conditions of the parameter, and none "
            "divided by it"
        )


def _product(derivative: Expression, factor: Expression) -> Expression:
    """Return derivative · factor, unit elements in front: they need no table of all elements."""
    if isinstance(derivative, Product):
        return Product(derivative.left, Product(derivative.right, factor))
    return Product(derivative, factor)
