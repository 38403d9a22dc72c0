"""Mechanisms where there is little to share, nobody to share it, or something that is not a mechanism."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp import Instance, api, examples
from fairlp.errors import (
    FairlpError,
    InstanceError,
    NotDefinedError,
    OversizedTaskWarning,
    SolverError,
    SolverNotAvailableError,
)
from fairlp.mechanisms.max_min import ladder as settling, methods
from fairlp.mechanisms.mechanism import MethodCall, TasksResult
from fairlp.mechanisms.table import TABLE, find
from fairlp.models.paths.pool import PoolRows
from own_back_ends import Halves, MuteNothing, Nothing, Truthful
from profiles import by_day


def pool(**options):
    return Instance.from_arrays([[1.0, 1.0], [1.0, 2.0]], [[10.0, 20.0]], **options)


def test_an_error_of_fairlp_in_somebodys_function_is_left_as_it_is():
    @fairlp.mechanism("refusing")
    def refusing(instance):
        raise InstanceError("not so many users")

    with pytest.raises(InstanceError, match="not so many users") as error:
        fairlp.allocate(examples.ghodsi(), refusing)
    assert not getattr(error.value, "__notes__", ())


def test_nobody_who_may_run_anything():
    nobody = pool(task_limits=[0, 0])
    for name in ("drf", "psdsf-tdm", "psdsf-rdm", "drf-discrete", "pdrf", "sequential-minmax"):
        for method in find(name).method_names:
            try:
                answer = fairlp.allocate(nobody, name, method=method)
            except (NotDefinedError, SolverNotAvailableError):
                continue
            assert answer.totals.tolist() == [0, 0], (name, method)
    for name in ("drf-discrete", "pdrf", "psdsf-rdm"):
        assert fairlp.validate(nobody, name)["agrees"].all()


def test_shares_of_long_denominators_are_still_compared_exactly():
    rng = np.random.default_rng(0)
    weights = rng.permutation(np.arange(2001, 4001))[:600].astype(float)
    users_instance = Instance.from_arrays(
        rng.integers(1, 9, (600, 2)), [[5000.0, 6007.0]], weights=weights
    )
    fast, loop = (
        fairlp.allocate(users_instance, "drf-discrete", method=method).totals
        for method in ("fast", "loop")
    )
    assert fast.equals(loop) and fast.sum() > 600


def test_nobody_is_there_for_a_while():
    instance = pool(users=["a", "b"])
    tracking = fairlp_research.distributed.track(
        instance, {"a": (10, 20), "b": (10, 20)}, until=30, beside=("tsf",)
    )
    assert tracking.changes["event"].tolist() == ["leaves", "leaves", "enters", "enters"]


def test_without_python_flint_a_delicate_answer_is_not_called_proved(monkeypatch):
    def lacking(*_):
        raise SolverNotAvailableError("exact certificates need python-flint")

    delicate = Instance.from_arrays([[1.0, 1e-9], [1e-9, 1.0]], [[1e9, 1e-7]])
    assert not fairlp.allocate(delicate, "drf").unproved
    call = settling.MethodCall(delicate, find("drf"), find("drf").methods[0])
    verdict, tasks = settling._in_rationals(call, lacking)
    assert not verdict.holds and "python-flint" in str(verdict) and not tasks.size
    assert "servers are shared one by one" in str(settling._in_rationals(call, None)[0])


def test_a_solver_that_fails_on_limits_of_queues_is_told_of(monkeypatch):
    def fails(*_, **__):
        raise SolverError("out of memory")

    monkeypatch.setattr(methods, "climb", fails)
    instance = pool(
        queue=["q", "q"], queues={"q": {"guarantee": dict.fromkeys(pool().resources, 1.0)}}
    )
    with pytest.raises(FairlpError, match="out of memory"):
        fairlp.allocate(instance, "drfh", method="lp")


# Answers that floats cannot settle, models without prices, files that have the names of others,
# rounds that fail.


def test_a_delicate_answer_that_nothing_settles_fails_as_the_solver_did(monkeypatch):
    delicate = Instance.from_arrays([[1.0, 1e-9], [1e-9, 1.0]], [[1e9, 1e-7]])
    call = settling.MethodCall(delicate, find("drf"), find("drf").methods[0])

    def fails(_):
        raise SolverError("out of digits")

    exact = settling.settled(fails)(call)
    assert exact.tasks.sum(axis=1) == pytest.approx(
        fairlp.allocate(delicate, "drf").totals.to_numpy(), rel=1e-9
    )
    with pytest.raises(SolverError, match="out of digits"):
        settling.settled(fails, None)(call)
    monkeypatch.setattr(settling, "MOST_EXACT", 0)
    with pytest.raises(SolverError, match="out of digits"):
        settling.settled(fails)(call)


def test_a_leximin_of_whole_numbers_has_no_prices():
    @fairlp.mechanism("whole-leximin", whole_tasks=True)
    def whole_leximin(instance):
        n, i = instance.users, instance.servers
        model = fairlp.Model("whole", indices=(n, i))
        x, t = model.variable("x", n, i, integer=True, upper=9), model.variable("t")
        model.define("tasks", x + 0)
        model.constraint("capacity", x.sum(n) <= 6)
        model.leximin(model.constraint("fairness", x.sum(i) >= t), t)
        return model

    instance = Instance.from_arrays([[1.0], [1.0]], [[6.0]])
    answer = fairlp.allocate(instance, "whole-leximin")
    assert answer.totals.tolist() == [3, 3] and answer.prices is None


def test_a_round_of_a_tree_that_stops_nobody_is_told(monkeypatch):
    tree = Instance.from_arrays([[1.0], [1.0]], [[6.0]], queue=["a", "b"])
    assert fairlp.allocate(tree, "h-drf", method="rounds").totals.tolist() == [3, 3]
    monkeypatch.setattr(PoolRows, "blocked", lambda self, path, t: path.active & False)
    with pytest.raises(SolverError, match="a round stopped no user"):
        fairlp.allocate(tree, "h-drf", method="rounds")


def test_all_mechanisms_go_along_the_tree_only_where_there_is_one(monkeypatch):
    flat = Instance.from_arrays([[1.0], [1.0]], [[4.0]])
    tree = flat.replace(queue=["a", "b"])
    planted = fairlp.allocate(flat, "drf")
    monkeypatch.setattr(api, "run", lambda row, *_, **__: planted)
    along = {row.name for row in TABLE.values() if row.along_tree and row.compared}
    assert along and not along & set(api.allocate_all(flat))
    assert (
        along & set(api.allocate_all(tree))
        == {name for name in along if not find(name).undefined(tree)}
        != set()
    )


def test_the_table_says_what_each_mechanism_is_defined_for():
    table = fairlp.mechanisms()["defined_for"]
    assert table["drf"] == "no rates, one server" and table["kueue"]
    assert {find(name).domain == () for name in table.index[table == "any instance"]} <= {True}
    assert not table.eq("").any()


def test_a_summary_counts_the_rows_of_servers_where_parts_of_tasks_run():
    instance = fairlp.Instance.from_arrays([[2], [3]], [[1], [1]])
    with pytest.warns(OversizedTaskWarning):
        summary = fairlp.allocate(instance, "drfh").summary()
    assert summary["server_rows"].tolist() == [2, 2] and summary["tasks"].tolist() == pytest.approx(
        [1 / 2, 1 / 3]
    )


# --- what no gap and no certificate proves ---------------------------------------------------------------------------

ONE = Instance.from_arrays([[1, 2], [3, 1], [2, 2], [1, 1]], [[9, 18]], task_limits=[8, 5, 4, 20])
TWO = Instance.from_arrays(
    [[1, 2], [3, 1], [2, 2]],
    [[9, 18], [5, 5]],
    queue=["a", "a", "b"],
    queues={"a": {"weight": 1}, "b": {"weight": 2}},
)


@pytest.mark.parametrize(
    ("mechanism", "method", "instance"),
    [
        ("njc", "convex", ONE),
        ("ceei", "convex", ONE),
        ("ceei", "convex", TWO),
        ("alpha-fair", "convex", ONE),
    ],
)
def test_half_of_what_is_right_is_not_proved(mechanism, method, instance):
    """The solver gives no duals, so that a wrong point is feasible, and nothing of the program speaks against it."""
    right = fairlp.allocate(instance, mechanism, method=method)
    assert right.certify().holds and not right.unproved and right.gap <= 1e-7
    wrong_allocation = fairlp.allocate(instance, mechanism, method=method, solver=Halves())
    assert (
        wrong_allocation.totals < 0.9 * right.totals
    ).any() and wrong_allocation.residual <= 1e-9
    assert (
        wrong_allocation.gap is None
        and "not proved" in wrong_allocation.unproved
        and wrong_allocation.unproved in wrong_allocation.notes
    )
    assert not wrong_allocation.certify().holds


@pytest.mark.parametrize(
    "mechanism", ["h-drf", "h-drf-counted", "h-drf-collapsed", "drfh", "tsf", "asset"]
)
@pytest.mark.parametrize("solver", [Nothing, MuteNothing, Halves])
def test_zeros_are_an_error_or_not_proved(mechanism, solver):
    try:
        answer = fairlp.allocate(TWO, mechanism, method="lp", solver=solver())
    except fairlp.errors.SolverError:
        return
    assert "not proved" in answer.unproved and not answer.certify().holds


@pytest.mark.parametrize("mechanism", ["h-drf", "drfh", "tsf"])
def test_what_is_right_without_duals_is_proved_by_certify(mechanism):
    answer = fairlp.allocate(TWO, mechanism, method="lp", solver=Truthful())
    assert answer.unproved and answer.certify().holds


@pytest.mark.parametrize("factor", [5e-324, 1e-323, 1e-310, 1e-160, 1e300])
@pytest.mark.parametrize(
    "mechanism", ["h-drf-collapsed", "h-drf", "drf", "drfh", "psdsf-tdm", "njc", "ceei"]
)
def test_numbers_that_are_hardly_floats_are_right_an_error_or_not_proved(mechanism, factor):
    """One factor of all demands and capacities changes no answer; the smallest denormal leaves products no digit."""
    tree = {"queue": ["a", "a", "b"], "queues": {"b": 2.0}} if mechanism.startswith("h-") else {}
    demands, capacities = np.array([[1, 2], [3, 1], [2, 2]]), np.array([[9, 18]])
    right = fairlp.allocate(Instance.from_arrays(demands, capacities, **tree), mechanism)
    assert right.certify().holds and not right.unproved
    with np.errstate(all="ignore"):
        try:
            answer = fairlp.allocate(
                Instance.from_arrays(demands * factor, capacities * factor, **tree), mechanism
            )
        except FairlpError as error:
            assert str(error)
            return
    if not answer.unproved:
        assert answer.totals.to_numpy() == pytest.approx(right.totals.to_numpy(), rel=1e-6)


def test_a_proof_that_runs_the_mechanism_again_ends():
    """Its answer, which has as large a gap, is not proved in turn."""
    calls = []

    def prove(allocation, exact):
        calls.append(allocation)
        inner_answer = TasksResult(np.ones((4, 1)), gap=1.0).answer(
            MethodCall(ONE, row, row.methods[0]), {}
        )
        assert "duality gap of 1 " in inner_answer.unproved
        raise SolverError("planted")

    row = replace(find("drf"), prove=prove)
    answer = TasksResult(np.ones((4, 1)), gap=1.0).answer(MethodCall(ONE, row, row.methods[0]), {})
    assert len(calls) == 1 and answer.unproved.endswith("expected); planted")


PAIRS = [
    (name, method)
    for name in fairlp.mechanisms().index
    for method in fairlp.mechanisms.find(name).methods
]


@pytest.mark.parametrize(("name", "method"), by_day(PAIRS, 3))
def test_a_named_solver_is_used_or_refused(name, method):
    """On one server, on several, with queues and with rates, wherever the mechanism is defined."""
    pool = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[9, 9]], task_limits=[3, 4])
    queues = pool.replace(queue=["a", "b"])
    rates = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0], [6.0]], rates=[[3, 2], [1, 5]])
    for instance in (pool, queues, rates, fairlp.examples.wang_figure_1()):
        try:
            allocation = fairlp.allocate(instance, name, method=method.name, solver="glpk")
        except fairlp.errors.UnknownNameError as error:
            assert not method.solves, error
            assert "does not use the solver 'glpk'; leave solver= out" in str(error)
        except fairlp.FairlpError:
            continue
        else:
            assert allocation.solver == "glpk"


def test_a_solver_that_is_the_method_itself_may_be_named():
    instance = fairlp.examples.wang_figure_1()
    options = {"method": "interior-point", "solver": "interior-point"}
    assert fairlp.allocate(instance, "drfh", **options).method == "interior-point"


@pytest.mark.parametrize(
    ("name", "method"), [("drf", "auto"), ("drfh", "lp"), ("njc", "milp"), ("h-drf", "lp")]
)
def test_the_phases_of_a_call_take_no_longer_than_the_call(name, method):
    begin = perf_counter()
    allocation = fairlp.allocate(pool(), name, method=method)
    seconds = perf_counter() - begin
    assert all(phase >= 0 for phase in allocation.times.values())
    assert 0 < sum(allocation.times.values()) <= seconds


def test_the_mechanisms_of_one_server_refuse_two():
    two_servers = Instance.from_arrays([[1, 2], [2, 1]], [[9, 9], [9, 9]])
    for name in ("drf", "edrf", "drfh", "tsf", "njc", "drf-discrete"):
        row = find(name)
        if row.shares_one_server:
            with pytest.raises(NotDefinedError, match="server"):
                fairlp.allocate(two_servers, name)
        else:
            assert len(fairlp.allocate(two_servers, name).totals) == 2
    assert find("edrf").shares_one_server and not find("drfh").shares_one_server
