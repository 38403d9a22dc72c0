"""A leximin without some pairs of user and server: exact if no pair is worth more than it costs.

In a cluster most servers are of a few kinds, but for a few users who may run on some of them only.
Without these pairs the servers of a kind are identical and merge. Prices of every program show
whether a pair is of use; pairs that may be are taken in again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, fewer_pairs, pays_to_leave_out
from ...models.programs.solution import Solution
from ...tolerances import SOLVER_TIGHTEST

#: Pairs that were left out are taken in again so often, before all are.
_TRIES = 8
Result = TypeVar("Result")


class PairsWantedError(Exception):
    """Pairs that were left out may be worth more than they cost: these users on these servers."""

    def __init__(self, users: np.ndarray, servers: np.ndarray) -> None:
        super().__init__(f"{len(users)} pairs of user and server that were left out may be of use")
        self.users = users
        self.servers = servers


@dataclass(frozen=True)
class LeftOutPairs:
    """Pairs of user and server that a leximin is computed without.

    Attributes
    ----------
    user, server : ndarray of int, shape (P,)
        Positions in the instance.
    row, column : ndarray of int, shape (P,)
        Positions of the user and the server in a program; −1 for a server that it does not have.
    """

    user: np.ndarray
    server: np.ndarray
    row: np.ndarray
    column: np.ndarray

    @classmethod
    def of(cls, instance: Instance, eligible: np.ndarray) -> LeftOutPairs:
        """Return the pairs of an instance that are not among these eligible ones."""
        pairs = np.nonzero(instance.runnable() & ~eligible)
        return cls(*pairs, *pairs)

    def of_piece(
        self,
        runnable_users: np.ndarray,
        user_groups: Groups,
        users: np.ndarray,
        server_groups: Groups,
        servers: np.ndarray,
    ) -> LeftOutPairs:
        """Return the pairs of these groups of users beside a program with these groups of servers.

        ``runnable_users`` are the positions of the users that ``user_groups`` groups.
        """
        group = np.full(int(self.user.max(initial=-1)) + 1, -1)
        inside = runnable_users < len(group)
        group[runnable_users[inside]] = user_groups.of[inside]
        in_piece = np.isin(group[self.user], users)

        column = np.full(len(server_groups), -1)
        column[servers] = np.arange(len(servers))
        row = np.searchsorted(users, group[self.user[in_piece]])
        server = self.server[in_piece]
        return LeftOutPairs(self.user[in_piece], server, row, column[server_groups.of[server]])

    def of_users(self, server_groups: Groups) -> LeftOutPairs:
        """Return the pairs beside a program with all users, and groups of servers."""
        return replace(self, column=server_groups.of[self.server])

    def require_dear(self, solution: Solution) -> None:
        """Raise PairsWantedError where the left-out pairs could raise the objective.

        Else the program's dual solution is one of all pairs.

        If a user is worth so much more than its pairs cost, prices that make up for it are a dual
        solution of all pairs; the objective cannot be larger by more than that, times all tasks
        that the user could run.
        """
        if not len(self.user):
            return
        if solution.row_duals is None:
            raise PairsWantedError(self.user, self.server)
        program = solution.program
        row_duals = solution.row_duals

        # One column of each user: what a task needs of a server, and what it is worth elsewhere.
        capacity = program.row_block("capacity")
        block = next(block for block in program.columns if len(block.axes) == 2)
        n_resources = capacity.shape[-1]
        users, first = np.unique(block.flat // block.shape[1], return_index=True)
        columns = program.A[:, block.start + first].tocoo()
        of_capacity = (columns.row >= capacity.start) & (columns.row < capacity.stop)
        needs = np.zeros((block.shape[0], n_resources))
        resource = (columns.row[of_capacity] - capacity.start) % n_resources
        needs[users[columns.col[of_capacity]], resource] = columns.data[of_capacity]
        values = np.zeros(block.shape[0])
        values[users] = program.c[block.start + first]
        others = ~of_capacity
        duals = columns.data[others] * row_duals[columns.row[others]]
        np.subtract.at(values, users[columns.col[others]], duals)

        # The objective gains at most the excess of worth over cost, for all tasks of the user.
        prices = np.maximum(row_duals[capacity.slice], 0.0).reshape(-1, n_resources)
        pool = program.row_upper[capacity.slice].reshape(prices.shape).sum(axis=0)
        tasks_alone = np.full(needs.shape, np.inf)
        np.divide(pool, needs, out=tasks_alone, where=needs > 0)
        cost = (needs[self.row] * prices[self.column]).sum(axis=1)
        cost = np.where(self.column >= 0, cost, 0.0)
        gain = np.maximum(values[self.row] - cost, 0.0) * tasks_alone.min(axis=1)[self.row]
        useful = gain > SOLVER_TIGHTEST * abs(solution.objective) / max(len(users), 1)
        if useful.any():
            raise PairsWantedError(self.user[useful], self.server[useful])


def with_fewer_pairs(instance: Instance, share: Callable[..., Result]) -> Result:
    """Return a leximin without useless pairs that keep servers from being identical.

    ``share`` is called with an instance, and the pairs that it is without.
    """
    eligible = fewer_pairs(instance)
    for _ in range(_TRIES):
        if eligible is None:
            break
        left_out = LeftOutPairs.of(instance, eligible)
        try:
            return share(instance.derived(eligible=eligible.copy()), left_out)
        except PairsWantedError as error:
            eligible[error.users, error.servers] = True
            if not pays_to_leave_out(instance, eligible):
                eligible = None
        except SolverError:
            # Guarantees or nominal quotas may need pairs that were left out.
            break
    return share(instance)
