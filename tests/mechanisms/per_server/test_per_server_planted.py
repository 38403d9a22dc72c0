"""PS-DSF's check given planted allocations, its validation given methods that lie, and one server by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.mechanisms.per_server.check import fixed_point
from fairlp.mechanisms.per_server.market import NO_GROUP, fill_server
from fairlp.mechanisms.validation import Check
from fairlp.tolerances import FIXED_POINT

DIVISIONS = ("rdm", "tdm")
INF = np.inf


def market(**more):
    """Two servers of 10 and 4; the second user may run on the first only."""
    eligible = np.array([[True, True], [True, False]])
    return Instance.from_arrays([[1.0], [1.0]], [[10.0], [4.0]], eligible=eligible, **more)


#: Levels on the first server are totals over 10: 7 tasks each.
RIGHT = np.array([[3.0, 4.0], [7.0, 0.0]])


@pytest.mark.parametrize("division", DIVISIONS)
def test_the_right_allocation_holds(division):
    found = fixed_point(market(), RIGHT, division)
    assert found.holds and found.violation <= FIXED_POINT and found.infeasibility == 0 and found.gains.empty


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("off", [1e-8, 1e-6, 1.0])
def test_what_is_free_could_be_had(division, off):
    found = fixed_point(market(), RIGHT - np.array([[0.0, off], [0.0, 0.0]]), division)
    assert not found and found.infeasibility == 0
    gains = found.gains.set_index(["user", "server"])
    assert gains.loc[("user1", "server2"), "gain"] == pytest.approx(off, rel=1e-6)
    # who is there already has as much, but on the other server somebody of a higher level gives way
    assert set(gains.index) <= {("user1", "server2"), ("user1", "server1")}


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("off", [1e-6, 1.0])
def test_who_has_less_could_take_what_a_richer_one_holds(division, off):
    found = fixed_point(market(), RIGHT + np.array([[off, 0.0], [-off, 0.0]]), division)
    assert not found and found.infeasibility <= 1e-15
    first = found.gains.iloc[0]
    assert first["user"] == "user2" and first["server"] == "server1" and first["from"] == ["user1"]
    assert first["gain"] == pytest.approx(3 + off)  # all that the richer one has there


def test_levels_that_differ_by_rounding_are_equal():
    found = fixed_point(market(), RIGHT * (1 + np.array([[1e-15, 0], [-1e-15, 0]])), "rdm")
    assert found.holds


@pytest.mark.parametrize("division", DIVISIONS)
def test_who_has_all_its_tasks_could_gain_nothing(division):
    limited = market(task_limits=[INF, 3])
    assert fixed_point(limited, np.array([[7.0, 4.0], [3.0, 0.0]]), division).holds
    short = fixed_point(limited, np.array([[7.0, 4.0], [2.0, 0.0]]), division)
    assert not short and short.gains["gain"].iloc[0] == pytest.approx(1)


def test_a_gain_is_held_back_by_the_scarcest_resource():
    """The first user is at 1 of the 2 tasks that it could run; cpu is free, memory is not."""
    instance = Instance.from_arrays([[1.0, 1.0], [1.0, 1.0]], [[10.0, 2.0]])
    assert fixed_point(instance, np.array([[1.0], [1.0]]), "rdm").holds


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("off", [1e-6, 1.0])
@pytest.mark.parametrize("planted", ["capacity", "limit", "placement", "sign"])
def test_an_infeasible_allocation_does_not_hold(division, off, planted):
    instance, tasks = market(), RIGHT.copy()
    if planted == "capacity":
        tasks[0, 1] += off * 4
    elif planted == "limit":
        instance, tasks = market(task_limits=[7, 3]), np.array([[3.0, 4.0], [3 * (1 + off), 0.0]])
    elif planted == "placement":
        tasks[1, 1] = off
    else:  # what is taken away on one server makes room for more than all on the other
        instance = market(task_limits=[7, 7])
        tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
        tasks[1, 1] = -off
    found = fixed_point(instance, tasks, division)
    assert not found and found.infeasibility >= off * 0.2, found
    assert "infeasible" in str(found) or "could run" in str(found)


def lying(check_mechanism, lie):
    """The validation of a mechanism whose method ``sweeps`` lies."""
    instance = Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [5, 4]], name="two")
    row = fairlp.mechanisms.TABLE[check_mechanism]

    class Lying(Check):
        def allocate(self, mechanism=None, method="auto", **parameters):
            found = super().allocate(mechanism, method, **parameters)
            return dataclasses.replace(found, tasks_array=lie(found.tasks_array)) if method == "sweeps" else found

    return row.validate(Lying(instance, row, "highs", {}))


@pytest.mark.parametrize("mechanism", ["psdsf-rdm", "psdsf-tdm"])
def test_validation_finds_a_method_that_is_no_fixed_point(mechanism):
    assert lying(mechanism, lambda tasks: tasks)["agrees"].all()
    for factor in (1 - 1e-5, 0.5):
        table = lying(mechanism, lambda tasks, factor=factor: tasks * factor)
        assert not table.loc["sweeps", "agrees"] and table.drop("sweeps")["agrees"].all()
        assert table.loc["sweeps", "gain"] > (1 - factor) / 4


def test_validation_finds_totals_that_differ_where_they_are_unique(monkeypatch):
    """Even if Definition 5 finds nothing."""
    from fairlp.mechanisms.per_server import rows as validation

    monkeypatch.setattr(validation, "_largest_gain", lambda *_: 0.0)
    assert not lying("psdsf-tdm", lambda tasks: tasks * 0.9).loc["sweeps", "agrees"]
    assert lying("psdsf-rdm", lambda tasks: tasks * 0.9).loc["sweeps", "agrees"]


def test_a_server_is_filled_from_the_levels_that_users_bring():
    def fill(base, most):
        found = fill_server(np.ones((2, 1)), np.array([3.0]), np.ones(2), np.array(base), np.array(most))
        return found.tasks.tolist()

    assert fill([1.0, 0.0], [INF, INF]) == [1, 2] and fill([9.0, 0.0], [INF, INF]) == [0, 3]
    assert fill([0.0, 0.0], [1.0, INF]) == [1, 2] and fill([0.0, 0.0], [1.0, 0.5]) == [1, 0.5]


def test_whoever_has_all_its_tasks_is_of_no_group():
    """A group is who is held back by one resource; a limit is none."""
    found = fill_server(np.ones((2, 1)), np.array([3.0]), np.ones(2), np.zeros(2), np.array([1.0, INF]))
    assert found.group.tolist() == [NO_GROUP, 0] and found.tasks.tolist() == [1, 2]
