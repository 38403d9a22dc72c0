"""The commands: the same numbers as the functions, clean machine output, files."""

import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import fairlp
from cli_runner import error_line, run
from fairlp import examples
from fairlp.cli import ExitCode
from fairlp.cli.inputs import load_instance
from fairlp.cli.output import json_text
from fairlp.cli.tables import side_by_side
from fairlp.mechanisms import validation

SMALL = [name for name in examples.names() if name != "google-cluster"]


def from_csv(text):
    """Read a table with Python's own float, which reads what repr writes exactly."""
    frame = pd.read_csv(StringIO(text), index_col=0, dtype=str, keep_default_na=False)
    return frame.map(number)


def number(cell):
    try:
        return float(cell or "nan")
    except ValueError:
        return cell


def same_numbers(found, expected):
    assert [str(label) for label in found.index] == [str(label) for label in expected.index]
    assert list(found.columns) == list(expected.columns)
    for column in expected:
        for one, other in zip(found[column].tolist(), expected[column].tolist(), strict=True):
            assert one == other or (pd.isna(one) and pd.isna(other))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# allocate


@pytest.mark.parametrize("name", SMALL)
def test_allocate_json_has_the_numbers_of_the_api(name):
    mechanism = [] if examples.load(name).rates is None else ["-m", "tsf"]  # drfh is not defined with given rates
    found = json.loads(run("allocate", name, *mechanism, "--json").stdout)
    expected = fairlp.allocate(examples.load(name), "tsf" if mechanism else "drfh").to_dict()
    for key in set(expected) - {"times"}:
        assert found[key] == json.loads(json_text(expected[key])), key


@pytest.mark.parametrize("table", ["users", "tasks", "usage", "utilization", "prices"])
def test_allocate_csv_reads_back_exactly(table):
    found = from_csv(run("allocate", "khamse-ashari-table-3", "-m", "tsf", "--csv", "--table", table).stdout)
    allocation = fairlp.allocate(examples.load("khamse-ashari-table-3"), "tsf")
    same_numbers(found, allocation.summary() if table == "users" else getattr(allocation, table))


def test_allocate_csv_without_a_table_is_that_of_the_users():
    found = from_csv(run("allocate", "ghodsi", "-m", "drf", "--csv").stdout)
    same_numbers(found, fairlp.allocate(examples.load("ghodsi"), "drf").summary())


def test_allocate_text_says_all_that_matters():
    text = run("allocate", "wang-figure-1").stdout
    for part in ("0.714286", "85.7143", "CPUs", "0.297619", "rounds    1", "verified", "duality gap", "times"):
        assert part in text


def test_allocate_shows_thirty_users_and_says_how_to_get_all():
    text = run("allocate", "google-cluster").stdout
    assert "user30 " in text
    assert "user31 " not in text
    assert "… and 70 more (--table users" in text
    whole = run("allocate", "google-cluster", "--table", "users").stdout
    assert sum(line.startswith("user") for line in whole.splitlines()) == 101


def test_options_reach_the_solver():
    how = ("--method", "lp", "--solver", "highs-ipm", "--time-limit", 60, "--option", "threads=1", "--no-merge")
    found = json.loads(run("allocate", "ghodsi", "-m", "drf", "--json", *how).stdout)
    assert (found["method"], found["solver"]) == ("lp", "highs-ipm")
    assert [user["tasks"] for user in found["users"]] == pytest.approx([3, 2])


def test_prices_need_a_linear_program():
    assert "--method lp" in error_line(run("allocate", "ghodsi", "-m", "drf", "--csv", "--table", "prices", code=3))


def test_users_in_the_rounds():
    found = from_csv(run("allocate", "parkes-zero-demands", "-m", "edrf", "--csv", "--table", "rounds").stdout)
    assert found["users"].tolist() == ["A, C", "B"]


def test_labels_are_printed_as_they_are(here):
    users = ["[bold]x[/bold]", ":smile:", "é" * 60]
    fairlp.Instance.from_arrays([[1.0]] * 3, [[9.0]], users=users, resources=["cpu"]).write("odd.json")
    text = run("allocate", "odd.json", "-m", "drf").stdout
    assert all(user in text for user in users)


# warnings and notes


@pytest.fixture
def oversized(here):
    fairlp.Instance.from_arrays([[4, 1], [1, 1]], [[2, 8], [2, 8]], users=["big", "small"]).write("big.yaml")
    return "big.yaml"


def test_a_warning_is_one_line_and_not_said_twice(oversized):
    result = run("allocate", oversized)
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the task of user 'big' fits no single")
    assert "fits no single" not in result.stdout


def test_a_file_has_the_note_too(oversized, here):
    run("allocate", oversized, "-o", "report.txt")
    assert "note      the task of user 'big'" in (here / "report.txt").read_text(encoding="utf-8")


def test_machine_output_stays_pure_beside_a_warning(oversized):
    result = run("allocate", oversized, "--json")
    assert "fits no single" in json.loads(result.stdout)["notes"][-1]
    assert result.stderr.startswith("warning: ")


def test_oversized_tasks_can_be_an_error_or_dropped(oversized):
    assert "fits no single" in error_line(run("allocate", oversized, "--oversized", "error", code=3))
    found = json.loads(run("allocate", oversized, "--oversized", "drop", "--json").stdout)
    assert found["users"][0]["tasks"] == 0


# compare


@pytest.mark.parametrize("value", ["tasks", "shares", "utilization"])
def test_compare_csv_reads_back_exactly(value):
    found = from_csv(run("compare", "khamse-ashari-figure-1", "-m", "c-drfh,tsf", "--value", value, "--csv").stdout)
    same_numbers(found, fairlp.compare(examples.load("khamse-ashari-figure-1"), ["c-drfh", "tsf"], value=value))


def test_compare_json_has_all_tables_and_null_for_what_is_left_out():
    result = run("compare", "wang-figure-1", "-m", "drfh", "-m", "drf,naive-drf", "--json")
    found = json.loads(result.stdout)
    assert set(found) == {"left_out", "tasks", "shares", "utilization", "summary"}
    assert "shares one server" in found["left_out"]["drf"]
    assert [(row["user"], row["drf"]) for row in found["tasks"]] == [("user1", None), ("user2", None)]
    expected = fairlp.compare(examples.load("wang-figure-1"), ["drfh", "naive-drf"])
    assert [row["drfh"] for row in found["tasks"]] == expected["drfh"].tolist()
    assert [row["mechanism"] for row in found["summary"]] == ["drfh", "drf", "naive-drf"]
    assert result.stderr.startswith("warning: drf is left out: ")


def test_compare_shows_summary_and_tasks_and_what_is_left_out():
    result = run("compare", "wang-figure-1")
    assert "Summary" in result.stdout
    assert "Tasks by user" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("left out  drf:")]
    assert "shares one server" in line
    assert result.stderr == ""


def test_compare_shows_one_table_whole():
    text = run("compare", "google-cluster", "-m", "drfh", "--value", "shares").stdout
    assert sum(line.startswith("user") for line in text.splitlines()) == 101
    assert "Summary" not in text


# validate


def test_validate_agrees():
    result = run("validate", "ghodsi", "-m", "edrf")
    assert "all methods agree" in result.stdout
    found = json.loads(run("validate", "ghodsi", "-m", "edrf", "--json").stdout)
    assert [row["method"] for row in found] == ["lp", "lp, merged", "closed-form", "rounds", "interior-point"]
    assert all(row["agrees"] is True for row in found)


@pytest.mark.parametrize("how", [(), ("--json",), ("--csv",)])
def test_validate_says_no_by_its_exit_code(monkeypatch, how):
    wrong = pd.DataFrame(
        {"agrees": [True, False], "difference": [0.0, 0.5], "user": ["A", "A"]},
        index=pd.Index(["lp", "rounds"], name="method"),
    )
    monkeypatch.setattr(validation, "validate", lambda *_, **__: wrong)
    text = run("validate", "ghodsi", "-m", "drf", *how, code=ExitCode.NO).stdout
    assert how or "disagree: rounds" in text


# export and show


def test_export_writes_the_model_and_its_size(here):
    text = run("export", "two-servers", "-m", "drfh", "-o", "model.mps").stdout
    program = fairlp.formulate(examples.load("two-servers"), "drfh").compile()
    size = f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros"
    assert text.splitlines() == ["wrote model.mps", size]
    labelled = (here / "model.mps").read_text(encoding="utf-8")
    assert "capacity.server1.cpu" in labelled
    run("export", "two-servers", "-m", "drfh", "-o", "model.mps", "--no-labels", "--profile", "full")
    numbered = (here / "model.mps").read_text(encoding="utf-8")
    assert "OBJSENSE" in numbered
    assert "\n C  capacity" not in numbered
    run("export", "two-servers", "-o", "model.lp.gz")
    assert (here / "model.lp.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_export_explains_a_wrong_suffix_or_profile(here):
    assert "expected .mps, .lp" in error_line(run("export", "two-servers", "-o", "model.xyz", code=3))
    run("export", "two-servers", "-o", "model.lp", "--profile", "full", code=2)


def test_show_prints_the_model():
    model = fairlp.formulate(examples.load("two-servers"), "tsf")
    assert run("show", "two-servers", "-m", "tsf").stdout == f"{model}\n"
    assert run("show", "two-servers", "-m", "tsf", "--latex").stdout == f"{model.to_latex()}\n"


# lists and examples


@pytest.mark.parametrize(("command", "listed"), [("mechanisms", fairlp.mechanisms), ("solvers", fairlp.solvers)])
def test_lists(command, listed):
    frame = listed()
    assert all(name in run(command).stdout for name in frame.index)
    found = json.loads(run(command, "--json").stdout)
    assert found == [{str(frame.index.name): name, **row} for name, row in frame.to_dict(orient="index").items()]
    table = pd.read_csv(StringIO(run(command, "--csv").stdout), index_col=0, keep_default_na=False)
    same_numbers(table, frame)


def test_a_narrow_window_gets_fewer_columns_of_the_mechanisms(monkeypatch):
    assert "strategy-proof" in run("mechanisms").stdout
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run("mechanisms").stdout
    assert "--json, --csv" in narrow
    assert "strategy-proof" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80


def test_a_narrow_window_shows_the_columns_of_a_comparison_one_below_the_other(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    lines = run("compare", "ghodsi").stdout.splitlines()
    assert max(map(len, lines)) <= 50
    assert sum(line.startswith("naive-drf ") for line in lines) > 1
    assert all("…" not in line for line in lines)


def test_numbers_are_never_folded():
    frame = pd.DataFrame({f"mechanism {k}": [1 / 3, 2 / 3] for k in range(9)}, index=["a", "b"])
    parts = side_by_side(frame, 60)
    assert len(parts) == 3
    pd.testing.assert_frame_equal(pd.concat(parts, axis=1), frame)
    assert len(side_by_side(frame, 100_000)) == 1


def test_examples_are_listed_with_a_line_each():
    lines = run("example").stdout.splitlines()
    assert all(any(line.startswith(name + " ") for line in lines) for name in examples.names())


@pytest.mark.parametrize("target", [None, "x.json", "x.yml", "folder"])
def test_an_example_is_written_and_read_back(here, target):
    text = run("example", "khamse-ashari-figure-1", *(("-o", target) if target else ())).stdout
    written = [Path(line.removeprefix("wrote ")) for line in text.splitlines()]
    assert written
    assert all(path.exists() for path in written)
    given = load_instance(target or "khamse-ashari-figure-1.yaml")
    assert given.equals(examples.load("khamse-ashari-figure-1"))
    assert run("allocate", target or "khamse-ashari-figure-1.yaml", "--csv").stdout


def test_an_example_replaces_nothing_unless_forced(here):
    (here / "ghodsi.yaml").write_text("mine", encoding="utf-8")
    assert "--force" in error_line(run("example", "ghodsi", code=3))
    assert (here / "ghodsi.yaml").read_text(encoding="utf-8") == "mine"
    run("example", "ghodsi", "--force")
    assert load_instance("ghodsi.yaml").equals(examples.load("ghodsi"))


def test_output_of_an_example_needs_a_name(here):
    run("example", "-o", "x.yaml", code=2)


# what INSTANCE may be


def test_a_file_goes_before_an_example_of_its_name(here):
    examples.load("ghodsi").write("cycles")
    assert load_instance("cycles").equals(examples.load("ghodsi"))


def test_a_folder_with_the_alibaba_trace(here):
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,64000,262144,2,T4\n"
    header = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    )
    (here / "openb_node_list_all_node.csv").write_text(nodes, encoding="utf-8")
    assert "openb_pod_list" in error_line(run("allocate", ".", code=3))

    def tasks(file, cpu):
        row = f"p0,{cpu},12288,1,460,,LS,Running,0,12537496,0"
        (here / f"openb_pod_list_{file}.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")

    for file, cpu in (("cpu037", 1000), ("default", 2000), ("gpuspec33", 4000)):
        tasks(file, cpu)
        assert load_instance(".").demands[0, 0] == cpu
    assert json.loads(run("allocate", ".", "--json").stdout)["users"]


# files


@pytest.mark.parametrize(("file", "how"), [("a.json", ()), ("a.csv", ()), ("a.dat", ("--json",)), ("a.txt", ())])
def test_output_goes_to_a_file(here, file, how):
    result = run("allocate", "ghodsi", "-m", "drf", "-o", file, *how)
    assert result.stdout == ""
    assert result.stderr == f"wrote {file}\n"
    text = (here / file).read_text(encoding="utf-8")
    if file in ("a.json", "a.dat"):
        assert json.loads(text)["mechanism"] == "drf"
    elif file == "a.csv":
        same_numbers(from_csv(text), fairlp.allocate(examples.load("ghodsi"), "drf").summary())
    else:
        assert text.startswith("drf: Dominant Resource Fairness\n")
        assert all(line == line.rstrip() for line in text.splitlines())
