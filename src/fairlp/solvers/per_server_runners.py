"""PS-DSF: from an algorithm to an Allocation, with the same certificate whatever made it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..formulations import per_server as formulations
from ..models.allocation import Allocation
from ..models.errors import NotConvergedError
from ..models.instance import Instance
from .combinatorial.per_server import MOST_SWEEPS, Division, Market, Settled, best_response, merged
from .fixed_point import FixedPoint, fixed_point

if TYPE_CHECKING:
    from ..mechanism import Algorithm, Mechanism
    from .runners import Request


def division_of(mechanism: Mechanism) -> Division:
    """Return what servers divide under the mechanism of that name."""
    return "tdm" if mechanism.name.endswith("tdm") else "rdm"


def sweeps(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Best responses of the servers, swept until nothing moves; ``sweeps`` without the pivots in between."""
    request.refuse_solver_options(mechanism, algorithm)
    most = int(request.parameters.get("most_sweeps", MOST_SWEEPS))

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame]:
        market = Market.of(small, division_of(mechanism))
        settled = best_response(market, pivoting=algorithm.method != "sweeps", most_sweeps=most)
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        frame = pd.DataFrame(settled.sweeps, columns=["change", "pivots"])
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="sweep")
        return settled.tasks, frame

    return finish(instance, mechanism, algorithm, request, run)


def convex(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Time division as a market: the Eisenberg–Gale program through a solver, ended by best responses.

    The solver's point is right to the square root of its accuracy only; best responses from there go to the last digit.
    """

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame | None]:
        model = formulations.psdsf_tdm(small)
        solution = model.solve(solver=request.solver, **request.options).require_optimal()
        assert solution.x is not None
        start = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(len(small.users), -1)
        settled = best_response(Market.of(small, "tdm"), start=np.maximum(start, 0.0))
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        return settled.tasks, None

    return finish(instance, mechanism, algorithm, request, run, solver=request.solver)


def milp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Theorem 1 or 2 with binaries, through an integer solver: among all fixed points, one of the most tasks."""

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame | None]:
        division = division_of(mechanism)
        model = formulations.psdsf_tdm(small, theorem=True) if division == "tdm" else formulations.psdsf_rdm(small)
        solution = model.solve(solver=request.solver, **request.options).require_optimal()
        assert solution.x is not None
        tasks = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(len(small.users), -1)
        # the solver's point is right to its tolerance; best responses from there end at the last digit
        settled = best_response(Market.of(small, division), start=np.maximum(tasks, 0.0))
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        return settled.tasks, None

    return finish(instance, mechanism, algorithm, request, run, solver=request.solver)


def finish(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    request: Request,
    run: Callable[[Instance], tuple[np.ndarray, pd.DataFrame | None]],
    solver: str = "",
) -> Allocation:
    """Merge identical servers, run, split, and certify; raise when the certificate does not hold."""
    begin = perf_counter()
    small, servers = merged(instance, request.merge)
    prepared = perf_counter()
    found, rounds = run(small)
    solved = perf_counter()
    tasks = found[:, servers.of] * servers.factor
    division = division_of(mechanism)
    certificate = fixed_point(small, found, division)
    if not certificate.holds:
        raise NotConvergedError(
            f"{mechanism.name} by {algorithm.method} ended where its certificate fails: {certificate}"
        )
    notes: tuple[str, ...] = ()
    if servers.merges:
        notes = (
            f"found with {len(servers)} servers instead of {len(instance.servers)}: identical servers were merged, "
            "which keeps a fixed point a fixed point",
        )
    alone = instance.gamma().sum(axis=1)
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        solver=solver,
        tasks_array=tasks,
        normaliser=alone,
        entitled=instance.user_weights * alone,
        times={"build": prepared - begin, "solve": solved - prepared, "verify": perf_counter() - solved},
        rounds=rounds,
        certificate=certificate,
        notes=notes,
    )


def _not_settled(mechanism: Mechanism, instance: Instance, settled: Settled) -> NotConvergedError:
    verdict: FixedPoint = fixed_point(instance, settled.tasks, division_of(mechanism))
    change = settled.sweeps[-1][0]
    return NotConvergedError(
        f"{mechanism.name} has not settled after {len(settled.sweeps)} sweeps: the last one still moved {change:.3g} "
        f"of what a user could run alone on a server. {verdict}. Allow more with most_sweeps, or use method='milp' "
        "(small instances)"
    )
