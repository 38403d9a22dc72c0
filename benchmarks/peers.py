"""What benchmarks/races.py races: the same problems for ``cvxpy_leximin``, Gavel's water filling, POP, and ours.

- ``cvxpy_leximin`` (Erel Segal-Halevi; ``pip install --no-deps cvxpy_leximin``) runs its own code. It replaces methods
  of ``cvxpy.Problem`` in the process that imports it.
- Gavel (Narayanan et al., OSDI 2020) is a scheduler, not a package: its water filling is written anew here, after
  ``scheduler/policies/max_min_fairness_water_filling.py`` of github.com/stanford-futuredata/gavel,
  with CVXPY, ECOS and GLPK as there (HiGHS where one of them is missing: ``pip install ecos
  cvxopt``).
- POP (Narayanan et al., SOSP 2021) deals users and servers out at random and solves every part by itself: so do we
  here, each part by the method that also solves the whole.

PyOptInterface, Pyoframe and linopy build models; compile_drfh.py compares their seconds with ours, ports.py their code.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import process_time
from typing import Any

import cvxpy as cp
import numpy as np

import fairlp
from fairlp import Index, Instance, Model
from fairlp_research.library.numerics import scattered

#: Gavel freezes who cannot be raised by this factor and this much more; its levels are promised no
#: better than that.
SLACK, EPSILON = 1.0001, 1e-5


def apart(found: np.ndarray, right: np.ndarray) -> float:
    """Return the largest difference of two vectors of levels, relative to the right one."""
    return float((abs(found - right) / right).max())


# C-DRFH, through CVXPY


def cluster(users: int, servers: int, seed: int, part: float = 1.0, count: int = 1) -> Instance:
    """Return log-normal demands and servers of three resources, so many of each; users run on a part of them."""
    return scattered(np.random.default_rng(seed), users, servers, part, count)


def in_cvxpy(instance: Instance) -> tuple[list[cp.Constraint], cp.Expression]:
    """Return C-DRFH as one writes it in CVXPY: constraints, and the global dominant share of every user."""
    shares = instance.demands / instance.pool
    needed = shares / shares.max(axis=1, keepdims=True)
    g = cp.Variable((len(instance.users), len(instance.servers)), nonneg=True)
    available = instance.capacities * instance.counts[:, None] / instance.pool
    elsewhere = cp.multiply(g, ~instance.runnable()) == 0
    return [g.T @ needed <= available, elsewhere], cp.sum(g, axis=1)


def ours_in_cvxpy(instance: Instance) -> np.ndarray:
    """Return levels by `fairlp.leximin` of the problem in CVXPY."""
    constraints, levels = in_cvxpy(instance)
    return fairlp.leximin(cp.Problem(cp.Minimize(0), constraints), levels).levels.to_numpy()


def theirs(instance: Instance, method: str, **tolerances: float) -> np.ndarray:
    """Return levels by ``cvxpy_leximin``, on HiGHS as ours are."""
    from cvxpy_leximin import Leximin, Problem

    constraints, levels = in_cvxpy(instance)
    problem = Problem(Leximin([levels[k] for k in range(levels.size)]), constraints, **tolerances)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(method=method, solver="HIGHS")
    return np.array(levels.value)


# Gavel


@dataclass(frozen=True)
class Jobs:
    """Jobs on types of GPUs: throughputs (M, J), GPUs that each takes at once, weights, GPUs of each type."""

    throughputs: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    workers: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """Level of a job from all its time on one type: throughput over that of an equal split, GPUs, weight."""
        proportional = self.throughputs @ (self.workers / self.workers.sum())
        return np.asarray(self.throughputs * (self.scale / self.weights / proportional)[:, None])

    def select(self, who: np.ndarray, workers: np.ndarray) -> Jobs:
        """Return some of the jobs on some of the GPUs."""
        return Jobs(self.throughputs[who], self.scale[who], self.weights[who], workers)


def drawn_jobs(count: int, seed: int, like_gavel: bool = True) -> Jobs:
    """Return jobs on V100, P100 and K80, 2 to 10 times as fast on the first as on the last; or any throughputs."""
    rng = np.random.default_rng(seed)
    if not like_gavel:
        workers = rng.integers(1, count + 1, 4).astype(float)
        return Jobs(
            rng.random((count, 4)) + 0.01, np.ones(count), rng.integers(1, 4, count) * 1.0, workers
        )
    best = rng.uniform(2, 10, count)
    middle = best ** rng.uniform(0.3, 0.8, count)
    throughputs = rng.lognormal(1, 1, (count, 1)) * np.stack([best, middle, np.ones(count)], axis=1)
    scale = rng.choice([1.0, 2.0, 4.0, 8.0], count, p=[0.7, 0.1, 0.15, 0.05])
    weights = np.where(rng.random(count) < 0.2, 5.0, 1.0)
    return Jobs(throughputs, scale, weights, np.full(3, float(max(count // 4, 1))))


def jobs_model(jobs: Jobs) -> tuple[Model, Any]:
    """Return Gavel's policy as a model of ours, and its levels.

    An Instance says all but one row: rates by server it has, but its limits are tasks, and Gavel's
    is time over all servers together.
    """
    m, j = (
        Index("m", range(len(jobs.scale)), "job"),
        Index("j", range(len(jobs.workers)), "type of GPU"),
    )
    model = Model("Gavel", "Narayanan et al., OSDI 2020", (m, j))
    x = model.variable("x", m, j, doc="part of the time of m on j")
    rate = model.parameter("T", (m, j), jobs.rates, "level of m from all its time on j")
    scale = model.parameter("s", m, jobs.scale, "GPUs that m takes at once")
    workers = model.parameter("W", j, jobs.workers, "GPUs of j")
    model.constraint("capacity", (scale * x).sum(m) <= workers)
    model.constraint("time", x.sum(j) <= 1)
    return model, (rate * x).sum(j)


def by_leximin(jobs: Jobs) -> np.ndarray:
    """Return levels by ours."""
    model, levels = jobs_model(jobs)
    return fairlp.leximin(model, levels).levels.to_numpy()


class WaterFilling:
    """Gavel's algorithm: one linear program raises all who are not frozen, one integer program says whom to freeze.

    Both are written once with parameters, as there. Weights are of jobs only (no entities).
    """

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        count = len(jobs.scale)
        per_level = jobs.scale / jobs.weights
        rates = (
            jobs.rates / per_level[:, None]
        )  # normalised throughputs, to which slack and epsilon apply
        self.per_level, self.reach = per_level, float((rates * jobs.scale[:, None]).max())
        self.so_far, self.lower = cp.Parameter(count), cp.Parameter(count)
        self.factor, self.free = cp.Parameter(count, nonneg=True), cp.Parameter(count)
        self.frozen = cp.Parameter(count, nonneg=True)
        self.throughput, rows = self._region(rates)
        raised = cp.multiply(self.throughput - self.so_far, self.factor) + self.free
        self.lp = cp.Problem(cp.Maximize(cp.min(raised)), [*rows, self.throughput >= self.lower])
        throughput, rows = self._region(rates)
        self.better = cp.Variable(count, boolean=True)
        more = throughput - self.so_far * SLACK
        rows += [
            self.reach * self.better >= more + EPSILON,
            self.reach * (1 - self.better) >= -more,
        ]
        rows += [throughput >= self.lower, cp.multiply(self.frozen, self.better) == 0]
        self.milp = cp.Problem(cp.Maximize(cp.sum(self.better)), rows)

    def _region(self, rates: np.ndarray) -> tuple[cp.Expression, list[cp.Constraint]]:
        x = cp.Variable(rates.shape)
        used = cp.sum(
            cp.multiply(np.repeat(self.jobs.scale[:, None], rates.shape[1], axis=1), x), axis=0
        )
        return cp.sum(cp.multiply(rates, x), axis=1), [
            x >= 0,
            used <= self.jobs.workers,
            cp.sum(x, axis=1) <= 1,
        ]

    def levels(self) -> np.ndarray:
        """Return the level of every job at the end."""
        count = len(self.jobs.scale)
        final, so_far = np.zeros(count, dtype=bool), np.zeros(count)
        found = so_far
        solver = "GLPK_MI" if "GLPK_MI" in cp.installed_solvers() else "HIGHS"
        while not final.all():
            self.so_far.value, self.lower.value = so_far, so_far
            self.factor.value = np.where(final, 0.0, self.per_level)
            self.free.value = np.where(final, self.reach, 0.0)
            self.lp.solve(
                solver="ECOS" if "ECOS" in cp.installed_solvers() else "HIGHS", warm_start=True
            )
            if (
                self.lp.status != "optimal"
            ):  # frozen levels that rounding has made too high: theirs ends here too
                break
            found = np.array(self.throughput.value)
            so_far = so_far + np.where(final, 0.0, self.lp.value / self.per_level)
            self.so_far.value, self.lower.value, self.frozen.value = (
                so_far,
                so_far,
                final.astype(float),
            )
            self.milp.solve(solver=solver, warm_start=True)
            raisable = (
                self.better.value > 0.5
                if self.milp.status == "optimal"
                else np.zeros(count, dtype=bool)
            )
            if not (newly := ~final & ~raisable).any():
                break
            final = final | newly
        return np.asarray(found * self.per_level)


# POP


def dealt(count: int, parts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return positions at random, in parts of equal sizes (to one)."""
    return [np.sort(part) for part in np.array_split(rng.permutation(count), parts)]


def pop_instances(instance: Instance, parts: int, seed: int) -> list[tuple[np.ndarray, Instance]]:
    """Return who is in each part, and the part: its users, and a k-th of the servers of every row, or of the rows.

    Whoever may run on no server of its part is left out, and gets nothing.
    """
    rng = np.random.default_rng(seed)
    users = dealt(len(instance.users), parts, rng)
    counts, eligible = instance.counts, instance.runnable()
    if (counts % parts == 0).all():
        rows = [np.arange(len(counts))] * parts
        counts = counts // parts
    else:
        rows = dealt(len(counts), parts, rng)
    found = []
    for everyone, some in zip(users, rows, strict=True):
        if (who := everyone[eligible[np.ix_(everyone, some)].any(axis=1)]).size:
            servers = instance.capacities[some]
            where = eligible[np.ix_(who, some)]
            part = Instance.from_arrays(
                instance.demands[who], servers, counts=counts[some], eligible=where
            )
            found.append((who, part))
    return found


def pop_levels(
    instance: Instance, parts: int, method: str, seed: int
) -> tuple[np.ndarray, list[float]]:
    """Return levels in shares of the whole cluster, and the seconds of each part."""
    levels, seconds = np.zeros(len(instance.users)), []
    for who, part in pop_instances(instance, parts, seed):
        begin = process_time()
        tasks = fairlp.allocate(part, "c-drfh", method=method).totals.to_numpy()
        seconds.append(process_time() - begin)
        levels[who] = tasks * (instance.demands[who] / instance.pool).max(axis=1)
    return levels, seconds
