"""Experiments of Wang et al. (§VI) and Khamse-Ashari et al. (§V) on any cluster and workload.

=================  ===========================  ==================================
paper              function                     figure
=================  ===========================  ==================================
Wang, Fig. 4       ``joining_users``            ``plot_user_shares``
Wang, Table II     ``slot_sizes``               ``plot_slot_sizes``
Wang, Fig. 5       ``compare_policies``         ``plot_utilization_over_time``
Wang, Fig. 6       the same                     ``plot_completion_times``, ``plot_reductions``
Wang, Fig. 7       the same                     ``plot_completion_ratios``
Wang, Fig. 8       ``dedicated_clouds``         ``plot_dedicated_clouds``
KA, Fig. 6         ``leaving_user``             ``plot_tracking``
Dolev, §6          ``mean_tasks``
Wang, §V-B         ``distances``                (one moment: placements beside the optimum)
=================  ===========================  ==================================

Wang: W. Wang, B. Li and B. Liang, Dominant Resource Fairness in Cloud Computing Systems with
Heterogeneous Servers, INFOCOM 2014, doi 10.48550/arXiv.1308.0083. KA: J. Khamse-Ashari, I.
Lambadaris, G. Kesidis, B. Urgaonkar and Y. Zhao, Per-Server Dominant-Share Fairness, ICC 2017, doi
10.48550/arXiv.1611.00404. Dolev: D. Dolev, D. Feitelson, J. Halpern, R. Kupferman and N. Linial, No
Justified Complaints, ITCS 2012.

Simulations of one experiment are independent: they run where ``joblib.parallel_config`` says, and a
``folder`` keeps those that are finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from fairlp import Instance, Mechanism, allocate, examples, formulations, mechanisms
from fairlp.errors import InstanceError, needed_by, quoted, require_known
from fairlp.toolkit import lists, tolerances

from ..distributed import Tracking, track
from ..runner import run_calls, sources_of_mechanism
from .generators import divide, three_users
from .result import SimulationResult
from .simulating import simulate
from .workload import Workload

#: Classes of jobs by their tasks: 1 to 5, 6 to 10, …, more than 50 (Wang et al., Fig. 6b, has five
#: classes too).
SIZES = (5, 10, 20, 50)
#: Sizes of slots in Table II of Wang et al..
SLOT_SIZES = (10, 12, 14, 16, 20)


class SimulationOptions(formulations.options.SharingOptions, total=False):
    """Keywords of :func:`fairlp_research.simulation.simulate` for what runs several simulations."""

    until: float | None
    every: float | None
    weights: dict[Any, float] | None
    slots: int


class TrackOptions(formulations.options.ClockOptions, total=False):
    """Keywords of :func:`fairlp_research.distributed.track` for what tracks by it."""

    step: float
    division: Literal["rdm", "tdm"]
    beside: Sequence[str]
    near: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """One workload on one cluster under several policies.

    Attributes
    ----------
    cluster : Instance
    workload : Workload
    results : dict
        Policy → :class:`SimulationResult`.
    """

    cluster: Instance
    workload: Workload
    results: dict[str, SimulationResult] = field(repr=False)

    def utilization(self) -> pd.DataFrame:
        """Return the fraction of each resource in use over time; columns (policy, resource).

        Returns
        -------
        DataFrame
            Indexed by time [s].
        """
        series = {policy: result.utilization for policy, result in self.results.items()}
        return pd.concat(series, axis="columns", names=["policy", "resource"])

    def completion(self) -> pd.DataFrame:
        """Return the completion time [s] of each job under each policy; NaN where it did not end.

        Returns
        -------
        DataFrame
            Jobs × policies.
        """
        return pd.DataFrame(
            {policy: result.jobs["completion"] for policy, result in self.results.items()}
        )

    def ratios(self) -> pd.DataFrame:
        """Return the tasks ``submitted`` by each user, and by policy the fraction completed.

        Returns
        -------
        DataFrame
        """
        first = next(iter(self.results.values()))
        ratios = {policy: result.users["ratio"] for policy, result in self.results.items()}
        return pd.DataFrame({"submitted": first.users["submitted"], **ratios})

    def summary(self, start: float = 0.0, stop: float = np.inf) -> pd.DataFrame:
        """Return a row for each policy: mean utilisation over a time, completed tasks and times.

        The time is from ``start`` to ``stop``.

        Parameters
        ----------
        start, stop : float
            Seconds; ``stop`` is excluded.

        Returns
        -------
        DataFrame
        """
        times = self.completion()
        times_of_common_jobs = times[times.notna().all(axis="columns")]
        rows = {}
        for policy, result in self.results.items():
            utilization = result.utilization.loc[start:stop].mean()
            tasks = result.users["completed"].sum() / result.users["submitted"].sum()
            jobs = result.jobs["finish"].notna().sum() / len(result.jobs)
            rows[policy] = {
                **{f"{resource} used": value for resource, value in utilization.items()},
                "tasks completed": tasks,
                "jobs completed": jobs,
                "completion of all [s]": result.jobs["completion"].mean(),
                "completion of those that end everywhere [s]": times_of_common_jobs[policy].mean(),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def reductions(
        self, policy: str = "best-fit", against: str = "slots", sizes: Sequence[int] = SIZES
    ) -> pd.DataFrame:
        """Return the reduction of completion times from one policy to another, by class of jobs.

        Parameters
        ----------
        policy, against : str
        sizes : sequence of int
            The largest number of tasks in each class but the last.

        Returns
        -------
        DataFrame
            By number of tasks: ``jobs`` that end under both policies, and the mean of their
            ``reduction`` 1 − time/time against (negative: later).
        """
        jobs = self._of(policy).jobs
        reductions = 1 - jobs["completion"] / self._of(against).jobs["completion"]
        names = [*(f"{low + 1}–{high}" for low, high in pairwise([0, *sizes])), f">{sizes[-1]}"]
        classes = pd.cut(jobs["tasks"], [0, *sizes, np.inf], labels=names)
        groups = reductions.groupby(classes, observed=False)
        return pd.DataFrame({"jobs": groups.count(), "reduction": groups.mean()}).rename_axis(
            "tasks of the job"
        )

    def _of(self, policy: str) -> SimulationResult:
        require_known(policy, self.results, f"policy {quoted(policy)} is not in this comparison")
        return self.results[policy]


@dataclass(frozen=True, eq=False)
class DedicatedClouds:
    """Users on dedicated clouds, and together on all servers.

    Attributes
    ----------
    policy : str
    users : DataFrame
        By user: tasks ``submitted``; the fraction completed, ``dedicated`` and ``shared``; and the
        mean completion time of the jobs that ended in both, ``dedicated time`` and ``shared time``
        [s].
    """

    policy: str
    users: pd.DataFrame

    def figures(self) -> pd.Series[float]:
        """Return the fractions of users that the shared cloud serves better or worse, and gains.

        Returns
        -------
        Series
        """
        gain = (self.users["shared"] - self.users["dedicated"]).dropna()
        times = self.users[["shared time", "dedicated time"]].dropna()
        return pd.Series(
            {
                "more tasks shared": (gain > 0).mean(),
                "as many": (gain == 0).mean(),
                "fewer tasks shared": (gain < 0).mean(),
                "largest loss of ratio": max(0.0, -gain.min()),
                "mean gain of ratio": gain.mean(),
                "jobs sooner shared": (times["shared time"] <= times["dedicated time"]).mean(),
            }
        )


#: Cluster, workload, policy and options of a simulation.
_Call = tuple[Instance, Workload, str, Mapping[str, Any]]


def _simulate(
    key: str,
    cluster: Instance,
    workload: Workload,
    policy: str | Mechanism,
    options: Mapping[str, Any],
) -> SimulationResult:
    """Return the result of a simulation.

    ``key`` stands for its arguments where results are kept.
    """
    return simulate(cluster, workload, policy, progress=False, **options)


def _simulate_all(
    calls: Sequence[_Call], folder: str | Path | None, progress: bool | None
) -> list[SimulationResult]:
    """Return the results of simulations in the order of the calls."""
    results = run_calls(
        "simulations",
        _simulate,
        [("" if folder is None else _key(call), *_portable(call)) for call in calls],
        folder=folder,
        ignore=["cluster", "workload", "policy", "options"],
        progress=progress,
    )
    results_by_position = dict(results)
    return [results_by_position[position] for position in range(len(calls))]


def _key(call: _Call) -> str:
    """Return the key of a simulation.

    Copies of its arguments in other processes would have other hashes.
    """
    with needed_by("simulations that go on"):
        import joblib

    policy = call[2]
    sources = sources_of_mechanism(mechanisms.OWN[policy]) if policy in mechanisms.OWN else []
    return str(joblib.hash((*call, sources)))


def _portable(call: _Call) -> tuple[Instance, Workload, str | Mechanism, Mapping[str, Any]]:
    """Return the arguments of a simulation for other processes.

    A user's mechanism is an object there.
    """
    cluster, workload, policy, options = call
    return cluster, workload, mechanisms.OWN.get(policy, policy), options


@lists(SimulationOptions)
def compare_policies(
    cluster: Instance,
    workload: Workload,
    policies: Sequence[str] = ("best-fit", "first-fit", "slots"),
    *,
    folder: str | Path | None = None,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> Comparison:
    """Run a workload under several policies (Wang et al., Figs. 5 to 7).

    Parameters
    ----------
    cluster : Instance
    workload : Workload
    policies : sequence of str
    folder : str or Path, optional
        Where finished simulations are kept; only a folder that you trust.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    **options
        As for :func:`simulate`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import fairlp_research
    >>> from fairlp_research.simulation.generators import google_sample, synthetic
    >>> comparison = compare_policies(google_sample(5, seed=1), synthetic(60, 5, hours=0.5, seed=1), until=1800)
    >>> comparison.summary()["tasks completed"].round(3).to_dict()
    {'best-fit': 0.262, 'first-fit': 0.255, 'slots': 0.255}
    """
    calls = [(cluster, workload, policy, options) for policy in policies]
    results = _simulate_all(calls, folder, progress)
    return Comparison(cluster, workload, dict(zip(policies, results, strict=True)))


@lists(SimulationOptions)
def slot_sizes(
    cluster: Instance,
    workload: Workload,
    sizes: Sequence[int] = SLOT_SIZES,
    *,
    folder: str | Path | None = None,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> pd.DataFrame:
    """Run a workload under Slots with several sizes (Wang et al., Table II).

    Parameters
    ----------
    cluster : Instance
    workload : Workload
    sizes : sequence of int
        Slots of the largest server.
    folder : str or Path, optional
        Where finished simulations are kept; only a folder that you trust.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    **options
        As for :func:`simulate`.

    Returns
    -------
    DataFrame
        By number of slots: the mean fraction of each resource in use, ``overall`` (their mean), and
        the fraction of ``tasks`` completed.
    """
    calls = [(cluster, workload, "slots", {**options, "slots": slots}) for slots in sizes]
    rows = {}
    for slots, result in zip(sizes, _simulate_all(calls, folder, progress), strict=True):
        utilization = result.mean_utilization()
        fraction = result.users["completed"].sum() / result.users["submitted"].sum()
        rows[slots] = {
            **utilization.to_dict(),
            "overall": utilization.mean(),
            "tasks": fraction,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("slots")


@lists(SimulationOptions)
def joining_users(
    cluster: Instance | None = None,
    workload: Workload | None = None,
    policy: str = "best-fit",
    *,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> SimulationResult:
    """Let users join and leave, and watch their shares (Wang et al., Fig. 4).

    Parameters
    ----------
    cluster : Instance, optional
        By default 100 of Google's servers (:func:`fairlp.examples.wang_figure_4`).
    workload : Workload, optional
        By default the paper's three users (:func:`~fairlp_research.simulation.generators.three_users`).
    policy : str
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    **options
        As for :func:`simulate`.

    Returns
    -------
    SimulationResult

    Examples
    --------
    >>> joining_users(policy="drfh", every=50).shares.loc[[150, 450, 550]].round(3).values.tolist()
    [[1.0, 0.0, 0.0], [0.606, 0.606, 0.0], [0.454, 0.454, 0.454]]
    """
    cluster = examples.load("wang-figure-4") if cluster is None else cluster
    return simulate(
        cluster,
        three_users() if workload is None else workload,
        policy,
        progress=progress,
        **options,
    )


@lists(SimulationOptions)
def dedicated_clouds(
    cluster: Instance,
    workload: Workload,
    policy: str = "best-fit",
    *,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> DedicatedClouds:
    """Run every user alone on an equal part of the servers, and all users on all servers.

    Wang et al., Fig. 8.

    Parameters
    ----------
    cluster : Instance
        At least one server for each user.
    workload : Workload
    policy : str
    seed : int
        Of the parts of the servers.
    folder : str or Path, optional
        Where finished simulations are kept; only a folder that you trust.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    **options
        As for :func:`simulate`.

    Returns
    -------
    DedicatedClouds
    """
    users = workload.users
    clouds = divide(cluster, len(users), seed)
    calls = [(cluster, workload, policy, options)]
    calls += [
        (cloud, workload.only(user), policy, options)
        for user, cloud in zip(users, clouds, strict=True)
    ]
    together, *alone = _simulate_all(calls, folder, progress)
    rows = {}
    for user, dedicated in zip(users, alone, strict=True):
        times = pd.DataFrame(
            {"alone": dedicated.jobs["completion"], "shared": together.jobs["completion"]}
        ).dropna()
        rows[user] = {
            "submitted": together.users["submitted"][user],
            "dedicated": dedicated.users["ratio"][user],
            "shared": together.users["ratio"][user],
            "dedicated time": times["alone"].mean(),
            "shared time": times["shared"].mean(),
        }
    return DedicatedClouds(policy, pd.DataFrame.from_dict(rows, orient="index").rename_axis("user"))


def mean_tasks(
    instance: Instance, policy: str = "smallest-gap", *, quanta: int = 1000
) -> pd.Series[float]:
    """Serve quanta under a policy; return the mean tasks of each user (Dolev et al., §6).

    All users always have tasks, each of which takes one quantum. At every quantum the server is
    empty, and is filled in the policy's order.

    Parameters
    ----------
    instance : Instance
        One server, without task limits. Weights are entitlements.
    policy : str
        Of whole tasks: ``smallest-gap``, ``largest-gap``, ``first-fit``, …
    quanta : int

    Returns
    -------
    Series

    Raises
    ------
    InstanceError
        For task limits, or more than one server.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.Instance.from_arrays([[1, 0], [0, 1], [2, 1]], [[100, 100]], weights=[1, 1, 3])
    >>> mean_tasks(instance, quanta=50).to_dict()
    {'user1': 20.0, 'user2': 60.0, 'user3': 40.0}
    """
    if instance.n_servers != 1 or np.isfinite(instance.task_limits).any():
        raise InstanceError(
            "quanta are served on one server, to users who always have tasks; the instance has "
            "several servers, or task limits"
        )
    resources = list(instance.resources)
    jobs = pd.DataFrame(instance.demands, columns=resources).assign(
        user=list(instance.users),
        arrival=0.0,
        tasks=(quanta * np.ceil(instance.gamma()[:, 0])).astype(int),
        duration=1.0,
    )
    weights = dict(zip(instance.users, instance.user_weights.tolist(), strict=True))
    result = simulate(
        instance,
        Workload.of(jobs, resources),
        policy,
        until=float(quanta),
        every=float(quanta),
        weights=weights,
        progress=False,
    )
    return (result.users["completed"] / quanta).rename("tasks")


#: Policies that place whole tasks, by the mechanisms' names.
PLACEMENTS = ("drfh-best-fit", "drfh-first-fit", "slots")


@lists(formulations.options.SolverLimits)
def distances(
    clusters: int = 50,
    *,
    users: int = 5,
    servers: int = 5,
    seed: int = 0,
    **options: Unpack[formulations.options.SolverLimits],
) -> pd.DataFrame:
    """Place whole tasks on random clusters, and compare with the leximin of whole tasks.

    Demands are whole numbers from 1 to 9 of two resources, and servers have 10 to 39 of each.

    Parameters
    ----------
    clusters, users, servers : int
    seed : int
    **options
        Of the integer programs, such as ``time_limit``.

    Returns
    -------
    DataFrame
        Indexed by cluster and policy, the optimum among them (``drfh, whole``). ``smallest``: the
        smallest level as a part of the optimal one; ``tasks``: all tasks as a part of the
        optimum's; ``leximin``: whether the sorted levels are the optimal ones; ``first``: how many
        of the sorted levels, from the lowest, are; ``proved``: whether no limit stopped the integer
        programs.

    Examples
    --------
    >>> table = distances(3, users=2, servers=2)
    >>> bool((table["smallest"] <= 1).all())
    True
    """
    rng = np.random.default_rng(seed)
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for cluster in range(clusters):
        demands = rng.integers(1, 10, (users, 2))
        instance = Instance.from_arrays(demands, rng.integers(10, 40, (servers, 2)))
        best = allocate(instance, "drfh", whole=True, **options)
        optimal = np.sort(best.levels.to_numpy())
        allocations = {"drfh, whole": best}
        allocations |= {name: allocate(instance, name) for name in PLACEMENTS}
        for name, allocation in allocations.items():
            levels = np.sort(allocation.levels.to_numpy())
            is_equal = np.isclose(levels, optimal, rtol=tolerances.AGREEMENT, atol=0)
            rows[cluster, name] = {
                "smallest": levels[0] / optimal[0] if optimal[0] else np.nan,
                "tasks": allocation.totals.sum() / best.totals.sum(),
                "leximin": bool(is_equal.all()),
                "first": int(is_equal.cumprod().sum()),
                "proved": best.gap is None,
            }
    index = pd.MultiIndex.from_tuples(rows, names=["cluster", "policy"])
    return pd.DataFrame(list(rows.values()), index=index)


@lists(TrackOptions)
def leaving_user(
    cluster: Instance | None = None,
    away: Mapping[Any, tuple[float, float]] | None = None,
    *,
    until: float = 300.0,
    **options: Unpack[TrackOptions],
) -> Tracking:
    """Let users leave and return while servers keep PS-DSF (Khamse-Ashari et al., Fig. 6).

    Parameters
    ----------
    cluster : Instance, optional
        With its users; by default that of the paper
        (:func:`fairlp.examples.khamse_ashari_table_3`).
    away : mapping, optional
        User → (from, to); by default the paper's: the last user is away from 100 s to 250 s.
    until : float
    **options
        As for :func:`fairlp_research.distributed.track`.

    Returns
    -------
    Tracking
    """
    cluster = examples.load("khamse-ashari-table-3") if cluster is None else cluster
    away = {cluster.users[-1]: (100.0, 250.0)} if away is None else away
    return track(cluster, away, until=until, **options)
