"""Dolev et al., No Justified Complaints: its numbered equations, simplifications and remarks.

Each is restated in NumPy, or for SciPy, and tried on points and curves of fairlp.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fairlp import Instance, allocate, complaints as check, examples

from .dolev import (
    NJC,
    PAPER,
    _figure_3,
    _wanting,
    content_as_printed,
    granted,
    requests,
)
from .dolev_points import corners, curve, fair_sets, with_dummies
from .registry import CheckAnswer, Run
from .verdicts import (
    AGREEMENT,
    AUDIT,
    NOISE,
    VERIFIED,
    ItemAnswer,
    beside,
    in_words,
    on_instance,
    shown,
)


def _with_point(rng: np.random.Generator) -> tuple[Instance, np.ndarray]:
    """Return requests, and a fair point, one beside it, or any on the boundary."""
    instance = requests(rng)
    fair = granted(instance)
    point = fair
    if rng.random() < 0.7:
        point = rng.random(len(fair))
        point = np.minimum(1, point / (point @ instance.demands).max())
    return instance, point


@PAPER.statement(
    "Equations (1), (2) and (3)",
    "No user may complain: all it asked for, or its entitlement of a bottleneck; dummy resources make one rule of both",
    _with_point,
    few=60,
    of=("njc",),
)
def equations_1_to_3(drawn: tuple[Instance, np.ndarray]) -> CheckAnswer:
    """Conditions (1) and (2), and (3) with dummies, in plain NumPy beside our check."""
    instance, point = drawn
    entitled = np.asarray(instance.entitlements)
    content = content_as_printed(instance, point)
    feasible = (point @ instance.demands <= 1 + AUDIT).all()
    # The same with dummies.
    all_rows = with_dummies(instance)
    tight = point @ all_rows >= 1 - AUDIT
    has_part = point[:, None] * all_rows >= entitled[:, None] - AUDIT
    by_dummies = (has_part & tight).any(axis=1)
    verdict = check.check(instance, point * instance.task_limits, AUDIT)
    is_fair = bool(feasible and content.all())
    is_right = (content == by_dummies).all() and bool(verdict) == is_fair
    return is_right or f"x = {shown(point)}; {in_words(instance)}"


def _gradient(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ∂f/∂x[i] = Σ_j r[i,j]/(1 − usage[j])."""
    return np.asarray((rows / (1 - x @ rows)).sum(axis=1))


def _on_the_curve(instance: Instance, points: int = 20) -> np.ndarray:
    """Return points of the curve."""
    return curve(instance, 100, points).x


@PAPER.statement(
    "Equation (4)",
    "ν[i]·x[i] ≥ e[i] for each i, with equality, for the tangent Σ ν[i]·x[i] = 1 at a point of the curve",
    _wanting,
    few=5,
    many=100,
)
def equation_4(instance: Instance) -> CheckAnswer:
    """The gradient at points of the curve, scaled so that the point lies on its tangent."""
    rows = with_dummies(instance)
    for x in _on_the_curve(instance):
        slope = _gradient(rows, x)
        normal = slope / (slope @ x)
        if abs(normal * x - instance.entitlements).max() > NOISE:
            return f"x = {shown(x)}; {in_words(instance)}"
    return True


def _inside(rng: np.random.Generator) -> tuple[Instance, np.ndarray]:
    """Return requests and a point inside the region."""
    instance = requests(rng)
    point = rng.uniform(0.1, 1, len(instance.users))
    return instance, point * 0.9 / (point @ with_dummies(instance)).max()


@PAPER.statement(
    "Equations (5) and (6), and Definition 2",
    "f = −Σ log(1 − usage); the unit normal of its level set is in proportion to Σ_j r[i,j]/(1 − usage[j])",
    _inside,
)
def equations_5_and_6(drawn: tuple[Instance, np.ndarray]) -> CheckAnswer:
    """Differences of f beside the formula."""
    instance, point = drawn
    rows = with_dummies(instance)
    step = NOISE * point.min()

    def f(x: np.ndarray) -> float:
        return float(-np.log1p(-(x @ rows)).sum())

    unit = np.eye(len(point)) * step
    differences = [f(point + move) - f(point - move) for move in unit]
    slopes = np.array(differences) / (2 * step)
    normal = _gradient(rows, point)
    measured = slopes / np.linalg.norm(slopes)
    right = normal / np.linalg.norm(normal)
    return abs(measured - right).max() < 10 * NOISE


@PAPER.statement(
    "Equations (7) and (12), and Construction 2",
    "x[i]·∂f/∂x[i] = c·e[i] along the curve, and summed over users c = Σ_j usage[j]/(1 − usage[j])",
    _wanting,
    few=5,
    many=100,
)
def equations_7_and_12(instance: Instance) -> CheckAnswer:
    """Both at points of the curve, and c beside the c of our table."""
    rows = with_dummies(instance)
    path = curve(instance, 100)
    for c, x in zip(path.c, path.x, strict=True):
        used = x @ rows
        total = (used / (1 - used)).sum()
        sides = x * _gradient(rows, x)
        close = abs(sides - total * instance.entitlements).max() <= 10 * NOISE * total
        if not close or abs(total - c) > 10 * NOISE * c:
            return f"c = {c}; {in_words(instance)}"
    return True


@PAPER.statement(
    "Equation (8)",
    "It is (7) with (6) put in: its left side is x[i]·∂f/∂x[i] − e[i]·Σ_k x[k]·∂f/∂x[k]",
    _inside,
    why="at any point; it vanishes along the curve: Remark 5",
)
def equation_8(drawn: tuple[Instance, np.ndarray]) -> CheckAnswer:
    """Both sides at random points inside."""
    instance, x = drawn
    rows = with_dummies(instance)
    used = x @ rows
    entitled = np.asarray(instance.entitlements)
    entitled_usage = np.outer(entitled, used)
    left = ((x[:, None] * rows - entitled_usage) / (1 - used)).sum(axis=1)
    parts = x * _gradient(rows, x)
    return np.allclose(left, parts - entitled * parts.sum(), rtol=AGREEMENT, atol=AUDIT)


@PAPER.item(
    "Equations (9) and (10)",
    "(8) split: the sum over what is no bottleneck tends to its value at the limit, the other to its negative",
)
def equations_9_and_10(run: Run) -> ItemAnswer:
    """Both sums of §3's example at growing c, beside the right side of (10)."""
    instance = examples.dolev_section_3()
    rows = with_dummies(instance)
    entitled = np.asarray(instance.entitlements)
    limit = granted(instance)
    scarce = limit @ rows >= 1 - VERIFIED

    def terms(x: np.ndarray) -> np.ndarray:
        used = x @ rows
        with np.errstate(divide="ignore", invalid="ignore"):
            entitled_usage = np.outer(entitled, used)
            return np.asarray((x[:, None] * rows - entitled_usage) / (1 - used))

    right = terms(limit)[:, ~scarce].sum(axis=1)
    apart = []
    for c in (1e2, 1e4, 1e6):
        parts = terms(curve(instance, c).x[-1])
        slack = parts[:, ~scarce].sum(axis=1)
        tight = parts[:, scarce].sum(axis=1)
        distances = abs(slack - right).max(), abs(tight + right).max()
        apart.append(max(distances) / abs(right).max())
    ours = f"at c = 100, 10⁴ and 10⁶ they are {shown(apart)} of the largest limit away from their limits"
    return on_instance(instance, not apart[0] > apart[1] > apart[2], ours)


@PAPER.item("Equation (11)", "Σ_j log(1 − Σ_k x_k·r_kj) = t on the level set of t, by f(x(t)) = t")
def equation_11(run: Run) -> ItemAnswer:
    """Both sides at a point of the curve."""
    instance = examples.dolev_section_3()
    path = curve(instance, 10)
    x = path.x[-1]
    level = path.level[-1]
    total = np.log1p(-(x @ with_dummies(instance))).sum()
    ours = f"where f = {level:.6g} the sum is {total:.6g}"
    breaks = total < 0 < level and abs(total + level) <= NOISE * level
    return on_instance(instance, breaks, ours, "the minus of (5) is lacking")


@PAPER.statement(
    "Equation (13)",
    "Σ_j x′[i]·r[i,j]/s[j] + Σ_j x[i]·r[i,j]·Σ_k x′[k]·r[k,j]/s[j]² = c′·e[i], s[j] = 1 − usage[j]",
    _wanting,
    few=5,
    many=100,
    why="with c′ = 1; the display after it (§5.4, last display) has its sums to m and N the wrong way round",
)
def equation_13(instance: Instance) -> CheckAnswer:
    """Speeds from the linear system (13) beside differences along the curve."""
    rows = with_dummies(instance)
    c, points, _ = curve(instance, 10, points=400)
    k = len(c) // 2
    b = rows / (1 - points[k] @ rows)
    matrix = np.diag(b.sum(axis=1)) + points[k][:, None] * (b @ b.T)  # (13)
    speed = np.linalg.solve(matrix, np.asarray(instance.entitlements))
    ahead = c[k + 1] - c[k]
    behind = c[k] - c[k - 1]
    forward = (points[k + 1] - points[k]) / ahead
    backward = (points[k] - points[k - 1]) / behind
    measured = (forward * behind + backward * ahead) / (ahead + behind)
    return abs(measured - speed).max() <= abs(speed).max() / 100


PAPER.uncheckable(
    "Definition 1 and Construction 1",
    "The level set of t is where f = t; f is the sum of (5)",
    "definitions; the entries of Equation (5), of Lemmas 2 to 4 and of Remark 1 use them",
)


@PAPER.statement(
    "§3, modest requests",
    "Who asks for less than its entitlement of each resource should have all that it asks for",
    requests,
)
def modest(instance: Instance) -> CheckAnswer:
    """The granted fractions of such users."""
    is_modest = (instance.demands < np.asarray(instance.entitlements)[:, None]).all(axis=1)
    if not is_modest.any():
        return None
    return (granted(instance)[is_modest] >= 1 - AUDIT).all()


def _slack(rng: np.random.Generator) -> Instance:
    """Return requests that fit together."""
    instance = requests(rng)
    largest_demand = instance.demands.sum(axis=0).max()
    return examples.requests(instance.demands / max(1, largest_demand), instance.entitlements)


@PAPER.statement(
    "§3, no bottleneck", "Where all requests fit, all are granted", _slack, of=("njc",)
)
def no_bottleneck(instance: Instance) -> CheckAnswer:
    """The granted fractions."""
    return (granted(instance) >= 1 - AUDIT).all()


def _scaled(rng: np.random.Generator) -> tuple[Instance, float]:
    """Return requests, and what the first user multiplies its own by."""
    instance = requests(rng)
    largest = instance.demands[0].max()
    return instance, float(rng.uniform(0.2, 1 / largest))


@PAPER.statement(
    "§4, lies in proportion",
    "Asking for less only caps what a user has; asking for more in the same profile does not benefit it",
    _scaled,
    why="of the Eisenberg–Gale optimum; other profiles may pay: §4, strategy-proofness",
    of=("njc",),
)
def in_proportion(drawn: tuple[Instance, float]) -> CheckAnswer:
    """What part of its true request the first user has, with the request multiplied."""
    instance, factor = drawn
    honest = granted(instance)[0]
    demands = instance.demands.copy()
    demands[0] *= factor
    claimed = granted(examples.requests(demands, instance.entitlements))[0]
    return min(1.0, claimed * factor) <= honest + NOISE


@PAPER.item(
    "§5.1, second simplification",
    "Entitlements 0.5, 0.2, 0.3 without user 1 become 0.4 and 0.6, and requests of a resource of which it has 0.4 are "
    "multiplied by 5/3",
)
def second_example(run: Run) -> ItemAnswer:
    """The example's numbers."""
    entitled = np.array([0.5, 0.2, 0.3])
    rest = entitled[1:] / (1 - entitled[0])
    return beside({"user 2": "0.4", "user 3": "0.6", "factor": "5/3"}, [*rest, 1 / (1 - 0.4)])


@PAPER.statement(
    "§5.1, second simplification in general",
    "Who never asks for its entitlement has all; a fair allocation of the rest, renormalised, is fair",
    requests,
    why="requests of the rest may then be above 1, against Theorem 1's condition; its proof does not need it",
)
def second_simplification(instance: Instance) -> CheckAnswer:
    """The rest in capacities that are left, by ours, and the whole by the definition."""
    entitled = np.asarray(instance.entitlements)
    modest_users = np.flatnonzero((instance.demands < entitled[:, None]).all(axis=1))
    if not len(modest_users) or len(entitled) == 1:
        return None
    first = modest_users[0]
    others = np.arange(len(entitled)) != first
    renormalised = instance.demands[others] / (1 - instance.demands[first])
    rest = Instance.from_arrays(
        renormalised,
        np.ones((1, renormalised.shape[1])),
        task_limits=np.ones(others.sum()),
        entitlements=entitled[others] / (1 - entitled[first]),
    )
    x = np.ones(len(entitled))
    x[others] = allocate(rest, NJC).totals.to_numpy()
    return check.check(instance, x * instance.task_limits, AUDIT)


def dominated(rows: np.ndarray) -> list[int]:
    """Return columns whose inequality x·r ≤ 1 follows from the others and 0 ≤ x ≤ 1, by SciPy.

    They are removed one by one, from the first on.
    """
    from scipy.optimize import linprog

    remaining = list(range(rows.shape[1]))
    removed = []
    for column in range(rows.shape[1]):
        others = [index for index in remaining if index != column]
        limits = {"A_ub": rows[:, others].T, "b_ub": np.ones(len(others))} if others else {}
        largest_use = -linprog(-rows[:, column], bounds=(0, 1), **limits).fun
        if largest_use <= 1 + AUDIT:
            remaining = others
            removed.append(column)
    return removed


@PAPER.statement(
    "§5.1, third simplification",
    "Dominated inequalities can be removed: a fair allocation without them is fair",
    requests,
    why="dominated ones are found by linear programs, as the paper says",
)
def third_simplification(instance: Instance) -> CheckAnswer:
    """The Eisenberg–Gale optimum without them, by the definition with them."""
    removed = dominated(instance.demands)
    rest = np.delete(instance.demands, removed, axis=1)
    if not removed or not rest.size or not rest.any(axis=1).all():
        return None
    x = granted(examples.requests(rest, instance.entitlements))
    return check.check(instance, x * instance.task_limits, AUDIT)


@PAPER.item(
    "§5.2, a simplex",
    "In the general case the region of legal allocations is a simplex of N + 1 corners",
)
def simplex(run: Run) -> ItemAnswer:
    """The corners of Fig. 3's region: pairs of tight rows that all others allow."""
    instance = _figure_3()
    rows = np.vstack([with_dummies(instance).T, -np.eye(2)])
    right = np.append(np.ones(len(rows) - 2), np.zeros(2))
    count = len(corners(rows, right))
    ours = f"that of Fig. 3 has {count} corners, and N + 1 = 3"
    return on_instance(instance, count > 3, ours, "a polytope, as §5.2 says further down")


@PAPER.item(
    "§5.5, which bottlenecks",
    "Users k and l of 0.375: their resources are the bottlenecks if they are neighbours, those of i and j if opposite",
)
def which_bottlenecks(run: Run) -> ItemAnswer:
    """The bottlenecks of the six allocations."""
    instance = examples.dolev_circle()
    printed = {}
    ours = []
    for pair in combinations(range(4), 2):
        x = np.where(np.isin(np.arange(4), pair), 0.375, 0.25)
        full = set(np.flatnonzero(x @ instance.demands >= 1 - AUDIT).tolist())
        opposite = pair[1] - pair[0] == 2
        expected = set(range(4)) - set(pair) if opposite else set(pair)
        printed[f"users {pair[0] + 1} and {pair[1] + 1}"] = "yes"
        ours.append(full == expected)
    return beside(printed, ours)


@PAPER.item("§5.5, all solutions", "How to characterise all solutions is an open question")
def all_solutions(run: Run) -> ItemAnswer:
    """Random points beside the listed sets: those of a set are fair, and fair ones in a set."""
    instance = examples.dolev_section_5()
    segment = fair_sets(instance)[0]
    smallest = segment.corners.min(axis=0)
    largest = segment.corners.max(axis=0)
    rng = run.rng
    broken = 0
    count = run.of(300, 5000)
    for position in range(count):
        z = rng.uniform(0, 1)
        is_on_line = position % 2
        x = np.array([z, 1 - z, 1 - z]) if is_on_line else rng.random(3)
        x = np.minimum(1, x / (x @ instance.demands).max())
        distances = abs(x[1:3] - (1 - x[0]))
        on_the_line = (distances <= AUDIT).all()
        listed = on_the_line and (x >= smallest - AUDIT).all() and (x <= largest + AUDIT).all()
        broken += bool(check.check(instance, x, AUDIT)) != bool(listed)
    ours = f"{count - broken} of {count} points are fair just where the set of dimension {segment.dimension} has them"
    why = "answered: a union of polytopes, one for each set of bottlenecks (no-justified-complaints.md)"
    return on_instance(instance, broken > 0, ours, why)


PAPER.uncheckable(
    "§6, outlook",
    "Usage that is not linearly related, games of users who adapt, utilities of resources",
    "directions, no statements",
)
