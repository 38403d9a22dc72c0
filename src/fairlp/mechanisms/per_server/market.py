"""The market of PS-DSF: users and servers as every method and the check see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ...models.instances.alone import effort
from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, identity, merge_servers
from ..mechanism import Division
from .server_fill import Filled, fill_server


@dataclass
class Market:
    """Users and servers as the fillings see them.

    Attributes
    ----------
    division : {"rdm", "tdm"}
        What a server divides: its resources, Σ_n x[n,i]·d[n,r] ≤ c[i,r], or its time, Σ_n x[n,i]/γ[n,i] ≤ 1.
    gamma : ndarray, shape (N, K)
        Tasks that n could run alone on i; 0 where it cannot.
    weights, limits : ndarray, shape (N,)
    users : list of ndarray
        For each server, the users who can run there.
    demands, capacity, rate : list of ndarray
        For each server: what one task of each of its users needs, (n, R); what there is, (R,); γ·φ, (n,).
    """

    division: Division
    gamma: np.ndarray
    weights: np.ndarray
    limits: np.ndarray
    users: list[np.ndarray] = field(repr=False)
    demands: list[np.ndarray] = field(repr=False)
    capacity: list[np.ndarray] = field(repr=False)
    rate: list[np.ndarray] = field(repr=False)

    @classmethod
    def of(cls, instance: Instance, division: Division) -> Market:
        """Return the market of an instance; O(N·K·R).

        Where rates γ are given, amounts are scaled so that running alone gives exactly γ tasks: a coprocessor makes a
        task of its user lighter on that server.
        """
        gamma = np.where((instance.task_limits > 0)[:, None], instance.gamma(), 0.0)
        total = instance.capacities * instance.counts[:, None]
        users = [np.flatnonzero(gamma[:, i]) for i in range(gamma.shape[1])]
        multiple = effort(instance)
        if division == "tdm":
            demands = [1.0 / gamma[who, i][:, None] for i, who in enumerate(users)]
            capacity = [np.ones(1) for _ in users]
        else:
            demands = [instance.demands[who] for who in users]
            if multiple is not None:
                demands = [d * multiple[who, i][:, None] for i, (who, d) in enumerate(zip(users, demands, strict=True))]
            capacity = list(total)
        weights = instance.user_weights
        rate = [gamma[who, i] * weights[who] for i, who in enumerate(users)]
        return cls(division, gamma, weights, instance.task_limits, users, demands, capacity, rate)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of servers."""
        return self.gamma.shape[0], self.gamma.shape[1]

    def respond(self, server: int, here: np.ndarray, totals: np.ndarray) -> Filled:
        """Return the filling of one server, given its own tasks and everyone's totals as it knows them."""
        base = np.maximum(totals - here, 0.0)
        most = np.maximum(self.limits[self.users[server]] - base, 0.0)
        return fill_server(self.demands[server], self.capacity[server], self.rate[server], base, most)

    def sweep(self, tasks: np.ndarray, order: Iterable[int]) -> tuple[float, list[Filled | None]]:
        """Let every server respond once, in place; return the largest change of x[n,i]/γ[n,i] and the fillings."""
        totals = tasks.sum(axis=1)
        filled: list[Filled | None] = [None] * self.shape[1]
        change = 0.0
        for i in order:
            who = self.users[i]
            if not who.size:
                continue
            here = tasks[who, i]
            now = self.respond(i, here, totals[who])
            change = max(change, float((abs(now.tasks - here) / self.gamma[who, i]).max()))
            totals[who] += now.tasks - here
            tasks[who, i] = now.tasks
            filled[i] = now
        return change, filled


def merged(instance: Instance, merge: bool) -> tuple[Instance, Groups]:
    """Return the instance with identical servers as one, which keeps fixed points fixed points.

    A fixed point of the merged servers, split in proportion, is one of the separate servers: every level on a server is
    multiplied by the same number, and each copy is short of the same resources. The converse holds under time division.
    It fails under resource division, where copies may be short of different resources: with two servers (3, 3), tasks
    (1, 2) and (2, 1), each user alone on one server is a fixed point (3/2 tasks each), and merged there is only 2, 2.
    """
    return merge_servers(instance) if merge else (instance, identity(len(instance.servers)))
