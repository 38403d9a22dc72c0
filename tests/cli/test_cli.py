"""The commands: the same numbers as the functions, clean machine output, files."""

from __future__ import annotations

import dataclasses
import importlib
import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import error_line, run
from fairlp import Instance, examples
from fairlp.auditing import promises
from fairlp.cli import ExitCode, clusters, commands, output, programs
from fairlp.cli.output import json_text
from fairlp.cli.parameters import load_instance
from fairlp.mechanisms import validation
from fairlp.mechanisms.literature import REFERENCES
from fairlp.operations.reports.share_comparison import ShareComparison
from fairlp.operations.reports.subject import subject_of
from paths import SUPPORT

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


# allocate


@pytest.mark.parametrize("name", SMALL)
def test_allocate_json_has_the_numbers_of_the_api(name):
    mechanism = (
        [] if examples.load(name).rates is None else ["-m", "tsf"]
    )  # drfh is not defined with given rates
    found = json.loads(run("allocate", name, *mechanism, "--json").stdout)
    expected = fairlp.allocate(examples.load(name), "tsf" if mechanism else "drfh").to_dict()
    for key in set(expected) - {"times"}:
        assert found[key] == json.loads(json_text(expected[key])), key


@pytest.mark.parametrize("table", ["users", "tasks", "usage", "utilization", "prices"])
def test_allocate_csv_reads_back_exactly(table):
    found = from_csv(run("allocate khamse-ashari-table-3 -m tsf --csv --table", table).stdout)
    allocation = fairlp.allocate(examples.load("khamse-ashari-table-3"), "tsf")
    same_numbers(found, allocation.summary() if table == "users" else getattr(allocation, table))


def test_allocate_text_says_all_that_matters():
    text = run("allocate wang-figure-1").stdout
    for part in (
        "0.714286",
        "85.7143",
        "CPUs",
        "0.297619",
        "rounds    1",
        "verified",
        "duality gap",
        "times",
    ):
        assert part in text


def test_allocate_shows_thirty_users_and_says_how_to_get_all():
    text = run("allocate google-cluster").stdout
    assert "user30 " in text
    assert "user31 " not in text
    assert "… and 70 more (--table users" in text
    whole = run("allocate google-cluster --table users").stdout
    assert sum(line.startswith("user") for line in whole.splitlines()) == 101


def test_options_reach_the_solver():
    how = "--method lp --solver highs-ipm --time-limit 60 --option threads=1 --no-merge"
    found = json.loads(run(f"allocate ghodsi -m drf --json {how}").stdout)
    assert (found["method"], found["solver"]) == ("lp", "highs-ipm")
    assert [user["tasks"] for user in found["users"]] == pytest.approx([3, 2])


def test_prices_need_a_linear_program():
    assert "--method lp" in error_line(run("allocate ghodsi -m drf --csv --table prices", code=3))


def test_users_in_the_rounds():
    found = from_csv(run("allocate parkes-zero-demands -m edrf --csv --table rounds").stdout)
    assert found["users"].tolist() == ["A, C", "B"]


def test_labels_are_printed_as_they_are(here):
    users = ["[bold]x[/bold]", ":smile:", "é" * 60]
    fairlp.Instance.from_arrays([[1.0]] * 3, [[9.0]], users=users, resources=["cpu"]).write(
        "odd.json"
    )
    text = run("allocate odd.json -m drf").stdout
    assert all(user in text for user in users)


# warnings and notes


@pytest.fixture
def oversized(here):
    fairlp.Instance.from_arrays([[4, 1], [1, 1]], [[2, 8], [2, 8]], users=["big", "small"]).write(
        "big.yaml"
    )
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
    assert "fits no single" in error_line(
        run("allocate", oversized, "--oversized", "error", code=3)
    )
    found = json.loads(run("allocate", oversized, "--oversized", "drop", "--json").stdout)
    assert found["users"][0]["tasks"] == 0


# compare


@pytest.mark.parametrize("value", ["tasks", "shares", "utilization"])
def test_compare_csv_reads_back_exactly(value):
    found = from_csv(
        run("compare khamse-ashari-figure-1 -m c-drfh,tsf --value", value, "--csv").stdout
    )
    same_numbers(
        found,
        fairlp.compare(examples.load("khamse-ashari-figure-1"), ["c-drfh", "tsf"], value=value),
    )


def test_compare_json_has_all_tables_and_null_for_what_is_left_out():
    result = run("compare wang-figure-1 -m drfh -m drf,naive-drf --json")
    found = json.loads(result.stdout)
    assert set(found) == {"left_out", "tasks", "shares", "utilization", "summary"}
    assert "shares one server" in found["left_out"]["drf"]
    assert [(row["user"], row["drf"]) for row in found["tasks"]] == [
        ("user1", None),
        ("user2", None),
    ]
    expected = fairlp.compare(examples.load("wang-figure-1"), ["drfh", "naive-drf"])
    assert [row["drfh"] for row in found["tasks"]] == expected["drfh"].tolist()
    assert [row["mechanism"] for row in found["summary"]] == ["drfh", "drf", "naive-drf"]
    assert result.stderr.startswith("warning: drf is left out: ")


def test_compare_shows_summary_and_tasks_and_what_is_left_out():
    result = run("compare wang-figure-1")
    assert "Summary" in result.stdout
    assert "Tasks by user" in result.stdout
    text = " ".join(result.stdout.split())
    assert (
        "left out drf, edrf, njc, drf-discrete" in text
        and text.count("it shares one server and there are 2") == 1
    )
    assert result.stderr == ""


def test_compare_shows_one_table_whole():
    text = run("compare google-cluster -m drfh --value shares").stdout
    assert sum(line.startswith("user") for line in text.splitlines()) == 101
    assert "Summary" not in text


# all methods of a mechanism


def test_all_methods_of_a_mechanism_agree():
    result = run("compare ghodsi -m edrf --methods")
    assert "all methods agree" in result.stdout
    found = json.loads(run("compare ghodsi -m edrf --methods --json").stdout)
    assert [row["method"] for row in found] == [
        "closed-form",
        "rounds",
        "interior-point",
        "lp",
        "lp, unmerged",
    ]
    assert all(row["agrees"] is True for row in found)


@pytest.mark.parametrize("how", [(), ("--json",), ("--csv",)])
def test_a_method_that_differs_is_told_by_the_exit_code(monkeypatch, how):
    wrong = pd.DataFrame(
        {"agrees": [True, False], "difference": [0.0, 0.5], "user": ["A", "A"]},
        index=pd.Index(["lp", "rounds"], name="method"),
    )
    monkeypatch.setattr(validation, "validate", lambda *_, **__: wrong)
    text = run("compare ghodsi -m drf --methods", *how, code=ExitCode.NO).stdout
    assert how or "disagree: rounds" in text


# export


def test_export_writes_the_model_and_its_size(here):
    text = run("export two-servers -m drfh -o model.mps").stdout
    program = fairlp.formulate(examples.load("two-servers"), "drfh").compile()
    size = f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros"
    assert text.splitlines() == ["wrote model.mps", size]
    labelled = (here / "model.mps").read_text(encoding="utf-8")
    assert "capacity.server1.cpu" in labelled
    run("export two-servers -m drfh -o model.mps --no-labels --profile full")
    numbered = (here / "model.mps").read_text(encoding="utf-8")
    assert "OBJSENSE" in numbered
    assert "\n C  capacity" not in numbered
    run("export two-servers -o model.lp.gz")
    assert (here / "model.lp.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_export_explains_a_wrong_suffix_or_profile(here):
    assert "expected .mps, .lp" in error_line(run("export two-servers -o model.xyz", code=3))
    run("export two-servers -o model.lp --profile full", code=2)
    run("export two-servers -o model.lp --latex", code=2)
    run("export two-servers --no-labels", code=2)


def test_without_a_file_the_model_is_printed():
    model = fairlp.formulate(examples.load("two-servers"), "tsf")
    assert run("export two-servers -m tsf").stdout == f"{model}\n"
    assert run("export two-servers -m tsf --latex").stdout == f"{model.to_latex()}\n"


# lists and examples


@pytest.mark.parametrize(
    ("command", "listed"), [("mechanisms", fairlp.mechanisms), ("solvers", fairlp.solvers)]
)
def test_lists(command, listed):
    frame = listed()
    shown = run(command).stdout
    assert all(name in shown for name in frame.index)
    found = json.loads(run(command, "--json").stdout)
    assert found == [
        {str(frame.index.name): name, **row} for name, row in frame.to_dict(orient="index").items()
    ]
    table = pd.read_csv(StringIO(run(command, "--csv").stdout), index_col=0, keep_default_na=False)
    same_numbers(table, frame)


def test_examples_are_listed_with_a_line_each():
    lines = run("example").stdout.splitlines()
    assert all(any(line.startswith(name + " ") for line in lines) for name in examples.names())


@pytest.mark.parametrize("target", [None, "x.json", "x.yml", "folder"])
def test_an_example_is_written_and_read_back(here, target):
    text = run("example khamse-ashari-figure-1", *(("-o", target) if target else ())).stdout
    written = [Path(line.removeprefix("wrote ")) for line in text.splitlines()]
    assert written
    assert all(path.exists() for path in written)
    given = load_instance(target or "khamse-ashari-figure-1.yaml")
    assert given.equals(examples.load("khamse-ashari-figure-1"))
    assert run("allocate", target or "khamse-ashari-figure-1.yaml", "--csv").stdout


def test_an_example_replaces_nothing_unless_forced(here):
    (here / "ghodsi.yaml").write_text("mine", encoding="utf-8")
    assert "--force" in error_line(run("example ghodsi", code=3))
    assert (here / "ghodsi.yaml").read_text(encoding="utf-8") == "mine"
    run("example ghodsi --force")
    assert load_instance("ghodsi.yaml").equals(examples.load("ghodsi"))


def test_output_of_an_example_needs_a_name(here):
    run("example -o x.yaml", code=2)


# what INSTANCE may be


def test_a_file_goes_before_an_example_of_its_name(here):
    examples.load("ghodsi").write("cycles")
    assert load_instance("cycles").equals(examples.load("ghodsi"))


def test_a_folder_with_the_alibaba_trace(here):
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,64000,262144,2,T4\n"
    header = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
        "creation_time,deletion_time,scheduled_time"
    )
    (here / "openb_node_list_all_node.csv").write_text(nodes, encoding="utf-8")
    assert "openb_pod_list" in error_line(run("allocate .", code=3))

    def tasks(file, cpu):
        row = f"p0,{cpu},12288,1,460,,LS,Running,0,12537496,0"
        (here / f"openb_pod_list_{file}.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")

    for file, cpu in (("cpu037", 1000), ("default", 2000), ("gpuspec33", 4000)):
        tasks(file, cpu)
        assert load_instance(".").demands[0, 0] == cpu
    assert json.loads(run("allocate . --json").stdout)["users"]


# files


@pytest.mark.parametrize(
    ("file", "how"), [("a.json", ()), ("a.csv", ()), ("a.dat", ("--json",)), ("a.txt", ())]
)
def test_output_goes_to_a_file(here, file, how):
    result = run("allocate ghodsi -m drf -o", file, *how)
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


# Exit codes of audits: broken is 1, kept and not asked are 0, and what does not exist is refused.


def test_a_broken_property_ends_with_1_and_one_that_is_kept_or_open_with_0():
    found = run("audit khamse-ashari-figure-1 -m tsf -p 'PS-DSF (rdm)'", code=1)
    assert "broken: PS-DSF (rdm)" in found.output
    assert "nothing is broken" in run("audit khamse-ashari-figure-1 -m tsf -p feasible").output
    # there are several resources, so that there is nothing to check
    assert (
        "nothing is broken" in run("audit khamse-ashari-figure-1 -m tsf -p single-resource").output
    )


@pytest.mark.parametrize(("broken", "code"), [(0, 0), (1, 1)])
def test_a_broken_promise_ends_with_1(monkeypatch, broken, code):
    table = promises.promises(mechanisms=["drf"]).iloc[:1].assign(audited=3, broken=broken)
    monkeypatch.setattr(promises, "promises", lambda *_, **__: table)
    run("promises", code=code)


def test_no_counterexample_ends_with_1(monkeypatch):
    monkeypatch.setattr(promises, "counterexample", lambda *_, **__: None)
    for how in ([], ["--search", "--tries", "3"]):
        assert "proves nothing" in run("counterexample drf envy-free", *how, code=1).output


def test_a_division_that_does_not_exist_is_refused():
    found = run("audit ghodsi -m drf --division xdm", code=2)
    assert "not one of 'rdm', 'tdm'" in found.stderr


# What commands print where there is little to print, and where somebody else's function raises.

module = importlib.import_module("fairlp.cli.app")


def printed(text):
    return output.plain_text(text)


def satisfied():
    return Instance.from_arrays([[1.0], [1.0]], [[8.0]], task_limits=[2.0, 2.0])


def test_an_error_of_the_callers_own_function_is_no_bug_of_ours(monkeypatch, capsys):
    error = ZeroDivisionError("careless")
    error.add_note("in mechanism 'mine'")

    def raises(**_):
        raise error

    monkeypatch.setattr(module, "app", raises)
    with pytest.raises(SystemExit) as left:
        module.main()
    told = capsys.readouterr().err
    assert left.value.code == ExitCode.INPUT
    assert (
        told.splitlines()[-1] == "error: ZeroDivisionError, in mechanism 'mine': careless"
        and "bug" not in told
    )


def test_a_file_of_fixed_columns_has_numbers_for_names(tmp_path):
    run("export ghodsi -o", tmp_path / "model.mps", "--profile", "fixed")
    found = (tmp_path / "model.mps").read_text(encoding="ascii")
    assert "ROWS" in found and all(
        len(line) <= 61 for line in found.splitlines() if line.startswith(" ")
    )


def test_variables_of_a_solver_without_reduced_costs_are_values_only():
    program = SimpleNamespace(column_names=["x", "y"])
    found = programs._values(program, SimpleNamespace(x=np.array([1.0, 0.0]), column_duals=None))
    assert list(found.columns) == ["value"] and found["value"].to_dict() == {"x": 1, "y": 0}


def test_prices_that_are_all_zero_and_times_that_are_unknown_are_not_printed():
    found = dataclasses.replace(fairlp.allocate(satisfied(), "drfh"), prices_array=np.zeros((1, 1)))
    text = printed(commands.allocation_text(found))
    assert "times" in text and "Most expensive capacities" not in text
    assert "times" not in printed(commands.allocation_text(dataclasses.replace(found, times={})))


def test_a_comparison_without_queues_is_told_by_user():
    text = printed(
        clusters.shares_text(
            ShareComparison.of(subject_of(satisfied(), np.array([[2.0], [1.0]])), "drfh")
        )
    )
    assert "By user" in text and "By queue" not in text


def test_papers_of_mechanisms_are_cited():
    every = run("mechanisms --bibtex").stdout
    assert every.count("\n@") + 1 == len(REFERENCES) and every.rstrip("\n").endswith(
        REFERENCES[-1].bibtex
    )
    two = run("mechanisms drfh DRFH njc --bibtex").stdout
    papers = list(
        dict.fromkeys([*fairlp.mechanisms("drfh").references, *fairlp.mechanisms("njc").references])
    )
    assert two == "\n\n".join(paper.bibtex for paper in papers) + "\n"


# What people do who meet the command line for the first time: nothing of theirs is lost, messages
# say what to do.


@pytest.fixture
def here_newcomers(tmp_path):
    instance = fairlp.examples.load("two-servers")
    instance.write("two.yaml")
    instance.write("two.json")
    instance.write("two")
    fairlp.formulate(instance, "drfh").write("two.mps")
    (tmp_path / "runs.csv").write_text(
        "user,server1,server2\nuser1,1,0\nuser2,0,1\n", encoding="utf-8"
    )
    (tmp_path / "jobs.csv").write_text(
        "user,arrival,tasks,duration,cpu\nann,0,1,1,1\n", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept", "option"),
    [
        ("allocate two.yaml -o two.yaml", "two.yaml", "--output"),
        ("allocate two.json -o ./two.json --json", "two.json", "--output"),
        ("allocate two.json --proof two.json", "two.json", "--proof"),
        ("report two.yaml -o two.yaml", "two.yaml", "--output"),
        ("solve two.mps -o two.mps", "two.mps", "--output"),
        ("audit two.yaml --allocation runs.csv -o runs.csv", "runs.csv", "--output"),
        ("simulate two.yaml jobs.csv --save-jobs jobs.csv", "jobs.csv", "--save-jobs"),
        ("allocate two -o two/users.csv", "two/users.csv", "--output"),
        ("simulate two jobs.csv --save-jobs two/users.csv", "two/users.csv", "--save-jobs"),
    ],
)
def test_an_answer_does_not_replace_what_is_read(command, kept, option, here_newcomers):
    before = (here_newcomers / kept).read_bytes()
    done = run(command, code=ExitCode.INPUT)
    assert error_line(done) == (
        f"error: '{kept}' is a file that this command reads, and its answer would replace it; choose "
        f"another file for {option}"
    )
    assert (here_newcomers / kept).read_bytes() == before


def test_a_report_is_not_called_what_it_is_not(here_newcomers):
    pytest.importorskip("altair")
    line = error_line(run("report two.yaml -o report.pdf", code=ExitCode.INPUT))
    assert (
        line
        == "error: cannot write 'report.pdf': a report is a page of HTML, not .pdf; expected .html"
    )
    assert not (here_newcomers / "report.pdf").exists()


def test_a_folder_of_a_simulation_is_not_a_file(here_newcomers):
    line = error_line(run("simulate two.yaml jobs.csv --tables runs.csv", code=ExitCode.INPUT))
    assert line == "error: 'runs.csv' is a file; expected a folder, which may be a new one"


def test_a_search_is_offered_as_the_command_line_calls_it(here_newcomers):
    line = error_line(run("counterexample drfh Pareto-optimal", code=ExitCode.INPUT))
    assert line.endswith("searches for one, --search on the command line")


@pytest.mark.parametrize(
    "option", ["time_limit=soon", "primal_tolerance=x", "extra=3", "threads=2.5"]
)
def test_an_option_of_another_kind_is_told_in_a_line(option, here_newcomers):
    line = error_line(run("allocate two.yaml --method lp --option", option, code=ExitCode.SOLVER))
    assert line.startswith(f"error: {option.split('=')[0]} is ") and "; expected " in line


def test_an_example_goes_into_an_empty_folder_and_into_no_other(here):
    (here / "cluster").mkdir()
    run("example ghodsi -o cluster")
    assert list((here / "cluster").glob("*.csv"))
    assert "exists already" in error_line(run("example ghodsi -o cluster", code=3))


# --- an answer that is not verified ----------------------------------------------------------------------------------


@pytest.fixture
def tree_file(tmp_path):
    path = tmp_path / "tree.yaml"
    queues = {"a": {"weight": 1}, "b": {"weight": 2}}
    Instance.from_arrays(
        [[1, 2], [3, 1], [2, 2]], [[9, 18], [5, 5]], queue=["a", "a", "b"], queues=queues
    ).write(path)
    return path


def verified(printed_text):
    (line,) = [line for line in printed_text.splitlines() if line.startswith("verified")]
    return line.removeprefix("verified").strip()


@pytest.mark.parametrize(
    ("solver", "mechanism", "code", "begins"),
    [
        ("MuteNothing", "h-drf", ExitCode.NO, "NO: "),
        ("MuteNothing", "drfh", ExitCode.NO, "NO: "),
        ("Halves", "ceei", ExitCode.NO, "NO: "),
        ("Truthful", "drfh", ExitCode.OK, "largest violation"),
        ("Dual", "h-drf", ExitCode.OK, "largest violation"),
    ],
)
def test_the_exit_code_is_1_where_the_line_says_no(tree_file, solver, mechanism, code, begins):
    reference = f"{SUPPORT / 'own_back_ends.py'}:{solver}"
    line = (f"allocate -m {mechanism}", tree_file, "--solver", reference)
    shown = run(*line, code=code).stdout
    assert verified(shown).startswith(begins)
    assert json.loads(run(*line, "--json", code=code).stdout)["unproved" if code else "users"]


def test_what_the_line_says_of_what_is_not_proved():
    """A mechanism without a proof of its own says why, and what breaks a capacity says by how much."""
    found = fairlp.allocate(examples.load("ghodsi"), "drf-milp")
    sound, text = commands.verification(found)
    assert sound and text.endswith("no duals prove it")
    far = dataclasses.replace(found, gap=0.1)
    assert commands.verification(far)[1].startswith("NO: ") and not commands.verification(far)[0]
    over = dataclasses.replace(found, tasks_array=2 * found.tasks_array)
    sound, text = commands.verification(over)
    assert (
        not sound
        and text.startswith("NO: largest violation of a capacity or limit 1")
        and "expected" in text
    )
    sound, text = commands.verification(fairlp.allocate(examples.load("ghodsi"), "drf"))
    assert sound and "no linear program" in text
