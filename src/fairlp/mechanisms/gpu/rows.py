"""The rows of the table for GPU clusters: OEF, AlloX and Shockwave."""

from __future__ import annotations

import numpy as np

from ...errors import quoted
from ...formulations import gpu, normalisers
from ...models.instances.arithmetic import tasks_alone
from ...models.instances.instance import Instance
from ..mechanism import (
    BY_WEIGHTS,
    EQUAL_WEIGHTS,
    NO_LIMITS,
    NO_QUEUE_LIMITS,
    ONE_WEIGHT,
    RATES,
    Domain,
    Mechanism,
    Method,
)
from . import methods

#: Then no user is short of time of its own, and the market is Fisher's.
_ONE_SERVER = f"each round has one server and no earlier progress counts and {BY_WEIGHTS}"


def _several_tasks_on_a_device(instance: Instance) -> str | None:
    fits = tasks_alone(instance.demands, instance.capacities)
    other = (fits != 1) & instance.eligible
    if not other.any():
        return None
    n, i = np.argwhere(other)[0].tolist()
    return (
        f"its servers are devices that run one task at a time, and user {quoted(instance.users[n])} fits "
        f"{fits[n, i]:g} times on one of {quoted(instance.servers[i])} (how many devices there are is "
        "said by counts=, not by capacities)"
    )


_DEVICES = Domain("servers of one device", _several_tasks_on_a_device)
_DOMAIN = (RATES, NO_LIMITS, ONE_WEIGHT, NO_QUEUE_LIMITS, _DEVICES)

ROWS = (
    Mechanism(
        "oef",
        "OEF (the largest total speed-up without envy, or with equal throughputs)",
        gpu.OEF,
        gpu.oef,
        gpu.slowest,
        (
            Method(
                "row-generation",
                methods.oef_by_row_generation,
                cost="some LPs of 2N rows",
            ),
            Method("lp", methods.oef, cost="one LP of N² rows", solves=True),
        ),
        (f"envy-free if {BY_WEIGHTS}", f"sharing incentive if {BY_WEIGHTS}"),
        _DOMAIN,
        options=("variant",),
        agrees_by_proof=True,  # several allocations have the largest total
        prove=methods.prove_oef,
        division="tdm",
        reports_rates=True,
    ),
    Mechanism(
        "allox",
        "AlloX (the least average completion time of jobs on interchangeable devices)",
        gpu.ALLOX,
        gpu.allox,
        normalisers.containerized,
        (
            Method("assignment", methods.allox_by_assignment, cost="N³K steps, N²K numbers"),
            Method("lp", methods.allox, cost="one LP of N²K columns", solves=True),
        ),
        (),
        (*_DOMAIN, EQUAL_WEIGHTS),
        options=("steps",),
        agrees_by_proof=True,  # several schedules have the least sum
        prove=methods.prove_allox,
        level_1_of=methods.level_1_of_allox,
        compared=False,  # its tasks are averages over a schedule
        division="tdm",
    ),
    Mechanism(
        "shockwave",
        "Shockwave's market (Nash welfare over rounds whose rates change)",
        gpu.SHOCKWAVE,
        gpu.shockwave,
        normalisers.containerized,
        (
            Method(
                "interior-point",
                methods.shockwave_by_interior_points,
                cost="some 30 Newton steps of NK numbers and K equations",
            ),
            Method("convex", methods.shockwave, cost="one convex program", solves=True),
        ),
        (
            "Pareto-optimal",
            f"envy-free if {_ONE_SERVER}",
            f"sharing incentive if {_ONE_SERVER}",
        ),
        _DOMAIN,
        options=("earlier_progress",),
        agrees_by_proof=True,
        prove=methods.prove_shockwave,
        division="tdm",
        region=gpu.one_kind_at_a_time,
        reports_rates=True,
    ),
)
