"""Walks over expression trees: which names occur, where, and copies over another model's names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ...errors import ModelError
from .expressions import (
    Abs,
    Add,
    Along,
    Data,
    Element,
    Expression,
    Log,
    Minimum,
    Parameter,
    Power,
    Product,
    Quotient,
    Range,
    Relation,
    SumOver,
    Variable,
)
from .labels import shape_of
from .switches import Conditional


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions that a node is made of."""
    match node:
        case Add():
            return tuple(addend for _, addend in node.addends())
        case Product() | Quotient():
            return node.left, node.right
        case SumOver() | Along():
            return (node.body,)
        case Log() | Power() | Abs():
            return (node.argument,)
        case Minimum():
            return node.parts
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


def require_current(what: str, *expressions: Expression) -> None:
    """Raise for numbers, shifts, parts and aliases from before an index got another label."""
    stack = list(expressions)
    while stack:
        node = stack.pop()
        stack += children(node)
        match node:
            case Data():
                is_current = node.stored.shape == shape_of(node.indices)
            case Along():
                is_current = node.matrix.shape == (len(node.to), len(node.index))
            case Parameter() | Variable():
                is_current = shape_of(node.indices) == shape_of(node.base.indices)
            case Element():
                places = zip(node.base.indices, node.places, strict=True)
                free = [index for index, place in places if place is None]
                is_current = shape_of(node.indices) == shape_of(free)
            case _:
                continue
        if not is_current:
            raise ModelError(
                f"{what} has {node}, which was written before an index of it got another label; write the "
                "formula anew"
            )


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
