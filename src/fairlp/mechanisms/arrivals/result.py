"""``DynamicAllocation``: who has how much after each step, when users arrive one by one and never leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, NotDefinedError, TooLargeError, UnknownNameError, require_known
from ...formulations.normalisers import dominant, normalised_demands, weighted
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.certificate import Proof
from ...tolerances import AGREEMENT
from ..allocation import Allocation, Answer

# Who comes when: the order of arrival, what each step may give out, and the horizon.

#: The column of ``user_attributes`` that tells when a user arrives.
COLUMN = "arrival"


@dataclass(frozen=True)
class Schedule:
    """The steps of an instance whose users arrive one by one.

    Attributes
    ----------
    order : ndarray of int, shape (N,)
        Positions of the users in order of arrival; at step k the users ``order[:k]`` are present.
    parts : ndarray, shape (N,)
        Sum of the weights of those present at each step (k, when all weights are 1).
    horizon : float
        Sum of the weights of all users who will ever come (n, when all weights are 1): step k may
        give out the fraction ``parts[k-1] / horizon`` of every resource.
    """

    order: np.ndarray
    parts: np.ndarray
    horizon: float

    @property
    def available(self) -> np.ndarray:
        """Fraction of every resource that each step may give out, shape (N,): k/n when all weights are 1."""
        return np.asarray(self.parts / self.horizon)


def schedule(instance: Instance, horizon: Any = None) -> Schedule:
    """Return the steps of an instance; O(N log N).

    Parameters
    ----------
    instance : Instance
        Its users arrive by the column ``arrival`` of ``user_attributes`` (numbers or times); users
        of equal arrival, and all users without that column, in the order of the instance.
    horizon : float, optional
        Sum of the weights of all users who will ever come; by default of those in the instance.

    Raises
    ------
    InstanceError
        When an arrival is missing or is text, or the horizon is less than the weights of the users.

    Examples
    --------
    >>> import pandas as pd
    >>> late = pd.DataFrame({"arrival": [30, 10, 30]})
    >>> steps = schedule(Instance.from_arrays([[1], [2], [3]], [[9]], user_attributes=late), horizon=4)
    >>> steps.order.tolist(), steps.available.tolist()
    ([1, 0, 2], [0.25, 0.5, 0.75])
    """
    order = arrival_order(instance)
    parts = np.cumsum(instance.user_weights[order])
    return Schedule(order, parts, _horizon(horizon, float(parts[-1])))


def arrival_order(instance: Instance) -> np.ndarray:
    """Return the positions of the users in order of arrival, shape (N,); ties keep the order of the instance."""
    if COLUMN not in instance.user_attributes.columns:
        return np.arange(len(instance.users))
    column = instance.user_attributes[COLUMN].infer_objects()
    values = column.to_numpy()
    missing = column.isna().to_numpy()
    wrong = missing | np.array(
        [isinstance(value, str) for value in values] if values.dtype == object else False
    )
    if wrong.any():
        at = int(np.argmax(wrong))
        what = "missing" if missing[at] else f"the text {values[at]!r}"
        raise InstanceError(
            f"arrival of user {instance.users[at]!r} is {what}; expected a number or a time for "
            "each user "
            "(or no column 'arrival': the users then arrive in their order)"
        )
    try:
        return np.argsort(values, kind="stable")
    except TypeError as error:
        raise InstanceError(
            f"arrivals cannot be put in order ({error}); expected numbers, or times"
        ) from None


def _horizon(given: Any, present: float) -> float:
    if given is None:
        return present
    horizon = require_horizon(given)
    if horizon < present * (1 - AGREEMENT):
        raise InstanceError(
            f"the horizon is {horizon:g}, and users of a total weight of {present:g} arrive; "
            "expected at least that "
            "(the number of all users who will ever come, or the sum of their weights)"
        )
    return max(horizon, present)


def require_horizon(given: Any) -> float:
    """Return a horizon as a number, finite and > 0."""
    horizon = as_number(given, "the horizon", "a number of users (or the sum of weights)")
    if not (np.isfinite(horizon) and horizon > 0):
        raise InstanceError(f"the horizon is {horizon:g}; expected a finite number > 0")
    return horizon


def as_number(value: Any, what: str, expected: str = "a number") -> float:
    """Return what is given as a float; text and truth values are no numbers."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise InstanceError(f"{what} is {value!r}; expected {expected}") from None


def require_no_limits(instance: Instance) -> None:
    """Raise NotDefinedError when a user has a task limit (which dropping an oversized task also sets)."""
    limited = np.isfinite(instance.task_limits)
    if limited.any():
        raise NotDefinedError(
            f"user {instance.users[int(limited.argmax())]!r} has a task limit, which dynamic "
            "mechanisms do not know; "
            "leave the user out (instance.select_users), or use oversized='divide'"
        )


# What a dynamic allocation keeps, step by step, and how far it is from DRF that knows everyone.

#: name → what it asks for at each step
PROPERTIES = {
    "feasible": "no resource is given out beyond what the step may give out",
    "irrevocable": "nobody has less than at the step before",
    "SI": "sharing incentives: everyone has at least its equal part, φ/Φ of its dominant resource (1/n)",
    "DEF": "dynamic envy-freeness: who has more than a user came before it, and got nothing since that user came",
    "EF": "envy-freeness: nobody could do more with what another has (per weight)",
    "DPO": "dynamic Pareto optimality: some resource is given out as far as the step allows",
}


def cautious_bound(result: DynamicAllocation) -> float:
    """Return what the cautious LP keeps of static DRF at every step: n / max over k ≤ m of k(n − k + 1).

    It is tight. With n users who will come and m resources; with unequal weights 1/m. The proof is
    in docs/results.md.
    """
    weights, resources = result.instance.user_weights, int(result.needs.shape[1])
    if (weights != weights[0]).any():
        return 1 / resources
    users = result.schedule.horizon / float(weights[0])
    worst = max(k * (users - k + 1) for k in range(1, resources + 1))
    return users / worst


def properties(result: DynamicAllocation, steps: Sequence[int] | None = None) -> pd.DataFrame:
    """Return which properties hold at each step, by how much, and who shows it.

    Parameters
    ----------
    result : DynamicAllocation
    steps : sequence of int, optional
        By default all.

    Returns
    -------
    DataFrame
        One row for each step and property of :data:`PROPERTIES`: ``step``, ``property``, ``holds``
        (within the tolerance ``AGREEMENT``), ``margin`` (relative; negative when it fails, 0 when
        it is tight) and ``witness``, the user or resource nearest to breaking it, in words.

    Notes
    -----
    With weights, shares are compared per unit of weight. Every pair of users is looked at: O(k²·R)
    at step k, and the dense table of shares.
    """
    levels = result.table().to_numpy() / result._weights
    names = list(result.instance.users.labels[result.schedule.order])
    resources = list(result.instance.resources)
    demand = result.needs / result._weights[:, None]
    rows = []
    for step in range(1, len(levels) + 1) if steps is None else steps:
        here = levels[step - 1, :step]
        before = levels[step - 2, : step - 1] if step > 1 else here[:0]
        fraction = float(result.schedule.available[step - 1])
        found = {
            **_limits(here @ result.needs[:step], fraction, resources),
            "irrevocable": _irrevocable(here, before, names),
            "SI": _sharing_incentive(here, result.schedule.horizon, names),
            "DEF": _dynamic_envy(here, levels[:step, :step], names),
            "EF": _envy(here, demand[:step], names),
        }
        for name in PROPERTIES:
            margin, witness = found[name]
            holds = margin >= -AGREEMENT
            rows.append(
                {
                    "step": step,
                    "property": name,
                    "holds": holds,
                    "margin": margin,
                    "witness": witness,
                }
            )
    return pd.DataFrame(rows, columns=["step", "property", "holds", "margin", "witness"])


Finding = tuple[float, str]


def _limits(used: np.ndarray, fraction: float, resources: list[object]) -> dict[str, Finding]:
    """Return how far the fullest resource is from what the step may give out, from above and from below."""
    at = int(used.argmax())
    filled = float(used[at]) / fraction
    witness = (
        f"{filled:.6g} of what the step may give out of {resources[at]!r} is in use, more than of "
        "any other"
    )
    return {"feasible": (1 - filled, witness), "DPO": (filled - 1, witness)}


def _irrevocable(here: np.ndarray, before: np.ndarray, names: list[object]) -> Finding:
    if not before.size:
        return 0.0, "nobody was here before"
    gain = here[: len(before)] / before - 1
    at = int(gain.argmin())
    return float(gain[at]), f"{names[at]!r} went from {before[at]:.6g} to {here[at]:.6g}"


def _sharing_incentive(here: np.ndarray, horizon: float, names: list[object]) -> Finding:
    at = int(here.argmin())
    return float(
        here[at] * horizon - 1
    ), f"{names[at]!r} has {here[at] * horizon:.6g} of its equal part"


def _dynamic_envy(here: np.ndarray, past: np.ndarray, names: list[object]) -> Finding:
    """Look at every pair (i, j) where j has more: j must have come first, and have nothing new since i came.

    ``past[s, j]`` is the level of j after step s + 1, NaN before it arrived.
    """
    k = len(here)
    when_came = np.zeros((k, k))  # [i, j]: what j had just before i came
    when_came[1:] = np.tril(
        np.nan_to_num(past[:-1])
    )  # j ≥ i had nothing, and should not have more at all
    more = here[None, :] - np.maximum(here[:, None], when_came)
    worst = more / np.maximum(here[None, :], here[:, None])
    np.fill_diagonal(worst, 0.0)
    i, j = np.unravel_index(int(worst.argmax()), worst.shape)
    margin = 0.0 - max(float(worst[i, j]), 0.0)
    if margin == 0:
        return margin, "nobody got more since a poorer user came"
    return (
        margin,
        f"{names[int(i)]!r} has {here[i]:.6g}; {names[int(j)]!r} has {here[j]:.6g}, and got more "
        "since",
    )


def _envy(here: np.ndarray, demand: np.ndarray, names: list[object]) -> Finding:
    """Look at every pair: what i could do with what j has, min over r of x[j]·d̂[j,r]/d̂[i,r], per weight."""
    worth = np.full((len(here), len(here)), np.inf)
    for r in range(demand.shape[1]):
        asked = demand[:, r] > 0
        own = np.where(asked, demand[:, r], 1.0)
        amount = (here * demand[:, r])[None, :] / own[:, None]
        worth = np.minimum(worth, np.where(asked[:, None], amount, np.inf))
    envy = 1 - here[:, None] / np.maximum(worth, here[:, None])
    i, j = np.unravel_index(int(envy.argmax()), envy.shape)
    margin = 0.0 - float(envy[i, j])
    if margin == 0:
        return margin, "nobody would rather have what another has"
    return (
        margin,
        f"{names[int(i)]!r} has {here[i]:.6g} and would have {worth[i, j]:.6g} with what "
        f"{names[int(j)]!r} has",
    )


#: Bytes that a dense table may take.
DENSE_LIMIT = 2**30


#: (users present, what they had, schedule, step) → the program of that step
StepModel = Callable[[Instance, np.ndarray, Schedule, int], "Model"]


@dataclass(frozen=True, eq=False)
class DynamicAllocation(Answer):
    """The answer of a mechanism for users who arrive, for every step, in O(N) memory.

    At step k the users ``order[:k]`` are present. Those from position ``first_array[k-1]`` on have
    the level ``level_array[k-1]``, the smallest of all; those before them have what they had (no
    level exceeds an earlier user's, so this says everything). Dense tables are made when asked for,
    and refused beyond 1 GiB.

    Attributes
    ----------
    instance : Instance
    mechanism, method, solver : str
        How it was made; ``solver`` is empty when no solver was needed.
    schedule : Schedule
        Order of arrival, and what each step may give out.
    level_array : ndarray, shape (N,)
        M^k, the smallest weighted dominant share after each step.
    first_array : ndarray of int, shape (N,)
        Position, in order of arrival, of the first user who has it.
    step_model : callable
        (users present, what they had, schedule, step) → the program of one step.
    cautious : bool
        Whether a step keeps something for the users still to come.
    files : str
        Stem of the names of :meth:`write_models`.
    prices_array : ndarray, shape (1, R), or None
        Capacity duals of the last step's program: at most what one more unit of a resource would
        add to its level.
    times : mapping
        Seconds by phase.
    gap : float or None
        Largest relative duality gap of the steps, where linear programs gave the answer.
    notes : tuple of str
    """

    instance: Instance
    mechanism: str
    method: str
    schedule: Schedule
    level_array: np.ndarray
    first_array: np.ndarray
    step_model: StepModel = field(repr=False)
    files: str
    cautious: bool = False
    solver: str = ""
    prices_array: np.ndarray | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    gap: float | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def gamma(self) -> np.ndarray:
        """Γ[n], the tasks that n could run alone, in the order of the instance; shape (N,)."""
        return dominant(self.instance)

    @cached_property
    def levels(self) -> pd.Series[float]:
        """M^k by step: the smallest dominant share (divided by weight), a fraction of everything."""
        return pd.Series(self.level_array, index=self._steps, name="level")

    @cached_property
    def available(self) -> pd.Series[float]:
        """Fraction of every resource that each step may give out (k/n when all weights are 1)."""
        return pd.Series(self.schedule.available, index=self._steps, name="available")

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Dominant shares, steps × users in order of arrival; NaN before a user arrives. O(N²) memory."""
        return self.table()

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """Tasks, steps × users in order of arrival; NaN before a user arrives. O(N²) memory."""
        return self.steps.mul(self.gamma[self.schedule.order], axis="columns")

    def table(
        self, steps: Sequence[int] | None = None, users: Sequence[Any] | None = None
    ) -> pd.DataFrame:
        """Return dominant shares at some steps (by default all), of some users (by default all, as they arrive).

        Parameters
        ----------
        steps : sequence of int, optional
        users : sequence of labels, optional

        Returns
        -------
        DataFrame
            Steps × users; NaN before a user arrives.

        Raises
        ------
        TooLargeError
            When the table would take more than 1 GiB.
        UnknownNameError
            For a step or a user that does not exist.

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.table()
        user         A         B
        step
        1     0.500000       NaN
        2     0.666667  0.666667
        """
        chosen = (
            range(1, len(self.level_array) + 1)
            if steps is None
            else [self._step(step) for step in steps]
        )
        places = (
            np.arange(len(self.level_array))
            if users is None
            else np.array([self._place(user) for user in users])
        )
        size = 8 * len(chosen) * len(places)
        if size > DENSE_LIMIT:
            raise TooLargeError(
                f"a table of {len(chosen)} steps × {len(places)} users would take "
                f"{size / 2**30:.3g} GiB, above 1 GiB; "
                "use .at(step), .history(user), .levels and .utilization, or .table(steps, users) "
                "for a part of it"
            )
        table = np.full((len(chosen), len(places)), np.nan)
        everyone = users is None
        for row, step in enumerate(chosen):
            if everyone and row and step == chosen[row - 1] + 1:
                table[row] = table[row - 1]
                table[row, self.first_array[step - 1] : step] = self.level_array[step - 1]
            else:
                here = places < step
                table[row, here] = self.levels_at(step)[places[here]]
        labels = self._arrived[places]
        shares = table * self._weights[places]
        return pd.DataFrame(
            shares, index=pd.Index(list(chosen), name="step"), columns=labels.rename("user")
        )

    def levels_at(self, step: int) -> np.ndarray:
        """Return the level (dominant share divided by weight) of each user present, in order of arrival; O(k).

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        ndarray, shape (k,)

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.levels_at(1)
        array([0.5])
        """
        k = self._step(step)
        levels = np.empty(k)
        # group by group, from the newest: the group below is the newest of the step before the
        # group's first
        while k > 0:
            first = int(self.first_array[k - 1])
            levels[first:k] = self.level_array[k - 1]
            k = first
        return levels

    def history(self, user: Any) -> pd.Series[float]:
        """Return one user's dominant share by step, from its arrival on; O(N).

        Parameters
        ----------
        user : label

        Returns
        -------
        Series

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.history("A").round(3).to_dict()
        {1: 0.5, 2: 0.667}
        """
        place = self._place(user)
        raised = self.first_array[place:] <= place
        last = np.maximum.accumulate(np.where(raised, np.arange(len(raised)), 0))
        shares = self.level_array[place:][last] * self._weights[place]
        return pd.Series(shares, index=self._steps[place:], name=user)

    def at(self, step: int) -> Allocation:
        """Return the allocation after one step: of the users who are present, in the order of the instance; O(k·R).

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
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.at(1).totals.to_dict()
        {'A': 2.25}
        """
        k = self._step(step)
        levels = np.full(len(self.instance.users), np.nan)
        levels[self.schedule.order[:k]] = self.levels_at(k)
        here = np.flatnonzero(~np.isnan(levels))
        tasks_per_level = weighted(self.instance, self.instance.user_weights, self.gamma)[here]
        return Allocation(
            instance=self.instance if k == len(levels) else self.instance.select_users(here),
            mechanism=self.mechanism,
            method=self.method,
            solver=self.solver,
            tasks_array=(levels[here] * tasks_per_level)[:, None],
            gamma=self.gamma[here],
            tasks_per_level=tasks_per_level,
            prices_array=self.prices_array if k == len(levels) else None,
            times=self.times,
            gap=self.gap,
            notes=self.notes,
        )

    @cached_property
    def last(self) -> Allocation:
        """The allocation after the last step."""
        return self.at(len(self.level_array))

    @property
    def totals(self) -> pd.Series[float]:
        """Tasks by user after the last step."""
        return self.last.totals

    @property
    def shares(self) -> pd.Series[float]:
        """Dominant share by user after the last step."""
        return self.last.shares

    @property
    def usage(self) -> pd.DataFrame:
        """Amount of each resource in use after the last step (one row, the server)."""
        return self.last.usage

    @property
    def prices(self) -> pd.DataFrame | None:
        """Capacity duals of the last step (None without a linear program)."""
        return self.last.prices

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Each step in a line: who came, the smallest level, and how many users have it."""
        raised = np.arange(1, len(self.level_array) + 1) - self.first_array
        lines = {"user": self._arrived, "smallest_level": self.level_array, "raised": raised}
        return pd.DataFrame(lines, index=self._steps)

    @property
    def pool_utilization(self) -> pd.Series[float]:
        """Fraction of everything in use after the last step, by resource."""
        return self.last.pool_utilization

    @cached_property
    def utilization(self) -> pd.DataFrame:
        """Fraction of everything in use, steps × resources; O(N·R·log N)."""
        return pd.DataFrame(
            self.given_out[:, :-1],
            index=self._steps,
            columns=self.instance.resources.labels.rename("resource"),
        )

    @cached_property
    def residual(self) -> float:
        """Largest violation at any step, relative: of what the step may give out, or of "nobody loses"."""
        available = self.schedule.available[:, None]
        over = float((self.given_out[:, :-1] / available).max() - 1)
        # a user who is first of its group at some steps has had the level of the last of these
        # before
        order = np.argsort(self.first_array, kind="stable")
        first, level = self.first_array[order], self.level_array[order]
        kept = np.divide(level[1:], level[:-1], out=np.ones(len(level) - 1), where=level[:-1] > 0)
        lost = (1 - kept)[first[1:] == first[:-1]]
        return max(over, float(lost.max(initial=0.0)), 0.0)

    def certify(self) -> Proof:
        """Return whether the level of every step is the largest that its program allows; O(N·R·log N).

        It is proved without the method. Shares are max(φ[n]·M, what n had) (Lemma 1 of Li et al.,
        2019), so that raising M raises what the users at the newest level take: M is optimal if and
        only if nothing is given out beyond what the step may give out, and some resource that these
        users take (and, in the cautious LP, users still to come) lets them take no more.

        Returns
        -------
        Proof

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> bool(found.certify())
        True
        """
        parts = self.schedule.parts
        whole = np.cumsum(np.vstack([np.zeros(self.needs.shape[1]), self.needs]), axis=0)
        growth = whole[1:] - whole[self.first_array]
        room, level = (
            np.broadcast_to(self.schedule.available[:, None], growth.shape),
            self.level_array[:, None],
        )
        if self.cautious:
            coming = (self.schedule.horizon - parts)[:, None]
            growth, room = growth + coming, 1.0 - coming * level
        slack = room - self.given_out[:, :-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(growth > 0, slack / growth, np.inf).min(axis=1) / self.level_array
        worst = int(abs(more).argmax())
        if not self.residual <= AGREEMENT:
            return Proof(
                False,
                f"infeasible: a step gives out too much, or somebody loses, by {self.residual:.3g}",
            )
        if not abs(more[worst]) <= AGREEMENT:
            way = "could be raised" if more[worst] > 0 else "is too high"
            return Proof(
                False,
                f"not optimal: the level of step {worst + 1} {way} by {abs(more[worst]):.3g} of "
                "itself",
            )
        return Proof(
            True, f"optimal at every step, proved; levels are right to {abs(more[worst]):.1e}"
        )

    def competitive(self) -> pd.DataFrame:
        """Return the mechanism beside static DRF at each step, and the competitive ratios; O(N·R·log N).

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
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.competitive()[["drf", "smallest", "bound"]]
                   drf  smallest  bound
        step
        1     0.500000  0.500000    0.5
        2     0.666667  0.666667    0.5
        """
        available, parts = self.schedule.available, self.schedule.parts
        drf = available / np.cumsum(self.needs, axis=0).max(axis=1)
        total = self.given_out[:, -1]
        return pd.DataFrame(
            {
                "drf": drf,
                "smallest": self.level_array,
                "cr2": self.level_array / drf,
                "sum": total,
                "drf_sum": drf * parts,
                "cr1": total / (drf * parts),
                "bound": np.full(
                    len(drf), cautious_bound(self) if self.cautious else 1 / self.needs.shape[1]
                ),
            },
            index=self.levels.index,
        )

    def properties(self, steps: Sequence[int] | None = None) -> pd.DataFrame:
        """Return which properties hold at each step; see :func:`fairlp.mechanisms.arrivals.result.properties`.

        Parameters
        ----------
        steps : sequence of int, optional
            By default all.

        Returns
        -------
        DataFrame
            One row for each step and property.

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> bool(found.properties()["holds"].all())
        True
        """
        return self._of_every_step.copy() if steps is None else properties(self, steps)

    @cached_property
    def _of_every_step(self) -> pd.DataFrame:
        """The properties of all steps: each audit of them asks for one."""
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
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.model(2)
        <Model 'dynamic DRF, step 2': 2 variables, 3 constraints>
        """
        k = self._step(step)
        present = self.instance.select_users(self.schedule.order[:k])
        before = np.zeros(k)
        if k > 1:
            before[:-1] = self.levels_at(k - 1) * present.user_weights[:-1]
        return self.step_model(present, before, self.schedule, k)

    def write_models(
        self,
        folder: str | Path,
        steps: Sequence[int] | None = None,
        suffix: str = ".mps",
        **options: Any,
    ) -> list[Path]:
        """Write the linear program of each step, such as ``drf-step-0007.mps``.

        Parameters
        ----------
        folder : str or Path
            Made when it is not there.
        steps : sequence of int, optional
            By default all, which is O(N²·R) in all.
        suffix : str
            ``.mps``, ``.lp``, ``.mps.gz``, ``.lp.gz`` or ``.nl``.
        **options
            As for :meth:`fairlp.Model.write`.

        Returns
        -------
        list of Path
            The files written.

        Examples
        --------
        >>> import fairlp, tempfile
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print([path.name for path in found.write_models(folder)])
        ['drf-step-0001.mps', 'drf-step-0002.mps']
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for step in range(1, len(self.level_array) + 1) if steps is None else steps:
            written += self.model(step).write(
                place / f"{self.files}-step-{step:04d}{suffix}", **options
            )
        return written

    def summary(self) -> pd.DataFrame:
        """Return one row for each user: step of arrival, and tasks, share and level after the last step.

        Returns
        -------
        DataFrame
            Indexed by user: ``arrived``, ``tasks``, ``share`` and ``level``.

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf")
        >>> found.summary()
              arrived  tasks     share     level
        user
        A           1    3.0  0.666667  0.666667
        B           2    2.0  0.666667  0.666667
        """
        frame = self.last.summary().drop(columns="server_rows")
        frame.insert(0, "arrived", self._places + 1)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the allocation after the last step, and by step who arrived and the smallest level.

        Returns
        -------
        dict
            Mappings and lists of text and numbers.

        Examples
        --------
        >>> import fairlp
        >>> sorted(fairlp.allocate(fairlp.examples.load("ghodsi"), "dynamic-drf").to_dict())[:3]
        ['gap', 'horizon', 'mechanism']
        """
        steps = zip(self._steps.tolist(), self._arrived, self.level_array.tolist(), strict=True)
        data = self.last.to_dict()
        return {
            **data,
            "horizon": self.schedule.horizon,
            "steps": [{"step": step, "user": user, "level": level} for step, user, level in steps],
            "residual": self.residual,
        }

    def _csv(self) -> pd.DataFrame:
        return self.summary()

    def __repr__(self) -> str:
        how = f"{self.method}, {self.solver}" if self.solver else self.method
        n = len(self.level_array)
        total = float(self.schedule.parts[-1])
        of = "" if self.schedule.horizon == total else f" of a horizon of {self.schedule.horizon:g}"
        return (
            f"<DynamicAllocation by {self.mechanism} ({how}): {n} steps{of}, "
            f"smallest level {self.level_array[-1]:.6g} at the last>"
        )

    @cached_property
    def needs(self) -> np.ndarray:
        """φ[n]·d̂[n,r], what one level of each user takes of each resource, in order of arrival; shape (N, R)."""
        return np.asarray(
            normalised_demands(self.instance)[self.schedule.order] * self._weights[:, None]
        )

    @cached_property
    def _weights(self) -> np.ndarray:
        """φ[n], in order of arrival."""
        return np.asarray(self.instance.user_weights[self.schedule.order])

    @cached_property
    def given_out(self) -> np.ndarray:
        """Fraction in use of each resource at each step, and last the sum of all dominant shares; shape (N, R + 1)."""
        taken = np.column_stack([self.needs, self._weights])
        whole = np.cumsum(np.vstack([np.zeros(self.needs.shape[1] + 1), taken]), axis=0)
        # of the users at the newest level; those before them have what they had when the last of
        # them came
        total = np.vstack(
            [
                np.zeros_like(whole[0]),
                self.level_array[:, None] * (whole[1:] - whole[self.first_array]),
            ]
        )
        below = np.concatenate([[0], self.first_array])
        while below.any():  # sums along the chain of steps, twice as long each time
            total += total[below]
            below = below[below]
        return total[1:]

    @property
    def _steps(self) -> pd.Index[Any]:
        return pd.RangeIndex(1, len(self.level_array) + 1, name="step")

    @cached_property
    def _arrived(self) -> pd.Index[Any]:
        return self.instance.users.labels[self.schedule.order]

    @cached_property
    def _places(self) -> np.ndarray:
        places = np.empty(len(self.level_array), dtype=int)
        places[self.schedule.order] = np.arange(len(places))
        return places

    def _place(self, user: Any) -> int:
        require_known(user, self.instance.users, f"no user is called {user!r}")
        return int(self._places[self.instance.users.labels.get_loc(user)])

    def _step(self, step: int) -> int:
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)):
            raise UnknownNameError(f"a step is a whole number, not {step!r}")
        if not 1 <= step <= len(self.level_array):
            raise UnknownNameError(
                f"there is no step {step}; expected 1 to {len(self.level_array)}"
            )
        return int(step)
