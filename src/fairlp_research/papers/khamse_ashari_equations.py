"""Khamse-Ashari et al., PS-DSF: the numbered equations of the text and of the proofs.

Each is restated in NumPy, or for SciPy, and tried on allocations of fairlp.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairlp import Instance, allocate, audit, auditing, per_server as check
from fairlp.toolkit import quotients

from .khamse_ashari import PAPER, RDM, TDM, _clusters, _levels, _theorem_2, bottlenecks_of
from .registry import CheckAnswer, Run, integers
from .verdicts import AGREEMENT, AUDIT, VERIFIED, ItemAnswer, in_words, on_instance, shown


def _weighted_pool(rng: np.random.Generator) -> Instance:
    """Return one server and weighted users, some of whose demands are zero."""
    plain = integers(rng, users=(2, 5), resources=(2, 3), zeros=0.2)
    return plain.replace(weights=rng.integers(1, 4, len(plain.users)))


def most_tasks(instance: Instance, tasks: np.ndarray, user: int, is_kept: np.ndarray) -> float:
    """Return the most tasks of a user where the pairs of ``is_kept`` (N, K) lose none, by SciPy."""
    from scipy.optimize import linprog

    n, k = tasks.shape
    cost = np.zeros((n, k))
    cost[user] = -1
    rows = np.vstack(
        [
            np.kron(instance.demands[:, r], np.eye(k)[server]).reshape(1, -1)
            for server in range(k)
            for r in range(len(instance.resources))
        ]
    )
    least = np.where(is_kept, tasks, 0.0)
    upper = np.where(instance.gamma() > 0, np.inf, 0.0)
    bounds = list(zip(np.minimum(least, upper).ravel(), upper.ravel(), strict=True))
    # A hair of room, since the tasks that are kept are rounded.
    right = instance.capacities.ravel() * (1 + AUDIT**2)
    optimum = linprog(cost.ravel(), rows, right, bounds=bounds)
    return float(-optimum.fun)


@PAPER.statement(
    "Definition 1 and equations (1) to (4)",
    "DRF: the dominant share over weight cannot be raised without lowering one that is no larger",
    _weighted_pool,
)
def definition_1(instance: Instance) -> CheckAnswer:
    """Users' tasks from (1), shares from (2) and (3), rows (4), and one program for each user."""
    tasks = allocate(instance, "edrf").tasks_array
    demands = instance.demands
    pool = instance.pool
    bundles = tasks * demands
    needed = demands > 0
    utility = np.where(needed, quotients(bundles, demands), np.inf).min(axis=1)
    dominant = (demands / pool).argmax(axis=1)
    users = range(len(demands))
    share = bundles[users, dominant] / pool[dominant] / instance.weights
    feasible = (bundles.sum(axis=0) <= pool * (1 + AUDIT)).all()
    is_equal = np.allclose(utility, tasks[:, 0], rtol=AGREEMENT)
    for user in users:
        is_kept = (share <= share[user] * (1 + AUDIT))[:, None]
        if most_tasks(instance, tasks, user, is_kept) > tasks[user, 0] * (1 + VERIFIED):
            return f"user {user + 1}; {in_words(instance)}"
    return bool(feasible and is_equal)


@PAPER.statement(
    "Equation (5)",
    "The global dominant share is x·max_r d/c, c the total of all servers; DRFH makes its leximin",
    lambda rng: integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3)),
)
def equation_5(instance: Instance) -> CheckAnswer:
    """The formula beside the shares of DRFH, which are equal where all demands are positive."""
    allocation = allocate(instance, "drfh")
    share = allocation.totals.to_numpy() * (instance.demands / instance.pool).max(axis=1)
    return (
        np.allclose(share, allocation.shares, rtol=AGREEMENT)
        and np.ptp(share) <= VERIFIED * share.max()
    )


@PAPER.statement(
    "Definition 2 and equations (6) to (8)",
    "γ[n,i] = min_r c/d = c/d of the dominant resource ρ(n,i); s[n,i] = x[n]/γ[n,i]",
    _clusters,
    of=("psdsf-rdm",),
)
def definition_2(instance: Instance) -> CheckAnswer:
    """Both forms of (7) beside ours, and (8) beside the levels of a PS-DSF allocation."""
    ours = instance.gamma()
    tasks = allocate(instance, RDM).tasks_array
    level = _levels(instance, tasks)
    for user, need in enumerate(instance.demands):
        for server, capacity in enumerate(instance.capacities):
            fraction = np.divide(need, capacity)
            dominant = fraction.argmax()
            gamma = instance.eligible[user, server] * min(
                capacity[r] / need[r] for r in range(len(need)) if need[r] > 0
            )
            by_dominant = instance.eligible[user, server] * capacity[dominant] / need[dominant]
            if not np.allclose([gamma, by_dominant], ours[user, server], rtol=AGREEMENT):
                return False
            if gamma > 0:
                virtual = tasks[user].sum() / gamma / instance.weights[user]
                if not np.isclose(virtual, level[user, server], rtol=AGREEMENT):
                    return False
    return True


def _with_tasks(rng: np.random.Generator) -> tuple[Instance, np.ndarray]:
    """Return a cluster and random tasks, about as many as fit."""
    instance = _clusters(rng)
    alone = instance.gamma()
    parts = alone * rng.random(alone.shape) * rng.uniform(0.2, 1.5)
    return instance, parts / len(alone) * 2


@PAPER.statement(
    "Definitions 3 and 4, equations (9) and (10)",
    "Feasible: Σ x·d ≤ c where resources are divided, Σ x/γ ≤ 1 where time is",
    _with_tasks,
)
def definitions_3_and_4(drawn: tuple[Instance, np.ndarray]) -> CheckAnswer:
    """Both rows on random tasks beside the audit."""
    instance, tasks = drawn
    used = np.einsum("ni,nr->ir", tasks, instance.demands)
    time = quotients(tasks, instance.gamma()).sum(axis=0)
    expected: dict[Literal["rdm", "tdm"], bool] = {
        "rdm": bool((used <= instance.capacities).all()),
        "tdm": bool((time <= 1).all()),
    }
    return all(
        bool(audit(instance, tasks, "feasible", division=division).holds.iloc[0]) == fits
        for division, fits in expected.items()
    )


@PAPER.statement(
    "Definition 5",
    "PS-DSF: no user's tasks can be raised without lowering some x[m,i] with s[m,i]/φ[m] ≤ s[n,i]/φ[n]",
    _clusters,
    few=10,
    why="our check of it, beside programs restated for SciPy; on fixed points and on another mechanism's allocations",
    of=(
        "psdsf-rdm",
        "tsf",
    ),
)
def definition_5(instance: Instance) -> CheckAnswer:
    """A program for each user: the most tasks while protected pairs keep theirs."""
    for name in (RDM, "tsf"):
        tasks = allocate(instance, name).tasks_array
        level = _levels(instance, tasks)
        gains = False
        for user in range(len(tasks)):
            is_kept = level <= level[user] * (1 + AUDIT)
            is_kept &= instance.gamma()[user] > 0
            larger_tasks = most_tasks(instance, tasks, user, is_kept)
            gains |= larger_tasks > tasks[user].sum() * (1 + VERIFIED)
        if gains == check.check(instance, tasks).holds:
            return f"{name}: {in_words(instance)}"
    return True


@PAPER.statement(
    "Definition 6, equations (12) and (19)",
    "A bottleneck of a user on a server: used up, needed, and no holder of it has a higher s/φ",
    _clusters,
    why="each user has one on each eligible server of a PS-DSF allocation: Theorem 1",
)
def definition_6(instance: Instance) -> CheckAnswer:
    """The definition one by one, beside the table of bottlenecks that Theorem 1's entry uses."""
    tasks = allocate(instance, RDM).tasks_array
    table = bottlenecks_of(instance, tasks)
    alone = instance.gamma()
    for n, i in np.argwhere(alone > 0):
        own_level = tasks[n].sum() / alone[n, i] / instance.weights[n]
        bottlenecks = []
        for r, need in enumerate(instance.demands[n]):
            used = tasks[:, i] @ instance.demands[:, r]
            runs_here = tasks[:, i] > AUDIT * alone[:, i]
            holders = runs_here & (instance.demands[:, r] > 0)
            totals = tasks[holders].sum(axis=1)
            levels = totals / alone[holders, i] / instance.weights[holders]
            is_full = used >= instance.capacities[i, r] * (1 - AUDIT)
            is_highest = (own_level >= levels * (1 - AUDIT)).all()
            bottlenecks.append(need > 0 and is_full and is_highest)
        if not any(bottlenecks) or bottlenecks != table[n, i].tolist():
            return f"user {n + 1}, server {i + 1}; {in_words(instance)}"
    return True


@PAPER.statement(
    "Equations (13) and (39)",
    "Time divided: a user who runs on a server has the least s/φ there",
    _clusters,
)
def equations_13_and_39(instance: Instance) -> CheckAnswer:
    """Levels of those who run, beside the least of all who may."""
    return _theorem_2(instance, allocate(instance, TDM).tasks_array)


@PAPER.statement(
    "Equations (14) and (15)",
    "r used up, n of the least s/φ among those who need it, no higher holder: r is a bottleneck of n",
    _clusters,
    why="of any feasible allocation, not of PS-DSF alone; Corollary 1's entry tries PS-DSF",
    of=(
        "c-drfh",
        "naive-drf",
        "tsf",
    ),
)
def equations_14_and_15(instance: Instance) -> CheckAnswer:
    """Wherever both conditions are met under other mechanisms."""
    met = False
    for name in ("naive-drf", "tsf", "c-drfh"):
        tasks = allocate(instance, name).tasks_array
        level = _levels(instance, tasks)
        alone = instance.gamma()
        used = np.einsum("ni,nr->ir", tasks, instance.demands)
        full = used >= instance.capacities * (1 - AUDIT)
        bottlenecks = bottlenecks_of(instance, tasks)
        for i, r in np.argwhere(full):
            can_run = alone[:, i] > 0
            users = np.flatnonzero(can_run & (instance.demands[:, r] > 0))
            if not len(users):
                continue
            least = users[level[users, i].argmin()]
            higher = users[level[users, i] > level[least, i] * (1 + AUDIT)]
            if (tasks[higher, i] <= AUDIT * alone[higher, i]).all():
                met = True
                if not bottlenecks[least, i, r]:
                    return f"{name}, server {i + 1}, resource {r + 1}; {in_words(instance)}"
    return True if met else None


def update(instance: Instance, tasks: np.ndarray, server: int) -> np.ndarray | None:
    """Return the tasks after one call of Table II's subroutine, or None where it is not called."""
    demands = instance.demands
    alone = instance.gamma()[:, server]
    weights = instance.weights
    remaining = np.flatnonzero(alone > 0)
    while len(remaining):
        totals = tasks.sum(axis=1)
        level = totals[remaining] / alone[remaining] / weights[remaining]
        lowest = level.min()  # (16)
        poorest = remaining[level <= lowest * (1 + AUDIT)]
        used = tasks[:, server] @ demands
        full = used >= instance.capacities[server] * (1 - AUDIT)
        resources = np.flatnonzero(full & (demands[poorest] > 0).any(axis=0))
        chosen = set()
        bottleneck = None
        for r in resources:
            holders = remaining[
                (tasks[remaining, server] > AUDIT * alone[remaining]) & (demands[remaining, r] > 0)
            ]
            higher = [
                n for n in holders if totals[n] / alone[n] / weights[n] > lowest * (1 + AUDIT)
            ]
            if not higher:
                bottleneck = r
                break
            chosen.add(max(higher, key=lambda n: totals[n] / alone[n] / weights[n]))  # (18)
        if bottleneck is None:
            return _released(instance, tasks, server, poorest, sorted(chosen), lowest)
        remaining = remaining[demands[remaining, bottleneck] == 0]  # (17)
    return None


def _released(
    instance: Instance,
    tasks: np.ndarray,
    server: int,
    poorest: np.ndarray,
    chosen: list[int],
    lowest: float,
) -> np.ndarray:
    """Return the tasks after those chosen gave up a part β of theirs for the poorest."""
    alone = instance.gamma()[:, server]
    totals = tasks.sum(axis=1)
    freed = tasks[chosen, server] @ instance.demands[chosen]
    free = instance.capacities[server] - tasks[:, server] @ instance.demands + freed
    rates = instance.weights[poorest] * alone[poorest]
    needed = rates @ instance.demands[poorest]
    rise = (free[needed > 0] / needed[needed > 0]).min()
    beta = 1.0
    for n in chosen:
        # lowest + β·rise ≤ (x[n] − β·x[n,i])/(φ[n]γ[n,i])
        unit = instance.weights[n] * alone[n]
        possible = totals[n] - lowest * unit
        beta = min(beta, possible / (rise * unit + tasks[n, server]))
    after = tasks.copy()
    after[poorest, server] += beta * rise * rates
    after[chosen, server] *= 1 - beta
    return after


@PAPER.statement(
    "Equations (16), (17) and (18)",
    "One Update-Allocation keeps an allocation feasible, and the least s/φ on the server does not fall",
    _clusters,
    why="with the repairs that per-server-fairness.md names",
    of=("naive-drf",),
)
def equations_16_to_18(instance: Instance) -> CheckAnswer:
    """The subroutine once on each server, from DRF on each server."""
    tasks = allocate(instance, "naive-drf").tasks_array
    called = False
    for server in range(len(instance.servers)):
        after = update(instance, tasks, server)
        if after is None:
            continue
        called = True
        used = np.einsum("ni,nr->ir", after, instance.demands)
        fits = (used <= instance.capacities * (1 + AUDIT)).all() and after.min() >= -AUDIT
        before_level = _levels(instance, tasks)[:, server].min()
        after_level = _levels(instance, after)[:, server].min()
        if not fits or after_level < before_level * (1 - AUDIT):
            return f"server {server + 1}; {in_words(instance)}"
    return True if called else None


@PAPER.statement(
    "Equations (20), (21) and (22)",
    "PS-DSF leaves no eligible server where all that a user needs is left; else z > 0 tasks could be added",
    _clusters,
)
def equations_20_to_22(instance: Instance) -> CheckAnswer:
    """A tenth less than PS-DSF leaves z > 0, which uses up a resource or the time."""
    alone = instance.gamma()
    for name in (RDM, TDM):
        tasks = allocate(instance, name).tasks_array
        for n, i in np.argwhere(alone > 0):
            z = []
            for tasks_before in (tasks, 0.9 * tasks):
                used = tasks_before[:, i] @ instance.demands
                needed = instance.demands[n] > 0
                by_resources = (instance.capacities[i] - used)[needed] / instance.demands[n, needed]
                time = 1 - quotients(tasks_before[:, i], alone[:, i]).sum()
                z.append(by_resources.min() if name == RDM else alone[n, i] * time)
            if z[0] > AUDIT * alone[n, i] or z[1] <= 0:
                return f"{name}, user {n + 1}, server {i + 1}; {in_words(instance)}"
    return True


def _one_dominant(rng: np.random.Generator) -> Instance:
    """Return a cluster of which each user needs most, beside capacity, of the first resource."""
    plain = _clusters(rng, zeros=0.0)
    demands = plain.demands / 10
    demands[:, 0] = rng.integers(10, 20, len(demands))
    capacities = np.maximum(plain.capacities, plain.capacities[:, :1])
    return plain.replace(demands=demands, capacities=capacities)


@PAPER.statement(
    "Equations (23) and (24)",
    "One resource, or one that is dominant for all everywhere: s[n,i] = a[n]/c[i], a what n has of it",
    _one_dominant,
    of=("psdsf-rdm",),
)
def equations_23_and_24(instance: Instance) -> CheckAnswer:
    """Virtual shares beside amounts of that resource, of a PS-DSF allocation."""
    tasks = allocate(instance, RDM).tasks_array
    level = _levels(instance, tasks) * instance.weights[:, None]
    amounts = tasks.sum(axis=1) * instance.demands[:, 0]
    expected = amounts[:, None] / instance.capacities[:, 0]
    may = instance.gamma() > 0
    return np.allclose(level[may], expected[may], rtol=AGREEMENT)


@PAPER.item(
    "Equations (25) to (29)",
    "U of another's bundle, scaled by weights, is at most x[m]·φ[n]γ[n,i]/(φ[m]γ[m,i]) for all i, so at most x[n]",
    "psdsf-rdm",
)
def equations_25_to_29(run: Run) -> ItemAnswer:
    """Two servers, and a user of the second only: the bundle counted as one, and by server."""
    instance = Instance.from_arrays([[1], [1]], [[3], [1]], eligible=[[True, True], [False, True]])
    tasks = allocate(instance, RDM).tasks_array
    bundle = tasks[0].sum() * instance.demands[0]
    pooled = (bundle / instance.demands[1]).min()
    by_server = tasks[0, 1]
    own_tasks = tasks[1].sum()
    ours = (
        f"by (25) user 2, who has {own_tasks:.6g}, would run {pooled:.6g} tasks with the bundle of "
        f"user 1, and γ[2,1] = 0; with what of it lies on server 2, {by_server:.6g}"
    )
    why = (
        "(26) lacks the placement constraints: i must be a server on which n may run; counted server by server "
        "envy-freeness holds (Theorem 3)"
    )
    return on_instance(instance, pooled > own_tasks * (1 + AUDIT), ours, why)


@PAPER.statement(
    "Equations (26) and (27), without constraints",
    "min_r d[m,r]/d[n,r] ≤ γ[n,i]/γ[m,i] for every server i",
    lambda rng: integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3), zeros=0.2),
)
def equation_26(instance: Instance) -> CheckAnswer:
    """All pairs of users on all servers."""
    alone = instance.gamma()
    for n, need in enumerate(instance.demands):
        others = instance.demands[:, need > 0] / need[need > 0]
        least_ratio = others.min(axis=1)[:, None]
        if (least_ratio > alone[n] / alone * (1 + AUDIT)).any():
            return in_words(instance)
    return True


@PAPER.statement(
    "Equations (30) and (31)",
    "In units of what each could run on all servers, the uniform allocation is φ/Σφ",
    _clusters,
)
def equations_30_and_31(instance: Instance) -> CheckAnswer:
    """Tasks alone on a part φ/Σφ of every server, normalised."""
    part = instance.weights / instance.weights.sum()
    alone = instance.gamma()
    uniform = [
        instance.replace(capacities=instance.capacities * fraction).gamma()[n].sum()
        for n, fraction in enumerate(part)
    ]
    return np.allclose(np.array(uniform) / alone.sum(axis=1), part, rtol=AGREEMENT)


def _two_users(rng: np.random.Generator) -> Instance:
    """Return two weighted users whose only scarce resource on server i is resource i."""
    k = int(rng.integers(2, 5))
    capacities = np.full((k, k), 1000.0)
    capacities[np.arange(k), np.arange(k)] = rng.integers(1, 10, k)
    demands = rng.integers(1, 10, (2, k)).astype(float)
    return Instance.from_arrays(demands, capacities, weights=rng.integers(1, 4, 2))


@PAPER.statement(
    "Equations (32) to (36)",
    "Two users of one bottleneck on each server share one server j₀ at most, and each has at least φ/Σφ",
    _two_users,
)
def equations_32_to_36(instance: Instance) -> CheckAnswer:
    """Servers in the order of γ̂[n]/γ̂[m], and each line of the proof on a PS-DSF allocation."""
    alone = instance.gamma()
    normal = alone / alone.sum(axis=1, keepdims=True)
    order = np.argsort(normal[0] / normal[1])
    tasks = allocate(instance, RDM).tasks_array[:, order]
    normal = normal[:, order]
    parts = tasks / alone[:, order]  # α of (33) and (34)
    has_part = parts > AUDIT
    if not has_part[0].any():
        return False
    first = int(has_part[0].argmax())
    totals = (parts * normal).sum(axis=1)
    weights = instance.weights
    behind = parts[1, first + 1 :]
    ratio = normal[0] / normal[1]
    tied = ratio[first + 1 :] <= ratio[first] * (1 + AUDIT)
    alone_there = (behind[~tied] <= AUDIT).all()
    level = totals[:, None] / normal / weights[:, None]
    line_32 = level[1, first] >= level[0, first] * (1 - AUDIT)
    bound = (totals / weights >= 1 / weights.sum() * (1 - AUDIT)).all()
    return bool(alone_there and line_32 and bound) or in_words(instance)


@PAPER.statement(
    "Equation (37)",
    "γ[n,i]/γ[m,i] > γ[n,j]/γ[m,j]: n gives a part of j for a part of i, and both run more",
    lambda rng: rng.uniform(0.1, 10, (2, 2)),
)
def equation_37(alone: np.ndarray) -> CheckAnswer:
    """A rate of exchange between the two parts' worth to either user, of random γ."""
    ratio = alone[0] / alone[1]
    first = int(ratio[0] < ratio[1])
    i, j = first, 1 - first
    time = np.sqrt(alone[0, j] / alone[0, i] * alone[1, j] / alone[1, i])
    gain = alone[0, i] * time - alone[0, j]
    other = alone[1, j] - alone[1, i] * time
    return bool(gain > 0 and other > 0)


@PAPER.statement(
    "Equation (38)",
    "The rest after a user is frozen gives the others x̂ ≥ φ/Σφ, so PS-DSF does",
    _clusters,
    why="the statement; that the others lose nothing when the frozen user joins is assumed, and results.md proves it "
    "otherwise",
)
def equation_38(instance: Instance) -> CheckAnswer:
    """Totals beside φ/Σφ of tasks alone, under both divisions."""
    part = instance.weights / instance.weights.sum() * instance.gamma().sum(axis=1)
    return all(
        (allocate(instance, name).totals.to_numpy() >= part * (1 - AUDIT)).all()
        for name in (RDM, TDM)
    )


@PAPER.statement(
    "Equations (40) to (45)",
    "Of two who exchange tasks at the rates of (40) and (41), (44) and (45) let one at least lose",
    _clusters,
)
def equations_40_to_45(instance: Instance) -> CheckAnswer:
    """Both bounds, and an exchange, of all pairs who run on two servers."""
    tasks = allocate(instance, TDM).tasks_array
    alone = instance.gamma()
    totals = tasks.sum(axis=1)
    weights = instance.weights
    holds = tasks > AUDIT * alone
    tried = False
    for n, i in np.argwhere(holds):
        for m, j in np.argwhere(holds):
            if n == m or i == j or not alone[m, i] or not alone[n, j]:
                continue
            tried = True
            exchange_rate = weights[n] * totals[m] / (weights[m] * totals[n])
            line_44 = alone[m, i] / alone[n, i] <= exchange_rate * (1 + AUDIT)
            line_45 = alone[n, j] / alone[m, j] <= 1 / exchange_rate * (1 + AUDIT)
            # n gives a task on i and takes what makes it whole on j.
            tasks_given = alone[m, j] / alone[n, j]
            tasks_taken = alone[m, i] / alone[n, i]
            if not (line_44 and line_45 and tasks_taken <= tasks_given * (1 + AUDIT)):
                return f"users {n + 1} and {m + 1}; {in_words(instance)}"
    return True if tried else None


@PAPER.statement(
    "Equations (46) to (52)",
    "Time divided: U of a lie is at most x′·γ/γ′ on each server, and by (48) to (52) no lie pays",
    lambda rng: (_clusters(rng, zeros=0.0), rng),
    few=8,
    many=300,
    why="no lie that was tried pays, so that the set of (52) stays empty of liars",
    of=("psdsf-tdm",),
)
def equations_46_to_52(drawn: tuple[Instance, np.random.Generator]) -> CheckAnswer:
    """Random lies about demands: (47), and whether the liar gains."""
    instance, rng = drawn
    honest = allocate(instance, TDM).totals.to_numpy()
    alone = instance.gamma()
    for user, need in enumerate(instance.demands):
        for _ in range(4):
            claimed = auditing.nearby(need, rng)
            if not claimed.all():
                continue
            demands = instance.demands.copy()
            demands[user] = claimed
            changed = instance.replace(demands=demands)
            tasks = allocate(changed, TDM).totals.to_numpy()[user]
            useful = tasks * auditing.own_use(need, claimed)
            may = alone[user] > 0
            bound = tasks * alone[user, may] / changed.gamma()[user, may]
            is_above_bound = useful > bound.min() * (1 + AUDIT)
            lie_pays = useful > honest[user] * (1 + VERIFIED)
            if is_above_bound or lie_pays:
                return f"user {user + 1} claims {shown(claimed)}; {in_words(instance)}"
    return True


def _with_coprocessors(rng: np.random.Generator) -> Instance:
    """Return a cluster where coprocessors make tasks quicker: rates above resources'."""
    plain = _clusters(rng)
    alone = plain.gamma() / plain.counts
    speed = rng.choice([1.0, 2.0, 5.0], alone.shape)
    return plain.replace(rates=alone * speed)


@PAPER.statement(
    "§IV, scenario 2",
    "With coprocessors γ may be given, and PS-DSF is defined all the same",
    _with_coprocessors,
    why="with given rates (`rates=`), time divided; the paper has no numbers",
)
def coprocessors(instance: Instance) -> CheckAnswer:
    """Fixed points for given γ: all time used, by users of the least x/(φγ) on each server."""
    tasks = allocate(instance, TDM).tasks_array
    return _theorem_2(instance, tasks) and check.check(instance, tasks, "tdm").holds
