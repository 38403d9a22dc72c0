"""Blocks of servers, here or on the workers of a Dask cluster: the same questions, the same order of sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .servers import Servers


class Fleet:
    """Blocks of servers and the users of each.

    Parameters
    ----------
    pairs : Pairs
    client : distributed.Client, optional
        Every worker gets a block, which stays there; without one there is one block, here.
    """

    def __init__(self, pairs: Pairs, client: Any = None) -> None:
        workers = [] if client is None else sorted(client.scheduler_info(n_workers=-1)["workers"])
        self.remote = bool(workers)
        self.size, self.resources, self.pairs = pairs.n_users, len(pairs.needs), len(pairs.user)
        self.cuts = _cuts(pairs.start, max(len(workers), 1))
        self.users: list[np.ndarray] = []
        self.blocks: list[Any] = []
        futures = []
        for k, (begin, end) in enumerate(zip(self.cuts[:-1], self.cuts[1:], strict=True)):
            first, last = pairs.start[begin], pairs.start[end]
            users, user = np.unique(pairs.user[first:last], return_inverse=True)
            self.users.append(users)
            given = (
                user.astype(np.int32),
                (pairs.start[begin : end + 1] - first).astype(np.int32),
                np.ascontiguousarray(pairs.needs[:, first:last]),
                pairs.group[begin:end],
                pairs.worth[begin:end],
            )
            if workers:
                futures.append(client.submit(Servers, *given, actor=True, workers=[workers[k]], pure=False))
            else:
                self.blocks.append(Servers(*given))
        self.blocks += [future.result() for future in futures]

    def ask(self, what: str, *by_user: np.ndarray, **plain: Any) -> list[Any]:
        """Return every block's answer; it gets its users' part of each vector."""
        answers = [
            getattr(block, what)(*(vector[users] for vector in by_user), **plain)
            for block, users in zip(self.blocks, self.users, strict=True)
        ]
        return [answer.result() for answer in answers] if self.remote else answers

    def sum(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return sums over blocks of one number a user, always in the same order."""
        total = np.zeros(self.size)
        for users, part in zip(self.users, parts, strict=True):
            total[users] += part
        return total

    def lowest(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the lowest over blocks of one number a user."""
        low = np.full(self.size, np.inf)
        for users, part in zip(self.users, parts, strict=True):
            low[users] = np.minimum(low[users], part)
        return low


class Pairs:
    """Users, servers and the pairs between them, in units in which every capacity is 1.

    Parameters
    ----------
    user, server : ndarray of int, shape (E,)
        Sorted by server; every user and every server is there.
    needs : ndarray, shape (R, E)
        Fraction of a server's resource that one unit of a user's x takes; > 0 for one of them at least.
    group, user_group : ndarray of int, shape (K,) and (N,)
        Connected component of each server and user.
    worth : ndarray, shape (K, R)
        Prices to begin with: a capacity's part of all of that resource.
    """

    def __init__(
        self,
        user: np.ndarray,
        server: np.ndarray,
        needs: np.ndarray,
        groups: tuple[np.ndarray, np.ndarray],
        worth: np.ndarray,
    ) -> None:
        self.user, self.server, self.needs, self.worth = user, server, needs, worth
        self.group, self.user_group = groups
        self.n_users, self.n_servers = len(self.user_group), len(self.group)
        self.n_groups = int(self.group.max()) + 1
        self.start = np.searchsorted(server, np.arange(self.n_servers + 1))

    def of_groups(self, alive: np.ndarray) -> tuple[Pairs, Kept]:
        """Return the pairs of some groups, and the positions of what is kept."""
        servers, users = np.flatnonzero(alive[self.group]), np.flatnonzero(alive[self.user_group])
        pairs = np.flatnonzero(alive[self.group][self.server])
        group = np.cumsum(alive) - 1
        kept = Pairs(
            np.searchsorted(users, self.user[pairs]),
            np.searchsorted(servers, self.server[pairs]),
            self.needs[:, pairs],
            (group[self.group[servers]], group[self.user_group[users]]),
            self.worth[servers],
        )
        return kept, Kept(users, servers, pairs)


class Kept(NamedTuple):
    """Positions of users, servers and pairs that are kept."""

    users: np.ndarray
    servers: np.ndarray
    pairs: np.ndarray


def _cuts(start: np.ndarray, blocks: int) -> np.ndarray:
    """Return where blocks of servers begin, so that all have about as many pairs."""
    at = np.searchsorted(start, np.linspace(0, start[-1], blocks + 1)[1:-1])
    return np.unique(np.concatenate([[0], at, [len(start) - 1]]))
