"""The commands allocate, compare and frontier: the same numbers as the functions, and what people read of them."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import assert_same_numbers, error_line, from_csv, printed, run, satisfied
from fairlp import Instance, examples, plots
from fairlp.cli import ExitCode, commands
from fairlp.cli.output import json_text
from fairlp.mechanisms import validation
from paths import SUPPORT
from report_cases import queued


@pytest.mark.slow
def test_the_command_line_draws_by_queue(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    queued()[0].write("c.json")
    drawn = []
    monkeypatch.setattr(
        plots,
        "plot_queues",
        lambda *arguments, **options: (
            drawn.append(options["level"]) or plots.plot_allocation(*arguments)
        ),
    )
    for level_options in ((), ("--level", 2)):
        run(
            "allocate",
            "c.json",
            "-m",
            "h-drf",
            "--table",
            "queues",
            "--plot",
            "x.png",
            *level_options,
        )
    assert drawn == [1, 2] and (tmp_path / "x.png").exists()
    run("allocate", "c.json", "-m", "h-drf", "--plot", "x.png")
    assert len(drawn) == 2


SMALL = [name for name in examples.names() if name != "google-cluster"]


@pytest.mark.parametrize("name", SMALL)
def test_allocate_json_has_the_numbers_of_the_api(name):
    mechanism = (
        [] if examples.load(name).rates is None else ["-m", "tsf"]
    )  # drfh is not defined with given rates
    data = json.loads(run("allocate", name, *mechanism, "--json").stdout)
    expected = fairlp.allocate(examples.load(name), "tsf" if mechanism else "drfh").to_dict()
    for key in set(expected) - {"times"}:
        assert data[key] == json.loads(json_text(expected[key])), key


@pytest.mark.parametrize("table", ["users", "tasks", "usage", "utilization", "prices"])
def test_allocate_csv_reads_back_exactly(table):
    case = from_csv(run("allocate khamse-ashari-table-3 -m tsf --csv --table", table).stdout)
    allocation = fairlp.allocate(examples.load("khamse-ashari-table-3"), "tsf")
    assert_same_numbers(
        case, allocation.summary() if table == "users" else getattr(allocation, table)
    )


def test_allocate_shows_thirty_users_and_says_how_to_get_all():
    text = run("allocate google-cluster").stdout
    assert "user30 " in text
    assert "user31 " not in text
    assert "… and 70 more (--table users" in text
    whole = run("allocate google-cluster --table users").stdout
    assert sum(line.startswith("user") for line in whole.splitlines()) == 101


def test_options_reach_the_solver():
    options = "--method lp --solver highs-ipm --time-limit 60 --option threads=1 --no-merge"
    data = json.loads(run(f"allocate ghodsi -m drf --json {options}").stdout)
    assert (data["method"], data["solver"]) == ("lp", "highs-ipm")
    assert [user["tasks"] for user in data["users"]] == pytest.approx([3, 2])


def test_prices_need_a_linear_program():
    assert "--method lp" in error_line(run("allocate ghodsi -m drf --csv --table prices", code=3))


def test_users_in_the_rounds():
    case = from_csv(run("allocate parkes-zero-demands -m edrf --csv --table rounds").stdout)
    assert case["users"].tolist() == ["A, C", "B"]


def test_labels_are_printed_as_they_are(current_folder):
    users = ["[bold]x[/bold]", ":smile:", "é" * 60]
    fairlp.Instance.from_arrays([[1.0]] * 3, [[9.0]], users=users, resources=["cpu"]).write(
        "odd.json"
    )
    text = run("allocate odd.json -m drf").stdout
    assert all(user in text for user in users)


def test_oversized_tasks_can_be_an_error_or_dropped(oversized):
    assert "fits no single" in error_line(
        run("allocate", oversized, "--oversized", "error", code=3)
    )
    data = json.loads(run("allocate", oversized, "--oversized", "drop", "--json").stdout)
    assert data["users"][0]["tasks"] == 0


@pytest.mark.parametrize("value", ["tasks", "shares", "utilization"])
def test_compare_csv_reads_back_exactly(value):
    case = from_csv(
        run("compare khamse-ashari-figure-1 -m c-drfh,tsf --value", value, "--csv").stdout
    )
    assert_same_numbers(
        case,
        fairlp.compare(examples.load("khamse-ashari-figure-1"), ["c-drfh", "tsf"], value=value),
    )


def test_compare_json_has_all_tables_and_null_for_what_is_left_out():
    result = run("compare wang-figure-1 -m drfh -m drf,naive-drf --json")
    data = json.loads(result.stdout)
    assert set(data) == {"left_out", "tasks", "shares", "utilization", "summary"}
    assert "shares one server" in data["left_out"]["drf"]
    assert [(row["user"], row["drf"]) for row in data["tasks"]] == [
        ("user1", None),
        ("user2", None),
    ]
    expected = fairlp.compare(examples.load("wang-figure-1"), ["drfh", "naive-drf"])
    assert [row["drfh"] for row in data["tasks"]] == expected["drfh"].tolist()
    assert [row["mechanism"] for row in data["summary"]] == ["drfh", "drf", "naive-drf"]
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


def test_compare_judges_by_users_who_want_more(current_folder):
    """A user who has all its few tasks has the smallest share under every mechanism."""
    instance = examples.load("wang-figure-1")
    instance = Instance.from_arrays(
        np.vstack([instance.demands, [0.1, 0.1]]),
        instance.capacities,
        task_limits=[np.inf, np.inf, 1],
    )
    instance.write("c.yaml")
    last, command = run("compare c.yaml -m naive-drf,drfh").stdout.strip().splitlines()[-2:]
    assert last.startswith(
        "In short: of users who want more, the one with the smallest share gets most by drfh ("
    )
    assert command.endswith("fairlp audit c.yaml -m drfh")
    instance.replace(task_limits=[1, 1, 1]).write("few.yaml")
    text = run("compare few.yaml -m naive-drf,drfh").stdout.strip()
    assert text.endswith("In short: all mechanisms give every user all its tasks.")


def test_prices_that_a_certificate_cannot_tell_from_0_are_left_out(monkeypatch):
    """A first-order solver prices what is not scarce with noise."""
    compute = fairlp.api.allocate

    def priced(*arguments, **options):
        noisy = np.array([[0.18, 2.86e-13], [1e-12, 0.18]])
        return dataclasses.replace(compute(*arguments, **options), prices_array=noisy)

    monkeypatch.setattr(fairlp.api, "allocate", priced)
    text = run("allocate wang-figure-1 --method lp").stdout
    assert (
        "Most expensive capacities" in text
        and "e-1" not in text.split("Most")[1].split("rounds")[0]
    )
    assert text.split("Most")[1].count("0.18") == 2


def test_all_methods_of_a_mechanism_agree():
    result = run("compare ghodsi -m edrf --methods")
    assert "all methods agree" in result.stdout
    data = json.loads(run("compare ghodsi -m edrf --methods --json").stdout)
    assert [row["method"] for row in data] == [
        "closed-form",
        "rounds",
        "interior-point",
        "lp",
        "lp, unmerged",
    ]
    assert all(row["agrees"] is True for row in data)


@pytest.mark.parametrize("options", [(), ("--json",), ("--csv",)])
def test_a_method_that_differs_is_told_by_the_exit_code(monkeypatch, options):
    table = pd.DataFrame(
        {"agrees": [True, False], "difference": [0.0, 0.5], "user": ["A", "A"]},
        index=pd.Index(["lp", "rounds"], name="method"),
    )
    monkeypatch.setattr(validation, "validate", lambda *_, **__: table)
    text = run("compare ghodsi -m drf --methods", *options, code=ExitCode.NO).stdout
    assert options or "disagree: rounds" in text


def test_prices_that_are_all_zero_and_times_that_are_unknown_are_not_printed():
    case = dataclasses.replace(fairlp.allocate(satisfied(), "drfh"), prices_array=np.zeros((1, 1)))
    text = printed(commands.allocation_text(case))
    assert "times" in text and "Most expensive capacities" not in text
    assert "times" not in printed(commands.allocation_text(dataclasses.replace(case, times={})))


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
    output = run(*line, code=code).stdout
    assert verified(output).startswith(begins)
    assert json.loads(run(*line, "--json", code=code).stdout)["unproved" if code else "users"]


@pytest.mark.slow
def test_plots_are_written(current_folder):
    assert "wrote a.png" in run("allocate wang-figure-1 --csv --plot a.png").stderr
    run("compare wang-figure-1 --csv --plot b.svg")
    assert (current_folder / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (current_folder / "b.svg").read_text(encoding="utf-8")


def test_a_price_of_an_own_mechanism_is_of_its_objective_where_it_has_no_levels():
    instance = Instance.from_arrays([[1], [1]], [[4]])
    drf = printed(commands.allocation_text(fairlp.allocate(instance, "drfh", method="lp")))
    assert "one more unit adds to the level)" in drf

    @fairlp.mechanism("planted")
    def planted(instance):
        n, i = instance.users, instance.servers
        model = fairlp.Model("planted", indices=(n, i))
        x = model.variable("x", n, i)
        model.constraint("capacity", x.sum(n) <= 4)
        model.maximize(x.sum())
        model.define("tasks", x)
        return model

    text = printed(commands.allocation_text(fairlp.allocate(instance, planted)))
    assert "one more unit adds to the objective)" in text


def test_compare_takes_the_options_of_a_way_to_compute():
    outcome = run("compare ghodsi -m drf,tsf --method lp --no-merge --option threads=1 --csv")
    expected = fairlp.compare(
        fairlp.examples.ghodsi(), ["drf", "tsf"], method="lp", merge=False, threads=1
    )
    assert outcome.stdout == expected.to_csv(lineterminator="\n")
    assert "no method 'lpp'" in run("compare ghodsi -m drf --method lpp", code=3).stderr
