"""Mechanisms of one's own in other processes: studies and their workers, installed packages, files, commands."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest

import fairlp
from cli_runner import IN_A_ROW, SOURCE, run
from fairlp.errors import StudyError, UnknownNameError
from fairlp.mechanisms.table import OWN, find
from fairlp_research import study
from own_mechanisms import EVERY
from paths import ROOT
from profiles import by_day


@pytest.fixture(autouse=True)
def declared():
    for row in EVERY:
        find(row)


def experiment(mechanisms, **changes):
    parts = {"users": [4], "resources": [2], "demands": [[1, 5]], "reserves": [[20, 40]]}
    fields = {"generator": "uniform-integers", "grid": parts, "statistics": ["summary"], "runs": 3}
    return study.Study(name="own", mechanisms=mechanisms, **(fields | changes))


ALL = {row.name: row for row in EVERY}


@pytest.mark.slow
def test_a_study_in_other_processes_is_the_same_by_reference(tmp_path):
    frame, second_frame = (experiment(ALL).run(workers=n, progress=False).frame for n in (1, 2))
    assert frame.equals(second_frame) and len(frame) == 3
    document = experiment(ALL).to_dict()
    assert document["mechanisms"]["own-part"]["mechanism"] == "own_mechanisms:own_part"
    with pytest.raises(
        StudyError, match=r"'own_mechanisms:memory_first' is a function of a module.*allow_code"
    ):
        study.Study.from_dict(document)
    assert study.Study.from_dict(document, allow_code=True).run(progress=False).frame.equals(frame)
    file = experiment(ALL).write(tmp_path / "own.yaml")
    with pytest.raises(StudyError, match="--allow-code"):
        study.Study.read(file)
    assert "--allow-code" in run("study", file, "--results", tmp_path / "r.parquet", code=3).stderr
    run("study", file, "--results", tmp_path / "r.parquet", "--allow-code", "--no-progress")
    assert (tmp_path / "r.parquet").exists()


@pytest.mark.slow
def test_a_study_on_a_cluster_of_dask():
    distributed = pytest.importorskip("distributed")
    expected = experiment(ALL).run(progress=False).frame
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        assert experiment(ALL).run(backend="dask", progress=False).frame.equals(expected)


SCRIPT = """
import fairlp
from fairlp.mechanisms.table import OWN, find
from fairlp_research import study

@fairlp.mechanism("equal-tasks", source="a script")
def equal_tasks(instance):
    n, i, r = instance.users, instance.servers, instance.resources
    model = fairlp.Model("Equal tasks", indices=(n, i, r))
    x, t = model.variable("x", n, i), model.variable("t")
    d = model.parameter("d", (n, r), instance.demands)
    c = model.parameter("c", (i, r), instance.capacities)
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.leximin(model.constraint("fairness", x.sum(i) >= {level} * t), t)
    model.define("tasks", x)
    return model

@equal_tasks.method("division")
def division(instance):
    return {times} * (instance.pool / instance.demands.sum(axis=0)).min() * (instance.demands[:, :1] * 0 + 1)

if __name__ == "__main__":
    import sys
    grid = {{"users": [3], "resources": [1], "demands": [[1, 5]], "reserves": [[20, 40]]}}
    mechanisms = {{method: {{"mechanism": equal_tasks, "method": method}} for method in sys.argv[1].split(",")}}
    made = study.Study("s", "uniform-integers", grid, mechanisms, ["summary"], runs=4)
    one = made.run(workers=1, progress=False).frame
    how = {{"folder": sys.argv[2], "workers": 1}} if len(sys.argv) > 2 else {{"workers": 2}}
    two = made.run(**how, progress=False).frame
    print(one.equals(two), len(two), "error" in two, *(f"summary.{{name}}.tasks" in two for name in mechanisms))
"""


def script(path, *arguments, level="1", times="1"):
    path.write_text(SCRIPT.format(level=level, times=times), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=path.parent,
        timeout=120,
    )


@pytest.mark.slow
def test_a_study_takes_a_mechanism_of_a_script_into_its_workers(tmp_path):
    process = script(tmp_path / "own_script.py", "lp,division")
    assert process.stdout.splitlines() == ["True 4 False True True"], process.stderr


def kept_runs(folder):
    return len(list(folder.rglob("output.pkl")))


@pytest.mark.slow
def test_a_study_does_not_go_on_with_another_function(tmp_path):
    for _ in range(2):
        process = script(tmp_path / "own_script.py", "lp", "runs")
        assert process.returncode == 0, process.stderr
        assert kept_runs(tmp_path / "runs") == 4, "the same function goes on"
    for count, change in enumerate(by_day(({"level": "2"}, {"times": "0.5"}), 2), 2):
        assert script(tmp_path / "own_script.py", "lp", "runs", **change).returncode == 0
        assert kept_runs(tmp_path / "runs") == 4 * count


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
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [
        "[fairlp.mechanisms]",
        *(f"{row.name} = their_package.rules:{row.function.__name__}" for row in EVERY),
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (home / "loose.py").write_text(text, encoding="utf-8")
    return home


def shell(home, *arguments):
    path = os.pathsep.join([str(home), SOURCE])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=home, timeout=120
    )


def typed(home, *arguments):
    return shell(home, "-c", "from fairlp.cli import main; main()", *arguments)


@pytest.mark.slow
def test_an_installed_package_brings_mechanisms(package):
    code = (
        "import fairlp; i = fairlp.examples.ghodsi();"
        "print(fairlp.mechanisms().index[-5:].tolist(), fairlp.allocate(i, "
        "'own-part').totals.tolist(),"
        "fairlp.allocate(i, 'memory-first').method, fairlp.compare(i, ['half-guaranteed', "
        "'drf']).shape)"
    )
    process = shell(package, "-c", code)
    assert process.stdout.split("]")[0][1:].replace("'", "").split(", ") == [
        row.name for row in EVERY
    ], process.stderr
    assert "[2.25, 1.5] filling (2, 2)" in process.stdout
    assert "one-by-one" in typed(package, "mechanisms", "--json").stdout


@pytest.mark.slow
def test_the_command_line_takes_a_name_a_module_or_a_file(package):
    names = ["memory-first", "their_package.rules:memory_first", "loose.py:memory_first"]
    process = shell(
        package, "-c", IN_A_ROW, *(f"allocate ghodsi -m {name} --json" for name in names)
    )
    assert process.returncode == 0, process.stderr
    decoder, rest, documents = json.JSONDecoder(), process.stdout, []
    while rest.strip():
        document, end = decoder.raw_decode(rest.lstrip())
        documents, rest = [*documents, document], rest.lstrip()[end:]
    assert [(document["mechanism"], document["method"]) for document in documents] == [
        ("memory-first", "filling")
    ] * 3


def test_every_command_takes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "tests" / "support" / "own_mechanisms.py").read_text(encoding="utf-8")
    (tmp_path / "loose_rules.py").write_text(text, encoding="utf-8")
    reference = "loose_rules.py:memory_first"
    assert "fairness" in run("export", "ghodsi", "-m", reference).stdout
    run("export", "ghodsi", "-m", reference, "-o", "own.mps")
    assert (tmp_path / "own.mps").exists()
    assert "filling" in run("compare", "ghodsi", "-m", reference, "--methods").stdout
    assert "memory-first" in run("compare", "ghodsi", "-m", f"{reference},drf").stdout
    assert (
        "envy-free"
        in run("audit", "ghodsi", "-m", reference, "-p", "feasible", "-p", "envy-free").stdout
    )
    assert "Pareto-optimal" in run("promises", "-m", reference).stdout
    output = run(
        "counterexample",
        "loose_rules.py:own_part",
        "Pareto-optimal",
        "--search",
        "-o",
        "broken.json",
    ).stdout
    assert "users" in output and (tmp_path / "broken.json").exists()
    jobs = "user,arrival,tasks,duration,cpu,memory\nann,0,4,60,1,1\nbob,0,4,60,1,2\n"
    (tmp_path / "jobs.csv").write_text(jobs, encoding="utf-8")
    simulated = run(
        "simulate",
        "ghodsi",
        "jobs.csv",
        "-p",
        f"{reference},loose_rules.py:own_part,drfh",
        "--no-progress",
        "--csv",
    )
    assert [line.split(",")[0] for line in simulated.stdout.splitlines()[1:]] == [
        "memory-first",
        "own-part",
        "drfh",
    ]


@pytest.mark.slow
def test_a_broken_package_does_not_break_the_rest(tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8"
    )
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
    assert (
        "No module named 'no_such_module'" in lines[3]
        and "No module named 'no_such_module'" in lines[5]
    )


@pytest.mark.slow
def test_an_error_in_somebody_elses_function_is_no_bug_of_ours(tmp_path):
    text = (
        "import fairlp\n@fairlp.mechanism('careless')\ndef careless(instance):\n    return 1 / 0\n"
    )
    (tmp_path / "rules.py").write_text(text, encoding="utf-8")
    process = typed(tmp_path, "allocate", "ghodsi", "-m", "rules.py:careless")
    assert process.returncode == 3 and "bug in fairlp" not in process.stderr
    assert "raised by the function of mechanism 'careless'" in process.stderr.splitlines()[-1]


def test_the_decorator_itself_can_be_pickled():
    """A pool of processes is handed whatever is there, also what only becomes a mechanism."""
    declare = pickle.loads(pickle.dumps(fairlp.mechanism("halves", promises="envy-free")))
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]])
    try:
        row = declare(lambda instance: [[1.0], [2.0]])
        assert row.promises == ("envy-free",)
        assert fairlp.allocate(instance, "halves").totals.tolist() == [1, 2]
    finally:
        OWN.pop("halves", None)
    with pytest.raises(UnknownNameError, match="drfh"):
        pickle.loads(pickle.dumps(fairlp.mechanism("drfh")))(lambda instance: [])
