"""The generators and statistics that ship with fairlp, against numbers worked out by hand; the commands for studies."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import error_line, fairlp_in_a_shell, run
from fairlp import Instance, study
from fairlp.cli import ExitCode
from fairlp.errors import FileFormatError, InstanceError, StudyError, UnknownNameError
from fairlp.research.study import checks, generators, statistics, storage
from fairlp.research.study.storage import Journal
from fairlp.research.study.work import Ran
from paths import DOCS
from study_functions import make

DOCUMENTS = DOCS


def rng(seed=0):
    return np.random.default_rng(seed)


# generators


def test_uniform_integers_are_in_their_intervals_ends_included():
    made = generators.uniform_integers(
        rng(), users=500, resources=3, demands=[2, 4], reserves=[7, 8]
    )
    assert set(made.demands.ravel()) == {2, 3, 4}
    assert made.capacities.shape == (1, 3) and set(made.capacities.ravel()) <= {7, 8}
    plain = generators.uniform_integers(rng(), users=5, resources=2)
    more = generators.uniform_integers(
        rng(), users=5, resources=2, weights=[1, 3], task_limits=[0, 9]
    )
    assert (plain.demands == more.demands).all() and (plain.capacities == more.capacities).all()
    assert set(more.weights) <= {1, 2, 3} and np.isfinite(more.task_limits).all()


def test_zero_demands_leave_every_user_one():
    made = generators.zero_demands(rng(), users=400, resources=3, zeros=0.5)
    assert 0.3 < (made.demands == 0).mean() < 0.5
    alone = generators.zero_demands(rng(), users=50, resources=4, zeros=1.0)
    assert ((alone.demands > 0).sum(axis=1) == 1).all()
    assert fairlp.allocate(made, "edrf").totals.min() > 0


def test_log_normal_servers_differ():
    made = generators.log_normal(rng(), users=300, servers=40, resources=2, size=30, eligible=0.25)
    assert made.capacities.shape == (40, 2)
    assert 0.8 < np.median(made.demands) < 1.2 and 25 < np.median(made.capacities) < 36
    assert 0.2 < made.eligible.mean() < 0.3 and made.eligible.any(axis=1).all()
    assert not generators.log_normal(rng(), users=3, servers=2).has_constraints


def test_google_cluster_has_random_users():
    one, other = (
        generators.google_cluster(rng(seed), users=20, weights=[1, 3], task_limits=[1, 5])
        for seed in (0, 1)
    )
    assert one.n_servers == 12_583 and len(one.users) == 20
    assert (
        (one.demands != other.demands).any()
        and one.weights.max() <= 3
        and one.task_limits.max() <= 5
    )


@pytest.mark.parametrize(
    "options",
    [
        {"demands": [0, 1]},
        {"demands": [3, 2]},
        {"demands": [1]},
        {"reserves": [0.5, 2]},
        {"weights": [0, 1]},
    ],
)
def test_intervals_are_checked(options):
    with pytest.raises(InstanceError, match=rf"{next(iter(options))} are drawn from"):
        generators.uniform_integers(rng(), users=2, resources=2, **options)


def test_probabilities_are_checked():
    with pytest.raises(InstanceError, match=r"zeros is 1\.5"):
        generators.zero_demands(rng(), users=2, resources=2, zeros=1.5)


# statistics


def totals(*values):
    return SimpleNamespace(totals=pd.Series(values), times={"build": 1.0, "solve": 0.5})


CLUSTER = Instance.from_arrays(np.ones((6, 1)), [[100]])


def test_deviation_counts_as_the_tables_of_the_paper():
    exact, fast = totals(10, 10, 10, 10, 10, 10), totals(9, 8, 5, 11, 12, 10)
    found = statistics.deviation(CLUSTER, {"a": exact, "b": fast}, of="b", from_="a")
    assert found == {
        "under_1": 1, "under_2": 1, "under_more": 1, "under_max": 5.0, "under": 3,
        "over_1": 1, "over_2": 1, "over_more": 0, "over_max": 2.0, "over": 2,
    }  # fmt: skip
    assert all(isinstance(found[name], int) for name in found if not name.endswith("max"))


def test_deviation_takes_rounding_for_none_and_part_of_a_task_for_one():
    exact, fast = (
        totals(1e6, 3.0, 3.0, 3.0, 0.0, 0.0),
        totals(1e6 + 1e-7, 2.75, 1.5, 3.0 - 1e-12, 0.0, 1e-3),
    )
    found = statistics.deviation(CLUSTER, {"a": exact, "b": fast}, of="b", from_="a")
    assert (found["under_1"], found["under_2"], found["under"], found["under_max"]) == (
        1,
        1,
        2,
        1.5,
    )
    assert (found["over_1"], found["over"], found["over_max"]) == (1, 1, 1e-3)


def test_jain_of_equal_shares_and_of_one_user():
    instance = Instance.from_arrays(np.ones((4, 1)), [[8]], weights=[1, 1, 2, 2])
    found = statistics.jain(
        instance, {"a": totals(1, 1, 2, 2), "b": totals(3, 0, 0, 0), "c": totals(0, 0, 0, 0)}
    )
    assert found["a"] == pytest.approx(1) and found["b"] == pytest.approx(1 / 4) and found["c"] == 1
    assert list(
        statistics.jain(instance, {"a": totals(1, 1, 2, 2), "b": totals(3, 0, 0, 0)}, of="b")
    ) == ["b"]


def test_summary_has_the_figures_of_a_comparison():
    instance = fairlp.examples.khamse_ashari_figure_1()
    found = statistics.summary(instance, {"x": fairlp.allocate(instance, "tsf")})
    figures = fairlp.compare(instance, ["tsf"], value="summary").loc["tsf"].drop("seconds")
    assert list(found.values()) == figures.tolist()
    assert list(found) == [
        "x.tasks", "x.smallest_share", "x.median_share", "x.largest_share", "x.used_cpu", "x.used_memory",
        "x.used_network",
    ]  # fmt: skip


def test_seconds_are_a_statistic_of_their_own():
    assert statistics.seconds(CLUSTER, {"a": totals(1)}) == {"a": 1.5}
    assert not [name for name in make().run(backend="sequential").statistics if "second" in name]


def test_what_there_is():
    assert list(study.generators().index) == [
        "uniform-integers",
        "zero-demands",
        "log-normal",
        "google-cluster",
    ]
    assert (
        study.generators().loc["log-normal", "parameters"].startswith("users, servers, resources=2")
    )
    assert study.statistics().loc["deviation", "parameters"] == "of, from"


# the command line


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_and_show(here):
    run("example", "study")
    shown = run("study", "study.yaml", "--runs", 3, "--backend", "threading", "--workers", 2)
    assert shown.stderr == "wrote study.parquet\n"
    assert (
        "users=20, resources=2, demands=[1, 10]" in shown.stdout
        and "deviation.under_1" in shown.stdout
    )
    records = json.loads(run("study", "study.parquet", "--json").stdout)
    summary = study.Result.read("study.parquet").summary()
    assert [row["mean"] for row in records] == summary["mean"].tolist()
    again = run("study", "study.yaml", "--runs", 3, "--json", "--results", "study.parquet")
    assert json.loads(again.stdout) == records
    runs = run("study", "study.parquet", "--table", "runs", "--csv").stdout.splitlines()
    assert len(runs) == 7 and runs[0].startswith(
        "point,users,resources,demands,reserves,run,key,jain.reference"
    )
    assert "jain.asset" in run("study", "study.parquet", "--table", "runs").stdout
    assert run("study", "study.parquet", "-o", "x.csv").stdout == ""
    listed = json.loads(run("study", "--list", "--json").stdout)
    assert [row["name"] for row in listed] == [*study.generators().index, *study.statistics().index]
    assert listed[-1]["kind"] == "statistic" and "uniform-integers" in run("study", "--list").stdout


def test_functions_may_be_in_a_file_beside_the_study(here):
    (here / "sub").mkdir()
    (here / "sub" / "beside_the_study.py").write_text(
        "def size(instance, allocations):\n    return {'users': len(instance.users)}\n",
        encoding="utf-8",
    )
    document = make(
        statistics=["jain"], generator="uniform-integers", grid={"users": [2], "resources": [1]}
    ).to_dict()
    document["statistics"] = ["beside_the_study:size"]
    (here / "sub" / "s.json").write_text(json.dumps(document), encoding="utf-8")
    assert (
        fairlp_in_a_shell("study", "sub/s.json", "--workers", "2", "--allow-code").returncode == 0
    )
    assert study.Result.read("s.parquet").frame["size.users"].tolist() == [2] * 6


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("studdy.yaml",), ExitCode.INPUT, "no file .*did you mean 'study.yaml'"),
        (("study.yaml", "--backend", "lokky"), ExitCode.INPUT, "did you mean 'loky'"),
        (("study.yaml", "--backend", "dask"), ExitCode.INPUT, "needs a cluster"),
        (("study.yaml", "--results", "x.csv"), ExitCode.INPUT, "a .parquet file"),
        (("study.yaml", "--results", "no/x.parquet"), ExitCode.INPUT, "no folder 'no'"),
        (("broken.parquet",), ExitCode.INPUT, "no whole Parquet file"),
    ],
)
def test_errors_are_one_line(here, arguments, code, expected):
    run("example", "study")
    (here / "broken.parquet").write_bytes(b"PAR1")
    result = run("study", *arguments, code=code)
    assert re.search(expected, error_line(result)) and result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "give a FILE, or --list"),
        (("x.yaml", "--list"), "give a FILE, or --list"),
        (("x.yaml", "--runs", "0"), "--runs"),
        (("x", "--json", "--csv"), "exclude each other"),
        (("x", "--scheduler", "a", "--backend", "loky"), "--backend dask"),
        (("x.yaml", "-o", "x.parquet"), "--results FILE.parquet"),
        (("x.parquet", "--runs", "3"), "has results already"),
    ],
)
def test_usage(here, arguments, expected):
    result = run("study", *arguments, code=2)
    assert expected in " ".join(result.stderr.replace("│", " ").split()) and result.stdout == ""


def test_recorded_errors_make_the_exit_code_1(here):
    make(grid={"users": [3], "fail_at": [0]}).write("s.yaml")
    assert "failed: ZeroDivisionError" in error_line(
        run("study", "s.yaml", "--allow-code", code=ExitCode.INPUT)
    )
    shown = run("study", "s.yaml", "--allow-code", "--on-error", "record", code=ExitCode.NO)
    assert "6 failed" in shown.stdout and "run 0: ZeroDivisionError: a large demand" in shown.stdout


def test_the_studies_of_the_documentation_run(here):
    """Python blocks one after the other in one namespace, fewer runs of each; YAML blocks are read."""
    text = (DOCUMENTS / "studies.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|yaml)\n(.*?)```", text, flags=re.DOTALL)
    assert {kind for kind, _ in blocks} == {"python", "yaml"}
    space = {}
    for kind, block in blocks:
        if kind == "yaml":
            (here / "study.yaml").write_text(block, encoding="utf-8")
            assert study.Study.read("study.yaml").points
        elif "dask" not in block:
            exec(re.sub(r"runs=\d+", "runs=3", block), space)


# Parts of studies given what is wrong: points, names, journals of others, values that are none,
# statistics by hand.


class Given:
    """An allocation of which only totals matter."""

    def __init__(self, *totals):
        self.totals = pd.Series(totals, dtype=float)


INSTANCE = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0]], [[9, 18]], weights=[1, 2])


def test_jains_index_is_of_dominant_shares_by_weight():
    """Shares of 2/9 and 1/3 a task: 3/2 and 2 tasks are 1/3 and 2/3, one each by weight."""
    assert statistics.jain(INSTANCE, {"a": Given(1.5, 2)})["a"] == pytest.approx(1)
    assert statistics.jain(INSTANCE, {"a": Given(3, 2)})["a"] == pytest.approx(0.9)  # one has half
    assert statistics._shares(INSTANCE, Given(9, 3)).tolist() == pytest.approx([2, 1])


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([{"users": 3}, {"users": 3}], "are the same"),
        ([{"point": 3}], "cannot be called"),
        ([{"error": 3}], "cannot be called"),
        ([{"a b": 3}], "cannot be called"),
        ({"users": []}, "list of values"),
        ([], "empty"),
    ],
)
def test_grids_that_are_none_are_refused(grid, words):
    with pytest.raises(StudyError, match=words):
        checks.points_of(grid)


@pytest.mark.parametrize("wrong", [True, 0, 1.5, "3"])
def test_numbers_of_runs_are_whole(wrong):
    with pytest.raises(StudyError, match="whole number"):
        checks.whole(wrong, "runs", 1)


def test_statistics_are_of_mechanisms_of_the_study():
    asked = [{"name": "deviation", "of": "a", "from": "elsewhere"}]
    with pytest.raises(UnknownNameError, match="elsewhere"):
        checks.statistics_of(asked, {"a": {}, "b": {}})
    assert checks.statistics_of([{"name": "deviation", "of": "a", "from": "b"}], {"a": {}, "b": {}})


DEFINITION = {"name": "small", "grid": {"users": [3, 5]}, "runs": 2}


def journal(path, *lines, definition=DEFINITION):
    text = [json.dumps(storage.stamp(definition)), *lines]
    path.write_bytes("".join(f"{line}\n" for line in text).encode())
    return Journal(path, DEFINITION)


def line(**changes):
    return json.dumps({"key": "k", "run": 0, "values": {"a": 1.5, "b": 2}} | changes)


def test_a_journal_gives_back_its_runs_and_drops_a_line_that_was_cut(tmp_path):
    path = tmp_path / "journal"
    with journal(path, line(), line(run=1)) as opened:
        assert sorted(run for _, run in opened.finished({"k": 0})) == [0, 1]
    whole = path.read_bytes()
    path.write_bytes(whole + line(run=2).encode()[:-4])
    with Journal(path, DEFINITION) as opened:
        assert sorted(run for _, run in opened.finished({"k": 0})) == [0, 1]
        runs = [Ran(0, 3, {"a": 1.0}, None), Ran(0, 4, {}, "it failed")]
        for run in runs:
            opened.append("k", run)
    assert path.read_bytes().startswith(whole) and path.read_bytes().count(b"\n") == 5
    with Journal(path, DEFINITION) as opened:
        found = opened.finished({"k": 0})
    assert (
        sorted(run for _, run in found) == [0, 1, 3, 4]
        and [found["k", run.run] for run in runs] == runs
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {"a": "text"}},
        {"values": {"a": True}},
        {"values": [1]},
        {"run": -1},
        {"run": 1.0},
        {"error": 3},
    ],
)
def test_a_run_that_cannot_be_is_damage(tmp_path, wrong):
    with (
        journal(tmp_path / "journal", line(**wrong)) as opened,
        pytest.raises(FileFormatError, match="line 2"),
    ):
        opened.finished({"k": 0})


@pytest.mark.parametrize(("part", "value"), [("name", "other"), ("grid", {"users": [5, 3]})])
def test_a_journal_of_another_study_is_refused(tmp_path, part, value):
    other = journal(tmp_path / "journal", line(), definition=DEFINITION | {part: value})
    with other as opened, pytest.raises(StudyError, match=f"its {part} differs"):
        opened.finished({"k": 0})
    with journal(tmp_path / "journal", line(), definition=DEFINITION | {"runs": 9}) as opened:
        assert len(opened.finished({"k": 0})) == 1


def test_a_journal_of_another_version_is_refused():
    with pytest.raises(StudyError, match="was begun with fairlp"):
        storage.same(
            {"definition": DEFINITION, "fairlp": "0.0"}, storage.stamp(DEFINITION), "journal"
        )


def test_rows_are_in_order_of_points_and_runs():
    pytest.importorskip("pyarrow")
    rows = [Ran(1, 0, {"a": 1}, None), Ran(0, 1, {"a": 2.5}, None), Ran(0, 0, {"b": np.nan}, None)]
    found = storage.table(DEFINITION, rows)
    assert found["point"].to_pylist() == [0, 0, 1] and found["run"].to_pylist() == [0, 1, 0]
    assert found["a"].to_pylist() == [None, 2.5, 1.0]


def test_plots_of_means_have_the_numbers_of_the_table():
    pytest.importorskip("matplotlib")
    grid = {"users": [3, 5], "resources": [2, 3], "demands": [[1, 9]]}
    result = study.Study("a", "uniform-integers", grid, ["drf", "asset"], ["jain"], runs=4).run(
        progress=False
    )
    (axis,) = result.plot("jain").axes
    assert axis.get_xlabel() == "users" and axis.get_ylabel() == "jain: mean ± standard error"
    curves = {bars.get_label(): bars.lines[0].get_ydata() for bars in axis.containers}
    table = result.table(["jain.drf", "jain.asset"]).xs("[1, 9]", level="demands")
    for label, drawn in curves.items():
        name, resources = label.split(", resources ")
        assert drawn.tolist() == table.xs(int(resources), level="resources")[name, "mean"].tolist()
    assert len(curves) == 4
    (axis,) = result.plot(["jain.drf"], x="resources").axes
    assert axis.get_xlabel() == "resources" and len(axis.containers) == 2
    with pytest.raises(UnknownNameError, match=r"no statistic 'jian'"):
        result.plot("jian")
    with pytest.raises(UnknownNameError, match=r"no parameter 'user'; did you mean 'users'\?"):
        result.plot("jain", x="user")
