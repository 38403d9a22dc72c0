"""Gavel's space sharing: two jobs on one device at once, each slower than alone.

What runs on a device is a combination C: a single job, or a pair of jobs. X[C,j] is the part of its
time that a combination runs on kind j, and a job's throughput is Σ_C Σ_j T[m,C,j]·X[C,j] over the
combinations that hold it (Narayanan et al., OSDI 2020, §3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InstanceError, quoted, require_known
from ..models.instances.arithmetic import quotients, tasks_alone
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression, Index
from ..models.notation.labels import aligned, numbers_in, refuse
from ..models.notation.model import Model
from ..models.notation.variables import Parameter, Variable
from . import region

_FORM = (
    "a table with rows (job, partner) and a column a kind of servers: the rate of the job while it "
    "shares with the partner"
)


@dataclass(frozen=True)
class Combinations:
    """What may run on a device: single jobs, and pairs of jobs.

    Attributes
    ----------
    instance : Instance
    members : ndarray of int, shape (C, 2)
        Positions of the jobs; twice the same for a single job.
    rates : ndarray, shape (C, 2, K)
        The rate of each of the two on each kind, in the unit of the instance's rates.
    """

    instance: Instance
    members: np.ndarray
    rates: np.ndarray

    @classmethod
    def of(cls, instance: Instance, pairs: Any) -> Combinations:
        """Return the single jobs and the pairs of a table.

        Parameters
        ----------
        instance : Instance
        pairs : DataFrame or mapping
            Row (job, partner) and column kind → the rate of the job while it shares a device with
            the partner. Both rows of a pair must be there; 0 for both where they do not share. A
            mapping has (job, partner), or jobs and in each partners, and in each kinds.

        Raises
        ------
        InstanceError
            Where the table is of another form, names what does not exist, lacks a partner's row, or
            pairs jobs that take different amounts.
        """
        table = _table(instance, pairs)
        users = instance.users
        positions = {label: n for n, label in enumerate(users.labels)}
        rate_of = {
            (positions[job], positions[partner]): values
            for (job, partner), values in zip(table.index, table.to_numpy(), strict=True)
        }
        assert instance.rates is not None
        alone = np.where(instance.runnable(), instance.rates, 0.0)
        members = [(n, n) for n in range(len(users))]
        rates = [(values, values) for values in alone]
        for (first, second), values in rate_of.items():
            _require_pair(instance, first, second, (second, first) in rate_of)
            both = np.array([values, rate_of[second, first]])
            runs = instance.runnable()[[first, second]].all(axis=0)
            if first < second and (both * runs).any():
                members.append((first, second))
                rates.append(tuple(both * runs))
        return cls(instance, np.array(members), np.array(rates, dtype=float))

    @property
    def holds(self) -> np.ndarray:
        """Which jobs each combination holds, shape (N, C)."""
        holds = np.zeros((len(self.instance.users), len(self.members)), dtype=bool)
        columns = np.arange(len(self.members))
        for place in range(2):
            holds[self.members[:, place], columns] = True
        return holds

    def throughputs(self, speed: np.ndarray) -> np.ndarray:
        """Return T[m,C,j], where ``speed`` (N, K) is what jobs have alone; shape (N, C, K).

        A job keeps the ratio of its throughput to its rate, as it takes as many devices.
        """
        assert self.instance.rates is not None
        rates = np.where(self.instance.rates > 0, self.instance.rates, 1.0)
        throughputs = np.zeros((len(speed), len(self.members), speed.shape[1]))
        columns = np.arange(len(self.members))
        for place in range(2):
            jobs = self.members[:, place]
            throughputs[jobs, columns] = self.rates[:, place] / rates[jobs] * speed[jobs]
        return throughputs

    def index(self) -> Index:
        """Return the index C, with names of the jobs as labels."""
        labels = self.instance.users.labels
        names = [
            str(labels[a]) if a == b else f"{labels[a]} with {labels[b]}" for a, b in self.members
        ]
        return Index("C", names, "combination")


def throughputs(instance: Instance) -> np.ndarray:
    """Return T[m,j], the tasks of job m per unit of time on j, or 0 if it cannot run: (N, K).

    γ[m,j] over the number of copies of the job that fit on all servers of row j at once.
    """
    return quotients(instance.gamma(), tasks_alone(instance.demands, instance.total_capacities))


def rows(
    model: Model, combinations: Combinations, speed: np.ndarray
) -> tuple[Variable, Parameter, Index]:
    """Add X[C,j] and the rows ``capacity`` and ``time``; return X, T and C.

    A combination takes the devices of one of its jobs. A job spends at most all its time in the
    combinations that hold it.
    """
    instance = combinations.instance
    m = instance.users
    j = instance.servers
    combination = combinations.index()
    throughputs = combinations.throughputs(speed)
    d = model.parameter(
        "d",
        (combination, instance.resources),
        instance.demands[combinations.members[:, 0]],
        "amount of r that combination C takes",
    )
    c = region.capacities(model, instance)
    throughput = model.parameter(
        "v", (m, combination, j), throughputs, "tasks of n in a unit of time of C on i"
    )
    holds = model.parameter("a", (m, combination), combinations.holds, "1 where C holds job n")
    runs = model.subset(
        "P", (combination, j), throughputs.any(axis=0), "a job of C has a throughput on i"
    )
    x = model.variable("X", combination, j, where=runs, doc="part of its time that C runs on i")
    model.constraint("capacity", (d * x).sum(combination) <= c)
    model.constraint("time", (holds * x).sum(combination, j) <= 1)
    return x, throughput, combination


@dataclass(frozen=True)
class SharedDevices:
    """The feasible region of jobs that share devices, in the place of capacities of single jobs.

    Attributes
    ----------
    pairs : DataFrame or mapping
        As of :meth:`Combinations.of`.
    """

    pairs: Any

    #: Its rows say what fits on servers: the tasks of two jobs may take one device.
    says_what_fits = True

    def __call__(self, model: Model, instance: Instance, tasks: Expression) -> None:
        """Replace the rows ``capacity`` of a model with tasks over users and servers."""
        if "capacity" in model.constraints:
            for name in ("capacity", "d", "c"):
                model.remove(name)
        combinations = Combinations.of(instance, self.pairs)
        x, throughput, combination = rows(model, combinations, throughputs(instance))
        model.constraint("made", tasks <= (throughput * x).sum(combination))


def _by_pair(pairs: Mapping[Any, Any]) -> dict[tuple[Any, Any], Any]:
    """Return (job, partner) → rates by kind, also of job → partner → rates by kind."""
    rates_by_pair: dict[tuple[Any, Any], Any] = {}
    for key, values in pairs.items():
        if isinstance(key, tuple) and len(key) == 2:
            rates_by_pair[key] = values
        elif isinstance(values, Mapping):
            rates_by_pair |= {(key, partner): rates for partner, rates in values.items()}
        else:
            raise InstanceError(f"pairs has the key {quoted(key)}; expected {_FORM}")
    return rates_by_pair


def _table(instance: Instance, pairs: Any) -> pd.DataFrame:
    """Return the table of pairs, with the kinds of servers in their order, and finite rates."""
    if isinstance(pairs, Mapping):
        pairs = pd.DataFrame.from_dict(_by_pair(pairs), orient="index")
    if not isinstance(pairs, pd.DataFrame) or pairs.index.nlevels != 2:
        raise InstanceError(f"pairs is {type(pairs).__name__}; expected {_FORM}")
    if pairs.index.has_duplicates:
        raise InstanceError(
            f"pairs has {quoted(pairs.index[pairs.index.duplicated()][0])} twice; expected {_FORM}"
        )
    users = instance.users
    for user in dict.fromkeys(user for pair in pairs.index for user in pair):
        require_known(user, users, f"pairs names user {quoted(user)}", InstanceError)
    axes = (None, instance.servers)
    values = numbers_in(aligned(pairs, axes, "pairs", InstanceError), axes, "pairs", InstanceError)
    refused = ~(np.isfinite(values) & (values >= 0))
    expected = "a rate of at least 0 (0: they do not share there)"
    refuse(refused, values, axes, "pairs", expected, InstanceError)
    return pd.DataFrame(values, index=pairs.index)


def _require_pair(instance: Instance, first: int, second: int, has_partner: bool) -> None:
    """Raise where two jobs are no pair that can share devices."""
    users = instance.users
    pair = f"users {quoted(users[first])} and {quoted(users[second])}"
    if first == second:
        raise InstanceError(
            f"pairs has user {quoted(users[first])} beside itself; expected two users"
        )
    if not has_partner:
        raise InstanceError(
            f"pairs has a row of {pair}, and none of the two the other way round; expected the "
            "rates of both"
        )
    if (instance.demands[first] != instance.demands[second]).any():
        raise InstanceError(
            f"pairs has {pair}, whose demands differ; jobs share devices when both take as many "
            "(Gavel pairs jobs of one scale factor)"
        )
