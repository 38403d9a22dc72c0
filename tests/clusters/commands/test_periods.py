"""Reports of several dumps, and the verdict and exit codes of ``fairlp report``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairlp_clusters
import period_dumps
from cli_runner import error_line, run
from fairlp.cli import ExitCode

pytest.importorskip("matplotlib")

A_FIRST = ({"A": 10}, {"B": 10})
B_FIRST = ({"B": 10}, {"A": 10})


@pytest.fixture
def fair(tmp_path):
    """A folder of three hours: unfair at each, fair over them."""
    return str(period_dumps.hourly(tmp_path / "fair", A_FIRST, B_FIRST, B_FIRST))


@pytest.fixture
def unfair(tmp_path):
    """A folder of three hours of which A has all."""
    return str(period_dumps.hourly(tmp_path / "unfair", A_FIRST, A_FIRST, A_FIRST))


def dumps(folder):
    return sorted(map(str, Path(folder).iterdir()))


def test_a_folder_of_dumps_and_its_dumps_are_one_page(unfair):
    for arguments in ([unfair], dumps(unfair)):
        result = run("report", *arguments, "-o", "page.html")
        assert "unfair: Not fair over 2 hours: B lacks 10 task-hours" in result.stderr
        assert "wrote page.html" in result.stderr
        page = Path("page.html").read_text(encoding="utf-8")
        assert "Share beside what was due, over time" in page and "dump-table" in page


def test_a_dump_alone_is_the_usual_report(unfair):
    result = run("report", dumps(unfair)[0], "-o", "page.html")
    assert "unfair: Not fair: B is 5 tasks short of its fair share" in result.stderr
    assert "dump-table" not in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_exit_code_is_about_the_period(fair, unfair):
    run("report", fair, "--exit-code", code=ExitCode.OK)
    run("report", dumps(fair)[0], "--exit-code", code=ExitCode.NO)
    run("report", unfair, "--exit-code", code=ExitCode.NO)
    run("report", unfair, code=ExitCode.OK)


def test_every_says_how_far_apart_dumps_are(tmp_path):
    paths = [
        str(period_dumps.write(tmp_path / f"{day}.json", period_dumps.items(*A_FIRST)))
        for day in ("monday", "tuesday", "wednesday")
    ]
    data = json.loads(run("report", *paths, "--every", "24h", "--json").stdout)
    assert [row["hours"] for row in data["dumps"]] == [24, 24, 0]
    assert [row["dump"] for row in data["dumps"]] == [
        "monday.json",
        "tuesday.json",
        "wednesday.json",
    ]
    assert data["verdict"] == "not fair" and data["sentences"][0].startswith(
        "Not fair over 48 hours"
    )


def test_json_has_the_tables_of_the_period(unfair):
    data = json.loads(run("report", unfair, "--json").stdout)
    period = fairlp_clusters.period(unfair)
    assert [row["used"] for row in data["tenants"]] == period.tenants["used"].tolist()
    assert [row["share"] for row in data["times"]] == period.times["share"].tolist()
    assert [row["short"] for row in data["dumps"]] == period.dumps["short"].tolist()
    assert data["sentences"] == period.verdict


def test_an_audit_is_of_one_dump(unfair):
    assert "has 3 dumps" in error_line(run("audit", unfair, code=ExitCode.INPUT))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("report", "--metrics"), "--metrics is of one dump"),
        (("report", "--owner", "A"), "--owner is of one dump"),
        (("report", "--allocation", "runs.csv"), "--allocation is of one dump"),
    ],
)
def test_options_of_one_dump_are_refused_with_several(unfair, arguments, words):
    command, *options = arguments
    assert words in " ".join(run(command, unfair, *options, code=ExitCode.USAGE).stderr.split())


@pytest.mark.parametrize("option", ["--every", "--half-life"])
def test_options_of_several_dumps_are_refused_with_one(unfair, option):
    result = run("report", dumps(unfair)[0], option, "1h", code=ExitCode.USAGE)
    assert f"{option} is of several dumps" in " ".join(result.stderr.split())


def test_faults_of_the_input_have_their_exit_codes(unfair, tmp_path):
    first = dumps(unfair)[0]
    missing = run("report", first, "missing.json", code=ExitCode.INPUT)
    assert "missing.json" in error_line(missing)
    assert "is no duration" in error_line(
        run("report", unfair, "--every", "soon", code=ExitCode.INPUT)
    )
    assert "put a time into each name" in error_line(
        run("report", first, first, code=ExitCode.INPUT)
    )
    cut = tmp_path / "2026-11-28T20.json"
    cut.write_text(Path(first).read_text(encoding="utf-8")[:-20], encoding="utf-8")
    assert "is the file cut off" in error_line(run("report", first, str(cut), code=ExitCode.INPUT))
    run("report", code=ExitCode.USAGE)
    run("report", first, "-o", "page.pdf", code=ExitCode.INPUT)


def test_a_page_never_replaces_a_dump(unfair):
    paths = dumps(unfair)
    assert "would replace it" in error_line(
        run("report", *paths, "-o", paths[1], code=ExitCode.INPUT)
    )


# The verdict of one dump.
