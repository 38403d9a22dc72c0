"""``validate``: methods that lie are found, by the tasks of the first or by the proof; refusals say why."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.errors import TooLargeError
from fairlp.mechanisms.table import TABLE
from fairlp.models.programs.proof import Proof
from profiles import many

THREE = Instance.from_arrays([[1.0, 0.2], [1.0, 0.4], [0.2, 1.0]], [[10.0, 10.0]])
TWO = Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [5, 4]])


def lying(mechanism, method_name, lie):
    """The mechanism, of which one method's tasks are changed."""
    row = TABLE[mechanism]
    method = row.method_called(method_name)

    def run(call):
        outcome = method.run(call)
        return dataclasses.replace(outcome, tasks=lie(outcome.tasks))

    methods = [
        dataclasses.replace(candidate, run=run) if candidate is method else candidate
        for candidate in row.methods
    ]
    return dataclasses.replace(row, methods=tuple(methods))


def less(tasks):
    return tasks * 0.9


def moved(tasks):
    """A little of the first user's tasks goes to the second."""
    change = 1e-3 * tasks[0].sum()
    return tasks + np.array([[-change], [change], [0.0]])


@pytest.mark.parametrize(
    ("mechanism", "instance", "method"),
    [
        ("drf", THREE, "lp"),
        ("drfh", TWO, "lp"),
        ("psdsf-rdm", TWO, "sweeps"),
        ("psdsf-tdm", TWO, "convex"),
        ("njc", THREE, "milp"),
        ("njc", THREE, "interior-point"),
        ("ceei", THREE, "convex"),
        ("drf-discrete", THREE, "loop"),
        ("pdrf", THREE, "lp"),
    ],
)
def test_a_method_that_lies_is_found(mechanism, instance, method):
    honest = fairlp.validate(instance, lying(mechanism, method, lambda tasks: tasks))
    assert honest["agrees"].all(), honest
    table = fairlp.validate(instance, lying(mechanism, method, less))
    assert not table.loc[method, "agrees"]
    others = [name for name in table.index if not name.startswith(method)]
    assert table.loc[others, "agrees"].all()


def test_tasks_that_are_feasible_but_not_optimal_do_not_agree():
    for method in ("interior-point", "convex"):
        assert not fairlp.validate(THREE, lying("ceei", method, moved)).loc[method, "agrees"]


@pytest.mark.parametrize("mechanism", ["drf-discrete", "pdrf", "naive-drf"])
def test_methods_that_differ_by_little_do_not_agree(mechanism):
    """No certificate tells of these mechanisms which method is right."""
    method = TABLE[mechanism].methods[0].name
    row = lying(mechanism, method, lambda tasks: tasks * (1 - 1e-6))
    assert not fairlp.validate(THREE, row)["agrees"].all()


def test_tasks_that_do_not_fit_agree_with_nothing():
    """By the size of what is over, even where both methods say the same."""
    row = lying("naive-drf", "lp", lambda tasks: tasks * (1 + 1e-5))
    second = row.method_called("lp")
    methods = (second, dataclasses.replace(second, name="again"))
    table = fairlp.validate(THREE, dataclasses.replace(row, methods=methods))
    assert (table["difference"] == 0).all() and not table["agrees"].any()


def test_a_mechanism_of_one_method_runs_with_a_second_back_end():
    assert list(fairlp.validate(THREE, "drf-milp").index) == ["milp", "milp, scipy"]
    row = lying("drf-milp", "milp", lambda tasks: tasks)
    assert fairlp.validate(THREE, row)["agrees"].all()


def test_a_method_that_refuses_the_instance_says_why():
    def refuse(call):
        raise TooLargeError("planted")

    row = TABLE["drf-discrete"]
    methods = (row.methods[0], dataclasses.replace(row.methods[1], run=refuse))
    table = fairlp.validate(THREE, dataclasses.replace(row, methods=methods))
    assert table.loc["loop", ["agrees", "reason"]].tolist() == [None, "planted"]


def test_methods_that_take_minutes_are_left_out():
    row = TABLE["psdsf-rdm"]
    methods = tuple(
        dataclasses.replace(method, largest_pairs=0) if method.name == "milp" else method
        for method in row.methods
    )
    table = fairlp.validate(
        examples.load("khamse-ashari-figure-1"), dataclasses.replace(row, methods=methods)
    )
    assert "milp" not in table.index and table["agrees"].all()


def test_options_of_one_method_leave_the_others_as_they_are():
    table = fairlp.validate(TWO, "psdsf-rdm", delay=0.5)
    assert list(table.index) == list(TABLE["psdsf-rdm"].method_names)


@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("user", [0, 1])
def test_agreement_is_of_every_user(deviation, sign, user):
    factors = np.ones((2, 1))
    factors[user] += sign * deviation
    table = fairlp.validate(TWO, lying("tsf", "lp", lambda tasks: tasks * factors))
    assert not table.loc["lp", "agrees"] and table.loc["lp", "user"] == TWO.users[user]
    assert not table.loc["lp", "proved"]
    assert table.loc["lp", "difference"] == pytest.approx(
        deviation / max(1, 1 + sign * deviation), rel=1e-6
    )


def with_another(lie, **changes):
    """``drf-milp`` with a second method, whose tasks are those of the first, changed."""
    row = lying("drf-milp", "milp", lie)
    second = dataclasses.replace(row.methods[0], name="second")
    methods = (*TABLE["drf-milp"].methods, second)
    return dataclasses.replace(TABLE["drf-milp"], methods=methods, **changes)


def unproved(allocation, exact=False):
    return Proof(False, "not proved: too large")


def test_two_optima_of_the_same_sorted_levels_agree():
    """Three tasks for two users alike: who has two of them is open."""
    alike = Instance.from_arrays([[1], [1]], [[3]])
    table = fairlp.validate(alike, with_another(np.flipud))
    assert table["difference"]["second"] == 0.5
    assert table["agrees"].tolist() == [True, True] and table["proved"].all()
    uneven = fairlp.validate(alike, with_another(lambda tasks: np.array([[3.0], [0.0]])))
    assert uneven["agrees"].tolist() == [True, False]
    # what no certificate tells is neither
    table = fairlp.validate(alike, with_another(np.flipud, prove=unproved))
    assert table["agrees"].tolist() == [True, None]
    assert table["reason"].tolist() == ["", "not proved: too large"]


@pytest.mark.parametrize("seed", [16, *range(many(24))])
def test_back_ends_agree_on_the_leximin_of_whole_tasks(seed):
    rng = np.random.default_rng(seed)
    instance = Instance.from_arrays(rng.integers(1, 5, (3, 2)), [rng.integers(4, 12, 2)])
    table = fairlp.validate(instance, "drf-milp")
    assert table["agrees"].all(), table
