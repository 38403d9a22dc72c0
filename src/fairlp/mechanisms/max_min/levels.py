"""How levels rise along a tree of queues, once more from the definition: what proofs are made of.

:mod:`fairlp.models.trees` says the same for the methods; a proof must not lean on what it proves,
so it shares no code with them. Users are the leaves. A queue v has a level of its own, s[v]: a
child of weight w is at the level w·s[v], and a user at a level takes that much dominant share. What
stands below v takes ``taken[v,·]`` of the pool; v is at level l where the largest entry of that is
l. The root's level is t.

:class:`LevelTree` moves all levels along as t grows. :func:`filled` shares one pool by it, and
:func:`guaranteed` says what the guarantees of queues come to.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ...models.instances.instance import Instance
from ...models.instances.queues import Queues
from ...tolerances import AGREEMENT, ROUNDING, SATURATED


class LevelTree:
    """Levels of the queues of a tree, from t = 0 on.

    Parameters
    ----------
    queues : Queues
    weights : ndarray, shape (N,)
        Of users beside the queues that stand in the same queue.
    shares : ndarray, shape (N, R)
        What a user takes of each resource for one unit of dominant share; the largest entry is 1.
    tasks : ndarray, shape (N,)
        Tasks that are one unit of dominant share.
    counted : bool
        Whether users who have all their tasks count for their queues.
    past : ndarray, shape (N,), optional
        The level that each user has by its past; 0 by default. It counts for the queues above, and
        the user rises from there.

    Attributes
    ----------
    level : ndarray, shape (Q,)
        s[v], now.
    usage : ndarray, shape (Q, R)
        Now, as the active users ask, and as the satisfied ones have where they count. Active users
        whose past is more than they ask for count with it.
    """

    def __init__(
        self,
        queues: Queues,
        weights: np.ndarray,
        shares: np.ndarray,
        tasks: np.ndarray,
        counted: bool = False,
        past: np.ndarray | None = None,
    ) -> None:
        self.counted = counted
        self.past = np.zeros(len(weights)) if past is None else past
        self.queue_of = queues.of
        self.parents = queues.parents
        self.queue_weights = queues.weights
        depths = queues.depths
        depths_from_below = range(int(depths.max()), 0, -1)
        self.upward = [np.flatnonzero(depths == depth) for depth in depths_from_below]
        self.weighted_shares = shares * weights[:, None]
        self.shares_of_a_task = np.divide(
            shares, tasks[:, None], out=np.zeros_like(shares), where=tasks[:, None] > 0
        )
        self.tasks_per_level = weights * tasks
        self.restart(np.zeros(len(weights)))

    @classmethod
    def flat(cls, tasks_per_level: np.ndarray, past: np.ndarray | None = None) -> LevelTree:
        """Return the tree of a mechanism that knows none: every user is at the root's level."""
        count = len(tasks_per_level)
        shares = np.zeros((count, 1))
        return cls(Queues.root(count, 1), np.ones(count), shares, tasks_per_level, past=past)

    @property
    def is_flat(self) -> bool:
        """Whether the root is the only queue."""
        return len(self.parents) == 1

    @property
    def past_tasks(self) -> np.ndarray:
        """The past of each user, in tasks. Shape (N,)."""
        return np.asarray(self.past * self.tasks_per_level)

    def restart(self, satisfied: np.ndarray, active: np.ndarray | None = None) -> None:
        """Begin at t = 0, where satisfied users take their tasks and active ones their past."""
        past_tasks = satisfied if active is None else np.where(active, self.past_tasks, satisfied)
        self.level = np.zeros(len(self.parents))
        self.usage = self._sums(self.shares_of_a_task * past_tasks[:, None])

    def advance(self, level_speed: np.ndarray, usage_speed: np.ndarray, t: float) -> None:
        """Move on by so much of t."""
        self.level = self.level + level_speed * t
        self.usage = self.usage + usage_speed * t

    def tasks_at_level(self) -> np.ndarray:
        """Return the tasks that each user asks for, if it is active. Shape (N,)."""
        return np.asarray(self.level[self.queue_of] * self.tasks_per_level)

    def pace(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return how fast levels and what is taken grow with t, and for how long they do.

        A queue stands still while its level is above what its parent gives it (it waits: its
        satisfied users have more). Where the level of a queue does not grow with s, because what is
        taken most grows no more, s rises alone (it catches up), by its weight. Meanwhile s of its
        parent and all else below that stand still; so the parent's level grows by what catches up,
        or the parent catches up, too.
        """
        largest = self.usage.max(axis=1)
        binds = self.usage >= (largest * (1 - AGREEMENT))[:, None]
        share_in_queue = self.queue_weights * self.level[self.parents]
        waits = share_in_queue < largest * (1 - AGREEMENT)

        level_of_queue = self.level[self.queue_of]
        rests = active & (level_of_queue < self.past * (1 - AGREEMENT))
        rising = active & ~rests
        growth = self._sums_here(self.weighted_shares * rising[:, None])
        alive = np.zeros(len(self.parents), dtype=bool)
        alive[self.queue_of[active]] = True
        ratio = np.zeros(len(self.parents))  # of the speeds of s in a queue and in its parent
        catching_up = np.zeros(len(self.parents), dtype=bool)
        stands = np.zeros(len(self.parents), dtype=bool)  # while a queue below catches up
        for nodes in self.upward:
            parents = self.parents[nodes]
            growth_of_level = np.where(binds[nodes], growth[nodes], 0.0).max(axis=1)
            moves = alive[nodes] & ~waits[nodes]
            catches_up = moves & (growth_of_level == 0)
            rises = moves & ~catches_up
            ratio[nodes[rises]] = self.queue_weights[nodes[rises]] / growth_of_level[rises]
            ratio[nodes[catches_up]] = self.queue_weights[nodes[catches_up]]
            catching_up[nodes] = catches_up

            stands[parents[catches_up]] = True
            growth[parents[catches_up]] = 0.0
            goes_on = catches_up | (rises & ~stands[parents])
            np.add.at(
                growth, parents[goes_on], growth[nodes[goes_on]] * ratio[nodes[goes_on], None]
            )
            alive[parents[alive[nodes]]] = True

        factor = np.ones(len(self.parents))
        for nodes in reversed(self.upward):
            parents = self.parents[nodes]
            still = stands[parents] & ~catching_up[nodes]
            factor[nodes] = np.where(still, 0.0, factor[parents] * ratio[nodes])
        level_speed = np.where(stands, 0.0, factor)
        own_growth = self.weighted_shares * (rising * level_speed[self.queue_of])[:, None]
        usage_speed = self._sums(own_growth)

        speed_in_queue = self.queue_weights * level_speed[self.parents]
        wakes = waits & alive & (speed_in_queue > 0)
        wakes[0] = False
        faster = usage_speed - np.where(binds, usage_speed, 0.0).max(axis=1)[:, None]
        overtakes = ~binds & (faster > 0)
        overtakes[0] = False
        speed_of_queue = level_speed[self.queue_of]
        stirs = rests & (speed_of_queue > 0)
        ends = [
            (largest - share_in_queue)[wakes] / speed_in_queue[wakes],
            (largest[:, None] - self.usage)[overtakes] / faster[overtakes],
            (self.past - level_of_queue)[stirs] / speed_of_queue[stirs],
        ]
        return level_speed, usage_speed, float(np.concatenate(ends).min(initial=np.inf))

    def _sums_here(self, values: np.ndarray) -> np.ndarray:
        """Return sums of rows of users by the queue that each stands in. Shape (Q, R)."""
        if self.is_flat:
            return np.asarray(values.sum(axis=0, keepdims=True))
        sums = np.zeros((len(self.parents), values.shape[1]))
        np.add.at(sums, self.queue_of, values)
        return sums

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Return sums over the users in or below each queue, shape (Q, R)."""
        sums = self._sums_here(values)
        for nodes in self.upward:
            np.add.at(sums, self.parents[nodes], sums[nodes])
        return sums


def filled(
    tree: LevelTree, use: sparse.csr_array, room: np.ndarray, limits: np.ndarray, floors: np.ndarray
) -> np.ndarray:
    """Return the tasks of users who rise along a tree until ``use @ tasks ≤ room`` stops them.

    Parameters
    ----------
    tree : LevelTree
    use : sparse array, shape (M, N)
    room : ndarray, shape (M,)
    limits, floors : ndarray, shape (N,)
        Task limits, and the tasks that each has at the beginning.
    """
    tasks = np.array(floors, dtype=float)
    active = tasks < limits * (1 - AGREEMENT)
    satisfied = ~active
    tree.restart(np.where(satisfied & tree.counted, tasks, 0.0))
    needs = use.toarray() > 0
    while active.any():
        level_speed, usage_speed, end = tree.pace(active)
        targets = tree.tasks_at_level()
        rate = np.where(active, level_speed[tree.queue_of] * tree.tasks_per_level, 0.0)
        behind = rate > 0
        waits = behind & (targets < tasks * (1 - ROUNDING))
        rising = np.where(waits, 0.0, rate)
        speed = use @ rising
        rows = speed > 0
        stop = min(
            end,
            ((limits - targets)[behind] / rate[behind]).min(initial=np.inf),
            ((room - use @ tasks)[rows] / speed[rows]).min(initial=np.inf),
        )
        caught_up = ((tasks - targets)[waits] / rate[waits]).min(initial=np.inf)
        t = max(float(min(stop, caught_up)), 0.0)
        tree.advance(level_speed, usage_speed, t)
        tasks = np.where(
            rising > 0, np.minimum(np.maximum(tasks, targets + rate * t), limits), tasks
        )
        if caught_up < stop:  # who now rises with the others changes nobody's speed
            continue
        # Also whom floors of others block from the beginning goes on to the first stop.
        full = use @ tasks >= room * (1 - SATURATED)
        blocked = active & needs[full].any(axis=0)
        full_users = active & (tasks >= limits * (1 - ROUNDING))
        if blocked.any() or full_users.any():
            asks_for_all = (tree.tasks_at_level() >= limits * (1 - AGREEMENT))[full_users].all()
            in_place = tree.counted and not blocked.any() and bool(asks_for_all)
            active &= ~(blocked | full_users)
            satisfied |= full_users
            if not in_place:
                tree.restart(np.where(satisfied & tree.counted, tasks, 0.0))
    return tasks


def guaranteed(instance: Instance, can_run: np.ndarray) -> np.ndarray:
    """Return the tasks that queues guarantee to each user.

    Each guarantee is shared as a pool of its own.

    The deepest queues come first; what they guarantee, the users of a queue above them have already
    there. Of a resource that a guarantee does not name the pool has as much as all servers.

    Parameters
    ----------
    instance : Instance
    can_run : ndarray of bool, shape (N,)
        Who can run anything.
    """
    queues = instance.tree
    demands = instance.demands
    limits = instance.task_limits
    floors = np.zeros(len(demands))
    for v in sorted(queues.guaranteed.tolist(), key=lambda v: -int(queues.depths[v])):
        named = np.flatnonzero(queues.guarantees[v])
        inside = queues.users_below(v) > 0
        users = np.flatnonzero(inside & can_run & demands[:, named].any(axis=1))
        if not users.size:
            continue
        needs = demands[users]
        pool = instance.pool.astype(float)
        pool[named] = queues.guarantees[v, named]
        shares = np.zeros_like(needs)
        shares[:, named] = needs[:, named] / pool[named]
        tasks_alone = 1.0 / shares.max(axis=1)
        tree = LevelTree(
            queues.select(users),
            instance.user_weights[users],
            shares / shares.max(axis=1, keepdims=True),
            tasks_alone,
            counted=True,
        )
        use, room = rows_of_pool(needs, pool, queues.select(users))
        shared = filled(tree, use, room, limits[users], floors[users])
        floors[users] = np.where(shared > ROUNDING * tasks_alone, shared, 0.0)
    return floors


def rows_of_pool(
    needs: np.ndarray, pool: np.ndarray, queues: Queues
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return rows ``use @ tasks ≤ room`` of a pool's resources, then of the caps of queues.

    Parameters
    ----------
    needs : ndarray, shape (N, R)
        Of one task of each user.
    pool : ndarray, shape (R,)
    queues : Queues
        Over these users.
    """
    capped, resources = np.nonzero(queues.capped)
    use = [sparse.csr_array(needs.T)]
    if capped.size:
        use.append(sparse.csr_array(queues.below[capped].multiply(needs.T[resources])))
    return sparse.csr_array(sparse.vstack(use)), np.concatenate(
        [pool, queues.caps[capped, resources]]
    )
