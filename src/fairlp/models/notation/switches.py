"""Relations that a binary variable switches, and the SOS and piecewise linear ones made of them.

Every one is written with binaries and linear rows, which are the same on every back end and in
every file. What a helper declares has names of its own, prints with the model, and goes with the
variable or constraint that it is of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import ModelError, quoted
from ..programs.program import free_name
from .expressions import (
    Comparison,
    Conditional,
    Data,
    Expression,
    Range,
    Relation,
    as_expression,
    parameter_values,
)
from .labels import Index, Indices, symbols_of
from .variables import Element, Subset, Variable

if TYPE_CHECKING:
    from .model import Declarations
    from .tables import Constraint

#: What a helper may declare.
_DECLARED = ("variable", "constraint")


@contextmanager
def parts_of(model: Declarations, kind: str, name: str) -> Iterator[None]:
    """Let declarations inside belong to a variable or constraint; an error removes them all."""
    before = {(kind, declared_name) for kind in _DECLARED for declared_name in model._table(kind)}
    indices = model._indices

    def new() -> list[tuple[str, str]]:
        return [
            (kind, declared_name)
            for kind in _DECLARED
            for declared_name in model._table(kind)
            if (kind, declared_name) not in before
        ]

    try:
        yield
    except BaseException:
        for block in new():
            model._table(block[0]).pop(block[1])
        model._indices = indices
        raise
    model._owners.update({block: (kind, name) for block in new() if block != (kind, name)})


def binary(model: Declarations, name: str, node: Any) -> Expression:
    """Return a binary variable, or elements of one; raise for anything else."""
    if isinstance(node, (Variable, Element)) and node.degree:
        base: Any = node.base
        if base.integer and (base.lower >= 0).all() and (base.upper <= 1).all():
            return node
    raise ModelError(
        f"indicator {name!r} of model {model.name!r}: {quoted(node)} is no binary variable; declare it "
        "binary"
    )


def linear_in(name: str, node: Any) -> tuple[Expression, Any]:
    """Return a linear expression; for a variable, also which of its elements exist."""
    formula = as_expression(node)
    if formula.degree != 1:
        raise ModelError(
            f"{name!r} is of {formula}; expected a variable, or what is linear in variables"
        )
    if not isinstance(formula, Variable):
        return formula, None
    if set(formula.indices) == set(formula.base.indices):
        return formula, formula._mask
    return formula, Subset("", formula.indices, formula.positions)


def implied(
    model: Declarations,
    name: str,
    condition: Expression,
    relation: Any,
    active: int,
    *,
    where: Any,
    big_m: Any = None,
) -> Constraint:
    """Declare ``condition = active ⇒ relation``, and return the rows.

    The rows of a second side are ``name_below``.
    """
    if not isinstance(relation, Relation) or isinstance(relation, Conditional):
        raise ModelError(
            f"indicator {name!r}: expected left <= right, >=, ==, or a range, not {quoted(relation)}"
        )
    left = relation.left
    kind = relation.comparison
    high, low = relation.ends[::-1] if isinstance(relation, Range) else (relation.right,) * 2
    ends = {"<=": high if kind != ">=" else None, ">=": low if kind != "<=" else None}
    big_m_expression = None if big_m is None else as_expression(big_m, left)
    rows: list[Constraint] = []
    with parts_of(model, "constraint", name):
        for sign, end in ends.items():
            if end is not None:
                one_sided = Relation(left, cast(Comparison, sign), end)
                conditional = Conditional(one_sided, condition, active, big_m_expression)
                rows.append(
                    model.constraint(f"{name}_below" if rows else name, conditional, where=where)
                )
    return rows[0]


def special_ordered(
    model: Declarations,
    name: str,
    node: Any,
    over: Index,
    adjacent: int,
    off: str = "==",
    joined: Data | None = None,
) -> Constraint:
    """Declare that at most ``adjacent`` (1 or 2) neighbours along an index are not 0.

    Where ``joined`` is 0, a label and the one before are no neighbours.
    """
    formula, where = linear_in(name, node)
    with parts_of(model, "constraint", name):
        on = model.variable(f"{name}_on", *formula.indices, where=where, binary=True)
        rows = model.constraint(name, on.sum(over) <= 1)
        before = on.shift(over) if joined is None else joined * on.shift(over)
        selected = on + before if adjacent == 2 else on
        implied(
            model,
            f"{name}_off",
            selected,
            formula == 0 if off == "==" else formula <= 0,
            0,
            where=where,
        )
    return rows


def zero_or_at_least(model: Declarations, name: str, node: Any, least: Any) -> Constraint:
    """Declare that each element is 0, or at least some number."""
    formula, where = linear_in(name, node)
    with parts_of(model, "constraint", name):
        on = model.variable(f"{name}_on", *formula.indices, where=where, binary=True)
        rows = implied(model, name, on, formula >= least, 1, where=where)
        implied(model, f"{name}_off", on, formula == 0, 0, where=where)
    return rows


def interpolated(
    model: Declarations, name: str, node: Any, breakpoints: Any, values: Any
) -> Variable:
    """Declare y = f(x) by weights of breakpoints; at most two, neighbours, are not 0.

    Equal breakpoints, where f jumps, are no neighbours: there is nothing between them.
    """
    formula, where = linear_in(name, node)
    count = (_shape(name, "breakpoints", breakpoints) or (0,))[-1]
    if count < 2:
        raise ModelError(
            f"piecewise {name!r} has {count} breakpoints; expected two or more, in a list or an "
            "array"
        )
    symbol = free_name(
        f"k_{name}", symbols_of(model.indices)
    )  # it may be there of one that was removed
    point = Index(symbol, range(count), "breakpoint")
    abscissae, height = (
        _of_points(name, noun, numbers, formula.indices, point)
        for noun, numbers in (("breakpoints", breakpoints), ("values", values))
    )
    joined = _joined(name, abscissae)
    existing = None if where is None else where._over((*formula.indices, point))
    with parts_of(model, "variable", name):
        low = height.values.min(axis=-1)
        high = height.values.max(axis=-1)
        y = model.variable(
            name,
            *formula.indices,
            where=where,
            lower=low,
            upper=high,
            doc=f"piecewise in {formula}",
        )
        weight = model.variable(f"{name}_weight", *formula.indices, point, where=existing, upper=1)
        model.constraint(f"{name}_weights", weight.sum(point) == 1, where=where)
        model.constraint(
            f"{name}_argument", (abscissae * weight).sum(point) == formula, where=where
        )
        model.constraint(f"{name}_value", (height * weight).sum(point) == y, where=where)
        special_ordered(model, f"{name}_segment", weight, point, 2, "<=", joined)
    return y


def _joined(name: str, abscissae: Data) -> Data | None:
    """Return 1 where a line leads from the breakpoint before, 0 after a jump; None without jumps.

    Raise for breakpoints that fall, and for more than two that are equal.
    """
    rise = np.diff(abscissae.values)
    is_jump = rise == 0
    if (rise < 0).any() or (is_jump[..., 1:] & is_jump[..., :-1]).any():
        raise ModelError(
            f"the breakpoints of piecewise {name!r} are expected to rise, and two that are "
            f"equal are a jump (no more than two): {abscissae.values.tolist()}"
        )
    if not is_jump.any():
        return None
    first = np.zeros((*is_jump.shape[:-1], 1))  # no line leads to it
    lines = np.concatenate([first, 1.0 - is_jump], axis=-1)
    lines.setflags(write=False)
    return Data(f"{name}_joined", abscissae.indices, lines)


def _of_points(name: str, noun: str, numbers: Any, over: Indices, point: Index) -> Data:
    """Return numbers of breakpoints: shared, or of each element."""
    axes = (point,) if len(_shape(name, noun, numbers)) == 1 else (*over, point)
    return Data(f"{name}_{noun}", axes, parameter_values(numbers, axes, f"{noun} of {name}"))


def _shape(name: str, noun: str, numbers: Any) -> tuple[int, ...]:
    """Return how many breakpoints there are, last, and of how many elements."""
    try:
        return np.shape(numbers)
    except ValueError:
        raise ModelError(
            f"the {noun} of piecewise {name!r} are lists of different lengths; expected one "
            "list of numbers for all elements, or one of the same length for each"
        ) from None
