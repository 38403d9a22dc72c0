"""Khamse-Ashari et al.: the theorems, lemmas and algorithms of PS-DSF, each in the paper's own terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import examples
from ...api import allocate
from ...auditing import audit
from ...auditing.reports import nearby, own_use
from ...errors import NotConvergedError
from ...mechanisms.mechanism import Division
from ...mechanisms.per_server import check
from ...models.instances.instance import Instance
from ...models.instances.problem import quotients
from ...tolerances import AUDIT, SHRINKING_MARGIN
from .checking import Told, audited, integers, kept, over, shipped, statement, uncheckable
from .khamse_ashari import RDM, TDM
from .registry import Run, entry
from .verdicts import Answer, Verdict, in_words, on_instance, shown


def _clusters(rng: np.random.Generator, zeros: float = 0.2) -> Instance:
    """Return a small random cluster with weights, placement constraints and perhaps zero demands."""
    plain = integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3), zeros=zeros)
    n, k = plain.demands.shape[0], plain.capacities.shape[0]
    eligible = rng.random((n, k)) < 0.75
    eligible[np.arange(n), rng.integers(0, k, n)] = True
    return plain.replace(weights=rng.integers(1, 4, n), eligible=eligible)


def _levels(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return s[n,i]/φ[n]; infinite where n may not run."""
    alone = instance.gamma() * instance.weights[:, None]
    return np.asarray(np.divide(tasks.sum(axis=1)[:, None], alone, out=np.full_like(alone, np.inf), where=alone > 0))


def _bottlenecks(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return whether resource r is a bottleneck of user n on server i, by Definition 6; (N, K, R)."""
    level = _levels(instance, tasks)
    used = np.einsum("ni,nr->ir", tasks, instance.demands)
    full = used >= instance.capacities * (1 - AUDIT)
    alone = instance.gamma()
    holds = (tasks[:, :, None] > AUDIT * alone[:, :, None]) & (instance.demands[:, None, :] > 0)
    highest = np.where(holds, np.where(np.isfinite(level), level, 0.0)[:, :, None], 0.0).max(axis=0)
    lowest = level[:, :, None] >= highest[None] * (1 - AUDIT)
    return np.asarray((instance.demands[:, None, :] > 0) & full[None] & lowest)


def _theorem_1(instance: Instance, tasks: np.ndarray) -> bool:
    """Whether everybody has a bottleneck on every server where it may run."""
    return bool((_bottlenecks(instance, tasks).any(axis=2) | (instance.gamma() == 0)).all())


def _theorem_2(instance: Instance, tasks: np.ndarray) -> bool:
    """Whether all time is used, by users of the lowest level on the server."""
    alone, level = instance.gamma(), _levels(instance, tasks)
    time = quotients(tasks, alone)
    someone = alone.any(axis=0)
    full = time.sum(axis=0) >= 1 - AUDIT
    lowest = level.min(axis=0)
    return bool(
        (full | ~someone).all()
        and (level[time > AUDIT] <= np.broadcast_to(lowest, level.shape)[time > AUDIT] * (1 + AUDIT)).all()
    )


def _equivalent(run: Run, division: Division) -> Answer:
    """Return whether Definition 5 and the theorem's condition agree, on fixed points and on other allocations."""
    condition, name = (_theorem_1, RDM) if division == "rdm" else (_theorem_2, TDM)

    def agree(instance: Instance) -> Told:
        fixed = allocate(instance, name).tasks_array
        half = 0.9 * fixed + 0.1 * allocate(instance, "naive-drf").tasks_array
        for tasks in (fixed, allocate(instance, RDM if division == "tdm" else "tsf").tasks_array, half):
            if division == "tdm":
                tasks = tasks / np.maximum(quotients(tasks, instance.gamma()).sum(axis=0), 1)
            if condition(instance, tasks) != check.check(instance, tasks, division).holds:
                return f"tasks {shown(tasks)}; {in_words(instance)}"
        return True

    return over(run, _clusters, agree, why="on PS-DSF, on another mechanism's allocation, and on a mixture")


@entry(
    "003", "Theorem 1", "Resources divided: PS-DSF if and only if everybody has a bottleneck on every eligible server"
)
def theorem_1(run: Run) -> Answer:
    """Definition 6, in plain NumPy, beside the check by Definition 5."""
    return _equivalent(run, "rdm")


@entry("003", "Theorem 2", "Time divided: PS-DSF if and only if all time is used, by users of the lowest level there")
def theorem_2(run: Run) -> Answer:
    """Formula (13), in plain NumPy, beside the check by Definition 5."""
    return _equivalent(run, "tdm")


@statement("003", "Formula (11)", "Time division implies resource division", _clusters)
def formula_11(instance: Instance) -> Told:
    """Allocations under time division, audited for resources."""
    found = audit(instance, allocate(instance, TDM), "feasible", division="rdm")
    return found.holds.iloc[0]


audited(
    "003",
    "Theorem 3, resources divided",
    "Single-resource and bottleneck fairness, envy-freeness and the sharing incentive",
    RDM,
    "single-resource",
    "bottleneck",
    "envy-free",
    "sharing incentive",
    why="results.md proves the sharing incentive anew",
)
audited(
    "003",
    "Theorem 3, time divided",
    "The same, and Pareto optimality",
    TDM,
    "single-resource",
    "bottleneck",
    "envy-free",
    "sharing incentive",
    "Pareto-optimal",
)
audited(
    "003",
    "Theorem 3, strategy-proofness",
    "Nobody gains by lying where time is divided",
    TDM,
    "strategy-proof",
    lies=True,
    why="no lie that was tried pays",
)
shipped(
    "003",
    "§III-B, Pareto optimality",
    "Where resources are divided PS-DSF is not Pareto-optimal",
    RDM,
    "Pareto-optimal",
    missing=True,
)
shipped(
    "003",
    "§III-B, strategy-proofness",
    "Where resources are divided PS-DSF is not strategy-proof in general",
    RDM,
    "strategy-proof",
    missing=True,
    tries=100,
)


@entry("003", "§II-B, bottleneck fairness", "C-DRFH and TSF do not satisfy it")
def not_bottleneck(run: Run) -> Answer:
    """Fig. 1, audited."""
    instance = examples.khamse_ashari_figure_1()
    found = [audit(instance, allocate(instance, name), "bottleneck").iloc[0] for name in ("c-drfh", "tsf")]
    broken = all(one["holds"] is False for one in found)
    return on_instance(instance, broken, "; ".join(one["witness"] for one in found), missing=True)


shipped(
    "003",
    "§II-B, DRFH",
    "DRFH achieves bottleneck fairness",
    "drfh",
    "bottleneck",
    "by §III-B's definition, on every server; by Wang et al.'s, of the pool, it does (002, Proposition 6)",
)
shipped(
    "003",
    "§II-B, DRFH and sharing",
    "DRFH fails to provide the sharing incentive",
    "drfh",
    "sharing incentive",
    missing=True,
)


@entry(
    "003", "§II-B, CDRF", "Without constraints: Pareto-optimal, strategy-proof, envy-free, with the sharing incentive"
)
def cdrf(run: Run) -> Answer:
    """Audited on random clusters without placement constraints, and a search for lies."""
    asked = ["Pareto-optimal", "envy-free", "sharing incentive"]

    def keeps(instance: Instance) -> Told:
        found = audit(instance, allocate(instance, "cdrf"), asked)
        wrong = found[found.holds.eq(False)]
        return f"{wrong.witness.iloc[0]}; {in_words(instance)}" if len(wrong) else True

    def draw(rng: np.random.Generator) -> Instance:
        return integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3), zeros=0.2)

    found = over(run, draw, keeps, few=12)
    lies = kept(run, "cdrf", "strategy-proof", lies=True)
    if lies.verdict is not Verdict.HOLDS:
        return lies
    return replace(found, why=f"no lie on {lies.count} more pays")


@statement(
    "003",
    "§I, one server",
    "On a single server PS-DSF is DRF",
    lambda rng: integers(rng, zeros=0.2),
    why="where resources are divided",
)
def one_server(instance: Instance) -> Told:
    """PS-DSF where resources are divided, beside extended DRF, with zero demands too."""
    return np.allclose(allocate(instance, RDM).totals, allocate(instance, "edrf").totals, rtol=AUDIT)


@statement(
    "003",
    "Lemma 1",
    "All demands positive, resources divided: no lie takes from others without costing the liar",
    lambda rng: (_clusters(rng, zeros=0.0), rng),
    few=8,
    many=300,
)
def lemma_1(drawn: tuple[Instance, np.random.Generator]) -> Told:
    """Random lies about demands and servers: others with less, and the liar with no less."""
    instance, rng = drawn
    honest = allocate(instance, RDM).totals.to_numpy()
    for user in range(len(instance.users)):
        for _ in range(8):
            claimed = nearby(instance.demands[user], rng)
            demands = instance.demands.copy()
            demands[user] = claimed
            lie = allocate(instance.replace(demands=demands), RDM).totals.to_numpy()
            own = lie[user] * own_use(instance.demands[user], claimed)
            others = np.delete(lie / honest, user)
            if own >= honest[user] * (1 - AUDIT) and others.min() < 1 - SHRINKING_MARGIN:
                return (
                    f"user {user + 1} claims {shown(claimed)}, has {own:.6g} tasks, not {honest[user]:.6g}, and "
                    f"another has {others.min():.4g} of what it had; {in_words(instance)}"
                )
    return True


@statement(
    "003",
    "Corollary 1",
    "A saturated resource is a bottleneck of a user of the lowest level if those of higher levels hold none of it",
    _clusters,
)
def corollary_1(instance: Instance) -> Told:
    """Wherever the corollary's conditions are met in a PS-DSF allocation."""
    tasks = allocate(instance, RDM).tasks_array
    level, alone = _levels(instance, tasks), instance.gamma()
    full = np.einsum("ni,nr->ir", tasks, instance.demands) >= instance.capacities * (1 - AUDIT)
    known, met = _bottlenecks(instance, tasks), False
    for i, r in np.argwhere(full):
        who = np.flatnonzero((alone[:, i] > 0) & (instance.demands[:, r] > 0))  # somebody: it is full of tasks
        n = who[level[who, i].argmin()]
        higher = who[level[who, i] > level[n, i] * (1 + AUDIT)]
        if (tasks[higher, i] <= AUDIT * alone[higher, i]).all():
            met = True
            if not known[n, i, r]:
                return f"user {n + 1}, server {i + 1}, resource {r + 1}; {in_words(instance)}"
    return True if met else None


@statement(
    "003", "Lemma 2", "Time divided: of two users who exchange tasks of two servers, one has fewer in all", _clusters
)
def lemma_2(instance: Instance) -> Told:
    """Rates of exchange of all pairs who hold tasks: γ[m,i]/γ[n,i]·γ[n,j]/γ[m,j] ≤ 1 where n holds i and m holds j."""
    tasks, alone = allocate(instance, TDM).tasks_array, instance.gamma()
    holds = tasks > AUDIT * alone
    for n, i in np.argwhere(holds):
        for m, j in np.argwhere(holds):
            rate = alone[m, i] * alone[n, j] / (alone[n, i] * alone[m, j])
            if n != m and i != j and rate > 1 + AUDIT:
                return f"users {n + 1} and {m + 1}, servers {i + 1} and {j + 1}; {in_words(instance)}"
    return True


def _reached(run: Run, method: str, few: int, why: str) -> Answer:
    """Return whether a method ends at a fixed point."""

    def reached(instance: Instance) -> Told:
        try:
            found = allocate(instance, RDM, method=method)
        except NotConvergedError as error:
            return f"{error}; {in_words(instance)}"
        return check.check(instance, found).holds

    return over(run, _clusters, reached, few=few, many=300, why=why)


@entry(
    "003", "Algorithm I", "Begins with DRF on each server and ends at a PS-DSF allocation; convergence is future work"
)
def algorithm_1(run: Run) -> Answer:
    """The paper's algorithm with the repairs that docs/per-server-fairness.md names."""
    return _reached(run, "algorithm-1", 30, "with the repairs that per-server-fairness.md names")


@entry("003", "§III-D, distributed", "Servers that act on their own, asynchronously, may achieve PS-DSF")
def distributed(run: Run) -> Answer:
    """Servers with clocks of their own."""
    return _reached(run, "distributed", 10, "each server has a clock of its own; settling is not proved")


uncheckable(
    "003",
    "Definitions 1–6",
    "DRF, virtual dominant share, feasibility, PS-DSF, bottleneck",
    "definitions; `fairlp.per_server.check` is Definition 5, the entry of Theorem 1 uses Definition 6",
)
