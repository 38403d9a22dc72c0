"""What objects of index notation are called in a console: one line that says what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .indices import Index
from .render import domain, indexed, relation, text

if TYPE_CHECKING:
    from .entries import Constraint
    from .expressions import Element, Parameter, Variable
    from .nodes import Expression, Relation

#: Letters of a formula, and labels of an index, that one line shows.
_MOST_LETTERS, _MOST_LABELS = 100, 4


def of_index(index: Index) -> str:
    """Return ``<Index n: 2 users ann, bob>``."""
    few = ", ".join(str(label) for label in index.labels[:_MOST_LABELS])
    more = ", …" if len(index) > _MOST_LABELS else ""
    return f"<Index {index.symbol}: {counted(index)} {few}{more}>"


def of_parameter(parameter: Parameter) -> str:
    """Return ``<Parameter d[n,r]: 2 users × 3 resources>``; of one number, the number."""
    size = _sizes(parameter.indices) or f"{parameter.values.item():.12g}"
    return f"<Parameter {indexed(parameter, False)}: {size}>"


def of_variable(variable: Variable) -> str:
    """Return ``<Variable g[n,i] ≥ 0: 4 of 6 exist>``; where all do, how many labels each index has."""
    where = variable.where
    size = _sizes(variable.indices) if where is None else f"{len(where)} of {where.full_size} exist"
    return f"<Variable {domain(variable, False)}{': ' if size else ''}{size}>"


def of_element(element: Element) -> str:
    """Return ``<Element g[ann,i] of a variable: 3 servers>``."""
    kind, size = type(element.base).__name__.lower(), _sizes(element.indices)
    return f"<Element {indexed(element, False)} of a {kind}{': ' if size else ''}{size}>"


def of_expression(expression: Expression) -> str:
    """Return ``<Expression ∑_n d[n,r]·x[n] over r>``."""
    over = ",".join(index.symbol for index in expression.indices)
    return f"<Expression {_short(text(expression))}{' over ' if over else ''}{over}>"


def of_relation(rel: Relation) -> str:
    """Return ``<Relation x[n] ≤ c[r] ∀ n, r>``."""
    return f"<{type(rel).__name__} {_short(relation(rel, False))}{_scope(rel.indices)}>"


def of_constraint(row: Constraint) -> str:
    """Return ``<Constraint capacity: ∑_n d[n,r]·x[n] ≤ c[r] ∀ r: 2 rows>``, with a mask ``1 of 2 rows``."""
    some = "" if row.where is None else f"{row.size} of "
    rows = f"{some}{row.full_size} row" + ("s" if row.full_size != 1 else "")
    return f"<Constraint {row.name}: {_short(relation(row.relation, False))}{_scope(row.over)}: {rows}>"


def counted(index: Index) -> str:
    """Return ``2 users``; an index without words has labels."""
    name = "label" if index.name == index.symbol else index.name
    return f"{len(index)} {name}" + ("" if len(index) == 1 else "s")


def _sizes(indices: tuple[Index, ...]) -> str:
    return " × ".join(counted(index) for index in indices)


def _scope(indices: tuple[Index, ...]) -> str:
    return " ∀ " + ", ".join(index.symbol for index in indices) if indices else ""


def _short(formula: str) -> str:
    return formula if len(formula) <= _MOST_LETTERS else formula[: _MOST_LETTERS - 1] + "…"
