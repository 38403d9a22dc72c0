"""A public cluster trace: Alibaba's GPU trace "openb" (2023).

It does not say which user a task belongs to. Users are therefore constructed: one for
each class of tasks that ask for the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError, require_known
from fairlp.toolkit import condition_text, home, read_text

_CLASS = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"]
_UNITS = {"cpu": "1/1000 core", "memory": "MiB", "gpu": "1/1000 GPU"}
#: Thousandths in one GPU or core, and MiB in one GiB.
_MILLI = 1000
_MIB = 1024


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


def _read(
    path: str | Path,
    required: list[str],
    optional: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the columns of a CSV file as text."""
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
    headers = [column.strip() for column in rows.pop(0)]
    source = f"{path}, line 1"
    for column in required:
        require_known(column, headers, f"{source}: there is no column {column!r}", FileFormatError)
    for column in headers:
        if headers.count(column) > 1:
            raise FileFormatError(
                f"{source}: there are several columns {column!r}; expected each once"
            )
    for line, row in enumerate(rows, 2):
        if len(row) != len(headers):
            raise FileFormatError(
                f"{path}, line {line}: has {len(row)} cells; expected {len(headers)}, "
                f"{', '.join(headers)} (is the "
                "file cut off?)"
            )
    if not rows:
        raise FileFormatError(f"{path} has a header but no rows; expected at least one")
    table = pd.DataFrame(rows, index=range(2, 2 + len(rows)), columns=headers, dtype=str)
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
    if not (path / _NODES).exists():
        return None
    tables = [*(path / name for name in _TASKS), *sorted(path.glob("openb_pod_list_*.csv"))]
    tasks = next((table for table in tables if table.exists()), tables[0])
    return read_alibaba_gpu(path / _NODES, tasks)
