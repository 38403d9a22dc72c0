"""Findings: margins and tolerance, and audits as a terminal and a notebook show them."""

from __future__ import annotations

from time import monotonic

import numpy as np
import pytest

import fairlp
from fairlp.auditing.findings import NO_DEADLINE, Deadline, Finding


@pytest.mark.parametrize("margin", [-1e-6, -1.0])
def test_a_margin_below_the_tolerance_is_broken_and_nothing_to_check_is_no_answer(margin):
    assert Finding.of_margin(margin, "who", "well").holds is False
    assert (
        Finding.of_margin(-1e-9, "who", "well").holds
        and Finding.of_margin(1.0, "who", "well").holds
    )
    assert Finding.vacuous("nobody").holds is None and Finding.undefined("no").holds is None
    assert "nothing to check" in Finding.vacuous("nobody").witness


@pytest.fixture(scope="module")
def long():
    """An audit of users with long names: two leximins that it is not, with long witnesses."""
    rng = np.random.default_rng(1)
    users = [
        f"organisation-of-research/department-{n % 3}/group-of-people-{n}/{'u' * 60}-{n}"
        for n in range(9)
    ]
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 5, (9, 2)), rng.integers(8, 20, (2, 2)), users=users
    )
    names = ["feasible", "leximin (asset)", "PS-DSF (rdm)", "bottleneck"]
    return fairlp.audit(instance, fairlp.allocate(instance, "drfh"), names)


def test_a_printed_audit_has_every_property_and_no_long_line(long, monkeypatch):
    for columns in (100, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        report = repr(long)
        lines = report.splitlines()
        assert max(map(len, lines)) <= columns
        assert [line.split("  ")[0] for line in lines[2:6]] == list(long.index)
        assert "… witnesses are cut; those of .witness are whole" in lines
        assert lines[-1] == "allocations that show it (.better): leximin (asset)"
        for line, text in zip(lines[2:6], long.witness, strict=True):
            assert line.endswith("…") != line.endswith(text)


def test_a_lie_that_pays_is_named():
    instance = fairlp.counterexample("naive-drf", "strategy-proof")
    text = repr(fairlp.audit(instance, fairlp.allocate(instance, "naive-drf"), "strategy-proof"))
    assert text.splitlines()[-1] == "lies that pay (.misreport): strategy-proof"


def test_a_deadline_that_has_passed_leaves_no_time():
    passed = Deadline(5.0, start=monotonic() - 10)
    assert passed.has_passed and passed.remaining == 0 and passed.seconds >= 10
    future = Deadline(1000.0, start=monotonic() - 10)
    assert not future.has_passed and 900 < future.remaining <= 990
    assert NO_DEADLINE.remaining is None and not NO_DEADLINE.has_passed
