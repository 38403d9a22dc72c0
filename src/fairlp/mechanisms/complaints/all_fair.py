"""All allocations without justified complaints, as a list of polytopes; the best of them (Dolev et al., §5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...formulations.complaints import UTILIZATION, Criterion
from ...models.instances.checks import require_instance
from ...models.instances.instance import Instance
from ...models.instances.requests import Requests
from ...models.programs.backends import AnySolver, spelt
from ...tolerances import COMPLAINT, POLYTOPE_WIDTH
from ..allocation import Allocation, tasks_by_user
from ..mechanism import run
from ..table import find, find_defined
from .complaints import check_complaints
from .polytopes import Polytope, all_fair


@dataclass(frozen=True, eq=False)
class FairSet:
    """The fair allocations of one set of bottlenecks: a polytope of granted fractions.

    Attributes
    ----------
    bottlenecks : tuple of str
        The set: saturated, and everybody who does not have all has its entitlement of one of them.
    saturated : tuple of str
        Resources that are saturated in all of these allocations; they include the set.
    dimension : int
        0 is a single allocation.
    ranges : DataFrame
        By user: ``least`` and ``most`` granted fraction, ``least_tasks`` and ``most_tasks``.
    centre : Series
        Granted fractions in the middle of it.
    vertices : DataFrame or None
        Granted fractions at its vertices, vertices × users; None where there are too many dimensions.
    within : tuple of str or None
        Bottlenecks of another set of the list that holds all of these allocations.
    """

    bottlenecks: tuple[Any, ...]
    saturated: tuple[Any, ...]
    dimension: int
    ranges: pd.DataFrame = field(repr=False)
    centre: pd.Series[float] = field(repr=False)
    vertices: pd.DataFrame | None = field(repr=False)
    within: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class FairAllocations:
    """All allocations without justified complaints: a union of polytopes, one for each feasible set of bottlenecks.

    Iterate for the :class:`FairSet` of each; ``len`` is their number.

    Attributes
    ----------
    instance : Instance
    sets : tuple of FairSet
    candidates : int
        Sets of bottlenecks that there are.
    programs : int
        Linear programs that were solved to tell which are feasible and to describe those.
    seconds : float
        Time in the solver.
    solver : str
    """

    instance: Instance
    sets: tuple[FairSet, ...]
    candidates: int
    programs: int
    seconds: float
    solver: str = "highs"

    def __iter__(self) -> Iterator[FairSet]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, position: int) -> FairSet:
        return self.sets[position]

    @cached_property
    def dimension(self) -> int:
        """Largest dimension of a set."""
        return max(one.dimension for one in self.sets)

    @cached_property
    def ranges(self) -> pd.DataFrame:
        """By user, over all fair allocations: ``least`` and ``most`` granted fraction and tasks."""
        both = {"least": "min", "most": "max", "least_tasks": "min", "most_tasks": "max"}
        every = pd.concat([one.ranges for one in self.sets], keys=range(len(self.sets)))
        return every.groupby(level=1, sort=False).agg(both).reindex(self.instance.users.labels.rename("user"))

    @cached_property
    def is_unique(self) -> bool:
        """Whether there is only one fair allocation (granted fractions within ``POLYTOPE_WIDTH``)."""
        return bool((self.ranges["most"] - self.ranges["least"] <= 2 * POLYTOPE_WIDTH).all())

    def summary(self) -> pd.DataFrame:
        """Return one row for each set: dimension, vertices, resources always saturated, and the set that it lies in.

        Returns
        -------
        DataFrame
            One row a set: ``bottlenecks``, ``dimension``, ``vertices``, ``saturated`` and ``within``.
        """
        rows = [
            {
                "bottlenecks": _joined(one.bottlenecks),
                "dimension": one.dimension,
                "vertices": pd.NA if one.vertices is None else len(one.vertices),
                "saturated": _joined(one.saturated),
                "within": "" if one.within is None else _joined(one.within),
            }
            for one in self.sets
        ]
        return pd.DataFrame(rows).set_index("bottlenecks")

    def contains(self, allocation: Allocation | Mapping[Any, float] | Any, tolerance: float = COMPLAINT) -> bool:
        """Whether an allocation is one of them, which :func:`fairlp.complaints.check` tells without this list.

        Parameters
        ----------
        allocation : Allocation, mapping, Series or array_like
            Tasks by user.
        tolerance : float
            Relative, on granted fractions and on saturation.

        Returns
        -------
        bool
        """
        tasks = tasks_by_user(self.instance, allocation)
        return bool(check_complaints(Requests.of(self.instance), tasks, tolerance))

    def best(self, criterion: Criterion = UTILIZATION, **options: Any) -> Allocation:
        """Return the best of them by a criterion: ``allocate(…, "njc", method="candidates", criterion=…)``.

        Parameters
        ----------
        criterion : str, int or mapping
            ``utilization`` (mean over resources of the fraction in use), ``least-served`` (smallest granted fraction),
            a user (its granted fraction), or numbers by user.
        **options
            Options of the solver.

        Returns
        -------
        Allocation
        """
        options = {**options, "criterion": criterion}
        found: Allocation = run(find("njc"), self.instance, method="candidates", solver=self.solver, **options)
        return found

    def __str__(self) -> str:
        kind = "one fair allocation" if self.is_unique else f"fair allocations of up to {self.dimension} dimensions"
        return f"{kind} in {len(self)} of {self.candidates} candidate sets of bottlenecks\n{self.summary().to_string()}"

    def __repr__(self) -> str:
        return f"<FairAllocations: {len(self)} of {self.candidates} candidate sets, dimension {self.dimension}>"


def solutions(instance: Instance, *, solver: AnySolver = "highs", **options: Any) -> FairAllocations:
    """Return all allocations without justified complaints (``fairlp.complaints.solutions``).

    Parameters
    ----------
    instance : Instance
        One server, and at most 20 resources that could be saturated.
    solver : str
    **options
        Options of the solver.

    Returns
    -------
    FairAllocations

    Raises
    ------
    NotDefinedError
        For more than one server, given rates, or weights per resource.
    TooLargeError
        With more resources; the message names methods without enumeration.

    Notes
    -----
    A tree over the resources decides which of the 2^R candidate sets are feasible, with at most one linear program a
    node; about 2N + R more describe each set that is.

    Examples
    --------
    The paper's first example of many solutions, (z, 1 − z, 1 − z) with .5 ≤ z ≤ .7:

    >>> import fairlp
    >>> fair = fairlp.complaints.solutions(fairlp.examples.load("dolev-section-5"))
    >>> fair
    <FairAllocations: 1 of 4 candidate sets, dimension 1>
    >>> fair.ranges[["least", "most"]].round(6)
           least  most
    user
    user1    0.5   0.7
    user2    0.3   0.5
    user3    0.3   0.5
    """
    require_instance(instance)
    find_defined("njc", instance)
    requests = Requests.of(instance)
    found, candidates = all_fair(requests, spelt(solver), options)
    names = np.array(list(requests.resources), dtype=object)
    labels = [tuple(names[one.bottlenecks]) for one in found]
    sets = tuple(_fair_set(requests, one, labels, names) for one in found)
    count = 2 ** len(candidates.contended)
    return FairAllocations(instance, sets, count, candidates.programs, candidates.seconds, str(spelt(solver)))


def _fair_set(requests: Requests, one: Polytope, labels: list[tuple[Any, ...]], names: np.ndarray) -> FairSet:
    users = requests.users.labels.rename("user")
    ranges = pd.DataFrame(
        {
            "least": one.low,
            "most": one.high,
            "least_tasks": requests.to_tasks(one.low),
            "most_tasks": requests.to_tasks(one.high),
        },
        index=users,
    )
    return FairSet(
        bottlenecks=tuple(names[one.bottlenecks]),
        saturated=tuple(names[one.always]),
        dimension=one.dimension,
        ranges=ranges,
        centre=pd.Series(one.centre, index=users, name="granted"),
        vertices=None if one.vertices is None else pd.DataFrame(one.vertices, columns=users),
        within=None if one.within is None else labels[one.within],
    )


def _joined(names: tuple[Any, ...]) -> str:
    return ", ".join(map(str, names)) or "none"


__all__ = ["FairAllocations", "FairSet", "solutions"]
