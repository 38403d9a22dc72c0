"""Mechanisms of one's own go wherever one of fairlp's does: five of them, of all kinds, through every door."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import run
from fairlp import study
from fairlp.errors import NotDefinedError, StudyError, UnsupportedError
from own_mechanisms import EVERY, WITH_MODEL, half_guaranteed, memory_first, most_tasks, one_by_one, own_part
from paths import ROOT

#: cyd needs no memory: what counts is its share of the CPU
INSTANCE = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1], [1, 0]], [[9, 18]], users=["ann", "bob", "cyd"], resources=["cpu", "memory"]
)
SEVERAL = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1], [2, 2]],
    [[6, 9], [9, 6], [4, 0]],
    weights=[1, 2, 1],
    task_limits=[np.inf, 1.5, np.inf],
    eligible=[[1, 1, 1], [1, 1, 0], [0, 1, 1]],
)
TASKS = {
    "memory-first": [0.6, 2.4, 1.2],  # 4x/18 = y/18 = z/9, and the CPU is full
    "half-guaranteed": [4.375, 0.5, 3.125],  # bob has its half; then memory, then CPU
    "own-part": [1.5, 1.0, 3.0],  # a third of everything
    "one-by-one": [1, 2, 2],
    "most-tasks": [0, 0, 9],
}
every = pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)
with_model = pytest.mark.parametrize("row", WITH_MODEL, ids=lambda row: row.name)


@every
def test_allocate_by_itself_and_by_name(row):
    found = fairlp.allocate(INSTANCE, row)
    np.testing.assert_allclose(found.totals, TASKS[row.name], rtol=1e-9, atol=1e-12)
    assert found.mechanism == row.name and row.name in fairlp.mechanisms().index
    assert fairlp.allocate(INSTANCE, row.name.upper()).totals.equals(found.totals)
    held = fairlp.audit(INSTANCE, found, ["feasible", "Pareto-optimal"])["holds"]
    assert held["feasible"] is True and held["Pareto-optimal"] is (row is not own_part)
    assert row.name in repr(found) and str(found.to_dict()["mechanism"]) == row.name


@pytest.mark.parametrize("row", [memory_first, own_part, one_by_one], ids=lambda row: row.name)
def test_several_servers_weights_limits_and_placement(row):
    found = fairlp.allocate(SEVERAL, row)
    assert fairlp.audit(SEVERAL, found, ["feasible"])["holds"].all() and found.totals.iloc[1] <= 1.5
    assert (found.tasks.to_numpy()[~SEVERAL.eligible] == 0).all() and (found.totals > 0).all()
    if row is memory_first:
        assert found.method == "lp" and found.certify(exact=True).proved
        assert found.rounds["satisfied"].sum() == [SEVERAL.users[1]]


def test_compare_side_by_side():
    table = fairlp.compare(INSTANCE, [*EVERY, "drf"])
    assert list(table.columns) == [*(row.name for row in EVERY), "drf"]
    for row in EVERY:
        np.testing.assert_allclose(table[row.name], TASKS[row.name], rtol=1e-9, atol=1e-12)
    assert fairlp.compare(INSTANCE, EVERY, value="summary")["total tasks"].is_monotonic_increasing is False
    assert not set(TASKS) & set(fairlp.compare(INSTANCE).columns), "asked for nothing, it takes ours"


def test_a_mechanism_that_is_not_defined_here_says_why():
    for row in (half_guaranteed, most_tasks):
        with pytest.raises(NotDefinedError, match=f"{row.name} is not defined here: it shares one server"):
            fairlp.allocate(SEVERAL, row)
    with pytest.warns(fairlp.FairlpWarning, match="half-guaranteed is left out"):
        assert fairlp.compare(SEVERAL, [half_guaranteed, own_part])["half-guaranteed"].isna().all()


@every
def test_validate_compares_all_ways(row):
    table = fairlp.validate(INSTANCE, row)
    assert table["agrees"].all() and len(table) == {"memory-first": 3}.get(row.name, 1)


def test_the_fast_method_is_the_model():
    """Filling against the leximin by HiGHS and by SciPy, on drawn instances; where it is not exact it is not taken."""
    rng = np.random.default_rng(5)
    for _ in range(25):
        n, r = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        demands = rng.integers(0, 6, (n, r))
        demands[~demands.any(axis=1), 0] = 1
        instance = fairlp.Instance.from_arrays(demands, rng.integers(5, 30, (1, r)), weights=rng.integers(1, 4, n))
        table = fairlp.validate(instance, memory_first)
        assert table["agrees"].all() and list(table.index) == ["lp", "filling", "lp, scipy"], table
        assert fairlp.allocate(instance, memory_first).method == "filling"
    assert list(fairlp.validate(SEVERAL, memory_first).index) == ["lp", "lp, scipy"]
    with pytest.raises(NotDefinedError, match="not exact for this instance"):
        fairlp.allocate(SEVERAL, memory_first, method="filling")


def test_what_is_proved_and_what_cannot_be():
    for row in (memory_first, half_guaranteed):
        found = fairlp.allocate(INSTANCE, row, method="lp")
        assert found.certify().proved and found.certify(exact=True).proved and found.gap <= 1e-12
        assert found.prices.to_numpy().sum() > 0
        worse = fairlp.allocate(INSTANCE, row).tasks * 0.9
        held = fairlp.audit(INSTANCE, worse, ["Pareto-optimal"])
        assert held["holds"].tolist() == [False]
    assert "no duals" in fairlp.allocate(INSTANCE, most_tasks).unproved
    with pytest.raises(UnsupportedError, match="no linear program"):
        fairlp.allocate(INSTANCE, most_tasks).certify(exact=True)
    for row in (own_part, one_by_one):
        with pytest.raises(NotDefinedError, match="no certificate of optimality"):
            fairlp.allocate(INSTANCE, row).certify()


@with_model
def test_models_are_shown_written_and_read(row, tmp_path):
    model = fairlp.formulate(INSTANCE, row)
    assert "capacity" in str(model) and "maximize" in str(model).lower()
    for path in model.write(tmp_path / "own.mps"):
        assert path.exists()
    again = fairlp.read_program(tmp_path / "own.mps").solve()
    assert again.objective == pytest.approx(model.solve().objective, rel=1e-12)


@pytest.mark.parametrize("row", [own_part, one_by_one], ids=lambda row: row.name)
def test_procedures_have_no_model(row):
    with pytest.raises(NotDefinedError, match="is a procedure and has no model"):
        fairlp.formulate(INSTANCE, row)


def test_promises_are_kept_or_found_broken():
    table = fairlp.promises(audits=12, mechanisms=EVERY)
    assert set(table.index.get_level_values(0)) == set(TASKS) and table["promised"].all()
    broken = set(table.index[table["broken"] > 0])
    # three of the promises are wrong on purpose, and are found out
    assert {("half-guaranteed", "sharing incentive"), ("own-part", "Pareto-optimal")} <= broken
    assert broken <= {
        ("half-guaranteed", "sharing incentive"),
        ("own-part", "Pareto-optimal"),
        ("memory-first", "envy-free"),
    }
    assert table.loc[("memory-first", "Pareto-optimal"), "condition"] == "nobody has a task limit"
    assert (table["audited"] == 12).all() and table.loc[("own-part", "envy-free"), "source"] == "folklore"


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (memory_first, "sharing incentive"),
        (memory_first, "envy-free"),
        (half_guaranteed, "sharing incentive"),
        (own_part, "Pareto-optimal"),
        (one_by_one, "sharing incentive"),
        (most_tasks, "envy-free up to one task of the other"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_counterexamples_are_small_and_break_the_property(row, wanted):
    found = fairlp.counterexample(row, wanted, search=True, seed=1, tries=400)
    assert found is not None and len(found.users) <= 3 and found.name == f"{row.name} breaks {wanted}"
    assert fairlp.audit(found, fairlp.allocate(found, row), [wanted])["holds"].tolist() == [False]


def workload():
    jobs = pd.DataFrame(
        {
            "user": ["a", "b", "c"],
            "arrival": [0, 0, 30],
            "tasks": [4, 4, 2],
            "duration": 60,
            "cpu": 1,
            "memory": [1, 2, 1],
        }
    )
    return fairlp.simulation.Workload.of(jobs, ["cpu", "memory"])


@pytest.mark.parametrize("row", [memory_first, own_part, half_guaranteed], ids=lambda row: row.name)
def test_simulations_share_anew_at_every_event(row):
    cluster = fairlp.Instance.from_arrays([[1, 1]], [[4, 6]], resources=["cpu", "memory"])
    found = fairlp.simulation.simulate(cluster, workload(), row, every=10, progress=False)
    assert row.name in fairlp.simulation.policies() and found.jobs["finish"].notna().all()
    by_name = fairlp.simulation.simulate(cluster, workload(), row.name, every=10, progress=False)
    assert by_name.jobs.equals(found.jobs)
    # ten tasks of a minute on four CPUs take two and a half minutes at least
    assert found.jobs["finish"].max() >= 150 - 1e-6


def experiment(mechanisms, **changes):
    parts = {"users": [4], "resources": [2], "demands": [[1, 5]], "reserves": [[20, 40]]}
    how = {"generator": "uniform-integers", "grid": parts, "statistics": ["summary"], "runs": 3}
    return study.Study(name="own", mechanisms=mechanisms, **(how | changes))


ALL = {row.name: row for row in EVERY}


def test_a_study_in_other_processes_is_the_same_by_reference(tmp_path):
    one, two = (experiment(ALL).run(workers=n, progress=False).frame for n in (1, 2))
    assert one.equals(two) and len(one) == 3
    document = experiment(ALL).to_dict()
    assert document["mechanisms"]["own-part"]["mechanism"] == "own_mechanisms:own_part"
    with pytest.raises(StudyError, match=r"'own_mechanisms:memory_first' is a function of a module.*allow_code"):
        study.Study.from_dict(document)
    assert study.Study.from_dict(document, allow_code=True).run(progress=False).frame.equals(one)
    file = experiment(ALL).write(tmp_path / "own.yaml")
    with pytest.raises(StudyError, match="--allow-code"):
        study.Study.read(file)
    assert "--allow-code" in run("study", "run", file, "-o", tmp_path / "r.parquet", code=3).stderr
    run("study", "run", file, "-o", tmp_path / "r.parquet", "--allow-code", "--no-progress")
    assert (tmp_path / "r.parquet").exists()


def test_a_study_on_a_cluster_of_dask():
    distributed = pytest.importorskip("distributed")
    expected = experiment(ALL).run(progress=False).frame
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        assert experiment(ALL).run(backend="dask", progress=False).frame.equals(expected)


SCRIPT = """
import fairlp
from fairlp import study

@fairlp.mechanism("equal-tasks", source="a script")
def equal_tasks(instance):
    n, i, r = instance.users, instance.servers, instance.resources
    model = fairlp.Model("Equal tasks", indices=(n, i, r))
    x, t = model.variable("x", n, i), model.variable("t")
    d = model.parameter("d", (n, r), instance.demands)
    c = model.parameter("c", (i, r), instance.capacities)
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("fairness", x.sum(i) >= {level} * t)
    model.maximize(t)
    model.define("tasks", x)
    return model

@equal_tasks.method("division")
def division(instance):
    return {times} * (instance.pool / instance.demands.sum(axis=0)).min() * (instance.demands[:, :1] * 0 + 1)

if __name__ == "__main__":
    import sys
    grid = {{"users": [3], "resources": [1], "demands": [[1, 5]], "reserves": [[20, 40]]}}
    mechanisms = {{"own": {{"mechanism": equal_tasks, "method": sys.argv[1]}}}}
    made = study.Study("s", "uniform-integers", grid, mechanisms, ["summary"], runs=4)
    one = made.run(workers=1, progress=False).frame
    two = made.run(sys.argv[2] if len(sys.argv) > 2 else None, workers=2, progress=False).frame
    print(one.equals(two), len(two), "error" in two)
"""


def script(path, *arguments, level="1", times="1"):
    path.write_text(SCRIPT.format(level=level, times=times), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(path), *map(str, arguments)], capture_output=True, text=True, cwd=path.parent, timeout=120
    )


@pytest.mark.parametrize("method", ["lp", "division"])
def test_a_study_takes_a_mechanism_of_a_script_into_its_workers(tmp_path, method):
    done = script(tmp_path / "own_script.py", method)
    assert done.stdout.split() == ["True", "4", "False"], done.stderr


def test_a_study_does_not_go_on_with_another_function(tmp_path):
    assert script(tmp_path / "own_script.py", "lp", "r.parquet").returncode == 0
    again = script(tmp_path / "own_script.py", "lp", "r.parquet")
    assert again.returncode == 0, "the same function goes on"
    unknown = script(tmp_path / "own_script.py", "procedure")
    assert unknown.returncode != 0 and "mechanism 'equal-tasks' has no method 'procedure'" in unknown.stderr
    for change in ({"level": "2"}, {"times": "0.5"}):
        changed = script(tmp_path / "own_script.py", "lp", "r.parquet", **change)
        assert changed.returncode != 0 and "StudyError" in changed.stderr and "another study" in changed.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """An installed package with an entry point, and a folder with a file: environment for a new process."""
    home = tmp_path_factory.mktemp("installed")
    text = (ROOT / "tests" / "support" / "own_mechanisms.py").read_text(encoding="utf-8")
    (home / "their_package").mkdir()
    (home / "their_package" / "__init__.py").write_text("", encoding="utf-8")
    (home / "their_package" / "rules.py").write_text(text, encoding="utf-8")
    info = home / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n", encoding="utf-8")
    lines = ["[fairlp.mechanisms]", *(f"{row.name} = their_package.rules:{row.function.__name__}" for row in EVERY)]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (home / "loose.py").write_text(text, encoding="utf-8")
    return home


def shell(home, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home, timeout=120)


def typed(home, *arguments):
    return shell(home, "-c", "from fairlp.cli import main; main()", *arguments)


def test_an_installed_package_brings_mechanisms(package):
    code = (
        "import fairlp; i = fairlp.examples.ghodsi();"
        "print(fairlp.mechanisms().index[-5:].tolist(), fairlp.allocate(i, 'own-part').totals.tolist(),"
        "fairlp.allocate(i, 'memory-first').method, fairlp.compare(i, ['half-guaranteed', 'drf']).shape)"
    )
    done = shell(package, "-c", code)
    assert done.stdout.split("]")[0][1:].replace("'", "").split(", ") == [row.name for row in EVERY], done.stderr
    assert "[2.25, 1.5] filling (2, 2)" in done.stdout
    assert "one-by-one" in typed(package, "mechanisms", "--json").stdout


@pytest.mark.parametrize("name", ["memory-first", "their_package.rules:memory_first", "loose.py:memory_first"])
def test_the_command_line_takes_a_name_a_module_or_a_file(package, name):
    done = typed(package, "allocate", "ghodsi", "-m", name, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["mechanism"] == "memory-first" and found["method"] == "filling", done.stderr


def test_every_command_takes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "tests" / "support" / "own_mechanisms.py").read_text(encoding="utf-8")
    (tmp_path / "loose_rules.py").write_text(text, encoding="utf-8")
    own = "loose_rules.py:memory_first"
    assert "fairness" in run("show", "ghodsi", "-m", own).stdout
    run("export", "ghodsi", "-m", own, "-o", "own.mps")
    assert (tmp_path / "own.mps").exists()
    assert "filling" in run("validate", "ghodsi", "-m", own).stdout
    assert "memory-first" in run("compare", "ghodsi", "-m", f"{own},drf").stdout
    assert "envy-free" in run("audit", "ghodsi", "-m", own, "-p", "feasible", "-p", "envy-free").stdout
    assert "Pareto-optimal" in run("promises", "-m", own).stdout
    found = run("counterexample", "loose_rules.py:own_part", "Pareto-optimal", "--search", "-o", "broken.json").stdout
    assert "users" in found and (tmp_path / "broken.json").exists()
    jobs = "user,arrival,tasks,duration,cpu,memory\nann,0,4,60,1,1\nbob,0,4,60,1,2\n"
    (tmp_path / "jobs.csv").write_text(jobs, encoding="utf-8")
    simulated = run(
        "simulate", "ghodsi", "jobs.csv", "-p", f"{own},loose_rules.py:own_part,drfh", "--no-progress", "--csv"
    )
    assert [line.split(",")[0] for line in simulated.stdout.splitlines()[1:]] == ["memory-first", "own-part", "drfh"]


def test_a_broken_package_does_not_break_the_rest(tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    points = (
        "[fairlp.mechanisms]\nlost-rule = no_such_module:f\nno-rule = json:dumps\n"
        "[fairlp.solvers]\nlost-solver = no_such_module:C\nno-solver = json:dumps\n"
    )
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    code = """
import warnings, fairlp
i = fairlp.examples.ghodsi()
print(fairlp.allocate(i, "drf").totals.tolist())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(fairlp.compare(i, ["drf"]).shape, "no-rule" in fairlp.mechanisms().index, len(told))
print(fairlp.solvers().loc[["lost-solver", "no-solver"], "available"].tolist())
for how in ({"mechanism": "lost-rule"}, {"mechanism": "no-rule"}, {"solver": "lost-solver"}, {"solver": "no-solver"}):
    try:
        fairlp.allocate(i, **({"mechanism": "drf"} | how))
    except fairlp.FairlpError as error:
        print(type(error).__name__, error)
"""
    lines = shell(tmp_path, "-c", code).stdout.splitlines()
    assert lines[:3] == ["[3.0, 2.0]", "(2, 1) False 2", "[False, False]"], lines
    assert [line.split()[0] for line in lines[3:]] == [
        "UnknownNameError",
        "UnknownNameError",
        "SolverNotAvailableError",
        "SolverError",
    ]
    assert "No module named 'no_such_module'" in lines[3] and "No module named 'no_such_module'" in lines[5]
