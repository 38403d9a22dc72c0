"""Public traces: the real ones where they are beside the checkout, small made ones always."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files import instances as files
from fairlp_research.traces import (
    read_alibaba_gpu,
)
from paths import REAL_DATA

DATA = REAL_DATA
NODES = DATA / "alibaba-gpu-v2023" / "openb_node_list_all_node.csv"
TASKS = DATA / "alibaba-gpu-v2023" / "openb_pod_list_gpuspec33.csv"

NODE_ROWS = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,393216,8,G2
n2,64000,262144,2,P100
"""
TASK_ROWS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time
t0,12000,16384,1,1000,,LS,7
t1,6500,12288,1,460,P100|G2,LS,5
t2,12000,16384,1,1000,,BE,3
t3,6500,12288,1,460,G2|P100|P100,LS,9
t4,4000,0,0,0,,LS,9
t5,4000,100,2,1000,P100,LS,9
"""


def needs(path):
    return pytest.mark.skipif(
        not path.is_file(), reason=f"the real data ({path.name}) are not beside the checkout"
    )


def trace(tmp_path, nodes=NODE_ROWS, tasks=TASK_ROWS):
    for name, rows in (("nodes.csv", nodes), ("tasks.csv", tasks)):
        (tmp_path / name).write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    return read_alibaba_gpu(tmp_path / "nodes.csv", tmp_path / "tasks.csv")


def test_a_small_trace(tmp_path):
    instance = trace(tmp_path)
    assert list(instance.users) == [
        "12cpu-16GiB-1gpu",
        "6.5cpu-12GiB-0.46gpu@P100|G2",
        "6.5cpu-12GiB-0.46gpu@G2|P100|P100",
        "4cpu-0GiB",
        "4cpu-100MiB-2gpu@P100",
    ]
    assert instance.task_limits.tolist() == [2, 1, 1, 1, 1]
    assert instance.demands[:, 2].tolist() == [1000, 460, 460, 0, 2000]
    assert instance.capacities.tolist() == [
        [32000, 262144, 0],
        [96000, 393216, 8000],
        [64000, 262144, 2000],
    ]
    condition = "gpu_model in ['G2', 'P100']"
    assert instance.conditions == (None, condition, condition, None, "gpu_model in ['P100']")
    assert instance.eligible[1].tolist() == [False, True, True]
    assert instance.user_attributes["first_seen"].tolist() == [3, 5, 9, 9, 9]
    assert instance.server_attributes["gpu_model"].isna().tolist() == [True, False, False]
    assert instance.units == {"cpu": "1/1000 core", "memory": "MiB", "gpu": "1/1000 GPU"}


def test_a_trace_without_specs_and_times(tmp_path):
    columns = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
    table = pd.read_csv(io.StringIO(TASK_ROWS))[columns]
    instance = trace(tmp_path, tasks=table.to_csv(index=False))
    assert len(instance.users) == 4
    assert instance.conditions == ()
    assert instance.user_attributes.empty


def test_labels_stay_apart_where_amounts_agree(tmp_path):
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
    tasks += "".join(
        f"t{k},1000,1024,{row}\n"
        for k, row in enumerate(["1,1000", "2,500", "2,1000", "0,0", "1,1", "4,500"])
    )
    instance = trace(tmp_path, tasks=tasks)
    assert list(instance.users) == [
        "1cpu-1GiB-1gpu",
        "1cpu-1GiB-2x0.5gpu",
        "1cpu-1GiB-2gpu",
        "1cpu-1GiB",
        "1cpu-1GiB-0.001gpu",
        "1cpu-1GiB-4x0.5gpu",
    ]


@pytest.mark.parametrize(
    ("nodes", "tasks", "message"),
    [
        (
            NODE_ROWS[:-1],
            TASK_ROWS,
            "nodes.csv, line 4: the last line does not end with a line break",
        ),
        (NODE_ROWS, TASK_ROWS[:-20] + "\n", r"tasks.csv, line 7: has \d cells; expected 8"),
        (
            NODE_ROWS,
            TASK_ROWS.replace("12288", "9" * 30, 1),
            "tasks.csv, line 3: column 'memory_mib'",
        ),
        (NODE_ROWS, "", "tasks.csv is empty"),
        (
            NODE_ROWS.replace("memory_mib", "cpu_milli", 1),
            TASK_ROWS,
            "there is no column 'memory_mib'",
        ),
        (
            NODE_ROWS.replace(",model", ",gpu,model", 1),
            TASK_ROWS,
            "line 1: there are several columns 'gpu'",
        ),
        (NODE_ROWS.splitlines()[0] + "\n", TASK_ROWS, "nodes.csv has a header but no rows"),
        (NODE_ROWS.encode("utf-16"), TASK_ROWS, "nodes.csv is not UTF-8: byte 0"),
        (
            NODE_ROWS,
            TASK_ROWS.replace("LS", "\xe9", 1).encode("latin-1"),
            r"tasks.csv is not UTF-8: .* \(line 2\)",
        ),
    ],
)
def test_a_malformed_trace_says_where(tmp_path, nodes, tasks, message):
    with pytest.raises((FileFormatError, InstanceError), match=message):
        trace(tmp_path, nodes, tasks)


@pytest.mark.slow
@pytest.mark.real_data
@needs(NODES)
@needs(TASKS)
def test_the_real_trace(tmp_path):
    instance = read_alibaba_gpu(NODES, TASKS)
    assert (len(instance.users), instance.n_servers, len(instance.servers)) == (457, 1523, 1523)
    assert instance.task_limits.sum() == 8152
    assert instance.pool.tolist() == [125_514_000, 597_684 * 1024, 6_212_000]
    used = instance.task_limits @ instance.demands
    assert round(used[0] / 1000) == 85_436
    assert round(used[1] / 1024) == 296_432
    assert round(used[2] / 1000, 1) == 6086.8
    constrained = np.array([condition is not None for condition in instance.conditions])
    assert instance.task_limits[constrained].sum() == 2388
    assert len(set(instance.conditions) - {None}) == 15
    assert instance.has_constraints
    models = instance.server_attributes["gpu_model"].value_counts()
    assert models.to_dict() == {
        "G2": 549,
        "T4": 404,
        "P100": 134,
        "V100M16": 55,
        "G3": 39,
        "V100M32": 30,
        "A10": 2,
    }
    for target in ("trace.json", "trace.yaml"):
        files.write(instance, tmp_path / target)
        assert files.read(tmp_path / target).equals(instance)


@pytest.mark.real_data
@needs(NODES)
def test_the_real_trace_without_constraints():
    tasks = TASKS.with_name("openb_pod_list_default.csv")
    if not tasks.is_file():
        pytest.skip(f"the real data ({tasks.name}) are not beside the checkout")
    instance = read_alibaba_gpu(NODES, tasks, name="default")
    assert len(instance.users) == 151
    assert not instance.has_constraints
    assert instance.name == "default"
