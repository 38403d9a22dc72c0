"""The commands audit, promises and counterexample."""

from __future__ import annotations

import fairlp
from fairlp import examples


def test_audit_on_the_command_line(tmp_path):
    import json

    from cli_runner import run
    from fairlp.cli import ExitCode

    table = tmp_path / "observed.csv"
    fairlp.allocate(examples.load("khamse-ashari-figure-1"), "tsf").to_csv(table)
    how = (
        "audit",
        "khamse-ashari-figure-1",
        "--allocation",
        str(table),
        "-p",
        "feasible",
        "-p",
        "bottleneck",
    )
    assert "broken: bottleneck" in run(*how, code=ExitCode.NO).stdout
    rows = json.loads(run(*how, "--json", code=ExitCode.NO).stdout)
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
