"""A discrete-event simulator: users submit jobs over time, a policy of whole or divisible tasks decides.

>>> import pandas as pd
>>> import fairlp
>>> jobs = pd.DataFrame({"user": ["ann", "bob"], "arrival": [0, 10], "tasks": [4, 2], "duration": 30, "cpu": 1})
>>> cluster = fairlp.Instance.from_arrays([[1]], [[2]], resources=["cpu"])
>>> result = fairlp.simulation.simulate(cluster, fairlp.simulation.Workload.of(jobs, ["cpu"]), "first-fit", every=10)
>>> result.jobs.finish.tolist()
[90.0, 90.0]
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..._version import __version__
from ...errors import FileFormatError, StudyError, UnknownNameError, named
from ...mechanisms.mechanism import Mechanism
from ...mechanisms.table import find
from ...mechanisms.whole_tasks.placement import POLICIES, SLOTS
from ...models.files.arrays import read_arrays, write_arrays
from ...models.files.whole_files import home
from ...models.instances.instance import Instance
from .allocators import fluid_policies
from .base import Simulation
from .engine import Engine
from .fluid import Fluid
from .result import SimulationResult
from .workload import Workload

#: Events between two looks at the progress bar and, where a state is kept, two saved states.
BATCH = 1000
#: Version of the format of a saved state, and the key in its document that tells what it is.
STATE_VERSION = 1
_FORMAT = "fairlp_simulation"
#: Seconds between samples, and how many of them (while jobs arrive), where nothing is said.
SHORTEST, MOST_SAMPLES = 60.0, 1000
#: Samples that there are at least until the last arrival has run, where nothing is said: one at 0 would show nothing.
FEWEST_SAMPLES = 10


def simulate(
    cluster: Instance,
    workload: Workload,
    policy: str | Mechanism = "best-fit",
    *,
    until: float | None = None,
    every: float | None = None,
    weights: dict[Any, float] | None = None,
    slots: int = SLOTS,
    state: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> SimulationResult:
    """Simulate a workload on a cluster.

    Parameters
    ----------
    cluster : Instance
        Its servers; its users are not used.
    workload : Workload
    policy : str or Mechanism
        Whole tasks by ``first-fit``, ``best-fit`` or ``slots``; or divisible tasks, shared anew at every event, by a
        static mechanism of :func:`fairlp.mechanisms` (``drfh``, ``c-drfh``, ``tsf``, ``psdsf-rdm``, …) or by servers
        on their own, ``psdsf-rdm-distributed`` and ``psdsf-tdm-distributed``. One that remembers (``karma``) shares
        once a ``period``. :func:`policies` lists them.
    until : float, optional
        Seconds; by default until everything has ended.
    every : float, optional
        Seconds between samples of the time series; by default 60, more where that would be over a thousand of them, and
        less where it would be under ten.
    weights : dict, optional
        User → weight.
    slots : int
        Slots of the largest server, for policy ``slots``.
    state : str or Path, optional
        A file in which the state is kept every ``BATCH`` events; a killed run that is started again with the same
        arguments goes on from there and gives the same result to the last bit. It is removed at the end. It holds
        numbers only (an ``.npz`` of NumPy), so that reading one of a stranger runs nothing.
    progress : bool, optional
        A progress bar; by default in a terminal or notebook only.
    **options
        Of divisible tasks: as for :func:`fairlp.allocate`, or ``period``, ``jitter``, ``delay``, ``damping``,
        ``procedure`` and ``clock_seed`` of servers on their own (as of :func:`fairlp.per_server.track`); ``period``,
        seconds of a quantum, of a mechanism that remembers.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InstanceError
        For a resource that no server has, or a weight of 0.
    UnknownNameError, NotDefinedError
        For a policy or option that does not exist, or a mechanism that is not defined for this cluster and workload.
    StudyError
        When the state is of another simulation, or of another fairlp.
    FileFormatError
        When the state is damaged or none.
    """
    from ...progress import progress_bar

    policy = find(policy).name if isinstance(policy, Mechanism) else policy
    if every is None:
        last = float(workload.jobs["arrival"].max()) if until is None else until
        end = last + (float(workload.jobs["duration"].max()) if until is None else 0.0)
        every = max(SHORTEST, end / MOST_SAMPLES)
        if 0 < end < FEWEST_SAMPLES * every:
            every = end / FEWEST_SAMPLES
    simulation = _simulation(cluster, workload, policy, slots, options, weights=weights, every=every)
    key = _key(cluster, workload, policy, weights, slots, every, options)
    place = None if state is None else home(state)
    if place is not None and place.exists():
        _load(place, key, simulation)
    ended = int(simulation.completed().sum())
    with progress_bar(f"{policy}: tasks ended", workload.total_tasks, ended, progress) as advance:
        while not simulation.run(float("inf") if until is None else until, BATCH):
            before, ended = ended, int(simulation.completed().sum())
            advance(ended - before)
            if place is not None:
                _save(place, key, simulation)
    if place is not None:
        place.unlink(missing_ok=True)
    return SimulationResult.of(simulation, workload, tuple(cluster.resources))


def policies() -> tuple[str, ...]:
    """Return the names of all policies: of whole tasks, then of divisible ones.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> policies()[:5]
    ('first-fit', 'best-fit', 'slots', 'drf', 'edrf')
    """
    return (*POLICIES, *fluid_policies())


def _simulation(
    cluster: Instance, workload: Workload, policy: str, slots: int, options: dict[str, Any], **common: Any
) -> Simulation:
    """Return the simulation of a policy at its beginning."""
    policy = named(policy, policies(), "policy")
    if policy not in POLICIES:
        return Fluid(cluster, workload, policy, **common, **options)
    if options:
        raise UnknownNameError(
            f"policy {policy!r} has no option {next(iter(options))!r}; only divisible tasks have any"
        )
    return Engine(cluster, workload, policy, slots=slots, **common)


def _key(cluster: Instance, workload: Workload, *rest: Any) -> str:
    """Return what tells one simulation from another."""
    digest = hashlib.sha256()
    for array in (cluster.capacities, cluster.counts):
        digest.update(array.tobytes())
    digest.update(cluster.server_attributes.to_csv().encode())
    digest.update(workload.jobs.to_csv().encode())
    digest.update(repr((list(cluster.resources), rest)).encode())
    return digest.hexdigest()


def _save(path: Path, key: str, simulation: Simulation) -> None:
    arrays, random = simulation.state()
    about = {_FORMAT: STATE_VERSION, "fairlp": __version__, "simulation": key, "random": random}
    write_arrays(path, about, arrays)


def _load(path: Path, key: str, simulation: Simulation) -> None:
    """Let a simulation that is at its beginning go on from the state in a file."""
    kept = read_arrays(path, "state of a simulation")
    told = kept.document
    if _FORMAT not in told:
        raise FileFormatError(f"{str(path)!r} holds no state of a simulation; give another file, or remove it")
    if told[_FORMAT] != STATE_VERSION or told.get("fairlp") != __version__:
        raise StudyError(
            f"{str(path)!r} was written by fairlp {_shown(told.get('fairlp'))} (version {_shown(told[_FORMAT])} of the "
            f"format) and this is {__version__} (version {STATE_VERSION}), whose numbers may differ; go on with that "
            "one, or remove the file to start afresh"
        )
    if told.get("simulation") != key:
        raise StudyError(f"{str(path)!r} holds the state of another simulation; give another file, or remove it")
    simulation.restore(kept)


def _shown(value: Any) -> str:
    return str(value)[:20]


__all__ = ["SimulationResult", "Workload", "experiments", "generators", "policies", "simulate"]


def __dir__() -> list[str]:
    return __all__
