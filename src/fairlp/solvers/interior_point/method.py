"""Mehrotra's predictor–corrector with Gondzio's centrality correctors, each weighted.

The letters (x, s, u, z, p, q, v, t) are those of :mod:`.problem`.
:func:`solve` is the loop, :func:`next_point` is one step of it. Weights of correctors are those of
Colombo and Gondzio (2008). Five things make the method stable:

* A feasible start. Every user gets an equal part of every server, prices are uniform: all rows but
  lower bounds hold. In a series of programs of terms (``fairlp_research.frontier``) it is a point of the
  last one, with prices raised to the worth of tasks now: a half of the iterations
  (efficiency-and-fairness.md).
* Rows stay exact. s and u follow from x, and z from p and q, whatever error the equations have.
  Only where that would make a tiny slack wrong is it taken from its product instead, and a
  projection brings the row right again.
* Refinement with the unformed equations. The Schur complement loses digits to cancellation near the
  optimum. It only begins the answer; errors are computed from the rows themselves and solved for
  again, until they do not matter for any slack.
* Units make every resource's total, every user's largest demand and the largest possible level 1.
* Correctors. Mehrotra's second-order term and Gondzio's centrality correctors are each weighted for
  the longest step; a short step stays away from the boundary. 14–22 iterations are enough up to
  500 × 500, 23–25 at 1000 × 1000, some 44 at 900 × 12,583.

The method ends at a relative gap and residuals of ``SETTLED``, or within a hundred times that where
rounding is in the way. Then numbers that complementarity sets to 0 become 0, overuse by rounding is
taken off, and residuals and gap are computed afresh from the Program. Only a proved answer is
returned; otherwise HiGHS solves the program, and ``Solution.method`` and the status say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ...blas import blas_threads
from ...errors import NotConvergedError
from ...tolerances import ACCEPTED, INTERIOR_ROUGH, INTERIOR_TELLING, NOISE, SETTLED
from .iterate import Iterate, ProductChanges
from .problem import Problem, Variables
from .region import PlacedRegion
from .starts import start_of

#: Iterations at most.
MOST_ITERATIONS = 150
#: The fraction of the way to the boundary that a long step takes.
_BOUNDARY = 0.995
#: The same of a short step, whose end is far from the centre.
_CAUTIOUS = 0.9
#: Near the optimum a long step goes further: it leaves at least this fraction of the way.
_LEFT = 2.0**-13
#: Weights of a corrector that are tried, the largest first.
_WEIGHTS = np.linspace(1.0, 0.1, 6).tolist()
#: A smaller weight must make the step longer by at least this.
_BETTER = 0.001
#: Centrality correctors in a step, at most.
_CORRECTORS = 4
#: Centrality correctors are tried only while a step is shorter than this.
_SHORT = 0.9
#: The trial point of a centrality corrector is further ahead by this.
_LONGER = 0.5
#: The fraction of ``_LONGER`` by which a centrality corrector must make the steps longer.
_GAIN = 0.05
#: A centrality corrector brings the trial point's products between these multiples of the target.
_LOW = 0.1
_HIGH = 10.0
#: The method ends after more than so many iterations without a gain: until the error is accepted,
#: and from then on.
_PATIENCE = 8
_PATIENCE_ACCEPTED = 2
#: A gain brings the products (once the error is accepted: the error) down by this factor.
_PROGRESS = 0.9
#: Iterations without a gain of the error, at most.
_MOST_WITHOUT_GAIN = 24
#: This near to its end, as a multiple of ``SETTLED``, the method goes on only while every other
#: iteration helps.
NEARLY = 100.0


class FewPairs(NamedTuple):
    """Few pairs of a problem, and a point inside on these."""

    region: PlacedRegion
    point: Variables


@dataclass
class FinalPoint:
    """The point at which the method ended, in the problem's units.

    Attributes
    ----------
    point : Variables
    error : float
        The largest of gap and residuals there (relative).
    iterations : int
    before : Variables or None
        The point of the iteration before, which tells what falls to 0.
    sharpened : Variables or None
        The point moved onto the face that it tells.
    is_settled : bool
        Whether that is the optimum, and the point itself is not.
    few : FewPairs or None
        The few pairs that sifting left in, and the point on these.
    gap : float
        That of the whole program's certificate.
    """

    point: Variables
    error: float
    iterations: int
    before: Variables | None = None
    sharpened: Variables | None = None
    is_settled: bool = False
    few: FewPairs | None = None
    gap: float = 0.0


def solve(
    problem: Problem,
    deadline: float = np.inf,
    threads: int = 1,
    start: Variables | None = None,
    accepted_error: float = 0.0,
    settles: Callable[[FinalPoint], bool] | None = None,
) -> FinalPoint | None:
    """Return the optimum, or None when the deadline (of ``perf_counter``) comes first.

    Parameters
    ----------
    problem : Problem
    deadline : float
    threads : int
    start : Variables, optional
        A point inside, well centred, of the problem with other rows on its users.
    accepted_error : float
        End at the first point whose error is no more than this.
    settles : callable, optional
        Is asked once, of a point whose error is small, whether it is enough.

    Raises
    ------
    NotConvergedError
        When the gap or a residual stays above ``ACCEPTED``, of terms and on a face above
        ``INTERIOR_ROUGH``.
    """
    # Where powers are beyond floats, the error is, too: the method says that it does not converge.
    with blas_threads(threads), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _solve(problem, deadline, start, accepted_error, settles)


def _solve(
    problem: Problem,
    deadline: float,
    start: Variables | None,
    accepted_error: float,
    settles: Callable[[FinalPoint], bool] | None,
) -> FinalPoint | None:
    iterate = Iterate(problem, start_of(problem, start))
    # Logarithms and powers may end rough: polishing improves the point. On a face, sharpening does.
    is_plain = problem.has_level and problem.face is None
    acceptable = ACCEPTED if is_plain else INTERIOR_ROUGH
    progress = _Progress(iterate.point)
    for iteration in range(MOST_ITERATIONS):
        iterate.measure()
        # Rounding, and not the way still to go, keeps the rows off.
        if iteration and SETTLED < max(iterate.primal_error, iterate.dual_error) < NOISE:
            restore_rows(iterate)
        if iterate.error <= accepted_error:
            return FinalPoint(iterate.point, iterate.error, iteration)

        progress.record(iterate, iteration)
        if progress.ends(iterate.error, iteration):
            break
        if settles is not None and iterate.error <= INTERIOR_TELLING:
            if settles(progress.best):
                return progress.best
            settles = None
        if perf_counter() > deadline:
            return None

        try:
            iterate.factor()
        except NotConvergedError:
            if progress.best.error > acceptable:
                raise
            break
        iterate.point = next_point(iterate)
    if progress.best.error > acceptable:
        raise NotConvergedError(
            f"the interior-point method stopped {progress.best.error:.1e} from the optimum after "
            f"{iteration} iterations"
        )
    return progress.best


class _Progress:
    """The best point so far, and for how long nothing got better."""

    def __init__(self, point: Variables) -> None:
        self.best = FinalPoint(point, np.inf, 0)
        self.before: Variables | None = None
        self.lowest_product = np.inf
        #: the lowest error, and the iteration that brought it
        self.lowest_error = np.inf
        self.lowest_at = 0
        #: iterations since the last gain
        self.waiting = 0
        #: whether all that is left of the error is rounding
        self.products_vanish = False

    def record(self, iterate: Iterate, iteration: int) -> None:
        """Take note of the errors of an iterate."""
        error = iterate.error
        lowers_product = iterate.mean_product < _PROGRESS * self.lowest_product
        lowers_error = error < _PROGRESS * self.lowest_error
        if iterate.problem.has_level:
            products = iterate.mean_product * iterate.n_products
            self.products_vanish = products < SETTLED * iterate.point.t
        counts_error = self.best.error <= ACCEPTED or self.products_vanish
        is_gain = lowers_error if counts_error else lowers_product
        self.waiting = 0 if is_gain else self.waiting + 1

        if lowers_product:
            self.lowest_product = iterate.mean_product
        if lowers_error:
            self.lowest_error = error
            self.lowest_at = iteration
        if error < self.best.error:
            self.best = FinalPoint(iterate.point, error, iteration, before=self.before)
        self.before = iterate.point

    def ends(self, error: float, iteration: int) -> bool:
        """Whether the optimum is found, or no further iteration will bring it nearer."""
        is_rough = self.best.error > ACCEPTED and not self.products_vanish
        patience = _PATIENCE if is_rough else _PATIENCE_ACCEPTED
        if self.best.error <= NEARLY * SETTLED:
            patience = 1
        has_stalled = self.waiting > patience or iteration - self.lowest_at > _MOST_WITHOUT_GAIN
        return self.best.error <= SETTLED or has_stalled or not np.isfinite(error)


def restore_rows(iterate: Iterate) -> None:
    """Remove what rounding left of the rows' residuals, by a projection; undo it if they grow."""
    point = iterate.point
    unchanged = ProductChanges(
        np.zeros_like(point.x), np.zeros_like(point.s), np.zeros_like(point.u)
    )
    direction = iterate.direction(unchanged, iterate.mean_product, with_residuals=True)
    residual = max(iterate.primal_error, iterate.dual_error)
    primal_length = _BOUNDARY * _step_length(iterate, direction, "xsu")
    dual_length = _BOUNDARY * _step_length(iterate, direction, "zpv")
    iterate.point = point.moved(direction, primal_length, dual_length)
    iterate.measure()
    if max(iterate.primal_error, iterate.dual_error) > residual:
        iterate.point = point
        iterate.measure()


class Step(NamedTuple):
    """A direction, and how far the primal and the dual variables can go along it, at most 1."""

    direction: Variables
    primal_length: float
    dual_length: float


def next_point(iterate: Iterate) -> Variables:
    """Return the next point: one step of the method."""
    point = iterate.point
    mean_product = iterate.mean_product

    # Predictor: the direction that takes all products to their size at the optimum, mostly 0.
    to_optimum = ProductChanges(
        -point.x * point.z, -point.s * point.p, iterate.product_changes_of_rows(point)
    )
    predictor = iterate.direction(to_optimum, mean_product, with_residuals=True)

    # Centring: the less the predictor reduces the products, the larger the size (target) that all
    # are to have: mean · ratio³.
    primal_length = _step_length(iterate, predictor, "xsu")
    dual_length = _step_length(iterate, predictor, "zpv")
    predicted = point.moved(predictor, primal_length, dual_length)
    ratio = iterate.total_product(predicted) / iterate.n_products / mean_product
    target = mean_product * min(max(ratio, 0.0) ** 3, 1.0)
    target = max(target, NOISE * mean_product)

    # Corrector (Mehrotra), added to the predictor, which brings the products to their size at the
    # optimum: on to the target, less the second-order term that the predictor's own steps add.
    to_target = ProductChanges(
        target - predictor.x * predictor.z,
        target - predictor.s * predictor.p,
        target * iterate.bound_row_factor - predictor.u * predictor.v,
    )
    step = _with_corrector(iterate, predictor, iterate.direction(to_target, target))

    # Centrality correctors, while the step is short and they make it longer.
    for _ in range(_CORRECTORS):
        if min(step.primal_length, step.dual_length) > _SHORT:
            break
        trial = point.moved(
            step.direction,
            min(1.0, step.primal_length + _LONGER),
            min(1.0, step.dual_length + _LONGER),
        )
        corrector = iterate.direction(_towards_target(iterate, trial, target), target)
        corrected = _with_corrector(iterate, step.direction, corrector)
        length = corrected.primal_length + corrected.dual_length
        if length < step.primal_length + step.dual_length + _GAIN * _LONGER:
            break
        step = corrected

    # Length: not quite to the boundary, and with a level nearer and nearer to it. With logarithms or
    # powers no longer than that: warm starts then converge less often.
    boundary_fraction = _BOUNDARY
    if iterate.problem.has_level:
        boundary_fraction = max(_BOUNDARY, 1.0 - max(iterate.gap, _LEFT))
    primal_length, dual_length = (
        length * (boundary_fraction if length > _SHORT else _CAUTIOUS)
        for length in (step.primal_length, step.dual_length)
    )
    return point.moved(step.direction, primal_length, dual_length)


def _towards_target(iterate: Iterate, trial: Variables, target: float) -> ProductChanges:
    """Return changes that bring the products at a trial point near the target (Gondzio, 1996)."""

    def change_of(primal: np.ndarray, dual: np.ndarray) -> np.ndarray:
        product = primal * dual
        change = np.clip(product, _LOW * target, _HIGH * target) - product
        return np.asarray(np.maximum(change, -_HIGH * target))

    of_rows = np.where(iterate.is_bound_row, change_of(trial.u, trial.v), 0.0)
    return ProductChanges(change_of(trial.x, trial.z), change_of(trial.s, trial.p), of_rows)


def _bounded(iterate: Iterate, variables: Variables, name: str) -> np.ndarray:
    """Return the values of a kind of variable, without those that are free or 0 on a face."""
    values: np.ndarray = getattr(variables, name)
    face = iterate.problem.face
    if face is not None and name in "sp":
        values = values[~face.tight_capacities]
    if face is not None and name in "uv":
        values = values[~face.tight_rows]
    return values.reshape(-1)


def _step_length(iterate: Iterate, direction: Variables, names: str) -> float:
    """Return how far the variables can go along a direction, at most 1."""
    largest_falls = []
    for name in names:
        relative_changes = _bounded(iterate, direction, name) / _bounded(
            iterate, iterate.point, name
        )
        largest_falls.append(float(relative_changes.min(initial=0.0)))
    largest_fall = min(largest_falls)
    return 1.0 if largest_fall >= -1.0 else -1.0 / largest_fall


def _with_corrector(iterate: Iterate, direction: Variables, corrector: Variables) -> Step:
    """Return direction + weight · corrector, with the weights that allow the longest steps."""
    primal_weight, primal_length = _best_weight(iterate, direction, corrector, "xsu")
    dual_weight, dual_length = _best_weight(iterate, direction, corrector, "zpv")
    corrected = direction.moved(corrector, primal_weight, dual_weight)
    return Step(corrected, primal_length, dual_length)


def _best_weight(
    iterate: Iterate, direction: Variables, corrector: Variables, names: str
) -> tuple[float, float]:
    """Return the weight of a corrector that allows the longest step, and the length of that."""
    # Changes relative to the variables: by the direction, and by the whole corrector.
    direction_changes = []
    corrector_changes = []
    for name in names:
        value = _bounded(iterate, iterate.point, name)
        change = _bounded(iterate, direction, name)
        correction = _bounded(iterate, corrector, name)
        # Only variables that some weight from 0 to 1 brings below 0 can limit the step.
        lowest_reached = np.minimum(correction, 0.0)
        lowest_reached += change
        lowest_reached += value
        (blocking,) = np.nonzero(lowest_reached < 0)
        direction_changes.append(change[blocking] / value[blocking])
        corrector_changes.append(correction[blocking] / value[blocking])
    by_direction = np.concatenate(direction_changes)
    by_corrector = np.concatenate(corrector_changes)

    best_weight = 1.0
    longest_step = -1.0
    for weight in _WEIGHTS:
        largest_fall = float((by_direction + weight * by_corrector).min(initial=-1.0))
        length = -1.0 / largest_fall
        if length > longest_step + _BETTER:
            best_weight = weight
            longest_step = length
    return best_weight, longest_step
