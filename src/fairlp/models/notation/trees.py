"""Walks over expression trees: which names occur, where, and the same tree over another model's names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .expressions import Element, Parameter, Variable
from .nodes import Add, Expression, Log, Power, Product, Quotient, Range, Relation, SumOver


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions that a node is made of."""
    match node:
        case Add() | Product() | Quotient():
            return node.left, node.right
        case SumOver():
            return (node.body,)
        case Log() | Power():
            return (node.argument,)
    return ()


def named(*expressions: Expression) -> Iterator[Parameter | Variable]:
    """Yield every parameter and variable of expressions, as it was declared; one may come again."""
    stack = list(expressions)
    while stack:
        node = stack.pop()
        if isinstance(node, (Parameter, Variable, Element)):
            yield node.base
        else:
            stack += children(node)


def uses(names: Collection[str], *expressions: Expression) -> bool:
    """Whether one of the names occurs."""
    return any(leaf.name in names for leaf in named(*expressions))


def in_coefficients(names: Collection[str], node: Expression) -> bool:
    """Whether a parameter of one of these names stands before or below a variable of a linear expression."""
    match node:
        case Product() | Quotient() if node.degree:
            unknown, known = (node.left, node.right) if node.left.degree else (node.right, node.left)
            return uses(names, known) or in_coefficients(names, unknown)
        case Add() | SumOver():
            return any(in_coefficients(names, child) for child in children(node))
    return False


def mapped(node: Expression, leaves: Mapping[str, Parameter | Variable]) -> Expression:
    """Return the same tree over other parameters and variables, by name."""
    match node:
        case Element():
            return Element(leaves[node.name], node.places, node.indices)
        case Parameter() | Variable():
            base = leaves[node.name]
            return base if node is node.base else base[node.indices]
        case Add():
            return Add(mapped(node.left, leaves), mapped(node.right, leaves), node.sign)
        case Product():
            return Product(mapped(node.left, leaves), mapped(node.right, leaves))
        case Quotient():
            return Quotient(mapped(node.left, leaves), mapped(node.right, leaves))
        case SumOver():
            return SumOver(mapped(node.body, leaves), node.over)
        case Log():
            return Log(mapped(node.argument, leaves))
        case Power():
            return Power(mapped(node.argument, leaves), node.exponent)
    return node


def mapped_relation(relation: Relation, leaves: Mapping[str, Parameter | Variable]) -> Relation:
    """Return the same relation over other parameters and variables, by name."""
    left = mapped(relation.left, leaves)
    if isinstance(relation, Range):
        low, high = (None if end is None else mapped(end, leaves) for end in relation.ends)
        return Range(left, low, high)
    return Relation(left, relation.comparison, mapped(relation.right, leaves))
