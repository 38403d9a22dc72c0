"""No justified complaints on one server: from a method to an Allocation with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UnknownNameError
from ...formulations import normalisers
from ...formulations.complaints import UTILIZATION, Criterion, candidate, coefficients, eisenberg_gale, selection
from ...models.instances.instance import Instance
from ...models.instances.requests import Requests
from ...tolerances import COMPLAINT, CONVEX_COMPLAINT, PATH_LIMIT
from ..allocation import Allocation
from ..max_min.methods import by_interior_points
from . import market as complaints_market
from . import path as complaints_path
from .candidates import Candidates
from .complaints import certify_fair

if TYPE_CHECKING:
    from ..max_min.methods import Request
    from ..mechanism import Algorithm, Mechanism

#: (requests of users with an entitlement, fraction of each resource to give out) → x, prices
Optimum = Callable[[Requests, np.ndarray], tuple[np.ndarray, np.ndarray]]
#: How far complaints may go that a method's own accuracy explains.
TOLERANCES = {
    "interior-point": CONVEX_COMPLAINT,
    "convex": CONVEX_COMPLAINT,
    "trajectory": PATH_LIMIT,
    "newton": PATH_LIMIT,
}


def market(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """The Eisenberg–Gale optimum by Newton's method on prices; asked ``auto`` and a criterion, the integer program."""
    if request.method == "auto" and request.parameters.get("criterion") is not None:
        return best_fair(instance, mechanism, mechanism.algorithm("milp", instance), request)
    _refuse_criterion(mechanism, algorithm, request)
    request.refuse_solver_options(mechanism, algorithm)
    steps = []

    def optimum(part: Requests, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = complaints_market.eisenberg_gale(part.fractions / left, part.entitlements, part.limited)
        steps.append(found.steps)
        return found.x, found.prices / left

    return _run(instance, mechanism, algorithm, request, optimum)


def trajectory(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """The end of the paper's trajectory: integrated by SciPy (``trajectory``) or followed by Newton (``newton``)."""
    _refuse_criterion(mechanism, algorithm, request)
    request.refuse_solver_options(mechanism, algorithm)
    follow = complaints_path.by_newton if algorithm.method == "newton" else complaints_path.by_integration

    def optimum(part: Requests, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fractions = part.fractions / left
        path = follow(fractions, part.entitlements, part.limited)
        x = path.x[-1] / max(1.0, float((path.x[-1] @ fractions).max()))  # the integrator's error
        return x, path.prices[-1] / left

    return _run(instance, mechanism, algorithm, request, optimum)


def convex(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """The Eisenberg–Gale model through a solver: an exponential cone, or tangents on linear programs."""
    _refuse_criterion(mechanism, algorithm, request)

    def optimum(part: Requests, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = eisenberg_gale(part, left)
        solution = model.solve(solver=request.solver, **request.options).require_optimal()
        assert solution.x is not None
        x = model.compile().column_block("x").unpack(solution.x).to_numpy()
        if solution.row_duals is None:
            return x, np.full(len(left), np.nan)
        return x, np.maximum(model.compile().row_block("capacity").unpack(solution.row_duals).to_numpy(), 0.0)

    return _run(instance, mechanism, algorithm, request, optimum, solver=request.solver)


interior_point = by_interior_points(convex)


def best_fair(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """The best of all fair allocations by a criterion: an integer program, or one linear program for each candidate."""
    criterion = request.parameters.get("criterion")
    criterion = UTILIZATION if criterion is None else criterion
    begin = perf_counter()
    requests = Requests.of(instance)
    coefficients(requests, criterion)  # a criterion that does not exist ends it here
    if algorithm.method == "candidates":
        candidates = Candidates(requests, criterion, request.solver, request.options)
        x = candidates.best().x
        count = 2 ** len(candidates.contended)
        notes: tuple[str, ...] = (
            f"{count} candidate sets of bottlenecks, decided by {candidates.programs} linear programs",
        )
    else:
        x, notes = _by_selection(requests, criterion, request)
    x = np.where(requests.asking, x, 1.0)
    return _allocation(instance, mechanism, algorithm, requests, x, None, begin, request.solver, COMPLAINT, notes)


def _by_selection(requests: Requests, criterion: Criterion, request: Request) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the optimum of the integer program; its bottlenecks given, x is that of their linear program."""
    solution = selection(requests, criterion).solve(solver=request.solver, **request.options).require_optimal()
    bottlenecks = solution.values["z"].to_numpy() > 0.5
    refined = candidate(requests, bottlenecks, criterion).solve(solver=request.solver, **request.options)
    x = refined.require_optimal().values["x"].to_numpy()
    return np.maximum(x, requests.thresholds(bottlenecks)), ()


def in_stages(requests: Requests, optimum: Optimum, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x (N,) and prices (R,): users with an entitlement first, then the others share what that leaves.

    Those entitled to nothing share it by their weights, which is where entitlements tend to that vanish alike; whoever
    needs a resource that is used up gets nothing.
    """
    x = np.where(requests.asking, 0.0, 1.0)
    prices = np.zeros(len(requests.resources))
    first = requests.asking & (requests.entitlements > 0)
    if first.any():
        part = requests if first.all() else requests.select(first)
        x[first], prices = optimum(part, np.ones(len(prices)))
        prices = prices * requests.entitlements[first].sum()
    rest = requests.asking & (requests.entitlements == 0)
    if rest.any():
        used = x[first] @ requests.fractions[first]
        closed = used >= 1 - tolerance
        rest &= ~(requests.fractions[:, closed] > 0).any(axis=1)
        if rest.any():
            part = requests.select(rest)
            weights = part.weights / part.weights.sum()
            part = Requests(**{**part.__dict__, "entitlements": weights})
            x[rest], _ = optimum(part, np.where(closed, 1.0, 1 - used))
    return x, prices


def _run(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    request: Request,
    optimum: Optimum,
    solver: str = "",
) -> Allocation:
    begin = perf_counter()
    requests = Requests.of(instance)
    tolerance = TOLERANCES.get(algorithm.method, COMPLAINT)
    x, prices = in_stages(requests, optimum, tolerance)
    known = None if np.isnan(prices).any() else prices
    return _allocation(instance, mechanism, algorithm, requests, x, known, begin, solver, tolerance, ())


def _allocation(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    requests: Requests,
    x: np.ndarray,
    prices: np.ndarray | None,
    begin: float,
    solver: str,
    tolerance: float,
    notes: tuple[str, ...],
) -> Allocation:
    solved = perf_counter()
    certificate = certify_fair(requests, x, prices, tolerance)
    saturated = np.isin(
        np.arange(len(requests.resources)), [list(requests.resources).index(b) for b in certificate.bottlenecks]
    )
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        solver=solver,
        tasks_array=requests.to_tasks(x)[:, None],
        normaliser=normalisers.dominant(instance),
        entitled=requests.thresholds(saturated) * requests.tasks,
        prices_array=None if prices is None else (prices / instance.pool)[None, :],
        times={"solve": solved - begin, "check": perf_counter() - solved},
        gap=certificate.gap,
        certificate=certificate,
        notes=notes,
    )


def _refuse_criterion(mechanism: Mechanism, algorithm: Algorithm, request: Request) -> None:
    if request.parameters.get("criterion") is not None:
        raise UnknownNameError(
            f"method {algorithm.method!r} of {mechanism.name!r} gives one fair allocation and takes no criterion; "
            "methods 'milp' and 'candidates' give the best one by a criterion"
        )
