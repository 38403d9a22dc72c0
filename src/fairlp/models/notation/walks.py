"""Walks over expression trees: which names occur, where, and copies over another model's names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from .expressions import (
    Abs,
    Add,
    Along,
    Conditional,
    Expression,
    Log,
    Minimum,
    Power,
    Product,
    Quotient,
    Range,
    Relation,
    SumOver,
    children,
    named,
)
from .variables import Element, Parameter, Variable


def uses(names: Collection[str], *expressions: Expression) -> bool:
    """Whether one of the names occurs."""
    return any(leaf.name in names for leaf in named(*expressions))


def in_coefficients(names: Collection[str], node: Expression) -> bool:
    """Whether a named parameter multiplies or divides a variable of a linear expression."""
    match node:
        case Product() | Quotient() if node.degree:
            linear_node, factor = (
                (node.left, node.right) if node.left.degree else (node.right, node.left)
            )
            return uses(names, factor) or in_coefficients(names, linear_node)
        case Add() | SumOver() | Along():
            return any(in_coefficients(names, child) for child in children(node))
    return False


def rebuilt(node: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """Return the same tree with other nodes in the place of those that ``change`` gives one for."""
    replacement = change(node)
    if replacement is not None:
        return replacement
    match node:
        case Add():
            parts = tuple((sign, rebuilt(addend, change)) for sign, addend in node.addends())
            is_same = all(new is old for (_, new), old in zip(parts, children(node), strict=True))
            return node if is_same else Add(*parts)
        case Product() | Quotient():
            left = rebuilt(node.left, change)
            right = rebuilt(node.right, change)
            return node if left is node.left and right is node.right else type(node)(left, right)
        case SumOver():
            return SumOver(rebuilt(node.body, change), node.over)
        case Along():
            return Along(
                rebuilt(node.body, change),
                node.index,
                node.matrix,
                node.to,
                node.shown,
                node.summed,
            )
        case Power():
            return Power(rebuilt(node.argument, change), node.exponent)
        case Minimum():
            return Minimum(tuple(rebuilt(part, change) for part in node.parts))
        case Log() | Abs():
            return type(node)(rebuilt(node.argument, change))
    return node


def mapped(node: Expression, leaves: Mapping[str, Parameter | Variable]) -> Expression:
    """Return the same tree over other parameters and variables, by name."""

    def leaf(original: Expression) -> Expression | None:
        match original:
            case Element():
                return type(original)(leaves[original.name], original.places, original.indices)
            case Parameter() | Variable():
                base = leaves[original.name]
                return base if original is original.base else base[original.indices]
        return None

    return rebuilt(node, leaf)


def mapped_relation(relation: Relation, leaves: Mapping[str, Parameter | Variable]) -> Relation:
    """Return the same relation over other parameters and variables, by name."""
    if isinstance(relation, Conditional):
        big_m = None if relation.big_m is None else mapped(relation.big_m, leaves)
        inner = mapped_relation(relation.relation, leaves)
        return Conditional(inner, mapped(relation.condition, leaves), relation.active, big_m)
    left = mapped(relation.left, leaves)
    if isinstance(relation, Range):
        low, high = (None if end is None else mapped(end, leaves) for end in relation.ends)
        return Range(left, low, high)
    return Relation(left, relation.comparison, mapped(relation.right, leaves))
