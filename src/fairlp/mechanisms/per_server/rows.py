"""The rows of the table for per-server dominant share fairness (PS-DSF)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...formulations import normalisers, per_server
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ..certificates import in_floats
from ..domains import NO_QUEUE_LIMITS, ONE_WEIGHT
from ..max_min.methods import by_interior_points
from ..mechanism import Mechanism, Method
from . import methods
from .clocks import CLOCK_OPTIONS
from .fixed_point import judge
from .validation import validate_methods

_SWEEPS = ("most_sweeps",)
_CLOCKS = (*CLOCK_OPTIONS, "seconds")

BEST_RESPONSE = Method(
    "best-response", methods.with_pivots, options=_SWEEPS, cost="O(NK(R + log N)) a sweep, tens of sweeps"
)
SWEEPS = Method("sweeps", methods.without_pivots, options=_SWEEPS, cost="O(NK(R + log N)) a sweep, thousands of sweeps")
ALGORITHM_1 = Method(
    "algorithm-1", methods.by_algorithm_1, options=_SWEEPS, cost="Algorithm I; as many sweeps, twice the time of each"
)
DISTRIBUTED = Method(
    "distributed",
    methods.distributed,
    options=_CLOCKS,
    cost="as sweeps; a simulation of clocks and messages",
    by_name=True,
)
INTERIOR_POINT = replace(by_interior_points(methods.interior_point), options=_SWEEPS)
MARKET = Method("convex", methods.convex, options=_SWEEPS, cost="one convex program", solves=True)


def _without_limits(instance: Instance) -> bool:
    """Whether nobody has a task limit, of which Theorem 2 knows nothing."""
    return bool(np.isinf(instance.task_limits).all())


def _milp(formulation: Callable[[Instance], Model], applies: Callable[[Instance], bool] | None = None) -> Method:
    """Return the method of a formulation whose binaries choose the bottlenecks."""
    return Method(
        "milp",
        partial(methods.milp, formulation=formulation),
        applies=applies,
        options=_SWEEPS,
        needs="" if applies is None else "no task limits",
        cost="one integer program (small instances)",
        solves=True,
    )


ROWS = (
    Mechanism(
        "psdsf-rdm",
        "Per-server dominant share fairness, resources divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_rdm,
        normalisers.containerized,
        (BEST_RESPONSE, SWEEPS, ALGORITHM_1, DISTRIBUTED, _milp(per_server.psdsf_rdm)),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource"),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        validate=validate_methods,
        prove=partial(in_floats, judge=partial(judge, division="rdm")),
        limits="never",  # the paper has none (docs/per-server-fairness.md)
    ),
    Mechanism(
        "psdsf-tdm",
        "Per-server dominant share fairness, time divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_tdm,
        normalisers.containerized,
        (
            BEST_RESPONSE,
            SWEEPS,
            ALGORITHM_1,
            DISTRIBUTED,
            INTERIOR_POINT,
            MARKET,
            _milp(partial(per_server.psdsf_tdm, theorem=True), _without_limits),
        ),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource", "Pareto-optimal", "strategy-proof"),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        validate=validate_methods,
        prove=partial(in_floats, judge=partial(judge, division="tdm")),
        division="tdm",
        limits="never",
    ),
)
