"""A command and the function of its name have the same options, by the same names."""

from __future__ import annotations

import inspect
from dataclasses import fields
from io import StringIO

import pandas as pd
import pytest
from typer.main import get_command

import fairlp
from cli_runner import run
from fairlp.auditing.search import Search
from fairlp.cli import app
from fairlp.cli.parameters import MethodOptions

#: What stands behind ``**options`` of a function; ``--option NAME=VALUE`` takes what is not named
#: there.
BEHIND = {
    "compare": (inspect.signature(fairlp.allocate_all).parameters, {"instance", "mechanisms"}),
    "frontier": (inspect.signature(fairlp.allocate).parameters, {"instance", "mechanism"}),
    "report": (inspect.signature(fairlp.allocate).parameters, {"instance", "mechanism"}),
    "what_if": (inspect.signature(fairlp.allocate).parameters, {"instance", "mechanism"}),
    "counterexample": ([one.name for one in fields(Search) if one.init], set()),
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
    "path": {"audit": "instance", "report": "given", "what_if": "given"},
    "property_name": "property",
}
#: Only in Python, and why.
ONLY_IN_PYTHON = {
    "report": {
        "observed"
    },  # tasks as a table; in a shell those of the dump, and of a table: audit --allocation
}
#: Only in a shell, and why.
WAY = {"--method", "--solver", "--merge", "--oversized"}
ONLY_IN_A_SHELL = {
    "allocate": {"--proof"},  # Allocation.certify(exact=True).write
    "compare": {"--methods"},  # fairlp.validate
    # audit takes an Allocation in Python, and here what makes one; a dump is read by
    # fairlp.snapshot
    "audit": {"--mechanism", "--scheduler", "--divisible", *WAY},
    "report": {"--scheduler", "--exit-code"},  # fairlp.snapshot; the owed of fairlp.fair_shares
    "what_if": {"--scheduler"},
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
    "what_if",
    "promises",
    "counterexample",
    "reproduce",
]


def of_the_function(name):
    """The parameters of a function, with what stands behind its ``**options``."""
    own = inspect.signature(getattr(fairlp, name)).parameters
    named = [key for key, one in own.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    behind, without = BEHIND.get(name, ((), set()))
    both = [*named, *(key for key in behind if key not in without)]
    if len(named) < len(own):
        both.append("options")
    return {SINGULAR.get(key, key).replace("_", "-") for key in both}


def of_the_command(name):
    """The options of a command as they are typed, and the names of its arguments."""
    command = get_command(app).get_command(None, name.replace("_", "-"))
    options, arguments = set(), set()
    for one in command.params:
        if one.param_type_name == "argument":
            other = ARGUMENT.get(one.name, one.name)
            arguments.add(other[name] if isinstance(other, dict) else other)
        else:
            options |= {flag for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--")}
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
    assert typed == python - ONLY_IN_PYTHON.get(name, set())


def test_every_option_of_a_way_to_compute_is_one_of_allocate():
    way = MethodOptions("lp", "scipy", False, "drop", 2.5, ["threads=1", "extra.presolve=off"])
    more = {"time_limit": 2.5, "threads": 1, "extra": {"presolve": "off"}}
    assert way.arguments() == {
        "method": "lp",
        "solver": "scipy",
        "merge": False,
        "oversized": "drop",
        **more,
    }
    assert MethodOptions().arguments() == {"method": "auto", "solver": "highs", "merge": True}


def test_compare_takes_the_options_of_a_way_to_compute():
    shown = run("compare ghodsi -m drf,tsf --method lp --no-merge --option threads=1 --csv")
    expected = fairlp.compare(
        fairlp.examples.ghodsi(), ["drf", "tsf"], method="lp", merge=False, threads=1
    )
    assert shown.stdout == expected.to_csv(lineterminator="\n")
    assert "no method 'lpp'" in run("compare ghodsi -m drf --method lpp", code=3).stderr


def test_an_audit_of_a_mechanism_takes_them_and_one_of_a_table_has_no_use_for_them(tmp_path):
    instance = fairlp.examples.load("wang-figure-1")
    audit = "audit wang-figure-1 -p feasible"
    assert (
        "feasible"
        in run(audit, "-m", "drfh", "--method", "lp", "--solver", "highs-ipm", "--no-merge").stdout
    )
    table = tmp_path / "tasks.csv"
    fairlp.allocate(instance, "drfh").tasks.to_csv(table)
    run(audit, "--allocation", table)
    assert (
        "has an allocation"
        in run(audit, "--allocation", table, "--solver", "highs", "--no-merge", code=2).stderr
    )


def test_an_option_with_a_flag_of_its_own_is_not_given_twice():
    assert "--solver" in run("allocate ghodsi --option solver=scipy", code=2).stderr


def test_promises_takes_names_by_commas():
    shown = pd.read_csv(StringIO(run("promises -m drf,tsf --csv").stdout))
    assert set(shown["mechanism"]) == {"drf", "tsf"}


def test_a_search_takes_the_sizes_and_says_what_is_too_small():
    run("counterexample drfh bottleneck --search --users 2 --servers 2 --no-shrink")
    told = run("counterexample drfh bottleneck --search --users 1", code=3).stderr
    assert "2 users" in told


def test_promises_says_of_a_refuted_one_that_it_is_broken_and_nothing_else():
    lines = run("promises -m tsf").stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("tsf  ") and "sharing incentive" in line]
    assert "refuted" in row and "yes" not in row and "stands" not in row
    assert lines[-1].startswith("tsf breaks 'sharing incentive', promised by Khamse-Ashari et al.")


RULES = """
import fairlp


def needs_rates(instance):
    return None if instance.rates is not None else "no rates are given"


@fairlp.mechanism("equal-time", promises=("envy-free",), domain=needs_rates)
def equal_time(instance):
    return instance.gamma() / len(instance.users)


def rated(rng):
    return fairlp.Instance.from_arrays([[1], [1]], [[1]], rates=rng.integers(1, 9, (2, 1)))
"""


def test_searches_take_a_generator_and_a_time_limit_and_say_what_was_in_the_domain(tmp_path):
    rules = tmp_path / "timed_rules.py"
    rules.write_text(RULES, encoding="utf-8")
    own, drawn = f"{rules}:equal_time", f"{rules}:rated"

    def standing(*how):
        found = pd.read_csv(
            StringIO(run("promises -m", own, "--audits", "1", *how, "--csv").stdout)
        )
        return found["standing"].tolist()

    assert standing() == ["0 of 200 instances in its domain"]
    assert standing("--generator", drawn) == ["stands"]
    search = f"counterexample {own} envy-free --search --tries 9"
    assert "0 of 9 instances were in the domain" in run(search, code=1).stderr
    told = run(search, "--generator", drawn, "--time-limit", "60", code=1)
    assert "none found in 9 instances at most" in told.stdout and not told.stderr
    assert "has no function 'drawn'" in run(search, "--generator", f"{rules}:drawn", code=3).stderr
