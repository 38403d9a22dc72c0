"""Arguments and options that several commands share: how they are read, completed, and passed on."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields

import pytest
from typer.main import get_command

import fairlp
import fairlp_clusters
import fairlp_research
from cli_runner import error_line, python, run
from fairlp.auditing.search import Search
from fairlp.cli import app
from fairlp.cli.parameters import (
    MethodOptions,
    complete_instance,
    complete_mechanism,
    complete_solver,
    load_instance,
)
from fairlp.errors import FileFormatError
from signatures import written_parameters

pytestmark = pytest.mark.usefixtures("jobs")


def test_a_file_goes_before_an_example_of_its_name(current_folder):
    (current_folder / "cycles").write_text("no instance", encoding="utf-8")
    with pytest.raises(FileFormatError, match="cannot tell the format of 'cycles'"):
        load_instance("cycles")


def test_a_folder_with_the_alibaba_trace(current_folder):
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,64000,262144,2,T4\n"
    header = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
        "creation_time,deletion_time,scheduled_time"
    )
    (current_folder / "openb_node_list_all_node.csv").write_text(nodes, encoding="utf-8")
    assert "openb_pod_list" in error_line(run("allocate .", code=3))

    def tasks(file, cpu):
        row = f"p0,{cpu},12288,1,460,,LS,Running,0,12537496,0"
        (current_folder / f"openb_pod_list_{file}.csv").write_text(
            f"{header}\n{row}\n", encoding="utf-8"
        )

    for file, cpu in (("cpu037", 1000), ("default", 2000), ("gpuspec33", 4000)):
        tasks(file, cpu)
        assert load_instance(".").demands[0, 0] == cpu
    assert json.loads(run("allocate . --json").stdout)["users"]


COMPLETED = {
    "fairlp comp": {"compare"},
    "fairlp allocate google": {"google-cluster"},
    "fairlp allocate ghodsi -m c-": {"c-drfh"},
    "fairlp allocate ghodsi --solver highs-s": {"highs-simplex"},
    "fairlp example khamse-ashari-t": {"khamse-ashari-table-3"},
}


#: What Bash asks, once for each line of the arguments, in one process.
ASKED = """
import os, sys
from fairlp.cli import main
lines, sys.argv = sys.argv[1:], ["fairlp"]
for line in lines:
    os.environ |= {"_FAIRLP_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    try:
        main()
    except SystemExit:
        print("--")
"""


@pytest.mark.slow
def test_the_shell_completes_names():
    result = python("-c", ASKED, *COMPLETED)
    *answers, rest = result.stdout.split("--\n")
    assert rest == "" and [set(answer.split()) for answer in answers] == list(COMPLETED.values()), (
        result.stderr
    )


def test_completion_of_lists_and_files(current_folder):
    assert [name for name, _ in complete_mechanism("drfh,ts")] == ["drfh,tsf"]
    assert "highs-simplex" in complete_solver("highs")
    (current_folder / "folder").mkdir()
    (current_folder / "folder" / "a.yaml").touch()
    (current_folder / "folder" / "b.txt").touch()
    assert ("folder/", "folder") in complete_instance("fo")
    assert complete_instance("folder/") == [("folder/a.yaml", "file")]
    assert "ghodsi" in [name for name, _ in complete_instance("gh")]


#: What stands behind ``**options`` of a function; ``--option NAME=VALUE`` takes what is not named
#: there.
BEHIND = {
    "compare": (written_parameters(fairlp.allocate_all), {"instance", "mechanisms"}),
    "frontier": (written_parameters(fairlp.allocate), {"instance", "mechanism"}),
    "report": (written_parameters(fairlp.allocate), {"instance", "mechanism"}),
    "counterexample": ([field.name for field in fields(Search) if field.init], set()),
}


#: An option that is repeated is in the singular, and ``--option`` is one of the options.
SINGULAR = {
    "mechanisms": "mechanism",
    "properties": "property",
    "weights": "weight",
    "queues": "queue",
    "options": "option",
}


#: What every command has that a function has not: where the answer goes.
OUTPUT = {"--json", "--csv", "--output", "--plot", "--table", "--level", "--help", "--no-merge"}


#: A limit of time is an option of the solver: by its own name in a shell, among ``**options`` in
#: Python.
OF_THE_SOLVER = {"--time-limit"}


#: The argument of a command that is the first parameter of its function by another name.
ARGUMENT = {
    "path": "instance",
    "paths": "given",
    "property_name": "property",
}


#: Only in a shell, and why.
WAY = {"--method", "--solver", "--merge", "--oversized"}


#: Several dumps are a period: fairlp_clusters.period, with weights and users left out at every dump.
PERIOD = {"--every", "--half-life"}


ONLY_IN_A_SHELL = {
    "allocate": {"--proof"},  # Allocation.certify(exact=True).write
    "compare": {"--methods"},  # fairlp.validate
    # audit takes an Allocation in Python, and here what makes one; a dump is read by
    # fairlp_clusters.snapshot
    "audit": {"--mechanism", "--scheduler", "--divisible", *WAY, "--exclude", "--weight"},
    # fairlp_clusters.snapshot; what fairlp_clusters.verdict returns
    "report": {"--scheduler", "--exit-code", "--json", "--metrics", "--owner", *PERIOD},
    "counterexample": {"--no-shrink", "--no-progress"},
    "promises": {"--no-progress"},
    "reproduce": {
        "--write",
        "--scheduler",
        "--no-progress",
    },  # Reproduction.write; folder and backend "dask"
}


COMMANDS = [
    "allocate",
    "compare",
    "frontier",
    "audit",
    "report",
    "promises",
    "counterexample",
    "reproduce",
]


def of_the_function(name):
    """The parameters of a function, with what stands behind its ``**options``."""
    homes = (fairlp, fairlp_clusters, fairlp_research)
    home = next(module for module in homes if name in module.__all__)
    parameters = written_parameters(getattr(home, name))
    named = [
        key
        for key, parameter in parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    behind, without = BEHIND.get(name, ((), set()))
    names = [*named, *(key for key in behind if key not in without)]
    if len(named) < len(parameters):
        names.append("options")
    if name == "report":  # in a shell, the file of an allocation, as audit takes it
        names[names.index("observed")] = "allocation"
    return {SINGULAR.get(key, key).replace("_", "-") for key in names}


def of_the_command(name):
    """The options of a command as they are typed, and the names of its arguments."""
    command = get_command(app).get_command(None, name.replace("_", "-"))
    options, arguments = set(), set()
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            other = ARGUMENT.get(parameter.name, parameter.name)
            arguments.add(other[name] if isinstance(other, dict) else other)
        else:
            options |= {
                flag
                for flag in (*parameter.opts, *parameter.secondary_opts)
                if flag.startswith("--")
            }
    return options, arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_function_takes_its_command_takes_and_the_other_way_round(name):
    options, arguments = of_the_command(name)
    python, extra = of_the_function(name), ONLY_IN_A_SHELL.get(name, set())
    assert extra <= options
    hidden = OF_THE_SOLVER - {f"--{key}" for key in python}
    typed = {flag.removeprefix("--") for flag in options - OUTPUT - hidden - extra} | arguments
    if name == "report":
        typed |= {"output"}
    assert typed == python


def test_every_option_of_a_way_to_compute_is_one_of_allocate():
    method_options = MethodOptions(
        "lp", "scipy", False, "drop", 2.5, ["threads=1", "extra.presolve=off"]
    )
    options = {"time_limit": 2.5, "threads": 1, "extra": {"presolve": "off"}}
    assert method_options.arguments() == {
        "method": "lp",
        "solver": "scipy",
        "merge": False,
        "oversized": "drop",
        **options,
    }
    assert MethodOptions().arguments() == {"method": "auto", "solver": "highs", "merge": True}


def test_an_option_with_a_flag_of_its_own_is_not_given_twice():
    assert "--solver" in run("allocate ghodsi --option solver=scipy", code=2).stderr


def test_the_tilde_is_the_home(current_folder, monkeypatch):
    (home := current_folder / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    run("example ghodsi -o '~/i.yaml'")
    run("allocate '~/i.yaml' -m drf --json '--output=~/a.json'")
    run("export '~/i.yaml' -m drf -o '~/m.mps'")
    run("solve '~/m.mps' -o '~/s.txt'")
    run("simulate '~/i.yaml' synthetic --draw jobs=5 --save-jobs '~/j.csv' --tables '~/t'")
    run("simulate '~/i.yaml' '~/j.csv'")
    run("allocate '~/i.yaml' -m drf --table tasks --csv -o '~/tasks.csv'")
    run("example study -o '~/s.yaml'")
    run("study '~/s.yaml' --runs 1 --results '~/s.parquet' --backend sequential")
    run("study '~/s.parquet' --csv -o '~/s.csv'")
    assert not (current_folder / "~").exists() and not list(current_folder.glob("s.*"))
    assert {path.name for path in home.iterdir()} >= {
        "i.yaml",
        "a.json",
        "m.mps",
        "s.txt",
        "j.csv",
        "t",
        "s.csv",
    }
