"""Public cluster traces: Alibaba's GPU trace "openb" (2023), servers of PAI 2020, Google's of 2011.

Alibaba's traces do not say which user a task belongs to. Users are therefore constructed: one for
each class of tasks that ask for the same. Google's trace names users by hashes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, require_known
from ..instances.conditions import condition_text
from ..instances.instance import Instance
from .whole_files import home, read_text

__all__ = ["read_google2011_tasks"]

#: Folders of the tables of Google's trace of 2011.
_MACHINES_2011 = "machine_events"
_TASKS_2011 = "task_events"

_CLASS = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"]
_UNITS = {"cpu": "1/1000 core", "memory": "MiB", "gpu": "1/1000 GPU"}
#: Thousandths in one GPU or core, and MiB in one GiB.
_MILLI = 1000
_MIB = 1024
_PAI_COLUMNS = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")

#: Columns of Google's tables of 2011, which have no header row.
_MACHINE_EVENTS = ("time", "machine", "event", "platform", "cpu", "memory")
_TASK_EVENTS = (
    *("time", "missing info", "job", "task", "machine", "event", "user", "scheduling class"),
    *("priority", "cpu", "memory", "disk", "different machines"),
)
#: Machine events: ADD, REMOVE, UPDATE.
_ADD, _REMOVE, _UPDATE = range(3)
#: Task events: SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, UPDATE_PENDING, UPDATE_RUNNING.
_SUBMIT, _SCHEDULE, _EVICT, _FAIL, _FINISH, _KILL, _LOST, _PENDING, _RUNNING = range(9)
_ENDS = (_EVICT, _FAIL, _FINISH, _KILL, _LOST)
#: Times are in microseconds; what was so before the trace begins has the time 0.
_MICRO = 1_000_000
_DAY = 86_400.0
_NO_USER = "unknown"
_FRACTION = r"\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"


def read_alibaba_gpu(
    nodes_csv: str | Path, tasks_csv: str | Path, *, name: str = "alibaba-gpu-v2023"
) -> Instance:
    """Return the servers and demand classes of Alibaba's GPU trace of 2023.

    Every server is a row of its own, with the attribute ``gpu_model`` (missing where it has no
    GPU). A user is a demand class: all tasks of the same CPU, memory, GPUs, fraction of a GPU and
    ``gpu_spec`` as written; its task limit is the number of these tasks. A ``gpu_spec`` becomes a
    condition such as ``gpu_model in ['G2', 'P100']``.

    Parameters
    ----------
    nodes_csv : str or Path
        ``openb_node_list_*.csv``, with columns sn, cpu_milli, memory_mib, gpu, model.
    tasks_csv : str or Path
        ``openb_pod_list_*.csv``, with columns name, cpu_milli, memory_mib, num_gpu, gpu_milli, and,
        if the file has them, gpu_spec and creation_time (which gives users the attribute
        ``first_seen``, in seconds).
    name : str

    Returns
    -------
    Instance
        CPU in 1/1000 core, memory in MiB and GPU in 1/1000 GPU, so that all numbers are whole.

    Raises
    ------
    FileFormatError
        When a file is cut off or a row is malformed; the message gives line and column.
    InstanceError
        When the files do not describe an allocation problem.
    """
    nodes = _read(nodes_csv, ["sn", "cpu_milli", "memory_mib", "gpu", "model"])
    capacities = _whole(nodes, ["cpu_milli", "memory_mib", "gpu"], nodes_csv)
    model = nodes["model"].str.strip()
    blank = (model == "") & (capacities[:, 2] > 0)
    _refuse(nodes, blank, "model", "is blank on a server with GPUs; expected its model", nodes_csv)
    tasks = _read(tasks_csv, ["name", *_CLASS[:-1]], optional=["gpu_spec", "creation_time"])
    amounts = _whole(tasks, _CLASS[:-1], tasks_csv)
    _refuse(
        tasks,
        amounts[:, 3] > _MILLI,
        "gpu_milli",
        f"is above {_MILLI}; expected 1/1000 of one GPU",
        tasks_csv,
    )
    table = pd.DataFrame(amounts, columns=_CLASS[:-1])
    specs = tasks.get("gpu_spec", pd.Series("", index=tasks.index))
    table["gpu_spec"] = specs.to_numpy()
    gaps = (specs != "") & specs.str.contains(r"(?:^|\|)\s*(?:\||$)")
    _refuse(
        tasks,
        gaps,
        "gpu_spec",
        "is {!r}; expected models joined with '|', none of them blank",
        tasks_csv,
    )
    table["tasks"] = 1
    aggregate = {"tasks": "sum"}
    if "creation_time" in tasks:
        table["first_seen"] = _whole(tasks, ["creation_time"], tasks_csv)[:, 0]
        aggregate["first_seen"] = "min"
    classes = table.groupby(_CLASS, sort=False, as_index=False).agg(aggregate)
    demands = classes[["cpu_milli", "memory_mib"]].assign(
        gpu=classes["num_gpu"] * classes["gpu_milli"]
    )
    labels = [_class_label(*row) for row in classes[_CLASS].itertuples(index=False, name=None)]
    try:
        return Instance.from_arrays(
            demands.to_numpy(dtype=float),
            capacities * np.array([1, 1, _MILLI]),
            users=labels,
            servers=nodes["sn"].tolist(),
            resources=list(_UNITS),
            eligible=[_condition(spec) for spec in classes["gpu_spec"]],
            task_limits=classes["tasks"].to_numpy(dtype=float),
            units=_UNITS,
            server_attributes=pd.DataFrame({"gpu_model": [text or None for text in model]}),
            user_attributes=classes[["first_seen"]] if "first_seen" in classes else None,
            name=name,
        )
    except InstanceError as error:
        raise InstanceError(f"{nodes_csv} and {tasks_csv}: {error}") from None


def read_pai2020(machines_csv: str | Path, header: str | Path | None = None) -> pd.DataFrame:
    """Return the servers of Alibaba's PAI trace of 2020, for :meth:`Instance.from_frames`.

    Parameters
    ----------
    machines_csv : str or Path
        ``pai_machine_spec.csv``; it has no header row.
    header : str or Path, optional
        The file that holds its header; by default machine, gpu_type, cap_cpu, cap_mem, cap_gpu.

    Returns
    -------
    DataFrame
        Indexed by machine, with columns ``cpu [cores]``, ``memory [GB]``, ``gpu`` and ``gpu_type``.

    Raises
    ------
    FileFormatError
        When a row is malformed, or a capacity missing or negative; the message gives line and
        column.
    """
    columns: Sequence[str] = _PAI_COLUMNS
    if header is not None:
        columns = [column.strip() for column in read_text(home(header)).strip().split(",")]
    machines = _read(machines_csv, list(_PAI_COLUMNS), file_headers=columns)
    amounts = _whole(machines, ["cap_cpu", "cap_mem", "cap_gpu"], machines_csv)
    for column in ("machine", "gpu_type"):
        _refuse(
            machines,
            machines[column].str.strip() == "",
            column,
            "is blank; expected text",
            machines_csv,
        )
    repeated = machines["machine"].duplicated()
    _refuse(
        machines,
        repeated,
        "machine",
        "is the name of an earlier machine; expected each once",
        machines_csv,
    )
    table = pd.DataFrame(amounts, columns=["cpu [cores]", "memory [GB]", "gpu"])
    table["gpu_type"] = machines["gpu_type"].str.strip().to_numpy()
    table.index = pd.Index(machines["machine"], name="machine")
    return table


def read_google2011(
    machine_events: str | Path, *, at: float = 0.0, name: str = "google-2011"
) -> Instance:
    """Return the machines of Google's trace of 2011 (clusterdata-2011) at one time.

    Machines of one platform and capacity form a row with their number. A machine is there from its
    event ADD until REMOVE; UPDATE changes its capacity, where it gives one.

    Parameters
    ----------
    machine_events : str or Path
        ``machine_events/part-00000-of-00001.csv.gz``, or unpacked; or the folder of the trace. No
        header: time [µs], machine ID, event type, platform ID, CPU and memory (1: those of the
        largest machine).
    at : float
        Seconds of the trace's own clock, on which the trace begins at 600 s.
    name : str

    Returns
    -------
    Instance
        With one user, ``nobody``, and the attribute ``platform`` (a hash) of servers. Machines
        without a capacity are left out.

    Raises
    ------
    FileFormatError
        When a file is cut off or a row is malformed; the message gives line and column.
    InstanceError
        When no machine is there at that time.
    """
    paths = _parts(machine_events, _MACHINES_2011)
    machines: dict[str, tuple[str, str, str]] = {}
    for path in paths:
        table = _read(path, list(_MACHINE_EVENTS), file_headers=_MACHINE_EVENTS)
        times = _microseconds(table, path)
        events = _events(table, path, _UPDATE)
        _fractions(table, path)
        rows = table[["machine", "platform", "cpu", "memory"]].itertuples(index=False, name=None)
        for time, event, (machine, *kind) in zip(times, events, rows, strict=True):
            if time > at * _MICRO:
                break
            if event == _REMOVE:
                machines.pop(machine, None)
            elif event == _ADD or all(kind):
                machines[machine] = (kind[0], kind[1], kind[2])

    counts: dict[tuple[str, float, float], int] = {}
    for platform, cpu, memory in machines.values():
        if cpu and memory:
            row = (platform, float(cpu), float(memory))
            counts[row] = counts.get(row, 0) + 1
    if not counts:
        raise InstanceError(f"{machine_events}: no machine with a capacity is there at {at:g} s")
    numbers = {
        platform: k + 1 for k, platform in enumerate(dict.fromkeys(row[0] for row in counts))
    }
    return Instance.from_arrays(
        [[1.0, 1.0]],
        [row[1:] for row in counts],
        users=["nobody"],
        servers=[f"{cpu:g}cpu-{memory:g}memory-{numbers[p]}" for p, cpu, memory in counts],
        resources=["cpu", "memory"],
        counts=list(counts.values()),
        units=dict.fromkeys(("cpu", "memory"), "largest server = 1"),
        server_attributes=pd.DataFrame({"platform": [row[0] for row in counts]}),
        name=name,
    )


def read_google2011_tasks(
    task_events: str | Path, *, start: float = 0.0, stop: float = _DAY
) -> pd.DataFrame:
    """Return the tasks of Google's trace of 2011 that were submitted in a time, and how they ran.

    The last run of a task counts, which does the work of those that were evicted, failed or lost
    before. A task that runs on at ``stop`` counts until then. Tasks that did not run, or that ask
    for nothing, are left out. The machines that a task may use (``task_constraints``, hashes of
    attributes and values) are not read.

    Parameters
    ----------
    task_events : str or Path
        A file ``task_events/part-…-of-00500.csv.gz``, or unpacked; or the folder of the trace, whose
        parts are read as far as ``stop``. No header: time [µs], missing info, job ID, task index,
        machine ID, event type, user, scheduling class, priority, requests of CPU, memory and disk
        (1: the largest machine), whether tasks must be on different machines.
    start, stop : float
        Seconds of the trace's own clock, on which the trace begins at 600 s; at 0 are the tasks of
        the time before.

    Returns
    -------
    DataFrame
        Indexed by ``job`` and ``task``: ``user``, ``priority``, ``arrival``, ``begin`` and ``end``
        [s], ``cpu``, ``memory``, ``runs`` (how often it began), and ``ended`` ("finish", "kill",
        "evict", "fail", "lost" or "runs on").

    Raises
    ------
    FileFormatError
        When a file is cut off or a row is malformed; the message gives line and column.
    InstanceError
        When no task ran.
    """
    parts = []
    for path in _parts(task_events, _TASKS_2011):
        part = _task_part(path)
        parts.append(part[(part["time"] >= start) & (part["time"] < stop)])
        if (part["time"] >= stop).any():
            break
    events = pd.concat(parts, ignore_index=True).sort_values("time", kind="stable")
    events["order"] = np.arange(len(events))
    by_task = ["job", "task"]

    # Submitted in the time; the last run, and its end
    tasks = events[events["event"] == _SUBMIT].groupby(by_task)[["time"]].first()
    tasks.columns = ["arrival"]
    of_requests = events.groupby(by_task)[["user", "priority", "cpu", "memory"]].last()
    runs = events[events["event"] == _SCHEDULE].groupby(by_task)
    begins = runs[["time", "order"]].last().set_axis(["begin", "began"], axis="columns")
    tasks = tasks.join([of_requests, begins, runs.size().rename("runs")], how="inner")
    ends = events[events["event"].isin(_ENDS)].merge(tasks[["began"]].reset_index(), on=by_task)
    ends = ends[ends["order"] > ends["began"]].groupby(by_task)[["time", "event"]].first()
    tasks = tasks.join(ends.set_axis(["end", "ended"], axis="columns"))

    names = dict(zip(_ENDS, ("evict", "fail", "finish", "kill", "lost"), strict=True))
    tasks["ended"] = tasks["ended"].map(names).fillna("runs on")
    tasks["end"] = tasks["end"].fillna(stop)
    asks = (tasks["cpu"] > 0) | (tasks["memory"] > 0)
    tasks = tasks[asks & (tasks["end"] > tasks["begin"])].fillna({"cpu": 0.0, "memory": 0.0})
    if tasks.empty:
        raise InstanceError(
            f"{task_events}: no task that was submitted from {start:g} s to {stop:g} s ran then"
        )
    columns = ["user", "priority", "arrival", "begin", "end", "cpu", "memory", "runs", "ended"]
    return tasks.sort_values("arrival", kind="stable")[columns]


def _task_part(path: Path) -> pd.DataFrame:
    """Return one file of task events, checked, with times in seconds."""
    table = _read(path, list(_TASK_EVENTS), file_headers=_TASK_EVENTS)
    users = table["user"].str.strip()
    return pd.DataFrame(
        {
            "time": _microseconds(table, path) / _MICRO,
            "job": _whole(table, ["job"], path)[:, 0],
            "task": _whole(table, ["task"], path)[:, 0],
            "event": _events(table, path, _RUNNING),
            "user": users.mask(users == "", _NO_USER).to_numpy(),
            "priority": _whole(table, ["priority"], path)[:, 0],
            **_fractions(table, path),
        }
    )


def _parts(path: str | Path, folder: str) -> list[Path]:
    """Return the files of one table of Google's trace: a file, or its parts in the folder."""
    whole = home(path)
    if not whole.is_dir():
        return [whole]
    inner = whole / folder if (whole / folder).is_dir() else whole
    parts = sorted([*inner.glob("part-*.csv.gz"), *inner.glob("part-*.csv")])
    if not parts:
        raise FileFormatError(
            f"{str(path)!r} has no {folder}/part-*.csv.gz; expected the folder of clusterdata-2011"
        )
    return parts


def _microseconds(table: pd.DataFrame, path: str | Path) -> np.ndarray:
    """Return the times; 2⁶³ − 1 stands for a time after the trace."""
    refused = ~table["time"].str.fullmatch(r"\s*[0-9]{1,19}\s*")
    _refuse(table, refused, "time", "is {!r}; expected whole microseconds", path)
    times = [int(time) for time in table["time"]]
    is_late = np.array([time >= 2**63 for time in times], dtype=bool)
    _refuse(table, is_late, "time", "is {!r}; expected microseconds below 2^63", path)
    return np.array(times, dtype=np.int64)


def _events(table: pd.DataFrame, path: str | Path, last: int) -> np.ndarray:
    """Return the types of events, 0 to ``last``."""
    refused = ~table["event"].str.fullmatch(rf"\s*[0-{last}]\s*")
    _refuse(table, refused, "event", f"is {{!r}}; expected an event type, 0 to {last}", path)
    return table["event"].astype(np.int64).to_numpy()


def _fractions(table: pd.DataFrame, path: str | Path) -> dict[str, np.ndarray]:
    """Return CPU and memory, from 0 to 1; NaN where they are missing."""
    problem = "is {!r}; expected a part of the largest machine, 0 to 1, or nothing"
    amounts = {}
    for column in ("cpu", "memory"):
        is_given = table[column].str.strip() != ""
        refused = is_given & ~table[column].str.fullmatch(_FRACTION)
        _refuse(table, refused, column, problem, path)
        amounts[column] = pd.to_numeric(table[column].where(is_given)).to_numpy(dtype=float)
        _refuse(table, amounts[column] > 1, column, problem, path)
    return amounts


def _read(
    path: str | Path,
    required: list[str],
    optional: Sequence[str] = (),
    file_headers: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the columns of a CSV file as text.

    ``file_headers`` are the headers of a file without a header row.
    """
    text = read_text(home(path))
    if not text.endswith("\n"):
        last = text.count("\n") + 1
        raise FileFormatError(
            f"{path}, line {last}: the last line does not end with a line break, so the file may "
            "be cut off; fetch it "
            "again, or add the line break if it is whole"
        )
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        rows = list(reader)
    except csv.Error as error:
        raise FileFormatError(
            f"{path}, line {reader.line_num}: {error}; expected commas between cells"
        ) from None
    headers = (
        [column.strip() for column in rows.pop(0)] if file_headers is None else list(file_headers)
    )
    source = f"{path}, line 1" if file_headers is None else f"the header of {path}"
    for column in required:
        require_known(column, headers, f"{source}: there is no column {column!r}", FileFormatError)
    for column in headers:
        if headers.count(column) > 1:
            raise FileFormatError(
                f"{source}: there are several columns {column!r}; expected each once"
            )
    first_line = 2 if file_headers is None else 1
    for line, row in enumerate(rows, first_line):
        if len(row) != len(headers):
            raise FileFormatError(
                f"{path}, line {line}: has {len(row)} cells; expected {len(headers)}, "
                f"{', '.join(headers)} (is the "
                "file cut off?)"
            )
    if not rows:
        raise FileFormatError(f"{path} has a header but no rows; expected at least one")
    table = pd.DataFrame(
        rows, index=range(first_line, first_line + len(rows)), columns=headers, dtype=str
    )
    return table[[*required, *(column for column in optional if column in headers)]]


def _whole(table: pd.DataFrame, columns: list[str], path: str | Path) -> np.ndarray:
    """Return columns of whole numbers >= 0."""
    for column in columns:
        refused = ~table[column].str.fullmatch(r"\s*[0-9]{1,15}\s*")
        _refuse(table, refused, column, "is {!r}; expected a whole number >= 0", path)
    return table[columns].astype(np.int64).to_numpy()


def _refuse(table: pd.DataFrame, refused: Any, column: str, problem: str, path: str | Path) -> None:
    """Raise for the first row that is wrong."""
    for line in table.index[np.asarray(refused, dtype=bool)][:1]:
        raise FileFormatError(
            f"{path}, line {line}: column {column!r} {problem.format(table[column][line])}"
        )


def _condition(spec: str) -> str | None:
    """Return the condition of a list of models, each named once.

    >>> _condition("V100M16|V100M32|V100M32"), _condition("")
    ("gpu_model in ['V100M16', 'V100M32']", None)
    """
    models = {model.strip() for model in spec.split("|")} - {""}
    return condition_text({"gpu_model": sorted(models)}, f"gpu_spec {spec!r}") if models else None


def _class_label(cpu: int, memory: int, gpus: int, share: int, spec: str) -> str:
    """Return a label that no other class has.

    >>> _class_label(12000, 16384, 1, 1000, ""), _class_label(6500, 12288, 1, 460, "G2|P100")
    ('12cpu-16GiB-1gpu', '6.5cpu-12GiB-0.46gpu@G2|P100')
    """
    parts = [f"{_thousandths(cpu)}cpu"]
    exact = memory * _MILLI % _MIB == 0
    parts.append(f"{_thousandths(memory * _MILLI // _MIB)}GiB" if exact else f"{memory}MiB")
    if gpus == 1 or (gpus and share == _MILLI):
        parts.append(f"{_thousandths(gpus * share)}gpu")
    elif gpus or share:
        parts.append(f"{gpus}x{_thousandths(share)}gpu")
    return "-".join(parts) + (f"@{spec}" if spec else "")


def _thousandths(number: int) -> str:
    """Return a number of thousandths as the shortest exact decimal."""
    whole, rest = divmod(number, _MILLI)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)
