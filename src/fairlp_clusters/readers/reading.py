"""``snapshot``: read what a scheduler's tools print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlp import Instance
from fairlp.errors import FileFormatError, UnknownNameError, nearest, quoted

from .assembly import assemble
from .snapshot import Snapshot
from .sources import advice, files_of, is_dump, scheduler_of_beginning


def snapshot(
    path: str | Path,
    scheduler: str | None = None,
) -> Snapshot:
    """Read what a scheduler's tools print: nodes, queues, and tasks that run and wait.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of files of one scheduler: Kubernetes (with Kueue and Volcano), Slurm or
        YARN.
    scheduler : {"kubernetes", "slurm", "yarn"}, optional
        By default recognised by the content of the files.

    Returns
    -------
    Snapshot

    Raises
    ------
    FileFormatError
        When a file cannot be read, is cut off, or is of none of these schedulers, or of several.
    InstanceError
        When nothing runs or waits, or the dump has no nodes.
    TooLargeError
        When users × nodes would take tables of several GiB.
    UnknownNameError
        For a scheduler that is not known.
    """
    return snapshot_of(files_of(path), str(path), scheduler)


def snapshot_of(
    files: Sequence[Path],
    path: str,
    scheduler: str | None = None,
) -> Snapshot:
    """Read the files of one dump, which messages call by its path; see :func:`fairlp_clusters.snapshot`."""
    from . import dumps, kubernetes, slurm, yarn

    # A reader reads file after file, and then returns the cluster and where its tasks may run.
    readers: dict[str, Any] = {
        "kubernetes": kubernetes.KubernetesReader,
        "slurm": slurm.SlurmReader,
        "yarn": yarn.YarnReader,
    }
    if scheduler is not None and scheduler not in readers:
        raise UnknownNameError(
            f"scheduler={quoted(scheduler)} is not known; {nearest(scheduler, readers)}"
        )

    schedulers = {file: scheduler_of_beginning(file) for file in files}
    names = sorted(set(filter(None, schedulers.values())))
    read_names = [name for name in names if name in readers]
    if not read_names and (names or scheduler is None):
        problem = "no scheduler that is known" + next(filter(None, map(advice, files)), "")
        if names:
            problem = f"{' and '.join(names)}, no scheduler that fairlp reads"
        raise FileFormatError(_expected(path, problem, readers))
    if scheduler is None and len(read_names) > 1:
        raise FileFormatError(_expected(path, " and ".join(read_names), readers))
    scheduler = scheduler or read_names[0]
    if not names:
        schedulers = dict.fromkeys(files, scheduler)

    reader = readers[scheduler]()
    try:
        for file, of_file in schedulers.items():
            if of_file == scheduler:
                reader.read(file)
        cluster, allowed = reader.finish()
    except RecursionError:
        raise FileFormatError(f"{path}: lists or mappings are nested too deeply") from None
    for file, of_file in schedulers.items():
        if of_file != scheduler:
            if of_file is None and (remedy := advice(file)):
                raise FileFormatError(f"{file} is a table for people{remedy}")
            message = f"it is of {of_file}" if of_file else "it is of no scheduler that is known"
            cluster.notes.add(file.name, "the file", message)
    read_files = tuple(file for file, of_file in schedulers.items() if of_file == scheduler)
    return replace(
        assemble(cluster, allowed, path),
        time=dumps.time_of_dump(dumps.Dump(Path(path).name, read_files)),
        files=tuple(file.name for file in read_files),
    )


def _expected(path: str, problem: str, readers: Iterable[str]) -> str:
    """Return the message for a path that is not of one scheduler that is read."""
    expected = f"expected a dump of one of {', '.join(readers)} (scheduler=… says which)"
    return f"{path} is of {problem}; {expected}"


def instance_of_dump(path: Path) -> Instance | None:
    """Return the instance of a scheduler's dump, None where the path is of none (``fairlp.readers``)."""
    return snapshot(path).instance if is_dump(path) else None
