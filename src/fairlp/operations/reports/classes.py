"""Servers by class: equal capacity and attributes together, with a name each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...models.instances.instance import Instance
from ...models.instances.merging import equal_servers

#: More servers than these, all of another value: the attribute tells servers apart, not kinds of them.
_FEW = 24
#: Longest name made of attributes.
_LETTERS = 60


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of an instance's servers, those with most servers first.

    Attributes
    ----------
    names : list of str
    of : ndarray of int, shape (K,)
        Class of each row of servers.
    servers : ndarray of int
        Servers of each class, identical ones counted.
    capacities : ndarray, shape (classes, R)
        Of all servers of the class together.
    """

    names: list[str]
    of: np.ndarray
    servers: np.ndarray
    capacities: np.ndarray

    @classmethod
    def among(cls, instance: Instance) -> Classes:
        """Return the classes of an instance."""
        attributes = _telling(instance)
        of = equal_servers(instance, attributes)
        servers = np.bincount(of, weights=instance.counts).astype(int)
        rank = np.empty(len(servers), dtype=int)
        order = np.argsort(-servers, kind="stable")
        rank[order] = np.arange(len(order))
        of = rank[of]
        first = np.unique(of, return_index=True)[1]
        names = _unique(
            [_name(instance, attributes, int(k)) for k in first], [_amounts(instance, int(k)) for k in first]
        )
        total = instance.capacities * instance.counts[:, None]
        capacities = np.column_stack([np.bincount(of, weights=column, minlength=len(names)) for column in total.T])
        return cls(names, of, servers[order], capacities)


def _telling(instance: Instance) -> pd.DataFrame:
    """Return the attributes that tell kinds of servers apart: neither one value for all, nor one for each."""
    frame = instance.server_attributes.reset_index(drop=True)
    own = [str(name) for name in instance.servers]
    kept = []
    for k in range(frame.shape[1]):
        values = frame.iloc[:, k].astype(str)
        distinct = values.nunique()
        of_one = distinct == len(own) and (len(own) > _FEW or values.tolist() == own)
        if distinct > 1 and not of_one:
            kept.append(k)
    return frame.iloc[:, kept]


def _name(instance: Instance, attributes: pd.DataFrame, row: int) -> str:
    values = [value for value in attributes.iloc[row].tolist() if value == value and value not in (None, "")]
    name = ", ".join(dict.fromkeys(map(str, values)))
    if len(name) > _LETTERS:
        name = f"{name[:_LETTERS]}…"
    return name or _amounts(instance, row)


def _amounts(instance: Instance, row: int) -> str:
    amounts = zip(instance.capacities[row].tolist(), instance.resources, strict=True)
    return ", ".join(f"{amount:.6g} {resource}" for amount, resource in amounts if amount > 0)


def _unique(names: list[str], amounts: list[str]) -> list[str]:
    """Return names of which no two are the same: amounts are added, then numbers."""
    twice = {name for name in names if names.count(name) > 1}
    longer = [f"{name}: {more}" if name in twice else name for name, more in zip(names, amounts, strict=True)]
    taken: set[str] = set()
    for k, name in enumerate(longer):
        other, count = name, 1
        while other in taken:
            count += 1
            other = f"{name} #{count}"
        taken.add(other)
        longer[k] = other
    return longer
