"""Gavel (Narayanan et al., OSDI 2020): what the notebook of its hierarchical policy prints.

Jobs arrive one by one; with each, the policy shares nine devices anew. The numbers are normalised
throughputs: those of a job over its mean on the three kinds.
"""

from __future__ import annotations

import random

import numpy as np

from fairlp import Instance, allocate, formulate

from .registry import Paper, Run
from .verdicts import Agreement, ItemAnswer, beside, named

PAPER = Paper(
    "006",
    "D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee and M. Zaharia, Heterogeneity-Aware Cluster "
    "Scheduling Policies for Deep Learning Workloads, OSDI 2020 (the notebook of its hierarchical policy)",
    ("narayanan-2020", "narayanan", "gavel"),
)
#: A line for 1, 2, … 17 jobs.
PRINTED = """
    1.252
    0.881 1.305
    0.861 1.305 0.88
    0.827 1.305 0.835 1.318
    0.813 1.305 0.814 1.315 0.812
    0.789 1.305 0.765 1.315 0.786 1.315
    0.531 0.639 0.542 0.654 0.518 0.588 1.338
    0.494 0.62 0.509 0.635 0.485 0.569 0.838 1.166
    0.468 0.607 0.486 0.622 0.462 0.562 0.8 1.166 0.805
    0.46 0.619 0.476 0.628 0.454 0.587 0.743 1.165 0.743 1.164
    0.442 0.622 0.454 0.628 0.436 0.605 0.715 1.165 0.715 1.164 0.705
    0.391 0.649 0.39 0.653 0.385 0.653 0.651 1.165 0.654 1.164 0.645 1.206
    0.4 0.514 0.419 0.53 0.396 0.473 0.486 0.631 0.467 0.616 0.513 0.604 1.273
    0.365 0.474 0.38 0.488 0.362 0.445 0.454 0.619 0.441 0.61 0.475 0.618 0.952 1.724
    0.327 0.427 0.338 0.437 0.323 0.407 0.413 0.617 0.405 0.614 0.427 0.632 0.916 1.724 0.942
    0.227 0.388 0.213 0.394 0.219 0.395 0.392 0.747 0.395 0.741 0.382 0.745 0.831 1.616 0.832 1.603
    0.202 0.404 0.202 0.404 0.202 0.404 0.404 0.808 0.404 0.808 0.404 0.808 0.78 1.559 0.78 1.559 0.78
"""
#: Half a unit of the last digit that is printed.
HALF = 5e-4


def cluster(jobs: int) -> tuple[Instance, np.ndarray]:
    """Return the notebook's instance and the mean throughput of each job, shape (N,).

    Its random numbers are Python's, of seed 0, sorted for each job.
    """
    draws = random.Random(0)
    rates = np.array([sorted(draws.random() for _ in range(3)) for _ in range(jobs)])
    entities = {f"entity {k}": {"weight": k} for k in (1, 2, 3)}
    instance = Instance.from_arrays(
        np.ones((jobs, 1)),
        np.ones((3, 1)),
        servers=["K80", "P100", "V100"],
        counts=[3, 3, 3],
        rates=rates,
        weights=[job % 2 + 1 for job in range(jobs)],
        queue=[f"entity {job // 6 + 1}" for job in range(jobs)],
        queues=entities,
    )
    return instance, rates.mean(axis=1)


def most_beside(instance: Instance, means: np.ndarray, printed: np.ndarray) -> float:
    """Return the largest sum of normalised throughputs in which each job has what is printed."""
    model = formulate(instance, "gavel", objective="total")
    n, i = instance.users, instance.servers
    assert instance.rates is not None
    speed = model.parameter("u", (n, i), instance.rates / means[:, None], "normalised throughput")
    least = model.parameter("printed", n, printed - HALF, "what is printed of n, rounded down")
    throughput = (speed * model["X"]).sum(i)
    model.constraint("as_printed", throughput >= least)
    model.maximize(throughput.sum(n))
    return float(model.solve().require_optimal().objective or 0.0)


def _register(jobs: int, line: str) -> None:
    says = f"normalised throughputs of {jobs} job{'s' * (jobs > 1)}: {', '.join(line.split())}"

    @PAPER.item(f"hierarchical policy, {jobs} job{'s' * (jobs > 1)}", says, "gavel")
    def hierarchical(run: Run) -> ItemAnswer:
        instance, means = cluster(jobs)
        shared = allocate(instance, "gavel", objective="hierarchical")
        ours = shared.totals.to_numpy() / means
        rounded = named("job", [f"≈{number}" for number in line.split()])
        answer = beside(rounded, ours)
        if answer.verdict is Agreement.EQUAL:
            return answer
        printed = np.array([float(number) for number in line.split()])
        more = most_beside(instance, means, printed) / printed.sum() - 1
        why = (
            f"with what is printed for each job, {100 * more:.0f} % more in all is possible: devices are idle; "
            f"ours are {'' if shared.certify() else 'not '}proved"
        )
        return beside(rounded, ours, otherwise=why)


for _jobs, _line in enumerate(PRINTED.strip().splitlines(), 1):
    _register(_jobs, _line)
