"""Instances from a table of users and a table of servers, and back.

A column is a resource when both tables have it; its header may carry the unit (``cpu [cores]``).
Users may also have ``weight`` or ``weight:<resource>``, ``task_limit``, ``job_size``,
``entitlement``, ``queue``, ``eligible`` and ``rate:<server>``, servers ``count``. Other columns are free attributes.
``resource:count`` or ``attribute:cpu`` settles what is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest, quoted, require_known, warn_caller
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..notation.labels import in_order
from ..notation.reals import NumberError, floats, is_number

RESERVED: dict[str, frozenset[str]] = {
    "user": frozenset(
        {"user", "weight", "task_limit", "job_size", "entitlement", "queue", "eligible"}
    ),
    "server": frozenset({"server", "count"}),
}
#: Columns that belong to a label: a weight for one resource, a rate on one server.
FAMILIES: dict[str, tuple[str, ...]] = {"user": ("weight:", "rate:"), "server": ()}
RESOURCE = "resource:"
ATTRIBUTE = "attribute:"
#: Numeric columns of users that are attributes without being called so.
NUMERIC_ATTRIBUTES = frozenset({"arrival"})
#: A name in a condition: in backticks, or a plain word.
_WORD = re.compile(r"`([^`]+)`|([^\W\d]\w*)")
_WITH_UNIT = re.compile(r"(?P<name>.+?) ?\[(?P<unit>[^\[\]]*)\]", re.DOTALL)


def from_frames(
    users: pd.DataFrame,
    servers: pd.DataFrame,
    queues: Any = None,
    *,
    resources: Iterable[Any] | Mapping[Any, str | None] | None = None,
    units: Mapping[Any, str] | None = None,
    eligible: Any = None,
    rates: Any = None,
    name: str = "",
) -> Instance:
    """Return an instance from a table of users and a table of servers.

    Parameters
    ----------
    users : DataFrame
        One row for each user, labelled by a column ``user`` or else by the index: what one task
        demands of each resource, and optionally ``weight`` (or ``weight:<resource>``),
        ``task_limit`` (blank: none), ``job_size`` (blank: 1), ``entitlement``,
        ``queue`` (its path; blank: the root),
        ``eligible`` (a condition on servers, or a list of them), ``rate:<server>`` and free
        columns.
    servers : DataFrame
        One row for each server (or each ``count`` identical ones), labelled by a column ``server``
        or else by the index: its capacity of each resource, and free columns that conditions may
        name.
    queues : DataFrame or mapping, optional
        Weights, guarantees and caps of queues, as :meth:`Instance.from_arrays` takes them.
    resources : list of names, or mapping from names to units, optional
        By default the columns that both tables have, in the order of ``servers``.
    units : mapping, optional
        Unit of each resource, where no header carries it.
    eligible, rates : optional
        As :meth:`Instance.from_arrays` takes them, instead of columns.
    name : str

    Raises
    ------
    InstanceError
        When a column is missing or could mean two things, or the numbers do not describe an
        allocation problem.

    Examples
    --------
    >>> users = pd.DataFrame({"cpu [cores]": [1, 3], "memory": [4, 1], "weight": [2, 1]}, index=["ann", "bob"])
    >>> servers = pd.DataFrame({"cpu [cores]": [9], "memory": [18], "zone": ["eu"]}, index=["s1"])
    >>> instance = from_frames(users, servers)
    >>> instance
    <Instance: 2 users, 1 server, resources cpu, memory>
    >>> instance.units
    {'cpu': 'cores'}
    """
    n = _Table(users, "user")
    i = _Table(servers, "server")
    chosen = _chosen(n, i, resources)
    if resources is None:
        n.refuse_numbers_among_attributes(chosen, i)
        i.warn_of_unused_numbers(chosen, n.entries("eligible") if eligible is None else eligible)
    demands = n.numbers(chosen)
    capacities = i.numbers(chosen)
    if eligible is not None and "eligible" in n.frame:
        raise InstanceError(
            "eligible is given twice, as a column of users and as an argument; give it once"
        )
    by_server = n.family("rate:", i.labels, "server")
    if rates is not None and by_server is not None:
        raise InstanceError(
            "rates are given twice, as columns of users and as an argument; give them once"
        )
    return Instance.from_arrays(
        demands,
        capacities,
        users=n.labels,
        servers=i.labels,
        resources=chosen,
        weights=_weights(n, chosen, demands),
        eligible=n.entries("eligible") if eligible is None else eligible,
        task_limits=_filled(n, "task_limit", np.inf),
        job_sizes=_filled(n, "job_size", 1),
        counts=i.entries("count"),
        rates=by_server if rates is None else rates,
        entitlements=_entitlements(n),
        queue=_filled(n, "queue", None),
        queues=queues,
        units=_units(
            n, i, chosen, resources if isinstance(resources, Mapping) else {}, units or {}
        ),
        server_attributes=i.attributes(chosen),
        user_attributes=n.attributes(chosen),
        name=name,
    )


def to_frames(instance: Instance) -> tuple[pd.DataFrame, ...]:
    """Return the tables of users, servers and any queues; :func:`from_frames` reads them back.

    Columns that hold nothing but defaults are left out. The name of the instance is in no table.

    >>> instance = Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], weights=[1, 2], task_limits=[5, None])
    >>> users, servers = to_frames(instance)
    >>> users
           resource1  resource2  weight  task_limit
    user
    user1        1.0        4.0     1.0         5.0
    user2        3.0        1.0     2.0         inf
    >>> from_frames(users, servers).equals(instance)
    True
    """
    users = _user_columns(instance)
    servers = dict(_resource_columns(instance, instance.capacities, "server"))
    if (instance.counts != 1).any():
        servers["count"] = instance.counts
    names = {str(resource) for resource in instance.resources}
    tables = []
    for columns, attributes, index, other in (
        (users, instance.user_attributes, instance.users, instance.server_attributes),
        (servers, instance.server_attributes, instance.servers, instance.user_attributes),
    ):
        reserved = names.union(map(str, other.columns))
        for position, label in enumerate(attributes.columns):
            values = attributes.iloc[:, position]
            header = _attribute_header(label, values, index.name, reserved)
            if header in columns:
                raise InstanceError(
                    f"{index.name}s have attribute {quoted(label)} twice; rename one"
                )
            columns[header] = values.to_numpy()
        tables.append(
            pd.DataFrame(columns, index=pd.Index(index.labels, name=index.name, dtype=object))
        )
    if instance.queues is not None:
        tables.append(instance.queues.table(instance.resources))
    return tuple(tables)


def eligible_entries(instance: Instance) -> list[str | list[Any] | None]:
    """Return each user's condition or list of servers, or None where it may run everywhere."""
    entries: list[str | list[Any] | None] = list(instance.conditions) or [None] * len(
        instance.users
    )
    if instance.has_constraints:
        servers = list(instance.servers)
        for user in np.flatnonzero(~instance.eligible.all(axis=1)):
            if entries[user] is None:
                entries[user] = [servers[k] for k in np.flatnonzero(instance.eligible[user])]
    return entries


def split_unit(header: str) -> tuple[str, str]:
    """Return the name and unit of a header.

    >>> split_unit("cpu [cores]"), split_unit("cpu")
    (('cpu', 'cores'), ('cpu', ''))
    """
    match = _WITH_UNIT.fullmatch(header)
    return (match["name"], match["unit"]) if match else (header, "")


def _labels_of(frame: pd.DataFrame, noun: str) -> list[Any]:
    """Return the labels of a table: its column ``user`` (or ``server``), or else its index.

    >>> _labels_of(pd.DataFrame({"user": ["ann"], "cpu": [1]}), "user")
    ['ann']
    """
    if noun in frame:
        return list(frame[noun].tolist())
    other = "server" if noun == "user" else "user"
    headers = [frame.index.name]
    if isinstance(frame.index, pd.RangeIndex):
        headers += [
            header
            for header in frame.columns
            if str(header).strip().casefold() in (noun, f"{noun}s")
        ]
        headers += [other] * (other in frame)
    if other in headers or len(headers) > 1:
        raise InstanceError(
            f"the table of {noun}s has {quoted(headers[-1])}, and no column {noun!r}, where labels stand; the "
            "table of users comes first"
        )
    return list(frame.index.tolist())


class _Table:
    """One of the two tables: its labels, and what its headers say."""

    def __init__(self, frame: pd.DataFrame, noun: str) -> None:
        if not isinstance(frame, pd.DataFrame):
            raise InstanceError(
                f"the table of {noun}s is {type(frame).__name__}; expected a DataFrame"
            )
        for twice in frame.columns[frame.columns.duplicated()][:1]:
            raise InstanceError(f"the table of {noun}s has column {twice!r} twice; rename one")
        self.frame = frame
        self.noun = noun
        self.labels = _labels_of(frame, noun)
        #: name of each column that may be a resource → its header and unit
        self.candidates: dict[Any, tuple[Any, str]] = {}
        for header in frame.columns:
            text = header if isinstance(header, str) else ""
            if header in RESERVED[noun] or text.startswith((ATTRIBUTE, *FAMILIES[noun])):
                continue
            name, unit = split_unit(text.removeprefix(RESOURCE)) if text else (header, "")
            if name in self.candidates:
                raise InstanceError(f"the table of {noun}s has two columns for {name!r}; keep one")
            self.candidates[name] = (header, unit)

    def header(self, resource: Any) -> Any:
        """Return the header of a resource."""
        require_known(
            resource,
            self.candidates,
            f"the table of {self.noun}s has no column for resource {quoted(resource)}",
            InstanceError,
        )
        return self.candidates[resource][0]

    def numbers(self, resources: list[Any]) -> np.ndarray:
        """Return the amounts of these resources, NaN where one is missing."""
        table = np.empty((len(self.frame), len(resources)))
        for k, resource in enumerate(resources):
            table[:, k] = self._column(self.header(resource))
        return table

    def _column(self, header: Any) -> np.ndarray:
        column = self.frame[header]
        plain = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)
        if plain and not pd.api.types.is_bool_dtype(column):
            return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
        numbers = np.full(len(column), np.nan)
        for k, value in enumerate(column):
            with suppress(NumberError):
                if is_missing(value) or is_number(value):
                    numbers[k] = floats(None if is_missing(value) else value)
                    continue
            raise InstanceError(
                f"column {header!r} of {self.noun} {quoted(self.labels[k])} is {quoted(value)}; expected "
                "a number (the column is a resource because it is in both tables: if it is not one, call "
                f"it 'attribute:{header}')"
            )
        return numbers

    def entries(self, header: str) -> list[Any] | None:
        """Return the entries of a reserved column, or None when it is not there."""
        return self.frame[header].tolist() if header in self.frame else None

    def family(self, prefix: str, labels: list[Any], noun: str) -> np.ndarray | None:
        """Return the columns ``prefix<label>``, one for each label, or None when there is none."""
        header_of = {
            c[len(prefix) :]: c
            for c in self.frame.columns
            if isinstance(c, str) and c.startswith(prefix)
        }
        if not header_of:
            return None
        label_texts = [str(label) for label in labels]
        for label, header in header_of.items():
            problem = f"column {header!r} names no {noun}"
            require_known(label, label_texts, problem, InstanceError)
        for label in label_texts:
            problem = f"the table of users has no '{prefix}{label}', but one for another {noun}"
            require_known(label, header_of, problem, InstanceError)
        return np.column_stack([self._column(header_of[str(label)]) for label in labels])

    def attributes(self, resources: list[Any]) -> pd.DataFrame:
        """Return the free columns."""
        used = {self.header(resource) for resource in resources} | RESERVED[self.noun]
        free = {}
        for header in self.frame.columns:
            if header in used or str(header).startswith(FAMILIES[self.noun]):
                continue
            name = header.removeprefix(ATTRIBUTE) if isinstance(header, str) else header
            if name in free:
                raise InstanceError(
                    f"the table of {self.noun}s has attribute {name!r} twice; rename one"
                )
            free[name] = self.frame[header].array
        return pd.DataFrame(free, index=pd.Index(self.labels, dtype=object))

    def refuse_numbers_among_attributes(self, resources: list[Any], servers: _Table) -> None:
        """Refuse a column of numbers that is no resource: probably one that no server offers."""
        meant = RESERVED["user"] | set(servers.candidates)
        for name, (header, _) in self.candidates.items():
            is_resource = name in resources or header in NUMERIC_ATTRIBUTES
            if not is_resource and _is_numeric(self.frame[header]):
                raise InstanceError(
                    f"column {header!r} of users holds numbers but is not in the table of servers, so it "
                    "may be a resource that no server offers: add it to the servers, or call it "
                    f"'attribute:{header}'; {nearest(name, sorted(map(str, meant)))}"
                )

    def warn_of_unused_numbers(self, resources: list[Any], eligible: Any) -> None:
        """Warn of columns of numbers of servers that no user needs and no condition names.

        Each is probably a resource that the table of users lacks, or ``count`` by another name.
        """
        conditions = str(eligible.tolist() if isinstance(eligible, pd.Series) else eligible)
        words = {word for pair in _WORD.findall(conditions) for word in pair}
        unused = [
            header
            for name, (header, _) in self.candidates.items()
            if name not in resources and str(name) not in words and _is_numeric(self.frame[header])
        ]
        if unused:
            warn_caller(
                f"servers have columns of numbers that no user needs, {quoted(unused)}: are columns of users "
                "missing, or is 'count' misspelt? Attributes may be called 'attribute:…'"
            )


def _is_numeric(column: pd.Series[Any]) -> bool:
    present = column[column.notna()]
    kinds = ("integer", "floating", "mixed-integer-float", "decimal")
    return len(present) > 0 and pd.api.types.infer_dtype(present) in kinds


def _chosen(n: _Table, i: _Table, resources: Any) -> list[Any]:
    if resources is not None:
        chosen = (
            [resources]
            if isinstance(resources, str)
            else list(in_order(resources, "resources", InstanceError))
        )
        for resource in chosen:
            n.header(resource)
            i.header(resource)
        return chosen
    for table, other in ((n, i), (i, n)):
        for name, (header, _) in table.candidates.items():
            if isinstance(header, str) and header.startswith(RESOURCE):
                other.header(name)
    chosen = [name for name in i.candidates if name in n.candidates]
    if not chosen:
        raise InstanceError(
            "no column is in both tables, so there is no resource; users have "
            f"{list(n.candidates)}, servers "
            f"{list(i.candidates)}"
        )
    return chosen


def _weights(n: _Table, resources: list[Any], demands: np.ndarray) -> Any:
    """Return one weight for each user, or one for each resource, 0 where blank and not demanded."""
    weights = n.family("weight:", resources, "resource")
    if weights is None:
        return n.entries("weight")
    if "weight" in n.frame:
        raise InstanceError(
            "users have a column 'weight' and columns 'weight:…'; expected one or the other"
        )
    is_blank = np.isnan(weights)
    for user, resource in np.argwhere(is_blank & (demands > 0)):
        raise InstanceError(
            f"user {quoted(n.labels[user])} has no weight for {quoted(resources[resource])}, which it demands; "
            "expected one for each resource"
        )
    return np.where(is_blank, 0.0, weights)


def _entitlements(n: _Table) -> list[Any] | None:
    """Return the entitlement of each user; None where the column is not there or blank."""
    entitlements = n.entries("entitlement") or []
    users = [user for user, entry in zip(n.labels, entitlements, strict=False) if is_missing(entry)]
    if len(users) == len(entitlements):
        return None
    if users:
        raise InstanceError(
            f"user {quoted(users[0])} has no entitlement but others have; expected one for each user, or "
            "none"
        )
    return entitlements


def _filled(n: _Table, header: str, default: Any) -> list[Any] | None:
    """Return a reserved column with the default for blanks; None where the column is missing."""
    entries = n.entries(header)
    if entries is None:
        return None
    return [default if is_missing(entry) or entry == "" else entry for entry in entries]


def _units(
    n: _Table,
    i: _Table,
    resources: list[Any],
    with_names: Mapping[Any, str | None],
    arguments: Mapping[Any, str],
) -> dict[Any, str]:
    sources: list[tuple[str, Mapping[Any, str | None]]] = [
        ("the table of users", {resource: n.candidates[resource][1] for resource in resources}),
        ("the table of servers", {resource: i.candidates[resource][1] for resource in resources}),
        ("resources", with_names),
        ("units", arguments),
    ]
    units: dict[Any, str] = {}
    origin: dict[Any, str] = {}
    for source, unit_of in sources:
        for resource, unit in unit_of.items():
            if not unit:
                continue
            first = units.setdefault(resource, unit)
            where = origin.setdefault(resource, source)
            if first != unit:
                raise InstanceError(
                    f"resource {resource!r} is in {quoted(first)} in {where} and in {unit!r} in "
                    f"{source}; convert one of them"
                )
    return units


def _user_columns(instance: Instance) -> dict[Any, Any]:
    users = dict(_resource_columns(instance, instance.demands, "user"))
    if instance.weights.ndim == 2:
        users |= _family_columns("weight:", instance.resources, instance.weights)
    elif (instance.weights != 1).any():
        users["weight"] = instance.weights
    if np.isfinite(instance.task_limits).any():
        users["task_limit"] = instance.task_limits
    if instance.has_jobs:
        users["job_size"] = instance.job_sizes
    if instance.entitlements is not None:
        users["entitlement"] = instance.entitlements
    if instance.queue is not None:
        users["queue"] = pd.Series(instance.queue, dtype=object).to_numpy()
    places = eligible_entries(instance)
    if any(entry is not None for entry in places):
        users["eligible"] = pd.Series(places, dtype=object).to_numpy()
    if instance.rates is not None:
        users |= _family_columns("rate:", instance.servers, instance.rates)
    return users


def _resource_columns(
    instance: Instance, table: np.ndarray, noun: str
) -> Iterable[tuple[Any, np.ndarray]]:
    for k, resource in enumerate(instance.resources):
        header = resource
        unit = instance.units.get(str(resource), "")
        if isinstance(resource, str):
            if resource in RESERVED[noun] or resource.startswith(
                (RESOURCE, ATTRIBUTE, *FAMILIES[noun])
            ):
                header = f"{RESOURCE}{resource}"
            if unit or split_unit(resource) != (resource, ""):
                header = f"{header} [{unit}]"
        parsed = (
            split_unit(header.removeprefix(RESOURCE)) if isinstance(header, str) else (header, "")
        )
        if parsed != (resource, unit):
            raise InstanceError(
                f"resource {resource!r} in {unit!r} cannot be told from its header; rename one of "
                "them"
            )
        yield header, table[:, k]


def _family_columns(prefix: str, labels: Iterable[Any], table: np.ndarray) -> dict[str, np.ndarray]:
    columns = {f"{prefix}{label}": table[:, k] for k, label in enumerate(labels)}
    if len(columns) < table.shape[1]:
        raise InstanceError(
            f"labels that differ only in type (1 and '1') cannot be told apart in '{prefix}1'; "
            "rename"
        )
    return columns


def _attribute_header(label: Any, values: pd.Series[Any], noun: str, reserved: set[str]) -> Any:
    """Return the label, with the prefix where it could be taken for something else."""
    text = str(label)
    name = split_unit(text)[0]
    plain = name == text and name not in reserved | RESERVED[noun]
    plain = plain and not text.startswith((RESOURCE, ATTRIBUTE, *FAMILIES[noun]))
    if text not in NUMERIC_ATTRIBUTES or noun == "server":
        plain = plain and not _is_numeric(values)
    if plain:
        return label
    if not isinstance(label, str):
        raise InstanceError(
            f"attribute {quoted(label)} of {noun}s could be taken for a resource; give it a name of text"
        )
    return f"{ATTRIBUTE}{label}"
