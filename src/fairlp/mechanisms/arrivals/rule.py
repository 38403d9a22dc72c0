"""``Rule``: the step of a mechanism for arriving users; ``StepLevels``: the levels of all steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...formulations import arrivals as formulations
from ...formulations.normalisers import normalised_demands
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from .algorithms import cautious_closed_form, stack
from .schedule import Schedule, require_no_limits, schedule

#: (φ[n]·d̂[n,r] in order of arrival, the steps) → level of each step in parts, and the position of
#: the first user who has it
StepAlgorithm = Callable[[np.ndarray, Schedule], tuple[Sequence[float], Sequence[int]]]
#: (users present, shares before the step, schedule, step) → the program of that step
StepModel = Callable[[Instance, np.ndarray, Schedule, int], Model]


@dataclass(frozen=True, eq=False)
class StepLevels:
    """The smallest level of every step and the users who have it, in O(N) memory.

    They determine everything that a dynamic mechanism gives.

    At step k the users ``order[:k]`` are present. Those from position ``first[k-1]`` on have the
    level ``levels[k-1]``, the smallest of all; those before them keep what they had (Lemmas 1 and 2
    of Li et al., 2019).

    Attributes
    ----------
    levels : ndarray, shape (N,)
        M^k, the smallest weighted dominant share after each step, a fraction of everything.
    first : ndarray of int, shape (N,)
        Position, in order of arrival, of the first user who has it.
    """

    levels: np.ndarray
    first: np.ndarray

    def after(self, step: int) -> np.ndarray:
        """Return the levels (k,) of the users present after step k, in order of arrival; O(k)."""
        levels = np.empty(step)
        # Users of one level are consecutive. The users before a group have what they had when the
        # last of them came.
        stop = step
        while stop > 0:
            start = int(self.first[stop - 1])
            levels[start:stop] = self.levels[stop - 1]
            stop = start
        return levels


@dataclass(frozen=True)
class Rule:
    """What a mechanism does at each step.

    Attributes
    ----------
    mechanism : str
    step_model : callable
        (users present, their shares before the step, schedule, step) → the program of that step, in
        fractions of everything.
    algorithm : callable
        All steps without a solver.
    cautious : bool
        Whether a step reserves something for the users still to come.
    """

    mechanism: str
    step_model: StepModel
    algorithm: StepAlgorithm
    cautious: bool = False

    def all_steps(self, arrived: Instance, steps: Schedule) -> Model:
        """Return the last step's program, in parts of the pool.

        The earlier steps change its bounds and coefficients.
        """
        shares_before = np.zeros(len(steps))
        if (
            self.cautious
        ):  # every step sets the weight of the users still to come; here it is any > 0
            return formulations.cautious_lp(arrived, shares_before, steps.horizon, steps.horizon)
        return formulations.dynamic_drf(arrived, shares_before, float(steps.parts[-1]))

    def program_of(
        self, instance: Instance, steps: Schedule, step_levels: StepLevels, step: int
    ) -> Model:
        """Return the program of one step, with the shares that users had before it."""
        k = steps.require_step(step)
        present = instance.select_users(steps.order[:k])
        shares_before = np.zeros(k)
        shares_before[:-1] = step_levels.after(k - 1) * present.user_weights[:-1]
        return self.step_model(present, shares_before, steps, k)

    def formulate(
        self, instance: Instance, step: int | None = None, horizon: float | None = None
    ) -> Model:
        """Return the program of a step (by default the last).

        The steps before it need no solver.
        """
        require_no_limits(instance)
        steps = schedule(instance, horizon)
        levels, first = self.algorithm(needs(instance, steps), steps)
        step_levels = StepLevels(np.asarray(levels) / steps.horizon, np.asarray(first))
        return self.program_of(instance, steps, step_levels, len(steps) if step is None else step)


def needs(instance: Instance, steps: Schedule) -> np.ndarray:
    """Return φ[n]·d̂[n,r], what one level of n takes of r, in order of arrival; shape (N, R)."""
    weighted = normalised_demands(instance) * instance.user_weights[:, None]
    return np.asarray(weighted[steps.order])


def dynamic_drf_step(
    present: Instance, shares_before: np.ndarray, steps: Schedule, step: int
) -> Model:
    """Return dynamic DRF's program of one step, in fractions of everything."""
    return formulations.dynamic_drf(present, shares_before, float(steps.available[step - 1]))


def cautious_step(
    present: Instance, shares_before: np.ndarray, steps: Schedule, step: int
) -> Model:
    """Return the cautious LP of one step, in fractions of everything."""
    weight_to_come = float(steps.horizon - steps.parts[step - 1])
    return formulations.cautious_lp(present, shares_before, 1.0, weight_to_come)


def in_parts(algorithm: Callable[..., tuple[list[float], list[int]]]) -> StepAlgorithm:
    """Return an algorithm that needs of the schedule only what each step may give out."""
    return partial(_in_parts, algorithm)


def _in_parts(
    algorithm: Callable[..., tuple[list[float], list[int]]], needs: np.ndarray, steps: Schedule
) -> tuple[list[float], list[int]]:
    return algorithm(needs, steps.parts)


def _cautious_levels(needs: np.ndarray, steps: Schedule) -> tuple[Sequence[float], Sequence[int]]:
    return cautious_closed_form(needs, steps.parts, steps.horizon)


DYNAMIC_DRF = Rule("dynamic-drf", dynamic_drf_step, in_parts(stack))
CAUTIOUS = Rule("cautious-lp", cautious_step, _cautious_levels, cautious=True)
