"""PS-DSF: golden values, Theorems 1 and 2 and Definition 5 by an independent reading; other claims: the ledger."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairlp
import per_server_oracle as oracle
from fairlp import Instance, examples
from fairlp.mechanisms.per_server.check import fixed_point
from fairlp.mechanisms.per_server.market import NO_GROUP, fill_server
from fairlp.tolerances import AGREEMENT
from instances import random_instance
from profiles import many

DIVISIONS = ("rdm", "tdm")
METHODS = {
    division: fairlp.mechanisms.TABLE[f"psdsf-{division}"].method_names for division in DIVISIONS
}
EVERY = [(division, method) for division in DIVISIONS for method in METHODS[division]]
TWO_WAY = Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [3, 3]], name="two-way")


def allocate(instance, division, method="auto", **options):
    return fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)


def awkward(seed, **flags):
    """A random instance; every third of continuous data, every fifth of magnitudes from 1e-6 to 1e9."""
    return random_instance(seed, integers=seed % 3 > 0, magnitudes=seed % 5 == 0, **flags)


# --- golden values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("division", "method"), EVERY)
def test_figure_1(division, method):
    allocation = allocate(examples.load("khamse-ashari-figure-1"), division, method)
    assert allocation.totals.tolist() == pytest.approx([3, 3, 6], rel=1e-9)
    assert allocation.tasks.loc["user3", "server2"] == pytest.approx(6, rel=1e-9)


@pytest.mark.parametrize(("division", "method"), EVERY)
def test_table_4_of_ps_dsf(division, method):
    allocation = allocate(examples.load("khamse-ashari-table-3"), division, method)
    expected = [[40, 170, 0, 0], [20, 85, 0, 0], [0, 0, 82.5, 0], [0, 0, 0, 27.5]]
    assert allocation.totals.tolist() == pytest.approx([210, 105, 82.5, 27.5], rel=1e-9)
    # users 1 and 2 may trade A for B at 1 : 1, the others are where the paper has them
    assert allocation.tasks_array[:, 2:] == pytest.approx(
        np.array(expected)[:, 2:], rel=1e-9, abs=1e-7
    )
    assert allocation.utilization.loc[["C", "D"]].to_numpy() == pytest.approx(1, rel=1e-9)


def test_table_4_of_ps_dsf_is_as_printed_by_best_responses():
    allocation = allocate(examples.load("khamse-ashari-table-3"), "rdm")
    expected = [[40, 170, 0, 0], [20, 85, 0, 0], [0, 0, 82.5, 0], [0, 0, 0, 27.5]]
    printed = np.array(expected)
    assert fairlp.per_server.check(allocation.instance, printed)
    assert allocation.tasks_array[2:] == pytest.approx(printed[2:], rel=1e-12)


def test_table_4_of_tsf():
    instance = examples.load("khamse-ashari-table-3")
    allocation = fairlp.allocate(instance, "tsf")
    # the memory of A and B, 42, goes to users 1 and 2, that of C and D, 16.5, to users 3 and 4;
    # 557.5, 292.5, 320 and 195 tasks would be theirs alone, were there no constraints
    first, second = 42 / (0.1 * 2 * 557.5 + 0.2 * 2 * 292.5), 16.5 / (0.1 * 320 + 0.3 * 195)
    exact = [2 * 557.5 * first, 2 * 292.5 * first, 320 * second, 195 * second]
    assert allocation.totals.tolist() == pytest.approx(exact, rel=1e-9)
    # printed: 35 + 170, 22.5 + 85, 58.33, 8.05 + 27.5, each rounded (where tasks run is not unique,
    # how many are)
    assert allocation.totals.tolist() == pytest.approx(
        [35 + 170, 22.5 + 85, 58.33, 8.05 + 27.5], abs=0.06
    )
    assert allocation.tasks.loc["user4"].tolist() == pytest.approx([0, 0, 8.05, 27.5], abs=0.005)
    assert not fairlp.per_server.check(instance, allocation)
    c_drfh = fairlp.allocate(instance, "c-drfh")
    assert c_drfh.residual < 1e-12 and not fairlp.per_server.check(instance, c_drfh)


# --- RDM need not be Pareto-optimal, and may have several fixed points -----------------------------------------------


def pareto_gain(instance, tasks):
    """The most tasks that all users together could run in addition, nobody losing any, by an LP of SciPy."""
    gamma, need, capacity = oracle.alone(instance)
    pairs = [(n, i) for n in range(len(gamma)) for i in range(len(capacity)) if gamma[n][i] > 0]
    rows, right = [], []
    for i, row in enumerate(capacity):
        for r, c in enumerate(row):
            rows.append([need[n][i][r] if j == i else 0.0 for n, j in pairs])
            right.append(c)
    for n, total in enumerate(np.asarray(tasks).sum(axis=1)):
        rows.append([-float(m == n) for m, _ in pairs])
        right.append(-total)
    return -linprog(-np.ones(len(pairs)), A_ub=rows, b_ub=right).fun - np.sum(tasks)


@pytest.mark.parametrize("method", METHODS["rdm"])
def test_two_servers_by_every_method(method):
    allocation = allocate(examples.load("two-servers"), "rdm", method)
    assert allocation.totals.tolist() == pytest.approx([15, 15], rel=1e-9)


def test_identical_servers_have_a_continuum_of_fixed_points():
    """Each user alone on one server is a fixed point with 3/2 tasks each, both on both servers one with 2."""
    for tasks in (np.eye(2) * 1.5, np.ones((2, 2))):
        assert oracle.theorem_1(TWO_WAY, tasks.tolist())
        assert fairlp.per_server.check(TWO_WAY, tasks)
    assert pareto_gain(TWO_WAY, np.eye(2) * 1.5) == pytest.approx(1, rel=1e-6)
    assert pareto_gain(TWO_WAY, np.ones((2, 2))) == pytest.approx(0, abs=1e-7)
    for division in DIVISIONS:
        for merge in (True, False):
            totals = allocate(TWO_WAY, division, merge=merge).totals
            assert totals.tolist() == pytest.approx(
                [2, 2] if division == "rdm" else [1.5, 1.5], rel=1e-12
            )


def test_three_methods_three_fixed_points():
    """Which of them: best-response by the order of servers, Algorithm I by its start, milp by the most tasks."""
    demands, capacities = [[3, 3], [1, 3], [3, 1]], [[6, 9], [5, 8]]
    instance = Instance.from_arrays(demands, capacities, users=["a", "b", "c"])
    reverse = Instance.from_arrays(demands, capacities[::-1], users=["a", "b", "c"])
    allocations = {
        "best-response": allocate(instance, "rdm"),
        "reverse": allocate(reverse, "rdm"),
        "algorithm-1": allocate(instance, "rdm", "algorithm-1"),
        "milp": allocate(instance, "rdm", "milp"),
    }
    expected = {
        "best-response": 55 / 38,
        "reverse": 35 / 27,
        "algorithm-1": 15 / 11,
        "milp": 55 / 38,
    }
    for name, allocation in allocations.items():
        assert allocation.totals.tolist() == pytest.approx(
            np.array([1, 1.6, 1]) * expected[name], rel=1e-9
        ), name
        used = allocation.instance
        assert oracle.theorem_1(used, allocation.tasks_array.tolist())


@pytest.mark.parametrize("division", DIVISIONS)
def test_task_limits_leave_the_totals_open(division):
    """A user that has all its tasks may have them where others could use the room: not unique, nor Pareto-optimal."""
    instance = Instance.from_arrays(
        [[1], [1], [1]], [[2], [2]], eligible=[[1, 1], [1, 0], [0, 1]], task_limits=[1, 9, 9]
    )
    for first_task in (0, 0.5, 1):
        tasks = np.array([[first_task, 1 - first_task], [2 - first_task, 0], [0, 1 + first_task]])
        assert oracle.holds(instance, tasks, division)
        assert fairlp.per_server.check(instance, tasks, division)


# --- Theorems 1 and 2, Definition 5 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("division", DIVISIONS)
def test_best_responses_satisfy_the_theorem(division):
    for seed in range(many(120)):
        instance = awkward(seed)
        allocation = allocate(instance, division)
        assert oracle.holds(instance, allocation.tasks_array, division), seed
        assert fairlp.per_server.check(instance, allocation, division), seed
        assert allocation.residual < 1e-9, seed


@pytest.mark.parametrize(
    ("division", "method"), [pair for pair in EVERY if pair[1] != "best-response"]
)
def test_every_method_satisfies_the_theorem(division, method):
    for seed in range(1000, 1000 + many(60)):
        instance = awkward(seed)
        if method == "milp" and instance.gamma().astype(bool).sum() > 8:
            continue
        if method == "milp" and division == "tdm" and np.isfinite(instance.task_limits).any():
            continue
        allocation = allocate(instance, division, method)
        assert oracle.holds(instance, allocation.tasks_array, division), seed


@pytest.mark.parametrize("division", DIVISIONS)
def test_nobody_could_gain_by_definition_5(division):
    methods = [method for method in METHODS[division] if method != "milp"]
    for seed in range(many(24)):
        instance = awkward(2000 + seed)
        largest_totals = instance.gamma().sum(axis=1)
        allocation = allocate(instance, division, methods[seed % len(methods)])
        for n, user in enumerate(instance.users):
            if largest_totals[n] == 0:
                continue
            model = fairlp.per_server.could_gain(instance, allocation, user, division)
            gain = model.solve().require_optimal().objective - allocation.totals[user]
            assert gain <= 1e-7 * largest_totals[n], (seed, user)
            assert (
                oracle.gain(instance, allocation.tasks_array, n, division)
                <= 1e-7 * largest_totals[n]
            ), (
                seed,
                user,
            )


@pytest.mark.parametrize("division", DIVISIONS)
def test_the_certificate_agrees_with_linear_programs_elsewhere(division):
    """On allocations that are not fixed points: who could gain, and how much in all, through SciPy."""
    differing = 0
    for seed in range(many(48)):
        rng = np.random.default_rng(seed)
        instance = random_instance(3000 + seed, integers=seed % 2 == 0)
        tasks = allocate(instance, division).tasks_array * rng.uniform(
            0.5, 1, (len(instance.users), 1)
        )
        verdict = fixed_point(instance, tasks, division)
        assert bool(verdict) == oracle.holds(instance, tasks, division), seed
        gains = verdict.gains.groupby("user")["gain"].sum()
        for n, user in enumerate(instance.users):
            room = instance.task_limits[n] - tasks[n].sum()
            expected = min(float(gains.get(user, 0.0)), room)
            assert oracle.gain(instance, tasks, n, division) == pytest.approx(
                expected, rel=1e-6, abs=1e-7
            ), seed
        differing += not verdict
    assert differing > many(48) / 2


def test_methods_agree_on_totals_under_time_division():
    """The totals are the unique optimum of a market (without task limits)."""
    for seed in range(many(32)):
        instance = awkward(4000 + seed, limits=False)
        reference = allocate(instance, "tdm").totals.to_numpy()
        for method in METHODS["tdm"]:
            if method == "milp" and instance.gamma().astype(bool).sum() > 8:
                continue
            totals = allocate(instance, "tdm", method).totals.to_numpy()
            assert totals == pytest.approx(reference, rel=1e-8), (seed, method)


# PS-DSF's check given planted allocations, its validation given methods that lie, and one server by
# hand.

INF = np.inf


def market(**options):
    """Two servers of 10 and 4; the second user may run on the first only."""
    eligible = np.array([[True, True], [True, False]])
    return Instance.from_arrays([[1.0], [1.0]], [[10.0], [4.0]], eligible=eligible, **options)


#: Levels on the first server are totals over 10: 7 tasks each.
RIGHT = np.array([[3.0, 4.0], [7.0, 0.0]])


@pytest.mark.parametrize("division", DIVISIONS)
def test_the_right_allocation_holds(division):
    judgement = fixed_point(market(), RIGHT, division)
    assert (
        judgement.holds
        and judgement.violation <= AGREEMENT
        and judgement.infeasibility == 0
        and judgement.gains.empty
    )


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 1.0])
def test_what_is_free_could_be_had(division, deviation):
    judgement = fixed_point(market(), RIGHT - np.array([[0.0, deviation], [0.0, 0.0]]), division)
    assert not judgement and judgement.infeasibility == 0
    gains = judgement.gains.set_index(["user", "server"])
    assert gains.loc[("user1", "server2"), "gain"] == pytest.approx(deviation, rel=1e-6)
    # who is there already has as much, but on the other server somebody of a higher level gives way
    assert set(gains.index) <= {("user1", "server2"), ("user1", "server1")}


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_who_has_less_could_take_what_a_richer_one_holds(division, deviation):
    judgement = fixed_point(
        market(), RIGHT + np.array([[deviation, 0.0], [-deviation, 0.0]]), division
    )
    assert not judgement and judgement.infeasibility <= 1e-15
    first = judgement.gains.iloc[0]
    assert first["user"] == "user2" and first["server"] == "server1" and first["from"] == ["user1"]
    assert first["gain"] == pytest.approx(3 + deviation)  # all that the richer one has there


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
@pytest.mark.parametrize("deviation", [1e-6, 1.0])
@pytest.mark.parametrize("planted", ["capacity", "limit", "placement", "sign"])
def test_an_infeasible_allocation_does_not_hold(division, deviation, planted):
    instance, tasks = market(), RIGHT.copy()
    if planted == "capacity":
        tasks[0, 1] += deviation * 4
    elif planted == "limit":
        instance, tasks = (
            market(task_limits=[7, 3]),
            np.array([[3.0, 4.0], [3 * (1 + deviation), 0.0]]),
        )
    elif planted == "placement":
        tasks[1, 1] = deviation
    else:  # what is taken away on one server makes room for more than all on the other
        instance = market(task_limits=[7, 7])
        tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
        tasks[1, 1] = -deviation
    judgement = fixed_point(instance, tasks, division)
    assert not judgement and judgement.infeasibility >= deviation * 0.2, judgement
    assert "infeasible" in str(judgement) or "could run" in str(judgement)


def test_a_server_is_filled_from_the_levels_that_users_bring():
    def fill(base, upper):
        levels = fill_server(
            np.ones((2, 1)), np.array([3.0]), np.ones(2), np.array(base), np.array(upper)
        )
        return levels.tasks.tolist()

    assert fill([1.0, 0.0], [INF, INF]) == [1, 2] and fill([9.0, 0.0], [INF, INF]) == [0, 3]
    assert fill([0.0, 0.0], [1.0, INF]) == [1, 2] and fill([0.0, 0.0], [1.0, 0.5]) == [1, 0.5]


def test_whoever_has_all_its_tasks_is_of_no_group():
    """A group is who is held back by one resource; a limit is none."""
    levels = fill_server(
        np.ones((2, 1)), np.array([3.0]), np.ones(2), np.zeros(2), np.array([1.0, INF])
    )
    assert levels.group.tolist() == [NO_GROUP, 0] and levels.tasks.tolist() == [1, 2]


def test_what_rounding_leaves_on_a_server_is_not_protected():
    """Interior points leave 3e-13 of a task on a server, which no linear program could be held to."""
    instance = Instance.from_arrays(
        [[3, 1], [2, 2]],
        [[10, 3], [5, 10], [12, 9]],
        users=["ann", "bob"],
        task_limits=[np.inf, 0.1],
    )
    assert fairlp.validate(instance, "psdsf-tdm").agrees.all()
