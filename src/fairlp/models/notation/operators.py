"""What a formula is to NumPy's functions and to Python's: itself, another formula, or a refusal.

``np.abs(x)``, ``np.sum(x)``, ``np.dot(costs, x)`` and ``A @ x`` are formulas, as ``abs(x)``,
``x.sum()`` and ``costs @ x`` are. What has no meaning in a linear model is refused with what to
write.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import NoArgumentError, refused
from ...hints import hint_of

if TYPE_CHECKING:
    from .expressions import Expression

#: Functions of NumPy that work element by element, and what they are of formulas.
_ELEMENTWISE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
    np.matmul: operator.matmul,
    np.less_equal: operator.le,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.less: operator.lt,
    np.greater: operator.gt,
    np.vecdot: operator.matmul,
    np.power: operator.pow,
    np.float_power: operator.pow,
    np.square: lambda formula: formula**2,
    np.sqrt: lambda formula: formula**0.5,
}
#: The relation that is the same with its sides changed: data on the left go to the right.
_TURNED = {np.less_equal: operator.ge, np.greater_equal: operator.le, np.equal: operator.eq}


def elementwise(
    as_formula: Callable[[Any, Any], Any],
    ufunc: np.ufunc,
    method: str,
    *inputs: Any,
    **keywords: Any,
) -> Any:
    """Return what a function of NumPy that works element by element is of formulas.

    ``as_formula`` makes a formula of data beside another one.

    >>> from fairlp import Index, Model
    >>> x = Model("m").variable("x", Index("n", ["ann", "bob"]))
    >>> np.abs(x), np.array([1, 2]) * x, np.add.reduce(x)
    (<Expression |x[n]| over n>, <Expression [2 numbers over n]·x[n] over n>, <Expression ∑_n x[n]>)
    """
    if ufunc is np.add and method == "reduce" and set(keywords.items()) <= {("axis", 0)}:
        return inputs[0].sum()
    if method != "__call__" or keywords:
        refuse(ufunc.__name__)
    if ufunc not in _ELEMENTWISE:
        refuse(ufunc.__name__)
    if len(inputs) == 1 or ufunc in (np.power, np.float_power):
        return _ELEMENTWISE[ufunc](*inputs)
    left, right = inputs
    if ufunc in (np.matmul, np.vecdot):
        return _product(left, right)
    if isinstance(left, Refusals):
        return _ELEMENTWISE[ufunc](left, right)
    if ufunc in _TURNED:
        return _TURNED[ufunc](right, left)
    return _ELEMENTWISE[ufunc](as_formula(left, right), right)


def function(called: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """Return what another function of NumPy is of formulas.

    >>> from fairlp import Index, Model
    >>> x = Model("m").variable("x", Index("n", ["ann", "bob"]))
    >>> np.sum(x), np.dot([1, 2], x), np.shape(x)
    (<Expression ∑_n x[n]>, <Expression ∑_n [2 numbers over n]·x[n]>, (2,))
    """
    if keywords or called not in _FUNCTIONS:
        refuse(called.__name__)
    return _FUNCTIONS[called](*arguments)


def _product(left: Any, right: Any) -> Any:
    return left @ right if isinstance(left, Refusals) else right.__rmatmul__(left)


def _running_sum(formula: Any) -> Expression:
    if len(formula.indices) != 1:
        refuse("cumsum")
    return formula.cumsum(formula.indices[0])  # type: ignore[no-any-return]


def _shape(formula: Any) -> tuple[int, ...]:
    return tuple(len(index) for index in formula.indices)


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sum: operator.methodcaller("sum"),
    np.mean: operator.methodcaller("mean"),
    np.average: operator.methodcaller("mean"),
    np.cumsum: _running_sum,
    np.dot: _product,
    np.inner: _product,
    np.vdot: _product,
    np.shape: _shape,
    np.ndim: lambda formula: len(formula.indices),
    np.size: lambda formula: int(np.prod(_shape(formula))),
}


def refuse(name: str) -> NoReturn:
    """Raise for a function of NumPy that formulas have no meaning for."""
    hint = hint_of(["numpy", "Expression", "fairlp"], name) or (
        "formulas are written with + - * / @, abs, x.sum(n), x.shift(t), fairlp.log and **2; an array "
        "of numbers stands beside them"
    )
    raise NoArgumentError(f"NumPy's {name} takes no formula; {hint}")


class Refusals:
    """Operators and functions of Python that a formula has no meaning for, each in words."""

    def __len__(self) -> int:
        raise NoArgumentError(
            f"{self} has no length; len(n) is the number of labels of an index, and x.size that of the "
            "elements of a variable"
        )

    def __float__(self) -> float:
        raise NoArgumentError(
            f"{self} is no number until the model is solved; write solution = model.solve() and "
            "solution.value(x), of a parameter d.values"
        )

    def __format__(self, specification: str) -> str:
        if specification:
            raise NoArgumentError(
                f"{self} is printed as it is; its value is solution.value(x), and "
                f"f'{{solution.value(x):{specification}}}' prints one number"
            )
        return str(self)

    def __invert__(self) -> NoReturn:
        raise NoArgumentError(f"{self} has no opposite of its own; of a binary y write 1 - y")

    def _no_logic(self, other: object) -> NoReturn:
        raise NoArgumentError(
            f"{self} stands in no logic; of binaries, 'y or z' is y + z >= 1, 'y and z' is y + z >= 2, "
            "'y implies z' is y <= z, and model.indicator('name', y, relation) switches a relation"
        )

    def _no_division(self, other: object) -> NoReturn:
        raise NoArgumentError(
            f"{self} is divided without a fraction, which is not linear; declare a whole number k = "
            "model.variable('k', integer=True) with x == d*k + r and 0 <= r <= d - 1"
        )

    def _no_exponent(self, other: object) -> NoReturn:
        raise NoArgumentError(
            f"{self} stands in no exponent; of a function f of one variable write "
            "model.piecewise('f', x, breakpoints, values)"
        )

    def _no_rounding(self, *digits: int) -> NoReturn:
        raise NoArgumentError(
            f"{self} is not rounded in a formula; write model.variable('x', n, integer=True), or "
            "solution.values['x'].round()"
        )

    __call__ = refused(
        "is not called", "its value is solution.value(x) with solution = model.solve()"
    )
    __contains__ = refused("has no labels of its own", "write 'ann' in n, of an index n")
    __setitem__ = __delitem__ = refused(
        "takes nothing in brackets",
        "of a variable write x['ann'].fix(3) or x['ann'].set(upper=3), of a parameter d['ann'].set(3)",
    )
    __int__ = __index__ = __complex__ = __float__
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_logic
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _no_logic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_division
    __divmod__ = __rdivmod__ = _no_division
    __rpow__ = _no_exponent
    __round__ = __floor__ = __ceil__ = __trunc__ = _no_rounding
