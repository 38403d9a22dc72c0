"""The frontier of efficiency and fairness: its measures by hand, its ends, its bound, its figure, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import fairlp
import fairlp_research
from cli_runner import run
from fairlp import examples
from fairlp.errors import (
    InstanceError,
    SolverError,
)
from fairlp.tolerances import ACCEPTED, AGREEMENT
from fairlp_research.efficiency import bound, gini
from fairlp_research.study.statistics import jains_index
from instances import random_instance
from profiles import many

GHODSI = examples.ghodsi()


def brute_bound(alpha, users):
    def ratio(log):
        x = np.exp(log)
        return (x ** (1 + 1 / alpha) + users - x) / (x ** (1 + 1 / alpha) + (users - x) * x)

    return (
        1
        - minimize_scalar(
            ratio, bounds=(0, np.log(users)), method="bounded", options={"xatol": 1e-10}
        ).fun
    )


def test_the_table_says_what_the_allocations_are():
    frontier = fairlp_research.frontier(GHODSI, [2])
    assert frontier.table.index.tolist() == [0.0, 2.0, np.inf]
    row, tasks = frontier.table.loc[2.0], frontier.allocations[2.0].totals.to_numpy()
    shares = tasks / np.array([4.5, 3.0])  # 18/4 by memory, 9/3 by CPU
    assert row.total_share == pytest.approx(shares.sum())
    assert row.smallest_level == pytest.approx(shares.min())
    assert row.jain == pytest.approx(shares.sum() ** 2 / 2 / (shares**2).sum())
    assert row.gini == pytest.approx(abs(shares[0] - shares[1]) / 2 / shares.sum())
    used = tasks @ GHODSI.demands / [9, 18]
    assert row.utilization == pytest.approx(used.mean())
    units = GHODSI.replace(demands=GHODSI.demands / 100, capacities=GHODSI.capacities / 100)
    assert fairlp_research.frontier(units, [2]).table.utilization[2.0] == pytest.approx(
        row.utilization
    )
    assert row.price_of_fairness == pytest.approx(1 - shares.sum() / (16 / 11))
    assert row.price_of_efficiency == pytest.approx(1 - shares.min() / (2 / 3))
    assert (frontier.table.gap <= ACCEPTED).all()
    assert frontier.premise and frontier.table.bound[2.0] == pytest.approx(bound(2, 2))


@pytest.mark.parametrize("seed", range(many(8)))
def test_the_ends_are_the_largest_total_and_the_largest_smallest_level(seed):
    instance = random_instance(seed)
    frontier = fairlp_research.frontier(instance, [0.5, 1, 3])
    table = frontier.table
    assert table.price_of_fairness.iloc[0] == 0 and table.price_of_efficiency.iloc[-1] == 0
    assert (table[["price_of_fairness", "price_of_efficiency"]] >= 0).all().all()
    assert (table.gap <= 1e-7).all() and not frontier.failed
    drfh = frontier.markers.loc["drfh"]
    assert drfh.smallest_level == pytest.approx(table.smallest_level.iloc[-1], rel=1e-9)
    if frontier.premise:
        assert (table.price_of_fairness <= table.bound + AGREEMENT).all()


@pytest.mark.parametrize("seed", range(many(8)))
def test_the_bound_holds_where_its_premise_does(seed):
    rng = np.random.default_rng(seed)
    instance = fairlp.Instance.from_arrays(rng.integers(1, 9, (5, 3)), [[12, 20, 16]])
    frontier = fairlp_research.frontier(instance, [0.5, 1, 4])
    assert (
        frontier.premise
        and (frontier.table.price_of_fairness <= frontier.table.bound + AGREEMENT).all()
    )


def test_the_premise_fails_with_weights_limits_and_several_servers():
    demands = [[1, 2], [2, 1]]
    for changes in (
        {"weights": [1, 2]},
        {"task_limits": [1, np.inf]},
        {"capacities": [[9, 1], [1, 9]], "eligible": [[1, 0], [1, 1]]},
    ):
        frontier = fairlp_research.frontier(
            fairlp.Instance.from_arrays(demands, **{"capacities": [[9, 9]], **changes}), [1]
        )
        assert not frontier.premise and frontier.table.bound.isna().all()


@pytest.mark.parametrize("users", [2, 3, 10, 1000])
def test_the_bound_is_that_of_the_papers(users):
    assert bound(1, users) == pytest.approx(1 - (2 * np.sqrt(users) - 1) / users, abs=1e-9)
    assert bound(np.inf, users) == pytest.approx(1 - 4 * users / (users + 1) ** 2, abs=1e-9)
    for alpha in (0.3, 2, 7):
        assert bound(alpha, users) == pytest.approx(brute_bound(alpha, users), abs=1e-8)
    assert bound(0, users) == 0 == bound(2, 1) and bound(1e-3, users) < 0.05


def test_indices_of_equality():
    assert jains_index(np.array([3.0, 3, 3])) == 1 and jains_index(np.array([1.0, 0, 0, 0])) == 0.25
    assert jains_index(np.zeros(3)) == 1 and gini(np.zeros(3)) == 0
    assert gini(np.array([1.0, 0, 0, 0])) == 0.75 and gini(np.array([1.0, 3.0])) == pytest.approx(
        0.25
    )


def test_what_was_observed_is_put_beside():
    observed = fairlp.allocate(GHODSI, "asset")
    frontier = fairlp_research.frontier(GHODSI, [1], observed=observed)
    assert frontier.markers.index.tolist() == ["drfh", "ceei", "njc", "psdsf-rdm", "observed"]
    shares = observed.totals.to_numpy() / [4.5, 3.0]
    assert frontier.markers.total_share["observed"] == pytest.approx(shares.sum())
    with pytest.raises(InstanceError, match="shape"):
        fairlp_research.frontier(GHODSI, [1], observed=np.ones((3, 1)))


def test_an_alpha_that_floats_cannot_hold_is_left_out_with_its_reason():
    frontier = fairlp_research.frontier(GHODSI, [1, 1e5])
    assert list(frontier.failed) == [1e5] and "beyond floats" in frontier.failed[1e5]
    assert frontier.table.index.tolist() == [0.0, 1.0, np.inf]


@pytest.mark.parametrize("seed", range(many(12)))
def test_each_point_is_what_it_is_alone(seed):
    """Found from the last one's, with limits, weights and placement: the same levels, as certain."""
    instance = random_instance(seed)
    frontier = fairlp_research.frontier(instance, [0.5, 1, 2, 4])
    for alpha in (0.5, 1, 2, 4):
        alone = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert frontier.allocations[alpha].levels.to_numpy() == pytest.approx(
            alone.levels.to_numpy(), rel=1e-5, abs=1e-12
        )
        assert frontier.allocations[alpha].gap <= ACCEPTED and frontier.allocations[alpha].certify()


def test_nobody_who_can_run_anything_has_nothing_to_trade():
    frontier = fairlp_research.frontier(
        fairlp.Instance.from_arrays([[1, 1]], [[4, 4]], task_limits=[0]), [1]
    )
    assert (frontier.table.total_share == 0).all() and not frontier.premise


def test_the_command_prints_writes_and_draws(tmp_path):
    result = run("frontier", "ghodsi", "--alphas", "1,2", "--plot", tmp_path / "f.svg")
    assert "price of fairness" in result.output and (tmp_path / "f.svg").exists()
    data = json.loads(run("frontier", "ghodsi", "--alphas", "1", "--json").stdout)
    assert [row["alpha"] for row in data["table"]] == [0.0, 1.0, None] and data["failed"] == []
    file = tmp_path / "tasks.csv"
    server, users = GHODSI.servers[0], GHODSI.users
    file.write_text(f"user,{server}\n{users[0]},1\n{users[1]},2\n")
    result = run("frontier", "ghodsi", "--observed", file, "--alphas", "1,100000")
    assert "observed" in result.output and "beyond floats" in result.output
    run("frontier", "ghodsi", "--alphas", "one", code=2)
    run("frontier", "ghodsi", "--alphas", "-1", code=3)


def test_a_solver_that_fails_at_an_end_of_the_frontier_fails(monkeypatch):
    def fails(*_, **__):
        raise SolverError("out of memory")

    monkeypatch.setattr("fairlp_research.efficiency.allocate", fails)
    with pytest.raises(SolverError, match="out of memory"):
        fairlp_research.frontier(examples.ghodsi(), [1])
