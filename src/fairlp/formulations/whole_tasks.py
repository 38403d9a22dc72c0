"""Whole tasks: max-min as an integer program and its leximin, on one server and on many.

Precomputed DRF's cycles are here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.instances.arithmetic import whole_limits, whole_tasks_alone
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression, Index
from ..models.notation.model import Model
from ..models.notation.variables import Parameter, Variable
from . import normalisers, region


@dataclass(frozen=True)
class SettledLevel:
    """A level that earlier rounds found: the users above it, and how many may stay at or below it.

    Attributes
    ----------
    least, above : ndarray, shape (N,)
        The fewest whole tasks with which a user is at the level, and above it.
    staying : int
        Users who are at or below it in every leximin optimum.
    """

    least: np.ndarray
    above: np.ndarray
    staying: int


def whole_tasks(
    instance: Instance,
    settled: Sequence[SettledLevel] = (),
    goal: str = "level",
    room: np.ndarray | None = None,
) -> Model:
    """DRF with whole tasks (Ghodsi et al.): maximise the smallest weighted dominant share.

    The variable x is integer.

    Later rounds of the leximin: given the levels settled so far, maximise the smallest share above
    them (``goal="level"``), or the number of users above the last one (``goal="count"``). ``room``,
    shape (R,), is the capacity that tasks are held to where a solver's tolerance lets them take
    more than there is.
    """
    n = instance.users
    r = instance.resources
    model = Model("whole-task DRF", "Ghodsi et al., NSDI 2011, with whole tasks", (n, r))
    runnable = whole_able(instance)
    tasks_per_level = normalisers.tasks_at_level_1(instance, normalisers.dominant(instance))
    share = np.divide(1.0, tasks_per_level, out=np.zeros(len(tasks_per_level)), where=runnable)
    limits = np.where(runnable, whole_tasks_alone(instance.demands, instance.pool), 0.0)
    limits = np.minimum(limits, whole_limits(instance.task_limits))
    d = region.demands(model, instance)
    c = (
        region.pool(model, instance)
        if room is None
        else model.parameter("c", r, room, "what tasks can use of r")
    )
    ds = model.parameter("ds", n, share, "weighted dominant share of one task of n")
    highest = float((share * limits).max(initial=0.0))
    floor = np.where(runnable, settled[0].least, 0.0) if settled else 0.0
    x = model.variable("x", n, lower=floor, upper=limits, integer=True, doc="whole tasks of n")
    model.constraint("capacity", (d * x).sum(n) <= c)
    if settled:
        higher, y = _above(model, x, settled, runnable, limits)
        k, _ = y.indices
        if goal == "count":
            _most_above_the_last(model, higher, y)
            model.define("tasks", x)
            return model
        model.constraint("leaving", y.sum(n) >= higher)
    t = model.variable(
        "t", upper=highest, doc="smallest weighted dominant share" + (" above" if settled else "")
    )
    if settled:
        last = np.zeros((len(settled), len(n)))
        last[-1] = highest
        big = model.parameter(
            "M", (k, n), last, "largest share that anyone can reach, at the last level"
        )
        model.constraint(
            "fairness",
            ds * x + highest >= t + (big * y).sum(k),
            where=runnable & (settled[-1].above <= limits),
        )
        model.maximize(t)
    else:
        model.leximin(model.constraint("fairness", ds * x >= t, where=runnable), t)
    model.define("tasks", x)
    return model


def _above(
    model: Model,
    tasks: Expression,
    settled: Sequence[SettledLevel],
    runnable: Any,
    limits: np.ndarray,
) -> tuple[Parameter, Variable]:
    """Return how many are above each level, and the variable that says who is."""
    (n,) = tasks.indices
    k = Index("k", [f"level{number}" for number in range(1, len(settled) + 1)], "level")
    # who is above a level that is not the last is at the next one, or above that too
    fewest = np.array([level.least for level in settled[1:]] + [settled[-1].above])
    above = model.parameter("a", (k, n), fewest, "fewest tasks above level k")
    leaving = np.array([runnable.sum() - level.staying for level in settled], dtype=float)
    higher = model.parameter("h", k, leaving, "users above level k")
    reachable = runnable & (fewest <= limits)
    y = model.variable("y", k, n, where=reachable, binary=True, doc="1: n is above level k")
    model.constraint("above", tasks >= above * y, where=reachable.T)
    return higher, y


def _most_above_the_last(model: Model, higher: Parameter, y: Variable) -> None:
    """Maximise who is above the last level, while those above the others stay."""
    k, n = y.indices
    last = np.arange(len(k)) == len(k) - 1
    model.constraint("leaving", y.sum(n) >= higher, where=~last)
    weight = model.parameter("last", k, last.astype(float), "1 for the last level")
    model.maximize((weight * y).sum(k, n))


def whole_able(instance: Instance) -> np.ndarray:
    """Return who can run at least one whole task: all that it demands fits, and it has one."""
    fits = (instance.demands <= instance.pool).all(axis=1)
    return np.asarray(fits & (instance.task_limits >= 1))


def precomputed_drf(instance: Instance) -> Model:
    """Precomputed DRF (Metin, §3.4): maximise the number k of cycles that fit.

    In k cycles n runs floor(k·ds*/ds[n]) tasks.
    """
    n = instance.users
    r = instance.resources
    model = Model("precomputed DRF", "Metin, Precomputed Dominant Resource Fairness, §3.4", (n, r))
    runnable = whole_able(instance)
    tasks_per_level = np.where(
        runnable, normalisers.tasks_at_level_1(instance, normalisers.dominant(instance)), 0.0
    )
    turns = tasks_per_level / tasks_per_level[runnable].min() if runnable.any() else tasks_per_level
    d = region.demands(model, instance)
    c = region.pool(model, instance)
    rho = model.parameter("rho", n, turns, "ds*/ds[n]: tasks of n in one cycle")
    k = model.variable("k", upper=None if runnable.any() else 0.0, doc="number of cycles")
    model.constraint("capacity", (d * rho * k).sum(n) <= c)
    model.define("tasks", rho * k)
    model.maximize(k)
    return model


# Whole tasks on servers, for any normaliser Γ.


def most_tasks_on(single: Instance) -> np.ndarray:
    """Return the most whole tasks of n on i, (N, K), of an instance of single servers, exactly."""
    columns = [whole_tasks_alone(single.demands, capacity) for capacity in single.capacities]
    largest_tasks = np.column_stack(columns) if columns else np.zeros(single.shape)
    largest_tasks = np.minimum(largest_tasks, whole_limits(single.task_limits)[:, None])
    return np.where(single.eligible & (single.task_limits >= 1)[:, None], largest_tasks, 0.0)


def on_servers(
    instance: Instance,
    name: str,
    source: str,
    normaliser: normalisers.Normaliser,
) -> Model:
    """Max-min fairness with whole tasks on single servers: maximise the smallest x[n]/(φ[n]Γ[n]).

    The variable x[n,i] is integer, and i runs over single servers. Of users who can run no whole
    task there is no level.
    """
    single = instance.expanded()
    n = single.users
    i = single.servers
    model = Model(f"{name} with whole tasks", source, (n, i, single.resources))
    tasks_per_level = normalisers.tasks_at_level_1(instance, normaliser(instance))
    gamma = model.parameter("Gamma", n, tasks_per_level, "tasks at level 1: φ[n]Γ[n]")
    largest_tasks = most_tasks_on(single)
    can_run = largest_tasks.any(axis=1)
    x = placed(model, single, largest_tasks, None)
    t = model.variable(
        "t", upper=None if can_run.any() else 0.0, doc="smallest level x[n]/(φ[n]Γ[n])"
    )
    runnable = model.subset("A", n, can_run, "n can run one whole task")
    fairness = model.constraint("fairness", x.sum(i) >= gamma * t, where=runnable)
    model.define("tasks", 1 * x)
    model.leximin(fairness, t)
    return model


def above_on_servers(instance: Instance, settled: Sequence[SettledLevel]) -> Model:
    """Whole tasks on single servers: maximise the number of users above the last of some levels.

    All reach the first level, and as many users as its ``staying`` leaves are above each earlier
    one. A whole-task allocation with these levels is the leximin if and only if, for each of them,
    no more users can be above it than are.
    """
    single = instance.expanded()
    n = single.users
    i = single.servers
    model = Model("users above a level", "ordered outcomes, level by level", (n, i))
    largest_tasks = most_tasks_on(single)
    can_run = largest_tasks.any(axis=1)
    x = placed(model, single, largest_tasks, None)
    floor = model.parameter("f", n, np.where(can_run, settled[0].least, 0.0), "tasks at level 1")
    model.constraint("floor", x.sum(i) >= floor, where=can_run)
    _most_above_the_last(
        model, *_above(model, x.sum(i), settled, can_run, largest_tasks.sum(axis=1))
    )
    model.define("tasks", 1 * x)
    return model


def reaching_on_servers(
    instance: Instance,
    fewest: np.ndarray,
    enough: Sequence[int],
    room: np.ndarray | None = None,
) -> Model:
    """Whole tasks on single servers with which all users reach a level, and enough users more.

    All that matters of a level is the fewest whole tasks with which each user reaches it. The rows
    are steps from one level to the next: so a part of y is worth only a part of a step, and the
    linear relaxation is close. Equal users are in order of their tasks, and equal servers in order
    of one weighted sum of theirs: what differs by names only is one solution.

    Parameters
    ----------
    instance : Instance
    fewest : ndarray, shape (1 + L, N)
        Tasks at the level that all reach, then at L levels above it, from the lowest.
    enough : sequence of int, length L
        How many users reach each of these.
    room : ndarray, shape (K, R), optional
        The capacity that tasks are held to where a solver's tolerance lets them take more.
    """
    single = instance.expanded()
    n = single.users
    i = single.servers
    model = Model("users who reach levels", "whole tasks, level by level", (n, i))
    largest_tasks = most_tasks_on(single)
    can_run = np.asarray(largest_tasks.any(axis=1))
    x = placed(model, single, largest_tasks, room)
    floor = model.parameter("f", n, np.where(can_run, fewest[0], 0.0), "tasks at the lowest level")
    tasks = floor + 0
    if len(enough):
        k = Index("k", [f"level{number}" for number in range(1, len(fewest))], "level")
        step = model.parameter("s", (k, n), np.diff(fewest, axis=0), "further tasks to level k")
        count = model.parameter("h", k, np.array(enough, dtype=float), "users who reach level k")
        most = np.minimum(largest_tasks.sum(axis=1), whole_limits(single.task_limits))
        reachable = can_run & (fewest[1:] <= most)
        y = model.variable("y", k, n, where=reachable, binary=True, doc="1: n reaches level k")
        follows = reachable.copy()
        follows[0] = False
        model.constraint("in order", y <= y.shift(k), over=(k, n), where=follows)
        model.constraint("enough", y.sum(n) >= count)
        tasks = floor + (step * y).sum(k)
    model.constraint("reached", x.sum(i) >= tasks, where=can_run)
    _in_order(model, single, x, can_run)
    model.define("tasks", 1 * x)
    model.maximize(0 * x.sum(n, i))
    return model


def _in_order(model: Model, single: Instance, x: Variable, can_run: np.ndarray) -> None:
    """Add rows by which equal users, and equal servers, are in order."""
    n = single.users
    i = single.servers
    like_user = np.column_stack(
        [single.demands, single.user_weights, single.task_limits, single.eligible]
    )
    follows = np.asarray(_follows(like_user) & can_run)
    if follows.any():
        model.constraint("equal users", x.sum(i) <= x.sum(i).shift(n), where=follows)
    like_server = np.column_stack([single.capacities, single.eligible.T])
    follows = _follows(like_server)
    if follows.any():
        place = model.parameter("o", n, np.arange(1.0, len(n) + 1), "place of n")
        used = (place * x).sum(n)
        model.constraint("equal servers", used <= used.shift(i), where=follows)


def _follows(rows: np.ndarray) -> np.ndarray:
    """Return which rows are as the one before."""
    same = np.zeros(len(rows), dtype=bool)
    same[1:] = (rows[1:] == rows[:-1]).all(axis=1)
    return same


def packing(instance: Instance, tasks: np.ndarray) -> Model:
    """Whole tasks (N, K) on rows of identical servers, one by one on the servers of each row."""
    single = instance.expanded()
    n = single.users
    i = single.servers
    v = Index("v", instance.servers.labels, "row of servers")
    model = Model("do these tasks fit server by server?", "bin packing", (n, i, v))
    x = placed(model, single, most_tasks_on(single), None)
    row = np.repeat(np.arange(len(instance.counts)), instance.counts)
    inside = model.parameter(
        "b", (v, i), np.arange(len(v))[:, None] == row, "1 where server i is one of row v"
    )
    on_rows = model.parameter("X", (v, n), np.rint(tasks).T, "tasks of n on row v")
    model.constraint("placed", (inside * x).sum(i) >= on_rows, over=(v, n))
    model.maximize(x.sum(n, i))
    return model


def placed(
    model: Model, single: Instance, largest_tasks: np.ndarray, room: np.ndarray | None
) -> Variable:
    """Return x[n,i], whole tasks within capacities and task limits."""
    n = single.users
    i = single.servers
    d = region.demands(model, single)
    if room is None:
        c = region.capacities(model, single)
    else:
        c = model.parameter("c", (i, single.resources), room, "what whole tasks can use of i")
    runs = model.subset(
        "E", (n, i), largest_tasks >= 1, "one whole task of n fits i, where n may run"
    )
    x = model.variable(
        "x", n, i, upper=largest_tasks, where=runs, integer=True, doc="whole tasks of n on server i"
    )
    model.constraint("capacity", (d * x).sum(n) <= c)
    whole = single.derived(task_limits=whole_limits(single.task_limits))
    is_binding = whole.task_limits < largest_tasks.sum(axis=1)
    region.task_limits(model, whole, x.sum(i), users=is_binding)
    return x
