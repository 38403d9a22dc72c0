"""Whole tasks: one function a method, on one server or placed on many."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, UnknownNameError, quoted, require_known
from ...formulations.whole_tasks import precomputed_drf as formulation
from ...models.instances.arithmetic import require_countable, whole_limits
from ...models.instances.instance import Instance
from ...models.instances.rationals import decimal, exact_shares
from ...tolerances import AGREEMENT
from ..max_min.whole import note_on
from ..mechanism import MethodCall, TasksResult
from . import precomputed
from .filling import RULES, TIES, Filling, Pool
from .leximin import discrete_leximin
from .on_tree import FreeCapacity, fill, never
from .placement import (
    SLOTS,
    SYSTEM,
    UNITS,
    Pick,
    in_one_unit,
    note_on_slots,
    pick_by_pick,
    place,
    require_few_tasks,
)

# A naive tree of shares, to compare hierarchical DRF with: from the root down to the child of the
# lowest share.


class NaiveTree:
    """Shares of queues and users as tasks come and go, exactly, in whole numbers of one unit.

    Each queue has its users who want more tasks, and its queues, in the order of their shares.
    """

    def __init__(self, instance: Instance) -> None:
        queues = instance.tree
        self.room = FreeCapacity(instance)
        self.limits = whole_limits(instance.task_limits).tolist()
        self.tasks = [0] * len(self.limits)
        self.wants_more = np.array(self.limits) > 0
        self.of = queues.of.tolist()
        self.parents = queues.parents.tolist()

        # A queue's share is what it uses times 1/(w·common), a user's is its tasks times ds/φ.
        shares = exact_shares(instance, decimal)
        common = math.lcm(*(share.denominator for row in shares for share in row))
        self.shares = [[int(share * common) for share in row] for row in shares]
        self.used = [[0] * len(self.shares[0]) for _ in self.parents]
        user_weights = [decimal(weight) for weight in instance.user_weights.tolist()]
        steps = [max(row) / weight for row, weight in zip(shares, user_weights, strict=True)]
        steps += [1 / (decimal(weight) * common) for weight in queues.weights.tolist()]
        steps_in_one_unit = in_one_unit(steps)
        self.steps = steps_in_one_unit[: len(self.of)]
        self.queue_steps = steps_in_one_unit[len(self.of) :]

        self.queue_shares: list[Any] = [0] * len(self.parents)
        self.users: list[list[tuple[Any, int]]] = [[] for _ in self.parents]
        self.below: list[list[tuple[Any, int]]] = [[] for _ in self.parents]
        for n in np.flatnonzero(self.wants_more).tolist():
            self.users[self.of[n]].append((0, n))
        for v in range(1, len(self.parents)):
            self.below[self.parents[v]].append((0, v))

    def give(self, n: int, count: int) -> None:
        """Give a user so many tasks, or take them away."""
        self.room.take(n, count)
        tasks = self.tasks[n]
        step = self.steps[n]
        users = self.users[self.of[n]]
        if tasks < self.limits[n]:
            del users[bisect_left(users, (tasks * step, n))]
        tasks += count
        self.tasks[n] = tasks
        wants_more = tasks < self.limits[n]
        self.wants_more[n] = wants_more
        if wants_more:
            insort(users, (tasks * step, n))

        amounts = [share * count for share in self.shares[n]]
        v = self.of[n]
        while True:
            used = self.used[v]
            for r, amount in enumerate(amounts):
                used[r] += amount
            if v == 0:
                return
            parent = self.parents[v]
            siblings = self.below[parent]
            del siblings[bisect_left(siblings, (self.queue_shares[v], v))]
            self.queue_shares[v] = max(used) * self.queue_steps[v]
            insort(siblings, (self.queue_shares[v], v))
            v = parent

    def fill(self) -> None:
        """Serve users until no task fits."""
        while not self.room.is_out():
            may_fit = self.wants_more & self.room.may_fit()
            user = self._next(0, may_fit) if may_fit.any() else None
            if user is None:
                return
            self.give(user, 1)

    def turn_over(self) -> bool:
        """End one task of each user in turn and offer its room; return whether tasks changed."""
        before = list(self.tasks)
        for n in range(len(self.tasks)):
            if self.tasks[n]:
                self.give(n, -1)
                self.fill()
        return self.tasks != before

    def _next(self, v: int, may_fit: np.ndarray) -> int | None:
        """Return the user whose task is next below a queue; None where none fits.

        It belongs to the lowest child that has a user whose task fits; of equal ones to a user
        before a queue.
        """
        fits = self.room.fits
        own = next(((share, n) for share, n in self.users[v] if may_fit[n] and fits(n)), None)
        for share, u in self.below[v]:
            if own is not None and own[0] <= share:
                break
            user = self._next(u, may_fit)
            if user is not None:
                return user
        return None if own is None else own[1]


def naive(instance: Instance, turnover: int) -> tuple[np.ndarray, bool]:
    """Return whole tasks by user after at most ``turnover`` turnovers, and whether they rest.

    A turnover ends every task once.
    """
    tree = NaiveTree(instance)
    tree.fill()
    changes = True
    for _ in range(turnover):
        changes = tree.turn_over()
        if not changes:
            break
    return np.array(tree.tasks, dtype=float), not changes


#: Turnovers of all tasks that a naive tree is given, unless told otherwise, to come to rest.
TURNOVER = 100
REPAIRS: tuple[str, ...] = ("none", "ascending", "filling")


def fast_filling(call: MethodCall, *, offset: int = 0) -> TasksResult:
    """Discrete DRF (sequential minmax with ``offset=1``) without the loop over tasks."""
    options = _parameters(call, rule="exclude", ties="larger")
    pool = _pool(call)
    return _shared(
        call, pool, Filling(pool, offset=offset, ties=options["ties"], rule=options["rule"]).run()
    )


def loop_filling(call: MethodCall, *, offset: int = 0) -> TasksResult:
    """Fill pick by pick: discrete DRF or sequential minmax.

    With ``trace=True``, ``Allocation.picks`` has every pick.
    """
    options = _parameters(call, rule="exclude", ties="larger", trace=False)
    pool = _pool(call)
    picks = list[Pick]() if options["trace"] else None
    tasks = pick_by_pick(
        pool, rule=options["rule"], ties=options["ties"], offset=offset, trace=picks
    )
    outcome = _shared(call, pool, tasks)
    return outcome if picks is None else replace(outcome, picks=_trace(call.instance, picks))


def on_tree(call: MethodCall, *, counted: bool = False) -> TasksResult:
    """Progressive filling along the tree of queues."""
    options = _parameters(call, ties="larger")
    return TasksResult(
        fill(call.instance, options["ties"], counted=counted)[:, None],
        notes=note_on(call.instance, sorted(never(call.instance))),
    )


def naive_tree(call: MethodCall) -> TasksResult:
    """Serve the child of the lowest share from the root down.

    Then each turnover ends tasks and offers their room again.
    """
    turnover = call.parameters.get("turnover", TURNOVER)
    if isinstance(turnover, bool) or not isinstance(turnover, int) or turnover < 0:
        raise InstanceError(
            f"turnover={turnover!r}; expected how often every user's tasks end, a whole number >= 0"
        )
    notes = note_on(call.instance, sorted(never(call.instance)))
    require_few_tasks(call.instance, "h-drf-discrete")
    tasks, settled = naive(call.instance, turnover)
    if turnover and not settled:
        notes = (*notes, f"after {turnover} turnovers the shares still change")
    return TasksResult(tasks[:, None], notes=notes)


def precomputed_drf(
    call: MethodCall, *, tasks_of: Callable[[MethodCall, Pool, bool], np.ndarray]
) -> TasksResult:
    """Precomputed DRF: the tasks of its cycles, divided or whole, and an optional repair.

    The repair adds tasks that still fit.
    """
    options = _parameters(call, divisible=False, repair="none", higher_order=False, ties="larger")
    options["repair"] = options["repair"] or "none"
    _one_of("repair", options["repair"], REPAIRS)
    if options["divisible"] and (options["repair"] != "none" or options["higher_order"]):
        raise UnknownNameError(
            "divisible=True leaves nothing to repair; leave out repair and higher_order"
        )
    pool = _pool(call)
    tasks = tasks_of(call, pool, options["divisible"])
    if options["higher_order"]:
        for cycle in precomputed.higher_order_cycles(pool)[1:]:
            tasks[cycle.users] += cycle.tasks
    if options["repair"] != "none":
        tasks = precomputed.repaired(pool, tasks, options["repair"], options["ties"])
    return _shared(call, pool, tasks)


def _tasks(
    whole: Callable[[Pool], np.ndarray], call: MethodCall, pool: Pool, divisible: bool
) -> np.ndarray:
    return precomputed.divisible(pool) if divisible else whole(pool)


def by_lp(call: MethodCall) -> TasksResult:
    """Precomputed DRF by its linear program.

    A number within the solver's accuracy of the next whole number is rounded up.
    """
    unproved = ""

    def tasks_of(call: MethodCall, pool: Pool, divisible: bool) -> np.ndarray:
        nonlocal unproved
        model = formulation(call.instance)
        solution = model.solve(solver=call.solver, **call.options).require_optimal()
        unproved = solution.unproved
        tasks = np.asarray(model.evaluate("tasks", solution.require_point()), dtype=float).reshape(
            -1
        )
        if not divisible:
            tasks = np.floor(tasks * (1 + AGREEMENT))
        return np.asarray(np.minimum(tasks, pool.limits))

    return replace(precomputed_drf(call, tasks_of=tasks_of), unproved=unproved)


exact_floors = partial(precomputed_drf, tasks_of=partial(_tasks, precomputed.precomputed))
floating_point = partial(precomputed_drf, tasks_of=partial(_tasks, precomputed.algorithm_1))


def leximin_milp(call: MethodCall) -> TasksResult:
    """The leximin optimum with whole tasks, by integer programs."""
    pool = _pool(call)
    result = discrete_leximin(call.instance, pool, solver=call.solver, options=call.options)
    rows = [(float(level), staying) for level, staying in result.levels]
    frame = pd.DataFrame(
        rows, columns=["level", "users at or below"], index=range(1, len(rows) + 1)
    )
    outcome = _shared(call, pool, result.tasks)
    return replace(outcome, rounds=frame.rename_axis("round"), unproved=result.unproved)


def placed(call: MethodCall, *, policy: str) -> TasksResult:
    """Serve users one task at a time on real servers, until nothing fits on any."""
    ties = call.parameters.get("ties", "larger")
    slots = call.parameters.get("slots", SLOTS)
    unit = call.parameters.get("unit", SYSTEM)
    _one_of("ties", ties, TIES)
    _one_of("unit", unit, tuple(UNITS))
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise InstanceError(
            f"slots={slots!r}; expected the number of slots of the largest server, at least 1"
        )
    slot_note = note_on_slots(call.instance, slots) if policy == "slots" else ""
    notes = (slot_note,) if slot_note else ()
    return TasksResult(place(call.instance, policy, ties=ties, slots=slots, unit=unit), notes=notes)


def _pool(call: MethodCall) -> Pool:
    """Return the whole-number data of the one server."""
    with call.phase("prepare"):
        require_countable(call.instance)
        return Pool.of(call.instance)


def _shared(call: MethodCall, pool: Pool, tasks: np.ndarray) -> TasksResult:
    """Return the tasks on one server, with a note on users who can never run one."""
    instance = call.instance
    alone = np.flatnonzero(~pool.can_run & (instance.task_limits >= 1)).tolist()
    return TasksResult(tasks[:, None], notes=note_on(instance, alone))


def _trace(instance: Instance, picks: list[Pick]) -> pd.DataFrame:
    """Return every turn of the loop as a table.

    Its columns: the user, its weighted share before, its tasks after, and whether the task ran.
    """
    rows = [(instance.users[pick.user], pick.share, pick.tasks, pick.runs) for pick in picks]
    columns = ["user", "share", "tasks", "runs"]
    return pd.DataFrame(rows, columns=columns, index=range(1, len(rows) + 1)).rename_axis("pick")


def _parameters(call: MethodCall, **defaults: Any) -> dict[str, Any]:
    """Return the mechanism's options with defaults; check the rule and the rule for ties."""
    options = {**defaults, **call.parameters}
    _one_of("rule", options.get("rule", "exclude"), RULES)
    _one_of("ties", options.get("ties", "larger"), TIES)
    return options


def _one_of(option: str, value: Any, names: tuple[str, ...]) -> None:
    """Raise, with the nearest names, unless the value is a known one."""
    require_known(value, names, f"{option}={quoted(value)} does not exist")
