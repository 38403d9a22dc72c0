"""Checks of what users hand in: each failure names the user, server or resource, and says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError
from ...tolerances import AGREEMENT
from ..notation.expressions import Index
from ..notation.labels import aligned, few, floats, order
from .problem import LARGEST_WHOLE

#: What Python and NumPy raise for what is no number of floating point.
_NO_NUMBERS = (TypeError, ValueError, OverflowError)
#: The smallest float that has all its digits.
_SMALLEST = float(np.finfo(float).smallest_normal)


def labels(given: Any, count: int, what: str) -> pd.Index[Any]:
    """Return ``count`` unique labels: those given, or ``user1``, ``user2`` and so on."""
    if given is None:
        return pd.Index([f"{what}{k}" for k in range(1, count + 1)], dtype=object)
    if len(given) != count:
        raise InstanceError(
            f"{len(given)} {what} labels for {count} {what}s; expected one label each"
        )
    return distinct(given, what)


def distinct(given: Iterable[Any], what: str) -> pd.Index[Any]:
    """Return labels, each text or a whole number and there once."""
    items = list(given)
    for position, item in enumerate(items):
        if isinstance(item, np.generic):
            items[position] = item = item.item()
        if not isinstance(item, (str, int)) or isinstance(item, bool):
            raise InstanceError(
                f"{what} label {item!r} (position {position}) is {type(item).__name__}; expected "
                "text or a whole number"
            )
        if item == "":
            raise InstanceError(f"{what} label at position {position} is empty; expected a name")
    index: pd.Index[Any] = pd.Index(items, dtype=object)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise InstanceError(f"{what} {twice!r} occurs twice; labels must be unique")
    return index


def tables(demands: Any, capacities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return demands N×R and capacities K×R of the same resources; there is at least one of each."""
    d = matrix(demands, "demands")
    c = matrix(np.atleast_2d(np.asarray(capacities)), "capacities")
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


def matrix(given: Any, what: str, columns: int | None = None) -> np.ndarray:
    """Return a two-dimensional array of floats."""
    try:
        array = floats(given)
    except _NO_NUMBERS as error:
        raise InstanceError(
            f"{what} are not all numbers ({_no_number(given) or error}); expected a table of "
            "numbers"
        ) from None
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        expected = (
            "two dimensions"
            if columns is None
            else f"shape (…, {columns}), one column for each resource"
        )
        raise InstanceError(f"{what} have shape {array.shape}; expected {expected}")
    return array


def _no_number(given: Any, names: Index | None = None) -> str:
    """Return which entry of a list or table is no number, or which row is of another length; nothing if none is."""
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    rows = list(given) if _several(given) else [given]
    lengths = []
    for k, row in enumerate(rows):
        listed = _several(row)
        at = (
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
            except _NO_NUMBERS as error:
                plain = cell.item() if isinstance(cell, np.generic) else cell
                told = "a number too large" if isinstance(error, OverflowError) else repr(plain)
                return f"{told} {at}" + (f", column {column + 1}" if listed else "")
        if lengths[0] != lengths[-1]:
            return f"row {k + 1} has {lengths[-1]} entries, and row 1 has {lengths[0]}"
    return ""


def _several(given: Any) -> bool:
    return (
        given.ndim > 0
        if isinstance(given, np.ndarray)
        else isinstance(given, Iterable) and not isinstance(given, str)
    )


def amounts(
    array: np.ndarray, what: str, rows: Index, columns: Index, row: str, column: str
) -> None:
    """Require finite numbers >= 0; the first wrong one is named."""
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise InstanceError(
            f"{what} of {row} {rows[at[0]]!r}, {column} {columns[at[1]]!r}, is {array[at]:g}; "
            "expected a finite number >= 0" + _what_to_do(array[at])
        )
    whole_digits(array, lambda at: f"{what} of {row} {rows[at[0]]!r}, {column} {columns[at[1]]!r},")


def whole_digits(array: np.ndarray, name: Callable[[tuple[int, ...]], str]) -> None:
    """Refuse numbers above 0 that are too small to have all their digits (denormal ones); ``name`` says of what.

    Their quotients are no floats, or wrong ones, so that nothing could be said of an answer.
    """
    wrong = (array > 0) & (array < _SMALLEST)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        raise InstanceError(
            f"{name(at)} is {array[at]:g}; expected 0, or at least {_SMALLEST:.3g}: smaller "
            "numbers have lost digits "
            "(give it in a smaller unit)"
        )


def _what_to_do(value: float) -> str:
    if np.isnan(value):
        return " (write 0 for 'none', or fill the gap)"
    if np.isinf(value):
        return " (an unlimited resource binds nobody: leave it out)"
    return ""


def vector(given: Any, size: int, what: str, names: Index) -> np.ndarray:
    """Return one float for each label."""
    array = _numbers(f"{what}s", given, names)
    if array.shape != (size,):
        raise InstanceError(
            f"{what}s have shape {array.shape}; expected ({size},), one for each of {few(names)}"
        )
    return array


def _numbers(what: str, given: Any, *axes: Index) -> np.ndarray:
    """Return floats in the order of the labels."""
    given = _in_order(given, what, *axes)
    try:
        return floats(given)
    except _NO_NUMBERS as error:
        raise InstanceError(
            f"{what} are not all numbers ({_no_number(given, axes[0]) or error})"
        ) from None


def _in_order(given: Any, what: str, *axes: Index) -> Any:
    """Return what is given in the order of the labels, by `aligned`."""
    return aligned(given, axes, f"the argument {what.replace(' ', '_')!r}", InstanceError)


def weights(given: Any, demands: np.ndarray, users: Index, resources: Index) -> np.ndarray:
    """Return weights N or N×R: finite and > 0 (0 only on a resource that the user does not demand)."""
    if given is None:
        return np.ones(len(users))
    array = _numbers("weights", given, users, resources)
    if array.shape not in ((len(users),), demands.shape):
        raise InstanceError(
            f"weights have shape {array.shape}; expected ({len(users)},), one for each user, or "
            f"{demands.shape}, "
            "one for each user and resource"
        )
    wrong = ~(np.isfinite(array) & (array > 0))
    if array.ndim == 2:
        wrong &= ~((array == 0) & (demands == 0))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        where = f", resource {resources[at[1]]!r}" if array.ndim == 2 else ""
        raise InstanceError(
            f"weight of user {users[at[0]]!r}{where} is {array[at]:g}; expected a finite number > "
            "0 "
            "(leave a user out who is to get nothing, or set its task limit to 0)"
        )
    whole_digits(array, lambda at: f"weight of user {users[at[0]]!r}")
    return array


def task_limits(given: Any, users: Index) -> np.ndarray:
    """Return limits N >= 0, infinite where there is none (NaN in a table also means none)."""
    if given is None:
        return np.full(len(users), np.inf)
    found = _in_order(given, "task_limits", users)
    if np.ndim(found) == 1:
        found = [np.inf if item is None else item for item in found]
    array = vector(found, len(users), "task limit", users)
    problem = (
        "task limit of user {0!r} is {1:g}; expected a number >= 0 (infinity or None: no limit)"
    )
    _refuse(~(array >= 0), users, problem, array)
    whole_digits(array, lambda at: f"task limit of user {users[at[0]]!r}")
    return array


def rates(given: Any, users: Index, servers: Index) -> np.ndarray | None:
    """Return rates N×K >= 0."""
    if given is None:
        return None
    array = matrix(_in_order(given, "rates", users, servers), "rates", len(servers))
    if array.shape != (len(users), len(servers)):
        raise InstanceError(
            f"rates have shape {array.shape}; expected {(len(users), len(servers))}, users × "
            "servers"
        )
    amounts(array, "rate", users, servers, "user", "server")
    return array


def counts(given: Any, servers: Index, capacities: np.ndarray, resources: Index) -> np.ndarray:
    """Return the numbers of identical servers, whole and >= 1; all that they have together is finite."""
    found = np.ones(len(servers), dtype=np.int64) if given is None else _counts(given, servers)
    with np.errstate(over="ignore"):
        endless = np.isinf(found @ capacities)
    problem = (
        "all servers together have more of resource {0!r} than a float holds; give demands and "
        "capacities of it in a "
        "larger unit"
    )
    _refuse(endless, resources, problem)
    return found


def _counts(given: Any, servers: Index) -> np.ndarray:
    array = vector(given, len(servers), "count", servers)
    wrong = ~(
        np.isfinite(array) & (array >= 1) & (array == np.floor(array)) & (array < LARGEST_WHOLE)
    )
    if wrong.any():
        at = int(np.argmax(wrong))
        most = " below 2**53" if array[at] >= LARGEST_WHOLE else ""
        raise InstanceError(
            f"count of server {servers[at]!r} is {array[at]:g}; expected a whole number >= 1{most}"
        )
    return array.astype(np.int64)


def entitlements(given: Any, users: Index) -> np.ndarray | None:
    """Return entitlements N >= 0 that sum to 1."""
    if given is None:
        return None
    array = vector(given, len(users), "entitlement", users)
    wrong = ~(np.isfinite(array) & (array >= 0))
    _refuse(wrong, users, "entitlement of user {0!r} is {1:g}; expected a number >= 0", array)
    whole_digits(array, lambda at: f"entitlement of user {users[at[0]]!r}")
    total = float(array.sum())
    if abs(total - 1) > AGREEMENT:
        raise InstanceError(
            f"entitlements sum to {total:.12g}; expected 1 (fractions of the whole: divide each by "
            f"{total:.6g})"
        )
    return array


def units(given: Mapping[str, str] | None, resources: Index) -> dict[str, str]:
    """Return the units of resources as text."""
    known = list(resources)
    unknown = [resource for resource in given or {} if resource not in known]
    if unknown:
        raise InstanceError(
            f"a unit is given for {unknown[0]!r}, which is no resource; resources: {known}"
        )
    return {str(resource): str(unit) for resource, unit in (given or {}).items()}


def attributes(given: pd.DataFrame | None, names: Index) -> pd.DataFrame:
    """Return free columns with one row for each label, in their order."""
    if given is None:
        return pd.DataFrame(index=names.labels)
    what = f"{names.name}_attributes"
    if not isinstance(given, pd.DataFrame):
        expected = f"a DataFrame with one row for each {names.name}"
        raise InstanceError(f"{what} are {type(given).__name__}; expected {expected}")
    if len(given) != len(names):
        raise InstanceError(
            f"attributes of {len(given)} {names.name}s for {len(names)}; expected one row each"
        )
    found = given.iloc[order(given.index, names, f"the table {what!r}", InstanceError)].copy()
    found.index = names.labels
    return found


def rates_fit(
    given: np.ndarray | None, d: np.ndarray, c: np.ndarray, indices: tuple[Index, Index, Index]
) -> None:
    """Refuse a rate above 0 on a server without a resource that the user demands: no task of it fits there."""
    if given is None:
        return
    for r in range(d.shape[1]):
        wrong = (given > 0) & (d[:, r, None] > 0) & (c[None, :, r] == 0)
        if wrong.any():
            n, i = (int(k) for k in np.argwhere(wrong)[0])
            user, server, resource = (index[k] for index, k in zip(indices, (n, i, r), strict=True))
            raise InstanceError(
                f"rate of user {user!r} on server {server!r} is {given[n, i]:g}, but its tasks "
                f"need {resource!r}, of "
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


def _refuse(wrong: Any, names: Index, problem: str, values: Any = None) -> None:
    """Raise for the first that is wrong: the problem, with its name at ``{0}`` and its value at ``{1}``."""
    if wrong.any():
        at = int(wrong.argmax())
        raise InstanceError(problem.format(names[at], None if values is None else values[at]))


def require_instance(instance: object) -> None:
    """Raise unless it is an Instance; the message says how to make one."""
    from .instance import Instance

    if not isinstance(instance, Instance):
        raise InstanceError(
            f"expected an Instance, not {type(instance).__name__}; make one with "
            "Instance.from_arrays, "
            "Instance.from_frames, fairlp.read(path) or fairlp.examples"
        )
