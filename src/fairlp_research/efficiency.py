"""``frontier``: what fairness costs in efficiency, and efficiency in fairness, for a list of α."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, allocate, formulations, mechanisms
from fairlp.errors import (
    FairlpWarning,
    InstanceError,
    NotConvergedError,
    OversizedTaskWarning,
    SolverError,
    quoted,
)
from fairlp.toolkit import lists, quotients, tolerances

from .study.statistics import jains_index

#: α of a frontier where none are asked for.
ALPHAS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)
#: The mechanism whose frontier it is, and those whose place beside it is of interest, where they
#: are defined.
MECHANISM = "alpha-fair"
BESIDE = ("drfh", "ceei", "njc", "psdsf-rdm")
_STEPS = 2000


@dataclass(frozen=True)
class Frontier:
    """The α-fair allocations of an instance, for a list of α, and what lies beside them.

    Attributes
    ----------
    instance : Instance
    allocations : dict
        α → Allocation, its gap certified by prices.
    beside : dict
        Name of a mechanism, or "observed" → tasks, users × servers.
    failed : dict
        α → why no optimum was found to the tolerance; nothing is drawn there.
    """

    instance: Instance
    allocations: Mapping[float, Allocation]
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)
    failed: Mapping[float, str] = field(default_factory=dict)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each α.

        * ``total_share``: Σ x[n]/Γ[n], the sum of dominant shares; ``utilization``: mean over
          resources;
        * ``smallest_level``: of x[n]/(φ[n]Γ[n]), of users who can run anything; ``jain``, ``gini``:
          of these levels;
        * ``price_of_fairness``: 1 − total / largest total; ``price_of_efficiency``: 1 − smallest /
          largest smallest;
        * ``bound``: what the price of fairness is at most by Bertsimas, Farias and Trichakis, NaN
          where their premise fails (:attr:`premise`);
        * ``gap``: how far the objective is from its maximum at most, relative to its terms, as
          duals prove.
        """
        rows = {
            alpha: self._measures(allocation.tasks_array)
            for alpha, allocation in self.allocations.items()
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=_MEASURES).rename_axis("alpha")
        counted = int(formulations.region.runnable_users(self.instance).sum())
        frame["bound"] = [
            bound(alpha, counted) if self.premise else np.nan for alpha in frame.index
        ]
        frame["gap"] = [_gap(allocation) for allocation in self.allocations.values()]
        return frame

    @cached_property
    def markers(self) -> pd.DataFrame:
        """The same measures of mechanisms, and of what was observed; by name."""
        rows = {name: self._measures(tasks) for name, tasks in self.beside.items()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=_MEASURES).rename_axis(
            "allocation"
        )

    @cached_property
    def premise(self) -> bool:
        """Whether the bound applies: equal weights and levels alone, and no limits of queues.

        The level alone is the largest level that a user can have when it is the only one.
        """
        instance = self.instance
        can_run = formulations.region.runnable_users(self.instance)
        if not can_run.any() or formulations.region.have_limits(instance):
            return False
        alone = np.minimum(instance.gamma().sum(axis=1), instance.task_limits)[can_run]
        tasks_per_level = formulations.normalisers.tasks_at_level_1(
            instance, formulations.normalisers.dominant(instance)
        )
        largest_levels = alone / tasks_per_level[can_run]
        return bool(
            np.ptp(formulations.alpha_fair.weights(instance)[can_run]) == 0
            and np.ptp(largest_levels)
            <= len(instance.servers) * tolerances.ROUNDING * largest_levels.max()
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the smallest level against the total share; see :func:`fairlp_research.plots.plot_frontier`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default axes of its own.

        Returns
        -------
        Figure
            Of matplotlib.
        """
        from .plots import plot_frontier

        return plot_frontier(self.table, self.markers, ax=ax)

    def __repr__(self) -> str:
        return f"<Frontier of {len(self.allocations)} α, {len(self.beside)} beside>"

    def _repr_html_(self) -> str:
        return str(self.table.to_html(float_format="{:.4g}".format))

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        """Return the largest total share, and the largest smallest level."""
        first = self.allocations[0.0]
        last = self.allocations[np.inf]
        return _total(self.instance, first.tasks_array), _smallest(
            _levels(self.instance, last.tasks_array)
        )

    def _measures(self, tasks: np.ndarray) -> tuple[float, ...]:
        """Return what a table says of an allocation."""
        instance = self.instance
        levels = _levels(instance, tasks)
        total = _total(instance, tasks)
        most, highest = self._extremes
        smallest = _smallest(levels)
        used = quotients(tasks.sum(axis=1) @ instance.demands, instance.pool)
        mean = float(used[instance.pool > 0].mean())
        prices = _price(total, most), _price(smallest, highest)
        return total, mean, smallest, jains_index(levels), gini(levels), *prices


_MEASURES = [
    "total_share",
    "utilization",
    "smallest_level",
    "jain",
    "gini",
    "price_of_fairness",
    "price_of_efficiency",
]


@lists(formulations.options.AllocateOptions)
def frontier(
    instance: Instance,
    alphas: Iterable[float] = ALPHAS,
    *,
    observed: Any = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> Frontier:
    """Return the trade-off between efficiency and fairness: α-fair allocations for a list of α.

    Parameters
    ----------
    instance : Instance
        One that ``alpha-fair`` is defined for.
    alphas : iterable of float
        From 0, the largest total share, to infinity, max-min fairness. These two are always there.
        Where α are near each other (a factor of 1.75), the interior-point method starts each from
        the last one's point.
    observed : Allocation, DataFrame of users × servers, or array of that shape, optional
        What runs now, as for :func:`fairlp.audit`, to be put beside.
    **options
        As for :func:`fairlp.allocate`: ``method``, ``solver``, its options, and ``oversized``.

    Returns
    -------
    Frontier
        With ``.table``, ``.markers``, ``.plot()`` and the allocations; α for which the optimum was
        not found to the tolerance are in ``.failed``, with what the method said.

    Raises
    ------
    InstanceError
        When an α is no number from 0 to infinity, or users and servers of ``observed`` are not
        those of the instance.

    Examples
    --------
    >>> import fairlp, fairlp_research
    >>> found = fairlp_research.frontier(fairlp.examples.ghodsi(), [1, 2])
    >>> found.table.total_share.round(4).to_dict()
    {0.0: 1.4545, 1.0: 1.4545, 2.0: 1.4142, inf: 1.3333}
    """
    mechanisms.find_defined(MECHANISM, instance)
    alphas_to_solve = sorted({0.0, np.inf, *map(formulations.alpha_fair.checked, _listed(alphas))})
    allocations = {}
    failed = {}
    beside = {}
    with warnings.catch_warnings():
        for alpha in alphas_to_solve:
            options["alpha"] = alpha
            try:
                allocations[alpha] = allocate(instance, MECHANISM, **options)
            except SolverError as error:
                if alpha in (0.0, np.inf):
                    raise
                failed[alpha] = str(error)
            warnings.simplefilter("ignore", OversizedTaskWarning)  # said once is enough
        oversized = options.get("oversized", "divide")
        for name in BESIDE:
            if mechanisms.find(name).undefined(instance) is None:
                try:
                    beside[name] = allocate(instance, name, oversized=oversized).tasks_array
                except NotConvergedError as error:  # the points of the frontier do not depend on it
                    warnings.warn(
                        f"{name} is not beside the frontier: {error}", FairlpWarning, stacklevel=2
                    )
    if observed is not None:
        beside["observed"] = mechanisms.tasks_of(instance, observed)
    return Frontier(instance, allocations, beside, failed)


def bound(alpha: float, users: int) -> float:
    """Return the largest price of fairness for users of equal weight and equal largest share.

    Bertsimas, Farias and Trichakis (2012): 1 − min over 1 ≤ x ≤ n of (x^(1+1/α) + n − x) /
    (x^(1+1/α) + (n−x)·x). At α = 1 it is 1 − (2√n − 1)/n, at ∞ it is 1 − 4n/(n+1)² (2011); at 0
    there is no price.

    >>> round(bound(1, 4), 12), round(bound(float("inf"), 3), 12), bound(0, 9)
    (0.25, 0.25, 0.0)
    """
    if alpha == 0 or users <= 1:
        return 0.0
    power = 1 / alpha if alpha < np.inf else 0.0

    def part(logs: np.ndarray) -> np.ndarray:
        x = np.exp(logs)
        with np.errstate(over="ignore"):
            # x^(1+1/α) may be beyond floats: both by it
            large = np.exp(-(1 + power) * logs)
        return np.asarray((1 + (users - x) * large) / (1 + (users - x) * x * large))

    low = 0.0
    high = float(np.log(users))
    for _ in range(3):  # a grid ten times, and a thousand times, finer about the lowest
        grid = np.linspace(low, high, _STEPS)
        lowest = int(part(grid).argmin())
        low = grid[max(lowest - 2, 0)]
        high = grid[min(lowest + 2, _STEPS - 1)]
    return float(1.0 - part(grid)[lowest])


def gini(levels: np.ndarray) -> float:
    """Return Gini's coefficient of the levels: 0 where all are equal.

    It is the mean difference of two users over twice the mean.

    >>> gini(np.array([1.0, 1.0])), gini(np.array([1.0, 0.0]))
    (0.0, 0.5)
    """
    total = levels.sum()
    if total <= 0:
        return 0.0
    rank = 2 * np.arange(1, len(levels) + 1) - len(levels) - 1
    return max(0.0, float(rank @ np.sort(levels) / (len(levels) * total)))


def _price(value: float, largest: float) -> float:
    """Return what is missing of the most, relatively; what rounding leaves is nothing."""
    price = 1.0 - value / largest if largest > 0 else 0.0
    return 0.0 if abs(price) <= tolerances.AGREEMENT else price


def _gap(allocation: Allocation) -> float:
    """Return the certified gap of an allocation.

    For a method without a program it is the distance of its levels from the proved ones.
    """
    if allocation.gap is not None:
        return allocation.gap
    verdict = allocation.certify()
    return verdict.gap if verdict.holds else np.inf


def _smallest(levels: np.ndarray) -> float:
    """Return the smallest level, 0 where no user can run anything."""
    return float(levels.min()) if levels.size else 0.0


def _total(instance: Instance, tasks: np.ndarray) -> float:
    """Return the sum of all dominant shares."""
    return float((tasks.sum(axis=1) / formulations.normalisers.dominant(instance)).sum())


def _levels(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return the levels of users who can run anything."""
    can_run = formulations.region.runnable_users(instance)
    tasks_per_level = formulations.normalisers.tasks_at_level_1(
        instance, formulations.normalisers.dominant(instance)
    )
    return np.asarray((tasks.sum(axis=1) / tasks_per_level)[can_run])


def _listed(alphas: Any) -> list[Any]:
    """Return α as a list; a single number is one, too."""
    if isinstance(alphas, str | bytes | bool) or alphas is None:
        raise InstanceError(
            f"alphas is {quoted(alphas)}; expected numbers from 0 to infinity, such as [0, 1, 2]"
        )
    return list(alphas) if isinstance(alphas, Iterable) else [alphas]
