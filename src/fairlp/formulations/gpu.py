"""Fair GPU clusters since 2020: OEF, AlloX and Shockwave, each as its paper states it.

A user is a tenant or a job n, a row of servers a kind of device i. Its rate is what it runs on one
device, alone. Devices divide their time, and no user runs at less for sharing one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import named
from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance
from ..models.instances.rationals import decimal, rational
from ..models.instances.rounds import rounds_of
from ..models.notation.expressions import Index, log
from ..models.notation.model import Model
from ..models.programs.program import Program
from .gavel import by_user, steps_of
from .region import runnable_users, where_runnable

OEF = "Mo, Xu and Lau, Middleware 2024"
ALLOX = "Le et al., EuroSys 2020"
SHOCKWAVE = "Zheng et al., NSDI 2023"

COOPERATIVE = "cooperative"
NON_COOPERATIVE = "non-cooperative"
VARIANTS = (COOPERATIVE, NON_COOPERATIVE)


def rates_alone(instance: Instance) -> np.ndarray:
    """Return what each user runs on one device of each kind, 0 where it may not: (N, K)."""
    return np.asarray(instance.gamma() / instance.counts)


def slowest(instance: Instance) -> np.ndarray:
    """Return what each user runs on one device of its slowest kind, 1 without any: (N,)."""
    rates = rates_alone(instance)
    lowest = np.where(rates > 0, rates, np.inf).min(axis=1)
    return np.where(np.isfinite(lowest), lowest, 1.0)


def variant_of(variant: Any) -> str:
    """Return the variant of OEF that is meant; the cooperative one for None."""
    return named(COOPERATIVE if variant is None else variant, VARIANTS, "variant")


def oef(instance: Instance, variant: Any = None, pairs: np.ndarray | None = None) -> Model:
    """OEF (Mo, Xu and Lau, Middleware 2024): the most efficiency under a condition of fairness.

    Maximise Σ_n w[n]·x[n], where w[n,i] is the speed-up of n on i over its slowest kind. Among
    cooperative users no user envies another, per weight. Among others all have as much, per weight.

    Parameters
    ----------
    instance : Instance
    variant : {"cooperative", "non-cooperative"}, optional
    pairs : ndarray of bool, shape (N, N), optional
        Who may not envy whom; all, if left out.
    """
    variant = variant_of(variant)
    n, i = instance.users, instance.servers
    j = n.alias("j")
    model = Model(f"OEF, {variant}", OEF, (n, j, i))
    speedups = rates_alone(instance) / slowest(instance)[:, None]
    w = model.parameter("w", (n, i), speedups, "speed-up of n on i, over its slowest kind")
    m = model.parameter("m", i, instance.counts, "devices of kind i")
    phi = model.parameter("phi", n, instance.user_weights, "weight of n")
    unit = model.parameter("u", n, slowest(instance), "tasks of n on a device of its slowest kind")
    runs = model.subset("E", (n, i), speedups > 0, "n may run on i, where it has a rate")
    x = model.variable("x", n, i, where=runs, doc="devices of kind i that n has")
    model.constraint("capacity", x.sum(n) <= m)
    if variant == COOPERATIVE:
        others = runnable_users(instance)[:, None] & ~np.eye(len(n), dtype=bool)
        if pairs is not None:
            others &= pairs
        compared = model.subset("P", (n, j), others, "n can run, and j is another user")
        own, other = (w * x).sum(i) / phi, (w * x[j, i]).sum(i) / phi[j]
        model.constraint("no_envy", own >= other, where=compared)
    else:
        t = model.variable("t", doc="what all users have, per weight")
        model.constraint("equal", (w * x).sum(i) == phi * t, where=where_runnable(model, instance))
    model.define("tasks", unit * w * x)
    model.maximize((w * x).sum(n, i))
    return model


def _written_rates(instance: Instance) -> np.ndarray:
    """Return the rates as they were written, as fractions, 0 where users may not run: (N, K)."""
    assert instance.rates is not None
    rates = rational(instance.rates, decimal)
    rates[rates_alone(instance) == 0] = Fraction(0)
    return rates


def oef_as_written(
    instance: Instance, program: Program
) -> tuple[dict[tuple[int, int], Fraction], dict[int, Fraction]]:
    """Return exact entries and costs of a program of :func:`oef`, of the numbers as written.

    A speed-up is a quotient of rates, and rounding may tell kinds apart on which users are as fast.
    """
    rates = _written_rates(instance)
    positive = [[rate for rate in row if rate] for row in rates.tolist()]
    slowest_rates = np.array([min(row, default=Fraction(1)) for row in positive], dtype=object)
    speedups = rates / slowest_rates[:, None]
    weights = rational(instance.user_weights, decimal)
    n_users, n_servers = instance.shape
    x = next(block for block in program.columns if block.name == "x")
    users, kinds = np.divmod(x.flat, n_servers)
    costs = {x.start + k: speedups[users[k], kinds[k]] for k in range(len(x.flat))}

    entries: dict[tuple[int, int], Fraction] = {}
    matrix = program.A.tocsr()
    for block in program.rows:
        if block.name == "capacity":
            continue
        for row, place in zip(range(block.start, block.stop), block.flat.tolist(), strict=True):
            user = place // n_users if block.name == "no_envy" else place
            start, stop = matrix.indptr[row : row + 2]
            for column, value in zip(
                matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist(), strict=True
            ):
                if not x.start <= column < x.stop:  # what all have, per weight
                    entry = weights[user]
                else:
                    holder, kind = users[column - x.start], kinds[column - x.start]
                    entry = speedups[user, kind]
                    if block.name == "no_envy":
                        entry /= weights[holder]
                entries[row, column] = entry if value > 0 else -entry
    return entries, costs


def allox(instance: Instance, steps: Any = None) -> Model:
    """AlloX (Le et al., EuroSys 2020): the least sum of completion times, as an assignment.

    A job that is k-th from the end of its device delays k jobs, itself among them, by its own time.
    The rows are those of a transportation problem, so that every vertex is whole.

    Parameters
    ----------
    instance : Instance
    steps : Series, mapping or array, by user, optional
        Tasks that each job has left; 1 by default.
    """
    n, i = instance.users, instance.servers
    k = Index("k", range(1, len(n) + 1), "position from the end")
    model = Model("AlloX", ALLOX, (n, i, k))
    numbers = job_steps(instance, steps)
    times = job_times(instance, numbers)
    p = model.parameter("p", (n, i), times, "time that n takes on a device of kind i")
    m = model.parameter("m", i, instance.counts, "devices of kind i")
    s = model.parameter("S", n, numbers, "tasks that n has left")
    position = model.parameter("k", k, np.arange(1.0, len(n) + 1), "jobs that wait for the k-th")
    fits_in = np.arange(len(n)) * instance.counts[:, None] < len(n)
    places = (times > 0)[:, :, None] & fits_in
    runs = model.subset("E", (n, i, k), places, "n may run on i, and all jobs fit in k positions")
    y = model.variable("y", n, i, k, where=runs, doc="1 if n is the k-th from the end on i")
    model.constraint("job", y.sum(i, k) == 1, where=where_runnable(model, instance))
    model.constraint("position", y.sum(n) <= m)
    model.define("tasks", s * y.sum(k))
    model.minimize((position * p * y).sum(n, i, k))
    return model


def allox_as_written(
    instance: Instance, steps: np.ndarray, program: Program
) -> tuple[dict[tuple[int, int], Fraction], dict[int, Fraction]]:
    """Return exact costs of a program of :func:`allox`, of the numbers as written; no entries."""
    rates = _written_rates(instance)
    numbers = rational(steps, decimal)
    y = next(block for block in program.columns if block.name == "y")
    jobs, kinds, positions = np.unravel_index(y.flat, (*instance.shape, len(instance.users)))
    times = numbers[jobs] / rates[jobs, kinds]
    costs = times * (positions + 1)
    return {}, dict(enumerate(costs.tolist(), y.start))


def job_steps(instance: Instance, steps: Any) -> np.ndarray:
    """Return the steps that each job has left, above 0; 1 where they are left out."""
    return np.ones(len(instance.users)) if steps is None else steps_of(instance, steps)


def job_times(instance: Instance, steps: np.ndarray) -> np.ndarray:
    """Return the time that each job takes on a device of each kind, 0 where it may not run: (N, K)."""
    return np.asarray(quotients(steps[:, None], rates_alone(instance)))


def shockwave(instance: Instance, earlier_progress: Any = None) -> Model:
    """Shockwave's market (Zheng et al., NSDI 2023): Nash welfare over rounds whose rates change.

    Maximise Σ_n B[n]·log(u₀[n] + Σ_{i,s} τ[n,i,s]·x[n,i,s]); in a round a job has at most all its
    time. A user who can run nothing has no term. The duals of ``capacity`` are prices by round.

    Parameters
    ----------
    instance : Instance
        Its servers are those of all rounds; see :meth:`Instance.over_rounds`.
    earlier_progress : Series, mapping or array, by user, optional
        u₀, what each user has from earlier rounds; 0 by default.
    """
    rounds = rounds_of(instance)
    n, i, s = instance.users, rounds.kinds, rounds.rounds
    model = Model("Shockwave", SHOCKWAVE, (n, i, s))
    rates = rounds.by_round(rates_alone(instance))
    can_run = runnable_users(instance)
    budget = np.where(can_run, instance.user_weights, 0.0)
    b = model.parameter("B", n, budget, "budget of n (0: no term)")
    u = model.parameter("u0", n, past_progress(instance, earlier_progress), "progress of n so far")
    tau = model.parameter("tau", (n, i, s), rates, "rate of n on a device of kind i in round s")
    counts = rounds.by_round(instance.counts)
    c = model.parameter("c", (i, s), counts, "devices of kind i in round s")
    runs = model.subset("E", (n, i, s), rates > 0, "n has a rate on i in s")
    x = model.variable("x", n, i, s, where=runs, doc="part of round s that n runs on i")
    model.constraint("capacity", x.sum(n) <= c)
    crowded = np.broadcast_to(counts.sum(axis=0) > 1, (len(n), len(s)))
    shared = model.subset("Q", (n, s), crowded, "s has several devices (one keeps nobody busier)")
    model.constraint("time", x.sum(i) <= 1, where=shared)
    model.define("tasks", tau * x)
    model.maximize((b * log(u + (tau * x).sum(i, s))).sum(n))
    return model


def past_progress(instance: Instance, progress: Any) -> np.ndarray:
    """Return u₀ of each user, 0 where it is left out."""
    if progress is None:
        return np.zeros(len(instance.users))
    return by_user(instance, "earlier_progress", progress)


def one_kind_at_a_time(model: Model, instance: Instance, tasks: Any) -> None:
    """Add the rows ``own_time``, by which a user has no more than all its time in each round.

    The model has tasks over users and servers.
    """
    rounds = rounds_of(instance)
    n, i, s = instance.users, instance.servers, rounds.rounds
    time = quotients(1.0, rates_alone(instance))
    a = model.parameter("a_own", (n, i), time, "time of n for one of its tasks on i")
    belongs = model.parameter("R", (s, i), rounds.belongs, "1 where server i is of round s")
    model.constraint("own_time", (belongs * a * tasks).sum(i) <= 1)
