"""The numbers that parameters had when a program was compiled, for values at its solutions.

What is stored of a parameter never changes: ``set`` and ``extend`` store something else. So a
program's numbers are kept by reference, as long as the program is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..programs.program import Program
from .expressions import Expression, Parameter, Variable
from .labels import axes_of
from .walks import mapped, named


class _Numbers(NamedTuple):
    """What a parameter had: the symbol and labels of each index, and its numbers."""

    axes: Any
    stored: Any


_noted: WeakKeyDictionary[Program, dict[str, _Numbers]] = WeakKeyDictionary()


def note(program: Program, parameters: Mapping[str, Parameter]) -> Program:
    """Note the numbers of a model's parameters for its program, and return the program.

    Those that are noted already stay.
    """
    numbers = _noted.setdefault(program, {})
    for name, parameter in parameters.items():
        if name not in numbers:
            numbers[name] = _Numbers(axes_of(parameter.indices), parameter.stored)
    return program


def carry(program: Program, original: Program) -> Program:
    """Note for a program what is noted for the one that it was made of, and return it."""
    _noted[program] = dict(_noted.get(original, {}))
    return program


def as_solved(expression: Expression, program: Program) -> Expression:
    """Return an expression whose parameters have the numbers that they had in a program.

    A parameter that the program does not have with these labels keeps the numbers of now.
    """
    numbers = _noted.get(program, {})
    leaves: dict[str, Parameter | Variable] = {leaf.name: leaf for leaf in named(expression)}
    has_others = False
    for name, leaf in leaves.items():
        before = numbers.get(name)
        if not isinstance(leaf, Parameter) or before is None or leaf.stored is before.stored:
            continue
        if _have_same_labels(axes_of(leaf.indices), before.axes):
            leaves[name] = Parameter(
                name, leaf.indices, before.stored, leaf.doc, default=leaf.default
            )
            has_others = True
    return mapped(expression, leaves) if has_others else expression


def _have_same_labels(first: Any, second: Any) -> bool:
    """Whether two lists of symbols and labels have the same labels."""
    return len(first) == len(second) and all(
        labels.equals(other) for (_, labels), (_, other) in zip(first, second, strict=True)
    )
