"""The list of faults that benchmarks/faults.py puts into the code: their texts are there, and enough of all rooms."""

from __future__ import annotations

import ast
import re

import pytest

from paths import ROOT
from profiles import by_day
from scripts import benchmark


@pytest.fixture(scope="module")
def script():
    with benchmark("faults") as module:
        yield module


@pytest.fixture(scope="module")
def faults(script):
    return script.faults()


def test_every_fault_is_still_possible_and_is_python(faults):
    wrong = [fault.changed((ROOT / "src" / "fairlp" / fault.file).read_text(encoding="utf-8")) for fault in faults]
    for fault, text in by_day(zip(faults, wrong, strict=True), 8):
        ast.parse(text, fault.file)


def test_there_are_enough_of_all_rooms_and_no_two_are_the_same(faults):
    assert len(faults) >= 150
    assert len({(fault.file, fault.what) for fault in faults}) == len(faults)
    assert len({(fault.file, fault.old, fault.new, fault.after) for fault in faults}) == len(faults)
    rooms = {"/".join(fault.file.split("/")[:-1]) for fault in faults}
    assert rooms >= {
        *("models/programs", "models/notation", "models/instances", "models/files", "formulations", "conformance"),
        *("solvers/backends", "solvers/leximin", "solvers/interior_point", "auditing", "simulation", "study", "cli"),
        *(f"mechanisms/{family}" for family in ("max_min", "per_server", "complaints", "arrivals", "whole_tasks")),
    }


def test_the_tests_of_every_fault_are_there(faults):
    for name in {name for fault in faults for name in fault.tests if not name.startswith("-")}:
        assert (ROOT / "tests" / name.split("::")[0]).exists(), name


def test_a_text_that_is_gone_or_twice_is_an_error(script):
    fault = script.Fault("room", "file.py", "a = 1\n", "a = 2\n", "words", ("tests",))
    assert fault.changed("a = 1\nb = 1\n") == "a = 2\nb = 1\n"
    for text in ("b = 1\n", "a = 1\na = 1\n"):
        with pytest.raises(script.FaultError, match="times, not once"):
            fault.changed(text)
    later = script.Fault("room", "file.py", "a = 1\n", "a = 2\n", "words", ("tests",), after="b = 1\n")
    assert later.changed("a = 1\nb = 1\na = 1\n") == "a = 1\nb = 1\na = 2\n"
    with pytest.raises(script.FaultError, match="does not occur after"):
        later.changed("a = 1\nb = 1\n")


def test_rooms_files_and_words_choose(script, faults):
    assert script.chosen(faults, []) == faults
    assert {fault.room for fault in script.chosen(faults, ["exact"])} >= {"exact"}
    one = script.chosen(faults, ["models/programs/certificate.py"])
    assert one and {fault.file for fault in one} == {"models/programs/certificate.py"}


def test_the_page_counts_what_is_in_the_list(faults):
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    counted = [int(number) for number in re.findall(r"^\| \S[^*|]* \| (\d+) \|", page, flags=re.MULTILINE)]
    assert sum(counted) == len(faults) and f"| **all** | {len(faults)} |" in page
