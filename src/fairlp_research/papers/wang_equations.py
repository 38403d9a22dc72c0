"""Wang, Li and Liang, DRFH: the numbered equations, each by SciPy or NumPy alone beside fairlp."""

from __future__ import annotations

import numpy as np

from fairlp import Instance, allocate

from .registry import CheckAnswer, Run, integers
from .verdicts import AGREEMENT, AUDIT, VERIFIED, ItemAnswer, in_words, on_instance, shown
from .wang import DRFH, PAPER, _clusters


def _shares(instance: Instance) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the paper's D (N, R), d̂ (N, R) and c (K, R): all as parts of the pool."""
    share = instance.demands / instance.pool
    return share, share / share.max(axis=1, keepdims=True), instance.capacities / instance.pool


def largest_share(normal: np.ndarray, capacity: np.ndarray, *, equal: bool) -> float:
    """Return the optimum of program (6), or of (7) with ``equal`` shares, by SciPy."""
    from scipy.optimize import linprog

    n, _ = normal.shape
    k, resources = capacity.shape
    cost = np.append(np.zeros(n * k), -1.0)
    used = np.zeros((k * resources, n * k + 1))
    for server in range(k):
        for user in range(n):
            rows = slice(server * resources, (server + 1) * resources)
            used[rows, user * k + server] = normal[user]
    share = np.hstack([-np.kron(np.eye(n), np.ones(k)), np.ones((n, 1))])
    how = {"A_eq": share, "b_eq": np.zeros(n)} if equal else {}
    table = used if equal else np.vstack([used, share])
    right = capacity.ravel() if equal else np.append(capacity.ravel(), np.zeros(n))
    return float(-linprog(cost, table, right, **how).fun)


def _bundle(rng: np.random.Generator) -> tuple[Instance, np.ndarray]:
    """Return a cluster, and shares of each resource on each server for its first user."""
    instance = _clusters(rng)
    return instance, rng.random(instance.capacities.shape) * instance.capacities / instance.pool


@PAPER.statement(
    "Equations (1), (2) and (3)",
    "N = Σ min A/D tasks; on a server G = N·D[r*] = min A/d̂; G is their sum",
    _bundle,
)
def equations_1_to_3(drawn: tuple[Instance, np.ndarray]) -> CheckAnswer:
    """Both sides of (2) on random bundles, and (1) beside what a user could run with all of it."""
    instance, bundle = drawn
    share, normal, capacity = _shares(instance)
    tasks = (bundle / share[0]).min(axis=1)
    dominant = (bundle / normal[0]).min(axis=1)
    alone = (capacity / share[0]).min(axis=1)
    return (
        np.allclose(tasks * share[0].max(), dominant, rtol=AGREEMENT)
        and np.isclose(dominant.sum(), tasks.sum() * share[0].max(), rtol=AGREEMENT)
        and np.allclose(alone, instance.gamma()[0], rtol=AGREEMENT)
    )


@PAPER.statement(
    "Equations (4) and (6)",
    "The largest least global dominant share, of any allocation and of shares g·d̂; (7) is equivalent",
    _clusters,
    why="of users with a positive need of everything; SciPy's optimum",
)
def equations_4_and_6(instance: Instance) -> CheckAnswer:
    """Programs (6) and (7) restated for SciPy, and the least level of DRFH.

    Every allocation A has shares G = min A/d̂, and G·d̂ ≤ A uses no more: (4) has the same optimum.
    """
    _, normal, capacity = _shares(instance)
    level = float(allocate(instance, DRFH).shares.min())
    least = largest_share(normal, capacity, equal=False)
    equal = largest_share(normal, capacity, equal=True)
    return np.allclose([least, equal], level, rtol=VERIFIED) or in_words(instance)


@PAPER.item(
    "Equation (5)", "A bundle A′ with ε less of resource r₁ than A, which runs as many tasks"
)
def equation_5(run: Run) -> ItemAnswer:
    """A bundle out of proportion, less ε of what there is too much of."""
    instance = Instance.from_arrays([[1, 2]], [[10, 10]])
    bundle = np.array([3.0, 4.0])
    need = instance.demands[0]
    smaller_bundle = bundle - [0.5, 0]
    tasks = (smaller_bundle / need).min()
    is_same = tasks == (bundle / need).min()
    ours = f"{shown(bundle)} and {shown(smaller_bundle)} both run {tasks:g} tasks of {shown(need)}"
    why = "as printed A′ is defined by itself: the right side is meant to have A[r₁] − ε and A[r]"
    return on_instance(instance, not is_same, ours, why)


def _three_users(rng: np.random.Generator) -> Instance:
    """Return such a cluster of at least three users."""
    return integers(rng, users=(3, 5), servers=(2, 3), resources=(2, 3))


@PAPER.statement(
    "Equation (8)",
    "Without user j the program has an optimum of at least g, since the others' shares are feasible for it",
    _three_users,
    why="its last sum, too, is printed over users and runs over servers",
)
def equation_8(instance: Instance) -> CheckAnswer:
    """The optimum without each user in turn, capacities as they are."""
    _, normal, capacity = _shares(instance)
    level = largest_share(normal, capacity, equal=True)
    for user in range(len(normal)):
        if largest_share(np.delete(normal, user, axis=0), capacity, equal=True) < level - AUDIT:
            return f"without user {user + 1}: {in_words(instance)}"
    return True


@PAPER.item(
    "§IV-D, small slices",
    "With many users a slice of every server cannot be used by any task; whole servers of a cloud of one's own can",
)
def small_slices(run: Run) -> ItemAnswer:
    """Twenty users of tasks (1, 1) on twenty servers (4, 4): slices, and one server each."""
    instance = Instance.from_arrays([[1, 1]], [[4, 4]], counts=[20])
    users = 20
    slices = (
        np.floor(instance.capacities / users / instance.demands[0]).min(axis=1) @ instance.counts
    )
    tasks_alone = np.floor(instance.capacities / instance.demands[0]).min(axis=1)
    own_tasks = tasks_alone @ instance.counts / users
    ours = f"each of {users} users runs {slices:g} whole tasks on its slices, {own_tasks:g} on its own server"
    return on_instance(instance, not slices < own_tasks, ours, "Figure 8 compares with such clouds")


PAPER.uncheckable(
    "§VI, the trace",
    "Over 900 users on 12 thousand servers for a day; each user has tasks of its own CPU and memory",
    "the trace is not available; Table I has its servers, and the entries of Figures 5 to 8 use synthetic jobs",
)
PAPER.uncheckable(
    "§I and §II, motivation",
    "Slot-based schedulers are inefficient; other work assumes one server",
    "motivation and prior work; Table II and Figure 5 compare with Slots",
)
