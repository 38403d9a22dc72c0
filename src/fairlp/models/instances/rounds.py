"""Servers in rounds: rates that change from one round to the next.

A kind of server in another round is another row of servers. Its attribute ``round`` says in which
round it is there, and ``kind`` which kind it is; without them all are there in a single round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, quoted
from ..notation.labels import Index, numbers_in
from . import checks

if TYPE_CHECKING:
    from .instance import Instance

#: Attributes of servers: the round in which a row is there, and its kind.
ROUND = "round"
KIND = "kind"


@dataclass(frozen=True)
class Rounds:
    """Which kind of server in which round each row of an instance is.

    Attributes
    ----------
    rounds, kinds : Index
    round_of, kind_of : ndarray of int, shape (K,)
        Positions of the round and the kind of each row of servers.
    """

    rounds: Index
    kinds: Index
    round_of: np.ndarray
    kind_of: np.ndarray

    @property
    def belongs(self) -> np.ndarray:
        """1 where a row of servers is of a round, shape (S, K)."""
        return np.asarray(np.arange(len(self.rounds))[:, None] == self.round_of, dtype=float)

    def by_round(self, values: np.ndarray) -> np.ndarray:
        """Return values by row of servers, the last axis, by kind and round; 0 without a row."""
        shape = (*values.shape[:-1], len(self.kinds), len(self.rounds))
        table = np.zeros(shape)
        table[..., self.kind_of, self.round_of] = values
        return table

    def by_row(self, table: np.ndarray) -> np.ndarray:
        """Return values by kind and round in the order of the rows of servers."""
        return np.asarray(table[..., self.kind_of, self.round_of])


def rounds_of(instance: Instance) -> Rounds:
    """Return the rounds of an instance, in the order in which its servers name them.

    Raises
    ------
    InstanceError
        For a server without a round, and for two servers of one kind in the same round.
    """
    attributes = instance.server_attributes
    labels = instance.servers.labels
    has_rounds = ROUND in attributes
    rounds = pd.Index(attributes[ROUND] if has_rounds else np.ones(len(labels), dtype=int))
    kinds = pd.Index(attributes[KIND] if has_rounds and KIND in attributes else labels)
    for name, values in ((ROUND, rounds), (KIND, kinds)):
        problem = f"has no {name}; expected the {name} of every server in the attribute {name!r}, or of none"
        checks.refuse_label(values.isna(), instance.servers, problem)
    round_of, round_labels = rounds.factorize()
    kind_of, kind_labels = kinds.factorize()
    places = pd.MultiIndex.from_arrays([round_of, kind_of])
    problem = "is of a kind that is in its round already; expected each kind once (alike servers have a count)"
    checks.refuse_label(places.duplicated(), instance.servers, problem)
    return Rounds(
        Index("s", round_labels, "round"), Index("i", kind_labels, "kind"), round_of, kind_of
    )


def over_rounds(instance: Instance, rates: Any) -> Instance:
    """Return the instance with its servers in every round, at the rates of that round."""
    attributes = instance.server_attributes
    if ROUND in attributes or KIND in attributes:
        raise InstanceError(
            "the servers have rounds already (an attribute 'round' or 'kind'); expected an instance "
            "of the servers of one round"
        )
    tables = _tables(instance, rates)
    axes = (instance.users, instance.servers, instance.resources)
    rates_by_round = []
    for label, table in tables.items():
        try:
            array = checks.rates(table, instance.users, instance.servers)
            checks.rates_fit(array, instance.demands, instance.capacities, axes)
        except InstanceError as error:
            raise InstanceError(f"round {quoted(label)}: {error}") from None
        assert array is not None
        rates_by_round.append(array)
    return _in_rounds(instance, list(tables), np.hstack(rates_by_round))


def _tables(instance: Instance, rates: Any) -> dict[Any, Any]:
    """Return the rates of each round, users × servers, by the label of the round."""
    expected = (
        "a table of users × servers for each round (a mapping, or columns (round, server)), or an "
        "array of users × servers × rounds"
    )
    if isinstance(rates, pd.DataFrame):
        if rates.columns.nlevels != 2:
            raise InstanceError(
                f"rates by round have columns of {rates.columns.nlevels} level; expected {expected}"
            )
        rounds = rates.columns.get_level_values(0).unique()
        tables = {label: rates[label] for label in rounds}
    elif isinstance(rates, Mapping):
        tables = dict(rates)
    else:
        array = numbers_in(rates, (), "rates by round", InstanceError)
        if array.ndim != 3 or array.shape[:2] != instance.shape:
            raise InstanceError(
                f"rates by round have shape {array.shape}; expected {expected}, {instance.shape} × rounds"
            )
        tables = {s + 1: array[:, :, s] for s in range(array.shape[2])}
    if not tables:
        raise InstanceError(f"there are rates of no round; expected {expected}")
    for label, table in tables.items():
        if table is None:
            raise InstanceError(f"round {quoted(label)} has no rates; expected {expected}")
    return tables


def _in_rounds(instance: Instance, labels: list[Any], rates: np.ndarray) -> Instance:
    """Return the servers in the rounds of these labels, one round after the other."""
    from .instance import of_servers

    kinds = list(instance.servers)
    row = np.tile(np.arange(len(kinds)), len(labels))
    names = [f"{kind} @{label}" for label in labels for kind in kinds]
    attributes = instance.server_attributes.iloc[row].set_axis(names, axis=0)
    attributes[KIND] = kinds * len(labels)
    attributes[ROUND] = [label for label in labels for _ in kinds]
    return of_servers(instance, row).derived(
        servers=Index("i", names, "server"), rates=rates, server_attributes=attributes
    )
