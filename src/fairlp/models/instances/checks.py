"""Checks of user input: each error names the user, server or resource, and gives a remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, quoted, require_known
from ...tolerances import AGREEMENT
from ..notation.expressions import Index
from ..notation.labels import (
    aligned,
    few,
    is_writable,
    order,
    require_labels,
    require_text,
    require_writable,
)
from ..notation.reals import NumberError, floats
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
        if not isinstance(item, (str, int)) or isinstance(item, bool):
            raise InstanceError(
                f"{noun} label {quoted(item)} (position {position}) is {type(item).__name__}; expected "
                "text or a whole number"
            )
        if item == "":
            raise InstanceError(f"{noun} label at position {position} is empty; expected a name")
    require_labels(items, f"the {noun} labels", InstanceError)
    index: pd.Index[Any] = pd.Index(items, dtype=object)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise InstanceError(f"{noun} {quoted(twice)} occurs twice; labels must be unique")
    return index


def tables(demands: Any, capacities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return demands N×R and capacities K×R of the same resources, with at least one of each."""
    d = matrix(demands, "demands")
    c = matrix(_rows(capacities), "capacities")
    n_users, n_resources = d.shape
    if n_users == 0:
        raise InstanceError("there are no users; expected at least one row of demands")
    if n_resources == 0:
        raise InstanceError("there are no resources; expected at least one column of demands")
    if c.shape[0] == 0 or c.size == 0:
        raise InstanceError("the cluster is empty; expected at least one server with capacities")
    if c.shape[1] != n_resources:
        raise InstanceError(
            f"demands have shape {d.shape} and capacities {c.shape}; expected the same number of "
            "resources "
            f"(columns), not {n_resources} and {c.shape[1]}"
        )
    return d, c


def matrix(values: Any, name: str, columns: int | None = None) -> np.ndarray:
    """Return a two-dimensional array of floats."""
    try:
        array = floats(values)
    except NumberError as error:
        raise InstanceError(
            f"{name} are not all numbers ({_no_number(values) or error}); expected a table of "
            "numbers"
        ) from None
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        expected = (
            "two dimensions"
            if columns is None
            else f"shape (…, {columns}), one column for each resource"
        )
        raise InstanceError(f"{name} have shape {array.shape}; expected {expected}")
    return array


def _rows(values: Any) -> Any:
    """Return a table as it is, and the numbers of one row as a table."""
    if not _several(values):
        return [[values]]
    is_row = values.ndim == 1 if isinstance(values, np.ndarray) else not any(map(_several, values))
    return [values] if is_row else values


def _no_number(values: Any, names: Index | None = None) -> str:
    """Return the fault of a table: an entry that is no number, or a row of another length.

    The text is empty where there is none.
    """
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    rows = list(values) if _several(values) else [values]
    lengths = []
    for k, row in enumerate(rows):
        listed = _several(row)
        place = (
            f"in row {k + 1}"
            if names is None
            else f"of {names.name} {names[k]!r}"
            if k < len(names)
            else f"in entry {k + 1}"
        )
        cells = list(row) if listed else [row]
        lengths.append(len(cells))
        for column, cell in enumerate(cells):
            try:
                floats(0 if cell is None else cell)
            except NumberError as error:
                value = "a number too large" if isinstance(error, OverflowError) else quoted(cell)
                column_text = f", column {column + 1}" if listed else ""
                remedy = f"; {error.remedy}" if error.remedy else ""
                return f"{value} {place}{column_text}{remedy}"
        if lengths[0] != lengths[-1]:
            return f"row {k + 1} has {lengths[-1]} entries, and row 1 has {lengths[0]}"
    return ""


def _several(value: Any) -> bool:
    return (
        value.ndim > 0
        if isinstance(value, np.ndarray)
        else isinstance(value, Iterable) and not isinstance(value, str)
    )


def amounts(
    array: np.ndarray, name: str, rows: Index, columns: Index, row_noun: str, column_noun: str
) -> None:
    """Require finite numbers >= 0; the error names the first that is not."""

    def entry(position: tuple[int, ...]) -> str:
        row, column = rows[position[0]], columns[position[1]]
        return f"{name} of {row_noun} {row!r}, {column_noun} {quoted(column)},"

    refused = ~(np.isfinite(array) & (array >= 0))
    if refused.any():
        position = tuple(np.argwhere(refused)[0])
        raise InstanceError(
            f"{entry(position)} is {array[position]:g}; expected a finite number >= 0"
            + _remedy(array[position])
        )
    whole_digits(array, entry)


def whole_digits(array: np.ndarray, name: Callable[[tuple[int, ...]], str]) -> None:
    """Raise for positive numbers so small that they lack digits (denormal); ``name`` names them.

    Their quotients are no floats, or wrong ones, so that nothing could be said of an answer.
    """
    denormal = (array > 0) & (array < _SMALLEST)
    if denormal.any():
        position = tuple(np.argwhere(denormal)[0].tolist())
        raise InstanceError(
            f"{name(position)} is {array[position]:g}; expected 0, or at least {_SMALLEST:.3g}: smaller "
            "numbers have lost digits "
            "(give it in a smaller unit)"
        )


def _remedy(value: float) -> str:
    if np.isnan(value):
        return " (write 0 for 'none', or fill the gap)"
    if np.isinf(value):
        return " (an unlimited resource binds no user: leave it out)"
    return ""


def vector(values: Any, size: int, name: str, names: Index) -> np.ndarray:
    """Return one float for each label."""
    array = _numbers(f"{name}s", values, names)
    if array.shape != (size,):
        raise InstanceError(
            f"{name}s have shape {array.shape}; expected ({size},), one for each of {few(names)}"
        )
    return array


def _numbers(name: str, values: Any, *axes: Index) -> np.ndarray:
    """Return floats in the order of the labels."""
    values = _in_order(values, name, *axes)
    try:
        return floats(values)
    except NumberError as error:
        raise InstanceError(
            f"{name} are not all numbers ({_no_number(values, axes[0]) or error})"
        ) from None


def _in_order(values: Any, name: str, *axes: Index) -> Any:
    """Return what is given in the order of the labels, by `aligned`."""
    return aligned(values, axes, f"the argument {name.replace(' ', '_')!r}", InstanceError)


def weights(values: Any, demands: np.ndarray, users: Index, resources: Index) -> np.ndarray:
    """Return weights N or N×R: finite, and > 0, or 0 for a resource that a user does not demand."""
    if values is None:
        return np.ones(len(users))
    array = _numbers("weights", values, users, resources)
    if array.shape not in ((len(users),), demands.shape):
        raise InstanceError(
            f"weights have shape {array.shape}; expected ({len(users)},), one for each user, or "
            f"{demands.shape}, "
            "one for each user and resource"
        )
    refused = ~(np.isfinite(array) & (array > 0))
    if array.ndim == 2:
        refused &= ~((array == 0) & (demands == 0))
    if refused.any():
        position = tuple(np.argwhere(refused)[0])
        resource_text = f", resource {quoted(resources[position[1]])}" if array.ndim == 2 else ""
        raise InstanceError(
            f"weight of user {quoted(users[position[0]])}{resource_text} is {array[position]:g}; "
            "expected a finite number > 0 (leave a user out who is to get nothing, or set its task limit to 0)"
        )
    whole_digits(array, lambda position: f"weight of user {quoted(users[position[0]])}")
    return array


def task_limits(limits: Any, users: Index) -> np.ndarray:
    """Return limits N >= 0, infinite where there is none (NaN in a table also means none)."""
    if limits is None:
        return np.full(len(users), np.inf)
    ordered = _in_order(limits, "task_limits", users)
    if isinstance(ordered, (list, tuple)) or getattr(ordered, "ndim", 0) == 1:
        ordered = [np.inf if item is None else item for item in ordered]
    array = vector(ordered, len(users), "task limit", users)
    problem = (
        "task limit of user {0!r} is {1:g}; expected a number >= 0 (infinity or None: no limit)"
    )
    _refuse(~(array >= 0), users, problem, array)
    whole_digits(array, lambda position: f"task limit of user {quoted(users[position[0]])}")
    return array


def job_sizes(values: Any, limits: np.ndarray, users: Index) -> np.ndarray | None:
    """Return job sizes N, of which task limits are multiples; None where all are 1."""
    if values is None:
        return None
    ordered = _in_order(values, "job_sizes", users)
    if isinstance(ordered, (list, tuple)) or getattr(ordered, "ndim", 0) == 1:
        ordered = [1 if item is None else item for item in ordered]
    sizes = _whole_numbers(ordered, users, "job size of user")
    finite = np.where(np.isfinite(limits), limits, 0.0)
    for n in np.flatnonzero((sizes > 1) & (finite % sizes > 0)).tolist():
        raise InstanceError(
            f"task limit of user {quoted(users[n])} is {limits[n]:g}, which is no multiple of its job "
            f"size, {sizes[n]}; its tasks run {sizes[n]} at once or not at all"
        )
    return None if (sizes == 1).all() else sizes


def rates(values: Any, users: Index, servers: Index) -> np.ndarray | None:
    """Return rates N×K >= 0."""
    if values is None:
        return None
    array = matrix(_in_order(values, "rates", users, servers), "rates", len(servers))
    if array.shape != (len(users), len(servers)):
        raise InstanceError(
            f"rates have shape {array.shape}; expected {(len(users), len(servers))}, users × "
            "servers"
        )
    amounts(array, "rate", users, servers, "user", "server")
    return array


def counts(values: Any, servers: Index, capacities: np.ndarray, resources: Index) -> np.ndarray:
    """Return the counts of identical servers: whole, >= 1, and with a finite total capacity."""
    numbers = (
        np.ones(len(servers), dtype=np.int64)
        if values is None
        else _whole_numbers(values, servers, "count of server")
    )
    with np.errstate(over="ignore"):
        overflowing = np.isinf(numbers @ capacities)
    problem = (
        "all servers together have more of resource {0!r} than a float holds; give demands and "
        "capacities of it in a "
        "larger unit"
    )
    _refuse(overflowing, resources, problem)
    return numbers


def _whole_numbers(values: Any, labels: Index, name: str) -> np.ndarray:
    """Return whole numbers of at least 1, one for each label; ``name`` is for errors."""
    array = vector(values, len(labels), name.partition(" of ")[0], labels)
    refused = ~(
        np.isfinite(array) & (array >= 1) & (array == np.floor(array)) & (array < LARGEST_WHOLE)
    )
    if refused.any():
        position = int(np.argmax(refused))
        bound = " below 2**53" if array[position] >= LARGEST_WHOLE else ""
        raise InstanceError(
            f"{name} {quoted(labels[position])} is {array[position]:g}; expected a whole number >= 1{bound}"
        )
    return array.astype(np.int64)


def entitlements(values: Any, users: Index) -> np.ndarray | None:
    """Return entitlements N >= 0 that sum to 1."""
    if values is None:
        return None
    array = vector(values, len(users), "entitlement", users)
    refused = ~(np.isfinite(array) & (array >= 0))
    _refuse(refused, users, "entitlement of user {0!r} is {1:g}; expected a number >= 0", array)
    whole_digits(array, lambda position: f"entitlement of user {quoted(users[position[0]])}")
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
    if not isinstance(names, Mapping):
        raise InstanceError(
            f"units are {quoted(names)}; expected a mapping from resources to units (text)"
        )
    for resource, unit in names.items():
        require_known(
            resource,
            list(resources),
            f"a unit is given for {quoted(resource)}, which is no resource",
            InstanceError,
        )
        if unit is not None:
            require_text(unit, f"the unit of {quoted(resource)}", InstanceError)
    return {str(resource): unit for resource, unit in names.items() if unit}


def attributes(table: pd.DataFrame | None, names: Index) -> pd.DataFrame | None:
    """Return free columns with one row for each label, in their order; None without any."""
    if table is None:
        return None
    name = f"{names.name}_attributes"
    if not isinstance(table, pd.DataFrame):
        expected = f"a DataFrame with one row for each {names.name}"
        raise InstanceError(f"{name} are {type(table).__name__}; expected {expected}")
    if len(table) != len(names):
        raise InstanceError(
            f"attributes of {len(table)} {names.name}s for {len(names)}; expected one row each"
        )
    has_no_labels = type(table.index) is pd.RangeIndex and len(table) == len(names)
    if has_no_labels and not any(isinstance(label, int) for label in names):
        # a table by columns, whose rows are in order: 0, 1, … cannot be meant as labels
        table = table.set_axis(names.labels)
    ordered = table.iloc[
        order(table.index, names, f"the table {quoted(name)}", InstanceError)
    ].copy()
    ordered.index = names.labels
    for column, entries in ordered.items():
        require_writable(column, f"a column of the table {name!r}", InstanceError)
        if pd.api.types.is_numeric_dtype(entries):
            continue
        for label, entry in zip(names, entries, strict=True):
            if is_writable(entry):
                continue
            subject = f"{quoted(column)} of {names.name} {quoted(label)}"
            require_writable(entry, subject, InstanceError)
    return ordered


def rates_fit(
    values: np.ndarray | None, d: np.ndarray, c: np.ndarray, indices: tuple[Index, Index, Index]
) -> None:
    """Raise for a rate above 0 on a server that lacks a demanded resource, where no task fits."""
    if values is None:
        return
    for r in range(d.shape[1]):
        demanded = d[:, r, None] > 0
        lacking = c[None, :, r] == 0
        refused = (values > 0) & demanded & lacking
        if refused.any():
            n, i = (int(k) for k in np.argwhere(refused)[0])
            user = indices[0][n]
            server = indices[1][i]
            resource = indices[2][r]
            raise InstanceError(
                f"rate of user {quoted(user)} on server {quoted(server)} is {values[n, i]:g}, but its tasks "
                f"need {quoted(resource)}, of "
                "which the server has none; expected the rate 0 there (or give the server a "
                "capacity of it, or leave "
                "the resource out of the user's demands)"
            )


def demands_something(demands: np.ndarray, users: Index) -> None:
    """Require that each user demands something."""
    problem = (
        "user {0!r} demands nothing, so it could run without end; expected a positive demand for "
        "at least one resource "
        "(leave the user out, or give the demand)"
    )
    _refuse(~demands.any(axis=1), users, problem)


def offered_somewhere(capacities: np.ndarray, resources: Index) -> None:
    """Require that each resource is in some server."""
    problem = (
        "resource {0!r} is in no server: its capacity is 0 everywhere; expected a positive "
        "capacity somewhere (leave "
        "the resource out and the users who need it)"
    )
    _refuse(~capacities.any(axis=0), resources, problem)


def eligible_somewhere(eligible: np.ndarray, users: Index) -> None:
    """Require that each user may run on some server."""
    problem = (
        "user {0!r} has no eligible server; expected at least one (relax its condition, or leave "
        "it out)"
    )
    _refuse(~eligible.any(axis=1), users, problem)


def _refuse(refused: Any, names: Index, problem: str, values: Any = None) -> None:
    """Raise for the first refused entry: its name goes to ``{0}``, its value to ``{1}``."""
    if refused.any():
        position = int(refused.argmax())
        raise InstanceError(
            problem.format(names[position], None if values is None else values[position])
        )
