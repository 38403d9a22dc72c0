"""``DynamicAllocation``: an Allocation after the last arrival, and the levels of every step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from ...errors import TooLargeError, quoted
from ...formulations.normalisers import dominant, weighted
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.proof import Proof
from ...tolerances import AGREEMENT
from ..allocation import Allocation, no_certificate
from .properties import properties
from .rule import Rule, StepLevels, needs
from .schedule import Schedule

#: Bytes that a dense table of steps × users may take.
DENSE_LIMIT = 2**30


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicAllocation(Allocation):
    """The allocation to users who arrive: the one after the last step, and those of all steps.

    It is an :class:`~fairlp.Allocation` of everyone who came; :meth:`at` gives that of any step.
    The steps take O(N) memory: users of the newest level are consecutive in order of arrival, and
    those before them keep what they had. Dense tables are made when asked for, and refused beyond
    1 GiB.

    Attributes
    ----------
    schedule : Schedule
        Order of arrival, and what each step may give out.
    level_array : ndarray, shape (N,)
        M^k, the smallest weighted dominant share after each step.
    first_array : ndarray of int, shape (N,)
        Position, in order of arrival, of the first user who has it.
    rule : Rule
        The programs of the steps.
    """

    schedule: Schedule
    level_array: np.ndarray
    first_array: np.ndarray
    rule: Rule

    @property
    def step_levels(self) -> StepLevels:
        """The smallest level of every step, and who has it."""
        return StepLevels(self.level_array, self.first_array)

    @cached_property
    def levels(self) -> pd.Series[float]:
        """Level M^k by step: the smallest dominant share over weight, a fraction of the pool."""
        return pd.Series(self.level_array, index=self._steps, name="level")

    @cached_property
    def available(self) -> pd.Series[float]:
        """Fraction of every resource that each step may give out (k/n when all weights are 1)."""
        return pd.Series(self.schedule.available, index=self._steps, name="available")

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Dominant shares, steps × users in order of arrival; NaN before a user arrives.

        The table takes O(N²) memory.
        """
        n = len(self.schedule)
        size = 8 * n * n
        if size > DENSE_LIMIT:
            raise TooLargeError(
                f"a table of {n} steps × {n} users would take {size / 2**30:.3g} GiB, above 1 GiB; "
                "use .at(step), .levels and .utilization_by_step"
            )
        table = np.full((n, n), np.nan)
        for k in range(n):
            if k:
                table[k] = table[k - 1]
            table[k, self.first_array[k] : k + 1] = self.level_array[k]
        weights = self.instance.user_weights[self.schedule.order]
        return pd.DataFrame(table * weights, index=self._steps, columns=self._arrived)

    def at(self, step: int) -> Allocation:
        """Return the allocation after a step, of the users who are present; O(k·R).

        Users are in the order of the instance.

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        Allocation

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> result.at(1).totals.to_dict()
        {'A': 2.25}
        """
        k = self.schedule.require_step(step)
        present = np.sort(self.schedule.order[:k])
        tasks_per_level = self.tasks_per_level[present]
        levels = _levels_after(self.schedule, self.step_levels, k)[present]
        is_last = k == len(self.schedule)
        return Allocation(
            instance=self.instance if is_last else self.instance.select_users(present),
            mechanism=self.mechanism,
            method=self.method,
            solver=self.solver,
            tasks_array=(levels * tasks_per_level)[:, None],
            gamma=self.gamma[present],
            tasks_per_level=tasks_per_level,
            prices_array=self.prices_array if is_last else None,
            times=self.times,
            gap=self.gap,
            notes=self.notes,
        )

    @cached_property
    def utilization_by_step(self) -> pd.DataFrame:
        """Fraction of everything in use, steps × resources; O(N·R·log N)."""
        resources = self.instance.resources.labels.rename("resource")
        return pd.DataFrame(self._usage[:, :-1], index=self._steps, columns=resources)

    @cached_property
    def step_residual(self) -> float:
        """Largest relative violation at any step.

        A step violates what it may give out, or the rule that no user loses.
        """
        available = self.schedule.available[:, None]
        overuse = float((self._usage[:, :-1] / available).max() - 1)

        # The first user of a group at some steps has had the level of the last of these before.
        order = np.argsort(self.first_array, kind="stable")
        first = self.first_array[order]
        levels = self.level_array[order]
        ratio = np.ones(len(levels) - 1)
        np.divide(levels[1:], levels[:-1], out=ratio, where=levels[:-1] > 0)
        losses = (1 - ratio)[first[1:] == first[:-1]]
        return max(overuse, float(losses.max(initial=0.0)), 0.0)

    def competitive(self) -> pd.DataFrame:
        """Return the mechanism beside static DRF, with competitive ratios by step; O(N·R·log N).

        Static DRF knows the demands of those present and shares what the step may give out:
        everyone has the level min_r (k/n) / Σ_{i≤k} d̂[i,r] (Li et al., 2019, §4). With zero
        demands that is the level of those who stop first.

        Returns
        -------
        DataFrame
            By step: ``drf`` (static level), ``smallest`` (the mechanism's), ``cr2`` (smallest /
            drf), ``sum`` and ``drf_sum`` (sums of dominant shares), ``cr1`` (sum / drf_sum, which
            can exceed 1) and ``bound``: what ``cr2`` never goes below, with m resources 1/m
            (dynamic DRF: Theorem 2), or what :func:`cautious_bound` says.

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> result.competitive()[["drf", "smallest", "bound"]]
                   drf  smallest  bound
        step
        1     0.500000  0.500000    0.5
        2     0.666667  0.666667    0.5
        """
        drf_level = self.schedule.available / np.cumsum(self.needs, axis=0).max(axis=1)
        drf_sum = drf_level * self.schedule.parts
        share_sum = self._usage[:, -1]
        bound = cautious_bound(self) if self.rule.cautious else 1 / self.needs.shape[1]
        columns = {
            "drf": drf_level,
            "smallest": self.level_array,
            "cr2": self.level_array / drf_level,
            "sum": share_sum,
            "drf_sum": drf_sum,
            "cr1": share_sum / drf_sum,
            "bound": np.full(len(drf_level), bound),
        }
        return pd.DataFrame(columns, index=self._steps)

    def properties(self) -> pd.DataFrame:
        """Return the properties that hold at each step.

        See :func:`fairlp.mechanisms.arrivals.properties.properties`.

        Returns
        -------
        DataFrame
            One row for each step and property.

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> bool(result.properties()["holds"].all())
        True
        """
        return self._properties.copy()

    @cached_property
    def _properties(self) -> pd.DataFrame:
        """The properties of all steps: each audit of them reads one."""
        return properties(self)

    def model(self, step: int) -> Model:
        """Return the linear program of one step, with what users had before it in this answer.

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        Model

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> result.model(2)
        <Model 'dynamic DRF, step 2': 2 variables, 3 constraints>
        """
        return self.rule.program_of(self.instance, self.schedule, self.step_levels, step)

    def summary(self) -> pd.DataFrame:
        """Return each user's step of arrival, and tasks, share and level after the last step.

        Returns
        -------
        DataFrame
            Indexed by user: ``arrived``, ``tasks``, ``share`` and ``level``.

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> result.summary()
              arrived  tasks     share     level
        user
        A           1    3.0  0.666667  0.666667
        B           2    2.0  0.666667  0.666667
        """
        summary = super().summary().drop(columns="server_rows")
        step_of_arrival = np.empty(len(self.schedule), dtype=int)
        step_of_arrival[self.schedule.order] = np.arange(1, len(self.schedule) + 1)
        summary.insert(0, "arrived", step_of_arrival)
        return summary

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the last allocation, and each step's new user and smallest level.

        Returns
        -------
        dict
            Mappings and lists of text and numbers.

        Examples
        --------
        >>> import fairlp
        >>> result = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> result.to_dict()["steps"][0]
        {'step': 1, 'user': 'A', 'level': 0.5}
        """
        steps = zip(self._steps.tolist(), self._arrived, self.level_array.tolist(), strict=True)
        return {
            **super().to_dict(),
            "horizon": self.schedule.horizon,
            "steps": [{"step": step, "user": user, "level": level} for step, user, level in steps],
        }

    def _csv(self) -> pd.DataFrame:
        return self.summary()

    def __repr__(self) -> str:
        method = f"{self.method}, {self.solver}" if self.solver else self.method
        horizon = self.schedule.horizon
        weight_present = float(self.schedule.parts[-1])
        of_horizon = "" if horizon == weight_present else f" of a horizon of {horizon:g}"
        return (
            f"<DynamicAllocation by {self.mechanism} ({method}): {len(self.schedule)} steps"
            f"{of_horizon}, smallest level {self.level_array[-1]:.6g} at the last>"
        )

    @cached_property
    def needs(self) -> np.ndarray:
        """Needs φ[n]·d̂[n,r] of one level of each user, in order of arrival; shape (N, R)."""
        return needs(self.instance, self.schedule)

    @cached_property
    def _usage(self) -> np.ndarray:
        """Fraction of each resource in use at each step, and the sum of all dominant shares.

        The shape is (N, R + 1); the sum is the last column.
        """
        weights = self.instance.user_weights[self.schedule.order]
        per_level = np.column_stack([self.needs, weights])
        sums = np.cumsum(np.vstack([np.zeros(per_level.shape[1]), per_level]), axis=0)

        # Of the users at the newest level; those before them have what they had when the last of
        # them came.
        of_newest = self.level_array[:, None] * (sums[1:] - sums[self.first_array])
        usage = np.vstack([np.zeros_like(sums[0]), of_newest])
        step_before = np.concatenate([[0], self.first_array])
        while step_before.any():  # sums along the chain of steps, twice as long each time
            usage += usage[step_before]
            step_before = step_before[step_before]
        return usage[1:]

    @property
    def _steps(self) -> pd.Index[Any]:
        return pd.RangeIndex(1, len(self.schedule) + 1, name="step")

    @property
    def _arrived(self) -> pd.Index[Any]:
        return self.instance.users.labels[self.schedule.order].rename("user")


def _levels_after(steps: Schedule, step_levels: StepLevels, step: int) -> np.ndarray:
    """Return each user's level after a step, in the instance's order; NaN before arrival."""
    levels = np.full(len(steps), np.nan)
    levels[steps.order[:step]] = step_levels.after(step)
    return levels


def dynamic_allocation(
    rule: Rule,
    instance: Instance,
    method: str,
    steps: Schedule,
    step_levels: StepLevels,
    **attributes: Any,
) -> DynamicAllocation:
    """Return the answer of a rule from the levels of all steps; O(N·R).

    Parameters
    ----------
    rule : Rule
    instance : Instance
    method : str
    steps : Schedule
    step_levels : StepLevels
    **attributes
        Attributes of an :class:`~fairlp.Allocation`: ``solver``, ``prices_array``, ``times``,
        ``gap``.

    Raises
    ------
    InstanceError
        Where tasks at level 1 are beyond floats.
    """
    gamma = dominant(instance)
    tasks_per_level = weighted(instance, instance.user_weights, gamma)
    levels = _levels_after(steps, step_levels, len(steps))
    newest_users = np.arange(1, len(steps) + 1) - step_levels.first
    rounds = pd.DataFrame(
        {
            "user": instance.users.labels[steps.order],
            "smallest_level": step_levels.levels,
            "raised": newest_users,
        },
        index=pd.RangeIndex(1, len(steps) + 1, name="step"),
    )
    return DynamicAllocation(
        instance=instance,
        mechanism=rule.mechanism,
        method=method,
        tasks_array=(levels * tasks_per_level)[:, None],
        gamma=gamma,
        tasks_per_level=tasks_per_level,
        rounds=rounds,
        prove=prove_steps,
        notes=_notes(instance),
        schedule=steps,
        level_array=step_levels.levels,
        first_array=step_levels.first,
        rule=rule,
        **attributes,
    )


def _notes(instance: Instance) -> tuple[str, ...]:
    """Return a note where users do not need every resource."""
    has_zero = (instance.demands == 0).any(axis=1)
    if not has_zero.any():
        return ()
    others = int(has_zero.sum()) - 1
    and_others = f", nor do {others} more" if others else ""
    return (
        f"user {quoted(instance.users[int(has_zero.argmax())])} does not need every resource{and_others}; "
        "the papers exclude that. Their program is solved as it stands: a step ends where the first "
        "resource is given out, also for those who do not need it",
    )


def prove_steps(allocation: Allocation, exact: bool) -> Proof:
    """Return whether the level of every step is the largest that its program allows; O(N·R·log N).

    It is proved without the method. Shares are max(φ[n]·M, what n had) (Lemma 1 of Li et al.,
    2019), so that raising M raises what the users at the newest level take: M is optimal if and
    only if nothing is given out beyond what the step may give out, and some resource that these
    users take (and, in the cautious LP, users still to come) lets them take no more.
    """
    if exact:
        raise no_certificate(allocation.mechanism, exact)
    result = cast("DynamicAllocation", allocation)
    schedule = result.schedule
    levels = result.level_array

    # Feasible: no step gives out too much, no user loses, and the tasks are those of the last step.
    residual = result.step_residual
    last_levels = _levels_after(schedule, result.step_levels, len(schedule))
    totals = result.totals.to_numpy()
    displaced = float(abs(last_levels * result.tasks_per_level / totals - 1).max())
    if not max(residual, displaced) <= AGREEMENT:
        return Proof(
            False,
            f"infeasible: a step gives out too much, or a user loses, by {max(residual, displaced):.3g}",
        )

    # Optimal: how much more of its own level each step could still reach.
    nothing = np.zeros(result.needs.shape[1])
    sums = np.cumsum(np.vstack([nothing, result.needs]), axis=0)
    growth = sums[1:] - sums[result.first_array]
    limit = np.broadcast_to(schedule.available[:, None], growth.shape)
    if result.rule.cautious:
        weight_to_come = (schedule.horizon - schedule.parts)[:, None]
        growth = growth + weight_to_come
        limit = 1.0 - weight_to_come * levels[:, None]
    slack = limit - result.utilization_by_step.to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        possible_rise = np.where(growth > 0, slack / growth, np.inf).min(axis=1) / levels
    k = int(abs(possible_rise).argmax())
    error = abs(possible_rise[k])
    if not error <= AGREEMENT:
        verdict = (
            "not optimal: the level of step {} could be raised by {:.3g} of itself"
            if possible_rise[k] > 0
            else "infeasible: the level of step {} is too high for those to come, by {:.3g} of itself"
        )
        return Proof(False, verdict.format(k + 1, error))
    return Proof(True, f"optimal at every step, proved; levels are right to {error:.1e}")


def cautious_bound(result: DynamicAllocation) -> float:
    """Return the part of static DRF that the cautious LP keeps at every step.

    It is n / max over k ≤ m of k(n − k + 1).

    It is tight. With n users who will come and m resources; with unequal weights 1/m. The proof is
    in docs/results.md.
    """
    weights = result.instance.user_weights
    n_resources = int(result.needs.shape[1])
    if (weights != weights[0]).any():
        return 1 / n_resources
    n_users = result.schedule.horizon / float(weights[0])
    return n_users / max(k * (n_users - k + 1) for k in range(1, n_resources + 1))
