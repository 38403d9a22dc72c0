"""Gavel's policies stated again, with SciPy's linprog: throughputs, GPUs and time, and no more."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Cluster:
    """Jobs and kinds of GPUs: throughputs (M, J), GPUs that a job takes at once, GPUs of each kind, weights."""

    def __init__(self, throughputs, scale, workers, weights=None):
        self.throughputs = np.asarray(throughputs, dtype=float)
        self.scale = np.asarray(scale, dtype=float)
        self.workers = np.asarray(workers, dtype=float)
        jobs, kinds = self.throughputs.shape
        self.weights = np.ones(jobs) if weights is None else np.asarray(weights, dtype=float)
        rows = [np.zeros((jobs, kinds)) for _ in range(kinds + jobs)]
        for j in range(kinds):
            rows[j][:, j] = self.scale
        for m in range(jobs):
            rows[kinds + m][m] = 1
        self.fits = np.array([row.ravel() for row in rows])
        self.room = np.concatenate([self.workers, np.ones(jobs)])
        self.work = np.zeros((jobs, jobs * kinds))
        for m in range(jobs):
            self.work[m, m * kinds : (m + 1) * kinds] = self.throughputs[m]

    def best(self, gains, least=None):
        """The point of the largest sum of gains (by job and kind) where each job has its least throughput, or None."""
        A, b = self.fits, self.room
        if least is not None:
            A, b = np.vstack([A, -self.work]), np.concatenate([b, -least])
        optimum = linprog(-np.ravel(gains), A_ub=A, b_ub=b, method="highs", options=TIGHT)
        return optimum.x if optimum.status == 0 else None

    def isolated(self):
        """Throughputs with a part of all GPUs where a job runs, by weight; no job is busy for more than its time."""
        parts = self.weights / self.weights.sum()
        time = parts[:, None] * self.workers / self.scale[:, None] * (self.throughputs > 0)
        time /= np.maximum(time.sum(axis=1), 1.0)[:, None]
        return (self.throughputs * time).sum(axis=1)

    def largest_t(self, due):
        """The largest t with throughputs of due·t."""
        jobs, columns = self.work.shape
        A = np.block([[self.fits, np.zeros((len(self.fits), 1))], [-self.work, due[:, None]]])
        b = np.concatenate([self.room, np.zeros(jobs)])
        return linprog(np.append(np.zeros(columns), -1.0), A_ub=A, b_ub=b, options=TIGHT).x[-1]

    def largest_total(self):
        fastest = self.throughputs.max(axis=1, keepdims=True)
        gains = self.weights[:, None] * self.throughputs / fastest
        return float(gains.ravel() @ self.best(gains))

    def finish_times(self, steps, age, isolated_age=None):
        """ρ of each job: the largest as small as can be, then the next; bisections, and a program a job and round."""
        steps, age = np.asarray(steps, dtype=float), np.asarray(age, dtype=float)
        before = age if isolated_age is None else np.asarray(isolated_age, dtype=float)
        end = before + steps / self.isolated()
        final = np.full(len(steps), np.nan)
        least = np.zeros(len(steps))
        while np.isnan(final).any():
            active = np.isnan(final)

            def due(rho, active=active, least=least):
                time = rho * end - age
                if (time[active] <= 0).any():
                    return None
                return np.where(active, steps / np.where(time > 0, time, 1.0), least)

            low, high = 0.0, 2.0
            while self.possible(due(high)) is None:
                low, high = high, 2 * high
            for _ in range(100):
                middle = (low + high) / 2
                low, high = (low, middle) if self.possible(due(middle)) else (middle, high)
            least = due(high) * (1 - 1e-9)
            stopped = False
            for m in np.flatnonzero(active):
                gains = np.zeros_like(self.throughputs)
                gains[m] = self.throughputs[m]
                largest = gains.ravel() @ self.best(gains, least * (1 - 1e-9))
                rho = (age[m] + steps[m] / largest) / end[m]
                if rho >= high * (1 - 1e-6):
                    final[m] = high
                    stopped = True
            assert stopped
            least = np.where(np.isnan(final), 0.0, least)
        return final

    def water_filling(self, paths, queue_weights):
        """Normalised throughputs of Gavel's hierarchical policy: a program for each round, and for each job in it."""
        alone = (self.throughputs * self.workers / self.scale[:, None]).sum(axis=1)
        levels = np.zeros(len(alone))
        rising = {m for m in range(len(alone)) if alone[m] > 0}
        safe = np.where(alone > 0, alone, 1.0)
        while rising:
            rate = np.zeros(len(alone))
            divided("", 0.0, rising, paths, queue_weights, self.weights, rate)
            column = np.append(np.zeros(len(self.fits)), rate * safe)[:, None]
            A = np.hstack([np.vstack([self.fits, -self.work]), column])
            b = np.concatenate([self.room, -levels * safe])
            goal = np.append(np.zeros(self.work.shape[1]), -1.0)
            levels = levels + rate * linprog(goal, A_ub=A, b_ub=b, options=TIGHT).x[-1]
            stopped = set()
            for m in rising:
                gains = np.zeros_like(self.throughputs)
                gains[m] = self.throughputs[m]
                largest = gains.ravel() @ self.best(gains, levels * safe * (1 - 1e-9))
                if largest <= levels[m] * safe[m] + 1e-6 * safe[m]:
                    stopped.add(m)
            assert stopped
            rising -= stopped
        return levels

    def possible(self, least):
        """Whether all jobs can have these throughputs; None says that no point has them."""
        if least is None or self.best(np.zeros_like(self.throughputs), least) is None:
            return None
        return True


def divided(path, amount, rising, paths, queue_weights, weights, rate):
    """Divide a queue's part among queues and jobs in it that still rise; at the root each has its weight."""
    prefix = path + "/" if path else ""
    below = {paths[m] for m in rising if paths[m].startswith(prefix) and paths[m] != path}
    children = sorted({prefix + name[len(prefix) :].split("/")[0] for name in below})
    jobs = [m for m in rising if paths[m] == path]
    total = sum(queue_weights[child] for child in children) + sum(weights[m] for m in jobs)
    unit = amount / total if path else 1.0
    for m in jobs:
        rate[m] = unit * weights[m]
    for child in children:
        divided(child, unit * queue_weights[child], rising, paths, queue_weights, weights, rate)


def drawn(seed, jobs=None):
    """A random cluster, steps that are left and ages."""
    rng = np.random.default_rng(seed)
    m, j = jobs or int(rng.integers(2, 6)), int(rng.integers(1, 4))
    throughputs = rng.integers(1, 9, (m, j)) * rng.choice([0.25, 1.0, 3.0], (m, 1))
    if rng.random() < 0.3:
        throughputs[rng.random((m, j)) < 0.2] = 0.0
        throughputs[:, 0] = np.maximum(throughputs[:, 0], 0.5)
    cluster = Cluster(
        throughputs,
        rng.choice([1, 1, 2], m),
        rng.integers(1, max(m, 2), j) + 1,
        rng.integers(1, 4, m),
    )
    steps = rng.integers(1, 30, m) * rng.choice([1.0, 10.0], m)
    age = rng.integers(0, 20, m) * rng.choice([0.0, 1.0, 5.0], m)
    return cluster, steps, age
