"""``Rule``: the step of a mechanism for arriving users; ``StepLevels``: the levels of all steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...formulations import arrivals as formulations
from ...formulations.normalisers import normalised_demands
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from .algorithms import cautious_closed_form, stack
from .schedule import Schedule, require_no_limits, schedule

#: (φ[n]·d̂[n,r] in order of arrival, weights present after each step, of a cautious rule the horizon) →
#: level of each step in parts, and the position of the first user who has it
StepAlgorithm = Callable[..., tuple[Sequence[float], Sequence[int]]]


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
    algorithm : callable
        All steps without a solver.
    cautious : bool
        Whether a step reserves something for the users still to come.
    """

    mechanism: str
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
        if self.cautious:
            weight_to_come = float(steps.horizon - steps.parts[k - 1])
            return formulations.cautious_lp(present, shares_before, 1.0, weight_to_come)
        return formulations.dynamic_drf(present, shares_before, float(steps.available[k - 1]))

    def levels(
        self, instance: Instance, steps: Schedule, algorithm: StepAlgorithm | None = None
    ) -> StepLevels:
        """Return the levels of all steps, by the rule's algorithm or another one."""
        horizon = [steps.horizon] if self.cautious else []
        algorithm = algorithm or self.algorithm
        levels, first = algorithm(needs(instance, steps), steps.parts, *horizon)
        return StepLevels(np.asarray(levels, dtype=float) / steps.horizon, np.asarray(first))

    def formulate(
        self, instance: Instance, step: int | None = None, horizon: float | None = None
    ) -> Model:
        """Return the program of a step (by default the last).

        The steps before it need no solver.
        """
        require_no_limits(instance)
        steps = schedule(instance, horizon)
        step_levels = self.levels(instance, steps)
        return self.program_of(instance, steps, step_levels, len(steps) if step is None else step)


def needs(instance: Instance, steps: Schedule) -> np.ndarray:
    """Return φ[n]·d̂[n,r], what one level of n takes of r, in order of arrival; shape (N, R)."""
    weighted = normalised_demands(instance) * instance.user_weights[:, None]
    return np.asarray(weighted[steps.order])


DYNAMIC_DRF = Rule("dynamic-drf", stack)
CAUTIOUS = Rule("cautious-lp", cautious_closed_form, cautious=True)
