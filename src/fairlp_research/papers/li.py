"""Li, Liu, Zhang and Zhang, A note on dynamic fair division: lemmas, theorems, worst cases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import fairlp
from fairlp import Instance, allocate, examples

from .registry import CheckAnswer, Paper, Run, integers
from .verdicts import (
    AGREEMENT,
    AUDIT,
    ROUNDED,
    VERIFIED,
    Agreement,
    Chart,
    ItemAnswer,
    Line,
    Number,
    compare,
    in_words,
    on_instance,
    pairs,
    shown,
)

PAPER = Paper(
    "001",
    "W. Li, X. Liu, X. Zhang and X. Zhang, A note on dynamic fair division of multiple resources, "
    "2019",
    ("li-2019", "li", "dynamic-drf"),
)

#: Demands that stand for ε → 0, and to how many digits the limits are then right.
SMALL = 2.0**-40
DIGITS = 9
#: The mechanism of the paper, and the one that it names besides.
DYNAMIC = "dynamic-drf"
CAUTIOUS = "cautious-lp"


def arrivals(instance: Instance, mechanism: str, **how: Any) -> Any:
    """Return the steps of a mechanism for users who arrive."""
    allocation = allocate(instance, mechanism, **how)
    return allocation


def _drawn(rng: np.random.Generator) -> Instance:
    """Return up to eight users who arrive, with positive demands."""
    return integers(rng, users=(2, 8), resources=(2, 4))


def _limit(value: Fraction) -> str:
    """Return the limit of something for ε → 0 as a decimal."""
    return f"{ROUNDED}{float(value):.{DIGITS}f}"


@PAPER.statement(
    "Lemma 1",
    "x[i] at step k is max(M, x[i] at step k − 1) for the optimal M of LP (1)",
    _drawn,
    few=15,
    many=300,
    of=("dynamic-drf",),
)
def lemma_1(instance: Instance) -> CheckAnswer:
    """Each step's linear program has the shares that the lemma's rule builds from its M."""
    allocation = arrivals(instance, DYNAMIC, method="lp")
    before = np.zeros(0)
    for k in range(1, len(instance.users) + 1):
        shares = np.maximum(allocation.model(k).solve().objective, np.append(before, 0.0))
        if not np.allclose(shares, allocation.step_levels.after(k), rtol=VERIFIED):
            return f"step {k} of {in_words(instance)}"
        before = shares
    return True


@PAPER.statement("Lemma 2", "x[i] ≥ x[j] at every step for i < j", _drawn, of=("dynamic-drf",))
def lemma_2(instance: Instance) -> CheckAnswer:
    """Shares of the linear programs, in order of arrival."""
    steps = arrivals(instance, DYNAMIC, method="lp").steps.to_numpy()
    return not (np.diff(np.nan_to_num(steps), axis=1) > AUDIT).any()


@PAPER.statement(
    "Lemma 3",
    "A user who has more than another came before it, and has got nothing since it came",
    _drawn,
    of=("dynamic-drf",),
)
def lemma_3(instance: Instance) -> CheckAnswer:
    """The same as dynamic envy-freeness, from the table of steps alone."""
    steps = arrivals(instance, DYNAMIC).steps.to_numpy()
    for k, row in enumerate(steps):
        has_more = row[None, : k + 1] > row[: k + 1, None] + AUDIT
        for i, j in np.argwhere(has_more):
            came_before = j < i
            if not (came_before and abs(row[j] - steps[i - 1][j]) <= AUDIT):
                return f"step {k + 1} of {in_words(instance)}"
    return True


PAPER.audited(
    "§2, sharing incentives",
    "Every user has at least 1/n when it arrives, and later",
    DYNAMIC,
    "dynamic sharing incentive",
)
PAPER.audited(
    "§2, dynamic envy-freeness",
    "Who is envied came before, and has been given nothing since",
    DYNAMIC,
    "dynamically envy-free",
)
PAPER.audited(
    "§2, dynamic Pareto optimality",
    "At every step k/n of some resource is given out",
    DYNAMIC,
    "dynamically Pareto-optimal",
)
PAPER.audited(  # results.md has a proof
    "§2, strategy-proofness",
    "No user gains at any step by lying about its demands",
    DYNAMIC,
    "strategy-proof at every step",
    lies=True,
    why="no lie that was tried pays",
)
PAPER.audited("§2, irrevocability", "No user loses anything at any step", DYNAMIC, "irrevocable")


@PAPER.statement(
    "Theorem 1",
    "Halving finds the dynamic DRF solution of each step (in O(k))",
    _drawn,
    few=15,
    many=300,
    why="with line 6 corrected; benchmarks/arrivals.py measures the time",
)
def theorem_1(instance: Instance) -> CheckAnswer:
    """Algorithm 1, line 6 corrected, gives the levels of the linear programs.

    Water-filling and the stack, both in rationals, give them, too.
    """
    table = instance.demands / instance.pool
    exact = np.array(
        [[Fraction(float(d)) / Fraction(float(row.max())) for d in row] for row in table],
        dtype=object,
    )
    present = range(1, len(exact) + 1)
    parts = np.array([Fraction(k) for k in present], dtype=object)
    steps = fairlp.arrivals.linear(exact, parts)
    is_same = (
        steps == fairlp.arrivals.stack(exact, parts) == fairlp.arrivals.water_filling(exact, parts)
    )
    levels = arrivals(instance, DYNAMIC, method="lp").levels.to_numpy() * len(exact)
    return is_same and np.allclose(np.array(steps[0], dtype=float), levels, rtol=VERIFIED)


@PAPER.item("Algorithm 1", "As printed, its line 6 tests Σ d̂[i,r]·x[i] ≤ k/n")
def algorithm_1(run: Run) -> ItemAnswer:
    """The smallest case: after the second step no user may have less than before."""
    instance = Instance.from_arrays([[1, 0.1], [0.1, 1], [1, 0.1]], [[1, 1]])
    parts = [1, 2, 3]
    printed = fairlp.arrivals.linear(instance.demands, parts, as_printed=True)
    right = fairlp.arrivals.linear(instance.demands, parts)
    steps = arrivals(instance, DYNAMIC).steps.to_numpy()
    kept_or_level = np.maximum(np.nan_to_num(steps[1]), printed[0][2] / 3)
    used = (kept_or_level @ instance.demands).max()
    uses_too_much = used > 1 + AUDIT
    breaks = uses_too_much and abs(printed[0][2] - right[0][2]) > AUDIT
    levels = printed[0][2] / 3, right[0][2] / 3
    ours = (
        f"step 3 takes the level {levels[0]:.6g} (LP: {levels[1]:.6g}), and {used:.6g} of a "
        "resource is used"
    )
    return on_instance(
        instance,
        breaks,
        ours,
        "the test always holds; it must be of the first user's share, Σ d̂[i,r]·x[1]",
    )


@PAPER.statement(
    "Equation (2)",
    "From some τ on all have M, those before keep more, and M is a minimum over resources",
    _drawn,
)
def equation_2(instance: Instance) -> CheckAnswer:
    """The closed form at the τ that the answer names, beside the linear programs."""
    allocation = arrivals(instance, DYNAMIC, method="lp")
    n = len(instance.users)
    d = allocation.needs
    before = np.zeros(0)
    for k in range(1, n + 1):
        shares = allocation.step_levels.after(k)
        first = (shares <= shares[-1] * (1 + AGREEMENT)).argmax()
        remaining = k / n - before[:first] @ d[:first]
        level = (remaining / d[first:k].sum(axis=0)).min()

        is_off = abs(level - shares[-1]) > VERIFIED * level
        has_lost = (shares[:first] < before[:first] - AUDIT).any()
        if is_off or has_lost:
            return f"step {k} of {in_words(instance)}"
        before = shares
    return True


@PAPER.item(
    "§4, sum of shares",
    "m + 1 users: x → m/(m + 1) and 1/(m + 1), DRF → ½; Σx → (m² + 1)/(m + 1) > (m + 1)/2",
)
def sums(run: Run) -> ItemAnswer:
    """The instance for several m."""
    numbers: list[Number] = []
    for m in (2, 3, 5):
        allocation = arrivals(examples.epsilon(m, SMALL), DYNAMIC)
        last = allocation.competitive().iloc[-1]
        printed = {
            f"x of the first, m = {m}": _limit(Fraction(m, m + 1)),
            f"x of the last, m = {m}": _limit(Fraction(1, m + 1)),
            f"DRF, m = {m}": _limit(Fraction(1, 2)),
            f"Σx, m = {m}": _limit(Fraction(m * m + 1, m + 1)),
            f"Σx of DRF, m = {m}": _limit(Fraction(m + 1, 2)),
        }
        numbers += pairs(
            printed, [*allocation.shares.iloc[[0, -1]], *last[["drf", "sum", "drf_sum"]]]
        )
    return compare(
        numbers,
        "so the sum of shares is no measure of competitiveness",
        size=f"ε = 2^-40, {DIGITS} decimals",
    )


def _many_users(rng: np.random.Generator) -> Instance:
    """Return up to 39 users of log-normal demands who arrive."""
    m = rng.integers(2, 6)
    n = rng.integers(2, 40)
    return Instance.from_arrays(rng.lognormal(0, 1.5, (n, m)), [np.full(m, 100.0 * n)])


@PAPER.statement(
    "Theorem 2, bound",
    "The smallest share is at least ⌈k/m⌉/k ≥ 1/m of DRF's at every step",
    _many_users,
    few=100,
    many=3000,
    of=("dynamic-drf",),
)
def theorem_2(instance: Instance) -> CheckAnswer:
    """The ratio at every step of random instances."""
    ratio = arrivals(instance, DYNAMIC).competitive()["cr2"].to_numpy()
    k = np.arange(1, len(ratio) + 1)
    return (ratio >= np.ceil(k / len(instance.resources)) / k - AUDIT).all()


@PAPER.item(
    "Theorem 2, worst case",
    "m² + 1 users: the ratio at the last step → (m + 1)/(m² + 1); at step m² every user has m/(m² + "
    "1)",
)
def worst_case(run: Run) -> ItemAnswer:
    """The instance for m = 2 … 8, drawn beside 1/m."""
    numbers: list[Number] = []
    ours = []
    sizes = range(2, 9)
    for m in sizes:
        allocation = arrivals(examples.m_squared_plus_one(m, SMALL), DYNAMIC)
        ours.append(allocation.competitive()["cr2"].iloc[-1])
        printed = {
            f"ratio, m = {m}": _limit(Fraction(m + 1, m * m + 1)),
            f"x at step m², m = {m}": _limit(Fraction(m, m * m + 1)),
            f"x of the last, m = {m}": _limit(Fraction(1, m * m + 1)),
        }
        numbers += pairs(
            printed, [ours[-1], allocation.levels.iloc[-2], allocation.levels.iloc[-1]]
        )
    x = tuple(map(float, sizes))
    lines = (
        Line("ours", x, tuple(ours)),
        Line("paper", x, tuple((m + 1) / (m * m + 1) for m in x), printed=True),
        Line("bound 1/m", x, tuple(1 / m for m in x)),
    )
    chart = Chart(
        "Li et al., Theorem 2: the worst case", "resources m", "smallest share / DRF's", lines
    )
    return compare(numbers, size=f"ε = 2^-40, {DIGITS} decimals", chart=chart)


def better_on_the_worst_case(m: int, epsilon: float) -> np.ndarray:
    """Return shares by step and user that keep more of DRF's than (m + 1)/(m² + 1), for m = 2.

    Of the five users the first, third and fifth need all of resource 1 and ε of resource 2; the
    others the opposite. At each step users of resource 1 who are there rise to 6/7 of what DRF
    gives at the step, and the newcomer takes what is left of its resource.
    """
    n = m * m + 1
    types = np.arange(n) % m
    demands = np.where(types[:, None] == np.arange(m), 1.0, epsilon)
    shares = np.zeros((n, n))
    for k in range(1, n + 1):
        drf = k / n / demands[:k].sum(axis=0).max()
        x = shares[k - 2].copy() if k > 1 else np.zeros(n)
        early = (np.arange(n) < k - 1) & (types == 0)
        x[early] = np.maximum(x[early], 6 / 7 * drf)
        x[k - 1] = ((k / n - x @ demands) / demands[k - 1]).min()
        shares[k - 1] = x
    return shares


@PAPER.item(
    "Theorem 2, any mechanism",
    "No mechanism with dynamic Pareto optimality does better on that instance",
)
def any_mechanism(run: Run) -> ItemAnswer:
    """An irrevocable sequence for the paper's instance, with dynamic Pareto optimality."""
    m = 2
    instance = examples.m_squared_plus_one(m, SMALL)
    shares = better_on_the_worst_case(m, SMALL)
    demands = instance.demands / instance.demands.max(axis=1, keepdims=True)
    steps = np.arange(1, len(shares) + 1)
    used = shares @ demands / (steps / len(shares))[:, None]
    is_optimal = np.allclose(used.max(axis=1), 1, rtol=AUDIT)  # a resource that all need is used up
    is_irrevocable = (np.diff(shares, axis=0) >= 0).all()
    least = [shares[k - 1, :k].min() for k in steps]
    is_sharing = min(least) >= 1 / len(shares) * (1 - AUDIT)
    drf = [k / len(shares) / demands[:k].sum(axis=0).max() for k in steps]
    ratio = min(mine / theirs for mine, theirs in zip(least, drf, strict=True))
    bound = (m + 1) / (m * m + 1)
    return on_instance(
        instance,
        is_optimal and is_irrevocable and is_sharing and ratio > bound * (1 + AUDIT),
        f"a sequence with the sharing incentive keeps {ratio:.3g} of DRF's shares at every step, "
        f"more than {bound:.3g}",
        "the first m² need not have all of every resource; the bound stands where the last user asks "
        "for what is used up by then (ours): Theorem 2, the last user",
    )


@PAPER.item(
    "Theorem 2, the last user",
    "All the resources of step m² are allocated to the first m² users",
)
def the_last_user(run: Run) -> ItemAnswer:
    """What the last user finds when the first m² have all that their step may give out."""
    numbers: list[Number] = []
    for m in (2, 3, 5):
        allocation = arrivals(examples.m_squared_plus_one(m, SMALL), DYNAMIC)
        smallest_rest = 1 - allocation.utilization_by_step.loc[m * m].min()
        numbers += pairs(
            {f"left for the last, m = {m}": _limit(Fraction(1, m * m + 1))}, [smallest_rest]
        )
    return compare(
        numbers,
        "so by dynamic DRF on that instance; another mechanism may leave more of one resource "
        "(Theorem 2, any mechanism)",
    )


@PAPER.statement(
    "§5, cautious LP at the last step",
    "Achieves a near optimal smallest share at the last step",
    _drawn,
    why="by our reading of it, equal to that of static DRF",
)
def cautious_last(instance: Instance) -> CheckAnswer:
    """Its last step beside static DRF (our reading of the cautious LP: docs/arrivals.md)."""
    level = arrivals(instance, CAUTIOUS).levels.iloc[-1]
    return np.isclose(level, allocate(instance, "drf").shares.min(), rtol=AGREEMENT)


PAPER.shipped(
    "§5, cautious LP and Pareto optimality",
    "Violates dynamic Pareto optimality",
    CAUTIOUS,
    "dynamically Pareto-optimal",
    "by our reading of it",
    missing=True,
)


@PAPER.item(
    "§5, cautious LP in the last steps", "Allocates too many resources at the last several steps"
)
def cautious_late(run: Run) -> ItemAnswer:
    """How much of what is given out in all goes out in the last tenth of the steps."""
    demands = np.where(np.eye(4)[np.arange(40) % 4] > 0, 1.0, 0.01)
    instance = Instance.from_arrays(demands, [[40] * 4])
    last_tenth = {}
    for name in (DYNAMIC, CAUTIOUS):
        used = arrivals(instance, name).utilization_by_step.max(axis=1).to_numpy()
        last_tenth[name] = 1 - used[-5] / used[-1]
    ours = (
        f"the last 4 of 40 steps give out {last_tenth[CAUTIOUS]:.0%}, under dynamic DRF "
        f"{last_tenth[DYNAMIC]:.0%}"
    )
    verdict = (
        Agreement.HOLDS if last_tenth[CAUTIOUS] > 2 * last_tenth[DYNAMIC] else Agreement.DIFFERS
    )
    return ItemAnswer(
        verdict,
        ours,
        "by our reading of it",
        count=1,
        size="40 users, 4 resources",
        witness=shown(demands[:4]),
    )
