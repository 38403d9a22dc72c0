"""All allocations without justified complaints, as a list of polytopes, and the best of them.

Dolev et al., §5.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ...formulations.complaints import UTILIZATION, Criterion
from ...keywords import lists
from ...models.instances.instance import Instance, require_instance
from ...models.instances.requests import Requests
from ...models.programs.backends import AnySolver, spelt
from ...models.programs.options import SolveOptions, SolverOptions
from ...tolerances import AGREEMENT, AUDIT
from ..allocation import Allocation, tasks_by_user
from ..mechanism import run
from ..table import find, find_defined
from .complaints import Candidates, check_complaints

# All fair allocations: the union of the polytopes of the feasible candidate sets, each described.

#: Polytopes of more dimensions than this, or cut out by more half-spaces, get no list of vertices.
VERTEX_DIMENSIONS = 6
VERTEX_SIDES = 60


@dataclass
class Polytope:
    """The fair allocations of one set of bottlenecks, in granted fractions.

    Attributes
    ----------
    bottlenecks, always : ndarray of bool, shape (R,)
        The set; and the resources that are saturated in all of its allocations.
    dimension : int
    low, high : ndarray, shape (N,)
        Range of each x[n].
    centre : ndarray, shape (N,)
        A point of its relative interior.
    vertices : ndarray, shape (V, N), or None
        Where the polytope is small enough to list them.
    within : int or None
        Position of another polytope of the list that contains this one.
    """

    bottlenecks: np.ndarray
    always: np.ndarray
    dimension: int
    low: np.ndarray
    high: np.ndarray
    centre: np.ndarray
    vertices: np.ndarray | None
    within: int | None = None


def all_fair(
    requests: Requests, solver: str = "highs", options: Mapping[str, Any] | None = None
) -> Any:
    """Return the polytopes of all feasible sets of bottlenecks, and their :class:`Candidates`.

    For each: two linear programs a user for the ranges, up to two a dimension for the affine hull,
    one a resource for what is always saturated.
    """
    candidates = Candidates(requests, solver=solver, options=options)
    polytopes = [_describe(candidates, entry.bottlenecks) for entry in candidates.feasible()]
    polytopes.sort(
        key=lambda entry: (int(entry.bottlenecks.sum()), np.flatnonzero(entry.bottlenecks).tolist())
    )
    _nest(requests, polytopes)
    return polytopes, candidates


def _describe(candidates: Candidates, mask: np.ndarray) -> Polytope:
    """Explore the polytope of the chosen set by linear programs."""
    requests = candidates.requests
    count = len(requests.entitlements)
    points = []

    def extreme(direction: np.ndarray) -> np.ndarray:
        solution = candidates.maximize(direction)
        assert solution is not None  # feasible a moment ago
        points.append(candidates.granted(solution))
        return points[-1]

    just = requests.thresholds(mask)
    free = np.flatnonzero((just < 1) | ~requests.limited)
    low = just.copy()
    high = np.where(requests.limited, 1.0, just)
    for n in free:
        axis = np.zeros(count)
        axis[n] = 1.0
        high[n] = extreme(axis)[n]
        low[n] = extreme(-axis)[n]
    if not points:
        points.append(just)
    span = _affine_hull(requests, mask, points, extreme)
    usage = np.array(points) @ requests.fractions
    always = mask.copy()
    is_used_up = (usage >= 1 - AUDIT).all(axis=0)
    for j in np.flatnonzero(requests.contended & ~mask & is_used_up):
        fractions = requests.fractions[:, j]
        always[j] = extreme(-fractions) @ fractions >= 1 - AUDIT
    centre = np.mean(points, axis=0)
    vertices = _vertices(requests, just, centre, span, np.array(points))
    return Polytope(mask, always, len(span), low, high, centre, vertices)


def _affine_hull(
    requests: Requests, mask: np.ndarray, points: list[np.ndarray], extreme: Any
) -> np.ndarray:
    """Return an orthonormal basis of the polytope's directions (dimension, N).

    A direction at right angles to all that is known is either one along which the polytope extends,
    or an equation: two linear programs tell.
    """
    count = points[0].size
    normals = list(requests.fractions[:, mask].T)
    while True:
        basis = _basis(np.array(points) - points[0])
        rest = _complement(np.vstack([basis, *normals]), count)
        if not len(rest):
            return basis
        direction = rest[0]
        if not direction @ (extreme(direction) - extreme(-direction)) > AUDIT:
            normals.append(direction)


def _basis(rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what rows span, wider than ``AUDIT``."""
    _, sizes, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(right[sizes > AUDIT])


def _complement(rows: np.ndarray, count: int) -> np.ndarray:
    """Return an orthonormal basis of the directions at right angles to all rows."""
    if not len(rows):
        return np.eye(count)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows = rows / np.where(sizes > 0, sizes, 1.0)
    _, values, right = np.linalg.svd(unit_rows, full_matrices=True)
    return np.asarray(right[(values > AUDIT).sum() :])


def _vertices(
    requests: Requests, just: np.ndarray, centre: np.ndarray, span: np.ndarray, points: np.ndarray
) -> np.ndarray | None:
    """Return the vertices, from the half-spaces in coordinates of the affine hull."""
    dimension = len(span)
    if dimension == 0:
        return centre[None, :]
    if dimension == 1:
        coordinates = (points - centre) @ span[0]
        return _tidy(points[[coordinates.argmin(), coordinates.argmax()]])
    # The sides: capacities, limits of requests, and thresholds of the bottlenecks.
    r = requests.fractions
    unit = np.eye(len(just))
    limits = unit[requests.limited]
    normals = np.vstack([r.T, limits, -unit])
    offsets = np.concatenate([np.ones(r.shape[1]), np.ones(len(limits)), -just])
    restricted = normals @ span.T
    is_side = np.linalg.norm(restricted, axis=1) > AUDIT
    if dimension > VERTEX_DIMENSIONS or is_side.sum() > VERTEX_SIDES:
        return None
    from scipy.spatial import HalfspaceIntersection

    system = np.column_stack([restricted[is_side], (normals @ centre - offsets)[is_side]])
    vertices = HalfspaceIntersection(system, np.zeros(dimension)).intersections
    return _tidy(centre + vertices @ span)


def _tidy(points: np.ndarray) -> np.ndarray:
    """Return different points in lexicographic order, each once."""
    coarse = np.round(points / AUDIT)
    _, first = np.unique(coarse, axis=0, return_index=True)
    distinct: list[np.ndarray] = []
    for point in points[np.sort(first)]:
        if all(abs(point - other).max() > AUDIT for other in distinct):
            distinct.append(point)
    array = np.array(distinct) + 0.0
    return np.asarray(array[np.lexsort(array.round(6).T[::-1])])


def _nest(requests: Requests, polytopes: list[Polytope]) -> None:
    """Note which polytopes lie within others.

    B holds A if A always saturates the bottlenecks of B and gives every user its threshold in B.
    """

    def is_within(inner: Polytope, outer: Polytope) -> bool:
        low = requests.thresholds(outer.bottlenecks) - AUDIT
        return not (outer.bottlenecks & ~inner.always).any() and not (inner.low < low).any()

    for k, inner in enumerate(polytopes):
        for other, outer in enumerate(polytopes):
            if other == k or not is_within(inner, outer):
                continue
            # of two that are the same, the one with more bottlenecks stays
            size = inner.bottlenecks.sum()
            larger = outer.bottlenecks.sum()
            if not is_within(outer, inner) or larger > size or (larger == size and other < k):
                inner.within = other
                break


@dataclass(frozen=True, eq=False)
class FairSet:
    """The fair allocations of one set of bottlenecks: a polytope of granted fractions.

    Attributes
    ----------
    bottlenecks : tuple of str
        The set: saturated, and every user who does not have all has its entitlement of one of them.
    saturated : tuple of str
        Resources that are saturated in all of these allocations; they include the set.
    dimension : int
        0 is a single allocation.
    ranges : DataFrame
        By user: ``least`` and ``most`` granted fraction, ``least_tasks`` and ``most_tasks``.
    centre : Series
        Granted fractions in the middle of it.
    vertices : DataFrame or None
        Granted fractions at its vertices, vertices × users; None where there are too many
        dimensions.
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
    """All allocations without justified complaints, a union of polytopes.

    Each feasible set of bottlenecks has one polytope.

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
        return max(fair_set.dimension for fair_set in self.sets)

    @cached_property
    def ranges(self) -> pd.DataFrame:
        """By user, over all fair allocations: ``least`` and ``most`` granted fraction and tasks."""
        extremes = {"least": "min", "most": "max", "least_tasks": "min", "most_tasks": "max"}
        of_all_sets = pd.concat(
            [fair_set.ranges for fair_set in self.sets], keys=range(len(self.sets))
        )
        return (
            of_all_sets.groupby(level=1, sort=False)
            .agg(extremes)
            .reindex(self.instance.users.labels.rename("user"))
        )

    @cached_property
    def is_unique(self) -> bool:
        """Whether there is only one fair allocation (granted fractions within ``AUDIT``)."""
        return bool((self.ranges["most"] - self.ranges["least"] <= 2 * AUDIT).all())

    def summary(self) -> pd.DataFrame:
        """Return one row for each set of bottlenecks, with the dimension of its polytope.

        Returns
        -------
        DataFrame
            One row a set: ``bottlenecks``, ``dimension``, ``vertices``, ``saturated`` and
            ``within``.
        """
        rows = [
            {
                "bottlenecks": _joined(fair_set.bottlenecks),
                "dimension": fair_set.dimension,
                "vertices": pd.NA if fair_set.vertices is None else len(fair_set.vertices),
                "saturated": _joined(fair_set.saturated),
                "within": "" if fair_set.within is None else _joined(fair_set.within),
            }
            for fair_set in self.sets
        ]
        return pd.DataFrame(rows).set_index("bottlenecks")

    def contains(
        self, allocation: Allocation | Mapping[Any, float] | Any, tolerance: float = AGREEMENT
    ) -> bool:
        """Return whether an allocation is one of the fair allocations.

        :func:`fairlp.complaints.check` answers the same without this list.

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

    @lists(SolverOptions)
    def best(
        self, criterion: Criterion = UTILIZATION, **options: Unpack[SolverOptions]
    ) -> Allocation:
        """Return the fair allocation that is the best by a criterion.

        It is that of ``allocate(…, "njc", method="candidates", criterion=…)``.

        Parameters
        ----------
        criterion : str, int or mapping
            ``utilization`` (mean over resources of the fraction in use), ``least-served`` (smallest
            granted fraction), a user (its granted fraction), or numbers by user.
        **options
            Options of the solver.

        Returns
        -------
        Allocation
        """
        allocation: Allocation = run(
            find("njc"),
            self.instance,
            method="candidates",
            solver=self.solver,
            criterion=criterion,
            **options,
        )
        return allocation

    def __str__(self) -> str:
        kind = (
            "one fair allocation"
            if self.is_unique
            else f"fair allocations of up to {self.dimension} dimensions"
        )
        return f"{kind} in {len(self)} of {self.candidates} candidate sets of bottlenecks\n{self.summary().to_string()}"

    def __repr__(self) -> str:
        return (
            f"<FairAllocations: {len(self)} of {self.candidates} candidate sets, dimension "
            f"{self.dimension}>"
        )


@lists(SolveOptions)
def solutions(
    instance: Instance, *, solver: AnySolver = "highs", **options: Unpack[SolveOptions]
) -> FairAllocations:
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
    A tree over the resources decides which of the 2^R candidate sets are feasible, with at most one
    linear program a node; about 2N + R more describe each set that is.

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
    polytopes, candidates = all_fair(requests, spelt(solver), options)
    names = np.array(list(requests.resources), dtype=object)
    labels = [tuple(names[polytope.bottlenecks]) for polytope in polytopes]
    sets = tuple(_fair_set(requests, polytope, labels, names) for polytope in polytopes)
    count = 2 ** len(candidates.contended)
    return FairAllocations(
        instance, sets, count, candidates.programs, candidates.seconds, str(spelt(solver))
    )


def _fair_set(
    requests: Requests, polytope: Polytope, labels: list[tuple[Any, ...]], names: np.ndarray
) -> FairSet:
    users = requests.users.labels.rename("user")
    ranges = pd.DataFrame(
        {
            "least": polytope.low,
            "most": polytope.high,
            "least_tasks": requests.to_tasks(polytope.low),
            "most_tasks": requests.to_tasks(polytope.high),
        },
        index=users,
    )
    return FairSet(
        bottlenecks=tuple(names[polytope.bottlenecks]),
        saturated=tuple(names[polytope.always]),
        dimension=polytope.dimension,
        ranges=ranges,
        centre=pd.Series(polytope.centre, index=users, name="granted"),
        vertices=None
        if polytope.vertices is None
        else pd.DataFrame(polytope.vertices, columns=users),
        within=None if polytope.within is None else labels[polytope.within],
    )


def _joined(names: tuple[Any, ...]) -> str:
    return ", ".join(map(str, names)) or "none"


__all__ = ["FairAllocations", "FairSet", "solutions"]
