"""Whole goods: maximum Nash welfare in whole tasks, as an integer program.

The logarithm of a whole number k is a sum of steps, log 1 + (log 2 − log 1) + … + (log k − log(k−1)),
so that the program is exact at whole points, and has no other ones.
"""

from __future__ import annotations

import numpy as np

from ..models.instances.arithmetic import whole_limits
from ..models.instances.instance import Instance
from ..models.notation.expressions import Index
from ..models.notation.model import Model
from .whole_tasks import most_tasks_on, placed

SOURCE = "Caragiannis et al., EC 2016"


def maximum_nash_welfare(instance: Instance, room: np.ndarray | None = None) -> Model:
    """Maximum Nash welfare in whole tasks: the most users with a task, then Π_n x[n]^φ[n].

    z[n,k] says that n has k tasks or more. Its worth is log k − log(k−1), and falls with k, so that
    an optimum fills a user's steps in order. The first task has no logarithm before it: it is worth
    M, which is more than all other steps together, so that first as many users as can be have a
    task (Caragiannis et al., EC 2016).

    Parameters
    ----------
    instance : Instance
        Of any servers; i runs over single ones.
    room : ndarray, shape (K, R), optional
        The capacity that tasks are held to where a solver's tolerance lets them take more.
    """
    single = instance.expanded()
    n = single.users
    i = single.servers
    model = Model("maximum Nash welfare", SOURCE, (n, i, single.resources))
    largest_tasks = most_tasks_on(single)
    most = np.minimum(largest_tasks.sum(axis=1), whole_limits(single.task_limits))
    count = np.arange(1, int(most.max(initial=1.0)) + 1)
    k = Index("k", count.tolist(), "number of tasks")
    x = placed(model, single, largest_tasks, room)
    step = np.log(count) - np.log(np.maximum(count - 1, 1))
    phi = model.parameter("phi", n, instance.user_weights, "weight of n")
    worth = model.parameter(
        "w", k, step, "log k − log(k−1), what the k-th task adds (0: the first)"
    )
    first = model.parameter("first", k, (count == 1).astype(float), "1 for the first task")
    all_steps = float(instance.user_weights @ np.log(np.maximum(most, 1.0)))
    M = model.parameter("M", (), 1.0 + all_steps, "more than all steps but the first are worth")
    reachable = count <= most[:, None]
    z = model.variable("z", n, k, where=reachable, binary=True, doc="1: n has k tasks or more")
    model.constraint("counted", x.sum(i) == z.sum(k), where=most > 0)
    model.define("tasks", 1 * x)
    model.maximize((M * first * z).sum(n, k) + (phi * worth * z).sum(n, k))
    return model
