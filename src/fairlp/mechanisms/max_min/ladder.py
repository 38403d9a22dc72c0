"""The steps where floats cannot decide: certificates, then rationals, then "not proved".

The first rungs are those of a single program (``ServersByLevels`` of ``fairlp.solvers.leximin``):
begin afresh, another method, floors that give way. Where rounding may have moved a level too far
(by errors that grow from round to round, or beside a user who takes little), or no program was
solved, the levels are settled in rationals; where rationals cannot, and HiGHS solved nothing, by
interior points; else the answer says that it is not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import FairlpError, NotConvergedError, SolverError, SolverNotAvailableError
from ...formulations.max_min import in_tasks, max_min
from ...formulations.normalisers import dominant
from ...formulations.region import have_limits
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.rationals import rational
from ...models.notation.model import Model
from ...models.paths.path import ConstantPath
from ...models.programs.proof import Proof
from ...models.trees.tree import rational_tree
from ...models.trees.tree_path import first_path
from ...solvers.leximin.exact import exact_leximin
from ...solvers.leximin.exact_faces import leximin_on_faces
from ...solvers.leximin.level_errors import first_order
from ...tolerances import ACCEPTED, NOISE, NOISE_COEFFICIENT
from ..mechanism import Mechanism, MethodCall, TasksResult
from .methods import count_of, may_be_on_faces, of_exact_levels, past_of
from .proof import MOST_EXACT, Rationals, prove_rounds


def of_leximin(
    mechanism: Mechanism, instance: Instance, count: str, past: np.ndarray | None = None
) -> tuple[Proof, np.ndarray]:
    """Return the leximin of tasks over what is due at level 1, in rationals.

    Levels are above the past, where it counts.
    """
    tasks_per_level = mechanism.tasks_per_level(instance)
    normaliser = (
        mechanism.gamma
        if mechanism.at_level_1 is None
        else (lambda _: tasks_per_level / instance.user_weights)
    )
    first = None
    if have_limits(instance) or past is not None:
        rational_past = None if past is None else rational(past)
        per_level = rational(tasks_per_level)
        first = partial(ConstantPath.first, per_level, count=count, past=rational_past)
    return exact_leximin(instance, in_tasks(normaliser, count), first)


def of_tree(
    mechanism: Mechanism,
    instance: Instance,
    count: str,
    past: np.ndarray | None = None,
    counted: bool = False,
) -> tuple[Proof, np.ndarray]:
    """Return the rounds along the tree, with rates in rationals."""

    def formulation(small: Instance) -> Model:
        return max_min(
            small, "H-DRF", "in tasks", dominant(small), "replaced by exact rates", count
        )

    tree = rational_tree(instance, counted, past=past)
    return exact_leximin(instance, formulation, partial(first_path, tree, count=count))


#: The smallest positive number of a kind, and the largest.
Extremes = tuple[float, float]


def _extremes(call: MethodCall) -> list[Extremes]:
    """Return the extremes of demands, of capacities and of weights (along the tree, too)."""
    mechanism = call.mechanism
    instance = call.instance
    weights = quotients(call.tasks_per_level, mechanism.gamma(instance))
    kinds = (instance.demands, instance.capacities, instance.weights, weights)
    return [
        (
            float(numbers.min(where=numbers > 0, initial=np.inf)),
            float(numbers.max(initial=0.0)),
        )
        for numbers in kinds
    ]


def _are_far_apart(extremes: list[Extremes], fraction: float = NOISE) -> bool:
    """Return whether some number may be a solver's noise beside the largest of its kind."""
    return any(smallest < fraction * largest for smallest, largest in extremes)


def settled(
    method: Callable[[MethodCall], TasksResult],
    rationals: Rationals | None = of_leximin,
    counted: bool | None = None,
) -> Callable[[MethodCall], TasksResult]:
    """Return the method, its answer settled in rationals where floats cannot decide.

    Where rationals cannot, the answer says that it is not proved.

    ``counted``: along a tree, whether satisfied users count for their queues.
    """

    def settle(call: MethodCall) -> TasksResult:
        try:
            outcome = method(call)
        except SolverNotAvailableError:
            raise  # no rounding, and no answer that was asked for
        except SolverError as error:
            of_numbers = isinstance(error, NotConvergedError) or _are_far_apart(_extremes(call))
            if not of_numbers or "time_limit" in call.options:
                raise
            verdict, tasks = _in_rationals(call, rationals)
            if verdict.holds:
                return of_exact_levels(call, None, verdict, tasks)
            if call.solver == "highs":  # what the simplex method fails on is no fault of the data
                with suppress(FairlpError):
                    inside = settle(replace(call, solver="interior-point"))
                    return replace(inside, notes=(*inside.notes, f"by interior points: {error}"))
            raise type(error)(f"{error} ({verdict.message})") from error
        doubt = ""
        extremes = [] if rationals is None else _extremes(call)
        if is_uncertain := outcome.uncertain > ACCEPTED:
            doubt = f"by rounding, levels may be off by {first_order(outcome.uncertain)}"
        elif _are_far_apart(extremes):
            proof = _proof_by_prices(call, outcome, counted)
            doubt = "" if np.isfinite(proof.gap) else proof.message.removeprefix("not proved: ")
        # a user whom only a number blocks that is rounding beside others then rises, and no other
        # user loses: rationals decide
        if not doubt and not _are_far_apart(extremes, NOISE_COEFFICIENT):
            return outcome
        verdict, tasks = _in_rationals(call, rationals)
        if verdict.holds:
            return of_exact_levels(call, outcome, verdict, tasks)
        if not doubt:
            return outcome
        if is_uncertain and rationals is not None:
            proof = _proof_by_prices(call, outcome, counted)
            if proof.holds:
                return replace(outcome, notes=(*outcome.notes, f"{doubt}; {proof.message}"))
        if rationals is of_leximin and may_be_on_faces(call):
            on_faces, tasks = leximin_on_faces(call.instance, call.tasks_per_level)
            if on_faces.holds:
                return of_exact_levels(call, outcome, on_faces, tasks)
        return replace(outcome, unproved=f"not proved: {doubt} ({verdict.message})")

    return settle


def _proof_by_prices(call: MethodCall, outcome: TasksResult, counted: bool | None) -> Proof:
    """Return what the prices of an outcome prove, on the instance's own numbers."""
    return prove_rounds(
        call.mechanism,
        call.instance,
        outcome.tasks,
        outcome.round_prices,
        count=count_of(call.parameters),
        counted=counted,
        past=past_of(call),
        may_solve=False,
    )


def _in_rationals(call: MethodCall, rationals: Rationals | None) -> tuple[Proof, np.ndarray]:
    """Return the exact levels and tasks, or why there are none."""
    if rationals is None:
        return Proof(False, "servers are shared one by one"), np.zeros((0, 0))
    instance = call.instance
    none = np.zeros((0, 0))
    pairs = int(merge_servers(instance)[0].runnable().sum())
    if pairs > MOST_EXACT:
        return Proof(
            False, f"too large to be solved in rationals, {pairs} pairs of user and server"
        ), none
    try:
        return rationals(call.mechanism, instance, count_of(call.parameters), past_of(call))
    except SolverNotAvailableError as error:
        return Proof(False, str(error)), none
