"""Wang, Li and Liang, DRFH: the two-server example, the program, and its theorems (§§III to V)."""

from __future__ import annotations

from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance, Model, allocate, audit, examples

from ..simulation import Workload, experiments
from ..simulation.generators import google_sample, synthetic
from .registry import CheckAnswer, Paper, Run, Scale, breaks, integers, over
from .verdicts import (
    AGREEMENT,
    AUDIT,
    CONFIDENCE,
    VERIFIED,
    Agreement,
    Chart,
    ItemAnswer,
    Line,
    Number,
    beside,
    compare,
    in_words,
    line,
    named,
    on_instance,
    pairs,
    shown,
)

PAPER = Paper(
    "002",
    "W. Wang, B. Li and B. Liang, Dominant Resource Fairness in Cloud Computing Systems with "
    "Heterogeneous "
    "Servers, INFOCOM 2014",
    ("wang-2014", "wang", "drfh"),
)

#: Audits of what is proved of DRFH (positive demands, any weights and placement of servers).
DRFH = "drfh"
#: The part of a resource that is taken away to see whether it is missed.
A_LITTLE = 2.0**-20


def _clusters(rng: np.random.Generator) -> Instance:
    """Return a small random cluster with positive demands."""
    return integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3))


@PAPER.item("Table I", "Google's servers: ten configurations, 12 thousand servers")
def table_1(run: Run) -> ItemAnswer:
    """The table that ships, and its sum."""
    table = examples.google_servers()
    printed = {
        "0.50, 0.50": 6732,
        "0.50, 0.25": 3863,
        "0.50, 0.75": 1001,
        "1.00, 1.00": 795,
        "0.25, 0.25": 126,
    }
    printed |= {
        "0.50, 0.12": 52,
        "0.50, 0.03": 5,
        "0.50, 0.97": 5,
        "1.00, 0.50": 3,
        "0.50, 0.06": 1,
    }
    ours = {
        f"{cpu:.2f}, {memory:.2f}": count for cpu, memory, count in table.itertuples(index=False)
    }
    return beside(
        printed, [ours.get(name, 0) for name in printed], f"{table['count'].sum():,} servers in all"
    )


@PAPER.item(
    "Figure 1",
    "Capacities (1/7, 6/7), (6/7, 1/7); D (1/70, 1/14), (1/14, 1/70); d̂ (1/5, 1), (1, 1/5)",
)
def figure_1(run: Run) -> ItemAnswer:
    """Capacities and demands as shares of the pool."""
    instance = examples.wang_figure_1()
    share = instance.demands / instance.pool
    normalised = share / share.max(axis=1, keepdims=True)
    printed = named("c", ["1/7", "6/7", "6/7", "1/7"]) | named(
        "D", ["1/70", "1/14", "1/14", "1/70"]
    )
    printed |= named("d̂", ["1/5", 1, 1, "1/5"])
    return beside(
        printed, [*(instance.capacities / instance.pool).flat, *share.flat, *normalised.flat]
    )


@PAPER.item(
    "Figure 2",
    "DRF on each server: 5 and 1 tasks on server 1, 1 and 5 on server 2, 6 each; not "
    "Pareto-optimal",
)
def figure_2(run: Run) -> ItemAnswer:
    """DRF server by server, and whether a user could gain."""
    instance = examples.wang_figure_1()
    allocation = allocate(instance, "naive-drf")
    printed = named("tasks", [5, 1, 1, 5]) | named("total", [6, 6]) | {"Pareto-optimal": "no"}
    judged = audit(instance, allocation, "Pareto-optimal").holds.iloc[0]
    return beside(printed, [*allocation.tasks_array.flat, *allocation.totals, judged])


@PAPER.item("§III-D, utilisation", "DRF on each server may lead to arbitrarily low utilisation")
def low_utilisation(run: Run) -> ItemAnswer:
    """M users, servers and resources; server i has little of resource i, user i needs little."""
    used = []
    for m in (2, 4, 8):
        table = np.where(np.eye(m) > 0, 1 / m**2, 1.0)
        instance = Instance.from_arrays(table, table)
        naive = allocate(instance, "naive-drf")
        best = allocate(instance, DRFH)
        used.append(naive.totals.sum() / best.totals.sum())
    ours = f"tasks beside DRFH's with m = 2, 4, 8: {shown(used)}"
    verdict = (
        Agreement.HOLDS if used[0] > used[1] > used[2] and used[2] < 1 / 4 else Agreement.DIFFERS
    )
    return ItemAnswer(verdict, ours, "it falls like 1/m", count=3)


@PAPER.item("Figure 3", "DRFH: server 1 to user 1, server 2 to user 2, 10 tasks each, g = 5/7")
def figure_3(run: Run) -> ItemAnswer:
    """DRFH of the example."""
    allocation = allocate(examples.wang_figure_1(), DRFH)
    printed = named("tasks", [10, 0, 0, 10]) | named("g", ["5/7", "5/7"])
    return beside(printed, [*allocation.tasks_array.flat, *allocation.levels])


@PAPER.item(
    "§III-D, example",
    "User 1 alone on server 1 and user 2 alone on server 2 run 10 tasks each, more than 6",
)
def exclusive(run: Run) -> ItemAnswer:
    """Tasks alone."""
    return beside(named("tasks of user", [10, 10]), np.diag(examples.wang_figure_1().gamma()))


PAPER.uncheckable(
    "Definition 1",
    "Non-wasteful: less of anything would run fewer tasks",
    "a definition; the entry of Lemma 1 uses it",
)


def _bundles(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the demand of a task, and a bundle in proportion to it or not."""
    need = rng.uniform(0.01, 0.2, rng.integers(2, 5))
    return need, need * rng.integers(1, 5) * (
        1 if rng.random() < 0.5 else rng.uniform(1, 2, len(need))
    )


@PAPER.statement(
    "Lemma 1",
    "An allocation wastes nothing if and only if it is g·d̂; g is the global dominant share",
    _bundles,
    few=200,
    many=5000,
)
def lemma_1(drawn: tuple[np.ndarray, np.ndarray]) -> CheckAnswer:
    """Random bundles, in proportion and not: whether less of something would run as many tasks."""
    need, bundle = drawn
    normal = need / need.max()
    tasks = (bundle / need).min()
    reduced = bundle * (1 - np.eye(len(need)) * A_LITTLE)
    wasteless = ((reduced / need).min(axis=1) < tasks * (1 - AGREEMENT)).all()
    proportional = np.ptp(bundle / normal) <= AGREEMENT * (bundle / normal).max()
    share = np.isclose((bundle / normal).min(), tasks * need.max(), rtol=AGREEMENT)
    return (wasteless == proportional and share) or f"D {shown(need)}, bundle {shown(bundle)}"


@PAPER.item("Lemma 1, proof", "N = min_r A[r]/D[r] = g·D[r*] tasks")
def lemma_1_proof(run: Run) -> ItemAnswer:
    """Both sides for user 1 of Fig. 1."""
    instance = examples.wang_figure_1()
    need = instance.demands[0] / instance.pool
    g = 5 / 7
    tasks = (g * need / need.max() / need).min()
    return beside(
        {"N": "10", "g·D": "10"},
        [tasks, g * need.max()],
        otherwise="it is g/D[r*]: 10 tasks of 1/14 of the memory each are 5/7 of it",
        witness=in_words(instance),
    )


def _program_7(instance: Instance, counted: list[int]) -> float:
    """Return the optimum of LP (7) where the equal share is summed over the servers that count."""
    n = instance.users
    i = instance.servers
    r = instance.resources
    share = instance.demands / instance.pool
    model = Model("LP (7)", indices=(n, i, r))
    d = model.parameter("d_hat", (n, r), share / share.max(axis=1, keepdims=True))
    c = model.parameter("c", (i, r), instance.capacities / instance.pool)
    chi = model.parameter("chi", i, counted)
    g = model.variable("g", n, i)
    t = model.variable("t")
    model.constraint("capacity", (d * g).sum(n) <= c)
    model.constraint("equal", (chi * g).sum(i) == t)
    model.maximize(t)
    return float(model.solve().objective)


@PAPER.item(
    "Program (7)", "The largest equal share is the optimum of a linear program: 5/7 for Fig. 1"
)
def program_7(run: Run) -> ItemAnswer:
    """The program with the sum over servers, beside DRFH on random clusters."""

    def same(instance: Instance) -> CheckAnswer:
        optimum = _program_7(instance, [1] * len(instance.servers))
        return np.isclose(optimum, allocate(instance, DRFH).levels.min(), rtol=VERIFIED)

    fig = pairs({"g": "5/7"}, [_program_7(examples.wang_figure_1(), [1, 1])])
    return over(run, _clusters, same, few=15, many=300) if fig[0].agrees else compare(fig)


@PAPER.item("Program (7), as printed", "Σ over users U of g[n,l] = g")
def program_7_printed(run: Run) -> ItemAnswer:
    """A third server that the sum over two users leaves out."""
    pair = examples.wang_figure_1()
    instance = Instance.from_arrays(pair.demands, [[2, 12], [12, 2], [6, 6]])
    printed = _program_7(instance, [1, 1, 0])
    right = _program_7(instance, [1, 1, 1])
    ours = f"as printed {printed:.6g}, over servers {right:.6g}"
    return on_instance(
        instance,
        right > printed * (1 + AUDIT),
        ours,
        "the sum runs over servers S, not users U",
    )


PAPER.audited("Proposition 1", "DRFH is envy-free", DRFH, "envy-free")
PAPER.audited("Proposition 2", "DRFH is Pareto-optimal", DRFH, "Pareto-optimal")
PAPER.audited(
    "Proposition 3",
    "DRFH is truthful",
    DRFH,
    "strategy-proof",
    lies=True,
    why="no lie that was tried pays",
)


@PAPER.statement(
    "Proposition 4",
    "On one server DRFH is DRF",
    integers,
    of=(
        "drf",
        "drfh",
    ),
)
def proposition_4(instance: Instance) -> CheckAnswer:
    """Both on one server."""
    return np.allclose(
        allocate(instance, DRFH).totals, allocate(instance, "drf").totals, rtol=AGREEMENT
    )


PAPER.audited("Proposition 5", "Single-resource fairness", DRFH, "single-resource")
PAPER.audited(
    "Proposition 6",
    "Bottleneck fairness: one global dominant resource of all is shared max-min fairly",
    DRFH,
    "global bottleneck",
)


@PAPER.item("Proposition 7", "Population monotonicity", "drfh")
def proposition_7(run: Run) -> ItemAnswer:
    """DRFH without each user in turn, with positive demands as the paper assumes."""

    def monotonic(instance: Instance) -> CheckAnswer:
        verdict = audit(instance, allocate(instance, DRFH), "population-monotonic").iloc[0]
        return verdict["witness"] if verdict["holds"] is False else True

    excluded = breaks(DRFH, "population-monotonic")
    why = (
        "with zero demands, which §III-A excludes, it fails"
        if excluded.verdict is Agreement.REFUTED
        else ""
    )
    return over(run, _clusters, monotonic, many=300, why=why)


@PAPER.item(
    "§IV-D, two equal divisions",
    "Both (a) half of each server and (b) (1.5, 5.5) and (5.5, 1.5) are 7 CPUs and 7 GB; which to "
    "take is unclear",
)
def equal_divisions(run: Run) -> ItemAnswer:
    """What user 1 could run with either."""
    instance = examples.wang_figure_1()
    parts = {"(a)": instance.capacities / 2, "(b)": np.array([[1.5, 5.5], [5.5, 1.5]])}
    printed = dict.fromkeys(["CPUs (a)", "memory (a)", "CPUs (b)", "memory (b)"], 7)
    totals = np.concatenate([division.sum(axis=0) for division in parts.values()])
    tasks = {
        name: (division / instance.demands[0]).min(axis=1).sum() for name, division in parts.items()
    }
    return beside(
        printed, totals, f"user 1 runs {tasks['(a)']:g} tasks in (a), {tasks['(b)']:g} in (b)"
    )


PAPER.shipped(
    "§IV-D, sharing incentive",
    "Is not defined for several servers, and not promised",
    DRFH,
    "sharing incentive",
    "measured by an equal part of every server",
    missing=True,
)


def _finite_clusters(rng: np.random.Generator) -> Instance:
    """Return such a cluster with weights and task limits."""
    plain = _clusters(rng)
    n = len(plain.users)
    return plain.replace(weights=rng.integers(1, 5, n), task_limits=rng.integers(1, 12, n))


@PAPER.statement(
    "§V-A, weights and finite tasks",
    "The analysis extends to weighted users with a finite number of tasks",
    _finite_clusters,
    many=300,
    of=("drfh",),
)
def finite(instance: Instance) -> CheckAnswer:
    """Envy-freeness, Pareto optimality and population monotonicity with weights and task limits."""
    properties = ["envy-free", "Pareto-optimal", "population-monotonic"]
    verdicts = audit(instance, allocate(instance, DRFH), properties)
    broken = verdicts[verdicts.holds.eq(False)]
    return (
        f"{broken.index[0]}: {broken.witness.iloc[0]}; {in_words(instance)}"
        if len(broken)
        else True
    )


@PAPER.item(
    "§V-B, formula (9)", "Best-Fit takes the server whose free capacity is most like the demand"
)
def best_fit(run: Run) -> ItemAnswer:
    """Whole tasks on the servers of Fig. 1: Best-Fit reaches the optimum of Fig. 3, alone.

    First-Fit does not.
    """
    instance = examples.wang_figure_1()
    totals = {name: allocate(instance, name).totals for name in ("drfh-best-fit", "drfh-first-fit")}
    return beside(
        named("tasks of user", [10, 10]),
        totals["drfh-best-fit"],
        f"First-Fit: {shown(totals['drfh-first-fit'])}; the paper has no numbers of its own here, "
        "Fig. 3's are taken",
    )


# Wang, Li and Liang, §VI: Fig. 4 to the number, and in kind what was simulated on a trace that is
# not available.

#: Draws of servers and jobs by scale, and of servers for Fig. 4.
DRAWS = 2
DRAWS_4 = 8
HOUR = 3600.0
#: What all that rests on the trace says.
NO_TRACE = "the trace is not available; the jobs are synthetic"
#: What the titles of such figures say of their jobs.
SYNTHETIC = "synthetic jobs"
#: Times [s] at which one, two and three users are there, and what Fig. 4's text says of their
#: shares.
MOMENTS = (150, 450, 850)
SHARES = ("0.62", "0.44", "0.26")


def _draw(scale: Scale, seed: int) -> tuple[Instance, Workload, float]:
    """Return servers, jobs, and until when they run."""
    jobs, users, hours, servers = (
        (64_000, 900, 24, 2000) if scale is Scale.PAPER else (160, 15, 4, 30)
    )
    load = synthetic(jobs, users, tasks=38, duration=600, hours=hours, largest=0.1, seed=seed)
    return google_sample(servers, seed), load, hours * HOUR


def _size(run: Run, draws: int = DRAWS) -> str:
    if run.scale is Scale.PAPER:
        return "2,000 servers, a day, synthetic jobs"
    return f"{draws} draw{'s' * (draws > 1)} of 30 of 2,000 servers, 4 of 24 hours"


def _seeds(run: Run) -> range:
    return range(run.seed, run.seed + run.of(DRAWS, 1))


def _comparisons(run: Run) -> list[experiments.Comparison]:
    return [compared(run.scale, seed, run.folder, run.progress) for seed in _seeds(run)]


@cache
def compared(
    scale: Scale, seed: int, folder: Path | None, progress: bool | None
) -> experiments.Comparison:
    """Return one draw under the three schedulers, for three figures."""
    servers, load, until = _draw(scale, seed)
    return experiments.compare_policies(
        servers, load, until=until, every=120, folder=folder, progress=progress
    )


@PAPER.item(
    "Figure 4",
    "Shares of 0.62, then 0.44 each, then 0.26 each; at first 40 % of the CPUs and 62 % of the "
    "memory",
)
def figure_4(run: Run) -> ItemAnswer:
    """Best-Fit with users who join, on several draws of 100 servers near the paper's pool.

    A number agrees when it lies in the interval that holds the next draw with 99 %, widened by half
    a unit of its last place.
    """
    from scipy.stats import t

    draws = []
    for seed in range(run.seed, run.seed + run.of(DRAWS_4, 100)):
        run_result = experiments.joining_users(
            examples.wang_figure_4(seed), every=10, until=900, progress=False
        )
        shares = run_result.shares.loc[list(MOMENTS)].to_numpy()
        rows = [row[row > 0].mean() for row in shares]
        draws.append([*rows, *run_result.utilization.loc[MOMENTS[0]]])
    values = np.array(draws)
    n = len(values)
    means = values.mean(axis=0)
    half = (
        t.ppf((1 + CONFIDENCE) / 2, n - 1) * values.std(axis=0, ddof=1) * sqrt(1 + 1 / n) + 1 / 200
    )
    names = ("share of one", "shares of two", "shares of three", "CPUs in use", "memory in use")
    numbers = tuple(
        Number(name, printed, float(mean), bool(abs(mean - float(printed)) <= width))
        for name, printed, mean, width in zip(
            names, (*SHARES, "0.40", "0.62"), means, half, strict=True
        )
    )
    disagreeing = [number.name for number in numbers if not number.agrees]
    last = run_result.shares.rolling(3, min_periods=1).mean()
    lines = [line(str(user), last.index, last[user]) for user in last]
    lines.append(line("paper", MOMENTS, SHARES, printed=True))
    chart = Chart(
        "Wang et al., Fig. 4: Best-Fit (one draw)",
        "time [s]",
        "global dominant share",
        tuple(lines),
    )
    ours = ", ".join(map(str, numbers))
    why = (
        "the paper says neither which servers were drawn nor how long tasks take"
        if disagreeing
        else ""
    )
    verdict = Agreement.DIFFERS if disagreeing else Agreement.NOISE
    return ItemAnswer(verdict, ours, why, numbers, size=f"{n} draws of 100 servers", chart=chart)


@PAPER.item(
    "Figure 4, precisely DRFH", "Best-Fit precisely achieves the DRFH allocation at all times"
)
def precisely(run: Run) -> ItemAnswer:
    """The linear program with as many users as are there."""
    cluster = examples.wang_figure_4(run.seed)
    level = [allocate(cluster.select_users(np.arange(k)), "drfh").levels.min() for k in (1, 2, 3)]
    ours = f"DRFH has {level[0]:.3g}, {level[1]:.3g} and {level[2]:.3g}"
    why = "whole tasks leave half of a server of 0.5 memory unused when a task needs 0.3"
    is_far = any(
        abs(share - float(paper)) > 1 / 10 for share, paper in zip(level, SHARES, strict=True)
    )
    verdict = Agreement.REFUTED if is_far else Agreement.HOLDS
    return ItemAnswer(
        verdict,
        ours,
        why,
        count=1,
        witness="100 servers drawn from Table I, users (0.2, 0.3), (0.5, 0.1), (0.1, 0.3)",
    )


#: Slots of the largest server → CPU and memory in use [%], as Table II prints them.
TABLE_II = {
    10: ("35.1", "23.4"),
    12: ("42.2", "27.4"),
    14: ("43.9", "28.0"),
    16: ("45.4", "24.2"),
    20: ("40.6", "20.0"),
}


@PAPER.item(
    "§VI, slot size", "The slots with the highest CPU and memory utilization are 14 of a server"
)
def slot_size(run: Run) -> ItemAnswer:
    """The rows of the printed Table II that have the most CPU, memory and both in use."""
    slots = list(TABLE_II)
    used = np.array([[float(printed) for printed in row] for row in TABLE_II.values()])
    most = [slots[k] for k in used.argmax(axis=0)]
    both = slots[int(used.sum(axis=1).argmax())]
    printed = {"most CPU": "14", "most memory": "14", "most of both together": "14"}
    return beside(
        printed,
        [*most, both],
        otherwise="its own Table II has the highest CPU, 45.4 %, at 16 slots",
    )


@PAPER.item(
    "Table II",
    "Slots of 1/10 … 1/20 of the largest server: CPU 35.1, 42.2, 43.9, 45.4, 40.6 %; memory 23.4 … "
    "20.0 %; 14 is best",
)
def table_2(run: Run) -> ItemAnswer:
    """Slots of the same sizes on a synthetic workload."""
    servers, load, until = _draw(run.scale, run.seed)
    mean = experiments.slot_sizes(
        servers, load, until=until, every=120, folder=run.folder, progress=run.progress
    )
    used = (100 * mean[["cpu", "memory"]]).to_numpy()
    numbers = [
        Number(f"{resource} with {slots} slots [%]", paper, float(value))
        for (slots, papers), row in zip(TABLE_II.items(), used, strict=True)
        for resource, paper, value in zip(("cpu", "memory"), papers, row, strict=True)
    ]
    best = mean["overall"].idxmax()
    ours = ", ".join(
        f"{slots}: {row[0]:.3g}, {row[1]:.3g} %"
        for slots, row in zip(mean.index, used, strict=True)
    )
    why = f"{NO_TRACE}, and the best size, {best} here, depends on the tasks"
    printed = zip(*TABLE_II.values(), strict=True)
    lines = []
    for resource, values, papers in zip(("CPU", "memory"), used.T, printed, strict=True):
        lines.append(line(resource, TABLE_II, values))
        lines.append(line(f"paper, {resource}", TABLE_II, papers, printed=True))
    title = f"Wang et al., Table II: Slots ({SYNTHETIC})"
    chart = Chart(title, "slots of the largest server", "in use [%]", tuple(lines))
    size = _size(run, 1)
    return ItemAnswer(Agreement.NOT_REPRODUCED, ours, why, tuple(numbers), size=size, chart=chart)


@PAPER.item(
    "Figure 5",
    "Both DRFH schedulers use far more than Slots, Best-Fit uniformly more than First-Fit at all "
    "times",
)
def figure_5(run: Run) -> ItemAnswer:
    """Mean utilisation of each scheduler, and that of two of them at all times."""
    series = [comparison.utilization() for comparison in _comparisons(run)]
    below = [(table["best-fit"] < table["first-fit"]).to_numpy() for table in series]
    used = [
        utilisation.summary().filter(like="used").mean(axis=1) for utilisation in _comparisons(run)
    ]
    checks = {
        "Best-Fit above Slots": [
            utilisation["best-fit"] > utilisation["slots"] for utilisation in used
        ],
        "First-Fit above Slots": [
            utilisation["first-fit"] > utilisation["slots"] for utilisation in used
        ],
        "Best-Fit above First-Fit in the mean": [
            utilisation["best-fit"] > utilisation["first-fit"] for utilisation in used
        ],
        "Best-Fit never below First-Fit": [not table.any() for table in below],
    }
    difference = np.mean(
        [utilisation["best-fit"] - utilisation["first-fit"] for utilisation in used]
    )
    lines = []
    for resource, printed in zip(("cpu", "memory"), TABLE_II[14], strict=True):
        in_use = 100 * series[0].xs(resource, axis="columns", level="resource")
        hours = in_use.index / HOUR
        lines += [
            line(str(policy), hours, values, panel=resource) for policy, values in in_use.items()
        ]
        label = "paper: mean of slots (Table II)"
        lines.append(line(label, [hours[-1] / 2], [printed], printed=True, panel=resource))
    chart = Chart(
        f"Wang et al., Fig. 5: one draw, {SYNTHETIC}", "time [h]", "in use [%]", tuple(lines)
    )
    return _picture(
        checks,
        run,
        chart,
        f"Best-Fit uses {100 * difference:.2g} % of the servers more than First-Fit, and less than it "
        f"at {100 * np.mean(below):.2g} % of the times",
    )


@PAPER.item("Figure 6a", "Jobs end sooner under Best-Fit than under Slots")
def figure_6a(run: Run) -> ItemAnswer:
    """Mean completion time of the jobs that end under both."""
    tables = [
        comparison.completion()[["best-fit", "slots"]].dropna() for comparison in _comparisons(run)
    ]
    sooner = [times["best-fit"].mean() < times["slots"].mean() for times in tables]
    jobs = pd.concat(tables)
    fractions = np.arange(1, len(jobs) + 1) / len(jobs)
    chart = Chart(
        f"Wang et al., Fig. 6a: {SYNTHETIC}; the paper prints no number",
        "completion time of a job [s]",
        "fraction of the jobs that end under both",
        tuple(line(str(policy), np.sort(times), fractions) for policy, times in jobs.items()),
    )
    return _picture({"sooner under Best-Fit": sooner}, run, chart)


@PAPER.item(
    "Figure 6b",
    "No improvement for small jobs; generally more, the larger a job is, of five classes",
)
def figure_6b(run: Run) -> ItemAnswer:
    """Reductions of the completion time by class of jobs."""
    tables = [reductions.reductions()["reduction"] for reductions in _comparisons(run)]
    mean = sum(tables[1:], tables[0]) / len(tables)
    checks = {
        "the largest jobs gain more than the smallest": [
            reductions.iloc[-1] > reductions.iloc[0] for reductions in tables
        ],
        "each class gains more than that of smaller jobs": [
            reductions.is_monotonic_increasing for reductions in tables
        ],
        "the smallest gain nothing": [reductions.iloc[0] <= 0 for reductions in tables],
    }
    means = ", ".join(f"{name}: {value:.0%}" for name, value in mean.items())
    drawn = mean.reset_index(drop=True).dropna()
    chart = Chart(
        f"Wang et al., Fig. 6b: Best-Fit against Slots, {SYNTHETIC}",
        f"classes of jobs by tasks: {', '.join(mean.index)}",
        "reduction of the completion time [%]",
        (
            line("mean of the draws", drawn.index + 1, 100 * drawn),
            line("paper: no improvement for small jobs", [1], [0], printed=True),
        ),
    )
    return _picture(checks, run, chart, f"mean reductions by tasks of a job: {means}")


@PAPER.item(
    "Figure 7",
    "A higher ratio of completed tasks for almost all users; around 20 % have all only under "
    "Best-Fit",
)
def figure_7(run: Run) -> ItemAnswer:
    """Completion ratios by user."""
    ratios = [ratio.ratios() for ratio in _comparisons(run)]
    no_lower = np.mean([(ratio["best-fit"] >= ratio["slots"]).mean() for ratio in ratios])
    only = np.mean([((ratio["best-fit"] == 1) & (ratio["slots"] < 1)).mean() for ratio in ratios])
    numbers = (
        Number("no lower [%]", "", float(100 * no_lower)),
        Number("all tasks under Best-Fit only [%]", "20", float(100 * only)),
    )
    ours = f"no lower for {no_lower:.0%}; all tasks under Best-Fit only for {only:.0%}"
    users = pd.concat(ratios)
    chart = _ratios(
        "7",
        line("users", users["slots"], users["best-fit"], points=True),
        ("under Slots", "under Best-Fit"),
        line(
            f"all tasks under Best-Fit only: paper 20% of the users, ours {only:.0%}",
            (0, 1),
            (1, 1),
        ),
    )
    size = _size(run)
    return ItemAnswer(Agreement.NOT_REPRODUCED, ours, NO_TRACE, numbers, size=size, chart=chart)


@PAPER.item(
    "Figure 8",
    "Only 2 % of the users have fewer tasks done in the shared cloud than in one of their own, "
    "slightly fewer",
)
def figure_8(run: Run) -> ItemAnswer:
    """The shared cloud beside dedicated ones."""
    clouds = []
    for seed in _seeds(run):
        servers, load, until = _draw(run.scale, seed)
        clouds.append(
            experiments.dedicated_clouds(
                servers, load, until=until, every=600, folder=run.folder, progress=run.progress
            )
        )
    figures = [cloud.figures() for cloud in clouds]
    fewer = np.mean([figure["fewer tasks shared"] for figure in figures])
    loss = max(figure["largest loss of ratio"] for figure in figures)
    numbers = (Number("fewer [%]", "2", float(100 * fewer)),)
    ours = f"fewer for {fewer:.1%}, by {loss:.1%} of their tasks at most"
    users = pd.concat([cloud.users for cloud in clouds])
    chart = _ratios(
        "8",
        line("users", users["dedicated"], users["shared"], points=True),
        ("in a cloud of their own", "in the shared cloud"),
        line(f"as many in both; below it: paper 2% of the users, ours {fewer:.1%}", (0, 1), (0, 1)),
    )
    size = _size(run)
    return ItemAnswer(Agreement.NOT_REPRODUCED, ours, NO_TRACE, numbers, size=size, chart=chart)


def _ratios(number: str, users: Line, places: tuple[str, str], paper: Line) -> Chart:
    """Return a chart of tasks completed in two places, a point a user."""
    title = f"Wang et al., Fig. {number}: tasks completed, {SYNTHETIC}"
    right, up = (f"fraction {place}" for place in places)
    return Chart(title, right, up, (paper, users))


def _picture(checks: dict[str, list[Any]], run: Run, chart: Chart, why: str = "") -> ItemAnswer:
    """Return what of a picture is seen on how many draws."""
    ours = "; ".join(f"{name}: {sum(seen)} of {len(seen)} draws" for name, seen in checks.items())
    why = "; ".join(filter(None, [NO_TRACE, why]))
    return ItemAnswer(Agreement.PICTURE, ours, why, size=_size(run), chart=chart)
