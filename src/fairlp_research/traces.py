"""Public cluster traces: Alibaba's GPU trace "openb" (2023), servers of PAI 2020, Google's of 2011.

Alibaba's traces do not say which user a task belongs to. Users are therefore constructed: one for
each class of tasks that ask for the same. Google's trace names users by hashes.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError, require_known
from fairlp.toolkit import condition_text, home, opened, read_text

__all__ = ["read_google2011_tasks"]

#: Folders of the tables of Google's trace of 2011.
_MACHINES_2011 = "machine_events"
_TASKS_2011 = "task_events"
_ATTRIBUTES_2011 = "machine_attributes"
_CONSTRAINTS_2011 = "task_constraints"

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
#: Bytes of the longest line of the tables that are read line by line.
_LONGEST_LINE = 10_000
#: Columns of these tables: their name, a pattern of their cells, and its description.
_TIME_CELL = ("time", "[0-9]{1,19}", "whole microseconds")
_NAME_CELL = (
    "attribute name",
    r"(?!(?:platform|cpu|memory)\s*(?:,|$))[A-Za-z0-9+/=_-]+",
    "a hash",
)
_VALUE_CELL = ("attribute value", "[A-Za-z0-9+/=_-]*", "a hash, an integer or nothing")
_MACHINE_ATTRIBUTES = (
    _TIME_CELL,
    ("machine", "[0-9]{1,19}", "a whole number >= 0"),
    _NAME_CELL,
    _VALUE_CELL,
    ("deleted", "[01]", "0 or 1"),
)
_TASK_CONSTRAINTS = (
    _TIME_CELL,
    ("job", "[0-9]{1,15}", "a whole number >= 0"),
    ("task", "[0-9]{1,15}", "a whole number >= 0"),
    ("comparison operator", "[0-3]", "0 (=), 1 (≠), 2 (<) or 3 (>)"),
    _NAME_CELL,
    _VALUE_CELL,
)
#: Comparison operators of constraints.
_EQUAL, _NOT_EQUAL, _LESS, _GREATER = range(4)
_INTEGER = re.compile("-?[0-9]{1,15}")
#: The value of an attribute; the empty text stands for an absent one.
_Value = int | str
#: A constraint: attribute, comparison operator, value.
_Constraint = tuple[str, int, _Value]
_FRACTION = r"\s*(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"


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
    servers = nodes["sn"].tolist()
    try:
        return Instance.from_arrays(
            demands.to_numpy(dtype=float),
            capacities * np.array([1, 1, _MILLI]),
            users=labels,
            servers=servers,
            resources=list(_UNITS),
            eligible=[_condition(spec) for spec in classes["gpu_spec"]],
            task_limits=classes["tasks"].to_numpy(dtype=float),
            units=_UNITS,
            server_attributes=pd.DataFrame(
                {"gpu_model": [text or None for text in model]}, index=servers
            ),
            user_attributes=(
                classes[["first_seen"]].set_axis(labels) if "first_seen" in classes else None
            ),
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
    event ADD until REMOVE; UPDATE changes its capacity, where it gives one. Where the folder of the
    trace has ``machine_attributes``, servers have these attributes too, and machines of one row
    agree in all of them.

    Parameters
    ----------
    machine_events : str or Path
        ``machine_events/part-00000-of-00001.csv.gz``, or unpacked; or the folder of the trace. No
        header: time [µs], machine ID, event type, platform ID, CPU and memory (1: those of the
        largest machine). ``machine_attributes``: time, machine ID, attribute name, attribute value,
        whether it is deleted.
    at : float
        Seconds of the trace's own clock, on which the trace begins at 600 s.
    name : str

    Returns
    -------
    Instance
        With one user, ``nobody``, and the attribute ``platform`` (a hash) of servers. Machines
        without a capacity are left out. An attribute whose values are all integers is a number,
        any other is text; it is missing where a machine lacks it.

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

    values, attributes = _machine_attributes(machine_events, at)
    names = sorted(values)
    counts: dict[tuple[str, float, float, tuple[_Value | None, ...]], int] = {}
    for machine, (platform, cpu, memory) in machines.items():
        if cpu and memory:
            of_machine = attributes.get(machine.strip(), {})
            row = (platform, float(cpu), float(memory), tuple(map(of_machine.get, names)))
            counts[row] = counts.get(row, 0) + 1
    if not counts:
        raise InstanceError(f"{machine_events}: no machine with a capacity is there at {at:g} s")
    kinds = dict.fromkeys((platform, entries) for platform, _, _, entries in counts)
    numbers = {kind: k + 1 for k, kind in enumerate(kinds)}
    servers = [
        f"{cpu:g}cpu-{memory:g}memory-{numbers[platform, entries]}"
        for platform, cpu, memory, entries in counts
    ]
    columns: dict[str, list[Any]] = {"platform": [row[0] for row in counts]}
    columns |= {name: [row[3][k] for row in counts] for k, name in enumerate(names)}
    return Instance.from_arrays(
        [[1.0, 1.0]],
        [row[1:3] for row in counts],
        users=["nobody"],
        servers=servers,
        resources=["cpu", "memory"],
        counts=list(counts.values()),
        units=dict.fromkeys(("cpu", "memory"), "largest server = 1"),
        server_attributes=pd.DataFrame(columns, servers, dtype=object),
        name=name,
    )


def read_google2011_tasks(
    task_events: str | Path, *, start: float = 0.0, stop: float = _DAY
) -> pd.DataFrame:
    """Return the tasks of Google's trace of 2011 that were submitted in a time, and how they ran.

    The last run of a task counts, which does the work of those that were evicted, failed or lost
    before. A task that runs on at ``stop`` counts until then. Tasks that did not run, or that ask
    for nothing, are left out. Where the folder of the trace has ``task_constraints`` and
    ``machine_attributes``, tasks have the condition that their machines must fulfil. That tasks must
    be on different machines is left out.

    Parameters
    ----------
    task_events : str or Path
        A file ``task_events/part-…-of-00500.csv.gz``, or unpacked; or the folder of the trace, whose
        parts are read as far as ``stop``. No header: time [µs], missing info, job ID, task index,
        machine ID, event type, user, scheduling class, priority, requests of CPU, memory and disk
        (1: the largest machine), whether tasks must be on different machines.
        ``task_constraints``: time, job ID, task index, comparison operator (0 =, 1 ≠, 2 <, 3 >),
        attribute name, attribute value.
    start, stop : float
        Seconds of the trace's own clock, on which the trace begins at 600 s; at 0 are the tasks of
        the time before.

    Returns
    -------
    DataFrame
        Indexed by ``job`` and ``task``: ``user``, ``priority``, ``arrival``, ``begin`` and ``end``
        [s], ``cpu``, ``memory``, ``runs`` (how often it began), and ``ended`` ("finish", "kill",
        "evict", "fail", "lost" or "runs on"). With constraints also ``eligible``: the condition of
        all of the task's last constraints on the attributes that :func:`fairlp_research.read_google2011`
        gives to servers, or None. An absent attribute counts as 0 for < and >, and as the empty
        text for = and ≠.

    Raises
    ------
    FileFormatError
        When a file is cut off or a row is malformed; the message gives line and column.
    InstanceError
        When no task ran.
    """
    parts = []
    for path in _parts(task_events, _TASKS_2011):
        events_of_part = _task_part(path)
        parts.append(
            events_of_part[(events_of_part["time"] >= start) & (events_of_part["time"] < stop)]
        )
        if (events_of_part["time"] >= stop).any():
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
    begins_of_tasks = tasks[["began"]].reset_index()
    ends = events[events["event"].isin(_ENDS)].merge(begins_of_tasks, on=by_task)
    is_later = ends["order"] > ends["began"]
    ends = ends[is_later].groupby(by_task)[["time", "event"]].first()
    tasks = tasks.join(ends.set_axis(["end", "ended"], axis="columns"))

    names = dict(zip(_ENDS, ("evict", "fail", "finish", "kill", "lost"), strict=True))
    tasks["ended"] = tasks["ended"].map(names).fillna("runs on")
    tasks["end"] = tasks["end"].fillna(stop)
    has_demand = (tasks["cpu"] > 0) | (tasks["memory"] > 0)
    runs_then = has_demand & (tasks["end"] > tasks["begin"])
    tasks = tasks[runs_then].fillna({"cpu": 0.0, "memory": 0.0})
    if tasks.empty:
        raise InstanceError(
            f"{task_events}: no task that was submitted from {start:g} s to {stop:g} s ran then"
        )
    columns = ["user", "priority", "arrival", "begin", "end", "cpu", "memory", "runs", "ended"]
    conditions = _placements(task_events, start, stop)
    if conditions is not None:
        tasks["eligible"] = pd.Series(
            [conditions.get(task) for task in tasks.index], index=tasks.index, dtype=object
        )
        columns.append("eligible")
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


def _machine_attributes(
    path: str | Path, at: float
) -> tuple[dict[str, Collection[_Value]], dict[str, dict[str, _Value]]]:
    """Return the values that attributes take in the whole trace, and those of machines at a time.

    An attribute has numbers only, or texts only.
    """
    distinct: dict[str, set[_Value]] = {}
    latest: dict[tuple[str, str], tuple[int, _Value]] = {}
    for part in _parts_beside(path, _ATTRIBUTES_2011):
        for _, (time_text, machine, name, value_text, deleted) in _rows(part, _MACHINE_ATTRIBUTES):
            time = int(time_text)
            value = "" if deleted == "1" else _value(value_text)
            values = distinct.setdefault(name, set())
            if value != "":
                values.add(value)
            latest_time, _ = latest.get((machine, name), (0, ""))
            if latest_time <= time <= at * _MICRO:
                latest[machine, name] = (time, value)

    are_numbers = {
        name: all(isinstance(value, int) for value in values) for name, values in distinct.items()
    }
    of_machines: dict[str, dict[str, _Value]] = {}
    for (machine, name), (_, value) in latest.items():
        if value != "":
            entry = value if are_numbers[name] else str(value)
            of_machines.setdefault(machine, {})[name] = entry
    return dict(distinct), of_machines


def _placements(
    path: str | Path, start: float, stop: float
) -> dict[tuple[int, int], str | None] | None:
    """Return the condition on machines of each task that has constraints; None without the tables.

    Of the constraints of a task, those of the last time in the period count.
    """
    parts = _parts_beside(path, _CONSTRAINTS_2011)
    if not parts or not _parts_beside(path, _ATTRIBUTES_2011):
        return None
    latest: dict[tuple[int, int], tuple[int, set[_Constraint]]] = {}
    for part in parts:
        time = 0
        for time, task, constraint in _constraints(part):
            if start <= time / _MICRO < stop:
                if task not in latest or latest[task][0] < time:
                    latest[task] = (time, set())
                if latest[task][0] == time:
                    latest[task][1].add(constraint)
        if time / _MICRO >= stop:
            break

    distinct, _ = _machine_attributes(path, -1.0)
    condition_of = {
        constraint: _constraint_condition(constraint, distinct.get(constraint[0], ()))
        for constraint in set().union(*(constraints for _, constraints in latest.values()))
    }
    placements = {}
    for task, (_, constraints) in latest.items():
        conditions = {condition_of[constraint] for constraint in constraints} - {None}
        placements[task] = " and ".join(sorted(map(str, conditions))) or None
    return placements


def _constraints(path: Path) -> Iterator[tuple[int, tuple[int, int], _Constraint]]:
    """Yield the time, the task and the constraint of each row."""
    for line, (time, job, task, operator, name, text) in _rows(path, _TASK_CONSTRAINTS):
        value = _value(text)
        if int(operator) in (_LESS, _GREATER) and not isinstance(value, int) and value:
            _refuse_cell(path, line, "attribute value", text, "an integer, which < and > compare")
        yield int(time), (int(job), int(task)), (name, int(operator), value)


def _constraint_condition(constraint: _Constraint, values: Collection[_Value]) -> str | None:
    """Return the condition that machines fulfil a constraint; None where all of them do.

    ``values`` are all those of the attribute in the trace.

    >>> _constraint_condition(("a", _GREATER, 3), {1, 5}), _constraint_condition(("a", _LESS, 3), {1, 5})
    ('`a` > 3', 'not `a` >= 3')
    >>> _constraint_condition(("b", _NOT_EQUAL, "x"), {"x", "y"})  # an absent attribute is not x
    "not `b` in ['x']"
    """
    name, operator, value = constraint
    shown = f"`{name}`"
    is_for_absent = _fulfils("", operator, value)
    allowed = {entry for entry in values if _fulfils(entry, operator, value)}
    if len(allowed) == len(values) and is_for_absent:
        return None
    if not allowed and not is_for_absent:
        return "False"
    if not allowed or len(allowed) == len(values):
        return f"not {shown} == {shown}" if is_for_absent else f"{shown} == {shown}"

    # A missing value makes a comparison False, so that its negation holds for it
    are_numbers = all(isinstance(entry, int) for entry in values)
    if are_numbers and operator in (_LESS, _GREATER):
        sign = "<" if operator == _LESS else ">"
        opposite = ">=" if operator == _LESS else "<="
        bound = value or 0
        if is_for_absent:
            return f"not {shown} {opposite} {bound}"
        return f"{shown} {sign} {bound}"
    listed = set(values) - allowed if is_for_absent else allowed
    entries = [repr(entry if are_numbers else str(entry)) for entry in sorted(listed, key=str)]
    text = f"{shown} in [{', '.join(entries)}]"
    return f"not {text}" if is_for_absent else text


def _fulfils(attribute: _Value, operator: int, value: _Value) -> bool:
    """Return whether an attribute, empty where it is absent, fulfils a constraint.

    >>> _fulfils("", _LESS, 1), _fulfils("x", _LESS, 1), _fulfils("", _EQUAL, ""), _fulfils(10, _GREATER, 9)
    (True, False, True, True)
    """
    if operator == _EQUAL:
        return attribute == value
    if operator == _NOT_EQUAL:
        return attribute != value
    if isinstance(attribute, str) and attribute:
        return False
    number = int(attribute or 0)
    bound = int(value or 0)
    return number < bound if operator == _LESS else number > bound


def _value(text: str) -> _Value:
    """Return the value of a cell: a number, or text."""
    return int(text) if _INTEGER.fullmatch(text) else text


def _parts_beside(path: str | Path, table: str) -> list[Path]:
    """Return the files of another table in the folder of Google's trace; none without it."""
    return _parts(path, table) if (home(path) / table).is_dir() else []


def _rows(
    path: Path, columns: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line number and cells of each row of a file without a header row, checked.

    Only one line is in memory at a time, as Google's table of attributes has ten million.
    """
    row_pattern = re.compile(",".join(rf"\s*+({pattern})\s*+" for _, pattern, _ in columns))
    line = 0
    with opened(path) as file:
        lines = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
        try:
            while content := lines.readline(_LONGEST_LINE):
                line += 1
                if not content.endswith(b"\n"):
                    raise FileFormatError(
                        f"{path}, line {line}: does not end with a line break within "
                        f"{_LONGEST_LINE:,} bytes; is the file cut off?"
                    )
                text = content.decode()
                match = row_pattern.fullmatch(text)
                if match is None:
                    _refuse_row(path, line, text, columns)
                yield line, match.groups()
        except UnicodeDecodeError:
            raise FileFormatError(f"{path} is not UTF-8: line {line}") from None
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{path} is not a whole gzip file ({error}); was it written and copied completely?"
            ) from None
    if line == 0:
        raise FileFormatError(f"{path} is empty; expected at least one row")


def _refuse_row(
    path: Path, line: int, text: str, columns: Sequence[tuple[str, str, str]]
) -> NoReturn:
    """Raise for a row of another number of cells, else for its first cell that is wrong."""
    cells = text.rstrip("\r\n").split(",")
    if len(cells) == len(columns):
        for cell, (column, pattern, expected) in zip(cells, columns, strict=True):
            if not re.fullmatch(rf"\s*+(?:{pattern})\s*+", cell):
                _refuse_cell(path, line, column, cell, expected)
    raise FileFormatError(
        f"{path}, line {line}: has {len(cells)} cells; expected {len(columns)}, "
        f"{', '.join(column for column, _, _ in columns)} (is the file cut off?)"
    )


def _refuse_cell(path: Path, line: int, column: str, cell: str, expected: str) -> NoReturn:
    """Raise for a cell."""
    raise FileFormatError(
        f"{path}, line {line}: column {column!r} is {cell[:80]!r}; expected {expected}"
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
    in_gib = f"{_thousandths(memory * _MILLI // _MIB)}GiB"
    parts.append(in_gib if exact else f"{memory}MiB")
    if gpus == 1 or (gpus and share == _MILLI):
        parts.append(f"{_thousandths(gpus * share)}gpu")
    elif gpus or share:
        parts.append(f"{gpus}x{_thousandths(share)}gpu")
    return "-".join(parts) + (f"@{spec}" if spec else "")


def _thousandths(number: int) -> str:
    """Return a number of thousandths as the shortest exact decimal."""
    whole, rest = divmod(number, _MILLI)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


#: What the folder of a trace has, and tables of tasks of Alibaba's, the preferred one first (a third
#: of its GPU tasks name their GPU models).
_NODES = "openb_node_list_all_node.csv"
_TASKS = ("openb_pod_list_gpuspec33.csv", "openb_pod_list_default.csv")


def instance_of_trace(path: Path) -> Instance | None:
    """Return the instance of a folder of a trace, None where it is none (``fairlp.readers``)."""
    if (path / _MACHINES_2011).is_dir():
        return read_google2011(path)
    if not (path / _NODES).exists():
        return None
    tables = [*(path / name for name in _TASKS), *sorted(path.glob("openb_pod_list_*.csv"))]
    tasks = next((table for table in tables if table.exists()), tables[0])
    return read_alibaba_gpu(path / _NODES, tasks)
