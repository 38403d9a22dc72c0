"""How ``validate`` checks mechanisms with whole tasks: the loop, linear and integer programs, bounds from theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formulations.whole_tasks import whole_able, whole_tasks
from ...models.instances.instance import Instance
from ...tolerances import AGREEMENT, VERIFIED
from ..allocation import Allocation
from ..validation import Check, Compared, agreement
from .filling import Pool
from .placement import Servers

#: More tasks than this are not served one by one for a check.
MOST_PICKS = 2_000_000
#: More users than this are not put before an integer program for a check.
MOST_INTEGER_USERS = 30


def check_filling(check: Check, *, divisible: bool = False) -> Compared:
    """Check progressive filling: fast against the loop, and (``divisible``) the max-min MILP and divisible DRF."""
    fast = check.allocate(method="fast")
    rows = {}
    if fast.totals.sum() <= MOST_PICKS:
        loop = check.allocate(method="loop")
        rows = {"loop": _row(check, loop, loop, "loop"), "fast": _row(check, fast, loop, "loop")}
    else:
        rows["fast"] = _row(check, fast, fast, "nothing (too many tasks for the loop)")
    if divisible:
        if len(check.instance.users) <= MOST_INTEGER_USERS:
            rows["smallest level"] = _smallest_level(check, fast)
        rows["divisible"] = _rounding_gap(check, fast)
    return rows


def check_milp(check: Check) -> Compared:
    """Check the leximin integer programs: no smaller than progressive filling in sorted levels, its smallest equal."""
    best = check.allocate(method="milp")
    filling = check.allocate("drf-discrete")
    ours, other = (np.sort(one.levels.to_numpy()) for one in (best, filling))
    larger = np.flatnonzero(abs(ours - other) > AGREEMENT * np.maximum(ours, other))
    leximin = not larger.size or bool(ours[larger[0]] > other[larger[0]])
    row = _row(check, filling, best, "milp, sorted levels")
    rows = {"milp": _row(check, best, best, "milp"), "drf-discrete": {**row, "agrees": leximin}}
    return rows


def check_precomputed(check: Check) -> Compared:
    """Check precomputed DRF: its methods against exact floors, and user by user against exact discrete DRF."""
    exact = check.allocate(method="exact")
    rows = {"exact": _row(check, exact, exact, "exact")}
    for method in ("floating-point", "lp"):
        rows[method] = _row(check, check.allocate(method=method), exact, "exact")
    plain = not {"repair", "higher_order"} & set(check.options)
    if plain:
        divided = check.allocate(method="lp", divisible=True)
        floor = exact.totals <= divided.totals * (1 + AGREEMENT)
        close = exact.totals > divided.totals * (1 - AGREEMENT) - 1
        rows["divisible"] = {
            **_row(check, exact, divided, "lp, divisible"),
            "agrees": bool((floor & close).all()),
        }
    # precomputed DRF is an approximation of discrete DRF: this row says how good, and disagrees
    # where they differ
    rows["deviation"] = _row(check, exact, check.allocate("drf-discrete"), "drf-discrete")
    return rows


def check_placement(check: Check, *, maximal: bool = True) -> Compared:
    """Check a placement on servers: nothing over capacity, nothing more fits, and how far from the DRFH optimum.

    A slot that is free where nothing fits, or the other way round, is what slots waste: they are
    not ``maximal``.
    """
    found = check.allocate()
    feasible, full = _on_servers(check.instance, found)
    fluid = check.allocate("c-drfh")
    return {
        "feasible": {**_row(check, found, found, "capacities"), "agrees": feasible},
        "maximal": {
            **_row(check, found, found, "nothing more fits"),
            "agrees": full or not maximal,
        },
        "deviation": {**_row(check, found, fluid, "c-drfh, divisible"), "agrees": True},
    }


def _on_servers(instance: Instance, found: Allocation) -> tuple[bool, bool]:
    """Return whether the tasks fit, and whether nobody's next task fits on a server, both in whole numbers.

    Rows of identical servers are taken together: which of them runs what is not told.
    """
    together = instance.derived(
        capacities=instance.total_capacities, counts=np.ones_like(instance.counts)
    )
    servers = Servers.of(together)
    for n, i in zip(*np.nonzero(found.tasks_array), strict=True):
        servers.take(int(n), int(i), int(found.tasks_array[n, i]))
    feasible = bool((servers.free >= 0).all()) and found.residual <= VERIFIED
    alone = np.flatnonzero(instance.counts == 1)
    open_to_more = np.flatnonzero(found.totals.to_numpy() < np.floor(instance.task_limits))
    return feasible, not any(servers.fits(int(n), alone).any() for n in open_to_more)


def _row(check: Check, found: Allocation, reference: Allocation, name: str) -> dict[str, Any]:
    """Return agreement with a reference and, in tasks, how far and for how many users it is below and above."""
    more = found.totals.to_numpy() - reference.totals.to_numpy()
    return {
        **agreement(check.instance, found, reference),
        "reference": name,
        "below": float(max(0.0, -more.min())),
        "above": float(max(0.0, more.max())),
        "users_below": int((more < 0).sum()),
        "users_above": int((more > 0).sum()),
    }


def _smallest_level(check: Check, found: Allocation) -> dict[str, Any]:
    """Compare the smallest level with the optimum of the max-min integer program, which filling attains.

    All picks from levels below t together need the fewest tasks with which everyone has level t; if
    those fit, filling makes them all before any other.
    """
    able = whole_able(check.instance)
    own = {
        name: value for name, value in check.options.items() if name not in check.mechanism.options
    }
    solution = whole_tasks(check.instance).solve(solver=check.solver, **own).require_optimal()
    best = solution.objective if able.any() else 0.0
    level = float(found.levels.to_numpy()[able].min(initial=np.inf)) if able.any() else 0.0
    difference = abs(level - best) / max(level, best, np.finfo(float).tiny)
    pool = Pool.of(check.instance)
    over = bool((pool.usage(np.rint(solution.values["x"].to_numpy())) > pool.capacity).any())
    fits = not bool((pool.usage(found.totals.to_numpy()) > pool.capacity).any())
    what = "smallest level of the integer program"
    return {
        # a point that is over capacity in the last digits proves nothing against a smaller level,
        # and neither does an optimum against a larger one that fits: the solver missed it, by its
        # tolerance
        **_row(
            check,
            found,
            found,
            f"{what} (its point is over capacity, by rounding)" if over else what,
        ),
        "agrees": bool(
            difference <= AGREEMENT or (over and level < best) or (fits and level > best)
        ),
        "difference": float(difference),
        "user": check.instance.users[int(np.where(able, found.levels.to_numpy(), np.inf).argmin())],
    }


def _rounding_gap(check: Check, found: Allocation) -> dict[str, Any]:
    """Compare with divisible DRF (LP): everyone's level is within one task of the largest share of the first level.

    When the first task does not fit, on resource r, everyone is at the level s or above it and has
    at most s/ds[n] + 1 tasks, so c[r] < Σ_n (s/ds[n] + 1)·d[n,r]: s is less than max ds below the
    divisible level. Whoever has the largest share per task is therefore less than one task below
    its divisible one.
    """
    able = whole_able(check.instance)
    part = np.where(able, check.instance.task_limits, 0.0)
    divisible = Check(
        check.instance.derived(task_limits=part), check.mechanism, check.solver, {}
    ).allocate("drf", method="lp")
    row = _row(check, found, divisible, "drf, lp")
    if not able.any():
        return {**row, "agrees": True}
    levels = found.levels.to_numpy()[able]
    per_task = 1.0 / found.tasks_per_level[able]
    limited = found.totals.to_numpy()[able] >= np.floor(check.instance.task_limits[able])
    first = float(divisible.levels.to_numpy()[able].min())
    close = (levels + per_task.max() >= first * (1 - AGREEMENT)) | limited
    return {**row, "agrees": bool(close.all())}
