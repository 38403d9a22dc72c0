"""The command report, and audits of a dump: the same tables as the functions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import fairlp_clusters
from cli_runner import error_line, run
from fairlp.cli import ExitCode
from kubernetes_dumps import flavors, kueue, node, pod, written
from report_cases import queued

_LABEL = "kueue.x-k8s.io/queue-name"


@pytest.fixture
def dump(tmp_path):
    """16 cores, of which red has 15; blue waits for 5."""
    (tmp_path / "dump").mkdir()
    requests = {"cpu": "1", "memory": "1Gi"}
    items = [
        *[node(f"n{k}") for k in range(2)],
        *[
            kueue("ClusterQueue", q, {"cohort": "org", "resourceGroups": flavors(("cpu", 8, {}))})
            for q in ("red", "blue")
        ],
        *[
            kueue("LocalQueue", f"to-{q}", {"clusterQueue": q}, namespace="ml")
            for q in ("red", "blue")
        ],
        *[
            pod(
                f"r{k}",
                on=f"n{k % 2}",
                owner=("Job", "train"),
                requests=requests,
                labels={_LABEL: "to-red"},
            )
            for k in range(16)
        ],
        *[
            pod(f"w{k}", owner=("Job", "serve"), requests=requests, labels={_LABEL: "to-blue"})
            for k in range(5)
        ],
    ]
    return written(tmp_path / "dump", *items)


@pytest.fixture
def cluster():
    queued()[0].write("cluster.json")
    return "cluster.json"


def test_an_audit_of_a_dump_says_who_has_what_and_who_holds_it(dump):
    text = run("audit", dump).stdout
    for phrase in (
        "dump: what runs now, beside what is fair by kueue",
        "Not fair: org/blue is 5 tasks short of its fair share",
    ):
        assert phrase in text
    (row,) = [
        line
        for line in text.splitlines()
        if "org/blue" in line and "(1 CPU" in line and "Not fair" not in line
    ]
    # all quota of the cohort is in use
    assert "the quota of cpu in org" in row and "org/red (5 CPU)" in row
    assert (
        "not checked" in text
        and "nothing to check here: " in text
        and "nothing to check: " not in text
    )
    assert "envy-free" in text and "broken: " in text


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_properties_that_were_asked_for(dump):
    assert "broken: " in run("audit", dump, code=0).stdout
    run("audit", dump, "-p", "feasible", code=0)
    assert (
        "broken: queue share guarantee"
        in run("audit", dump, "-p", "queue share guarantee", code=1).stdout
    )
    text = run("audit", dump, "-p", "single-resource", code=0).stdout
    assert "nothing to check here: single-resource" in text and "nothing is broken" in text
    assert "broken: " in run("audit khamse-ashari-figure-1 -m tsf", code=0).stdout


@pytest.mark.slow
def test_a_dump_for_programs(dump):
    rows = json.loads(run("audit", dump, "--json").stdout)
    assert next(row["holds"] for row in rows if row["property"] == "single-resource") is None
    assert run("audit", dump, "--csv").stdout.startswith("property,holds")


def test_what_is_fair_can_be_chosen(dump):
    assert "fair by drfh" in run("audit", dump, "-m", "drfh").stdout
    assert "fair by tsf" in run("audit", dump, "-m", "tsf", "--option", "count=borrowed").stdout


def test_an_instance_is_audited_as_before(cluster):
    assert "what runs now" not in run("audit", cluster, "-m", "drfh", "-p", "feasible").stdout
    pd.DataFrame({"user": ["ann"], "server": ["plain"], "tasks": [3]}).to_csv(
        "now.csv", index=False
    )
    assert "kept" in run("audit", cluster, "--allocation", "now.csv", "-p", "feasible").stdout
    data = json.loads(
        run("audit", cluster, "--allocation", "now.csv", "-p", "feasible", "--json").stdout
    )
    assert data == [
        {
            "property": "feasible",
            "holds": True,
            "margin": data[0]["margin"],
            "witness": "everything fits",
        }
    ]


@pytest.mark.parametrize(
    ("command", "phrase"),
    [
        ("audit cluster.json", "give --allocation FILE or --mechanism NAME"),
        ("report cluster.json --weight org", "'org' is not of the form NAME=VALUE"),
        ("report cluster.json --weight org=two", "'two' is no number"),
        ("allocate cluster.json --level 1", "--level is of --table queues"),
    ],
)
def test_command_lines_that_make_no_sense(cluster, command, phrase):
    assert phrase in " ".join(run(command, code=2).stderr.replace("│", " ").split())


def test_a_dump_says_itself_what_runs(dump):
    case = run("audit", dump, "--allocation", "x.csv", code=2).stderr.replace("│", " ")
    assert "--allocation is for instances" in " ".join(case.split())


def test_a_dump_that_is_cut_off_is_bad_input(dump):
    file = dump / "dump.json"
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    assert "cut off" in error_line(run("audit", file, code=3))


@pytest.mark.slow
def test_a_report_of_a_dump_and_of_an_instance(dump, tmp_path):
    pytest.importorskip("matplotlib")
    assert "wrote page.html" in run("report", dump, "-o", "page.html").stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "kubernetes · 2 nodes · 2 queues · fair by kueue" in text and "ml/serve" in text
    run("report wang-figure-1 -m tsf")
    assert "fair by tsf" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_for_cron(dump):
    result = run("report", dump, "--exit-code", "--since", dump, code=1)
    assert "unfair: Not fair: org/blue is" in result.stderr
    assert "Changes since the earlier dump" in Path("report.html").read_text("utf-8")
    run("report", dump, "--exclude", "org/blue", "--weight", "org/red=2", "--exit-code", code=0)
    assert "'org/bleu'" in error_line(run("report", dump, "--exclude", "org/bleu", code=3))


SCHEMA = Path(fairlp_clusters.__file__).parent / "report.schema.json"


def test_a_report_for_programs_follows_its_schema(dump, cluster):
    """Every key is in the schema, and no other; of one dump, of a period, and where nothing is known."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    result = run("report", dump, "--json", "--exit-code", code=ExitCode.NO)
    data = json.loads(result.stdout)
    validator.validate(data)
    assert data["verdict"] == "not fair" and data["sentence"].startswith("Not fair: org/blue is 5")
    first = data["tenants"][0]
    assert (first["tenant"], first["short_jobs"], first["waiting_jobs"]) == ("org/blue", 5, 5)
    assert [job["short_copies"] for job in data["jobs"]] == [5]
    validator.validate(json.loads(run("report", cluster, "--json").stdout))
    run("report", dump, "--json", "-o", "verdict.json")
    assert json.loads(Path("verdict.json").read_text("utf-8")) == data
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**data, "verdict": "perhaps"})


def test_figures_for_prometheus_are_those_of_the_table(dump):
    text = run("report", dump, "--metrics").stdout
    values = dict(re.findall(r'^fairlp_(\w+)\{tenant="org/blue"\} (\S+)$', text, re.MULTILINE))
    assert float(values["has_share"]) == 0 and float(values["short_jobs"]) == 5
    assert float(values["due_share"]) == fairlp_clusters.verdict(dump).table.loc["org/blue", "due"]
    assert "\nfairlp_fair 0\n" in text and text.count("# TYPE") == text.count("# HELP")


def test_an_owner_is_told_why_its_jobs_wait(dump):
    for name in ("org/blue", "serve"):
        lines = run("report", dump, "--owner", name).stdout.splitlines()
        assert lines[0].startswith("org/blue: it has 0.0 % of the cluster, and 31.2 % is due")
        assert "Short of its due by: 5 × (1 CPU, 1 GiB)." in lines and len(lines) <= 10
        assert "Held beyond dues by: org/red (5 CPU)." in lines
    assert run("report", dump, "--owner", "red").stdout.splitlines()[1] == "Nothing of it waits."
    assert "'gren'" in error_line(run("report", dump, "--owner", "gren", code=ExitCode.INPUT))


def test_a_dump_without_a_verdict_has_its_exit_code(tmp_path):
    foreign = pod("w", requests={"cpu": "1"}, schedulerName="yunikorn")
    dump = written(
        tmp_path / "foreign", node("n0"), pod("r", on="n0", requests={"cpu": "1"}), foreign
    )
    result = run("report", dump, "--json", "--exit-code", code=ExitCode.NO_VERDICT)
    assert json.loads(result.stdout)["verdict"] == "none" and "no verdict: " in result.stderr


def test_a_dump_comes_through_a_pipe_too(dump):
    from typer.testing import CliRunner

    from fairlp.cli import app

    file = next(path for path in [dump, *dump.rglob("*.json")] if path.is_file())
    result = CliRunner().invoke(app, ["audit", "-", "--json"], input=file.read_bytes())
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == json.loads(run("audit", dump, "--json").stdout)


def test_a_report_is_not_called_what_it_is_not(folder_with_newcomers):
    pytest.importorskip("matplotlib")
    line = error_line(run("report two.yaml -o report.pdf", code=ExitCode.INPUT))
    assert (
        line
        == "error: cannot write 'report.pdf': a report is a page of HTML, not .pdf; expected .html"
    )
    assert not (folder_with_newcomers / "report.pdf").exists()


@pytest.mark.slow
def test_what_runs_may_come_from_a_table_where_no_reader_knows_the_scheduler(cluster):
    """Long or wide: who has what, beside what each should have; the page; what an edit would take."""
    instance, observed = queued()
    long = [
        {"user": user, "server": server, "tasks": observed[n][i]}
        for n, user in enumerate(instance.users)
        for i, server in enumerate(instance.servers)
    ]
    pd.DataFrame(long).to_csv("running.csv", index=False)
    wide = pd.DataFrame(observed, index=list(instance.users), columns=list(instance.servers))
    wide.rename_axis("user").to_csv("wide.csv")
    expected = fairlp_clusters.fair_shares(instance, observed=np.array(observed, dtype=float))
    for file in ("running.csv", "wide.csv"):
        text = run("audit", cluster, "--allocation", file).stdout
        assert "what runs now, beside what is fair by h-drf-counted" in text
        pd.testing.assert_frame_equal(
            fairlp_clusters.fair_shares(instance, observed=file), expected
        )
    assert fairlp_clusters.fair_shares(instance, observed=pd.DataFrame(long)).equals(expected)

    run("report", cluster, "--allocation", "running.csv", "--exit-code", code=1)
    assert "Not fair" in Path("report.html").read_text("utf-8")
    error = run("report", cluster, "--allocation", "cluster.json", code=3).stderr
    assert "'cluster.json'" in error


def test_a_dump_has_its_own_running_tasks(dump):
    for name in ("audit", "report"):
        error = run(f"{name} {dump} --allocation running.csv", code=2).stderr
        assert "a dump has its own running tasks" in " ".join(error.replace("│", " ").split())


@pytest.mark.slow
def test_who_is_excluded_need_not_be_in_the_earlier_dump(dump, tmp_path):
    pytest.importorskip("matplotlib")
    earlier = written(
        tmp_path / "earlier",
        *[node(f"n{k}") for k in range(2)],
        pod("r0", on="n0", owner=("Job", "train"), requests={"cpu": "1"}),
    )
    run("report", dump, "--exclude", "org/blue", "--since", earlier)
    assert "Changes since the earlier dump" in Path("report.html").read_text("utf-8")
    error = error_line(run("report", dump, "--exclude", "org/bleu", "--since", earlier, code=3))
    assert "'org/bleu'" in error
