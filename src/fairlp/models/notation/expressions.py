"""Index notation: parameters and variables over named indices, and the expressions made of them.

An expression is a small tree. The same tree prints as mathematics (:mod:`.render`) and compiles to arrays
(:mod:`.compiler`), so what is read is what is solved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd

from ...errors import ModelError

Comparison = Literal["<=", ">=", "=="]


class Index:
    """A named, labelled index: what ``n``, ``i`` and ``r`` are in a formula.

    Parameters
    ----------
    symbol : str
        The letter in formulas.
    labels : sequence
        The labels, in order.
    name : str
        What one label stands for ("user").

    Examples
    --------
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> len(n), list(n), str(n)
    (2, ['ann', 'bob'], 'n')
    """

    def __init__(self, symbol: str, labels: Iterable[Any], name: str = "") -> None:
        self.symbol = symbol
        self.labels = labels if isinstance(labels, pd.Index) else pd.Index(list(labels))
        self.name = name or symbol

    def alias(self, symbol: str) -> Index:
        """Return another index over the same labels (``m`` beside ``n``)."""
        return Index(symbol, self.labels, self.name)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __getitem__(self, position: int) -> Any:
        return self.labels[position]

    def __str__(self) -> str:
        return self.symbol

    def __repr__(self) -> str:
        return f"Index({self.symbol!r}, {len(self)} labels, {self.name!r})"


def union(*groups: Iterable[Index]) -> tuple[Index, ...]:
    """Return the indices of all groups, each once, in order of appearance; two indices of one symbol are an error."""
    seen: dict[str, Index] = {}
    for group in groups:
        for index in group:
            known = seen.setdefault(index.symbol, index)
            if known is not index and not known.labels.equals(index.labels):
                raise ModelError(
                    f"index {index.symbol!r} stands for {len(known)} labels ({known.name}) in one place and "
                    f"{len(index)} labels ({index.name}) in another; give one of them another symbol with .alias()"
                )
    return tuple(seen.values())


class Expression:
    """A formula over indices: add, subtract, multiply, divide, ``.sum(n)``, and compare to make a constraint."""

    #: Indices that are not summed over.
    indices: tuple[Index, ...] = ()
    #: 0: numbers only; 1: linear in variables; 2: with logarithms (objectives only).
    degree: int = 0
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
    """Known numbers over indices, by name."""

    def __init__(self, name: str, indices: tuple[Index, ...], values: np.ndarray, doc: str = "") -> None:
        self.name, self.indices, self.values, self.doc = name, indices, values, doc

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Parameter:
        """Return the same numbers over other symbols (``d[m, r]``), as when two users are compared."""
        return Parameter(self.name, _rename(self.name, self.indices, indices), self.values, self.doc)


class Variable(Expression):
    """Unknown numbers over indices, by name; ``positions`` tells which elements exist (None: all)."""

    degree = 1

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        *,
        positions: np.ndarray | None,
        lower: np.ndarray,
        upper: np.ndarray,
        integer: bool,
        doc: str = "",
        base: Variable | None = None,
    ) -> None:
        self.name, self.indices, self.doc = name, indices, doc
        self.positions, self.lower, self.upper, self.integer = positions, lower, upper, integer
        self.base: Variable = self if base is None else base

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
            positions=self.positions,
            lower=self.lower,
            upper=self.upper,
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


class Relation:
    """``left <= right``, ``left >= right`` or ``left == right``: a constraint that has no name yet."""

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
