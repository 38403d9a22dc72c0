"""What a model is made of, as read-only tables and by name: ``model["g"]``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import count, zip_longest
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from ...errors import (
    FairlpWarning,
    Hinted,
    ModelError,
    NoArgumentError,
    NoAttributeError,
    UnknownNameError,
    nearest,
    quoted,
    refused,
    worded,
)
from ...hints import hint_of
from ..programs.program import Block, Program
from ..programs.views import NamedView
from .arrays import Labelled
from .combinations import EXPECTED, chosen, found_in, listed_numbers, lists_labels, spread
from .compiler import naming, numbers, unconditional
from .expressions import (
    Abs,
    Along,
    Expression,
    Parameter,
    ParameterPart,
    Range,
    Relation,
    SumOver,
    Variable,
    VariablePart,
    as_expression,
    grid_of,
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
    carries_labels,
    labels_at,
    laid_out,
    require_text,
    shape_of,
    symbols_of,
    union,
)
from .reals import NumberError, floats, meeting, number
from .switches import parts_of
from .walks import children, mapped, mapped_relation, named, rebuilt, require_current, uses

if TYPE_CHECKING:
    # not at run time: completion in IPython fails at a property whose annotation is a Literal
    from ..programs.program import Sense
    from .model import Declarations, Model

# What is declared over indices, checked: numbers, bounds, and the subset of elements that a block
# exists for.


class Editable(Protocol):
    """A model whose constraints are changed by their handles."""

    def remove(self, name: Any) -> None:
        """Remove what has the name, or what a handle stands for."""

    def replace(
        self, name: str | Constraint, relation: Relation, *, where: Any = ...
    ) -> Constraint:
        """Put another relation in the place of a constraint."""


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
        self._set_positions(positions)

    def _set_positions(self, positions: np.ndarray | None) -> None:
        """Take other elements, those of a longer index; None for all."""
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
        return len(self) == self.full_size

    @property
    def _source(self) -> Subset:
        """The subset that this one follows where an index grows; itself where it follows none."""
        source: Subset = self.__dict__.get("_followed", self)
        return source

    def _over(self, indices: Indices) -> Subset:
        """Return the same elements over these indices, which may be more, or in another order.

        It is the subset itself over its own indices, else one that follows it.
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

    __call__ = refused(
        "is not called", "write where= in model.variable or model.constraint, or mask * x"
    )

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


class Constraint(Immutable):
    """A named family of constraints, a handle by which to inspect and change them.

    :meth:`Model.constraint` returns it.

    Attributes
    ----------
    name : str
    relation : Relation
    over : tuple of Index
        What the rows run over, in order.
    where : Subset or None
        Elements that rows exist for; None for all.
    mask : Subset
        Elements that rows exist for, also where they are all.
    doc : str
    model : Model or None

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> model = Model("m")
    >>> x = model.variable("x", n)
    >>> cap = model.constraint("cap", x <= {"ann": 2, "bob": 3})
    >>> cap
    <Constraint cap: x[n] ≤ [2 numbers over n] ∀ n: 2 rows>
    >>> model.maximize(x.sum())
    >>> model.solve().duals["cap"].to_dict()
    {'ann': 1.0, 'bob': 1.0}
    """

    _names = frozenset({"name", "relation", "over", "doc", "model"})
    _remedy = "change it with .replace(relation) or .remove()"

    @worded
    def __init__(
        self,
        name: str = "",
        relation: Relation | None = None,
        over: Indices = (),
        where: Subset | None = None,
        doc: str = "",
        model: Editable | None = None,
    ) -> None:
        if not isinstance(relation, Relation):
            raise NoArgumentError(
                "a constraint is declared by its model: model.constraint('name', x.sum(n) <= 4)"
            )
        self.name = name
        self.relation = relation
        self.over = over
        self.__dict__["_exists"] = Subset("", over, None) if where is None else where
        self.doc = doc
        self.model = model

    @property
    def _mask(self) -> Subset:
        """Elements that rows exist for, also where they are all."""
        mask: Subset = self.__dict__["_exists"]
        return mask

    @property
    def where(self) -> Subset | None:
        """Elements that rows exist for; None for all."""
        return None if self._mask._is_full else self._mask

    @property
    def positions(self) -> np.ndarray | None:
        """Elements that the rows exist for, in C order over the indices; None for all."""
        return None if self.where is None else self.where.positions

    @property
    def full_size(self) -> int:
        """Number of rows without the mask."""
        return math.prod(shape_of(self.over))

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.full_size if self.where is None else len(self.where)

    def __len__(self) -> int:
        return self.size

    @property
    def rows(self) -> list[str]:
        """Names of the rows, in order: ``capacity[server3,cpu]``."""
        return self.block(0).names()

    def block(self, start: int) -> Block:
        """Return the rows as a block of a Program that begins at row ``start``.

        Parameters
        ----------
        start : int

        Returns
        -------
        Block

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x") <= 4).block(7).slice
        slice(7, 8, None)
        """
        axes = axes_of(self.over)
        return Block(self.name, axes, start, start + self.size, self.positions)

    def check(self) -> None:
        """Raise where the ends of a range cross (with the labels), or where a big M is unknown.

        Raises
        ------
        ModelError
            With the label of the row, or the name of the variable without a bound.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x").between(1, 4)).check()
        """
        unconditional(self)
        ends = self.relation.ends if isinstance(self.relation, Range) else (None, None)
        with naming(f"constraint {self.name!r}"):
            range_ends = [
                numbers(end).rows(self.over, self.positions) for end in ends if end is not None
            ]
        if len(range_ends) < 2:
            return
        low, high = range_ends
        low = meeting(low, high)
        for k in np.flatnonzero(low > high)[:1].tolist():
            row = self.block(0).name_of(k)
            raise ModelError(
                f"constraint {row}: the lower end {low[k]:g} is above the upper end {high[k]:g}"
            )

    def remove(self) -> None:
        """Remove it from its model; the next solve is without it.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x") <= 4).remove()
        >>> dict(model.constraints)
        {}
        """
        self._model().remove(self)

    def replace(self, relation: Relation, *, where: Any = ...) -> Constraint:
        """Replace the relation, and return the new handle; see :meth:`Model.replace`.

        Parameters
        ----------
        relation : Relation
        where : array_like of bool or Subset, optional
            Only these rows exist.

        Returns
        -------
        Constraint

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> model.constraint("k", x <= 4).replace(x >= 1)
        <Constraint k: x ≥ 1: 1 row>
        """
        return self._model().replace(self, relation, where=where)

    __call__ = __float__ = __int__ = refused(
        "is no number", "write solution.activity['name'], of its duals solution.duals['name']"
    )
    __getitem__ = refused(
        "has no rows in brackets",
        "write solution.duals['name']['ann'], of its formula row.relation",
    )
    __iter__ = refused("is no sequence", "write row.rows, the names of its rows")
    __le__ = __ge__ = __lt__ = __gt__ = __add__ = __radd__ = __sub__ = __rsub__ = refused(
        "stands in no formula",
        "write row.replace(relation), or another model.constraint('k', relation)",
    )
    __mul__ = __rmul__ = __and__ = __or__ = __rshift__ = __invert__ = __add__

    def _model(self) -> Editable:
        if self.model is None:
            raise ModelError(f"constraint {self.name!r} is of no model")
        return self.model

    def _repr_latex_(self) -> str:
        return self.relation._repr_latex_()


def subset_of(where: Any, over: Indices, subject: str) -> Subset:
    """Return the elements where a block exists by a mask, a list, a Subset or None, which is all.

    All may be over some of the indices: a Series over hours, for rows over users and hours.
    """
    if where is None or where is True:
        return Subset("", over, None)
    argument = f"'where' of {subject}"
    if isinstance(where, Subset):
        own = {index.symbol: index for index in over}
        if not all(
            index.symbol in own and index.labels.equals(own[index.symbol].labels)
            for index in where.indices
        ):
            raise ModelError(
                f"{subject}: {quoted(where)} is not over ({', '.join(symbols_of(over))})"
            )
        return where._over(over)
    if isinstance(where, Expression):
        raise ModelError(
            f"{argument} is {where!r}; {EXPECTED}, such as where=costs > 0 of your data"
        )
    if isinstance(where, FunctionType):
        raise ModelError(
            f"{argument} is a function; write the combinations that exist, where=[k for k in n if k != 'ann']"
        )
    is_mask = isinstance(where, np.ndarray) and where.dtype == bool
    if not is_mask and lists_labels(where):
        chosen_indices, positions = chosen(where, over, argument)
        if len(positions) == math.prod(shape_of(chosen_indices)):
            return Subset("", over, None)
        return Subset("", over, spread(positions, chosen_indices, over))
    shape = shape_of(over)
    axes = over
    if 0 < axes_count(where) < len(over):
        # a mask over some of the indices holds for each label of the others
        axes, where = laid_out(where, over, argument, ModelError)
    else:
        where = aligned(where, over, argument, ModelError)
    try:
        mask = np.asarray(where)
    except ValueError:
        raise ModelError(f"{argument} is lists of different lengths; {EXPECTED}") from None
    if axes is not over and mask.shape == shape_of(axes):
        order = [axes.index(index) for index in over if index in axes]
        sizes = [len(index) if index in axes else 1 for index in over]
        mask = np.broadcast_to(mask.transpose(order).reshape(sizes), shape)
    if mask.dtype != bool or mask.shape != shape:
        raise ModelError(
            f"{subject}: 'where' is {mask.dtype} {mask.shape}, expected bool {shape} "
            f"({axes_text(over)}), or a list of the combinations that exist"
        )
    return Subset("", over, None if mask.all() else np.flatnonzero(mask))


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


def declared_numbers(values: Any, indices: Indices, name: str, default: float | None) -> Any:
    """Return the numbers that a parameter is declared with, or set to; see `parameter_values`.

    With a default, labelled data need not have all combinations.
    """
    if values is None and default is None and indices:
        raise ModelError(
            f"parameter {quoted(name)} has no numbers, expected {axes_text(indices)}; hand them over, or "
            "say default=0 for now, and set them later with .set(…)"
        )
    try:
        filled = values if default is None else _filled(values, indices, name, default)
        return parameter_values(filled, indices, name)
    except ModelError as error:
        if _has_gaps(values, indices):
            raise ModelError(f"{error}; or say with default=0 what holds elsewhere") from None
        if not isinstance(values, pd.DataFrame) or values.shape[1] <= len(indices):
            raise
        symbols = ", ".join(symbols_of(indices))
        raise ModelError(
            f"{error}; of a long table the columns of labels are called after the indices "
            f"({symbols}), and one column has the numbers: {', '.join(map(repr, values.columns))}"
        ) from None


def parameter_values(values: Any, indices: Indices, name: str) -> Any:
    """Return a parameter's numbers, one for each combination of labels, finite and read-only.

    Sparse ones are in COO form.
    """
    if hasattr(values, "tocoo") and not carries_labels(values):
        return _sparse_values(values, indices, name)
    if isinstance(values, FunctionType):
        raise ModelError(
            f"parameter {quoted(name)} is a function; write the numbers, {{k: f(k) for k in n}}"
        )
    try:
        array = floats(aligned(values, indices, f"parameter {quoted(name)}", ModelError))
    except NumberError as error:
        raise ModelError(f"parameter {quoted(name)} is not all numbers ({error})") from None
    _require_shape(array, indices, name)
    if not np.isfinite(array).all():
        position = tuple(np.argwhere(~np.isfinite(array))[0])
        raise ModelError(
            f"parameter {name}[{labels_at(indices, position)}] is {array[position]}; expected a finite number"
        )
    array.setflags(write=False)
    return array


def _has_gaps(values: Any, indices: Indices) -> bool:
    """Whether labelled data have some of the combinations, and are right but for the others."""
    try:
        listed = listed_numbers(values, indices, "")
    except ModelError:
        return False
    return listed is not None and 0 < len(listed.positions) < math.prod(shape_of(indices))


def _filled(values: Any, indices: Indices, name: str, default: float) -> Any:
    """Return numbers with the default where labelled data have none; sparse where that is 0."""
    subject = f"parameter {quoted(name)}"
    try:
        filling = number(default)
    except NumberError as error:
        raise ModelError(f"the default of {subject} is no number ({error})") from None
    shape = shape_of(indices)
    if values is None:
        return np.full(shape, filling)
    listed = listed_numbers(values, indices, subject)
    if listed is None:  # arrays have a number for each combination
        return values
    try:
        listed_values = floats(listed.values)
    except NumberError as error:
        raise ModelError(f"{subject} is not all numbers ({error})") from None
    if filling == 0 and len(shape) > 1:
        from scipy.sparse import coo_array

        coordinates = np.unravel_index(listed.positions, shape)
        return coo_array((listed_values, coordinates), shape=shape)
    numbers_everywhere = np.full(math.prod(shape), filling)
    numbers_everywhere[listed.positions] = listed_values
    return numbers_everywhere.reshape(shape)


def _sparse_values(values: Any, indices: Indices, name: str) -> Any:
    """Return a copy of a sparse array as a COO array without repeated places and zeros."""
    from scipy.sparse import coo_array

    _require_shape(values, indices, name)
    try:
        array = coo_array(values, copy=True)
        array.data = floats(array.data)
    except (TypeError, ValueError) as error:
        raise ModelError(f"parameter {quoted(name)} is not all numbers ({error})") from None
    array.sum_duplicates()
    array.eliminate_zeros()
    if not np.isfinite(array.data).all():
        position = int((~np.isfinite(array.data)).argmax())
        where = labels_at(indices, (places[position] for places in array.coords))
        raise ModelError(
            f"parameter {name}[{where}] is {array.data[position]}; expected a finite number"
        )
    array.data.setflags(write=False)
    return array


def _require_shape(values: Any, indices: Indices, name: str) -> None:
    shape = shape_of(indices)
    if values.shape != shape:
        raise ModelError(
            f"parameter {quoted(name)} has shape {values.shape}, expected {shape} ({axes_text(indices)})"
            + ("" if values.ndim else "; one number for all is default=…, and .set(…) changes some")
        )


def require_name(name: Any, noun: str) -> None:
    """Raise unless a name is text, and not the empty one."""
    if isinstance(name, (Relation, Index)):
        form = "model.constraint('name', relation)"
        form = form if isinstance(name, Relation) else "model.variable('x', n)"
        raise ModelError(f"a {noun} has its name first: write {form}, not {quoted(name)}")
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {noun} cannot be called {quoted(name)}; expected text")
    require_text(name, f"the name of a {noun}", ModelError)


def bounds(
    name: str,
    lower: Any,
    upper: Any,
    over: Indices,
    positions: np.ndarray | None,
    binary: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the elements of a variable that exist, read-only; None is no bound."""
    low = _bound(name, "lower bound", lower, -np.inf, over, positions)
    high = _bound(name, "upper bound", upper, np.inf, over, positions)
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
    """Raise where a lower bound is above the upper one."""
    for k in np.flatnonzero(low > high)[:1].tolist():
        which = _element(name, over, positions, k)
        raise ModelError(
            f"variable {which}: a lower bound is above its upper bound, {low[k]} > {high[k]}"
        )


def fixed_values(part: VariablePart, values: Any, places: np.ndarray | None) -> np.ndarray:
    """Return the numbers that elements are to be fixed at, for those that exist; see below."""
    return _part_values(part, values, places, "fixed value", np.nan)


def bound_values(
    part: VariablePart, values: Any, places: np.ndarray | None, side: str
) -> np.ndarray:
    """Return the bounds that elements are to have, for those that exist; see below."""
    return _part_values(part, values, places, side, -np.inf if side == "lower bound" else np.inf)


def _part_values(
    part: VariablePart, values: Any, places: np.ndarray | None, side: str, default: float
) -> np.ndarray:
    """Return numbers of elements, NaN where labelled ones have none and it stays as it is.

    ``places`` are those that exist within the part; None for all.
    """
    name = part.base.name
    subject = f"the {side} of variable {quoted(name)}"
    listed = listed_numbers(values, part.indices, subject)
    size = math.prod(shape_of(part.indices))
    if listed is None or len(listed.positions) == size:
        return _bound(name, side, values, default, part.indices, places)
    existing = np.arange(size) if places is None else places
    try:
        numbers_of_listed = floats(listed.values)
    except NumberError as error:
        raise ModelError(
            f"variable {quoted(name)}: the {side} is not all numbers ({error})"
        ) from None
    for k in listed.positions[np.isnan(numbers_of_listed)][:1].tolist():
        which = _element(name, part.indices, None, k)
        raise ModelError(f"variable {which}: the {side} is NaN; expected a number")
    for k in np.setdiff1d(listed.positions, existing)[:1].tolist():
        which = _element(name, part.indices, None, k)
        raise ModelError(
            f"variable {which} is given a number as {side}, and does not exist: {part.base!r}"
        )
    all_values = np.full(len(existing), np.nan)
    all_values[np.searchsorted(existing, listed.positions)] = numbers_of_listed
    return all_values


def numbers_of_part(part: ParameterPart, values: Any) -> Any:
    """Return all numbers of a parameter, with other ones for a part of it."""
    base = part.base
    if isinstance(part, Parameter):
        return declared_numbers(values, base.indices, base.name, base.default)
    numbers_now = base.values.copy()
    numbers_now.reshape(-1)[grid_of(part)] = parameter_values(values, part.indices, str(part))
    stored = base.stored
    return parameter_values(
        numbers_now if isinstance(stored, np.ndarray) else type(stored)(numbers_now),
        base.indices,
        base.name,
    )


def _bound(
    name: str, side: str, value: Any, default: float, over: Indices, positions: np.ndarray | None
) -> np.ndarray:
    shape = shape_of(over)
    subject = f"the {side} of variable {quoted(name)}"
    try:
        bound = _of_existing(name, value, over, positions, subject)
        if bound is None:
            array = floats(default if value is None else aligned(value, over, subject, ModelError))
            if array.shape not in ((), shape):
                raise ModelError(
                    f"variable {quoted(name)}: the {side} has shape {array.shape}, expected {shape}"
                )
            size = math.prod(shape) if positions is None else len(positions)
            flat = np.full(size, float(array)) if array.ndim == 0 else array.reshape(-1).copy()
            bound = flat if positions is None or array.ndim == 0 else flat[positions]
    except NumberError as error:
        raise ModelError(
            f"variable {quoted(name)}: the {side} is not all numbers ({error})"
        ) from None
    for k in np.flatnonzero(np.isnan(bound) | (bound == -default))[:1].tolist():
        which = _element(name, over, positions, k)
        problem = "NaN" if np.isnan(bound[k]) else bound[k]
        expected = "a number" if np.isnan(default) else "a number or None"
        raise ModelError(f"variable {which}: the {side} is {problem}; expected {expected}")
    return bound


def _of_existing(
    name: str, value: Any, over: Indices, positions: np.ndarray | None, subject: str
) -> np.ndarray | None:
    """Return labelled numbers of what exists of a variable, None where they are of all or none.

    Of a flow on arcs so a table of the arcs is enough.
    """
    listed = None if positions is None or value is None else listed_numbers(value, over, subject)
    if listed is None or positions is None or len(listed.positions) == math.prod(shape_of(over)):
        return None
    order = np.argsort(listed.positions)
    exists, ranks = found_in(listed.positions[order], positions)
    for k in np.flatnonzero(~exists)[:1].tolist():
        raise ModelError(f"{subject} has no number for {_element(name, over, positions, k)}")
    numbers_in_order: np.ndarray = floats(listed.values)[order[ranks]]
    return numbers_in_order


def _element(name: str, over: Indices, positions: np.ndarray | None, k: int) -> str:
    """Return the name of the k-th element of a variable."""
    return Block(name, axes_of(over), 0, 0, positions).name_of(k)


#: What has a name in a model.
_KINDS = ("variable", "parameter", "subset", "constraint", "definition")
#: Words for a sense, which other tools take beside the name of a model.
_SENSES = ("max", "min", "maximize", "minimize", "maximise", "minimise")


class Tables(Hinted):
    """The state of a model, read-only; :class:`.declarations.Declarations` alone changes it."""

    name: str
    source: str

    @worded
    def __init__(self, name: str = "model", source: str = "", indices: Indices = ()) -> None:
        if not isinstance(source, str) or source.casefold() in _SENSES:
            hint = hint_of(["Model constructor"], "sense")
            raise ModelError(
                f"the source of model {quoted(name)} is where it was published, not "
                f"{quoted(source)}; {hint}"
            )
        require_text(name, "the name of a model", ModelError)
        require_text(source, f"the source of model {quoted(name)}", ModelError)
        self.name = name
        self.source = source
        self._use(as_indices(indices, f"the indices of model {quoted(name)}:"))
        self._parameters: dict[str, Parameter] = {}
        self._variables: dict[str, Variable] = {}
        self._constraints: dict[str, Constraint] = {}
        self._subsets: dict[str, Subset] = {}
        self._definitions: dict[str, Expression] = {}
        self._objectives: tuple[Expression, ...] = ()
        #: By how much objectives may give way to later ones: relative to their optimum, and beside.
        self._tolerances: tuple[float, float] = (0.0, 0.0)
        self._sense: Sense = "min"
        self._levels: str | None = None
        #: What stands for the absolute values of the objective, by the name of its variable.
        self._absolutes: dict[str, Abs] = {}
        #: What stands for terms of the levels that are not linear, by the name of its variable.
        self._curves: dict[str, Expression] = {}
        #: What was declared together with a variable or constraint, by kind and name, and which
        #: that is.
        self._owners: dict[tuple[str, str], tuple[str, str]] = {}
        #: What was compiled last, and the parameters and variables that were set since then.
        self._program: Program | None = None
        self._stale: set[str] = set()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if any(name in self.__dict__.get(f"_{kind}s", ()) for kind in _KINDS):
                raise NoAttributeError(
                    f"'Model' object has no attribute {quoted(name)}; write model[{quoted(name)}]"
                )
            return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in ("name", "source"):
            remedy = hint_of(["Model"], name) or (
                "declare with .parameter, .variable, .constraint, .maximize and .minimize, change "
                "with .set, .replace and .remove"
            )
            raise ModelError(
                f"model {self.name!r} takes no {quoted(name)} by assignment, since what was compiled "
                f"would stay; {remedy}"
            )
        if name in ("name", "source"):
            object.__setattr__(self, "_program", None)  # both stand in it
        object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        """Return the variable, parameter, subset, constraint or definition of that name.

        Where nothing is declared under it, return the index with that symbol.
        """
        if isinstance(name, str) and name not in self:
            for index in self._indices:
                if index.symbol == name:
                    return index
        kind, full_name = self.kind_of(name)
        return self._table(kind)[full_name]

    def kind_of(self, name: str) -> tuple[str, str]:
        """Return the kind and the name of a declaration.

        The kind is "variable", "parameter", "subset", "constraint" or "definition".

        Parameters
        ----------
        name : str

        Returns
        -------
        tuple of (str, str)

        Raises
        ------
        UnknownNameError
            For a name that there is not; the nearest are named.
        ModelError
            For a name of several things.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> model.kind_of("x")
        ('variable', 'x')
        """
        is_text = isinstance(name, str)
        kinds = [kind for kind in _KINDS if is_text and name in self._table(kind)]
        if not kinds:
            names = [names for kind in _KINDS for names in self._table(kind)]
            none = "no variable, no parameter, no subset and no constraint"
            raise UnknownNameError(
                f"in model {self.name!r} {none} is called {quoted(name)}; {nearest(name, names)}"
            )
        if len(kinds) > 1:
            choices = " or ".join(f"model.{kind}s[{quoted(name)}]" for kind in kinds)
            raise ModelError(
                f"{quoted(name)} of model {self.name!r} could be several things; take {choices}"
            )
        return kinds[0], name

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name in self._table(kind) for kind in _KINDS)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, which IPython completes in brackets."""
        names = [name for kind in _KINDS for name in self._table(kind)]
        return list(dict.fromkeys([*names, *symbols_of(self._indices)]))

    __iadd__ = __isub__ = __add__ = __radd__ = __sub__ = __and__ = __or__ = refused(
        "takes nothing by operators",
        "write model.constraint('name', relation), model.maximize(expression), "
        "model.minimize(expression) or model.remove('name')",
    )
    __setitem__ = refused(
        "takes nothing in brackets",
        "write model.constraint('name', relation), model.variable('x', n) or d.set(numbers)",
    )
    __delitem__ = __delattr__ = refused("is not changed by del", "write model.remove('name')")
    __call__ = refused("is not called", "write solution = model.solve()")
    __iter__ = __len__ = refused(
        "is no sequence", "write model.variables, model.constraints or model.parameters"
    )
    __float__ = refused("is no number", "write solution = model.solve() and solution.objective")
    __enter__ = __exit__ = refused(
        "holds nothing that would be closed", "write model = fairlp.Model('name'), without with"
    )

    def __bool__(self) -> bool:
        return True

    def _use(self, indices: Indices) -> None:
        """Take these indices, in this order."""
        self._indices: Indices = indices
        for index in indices:
            index._used_by(self)

    def _table(self, kind: str) -> dict[str, Any]:
        """Return the table of what is of a kind."""
        table: dict[str, Any] = getattr(self, f"_{kind}s")
        return table

    @property
    def indices(self) -> Indices:
        """Order of the indices in rows."""
        return self._indices

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters by name; a view."""
        return NamedView(self._parameters, "model.parameters")

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Variables by name; a view."""
        return NamedView(self._variables, "model.variables")

    @property
    def constraints(self) -> Mapping[str, Constraint]:
        """Families of constraints by name; a view."""
        return NamedView(self._constraints, "model.constraints")

    @property
    def subsets(self) -> Mapping[str, Subset]:
        """Subsets of combinations of labels by name; a view."""
        return NamedView(self._subsets, "model.subsets")

    @property
    def definitions(self) -> Mapping[str, Expression]:
        """Named formulas of the variables, such as the tasks of a share; a view.

        They are no constraints.
        """
        return NamedView(self._definitions, "model.definitions")

    @property
    def objective(self) -> Expression | None:
        """What is maximised or minimised; of several objectives the first."""
        return self._objectives[0] if self._objectives else None

    @property
    def objectives(self) -> tuple[Expression, ...]:
        """What is maximised or minimised, in order; one objective is a tuple of one."""
        return self._objectives

    @property
    def tolerances(self) -> tuple[float, float]:
        """By how much objectives may give way to later ones: relatively, and in their own unit."""
        return self._tolerances

    @property
    def absolutes(self) -> Mapping[str, Abs]:
        """Absolute values of the objective, by the name of the variable for each; a view."""
        return NamedView(self._absolutes, "model.absolutes")

    @property
    def curves(self) -> Mapping[str, Expression]:
        """Terms of the levels that are not linear, by the name of the variable for each; a view.

        They are logarithms, powers and :func:`fairlp.minimum`.
        """
        return NamedView(self._curves, "model.curves")

    @property
    def levels(self) -> str | None:
        """Name of the constraints that set the levels of a leximin, or None without them."""
        return self._levels if self._levels in self._constraints else None

    @property
    def sense(self) -> Sense:
        """``max`` or ``min``."""
        return self._sense


# Edits of a model, checked before anything changes: constraints declared and replaced, names
# removed, copies.


def check_own(model: Declarations, what: str, *expressions: Expression) -> None:
    """Raise for an expression with a variable or parameter of another model, or a removed one."""
    for leaf in named(*expressions):
        kind, table = (
            ("variable", model._variables)
            if isinstance(leaf, Variable)
            else ("parameter", model._parameters)
        )
        if table.get(leaf.name) is leaf:
            continue
        remedy = (
            f"take model[{leaf.name!r}] of {model.name!r}"
            if leaf.name in table
            else f"declare it with .{kind}"
        )
        raise ModelError(
            f"{what} uses {kind} {leaf.name!r}, which is of another model or was removed; {remedy}"
        )
    require_current(what, *expressions)


def checked_objective(model: Declarations, subject: str, formula: Any) -> Expression:
    """Return an objective as an expression of the model; raise for one with a free index."""
    expression = as_expression(formula)
    if expression.indices:
        raise ModelError(
            f"{subject} must be one number, but {expression} has the free index "
            f"{expression.indices[0].symbol!r}; sum over it"
        )
    check_own(model, subject, expression)
    return expression


def require_one_objective(model: Declarations) -> None:
    """Raise where a model has several objectives."""
    if len(model.objectives) > 1:
        raise ModelError(
            f"model {model.name!r} has {len(model.objectives)} objectives, of which model.solve() "
            "optimises one after the other; programs, files, other tools and sessions have one: "
            f"set one objective, model.{model.sense}imize({model.objective})"
        )


def _remedy_for(relation: Any) -> str:
    """Return what to write for what is declared as a constraint, and is no relation."""
    if isinstance(relation, Expression):
        return "compare it: model.constraint('name', x <= 4)"
    if isinstance(relation, FunctionType):
        return "write the relation itself, model.constraint('name', x <= d): it has a row for each label"
    if isinstance(relation, (bool, np.bool_, str)):
        return "its sides are variables and numbers, such as x <= 4"
    return (
        "write model.constraint('name', x <= d), which has a row for each label, or in a loop each by a "
        "name of its own"
    )


def declared(
    model: Declarations, name: str, relation: Relation, over: Indices, where: Any, doc: str
) -> Constraint:
    """Return a constraint of a model, checked; the model learns its indices."""
    if not isinstance(relation, Relation):
        raise ModelError(
            f"constraint {quoted(name)}: expected left <= right, >=, ==, or expression.between(low, "
            f"high), not {type(relation).__name__}; {_remedy_for(relation)}"
        )
    check_own(model, f"constraint {quoted(name)}", *relation.parts)
    indices = union(model.indices, (index.whole or index for index in relation.indices))
    free = {index.symbol: index for index in relation.indices}
    order = over or tuple(index for index in indices if index.symbol in free)
    if set(symbols_of(order)) != free.keys():
        raise ModelError(
            f"constraint {quoted(name)} holds for each of ({', '.join(sorted(free))}), "
            f"but over=({', '.join(symbols_of(order))}) was given"
        )
    order = tuple(free[index.symbol] for index in order)
    constraint = Constraint(
        name, relation, order, subset_of(where, order, f"constraint {quoted(name)}"), doc, model
    )
    constraint.check()
    if where is not True:
        _warn_of_what_does_not_exist(constraint)
    model._use(indices)
    return constraint


def _warn_of_what_does_not_exist(row: Constraint) -> None:
    """Warn where a variable stands in rows in which it does not exist, and counts as 0.

    Sums over what exists are as they should be: they are empty where nothing does.
    """
    stack = list(row.relation.parts)
    while stack:
        node = stack.pop()
        if not isinstance(node, VariablePart):
            if not isinstance(node, (SumOver, Along)):
                stack += children(node)
            continue
        where = node.base.where
        if where is None or where is row._mask:
            continue
        every_row = np.arange(row.size) if row.positions is None else row.positions
        if isinstance(node, Variable):
            places = np.unravel_index(every_row, shape_of(row.over))
            columns = dict(zip(symbols_of(row.over), places, strict=True))
            elements = tuple(columns[index.symbol] for index in node.indices)
            exists, _ = found_in(where.positions, np.ravel_multi_index(elements, node.shape))
        else:
            in_part = np.isin(grid_of(node), where.positions)
            exists = Labelled(node.indices, in_part).rows(row.over, row.positions)
        count = int(exists.sum())
        if count < row.size:
            message = (
                f"constraint {row.name!r} has {row.size:,} rows, and {node} exists in {count:,} of "
                "them; in the others it counts as 0. Say with where= which rows there are, such as "
                f"where=model[{node.base.name!r}].where, or where=True for all"
            )
            warnings.warn(FairlpWarning(message), stacklevel=5)
            return


def replaced(
    model: Declarations, name: str | Constraint, relation: Relation, where: Any
) -> Constraint:
    """Return what takes the place of a constraint; see :meth:`Model.replace`."""
    kind, full_name, old = _of(model, name)
    _refuse_part(model, kind, full_name)
    if not isinstance(old, Constraint):
        raise ModelError(f"{quoted(full_name)} is a {kind}; only constraints are replaced")
    if (kind, full_name) in model._owners.values():
        raise ModelError(
            f"constraint {quoted(full_name)} has variables or rows of its own; remove it, and declare it anew"
        )
    has_same_indices = isinstance(relation, Relation) and set(symbols_of(relation.indices)) == set(
        symbols_of(old.over)
    )
    if (
        where is ...
        and not has_same_indices
        and not old._mask._is_full
        and isinstance(relation, Relation)
    ):
        old_symbols, new_symbols = (
            ",".join(symbols_of(indices)) for indices in (old.over, relation.indices)
        )
        raise ModelError(
            f"constraint {old.name!r} holds for some of ({old_symbols}), and the new relation for each of "
            f"({new_symbols}); "
            "say with where=… for which (None: all)"
        )
    if where is ...:
        stays = isinstance(relation, Relation) and set(old.over) == set(relation.indices)
        where = old._mask if stays or not old._mask._is_full else None
    return declared(
        model,
        old.name,
        relation,
        old.over if has_same_indices else (),
        where,
        old.doc,
    )


def removed(model: Declarations, name: Any) -> None:
    """Remove what has a name, or what a handle stands for; see :meth:`Model.remove`."""
    kind, full_name, block = _of(model, name)
    _refuse_part(model, kind, full_name)
    parts = _parts(model, kind, full_name)
    used = [model._table(of)[part_name] for of, part_name in parts if of == "variable"]
    used += [] if kind in ("constraint", "definition") else [block]
    places = [
        place
        for used_block in used
        for place in _outside(model, used_block, [(kind, full_name), *parts])
    ]
    if places:
        raise ModelError(
            f"{kind} {quoted(full_name)} is used in {_listed(places)} of model {model.name!r}; remove or "
            "replace first what uses it"
        )
    _drop(model, kind, full_name)


def _parts(model: Declarations, kind: str, name: str) -> list[tuple[str, str]]:
    """Return what was declared together with a variable or constraint, by kind and name."""
    return [block for block, owner in model._owners.items() if owner == (kind, name)]


def _drop(model: Declarations, kind: str, name: str) -> None:
    """Remove what has a name, with what was declared together with it."""
    for block in _parts(model, kind, name):
        del model._owners[block]
        model._table(block[0]).pop(block[1])
        model._curves.pop(block[1], None)
    model._table(kind).pop(name)


def _outside(model: Declarations, block: Any, parts: list[tuple[str, str]]) -> list[str]:
    """Return where a variable, parameter or subset is used, in words, but for some constraints."""
    if isinstance(block, Subset):
        blocks = [("variable", model.variables), ("constraint", model.constraints)]
        places = [
            f"{kind} {quoted(name)}"
            for kind, table in blocks
            for name, table_block in table.items()
            if isinstance(table_block, (Variable, Constraint))
            and table_block._mask._source is block
        ]
    else:
        names = (block.name,)
        places = [
            f"constraint {quoted(name)}"
            for name, row in model.constraints.items()
            if uses(names, *row.relation.parts)
        ]
        places += ["the objective"] if uses(names, *model.objectives) else []
        places += [
            f"definition {quoted(name)}"
            for name, node in model.definitions.items()
            if uses(names, node)
        ]
    inside = {f"{kind} {quoted(name)}" for kind, name in parts}
    return [place for place in places if place not in inside]


#: Rows of the variable that stands for an absolute value: name of the variable and this.
_ABOVE = "_above"
_BELOW = "_below"


def with_absolutes(
    model: Declarations, objectives: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """Return objectives with a variable for each absolute value; the former variables go.

    The variable is at least the argument and its negative: two families of rows.
    """
    old = dict(model._absolutes)

    def restored(node: Expression) -> Expression | None:
        return (
            old.get(node.name)
            if isinstance(node, Variable)
            else node
            if isinstance(node, Abs)
            else None
        )

    new_objectives = tuple(rebuilt(objective, restored) for objective in objectives)
    for name in old:
        places = _outside(model, model._variables[name], _parts(model, "variable", name))
        places = [place for place in places if place != "the objective"]
        places += ["the new objective"] if uses((name,), *new_objectives) else []
        if places:
            raise ModelError(
                f"variable {quoted(name)} stands for {old[name]} in the objective that is replaced, and "
                "is used in "
                f"{_listed(places)}; declare a variable of your own for it"
            )
    for name in old:
        del model._absolutes[name]
        _drop(model, "variable", name)
    variable_of = {}

    def stand_in(node: Expression) -> Expression | None:
        if not isinstance(node, Abs) or not node.degree:
            return None
        if id(node) not in variable_of:
            name = next(
                name
                for k in count(1)
                if (name := f"abs{k}") not in model and name + _ABOVE not in model
            )
            with parts_of(model, "variable", name):
                variable_of[id(node)] = model.variable(name, *node.indices, doc=str(node))
                model.constraint(name + _ABOVE, variable_of[id(node)] >= node.argument, where=True)
                model.constraint(name + _BELOW, variable_of[id(node)] >= -node.argument, where=True)
            model._absolutes[name] = node
        return variable_of[id(node)]

    return tuple(rebuilt(objective, stand_in) for objective in new_objectives)


def _refuse_part(model: Declarations, kind: str, declared_name: str) -> None:
    """Raise for what was declared together with something else, and goes with it."""
    owner = model._owners.get((kind, declared_name))
    name = declared_name if owner is None else owner[1]
    if name in model._absolutes and (owner or kind == "variable"):
        node = model._absolutes[name]
        raise ModelError(
            f"{declared_name!r} stands for {node} in the objective; it goes when the objective is replaced"
        )
    if owner is not None:
        raise ModelError(
            f"{declared_name!r} belongs to {owner[0]} {quoted(name)}, and goes when that is removed"
        )


def copied(model: Model, relaxed: bool = False) -> Model:
    """Return an independent copy, if asked without integers; see :meth:`Model.copy`."""
    copy = type(model)(model.name, model.source, model.indices)
    leaves: dict[str, Parameter | Variable] = {}
    for name, parameter in model.parameters.items():
        copy._parameters[name] = leaves[name] = Parameter(
            name,
            parameter.indices,
            parameter.stored,
            parameter.doc,
            default=parameter.default,
            model=copy,
        )
    for name, variable in model.variables.items():
        copy._variables[name] = leaves[name] = Variable(
            name,
            variable.indices,
            where=variable._mask,
            bounds=variable.__dict__["_bounds"],
            integer=variable.integer and not relaxed,
            doc=variable.doc,
            model=copy,
        )
        leaves[name].__dict__["_when_empty"].update(variable.__dict__["_when_empty"])
        if "_fixed" in variable.__dict__:
            leaves[name].__dict__["_fixed"] = variable.__dict__["_fixed"]
    copy._subsets.update(model.subsets)
    for name, row in model.constraints.items():
        relation = mapped_relation(row.relation, leaves)
        copy._constraints[name] = Constraint(name, relation, row.over, row._mask, row.doc, copy)
    copy._definitions.update(
        {name: mapped(node, leaves) for name, node in model.definitions.items()}
    )
    copy._sense = model.sense
    copy._levels = model._levels
    copy._objectives = tuple(mapped(objective, leaves) for objective in model.objectives)
    copy._tolerances = model.tolerances
    copy._owners.update(model._owners)
    copy._absolutes.update(
        {name: Abs(mapped(node.argument, leaves)) for name, node in model.absolutes.items()}
    )
    copy._curves.update({name: mapped(node, leaves) for name, node in model.curves.items()})
    if not relaxed:
        copy._program = model._program
        copy._stale = set(model._stale)
    return copy


def _of(model: Declarations, name: Any) -> tuple[str, str, Any]:
    """Return what a name or a handle stands for in a model: its kind, its name and itself."""
    if isinstance(name, str):
        return (*model.kind_of(name), model[name])
    # the one over other symbols is the same
    base = name.base if isinstance(name, (Parameter, Variable)) else name
    if not isinstance(base, (Constraint, Parameter, Variable, Subset)):
        kind = type(name).__name__
        raise ModelError(
            f"a {kind} is no handle; expected a name, or a constraint, variable, parameter or "
            "subset"
        )
    kind = type(base).__name__.lower()
    base_name = str(base.name)
    if model._table(kind).get(base_name) is base:
        return kind, base_name, base
    raise ModelError(
        f"{kind} {quoted(base_name)} is of another model, or was removed or replaced; take "
        f"model[{quoted(base_name)}] of {model.name!r}"
    )


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def handle(model: Declarations, name: Any) -> Any:
    """Return what a name or a handle stands for in a model."""
    return _of(model, name)[2]
