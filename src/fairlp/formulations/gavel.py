"""Gavel's policies: jobs share the time of kinds of accelerators, one kind at a time.

A user is a job m, a row of servers a kind of accelerator j. A job takes its demands at once while
it runs, such as s[m] GPUs, and its rate is γ[m,j]: its throughput per server of the row, T[m,j]
over the servers that it takes. Its tasks are its effective throughput, Σ_j T[m,j]·X[m,j].

A policy is an objective over one region. Jobs that end have steps left, s[m], and an age, e[m].
The models print m and j as users n and servers i, T as v, and s as S.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InstanceError, named, quoted
from ..models.instances.arithmetic import quotients, tasks_alone
from ..models.instances.checks import labelled
from ..models.instances.instance import Instance
from ..models.instances.rationals import decimal
from ..models.notation.expressions import Expression, Index, log
from ..models.notation.labels import aligned, numbers_in, refuse
from ..models.notation.model import Model
from ..models.notation.variables import Subset
from ..models.programs.program import Program
from . import region, space_sharing
from .hierarchical import parts_of_queues
from .normalisers import containerized
from .region import inverse, lowest_level, runnable_users, task_limits, where_runnable
from .space_sharing import Combinations, throughputs

SOURCE = "Narayanan et al., OSDI 2020"
THEMIS = "Mahajan et al., NSDI 2020"

MAX_MIN = "max-min"
MAKESPAN = "makespan"
TOTAL = "total"
FINISH_TIME = "finish-time"
HIERARCHICAL = "hierarchical"
PROPORTIONAL = "proportional"

#: What each objective has to know of the jobs.
OBJECTIVES: dict[str, tuple[str, ...]] = {
    MAX_MIN: (),
    MAKESPAN: ("steps",),
    TOTAL: (),
    FINISH_TIME: ("steps", "age", "isolated_age"),
    HIERARCHICAL: (),
    PROPORTIONAL: (),
}
#: The numbers of jobs that end.
NUMBERS = ("steps", "age", "isolated_age")
#: The options of the mechanism.
OPTIONS = ("objective", *NUMBERS, "pairs")
#: Objectives that Gavel states for single jobs only.
WITHOUT_PAIRS = (PROPORTIONAL,)


def as_written(instance: Instance, program: Program) -> dict[tuple[int, int], Fraction]:
    """Return the exact entries of a program's columns X, from the numbers as they were written.

    A throughput is a quotient of the data, and rounding tells kinds of servers apart on which a job
    is as fast. Each row keeps its size: that of its side, or of one throughput of the job.

    Returns
    -------
    dict
        (row, column) → entry.
    """
    block = next(block for block in program.columns if block.name == "X")
    jobs, kinds = np.divmod(block.flat, len(instance.servers))
    capacity, time = program.row_block("capacity"), program.row_block("time")
    demands = [[decimal(d) for d in row] for row in instance.demands.tolist()]
    counts = instance.counts.tolist()
    capacities = [
        [decimal(c) * count for c in row]
        for row, count in zip(instance.capacities.tolist(), counts, strict=True)
    ]

    def throughput(m: int, j: int) -> Fraction:
        assert instance.rates is not None
        parts = [d / c for d, c in zip(demands[m], capacities[j], strict=True) if d]
        return Fraction(max(parts) * decimal(float(instance.rates[m, j])) * counts[j])

    entries = {}
    units: dict[tuple[int, int], Fraction] = {}  # of a row for a job: its entry over its throughput
    rows = program.A.tocsc()[:, block.start : block.stop].tocoo()
    for i, k, value in zip(*map(np.ndarray.tolist, (*rows.coords, rows.data)), strict=True):
        m, j = int(jobs[k]), int(kinds[k])
        if time.start <= i < time.stop:
            continue
        if capacity.start <= i < capacity.stop:
            r = int(capacity.flat[i - capacity.start]) % len(instance.resources)
            entry = demands[m][r] * Fraction(program.row_upper[i]) / capacities[j][r]
        else:
            unit = units.setdefault((i, m), Fraction(value) / throughput(m, j))
            entry = unit * throughput(m, j)
        entries[i, block.start + k] = entry
    return entries


def gavel(
    instance: Instance,
    objective: str = MAX_MIN,
    steps: Any = None,
    age: Any = None,
    isolated_age: Any = None,
    pairs: Any = None,
    at: Any = None,
    rho: float | None = None,
    rounds: pd.DataFrame | None = None,
) -> Model:
    """Gavel's policies (Narayanan et al., OSDI 2020, §4), by objective.

    The model is the first round of a leximin or of water filling, or that of the largest total.

    Parameters
    ----------
    instance : Instance
    objective : {"max-min", "makespan", "total", "finish-time", "hierarchical", "proportional"}
        See :func:`max_min`, :func:`makespan`, :func:`total`, :func:`finish_time`,
        :func:`hierarchical` and :func:`proportional`.
    steps, age, isolated_age : Series, mapping or array, by user
        Of jobs that end: the steps that are left, the time since the job came, and the time that
        it would have needed in isolation for the steps that it has made (by default its age).
    pairs : DataFrame or mapping, optional
        Space sharing: row (job, partner) and column kind → the rate of the job while it shares a
        device with the partner; see :meth:`~fairlp.formulations.space_sharing.Combinations.of`.
    at : Series, mapping, array or table by user, optional
        Of ``finish-time``: throughputs at which the levels have their tangents, a column each.
    rho : float, optional
        Of ``finish-time``: ask whether all jobs can have this ρ, in place of tangents.
    rounds : DataFrame, optional
        Of ``hierarchical``: the rounds so far, rows of ``allocation.rounds``; the model is the next.
    """
    objective = chosen(objective, {"steps": steps, "age": age, "isolated_age": isolated_age}, pairs)
    if objective != FINISH_TIME and not (at is None and rho is None):
        raise InstanceError(f"objective {quoted(objective)} takes neither at= nor rho=")
    if objective == HIERARCHICAL:
        return hierarchical(WaterLevels.after_rounds(instance, rounds), pairs)
    if rounds is not None:
        raise InstanceError(
            f"objective {quoted(objective)} takes no rounds=; {HIERARCHICAL!r} takes it"
        )
    if objective == MAX_MIN:
        return max_min(instance, pairs)
    if objective == MAKESPAN:
        return makespan(instance, steps, pairs)
    if objective == TOTAL:
        return total(instance, pairs)
    if objective == PROPORTIONAL:
        return proportional(instance)
    jobs = JobsThatEnd.of(instance, steps, age, isolated_age)
    return finish_time(instance, jobs, pairs, at, rho)


def chosen(objective: Any, numbers: dict[str, Any], pairs: Any = None) -> str:
    """Return the objective that is meant (None: max-min); it must take the numbers of the jobs.

    Raises
    ------
    InstanceError
        For numbers that the objective does not take, for steps that it lacks, and for pairs where
        it is of single jobs.
    """
    name = named(MAX_MIN if objective is None else objective, OBJECTIVES, "objective")
    for option, values in numbers.items():
        if values is not None and option not in OBJECTIVES[name]:
            takers = [other for other, options in OBJECTIVES.items() if option in options]
            raise InstanceError(
                f"objective {quoted(name)} takes no {quoted(option)}; {' and '.join(map(repr, takers))} take it"
            )
    if "steps" in OBJECTIVES[name] and numbers["steps"] is None:
        raise InstanceError(
            f"objective {quoted(name)} needs the steps that each job has left; give them by user as steps="
        )
    if pairs is not None and name in WITHOUT_PAIRS:
        takers = [other for other in OBJECTIVES if other not in WITHOUT_PAIRS]
        raise InstanceError(
            f"objective {quoted(name)} takes no 'pairs': Gavel states it for jobs that share no device; "
            f"{' and '.join(map(repr, takers))} take them"
        )
    return name


@dataclass(frozen=True)
class _Region:
    """The region of all policies: the model with rows ``capacity``, ``time`` and ``limit``.

    ``effective`` is Σ_j T[m,j]·X[m,j], the throughput of a job.
    """

    model: Model
    effective: Expression
    runnable: Subset


def _region(instance: Instance, name: str, source: str, pairs: Any = None) -> _Region:
    """Return the region: a job has at most all its time, kinds all their servers, Σ_m d·X ≤ c.

    With pairs, X is over combinations of jobs in the place of jobs.
    """
    m = instance.users
    j = instance.servers
    speed = throughputs(instance)
    if pairs is None:
        model = Model(name, source, (m, j, instance.resources))
        d = region.demands(model, instance)
        c = region.capacities(model, instance)
        throughput = model.parameter("v", (m, j), speed, "tasks of n in a unit of time on i")
        runs = model.subset("E", (m, j), speed > 0, "n may run on i, where it has a throughput")
        x = model.variable("X", m, j, where=runs, doc="part of its time that n runs on i")
        model.constraint("capacity", (d * x).sum(m) <= c)
        model.constraint("time", x.sum(j) <= 1)
        tasks: Expression = throughput * x
    else:
        combinations = Combinations.of(instance, pairs)
        model = Model(f"{name}, space sharing", source, (m, j, instance.resources))
        x, throughput, combination = space_sharing.rows(model, combinations, speed)
        tasks = (throughput * x).sum(combination)
    task_limits(model, instance, tasks.sum(j), "limit of n (its throughput)")
    model.define("tasks", tasks)
    return _Region(model, tasks.sum(j), where_runnable(model, instance))


def max_min(instance: Instance, pairs: Any = None) -> Model:
    """Gavel's max-min fairness (§4.1): maximise the lowest normalised throughput.

    The paper's level of a job is s[m]/φ[m]·Σ_j T[m,j]·X[m,j] over its throughput at equal shares of
    all kinds, Σ_j T[m,j]·W[j]/ΣW. With one GPU as the unit this is ΣW times the level here, Σ_j
    T[m,j]·X[m,j]/(φ[m]·Γ[m]).
    """
    m = instance.users
    shared = _region(instance, "Gavel", f"{SOURCE}, §4.1", pairs)
    model = shared.model
    phi = model.parameter("phi", m, instance.user_weights, "weight of n")
    gamma = model.parameter(
        "Gamma", m, normalised(instance), "tasks that all servers could run of n"
    )
    t = lowest_level(model, instance, "lowest level")
    rows = model.constraint("fairness", shared.effective >= phi * gamma * t, where=shared.runnable)
    model.leximin(rows, t)
    return model


def hierarchical(state: WaterLevels, pairs: Any = None) -> Model:
    """One round of Gavel's hierarchical policy (§4.3), water filling along the tree of queues.

    The level of a job is its normalised throughput, Σ_j T[m,j]·X[m,j]/Γ[m]. Active jobs rise from
    their levels h[m] at their rates w[m], and all others keep theirs: maximise t with levels of at
    least h[m] + w[m]·t. Jobs that cannot rise stop, and their queues' weights pass to the jobs that
    are left.
    """
    instance = state.instance
    m = instance.users
    shared = _region(instance, "Gavel, hierarchical", f"{SOURCE}, §4.3", pairs)
    model = shared.model
    gamma = model.parameter(
        "Gamma", m, normalised(instance), "tasks that all servers could run of n"
    )
    w = model.parameter("w", m, state.rates, "part of n in the weights of its queues")
    h = model.parameter("h", m, state.levels, "level of n so far")
    active = model.subset("B", m, state.active, "n may rise")
    stopped = (state.levels > 0) & ~state.active
    t = model.variable(
        "t", upper=None if state.active.any() else 0.0, doc="units that the root gives out"
    )
    model.constraint("fairness", shared.effective >= gamma * (h + w * t), where=active)
    if stopped.any():
        settled = model.subset("S", m, stopped, "n has stopped")
        model.constraint("kept", shared.effective >= gamma * h, where=settled)
    model.maximize(t)
    return model


@dataclass(frozen=True)
class WaterLevels:
    """Where water filling stands; arrays of shape (N,).

    Attributes
    ----------
    instance : Instance
    levels : ndarray
        h[m], the normalised throughput of each job so far.
    active : ndarray of bool
        Which jobs may rise.
    units : float
        What the root has given out so far.
    """

    instance: Instance
    levels: np.ndarray
    active: np.ndarray
    units: float = 0.0

    @classmethod
    def start(cls, instance: Instance) -> WaterLevels:
        """Return the start: all jobs that can run have nothing, and may rise."""
        return cls(instance, np.zeros(len(instance.users)), runnable_users(instance))

    @classmethod
    def after_rounds(cls, instance: Instance, rounds: pd.DataFrame | None) -> WaterLevels:
        """Return the state after rounds, which have the columns ``level`` and ``users``."""
        state = cls.start(instance)
        if rounds is None:
            return state
        if not isinstance(rounds, pd.DataFrame) or not {"level", "users"} <= set(rounds.columns):
            raise InstanceError(
                f"rounds are {type(rounds).__name__}; expected rows of allocation.rounds, with the "
                "columns 'level' and 'users'"
            )
        for level, users in zip(rounds["level"], rounds["users"], strict=True):
            stopping = np.isin(instance.users.labels, list(users))
            state = state.after(float(level) - state.units, stopping)
        return state

    @cached_property
    def rates(self) -> np.ndarray:
        """w[m]: what each active job rises for one unit of the root; 0 for others.

        A queue at the root rises at its weight. Its part is divided among the queues and jobs in it
        that are active, by their weights, and so on down.
        """
        queues = self.instance.tree
        weights = self.instance.user_weights
        parts, inside = parts_of_queues(queues, weights, self.active)
        portions = quotients(parts * inside[0], inside)
        return np.where(self.active, portions[queues.of] * weights, 0.0)

    def after(self, t: float, stopping: np.ndarray) -> WaterLevels:
        """Return the state after a round that gave out t units and stopped some jobs."""
        levels = self.levels + self.rates * t
        return WaterLevels(self.instance, levels, self.active & ~stopping, self.units + t)


def normalised(instance: Instance) -> np.ndarray:
    """Return Γ[m], what all servers could run of a job; 1 for one that can run nothing."""
    alone = containerized(instance)
    return np.where(alone > 0, alone, 1.0)


def makespan(instance: Instance, steps: Any, pairs: Any = None) -> Model:
    """Gavel's makespan (§4.2): maximise t with Σ_j T[m,j]·X[m,j] ≥ s[m]·t for each job.

    Each job makes its steps in the time 1/t.
    """
    if np.ptp(instance.weights) > 0:
        raise InstanceError("the makespan has no weights, and weights differ; leave them out")
    shared = _region(instance, "Gavel, makespan", f"{SOURCE}, §4.2", pairs)
    model = shared.model
    numbers = steps_of(instance, steps)
    s = model.parameter("S", instance.users, numbers, "steps that n has left")
    t = lowest_level(model, instance, "one over the time in which all jobs end")
    rows = model.constraint("fairness", shared.effective >= s * t, where=shared.runnable)
    model.leximin(rows, t)
    return model


def total(instance: Instance, pairs: Any = None) -> Model:
    """Gavel's total throughput (§4.2): maximise Σ_m φ[m]·Σ_j T[m,j]·X[m,j]/T[m,fastest].

    The paper's FIFO policy is this one, with weights that fall from the first job to the last.
    """
    m = instance.users
    shared = _region(instance, "Gavel, total throughput", f"{SOURCE}, §4.2", pairs)
    model = shared.model
    phi = model.parameter("phi", m, instance.user_weights, "weight of n")
    fastest = model.parameter(
        "f", m, fastest_throughputs(instance), "throughput of n on its fastest"
    )
    model.maximize((phi / fastest * shared.effective).sum(m))
    return model


def proportional(instance: Instance) -> Model:
    """The product of throughputs (Gavel, §4.2): maximise Σ_m φ[m]·log Σ_j T[m,j]·X[m,j].

    A competitive equilibrium from incomes φ[m]. A normaliser of throughputs would only add a
    constant. A job that can run nothing has no term. Gavel's strategy-proof policy then leaves each
    job a part of this only; the product alone is not strategy-proof.
    """
    m = instance.users
    shared = _region(instance, "Gavel, proportional", f"{SOURCE}, §4.2")
    model = shared.model
    weights = np.where(runnable_users(instance), instance.user_weights, 0.0)
    phi = model.parameter("phi", m, weights, "weight of n (0: no term)")
    model.maximize((phi * log(shared.effective)).sum(m))
    return model


def finish_time(
    instance: Instance,
    jobs: JobsThatEnd,
    pairs: Any = None,
    at: Any = None,
    rho: float | None = None,
) -> Model:
    """Finish-time fairness (Themis, NSDI 2020; Gavel, §4.2): minimise the largest ρ[m].

    ρ[m] = (e[m] + s[m]/T[m](X)) / F[m], where F[m] = e'[m] + s[m]/T[m](isolated) is when the job
    would end in isolation. So 1/ρ[m] is concave in the throughput T[m](X), and below its tangent at
    every throughput a: 1/ρ[m] ≤ α[m] + β[m]·T[m](X). The levels y[m] are the lowest of tangents, and
    the optimum that of 1/ρ where each job has a tangent at the throughput that it ends with.

    With ``rho`` the rows are T[m](X) ≥ t·s[m]/(ρ·F[m] − e[m]): all jobs can have ρ if t reaches 1.

    Parameters
    ----------
    instance : Instance
    jobs : JobsThatEnd
    pairs : DataFrame or mapping, optional
        As of :func:`gavel`.
    at : Series, mapping, array or table by user, optional
        Throughputs a, a column for each tangent; by default what a job has in isolation.
    rho : float, optional
    """
    m = instance.users
    source = f"{THEMIS}; {SOURCE}, §4.2"
    if rho is not None:
        shared = _region(instance, "finish-time fairness, can all have rho?", source, pairs)
        model = shared.model
        throughput_due = jobs.throughputs_due(instance, rho)
        g = model.parameter("g", m, throughput_due, "throughput that n needs to have rho")
        t = lowest_level(model, instance, "part of it that all can have")
        rows = model.constraint("fairness", shared.effective >= g * t, where=shared.runnable)
        model.leximin(rows, t)
        return model

    points = jobs.isolated[:, None] if at is None else _points(instance, at)
    k = Index("k", range(1, points.shape[1] + 1), "tangent")
    shared = _region(instance, "finish-time fairness", source, pairs)
    model = shared.model
    intercepts, slopes = jobs.tangents(points)
    alpha = model.parameter(
        "alpha", (m, k), intercepts, "1/rho of n by tangent k, at no throughput"
    )
    beta = model.parameter("beta", (m, k), slopes, "what a unit of throughput adds to it")
    y = model.variable("y", m, where=shared.runnable, doc="1/rho of n, by the lowest tangent")
    model.constraint(
        "tangents",
        y <= alpha + beta * shared.effective,
        where=(runnable_users(instance)[:, None] & np.ones(points.shape, dtype=bool)),
    )
    t = lowest_level(model, instance, "lowest 1/rho")
    rows = model.constraint("fairness", y >= t, where=shared.runnable)
    model.leximin(rows, t)
    return model


@dataclass(frozen=True)
class JobsThatEnd:
    """Jobs that have steps left, and when they would end in isolation; arrays of shape (N,).

    Attributes
    ----------
    steps : ndarray
        s[m], the steps that are left.
    age : ndarray
        e[m], the time since the job came.
    isolated : ndarray
        T[m](isolated), the throughput with a proportional split (Gavel's): the job's part of each
        kind of server.
    isolated_end : ndarray
        F[m], when the job would end in isolation.
    """

    steps: np.ndarray
    age: np.ndarray
    isolated: np.ndarray
    isolated_end: np.ndarray

    @classmethod
    def of(cls, instance: Instance, steps: Any, age: Any, isolated_age: Any) -> JobsThatEnd:
        """Return the jobs of the options of a call, by user; ages are 0 where they are left out."""
        numbers = steps_of(instance, steps)
        ages = np.zeros(len(numbers)) if age is None else by_user(instance, "age", age)
        isolated_ages = ages
        if isolated_age is not None:
            isolated_ages = by_user(instance, "isolated_age", isolated_age)
        isolated = isolated_throughputs(instance)
        return cls(numbers, ages, isolated, isolated_ages + numbers / isolated)

    def levels(self, throughput: np.ndarray) -> np.ndarray:
        """Return 1/ρ of each job at its throughput: F·T/(e·T + s)."""
        return np.asarray(self.isolated_end * throughput / (self.age * throughput + self.steps))

    def tasks(self, level: float) -> np.ndarray:
        """Return the throughput of each job at which 1/ρ is a level: s·y/(F − e·y)."""
        return np.asarray(self.steps * level / (self.isolated_end - self.age * level))

    def tasks_per_level(self, level: float) -> np.ndarray:
        """Return the derivative of that throughput: s·F/(F − e·y)²."""
        room = self.isolated_end - self.age * level
        return np.asarray(self.steps * (self.isolated_end / room) / room)

    def tangents(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return intercepts and slopes of the tangents of 1/ρ at throughputs, users × points."""
        steps, age, end = (values[:, None] for values in (self.steps, self.age, self.isolated_end))
        work = age * points + steps
        intercepts = end * points / work * (age * points / work)
        return intercepts, end / work * (steps / work)

    def throughputs_due(self, instance: Instance, rho: float) -> np.ndarray:
        """Return s/(ρ·F − e), the throughput at which each job has ρ.

        Raises
        ------
        InstanceError
            Where a job is so old that it cannot have ρ at any throughput.
        """
        time = rho * self.isolated_end - self.age
        overdue = runnable_users(instance) & ~(time > 0)
        if overdue.any():
            n = int(overdue.argmax())
            raise InstanceError(
                f"rho is {rho:g}; job {quoted(instance.users[n])} is {self.age[n]:g} old, and has "
                f"{self.age[n] / self.isolated_end[n]:g} even if it ended at once"
            )
        return np.where(time > 0, self.steps / np.where(time > 0, time, 1.0), 1.0)


def fastest_throughputs(instance: Instance) -> np.ndarray:
    """Return each job's throughput on its fastest kind, 1 for one that runs on none; (N,)."""
    fastest = throughputs(instance).max(axis=1)
    return np.where(fastest > 0, fastest, 1.0)


def isolated_throughputs(instance: Instance) -> np.ndarray:
    """Return each job's throughput with a proportional split: φ/Σφ of each kind, one at a time.

    A job whose part would keep it busy for more than all its time has each kind for less, in
    proportion, as in Gavel. 1 for a job that can run nothing, which has no part. Shape (N,).
    """
    runnable = runnable_users(instance)
    weights = np.where(runnable, instance.user_weights, 0.0)
    parts = quotients(weights, weights.sum())
    speed = throughputs(instance)
    copies = tasks_alone(instance.demands, instance.total_capacities)
    time = np.where(speed > 0, copies, 0.0) * parts[:, None]
    time /= np.maximum(time.sum(axis=1, keepdims=True), 1.0)
    isolated = np.minimum((speed * time).sum(axis=1), instance.task_limits)
    return np.where(runnable, isolated, 1.0)


def steps_of(instance: Instance, steps: Any) -> np.ndarray:
    """Return the steps that each job has left, above 0."""
    numbers = by_user(instance, "steps", steps)
    expected = "the steps that are left, above 0 (a job that has ended is no user)"
    refuse(~(numbers > 0), numbers, [instance.users], "steps", expected, InstanceError)
    return numbers


def by_user(instance: Instance, name: str, values: Any) -> np.ndarray:
    """Return an option's numbers in the order of the users, finite and at least 0. Shape (N,).

    Labels of others, such as jobs that have not come or have left, are passed over.
    """
    subject = f"the option {quoted(name)}"
    users = instance.users
    if isinstance(values, Mapping):
        values = {user: number for user, number in values.items() if user in users}
    elif isinstance(values, pd.Series) and values.index.isin(users.labels).any():
        values = values[values.index.isin(users.labels)]
    numbers = labelled(values, subject, users)
    refused = ~(np.isfinite(numbers) & (numbers >= 0))
    refuse(refused, numbers, [users], subject, "a finite number >= 0", InstanceError)
    return numbers


def _points(instance: Instance, at: Any) -> np.ndarray:
    """Return throughputs at which levels have tangents, users × tangents."""
    subject = "the option 'at'"
    axes = (instance.users, None)
    points = numbers_in(aligned(at, axes, subject, InstanceError), axes, subject, InstanceError)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or len(points) != len(instance.users) or not points.shape[1]:
        raise InstanceError(
            f"{subject} has shape {points.shape}; expected throughputs of {len(instance.users)} users, a "
            "column for each tangent"
        )
    refused = ~(np.isfinite(points) & (points >= 0))
    refuse(refused, points, axes, subject, "a finite number >= 0", InstanceError)
    return points


def one_kind_at_a_time(model: Model, instance: Instance, tasks: Expression) -> None:
    """Add the rows ``time``, by which a job has no more than all its time.

    The model has tasks over users and servers.
    """
    m = instance.users
    j = instance.servers
    time = model.parameter(
        "a", (m, j), inverse(throughputs(instance)), "time of n for one of its tasks on i"
    )
    model.constraint("time", (time * tasks).sum(j) <= 1)
