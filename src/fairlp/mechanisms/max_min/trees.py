"""Methods along a tree of queues, and with guarantees and caps: rounds of a linear program, or of one pool's sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...errors import InstanceError, SolverError
from ...formulations.hierarchical import rates_on_tree
from ...formulations.region import able_users, have_limits, require_count, shortfall
from ...models.instances.instance import Instance
from ...models.instances.problem import effort
from ...models.trees.climbing import Stretch, begin
from ...models.trees.filling import Rows, fill
from ...models.trees.guarantees import floors
from ...models.trees.rates import Rates, constant
from ...solvers.leximin.climbing import climb
from ...tolerances import AGREEMENT
from ..mechanism import Asked, Tasks
from .methods import outcome, rounds_table
from .rationals import count_of


def either(plain: Callable[[Asked], Tasks], limited: Callable[[Asked], Tasks]) -> Callable[[Asked], Tasks]:
    """Return the method for instances without guarantees and caps, and another one for those with them."""

    def method(asked: Asked) -> Tasks:
        require_count(count_of(asked.parameters))
        return limited(asked) if have_limits(asked.instance) else plain(asked)

    return method


def along_tree(asked: Asked) -> Tasks:
    """Run the rounds of the mechanism's linear program along the tree."""
    return by_programs(asked, rates_on_tree(asked.instance))


def fill_tree(asked: Asked) -> Tasks:
    """Fill one pool along the tree."""
    return by_filling(asked, rates_on_tree(asked.instance))


def with_limits(asked: Asked) -> Tasks:
    """Run the rounds of a mechanism without a tree, where queues have guarantees and caps."""
    return by_programs(asked, constant(asked.mechanism.due(asked.instance)))


def fill_with_limits(asked: Asked) -> Tasks:
    """Fill one pool by a mechanism without a tree, where queues have guarantees and caps."""
    return by_filling(asked, constant(asked.mechanism.due(asked.instance)))


def by_programs(asked: Asked, rates: Rates) -> Tasks:
    """Return the outcome of the rounds of linear programs at these rates."""
    instance, formulation = asked.instance, asked.mechanism.formulation
    assert formulation is not None
    count = count_of(asked.parameters)
    first = _first(instance, rates, count)
    try:
        result = climb(
            instance,
            partial(formulation, count=count),
            rates,
            first,
            solver=asked.solver,
            merge=asked.merge,
            options=asked.options,
        )
    except SolverError:
        require_room(instance, first.has)
        raise
    return outcome(instance, result)


def by_filling(asked: Asked, rates: Rates) -> Tasks:
    """Return the outcome of filling one pool at these rates; at most one round a row and task limit, O(NR) each."""
    instance = asked.instance
    multiple = effort(instance)
    needs = instance.demands if multiple is None else instance.demands * multiple[:, [0]]
    rows = Rows.of_pool(instance.pool, needs, instance.demands, instance.queues)
    first = _first(instance, rates, count_of(asked.parameters))
    if not (rows.use @ first.has <= rows.room * (1 + AGREEMENT)).all():
        require_room(instance, first.has)
    totals, history = fill(rates, rows, first)
    tasks = totals[:, None]
    return Tasks(tasks, rounds=rounds_table(instance, history, tasks))


def _first(instance: Instance, rates: Rates, count: str) -> Stretch:
    """Return where the climb begins: from the guarantees, which count or come before what is counted."""
    require_count(count)
    kept = floors(instance)
    base = kept if count == "borrowed" else np.zeros(len(kept))
    return begin(rates, kept, base, instance.task_limits, able_users(instance))


def require_room(instance: Instance, kept: np.ndarray) -> None:
    """Raise, naming queue and resource, where guarantees do not fit together."""
    model = shortfall(instance, kept)
    found = model.solve().require_optimal().x
    assert found is not None
    missing = np.asarray(model.evaluate("missing", found)).ravel()
    lacking = missing > AGREEMENT * np.maximum(kept, 1.0)
    queues = instance.queues
    if queues is None or not lacking.any():
        return
    amounts = np.where(lacking, missing, 0.0)[:, None] * instance.demands
    r = int((amounts.sum(axis=0) / instance.pool).argmax())
    short = amounts[:, r]
    n = int(short.argmax())
    above = [v for v in queues.guaranteed.tolist() if queues.below[v, n] > 0]
    v = max(above, key=lambda one: int(queues.depths[one]))
    path, resource, user = queues.paths[v], instance.resources[r], instance.users[n]
    raise InstanceError(
        f"the guarantees of queues cannot all be kept: queue {path!r} is guaranteed "
        f"{queues.guarantees[v, r]:g} {resource!r}, and {short.sum():g} of {resource!r} have no place on the "
        f"servers where its users (such as {user!r}) may run, beside the other guarantees and caps; lower a guarantee, "
        "raise a cap, or add servers"
    )
