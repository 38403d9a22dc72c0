"""Mechanisms of one's own with planted mistakes: names that are taken, tasks of another form, wrong answers."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import fairlp
from fairlp.errors import (
    InstanceError,
    ModelError,
    NotDefinedError,
    UnknownNameError,
)
from fairlp.mechanisms import formulated
from fairlp.mechanisms.formulated import tasks_at
from fairlp.mechanisms.table import OWN
from own_mechanisms import memory_first, most_tasks, own_part

ONE = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1]], [[9, 18]], users=["ann", "bob"], resources=["cpu", "memory"]
)
#: as many servers as users, so that a number a user could be one a server
TWO = fairlp.Instance.from_arrays([[1, 1], [2, 1]], [[4, 4], [6, 2]], users=["ann", "bob"])


def by_model(build):
    """A mechanism whose model has x over users and servers, and what ``build`` adds."""

    def function(instance):
        n, i, r = instance.users, instance.servers, instance.resources
        model = fairlp.Model("planted", indices=(n, i, r))
        x = model.variable("x", n, i)
        d, c = (
            model.parameter("d", (n, r), instance.demands),
            model.parameter("c", (i, r), instance.capacities),
        )
        model.constraint("capacity", (d * x).sum(n) <= c)
        model.maximize(x.sum())
        build(model, x, instance)
        return model

    return fairlp.mechanism("planted")(function)


# names


@pytest.mark.parametrize("name", ["auto", "lp", "procedure", "own", "", 3])
def test_methods_have_names_of_their_own(name):
    row = fairlp.mechanism("planted")(lambda instance: np.zeros(2))
    with pytest.raises(UnknownNameError, match="a method of 'planted' cannot be called"):
        row.method(name)


def test_an_annotation_says_what_a_function_returns_before_it_is_asked():
    def modelled(instance) -> fairlp.Model:
        return None

    row = fairlp.mechanism("planted")(modelled)
    assert row.method_names == ("lp",) and row.formulation is not None
    with pytest.raises(ModelError, match="returned NoneType, no Model"):
        fairlp.formulate(ONE, row)


def test_what_travels_as_it_is_has_its_name_where_it_arrives():
    """As a worker of a study gets it: a function without a module of its own, and the methods that were added."""
    row = fairlp.mechanism("planted")(lambda instance: np.ones(2))
    row.method("twice")(lambda instance: 2 * np.ones(2))
    assert row.reference is None and memory_first.reference == "own_mechanisms:memory_first"
    function, state = row.__reduce__()
    del OWN["planted"]
    arrived = function(*state)
    assert (
        arrived is not row
        and OWN["planted"] is arrived
        and arrived.method_names == row.method_names
    )
    assert fairlp.allocate(ONE, "planted").totals.tolist() == [2, 2]


# what functions return


@pytest.mark.parametrize("tasks", [[1.0, np.nan], [np.inf, 1.0], [1.0, -1e-6]])
def test_tasks_are_numbers_from_zero_up(tasks):
    row = fairlp.mechanism("planted")(lambda instance: tasks)
    with pytest.raises(InstanceError, match="expected a finite number >= 0"):
        fairlp.allocate(ONE, row)


def test_who_gives_out_too_much_is_told_where():
    row = fairlp.mechanism("planted")(lambda instance: np.full((2, 2), 2.0))
    answer = fairlp.allocate(TWO, row)
    assert answer.notes[0].startswith(
        "'planted' gave out more than there is: server 'server2' uses 2 times its"
    )
    assert (
        fairlp.allocate(TWO, fairlp.mechanism("planted")(lambda instance: np.ones((2, 2)))).notes
        == ()
    )


QUEUES = {"a": {"cap": {"r1": 1}}}
LIMITED = fairlp.Instance.from_arrays([[1], [1]], [[4]], users=["ann", "bob"], task_limits=[1.5, 9])


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (LIMITED, "user 'ann' has 2 tasks, and its limit is 1.5"),
        (
            fairlp.Instance.from_arrays(
                [[1], [1]], [[2], [2]], users=["ann", "bob"], eligible=[[1, 0], [1, 1]]
            ),
            "user 'ann' runs on server 'server2', where it may not",
        ),
        (
            fairlp.Instance.from_arrays(
                [[1], [1]], [[4]], resources=["r1"], queue=["a", "a"], queues=QUEUES
            ),
            "queue 'a' is over its cap of 'r1' by 3 of it",
        ),
    ],
    ids=["task limit", "placement", "cap"],
)
def test_a_limit_that_is_not_kept_is_a_note(instance, message):
    def half(instance):
        return np.full(instance.shape, 2.0 / instance.n_servers)

    def equal(model, x, instance):
        model.constraint("equal", x == 2.0 / instance.n_servers)
        model.define("tasks", x)

    def level(model, x, instance):
        model.constraint("equal", x == 2.0 / instance.n_servers)
        model.leximin(x.sum(instance.servers) + 0)
        model.define("tasks", x)

    for row in (fairlp.mechanism("planted")(half), by_model(equal), by_model(level)):
        allocation = fairlp.allocate(instance, row)
        assert allocation.notes[0] == f"'planted' does not keep a limit: {message}"
        assert allocation.residual > 0
    drfh = fairlp.allocate(instance, "drfh")
    assert not any("does not keep" in note for note in drfh.notes)


def test_a_variable_t_with_rows_fairness_is_no_leximin_unless_the_model_says_so():
    def once(model, x, instance):
        t = model.variable("t")
        model.constraint("fairness", x.sum(instance.servers) >= t)
        model.maximize(t)
        model.define("tasks", x)

    assert fairlp.allocate(LIMITED, by_model(once)).rounds is None


def test_a_formulation_returns_a_model_every_time():
    returned = []

    def once(instance):
        returned.append(None)
        return own_part(instance) if len(returned) > 1 else memory_first(instance)

    row = fairlp.mechanism("planted")(once)
    row.defined_for(ONE)
    with pytest.raises(ModelError, match="returned ndarray, no Model"):
        fairlp.formulate(ONE, row)


# what models say their tasks are


def test_a_formulation_may_have_its_tasks_by_server_and_user():
    three = fairlp.Instance.from_arrays([[1, 1], [2, 1]], [[4, 4], [6, 2], [1, 1]])

    @fairlp.mechanism("planted")
    def turned(instance):
        i, n = instance.servers, instance.users
        model = fairlp.Model("planted", indices=(i, n))
        x = model.variable("x", i, n, upper=[[1, 2], [3, 4], [5, 6]])
        model.define("tasks", x)
        model.maximize(x.sum())
        return model

    allocation = fairlp.allocate(three.replace(capacities=[[99, 99]] * 3), turned)
    assert allocation.tasks_array.tolist() == [[1, 3, 5], [2, 4, 6]]


def test_tasks_by_server_and_user_are_turned_and_rounding_below_zero_is_zero():
    model = fairlp.Model("turned", indices=(TWO.servers, TWO.users))
    x = model.variable("x", TWO.servers, TWO.users)
    model.define("tasks", x)
    assert tasks_at(model, np.array([1.0, 2.0, 3.0, -1e-17]), TWO).tolist() == [[1, 3], [2, 0]]


def test_who_has_all_its_tasks_is_satisfied():
    limited = ONE.replace(task_limits=[0.5, np.inf])
    answer = fairlp.allocate(limited, memory_first, method="lp")
    assert answer.totals.iloc[0] == 0.5 and answer.rounds["satisfied"].sum() == ["ann"]


def test_prices_are_those_of_capacity_if_the_rows_are_its():
    instance = ONE.select_users([0])

    def other(model, x, instance):
        model.define("tasks", x)
        model.remove("capacity")
        model.constraint("together", x.sum() <= 4)

    answer = fairlp.allocate(instance, by_model(other))
    assert (
        answer.prices is None and answer.gap == pytest.approx(0) and answer.totals.tolist() == [4]
    )

    def fewer(model, x, instance):
        other(model, x, instance)
        model.constraint("capacity", x.sum() <= 3)

    answer = fairlp.allocate(instance, by_model(fewer))
    assert answer.prices is None and answer.totals.tolist() == [3]


# proofs


@pytest.mark.parametrize("exact", [False, True])
def test_wrong_allocations_are_not_proved(exact):
    right = fairlp.allocate(ONE, memory_first)
    assert right.certify(exact=exact).holds
    larger_allocation = dataclasses.replace(right, tasks_array=right.tasks_array * (1 + 1e-5))
    verdict = larger_allocation.certify(exact=exact)
    assert not verdict.holds and verdict.message.startswith(
        "infeasible: a capacity, limit or placement is violated"
    )
    for factors, gap in (([1 - 1e-5, 1], 1e-5), ([1, 0.5], 0.5)):
        smaller_allocation = dataclasses.replace(
            right, tasks_array=right.tasks_array * np.array(factors)[:, None]
        )
        verdict = smaller_allocation.certify(exact=exact)
        user = "ann" if gap < 0.1 else "bob"
        assert (
            not verdict.holds
            and f"user {user!r} has" in verdict.message
            and "as good" not in verdict.message
        )
        assert verdict.gap == pytest.approx(gap, rel=1e-3)


def test_other_totals_of_a_program_that_is_solved_once_may_be_as_good():
    def most(model, x, instance):
        model.define("tasks", x)

    instance = fairlp.Instance.from_arrays([[1], [1]], [[4]])
    answer = fairlp.allocate(instance, by_model(most))
    assert answer.certify().holds and answer.certify(exact=True).holds
    case = dataclasses.replace(answer, tasks_array=answer.tasks_array[::-1])
    verdict = case.certify()
    assert not verdict.holds and verdict.message.endswith("; other totals may be as good")


def test_a_model_that_is_not_proved_proves_nothing():
    # twice three tasks of which each two need one unit: half a task of each is 3, and there are 2
    # whole ones
    thirds = np.kron(np.eye(2), [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    verdict = fairlp.allocate(
        fairlp.Instance.from_arrays(thirds, np.ones((1, 6))), most_tasks
    ).certify()
    assert not verdict.holds and "bound 2 as the solver says" in verdict.message
    assert fairlp.allocate(
        ONE, most_tasks
    ).certify()  # 5, and its linear relaxation allows less than 6
    with pytest.raises(
        NotDefinedError, match="'own-part' is a procedure: nothing says what it ought to be"
    ):
        formulated.prove(fairlp.allocate(ONE, own_part), exact=False)


def test_a_method_is_compared_where_it_applies_only():
    row = fairlp.mechanism("planted")(lambda instance: np.ones(len(instance.users)))
    row.method("twice", applies=lambda instance: len(instance.users) > 2)(
        lambda instance: 2 * np.ones(2)
    )
    assert list(fairlp.validate(ONE, row).index) == ["procedure"]
    row.method("twice")(lambda instance: 2 * np.ones(2))
    table = fairlp.validate(ONE, row)
    assert table["agrees"].to_dict() == {"twice": True, "procedure": False}
    assert row.method_names == ("twice", "procedure") and list(row.faster) == ["twice"]
    assert repr(row) == "<Mechanism 'planted': twice, procedure>"


def test_a_procedure_with_a_state_remembers():
    @fairlp.mechanism("least-first")
    def least_first(instance, state):
        """All of one server to the user who has had least so far."""
        past = (
            np.zeros(len(instance.users))
            if state is None
            else state[list(instance.users)].to_numpy()
        )
        tasks = np.where(np.arange(len(past)) == past.argmin(), instance.gamma()[:, 0], 0.0)
        return tasks, past + tasks

    first = fairlp.allocate(ONE, least_first)
    assert first.totals.to_dict() == {"ann": 4.5, "bob": 0} and first.state.to_dict() == {
        "ann": 4.5,
        "bob": 0,
    }
    second = fairlp.allocate(ONE, "least-first", state=first.state.iloc[::-1])
    assert second.totals.to_dict() == {"ann": 0, "bob": 3} and second.state.to_dict() == {
        "ann": 4.5,
        "bob": 3,
    }
    assert (
        fairlp.mechanisms("least-first").remembers
        and fairlp.validate(ONE, "least-first").agrees.all()
    )
    assert fairlp.compare(ONE, ["least-first", "drf"], state=first.state)[
        "least-first"
    ].tolist() == [0, 3]
    assert least_first(ONE, first.state)[1].tolist() == [4.5, 3]
    data = pickle.loads(pickle.dumps(second))
    assert data.state.equals(second.state)
    with pytest.raises(InstanceError, match="expected that of an earlier allocation"):
        fairlp.allocate(ONE, least_first, state=4.5)
