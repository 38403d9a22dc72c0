"""All fair allocations: the union of the polytopes of the feasible candidate sets, each described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.instances.requests import Requests
from ...tolerances import POLYTOPE_WIDTH
from .candidates import Candidates

#: Polytopes of more dimensions than this, or cut out by more half-spaces, get no list of vertices.
VERTEX_DIMENSIONS, VERTEX_SIDES = 6, 60


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


def all_fair(requests: Requests, solver: str = "highs", options: dict[str, Any] | None = None) -> Any:
    """Return the polytopes of all feasible candidate sets, and the :class:`Candidates` that were solved.

    For each: two linear programs a user for the ranges, up to two a dimension for the affine hull, one a resource for
    what is always saturated.
    """
    candidates = Candidates(requests, solver=solver, options=options)
    found = [_describe(candidates, one.bottlenecks) for one in candidates.feasible()]
    found.sort(key=lambda one: (int(one.bottlenecks.sum()), np.flatnonzero(one.bottlenecks).tolist()))
    _nest(requests, found)
    return found, candidates


def _describe(candidates: Candidates, mask: np.ndarray) -> Polytope:
    """Explore the polytope of the chosen set by linear programs."""
    requests = candidates.requests
    count = len(requests.entitlements)
    points: list[np.ndarray] = []

    def extreme(direction: np.ndarray) -> np.ndarray:
        solution = candidates.maximize(direction)
        assert solution is not None  # feasible a moment ago
        points.append(candidates.granted(solution))
        return points[-1]

    just = requests.thresholds(mask)
    free = np.flatnonzero((just < 1) | ~requests.limited)
    low, high = just.copy(), np.where(requests.limited, 1.0, just)
    for n in free:
        axis = np.zeros(count)
        axis[n] = 1.0
        high[n], low[n] = extreme(axis)[n], extreme(-axis)[n]
    if not points:
        points.append(just)
    span = _affine_hull(requests, mask, points, extreme)
    usage = np.array(points) @ requests.fractions
    always = mask.copy()
    for j in np.flatnonzero(requests.contended & ~mask & (usage >= 1 - POLYTOPE_WIDTH).all(axis=0)):
        always[j] = extreme(-requests.fractions[:, j]) @ requests.fractions[:, j] >= 1 - POLYTOPE_WIDTH
    centre = np.mean(points, axis=0)
    vertices = _vertices(requests, just, centre, span, np.array(points))
    return Polytope(mask, always, len(span), low, high, centre, vertices)


def _affine_hull(requests: Requests, mask: np.ndarray, points: list[np.ndarray], extreme: Any) -> np.ndarray:
    """Return an orthonormal basis of the polytope's directions (dimension, N).

    A direction at right angles to all that is known is either one along which the polytope extends, or an equation:
    two linear programs tell.
    """
    count = points[0].size
    known = list(requests.fractions[:, mask].T)
    while True:
        basis = _basis(np.array(points) - points[0])
        rest = _complement(np.vstack([basis, *(row[None, :] for row in known)]) if known else basis, count)
        if not len(rest):
            return basis
        direction = rest[0]
        wide = float(direction @ (extreme(direction) - extreme(-direction))) > POLYTOPE_WIDTH
        if not wide:
            known.append(direction)


def _basis(rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what rows span, wider than ``POLYTOPE_WIDTH``."""
    _, sizes, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(right[sizes > POLYTOPE_WIDTH])


def _complement(rows: np.ndarray, count: int) -> np.ndarray:
    """Return an orthonormal basis of the directions at right angles to all rows."""
    if not len(rows):
        return np.eye(count)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    _, values, right = np.linalg.svd(rows / np.where(sizes > 0, sizes, 1.0), full_matrices=True)
    rank = int((values > POLYTOPE_WIDTH).sum())
    return np.asarray(right[rank:])


def _vertices(
    requests: Requests, just: np.ndarray, centre: np.ndarray, span: np.ndarray, points: np.ndarray
) -> np.ndarray | None:
    """Return the vertices, from the half-spaces in coordinates of the affine hull."""
    dimension = len(span)
    if dimension == 0:
        return centre[None, :]
    if dimension == 1:
        along = (points - centre) @ span[0]
        return _tidy(points[[along.argmin(), along.argmax()]])
    r, count = requests.fractions, len(just)
    normals = np.vstack([r.T, np.eye(count)[requests.limited], -np.eye(count)])
    offsets = np.concatenate([np.ones(r.shape[1]), np.ones(int(requests.limited.sum())), -just])
    inside = normals @ span.T
    sides = np.linalg.norm(inside, axis=1) > POLYTOPE_WIDTH
    if dimension > VERTEX_DIMENSIONS or sides.sum() > VERTEX_SIDES:
        return None
    from scipy.spatial import HalfspaceIntersection

    system = np.column_stack([inside[sides], (normals @ centre - offsets)[sides]])
    found = HalfspaceIntersection(system, np.zeros(dimension)).intersections
    return _tidy(centre + found @ span)


def _tidy(points: np.ndarray) -> np.ndarray:
    """Return different points in lexicographic order, each once."""
    coarse = np.round(points / POLYTOPE_WIDTH)
    _, first = np.unique(coarse, axis=0, return_index=True)
    kept: list[np.ndarray] = []
    for point in points[np.sort(first)]:
        if all(float(abs(point - other).max()) > POLYTOPE_WIDTH for other in kept):
            kept.append(point)
    array = np.array(kept) + 0.0
    return np.asarray(array[np.lexsort(array.round(6).T[::-1])])


def _nest(requests: Requests, found: list[Polytope]) -> None:
    """Note which polytopes lie within others: B holds A if A always saturates B and gives everybody what B asks for."""
    for k, inner in enumerate(found):
        for other, outer in enumerate(found):
            if other == k or bool((outer.bottlenecks & ~inner.always).any()):
                continue
            if bool((inner.low < requests.thresholds(outer.bottlenecks) - POLYTOPE_WIDTH).any()):
                continue
            back = not bool((inner.bottlenecks & ~outer.always).any()) and not bool(
                (outer.low < requests.thresholds(inner.bottlenecks) - POLYTOPE_WIDTH).any()
            )
            # of two that are the same, the one with more bottlenecks stays
            size, larger = inner.bottlenecks.sum(), outer.bottlenecks.sum()
            if not back or larger > size or (larger == size and other < k):
                inner.within = other
                break
