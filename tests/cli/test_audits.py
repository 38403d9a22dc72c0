"""The commands audit, promises and counterexample."""

from __future__ import annotations

from io import StringIO

import pandas as pd
import pytest

import fairlp
from cli_runner import run
from fairlp import examples
from fairlp.auditing import promises
from fairlp.cli import ExitCode


def test_audit_on_the_command_line(tmp_path):
    import json

    from cli_runner import run

    table = tmp_path / "observed.csv"
    fairlp.allocate(examples.load("khamse-ashari-figure-1"), "tsf").to_csv(table)
    arguments = (
        "audit",
        "khamse-ashari-figure-1",
        "--allocation",
        str(table),
        "-p",
        "feasible",
        "-p",
        "bottleneck",
    )
    assert "broken: bottleneck" in run(*arguments, code=ExitCode.NO).stdout
    rows = json.loads(run(*arguments, "--json", code=ExitCode.NO).stdout)
    assert [row["holds"] for row in rows] == [True, False]
    assert "nothing is broken" in run("audit", "ghodsi", "-m", "drf", "-p", "envy-free").stdout
    target = tmp_path / "found.yaml"
    assert (
        "'B' runs" in run("counterexample", "drfh", "sharing incentive", "-o", str(target)).stdout
    )
    assert fairlp.read(target).name == "drfh breaks sharing incentive"
    assert (
        "none found"
        in run(
            "counterexample", "drf", "feasible", "--search", "--tries", "3", code=ExitCode.NO
        ).stdout
    )
    assert "drfh breaks sharing incentive" in run("promises", "-m", "drfh", "--csv").stdout


def test_a_broken_property_ends_with_1_and_one_that_is_kept_or_open_with_0():
    result = run("audit khamse-ashari-figure-1 -m tsf -p 'PS-DSF (rdm)'", code=1)
    assert "broken: PS-DSF (rdm)" in result.output
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


def test_a_division_that_does_not_exist_is_refused():
    result = run("audit ghodsi -m drf --division xdm", code=2)
    assert "not one of 'rdm', 'tdm'" in result.stderr


def test_a_counterexample_is_printed_without_a_file():
    assert "users" in run("counterexample drfh 'sharing incentive'").stdout


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


def without_rates(rng):
    return fairlp.Instance.from_arrays([[1], [1]], [[1]])
"""


def test_searches_take_a_generator_and_a_time_limit_and_say_what_was_in_the_domain(tmp_path):
    rules = tmp_path / "timed_rules.py"
    rules.write_text(RULES, encoding="utf-8")
    mechanism, drawn = f"{rules}:equal_time", f"{rules}:rated"

    def standing(*arguments):
        frame = pd.read_csv(
            StringIO(run("promises -m", mechanism, "--audits", "1", *arguments, "--csv").stdout)
        )
        return frame["standing"].tolist()

    unrated = f"{rules}:without_rates"
    assert standing("--generator", unrated) == ["0 of 200 instances in its domain"]
    assert standing("--generator", drawn) == ["stands"]
    search = f"counterexample {mechanism} envy-free --search --tries 9"
    assert "0 of 9 instances were in the domain" in run(search, code=1).stderr
    result = run(search, "--generator", drawn, "--time-limit", "60", code=1)
    assert (
        "none found in 9 of 9 instances (drawn by the generator; seed 0" in result.stdout
        and not result.stderr
    )
    assert "has no generator 'drawn'" in run(search, "--generator", f"{rules}:drawn", code=3).stderr
