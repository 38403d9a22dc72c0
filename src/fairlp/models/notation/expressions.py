"""Index notation: parameters and variables over named indices, and the expressions made of them.

An expression is a small tree. The same tree prints as mathematics (:mod:`.render`) and compiles to arrays
(:mod:`.compiler`), so what is read is what is solved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import pandas as pd

from ...errors import ModelError
from .indices import Changing, Fixed, Index, union

if TYPE_CHECKING:
    from .entries import Subset

Comparison = Literal["<=", ">=", "=="]

__all__ = [
    "Add",
    "Comparison",
    "Constant",
    "Expression",
    "Index",
    "Log",
    "Parameter",
    "Product",
    "Quotient",
    "Relation",
    "SumOver",
    "Variable",
    "as_expression",
    "log",
    "union",
]


class Expression(Fixed):
    """A formula over indices: add, subtract, multiply, divide, ``.sum(n)``, and compare to make a constraint."""

    #: Indices that are not summed over.
    indices: tuple[Index, ...] = ()
    #: 0: numbers only; 1: linear in variables; 2: with logarithms (objectives only).
    degree: int = 0
    _names = frozenset({"indices", "degree", "left", "right", "sign", "value", "body", "over", "argument"})
    #: Let NumPy scalars and arrays on the left hand over to us.
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Expression:
        return Add(self, as_expression(other), 1)

    def __radd__(self, other: Any) -> Expression:
        return Add(as_expression(other), self, 1)

    def __sub__(self, other: Any) -> Expression:
        return Add(self, as_expression(other), -1)

    def __rsub__(self, other: Any) -> Expression:
        return Add(as_expression(other), self, -1)

    def __neg__(self) -> Expression:
        return Product(Constant(-1.0), self)

    def __mul__(self, other: Any) -> Expression:
        return Product(self, as_expression(other))

    def __rmul__(self, other: Any) -> Expression:
        return Product(as_expression(other), self)

    def __truediv__(self, other: Any) -> Expression:
        return Quotient(self, as_expression(other))

    def __rtruediv__(self, other: Any) -> Expression:
        return Quotient(as_expression(other), self)

    def sum(self, *over: Index) -> Expression:
        """Sum over the given indices (over all free ones when none is given)."""
        return SumOver(self, over or self.indices)

    def __le__(self, other: Any) -> Relation:
        return Relation(self, "<=", as_expression(other))

    def __ge__(self, other: Any) -> Relation:
        return Relation(self, ">=", as_expression(other))

    def __eq__(self, other: Any) -> Relation:  # type: ignore[override]
        return Relation(self, "==", as_expression(other))

    def __bool__(self) -> NoReturn:
        raise ModelError("an expression has no truth value; write model.constraint(name, left <= right)")

    def __str__(self) -> str:
        from .render import text

        return text(self)

    def _repr_latex_(self) -> str:
        from .render import latex

        return f"$\\displaystyle {latex(self)}$"


class Constant(Expression):
    """A number."""

    def __init__(self, value: float) -> None:
        if not np.isfinite(value):
            raise ModelError(f"a coefficient is {value}; expected a finite number")
        self.value = float(value)


class Parameter(Expression):
    """Known numbers over indices, by name; :meth:`set` gives it others."""

    _names = frozenset({"name", "indices", "doc", "base", "model"})
    _remedy = "other numbers are given by .set(values)"

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        values: np.ndarray | None,
        doc: str = "",
        *,
        model: Changing | None = None,
        base: Parameter | None = None,
    ) -> None:
        self.name, self.indices, self.doc, self.model = name, indices, doc, model
        self.base: Parameter = self if base is None else base
        if values is not None:
            self.__dict__["_values"] = values

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only; one array axis for each index."""
        found: np.ndarray = self.base.__dict__["_values"]
        return found

    def set(self, values: Any) -> None:
        """Give the parameter other numbers; the model that it is of is compiled anew when it is next solved.

        Parameters
        ----------
        values : array_like, Series, DataFrame or mapping
            As :meth:`Model.parameter` takes them: with labels they are put in order, and all are checked.
        """
        from .entries import parameter_values

        base = self.base
        base.__dict__["_values"] = parameter_values(values, base.indices, base.name)
        if base.model is not None:
            base.model.changed()

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Parameter:
        """Return the same numbers over other symbols (``d[m, r]``), as when two users are compared."""
        return Parameter(self.name, _rename(self.name, self.indices, indices), None, self.doc, base=self.base)


class Variable(Expression):
    """Unknown numbers over indices, by name; ``positions`` tells which elements exist (None: all)."""

    degree = 1
    _names = frozenset({"name", "indices", "doc", "where", "integer", "base", "model"})
    _remedy = "other bounds are given by .set(lower=…, upper=…)"

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        *,
        where: Subset | None = None,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
        integer: bool = False,
        doc: str = "",
        model: Changing | None = None,
        base: Variable | None = None,
    ) -> None:
        self.name, self.indices, self.doc = name, indices, doc
        self.where, self.integer, self.model = where, integer, model
        self.base: Variable = self if base is None else base
        if bounds is not None:
            self.__dict__["_bounds"] = bounds

    @property
    def positions(self) -> np.ndarray | None:
        """Elements that exist, in C order over the indices; None for all."""
        return None if self.where is None else self.where.positions

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the elements that exist, read-only."""
        found: tuple[np.ndarray, np.ndarray] = self.base.__dict__["_bounds"]
        return found[0]

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the elements that exist, read-only."""
        found: tuple[np.ndarray, np.ndarray] = self.base.__dict__["_bounds"]
        return found[1]

    def set(self, *, lower: Any = ..., upper: Any = ...) -> None:
        """Give the variable other bounds, as :meth:`Model.variable` takes them; what is not named stays.

        The model that it is of is compiled anew when it is next solved.
        """
        from .entries import bounds

        base = self.base
        old = base.__dict__["_bounds"]
        low = bounds(base.name, None if lower is ... else lower, None, base.indices, base.positions)[0]
        high = bounds(base.name, None, None if upper is ... else upper, base.indices, base.positions)[1]
        new = (old[0] if lower is ... else low, old[1] if upper is ... else high)
        if (new[0] > new[1]).any():
            raise ModelError(f"variable {base.name!r}: a lower bound is above its upper bound")
        base.__dict__["_bounds"] = new
        if base.model is not None:
            base.model.changed()

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each index."""
        return tuple(len(index) for index in self.indices)

    @property
    def size(self) -> int:
        """Number of elements that exist."""
        return int(np.prod(self.shape)) if self.positions is None else len(self.positions)

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Variable:
        """Return the same variable over other symbols (``x[m, i]``)."""
        return Variable(
            self.name,
            _rename(self.name, self.indices, indices),
            where=self.where,
            integer=self.integer,
            doc=self.doc,
            base=self.base,
        )


class Add(Expression):
    """``left + sign · right``."""

    def __init__(self, left: Expression, right: Expression, sign: int) -> None:
        self.left, self.right, self.sign = left, right, sign
        self.indices = union(left.indices, right.indices)
        self.degree = max(left.degree, right.degree)


class Product(Expression):
    """``left · right``, of which at most one has variables."""

    def __init__(self, left: Expression, right: Expression) -> None:
        if left.degree and right.degree:
            raise ModelError(f"not linear: ({left}) times ({right}) multiplies variables with variables")
        self.left, self.right = left, right
        self.indices = union(left.indices, right.indices)
        self.degree = left.degree + right.degree


class Quotient(Expression):
    """``left / right`` where the denominator has no variables and no zero."""

    def __init__(self, left: Expression, right: Expression) -> None:
        if right.degree:
            raise ModelError(f"not linear: ({left}) is divided by ({right}), which has variables")
        self.left, self.right = left, right
        self.indices = union(left.indices, right.indices)
        self.degree = left.degree


class SumOver(Expression):
    """``Σ body`` over some of its indices."""

    def __init__(self, body: Expression, over: tuple[Index, ...]) -> None:
        free = {index.symbol for index in body.indices}
        for index in over:
            if index.symbol not in free:
                raise ModelError(
                    f"the sum over {index.symbol!r} of {body} is over an index that does not occur; "
                    f"it has {', '.join(sorted(free)) or 'no index'}"
                )
        summed = {index.symbol for index in over}
        self.body, self.over = body, union(over)
        self.indices = tuple(index for index in body.indices if index.symbol not in summed)
        self.degree = body.degree


class Log(Expression):
    """Natural logarithm of a linear expression; allowed in objectives, times a weight."""

    degree = 2

    def __init__(self, argument: Expression) -> None:
        if argument.degree > 1:
            raise ModelError("a logarithm of a logarithm is not supported")
        self.argument = argument
        self.indices = argument.indices


def log(expression: Expression) -> Log:
    """Return the natural logarithm of a linear expression, for objectives such as ``(w * log(x.sum(i))).sum(n)``."""
    return Log(as_expression(expression))


class Relation(Fixed):
    """``left <= right``, ``left >= right`` or ``left == right``: a constraint that has no name yet."""

    _names = frozenset({"left", "comparison", "right", "indices"})

    def __init__(self, left: Expression, comparison: Comparison, right: Expression) -> None:
        if max(left.degree, right.degree) > 1:
            raise ModelError("a constraint must be linear; logarithms belong in the objective")
        self.left, self.comparison, self.right = left, comparison, right
        self.indices = union(left.indices, right.indices)

    def __bool__(self) -> NoReturn:
        raise ModelError(
            "a constraint has no truth value; for a range (low <= expression <= high) write two constraints"
        )

    def __str__(self) -> str:
        from .render import text

        sign = {"<=": "≤", ">=": "≥", "==": "="}[self.comparison]
        return f"{text(self.left)} {sign} {text(self.right)}"


def as_expression(value: Any) -> Expression:
    """Return a number as an expression; arrays must be named parameters first, so that the model can be read."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Constant(float(value))
    if isinstance(value, (np.ndarray, pd.Series, pd.DataFrame, list, tuple)):
        raise ModelError(
            "an array stands in a formula without a name; give it one with model.parameter(name, indices, array)"
        )
    raise ModelError(
        f"{value!r} ({type(value).__name__}) cannot stand in a formula; expected a number or an expression"
    )


def _rename(name: str, old: tuple[Index, ...], new: Index | tuple[Index, ...]) -> tuple[Index, ...]:
    indices = (new,) if isinstance(new, Index) else tuple(new)
    if len(indices) != len(old):
        raise ModelError(f"{name!r} has {len(old)} indices, not {len(indices)}")
    for was, now in zip(old, indices, strict=True):
        if not was.labels.equals(now.labels):
            raise ModelError(f"{name!r}: index {was.symbol!r} cannot be replaced by {now.symbol!r}: other labels")
    return indices
