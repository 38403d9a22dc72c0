"""Public traces: the real ones where they are beside the checkout, small made ones always."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files import instances as files
from fairlp.models.instances.conditions import Columns, evaluate
from fairlp_research.traces import (
    read_alibaba_gpu,
    read_google2011,
    read_google2011_tasks,
    read_pai2020,
)
from paths import REAL_DATA

DATA = REAL_DATA
NODES = DATA / "alibaba-gpu-v2023" / "openb_node_list_all_node.csv"
TASKS = DATA / "alibaba-gpu-v2023" / "openb_pod_list_gpuspec33.csv"
PAI = DATA / "pai2020" / "pai2020_machine_spec.csv"

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


#: what to replace first in a file (⏎ ends a line), by what, and what the error says
MALFORMED = r"""
tasks: t2, => t2,, => tasks.csv, line 4: has 9 cells; expected 8
nodes: n1, => ⏎n1, => nodes.csv, line 3: has 0 cells
nodes: memory_mib => memory => no column 'memory_mib'; did you mean 'memory'
tasks: num_gpu => gpus => tasks.csv, line 1: there is no column 'num_gpu'
tasks: 16384 => 16G => tasks.csv, line 2: column 'memory_mib' is '16G'; expected
tasks: 12288 => -1 => tasks.csv, line 3: column 'memory_mib' is '-1'
tasks: 12288 =>  => tasks.csv, line 3: column 'memory_mib' is ''
tasks: 460 => 1460 => line 3: column 'gpu_milli' is above 1000
tasks: P100|G2 => P100| => line 3: column 'gpu_spec' is 'P100\|'; expected
tasks: ,LS,7 => ,LS,soon => line 2: column 'creation_time' is 'soon'
nodes: G2 =>  => nodes.csv, line 3: column 'model' is blank on a server with GPUs
nodes: n1 => n0 => nodes.csv and .*tasks.csv: server 'n0' occurs twice
tasks: P100|G2 => T4 => user '6.5cpu-12GiB-0.46gpu@T4' has no eligible server
tasks: t4,4000 => t4,0 => user '0cpu-0GiB' demands nothing
"""


@pytest.mark.parametrize("line", MALFORMED.strip().splitlines())
def test_a_malformed_line_of_a_trace_is_named(tmp_path, line):
    old, new, message = line.replace("⏎", "\n").split(" => ")
    which, old = old.split(": ")
    rows = {"nodes": NODE_ROWS, "tasks": TASK_ROWS}
    rows[which] = rows[which].replace(old, new, 1)
    with pytest.raises((FileFormatError, InstanceError), match=message):
        trace(tmp_path, **rows)


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


def test_a_trace_that_is_not_there(tmp_path):
    with pytest.raises(FileFormatError, match=r"no file .*nodes.csv"):
        read_alibaba_gpu(tmp_path / "nodes.csv", tmp_path / "tasks.csv")


def test_a_small_inventory(tmp_path):
    (tmp_path / "machines.csv").write_text("a1,CPU,96,512,0\nb2,T4,64,256,2\n")
    (tmp_path / "columns").write_text("machine,gpu_type,cap_cpu,cap_mem,cap_gpu")
    table = read_pai2020(tmp_path / "machines.csv")
    pd.testing.assert_frame_equal(
        table, read_pai2020(tmp_path / "machines.csv", tmp_path / "columns")
    )
    users = pd.DataFrame(
        {"cpu": [4, 8], "memory": [16, 32], "gpu": [0, 1], "eligible": ["", "gpu_type == 'T4'"]}
    )
    instance = Instance.from_frames(users, table)
    assert list(instance.servers) == ["a1", "b2"]
    assert instance.units == {"cpu": "cores", "memory": "GB"}
    assert instance.eligible.tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a1,CPU,96,512,0\nb2,T4,64,-1,2\n", "machines.csv, line 2: column 'cap_mem' is '-1'"),
        ("a1,CPU,96,512,0\nb2,T4,,256,2\n", "machines.csv, line 2: column 'cap_cpu' is ''"),
        (
            "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\na1,CPU,96,512,0\n",
            "line 1: column 'cap_cpu' is 'cap_cpu'",
        ),
        ("a1,CPU,96,512\n", "line 1: has 4 cells; expected 5"),
        ("a1,,96,512,0\n", "line 1: column 'gpu_type' is blank"),
        (
            "a1,CPU,96,512,0\na1,CPU,96,512,0\n",
            "line 2: column 'machine' is the name of an earlier machine",
        ),
        ("a1,CPU,96,512,0", "line 1: the last line does not end"),
    ],
)
def test_a_malformed_inventory_says_where(tmp_path, rows, message):
    (tmp_path / "machines.csv").write_text(rows)
    with pytest.raises(FileFormatError, match=message):
        read_pai2020(tmp_path / "machines.csv")


def test_a_wrong_header_of_an_inventory(tmp_path):
    (tmp_path / "machines.csv").write_text("a1,CPU,96,512,0\n")
    (tmp_path / "columns").write_text("machine,gpu_type,cap_cpu,mem,cap_gpu\n")
    with pytest.raises(FileFormatError, match="there is no column 'cap_mem'; did you mean"):
        read_pai2020(tmp_path / "machines.csv", tmp_path / "columns")


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
    for target in ("trace.json", "trace.yaml", "trace"):
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


@pytest.mark.real_data
@needs(PAI)
def test_the_real_inventory():
    table = read_pai2020(PAI, PAI.with_suffix(".header"))
    pd.testing.assert_frame_equal(table, read_pai2020(PAI))
    assert len(table) == 1897
    assert len(table.drop_duplicates()) == 7
    assert table["gpu"].sum() == 280 * 8 + 798 * 2 + 497 * 2 + (45 + 59 + 135) * 8


def test_a_cell_of_a_trace_that_is_too_long(tmp_path):
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,1,1,0,\n", encoding="utf-8")
    tasks.write_text("name\n" + "x" * 200_000 + "\n", encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"tasks.csv, line 2: .*expected commas between cells"
    ):
        read_alibaba_gpu(nodes, tasks)


# Google's trace of 2011: no header rows, microseconds, parts of the largest machine.

MACHINES = """0,5,0,HofLGzk1,0.5,0.2493
0,6,0,HofLGzk1,0.5,0.2493
0,7,0,70ZOvysY,1,1
0,8,0,70ZOvysY,,
600000000,6,1,HofLGzk1,0.5,0.2493
700000000,7,2,70ZOvysY,1,0.5
800000000,9,0,HofLGzk1,.25,2.5e-1
"""
#: Job 1: task 0 is evicted and runs again; task 1 runs on. Job 2: task 0 was never scheduled, task 1 fails and asks for
#: more, task 2 asks for nothing, task 3 was submitted before the time, task 4 has no request of memory.
EVENTS = """0,2,2,3,,0,bob,3,2,0.1,0.1,,0
600000000,,1,0,,0,ann,2,9,0.0625,0.03,1e-4,0
600000000,,1,1,,0,ann,2,9,0.0625,0.03,1e-4,0
601000000,,1,0,5,1,ann,2,9,0.0625,0.03,1e-4,0
602000000,,1,1,5,1,ann,2,9,0.0625,0.03,1e-4,0
650000000,,1,0,5,2,ann,2,9,0.0625,0.03,1e-4,0
650000000,,1,0,,0,ann,2,9,0.0625,0.03,1e-4,0
660000000,,1,0,6,1,ann,2,9,0.0625,0.03,1e-4,0
700000000,,1,0,6,4,ann,2,9,0.0625,0.03,1e-4,0
700000000,,2,0,,0,bob,0,0,0.1,0.1,,0
700000000,,2,1,,0,bob,0,0,0.1,0.1,,1
701000000,,2,1,5,1,bob,0,0,0.1,0.1,,1
702000000,,2,1,5,8,bob,0,0,0.2,0.1,,1
703500000,,2,1,5,3,bob,0,0,0.2,0.1,,1
703500000,,2,2,,0,bob,0,0,0,0,,0
703600000,,2,2,5,1,bob,0,0,0,0,,0
703600000,,2,3,5,1,bob,0,0,0.1,0.1,,0
703600000,1,2,4,,0,,0,0,0.1,,,
703700000,,2,4,5,1,,0,0,0.1,,,
703800000,,2,4,5,5,,0,0,0.1,,,
9223372036854775807,,1,1,5,4,ann,2,9,0.0625,0.03,1e-4,0
"""


def google(tmp_path, machines=MACHINES, events=EVENTS):
    """Write the folder of a trace, task events in two packed parts."""
    for table in ("machine_events", "task_events"):
        (tmp_path / table).mkdir(exist_ok=True)
    (tmp_path / "machine_events" / "part-00000-of-00001.csv").write_text(machines)
    lines = events.splitlines(keepends=True)
    for number, rows in enumerate((lines[:6], lines[6:])):
        packed = tmp_path / "task_events" / f"part-0000{number}-of-00500.csv.gz"
        packed.write_bytes(gzip.compress("".join(rows).encode()))
    return tmp_path


@pytest.mark.parametrize(
    ("moment", "counts", "capacities"),
    [
        (0, [2, 1], [[0.5, 0.2493], [1, 1]]),
        (600, [1, 1], [[0.5, 0.2493], [1, 1]]),
        (750, [1, 1], [[0.5, 0.2493], [1, 0.5]]),
        (800, [1, 1, 1], [[0.5, 0.2493], [1, 0.5], [0.25, 0.25]]),
    ],
)
def test_machines_of_2011_come_go_and_change(tmp_path, moment, counts, capacities):
    cluster = read_google2011(google(tmp_path), at=moment)
    assert cluster.counts.tolist() == counts
    assert cluster.capacities.tolist() == capacities
    assert cluster.server_attributes["platform"].tolist()[:2] == ["HofLGzk1", "70ZOvysY"]
    single = tmp_path / "machine_events" / "part-00000-of-00001.csv"
    assert read_google2011(single, at=moment).equals(cluster)


def test_tasks_of_2011_by_their_last_run(tmp_path):
    tasks = read_google2011_tasks(google(tmp_path), start=600, stop=1000)
    assert tasks.index.tolist() == [(1, 0), (1, 1), (2, 1), (2, 4)]
    assert tasks["user"].tolist() == ["ann", "ann", "bob", "unknown"]
    assert tasks["arrival"].tolist() == [600, 600, 700, 703.6]
    assert tasks["begin"].tolist() == [660, 602, 701, 703.7]
    assert tasks["end"].tolist() == [700, 1000, 703.5, 703.8]
    assert tasks["ended"].tolist() == ["finish", "runs on", "fail", "kill"]
    assert tasks["runs"].tolist() == [2, 1, 1, 1]
    assert tasks[["cpu", "memory"]].to_numpy().tolist() == [
        [0.0625, 0.03],
        [0.0625, 0.03],
        [0.2, 0.1],
        [0.1, 0],
    ]
    earlier_tasks = read_google2011_tasks(
        google(tmp_path), stop=655
    )  # evicted, and not begun again
    assert earlier_tasks.loc[(1, 0), ["end", "ended", "runs"]].tolist() == [650, "evict", 1]
    with pytest.raises(InstanceError, match="no task that was submitted from 800 s to 900 s ran"):
        read_google2011_tasks(tmp_path, start=800, stop=900)


def test_parts_after_the_time_are_not_read(tmp_path):
    folder = google(tmp_path)
    (folder / "task_events" / "part-00002-of-00500.csv.gz").write_bytes(b"broken")
    assert len(read_google2011_tasks(folder, stop=1000)) == 5  # one of the time before
    with pytest.raises(FileFormatError, match=r"part-00002-of-00500.csv.gz is not a whole gzip"):
        read_google2011_tasks(folder, stop=1e13)


#: the table, what to replace first in it, by what, and what the error says
MALFORMED_2011 = r"""
machine_events: 0,5,0 => 0,5,7 => of-00001.csv, line 1: column 'event' is '7'; expected an event type, 0 to 2
machine_events: 0,5,0 => -1,5,0 => line 1: column 'time' is '-1'; expected whole microseconds
machine_events: 0,5,0 => 9999999999999999999,5,0 => expected microseconds below 2\^63
machine_events: 0,5,0 => 0,5 => line 1: has 5 cells; expected 6
machine_events: 0.5 => 32000 => line 1: column 'cpu' is '32000'; expected a part of the largest machine
machine_events: 0.2493 => nan => line 1: column 'memory' is 'nan'; expected
task_events: 601000000,, => 601000000, => part-00000-of-00500.csv.gz, line 4: has 12 cells; expected 13
task_events: ,5,1,ann => ,5,9,ann => line 4: column 'event' is '9'; expected an event type, 0 to 8
task_events: 0.0625 => -0.0625 => line 2: column 'cpu' is '-0.0625'
task_events: 1,0,,0,ann => one,0,,0,ann => line 2: column 'job' is 'one'; expected a whole number
task_events: 2,9,0.0625 => 2,high,0.0625 => line 2: column 'priority' is 'high'
task_events: 0,2,2,3 => time,2,2,3 => line 1: column 'time' is 'time'
"""


@pytest.mark.parametrize("line", MALFORMED_2011.strip().splitlines())
def test_a_malformed_line_of_the_trace_of_2011_is_named(tmp_path, line):
    old, new, message = line.split(" => ")
    table, old = old.split(": ")
    tables = {"machine_events": MACHINES, "task_events": EVENTS}
    tables[table] = tables[table].replace(old, new, 1)
    folder = google(tmp_path, *tables.values())
    with pytest.raises(FileFormatError, match=message):
        read_google2011(folder, at=1e4) and read_google2011_tasks(folder)


def test_a_trace_of_2011_that_is_not_there(tmp_path):
    with pytest.raises(FileFormatError, match=r"has no machine_events/part-\*.csv.gz; expected"):
        read_google2011(tmp_path)
    with pytest.raises(FileFormatError, match="no file"):
        read_google2011_tasks(tmp_path / "part-00000-of-00500.csv.gz")
    empty = google(tmp_path, machines="5,5,0,HofLGzk1,0.5,0.2493\n")
    with pytest.raises(InstanceError, match="no machine with a capacity is there at 0 s"):
        read_google2011(empty)


# Where tasks of the trace of 2011 may run: attributes of machines, and constraints on them.

#: Machine 5 loses its attribute "new" at 700 s, machine 6 has "kind" twice, machine 8 has no capacity.
ATTRIBUTES = """0,5,cores,8,0
0,5,kind,aa=,0
0,5,new,1,0
0,6,cores,4,0
0,6,kind,bb=,0
0,7,kind,7,0
0,8,cores,99,0
650000000,6,kind,aa=,0
700000000,5,new,,1
900000000,7,cores,16,0
"""
#: Job 1, task 0: the constraints of its last submission count. Task 1 has two. Job 2, task 4 names one that no
#: machine has.
CONSTRAINTS = """0,2,3,0,kind,aa=
600000000,1,0,0,kind,zz=
600000000,1,1,3,cores,4
600000000,1,1,1,kind,bb=
650000000,1,0,2,cores,5
700000000,2,1,0,kind,
703600000,2,4,0,other,x
9223372036854775807,1,1,0,kind,zz=
"""


def constrained(tmp_path, attributes=ATTRIBUTES, constraints=CONSTRAINTS):
    """Write the folder of a trace with its tables of attributes and constraints, one of them packed."""
    folder = google(tmp_path)
    for table in ("machine_attributes", "task_constraints"):
        (folder / table).mkdir(exist_ok=True)
    (folder / "machine_attributes" / "part-00000-of-00001.csv").write_text(attributes)
    packed = folder / "task_constraints" / "part-00000-of-00500.csv.gz"
    packed.write_bytes(gzip.compress(constraints.encode()))
    return folder


@pytest.mark.parametrize(
    ("moment", "machines"),
    [
        (
            0,
            [
                (0.5, 8, "aa=", 1),  # 5
                (0.5, 4, "bb=", None),  # 6
                (1, None, "7", None),
            ],
        ),
        (690, [(0.5, 8, "aa=", 1), (1, None, "7", None)]),
        (950, [(0.5, 8, "aa=", None), (1, 16, "7", None), (0.25, None, None, None)]),
    ],
)
def test_machines_of_2011_have_their_last_attributes(tmp_path, moment, machines):
    folder = constrained(tmp_path)
    cluster = read_google2011(folder, at=moment)
    table = cluster.server_attributes
    assert list(table.columns) == ["platform", "cores", "kind", "new"]
    rows = table[["cores", "kind", "new"]].astype(object).where(table.notna(), None)
    rows_of_machines = zip(
        cluster.capacities[:, 0].tolist(), *rows.to_numpy().T.tolist(), strict=True
    )
    assert list(rows_of_machines) == machines
    for target in ("cluster.json", "cluster.yaml", "cluster"):
        files.write(cluster, tmp_path / target)
        assert files.read(tmp_path / target).equals(cluster)


def test_machines_of_2011_that_differ_in_attributes_only_are_two_rows(tmp_path):
    assert read_google2011(google(tmp_path)).counts.tolist() == [2, 1]
    assert read_google2011(constrained(tmp_path)).counts.tolist() == [1, 1, 1]


def test_tasks_of_2011_run_where_their_constraints_hold(tmp_path):
    folder = constrained(tmp_path)
    tasks = read_google2011_tasks(folder, stop=1000)
    assert tasks["eligible"].to_dict() == {
        (2, 3): "`kind` in ['aa=']",
        (1, 0): "not `cores` >= 5",
        (1, 1): "`cores` > 4 and not `kind` in ['bb=']",
        (2, 1): "not `kind` == `kind`",
        (2, 4): "False",
    }
    earlier_tasks = read_google2011_tasks(folder, stop=640)  # before the second submission
    assert earlier_tasks.loc[(1, 0), "eligible"] == "False"  # no machine ever is of the kind zz=
    events = folder / "task_events" / "part-00000-of-00500.csv.gz"
    assert "eligible" not in read_google2011_tasks(events)
    (folder / "machine_attributes").rename(folder / "elsewhere")
    assert "eligible" not in read_google2011_tasks(folder)


def is_fulfilled(attribute, operator, value):
    """Google's rule on texts: an absent attribute is "", or 0 where integers are compared."""
    if operator in (0, 1):
        is_equal = attribute == value or attribute.lstrip("0") == value.lstrip("0") != ""
        return is_equal if operator == 0 else not is_equal
    try:
        number, bound = int(attribute or 0), int(value or 0)
    except ValueError:
        return False
    return number < bound if operator == 2 else number > bound


@pytest.mark.parametrize("seed", range(20))
def test_eligible_machines_are_those_that_fulfil_all_constraints(tmp_path, seed):
    rng = np.random.default_rng(seed)
    machines = range(12)
    texts = {"n": ["-3", "0", "2", "10", ""], "t": ["0", "2", "010", "x", "y", ""], "u": ["x", "y"]}
    attributes = {
        (machine, name): str(rng.choice(values))
        for machine in machines
        for name, values in texts.items()
        if rng.random() < 0.7
    }
    constraints = []
    for task in range(30):
        for _ in range(int(rng.integers(0, 4))):
            name = str(rng.choice([*texts, "none"]))
            operator = int(rng.integers(0, 4))
            choices = ["-3", "0", "1", "02", "5", "11", ""] + ["x", "z"] * (operator < 2)
            constraints.append((task, operator, name, str(rng.choice(choices))))
    tables = {
        "machine_events": [f"0,{machine},0,P,{(machine + 1) / 16},1" for machine in machines],
        "machine_attributes": [f"0,{m},{name},{text},0" for (m, name), text in attributes.items()],
        "task_events": [
            f"{time},,1,{task},,{event},ann,0,0,0.1,0.1,,"
            for time, event in ((0, 0), (1, 1), (2, 4))
            for task in range(30)
        ],
        "task_constraints": [f"0,1,{t},{o},{name},{text}" for t, o, name, text in constraints],
    }
    for table, rows in tables.items():
        (tmp_path / table).mkdir()
        (tmp_path / table / "part-00000-of-00001.csv").write_text("\n".join(rows) + "\n")
    tasks = read_google2011_tasks(tmp_path)
    cluster = read_google2011(tmp_path)
    columns = Columns(cluster.server_attributes, cluster.capacities, cluster.resources)
    for (_, task), condition in tasks["eligible"].items():
        expected = [
            all(
                is_fulfilled(attributes.get((machine, name), ""), operator, text)
                for t, operator, name, text in constraints
                if t == task
            )
            for machine in machines
        ]
        mask = np.ones(12, bool) if condition is None else evaluate(condition, columns, "a task")
        assert mask.tolist() == expected, condition


#: the table, what to replace first in it, by what, and what the error says
MALFORMED_PLACEMENTS = r"""
machine_attributes: 0,6,cores => 0,6 => machine_attributes.part-00000-of-00001.csv, line 4: has 4 cells; expected 5
machine_attributes: 0,6,cores => 0,six,cores => line 4: column 'machine' is 'six'; expected a whole number
machine_attributes: kind => platform => line 2: column 'attribute name' is 'platform'; expected a hash
machine_attributes: kind =>  => line 2: column 'attribute name' is ''
machine_attributes: aa= => a"a => line 2: column 'attribute value' is 'a"a'
machine_attributes: ,1,0 => ,1,2 => line 3: column 'deleted' is '2'; expected 0 or 1
machine_attributes: 0,5 => -1,5 => line 1: column 'time' is '-1'; expected whole microseconds
machine_attributes: 16,0⏎ => 16,0 => line 10: does not end with a line break
machine_attributes: kind => é => line 2: column 'attribute name'
task_constraints: 0,kind => 4,kind => csv.gz, line 1: column 'comparison operator' is '4'; expected 0 \(=\)
task_constraints: 0,2,3 => 0,two,3 => line 1: column 'job' is 'two'
task_constraints: 1,0,0 => 1,-1,0 => line 2: column 'task' is '-1'
task_constraints: cores,4 => cores,x= => line 3: column 'attribute value' is 'x='; expected an integer, which < and >
task_constraints: 600000000,1,0 => 1,600000000,1,0 => line 2: has 7 cells; expected 6, time, job, task
"""


@pytest.mark.parametrize("line", MALFORMED_PLACEMENTS.strip().splitlines())
def test_a_malformed_line_of_attributes_or_constraints_is_named(tmp_path, line):
    old, new, message = line.replace("⏎", "\n").split(" => ")
    table, old = old.split(": ")
    tables = {"machine_attributes": ATTRIBUTES, "task_constraints": CONSTRAINTS}
    tables[table] = tables[table].replace(old, new, 1)
    folder = constrained(tmp_path)
    (table_file,) = (folder / table).iterdir()
    content = tables[table].encode()
    table_file.write_bytes(gzip.compress(content) if table_file.suffix == ".gz" else content)
    with pytest.raises(FileFormatError, match=message):
        read_google2011_tasks(folder)


def test_a_broken_or_empty_table_of_constraints(tmp_path):
    folder = constrained(tmp_path)
    (table_file,) = (folder / "task_constraints").iterdir()
    table_file.write_bytes(table_file.read_bytes()[:-9])
    with pytest.raises(FileFormatError, match=r"part-00000-of-00500.csv.gz is not a whole gzip"):
        read_google2011_tasks(folder)
    table_file.write_bytes(gzip.compress(b""))
    with pytest.raises(FileFormatError, match=r"csv.gz is empty; expected at least one row"):
        read_google2011_tasks(folder)
    table_file.write_bytes(gzip.compress(CONSTRAINTS.encode() + b"0,1,0,0,\xe9,1\n"))
    with pytest.raises(FileFormatError, match=r"csv.gz is not UTF-8: line 9"):
        read_google2011_tasks(folder, stop=1e13)
    table_file.write_bytes(gzip.compress(b"0," * 9000))
    with pytest.raises(FileFormatError, match=r"line 1: does not end with a line break within"):
        read_google2011_tasks(folder)
