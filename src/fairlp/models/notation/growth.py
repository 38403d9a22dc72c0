"""A model whose index grows: a new label, for column generation.

The formulas stay as they are written. What runs over the index gets an element more: parameters the
numbers that are given, variables their bounds, families of constraints a row.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, quoted, require_known
from .combinations import spread
from .expressions import Along, Data, Expression, children
from .labels import Index, Indices, in_order, shape_of
from .variables import Element, Parameter, Variable, bounds, declared_numbers, subset_of

if TYPE_CHECKING:
    from .model import Declarations
    from .variables import Subset

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
        raise ModelError(
            f"model {model.name!r} is extended along {quoted(index)}; expected one of its indices"
        )
    if len(index._users()) > 1:
        gc.collect()  # a model that was deleted is there until then
    others = [user for user in index._users() if user is not model]
    if others:
        raise ModelError(
            f"index {index.symbol!r} of model {model.name!r} is also that of {others[0]!r}, which would no "
            "longer fit; declare an index of its own (copy.deepcopy of a model has one, and its p is "
            "then copy['p']), or delete what is not needed any more"
        )
    grown: Index = index
    return grown


@dataclass
class _Grown:
    """Elements of a mask over the longer index, as positions in the larger grid."""

    #: Where the elements are that there were, and the new ones.
    old: np.ndarray
    new: np.ndarray
    #: The new ones as positions over the other indices.
    chosen: np.ndarray
    #: Whether all combinations exist, without a mask.
    is_full: bool

    @property
    def order(self) -> np.ndarray:
        """The order of all elements, of which the old ones come first."""
        return np.argsort(np.concatenate([self.old, self.new]))

    @property
    def positions(self) -> np.ndarray | None:
        """All elements, None without a mask."""
        return None if self.is_full else np.sort(np.concatenate([self.old, self.new]))


class _Growth:
    """One new label: what it brings, checked before anything changes."""

    def __init__(
        self, model: Declarations, index: Index, label: Any, entries: Mapping[str, Any]
    ) -> None:
        self.model = model
        self.index = index
        self.label = label
        self.entries = entries
        self.subject = f"label {quoted(label)} of index {index.symbol!r}"
        self.old_count = len(index)
        #: What has elements over the index, by kind: names and masks.
        self.blocks: list[tuple[str, str, Subset]] = [
            (kind, name, mask) for kind, name, mask in _masks(model) if self.index in mask.indices
        ]
        #: New contents, by object.
        self.numbers: list[tuple[Parameter, Any]] = []
        self.limits: list[tuple[Variable, tuple[np.ndarray, np.ndarray], np.ndarray]] = []
        self.grown: dict[int, _Grown] = {}

    def check(self) -> None:
        """Work out what everything over the index will be; raise for what is wrong or missing."""
        self.labels = in_order([*self.index.labels, self.label], self.subject, ModelError)
        if self.label in self.index:
            raise ModelError(f"{self.subject} is there already")
        self._refuse_what_cannot_grow()
        self._refuse_unknown_entries()
        for parameter in self._over(self.model.parameters):
            self.numbers.append((parameter, self._numbers_of(parameter)))
        self._grow_masks()
        for variable in self._over(self.model.variables):
            self._bounds_of(variable)

    def apply(self) -> None:
        """Change the index and all that runs over it; the next solve is with the new label."""
        self.index.__dict__["labels"] = self.labels
        for parameter, stored in self.numbers:
            parameter.__dict__["_values"] = stored
        for _, _, mask in self.blocks:
            mask._set_positions(self.grown[id(mask)].positions)
        for variable, sides, fixed in self.limits:
            variable._grow(*sides, fixed)
        self.model._changed()

    def _refuse_unknown_entries(self) -> None:
        """Raise for an entry that nothing over the index has."""
        parameters = [parameter.name for parameter in self._over(self.model.parameters)]
        names = [*parameters, *(name for _, name, _ in self.blocks)]
        for name in self.entries:
            problem = f"{self.subject} is given {name!r}, which does not run over the index"
            require_known(name, names, problem)

    def _entry_of(self, variable: str) -> dict[str, Any]:
        """Return what is said of the new elements of a variable."""
        entry = self.entries.get(variable, {})
        if not isinstance(entry, Mapping):
            return {"where": entry}
        for name in entry:
            problem = f"{self.subject} is given {name!r} of variable {variable!r}"
            require_known(name, _OF_VARIABLES, problem)
        return dict(entry)

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
        yield from (("the levels", formula) for formula in self.model._curves.values())

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
            raise ModelError(
                f"{self.subject} has no numbers for parameter {parameter.name!r}; give {parameter.name}=…"
            )
        values = self.entries.get(parameter.name)
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

    def _grow_masks(self) -> None:
        """Work out for each mask over the index where it will hold.

        A mask that follows another one, over fewer indices, holds where that does.
        """
        of_model = {id(mask): mask for _, _, mask in _masks(self.model)}
        names: dict[int, list[tuple[str, str]]] = {}
        masks: dict[int, Subset] = {}
        for kind, name, mask in self.blocks:
            names.setdefault(id(mask), []).append((kind, name))
            masks[id(mask)] = mask
        for mask in sorted(masks.values(), key=lambda block: block._source is not block):
            places = names[id(mask)]
            source = of_model.get(id(mask._source), mask)
            if source is mask:
                chosen, is_full = self._chosen(mask, places)
            else:
                chosen, is_full = self._followed(mask, source)
                self._require_same(mask, places, chosen)
            self.grown[id(mask)] = self._spread(mask, chosen, is_full)

    def _wheres(self, places: list[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
        """Yield what is said of the new elements of blocks, with the name of the block."""
        for kind, name in places:
            if name not in self.entries:
                continue
            entry = self.entries[name]
            if kind == "variable":
                of_variable = self._entry_of(name)
                if "where" in of_variable:
                    yield name, of_variable["where"]
            elif kind == "subset" or name not in self.model.variables:
                is_worded = isinstance(entry, Mapping) and set(entry) == {"where"}
                yield name, entry["where"] if is_worded else entry

    def _chosen(self, mask: Subset, places: list[tuple[str, str]]) -> tuple[np.ndarray, bool]:
        """Return which new elements of a mask exist, and whether all combinations do then."""
        rest, _ = self._rest(mask.indices)
        every = np.arange(math.prod(shape_of(rest)))
        said = [(name, self._positions(name, where, rest)) for name, where in self._wheres(places)]
        for name, positions in said[1:]:
            if not np.array_equal(positions, said[0][1]):
                raise ModelError(
                    f"{self.subject} is given one mask for {said[0][0]!r} and another for {name!r}, which "
                    "exist for the same elements"
                )
        if said:
            chosen = said[0][1]
        elif mask._is_full and places[0][0] != "subset":
            chosen = every
        else:
            name = places[0][1]
            raise ModelError(
                f"{self.subject} has no mask for {name!r}, which holds for some labels; give "
                f"{name}={{'where': True}}"
            )
        return chosen, mask._is_full and len(chosen) == len(every)

    def _followed(self, mask: Subset, source: Subset) -> tuple[np.ndarray, bool]:
        """Return which new elements exist of a mask that holds where its source does."""
        rest, _ = self._rest(mask.indices)
        if self.index not in source.indices:
            return spread(source.positions, source.indices, rest), source._is_full
        grown = self.grown[id(source)]
        source_rest, _ = self._rest(source.indices)
        return spread(grown.chosen, source_rest, rest), grown.is_full

    def _require_same(
        self, mask: Subset, places: list[tuple[str, str]], chosen: np.ndarray
    ) -> None:
        """Raise where a mask is given that is not the one that a block follows."""
        rest, _ = self._rest(mask.indices)
        for name, where in self._wheres(places):
            if not np.array_equal(self._positions(name, where, rest), chosen):
                raise ModelError(
                    f"{self.subject} is given a mask for {name!r}, which follows another one; leave it out"
                )

    def _positions(self, name: str, where: Any, rest: Indices) -> np.ndarray:
        """Return the positions over the other indices at which the new label exists."""
        if isinstance(where, (bool, np.bool_)):
            return np.arange(math.prod(shape_of(rest)) if where else 0)
        return subset_of(where, rest, f"{name!r} at {self.subject}").positions

    def _spread(self, mask: Subset, chosen: np.ndarray, is_full: bool) -> _Grown:
        """Return the elements of a mask in the grid with the new label."""
        rest, axis = self._rest(mask.indices)
        old_shape = shape_of(mask.indices)
        shape = tuple(size + (place == axis) for place, size in enumerate(old_shape))
        old = np.ravel_multi_index(np.unravel_index(mask.positions, old_shape), shape)
        places = list(np.unravel_index(chosen, shape_of(rest))) if rest else []
        places.insert(axis, np.full(len(chosen), self.old_count))
        return _Grown(old, np.ravel_multi_index(tuple(places), shape), chosen, is_full)

    def _bounds_of(self, variable: Variable) -> None:
        """Work out the bounds of a variable with those of its new elements."""
        entry = self._entry_of(variable.name)
        rest, _ = self._rest(variable.indices)
        grown = self.grown[id(variable._mask)]
        sides = variable.__dict__["_bounds"]
        lower, upper = (
            entry[name] if name in entry else self._common(variable, name, side)
            for name, side in zip(("lower", "upper"), sides, strict=True)
        )
        is_everywhere = len(grown.chosen) == math.prod(shape_of(rest))
        added = bounds(variable.name, lower, upper, rest, None if is_everywhere else grown.chosen)
        fixed = variable.__dict__.get("_fixed", np.full(variable.size, np.nan))
        order = grown.order
        low, high, fixed_now = (
            np.concatenate([array, block])[order]
            for array, block in zip(
                (*sides, fixed), (*added, np.full(len(grown.chosen), np.nan)), strict=True
            )
        )
        self.limits.append((variable, (low, high), fixed_now))

    def _common(self, variable: Variable, name: str, side: np.ndarray) -> float | None:
        """Return the bound that all elements of a variable have."""
        if not side.size and name in variable.__dict__["_when_empty"]:
            side = variable.__dict__["_when_empty"][name]
        if side.size and (side == side[0]).all():
            return None if np.isinf(side[0]) else float(side[0])
        raise ModelError(
            f"{self.subject} has no {name} bound for variable {variable.name!r}, whose elements have none in "
            f"common; give {variable.name}={{{name!r}: …}}"
        )


def _masks(model: Declarations) -> Iterator[tuple[str, str, Subset]]:
    """Yield the kind, the name and the mask of everything in a model that has one."""
    for name, subset in model.subsets.items():
        yield "subset", name, subset
    for name, variable in model.variables.items():
        yield "variable", name, variable._mask
    for name, row in model.constraints.items():
        yield "constraint", name, row._mask


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
