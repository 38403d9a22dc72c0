"""Properties at every step: they hold, and the checks see shares that are made to break them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from arrival_cases import planted, random_arrivals, with_levels
from fairlp import Instance, examples
from fairlp.mechanisms.arrivals.properties import envy
from profiles import many


def arrivals(**options):
    return Instance.from_arrays(
        [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0], [2.0, 5.0]], [[9, 18]], **options
    )


def test_cautious_lp_breaks_dynamic_pareto_optimality():
    properties = (
        fairlp.allocate(examples.epsilon(), "cautious-lp")
        .properties()
        .set_index(["property", "step"])
    )
    assert not properties.loc["DPO", "holds"].loc[2:3].any()
    assert "of what the step may give out" in properties.loc[("DPO", 2), "witness"]
    assert properties.loc["EF", "holds"].all()


def test_dynamic_drf_is_not_envy_free_but_dynamically_so():
    properties = (
        fairlp.allocate(examples.epsilon(), "dynamic-drf")
        .properties()
        .set_index(["property", "step"])
    )
    assert properties.loc["DEF", "holds"].all()
    assert not properties.loc[("EF", 4), "holds"] or properties.loc[("EF", 4), "margin"] == 0
    instance = Instance.from_arrays([[1, 0.1], [0.1, 1], [1, 0.1]], [[1, 1]], users=["a", "b", "c"])
    properties = (
        fairlp.allocate(instance, "dynamic-drf").properties().set_index(["property", "step"])
    )
    assert not properties.loc[("EF", 3), "holds"] and properties.loc[("DEF", 3), "holds"]
    assert (
        "'c'" in properties.loc[("EF", 3), "witness"]
        and "'a'" in properties.loc[("EF", 3), "witness"]
    )


def test_the_checks_see_what_is_wrong():
    """Each property fails on shares made to break it, by hand."""
    good = fairlp.allocate(
        Instance.from_arrays([[1, 1]] * 3, [[1, 1]], users=["a", "b", "c"]), "dynamic-drf"
    )

    def holds(levels, first):
        allocation = with_levels(good, levels, first)
        holds_by_step = allocation.properties().set_index(["property", "step"])["holds"]
        return allocation, holds_by_step

    third = 1 / 3
    allocation, holds_by_step = holds(
        [third, 0.4, third], [0, 1, 2]
    )  # b, who came later, has more than a
    assert (
        not holds_by_step["DEF", 2]
        and not holds_by_step["feasible", 2]
        and allocation.step_residual > 0.09
    )
    allocation, holds_by_step = holds(
        [third, 0.3, third], [0, 0, 2]
    )  # a lost something when b came
    assert (
        not holds_by_step["irrevocable", 2]
        and not holds_by_step["SI", 2]
        and not holds_by_step["DPO", 2]
    )
    assert allocation.step_residual == pytest.approx(0.1)
    allocation, holds_by_step = holds([third, third, 0.2], [0, 1, 2])
    assert (
        not holds_by_step["SI", 3]
        and not holds_by_step["DPO", 3]
        and holds_by_step["irrevocable", 3]
    )


def test_nobody_envies_what_it_cannot_use_and_everybody_what_it_can():
    """The second user asks for one resource only, of which the first has none."""
    demand = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert envy(np.array([0.9, 0.1]), demand, ["a", "b"])[0] == 0
    demands = np.array([[1.0, 0.1], [1.0, 0.0]])
    margin, witness = envy(np.array([0.6, 0.3]), demands, ["a", "b"])
    assert margin == pytest.approx(-0.5) and witness.startswith("'b'")
    # of what it does not ask for, a user needs nothing: the first's much of the second resource
    # changes nothing
    more_demands = np.array([[0.5, 1.0], [1.0, 0.0]])
    assert envy(np.array([0.4, 0.3]), more_demands, ["a", "b"])[0] == 0


@pytest.mark.parametrize("seed", range(many(60)))
def test_properties_do_not_depend_on_the_order_of_the_table_of_users(seed):
    """Users who stand in another order arrive in the same one."""
    demands, capacities, weights = random_arrivals(seed, largest=6)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, len(demands)).astype(float)
    users = [f"u{k}" for k in range(len(demands))]
    order = rng.permutation(len(users))
    labels = [users[k] for k in order]
    in_order = Instance.from_arrays(demands, [capacities], users=users, weights=weights)
    shuffled = Instance.from_arrays(
        demands[order],
        [capacities],
        users=labels,
        weights=weights[order],
        user_attributes=pd.DataFrame({"arrival": order}, index=labels),
    )
    tables = [
        fairlp.allocate(instance, "dynamic-drf").properties() for instance in (in_order, shuffled)
    ]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def kept(result):
    table = result.properties()
    return {name: bool(rows["holds"].all()) for name, rows in table.groupby("property")}


def test_properties_see_what_is_planted():
    right = fairlp.allocate(arrivals(), "dynamic-drf")
    assert all(kept(right).values())
    _, high = planted("dynamic-drf", 1, 1.05)
    assert not kept(high)["feasible"]
    _, low = planted("dynamic-drf", 3, 0.5)
    assert not kept(low)["SI"] and not kept(low)["DPO"]
