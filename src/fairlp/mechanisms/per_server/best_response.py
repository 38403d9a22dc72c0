"""Per-server dominant share fairness (PS-DSF): servers fill in turn until no task moves.

Each server fills by water-filling.

Each sweep is a best response of every server. Sweeps alone converge, but slowly where users and
servers exchange tasks around cycles; between sweeps the linear system of the current support is
solved and its cycles are emptied (:class:`Support`), which ends most instances after twenty sweeps
at the last digit. Where that makes no progress, the last sweep is sometimes extended until
something is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.instances.arithmetic import largest_first, quotients
from ...tolerances import SETTLED
from .market import NO_GROUP, PerServerMarket, ServerFilling

# The support of a PS-DSF allocation as a linear system, solved between the sweeps of best
# responses.

#: Pivots at one visit: enough to empty most cycles, few beside the cost of the sweeps they save.
MOST_PIVOTS = 400


@dataclass
class Support:
    """Positive tasks as edges between users and groups.

    Attributes
    ----------
    user, server, group : ndarray of int, shape (E,)
        ``group`` is NO_GROUP where the user got all that was left of its tasks: there it is not the
        level that counts.
    tasks : ndarray, shape (E,)
    alone : ndarray, shape (E,)
        γ[n,i].
    rate : ndarray, shape (E,)
        γ[n,i]·φ[n].
    row, column, need : ndarray
        Coordinates of what edge ``column`` needs of the resource of group ``row``: all edges on a
        group's server count.
    capacity : ndarray, shape (G,)
    limits : ndarray, shape (N,)
        Task limits of all users; one who reaches its limit leaves its groups for the ground.
    """

    user: np.ndarray
    server: np.ndarray
    group: np.ndarray
    tasks: np.ndarray
    alone: np.ndarray
    rate: np.ndarray
    row: np.ndarray
    column: np.ndarray
    need: np.ndarray
    capacity: np.ndarray
    limits: np.ndarray

    @classmethod
    def of(
        cls, market: PerServerMarket, tasks: np.ndarray, filled: list[ServerFilling | None]
    ) -> Support:
        """Return the edges and groups after a sweep."""
        users = []
        servers = []
        groups = []
        amounts = []
        rates = []
        rows = []
        columns = []
        needs = []
        capacity = []
        edges = n_groups = 0
        for i, filling in enumerate(filled):
            if filling is None:
                continue
            server_users = market.users[i]
            running = np.flatnonzero(tasks[server_users, i] > 0)
            users.append(server_users[running])
            servers.append(np.full(len(running), i))
            groups.append(
                np.where(
                    filling.group[running] == NO_GROUP, NO_GROUP, filling.group[running] + n_groups
                )
            )
            amounts.append(tasks[server_users[running], i])
            rates.append(market.rate[i][running])
            for number, resource in enumerate(filling.resource):
                rows.append(np.full(len(running), n_groups + number))
                columns.append(np.arange(edges, edges + len(running)))
                needs.append(market.demands[i][running, resource])
                capacity.append(float(market.capacity[i][resource]))
            edges = edges + len(running)
            n_groups = n_groups + len(filling.resource)
        user = np.concatenate(users)
        server = np.concatenate(servers)
        return cls(
            user,
            server,
            np.concatenate(groups),
            np.concatenate(amounts),
            market.gamma[user, server],
            np.concatenate(rates),
            np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64),
            np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64),
            np.concatenate(needs) if needs else np.zeros(0),
            np.array(capacity),
            market.limits,
        )

    def settle(self) -> int:
        """Pivot until the support has no cycle and its equations hold; return the pivots.

        The pivots end as well where no further one is possible.
        """
        for pivots in range(MOST_PIVOTS):
            if not self._pivot():
                return pivots
            self._drop_empty()
        return MOST_PIVOTS

    def _drop_empty(self) -> None:
        is_used = self.tasks > 0
        if is_used.all():
            return
        new = np.cumsum(is_used) - 1
        entries = is_used[self.column]
        self.row = self.row[entries]
        self.column = new[self.column[entries]]
        self.need = self.need[entries]
        for name in ("user", "server", "group", "tasks", "alone", "rate"):
            setattr(self, name, getattr(self, name)[is_used])

    def _pivot(self) -> bool:
        """Make one step; False when there is nothing (more) to do."""
        ties = self._ties()
        # without ties where the equations are singular with them
        system = _ForestSystem.of(self, ties) or _ForestSystem.of(self, ties[:0])
        if system is None:
            return False
        # first to where the equations of the forest hold, everything else as it is
        solved = system.solve(self.tasks)
        if solved is None:
            return False
        target, totals, levels = solved
        if self._move(target):
            return True
        others = system.others
        if not others.size:
            return False
        # by how much the level of the user of an outside edge exceeds its group's: fixed by the
        # forest's ratios
        level_of_groups = self.rate[others] * levels[system.group[others]]
        ratio = totals[system.user[others]] / level_of_groups
        target_tasks = self.tasks.copy()
        if (ratio >= 1).any():
            target_tasks[others[ratio >= 1]] = 0.0
            solved = system.solve(target_tasks)
            if solved is not None:
                self._move(solved[0])
            return solved is not None
        entering = int(others[ratio.argmin()])
        target_tasks[entering] += self.alone[entering]
        solved = system.solve(target_tasks)
        if solved is None or not (solved[0] < self.tasks).any():
            return False
        self._move(solved[0], beyond=True)
        return True

    def _ties(self) -> np.ndarray:
        """Return an edge to the ground for each user that has all its tasks: its largest."""
        edges = np.flatnonzero(self.group == NO_GROUP)
        order = edges[largest_first((self.tasks / self.alone)[edges])]
        return np.asarray(order[np.unique(self.user[order], return_index=True)[1]])

    def _move(self, target: np.ndarray, beyond: bool = False) -> bool:
        """Move to the target, or as far as all tasks stay ≥ 0; return whether one stopped it.

        The edge that stopped the move has 0 tasks.
        """
        step = target - self.tasks
        falls = step < 0 if beyond else target < 0
        length = np.full(len(step), np.inf)
        length[falls] = self.tasks[falls] / -step[falls]
        room, rises = self._room(step)
        first = float(length.min(initial=np.inf))
        full = float(room.min(initial=np.inf))
        if not beyond and min(first, full) > 1:
            self.tasks = target
            return False
        if full < first:
            self.tasks = np.maximum(self.tasks + full * step, 0.0)
            self.group[self.user == rises[room.argmin()]] = NO_GROUP
            return True
        stop = int(length.argmin())
        self.tasks = np.maximum(self.tasks + first * step, 0.0)
        self.tasks[stop] = 0.0
        return True

    def _room(self, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the length at which the step takes each user to its limit, and those users."""
        size = len(self.limits)
        rise = np.bincount(self.user, step, minlength=size)
        free = np.zeros(size, dtype=bool)
        free[self.user[self.group != NO_GROUP]] = True
        free[self.user[self.group == NO_GROUP]] = False
        rises = np.flatnonzero(free & (rise > 0) & np.isfinite(self.limits))
        totals = np.bincount(self.user, self.tasks, minlength=size)
        return np.maximum(self.limits[rises] - totals[rises], 0.0) / rise[rises], rises


@dataclass
class _ForestSystem:
    """The factorised equations of a spanning forest.

    The unknowns are the tasks of its edges, the totals of users and the levels of groups.
    """

    support: Support
    inside: np.ndarray
    others: np.ndarray
    user: np.ndarray
    group: np.ndarray
    limit: np.ndarray
    n_users: int
    factor: object
    usage: object
    groups: np.ndarray

    @classmethod
    def of(cls, support: Support, ties: np.ndarray) -> _ForestSystem | None:
        """Return the system of the heaviest spanning forest, or None when it is singular."""
        import scipy.sparse as sp
        from scipy.sparse.linalg import splu

        level = support.group != NO_GROUP
        if not level.any():
            return None
        free = np.union1d(np.flatnonzero(level), ties)
        names, member = np.unique(support.user, return_inverse=True)
        groups = np.unique(support.group[level])
        n_edges = len(support.tasks)
        n_users = len(names)
        n_groups = len(groups)
        group = np.full(n_edges, n_groups)  # the ground comes last
        group[level] = np.searchsorted(groups, support.group[level])
        weight = (support.tasks / support.alone)[free]
        weight[~level[free]] = np.inf  # a tie to the ground is never left out
        inside = free[_spanning_forest(member[free], group[free], weight, n_users, n_groups + 1)]
        outside = np.ones(n_edges, dtype=bool)
        outside[inside] = False
        size = len(inside)
        positions = np.arange(size)
        tied = ~level[inside]
        rate = np.where(tied, 0.0, -support.rate[inside])
        position = np.full(len(support.capacity), -1)
        position[groups] = np.arange(n_groups)
        rows = position[support.row]
        counted = rows >= 0
        rows = rows[counted]
        columns = support.column[counted]
        needs = support.need[counted]
        usage = sp.csr_matrix((needs, (rows, columns)), shape=(n_groups, n_edges))

        # The blocks of unknowns: tasks of edges, totals of users, levels of groups. An edge's tasks
        # less its rate times the level are the rest of its user's total; totals are sums of tasks;
        # tasks use up the capacities of groups.
        user = size + member[inside]
        level_of = size + n_users + np.where(tied, 0, group[inside])
        total = np.arange(size, size + n_users)
        place = np.full(n_edges, -1)
        place[inside] = positions
        is_inside = place[columns] >= 0
        matrix = sp.csc_matrix(
            (
                np.concatenate(
                    [np.ones(size), rate, np.ones(size), -np.ones(n_users), needs[is_inside]]
                ),
                (
                    np.concatenate(
                        [positions, positions, user, total, size + n_users + rows[is_inside]]
                    ),
                    np.concatenate([user, level_of, positions, total, place[columns[is_inside]]]),
                ),
            ),
            shape=(size + n_users + n_groups,) * 2,
        )
        try:
            factor = splu(matrix)
        except RuntimeError:  # exactly singular
            return None
        others = np.flatnonzero(outside & level)
        limit = np.where(tied, support.limits[support.user[inside]], 0.0)
        return cls(support, inside, others, member, group, limit, n_users, factor, usage, groups)

    def solve(self, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return tasks of all edges, totals and levels; None when one is not finite.

        Edges outside the forest keep their tasks.
        """
        fixed = tasks.copy()
        fixed[self.inside] = 0.0
        fixed_totals = np.bincount(self.user, fixed, minlength=self.n_users)
        remaining = self.support.capacity[self.groups] - self.usage @ fixed
        size = len(self.inside)
        answer = self.factor.solve(np.concatenate([self.limit, -fixed_totals, remaining]))  # type: ignore[attr-defined]
        if not np.isfinite(answer).all():
            return None
        fixed[self.inside] = answer[:size]
        return fixed, answer[size : size + self.n_users], answer[size + self.n_users :]


def _spanning_forest(
    user: np.ndarray, group: np.ndarray, weight: np.ndarray, n_users: int, n_groups: int
) -> np.ndarray:
    """Return the positions of the edges of a spanning forest of the largest weights."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import minimum_spanning_tree

    heaviest = largest_first(weight)
    rank = np.empty(len(weight))
    rank[heaviest] = np.arange(1, len(weight) + 1)
    size = n_users + n_groups
    tree = minimum_spanning_tree(
        sp.coo_matrix((rank, (user, n_users + group)), shape=(size, size)).tocsr()
    )
    return np.asarray(heaviest[tree.data.astype(np.int64) - 1])


#: Sweeps before the support is looked at; by then most of it is right.
FIRST_SWEEPS = 10
MOST_SWEEPS = 2000
#: Tasks that move by at least this part of the largest move take part in a drift.
DRIFTING = 0.1
#: Sweeps from such a move to the next look at the support.
AFTER_DRIFT = 4


@dataclass
class SweepsResult:
    """The end of the sweeps: tasks by user and server, and each sweep's change and pivots.

    ``converged`` tells whether the last sweep moved nothing.
    """

    tasks: np.ndarray
    sweeps: list[tuple[float, int]]
    converged: bool = True


def best_response(
    market: PerServerMarket,
    *,
    start: np.ndarray | None = None,
    pivoting: bool = True,
    most_sweeps: int = MOST_SWEEPS,
) -> SweepsResult:
    """Return a PS-DSF allocation: a point at which no server's best response moves anything.

    Parameters
    ----------
    market : PerServerMarket
    start : ndarray, shape (N, K), optional
        Tasks to start from; by default none.
    pivoting : bool
        Solve for the support between sweeps; without, sweeps alone.
    most_sweeps : int

    Notes
    -----
    Under time division the totals are unique. Under resource division there may be several fixed
    points; this is the one that is reached from an empty cluster when servers fill in their order.
    """
    n_users, n_servers = market.shape
    tasks = np.zeros((n_users, n_servers)) if start is None else start.copy()
    sweeps = []
    best = np.inf
    failures = 0
    gap = 2
    due = FIRST_SWEEPS
    for number in range(most_sweeps):
        forward = failures % 2 == 0  # the other way round breaks a dance of two states
        before = tasks.copy() if pivoting else tasks
        change, filled = market.sweep(
            tasks, range(n_servers) if forward else range(n_servers - 1, -1, -1)
        )
        sweeps.append((change, 0))
        if change <= SETTLED:
            return SweepsResult(tasks, sweeps)
        if not pivoting or number < due:
            continue
        if change < 0.9 * best:
            best = change
        else:
            failures += 1
            gap += 1
        if failures % 3 == 2:
            _drift(market, tasks, tasks - before)
            due = number + AFTER_DRIFT
            continue
        due = number + gap
        support = Support.of(market, tasks, filled)
        pivots = support.settle()
        tasks[:] = 0.0
        tasks[support.user, support.server] = support.tasks
        sweeps[-1] = (change, pivots)
    return SweepsResult(tasks, sweeps, converged=False)


def _drift(market: PerServerMarket, tasks: np.ndarray, step: np.ndarray) -> None:
    """Go on, in place, as the last sweep went, until an edge that takes part is empty.

    Where a user's tasks move from server to server a little in each sweep, this does hundreds of
    them at once.
    """
    relative_step = quotients(abs(step), market.gamma)
    falls = (step < 0) & (relative_step >= DRIFTING * relative_step.max())
    if falls.any():
        tasks += float((tasks[falls] / -step[falls]).min()) * step
        np.maximum(tasks, 0.0, out=tasks)
