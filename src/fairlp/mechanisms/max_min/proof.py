"""The proof that a max-min allocation is the leximin of its mechanism, from the instance alone.

Nothing that made the allocation is asked: no rounds, and no solver's word. Of the allocation count
its tasks, and prices, which may come from anywhere: any prices p, q ≥ 0 prove what they prove. With

* low[n] = min over n's servers i of Σ_r p[i,r]·d[n,r], plus q[v,r]·d[n,r] of each capped queue v
  above n: the least that a task of n costs,
* V = Σ p·c + Σ q·L: all that there is, at these prices,

Σ_n low[n]·y[n] ≤ V for the tasks y of every feasible allocation (weak duality). So where users have
floors f, user n can have no more than f[n] + (V − Σ low·f) / low[n] tasks.

The proof follows the mechanism's definition: levels rise from t = 0 on
(:class:`.levels.LevelTree`), and a user stops where it asks for what the allocation gives it. There
it has all its tasks, or prices show that it cannot be raised while all others have what they ask
for by then. That the others can be raised the allocation itself shows, which is feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from ...errors import FairlpError, SolverError, quoted
from ...models.instances.arithmetic import effort, quotients, relative
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.program import Program
from ...models.programs.proof import ExactProof, Proof
from ...models.trees.guarantees import floors as floors_of_guarantees
from ...solvers.leximin.exact_faces import leximin_on_faces
from ...solvers.leximin.leximin import suits_faces
from ...solvers.leximin.programs import RoundPrices, prices_of, prices_of_caps
from ...tolerances import ACCEPTED, AGREEMENT, AUDIT, LEAST_PROVED, ROUNDING
from ..allocation import Allocation
from ..mechanism import Mechanism
from ..table import find
from ..validation import differences
from .levels import LevelTree, guaranteed, rows_of_pool

__all__ = ["by_rounds"]


class NotProvedError(FairlpError):
    """The refusal of an allocation that is not optimal or not proved; the message names a user."""


class PricedRegion:
    """What tasks are feasible, by the numbers of an instance, and what prices say of it.

    Attributes
    ----------
    runs : ndarray of bool, shape (N, K)
        Where each user may run, and finds all that its tasks need.
    can_run : ndarray of bool, shape (N,)
        Who can run anything.
    low : list of ndarray, shape (N,)
        The least that a task of each user costs, at each of the prices so far.
    value : list of float
        What all that there is costs, at each of them.
    pool : sparse array, shape (M, N)
        What a task takes of each resource of the whole cluster, and of each cap; ``room`` is what
        there is, (M,).
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        demands = instance.demands
        capacities = instance.total_capacities
        users = len(demands)
        self.runs = instance.runnable()
        self.can_run = (
            self.runs.any(axis=1) & (instance.task_limits > 0) & ~instance.tree.barred(demands)
        )
        self.effort = effort(instance)
        lightest = np.ones(users)
        if self.effort is not None:
            lightest = np.where(self.runs, self.effort, np.inf).min(axis=1)
            lightest[~np.isfinite(lightest)] = 0.0
        cluster = capacities.sum(axis=0)
        self.pool, self.room = rows_of_pool(demands, cluster, instance.tree)
        self.caps = self.pool[len(cluster) :]
        self.pool[: len(cluster)] = sparse.csr_array((demands * lightest[:, None]).T)
        self.low: list[np.ndarray] = []
        self.value: list[float] = []

    def violation(self, tasks: np.ndarray) -> float:
        """Return the largest relative violation of a capacity, limit, cap, placement or sign."""
        instance = self.instance
        totals = tasks.sum(axis=1)
        used = (tasks if self.effort is None else tasks * self.effort).T @ instance.demands
        capacities = instance.total_capacities
        limits = np.where(np.isfinite(instance.task_limits), instance.task_limits, totals)
        caps = self.room[len(capacities[0]) :]
        violations = [
            relative(used - capacities, capacities),
            relative(totals - limits, limits),
            relative(self.caps @ totals - caps, caps),
            (tasks > 0) & ~self.runs,
            tasks < 0,
        ]
        return max(float(np.max(violation, initial=0.0)) for violation in violations)

    def add_prices(self, capacity: np.ndarray, caps: np.ndarray) -> None:
        """Take up prices of capacities, servers × resources, and of caps."""
        capacity = np.maximum(capacity, 0.0)
        caps = np.maximum(caps, 0.0)
        cost = self.instance.demands @ capacity.T
        if self.effort is not None:
            cost = cost * self.effort
        low = np.where(self.runs, cost, np.inf).min(axis=1)
        low[np.isinf(low)] = 0.0
        value = float((capacity * self.instance.total_capacities).sum())
        if caps.size:
            low = low + self.caps.T @ caps
            value += float(caps @ self.room[-len(caps) :])
        self.low.append(low)
        self.value.append(value)

    def excess(self, floors: np.ndarray, users: np.ndarray) -> np.ndarray:
        """Return bounds on users' tasks beyond their floors, while all users keep theirs.

        The best of the prices give the bounds.

        Shape (N,); infinite where no prices say anything, and for users who are not asked for
        (bool, shape (N,)).
        """
        excess = np.full(len(floors), np.inf)
        columns = np.flatnonzero(users)
        uses = np.array([low @ floors for low in self.low])
        slack = self._slack(uses, np.array(self.value))
        for low, room in zip(self.low, slack.tolist(), strict=True):
            excess[columns] = np.minimum(excess[columns], _tasks_for(room, low[columns]))

        rows = self.pool[:, columns].tocoo()
        slack = self._slack(self.pool @ floors, self.room)
        np.minimum.at(excess, columns[rows.col], _tasks_for(slack[rows.row], rows.data))
        return excess

    def _slack(self, paid: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return what is left of values, and what the rounding of sums may hide."""
        return np.asarray(np.maximum(value - paid, 0.0) + ROUNDING * (value + paid))


def _tasks_for(amount: np.ndarray | float, prices: np.ndarray) -> np.ndarray:
    """Return how many tasks an amount pays for; infinitely many where they cost nothing."""
    with np.errstate(over="ignore"):
        return np.asarray(
            np.divide(amount, prices, out=np.full(prices.shape, np.inf), where=prices > 0)
        )


class Replay:
    """The rounds of a mechanism along a given allocation, with the proof of every stop.

    Parameters
    ----------
    region : PricedRegion
    tree : LevelTree
    totals : ndarray, shape (N,)
        Tasks of each user in the allocation.
    count : {"total", "borrowed"}
        Whether the level counts what is guaranteed.
    search : PriceSearch or None
        Looks for prices where the region's leave a round open.
    """

    def __init__(
        self,
        region: PricedRegion,
        tree: LevelTree,
        totals: np.ndarray,
        count: str,
        search: PriceSearch | None,
    ) -> None:
        self.region = region
        self.tree = tree
        self.totals = totals
        self.search = search
        instance = region.instance
        self.limits = instance.task_limits
        self.least = guaranteed(instance, region.can_run)
        self.zero = self.least if count == "borrowed" else np.zeros_like(self.least)
        self.zero = self.zero - tree.past_tasks
        self.tasks_alone = np.where(region.can_run, instance.gamma().sum(axis=1), 1.0)
        self.lacking = np.zeros(len(totals))

    def run(self) -> tuple[int, float]:
        """Follow the rounds to their end; return the user that may lack most, and that part.

        The part is that of the user's own tasks.

        Raises
        ------
        NotProvedError
        """
        tree = self.tree
        totals = self.totals
        tasks = self.least.copy()
        self.require_guarantees()
        satisfied = self.region.can_run & (tasks >= self.limits * (1 - AGREEMENT))
        active = self.region.can_run & ~satisfied
        tree.restart(np.where(satisfied & tree.counted, tasks - self.zero, 0.0), active)
        kinks = 0
        while active.any():
            arrived, floors = self.next_stop(active, tasks)
            kinks = 0 if arrived.any() else kinks + 1
            if kinks > 4 * (tree.usage.size + len(totals)):
                raise NotProvedError("not proved: the levels of the queues do not come to an end")
            if not arrived.any():
                continue
            waiting = active & (totals <= floors * (1 + AGREEMENT))
            floors[waiting] = totals[waiting]
            full = waiting & (totals >= self.limits * (1 - AGREEMENT))
            blocked = self.blocked(floors, arrived & ~full, waiting & ~full)

            in_place = tree.is_flat or (
                tree.counted and not blocked.any() and self.asks_for_limits(full)
            )
            if not (full | blocked).any():
                # Where a queue catches up, all others stand still at what they have.
                rises = tree.pace(active)[0][tree.queue_of] > 0
                self.require(arrived & rises, "not optimal", "goes on rising there", totals)
                tasks = floors
                continue
            active &= ~(full | blocked)
            satisfied |= full
            tasks = floors
            if not in_place:
                tree.restart(np.where(satisfied & tree.counted, tasks - self.zero, 0.0), active)
        nothing = totals <= len(totals) * ROUNDING * self.tasks_alone  # but for rounding
        lacks = self.lacking / np.where(nothing, self.tasks_alone, totals)
        return int(lacks.argmax()), float(lacks.max())

    def require_guarantees(self) -> None:
        """Raise where a user has less than what queues guarantee to it."""
        lacks = self.totals < self.least * (1 - ACCEPTED)
        verdict = "not optimal"
        if (
            lacks.any()
            and (self.least > floors_of_guarantees(self.region.instance) * (1 + ACCEPTED)).any()
        ):
            verdict = "not proved"  # what is guaranteed, computed twice, is not the same
        self.require(lacks, verdict, "queues guarantee {:.12g} to it", self.least)

    def next_stop(self, active: np.ndarray, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Raise levels to the next stop; return the users who stop there, and all floors.

        A stop is a user who asks for its tasks of the allocation, or a kink.
        """
        tree = self.tree
        totals = self.totals
        level_speed, usage_speed, end = tree.pace(active)
        rate = np.where(active, level_speed[tree.queue_of] * tree.tasks_per_level, 0.0)
        rises = rate > 0
        # Without a tree, users who have all their tasks change nobody's speed: they are passed.
        passed = rises & (totals >= self.limits * (1 - AGREEMENT)) & tree.is_flat
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            arrivals = (totals - self.zero - tree.tasks_at_level()) / rate
        stops = arrivals[rises & ~passed]
        stop = stops.min() if stops.size else arrivals[passed].max(initial=-np.inf)
        t = max(float(min(end, stop if rises.any() else np.inf)), 0.0)
        if not np.isfinite(t):
            user = self.region.instance.users[int(active.argmax())]
            raise NotProvedError(
                f"not proved: the level of user {quoted(user)} stands still, and nothing ends the round"
            )
        tree.advance(level_speed, usage_speed, t)
        targets = self.zero + tree.tasks_at_level()
        floors = np.where(
            active, np.minimum(np.maximum(tasks, targets), np.maximum(totals, tasks)), tasks
        )
        return rises & (targets >= totals * (1 - AGREEMENT)), floors

    def asks_for_limits(self, users: np.ndarray) -> bool:
        """Return whether these users ask for all their tasks.

        Such users count for their queues as they did before.
        """
        targets = self.zero + self.tree.tasks_at_level()
        return bool((targets >= self.limits * (1 - AGREEMENT))[users].all())

    def blocked(self, floors: np.ndarray, arrived: np.ndarray, waiting: np.ndarray) -> np.ndarray:
        """Return who cannot be raised above the floors, of those who have no more, each proved.

        With constant rates all who arrived must be. Where rates depend on who is active, users may
        wait at what they have until levels that began anew reach it; each is proved to be blocked,
        or raised by a point.
        """
        if not (arrived | waiting).any():
            return waiting
        excess = self.region.excess(floors, waiting)
        proved = waiting & (excess <= AUDIT * self.tasks_alone)
        undecided = (arrived if self.tree.is_flat else waiting) & ~proved
        while undecided.any():
            if self.search is None:
                self.require(
                    undecided, "not proved", "prices allow it up to {:.12g}", floors + excess
                )
                break
            point = self.search(floors, undecided)
            raised = undecided & (point > floors + AUDIT * self.tasks_alone)
            excess = self.region.excess(floors, waiting)
            proved = waiting & (excess <= AUDIT * self.tasks_alone)
            if self.tree.is_flat:
                gains = (point - floors)[raised] / self.tasks_alone[raised]
                is_told = gains.max(initial=0.0) > self.search.told
                self.require(
                    raised & ~proved,
                    "not optimal" if is_told else "not proved",
                    "can have {:.12g} while all others keep their levels",
                    point,
                )
            remaining = undecided & ~raised & ~proved
            if not raised.any():
                upper_bounds = floors + excess
                self.require(remaining, "not proved", "prices allow it up to {:.12g}", upper_bounds)
            undecided = remaining
        self.lacking[proved] = excess[proved]
        return proved

    def require(self, unproved: np.ndarray, verdict: str, reason: str, tasks: np.ndarray) -> None:
        """Raise NotProvedError where users are unproved, for the one that may gain most."""
        if not unproved.any():
            return
        gains = (tasks - self.totals) / self.tasks_alone
        user = int(np.where(unproved, gains, -np.inf).argmax())
        label = self.region.instance.users[user]
        reason = reason.format(tasks[user])
        raise NotProvedError(
            f"{verdict}: user {quoted(label)} has {self.totals[user]:.12g} tasks, and {reason}"
        )


#: So many times what a point breaks of its rows, a gain is no rounding of them.
BEYOND_SLIPS = 10.0


class PriceSearch:
    """A program that raises some users above the floors of all; its duals are the prices.

    Prices from here prove no more than others: what they prove is computed from the instance. The
    points are checked by its numbers, too, and ``told`` is the gain (over what a user could run
    alone) from which on the last of them shows that an allocation is not optimal.
    """

    def __init__(self, mechanism: Mechanism, region: PricedRegion, count: str) -> None:
        self.region = region
        self.told = AUDIT
        self.small, self.servers = merge_servers(region.instance)
        self.formulation = (
            partial(mechanism.formulation, count=count) if mechanism.formulation else None
        )
        self.tasks_per_level = mechanism.tasks_per_level(region.instance)

    @cached_property
    def model(self) -> Model:
        """The mechanism's model, identical servers merged."""
        assert self.formulation is not None
        return self.formulation(self.small)

    @cached_property
    def program(self) -> Program:
        """The model's program, where the level stays 0."""
        program = self.model.compile()
        _, t = program.leximin()
        lower = program.col_lower.copy()
        upper = program.col_upper.copy()
        lower[t] = upper[t] = 0.0
        return program.replace(col_lower=lower, col_upper=upper)

    def __call__(self, floors: np.ndarray, raised: np.ndarray) -> np.ndarray:
        """Return the tasks of each user at a point that raises some users as far as possible.

        Raises
        ------
        NotProvedError
            Where the program has no answer, or one that the instance does not allow.
        """
        program = self.program
        block, t = program.leximin()
        rows = np.arange(block.start, block.stop)
        users = block.flat
        level_column = program.A[:, [t]].toarray()[rows, 0]
        tasks_in_row = -level_column / self.tasks_per_level[users]
        lower = program.row_lower.copy()
        lower[rows] = tasks_in_row * floors[users]
        alone = self.region.instance.gamma().sum(axis=1)
        weights = np.where(raised[users], 1.0 / (tasks_in_row * alone[users]), 0.0)
        try:
            program = program.replace(row_lower=lower, c=program.A[rows].T @ weights)
            solution = program.solve("highs").require_optimal()
        except SolverError as error:
            raise NotProvedError(f"not proved: nothing tells who can be raised: {error}") from error
        assert solution.row_duals is not None
        duals = abs(solution.row_duals)
        capacity_prices = prices_of(self.model, program, duals)[self.servers.of]
        self.region.add_prices(capacity_prices, prices_of_caps(program, duals))

        tasks = self.model.evaluate("tasks", solution.require_point()).reshape(len(floors), -1)
        tasks = tasks[:, self.servers.of] * self.servers.factor
        totals = np.asarray(tasks.sum(axis=1))
        # as gains are: a floor may be no more than the rounding of another's tasks
        shortfall = float(relative(floors - totals, alone).max(initial=0.0))
        slip = max(self.region.violation(tasks), shortfall)
        self.told = AUDIT + BEYOND_SLIPS * slip
        if slip > ACCEPTED:
            raise NotProvedError(
                "not proved: the mechanism's model allows what the instance does not"
            )
        return totals


def level_tree(
    mechanism: Mechanism, instance: Instance, counted: bool | None, past: np.ndarray | None
) -> LevelTree:
    """Return how levels rise: along the tree of queues, or (``counted`` None) all at once."""
    if counted is None or not instance.has_queues:
        return LevelTree.flat(mechanism.tasks_per_level(instance), past)
    shares = instance.demands / instance.pool
    dominant = shares.max(axis=1)
    return LevelTree(
        instance.tree,
        instance.user_weights,
        shares / dominant[:, None],
        1.0 / dominant,
        counted,
        past,
    )


def prove_rounds(
    mechanism: Mechanism,
    instance: Instance,
    tasks: np.ndarray,
    prices: RoundPrices | None = None,
    *,
    count: str = "total",
    counted: bool | None = None,
    past: np.ndarray | None = None,
    may_solve: bool = True,
) -> Proof:
    """Return whether tasks are the leximin of a max-min mechanism, by prices.

    Parameters
    ----------
    mechanism : Mechanism
    instance : Instance
    tasks : ndarray, shape (N, K)
    prices : RoundPrices, optional
        Any; where they do not prove a round, programs of the mechanism's model give more.
    count : {"total", "borrowed"}
        Whether the level counts what queues guarantee.
    counted : bool, optional
        Along a tree: whether satisfied users count for their queues; None for a mechanism without a
        tree.
    past : ndarray, shape (N,), optional
        The level from which each user rises.
    may_solve : bool
        Whether programs may look for more prices.

    Returns
    -------
    Proof
        Its gap is the largest part of its tasks that a user may lack.

    Notes
    -----
    O(J·N·K·R) for J prices, and O(J·N) for each stop; a linear program where the prices leave a
    round open.
    """
    region = PricedRegion(instance)
    infeasible = refused_as_infeasible(region, tasks)
    if infeasible is not None:
        return infeasible
    for capacity, caps in prices or ():
        region.add_prices(capacity, caps)
    tree = level_tree(mechanism, instance, counted, past)
    search = PriceSearch(mechanism, region, count) if may_solve else None
    try:
        user, lack = Replay(region, tree, tasks.sum(axis=1), count, search).run()
    except NotProvedError as error:
        return Proof(False, str(error))
    if lack > LEAST_PROVED:
        reason = (
            f"by prices, user {quoted(instance.users[user])} may lack {lack:.1e} of its tasks, which are "
            "few beside others'"
        )
        return Proof(False, f"not proved: {reason}", lack)
    return Proof(
        True,
        "optimal, proved (by weak duality, from the instance's numbers); no user lacks more than "
        f"{lack:.1e} of its tasks",
        lack,
    )


def refused_as_infeasible(region: PricedRegion, tasks: np.ndarray) -> Proof | None:
    """Return the refusal of tasks that break a row by more than ``AGREEMENT``; None otherwise.

    Violations are relative.

    Its gap is infinite: however good the levels are, they are not those of a feasible point.
    """
    violation = region.violation(tasks)
    if violation <= AGREEMENT:
        return None
    message = f"infeasible: a capacity, limit, cap or placement is violated by {violation:.3g}"
    return Proof(False, message, np.inf)


#: More eligible pairs of user and server than this are not solved in rationals unasked.
MOST_EXACT = 300
#: (mechanism, instance, count, past) → the verdict with the exact levels, and tasks (N×K) of a point
#: that has them.
Rationals = Callable[[Mechanism, Instance, str, np.ndarray | None], tuple[Proof, np.ndarray]]


def by_rounds(
    allocation: Allocation,
    exact: bool = False,
    *,
    rationals: Rationals,
    counted: bool | None = None,
) -> Proof:
    """Return the proof that a max-min allocation is the leximin of its mechanism.

    Prices prove it; rationals do, too, where they are asked for.

    Parameters
    ----------
    allocation : Allocation
    exact : bool
        Whether levels are computed in rationals, too, and compared.
    rationals : callable
        How.
    counted : bool, optional
        Along a tree: whether satisfied users count for their queues; None for a mechanism without a
        tree.
    """
    mechanism = find(allocation.mechanism)
    instance = allocation.instance
    count = str(allocation.parameters.get("count") or "total")
    past = _past_of(allocation)
    prices = allocation.round_prices
    tasks = allocation.tasks_array
    # Rationals share nothing with the programs of an instance without queues; with queues, or a
    # past, they share rates and guarantees, so that prices have to prove the allocation first.
    rationals_are_independent = counted is None and not instance.tree.has_limits and past is None
    if exact and rationals_are_independent:
        infeasible = refused_as_infeasible(PricedRegion(instance), tasks)
        if infeasible is not None:
            return infeasible
        return _in_rationals(mechanism, allocation, count, past, rationals)

    is_large = merge_servers(instance)[0].runnable().sum() > MOST_EXACT
    is_on_faces = rationals_are_independent and is_large and suits_faces(instance)
    proof = prove_rounds(
        mechanism,
        instance,
        tasks,
        prices,
        count=count,
        counted=counted,
        past=past,
        may_solve=prices is not None or not is_on_faces,
    )
    is_infeasible = np.isinf(proof.gap)
    if is_infeasible:
        return proof
    if exact:
        is_measured = np.isfinite(proof.gap)
        return (
            _in_rationals(mechanism, allocation, count, past, rationals) if is_measured else proof
        )

    # Floats may not prove an allocation in which a user takes little beside the others: small
    # instances are solved in rationals.
    if not rationals_are_independent or proof.gap <= ACCEPTED:
        return proof
    if is_on_faces:
        per_level = mechanism.tasks_per_level(instance)
        return _in_rationals(
            mechanism, allocation, count, past, lambda *_: leximin_on_faces(instance, per_level)
        )
    if is_large:
        return proof
    return _in_rationals(mechanism, allocation, count, past, rationals)


def _past_of(allocation: Allocation) -> np.ndarray | None:
    """Return each user's level by its past, 2^(−Δ/H)·h[n]/Δ, shape (N,); None without a past.

    Where users share without queues only differences count, and the smallest is 0.
    """
    instance = allocation.instance
    parameters = allocation.parameters
    history = parameters.get("state")
    if history is None:
        return None
    period = parameters.get("period") or 1.0
    half_life = np.inf if parameters.get("half_life") is None else parameters["half_life"]
    if half_life == 0:
        return None
    past = np.array([history.get(user, 0.0) for user in instance.users], dtype=float)
    past *= 0.5 ** (period / half_life) / period
    can_run = PricedRegion(instance).can_run
    along_tree = find(allocation.mechanism).along_tree and instance.has_queues
    if can_run.any() and not along_tree:
        past -= past[can_run].min()
    return np.where(can_run, past, 0.0)


def _in_rationals(
    mechanism: Mechanism,
    allocation: Allocation,
    count: str,
    past: np.ndarray | None,
    rationals: Rationals,
) -> Proof:
    """Return whether the levels of an allocation are those that rationals give."""
    instance = allocation.instance
    verdict, _ = rationals(mechanism, instance, count, past)
    if not verdict.holds:
        return Proof(False, f"not proved: {verdict.message}", levels=verdict.levels)
    right = np.array([0.0 if level is None else float(level) for level in verdict.levels])
    levels = quotients(allocation.totals.to_numpy(), mechanism.tasks_per_level(instance))
    errors = differences(levels, right)
    if instance.tree.guarantees.any() or past is not None:
        # what a guarantee or a past comes to is rounded to a float, and leaves room to others
        tasks_alone = instance.gamma().sum(axis=1)
        if past is not None:
            tasks_alone = tasks_alone + past * mechanism.tasks_per_level(instance)
        room = len(levels) * ROUNDING * tasks_alone
        errors[abs(levels - right) * mechanism.tasks_per_level(instance) <= room] = 0.0
    names = [f"user {quoted(user)}" for user in instance.users]
    return replace(verdict, exact=_claimed(verdict.exact, levels)).compared(
        "optimal", names, levels, right, errors
    )


def _claimed(proof: ExactProof | str, levels: np.ndarray) -> ExactProof | str:
    """Return a proof of these levels of an allocation."""
    if isinstance(proof, str):
        return proof
    proved = zip(proof.levels, levels.tolist(), strict=True)
    return replace(
        proof, levels=tuple(replace(level, claimed=claimed) for level, claimed in proved)
    )
