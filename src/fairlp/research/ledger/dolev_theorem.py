"""Dolev et al., §5: that a fair allocation exists, the curve that leads to one, and whether it is the only one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from ... import examples
from ...api import allocate, formulate
from ...mechanisms.complaints import check
from ...models.instances.instance import Instance
from ...tolerances import AUDIT, PATH_LIMIT, VERIFIED
from .checking import Told, over, statement, uncheckable
from .dolev import NJC, granted, requests, with_dummies
from .registry import Run, entry
from .verdicts import Answer, Verdict, beside, in_words, named, on_instance, shown


def _wanting(rng: np.random.Generator) -> Instance:
    """Return random requests of which every resource is asked for more than there is (§5.1)."""
    while True:
        instance = requests(rng)
        if (instance.demands.sum(axis=0) >= 1).all():
            return instance


@statement(
    "004", "Theorem 1", "For all requests and entitlements a fair allocation exists", _wanting, few=100, many=3000
)
def theorem_1(instance: Instance) -> Told:
    """One is computed and checked by the definition."""
    return check.check(instance, allocate(instance, NJC))


@statement("004", "§5.1, simplifications", "Resources that nobody can use up may be left out", requests)
def simplifications(instance: Instance) -> Told:
    """A fair allocation without them is fair with them."""
    scarce = instance.demands.sum(axis=0) >= 1
    if scarce.all() or not (instance.demands[:, scarce].max(axis=1, initial=0) > 0).all():
        return None
    part = examples.requests(instance.demands[:, scarce], instance.entitlements)
    return check.check(instance, granted(part))


@statement(
    "004",
    "§5.2, known bottlenecks",
    "If the bottlenecks were known, a linear program would find the allocation",
    _wanting,
)
def known(instance: Instance) -> Told:
    """The linear program of the bottlenecks of a fair allocation."""
    found = check.check(instance, allocate(instance, NJC))
    if not found.bottlenecks:
        return None
    solution = formulate(instance, NJC, bottlenecks=set(found.bottlenecks)).solve()
    return check.check(instance, np.asarray(solution.values["x"]) * instance.task_limits, AUDIT)


def _pairs_of_users(rng: np.random.Generator) -> Instance:
    e = rng.uniform(0.1, 0.9)
    return examples.requests(rng.integers(1, 11, (2, rng.integers(1, 5))) / 10, [e, 1 - e])


@statement("004", "§5.3, uniqueness", "For two users the fair allocation is unique", _pairs_of_users, many=300)
def two_users(instance: Instance) -> Told:
    """All fair allocations of random pairs."""
    return check.solutions(instance).is_unique


@statement(
    "004",
    "Lemma 2",
    "Points of the curve have a subsequence that converges to the boundary",
    _wanting,
    few=15,
    many=200,
    why="the whole curve does, to the Eisenberg–Gale optimum",
)
def lemma_2(instance: Instance) -> Told:
    """The curve itself converges: to the Eisenberg–Gale optimum, whose central path it is."""
    end = check.trajectory(instance, method="newton").end.to_numpy()
    return np.allclose(end, granted(instance), atol=PATH_LIMIT) or f"{shown(end)}; {in_words(instance)}"


@statement("004", "Lemma 3", "The limit is a fair allocation", _wanting, few=15, many=200)
def lemma_3(instance: Instance) -> Told:
    """The end of the curve, checked by the definition."""
    end = check.trajectory(instance, method="newton").end.to_numpy()
    return check.check(instance, end * instance.task_limits, PATH_LIMIT)


@statement(
    "004",
    "Lemma 4",
    "The curve exists: x·∂f/∂x is proportional to the entitlements all along it",
    _wanting,
    few=5,
    many=100,
)
def lemma_4(instance: Instance) -> Told:
    """Both sides at points of the integrated curve."""
    path = check.trajectory(instance, points=20, until=100)
    rows = with_dummies(instance)
    for x in path.granted.to_numpy():
        sides = x * (rows / (1 - x @ rows)).sum(axis=1) / instance.entitlements
        if np.ptp(sides) > 10 * PATH_LIMIT * sides.max():
            return False
    return True


@entry("004", "§5.4, derivative of (11)", "Σ_k dx_k/dt·r_kj / (1 − Σ_k x_k·r_kj) = 1 for each j")
def derivative(run: Run) -> Answer:
    """Differences along the curve, for each resource and summed."""
    instance = examples.dolev_section_3()
    path = check.trajectory(instance, points=400, until=1e3)
    rows = with_dummies(instance)
    x, f = path.granted.to_numpy(), path.level.to_numpy()
    k = len(f) // 2
    speed = (x[k + 1] - x[k - 1]) / (f[k + 1] - f[k - 1])
    each = speed @ rows / (1 - x[k] @ rows)
    ours = f"at one point {shown(each[:3])} for the three resources, {each.sum():.6g} summed over all and dummies"
    breaks = abs(each - 1).max() > 1 / 10 and abs(each.sum() - 1) < 1 / 100
    return on_instance(instance, breaks, ours, "the sum over j is lacking")


@entry(
    "004", "§5.4, last display", "The matrix of Σ_j b_ij·δ_ik + Σ_j x_i·b_ij·b_kj is symmetric and positive-definite"
)
def last_display(run: Run) -> Answer:
    """The matrix at a point of the curve, as printed and with its rows divided by x."""
    instance = examples.dolev_section_3()
    rows = with_dummies(instance)
    x = check.trajectory(instance, points=40, until=10).granted.iloc[-1].to_numpy()
    b = rows / (1 - x @ rows)
    matrix = np.diag(b.sum(axis=1)) + x[:, None] * (b @ b.T)
    lacking = abs(matrix - matrix.T).max() / abs(matrix).max()
    divided = matrix / x[:, None]
    right = np.allclose(divided, divided.T) and np.linalg.eigvalsh(divided).min() > 0
    ours = f"entries that face each other differ by {lacking:.2g} of the largest"
    why = "it is so once row i is divided by x_i, which is all that the proof needs" if right else ""
    return on_instance(instance, lacking > AUDIT, ours, why)


@statement("004", "Remark 1", "f is positive in the interior, and diverges towards the boundary", _wanting)
def remark_1(instance: Instance) -> Told:
    """Values of f on a ray to the boundary."""
    rows = with_dummies(instance)
    edge = 1 / rows.sum(axis=0).max()
    f = [-np.log1p(-edge * part * rows.sum(axis=0)).sum() for part in (1 / 10, 1 / 2, 1 - AUDIT, 1 - AUDIT**2)]
    return 0 < f[0] < f[1] < f[2] < f[3] and f[3] - f[2] > -np.log(AUDIT) / 2


@statement(
    "004",
    "Remark 4",
    "The curve begins at the origin",
    _wanting,
    few=5,
    many=100,
    why="x ≤ c, and c begins at one millionth",
)
def remark_4(instance: Instance) -> Told:
    """The first point of the integrated curve, which lies at a small c."""
    path = check.trajectory(instance, points=5, until=10).granted
    return path.iloc[0].max() <= path.index[0]


@statement(
    "004",
    "Remark 5",
    "Formula (8): Σ_j (x[i]·r[i,j] − usage[j]·e[i])/(1 − usage[j]) = 0 along the curve",
    _wanting,
    few=5,
    many=100,
)
def remark_5(instance: Instance) -> Told:
    """Both parts of the sum at points of the curve."""
    rows = with_dummies(instance)
    for x in check.trajectory(instance, points=20, until=100).granted.to_numpy():
        used = x @ rows
        parts = (x[:, None] * rows - np.outer(np.asarray(instance.entitlements), used)) / (1 - used)
        if abs(parts.sum(axis=1)).max() > PATH_LIMIT * abs(parts).sum():
            return False
    return True


uncheckable(
    "004",
    "Remarks 2 and 3",
    "Other choices of f would do; a level set is a hypersurface",
    "remarks without a consequence of their own; other weights of the terms stand under §5.5",
)
uncheckable(
    "004",
    "Definitions and Constructions 1 and 2",
    "Level sets, normals, the function f and the curve",
    "definitions; the entries of Lemmas 2 to 4 and of Remarks 1, 4 and 5 use them",
)


@entry("004", "§5.5, a family of solutions", "(z, 1 − z, 1 − z) is fair for 0.5 ≤ z ≤ 0.7, both resources bottlenecks")
def family(run: Run) -> Answer:
    """All fair allocations."""
    instance = examples.dolev_section_5()
    fair = check.solutions(instance)
    ranges = fair.ranges
    printed = {"least z": "1/2", "most z": "7/10", "least of user 2": "3/10", "most of user 2": "1/2", "dimension": 1}
    values = [*ranges.loc["user1", ["least", "most"]], *ranges.loc["user2", ["least", "most"]], fair.dimension]
    return beside(printed, values)


@entry(
    "004",
    "§5.5, weighting factors",
    "Other weighting factors in f could lead to other trajectories and other solutions",
)
def weighting(run: Run) -> Answer:
    """Ends of curves of differently weighted terms, by Newton's method on the barrier."""
    instance = examples.dolev_section_5()
    rng = run.rng
    weights = [rng.permutation(np.resize([1.0, 100.0, 1e4], 5)) for _ in range(run.of(4, 50))]
    ends = [_weighted_end(instance, one) for one in weights]
    apart = np.ptp(ends, axis=0).max()
    ours = f"{len(ends)} weightings all end at {shown(ends[0])}, within {apart:.1g}"
    verdict = Verdict.REFUTED if apart < 1 / 1000 else Verdict.HOLDS
    why = "other trajectories, but not other solutions: all end at the Eisenberg–Gale optimum (results.md)"
    return Answer(verdict, ours, why, count=len(ends), witness=in_words(instance))


def _weighted_end(instance: Instance, weights: np.ndarray) -> np.ndarray:
    """Return where the curve of f = −Σ w·log(slack) is at a large c: damped Newton steps, from one c to the next."""
    rows, e = with_dummies(instance), np.asarray(instance.entitlements)
    x = np.full(len(e), 1 / (2 * rows.sum(axis=0).max()))
    for c in np.geomspace(1, 2.0**40, 80):
        for _ in range(50):
            slack = 1 - x @ rows
            slope = e / x - rows @ (weights / slack) / c
            bend = np.diag(e / x**2) + (rows * weights / slack**2) @ rows.T / c
            step = np.linalg.solve(bend, slope)
            ratios = np.concatenate([-step / x, step @ rows / slack])
            x = x + step * min(1.0, 0.9 / max(ratios.max(), VERIFIED))
            if slope @ step < VERIFIED**2:
                break
    return x


@entry("004", "§5.5, circle of four, symmetric", "x = ⅓ each, all four resources bottlenecks")
def symmetric(run: Run) -> Answer:
    """The Eisenberg–Gale optimum."""
    instance = examples.dolev_circle()
    found = check.check(instance, allocate(instance, NJC))
    printed = named("x", ["1/3"] * 4) | {"bottlenecks": 4}
    return beside(printed, [*granted(instance), len(found.bottlenecks)])


@entry("004", "§5.5, circle of four", "There are 6 additional solutions: two users 0.25, two 0.375")
def circle(run: Run) -> Answer:
    """All fair allocations of the circle, and whether the six are among them."""
    instance = examples.dolev_circle()
    fair = check.solutions(instance)
    six = [[0.25 if n in pair else 0.375 for n in range(4)] for pair in combinations(range(4), 2)]
    among = sum(bool(check.check(instance, np.array(x))) for x in six)
    whole = [one for one in fair if one.within is None]
    ours = f"{among} of the six are fair, among {len(whole)} sets of dimension {max(one.dimension for one in whole)}"
    other = check.check(instance, np.array([0.3, 0.45, 0.25, 0.25]))
    why = "a continuum: (0.3, 0.45, 0.25, 0.25) is fair too" if other else ""
    return on_instance(instance, other or fair.dimension > 0, ours, why)


@entry(
    "004",
    "§5.5, selection",
    "Largest utilisation prefers the symmetric solution of the circle, all of whose resources are used up",
)
def selection(run: Run) -> Answer:
    """The best fair allocation by utilisation, and what one of the six uses."""
    instance = examples.dolev_circle()
    best = allocate(instance, NJC, criterion="utilization")
    six = np.array([0.25, 0.25, 0.375, 0.375])
    printed = {"largest utilisation": 1, "of the symmetric one": 1, "of one of the six": "15/16"}
    values = [check.best_value(instance, one) for one in (best, np.full(4, 1 / 3), six)]
    return beside(printed, values, "usage of one of the six as printed: 1, 1, 0.875, 0.875")


@entry("004", "§6, polynomial time", "Whether a polynomial method exists is an open question")
def polynomial(run: Run) -> Answer:
    """The Eisenberg–Gale optimum is fair, and a convex program."""

    def fair(instance: Instance) -> Told:
        certificate = allocate(instance, NJC).certificate
        return certificate and certificate.conditions < VERIFIED

    why = "answered: the optimum of a convex program is fair (Gutman and Nisan, 2012, by way of markets)"
    found = over(run, requests, fair, why=why)
    return replace(found, ours=f"{found.ours}: optimal and fair")
