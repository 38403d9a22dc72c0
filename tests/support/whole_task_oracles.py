"""What theory says of progressive filling with whole tasks, from programs that share no code with it."""

from __future__ import annotations

import numpy as np

import fairlp
from fairlp.formulations.whole_tasks import whole_able, whole_tasks
from fairlp.mechanisms.whole_tasks.filling import Pool
from fairlp.tolerances import AGREEMENT


def has_the_smallest_level_of_the_integer_program(instance, allocation):
    """Filling attains the optimum of the max-min integer program.

    All picks from levels below t together need the fewest tasks with which everyone has level t; if
    those fit, filling makes them all before any other. A point that is over capacity in the last
    digits proves nothing against a smaller level, and neither does an optimum against a larger one
    that fits: the solver missed it, by its tolerance.
    """
    able_users = whole_able(instance)
    if not able_users.any():
        return True
    solution = whole_tasks(instance).solve().require_optimal()
    best = solution.objective
    level = float(allocation.levels.to_numpy()[able_users].min())
    difference = abs(level - best) / max(level, best, np.finfo(float).tiny)
    pool = Pool.of(instance)
    point = np.rint(solution.values["x"].to_numpy())
    over = bool((pool.usage(point) > pool.capacity).any())
    fits = not bool((pool.usage(allocation.totals.to_numpy()) > pool.capacity).any())
    return difference <= AGREEMENT or (over and level < best) or (fits and level > best)


def is_within_one_task_of_divisible_drf(instance, allocation):
    """Every level is within one task of the largest share of the first level of divisible DRF.

    When the first task does not fit, on resource r, everyone is at the level s or above it and has
    at most s/ds[n] + 1 tasks, so c[r] < Σ_n (s/ds[n] + 1)·d[n,r]: s is less than max ds below the
    divisible level. The user with the largest share per task is therefore less than one task below
    its divisible one.
    """
    able_users = whole_able(instance)
    if not able_users.any():
        return True
    limits = np.where(able_users, instance.task_limits, 0.0)
    divisible = fairlp.allocate(instance.derived(task_limits=limits), "drf", method="lp")
    levels, per_task = (
        allocation.levels.to_numpy()[able_users],
        1.0 / allocation.tasks_per_level[able_users],
    )
    limited = allocation.totals.to_numpy()[able_users] >= np.floor(instance.task_limits[able_users])
    first = float(divisible.levels.to_numpy()[able_users].min())
    return bool(((levels + per_task.max() >= first * (1 - AGREEMENT)) | limited).all())
