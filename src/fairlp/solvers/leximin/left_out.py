"""A leximin without some pairs of user and server: exact if no pair is worth more than it costs.

In a cluster most servers are of a few kinds, but for a few users who may run on some of them only.
Without these pairs the servers of a kind are identical and merge. Prices of every program show
whether a pair is of use; pairs that may be are taken in again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, pays_to_leave_out
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
        tasks = PricedTasks.of(solution, solution.row_duals)
        cost = (tasks.needs[self.row] * tasks.prices[self.column]).sum(axis=1)
        cost = np.where(self.column >= 0, cost, 0.0)
        excess = np.maximum(tasks.worth[self.row] - cost, 0.0)
        gain = excess * tasks.alone()[self.row]
        useful = gain > SOLVER_TIGHTEST * abs(solution.objective) / max(tasks.n_users, 1)
        if useful.any():
            raise PairsWantedError(self.user[useful], self.server[useful])


class PricedTasks(NamedTuple):
    """What tasks need and are worth at a program's duals, in its own unit of tasks.

    Attributes
    ----------
    needs : ndarray, shape (N, R)
        What one task of a user needs of a server.
    worth : ndarray, shape (N,)
        What one task is worth in all rows but those of capacity, and in the objective.
    prices, capacities : ndarray, shape (K, R)
        Of resources of servers, and how much of them there is.
    n_users : int
        How many users have a column.
    """

    needs: np.ndarray
    worth: np.ndarray
    prices: np.ndarray
    capacities: np.ndarray
    n_users: int

    @classmethod
    def of(cls, solution: Solution, row_duals: np.ndarray) -> PricedTasks:
        """Read them from one column of each user: those of all its servers are alike."""
        program = solution.program
        capacity = program.row_block("capacity")
        n_resources = capacity.shape[-1]
        block = next(block for block in program.columns if len(block.axes) == 2)
        n_users, n_servers = block.shape
        users, first = np.unique(block.flat // n_servers, return_index=True)
        columns = program.A[:, block.start + first].tocoo()
        user = users[columns.col]
        is_capacity = (columns.row >= capacity.start) & (columns.row < capacity.stop)

        needs = np.zeros((n_users, n_resources))
        resource = (columns.row[is_capacity] - capacity.start) % n_resources
        needs[user[is_capacity], resource] = columns.data[is_capacity]
        worth = np.zeros(n_users)
        worth[users] = program.c[block.start + first]
        values = np.where(is_capacity, 0.0, columns.data * row_duals[columns.row])
        np.subtract.at(worth, user, values)

        prices = np.maximum(row_duals[capacity.slice], 0.0).reshape(-1, n_resources)
        capacities = program.row_upper[capacity.slice].reshape(prices.shape)
        return cls(needs, worth, prices, capacities, len(users))

    def alone(self) -> np.ndarray:
        """Return the tasks that each user could run on all servers together, shape (N,)."""
        tasks = np.full(self.needs.shape, np.inf)
        np.divide(self.capacities.sum(axis=0), self.needs, out=tasks, where=self.needs > 0)
        return np.asarray(tasks.min(axis=1))


def with_fewer_pairs(
    instance: Instance, share: Callable[..., Result], eligible: np.ndarray | None
) -> Result:
    """Return a leximin without useless pairs that keep servers from being identical.

    ``share`` is called with an instance, and the pairs that it is without; ``eligible`` are the pairs to
    begin with (:func:`~fairlp.models.instances.merging.fewer_pairs`).
    """
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
