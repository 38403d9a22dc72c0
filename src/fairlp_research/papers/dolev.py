"""Dolev et al., No Justified Complaints: its examples and figures, and what §§3 and 4 claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from fairlp import Instance, allocate, audit, complaints as check, examples, formulate

from ..simulation.experiments import mean_tasks
from .dolev_points import curve, fair_sets, with_dummies
from .registry import CheckAnswer, Paper, Run, over
from .verdicts import (
    AGREEMENT,
    AUDIT,
    NOISE,
    VERIFIED,
    Agreement,
    Chart,
    ItemAnswer,
    Line,
    beside,
    in_words,
    line,
    named,
    on_instance,
    picture,
    shown,
)

PAPER = Paper(
    "004",
    "D. Dolev, D. Feitelson, J. Halpern, R. Kupferman and N. Linial, No Justified Complaints, ITCS "
    "2012",
    ("dolev-2012", "dolev", "njc", "no-justified-complaints"),
)

#: The mechanism of the paper.
NJC = "njc"


def requests(rng: np.random.Generator) -> Instance:
    """Return random requests of two to five users and entitlements."""
    n = rng.integers(2, 6)
    m = rng.integers(1, 5)
    table = rng.integers(0, 11, (n, m)) / 10
    table[~table.any(axis=1), 0] = 1
    entitled = rng.integers(1, 5, n).astype(float)
    return examples.requests(table, entitled / entitled.sum())


def granted(instance: Instance) -> np.ndarray:
    """Return what fraction of its request each user is granted by the Eisenberg–Gale optimum."""
    return np.asarray(allocate(instance, NJC).totals.to_numpy() / instance.task_limits)


@PAPER.item(
    "Figure 1",
    "A request profile cut back to 50 % of resource 4 shrinks on all resources alike",
    "njc",
)
def figure_1(run: Run) -> ItemAnswer:
    """What a user uses of each resource when there is half as much of the fourth as it asks for."""
    requested = np.array([0.3, 0.5, 0.2, 1.0])
    tasks = 10
    instance = Instance.from_arrays([requested / tasks], [[1, 1, 1, 0.5]], task_limits=[tasks])
    used = allocate(instance, NJC).usage.to_numpy()[0]
    checks = {
        "the fourth shrinks to a half": np.isclose(used[3], requested[3] / 2),
        "the others shrink by the same factor": np.allclose(used[:3], requested[:3] / 2),
    }
    return picture(checks)


@PAPER.item(
    "§3, greedy",
    "(1, ⅔, 0): user 2 has a justified complaint; (¾, 1, 0): neither user 1 nor user 2 has",
)
def greedy(run: Run) -> ItemAnswer:
    """Who of the first two may complain."""
    instance = examples.dolev_section_3()
    first = check.check(instance, np.array([1, 2 / 3, 0])).table["complains"]
    second = check.check(instance, np.array([3 / 4, 1, 0])).table["complains"]
    printed = {
        "(1, ⅔, 0): user 1 complains": "no",
        "(1, ⅔, 0): user 2 complains": "yes",
        "(¾, 1, 0): user 1 complains": "no",
        "(¾, 1, 0): user 2 complains": "no",
    }
    return beside(printed, [*first[:2], *second[:2]])


@PAPER.item("§3, existence in the example", "Three users can be satisfied at once")
def three(run: Run) -> ItemAnswer:
    """The Eisenberg–Gale optimum of the example."""
    instance = examples.dolev_section_3()
    x = granted(instance)
    fair = check.check(instance, x * instance.task_limits)
    return beside({"no justified complaint": "yes"}, [fair], f"x = {shown(x)}")


def content_as_printed(instance: Instance, x: np.ndarray) -> np.ndarray:
    """Return who may not complain by formula (2): all is granted, or e[i] of a used-up resource."""
    entitled = np.asarray(instance.entitlements)
    full = x @ instance.demands >= 1 - AUDIT
    has_part = x[:, None] * instance.demands >= entitled[:, None] - AUDIT
    return np.asarray((x >= 1 - AUDIT) | (has_part & full).any(axis=1))


#: What is said of users who are entitled to nothing.
OUR_READING = (
    "a used-up resource counts here only for its users (no-justified-complaints.md), as the words "
    "of the condition have it"
)


def _entitled_to_nothing() -> Instance:
    """Return two users of a resource each, the second of whom is entitled to nothing."""
    return examples.requests([[1, 0], [0, 1]], [1, 0])


@PAPER.item(
    "§3, Pareto optimality", "Allocations that satisfy formulas (1) and (2) are Pareto-optimal"
)
def pareto_as_printed(run: Run) -> ItemAnswer:
    """A user who is entitled to nothing and has nothing, of a resource that nobody else needs."""
    instance = _entitled_to_nothing()
    x = np.array([1.0, 0.0])
    fits = (x @ instance.demands <= 1).all()
    verdict = audit(instance, tasks_of_fractions(instance, x), "Pareto-optimal").iloc[0]
    satisfies = fits and content_as_printed(instance, x).all()
    ours = f"x = {shown(x)} satisfies both: 0 of the first resource, used up, is all that user 2 is entitled to"
    return on_instance(instance, satisfies and verdict["holds"] is False, ours, OUR_READING)


@PAPER.item("§3, unfair and Pareto-optimal", "Not every Pareto-optimal solution is fair")
def unfair_and_pareto_optimal(run: Run) -> ItemAnswer:
    """One resource, all of which the first of two users has."""
    instance = examples.requests([[1], [1]], [1 / 2, 1 / 2])
    x = np.array([1.0, 0.0])
    verdict = audit(instance, tasks_of_fractions(instance, x), "Pareto-optimal").iloc[0]
    return beside(
        {"(1, 0) is Pareto-optimal": "yes", "(1, 0) is fair": "no"},
        [verdict["holds"], check.check(instance, x)],
    )


@PAPER.statement(
    "§3, Pareto optimality, all entitled",
    "Where all are entitled to something, allocations without justified complaints are Pareto-optimal",
    requests,
    few=15,
    many=200,
)
def pareto(instance: Instance) -> CheckAnswer:
    """Fair allocations at the ends of every user's range, audited."""
    for fair_set in fair_sets(instance):
        tasks = tasks_of_fractions(instance, fair_set.corners[0])
        if not audit(instance, tasks, "Pareto-optimal").holds.iloc[0]:
            return False
    return True


@PAPER.statement(
    "§4, sharing incentive",
    "Every user is at least as well off as with its entitlement of each resource",
    requests,
)
def sharing(instance: Instance) -> CheckAnswer:
    """Granted fractions beside what the entitlement of every resource would do."""
    alone = np.minimum(1, instance.entitlements / instance.demands.max(axis=1))
    return not (granted(instance) < alone - AUDIT).any()


PAPER.shipped(
    "§4, strategy-proofness",
    "Users do not benefit from lying about their resource needs",
    NJC,
    "strategy-proof",
    "neither strategy-proofness nor envy-freeness follows from the condition",
    tries=100,
)


@PAPER.item("§4, envy-freeness", "No user prefers another user's allocation")
def envy(run: Run) -> ItemAnswer:
    """A fair allocation of one resource with envy."""
    instance = _one_resource()
    verdicts = audit(
        instance,
        tasks_of_fractions(instance, np.array([1 / 3, 17 / 30, 1])),
        ["no justified complaints", "envy-free"],
    )
    envious = (
        verdicts.holds["no justified complaints"] is True and verdicts.holds["envy-free"] is False
    )
    why = "the Eisenberg–Gale optimum is envy-free; not every fair allocation is"
    return on_instance(
        instance, envious, f"x = 1/3, 17/30, 1 is fair: {verdicts.witness['envy-free']}", why
    )


@PAPER.statement(
    "§4, envy-freeness of the trajectory's end",
    "No user prefers another user's allocation",
    requests,
)
def no_envy(instance: Instance) -> CheckAnswer:
    """Where the paper's own method ends, per unit of entitlement."""
    x = granted(instance)
    e = np.asarray(instance.entitlements)
    bundle = x[:, None] * instance.demands
    for n in range(len(x)):
        need = instance.demands[n] > 0
        bundles_per_request = bundle[:, need] / instance.demands[n, need]
        requests_covered = bundles_per_request.min(axis=1) * e[n] / e
        if (np.minimum(requests_covered, 1) > x[n] + AUDIT).any():
            return False
    return True


@PAPER.item(
    "§4, three ways to count",
    "20 %, 7 % and 37 % of three resources count as 64/300, 37/100, or 20/100 if the first is the "
    "bottleneck",
)
def counting(run: Run) -> ItemAnswer:
    """Asset fairness, dominant resource fairness and the only bottleneck."""
    used = np.array([0.20, 0.07, 0.37])
    instance = Instance.from_arrays([used], [np.ones(3)], task_limits=[1])
    asset = 1 / allocate(instance, "asset").gamma[0] / 3
    dominant = 1 / allocate(instance, "drf").gamma[0]
    verdict = check.check(examples.requests([used, [0.8, 0, 0]], [0.2, 0.8]), np.ones(2))
    printed = {"assets": "64/300", "dominant": "37/100", "of the bottleneck": "20/100"}
    return beside(printed, [asset, dominant, verdict.table["fraction"].iloc[0]])


@PAPER.item(
    "Figure 2",
    "Entitled alike: (1/3, 2/30) twice and (1/3, 2/3); DRF (0.4, 0.08) twice and (0.2, 0.4)",
)
def figure_2(run: Run) -> ItemAnswer:
    """Both rules."""
    instance = examples.dolev_figure_2()
    fair = granted(instance)[:, None] * instance.demands
    drf = check.against_drf(instance).users["drf"].to_numpy()[:, None] * instance.demands
    printed = named("fair", ["1/3", "2/30", "1/3", "2/30", "1/3", "2/3"])
    printed |= named("DRF", ["0.4", "0.08", "0.4", "0.08", "0.2", "0.4"])
    return beside(printed, [*fair.flat, *drf.flat])


@PAPER.statement(
    "§4, bottlenecks under DRF",
    "Under DRF each user is constrained by a bottleneck (Ghodsi et al.)",
    requests,
)
def drf_bottleneck(instance: Instance) -> CheckAnswer:
    """Whether every user who has not all it asked for needs something that is used up."""
    x = check.against_drf(instance).users["drf"].to_numpy()
    full = x @ instance.demands >= 1 - AGREEMENT
    has_bottleneck = ((instance.demands > 0) & full).any(axis=1)
    return (has_bottleneck | (x >= 1 - AGREEMENT)).all()


@PAPER.item(
    "§4, one dominant resource",
    "If all users have the same dominant resource, DRF and this definition are equivalent",
)
def one_dominant(run: Run) -> ItemAnswer:
    """One resource: a fair allocation that is not DRF's."""
    instance = _one_resource()
    other = np.array([1 / 3, 17 / 30, 1])
    drf = check.against_drf(instance).users["drf"].to_numpy()
    breaks_it = check.check(instance, other) and not np.allclose(other, drf)
    why = "it is so where no user asks for less than its entitlement (results.md)"
    return on_instance(instance, breaks_it, f"DRF {shown(drf)}; {shown(other)} is fair too", why)


@PAPER.item(
    "§4, utilisation", "(½, 0, 0, 1) and (1, 1, 1, 0): fair 1 and ½, DRF ⅔ each, which uses more"
)
def utilisation(run: Run) -> ItemAnswer:
    """Both rules, and what is used of the middle resources."""
    comparison = check.against_drf(examples.dolev_section_4())
    printed = named("fair, user", ["1", "1/2"]) | named("DRF, user", ["2/3", "2/3"])
    printed |= {"middle, fair": "1/2", "middle, DRF": "2/3"}
    middle = comparison.resources.loc["resource2"]
    return beside(
        printed, [*comparison.users["njc"], *comparison.users["drf"], middle["njc"], middle["drf"]]
    )


@PAPER.item(
    "§4, higher utilisation",
    "In the example of Figure 2 this definition leads to higher overall utilisation than DRF",
)
def higher_utilisation(run: Run) -> ItemAnswer:
    """The mean of what is used of both resources, under both rules."""
    used = check.against_drf(examples.dolev_figure_2()).resources[["njc", "drf"]].mean()
    ours = f"{used['njc']:.6g} under this definition, {used['drf']:.6g} under DRF, of both resources together"
    verdict = Agreement.HOLDS if used["njc"] > used["drf"] else Agreement.DIFFERS
    return ItemAnswer(verdict, ours, "not always: §4, utilisation", count=1)


@PAPER.item(
    "Figure 3", "r = (¼, ⅔, 1), (1, ⅔, 0): the point (⅔, 11/12) would need 13/12 of resource 1"
)
def figure_3(run: Run) -> ItemAnswer:
    """What the point uses."""
    instance = _figure_3()
    point = np.array([2 / 3, 11 / 12])
    used = point @ instance.demands
    feasible = audit(instance, tasks_of_fractions(instance, point), "feasible").holds.iloc[0]
    return beside({"of resource 1": "13/12", "feasible": "no"}, [used[0], feasible])


@PAPER.item("Figure 4", "Smooth curves inside the region that come ever closer to its boundary")
def figure_4(run: Run) -> ItemAnswer:
    """Points of level f = t in all directions, for growing t."""
    levels = (2, 4, 8, 16)
    boundary, reach = _level_sets(levels)
    checks = {
        "all inside": all((fractions_reached < 1).all() for fractions_reached in reach),
        "growing with t": all((a <= b).all() for a, b in pairwise(reach)),
        "close to the boundary at t = 16": reach[-1].min() > 0.99,
    }
    chart = Chart(
        "Dolev et al., Fig. 4: the boundary of D, rounded",
        *_AXES,
        (
            line("boundary of D", *boundary),
            *_curves(levels, boundary, reach),
            line("paper: (⅔, 11/12) is outside", [2 / 3], [11 / 12], printed=True),
        ),
    )
    return picture(checks, chart=chart)


@PAPER.item(
    "Figure 5",
    "Both ask for ⅔: entitlements 0.4 and 0.6 give (0.6, 0.9); where e2/e1 > 2 user 2 has all it "
    "asks for",
)
def figure_5(run: Run) -> ItemAnswer:
    """Points for several entitlements."""
    x = {
        e: granted(examples.requests([[2 / 3], [2 / 3]], [e, 1 - e]))
        for e in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    }
    x1, x2 = zip(*x.values(), strict=True)
    printed = named("0.4 and 0.6: user", ["0.6", "0.9"]) | {
        "0.3 and 0.7: user 2": 1,
        "0.7 and 0.3: user 1": 1,
    }
    lines = (
        line("the resource is used up", (0.5, 1), (1, 0.5)),
        line("ours, e1 = 0.2 … 0.8", x1, x2),
        line("paper, e = (0.4, 0.6)", [0.6], [0.9], printed=True),
    )
    chart = Chart("Dolev et al., Fig. 5: both ask for ⅔", *_AXES, lines)
    return beside(printed, [*x[0.4], x[0.3][1], x[0.7][0]], chart=chart)


@PAPER.item("Figure 6", "Level sets of f from 0 to ∞")
def figure_6(run: Run) -> ItemAnswer:
    """F along the paper's curve."""
    path = curve(_figure_3(), points=60)
    levels = (0.5, 1, 2, 4)
    boundary, reach = _level_sets(levels)
    chart = Chart(
        "Dolev et al., Fig. 6: level sets f = t",
        *_AXES,
        (
            line("t → ∞: the boundary of D", *boundary),
            *_curves(levels, boundary, reach),
            line("the paper's curve x(t), ours", *path.x.T),
            line("paper: x(0) = 0 (Remark 4)", [0], [0], printed=True),
        ),
    )
    return picture(
        {
            "f grows along the curve": (np.diff(path.level) > 0).all(),
            "the curve stays inside": (path.slack >= 0).all(),
        },
        chart=chart,
    )


PAPER.uncheckable(
    "§1 and §2, motivation",
    "Scheduling of bottleneck devices in operating systems and virtual machines",
    "prior work and motivation, no statement about allocations",
)


def _one_resource() -> Instance:
    """Return one resource that two ask for wholly and one for a tenth of, entitled alike."""
    return examples.requests([[1], [1], [0.1]], [1 / 3] * 3)


def _figure_3() -> Instance:
    """Return the two users and three resources of Figs. 3, 4 and 6, entitled alike."""
    return examples.requests([[1 / 4, 2 / 3, 1], [1, 2 / 3, 0]], [0.5, 0.5])


#: The axes of Figs. 4 to 6.
_AXES = ("x1 [fraction of the request]", "x2 [fraction of the request]")


def _level_sets(levels: Sequence[float]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return points of the boundary of Fig. 3; for each level, how near to them f = t is."""
    rows = with_dummies(_figure_3())
    corners = np.arctan([1 / 2, 5 / 4])
    angles = np.sort([*np.linspace(0, np.pi / 2, 90), *corners])
    directions = np.array([np.cos(angles), np.sin(angles)])
    boundary = directions / (directions.T @ rows).max(axis=1)
    fractions = np.linspace(0, 1, 4001)[1:-1]
    reach = []
    for level in levels:
        inside = []
        for point in boundary.T:
            f = -np.log(1 - np.outer(fractions, point @ rows)).sum(axis=1)
            position = int(np.searchsorted(f, level))
            last = len(fractions) - 1
            inside.append(fractions[min(position, last)])
        reach.append(np.array(inside))
    return boundary, reach


def _curves(
    levels: Sequence[float], boundary: np.ndarray, reach: Sequence[np.ndarray]
) -> list[Line]:
    """Return the curves f = t inside Fig. 3."""
    return [
        line(f"t = {level:g}", *(boundary * fractions))
        for level, fractions in zip(levels, reach, strict=True)
    ]


def tasks_of_fractions(instance: Instance, fractions: np.ndarray) -> np.ndarray:
    """Return granted fractions as tasks on the one server."""
    return np.asarray((fractions * instance.task_limits)[:, None])


# Dolev et al., §5: that a fair allocation exists, the curve that leads to one, and whether it is
# the only one.


def _wanting(rng: np.random.Generator) -> Instance:
    """Return random requests of which every resource is asked for more than there is (§5.1)."""
    while True:
        instance = requests(rng)
        if (instance.demands.sum(axis=0) >= 1).all():
            return instance


def _wanting_some_unentitled(rng: np.random.Generator) -> Instance:
    """Return such requests; of half of them one user at least is entitled to nothing."""
    instance = _wanting(rng)
    entitled = np.asarray(instance.entitlements).copy()
    entitled[1:] *= rng.random(len(entitled) - 1) < rng.choice([0.5, 1.0])
    return examples.requests(instance.demands, entitled / entitled.sum())


@PAPER.statement(
    "Theorem 1",
    "For all requests and entitlements of 0 or more a fair allocation exists",
    _wanting_some_unentitled,
    few=100,
    many=3000,
)
def theorem_1(instance: Instance) -> CheckAnswer:
    """One is computed, and checked by our definition and by formulas (1) and (2) as printed."""
    allocation = allocate(instance, NJC)
    x = allocation.totals.to_numpy() / instance.task_limits
    fits = (x @ instance.demands <= 1 + AUDIT).all()
    satisfies = fits and content_as_printed(instance, x).all()
    return satisfies and check.check(instance, allocation).holds


@PAPER.statement(
    "§5.1, simplifications", "Resources that no user can use up may be left out", requests
)
def simplifications(instance: Instance) -> CheckAnswer:
    """A fair allocation without them is fair with them."""
    scarce = instance.demands.sum(axis=0) >= 1
    needs_scarce = instance.demands[:, scarce].max(axis=1, initial=0) > 0
    if scarce.all() or not needs_scarce.all():
        return None
    reduced = examples.requests(instance.demands[:, scarce], instance.entitlements)
    return check.check(instance, granted(reduced))


@PAPER.statement(
    "§5.2, known bottlenecks",
    "If the bottlenecks were known, a linear program would find the allocation",
    _wanting,
)
def known(instance: Instance) -> CheckAnswer:
    """The linear program of the bottlenecks of a fair allocation."""
    verdict = check.check(instance, allocate(instance, NJC))
    if not verdict.bottlenecks:
        return None
    solution = formulate(instance, NJC, bottlenecks=set(verdict.bottlenecks)).solve()
    return check.check(instance, np.asarray(solution.values["x"]) * instance.task_limits, AUDIT)


def _pairs_of_users(rng: np.random.Generator) -> Instance:
    e = rng.uniform(0.1, 0.9)
    resources = rng.integers(1, 5)
    demands = rng.integers(1, 11, (2, resources)) / 10
    return examples.requests(demands, [e, 1 - e])


@PAPER.item("§5.3, uniqueness", "For two users the solution of (1) and (2) is unique")
def uniqueness_as_printed(run: Run) -> ItemAnswer:
    """What a user who is entitled to nothing has, of a resource that nobody else needs."""
    instance = _entitled_to_nothing()
    points = np.array([[1, 0], [1, 0.3]])
    satisfy = [
        (x @ instance.demands <= 1).all() and content_as_printed(instance, x).all() for x in points
    ]
    return on_instance(instance, all(satisfy), f"both {shown(points)} satisfy them", OUR_READING)


@PAPER.statement(
    "§5.3, uniqueness, both entitled",
    "For two users who are entitled to something the fair allocation is unique",
    _pairs_of_users,
    many=300,
)
def two_users(instance: Instance) -> CheckAnswer:
    """All fair allocations of random pairs."""
    points = np.vstack([fair_set.corners for fair_set in fair_sets(instance)])
    return np.ptp(points, axis=0).max() <= AUDIT


@PAPER.statement(
    "Lemma 2",
    "Points of the curve have a subsequence that converges to the boundary",
    _wanting,
    few=15,
    many=200,
    why="the whole curve does, to the Eisenberg–Gale optimum",
)
def lemma_2(instance: Instance) -> CheckAnswer:
    """The curve itself converges: to the Eisenberg–Gale optimum, whose central path it is."""
    end = curve(instance).x[-1]
    return np.allclose(end, granted(instance), atol=NOISE) or f"{shown(end)}; {in_words(instance)}"


@PAPER.statement("Lemma 3", "The limit is a fair allocation", _wanting, few=15, many=200)
def lemma_3(instance: Instance) -> CheckAnswer:
    """The end of the curve, checked by the definition."""
    end = curve(instance).x[-1]
    return check.check(instance, end * instance.task_limits, NOISE)


@PAPER.statement(
    "Lemma 4",
    "The curve exists: x·∂f/∂x is proportional to the entitlements all along it",
    _wanting,
    few=5,
    many=100,
)
def lemma_4(instance: Instance) -> CheckAnswer:
    """Both sides at points of the curve."""
    rows = with_dummies(instance)
    for x in curve(instance, 100).x:
        sides = x * (rows / (1 - x @ rows)).sum(axis=1) / instance.entitlements
        if np.ptp(sides) > 10 * NOISE * sides.max():
            return False
    return True


@PAPER.item("§5.4, derivative of (11)", "Σ_k dx_k/dt·r_kj / (1 − Σ_k x_k·r_kj) = 1 for each j")
def derivative(run: Run) -> ItemAnswer:
    """Differences along the curve, for each resource and summed."""
    instance = examples.dolev_section_3()
    path = curve(instance, 1e3, points=400)
    rows = with_dummies(instance)
    x = path.x
    f = path.level
    k = len(f) // 2
    change_of_x = x[k + 1] - x[k - 1]
    change_of_f = f[k + 1] - f[k - 1]
    speed = change_of_x / change_of_f
    by_row = speed @ rows / (1 - x[k] @ rows)
    ours = (
        f"at one point {shown(by_row[:3])} for the three resources, {by_row.sum():.6g} summed over all "
        "and dummies"
    )
    row_is_off = abs(by_row - 1).max() > 1 / 10
    sum_is_right = abs(by_row.sum() - 1) < 1 / 100
    breaks = row_is_off and sum_is_right
    return on_instance(instance, breaks, ours, "the sum over j is lacking")


@PAPER.item(
    "§5.4, last display",
    "The matrix of Σ_j b_ij·δ_ik + Σ_j x_i·b_ij·b_kj is symmetric and positive-definite",
)
def last_display(run: Run) -> ItemAnswer:
    """The matrix at a point of the curve, as printed and with its rows divided by x."""
    instance = examples.dolev_section_3()
    rows = with_dummies(instance)
    x = curve(instance, 10).x[-1]
    b = rows / (1 - x @ rows)
    first_sums = np.diag(b.sum(axis=1))
    second_sums = x[:, None] * (b @ b.T)
    matrix = first_sums + second_sums
    lacking = abs(matrix - matrix.T).max() / abs(matrix).max()
    divided = matrix / x[:, None]
    is_symmetric = np.allclose(divided, divided.T)
    right = is_symmetric and np.linalg.eigvalsh(divided).min() > 0
    ours = f"entries that face each other differ by {lacking:.2g} of the largest"
    why = (
        "it is so once row i is divided by x_i, which is all that the proof needs" if right else ""
    )
    return on_instance(instance, lacking > AUDIT, ours, why)


def _f(instance: Instance, x: np.ndarray) -> float:
    """Return f(x) = −Σ_j log(1 − usage_j) over resources and dummies."""
    return float(-np.log1p(-(x @ with_dummies(instance))).sum())


@PAPER.item("Remark 1", "f is positive in the interior, and diverges towards the boundary")
def remark_1(run: Run) -> ItemAnswer:
    """Values of f towards the face x_1 = 0, in the middle of it."""
    instance = examples.requests([[2 / 3], [2 / 3]], [0.4, 0.6])
    f = [_f(instance, np.array([part, 1 / 2])) for part in (1 / 1000, AUDIT, AUDIT**2)]
    is_bounded = f[2] < f[1] < f[0] and np.isclose(f[2], np.log(3), rtol=AUDIT)
    return on_instance(
        instance,
        is_bounded,
        f"x → (0, 1/2): f → {f[2]:.5g}, which is log 3",
        "it diverges where a resource or a dummy is used up: Remark 1, used up",
    )


@PAPER.statement(
    "Remark 1, used up",
    "f is positive in the interior, and diverges towards the boundary",
    _wanting,
)
def remark_1_used_up(instance: Instance) -> CheckAnswer:
    """Values of f on a ray to where a resource or a dummy is used up."""
    users = np.ones(len(instance.users))
    edge = 1 / (users @ with_dummies(instance)).max()
    f = [
        _f(instance, edge * fraction * users)
        for fraction in (1 / 10, 1 / 2, 1 - AUDIT, 1 - AUDIT**2)
    ]
    is_positive = f[0] > 0
    rises = f[0] < f[1] < f[2] < f[3]
    diverges = f[3] - f[2] > -np.log(AUDIT) / 2
    return is_positive and rises and diverges


@PAPER.statement(
    "Remark 4",
    "The curve begins at the origin",
    _wanting,
    few=5,
    many=100,
    why="x ≤ c, and c begins at one millionth",
)
def remark_4(instance: Instance) -> CheckAnswer:
    """The first point of the curve, which lies at a small c."""
    path = curve(instance, 10)
    return path.x[0].max() <= path.c[0]


@PAPER.statement(
    "Remark 5",
    "Formula (8): Σ_j (x[i]·r[i,j] − usage[j]·e[i])/(1 − usage[j]) = 0 along the curve",
    _wanting,
    few=5,
    many=100,
)
def remark_5(instance: Instance) -> CheckAnswer:
    """Both parts of the sum at points of the curve."""
    rows = with_dummies(instance)
    entitled = np.asarray(instance.entitlements)
    for x in curve(instance, 100).x:
        used = x @ rows
        entitled_usage = np.outer(entitled, used)
        parts = (x[:, None] * rows - entitled_usage) / (1 - used)
        if abs(parts.sum(axis=1)).max() > NOISE * abs(parts).sum():
            return False
    return True


PAPER.uncheckable(
    "Remarks 2 and 3",
    "Other choices of f would do; a level set is a hypersurface",
    "remarks without a consequence of their own; other weights of the terms stand under §5.5",
)


@PAPER.item(
    "§5.5, a family of solutions",
    "(z, 1 − z, 1 − z) is fair for 0.5 ≤ z ≤ 0.7, both resources bottlenecks",
)
def family(run: Run) -> ItemAnswer:
    """All fair allocations."""
    segment = fair_sets(examples.dolev_section_5())[0]
    least = segment.corners.min(axis=0)
    most = segment.corners.max(axis=0)
    printed = {
        "least z": "1/2",
        "most z": "7/10",
        "least of user 2": "3/10",
        "most of user 2": "1/2",
        "dimension": 1,
    }
    return beside(printed, [least[0], most[0], least[1], most[1], segment.dimension])


@PAPER.item(
    "§5.5, weighting factors",
    "Other weighting factors in f could lead to other trajectories and other solutions",
)
def weighting(run: Run) -> ItemAnswer:
    """Ends of curves of differently weighted terms, by Newton's method on the barrier."""
    instance = examples.dolev_section_5()
    rng = run.rng
    draws = run.of(4, 50)
    scales = np.resize([1.0, 100.0, 1e4], 5)
    weights = [rng.permutation(scales) for _ in range(draws)]
    ends = [_weighted_end(instance, weighting) for weighting in weights]
    apart = np.ptp(ends, axis=0).max()
    ours = f"{len(ends)} weightings all end at {shown(ends[0])}, within {apart:.1g}"
    verdict = Agreement.REFUTED if apart < 1 / 1000 else Agreement.HOLDS
    why = (
        "other trajectories, but not other solutions: all end at the Eisenberg–Gale optimum "
        "(results.md)"
    )
    return ItemAnswer(verdict, ours, why, count=len(ends), witness=in_words(instance))


def _weighted_end(instance: Instance, weights: np.ndarray) -> np.ndarray:
    """Return the point of the curve of f = −Σ w·log(slack) at a large c.

    Damped Newton steps lead from one c to the next.
    """
    rows = with_dummies(instance)
    e = np.asarray(instance.entitlements)
    x = np.full(len(e), 1 / (2 * rows.sum(axis=0).max()))
    for c in np.geomspace(1, 2.0**40, 80):
        for _ in range(50):
            slack = 1 - x @ rows
            slope = e / x - rows @ (weights / slack) / c
            barrier_bend = (rows * weights / slack**2) @ rows.T / c
            bend = np.diag(e / x**2) + barrier_bend
            step = np.linalg.solve(bend, slope)
            ratios = np.concatenate([-step / x, step @ rows / slack])
            shrink = max(ratios.max(), VERIFIED)
            x = x + step * min(1.0, 0.9 / shrink)
            if slope @ step < VERIFIED**2:
                break
    return x


@PAPER.item("§5.5, circle of four, symmetric", "x = ⅓ each, all four resources bottlenecks", "njc")
def symmetric(run: Run) -> ItemAnswer:
    """The Eisenberg–Gale optimum."""
    instance = examples.dolev_circle()
    verdict = check.check(instance, allocate(instance, NJC))
    printed = named("x", ["1/3"] * 4) | {"bottlenecks": 4}
    return beside(printed, [*granted(instance), len(verdict.bottlenecks)])


@PAPER.item("§5.5, circle of four", "There are 6 additional solutions: two users 0.25, two 0.375")
def circle(run: Run) -> ItemAnswer:
    """All fair allocations of the circle, and whether the six are among them."""
    instance = examples.dolev_circle()
    fair = fair_sets(instance)
    pairs = combinations(range(4), 2)
    six = [[0.25 if n in pair else 0.375 for n in range(4)] for pair in pairs]
    among = sum(bool(check.check(instance, np.array(x))) for x in six)
    largest = max(fair_set.dimension for fair_set in fair)
    ours = f"{among} of the six are fair, among {len(fair)} sets of dimension {largest}"
    other = check.check(instance, np.array([0.3, 0.45, 0.25, 0.25]))
    why = "a continuum: (0.3, 0.45, 0.25, 0.25) is fair too" if other else ""
    return on_instance(instance, other, ours, why)


@PAPER.item(
    "§5.5, selection",
    "Largest utilisation prefers the symmetric solution of the circle, all of whose resources are "
    "used up",
    "njc",
)
def selection(run: Run) -> ItemAnswer:
    """The best fair allocation by utilisation, and what one of the six uses."""
    instance = examples.dolev_circle()
    best = allocate(instance, NJC, criterion="utilization")
    six = np.array([0.25, 0.25, 0.375, 0.375])
    printed = {"largest utilisation": 1, "of the symmetric one": 1, "of one of the six": "15/16"}
    values = [
        check.best_value(instance, allocation) for allocation in (best, np.full(4, 1 / 3), six)
    ]
    return beside(printed, values, "usage of one of the six as printed: 1, 1, 0.875, 0.875")


@PAPER.item(
    "§6, scheduling rule",
    "On line, priority by the smallest gap on any bottleneck is the correct course of action, by "
    "the largest gap it is not",
)
def scheduling_rule(run: Run) -> ItemAnswer:
    """Quanta in the order of gaps on an instance where the two rules differ."""
    instance = Instance.from_arrays(
        [[1, 0], [0, 1], [2, 1]], [[100, 100]], weights=[1, 1, 3], name="two devices"
    )
    smallest, largest = (
        mean_tasks(instance, policy, quanta=run.of(100, 1000)).to_numpy()
        for policy in ("smallest-gap", "largest-gap")
    )
    printed = {
        "smallest gap: a justified complaint": "no",
        "largest gap: a justified complaint": "yes",
    }
    complaints = [not check.check(instance, tasks, 0.01) for tasks in (smallest, largest)]
    why = (
        f"on one instance: mean tasks {shown(smallest)} and {shown(largest)}; on random ones the "
        "smallest gap misses, too (simulation.md)"
    )
    return beside(printed, complaints, why)


@PAPER.item("§6, polynomial time", "Whether a polynomial method exists is an open question")
def polynomial(run: Run) -> ItemAnswer:
    """The Eisenberg–Gale optimum is fair, and a convex program."""

    def fair(instance: Instance) -> CheckAnswer:
        certificate = allocate(instance, NJC).certificate
        return certificate and certificate.conditions < VERIFIED

    why = (
        "answered: the optimum of a convex program is fair (Gutman and Nisan, 2012, by way of "
        "markets)"
    )
    answer = over(run, requests, fair, why=why)
    return replace(answer, ours=f"{answer.ours}: optimal and fair")
