"""``simulate``: a workload on a cluster under a policy, whichever kind it is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from fairlp import Instance, Mechanism, formulations, mechanisms
from fairlp.errors import UnknownNameError, named, quoted
from fairlp.toolkit import lists

from .allocators import fluid_policies
from .base import Simulation
from .engine import Engine
from .fluid import Fluid
from .gaps import GAP_POLICIES, GapEngine
from .result import SimulationResult
from .workload import Workload

#: Events between two looks at the progress bar.
BATCH = 1000
#: Seconds between samples, and how many of them (while jobs arrive), where nothing is said.
SHORTEST = 60.0
MOST_SAMPLES = 1000
#: Samples that there are at least until the last arrival has run, where nothing is said: one at 0
#: would show nothing.
FEWEST_SAMPLES = 10


@lists(formulations.options.SharingOptions)
def simulate(
    cluster: Instance,
    workload: Workload,
    policy: str | Mechanism = "best-fit",
    *,
    until: float | None = None,
    every: float | None = None,
    weights: dict[Any, float] | None = None,
    slots: int = mechanisms.SLOTS,
    progress: bool | None = None,
    **options: Unpack[formulations.options.SharingOptions],
) -> SimulationResult:
    """Simulate a workload on a cluster.

    Parameters
    ----------
    cluster : Instance
        Its servers; its users are not used.
    workload : Workload
    policy : str or Mechanism
        Whole tasks by ``first-fit``, ``best-fit`` or ``slots``, on one server also by
        ``smallest-gap`` or ``largest-gap`` (Dolev et al., §6); or divisible tasks, shared anew at
        every event, by a static mechanism of :func:`fairlp.mechanisms` (``drfh``, ``c-drfh``,
        ``tsf``, ``psdsf-rdm``, …) or by servers on their own, ``psdsf-rdm-distributed`` and
        ``psdsf-tdm-distributed``. One that remembers (``karma``, or a max-min mechanism that is
        given a ``half_life``) shares once a ``period``.
        :func:`policies` lists them.
    until : float, optional
        Seconds; by default until everything has ended.
    every : float, optional
        Seconds between samples of the time series; by default 60, more where that would be over a
        thousand of them, and less where it would be under ten.
    weights : dict, optional
        User → weight.
    slots : int
        Slots of the largest server, for policy ``slots``.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    **options
        Of divisible tasks: as for :func:`fairlp.allocate`, or ``period``, ``jitter``, ``delay``,
        ``damping``, ``procedure`` and ``clock_seed`` of servers on their own (as of
        :func:`fairlp_research.distributed.track`); ``period``, seconds of a quantum, of a mechanism that
        remembers, and ``half_life``, the seconds in which the past of a user fades by half.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InstanceError
        For a resource that no server has, or a weight of 0.
    UnknownNameError, NotDefinedError
        For a policy or option that does not exist, or a mechanism that is not defined for this
        cluster and workload.
    """
    from fairlp.toolkit import progress_bar

    policy = mechanisms.find(policy).name if isinstance(policy, Mechanism) else policy
    if every is None:
        last = float(workload.jobs["arrival"].max()) if until is None else until
        end = last + (float(workload.jobs["duration"].max()) if until is None else 0.0)
        every = max(SHORTEST, end / MOST_SAMPLES)
        if 0 < end < FEWEST_SAMPLES * every:
            every = end / FEWEST_SAMPLES
    simulation = _simulation(
        cluster, workload, policy, slots, options, weights=weights, every=every
    )
    ended = 0
    with progress_bar(f"{policy}: tasks ended", workload.total_tasks, ended, progress) as advance:
        while not simulation.run(float("inf") if until is None else until, BATCH):
            before = ended
            ended = int(simulation.completed().sum())
            advance(ended - before)
    return SimulationResult.of(simulation, workload, tuple(cluster.resources))


def policies() -> tuple[str, ...]:
    """Return the names of all policies: of whole tasks, then of divisible ones.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> policies()[:5]
    ('first-fit', 'best-fit', 'slots', 'smallest-gap', 'largest-gap')
    """
    return (*mechanisms.POLICIES, *GAP_POLICIES, *fluid_policies())


def _simulation(
    cluster: Instance,
    workload: Workload,
    policy: str,
    slots: int,
    options: Mapping[str, Any],
    **common: Any,
) -> Simulation:
    """Return the simulation of a policy at its beginning."""
    policy = named(policy, policies(), "policy")
    if policy not in (*mechanisms.POLICIES, *GAP_POLICIES):
        return Fluid(cluster, workload, policy, **common, **options)
    if options:
        raise UnknownNameError(
            f"policy {quoted(policy)} has no option {next(iter(options))!r}; only divisible tasks have "
            "any"
        )
    if policy in GAP_POLICIES:
        return GapEngine(cluster, workload, policy, **common)
    return Engine(cluster, workload, policy, slots=slots, **common)
