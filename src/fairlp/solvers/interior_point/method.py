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

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import ACCEPTED, INTERIOR_ROUGH, NOISE, SETTLED
from .iterate import Iterate, Problem, Products, Step
from .region import Array

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

    Raises
    ------
    NotConvergedError
        When the gap or a residual stays above ``ACCEPTED``, of terms above ``INTERIOR_ROUGH``.
    """
    from threadpoolctl import threadpool_limits

    # NumPy's and SciPy's threads would wait for each other, spinning
    # where powers are beyond floats, the error is, too: the method says that it does not converge
    with threadpool_limits(threads), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _solve(problem, deadline, start, within)


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
    nothing = Products(*(np.zeros_like(values) for values in (at.x, at.s, at.u)))
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
        change = np.clip(product, _LOW * aim, _HIGH * aim)
        change -= product
        return np.maximum(change, -_HIGH * aim)

    uv = np.where(iterate.barrier, towards(trial.u, trial.v), 0.0)
    return Products(towards(trial.x, trial.z), towards(trial.s, trial.p), uv)


def _bounded(iterate: Iterate, point: Step, name: str) -> Array:
    """Return the values of a kind of variable, those out that are free or 0 on a face."""
    values: Array = getattr(point, name)
    face = iterate.problem.face
    if face is not None and name in "sp":
        values = values[~face.full]
    if face is not None and name in "uv":
        values = values[~face.equal]
    return np.reshape(values, (-1,))


def _length(iterate: Iterate, at: Step, step: Step, names: str) -> float:
    """Return how far the variables can go along a step, at most 1."""
    steepest = min(
        float((_bounded(iterate, step, name) / _bounded(iterate, at, name)).min(initial=0.0))
        for name in names
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
    slopes, changes = [], []
    for name in names:
        value, slope, change = (_bounded(iterate, one, name) for one in (at, step, more))
        lowest = np.minimum(change, 0.0)
        lowest += slope
        lowest += value
        (blocking,) = np.nonzero(lowest < 0)
        value, slope, change = (np.take(one, blocking, axis=0) for one in (value, slope, change))
        slopes.append(slope / value)
        changes.append(change / value)
    slope, change = np.concat(slopes), np.concat(changes)
    best, longest = 1.0, -1.0
    for weight in _WEIGHTS:
        steepest = float((slope + weight * change).min(initial=-1.0))
        length = -1.0 / steepest
        if length > longest + _BETTER:
            best, longest = weight, length
    return best, longest
