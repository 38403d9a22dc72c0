"""PS-DSF: from an algorithm to an Allocation, with the same certificate whatever made it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import NotConvergedError, UnknownNameError, UnsupportedError, nearest
from ...formulations import per_server as formulations
from ...models.instances.instance import Instance, effort
from ..allocation import Allocation
from .algorithm_1 import algorithm_1
from .best_response import MOST_SWEEPS, Division, Market, Settled, best_response, merged
from .distributed import Action, Clocks, Network
from .fixed_point import FixedPoint, fixed_point
from .time_market import time_market

if TYPE_CHECKING:
    from ..max_min.methods import Request
    from ..mechanism import Algorithm, Mechanism


#: Simulated seconds after which the distributed method gives up, in periods.
MOST_PERIODS = 5000
#: Violations are sampled once a period, and later whenever this much more time has passed.
SAMPLED = 1.02
#: What the distributed method takes, which no other does.
CLOCK_OPTIONS: tuple[str, ...] = ("period", "jitter", "delay", "damping", "step", "clock_seed", "seconds")
STEPS: tuple[str, ...] = ("best-response", "algorithm-1")


def division_of(mechanism: Mechanism) -> Division:
    """Return what servers divide under the mechanism of that name."""
    return "tdm" if mechanism.name.endswith("tdm") else "rdm"


def sweeps(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Sweeps over the servers until nothing moves: best responses with or without pivots, or Algorithm I."""
    request.refuse_solver_options(mechanism, algorithm)
    most = _most_sweeps(algorithm, request)

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame]:
        market = Market.of(small, division_of(mechanism))
        if algorithm.method == "algorithm-1":
            settled, counted = algorithm_1(market, most_sweeps=most), "updates"
        else:
            settled = best_response(market, pivoting=algorithm.method != "sweeps", most_sweeps=most)
            counted = "pivots"
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        frame = pd.DataFrame(settled.sweeps, columns=["change", counted])
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="sweep")
        return settled.tasks, frame

    return finish(instance, mechanism, algorithm, request, run)


def distributed(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Servers that act at times of their own on totals that arrive late, simulated; every action in ``rounds``."""
    request.refuse_solver_options(mechanism, algorithm)
    if "most_sweeps" in request.parameters:
        raise UnknownNameError("method 'distributed' makes no sweeps; it gives up after seconds=… of simulated time")
    clocks = clocks_of(request.parameters)
    seconds = positive("seconds", request.parameters.get("seconds", MOST_PERIODS * clocks.period))
    division = division_of(mechanism)

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame]:
        network = Network(Market.of(small, division), clocks)
        actions, samples = simulate(network, small, seconds)
        if not network.settled:
            verdict = fixed_point(small, network.tasks, division)
            last = max((action.change for action in actions if action.time > seconds - clocks.longest), default=0.0)
            raise NotConvergedError(
                f"{mechanism.name} by distributed servers has not settled after {seconds:g} simulated seconds "
                f"({len(actions)} actions): in the last {clocks.longest:.3g} one still moved {last:.3g} of what a user "
                f"could run alone on a server. {verdict}. Give a smaller damping (it was {clocks.damping:.3g}), a "
                "smaller delay, or more seconds"
            )
        return network.tasks, _actions(small, actions, samples)

    return finish(instance, mechanism, algorithm, request, run)


def simulate(network: Network, instance: Instance, until: float) -> tuple[list[Action], pd.DataFrame]:
    """Let a network run until it has settled or time is up; return its actions, and violation and distance by time."""
    actions: list[Action] = []
    samples: list[tuple[float, float, float]] = []

    def sample() -> None:
        violation = fixed_point(instance, network.tasks, network.market.division).violation
        samples.append((network.now, violation, network.distance()))

    due = network.now
    while network.now < until and not network.settled:
        sample()
        due = max(due + network.clocks.period, due * SAMPLED)
        actions += network.run(min(due, until))
    sample()
    return actions, pd.DataFrame(samples, columns=["time", "violation", "distance"]).set_index("time")


def _actions(instance: Instance, actions: list[Action], samples: pd.DataFrame) -> pd.DataFrame:
    """Return actions in order of time; violation and distance where they were measured next after the action."""
    frame = pd.DataFrame(
        {
            "time": [action.time for action in actions],
            "server": [instance.servers[action.server] for action in actions],
            "change": [action.change for action in actions],
        },
        index=pd.RangeIndex(1, len(actions) + 1, name="action"),
    )
    last = np.searchsorted(frame["time"].to_numpy(), samples.index.to_numpy(), side="right")
    measured = samples.set_axis(last, axis="index")
    measured = measured[~measured.index.duplicated(keep="last")]
    return frame.join(measured)


def clocks_of(parameters: dict[str, Any]) -> Clocks:
    """Return the clocks that options describe, checked.

    Without ``damping``, it is 1/(1 + delay/period): servers that hear late move less.
    """
    given = {name: value for name, value in parameters.items() if name in CLOCK_OPTIONS}
    period = positive("period", given.get("period", Clocks.period))
    delay = positive("delay", given.get("delay", Clocks.delay), zero=True)
    jitter = positive("jitter", given.get("jitter", Clocks.jitter), zero=True)
    damping = given.get("damping")
    damping = 1 / (1 + delay / period) if damping is None else positive("damping", damping)
    step = given.get("step", Clocks.step)
    if step not in STEPS:
        raise UnknownNameError(f"step={step!r} does not exist; {nearest(str(step), STEPS)}")
    if damping > 1:
        raise UnsupportedError(f"damping={damping:g}; expected a number in (0, 1]")
    if jitter >= 1:
        raise UnsupportedError(f"jitter={jitter:g}; expected a fraction of the period, in [0, 1)")
    return Clocks(period, jitter, delay, damping, step, int(given.get("clock_seed", Clocks.seed)))


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return an option that must be a finite positive number, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise UnsupportedError(f"{name}={value!r}; expected a finite number {'≥' if zero else '>'} 0")
    return number


def _most_sweeps(algorithm: Algorithm, request: Request) -> int:
    """Return how many sweeps are allowed; refuse what only the distributed method takes."""
    for name in CLOCK_OPTIONS:
        if name in request.parameters:
            raise UnknownNameError(
                f"method {algorithm.method!r} has no option {name!r}; it is one of method='distributed'"
            )
    return int(positive("most_sweeps", request.parameters.get("most_sweeps", MOST_SWEEPS)))


def convex(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Time division as a market: the Eisenberg–Gale program through a solver, ended by best responses.

    The solver's point is right to the square root of its accuracy only; best responses from there go to the last digit.
    """
    most = _most_sweeps(algorithm, request)

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame | None]:
        model = formulations.psdsf_tdm(small)
        solution = model.solve(solver=request.solver, **request.options).require_optimal()
        assert solution.x is not None
        start = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(len(small.users), -1)
        settled = best_response(Market.of(small, "tdm"), start=np.maximum(start, 0.0), most_sweeps=most)
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        return settled.tasks, None

    return finish(instance, mechanism, algorithm, request, run, solver=request.solver)


def interior_point(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Time division as a market by our own interior-point method, ended by best responses."""
    request.refuse_solver_options(mechanism, algorithm)
    most = _most_sweeps(algorithm, request)

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame | None]:
        settled = best_response(Market.of(small, "tdm"), start=time_market(small), most_sweeps=most)
        if not settled.converged:
            raise _not_settled(mechanism, small, settled)
        return settled.tasks, None

    return finish(instance, mechanism, algorithm, request, run)


def milp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Theorem 1 or 2 with binaries, through an integer solver: among all fixed points, one of the most tasks."""
    most = _most_sweeps(algorithm, request)

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame | None]:
        division = division_of(mechanism)
        model = formulations.psdsf_tdm(small, theorem=True) if division == "tdm" else formulations.psdsf_rdm(small)
        solution = model.solve(solver=request.solver, **request.options).require_optimal()
        assert solution.x is not None
        tasks = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(len(small.users), -1)
        # the solver's point is right to its tolerance; best responses from there end at the last digit
        settled = best_response(Market.of(small, division), start=np.maximum(tasks, 0.0), most_sweeps=most)
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
        effort=effort(instance),
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
