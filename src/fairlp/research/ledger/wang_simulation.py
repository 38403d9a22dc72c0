"""Wang, Li and Liang, §VI: Fig. 4 to the number, and in kind what was simulated on a trace that is not available.

The workload is synthetic (``simulation.generators.synthetic``): four hours of small tasks for 30 of Google's servers,
twice as many as these can do; at the paper's scale a day for 2,000 servers and 900 users.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from ... import examples
from ...api import allocate
from ...models.instances.instance import Instance
from ..simulation import Workload, experiments
from ..simulation.generators import google_sample, synthetic
from .registry import Run, Scale, entry
from .verdicts import CONFIDENCE, Answer, Chart, Line, Number, Verdict

#: Draws of servers and jobs by scale, and of servers for Fig. 4.
DRAWS, DRAWS_4 = 2, 8
HOUR = 3600.0
#: What all that rests on the trace says.
NO_TRACE = "the trace is not available; the jobs are synthetic"
#: Times [s] at which one, two and three users are there, and what Fig. 4's text says of their shares.
MOMENTS, SHARES = (150, 450, 850), ("0.62", "0.44", "0.26")


def _draw(scale: Scale, seed: int) -> tuple[Instance, Workload, float]:
    """Return servers, jobs, and until when they run."""
    jobs, users, hours, servers = (64_000, 900, 24, 2000) if scale is Scale.PAPER else (160, 15, 4, 30)
    load = synthetic(jobs, users, tasks=38, duration=600, hours=hours, largest=0.1, seed=seed)
    return google_sample(servers, seed), load, hours * HOUR


def _size(run: Run, draws: int = DRAWS) -> str:
    if run.scale is Scale.PAPER:
        return "2,000 servers, a day, synthetic jobs"
    return f"{draws} draw{'s' * (draws > 1)} of 30 of 2,000 servers, 4 of 24 hours"


def _seeds(run: Run) -> range:
    return range(run.seed, run.seed + run.of(DRAWS, 1))


def _comparisons(run: Run) -> list[experiments.Comparison]:
    return [compared(run.scale, seed, run.progress) for seed in _seeds(run)]


@cache
def compared(scale: Scale, seed: int, progress: bool | None) -> experiments.Comparison:
    """Return one draw under the three schedulers, of which three figures tell."""
    servers, load, until = _draw(scale, seed)
    return experiments.compare_policies(servers, load, until=until, every=120, progress=progress)


@entry(
    "002",
    "Figure 4",
    "Shares of 0.62, then 0.44 each, then 0.26 each; at first 40 % of the CPUs and 62 % of the memory",
)
def figure_4(run: Run) -> Answer:
    """Best-Fit with users who join, on several draws of 100 servers near the paper's pool.

    A number agrees when it lies in the interval that holds the next draw with 99 %, widened by half a unit of its
    last place.
    """
    from scipy.stats import t

    draws = []
    for seed in range(run.seed, run.seed + run.of(DRAWS_4, 100)):
        cluster = examples.wang_figure_4(seed)
        found = experiments.joining_users(cluster, every=10, until=900, progress=False)
        there = found.shares.loc[list(MOMENTS)].to_numpy()
        rows = [row[row > 0].mean() for row in there]
        draws.append([*rows, *found.utilization.loc[MOMENTS[0]]])
    values = np.array(draws)
    n, means = len(values), values.mean(axis=0)
    half = t.ppf((1 + CONFIDENCE) / 2, n - 1) * values.std(axis=0, ddof=1) * sqrt(1 + 1 / n) + 1 / 200
    names = ("share of one", "shares of two", "shares of three", "CPUs in use", "memory in use")
    numbers = tuple(
        Number(name, printed, float(mean), bool(abs(mean - float(printed)) <= width))
        for name, printed, mean, width in zip(names, (*SHARES, "0.40", "0.62"), means, half, strict=True)
    )
    wrong = [one.name for one in numbers if not one.agrees]
    last = found.shares.rolling(3, min_periods=1).mean()
    lines = [Line(str(user), tuple(map(float, last.index)), tuple(map(float, last[user]))) for user in last]
    lines.append(Line("paper", tuple(map(float, MOMENTS)), tuple(map(float, SHARES)), printed=True))
    chart = Chart("Wang et al., Fig. 4: Best-Fit (one draw)", "time [s]", "global dominant share", tuple(lines))
    ours = ", ".join(map(str, numbers))
    why = "the paper says neither which servers were drawn nor how long tasks take" if wrong else ""
    verdict = Verdict.DIFFERS if wrong else Verdict.NOISE
    return Answer(verdict, ours, why, numbers, size=f"{n} draws of 100 servers", chart=chart)


@entry("002", "Figure 4, precisely DRFH", "Best-Fit precisely achieves the DRFH allocation at all times")
def precisely(run: Run) -> Answer:
    """The linear program with as many users as are there."""
    cluster = examples.wang_figure_4(run.seed)
    level = [allocate(cluster.select_users(np.arange(k)), "drfh").levels.min() for k in (1, 2, 3)]
    ours = f"DRFH has {level[0]:.3g}, {level[1]:.3g} and {level[2]:.3g}"
    why = "whole tasks leave half of a server of 0.5 memory unused when a task needs 0.3"
    far = any(abs(one - float(paper)) > 1 / 10 for one, paper in zip(level, SHARES, strict=True))
    verdict = Verdict.REFUTED if far else Verdict.HOLDS
    return Answer(
        verdict, ours, why, count=1, witness="100 servers drawn from Table I, users (0.2, 0.3), (0.5, 0.1), (0.1, 0.3)"
    )


@entry(
    "002",
    "Table II",
    "Slots of 1/10 … 1/20 of the largest server: CPU 35.1, 42.2, 43.9, 45.4, 40.6 %; memory 23.4 … 20.0 %; 14 is best",
)
def table_2(run: Run) -> Answer:
    """Slots of the same sizes on a synthetic workload."""
    servers, load, until = _draw(run.scale, run.seed)
    mean = experiments.slot_sizes(servers, load, until=until, every=120, progress=run.progress)
    printed = {
        10: ("35.1", "23.4"),
        12: ("42.2", "27.4"),
        14: ("43.9", "28.0"),
        16: ("45.4", "24.2"),
        20: ("40.6", "20.0"),
    }
    used = (100 * mean[["cpu", "memory"]]).to_numpy()
    numbers = [
        Number(f"{resource} with {slots} slots [%]", paper, float(value))
        for (slots, papers), row in zip(printed.items(), used, strict=True)
        for resource, paper, value in zip(("cpu", "memory"), papers, row, strict=True)
    ]
    best = mean["overall"].idxmax()
    ours = ", ".join(f"{slots}: {row[0]:.3g}, {row[1]:.3g} %" for slots, row in zip(mean.index, used, strict=True))
    why = f"{NO_TRACE}, and the best size, {best} here, depends on the tasks"
    return Answer(Verdict.NOT_REPRODUCED, ours, why, tuple(numbers), size=_size(run, 1))


@entry("002", "Figure 5", "Both DRFH schedulers use far more than Slots, Best-Fit uniformly more than First-Fit")
def figure_5(run: Run) -> Answer:
    """Mean utilisation of each scheduler."""
    used = [one.summary().filter(like="used").mean(axis=1) for one in _comparisons(run)]
    checks = {
        "Best-Fit above Slots": [one["best-fit"] > one["slots"] for one in used],
        "First-Fit above Slots": [one["first-fit"] > one["slots"] for one in used],
        "Best-Fit above First-Fit": [one["best-fit"] > one["first-fit"] for one in used],
    }
    more = np.mean([one["best-fit"] - one["first-fit"] for one in used])
    return _picture(checks, run, f"Best-Fit uses {100 * more:.2g} % of the servers more than First-Fit")


@entry("002", "Figure 6a", "Jobs end sooner under Best-Fit than under Slots")
def figure_6a(run: Run) -> Answer:
    """Mean completion time of the jobs that end under both."""
    sooner = []
    for one in _comparisons(run):
        times = one.completion()[["best-fit", "slots"]].dropna()
        sooner.append(times["best-fit"].mean() < times["slots"].mean())
    return _picture({"sooner under Best-Fit": sooner}, run)


@entry("002", "Figure 6b", "No improvement for small jobs, more the larger a job is")
def figure_6b(run: Run) -> Answer:
    """Reductions of the completion time by class of jobs."""
    tables = [one.reductions()["reduction"] for one in _comparisons(run)]
    mean = sum(tables[1:], tables[0]) / len(tables)
    checks = {
        "the largest jobs gain more than the smallest": [one.iloc[-1] > one.iloc[0] for one in tables],
        "the smallest gain nothing": [one.iloc[0] <= 0 for one in tables],
    }
    said = ", ".join(f"{name}: {value:.0%}" for name, value in mean.items())
    return _picture(checks, run, f"mean reductions by tasks of a job: {said}")


@entry(
    "002",
    "Figure 7",
    "A higher ratio of completed tasks for almost all users; around 20 % have all only under Best-Fit",
)
def figure_7(run: Run) -> Answer:
    """Completion ratios by user."""
    ratios = [one.ratios() for one in _comparisons(run)]
    no_lower = np.mean([(one["best-fit"] >= one["slots"]).mean() for one in ratios])
    only = np.mean([((one["best-fit"] == 1) & (one["slots"] < 1)).mean() for one in ratios])
    numbers = (
        Number("no lower [%]", "", float(100 * no_lower)),
        Number("all tasks under Best-Fit only [%]", "20", float(100 * only)),
    )
    ours = f"no lower for {no_lower:.0%}; all tasks under Best-Fit only for {only:.0%}"
    return Answer(Verdict.NOT_REPRODUCED, ours, NO_TRACE, numbers, size=_size(run))


@entry(
    "002",
    "Figure 8",
    "Only 2 % of the users have fewer tasks done in the shared cloud than in one of their own, slightly fewer",
)
def figure_8(run: Run) -> Answer:
    """The shared cloud beside dedicated ones."""
    found = []
    for seed in _seeds(run):
        servers, load, until = _draw(run.scale, seed)
        found.append(
            experiments.dedicated_clouds(servers, load, until=until, every=600, progress=run.progress).figures()
        )
    fewer = np.mean([one["fewer tasks shared"] for one in found])
    loss = max(one["largest loss of ratio"] for one in found)
    numbers = (Number("fewer [%]", "2", float(100 * fewer)),)
    ours = f"fewer for {fewer:.1%}, by {loss:.1%} of their tasks at most"
    return Answer(Verdict.NOT_REPRODUCED, ours, NO_TRACE, numbers, size=_size(run))


def _picture(checks: dict[str, list[Any]], run: Run, why: str = "") -> Answer:
    """Return what of a picture is seen on how many draws."""
    ours = "; ".join(f"{name}: {sum(seen)} of {len(seen)} draws" for name, seen in checks.items())
    return Answer(Verdict.PICTURE, ours, "; ".join(filter(None, [NO_TRACE, why])), size=_size(run))
