"""Whole tasks: one function a method, on one server or placed on many."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, UnknownNameError, counted, quoted, require_known
from ...formulations.whole_tasks import precomputed_drf as formulation
from ...models.instances.arithmetic import require_countable
from ...models.instances.instance import Instance
from ...models.instances.rationals import decimal, exact_shares
from ...tolerances import AGREEMENT
from ..mechanism import MethodCall, TasksResult
from . import precomputed
from .filling import RULES, TIES, Filling, Pool
from .leximin import discrete_leximin
from .on_tree import FreeCapacity, never
from .placement import (
    SLOTS,
    SYSTEM,
    UNITS,
    Pick,
    in_one_unit,
    next_task,
    note_on_slots,
    pick_by_pick,
    place,
    require_few_tasks,
)

# A naive tree of shares, to compare hierarchical DRF with: from the root down to the child of the
# lowest share.


class NaiveTree:
    """Shares of queues and users as tasks come and go, exactly, in whole numbers of one unit.

    While the tree is filled, each queue that is visited has a heap of its users whose next task may
    fit.
    """

    def __init__(self, instance: Instance) -> None:
        queues = instance.tree
        self.room = FreeCapacity(instance)
        self.limits = np.floor(instance.task_limits).tolist()
        self.tasks = [0] * len(self.limits)
        self.wants_more = np.array(self.limits) > 0
        self.of = queues.of.tolist()
        self.parents = queues.parents.tolist()
        self.users = [np.flatnonzero(queues.of == v) for v in range(len(self.parents))]
        self.below: list[list[int]] = [[] for _ in self.parents]
        for v in range(1, len(self.parents)):
            self.below[self.parents[v]].append(v)

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

    def give(self, n: int, count: int) -> None:
        """Give a user so many tasks, or take them away."""
        self.room.take(n, count)
        self.tasks[n] += count
        amounts = [share * count for share in self.shares[n]]
        v = self.of[n]
        while True:
            used = self.used[v]
            for r, amount in enumerate(amounts):
                used[r] += amount
            if v == 0:
                return
            v = self.parents[v]

    def fill(self) -> None:
        """Serve users until no task fits."""
        self.may_fit = self.wants_more.copy()
        self._renew_may_fit()
        self.may_have = [True] * len(self.parents)
        self.heaps: dict[int, list[tuple[Any, int, int]]] = {}
        while (user := self._next(0)) is not None:
            self.give(user, 1)
            self.may_fit_is_old = True
            wants_more = self.tasks[user] < self.limits[user]
            if not wants_more:
                self.wants_more[user] = False
            next_task(self.heaps[self.of[user]], self.steps[user], wants_more)

    def turn_over(self) -> bool:
        """End one task of each user in turn and offer its room; return whether tasks changed."""
        before = list(self.tasks)
        for n in range(len(self.tasks)):
            if self.tasks[n]:
                self.give(n, -1)
                self.wants_more[n] = True
                self.fill()
        return self.tasks != before

    def _next(self, v: int) -> int | None:
        """Return the user whose task is next below a queue; None where no task fits.

        It belongs to the lowest child that has a user whose task fits. While the tree is filled, a
        task that does not fit never fits again.
        """
        if not self.any_may_fit:
            return None
        heap = self.heaps[v] if v in self.heaps else self._new_heap(v)
        if heap and not self.room.fits(heap[0][-1]):
            self._drop_tasks(heap)
        queues = [
            (max(self.used[u]) * self.queue_steps[u], u) for u in self.below[v] if self.may_have[u]
        ]
        for share, u in sorted(queues):
            if heap and heap[0][0] <= share:
                break
            user = self._next(u)
            if user is not None:
                return user
        if heap:
            return heap[0][-1]
        self.may_have[v] = False
        return None

    def _new_heap(self, v: int) -> list[tuple[Any, int, int]]:
        """Return the heap of a queue: of its users whose task may fit when it is visited first."""
        users = self.users[v]
        may_fit = users[self.may_fit[users]].tolist()
        self.heaps[v] = [(self.tasks[n] * self.steps[n], 0, n) for n in may_fit]
        heapq.heapify(self.heaps[v])
        return self.heaps[v]

    def _drop_tasks(self, heap: list[tuple[Any, int, int]]) -> None:
        """Take tasks from the top of a heap until one fits."""
        if self.may_fit_is_old:
            self._renew_may_fit()
        while heap and not (self.may_fit[heap[0][-1]] and self.room.fits(heap[0][-1])):
            heapq.heappop(heap)

    def _renew_may_fit(self) -> None:
        """Find out whose next task may still fit."""
        self.may_fit &= self.room.may_fit()
        self.any_may_fit = bool(self.may_fit.any())
        self.may_fit_is_old = False


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


def on_tree(call: MethodCall, *, run: Callable[[Instance, str], np.ndarray]) -> TasksResult:
    """Progressive filling along the tree of queues."""
    options = _parameters(call, ties="larger")
    return TasksResult(
        run(call.instance, options["ties"])[:, None],
        notes=_note_on(call.instance, sorted(never(call.instance))),
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
    notes = _note_on(call.instance, sorted(never(call.instance)))
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
    return TasksResult(tasks[:, None], notes=_note_on(instance, alone))


def _note_on(instance: Instance, never: list[int]) -> tuple[str, ...]:
    """Return a note on users who can never run one task."""
    if not never:
        return ()
    others = f" (and {counted(len(never) - 1, 'more user')})" if len(never) > 1 else ""
    first = instance.users[never[0]]
    return (
        f"user {quoted(first)}{others} could not run one whole task even alone, gets nothing and stops "
        "nobody",
    )


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
