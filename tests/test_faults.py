"""Random faults in the code: which are drawn, and which tests they are shown to."""

from __future__ import annotations

import pytest

from scripts import benchmark

SOURCE = '''
MOST_PIVOTS = 7
LEAST = 3


@dataclass(frozen=True)
class Point:
    """A point."""

    x: float = field(default=2.0, repr=False)


def nearest(rng: Generator[int], values: list, tolerance: float = 0.5) -> float:
    """Return a number."""
    draws = rng.random(5) < tolerance
    if values[0] <= AGREEMENT or values[0] > 4:
        raise ValueError(f"no {values[1]}", 6)
    warnings.warn("far", stacklevel=8)
    return max(values) * (1 + AGREEMENT)
'''


def test_faults_that_change_no_answer_are_not_drawn(tmp_path, monkeypatch):
    path = tmp_path / "points.py"
    path.write_text(SOURCE)
    with benchmark("faults") as script:
        monkeypatch.setattr(script, "SOURCE", tmp_path)
        drawn = {(fault.old, fault.new) for fault in script.faults(path)}
        assert ("max", "(min)") in drawn and ("values[0] > 4", "(values[0] >= 4)") in drawn
        numbers = {old for old, _ in drawn if old.replace(".", "").isdecimal()}
        assert numbers == {"3", "2.0", "0.5", "0", "4", "1"}
        assert ("1 + AGREEMENT", "(1 - AGREEMENT)") in drawn
        assert not any("AGREEMENT)" in old and "max" in old for old, _ in drawn)
        assert not any("draws" in old or "rng" in old for old, _ in drawn)


def test_a_fault_is_put_in_at_its_place(tmp_path, monkeypatch):
    path = tmp_path / "points.py"
    path.write_text("é = 1; n = 1 < 2\n", encoding="utf-8")
    with benchmark("faults") as script:
        monkeypatch.setattr(script, "SOURCE", tmp_path)
        texts = {fault.changed(path.read_text(encoding="utf-8")) for fault in script.faults(path)}
    assert texts == {
        f"é = {a}; n = {b}\n"
        for a, b in (("(2)", "1 < 2"), ("1", "(1 <= 2)"), ("1", "(2) < 2"), ("1", "1 < (3)"))
    }


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
