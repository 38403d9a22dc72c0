"""PS-DSF as models: the theorems with given bottlenecks or support, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
import per_server_oracle as oracle
from fairlp import Instance, examples
from fairlp.errors import (
    UnknownNameError,
)
from fairlp.formulations.per_server import could_gain
from fairlp.models.programs.status import Termination
from instances import random_instance
from profiles import many


def allocate(instance, division, method="auto", **options):
    return fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)


DIVISIONS = ("rdm", "tdm")


def given(seed, division, limits=False):
    """A random instance, its best response, who runs where, and the bottlenecks by the book."""
    instance = random_instance(seed, limits=limits)
    tasks = allocate(instance, division).tasks_array
    gamma = instance.gamma()
    support = tasks > 1e-9 * gamma
    bottlenecks = oracle.bottlenecks(instance, tasks.tolist()) if division == "rdm" else {}
    table = pd.DataFrame(index=list(instance.users), columns=list(instance.servers), dtype=object)
    for (n, i), r in bottlenecks.items():
        table.iloc[n, i] = instance.resources[r]
    return instance, tasks, support, table


def test_theorem_1_with_given_bottlenecks_is_feasible_and_its_points_are_fixed_points(tmp_path):
    for seed in range(many(30)):
        instance, tasks, support, table = given(seed, "rdm")
        model = fairlp.formulate(instance, "psdsf-rdm", bottlenecks=table, support=support)
        solution = model.solve().require_optimal()
        point = np.asarray(model.evaluate("tasks", solution.x)).reshape(tasks.shape)
        totals, expected = point.sum(axis=1), tasks.sum(axis=1)
        alone = np.maximum(instance.gamma().sum(axis=1), 1e-300)
        assert (totals / alone).sum() >= (expected / alone).sum() - 1e-7
        for n in range(len(totals)):
            assert oracle.gain(instance, np.maximum(point, 0), n, "rdm") <= 1e-5 * max(
                totals.max(), 1
            ), seed
        if seed < 10:
            path = tmp_path / f"{seed}.mps"
            model.write(path)
            program_read = fairlp.read_program(path)
            assert program_read.solve().require_optimal().objective == pytest.approx(
                solution.objective, rel=1e-9
            )


def test_theorem_2_with_a_given_support_is_feasible_and_unique(tmp_path):
    for seed in range(many(30)):
        instance, tasks, support, _ = given(seed, "tdm")
        model = fairlp.formulate(instance, "psdsf-tdm", support=support)
        solution = model.solve().require_optimal()
        point = np.asarray(model.evaluate("tasks", solution.x)).reshape(tasks.shape)
        assert point.sum(axis=1) == pytest.approx(tasks.sum(axis=1), rel=1e-6), seed
        if seed < 10:
            path = tmp_path / f"{seed}.mps"
            model.write(path)
            assert fairlp.read_program(path).solve().require_optimal().objective == pytest.approx(
                solution.objective
            )


def test_wrong_guesses_are_infeasible():
    figure_1 = examples.load("khamse-ashari-figure-1")
    right = pd.DataFrame("memory", index=list(figure_1.users), columns=list(figure_1.servers))
    assert (
        fairlp.formulate(figure_1, "psdsf-rdm", bottlenecks=right)
        .solve()
        .require_optimal()
        .objective
        > 0
    )
    guess = right.copy()
    guess.loc["user1", "server1"] = "network"  # it is never saturated: 10 + 1 a task, and 100 there
    assert (
        fairlp.formulate(figure_1, "psdsf-rdm", bottlenecks=guess).solve().status.termination
        is Termination.INFEASIBLE
    )
    nobody = np.array(
        [[True, False], [True, False], [True, False]]
    )  # user 3 on server 2 is the only one who could
    assert (
        fairlp.formulate(figure_1, "psdsf-tdm", support=nobody).solve().status.termination
        is Termination.INFEASIBLE
    )


def test_the_market_prices_time_at_one_over_the_level():
    instance = examples.load("khamse-ashari-figure-1")
    model = fairlp.formulate(instance, "psdsf-tdm")
    assert "log(" in str(model) and "1/γ[n,i]" in str(model)
    solution = model.solve(solver="clarabel").require_optimal()
    prices = solution.duals["time"]
    # 3 of the 6 tasks that users 1 and 2 could run on server 1; 6 of 6 at weight 2 for user 3 on
    # server 2: 1/2
    assert np.asarray(prices).tolist() == pytest.approx([2, 2], rel=1e-4)


def limited(seed):
    """Three weighted users on two servers, one of which not all may use; task limits with even seeds."""
    rng = np.random.default_rng(seed)
    eligible = np.ones((3, 2), dtype=bool)
    eligible[rng.integers(3), 1] = False
    return Instance.from_arrays(
        rng.integers(0, 4, (3, 2)) + np.array([[1, 0], [0, 1], [1, 1]]),
        rng.integers(4, 20, (2, 2)),
        eligible=eligible,
        weights=[1, 2, 1],
        task_limits=None if seed % 2 else [np.inf, 1.0, 0.5],
    )


@pytest.mark.parametrize("seed", range(many(40)))
def test_binaries_find_bottlenecks_and_who_runs_where(seed):
    instance = limited(seed)
    model = fairlp.formulate(instance, "psdsf-rdm")
    solution = model.solve().require_optimal()
    tasks = np.asarray(model.evaluate("tasks", solution.require_point()))
    expected = allocate(instance, "rdm").tasks_array
    alone = np.maximum(instance.gamma().sum(axis=1), 1e-300)
    assert solution.objective >= (expected.sum(axis=1) / alone).sum() - 1e-7
    for user in range(3):
        assert oracle.gain(instance, np.maximum(tasks, 0.0), user, "rdm") <= 1e-5 * alone.max()


@pytest.mark.parametrize("seed", range(many(40)))
def test_binaries_of_theorem_2_find_the_totals_of_the_market(seed):
    instance = limited(2 * seed + 1)  # without task limits
    model = fairlp.formulate(instance, "psdsf-tdm", theorem=True)
    solution = model.solve().require_optimal()
    tasks = np.asarray(model.evaluate("tasks", solution.require_point()))
    expected = allocate(instance, "tdm").totals.to_numpy()
    assert tasks.sum(axis=1) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("seed", range(many(60)))
def test_what_a_user_could_gain_is_that_of_definition_5(seed, division):
    instance = limited(seed)
    x = allocate(instance, division).tasks_array * [0.9, 1.0]
    for position, user in enumerate(instance.users):
        model = could_gain(instance, x, user, division)
        objective = model.solve().require_optimal().objective
        gain = oracle.gain(instance, x, position, division)
        assert objective - x[position].sum() == pytest.approx(gain, rel=1e-6, abs=1e-7)


def test_a_user_who_is_not_there_gains_nothing():
    instance = examples.load("khamse-ashari-figure-1")
    with pytest.raises(UnknownNameError, match="no user is called 'user9'; did you mean 'user"):
        could_gain(instance, np.zeros((3, 2)), "user9")
