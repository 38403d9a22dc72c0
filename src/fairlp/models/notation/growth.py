"""A model whose index grows: a new label, for column generation.

The formulas stay as they are written. What runs over the index gets an element more: parameters the
numbers that are given, variables their bounds, families of constraints a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, UnknownNameError, nearest, quoted
from .expressions import Along, Data, Element, Expression, Parameter, Variable
from .labels import Index, Indices, in_order, shape_of, symbols_of
from .tables import bounds, declared_numbers, subset_of
from .walks import children

if TYPE_CHECKING:
    from .model import Declarations
    from .tables import Subset

#: What is entry of a variable's new elements.
_OF_VARIABLES = ("lower", "upper", "where")


def extend(model: Declarations, index: Index, label: Any, entries: Mapping[str, Any]) -> None:
    """Add a label to an index of a model; see :meth:`Model.extend`."""
    growth = _Growth(model, _index_of(model, index), label, entries)
    growth.check()
    growth.apply()


def _index_of(model: Declarations, index: Any) -> Index:
    """Return the model's index that is to grow; raise where other things would no longer fit."""
    if not any(candidate is index for candidate in model.indices):
        symbols = ", ".join(symbols_of(model.indices))
        raise ModelError(
            f"model {model.name!r} is extended along {quoted(index)}; expected one of its indices: {symbols}"
        )
    users: list[Any] = index._users()
    others = [user for user in users if user is not model]
    if others:
        raise ModelError(
            f"index {index.symbol!r} of model {model.name!r} is also that of {others[0]!r}, which would no "
            "longer fit; declare an index of its own (copy.deepcopy of a model has one, and its p is "
            "then copy['p']), or delete what is not needed any more"
        )
    grown: Index = index
    return grown


class _Growth:
    """One new label: what it brings, checked before anything changes."""

    def __init__(
        self, model: Declarations, index: Index, label: Any, entries: Mapping[str, Any]
    ) -> None:
        self.model = model
        self.index = index
        self.label = label
        self.entries = dict(entries)
        self.subject = f"label {quoted(label)} of index {index.symbol!r}"
        self.old_count = len(index)
        #: New contents, by object.
        self.numbers: list[tuple[Parameter, Any]] = []
        self.limits: list[tuple[Variable, tuple[np.ndarray, np.ndarray], np.ndarray]] = []
        self.places: list[tuple[Subset, np.ndarray]] = []

    def check(self) -> None:
        """Work out what everything over the index will be; raise for what is wrong or missing."""
        self.labels = in_order([*self.index.labels, self.label], self.subject, ModelError)
        if self.label in self.index:
            raise ModelError(f"{self.subject} is there already")
        self._refuse_what_cannot_grow()
        for parameter in self._over(self.model.parameters):
            self.numbers.append((parameter, self._numbers_of(parameter)))
        wheres = self._subsets()
        for variable in self._over(self.model.variables):
            self._bounds_of(variable, wheres.get(id(variable.where)))
        if self.entries:
            name = next(iter(self.entries))
            names = [*self.model.parameters, *self.model.variables]
            raise UnknownNameError(
                f"{self.subject} is given {quoted(name)}, which does not run over the index or is not there; "
                f"{nearest(name, names)}"
            )

    def apply(self) -> None:
        """Change the index and all that runs over it; the next solve is with the new label."""
        self.index.__dict__["labels"] = self.labels
        for parameter, stored in self.numbers:
            parameter.__dict__["_values"] = stored
        for subset, positions in self.places:
            positions.setflags(write=False)
            subset.__dict__["positions"] = positions
        for variable, sides, fixed in self.limits:
            variable._grow(*sides, fixed)
        self.model.changed()

    def _over(self, table: Mapping[str, Any]) -> list[Any]:
        """Return the parameters or variables that run over the index."""
        return [thing for thing in table.values() if self.index in thing.indices]

    def _refuse_what_cannot_grow(self) -> None:
        """Raise for parts of formulas that have something for each label and no name."""
        for place, formula in self._formulas():
            stack = [formula]
            while stack:
                node = stack.pop()
                stack += children(node)
                problem = self._problem(node)
                if problem:
                    raise ModelError(
                        f"{self.subject} would be new in {place}, which has {problem}: {node}"
                    )

    def _formulas(self) -> Iterator[tuple[str, Expression]]:
        """Yield every formula of the model with its place."""
        for name, row in self.model.constraints.items():
            yield from ((f"constraint {name!r}", part) for part in row.relation.parts)
        yield from (("the objective", formula) for formula in self.model.objectives)
        for name, formula in self.model.definitions.items():
            yield f"definition {name!r}", formula

    def _problem(self, node: Expression) -> str:
        """Return why a part of a formula cannot have another label, empty where it can."""
        if isinstance(node, Data) and self.index in node.indices:
            return "numbers without a name, to be declared with model.parameter"
        if isinstance(node, Along) and self.index in (node.index, node.to):
            return "a shift, sum up to a label, selection or group along it"
        if isinstance(node, (Parameter, Variable)) and node is not node.base:
            if self.index in node.base.indices and node.indices != node.base.indices:
                return "an alias of it"
        elif isinstance(node, Element) and self.index in node.base.indices:
            places = zip(node.base.indices, node.places, strict=True)
            free = [index for index, place in places if place is None]
            if any(index is not alias for index, alias in zip(free, node.indices, strict=True)):
                return "an alias of it"
        return ""

    def _rest(self, indices: Indices) -> tuple[Indices, int]:
        """Return the indices without the one that grows, and its axis."""
        axis = indices.index(self.index)
        return indices[:axis] + indices[axis + 1 :], axis

    def _numbers_of(self, parameter: Parameter) -> Any:
        """Return the numbers of a parameter with those of the new label."""
        rest, axis = self._rest(parameter.indices)
        if parameter.name not in self.entries and parameter.default is None:
            over = f" over ({', '.join(symbols_of(rest))})" if rest else ""
            raise ModelError(
                f"{self.subject} has no numbers{over} for parameter {parameter.name!r}; write "
                f"model.extend({self.index.symbol}, {quoted(self.label)}, {parameter.name}=…)"
            )
        values = self.entries.pop(parameter.name, None)
        new = declared_numbers(values, rest, parameter.name, parameter.default)
        stored = parameter.stored
        if isinstance(stored, np.ndarray):
            dense = new if isinstance(new, np.ndarray) else new.toarray()
            return _frozen(np.concatenate([stored, np.expand_dims(dense, axis)], axis))
        from scipy.sparse import coo_array

        added = coo_array(new)
        coordinates = list(added.coords) if rest else []
        coordinates.insert(axis, np.full(added.nnz, self.old_count))
        shape = tuple(size + (place == axis) for place, size in enumerate(stored.shape))
        columns = [
            np.concatenate([old, extra])
            for old, extra in zip(stored.coords, coordinates, strict=True)
        ]
        array = coo_array((np.concatenate([stored.data, added.data]), columns), shape=shape)
        array.data.setflags(write=False)
        return array

    def _subsets(self) -> dict[int, tuple[np.ndarray, np.ndarray | None]]:
        """Return for each mask over the index the places it will have, and the new ones."""
        wheres: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
        blocks: list[tuple[str, Any]] = [
            (name, subset) for name, subset in self.model.subsets.items()
        ]
        for table in (self.model.variables, self.model.constraints):
            blocks += [(name, block.where) for name, block in table.items()]
        for name, subset in blocks:
            if subset is None or self.index not in subset.indices or id(subset) in wheres:
                continue
            positions, new = self._positions_of(name, subset)
            self.places.append((subset, positions))
            wheres[id(subset)] = positions, new
        return wheres

    def _positions_of(self, name: str, subset: Subset) -> tuple[np.ndarray, np.ndarray]:
        """Return where a mask will hold, in the larger grid, and the new ones among these."""
        entry = self.entries.get(name)
        where = (
            entry.pop("where", None) if isinstance(entry, dict) else self.entries.pop(name, None)
        )
        if where is None:
            raise ModelError(
                f"{self.subject} has no mask for {name!r}, which holds for some labels; write "
                f"model.extend({self.index.symbol}, {quoted(self.label)}, {name}={{'where': True}})"
            )
        rest, axis = self._rest(subset.indices)
        chosen = _mask(where, rest, f"{name!r} at {self.subject}")
        old_shape = shape_of(subset.indices)
        shape = tuple(size + (place == axis) for place, size in enumerate(old_shape))
        old = np.ravel_multi_index(np.unravel_index(subset.positions, old_shape), shape)
        places = list(np.unravel_index(chosen, shape_of(rest))) if rest else []
        places.insert(axis, np.full(len(chosen), self.old_count))
        new = np.ravel_multi_index(tuple(places), shape)
        return np.sort(np.concatenate([old, new])), new

    def _bounds_of(
        self, variable: Variable, where: tuple[np.ndarray, np.ndarray | None] | None
    ) -> None:
        """Work out the bounds of a variable with those of its new elements."""
        entry = dict(self.entries.pop(variable.name, None) or {})
        for name in entry:
            if name not in _OF_VARIABLES:
                raise UnknownNameError(
                    f"{self.subject} is given {quoted(name)} of variable {variable.name!r}; "
                    f"{nearest(name, _OF_VARIABLES)}"
                )
        rest, axis = self._rest(variable.indices)
        sides = variable.__dict__["_bounds"]
        lower, upper = (
            entry[name] if name in entry else self._common(variable, name, side)
            for name, side in zip(("lower", "upper"), sides, strict=True)
        )
        added = bounds(variable.name, lower, upper, rest, None)
        fixed = variable.__dict__.get("_fixed")
        whole = [*sides, np.full(variable.size, np.nan) if fixed is None else fixed]
        blocks = [*added, np.full(math.prod(shape_of(rest)), np.nan)]
        grown = [
            self._joined(variable, array, block, axis, where)
            for array, block in zip(whole, blocks, strict=True)
        ]
        self.limits.append((variable, (grown[0], grown[1]), grown[2]))

    def _joined(
        self,
        variable: Variable,
        array: np.ndarray,
        block: np.ndarray,
        axis: int,
        where: tuple[np.ndarray, np.ndarray | None] | None,
    ) -> np.ndarray:
        """Return numbers of the elements that exist, with those of the new label among them."""
        shape = variable.shape
        if where is None:
            rest_shape = (*shape[:axis], 1, *shape[axis + 1 :])
            return np.concatenate([array.reshape(shape), block.reshape(rest_shape)], axis).reshape(
                -1
            )
        positions, new = where
        new_shape = tuple(size + (place == axis) for place, size in enumerate(shape))
        assert new is not None and variable.positions is not None
        grid = np.full(math.prod(new_shape), np.nan)
        old = np.ravel_multi_index(np.unravel_index(variable.positions, shape), new_shape)
        grid[old] = array
        places = [column for k, column in enumerate(np.unravel_index(new, new_shape)) if k != axis]
        rest_shape = shape[:axis] + shape[axis + 1 :]
        grid[new] = block[np.ravel_multi_index(tuple(places), rest_shape)] if places else block
        existing: np.ndarray = grid[positions]
        return existing

    def _common(self, variable: Variable, name: str, side: np.ndarray) -> float | None:
        """Return the bound that all elements of a variable have."""
        if not side.size:
            return 0.0 if name == "lower" else None
        if (side == side[0]).all():
            return None if np.isinf(side[0]) else float(side[0])
        raise ModelError(
            f"{self.subject} has no {name} bound for variable {variable.name!r}, whose bounds differ; write "
            f"model.extend({self.index.symbol}, {quoted(self.label)}, {variable.name}={{{name!r}: …}})"
        )


def _mask(where: Any, rest: Indices, subject: str) -> np.ndarray:
    """Return the positions over the other indices at which the new label exists."""
    count = math.prod(shape_of(rest))
    if isinstance(where, (bool, np.bool_)):
        return np.arange(count if where else 0)
    subset = subset_of(where, rest, subject)
    return np.arange(count) if subset is None else subset.positions


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
