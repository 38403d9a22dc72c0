"""Index notation: parameters and variables over named indices, and the expressions made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import pandas as pd

from ...errors import ModelError, UnknownNameError, nearest
from .labels import Changing, Fixed, Index, aligned, axes_text, floats, union

if TYPE_CHECKING:
    from .tables import Subset

# Expressions: sums, products, quotients, logarithms and powers of what has a name, and the relations between them.

Comparison = Literal["<=", ">=", "==", "between"]


class Expression(Fixed):
    """A formula over indices: add, subtract, multiply, divide, ``.sum(n)``, and compare to make a constraint."""

    #: Indices that are not summed over.
    indices: tuple[Index, ...] = ()
    #: 0: numbers only; 1: linear in variables; 2: with logarithms or powers (objectives only).
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
        for one in over:
            if not isinstance(one, Index):
                raise ModelError(
                    f"sum over {one!r}: expected an Index, not {type(one).__name__}; a variable x has x.indices"
                )
        return SumOver(self, over or self.indices)

    def between(self, low: Any, high: Any) -> Range:
        """Return ``low <= expression <= high``: one row with both bounds for each element.

        Parameters
        ----------
        low, high : float, parameter, array_like, Series, DataFrame, mapping or None
            The ends: numbers, an expression of parameters, or one number for each combination of the labels of the
            expression's indices (labels are put in order). None and infinities are no end.
        """
        return Range(self, low, high)

    def __le__(self, other: Any) -> Relation:
        return Relation(self, "<=", as_expression(other))

    def __ge__(self, other: Any) -> Relation:
        return Relation(self, ">=", as_expression(other))

    def __lt__(self, other: Any) -> NoReturn:
        raise ModelError(f"{self} is compared by < or >; a model has no strict relations: write <= or >=")

    __gt__ = __lt__

    def __eq__(self, other: Any) -> Relation:  # type: ignore[override]
        return Relation(self, "==", as_expression(other))

    def __bool__(self) -> NoReturn:
        raise ModelError("an expression has no truth value; write model.constraint(name, left <= right)")

    def __str__(self) -> str:
        from .render import text

        return text(self)

    def __repr__(self) -> str:
        from .render import of_expression

        return of_expression(self)

    def _repr_latex_(self) -> str:
        from .render import latex

        return f"$\\displaystyle {latex(self)}$"


class Constant(Expression):
    """A number."""

    def __init__(self, value: float) -> None:
        if not np.isfinite(value):
            raise ModelError(f"a coefficient is {value}; expected a finite number")
        self.value = float(value)


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
            raise ModelError("a logarithm of a logarithm or of a power is not supported")
        self.argument = argument
        self.indices = argument.indices


def log(expression: Expression) -> Log:
    """Return the natural logarithm of a linear expression, for objectives such as ``(w * log(x.sum(i))).sum(n)``.

    Parameters
    ----------
    expression : Expression
        Linear.

    Returns
    -------
    Log

    Raises
    ------
    ModelError
        For what is no linear expression.
    """
    return Log(as_expression(expression))


class Power(Expression):
    """A linear expression to a power below 1; allowed in objectives, times a weight."""

    degree = 2
    _names = Expression._names | {"exponent"}

    def __init__(self, argument: Expression, exponent: float) -> None:
        if argument.degree > 1:
            raise ModelError("a power of a logarithm or of a power is not supported")
        if isinstance(exponent, bool) or not isinstance(exponent, (int, float, np.integer, np.floating)):
            raise ModelError(f"the exponent of a power is {exponent!r}; expected a number below 1, not 0")
        if not (np.isfinite(exponent) and exponent < 1 and exponent != 0):
            raise ModelError(
                f"the exponent of a power is {exponent}; expected a number below 1, not 0 (powers above 1 are not "
                "concave, log(…) is what powers tend to at 0)"
            )
        self.argument, self.exponent = argument, float(exponent)
        self.indices = argument.indices


def power(expression: Expression, exponent: float) -> Power:
    """Return a linear expression to a power below 1, for objectives such as ``(2 * power(x.sum(i), 0.5)).sum(n)``.

    It is concave, times a weight of the exponent's sign: ``w * power(x, p) / p`` with w ≥ 0 is, to be maximised.

    Parameters
    ----------
    expression : Expression
        Linear.
    exponent : float
        Below 1 and not 0.

    Returns
    -------
    Power

    Raises
    ------
    ModelError
        For another exponent, or what is no linear expression.
    """
    return Power(as_expression(expression), exponent)


class Relation(Fixed):
    """``left <= right``, ``left >= right`` or ``left == right``: a constraint that has no name yet."""

    _names = frozenset({"left", "comparison", "right", "indices"})

    def __init__(self, left: Expression, comparison: Comparison, right: Expression) -> None:
        if max(left.degree, right.degree) > 1:
            raise ModelError("a constraint must be linear; logarithms and powers belong in the objective")
        self.left, self.comparison, self.right = left, comparison, right
        self.indices = union(left.indices, right.indices)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it relates."""
        return self.left, self.right

    @property
    def body(self) -> Expression:
        """What the rows are made of: ``left − right``."""
        return self.left - self.right

    def __bool__(self) -> NoReturn:
        raise ModelError(
            f"a constraint ({self}) has no truth value; for a range (low <= expression <= high) write "
            "expression.between(low, high)"
        )

    def __str__(self) -> str:
        from .render import relation

        return relation(self, False)

    def __repr__(self) -> str:
        from .render import of_relation

        return of_relation(self)

    def _repr_latex_(self) -> str:
        from .render import relation

        return f"$\\displaystyle {relation(self, True)}$"


class Range(Relation):
    """``low <= expression <= high``; made by :meth:`Expression.between`. An end that is None is not there."""

    _names = Relation._names | {"low", "high"}

    def __init__(self, expression: Expression, low: Any, high: Any) -> None:
        super().__init__(expression, "between", Constant(0.0))
        self.low, self.high = _end(low, "lower", expression), _end(high, "upper", expression)
        if self.low is None and self.high is None:
            raise ModelError(f"the range of {expression} has neither a lower nor an upper end")
        self.__dict__["indices"] = union(expression.indices, *(end.indices for end in self.ends if end is not None))

    @property
    def ends(self) -> tuple[Expression | None, Expression | None]:
        """The lower and the upper end."""
        return self.low, self.high

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it relates."""
        return self.left, *(end for end in self.ends if end is not None)

    @property
    def body(self) -> Expression:
        """What the rows are made of."""
        return self.left


class Ends(Expression):
    """The numbers of one end of a range, without a name of their own; they may be infinite."""

    _names = frozenset({"name", "indices", "values"})

    def __init__(self, name: str, indices: tuple[Index, ...], values: np.ndarray) -> None:
        values.setflags(write=False)
        self.name, self.indices, self.values = name, indices, values


def _end(value: Any, name: str, expression: Expression) -> Expression | None:
    """Return an end of a range as an expression, None where there is none."""
    if isinstance(value, Expression):
        if value.degree:
            raise ModelError(
                f"the {name} end ({value}) of the range of {expression} has variables; write two constraints"
            )
        return value
    words, none = f"the {name} end of the range of {expression}", -np.inf if name == "lower" else np.inf
    axes = expression.indices
    try:
        array = floats(none if value is None else aligned(value, axes, words, ModelError))
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{words} is not all numbers ({error})") from None
    shape = tuple(len(index) for index in axes)
    if array.shape not in ((), shape):
        raise ModelError(f"{words} has shape {array.shape}, expected {shape} ({axes_text(axes)})")
    if np.isnan(array).any() or (array == -none).any():
        raise ModelError(f"{words} is NaN or {-none}; expected numbers, or None for no end")
    if (array == none).all() and array.size:
        return None
    return Constant(array.item()) if array.ndim == 0 else Ends(name, axes, array)


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


__all__ = [
    "Add",
    "Comparison",
    "Constant",
    "Element",
    "Expression",
    "Index",
    "Log",
    "Parameter",
    "Power",
    "Product",
    "Quotient",
    "Range",
    "Relation",
    "SumOver",
    "Variable",
    "as_expression",
    "log",
    "power",
    "union",
]


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

    def __repr__(self) -> str:
        from .render import of_parameter

        return of_parameter(self)

    def set(self, values: Any) -> None:
        """Give the parameter other numbers; of its model only what they stand in is compiled anew, when it is solved.

        Parameters
        ----------
        values : array_like, Series, DataFrame or mapping
            As :meth:`Model.parameter` takes them: with labels they are put in order, and all are checked.
        """
        from .tables import parameter_values

        base = self.base
        base.__dict__["_values"] = parameter_values(values, base.indices, base.name)
        if base.model is not None:
            base.model.changed(base.name)

    def __getitem__(self, key: Any) -> Parameter | Element:
        """Return the same numbers over other symbols (``d[m, r]``), or some of them by label (``d["ann", :]``)."""
        places, indices = _places(self, key)
        if places.count(None) < len(places):
            return Element(self.base, places, indices)
        return Parameter(self.name, indices, None, self.doc, base=self.base)


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

    def __repr__(self) -> str:
        from .render import of_variable

        return of_variable(self)

    def set(self, *, lower: Any = ..., upper: Any = ...) -> None:
        """Give the variable other bounds, as :meth:`Model.variable` takes them; what is not named stays.

        Of its model only the bounds are compiled anew, when it is next solved.
        """
        from .tables import bounds

        base = self.base
        old = base.__dict__["_bounds"]
        low = bounds(base.name, None if lower is ... else lower, None, base.indices, base.positions)[0]
        high = bounds(base.name, None, None if upper is ... else upper, base.indices, base.positions)[1]
        new = (old[0] if lower is ... else low, old[1] if upper is ... else high)
        if (new[0] > new[1]).any():
            raise ModelError(f"variable {base.name!r}: a lower bound is above its upper bound")
        base.__dict__["_bounds"] = new
        if base.model is not None:
            base.model.changed(base.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each index."""
        return tuple(len(index) for index in self.indices)

    @property
    def size(self) -> int:
        """Number of elements that exist."""
        return int(np.prod(self.shape)) if self.positions is None else len(self.positions)

    def __getitem__(self, key: Any) -> Variable | Element:
        """Return the same variable over other symbols (``x[m, i]``), or some of it by label (``x["ann", :]``)."""
        places, indices = _places(self, key)
        if places.count(None) < len(places):
            return Element(self.base, places, indices)
        return Variable(
            self.name,
            indices,
            where=self.where,
            integer=self.integer,
            doc=self.doc,
            base=self.base,
        )


class Element(Expression):
    """Some elements of a parameter or variable, by label: ``g["ann", "s1"]`` is one, ``g["ann", :]`` a row.

    Attributes
    ----------
    base : Parameter or Variable
    places : tuple of (int or None)
        Position of the label of each index, None where the index stays.
    indices : tuple of Index
        The indices that stay.
    """

    _names = frozenset({"base", "name", "places", "indices", "degree"})

    def __init__(self, base: Parameter | Variable, places: tuple[int | None, ...], indices: tuple[Index, ...]) -> None:
        self.base, self.name, self.places, self.indices, self.degree = base, base.name, places, indices, base.degree
        if isinstance(base, Variable) and base.positions is not None and not indices:
            at = np.ravel_multi_index(tuple(place or 0 for place in places), base.shape)
            if at not in base.positions:
                raise ModelError(f"{self} does not exist: {base!r}")

    @property
    def values(self) -> np.ndarray:
        """The numbers of elements of a parameter, read-only."""
        if isinstance(self.base, Variable):
            raise ModelError(f"{self} is unknown; a solution has the values of variable {self.name!r}")
        found: np.ndarray = np.asarray(self.base.values[tuple(slice(None) if p is None else p for p in self.places)])
        found.setflags(write=False)
        return found

    def __repr__(self) -> str:
        from .render import of_element

        return of_element(self)

    @property
    def keys(self) -> tuple[Any, ...]:
        """Label or symbol of each index of the base, as it is printed."""
        free = iter(self.indices)
        labels = [index.labels for index in self.base.indices]
        return tuple(
            next(free).symbol if place is None else own[place] for own, place in zip(labels, self.places, strict=True)
        )


def _places(node: Parameter | Variable, key: Any) -> tuple[tuple[int | None, ...], tuple[Index, ...]]:
    """Return what stands in brackets: positions of labels (None where an index stays), and the indices that stay."""
    own = node.indices
    if len(own) == 1 and isinstance(key, tuple) and _is_label(key, own[0]):
        key = (key,)  # a label may be a tuple itself
    keys = key if isinstance(key, tuple) else (key,)
    symbols = ",".join(index.symbol for index in own)
    if len(keys) > len(own) or (len(keys) < len(own) and all(isinstance(one, Index) for one in keys)):
        raise ModelError(f"{node.name!r} has {len(own)} indices ({symbols}), not {len(keys)}")
    places: list[int | None] = []
    free: list[Index] = []
    for index, one in zip(own, (*keys, *(slice(None),) * (len(own) - len(keys))), strict=True):
        if isinstance(one, slice) and one != slice(None):
            raise ModelError(f"{node.name!r}: a part of index {index.symbol!r} is not taken by {one}; take all by ':'")
        stays = one if isinstance(one, Index) else index if isinstance(one, slice) else None
        places.append(_position(node.name, one, index) if stays is None else None)
        if stays is None:
            continue
        if not index.labels.equals(stays.labels):
            raise ModelError(
                f"{node.name!r}: index {index.symbol!r} cannot be replaced by {stays.symbol!r}: other labels"
            )
        if stays.symbol in {other.symbol for other in free}:
            raise ModelError(f"{node.name!r} has index {stays.symbol!r} in two places; a diagonal is taken by `where`")
        free.append(stays)
    return tuple(places), tuple(free)


def _is_label(key: object, index: Index) -> bool:
    try:
        return key in index
    except TypeError:  # a list, which is no label
        return False


def _position(name: str, label: Any, index: Index) -> int:
    """Return the position of a label of an index."""
    if not _is_label(label, index):
        raise UnknownNameError(f"{name!r} has no {index.name} {label!r}; {nearest(label, index)}")
    found = index.labels.get_loc(label)
    if not isinstance(found, int):
        raise ModelError(f"{name!r}: label {label!r} stands for more than one {index.name}")
    return found
