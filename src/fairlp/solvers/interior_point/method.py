"""Mehrotra's predictor–corrector with Gondzio's centrality correctors, each weighted (Colombo and Gondzio, 2008).

What makes it stable:

* A feasible start. Everyone gets an equal part of every server, prices are uniform: all rows but lower bounds hold.
  In a series of programs of terms (``fairlp.frontier``) it is a point of the last one, with prices
  raised to what tasks are worth now: a half of the iterations (efficiency-and-fairness.md).
* Rows stay exact. s and u follow from x, and z from p and q, whatever the equations left over; only where that would
  put a tiny slack off is it taken from its product instead, and a projection brings the row right
  again.
* Refinement with the unformed equations. S loses digits to cancellation near the optimum. It only begins the answer;
  errors are computed from the two rows above and solved for again, until they do not matter for any
  slack.
* Units make every resource's total, every user's largest demand and the largest possible level 1.
* Correctors. Mehrotra's second-order term and two of Gondzio's centrality correctors, each weighted (Colombo and
  Gondzio) for the longest step; a short step stays away from the boundary: 14–22 iterations up to
  500 × 500, 23–25 at 1000 × 1000, some 44 at 900 × 12,583.

It ends at a relative gap and residuals of ``SETTLED``, or within a hundred times that where
rounding is in the way. What complementarity says is 0 becomes 0, overuse by rounding is taken off,
and residuals and gap are computed afresh from the Program. Only a proved answer is returned;
otherwise HiGHS solves the program, and ``Solution.method`` and the status say so.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from ...errors import NotConvergedError, SolverNotAvailableError, UnknownNameError
from ...tolerances import ACCEPTED, INTERIOR_ROUGH, NOISE, SETTLED
from .iterate import ABSENT, Face, Iterate, Problem, Products, Step, UserRows
from .region import Array, Region, clip, least

# Devices that the interior-point method can compute on, the way of a problem there, and of its
# point back.

#: Names of devices, of each kind.
_EXAMPLES = ("cpu", "cuda", "cuda:1", "torch:cpu", "cupy")
_INSTALL = 'pip install "fairlp[cuda]", or leave `device` out to compute with NumPy'

Data = TypeVar("Data", Region, UserRows, Face, Step)


@dataclass(frozen=True)
class Home:
    """A library of arrays, and one of its devices.

    Attributes
    ----------
    xp : namespace
        Its functions under the names of the array API standard.
    device, host : Any
        Its names of the device, and of the one whose memory NumPy shares.
    """

    xp: Any
    device: Any
    host: Any = "cpu"

    def there(self, array: np.ndarray) -> Array:
        """Return a copy on the device."""
        return self.xp.asarray(array, device=self.device, copy=True)

    def back(self, array: Array) -> np.ndarray:
        """Return a copy in NumPy."""
        from array_api_compat import to_device

        return np.array(np.from_dlpack(to_device(array, self.host)))


def home(name: str | None) -> Home | None:
    """Return the device of that name, None for NumPy.

    Parameters
    ----------
    name : str or None
        None and "cpu": NumPy; "cuda" or "cuda:1": that GPU, by PyTorch, or else by CuPy;
        "torch:cpu", "torch:cuda:1": any device of PyTorch's that has double precision; "cupy":
        CuPy's current GPU.

    Raises
    ------
    UnknownNameError
        When there is no such kind of device.
    SolverNotAvailableError
        When the library or the device is not there.
    """
    if name is None or name == "cpu":
        return None
    kind, _, rest = name.partition(":")
    choices: dict[str, dict[str, str | None]] = {
        "cuda": {"torch": name, "cupy": None},
        "torch": {"torch": rest or "cpu"},
        "cupy": {"cupy": None},
    }
    if kind not in choices:
        raise UnknownNameError(
            f"no device {name!r}; expected one of {', '.join(map(repr, _EXAMPLES))}"
        )
    libraries = choices[kind]
    for library, device in libraries.items():
        try:
            importlib.import_module(library)
            xp = importlib.import_module(f"array_api_compat.{library}")
        except ImportError:
            continue
        try:
            float(xp.zeros(1, dtype=xp.float64, device=device)[0])
        except Exception as error:  # whatever comes from somebody else's driver
            words = str(error).partition("\n")[0]
            raise SolverNotAvailableError(
                f"device {name!r}: {library} cannot use it here ({type(error).__name__}: {words}); "
                f"{_INSTALL}"
            ) from error
        return Home(xp, device)
    missing = " or ".join(libraries)
    raise SolverNotAvailableError(
        f"device {name!r} needs {missing} and array-api-compat; {_INSTALL}"
    )


class Moved:
    """A problem on a device.

    Where its pairs have places, they are spread out to servers × users there, and brought together
    on the way back.
    """

    def __init__(self, problem: Problem, there: Home) -> None:
        self.home, self.user, self.shape = there, problem.region.user, problem.region.shape[:2]
        region, face = problem.region, problem.face
        allowed = region.allowed if self.user is None else self._spread(region.there, False)
        if face is not None:
            face = self._put(replace(face, x=self._spread(face.x, ABSENT)))
        dense = Region(region.demands, region.capacities, allowed, region.contribution)
        self.problem = Problem(self._put(dense), self._put(problem.rows), face)

    def there(self, step: Step) -> Step:
        """Return a point on the device."""
        return self._put(replace(step, x=self._spread(step.x, ABSENT), z=self._spread(step.z, 1.0)))

    def back(self, step: Step) -> Step:
        """Return a point of the device's in NumPy."""
        arrays = {
            f.name: self.home.back(getattr(step, f.name)) for f in fields(Step) if f.name != "t"
        }
        if self.user is not None:
            arrays |= {name: np.take_along_axis(arrays[name], self.user, axis=1) for name in "xz"}
        return Step(**arrays, t=step.t)

    def _put(self, data: Data) -> Data:
        """Return a dataclass with its arrays on the device."""
        values = {f.name: getattr(data, f.name) for f in fields(data)}
        moved = {
            name: self.home.there(one)
            for name, one in values.items()
            if isinstance(one, np.ndarray)
        }
        return type(data)(**{**values, **moved})

    def _spread(self, values: np.ndarray, nothing: float) -> np.ndarray:
        """Return numbers of places as servers × users."""
        if self.user is None:
            return values
        spread = np.full(self.shape, nothing, dtype=values.dtype)
        np.put_along_axis(spread, self.user, values, axis=1)
        return spread


#: Iterations at most. The part of the way to the boundary that a long step goes, and that a short
#: step goes (its end is far from the centre). Near the optimum a long step goes further, and leaves
#: at least the last part.
MOST_ITERATIONS, _BOUNDARY, _CAUTIOUS, _LEFT = 150, 0.995, 0.9, 2.0**-13
#: Weights of a corrector that are tried, the largest first; one must bring so much longer a step
#: than the one before.
_WEIGHTS, _BETTER = np.linspace(1.0, 0.1, 6).tolist(), 0.001
#: Centrality correctors of a step: at most so many, while a step is shorter than that; how much
#: longer a step they aim at, and what part of that they must bring; products are to be within these
#: factors of the aim.
_CORRECTORS, _SHORT, _LONGER, _GAIN, _LOW, _HIGH = 4, 0.9, 0.5, 0.05, 0.1, 10.0
#: The error at which a point on the way to an optimum is kept, from which that of other terms may
#: be begun.
_EARLY = 0.01
#: The method ends after so many iterations that did not bring the products (once the error is
#: accepted: the error) down by this factor, or after more that did not bring the error down.
_PATIENCE, _PROGRESS, _LONGEST = 8, 0.9, 24
#: This near to its aim, as a multiple of it, the method goes on only while every other iteration
#: helps.
NEARLY = 100.0


@dataclass
class FinalPoint:
    """Where the method ended, in the problem's units, and the largest of gap and residuals there (relative).

    ``early``: of terms, a point on the way, from which the optimum of other terms is not far.
    ``sharp``: the point moved onto the face that it tells. ``gap``: what the whole program's
    certificate says.
    """

    at: Step
    error: float
    iterations: int
    early: Step | None = None
    sharp: Step | None = None
    gap: float = 0.0


def solve(
    problem: Problem,
    deadline: float = np.inf,
    threads: int = 1,
    start: Step | None = None,
    within: float = 0.0,
    device: str | None = None,
) -> FinalPoint | None:
    """Return the optimum, or None when the deadline (of ``perf_counter``) comes first.

    Parameters
    ----------
    problem : Problem
    deadline : float
    threads : int
    start : Step, optional
        A point inside, well centred, of the problem with other rows on its users.
    within : float
        End at the first point whose gap is no more than this.
    device : str, optional
        Where to compute (:func:`~fairlp.solvers.interior_point.method.home`); problem and point are
        NumPy's anyway.

    Raises
    ------
    NotConvergedError
        When the gap or a residual stays above ``ACCEPTED``, of terms above ``INTERIOR_ROUGH``.
    """
    from threadpoolctl import threadpool_limits

    # NumPy's and SciPy's threads would wait for each other, spinning
    there = home(device)
    # where powers are beyond floats, the error is, too: the method says that it does not converge
    with threadpool_limits(threads), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if there is None:
            return _solve(problem, deadline, start, within)
        return _solve_on(there, problem, deadline, start, within)


def _solve_on(
    there: Home, problem: Problem, deadline: float, start: Step | None, within: float
) -> FinalPoint | None:
    """Move the problem to a device at the start and the point back at the end; between them only numbers."""
    moved = Moved(problem, there)
    point = _solve(moved.problem, deadline, None if start is None else moved.there(start), within)
    return None if point is None else replace(point, at=moved.back(point.at), early=None)


def _solve(
    problem: Problem, deadline: float, start: Step | None = None, within: float = 0.0
) -> FinalPoint | None:
    iterate = Iterate(problem, start)
    # from a rough optimum of terms Newton's method goes on
    accepted = ACCEPTED if problem.has_level else INTERIOR_ROUGH
    best, early = FinalPoint(iterate.at, np.inf, 0), None
    since, reference, lowest, lowered = 0, np.inf, np.inf, 0
    for iteration in range(MOST_ITERATIONS):
        iterate.measure()
        if iteration and SETTLED < max(iterate.primal, iterate.dual) < NOISE:
            _restore(iterate)
        error = max(iterate.gap, iterate.primal, iterate.dual)
        if error <= within:
            return FinalPoint(iterate.at, error, iteration)
        progress = iterate.mean if best.error > ACCEPTED else error
        since = 0 if progress < _PROGRESS * reference else since + 1
        reference = progress if since == 0 else reference
        if early is None and error <= _EARLY and not problem.has_level:
            early = iterate.at
        if error < best.error:
            best = FinalPoint(iterate.at, error, iteration, early=early)
        if error < _PROGRESS * lowest:
            lowest, lowered = error, iteration
        patience = _PATIENCE if best.error > NEARLY * SETTLED else 1
        stuck = since > patience or iteration - lowered > _LONGEST
        if best.error <= SETTLED or stuck or not np.isfinite(error):
            break
        if perf_counter() > deadline:
            return None
        try:
            iterate.factor()
        except NotConvergedError:
            if best.error > accepted:
                raise
            break
        iterate.at = _step(iterate)
    if best.error > accepted:
        raise NotConvergedError(
            f"the interior-point method stopped {best.error:.1e} from the optimum after "
            f"{iteration} iterations"
        )
    return best


def _restore(iterate: Iterate) -> None:
    """Bring the rows right that rounding put off: a projection, small enough to be right to its own last digits."""
    at = iterate.at
    nothing = Products(*(iterate.xp.zeros_like(values) for values in (at.x, at.s, at.u)))
    step = iterate.direction(nothing, iterate.mean, residuals=True)
    before = max(iterate.primal, iterate.dual)
    lengths = (_BOUNDARY * _length(iterate, at, step, names) for names in ("xsu", "zpv"))
    iterate.at = at.add(step, *lengths)
    iterate.measure()
    if max(iterate.primal, iterate.dual) > before:
        iterate.at = at
        iterate.measure()


def _step(iterate: Iterate) -> Step:
    """Return the next point."""
    at, mean = iterate.at, iterate.mean
    # what takes all products to where they are at the optimum
    optimal = Products(-at.x * at.z, -at.s * at.p, iterate.missing(at))
    step = iterate.direction(optimal, mean, residuals=True)
    primal, dual = _length(iterate, at, step, "xsu"), _length(iterate, at, step, "zpv")
    ratio = iterate.products(at.add(step, primal, dual)) / iterate.terms / mean
    aim = mean * min(max(ratio, 0.0) ** 3, 1.0)
    aim = max(aim, NOISE * mean)
    wanted = aim * iterate.vanishing
    correction = Products(aim - step.x * step.z, aim - step.s * step.p, wanted - step.u * step.v)
    more = iterate.direction(correction, aim)
    step, primal, dual = _weighted(iterate, at, step, more)
    for _ in range(_CORRECTORS):
        if min(primal, dual) > _SHORT:
            break
        further = min(1.0, primal + _LONGER), min(1.0, dual + _LONGER)
        more = iterate.direction(_recentred(iterate, at.add(step, *further), aim), aim)
        tried, longer, higher = _weighted(iterate, at, step, more)
        if longer + higher < primal + dual + _GAIN * _LONGER:
            break
        step, primal, dual = tried, longer, higher
    # with terms, a start near another optimum converges less often after longer steps
    longest = (
        max(_BOUNDARY, 1.0 - max(iterate.gap, _LEFT)) if iterate.problem.has_level else _BOUNDARY
    )
    primal, dual = (
        length * (longest if length > _SHORT else _CAUTIOUS) for length in (primal, dual)
    )
    return at.add(step, primal, dual)


def _recentred(iterate: Iterate, trial: Step, aim: float) -> Products:
    """Return corrections that bring the products at a trial point near the aim (Gondzio, 1996)."""

    def towards(one: Array, other: Array) -> Array:
        product = one * other
        change = clip(product, _LOW * aim, _HIGH * aim)
        change -= product
        return iterate.xp.maximum(change, -_HIGH * aim)

    uv = iterate.xp.where(iterate.barrier, towards(trial.u, trial.v), 0.0)
    return Products(towards(trial.x, trial.z), towards(trial.s, trial.p), uv)


def _bounded(iterate: Iterate, point: Step, name: str) -> Array:
    """Return the values of a kind of variable, those out that are free or 0 on a face."""
    values: Array = getattr(point, name)
    face = iterate.problem.face
    if face is not None and name in "sp":
        values = values[~face.full]
    if face is not None and name in "uv":
        values = values[~face.equal]
    return iterate.xp.reshape(values, (-1,))


def _length(iterate: Iterate, at: Step, step: Step, names: str) -> float:
    """Return how far the variables can go along a step, at most 1."""
    steepest = min(
        least(_bounded(iterate, step, name) / _bounded(iterate, at, name), 0.0) for name in names
    )
    return 1.0 if steepest >= -1.0 else -1.0 / steepest


def _weighted(iterate: Iterate, at: Step, step: Step, more: Step) -> tuple[Step, float, float]:
    """Return step + weight·more with the weights (primal and dual) that allow the longest steps, and their lengths."""
    primal, longest = _best_weight(iterate, at, step, more, "xsu")
    dual, highest = _best_weight(iterate, at, step, more, "zpv")
    return step.add(more, primal, dual), longest, highest


def _best_weight(
    iterate: Iterate, at: Step, step: Step, more: Step, names: str
) -> tuple[float, float]:
    """Return the weight and the length of the longest step; the slopes are linear in the weight."""
    xp, slopes, changes = iterate.xp, [], []
    for name in names:
        value, slope, change = (_bounded(iterate, one, name) for one in (at, step, more))
        lowest = xp.minimum(change, 0.0)
        lowest += slope
        lowest += value
        (blocking,) = xp.nonzero(lowest < 0)
        value, slope, change = (xp.take(one, blocking, axis=0) for one in (value, slope, change))
        slopes.append(slope / value)
        changes.append(change / value)
    slope, change = xp.concat(slopes), xp.concat(changes)
    best, longest = 1.0, -1.0
    for weight in _WEIGHTS:
        steepest = least(slope + weight * change, -1.0)
        length = -1.0 / steepest
        if length > longest + _BETTER:
            best, longest = weight, length
    return best, longest
