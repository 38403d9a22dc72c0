"""The result for users who arrive: tables by step, allocations, models in files, order, horizon, refusals, the CLI."""

from __future__ import annotations

import dataclasses
import json
import time

import numpy as np
import pandas as pd
import pytest

import fairlp
from arrival_instances import random_arrivals
from cli_runner import run
from fairlp import Instance, examples, plots
from fairlp.errors import NotDefinedError, TooLargeError, UnknownNameError
from fairlp.models.files.instances import write
from profiles import many

MECHANISMS = ["dynamic-drf", "cautious-lp"]


def arrivals(*when, **more):
    """Three users of two resources, with these arrivals."""
    attributes = pd.DataFrame({"arrival": list(when)}) if when else None
    demands = [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0]]
    return Instance.from_arrays(
        demands, [[9, 18]], users=["a", "b", "c"], user_attributes=attributes, **more
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", range(many(30)))
def test_tables_are_of_one_piece(seed, mechanism):
    demands, capacities, weights = random_arrivals(seed)
    rng = np.random.default_rng(seed)
    late = pd.DataFrame({"arrival": rng.integers(0, 5, len(demands))})
    instance = Instance.from_arrays(demands, [capacities], weights=weights, user_attributes=late)
    result = fairlp.allocate(instance, mechanism, horizon=weights.sum() * 1.5)
    order = np.argsort(late["arrival"].to_numpy(), kind="stable")
    steps = result.steps
    assert list(steps.columns) == [instance.users[k] for k in order]
    assert list(steps.index) == list(range(1, len(demands) + 1))
    assert (steps.isna().to_numpy() == np.triu(np.ones(steps.shape, dtype=bool), 1)).all()
    for step in steps.index:
        row = steps.loc[step].dropna()
        allocation = result.at(step)
        assert isinstance(allocation, fairlp.Allocation) and allocation.mechanism == mechanism
        np.testing.assert_allclose(allocation.shares[row.index], row, rtol=1e-12)
        np.testing.assert_allclose(
            allocation.totals[row.index], result.tasks.loc[step].dropna(), rtol=1e-12
        )
        np.testing.assert_allclose(
            allocation.pool_utilization, result.utilization.loc[step], rtol=1e-12
        )
        assert allocation.levels.min() == pytest.approx(result.levels[step], rel=1e-12)
        assert list(allocation.instance.users) == [u for u in instance.users if u in set(row.index)]
        assert result.competitive()["sum"][step] == pytest.approx(row.sum(), rel=1e-12)
        part = result.table([step], list(row.index)[::-1])
        np.testing.assert_array_equal(part.loc[step], row[::-1])
    last = list(steps.columns)[::-2]
    np.testing.assert_array_equal(result.table(users=last), steps[last])
    for user in steps.columns:
        np.testing.assert_array_equal(result.history(user), steps[user].dropna())
    np.testing.assert_allclose(result.totals, result.at(len(demands)).totals)
    assert list(result.totals.index) == list(instance.users)
    assert result.rounds["raised"].iloc[0] == 1 and list(result.rounds["user"]) == list(
        steps.columns
    )


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ((), "abc"),
        ((1, 1, 1), "abc"),
        ((3, 2, 1), "cba"),
        ((5.5, -1, 5.5), "bac"),
        (tuple(pd.to_datetime(["2024-03-01", "2024-01-01", "2024-02-01"])), "bca"),
        ((10**30, 5, 2.5), "cba"),
        ((True, False, False), "bca"),
    ],
)
def test_order_of_arrival(when, expected):
    for mechanism in MECHANISMS:
        assert "".join(fairlp.allocate(arrivals(*when), mechanism).steps.columns) == expected


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ((1, None, 3), "arrival of user 'b' is missing"),
        ((1, 2, float("nan")), "arrival of user 'c' is missing"),
        (("1", "2", "10"), "arrival of user 'a' is the text '1'"),
        ((pd.Timestamp("2024-01-01"), 2, 3.5), "arrivals cannot be put in order"),
    ],
)
def test_bad_arrivals(when, words):
    attributes = pd.DataFrame({"arrival": list(when)}, index=list("abc"), dtype=object)
    instance = arrivals().replace(user_attributes=attributes)
    with pytest.raises(fairlp.FairlpError, match=words):
        fairlp.allocate(instance, "dynamic-drf")


@pytest.mark.parametrize("horizon", [2, 0, -1, float("nan"), float("inf"), "many", True, [3]])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_horizons(horizon, mechanism):
    with pytest.raises(fairlp.FairlpError, match="horizon is"):
        fairlp.allocate(arrivals(), mechanism, horizon=horizon)


def test_a_horizon_equal_to_the_weights_but_for_rounding():
    instance = arrivals(weights=[0.1, 0.2, 0.3])
    result = fairlp.allocate(instance, "dynamic-drf", horizon=0.6)
    assert result.available.iloc[-1] == 1.0 and "of a horizon" not in repr(result)


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (arrivals(task_limits=[np.inf, 3, np.inf]), "no task limits, and user 'b' has one"),
        (examples.wang_figure_1(), "shares one server and there are 2"),
        (arrivals(weights=np.ones((3, 2))), "one weight for each user"),
        (arrivals(rates=[[1], [2], [3]]), "rates are given"),
    ],
)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_not_defined_says_so(instance, words, mechanism):
    for ask in (fairlp.allocate, fairlp.formulate):
        with pytest.raises(NotDefinedError, match=words):
            ask(instance, mechanism)


def test_an_oversized_task_cannot_be_dropped_from_an_order_of_arrival():
    instance = Instance.from_arrays([[1], [3]], [[2]], users=["small", "large"])
    with pytest.raises(NotDefinedError, match=r"user 'large' has a task limit.*oversized='divide'"):
        fairlp.allocate(instance, "dynamic-drf", oversized="drop")
    divided = fairlp.allocate(instance, "dynamic-drf")
    np.testing.assert_allclose(divided.shares, [0.5, 0.5])
    assert any("divisible" in note for note in divided.notes)


def test_zero_demands_are_told():
    instance = Instance.from_arrays([[1, 0], [1, 1]], [[2, 2]], users=["a", "b"])
    result = fairlp.allocate(instance, "dynamic-drf")
    assert "user 'a' does not need every resource" in result.notes[0] and "note: " in str(result)
    np.testing.assert_allclose(result.shares, [0.5, 0.5])
    assert not fairlp.allocate(arrivals(), "dynamic-drf").notes


@pytest.mark.parametrize("method", ["stack", "linear", "water-filling"])
def test_options_of_solvers_are_refused_where_there_is_none(method):
    with pytest.raises(UnknownNameError, match="has no option 'threads'"):
        fairlp.allocate(arrivals(), "dynamic-drf", method=method, threads=1)
    named = fairlp.allocate(arrivals(), "dynamic-drf", threads=1)
    assert (named.method, named.solver) == ("lp", "highs") and named.gap <= 1e-9


@pytest.mark.parametrize("solver", ["highs", "scipy"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_any_solver_solves_the_steps(mechanism, solver):
    instance = examples.m_squared_plus_one(3, 1e-4)
    fast = fairlp.allocate(instance, mechanism)
    slow = fairlp.allocate(instance, mechanism, method="lp", solver=solver)
    np.testing.assert_allclose(slow.levels, fast.levels, rtol=1e-8)
    assert slow.gap <= 1e-7 and slow.prices.shape == (1, 3) and (slow.prices.to_numpy() >= 0).all()


def test_prices_are_what_one_more_unit_adds():
    instance = Instance.from_arrays([[1, 0.3], [0.4, 1], [0.9, 1]], [[5, 7]])
    result = fairlp.allocate(instance, "dynamic-drf", method="lp")
    model = result.model(3)
    for r, capacity in enumerate(instance.pool):
        program = model.compile()
        more = program.row_upper.copy()
        more[program.row_block("capacity").start + r] += 1e-4 / capacity
        gain = program.replace(row_upper=more).solve().objective - program.solve().objective
        assert gain / 1e-4 == pytest.approx(result.prices.iloc[0, r], abs=1e-7)


# models


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", range(0, 36, 5))
def test_the_model_of_each_step_gives_its_level(seed, mechanism, tmp_path):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    horizon = float(weights.sum() + 2)
    result = fairlp.allocate(instance, mechanism, horizon=horizon)
    files = result.write_models(tmp_path / "models")
    stem = {"dynamic-drf": "drf", "cautious-lp": "cautious-lp"}[mechanism]
    expected = [f"{stem}-step-{step:04d}.mps" for step in range(1, len(demands) + 1)]
    assert [path.name for path in files if path.suffix == ".mps"] == expected
    for step, name in enumerate(expected, 1):
        level = result.levels[step]
        model = fairlp.formulate(instance, mechanism, step=step, horizon=horizon)
        solution = model.solve()
        assert solution.verify().is_optimal
        assert solution.objective == pytest.approx(level, rel=1e-8)
        assert fairlp.read_program(tmp_path / "models" / name).solve().objective == pytest.approx(
            level, rel=1e-8
        )
    assert str(model).startswith(
        {"dynamic-drf": "dynamic DRF, step", "cautious-lp": "cautious LP, step"}[mechanism]
    )


def test_models_read_like_the_paper_and_hold_what_users_had():
    model = fairlp.formulate(examples.epsilon(), "dynamic-drf", step=4)
    text = str(model)
    for line in (
        "maximize  M",
        "fairness     x[n] ≥ φ[n]·M   ∀ n",
        "irrevocable  x[n] ≥ x_before[n]   ∀ n ∈ E (3 of 4)",
        "E = {user1, user2, user3}   3 of 4",
        "capacity     ∑_n d̂[n,r]·x[n] ≤ a   ∀ r",
    ):
        assert line in text
    before = fairlp.allocate(examples.epsilon(), "dynamic-drf").steps.loc[3].fillna(0)
    np.testing.assert_allclose(model.parameters["x_before"].values, before)
    assert float(model.parameters["a"].values) == 1.0
    cautious = fairlp.formulate(examples.epsilon(), "cautious-lp", step=1)
    assert (
        "∑_n d̂[n,r]·x[n] + e·M ≤ a" in str(cautious) and float(cautious.parameters["e"].values) == 3
    )
    assert fairlp.formulate(examples.epsilon(), "dynamic-drf").name == "dynamic DRF, step 4"


def test_some_models_in_another_format(tmp_path):
    result = fairlp.allocate(arrivals(3, 2, 1), "dynamic-drf")
    assert [path.name for path in result.write_models(tmp_path, [2], ".lp")] == ["drf-step-0002.lp"]
    assert list(result.model(2).parameters["phi"].indices[0]) == ["c", "b"]


@pytest.mark.parametrize("step", [0, 4, -1, 1.5, "2", True])
def test_steps_that_do_not_exist(step):
    result = fairlp.allocate(arrivals(), "dynamic-drf")
    for ask in (result.at, result.model, result.levels_at, lambda step: result.table([step])):
        with pytest.raises(UnknownNameError, match="step"):
            ask(step)
    with pytest.raises(UnknownNameError, match="step"):
        fairlp.formulate(arrivals(), "dynamic-drf", step=step)
    with pytest.raises(UnknownNameError, match="no user is called 'z'"):
        result.history("z")


# as other allocations


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_is_compared_only_when_asked(mechanism):
    instance = examples.ghodsi()
    assert mechanism not in fairlp.compare(instance).columns
    for value in ("tasks", "shares", "utilization", "summary"):
        table = fairlp.compare(instance, ["drf", mechanism], value=value)
        assert not table.isna().any().any()
    assert fairlp.compare(instance, [mechanism])[mechanism].round(9).to_dict() == {
        "A": 3.0,
        "B": 2.0,
    }


@pytest.mark.parametrize("method", ["lp", "auto"])
def test_it_is_written_and_shown(method, tmp_path):
    result = fairlp.allocate(arrivals(3, 1, 2), "dynamic-drf", method=method, horizon=5)
    data = json.loads(result.to_json(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text()) == data
    assert [step["user"] for step in data["steps"]] == ["b", "c", "a"] and data["horizon"] == 5
    assert [user["user"] for user in data["users"]] == ["a", "b", "c"]
    assert result.to_csv(tmp_path / "x.csv") == (tmp_path / "x.csv").read_text()
    table = pd.read_csv(tmp_path / "x.csv", index_col="user")
    assert table["arrived"].to_dict() == {"a": 3, "b": 1, "c": 2}
    np.testing.assert_allclose(table["share"], result.shares)
    assert "3 steps of a horizon of 5" in repr(result) and "<table" in result._repr_html_()
    assert dataclasses.replace(result, notes=("x",)).notes == ("x",)
    pytest.importorskip("matplotlib")
    plots.plot_allocation(result)
    plots.plot_shares({"dynamic": result, "drf": fairlp.allocate(arrivals(), "drf")})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_command_line(mechanism, tmp_path):
    write(arrivals(3, 1, 2), tmp_path / "x.json")
    file = str(tmp_path / "x.json")
    text = run("allocate", file, "-m", mechanism, "--option", "horizon=4").stdout
    assert "arrived" in text and "verified" in text
    data = json.loads(run("allocate", file, "-m", mechanism, "--method", "lp", "--json").stdout)
    assert data["mechanism"] == mechanism and len(data["steps"]) == 3
    for name in ("users", "tasks", "usage", "utilization", "rounds"):
        assert (
            run("allocate", file, "-m", mechanism, "--table", name, "--csv").stdout.count("\n") >= 2
        )
    assert run(
        "allocate", file, "-m", mechanism, "--method", "lp", "--table", "prices", "--csv"
    ).stdout
    shown = run("export", file, "-m", mechanism, "--option", "step=2").stdout
    assert "step 2" in shown and "irrevocable" in shown
    run(
        "export",
        file,
        "-m",
        mechanism,
        "--option",
        "step=2",
        "-o",
        str(tmp_path / "drf-step-0002.mps"),
    )
    assert (tmp_path / "drf-step-0002.mps").is_file()
    assert mechanism in run("compare", file, "-m", f"drf,{mechanism}").stdout


# large


def test_many_users_take_no_dense_table():
    n = 50_000
    rng = np.random.default_rng(0)
    instance = Instance.from_arrays(rng.uniform(0.01, 1, (n, 3)), [[n] * 3])
    begin = time.perf_counter()
    result = fairlp.allocate(instance, "dynamic-drf")
    assert result.residual < 1e-9
    np.testing.assert_allclose(result.utilization.max(axis=1), result.available, rtol=1e-9)
    assert result.competitive()["cr2"].between(1 / 3, 1 + 1e-9).all()
    assert time.perf_counter() - begin < 10
    for ask in ("steps", "tasks"):
        with pytest.raises(TooLargeError, match=r"50000 steps × 50000 users would take 18\.6 GiB"):
            getattr(result, ask)
    with pytest.raises(MemoryError):
        result.properties()
    part = result.table([1, n // 2, n], list(instance.users)[:4])
    assert part.shape == (3, 4)
    assert result.history(instance.users[0]).iloc[-1] == part.iloc[-1, 0]
    assert result.at(n // 2).totals.size == n // 2
    assert repr(result) and result.summary().shape == (n, 4)
