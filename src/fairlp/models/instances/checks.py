"""Checks of user input: each error names the user, server or resource, and gives a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, quoted, require_known
from ...tolerances import AGREEMENT
from ..notation.expressions import Index
from ..notation.labels import (
    aligned,
    is_writable,
    numbers_in,
    order,
    refuse,
    require_labels,
    require_shape,
    require_text,
    require_writable,
)
from .arithmetic import LARGEST_WHOLE

#: The smallest float that has all its digits.
_SMALLEST = float(np.finfo(float).smallest_normal)


def labels(values: Any, count: int, noun: str) -> pd.Index[Any]:
    """Return ``count`` unique labels: those given, or ``user1``, ``user2`` and so on."""
    if values is None:
        return _numbered(noun, count)
    if len(values) != count:
        raise InstanceError(
            f"{len(values)} {noun} labels for {count} {noun}s; expected one label each"
        )
    return distinct(values, noun)


@lru_cache(maxsize=32)
def _numbered(noun: str, count: int) -> pd.Index[Any]:
    """Return the labels ``user1``, ``user2`` and so on."""
    return pd.Index([f"{noun}{k}" for k in range(1, count + 1)], dtype=object)


def distinct(values: Iterable[Any], noun: str) -> pd.Index[Any]:
    """Return labels, each text or a whole number and there once."""
    items = list(values)
    for position, item in enumerate(items):
        if isinstance(item, np.generic):
            items[position] = item = item.item()
        if not isinstance(item, (str, int)) or isinstance(item, bool) or item == "":
            raise InstanceError(
                f"{noun} label {quoted(item)} (position {position}) is no name; expected text or a whole "
                "number"
            )
    require_labels(items, f"the {noun} labels", InstanceError)
    index: pd.Index[Any] = pd.Index(items, dtype=object)
    for twice in index[index.duplicated()][:1]:
        raise InstanceError(f"{noun} {twice!r} occurs twice; labels must be unique")
    return index


def tables(
    demands: Any, capacities: Any, users: Index | None, servers: Index | None, r: Index | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return demands N×R and capacities K×R of the same resources, with at least one of each."""
    d = matrix(numbers_in(demands, (users, r), "demands", InstanceError), "demands")
    c = numbers_in(capacities, (servers, r), "capacities", InstanceError)
    c = matrix(np.atleast_2d(c), "capacities")
    for noun, count in (("users", len(d)), ("resources", d.shape[1]), ("servers", len(c))):
        if not count:
            raise InstanceError(f"there are no {noun}; expected at least one")
    if c.shape[1] != d.shape[1]:
        raise InstanceError(
            f"demands have shape {d.shape} and capacities {c.shape}; expected the same number of "
            "resources (columns)"
        )
    return d, c


def matrix(array: np.ndarray, name: str) -> np.ndarray:
    """Return an array that has two dimensions."""
    if array.ndim != 2:
        raise InstanceError(f"{name} have shape {array.shape}; expected two dimensions")
    return array


def amounts(array: np.ndarray, name: str, *axes: Index) -> None:
    """Require finite numbers >= 0; the error names the first that is not."""
    expected = "a finite number >= 0 (0 for none; leave out a resource that is unlimited)"
    refuse(~(np.isfinite(array) & (array >= 0)), array, axes, name, expected, InstanceError)
    whole_digits(array, name, *axes)


def whole_digits(array: np.ndarray, name: str, *axes: Index) -> None:
    """Raise for positive numbers so small that they lack digits (denormal).

    Their quotients are no floats, or wrong ones, so that nothing could be said of an answer.
    """
    expected = f"0, or at least {_SMALLEST:.3g}: smaller numbers have lost digits (give it in a smaller unit)"
    refuse((array > 0) & (array < _SMALLEST), array, axes, name, expected, InstanceError)


def labelled(values: Any, subject: str, *axes: Index, fewest: int = 3) -> np.ndarray:
    """Return numbers in the order of their labels; those of the ``fewest`` first axes are enough."""
    array = numbers_in(aligned(values, axes, subject, InstanceError), axes, subject, InstanceError)
    require_shape(array.shape, axes[: max(array.ndim, fewest)], subject, InstanceError)
    return array


def _numbers(values: Any, name: str, *axes: Index) -> np.ndarray:
    """Return an argument of an instance as numbers: weights may have one axis less."""
    return labelled(values, _argument(name), *axes, fewest=1 if name == "weight" else len(axes))


def _argument(name: str) -> str:
    return f"the argument '{name.replace(' ', '_')}s'"


def _filled(values: Any, name: str, users: Index, default: float) -> Any:
    """Return what is given in the order of the users, with the default for None."""
    ordered = aligned(values, (users,), _argument(name), InstanceError)
    if isinstance(ordered, (list, tuple)) or getattr(ordered, "ndim", 0) == 1:
        ordered = [default if item is None else item for item in ordered]
    return ordered


def weights(values: Any, demands: np.ndarray, users: Index, resources: Index) -> np.ndarray:
    """Return weights N or N×R: finite, and > 0, or 0 for a resource that a user does not demand."""
    if values is None:
        return np.ones(len(users))
    axes = (users, resources)
    array = _numbers(values, "weight", *axes)
    refused = ~(np.isfinite(array) & (array > 0))
    if array.ndim == 2:
        refused &= ~((array == 0) & (demands == 0))
    expected = (
        "a finite number > 0 (leave a user out who is to get nothing, or set its task limit to 0)"
    )
    refuse(refused, array, axes, "weight", expected, InstanceError)
    whole_digits(array, "weight", *axes)
    return array


def task_limits(limits: Any, users: Index) -> np.ndarray:
    """Return limits N >= 0, infinite where there is none (None in a table also means none)."""
    if limits is None:
        return np.full(len(users), np.inf)
    array = _numbers(_filled(limits, "task limit", users, np.inf), "task limit", users)
    expected = "a number >= 0 (infinity or None: no limit)"
    refuse(~(array >= 0), array, (users,), "task limit", expected, InstanceError)
    whole_digits(array, "task limit", users)
    return array


def job_sizes(values: Any, limits: np.ndarray, users: Index) -> np.ndarray | None:
    """Return job sizes N, of which task limits are multiples; None where all are 1."""
    if values is None:
        return None
    sizes = _whole_numbers(_filled(values, "job size", users, 1), users, "job size")
    finite = np.where(np.isfinite(limits), limits, 0.0)
    for n in np.flatnonzero((sizes > 1) & (finite % sizes > 0))[:1].tolist():
        raise InstanceError(
            f"task limit of user {quoted(users[n])} is {limits[n]:g}; expected a multiple of its job size, "
            f"{sizes[n]}, since its tasks run {sizes[n]} at once or not at all"
        )
    return None if (sizes == 1).all() else sizes


def rates(values: Any, users: Index, servers: Index) -> np.ndarray | None:
    """Return rates N×K >= 0."""
    if values is None:
        return None
    array = _numbers(values, "rate", users, servers)
    amounts(array, "rate", users, servers)
    return array


def counts(values: Any, servers: Index, capacities: np.ndarray, resources: Index) -> np.ndarray:
    """Return the counts of identical servers: whole, >= 1, and with a finite total capacity."""
    numbers = (
        np.ones(len(servers), dtype=np.int64)
        if values is None
        else _whole_numbers(values, servers, "count")
    )
    with np.errstate(over="ignore"):
        overflowing = np.isinf(numbers @ capacities)
    problem = "is more in all servers together than a float holds; expected a larger unit of it"
    refuse_label(overflowing, resources, problem)
    return numbers


def _whole_numbers(values: Any, labels: Index, name: str) -> np.ndarray:
    """Return whole numbers of at least 1, one for each label."""
    array = _numbers(values, name, labels)
    is_whole = np.isfinite(array) & (array >= 1) & (array == np.floor(array))
    refused = ~(is_whole & (array < LARGEST_WHOLE))
    expected = "a whole number >= 1 below 2**53"
    refuse(refused, array, (labels,), name, expected, InstanceError)
    return array.astype(np.int64)


def entitlements(values: Any, users: Index) -> np.ndarray | None:
    """Return entitlements N >= 0 that sum to 1."""
    if values is None:
        return None
    array = _numbers(values, "entitlement", users)
    amounts(array, "entitlement", users)
    total = float(array.sum())
    if abs(total - 1) > AGREEMENT:
        raise InstanceError(
            f"entitlements sum to {total:.12g}; expected 1 (fractions of the whole: divide each by "
            f"{total:.6g})"
        )
    return array


def units(names: Mapping[str, str] | None, resources: Index) -> dict[str, str]:
    """Return the units of resources as text."""
    if names is None:
        return {}
    if isinstance(names, pd.Series):
        names = names.to_dict()
    for resource, unit in names.items():
        problem = f"a unit is given for {resource!r}, which is no resource"
        require_known(resource, list(resources), problem, InstanceError)
        if unit is not None:
            require_text(unit, f"the unit of {resource!r}", InstanceError)
    return {str(resource): unit for resource, unit in names.items() if unit}


def attributes(table: pd.DataFrame | None, names: Index) -> pd.DataFrame | None:
    """Return free columns with one row for each label, in their order; None without any."""
    if table is None:
        return None
    name = f"{names.name}_attributes"
    has_no_labels = type(table.index) is pd.RangeIndex
    if has_no_labels and not any(isinstance(label, int) for label in names):
        # a table by columns, whose rows are in order: 0, 1, … cannot be meant as labels
        table = table.set_axis(names.labels)
    ordered = table.iloc[order([table.index], [names], f"the table {name!r}", InstanceError)].copy()
    ordered.index = names.labels
    for column, entries in ordered.items():
        require_writable(column, f"a column of the table {name!r}", InstanceError)
        if pd.api.types.is_numeric_dtype(entries):
            continue
        for label, entry in zip(names, entries, strict=True):
            if not is_writable(entry):
                subject = f"{column!r} of {names.name} {quoted(label)}"
                require_writable(entry, subject, InstanceError)
    return ordered


def rates_fit(
    values: np.ndarray | None, d: np.ndarray, c: np.ndarray, indices: tuple[Index, Index, Index]
) -> None:
    """Raise for a rate above 0 on a server that lacks a demanded resource, where no task fits."""
    if values is None:
        return
    users, servers, resources = indices
    for r, resource in enumerate(resources):
        refused = (values > 0) & (d[:, r, None] > 0) & (c[None, :, r] == 0)
        expected = f"0, since its tasks need {resource!r}, of which the server has none"
        refuse(refused, values, (users, servers), "rate", expected, InstanceError)


def refuse_label(refused: Any, names: Index, problem: str) -> None:
    """Raise for the first label that is refused."""
    for position in np.flatnonzero(refused)[:1].tolist():
        raise InstanceError(f"{names.name} {quoted(names[position])} {problem}")


def offered_and_demanded(d: np.ndarray, c: np.ndarray, users: Index, resources: Index) -> None:
    """Require that each user demands something, and that each resource is in some server."""
    refuse_label(
        ~d.any(axis=1),
        users,
        "demands nothing, so it could run without end; expected a demand of some resource, or leave the "
        "user out",
    )
    refuse_label(
        ~c.any(axis=0),
        resources,
        "is in no server: its capacity is 0 everywhere; leave it out, and the users who need it",
    )
