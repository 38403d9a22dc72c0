"""Li et al., dynamic fair division: equations, claims of cost, and open questions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import fairlp
from fairlp import Instance, allocate

from .growth import judged, measured
from .li import CAUTIOUS, DYNAMIC, PAPER, _drawn, arrivals
from .registry import CheckAnswer, Run
from .verdicts import (
    AGREEMENT,
    AUDIT,
    VERIFIED,
    Agreement,
    ItemAnswer,
    in_words,
    on_instance,
    shown,
)


def _largest_level(d: np.ndarray, before: np.ndarray, part: float) -> float:
    """Return the optimum of program (1) of one step, restated for SciPy."""
    from scipy.optimize import linprog

    k, resources = d.shape
    cost = np.append(np.zeros(k), -1.0)
    levels = np.hstack([-np.eye(k), np.ones((k, 1))])
    capacity = np.hstack([d.T, np.zeros((resources, 1))])
    bounds = [*((float(x), None) for x in before), (0.0, None)]
    optimum = linprog(
        cost,
        np.vstack([levels, capacity]),
        np.append(np.zeros(k), np.full(resources, part)),
        bounds=bounds,
    )
    return float(-optimum.fun)


@PAPER.statement(
    "Equation (1)",
    "The dominant shares of step k are an optimum of the linear program",
    _drawn,
    few=10,
    many=300,
)
def equation_1(instance: Instance) -> CheckAnswer:
    """Shares by water-filling keep its rows, and their least is SciPy's optimum of them."""
    allocation = arrivals(instance, DYNAMIC, method="water-filling")
    n = len(instance.users)
    before = np.zeros(0)
    for k in range(1, n + 1):
        shares = allocation.step_levels.after(k)
        d = allocation.needs[:k]
        fits = (shares @ d <= k / n + AUDIT).all()
        feasible = fits and (shares[:-1] >= before - AUDIT).all()
        level = _largest_level(d, np.append(before, 0.0), k / n)
        if not feasible or not np.isclose(shares.min(), level, rtol=VERIFIED):
            return f"step {k} of {in_words(instance)}"
        before = shares
    return True


@PAPER.item("Equation (2), its τ", "There is such a τ ≤ k − 1 at every step k ≥ 2")
def tau(run: Run) -> ItemAnswer:
    """Two users of different resources, and a third of both: alone at the new level."""
    instance = Instance.from_arrays([[1, 0.25], [0.25, 1], [1, 1]], [[1, 1]])
    shares = arrivals(instance, DYNAMIC).steps.to_numpy()[2]
    ours = f"step 3 leaves {shown(shares)}: only the third user is at the new level, τ = k"
    is_alone = shares[:2].min() > shares[2] * (1 + AUDIT)
    return on_instance(instance, is_alone, ours, "τ ≤ k, as Algorithm 1 has it (UB begins at k)")


@PAPER.statement(
    "Equations (3) and (4)",
    "α + x[l]·β ≤ k/n for every resource if and only if M ≥ x[l] of step k − 1, and then l ≥ τ",
    _drawn,
    of=("dynamic-drf",),
)
def equations_3_and_4(instance: Instance) -> CheckAnswer:
    """The test of Algorithm 1 at every l of every step, beside the levels of the programs."""
    allocation = arrivals(instance, DYNAMIC, method="lp")
    n = len(instance.users)
    d = allocation.needs
    for k in range(2, n + 1):
        before = np.append(allocation.step_levels.after(k - 1), 0.0)
        shares = allocation.step_levels.after(k)
        first = int((shares <= shares.min() * (1 + AGREEMENT)).argmax())
        for position in range(k):
            alpha = before[:position] @ d[:position]
            beta = d[position:k].sum(axis=0)
            slack = k / n - alpha - before[position] * beta
            if abs(slack).min() <= VERIFIED:  # on the border rounding decides
                continue
            fits = (slack > 0).all()
            if fits != (shares.min() >= before[position]) or (fits and position < first):
                return f"step {k}, l = {position + 1} of {in_words(instance)}"
    return True


def one_step(state: tuple[np.ndarray, np.ndarray, float]) -> tuple[float, int]:
    """Return the level of one step by lines 6 to 21 of Algorithm 1, and how many users it looks at.

    ``state`` is demands (R, k), shares before the step (0 for the newcomer), and k/n.
    """
    d, before, part = state
    k = d.shape[1]
    beta = d.sum(axis=1)
    looked_at = k
    if (beta * before[0] <= part).all():
        return float((part / beta).min()), looked_at
    lower = 1
    upper = k
    alpha = np.zeros(len(d))  # of users before ``lower``, and below of the others by halves
    alpha = alpha + d[:, 0] * before[0]
    beta = beta - d[:, 0]
    while upper - lower > 1:
        middle = (lower + upper + 1) // 2
        between = slice(lower, middle - 1)
        looked_at += middle - 1 - lower
        used = (d[:, between] * before[between]).sum(axis=1)
        needed = d[:, between].sum(axis=1)
        if (alpha + used + (beta - needed) * before[middle - 1] <= part).all():
            upper = middle
        else:
            lower = middle
            alpha = alpha + used + d[:, middle - 1] * before[middle - 1]
            beta = beta - needed - d[:, middle - 1]
    return float(((part - alpha) / beta).min()), looked_at


def _last_step(users: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the data of the last step of random users; the steps before it by the stack."""
    rng = np.random.default_rng(users)
    d = rng.uniform(0.01, 1, (users, 4))
    d /= d.max(axis=1, keepdims=True)
    levels, first = fairlp.arrivals.stack(d[:-1], np.arange(1, users))
    before = np.zeros(users)
    for level, position, newcomer in zip(levels, first, range(users - 1), strict=True):
        before[position : newcomer + 1] = level
    return np.ascontiguousarray(d.T), before, float(users)


@PAPER.item("Theorem 1, O(k)", "Step k takes O(k), and the halves sum to k + k/2 + … + 1")
def linear_time(run: Run) -> ItemAnswer:
    """Algorithm 1 written anew: measured times of the last step, and the users it looks at."""
    sizes = (2**13, 2**15, 2**17)
    states = {size: _last_step(size) for size in sizes}
    ratios = []
    for size, state in states.items():
        level, looked_at = one_step(state)
        levels, _ = fairlp.arrivals.stack(state[0].T, np.arange(1, size + 1))
        assert np.isclose(level, levels[-1], rtol=VERIFIED), size
        ratios.append(looked_at / size)
    answer = judged(
        [measured("users", sizes, states.__getitem__, one_step, 1)],
        f"it looks at up to {max(ratios):.3g} users for each user present",
    )
    return answer


def stages(needs: Sequence[Sequence[Fraction]]) -> int:
    """Return how many stages water-filling takes in all steps, in rationals."""
    levels: list[Any] = []
    count = 0
    resources = range(len(needs[0]))
    for k in range(1, len(needs) + 1):
        levels.append(Fraction(0))
        free = [
            k - sum(level * row[r] for level, row in zip(levels, needs, strict=False))
            for r in resources
        ]
        while True:
            count += 1
            least = min(levels)
            poorest = [n for n, level in enumerate(levels) if level == least]
            rate = [sum(needs[n][r] for n in poorest) for r in resources]
            rise = min(free[r] / rate[r] for r in resources if rate[r])
            above = min((level for level in levels if level > least), default=None)
            step = rise if above is None else min(rise, above - least)
            for n in poorest:
                levels[n] += step
            free = [free[r] - step * rate[r] for r in resources]
            if step == rise:
                break
    return count


@PAPER.item("§1, water-filling", "The running time of water-filling is pseudo-polynomial")
def water_filling_stages(run: Run) -> ItemAnswer:
    """Stages of all steps, with demands of 1 to 60 binary digits."""
    rng = run.rng
    count = run.of(20, 300)
    largest = 0.0
    for draw in range(count):
        digits = 1 + 59 * draw // count
        n = int(rng.integers(2, 12))
        table = [[int(value) for value in row] for row in rng.integers(1, 2**digits + 1, (n, 3))]
        needs = [[Fraction(value, max(row)) for value in row] for row in table]
        largest = max(largest, stages(needs) / n)
    ours = f"at most {largest:.3g} stages for each user, whatever the numbers"
    return ItemAnswer(
        Agreement.REFUTED if largest < 2 else Agreement.HOLDS,
        ours,
        "2n − 1 stages at most: each but the last of a step joins two groups of users for good, so O(n²·m) for all "
        "steps; that is polynomial, though not linear (water-filling as the paper describes it: Kash et al.'s text was "
        "not at hand)",
        count=count,
        witness="every one: the bound is of all instances",
    )


@PAPER.statement(
    "§4, DRF at step k",
    "The DRF solution of the users present is (k/n) / max_r Σ d̂[i,r] each",
    _drawn,
)
def drf_at_a_step(instance: Instance) -> CheckAnswer:
    """The formula beside static DRF of the first users on k/n of the pool."""
    n = len(instance.users)
    table = instance.demands / instance.pool
    normal = table / table.max(axis=1, keepdims=True)
    for k in range(1, n + 1):
        present = Instance.from_arrays(instance.demands[:k], instance.capacities * (k / n))
        shares = allocate(present, "drf", method="lp").shares.to_numpy() * (k / n)
        formula = k / n / normal[:k].sum(axis=0).max()
        if not np.allclose(shares, formula, rtol=AGREEMENT):
            return f"step {k} of {in_words(instance)}"
    return True


@PAPER.statement(
    "§4, CR2 is reasonable",
    "The least share of dynamic DRF is at most that of DRF at every step",
    _drawn,
    of=("dynamic-drf",),
)
def at_most_drf(instance: Instance) -> CheckAnswer:
    """The ratio of the least shares."""
    return (arrivals(instance, DYNAMIC).competitive()["cr2"] <= 1 + AUDIT).all()


@PAPER.statement(
    "§5, ratio of the cautious LP",
    "The competitive ratio of the cautious LP is open",
    _drawn,
    why="answered for our reading of it: at least n/(q(n − q + 1)), q = min(m, ⌊(n + 1)/2⌋) (results.md)",
    of=("cautious-lp",),
)
def cautious_ratio(instance: Instance) -> CheckAnswer:
    """Our bound at every step."""
    n = len(instance.users)
    q = min(len(instance.resources), (n + 1) // 2)
    ratios = arrivals(instance, CAUTIOUS).competitive()
    return (ratios["cr2"] >= n / (q * (n - q + 1)) - AUDIT).all()


@PAPER.statement(
    "§5, an algorithm for the cautious LP",
    "A combinatorial algorithm for the cautious LP is a challenge",
    _drawn,
    few=10,
    why="answered for our reading of it: M = 1/(n − k + max_r Σ d̂[i,r]) at step k",
)
def cautious_algorithm(instance: Instance) -> CheckAnswer:
    """The closed form beside the linear programs."""
    n = len(instance.users)
    table = instance.demands / instance.pool
    normal = table / table.max(axis=1, keepdims=True)
    sums = np.cumsum(normal, axis=0).max(axis=1)
    levels = 1 / (n - np.arange(1, n + 1) + sums)
    answer = arrivals(instance, CAUTIOUS, method="lp")
    return np.allclose(answer.levels, levels, rtol=VERIFIED)


PAPER.uncheckable(
    "§1, related work",
    "DRF has been generalized to many dimensions; solving a linear program takes too much time",
    "prior work and motivation; benchmarks/arrivals.py measures the programs",
)
