"""A discrete-event simulator of whole tasks on servers: users submit jobs over time, a policy decides.

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
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.errors import FileFormatError, StudyError
from ..solvers.combinatorial.placement import SLOTS
from .engine import Engine
from .result import SimulationResult
from .workload import Workload

if TYPE_CHECKING:
    from ..models.instance import Instance

#: Decisions between two looks at the progress bar and, where a state is kept, two saved states.
BATCH = 20_000


def simulate(
    cluster: Instance,
    workload: Workload,
    policy: str = "best-fit",
    *,
    until: float | None = None,
    every: float = 60.0,
    weights: dict[Any, float] | None = None,
    slots: int = SLOTS,
    state: str | Path | None = None,
    progress: bool | None = None,
) -> SimulationResult:
    """Simulate a workload on a cluster.

    Parameters
    ----------
    cluster : Instance
        Its servers; its users are not used.
    workload : Workload
    policy : {"first-fit", "best-fit", "slots"}
    until : float, optional
        Seconds; by default until everything has ended.
    every : float
        Seconds between samples of the time series.
    weights : dict, optional
        User → weight.
    slots : int
        Slots of the largest server, for ``slots``.
    state : str or Path, optional
        A file in which the state is kept every ``BATCH`` decisions; a killed run that is started again with the same
        arguments goes on from there and gives the same result to the last bit. It is removed at the end. (A pickle:
        open only your own.)
    progress : bool, optional
        A progress bar; by default in a terminal or notebook only.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InstanceError
        For a resource that no server has, a weight of 0, a user with no server.
    StudyError
        When the state is of another simulation.
    """
    from ..progress import progress_bar

    engine = Engine(cluster, workload, policy, weights=weights, slots=slots, every=every)
    key = _key(cluster, workload, policy, weights, slots, every)
    if state is not None and Path(state).exists():
        engine = _load(Path(state), key)
    ended = int(engine.done.sum())
    with progress_bar(f"{policy}: tasks ended", workload.total_tasks, ended, progress) as advance:
        while not engine.run(float("inf") if until is None else until, BATCH):
            before, ended = ended, int(engine.done.sum())
            advance(ended - before)
            if state is not None:
                _save(Path(state), key, engine)
    if state is not None:
        Path(state).unlink(missing_ok=True)
    return SimulationResult.of(engine, workload, tuple(cluster.resources))


def _key(*parts: Any) -> str:
    digest = hashlib.sha256()
    cluster, workload, *rest = parts
    for array in (cluster.capacities, cluster.counts):
        digest.update(array.tobytes())
    digest.update(workload.jobs.to_csv().encode())
    digest.update(repr(rest).encode())
    return digest.hexdigest()


def _save(path: Path, key: str, engine: Engine) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(pickle.dumps((key, engine), protocol=pickle.HIGHEST_PROTOCOL))
    os.replace(temporary, path)


def _load(path: Path, key: str) -> Engine:
    try:
        kept, engine = pickle.loads(path.read_bytes())
    except (pickle.UnpicklingError, EOFError, AttributeError, ValueError) as error:
        raise FileFormatError(
            f"{str(path)!r} holds no state of a simulation ({error}); remove it to start afresh"
        ) from error
    if kept != key:
        raise StudyError(f"{str(path)!r} holds the state of another simulation; give another file, or remove it")
    found: Engine = engine
    return found


__all__ = ["SimulationResult", "Workload", "simulate"]
