"""Parameters, variables and subsets over indices: numbers, bounds, elements; parts by label."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import zip_longest
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ..programs.program import Block
from ..programs.solution import Solution
from .brackets import places_in
from .combinations import chosen, found_in, listed_numbers, lists_labels, spread
from .expressions import (
    Along,
    Expression,
    dense,
    parameter_values,
    selection,
)
from .labels import (
    Immutable,
    Index,
    Indices,
    aligned,
    as_indices,
    axes_count,
    axes_of,
    axes_text,
    grid_over,
    laid_out,
    located,
    member,
    numbers_in,
    require_shape,
    shape_of,
    steps_of,
    symbols_of,
)
from .reals import meeting

if TYPE_CHECKING:
    from .model import Declarations

# Some combinations of labels, and masks.


class Subset(Immutable):
    """Some combinations of labels, ``E = {(n,i): n may run on i}``, by :meth:`Model.subset`.

    Attributes
    ----------
    name : str
        Its name in formulas; one is made up where it is empty.
    indices : tuple of Index
    positions : ndarray of int
        The elements, in C order over the indices.
    doc : str
        Which these are, in words; without words they are enumerated.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n, i = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2"], "server")
    >>> model = Model("m", indices=(n, i))
    >>> near = model.subset("E", (n, i), [[True, False], [True, True]], "n is near i")
    >>> near
    <Subset E of n,i: 3 of 4>
    >>> x = model.variable("x", n, i, where=near)
    >>> model.constraint("cap", x <= 1, where=near).size
    3
    """

    _names = frozenset({"name", "indices", "doc"})

    def __init__(
        self, name: str, indices: Indices, positions: np.ndarray | None, doc: str = ""
    ) -> None:
        self.name = name
        self.indices = indices
        self.doc = doc
        if positions is not None:
            positions.setflags(write=False)
        self.__dict__["_positions"] = positions

    @property
    def positions(self) -> np.ndarray:
        """The elements, in C order over the indices."""
        positions: np.ndarray | None = self.__dict__["_positions"]
        return np.arange(self.full_size) if positions is None else positions

    @property
    def full_size(self) -> int:
        """Number of all combinations."""
        return math.prod(shape_of(self.indices))

    @property
    def _is_full(self) -> bool:
        """Whether these are all combinations."""
        positions = self.__dict__["_positions"]
        return positions is None or len(positions) == self.full_size

    @property
    def _source(self) -> Subset:
        """The subset that this one was spread from over more indices, else itself."""
        source: Subset = self.__dict__.get("_followed", self)
        return source

    def _over(self, indices: Indices) -> Subset:
        """Return the same elements over these indices, which may be more, or in another order.

        It is the subset itself over its own indices, else one that was spread from it.
        """
        if all(own is other for own, other in zip_longest(self.indices, indices)):
            return self
        if symbols_of(self.indices) == symbols_of(indices):  # of another model
            return Subset(self.name, indices, self.positions.copy(), self.doc)
        positions = None if self._is_full else spread(self.positions, self.indices, indices)
        subset = Subset("", indices, positions)
        if set(self._source.indices) <= set(indices):
            subset.__dict__["_followed"] = self._source
        return subset

    def __len__(self) -> int:
        positions = self.__dict__["_positions"]
        return self.full_size if positions is None else len(positions)

    def elements(self, count: int) -> list[tuple[Any, ...]]:
        """Return the labels of the first elements.

        Parameters
        ----------
        count : int

        Returns
        -------
        list of tuple

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n, i = Index("n", ["ann", "bob"]), Index("i", ["s1", "s2"])
        >>> Model("m").subset("E", (n, i), [[True, False], [True, True]]).elements(2)
        [('ann', 's1'), ('bob', 's1')]
        """
        if not self.indices:  # one row, or none
            return [()] * len(self.positions[:count])
        places = np.unravel_index(self.positions[:count], shape_of(self.indices))
        return [
            tuple(index[int(k)] for index, k in zip(self.indices, element, strict=True))
            for element in zip(*places, strict=True)
        ]

    def __repr__(self) -> str:
        over = ",".join(symbols_of(self.indices))
        return (
            f"<Subset {self.name or 'without a name'} of {over}: {len(self)} of {self.full_size}>"
        )


class Masked:
    """What exists for some combinations of labels only: a variable, or rows."""

    @property
    def _mask(self) -> Subset:
        """Elements that exist, also where they are all."""
        mask: Subset = getattr(self, "base", self).__dict__["_exists"]
        return mask

    @property
    def where(self) -> Subset | None:
        """Elements that exist; None for all."""
        mask = self._mask
        return None if mask._is_full else mask

    @property
    def positions(self) -> np.ndarray | None:
        """Elements that exist, in C order over the indices; None for all."""
        where = self.where
        return None if where is None else where.positions


def subset_of(where: Any, over: Indices, subject: str) -> Subset:
    """Return the elements where a block exists by a mask, a list, a Subset or None, which is all.

    All may be over some of the indices: a Series over hours, for rows over users and hours.
    """
    if where is None or where is True:
        return Subset("", over, None)
    argument = f"'where' of {subject}"
    if isinstance(where, Subset):
        own = {index.symbol: index for index in over}
        for index in where.indices:
            if index.symbol not in own or not index.labels.equals(own[index.symbol].labels):
                raise ModelError(f"{argument} is over {index!r}, which is no index of {subject}")
        return where._over(over)
    axes = over
    is_mask = isinstance(where, np.ndarray) and where.dtype == bool
    if not is_mask and lists_labels(where):
        axes, positions = chosen(where, over, argument)
    else:
        if 0 < axes_count(where) < len(over):
            # a mask over some of the indices holds for each label of the others
            axes, where = laid_out(where, over, argument, ModelError)
        else:
            where = aligned(where, over, argument, ModelError)
        mask = np.zeros(0, dtype=object)
        with suppress(ValueError):  # lists of different lengths
            mask = np.asarray(where)
        if mask.dtype != bool or mask.shape != shape_of(axes):
            raise ModelError(
                f"{argument} is {mask.dtype} of shape {mask.shape}, expected bool of shape {shape_of(axes)} "
                f"({axes_text(axes)}), or a list of the combinations that exist"
            )
        positions = np.flatnonzero(mask)
    is_all = len(positions) == math.prod(shape_of(axes))
    return Subset("", over, None if is_all else spread(positions, axes, over))


def indices_before(subject: str, over: Any, data: Any) -> Indices:
    """Return the indices of numbers or of a mask; several go in a tuple, and the data follow."""
    indices = as_indices(over, f"{subject} runs over")
    if isinstance(data, Index) and data not in indices:
        symbols = ", ".join(symbols_of((*indices, data)))
        raise ModelError(
            f"{subject} has the index {data.symbol!r} where its data are expected; several indices "
            f"go in a tuple: (name, ({symbols}), data)"
        )
    return indices


# Numbers of a parameter, checked.


def declared_numbers(values: Any, indices: Indices, name: str, default: float | None) -> Any:
    """Return the numbers that a parameter is declared with, or set to; see `parameter_values`.

    With a default, labelled data need not have all combinations.
    """
    if values is None and default is None and indices:
        raise ModelError(
            f"parameter {name!r} has no numbers, expected {axes_text(indices)}; hand them over, or "
            "say default=0 for now, and set them later with .set(…)"
        )
    subject = f"parameter {name!r}"
    try:
        filled = values if default is None else _filled(values, indices, subject, default)
        return parameter_values(filled, indices, subject)
    except ModelError as error:
        if default is None and _has_gaps(values, indices):
            raise ModelError(f"{error}; or say with default=0 what holds elsewhere") from None
        raise


def _has_gaps(values: Any, indices: Indices) -> bool:
    """Whether labelled data have some of the combinations, and are right but for the others."""
    try:
        listed = listed_numbers(values, indices, "")
    except ModelError:
        return False
    return listed is not None and 0 < len(listed.positions) < math.prod(shape_of(indices))


def _filled(values: Any, indices: Indices, subject: str, default: float) -> Any:
    """Return numbers with the default where labelled data have none; sparse where that is 0."""
    filling = numbers_in(default, (), f"the default of {subject}", ModelError)
    shape = shape_of(indices)
    if values is None:
        return np.full(shape, filling)
    listed = listed_numbers(values, indices, subject)
    if listed is None:  # arrays have a number for each combination
        return values
    listed_values = numbers_in(listed.values, (), subject, ModelError)
    if filling == 0 and len(shape) > 1:
        from scipy.sparse import coo_array

        coordinates = np.unravel_index(listed.positions, shape)
        return coo_array((listed_values, coordinates), shape=shape)
    numbers_everywhere = np.full(math.prod(shape), filling)
    numbers_everywhere[listed.positions] = listed_values
    return numbers_everywhere.reshape(shape)


def numbers_of_part(part: ParameterPart, values: Any) -> Any:
    """Return all numbers of a parameter, with other ones for a part of it."""
    base = part.base
    if isinstance(part, Parameter):
        return declared_numbers(values, base.indices, base.name, base.default)
    numbers_now = base.values.copy()
    subject = f"parameter {part}"
    numbers_now.reshape(-1)[grid_of(part)] = parameter_values(values, part.indices, subject)
    stored = base.stored
    return parameter_values(
        numbers_now if isinstance(stored, np.ndarray) else type(stored)(numbers_now),
        base.indices,
        subject,
    )


# Bounds and fixed values of a variable, checked.


def bounds(
    name: str,
    lower: Any,
    upper: Any,
    over: Indices,
    positions: np.ndarray | None,
    binary: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the elements of a variable that exist, read-only; None is no bound."""
    low, high = (
        numbers_at(
            f"the {side} of variable {name!r}",
            none if value is None else value,
            over,
            positions,
        )
        for (side, none), value in zip(_NO_BOUND.items(), (lower, upper), strict=True)
    )
    if binary:
        low = np.maximum(low, 0.0)
        high = np.minimum(high, 1.0)
    low = meeting(low, high)
    require_ordered(name, low, high, over, positions)
    low.setflags(write=False)
    high.setflags(write=False)
    return low, high


def require_ordered(
    name: str, low: np.ndarray, high: np.ndarray, over: Indices, positions: np.ndarray | None
) -> None:
    """Raise where no number is between two bounds."""
    for k in np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))[:1].tolist():
        which = _element(name, over, positions, k)
        raise ModelError(
            f"variable {which}: no number is between its bounds, {low[k]:g} and {high[k]:g}"
        )


#: The bound that is none, by what it is called.
_NO_BOUND = {"lower bound": -np.inf, "upper bound": np.inf}


def numbers_at(
    subject: str, value: Any, over: Indices, places: np.ndarray | None, partial: bool = False
) -> np.ndarray:
    """Return a number for each element that exists (``places``; None: all), in C order.

    Labelled numbers are enough for the elements that exist, and where they are ``partial`` NaN
    stands for elements that they do not have.
    """
    shape = shape_of(over)
    size = math.prod(shape)
    is_listed = partial or places is not None
    listed = listed_numbers(value, over, subject) if is_listed else None
    missing = superfluous = np.zeros(0, dtype=np.intp)
    if listed is None or len(listed.positions) == size:
        array = numbers_in(aligned(value, over, subject, ModelError), over, subject, ModelError)
        if array.ndim:
            require_shape(array.shape, over, subject, ModelError)
        flat = np.broadcast_to(array, shape).reshape(-1)
        numbers = flat.copy() if places is None else flat[places]
        unknown = np.flatnonzero(np.isnan(numbers))
        unknown = unknown if places is None else places[unknown]
    else:
        existing = np.arange(size) if places is None else places
        order = np.argsort(listed.positions)
        positions = listed.positions[order]
        exists, ranks = found_in(positions, existing)
        listed_values = numbers_in(listed.values, (), subject, ModelError)[order]
        numbers = np.full(len(existing), np.nan)
        numbers[exists] = listed_values[ranks]
        unknown = positions[np.isnan(listed_values)]
        if partial:
            superfluous = np.setdiff1d(positions, existing)
        else:
            missing = existing[~exists]
    for elements, problem in (
        (missing, "has no number"),
        (superfluous, "is for an element that does not exist"),
        (unknown, "is NaN; expected a number"),
    ):
        for element in elements[:1].tolist():
            raise ModelError(
                f"{subject}{located(over, np.unravel_index(element, shape))} {problem}"
            )
    return numbers


def _element(name: str, over: Indices, positions: np.ndarray | None, k: Any) -> str:
    """Return the name of the k-th element of a variable."""
    return Block(name, axes_of(over), 0, 0, positions).name_of(int(k))


# Parameters, variables, and parts of them by label.


class ParameterPart(Expression):
    """A parameter, or some of its elements by label: what has numbers, which :meth:`set` changes.

    Attributes
    ----------
    base : Parameter
        That of the declaration.
    """

    base: Parameter
    name: str

    @property
    def values(self) -> np.ndarray:
        """The numbers of the part, read-only; one array axis for each index."""
        values: np.ndarray = self.base.values.reshape(-1)[grid_of(self)]
        values.setflags(write=False)
        return values

    def set(self, values: Any) -> None:
        """Set other numbers; at the next solve, only the dependent parts are compiled anew.

        Of elements (``d["ann"].set(3)``) the others stay.

        Parameters
        ----------
        values : array_like, Series, DataFrame or mapping
            As :meth:`Model.parameter` takes them: with labels they are put in order, and all are
            checked.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> d = Model("m").parameter("d", Index("n", ["ann", "bob"]), [1, 2])
        >>> d.set({"bob": 4, "ann": 3})
        >>> d["bob"].set(5)
        >>> d.values.tolist()
        [3.0, 5.0]
        """
        base = self.base
        base.__dict__["_values"] = numbers_of_part(self, values)
        _tell_the_model(base)


class Parameter(ParameterPart):
    """Known numbers over indices, by name; :meth:`set` gives it others.

    :meth:`Model.parameter` declares it. It stands in formulas as any :class:`Expression` does.

    Attributes
    ----------
    name : str
    indices : tuple of Index
    values : ndarray
        Read-only; one axis for each index.
    doc : str
        What the numbers are, with the unit.
    default : float or None
        The number of what labelled data do not have.
    model : Model or None
    base : Parameter
        That of the declaration, where this one is over other symbols.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n, r = Index("n", ["ann", "bob"], "user"), Index("r", ["cpu", "memory"], "resource")
    >>> d = Model("m").parameter("d", (n, r), {"ann": [1, 4], "bob": [3, 1]}, "need of a task")
    >>> d
    <Parameter d[n,r]: 2 users × 2 resources>
    >>> d["ann"]
    <Element d[ann,r] of a parameter: 2 resources>
    >>> d[n.alias("m"), r]
    <Parameter d[m,r]: 2 users × 2 resources>
    """

    _names = frozenset({"name", "indices", "doc", "default", "base", "model"})
    _remedy = "other numbers are given by .set(values)"

    def __init__(
        self,
        name: str,
        indices: Indices,
        values: Any = None,
        doc: str = "",
        *,
        default: float | None = None,
        model: Declarations | None = None,
        base: Parameter | None = None,
    ) -> None:
        if values is None and base is None:
            raise TypeError("a parameter is declared by model.parameter('d', n, [1, 2])")
        self.name = name
        self.indices = indices
        self.doc = doc
        self.model = model
        self.base: Parameter = self if base is None else base
        self.default: float | None = default if base is None else base.default
        if values is not None:
            self.__dict__["_values"] = values

    @property
    def stored(self) -> Any:
        """The numbers as they are kept: an array, or a ``scipy.sparse.coo_array``."""
        return self.base.__dict__["_values"]

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only; one array axis for each index."""
        return dense(self.stored, f"parameter {self.name!r}")

    def __getitem__(self, key: Any) -> ParameterPart:
        """Return the numbers over other symbols (``d[m, r]``) or by label (``d["ann", :]``)."""
        part: ParameterPart = _part(self, key, ParameterElement, ParameterSelection)
        return part


class VariablePart(Expression):
    """A variable, or some of its elements by label: what has bounds, and can be fixed.

    Attributes
    ----------
    base : Variable
        That of the declaration.
    """

    base: Variable

    def _elements(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the positions of the part among the existing elements of the variable.

        And those within the part, in C order; None where all of it exists.
        """
        grid = grid_of(self).reshape(-1)
        existing = self.base.positions
        if existing is None:
            return grid, None
        exists, elements = found_in(existing, grid)
        return elements, np.flatnonzero(exists)

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the existing elements, read-only; of fixed ones, their values."""
        lower: np.ndarray = self.base._bounds_now()[0][self._elements()[0]]
        return lower

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the existing elements, read-only; of fixed ones, their values."""
        upper: np.ndarray = self.base._bounds_now()[1][self._elements()[0]]
        return upper

    def fix(self, values: Any) -> None:
        """Fix the elements at numbers within their bounds; :meth:`unfix` gives the bounds back.

        Parameters
        ----------
        values : float, array_like, Series, DataFrame, mapping or Solution
            As :meth:`Model.variable` takes bounds. Labelled numbers fix the elements that they have,
            and the others stay as they are. Of a Solution, the values that the variable has there
            (put within the bounds, and rounded where the variable is integer).

        Raises
        ------
        ModelError
            For numbers that are missing, or outside the bounds.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> model = Model("m")
        >>> n = Index("n", ["ann", "bob"])
        >>> x = model.variable("x", n, upper=3)
        >>> model.maximize(x.sum())
        >>> x.fix({"bob": 2})
        >>> model.solve().objective
        5.0
        >>> x["ann"].fix(1)
        >>> model.solve().objective
        3.0
        >>> x.unfix()
        >>> model.solve().objective
        6.0
        """
        base = self.base
        elements, places = self._elements()
        low, high = (side[elements] for side in base.__dict__["_bounds"])
        subject = f"the fixed value of variable {base.name!r}"
        if isinstance(values, Solution):
            solved = numbers_at(subject, values.values[base.name], base.indices, base.positions)[
                elements
            ]
            numbers = np.clip(np.round(solved) if base.integer else solved, low, high)
        else:
            numbers = numbers_at(subject, values, self.indices, places, True)
        # NaN, of elements that stay as they are, is on no side
        numbers = -meeting(-meeting(numbers, high), -low)
        for k in np.flatnonzero((numbers < low) | (numbers > high))[:1].tolist():
            raise ModelError(
                f"variable {_element(base.name, base.indices, base.positions, elements[k])} is fixed at "
                f"{numbers[k]:g}, outside its "
                f"bounds {low[k]:g} and {high[k]:g}; give it other bounds first, with "
                ".set(lower=…, upper=…)"
            )
        chosen = ~np.isnan(numbers)
        base._set_fixed(elements[chosen], numbers[chosen])

    def unfix(self) -> None:
        """Give the elements their bounds back; those that are not fixed stay as they are.

        Examples
        --------
        >>> from fairlp import Model
        >>> x = Model("m").variable("x", upper=3)
        >>> x.fix(2)
        >>> x.unfix()
        >>> x.lower.tolist(), x.upper.tolist()
        ([0.0], [3.0])
        """
        if "_fixed" in self.base.__dict__:
            self.base._set_fixed(self._elements()[0], np.nan)

    def set(self, *, lower: Any = ..., upper: Any = ...) -> None:
        """Set other bounds, as :meth:`Model.variable` takes them; omitted bounds stay.

        Of elements (``x["ann"].set(upper=0)``) the others stay, as do those that labelled numbers
        (``x.set(upper={"ann": 0})``) do not have. Of its model only the bounds are
        compiled anew, when it is next solved. What is fixed stays so, and these are the bounds that
        :meth:`unfix` will give back.

        Parameters
        ----------
        lower, upper : float, array_like or None

        Raises
        ------
        ModelError
            For a lower bound above the upper one.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> x = Model("m").variable("x", Index("n", ["ann", "bob"]))
        >>> x.set(upper=3)
        >>> x["bob"].set(upper=0)
        >>> x.upper.tolist()
        [3.0, 0.0]
        """
        base = self.base
        elements, places = self._elements()
        low, high = (side.copy() for side in base.__dict__["_bounds"])
        for side, values, name in ((low, lower, "lower bound"), (high, upper, "upper bound")):
            if values is not ...:
                subject = f"the {name} of variable {base.name!r}"
                values = _NO_BOUND[name] if values is None else values
                numbers = numbers_at(subject, values, self.indices, places, True)
                chosen = ~np.isnan(numbers)
                side[elements[chosen]] = numbers[chosen]
        low = meeting(low, high)
        require_ordered(base.name, low, high, base.indices, base.positions)
        base._set_bounds(low, high)


class Variable(Masked, VariablePart):
    """Unknown numbers over indices, of which a mask may leave elements out.

    :meth:`Model.variable` declares it. It stands in formulas as any :class:`Expression` does. A
    solution has its values: ``model.solve().values["x"]``.

    In brackets stand labels, lists of labels, masks, and slices: of labels with both ends, of whole
    numbers by position. An index in brackets renames.

    Parameters
    ----------
    bounds : tuple of ndarray
        Lower and upper bounds of the elements that exist.

    Attributes
    ----------
    name : str
    indices : tuple of Index
    where : Subset or None
        Elements that exist; None for all.
    mask : Subset
        Elements that exist, also where they are all.
    lower, upper : ndarray
        Bounds of the elements that exist, read-only; see :meth:`set` and :meth:`fix`.
    integer : bool
    doc : str
        What it is, with the unit.
    model : Model or None
    base : Variable
        That of the declaration, where this one is over other symbols.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n, t = Index("n", ["ann", "bob", "cat"], "user"), Index("t", [8, 9, 10], "hour")
    >>> model = Model("m", indices=(n, t))
    >>> x = model.variable("x", n, t, upper=4)
    >>> x["ann", 9]
    <Element x[ann,9] of a variable>
    >>> x[:, 9]
    <Element x[n,9] of a variable: 3 users>
    >>> x["bob":].sum(n)
    <Expression ∑_n x[n∈{bob,cat},t] over t>
    >>> x[[True, False, True]].sum()
    <Expression ∑_n,t x[n∈{ann,cat},t]>
    >>> x[n.alias("m"), t] - x
    <Expression x[m,t] − x[n,t] over m,t,n>

    With a mask only some elements exist, and only these cost anything:

    >>> y = model.variable("y", n, where={"ann": True, "bob": False, "cat": True})
    >>> y
    <Variable y[n] ≥ 0: 2 of 3 exist>
    >>> model.constraint("early", x.sum(t) <= 5, where=[True, True, False]).rows
    ['early[ann]', 'early[bob]']
    """

    degree = 1
    _names = frozenset({"name", "indices", "doc", "integer", "base", "model"})
    _remedy = "other bounds are given by .set(lower=…, upper=…), another name or kind by declaring it anew"

    def __init__(
        self,
        name: str,
        indices: Indices,
        *,
        where: Subset | None = None,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
        integer: bool = False,
        doc: str = "",
        model: Declarations | None = None,
        base: Variable | None = None,
    ) -> None:
        if bounds is None and base is None:
            raise TypeError("a variable is declared by model.variable('x', n, lower=0, upper=1)")
        self.name = name
        self.indices = indices
        self.doc = doc
        self.integer: bool = integer if base is None else base.integer
        self.model = model
        self.base: Variable = self if base is None else base
        if bounds is not None:
            self.__dict__["_bounds"] = bounds
            self.__dict__["_exists"] = Subset("", indices, None) if where is None else where

    def _elements(self) -> tuple[np.ndarray, np.ndarray | None]:
        return np.arange(self.size), self.positions

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the existing elements, read-only; of fixed ones, their values."""
        return self.base._bounds_now()[0]

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the existing elements, read-only; of fixed ones, their values."""
        return self.base._bounds_now()[1]

    def set(
        self, *, lower: Any = ..., upper: Any = ..., integer: bool | EllipsisType = ...
    ) -> None:
        """Set other bounds, as :meth:`Model.variable` takes them, or whether it is integer.

        What is omitted stays, as do elements that labelled numbers (``x.set(upper={"ann": 0})``) do
        not have. Of its model only the bounds are compiled anew, when it is next solved. What is
        fixed stays so, and these are the bounds that :meth:`unfix` will give back.

        Parameters
        ----------
        lower, upper : float, array_like or None
        integer : bool

        Raises
        ------
        ModelError
            For a lower bound above the upper one.

        Examples
        --------
        >>> from fairlp import Model
        >>> x = Model("m").variable("x")
        >>> x.set(upper=3, integer=True)
        >>> x
        <Variable 0 ≤ x ≤ 3 integer>
        """
        super().set(lower=lower, upper=upper)
        base = self.base
        if isinstance(integer, bool) and integer != base.integer:
            base.__dict__["integer"] = integer
            if base.model is not None:
                base.model._changed()

    def _bounds_now(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds, of fixed elements their values."""
        attributes = self.__dict__
        bounds: tuple[np.ndarray, np.ndarray] = attributes["_bounds"]
        fixed = attributes.get("_fixed")
        if fixed is None:
            return bounds
        if "_in_force" not in attributes:
            in_force = tuple(np.where(np.isnan(fixed), side, fixed) for side in bounds)
            for side in in_force:
                side.setflags(write=False)
            attributes["_in_force"] = in_force
        now: tuple[np.ndarray, np.ndarray] = attributes["_in_force"]
        return now

    def _set_fixed(self, elements: np.ndarray, numbers: np.ndarray | float) -> None:
        """Fix elements at numbers, without looking at them; NaN gives the bounds back."""
        old = self.__dict__.get("_fixed")
        fixed = np.full(self.size, np.nan) if old is None else old.copy()
        fixed[elements] = numbers
        self.__dict__.pop("_in_force", None)
        if np.isnan(fixed).all():
            self.__dict__.pop("_fixed", None)
        else:
            self.__dict__["_fixed"] = fixed
        _tell_the_model(self)

    def _set_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Set the bounds of the elements that exist, without looking at them."""
        for side in (lower, upper):
            side.setflags(write=False)
        self.__dict__.pop("_in_force", None)
        self.__dict__["_bounds"] = lower, upper
        _tell_the_model(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each index."""
        return shape_of(self.indices)

    @property
    def size(self) -> int:
        """Number of elements that exist."""
        return len(self._mask)

    def __getitem__(self, key: Any) -> VariablePart:
        """Return the variable over other symbols (``x[m, i]``) or by label (``x["ann", :]``)."""
        part: VariablePart = _part(self, key, VariableElement, VariableSelection)
        return part


class Element(Expression):
    """Elements of a parameter or variable, by label: ``g["ann", "s1"]``, or ``g["ann", :]``.

    Attributes
    ----------
    base : Parameter or Variable
    places : tuple of (int or None)
        Position of the label of each index, None where the index stays.
    indices : tuple of Index
        The indices that stay.
    """

    _names = frozenset({"base", "name", "places", "indices", "degree"})
    base: Any

    def __init__(
        self, base: Parameter | Variable, places: tuple[int | None, ...], indices: Indices
    ) -> None:
        self.base = base
        self.name = base.name
        self.places = places
        self.indices = indices
        self.degree = base.degree
        if isinstance(base, Variable) and base.positions is not None and not indices:
            position = np.ravel_multi_index(tuple(place or 0 for place in places), base.shape)
            if position not in base.positions:
                raise ModelError(f"{self} does not exist: {base!r}")

    @property
    def keys(self) -> tuple[Any, ...]:
        """Label or symbol of each index of the base, as it is printed."""
        free = iter(self.indices)
        labels = [index.labels for index in self.base.indices]
        return tuple(
            next(free).symbol if place is None else axis_labels[place]
            for axis_labels, place in zip(labels, self.places, strict=True)
        )


class VariableElement(Element, VariablePart):
    """Elements of a variable: ``x["ann", 9]``, with bounds of their own."""


class ParameterElement(Element, ParameterPart):
    """Elements of a parameter: ``d["ann"]``, with numbers of their own."""


class Selection(Along):
    """Some labels of an index: ``x[["ann", "bob"]]``, ``x[1:3]`` or ``x[mask]``."""

    _names = Along._names | {"base"}
    base: Any

    def __init__(
        self, base: Parameter | Variable, body: Expression, index: Index, matrix: Any, to: Index
    ) -> None:
        super().__init__(body, index, matrix, to, member(to))
        self.base = base


class VariableSelection(Selection, VariablePart):
    """Some labels of a variable, with bounds of their own."""


class ParameterSelection(Selection, ParameterPart):
    """Some labels of a parameter, with numbers of their own."""


def _part(node: Any, key: Any, element: type, taken: type) -> Any:
    """Return a parameter or variable over other symbols, or by label."""
    places, indices, parts = places_in(key, node.indices, node.name)
    is_whole = places.count(None) == len(places)
    selected = (
        type(node)(node.name, indices, doc=node.doc, base=node.base)
        if is_whole
        else element(node.base, places, indices)
    )
    for part in parts:
        selected = taken(node.base, selected, *selection(*part))
    return selected


def grid_of(part: Expression) -> np.ndarray:
    """Return where each element of a part lies in the grid of what it is a part of, in C order."""
    if isinstance(part, Selection):
        axis = symbols_of(part.body.indices).index(part.index.symbol)
        taken: np.ndarray = np.take(grid_of(part.body), part.matrix.indices, axis)
        return taken
    assert isinstance(part, (Parameter, Variable, Element))
    shape = shape_of(part.base.indices)
    places = part.places if isinstance(part, Element) else (None,) * len(shape)
    steps = steps_of(shape)
    start = sum(
        step * place for step, place in zip(steps, places, strict=True) if place is not None
    )
    free = [k for k, place in enumerate(places) if place is None]
    return start + grid_over(tuple(shape[k] for k in free), [steps[k] for k in free], np.int64)


def _tell_the_model(base: Parameter | Variable) -> None:
    """Tell the model of a parameter or variable, if it is in one, that it has changed."""
    if base.model is not None:
        base.model._changed(base.name)
