"""``snapshot``: read what a scheduler's tools print."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ...errors import FileFormatError, UnknownNameError, nearest
from .assembly import Snapshot, assemble
from .sources import advice, files_of, scheduler_of


def snapshot(
    path: str | Path,
    scheduler: str | None = None,
    *,
    capacity: Literal["whole", "free"] = "whole",
    by: Literal["owner", "queue"] = "owner",
) -> Snapshot:
    """Read what a scheduler's tools print: nodes, queues, what runs and what waits.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of files of one scheduler: Kubernetes (with Kueue and Volcano), Slurm or
        YARN.
    scheduler : {"kubernetes", "slurm", "yarn"}, optional
        By default told from what is in the files.
    capacity : {"whole", "free"}
        Whether the instance is of all there is and all tasks, or of what is free and the tasks that
        wait.
    by : {"owner", "queue"}
        One user for each owner in a queue and each kind of task, or for all owners in the queue
        together.

    Returns
    -------
    Snapshot

    Raises
    ------
    FileFormatError
        When a file cannot be read, is cut off, or is of none of these schedulers, or of several.
    InstanceError
        When nothing runs or waits, or no node is there.
    TooLargeError
        When users × nodes would take tables of several GiB.
    UnknownNameError
        For a scheduler or another choice that is not known.
    """
    from . import kubernetes, slurm, yarn

    # each reads file after file, and then has a cluster and who may run where
    readers: dict[str, Any] = {
        "kubernetes": kubernetes.KubernetesReader,
        "slurm": slurm.SlurmReader,
        "yarn": yarn.YarnReader,
    }
    files = files_of(path)
    choices = (
        ("scheduler", scheduler, readers),
        ("capacity", capacity, ("whole", "free")),
        ("by", by, ("owner", "queue")),
    )
    for what, given, known in choices:
        if given is not None and given not in known:
            raise UnknownNameError(f"{what}={given!r} is not known; {nearest(given, known)}")
    kinds = {file: scheduler_of(file) for file in files}
    found = sorted({kind for kind in kinds.values() if kind is not None})
    if scheduler is None:
        if len(found) != 1:
            what = f"is of {' and '.join(found)}" if found else "is of no scheduler that is known"
            tables = next(filter(None, map(advice, files)), "")
            raise FileFormatError(
                f"{path} {what}{tables}; expected a dump of one of {', '.join(readers)} "
                "(scheduler=… says which)"
            )
        scheduler = found[0]
    elif not found:  # nothing in them tells, and we are told
        kinds = dict.fromkeys(files, scheduler)
    reader = readers[scheduler]()
    for file, kind in kinds.items():
        if kind == scheduler:
            reader.read(file)
    cluster, allowed = reader.finish()
    for file, kind in kinds.items():
        if kind != scheduler:
            what = f"it is of {kind}" if kind else "nothing in it tells what it is"
            cluster.notes.add(file.name, "the file", what, "left out")
    return assemble(cluster, allowed, str(path), capacity, by)
