"""Random faults in the code: which are drawn, and which tests they are shown to."""

from __future__ import annotations

import pytest

from scripts import benchmark


def test_the_tests_of_the_same_name_come_first():
    with benchmark("faults") as script:
        first, others = script.tests_of("models/trees/tree.py")
        assert first == ["tests/models/trees/test_tree.py"]
        assert "tests/models/trees/test_filling.py" in others and first[0] not in others
        (others,) = script.tests_of("formulations/normalisers.py")
        assert all(test.startswith("tests/formulations/test_") for test in others)
        assert script.tests_of("api.py")[0] == ["tests/test_api.py"]


def test_a_planted_fault_is_shown_to_its_own_tests_and_then_to_those_of_its_family():
    with benchmark("faults") as script:
        place = {"family": "queues", "kind": "a sign", "old": "1", "new": "2", "seen": "wrong"}
        family = ["tests/models/trees/test_tree.py", "tests/auditing/test_queues.py"]
        fault = script.PlantedFault(file="models/trees/tree.py", **place)
        assert script.groups_of_planted(fault, family) == [family[:1], family[1:]]
        without = script.PlantedFault(file="formulations/normalisers.py", **place)
        assert script.groups_of_planted(without, family) == [family]
        assert fault.changed("a = 1\n") == "a = 2\n"
        with pytest.raises(SystemExit, match="exactly once"):
            fault.changed("a = 1 + 1\n")


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("FAILED tests/a.py::test_b - AssertionError", "tests/a.py::test_b"),
        ("FAILED tests/a.py::test_b[1-no system]", "tests/a.py::test_b[1-no system]"),
        ("ERROR tests/a.py", "tests/a.py"),
    ],
)
def test_the_test_that_noticed_is_read_from_the_summary(line, test):
    with benchmark("faults") as script:
        assert script.FAILURE.search(f"1 failed\n{line}\n")[1] == test
