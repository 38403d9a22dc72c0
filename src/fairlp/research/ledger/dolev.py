"""Dolev et al., No Justified Complaints: its examples and figures, and what §§3 and 4 claim."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ... import examples
from ...api import allocate
from ...auditing import audit
from ...mechanisms.complaints import check
from ...models.instances.instance import Instance
from ...tolerances import AUDIT, COMPLAINT
from .checking import Told, shipped, statement, uncheckable
from .registry import Run, entry
from .verdicts import Answer, Chart, Line, beside, named, on_instance, picture, shown

#: The mechanism of the paper.
NJC = "njc"


def requests(rng: np.random.Generator) -> Instance:
    """Return random requests of two to five users and entitlements."""
    n, m = rng.integers(2, 6), rng.integers(1, 5)
    table = rng.integers(0, 11, (n, m)) / 10
    table[~table.any(axis=1), 0] = 1
    entitled = rng.integers(1, 5, n).astype(float)
    return examples.requests(table, entitled / entitled.sum())


def granted(instance: Instance) -> np.ndarray:
    """Return what fraction of its request each user is granted by the Eisenberg–Gale optimum."""
    return np.asarray(allocate(instance, NJC).totals.to_numpy() / instance.task_limits)


def with_dummies(instance: Instance) -> np.ndarray:
    """Return requests of all resources and, for each user, of a resource of its own: x ≤ 1 as in §5.1."""
    return np.hstack([instance.demands, np.eye(len(instance.users))])


@entry("004", "Figure 1", "A request profile cut back to 50 % of resource 4 shrinks on all resources alike")
def figure_1(run: Run) -> Answer:
    """A user whose share of one resource is halved."""
    instance = examples.requests([[0.3, 0.5, 0.2, 1.0]], [1.0])
    used = 0.5 * instance.demands[0]
    whole = instance.demands[0]
    return picture({"all resources shrink by the same factor": np.allclose(used / whole, used[3] / whole[3])})


@entry("004", "§3, greedy", "(1, ⅔, 0): user 2 has a justified complaint; (¾, 1, 0): neither user 1 nor user 2 has")
def greedy(run: Run) -> Answer:
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


@entry("004", "§3, existence in the example", "Three users can be satisfied at once")
def three(run: Run) -> Answer:
    """The Eisenberg–Gale optimum of the example."""
    instance = examples.dolev_section_3()
    found = granted(instance)
    fair = check.check(instance, found * instance.task_limits)
    return beside({"no justified complaint": "yes"}, [fair], f"x = {shown(found)}")


@statement(
    "004",
    "§3, Pareto optimality",
    "Allocations without justified complaints are Pareto-optimal",
    requests,
    few=15,
    many=200,
)
def pareto(instance: Instance) -> Told:
    """Fair allocations at the ends of every user's range, audited."""
    ends = [one.vertices for one in check.solutions(instance) if one.vertices is not None and len(one.vertices)]
    for vertices in ends:
        found = audit(instance, _tasks(instance, vertices.iloc[0].to_numpy()), "Pareto-optimal")
        if not found.holds.iloc[0]:
            return False
    return True if ends else None


@statement(
    "004",
    "§4, sharing incentive",
    "Everybody is at least as well off as with its entitlement of each resource",
    requests,
)
def sharing(instance: Instance) -> Told:
    """Granted fractions beside what the entitlement of every resource would do."""
    alone = np.minimum(1, instance.entitlements / instance.demands.max(axis=1))
    return not (granted(instance) < alone - AUDIT).any()


shipped(
    "004",
    "§4, strategy-proofness",
    "Users do not benefit from lying about their resource needs",
    NJC,
    "strategy-proof",
    "neither strategy-proofness nor envy-freeness follows from the condition",
    tries=100,
)


@entry("004", "§4, envy-freeness", "No user prefers another user's allocation")
def envy(run: Run) -> Answer:
    """A fair allocation of one resource with envy."""
    instance = _one_resource()
    found = audit(instance, _tasks(instance, np.array([1 / 3, 17 / 30, 1])), ["no justified complaints", "envy-free"])
    envious = found.holds["no justified complaints"] is True and found.holds["envy-free"] is False
    why = "the Eisenberg–Gale optimum is envy-free; not every fair allocation is"
    return on_instance(instance, envious, f"x = 1/3, 17/30, 1 is fair: {found.witness['envy-free']}", why)


@statement("004", "§4, envy-freeness of the trajectory's end", "No user prefers another user's allocation", requests)
def no_envy(instance: Instance) -> Told:
    """Where the paper's own method ends, per unit of entitlement."""
    x, e = granted(instance), np.asarray(instance.entitlements)
    bundle = x[:, None] * instance.demands
    for n in range(len(x)):
        need = instance.demands[n] > 0
        worth = (bundle[:, need] / instance.demands[n, need]).min(axis=1) * e[n] / e
        if (np.minimum(worth, 1) > x[n] + AUDIT).any():
            return False
    return True


@entry(
    "004",
    "§4, three ways to count",
    "20 %, 7 % and 37 % of three resources count as 64/300, 37/100, or 20/100 if the first is the bottleneck",
)
def counting(run: Run) -> Answer:
    """Asset fairness, dominant resource fairness and the only bottleneck."""
    used = np.array([0.20, 0.07, 0.37])
    instance = Instance.from_arrays([used], [np.ones(3)], task_limits=[1])
    asset = 1 / allocate(instance, "asset").gamma[0] / 3
    dominant = 1 / allocate(instance, "drf").gamma[0]
    others = examples.requests([used, [0.8, 0, 0]], [0.2, 0.8])
    told = check.check(others, np.ones(2))
    printed = {"assets": "64/300", "dominant": "37/100", "of the bottleneck": "20/100"}
    return beside(printed, [asset, dominant, told.table["fraction"].iloc[0]])


@entry("004", "Figure 2", "Entitled alike: (1/3, 2/30) twice and (1/3, 2/3); DRF (0.4, 0.08) twice and (0.2, 0.4)")
def figure_2(run: Run) -> Answer:
    """Both rules."""
    instance = examples.dolev_figure_2()
    fair = granted(instance)[:, None] * instance.demands
    drf = check.against_drf(instance).users["drf"].to_numpy()[:, None] * instance.demands
    printed = named("fair", ["1/3", "2/30", "1/3", "2/30", "1/3", "2/3"])
    printed |= named("DRF", ["0.4", "0.08", "0.4", "0.08", "0.2", "0.4"])
    return beside(printed, [*fair.flat, *drf.flat])


@statement(
    "004", "§4, bottlenecks under DRF", "Under DRF each user is constrained by a bottleneck (Ghodsi et al.)", requests
)
def drf_bottleneck(instance: Instance) -> Told:
    """Whether everybody who has not all it asked for needs something that is used up."""
    x = check.against_drf(instance).users["drf"].to_numpy()
    full = x @ instance.demands >= 1 - COMPLAINT
    held = ((instance.demands > 0) & full).any(axis=1)
    return (held | (x >= 1 - COMPLAINT)).all()


@entry(
    "004",
    "§4, one dominant resource",
    "If all users have the same dominant resource, DRF and this definition are equivalent",
)
def one_dominant(run: Run) -> Answer:
    """One resource: a fair allocation that is not DRF's."""
    instance = _one_resource()
    other = np.array([1 / 3, 17 / 30, 1])
    drf = check.against_drf(instance).users["drf"].to_numpy()
    breaks_it = check.check(instance, other) and not np.allclose(other, drf)
    why = "it is so where nobody asks for less than its entitlement (results.md)"
    return on_instance(instance, breaks_it, f"DRF {shown(drf)}; {shown(other)} is fair too", why)


@entry("004", "§4, utilisation", "(½, 0, 0, 1) and (1, 1, 1, 0): fair 1 and ½, DRF ⅔ each, which uses more")
def utilisation(run: Run) -> Answer:
    """Both rules, and what is used of the middle resources."""
    found = check.against_drf(examples.dolev_section_4())
    printed = named("fair, user", ["1", "1/2"]) | named("DRF, user", ["2/3", "2/3"])
    printed |= {"middle, fair": "1/2", "middle, DRF": "2/3"}
    middle = found.resources.loc["resource2"]
    return beside(printed, [*found.users["njc"], *found.users["drf"], middle["njc"], middle["drf"]])


@entry("004", "Figure 3", "r = (¼, ⅔, 1), (1, ⅔, 0): the point (⅔, 11/12) would need 13/12 of resource 1")
def figure_3(run: Run) -> Answer:
    """What the point uses."""
    instance = _figure_3()
    point = np.array([2 / 3, 11 / 12])
    used = point @ instance.demands
    feasible = audit(instance, _tasks(instance, point), "feasible").holds.iloc[0]
    return beside({"of resource 1": "13/12", "feasible": "no"}, [used[0], feasible])


@entry("004", "Figure 4", "Smooth curves inside the region that come ever closer to its boundary")
def figure_4(run: Run) -> Answer:
    """Points of level f = t in random directions, for growing t."""
    instance = _figure_3()
    angles = np.linspace(0.05, np.pi / 2 - 0.05, 40)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    rows = with_dummies(instance)
    edge = 1 / (directions @ rows).max(axis=1)
    fractions = np.linspace(0, 1, 4001)[1:-1]
    reach = []
    for level in (2, 4, 8, 16):
        inside = []
        for direction, far in zip(directions, edge, strict=True):
            f = -np.log(1 - np.outer(fractions * far, direction @ rows)).sum(axis=1)
            inside.append(fractions[min(int(np.searchsorted(f, level)), len(fractions) - 1)])
        reach.append(np.array(inside))
    checks = {
        "all inside": all((one < 1).all() for one in reach),
        "growing with t": all((a <= b).all() for a, b in pairwise(reach)),
        "close to the boundary at t = 16": reach[-1].min() > 0.99,
    }
    return picture(checks)


@entry(
    "004",
    "Figure 5",
    "Both ask for ⅔: entitlements 0.4 and 0.6 give (0.6, 0.9); where e2/e1 > 2 user 2 has all it asks for",
)
def figure_5(run: Run) -> Answer:
    """Points for several entitlements."""
    x = {e: granted(examples.requests([[2 / 3], [2 / 3]], [e, 1 - e])) for e in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)}
    printed = named("0.4 and 0.6: user", ["0.6", "0.9"]) | {"0.3 and 0.7: user 2": 1, "0.7 and 0.3: user 1": 1}
    lines = (
        Line("the resource is used up", (0.5, 1.0), (1.0, 0.5)),
        Line(
            "ours, e1 = 0.2 … 0.8",
            tuple(one[0] for one in x.values()),
            tuple(one[1] for one in x.values()),
        ),
        Line("paper, e = (0.4, 0.6)", (0.6,), (0.9,), printed=True),
    )
    chart = Chart("Dolev et al., Fig. 5: both ask for ⅔", "x1 [fraction of the request]", "x2", lines)
    return beside(printed, [*x[0.4], x[0.3][1], x[0.7][0]], chart=chart)


@entry("004", "Figure 6", "Level sets of f from 0 to ∞")
def figure_6(run: Run) -> Answer:
    """F along the paper's curve."""
    path = check.trajectory(_figure_3(), points=60)
    level = path.level.to_numpy()
    inside = path.usage.to_numpy() <= 1
    return picture({"f grows along the curve": (np.diff(level) > 0).all(), "the curve stays inside": inside.all()})


uncheckable(
    "004",
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


def _tasks(instance: Instance, fractions: np.ndarray) -> np.ndarray:
    """Return granted fractions as tasks on the one server."""
    return np.asarray((fractions * instance.task_limits)[:, None])
