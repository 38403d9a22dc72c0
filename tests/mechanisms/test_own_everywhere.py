"""Mechanisms of one's own go wherever one of fairlp's does: five of them, of all kinds, through every door."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_research
from fairlp.errors import InstanceError, NotDefinedError, UnknownNameError, UnsupportedError
from fairlp.mechanisms.table import OWN, find
from fairlp.tolerances import ROUNDING
from own_mechanisms import (
    EVERY,
    WITH_MODEL,
    half_guaranteed,
    memory_first,
    most_tasks,
    one_by_one,
    own_part,
)

#: cyd needs no memory: what counts is its share of the CPU
INSTANCE = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1], [1, 0]], [[9, 18]], users=["ann", "bob", "cyd"], resources=["cpu", "memory"]
)
SEVERAL = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1], [2, 2]],
    [[6, 9], [9, 6], [4, 0]],
    weights=[1, 2, 1],
    task_limits=[np.inf, 1.5, np.inf],
    eligible=[[1, 1, 1], [1, 1, 0], [0, 1, 1]],
)
TASKS = {
    "memory-first": [0.6, 2.4, 1.2],  # 4x/18 = y/18 = z/9, and the CPU is full
    "half-guaranteed": [4.375, 0.5, 3.125],  # bob has its half; then memory, then CPU
    "own-part": [1.5, 1.0, 3.0],  # a third of everything
    "one-by-one": [1, 2, 2],
    "most-tasks": [0, 0, 9],
}
every = pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)
with_model = pytest.mark.parametrize("row", WITH_MODEL, ids=lambda row: row.name)


@pytest.fixture(autouse=True)
def declared():
    for row in EVERY:
        find(row)


@every
def test_allocate_by_itself_and_by_name(row):
    allocation = fairlp.allocate(INSTANCE, row)
    np.testing.assert_allclose(allocation.totals, TASKS[row.name], rtol=1e-9, atol=1e-12)
    assert allocation.mechanism == row.name and row.name in fairlp.mechanisms().index
    assert fairlp.allocate(INSTANCE, row.name.upper()).totals.equals(allocation.totals)
    holds = fairlp.audit(INSTANCE, allocation, ["feasible", "Pareto-optimal"])["holds"]
    assert holds["feasible"] is True and holds["Pareto-optimal"] is (row is not own_part)
    assert row.name in repr(allocation) and str(allocation.to_dict()["mechanism"]) == row.name


@pytest.mark.parametrize("row", [memory_first, own_part, one_by_one], ids=lambda row: row.name)
def test_several_servers_weights_limits_and_placement(row):
    allocation = fairlp.allocate(SEVERAL, row)
    assert fairlp.audit(SEVERAL, allocation, ["feasible"])[
        "holds"
    ].all() and allocation.totals.iloc[1] <= 1.5 * (1 + ROUNDING)
    assert (allocation.tasks.to_numpy()[~SEVERAL.eligible] == 0).all() and (
        allocation.totals > 0
    ).all()
    if row is memory_first:
        assert allocation.method == "lp" and allocation.certify(exact=True).holds
        assert allocation.rounds["satisfied"].sum() == [SEVERAL.users[1]]


def test_what_functions_may_not_return_and_may_not_promise():
    cases = {
        "text": (
            lambda instance: "ab",
            r"returned \(a Model, or tasks by user and server\) must be numbers",
        ),
        "objects": (lambda instance: [[object()]] * 3, "returned .* must be numbers"),
        "too wide": (lambda instance: [[1, 2]] * 3, r"has shape \(3, 2\)"),
        "negative": (lambda instance: [1, -1, 0], "of user 'bob' and server .* is -1"),
    }
    for name, (function, message) in cases.items():
        with pytest.raises(InstanceError, match=message):
            fairlp.allocate(INSTANCE, fairlp.mechanism(name)(function))
        del OWN[name]
    with pytest.raises(
        UnknownNameError, match="promises of mechanism 'careless': no property is called 'envyfree'"
    ):
        fairlp.mechanism("careless", promises="envyfree")(lambda instance: 1 / 0)
    careless = fairlp.mechanism("careless")(lambda instance: 1 / 0)
    with pytest.raises(ZeroDivisionError) as raised:
        fairlp.allocate(INSTANCE, careless)
    assert raised.value.__notes__ == ["raised by the function of mechanism 'careless'"]
    del OWN["careless"]


@every
def test_validate_compares_all_ways(row):
    table = fairlp.validate(INSTANCE, row)
    assert table["agrees"].all() and len(table) == (1 if row.formulation is None else 2)


@pytest.mark.slow
def test_the_fast_method_is_the_model():
    """Filling against the leximin by HiGHS and by SciPy, on drawn instances; where it is not exact it is not taken."""
    rng = np.random.default_rng(5)
    for _ in range(25):
        n, r = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        demands = rng.integers(0, 6, (n, r))
        demands[~demands.any(axis=1), 0] = 1
        instance = fairlp.Instance.from_arrays(
            demands, rng.integers(5, 30, (1, r)), weights=rng.integers(1, 4, n)
        )
        table = fairlp.validate(instance, memory_first)
        assert table["agrees"].all() and list(table.index) == ["filling", "lp"], table
        assert fairlp.allocate(instance, memory_first).method == "filling"
    assert list(fairlp.validate(SEVERAL, memory_first).index) == ["lp", "lp, scipy"]
    with pytest.raises(NotDefinedError, match="not exact for this instance"):
        fairlp.allocate(SEVERAL, memory_first, method="filling")


def test_what_is_proved_and_what_cannot_be():
    for row in (memory_first, half_guaranteed):
        allocation = fairlp.allocate(INSTANCE, row, method="lp")
        assert (
            allocation.certify().holds
            and allocation.certify(exact=True).holds
            and allocation.gap <= 1e-12
        )
        assert allocation.prices.to_numpy().sum() > 0
        worse = fairlp.allocate(INSTANCE, row).tasks * 0.9
        findings = fairlp.audit(INSTANCE, worse, ["Pareto-optimal"])
        assert findings["holds"].tolist() == [False]
    assert "without duals" in fairlp.allocate(INSTANCE, most_tasks).unproved
    with pytest.raises(UnsupportedError, match="no linear program"):
        fairlp.allocate(INSTANCE, most_tasks).certify(exact=True)
    for row in (own_part, one_by_one):
        with pytest.raises(NotDefinedError, match="no certificate of optimality"):
            fairlp.allocate(INSTANCE, row).certify()


@with_model
def test_models_are_shown_written_and_read(row, tmp_path):
    model = fairlp.formulate(INSTANCE, row)
    assert "capacity" in str(model) and "maximize" in str(model).lower()
    for path in model.write(tmp_path / "own.mps"):
        assert path.exists()
    solution = fairlp.read_program(tmp_path / "own.mps").solve()
    assert solution.objective == pytest.approx(model.solve().objective, rel=1e-12)


@pytest.mark.slow
def test_promises_are_kept_or_found_broken():
    table = fairlp.promises(audits=12, mechanisms=EVERY)
    assert set(table.index.get_level_values(0)) == set(TASKS) and table["promised"].all()
    broken = set(table.index[table["broken"] > 0])
    # some of the promises are wrong on purpose, and two are found out each time
    assert {("half-guaranteed", "sharing incentive"), ("own-part", "Pareto-optimal")} <= broken
    assert broken <= {
        ("half-guaranteed", "sharing incentive"),
        ("own-part", "Pareto-optimal"),
        ("memory-first", "envy-free"),
        ("one-by-one", "envy-free up to one own task"),
    }
    assert table.loc[("memory-first", "Pareto-optimal"), "condition"] == "no user has a task limit"
    assert (table["audited"] == 12).all() and table.loc[
        ("own-part", "envy-free"), "source"
    ] == "folklore"


@pytest.mark.parametrize(
    ("row", "property_name"),
    [
        (memory_first, "sharing incentive"),
        (memory_first, "envy-free"),
        (half_guaranteed, "sharing incentive"),
        (own_part, "Pareto-optimal"),
        (one_by_one, "sharing incentive"),
        (most_tasks, "envy-free up to one task of the other"),
    ],
    ids=lambda parameter: getattr(parameter, "name", parameter),
)
def test_counterexamples_are_small_and_break_the_property(row, property_name):
    case = fairlp.counterexample(row, property_name, search=True, seed=1, tries=400)
    assert (
        case is not None
        and len(case.users) <= 3
        and case.name == f"{row.name} breaks {property_name}"
    )
    assert fairlp.audit(case, fairlp.allocate(case, row), [property_name])["holds"].tolist() == [
        False
    ]


def workload():
    jobs = pd.DataFrame(
        {
            "user": ["a", "b", "c"],
            "arrival": [0, 0, 30],
            "tasks": [4, 4, 2],
            "duration": 60,
            "cpu": 1,
            "memory": [1, 2, 1],
        }
    )
    return fairlp_research.simulation.Workload.of(jobs, ["cpu", "memory"])


@pytest.mark.parametrize("row", [memory_first, own_part, half_guaranteed], ids=lambda row: row.name)
def test_simulations_share_anew_at_every_event(row):
    cluster = fairlp.Instance.from_arrays([[1, 1]], [[4, 6]], resources=["cpu", "memory"])
    simulation = fairlp_research.simulation.simulate(
        cluster, workload(), row, every=10, progress=False
    )
    assert (
        row.name in fairlp_research.simulation.policies()
        and simulation.jobs["finish"].notna().all()
    )
    by_name = fairlp_research.simulation.simulate(
        cluster, workload(), row.name, every=10, progress=False
    )
    assert by_name.jobs.equals(simulation.jobs)
    # ten tasks of a minute on four CPUs take two and a half minutes at least
    assert simulation.jobs["finish"].max() >= 150 - 1e-6
