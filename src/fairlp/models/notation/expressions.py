"""Index notation: formulas over named indices, as trees, and the relations between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import pandas as pd

from ...errors import ModelError, quoted
from ..programs.program import free_name
from .brackets import Parts, places_in
from .combinations import listed_numbers
from .labels import (
    Immutable,
    Index as Index,
    Indices,
    aligned,
    as_indices,
    carries_labels,
    completions,
    laid_out,
    located,
    member,
    numbers_in,
    placed,
    refuse,
    require_shape,
    says_its_indices,
    shape_of,
    symbols_of,
    union,
)
from .reals import NumberError, is_number, is_whole_number, number

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Comparison = Literal["<=", ">=", "==", "between"]
#: Numbers of a sparse parameter, zeros too, that are written out where a formula needs them all.
_MOST_DENSE = 1_000_000


#: What to write where a model would have squares or norms in its rows.
_SQUARES = (
    "rows with squares or norms are added to model.to_cvxpy(), or bounded by tangents "
    "(docs/squares-and-norms.md)"
)


class Expression(Immutable):
    """A formula over indices: arithmetic, ``.sum(n)``, and comparisons that make constraints.

    Formulas are written, from variables, parameters, numbers and labelled data, with ``+ - * / @``,
    ``abs``, ``** 2`` and the methods below. ``@`` sums a product over the indices that both sides
    have.

    Attributes
    ----------
    indices : tuple of Index
        The indices that are not summed over.
    degree : int
        0: numbers only; 1: linear in variables; 2: with logarithms, powers or absolute values.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n, t = Index("n", ["ann", "bob"], "user"), Index("t", [8, 9, 10], "hour")
    >>> model = Model("m", indices=(n, t))
    >>> x = model.variable("x", n, t)
    >>> 2 * x.sum(t) - 1
    <Expression 2·(∑_t x[n,t]) − 1 over n>
    >>> {"ann": 3, "bob": 4} @ x
    <Expression ∑_n [2 numbers over n]·x[n,t] over t>

    An absolute value stands in a constraint with numbers above it, and in objectives:

    >>> abs(x - x.shift(t)) <= 2
    <Range −2 ≤ x[n,t] − x[n,t−1] ≤ 2 ∀ n, t>
    >>> model.minimize(abs(x["ann"] - x["bob"]).sum())
    """

    indices: Indices = ()
    degree: int = 0
    _names = frozenset(
        {"indices", "degree", "left", "right", "parts", "value", "body", "over", "argument"}
    )
    #: Let arrays, Series and frames on the left hand over to us (the priority of frames is 4000).
    __array_ufunc__ = None
    __pandas_priority__ = 5000
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Expression:
        return Add((1, self), (1, as_expression(other, self)))

    def __radd__(self, other: Any) -> Expression:
        if is_number(other) and other == 0:  # Python's sum(…) begins with it
            return self
        return Add((1, as_expression(other, self)), (1, self))

    def __sub__(self, other: Any) -> Expression:
        return Add((1, self), (-1, as_expression(other, self)))

    def __rsub__(self, other: Any) -> Expression:
        return Add((1, as_expression(other, self)), (-1, self))

    def __neg__(self) -> Expression:
        return Product(Constant(-1.0), self)

    def __mul__(self, other: Any) -> Expression:
        if other is self and self.degree:
            return Power(self, 2)
        return Product(self, as_expression(other, self))

    def __rmul__(self, other: Any) -> Expression:
        return Product(as_expression(other, self), self)

    def __truediv__(self, other: Any) -> Expression:
        return Quotient(self, as_expression(other, self))

    def __rtruediv__(self, other: Any) -> Expression:
        return Quotient(as_expression(other, self), self)

    def __pow__(self, exponent: float) -> Power:
        return Power(self, exponent)

    def __matmul__(self, other: Any) -> Expression:
        return _inner(self, _factor(other, self, False))

    def __rmatmul__(self, other: Any) -> Expression:
        return _inner(_factor(other, self, True), self)

    def __abs__(self) -> Expression:
        return Abs(self)

    def __pos__(self) -> Expression:
        return self

    def __array_function__(self, called: Any, *_: object) -> NoReturn:
        raise TypeError(
            f"NumPy's {called.__name__} takes no formula; + - * / @, abs(x), x**2 and x.sum() do"
        )

    def sum(self, *over: Index | tuple[Index, ...]) -> SumOver:
        """Sum over the given indices (over all free ones when none is given).

        Parameters
        ----------
        *over : Index or tuple of Index
            One after the other, or in a tuple.

        Returns
        -------
        Expression

        Raises
        ------
        ModelError
            For what is no index, or does not occur.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n, i = Index("n", ["ann", "bob"]), Index("i", ["s1", "s2"])
        >>> x = Model("m").variable("x", n, i)
        >>> x.sum(i)
        <Expression ∑_i x[n,i] over n>
        """
        return SumOver(self, as_indices(over, "sum over") or self.indices)

    def mean(self, *over: Index | tuple[Index, ...]) -> Expression:
        """Return the mean over the indices, by default over all free ones.

        Elements that a mask leaves out count as 0.

        Parameters
        ----------
        *over : Index or tuple of Index

        Returns
        -------
        Expression

        Raises
        ------
        ModelError
            As :meth:`sum`, and for a mean of nothing.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n = Index("n", ["ann", "bob"])
        >>> x = Model("m").variable("x", n)
        >>> x.mean(n)
        <Expression (∑_n x[n])/2>
        """
        total = self.sum(*over)
        count = math.prod(shape_of(total.over))
        if not count:
            raise ModelError(f"the mean of {self} is over nothing")
        return total / count

    def shift(
        self, index: Index, steps: int = 1, *, cyclic: bool = False, initial: Any = None
    ) -> Expression:
        """Return the expression ``steps`` labels before, along an index; 0 outside the index.

        So ``x - x.shift(t) <= 5`` also bounds the first element, by 5. For rows where both elements
        exist only, say with ``where=`` which; the model prints what is 0 outside.

        Parameters
        ----------
        index : Index
            Its labels are taken in order.
        steps : int
            Negative: later labels.
        cyclic : bool
            Before the first label comes the last one: ``x[t−1 mod 24]``.
        initial : float, array_like, Series, mapping or Expression, optional
            What stands outside the index in place of 0: the stock before the first hour.

        Returns
        -------
        Expression

        Raises
        ------
        ModelError
            For an index that does not occur, steps that are no whole number, or an initial value of
            a cyclic shift.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> t = Index("t", [8, 9, 10], "hour")
        >>> model = Model("m")
        >>> x = model.variable("x", t)
        >>> model.constraint("ramp", x - x.shift(t) <= 5)
        <Constraint ramp: x[t] − x[t−1] ≤ 5 ∀ t: 3 rows>
        >>> model.compile().A.toarray().tolist()
        [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
        >>> model.constraint("later", x - x.shift(t) <= 5, where=[False, True, True])
        <Constraint later: x[t] − x[t−1] ≤ 5 ∀ t: 2 of 3 rows>
        >>> x.shift(t, cyclic=True), x.shift(t, initial=7)
        (<Expression x[t−1 mod 3] over t>, <Expression x[t−1] + [t∈{8}]·7 over t>)
        """
        axis = _own(self, index, "shift")
        if not is_whole_number(steps):
            raise ModelError(
                f"{self} is shifted by {quoted(steps)}; expected a whole number of labels"
            )
        if not steps:
            return self
        steps = int(steps)
        count = len(axis)
        shown = f"{axis.symbol}{'−' if steps > 0 else '+'}{abs(steps)}"
        if cyclic:
            if initial is not None:
                raise ModelError(
                    f"{self} is shifted in a cycle, in which no initial value has a place"
                )
            every = np.arange(count)
            matrix = matrix_of(every, (every - steps) % max(count, 1), (count, count))
            return Along(self, axis, matrix, axis, f"{shown} mod {count}")
        steps = max(-count, min(steps, count))  # further away there is nothing, either
        to = np.arange(max(0, steps), max(count + min(0, steps), 0))
        shifted = Along(self, axis, matrix_of(to, to - steps, (count, count)), axis, shown)
        if initial is None:
            return shifted
        outside = np.setdiff1d(np.arange(count), to)
        return shifted + Marker(axis, outside) * as_expression(initial, self)

    def cumsum(self, index: Index) -> Expression:
        """Return the sum of the expression up to each label of an index.

        Rows with it have as many entries as labels come before; over long indices declare a running
        total ``y == y.shift(t) + x`` instead.

        Parameters
        ----------
        index : Index

        Returns
        -------
        Expression

        Raises
        ------
        ModelError
            For an index that does not occur.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> t = Index("t", [8, 9, 10], "hour")
        >>> x = Model("m").variable("x", t)
        >>> x.cumsum(t) <= [1, 2, 4]
        <Relation ∑_t'≤t x[t] ≤ [3 numbers over t] ∀ t>
        """
        axis = _own(self, index, "cumsum")
        return Along(
            self,
            axis,
            matrix_of(*np.tril_indices(len(axis)), (len(axis), len(axis))),
            axis,
            f"{axis.symbol}'≤{axis.symbol}",
            True,
        )

    def groupby(self, owner: Any, name: str | Index = "") -> GroupedExpression:
        """Group the labels of one index, for ``.sum()`` and ``.mean()`` over each group.

        Parameters
        ----------
        owner : Series, mapping or array_like
            The group of each label of one index.
        name : str or Index
            Symbol of the index of the groups, which come in the order of their first label; or
            their index itself. Without it, that of a Series, or else "group".

        Returns
        -------
        GroupedExpression

        Raises
        ------
        ModelError
            For an owner that is not over one index, or a name that is no text.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n = Index("n", ["ann", "bob", "cat"], "user")
        >>> x = Model("m").variable("x", n)
        >>> x.groupby({"ann": "ml", "bob": "web", "cat": "ml"}, "team").sum() <= {"web": 2, "ml": 3}
        <Relation ∑_n∈team x[n] ≤ [2 numbers over team] ∀ team>
        >>> x.groupby(["ml", "web", "ml"]).mean()
        <Expression (∑_n∈group x[n])/[2 numbers over group] over group>
        """
        return GroupedExpression(self, owner, name)

    def between(self, low: Any, high: Any) -> Range:
        """Return ``low <= expression <= high``: one row with both bounds for each element.

        Parameters
        ----------
        low, high : float, parameter, array_like, Series, DataFrame, mapping or None
            The ends: numbers, an expression of parameters, or one number for each combination of
            the labels of the expression's indices (labels are put in order). None and infinities
            are no end.

        Returns
        -------
        Range

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> band = model.constraint("band", model.variable("x", n).between(1, {"bob": 3, "ann": 2}))
        >>> model.compile().row_upper.tolist()
        [2.0, 3.0]
        """
        return Range(self, low, high)

    def __le__(self, other: Any) -> Relation:
        return Relation(self, "<=", as_expression(other, self, np.inf))

    def __ge__(self, other: Any) -> Relation:
        if isinstance(other, Abs) and other.degree:
            return other <= self
        return Relation(self, ">=", as_expression(other, self, -np.inf))

    def __eq__(self, other: Any) -> Relation:  # type: ignore[override]
        return Relation(self, "==", as_expression(other, self))

    def __bool__(self) -> NoReturn:
        raise ModelError(
            "an expression has no truth value; write model.constraint(name, left <= right)"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self} is no sequence; write x.sum(n), or for name in n: x[name]")

    def __str__(self) -> str:
        from .render import text

        return text(self)

    def _repr_latex_(self) -> str:
        from .render import latex

        return f"$\\displaystyle {latex(self)}$"

    def _ipython_key_completions_(self) -> list[Any]:
        """Return labels, which IPython completes in brackets."""
        return completions(self.indices)

    def __getitem__(self, key: Any) -> Expression:
        """Return the expression at labels, at a part of them, or over other symbols.

        Brackets hold what those of a :class:`Variable` do: ``x.shift(t)[1:3]``.

        Raises
        ------
        ModelError
            For logarithms, powers and absolute values, inside which labels are selected.
        UnknownNameError
            For labels that there are not.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> t = Index("t", [8, 9, 10], "hour")
        >>> x = Model("m").variable("x", t)
        >>> x.shift(t)[1:3]
        <Expression (x[t−1])[t∈{9,10}] over t>
        >>> (2 * x + 1)[9]
        <Expression ∑_t (2·x[t] + 1)[t∈{9}]>
        """
        places, free, parts = places_in(key, self.indices, getattr(self, "name", "") or str(self))
        selected: Expression = self
        new_indices = iter(free)
        for index, place in zip(self.indices, places, strict=True):
            if place is not None:
                selected = _at(selected, index, place)
                continue
            new_index = next(new_indices)
            if new_index.symbol != index.symbol:
                every = np.arange(len(index))
                matrix = matrix_of(every, every, (len(index), len(index)))
                selected = Along(selected, index, matrix, new_index, new_index.symbol)
        return _parts_of(selected, parts)


class Constant(Expression):
    """A number."""

    def __init__(self, value: float) -> None:
        try:
            self.value = number(value)
        except NumberError as error:
            raise ModelError(f"a coefficient is no number of a formula: {error}") from None
        if not np.isfinite(self.value):
            raise ModelError(f"a coefficient is {self.value}; expected a finite number")


class Add(Expression):
    """A sum of signed expressions: ``parts`` as they were added, :meth:`addends` without sums.

    ``total = total + x[k]`` in a loop makes sums of sums of sums. Walks over a formula ask for the
    addends, and so does pickle: the depth of a formula does not grow with the number of its terms.
    """

    def __init__(self, *parts: tuple[int, Expression]) -> None:
        self.parts = parts
        _refuse_pairs_of_groups([addend.indices for _, addend in parts])
        self.indices = union(*(addend.indices for _, addend in parts))
        self.degree = max(addend.degree for _, addend in parts)

    def addends(self) -> list[tuple[int, Expression]]:
        """Return the sign and the expression of each term, in order; none of them is a sum itself.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> x, y, z = (model.variable(name) for name in "xyz")
        >>> [(sign, str(part)) for sign, part in (x - (y - z)).addends()]
        [(1, 'x'), (-1, 'y'), (1, 'z')]
        """
        flat: list[tuple[int, Expression]] = []
        stack: list[tuple[int, Expression]] = [(1, self)]
        while stack:
            sign, node = stack.pop()
            if isinstance(node, Add):
                stack += (
                    (sign * inner_sign, addend) for inner_sign, addend in reversed(node.parts)
                )
            else:
                flat.append((sign, node))
        return flat

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "parts": tuple(self.addends())}


def _refuse_pairs_of_groups(sides: list[Indices]) -> None:
    """Raise for groups side by side, for each pair of them, that have labels in common."""
    groups = [[index for index in indices if "_of_groups" in index.__dict__] for indices in sides]
    if sum(map(bool, groups)) < 2:
        return
    for first, second in pairwise(filter(None, groups)):
        for a, b in product(first, second):
            if a.symbol != b.symbol and not a.labels.intersection(b.labels).empty:
                raise ModelError(
                    f"groups by {a.symbol!r} and by {b.symbol!r} stand side by side, for each pair of "
                    "them, though they have labels in common; give both one index: v = "
                    "fairlp.Index('v', labels), x.groupby(owner, v).sum()"
                )


class Product(Expression):
    """``left · right``, of which at most one has variables."""

    def __init__(self, left: Expression, right: Expression) -> None:
        if left.degree and right.degree:
            raise ModelError(
                f"not linear: ({left}) times ({right}) multiplies variables with variables; squares "
                "e**2 may stand in an objective, the product of binaries y and z is w with w <= y, "
                f"w <= z and w >= y + z - 1, and {_SQUARES}"
            )
        self.left = left
        self.right = right
        self.indices = union(left.indices, right.indices)
        self.degree = left.degree + right.degree


class Quotient(Expression):
    """``left / right`` where the denominator has no variables and no zero."""

    def __init__(self, left: Expression, right: Expression) -> None:
        if right.degree:
            raise ModelError(f"not linear: ({left}) is divided by ({right}), which has variables")
        if isinstance(right, (Constant, Data)):
            _require_no_zero(left, right)
        self.left = left
        self.right = right
        self.indices = union(left.indices, right.indices)
        self.degree = left.degree


def _require_no_zero(left: Expression, right: Constant | Data) -> None:
    """Raise for a zero among the numbers that an expression is divided by."""
    values = np.asarray(right.value if isinstance(right, Constant) else right.values)
    for place in np.argwhere(values == 0)[:1].tolist():
        raise ModelError(f"division by zero: ({left}) / 0{located(right.indices, place)}")


class SumOver(Expression):
    """``Σ body`` over some of its indices."""

    def __init__(self, body: Expression, over: Indices) -> None:
        summed = symbols_of(over)
        self.body, self.over = body, tuple(_own(body, index, "sum") for index in union(over))
        self.indices = tuple(index for index in body.indices if index.symbol not in summed)
        self.degree = body.degree


def _own(node: Expression, index: Index, operation: str) -> Index:
    """Return the expression's index with the symbol of ``index``: itself, or a selected part."""
    axis = next(
        (
            candidate
            for candidate in node.indices
            if isinstance(index, Index) and candidate.symbol == index.symbol
        ),
        None,
    )
    if axis is None:
        raise ModelError(
            f"{operation} of {node} along {quoted(index)}: expected one of its indices, "
            f"{', '.join(symbols_of(node.indices)) or 'and it has none'}"
        )
    if axis is not index:
        is_part = axis.whole is not None and axis.whole.labels.equals(index.labels)
        if not is_part:
            union((axis, index))  # raises where their labels differ
    return axis


def _inner(left: Expression, right: Expression) -> Expression:
    """Return the sum of a product over the indices that both have."""
    symbols = symbols_of(right.indices)
    shared = tuple(index for index in left.indices if index.symbol in symbols)
    if not shared:
        raise ModelError(
            f"({left}) @ ({right}) have no index in common to sum over; write * for the product"
        )
    return SumOver(Product(left, right), shared)


def matrix_of(
    rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], values: Any = 1.0
) -> csr_array[Any]:
    """Return a sparse matrix of entries."""
    from scipy.sparse import csr_array

    return csr_array(
        (np.broadcast_to(np.asarray(values, dtype=float), len(rows)), (rows, columns)), shape=shape
    )


class Along(Expression):
    """A linear map along one index: element j is ``Σ_i matrix[j, i] · body[i]``.

    Shifts, selections and sums of groups are such maps.

    Attributes
    ----------
    body : Expression
    index : Index
        The index of the body that the matrix is applied along.
    matrix : csr_array, shape (labels of to, labels of index)
    to : Index
        What stands in its place.
    shown : str
        How it prints: ``t−1`` in the place of t, or below a sum.
    summed : bool
        Whether it prints as a sum.
    """

    _names = frozenset({"body", "index", "matrix", "to", "shown", "summed", "indices", "degree"})

    def __init__(
        self,
        body: Expression,
        index: Index,
        matrix: csr_array[Any],
        to: Index,
        shown: str,
        summed: bool = False,
    ) -> None:
        if body.degree > 1:
            raise ModelError(
                f"{body} is not linear; shift, add, group and select inside a logarithm, power or absolute "
                "value"
            )
        self.body = body
        self.index = index
        self.matrix = matrix
        self.to = to
        self.shown = shown
        self.summed = summed
        self.degree = body.degree
        if to.symbol != index.symbol and to.symbol in symbols_of(body.indices):
            raise ModelError(
                f"groups are called {to.symbol!r}, as an index of {body} is; give another name"
            )
        self.indices = tuple(to if axis is index else axis for axis in body.indices)


class GroupedExpression(Immutable):
    """An expression whose labels along one index are grouped; made by :meth:`Expression.groupby`.

    Parameters
    ----------
    body : Expression
    owner : Series, mapping or array_like
        The group of each label of one index.
    name : str or Index
        Symbol of the groups, or their index.
    """

    _names = frozenset({"body", "index", "matrix", "to", "shown"})

    def __init__(self, body: Expression, owner: Any, name: str | Index) -> None:
        subject = f"the owner of groups of {body}"
        axes, owners = laid_out(owner, body.indices, subject, ModelError)
        if len(axes) != 1:
            raise ModelError(
                f"{subject} is expected to be over one index: write x.groupby(owner) with the group "
                "of each label"
            )
        free = symbols_of(body.indices)
        is_given = not isinstance(name, str) or name != ""
        carried = getattr(owner, "name", None)
        symbol = name if is_given else free_name("group", free) if carried is None else carried
        if not isinstance(symbol, (str, Index)):
            raise ModelError(f"groups of {body} cannot be called {quoted(symbol)}; expected text")
        groups = pd.Index(np.asarray(owners), tupleize_cols=False)
        to = symbol
        if not isinstance(to, Index):
            to = Index(to, groups.dropna().unique())
            to.__dict__["_of_groups"] = True
        codes = to.labels.get_indexer(groups)
        for k in np.flatnonzero(codes < 0)[:1].tolist():
            raise ModelError(
                f"{subject}{located(axes, [k])} is {quoted(groups[k])}, which is no {to.name}"
            )
        self.body = body
        self.index = axes[0]
        self.to = to
        is_named = isinstance(carried, str) and carried != to.symbol
        membership = f":{carried}={to.symbol}" if is_named else f"∈{to.symbol}"
        self.shown = f"{self.index.symbol}{membership}"
        self.matrix = matrix_of(codes, np.arange(len(codes)), (len(to), len(codes)))

    def sum(self) -> Expression:
        """Return the sum over each group.

        Returns
        -------
        Expression
            Over the groups, in the place of the index.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> x = Model("m").variable("x", Index("n", ["ann", "bob", "cat"]))
        >>> x.groupby(["ml", "web", "ml"], "team").sum()
        <Expression ∑_n∈team x[n] over team>
        """
        return Along(
            self.body,
            self.index,
            self.matrix,
            self.to,
            self.shown,
            True,
        )

    def mean(self) -> Expression:
        """Return the mean over each group.

        Returns
        -------
        Expression
            Over the groups, in the place of the index; 0 for a group without labels.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> x = Model("m").variable("x", Index("n", ["ann", "bob", "cat"]))
        >>> x.groupby(["ml", "web", "ml"], "team").mean()
        <Expression (∑_n∈team x[n])/[2 numbers over team] over team>
        """
        sizes = np.maximum(self.matrix.sum(axis=1), 1.0)
        return self.sum() / Data("", (self.to,), sizes)


class OfArgument(Expression):
    """What a logarithm, power or absolute value is: a function of a linear expression."""

    _refused: str

    def __init__(self, argument: Expression) -> None:
        if argument.degree > 1:
            raise ModelError(f"{self._refused} is not supported")
        self.argument = argument
        self.indices = argument.indices
        self.degree = 2 * argument.degree


class Abs(OfArgument):
    """An absolute value, for ``abs(e) <= numbers`` and objectives in which it is convex.

    See :meth:`Model.minimize`.
    """

    _refused = "an absolute value of a logarithm, power or absolute value"

    def __le__(self, other: Any) -> Relation:
        bound = as_expression(other, self, np.inf)
        if self.degree and not bound.degree:
            return Range(self.argument, -bound, bound)
        return super().__le__(bound)


class Log(OfArgument):
    """Natural logarithm of a linear expression, for terms of objectives, or of numbers."""

    _refused = "a logarithm of a logarithm or of a power"


def log(expression: Expression) -> Log:
    """Return the natural logarithm of a linear expression, for objectives.

    An example is ``(w * log(x.sum(i))).sum(n)``.

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


class Power(OfArgument):
    """A power below 1 or square of a linear expression, for terms of objectives; or of numbers."""

    _names = Expression._names | {"exponent"}
    _refused = "a power of a logarithm or of a power"

    def __init__(self, argument: Expression, exponent: float) -> None:
        super().__init__(argument)
        try:
            value = number(exponent) if is_number(exponent) else math.nan
        except NumberError:
            value = math.nan
        if not (-math.inf < value < 1 or value == 2) or value == 0:
            raise ModelError(
                f"the exponent of a power is {quoted(exponent)}; expected a number below 1, not 0, or 2"
            )
        self.exponent = value


def power(expression: Expression, exponent: float) -> Power:
    """Return a linear expression to a power, for objectives.

    An example is ``(2 * power(x.sum(i), 0.5)).sum(n)``.

    Below 1 it is concave, times a weight of the exponent's sign: ``w * power(x, p) / p`` with w ≥
    0, to be maximised. A square (``e**2``, ``e * e``) is convex, to be minimised.

    Parameters
    ----------
    expression : Expression
        Linear.
    exponent : float
        Below 1 and not 0, or 2.

    Returns
    -------
    Power

    Raises
    ------
    ModelError
        For another exponent, or what is no linear expression.
    """
    return Power(as_expression(expression), exponent)


class Minimum(Expression):
    """The least of several expressions at each element, for levels of a leximin; or of numbers."""

    def __init__(self, parts: tuple[Expression, ...]) -> None:
        if len(parts) < 2:
            raise ModelError(
                f"the least of {len(parts)} expressions; expected two or more: minimum(x, 2 * y + 1)"
            )
        self.parts = parts
        _refuse_pairs_of_groups([part.indices for part in parts])
        self.indices = union(*(part.indices for part in parts))
        self.degree = 2 * min(1, max(part.degree for part in parts))


def minimum(*expressions: Any) -> Minimum:
    """Return the least of several expressions, element by element, for levels of a leximin.

    An example is ``model.leximin(minimum(2 * x, x + 1))``.

    Parameters
    ----------
    *expressions : Expression, float or labelled data
        Linear or concave; one of them at least has variables or parameters.

    Returns
    -------
    Minimum

    Raises
    ------
    ModelError
        For fewer than two, or where none is an expression.
    """
    formula = next((part for part in expressions if isinstance(part, Expression)), None)
    return Minimum(tuple(as_expression(part, formula) for part in expressions))


class Relation(Immutable):
    """A constraint without a name: ``left <= right``, ``left >= right`` or ``left == right``."""

    _names = frozenset({"left", "comparison", "right", "indices"})

    def __init__(self, left: Expression, comparison: Comparison, right: Expression) -> None:
        if max(left.degree, right.degree) > 1:
            raise ModelError(
                f"({left}) {comparison} ({right}) is not linear: logarithms, powers and squares belong in the "
                "objective or in levels (model.leximin), and an absolute value stands alone, below numbers "
                f"(abs(e) <= b; >= and == need integers); {_SQUARES}"
            )
        self.left = left
        self.comparison = comparison
        self.right = right
        _refuse_pairs_of_groups([left.indices, right.indices])
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
            "a relation has no truth value; for low <= x <= high write x.between(low, high)"
        )

    #: Arrays and Series on the left hand over to us.
    __array_ufunc__ = None
    __pandas_priority__ = 5000

    def __str__(self) -> str:
        from .render import relation

        return relation(self, False)

    def _repr_latex_(self) -> str:
        from .render import relation

        return f"$\\displaystyle {relation(self, True)}$"


class Range(Relation):
    """``low <= expression <= high``, by :meth:`Expression.between`; a missing end is None."""

    _names = Relation._names | {"low", "high"}

    def __init__(self, expression: Expression, low: Any, high: Any) -> None:
        super().__init__(expression, "between", Constant(0.0))
        self.low, self.high = _end(low, "lower", expression), _end(high, "upper", expression)
        if self.low is None and self.high is None:
            raise ModelError(f"the range of {expression} has neither a lower nor an upper end")
        self.__dict__["indices"] = union(
            expression.indices, *(end.indices for end in self.ends if end is not None)
        )

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


class Conditional(Relation):
    """``condition = active ⇒ relation``, one-sided, written with the least M of the bounds.

    Attributes
    ----------
    relation : Relation
        ``<=`` or ``>=``.
    condition : Expression
        0 or 1 at every solution.
    active : int
        The value at which the relation holds.
    big_m : Expression or None
        By how much the relation can be missed at most, beside what the bounds of the variables say.
    """

    _names = Relation._names | {"relation", "condition", "active", "big_m"}

    def __init__(
        self, relation: Relation, condition: Expression, active: int, big_m: Expression | None
    ) -> None:
        super().__init__(relation.left, relation.comparison, relation.right)
        self.relation = relation
        self.condition = condition
        self.active = active
        self.big_m = big_m
        self.__dict__["indices"] = union(relation.indices, condition.indices)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it relates."""
        return *super().parts, self.condition, *(() if self.big_m is None else (self.big_m,))


class Data(Expression):
    """Numbers that stand in a formula as they are, an array or a ``scipy.sparse.coo_array``.

    Numbers without a name are printed by their count. Ends of a range may be infinite.
    """

    _names = frozenset({"name", "indices", "stored"})

    def __init__(self, name: str, indices: Indices, stored: Any) -> None:
        (stored if isinstance(stored, np.ndarray) else stored.data).setflags(write=False)
        self.name = name
        self.indices = indices
        self.stored = stored

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only; one array axis for each index."""
        return dense(self.stored, "the sparse array")

    @property
    def count(self) -> int:
        """How many numbers there are; of a sparse array, those that are kept."""
        return int(self.stored.size)


class Marker(Data):
    """1 at some labels of an index, 0 at the others: ``[t∈{8}]``."""

    _names = Data._names | {"shown"}

    def __init__(self, index: Index, positions: np.ndarray) -> None:
        flags = np.zeros(len(index))
        flags[positions] = 1.0
        super().__init__("", (index,), flags)
        self.shown = f"[{member(index.part(positions))}]"


def dense(stored: Any, subject: str) -> np.ndarray:
    """Return numbers as an array, read-only; raise for a sparse array that would be too large."""
    if isinstance(stored, np.ndarray):
        return stored
    size = math.prod(stored.shape)
    if size > _MOST_DENSE:
        raise ModelError(
            f"{subject} is sparse, and all its {size:,} numbers would be needed; multiply it with a "
            "variable before anything else (a @ x, (a * x).sum(n)), or give the product another "
            "parameter"
        )
    dense: np.ndarray = stored.toarray()
    dense.setflags(write=False)
    return dense


def _end(value: Any, name: str, expression: Expression) -> Expression | None:
    """Return an end of a range as an expression, None where there is none."""
    if isinstance(value, Expression):
        if value.degree:
            raise ModelError(
                f"the {name} end ({value}) of the range of {expression} has variables; write two "
                "constraints"
            )
        return value
    subject = f"the {name} end of the range of {expression}"
    none = -np.inf if name == "lower" else np.inf
    axes, array = _numbers(none if value is None else value, expression.indices, subject)
    refused = np.isnan(array) | (array == -none)
    refuse(refused, array, axes, subject, "a number, or None for no end", ModelError)
    if (array == none).all() and array.size:
        return None
    return Constant(array.item()) if array.ndim == 0 else Data(name, axes, array)


def _numbers(value: Any, beside: Indices, subject: str) -> tuple[Indices, np.ndarray]:
    """Return the indices among some that the numbers run over, and the numbers as an array."""
    axes, entries = laid_out(value, beside, subject, ModelError)
    array = numbers_in(entries, axes, subject, ModelError)
    turned = [axes.index(index) for index in beside if index in axes]
    return tuple(axes[k] for k in turned), array.transpose(turned)


def _other_indices(beside: Expression) -> Indices:
    """Return the indices of a formula's model that the formula itself does not run over."""
    symbols = symbols_of(beside.indices)
    model = next((leaf.model for leaf in named(beside) if leaf.model is not None), None)
    indices: Indices = getattr(model, "indices", ())
    return tuple(index for index in indices if index.symbol not in symbols)


def _numbers_beside(value: Any, beside: Expression, subject: str) -> tuple[Indices, np.ndarray]:
    """Return the indices that numbers beside a formula run over, and the numbers as an array.

    They are the formula's own. Further indices of its model are told by labels; beside a formula
    without any index, also by lengths.
    """
    try:
        return _numbers(value, beside.indices, subject)
    except ModelError:
        others = _other_indices(beside)
        if not others or (beside.indices and not says_its_indices(value)):
            raise
        if not beside.indices:
            return _numbers(value, others, subject)
        with suppress(ModelError):
            return _numbers(value, (*beside.indices, *others), subject)
        raise


def as_expression(
    value: Any, beside: Expression | None = None, unbounded: float = math.nan
) -> Expression:
    """Return a number as an expression; arrays and labelled data take the indices of ``beside``.

    They may hold the infinity ``unbounded``: of a side of a relation that does not bind.
    """
    if isinstance(value, Expression):
        return value
    is_endless = isinstance(value, float) and value == unbounded
    if is_number(value) and not is_endless:
        return Constant(value)
    if is_endless or isinstance(value, (np.ndarray, list, tuple)) or carries_labels(value):
        kind = type(value).__name__
        if beside is None:
            raise ModelError(
                f"a formula is expected, not a {kind}; give numbers a name with "
                "model.parameter(name, indices, values)"
            )
        subject = f"the {kind} beside {beside}"
        where: Any = None
        try:
            axes, array = _numbers_beside(value, beside, subject)
        except ModelError:
            axes = beside.indices
            where = getattr(beside, "where", None)
            is_small = math.prod(shape_of(axes)) <= _MOST_DENSE
            listed = where and is_small and listed_numbers(value, axes, subject)
            if not listed or {*listed.positions} != {*where.positions} or where.indices != axes:
                raise
            array = np.zeros(shape_of(axes))
            array.flat[listed.positions] = numbers_in(listed.values, (), subject, ModelError)
        data = _data(value, axes, array, subject, unbounded)
        vars(data)["where"] = where  # numbers of what exists are for rows of what exists
        return data
    raise ModelError(
        f"{quoted(value)} ({type(value).__name__}) cannot stand in a formula; expected a number, "
        "labelled data or an "
        "expression (scipy.sparse in A @ x, or as model.parameter(name, indices, matrix))"
    )


def _data(
    value: Any, axes: Indices, array: np.ndarray, subject: str, unbounded: float = math.nan
) -> Expression:
    """Return numbers as an expression, checked."""
    refused = ~(np.isfinite(array) | (array == unbounded))
    refuse(refused, array, axes, subject, "a finite number", ModelError)
    name = getattr(value, "name", None)
    if not axes and array != unbounded:
        return Constant(array.item())
    unnamed = "" if axes else f"{array}"
    return Data(name if isinstance(name, str) else unnamed, axes, array)


def _factor(value: Any, beside: Expression, is_left: bool) -> Expression:
    """Return what stands beside a formula in ``@``: a formula, numbers, or a matrix.

    The columns of a matrix on the left run over an index of the formula, and its rows over another
    index of the model, told by labels or, of an array, by their lengths.
    """
    is_sparse = hasattr(value, "tocoo") and not carries_labels(value)
    if not is_sparse:
        try:
            return as_expression(value, beside)
        except ModelError:
            if np.ndim(value) != 2 or is_number(value):
                raise
    others = _other_indices(beside)
    candidates = (*others, *beside.indices) if is_left else (*beside.indices, *others)
    subject = f"the {type(value).__name__} beside {beside}"
    try:
        axes = placed(value, candidates, subject, ModelError, beside.indices)
    except ModelError as error:
        raise ModelError(
            f"{error}; the rows of a matrix run over another index of the model (or an alias of the same: m = "
            f"n.alias('m')); of a quadratic form, {_SQUARES}"
        ) from None
    if not is_sparse:
        return _data(value, *_numbers(value, axes, subject), subject)
    return Data("", axes, parameter_values(value, axes, subject))


def selection(index: Index, positions: np.ndarray) -> tuple[Index, csr_array[Any], Index]:
    """Return an index, the matrix that takes some of its labels, and the index of these."""
    matrix = matrix_of(np.arange(len(positions)), positions, (len(positions), len(index)))
    return index, matrix, index.part(positions)


def _parts_of(node: Expression, parts: Parts) -> Expression:
    """Return an expression with only some labels of its indices."""
    selected = node
    for part in parts:
        index, matrix, part_index = selection(*part)
        selected = Along(selected, index, matrix, part_index, member(part_index))
    return selected


def _at(node: Expression, index: Index, place: int) -> SumOver:
    """Return an expression at one label of an index: the sum over this label alone."""
    position = np.array([place])
    return SumOver(_parts_of(node, [(index, position)]), (index.part(position),))


def parameter_values(values: Any, indices: Indices, subject: str) -> Any:
    """Return a parameter's numbers, one for each combination of labels, finite and read-only.

    Sparse ones are in COO form.
    """
    if hasattr(values, "tocoo") and not carries_labels(values):
        return _sparse_values(values, indices, subject)
    ordered = aligned(values, indices, subject, ModelError)
    array = numbers_in(ordered, indices, subject, ModelError)
    require_shape(array.shape, indices, subject, ModelError)
    refuse(~np.isfinite(array), array, indices, subject, "a finite number", ModelError)
    array.setflags(write=False)
    return array


def _sparse_values(values: Any, indices: Indices, subject: str) -> Any:
    """Return a copy of a sparse array as a COO array without repeated places and zeros."""
    from scipy.sparse import coo_array

    require_shape(values.shape, indices, subject, ModelError)
    array = coo_array(values, copy=True)
    array.data = numbers_in(array.data, (), subject, ModelError)
    array.sum_duplicates()
    array.eliminate_zeros()
    for k in np.flatnonzero(~np.isfinite(array.data))[:1].tolist():
        place = located(indices, [int(places[k]) for places in array.coords])
        raise ModelError(f"{subject}{place} is {array.data[k]:g}; expected a finite number")
    array.data.setflags(write=False)
    return array


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions that a node is made of."""
    match node:
        case Add():
            return tuple(addend for _, addend in node.addends())
        case Product() | Quotient():
            return node.left, node.right
        case SumOver() | Along():
            return (node.body,)
        case OfArgument():
            return (node.argument,)
        case Minimum():
            return node.parts
    return ()


def named(*expressions: Expression) -> Iterator[Any]:
    """Yield every parameter and variable of expressions, as it was declared; one may come again."""
    stack = list(expressions)
    while stack:
        node = stack.pop()
        inner = children(node)
        stack += inner
        if not inner and "base" in vars(node):
            yield vars(node)["base"]
