"""Compile the DRFH LP: fairlp beside hand-written SciPy assembly, CVXPY, linopy and Pyomo. Solver time apart.

    python benchmarks/compile_drfh.py [users] [servers] [resources]

Then a transport plan of 400 × 400 that is handed to HiGHS, with names and without, beside arrays by
hand, linopy, PyOptInterface and Pyoframe, in CPU seconds. Everyone builds the same program (the
nonzeros are compared) from the same arrays; medians of five runs (Pyomo: three). The other tools are
an extra (``pip install "fairlp[bench]"``); what is not installed is left out.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from measure import console, machine, median_seconds, show

import fairlp


def data(users: int, servers: int, resources: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    demands, capacities = (
        rng.uniform(0.1, 1, (users, resources)),
        rng.uniform(1, 10, (servers, resources)),
    )
    pool = capacities.sum(axis=0)
    share = demands / pool
    return share / share.max(axis=1, keepdims=True), capacities / pool


def by_hand(d: np.ndarray, c: np.ndarray) -> sp.csc_array:
    """What an expert writes: index arithmetic and one COO matrix."""
    (n, r), k = d.shape, len(c)
    pair = np.arange(n * k, dtype=np.int32)
    rows = (pair[:, None] % k) * r + np.arange(r, dtype=np.int32)
    values = np.repeat(d, k, axis=0)
    row = np.concatenate([rows.ravel(), k * r + pair // k, k * r + np.arange(n, dtype=np.int32)])
    column = np.concatenate([np.repeat(pair, r), pair, np.full(n, n * k, dtype=np.int32)])
    value = np.concatenate([values.ravel(), np.ones(n * k), np.full(n, -1.0)])
    return sp.coo_array((value, (row, column)), shape=(k * r + n, n * k + 1)).tocsc()


def with_fairlp(instance: fairlp.Instance) -> fairlp.Program:
    return fairlp.formulate(instance, "drfh").compile()


def with_cvxpy(d: np.ndarray, c: np.ndarray) -> int:
    import cvxpy as cp

    g, t = cp.Variable((len(d), len(c)), nonneg=True), cp.Variable()
    problem = cp.Problem(cp.Maximize(t), [g.T @ d <= c, cp.sum(g, axis=1) >= t])
    return int(problem.get_problem_data(cp.HIGHS)[0]["A"].nnz)


def with_linopy(d: np.ndarray, c: np.ndarray) -> int:
    import linopy
    import xarray as xr

    model = linopy.Model()
    demand, capacity = xr.DataArray(d, dims=("n", "r")), xr.DataArray(c, dims=("i", "r"))
    coords = [np.arange(len(d)), np.arange(len(c))]
    g = model.add_variables(lower=0, coords=coords, dims=("n", "i"), name="g")
    t = model.add_variables(name="t")
    model.add_constraints((g * demand).sum("n") <= capacity, name="capacity")
    model.add_constraints(g.sum("i") - t >= 0, name="fairness")
    model.add_objective(1 * t, sense="max")
    return int(model.matrices.A.nnz)


def with_pyomo(d: np.ndarray, c: np.ndarray) -> int:
    import pyomo.environ as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    (n, r), k = d.shape, len(c)
    demand, capacity = d.tolist(), c.tolist()
    model = pyo.ConcreteModel()
    model.g, model.t = pyo.Var(range(n), range(k), bounds=(0, None)), pyo.Var()
    model.capacity = pyo.Constraint(
        range(k),
        range(r),
        rule=lambda m, i, j: (
            pyo.quicksum(demand[u][j] * m.g[u, i] for u in range(n)) <= capacity[i][j]
        ),
    )
    model.fairness = pyo.Constraint(
        range(n), rule=lambda m, u: pyo.quicksum(m.g[u, i] for i in range(k)) >= m.t
    )
    model.objective = pyo.Objective(expr=model.t, sense=pyo.maximize)
    return int(LinearStandardFormCompiler().write(model, mixed_form=True).A.nnz)


def transport(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> fairlp.Model:
    """Return the model of a cheapest transport from warehouses to shops."""
    n_warehouses, n_shops = costs.shape
    w = fairlp.Index("w", [f"warehouse{k}" for k in range(n_warehouses)], "warehouse")
    s = fairlp.Index("s", [f"shop{k}" for k in range(n_shops)], "shop")
    model = fairlp.Model("transport", indices=(w, s))
    x = model.variable("x", w, s)
    model.constraint("supply", x.sum(s) <= model.parameter("a", (w,), supply))
    model.constraint("demand", x.sum(w) >= model.parameter("b", (s,), demand))
    model.minimize((model.parameter("c", (w, s), costs) * x).sum(w, s))
    return model


def transport_by_hand(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> Any:
    """Return the same in HiGHS from arrays, without names."""
    n_warehouses, n_shops = costs.shape
    warehouse, shop = np.divmod(np.arange(costs.size, dtype=np.int32), n_shops)
    n_rows = n_warehouses + n_shops
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        costs.size,
        n_rows,
        2 * costs.size,
        1,
        1,
        0.0,
        costs.ravel(),
        np.zeros(costs.size),
        np.full(costs.size, np.inf),
        np.append(np.full(n_warehouses, -np.inf), demand),
        np.append(supply, np.full(n_shops, np.inf)),
        np.arange(0, 2 * costs.size + 1, 2, dtype=np.int32),
        np.column_stack([warehouse, n_warehouses + shop]).ravel(),
        np.ones(2 * costs.size),
        np.zeros(costs.size, dtype=np.int32),
    )
    return highs


def transport_with_linopy(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> Any:
    """Return the same in HiGHS by linopy, without names (``set_names=False``)."""
    import linopy
    import xarray as xr

    model = linopy.Model()
    coords = [np.arange(n) for n in costs.shape]
    x = model.add_variables(lower=0, coords=coords, dims=("w", "s"), name="x")
    model.add_constraints(x.sum("s") <= xr.DataArray(supply, dims="w"), name="supply")
    model.add_constraints(x.sum("w") >= xr.DataArray(demand, dims="s"), name="demand")
    model.add_objective((x * xr.DataArray(costs, dims=("w", "s"))).sum())
    return linopy.io.to_highspy(model, set_names=False)


def transport_with_pyoptinterface(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> Any:
    """Return the same in HiGHS by PyOptInterface, without names, as its documentation writes sums."""
    import pyoptinterface as poi
    from pyoptinterface import highs

    model = highs.Model()
    model.set_model_attribute(poi.ModelAttribute.Silent, True)
    warehouses, shops = range(len(supply)), range(len(demand))
    x = poi.make_tupledict(warehouses, shops, rule=lambda w, s: model.add_variable(lb=0))
    for w in warehouses:
        model.add_linear_constraint(poi.quicksum(x.select(w, "*")), poi.Leq, supply[w])
    for s in shops:
        model.add_linear_constraint(poi.quicksum(x.select("*", s)), poi.Geq, demand[s])
    model.set_objective(
        poi.quicksum(costs[w, s] * x[w, s] for w in warehouses for s in shops),
        poi.ObjectiveSense.Minimize,
    )
    return model


def transport_with_pyoframe(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> Any:
    """Return the same in HiGHS by Pyoframe, without names."""
    import polars as pl
    import pyoframe as pf

    warehouse, shop = np.divmod(np.arange(costs.size), len(demand))
    routes = pl.DataFrame({"w": warehouse, "s": shop, "cost": costs.ravel()})
    model = pf.Model(solver="highs")
    model.attr.Silent = True
    model.x = pf.Variable(routes[["w", "s"]], lb=0)
    least = pl.DataFrame({"s": np.arange(len(demand)), "demand": demand})
    most = pl.DataFrame({"w": np.arange(len(supply)), "supply": supply})
    model.supply = model.x.sum("s") <= most
    model.demand = model.x.sum("w") >= least
    model.minimize = (routes * model.x).sum()
    return model


def size_of(model: Any) -> tuple[int, int]:
    """Return the columns and rows of a model in HiGHS, whichever tool holds it."""
    if isinstance(model, highspy.Highs):
        return model.getNumCol(), model.getNumRow()
    import pyoptinterface as poi

    of_pyoframe = hasattr(model, "poi")  # it stands on PyOptInterface
    raw = model.poi if of_pyoframe else model
    columns = raw.number_of_variables() - of_pyoframe  # one column of it stands for the number 1
    return columns, raw.number_of_constraints(poi.ConstraintType.Linear)


def hand_over(n_warehouses: int = 400, n_shops: int = 400) -> None:
    """Print the CPU seconds from numbers to a loaded HiGHS, and how often fairlp's go into them."""
    rng = np.random.default_rng(0)
    costs = rng.uniform(1, 10, (n_warehouses, n_shops))
    numbers = (costs, rng.uniform(10, 20, n_warehouses), rng.uniform(1, 9, n_shops))
    ways = {
        "arrays by hand": lambda: transport_by_hand(*numbers),
        "fairlp, to_highs(names=False)": lambda: transport(*numbers).to_highs(names=False),
        "fairlp, to_highs()": lambda: transport(*numbers).to_highs(),
        "linopy, without names": lambda: transport_with_linopy(*numbers),
        "PyOptInterface, without names": lambda: transport_with_pyoptinterface(*numbers),
        "Pyoframe, without names": lambda: transport_with_pyoframe(*numbers),
    }
    seconds: dict[str, float] = {}
    missing: dict[str, str] = {}
    for way, function in ways.items():
        try:
            seconds[way] = median_seconds(function, clock=process_time)
        except ImportError as error:
            missing[way] = f"{error.name} is not installed"
            continue
        assert size_of(function()) == (costs.size, n_warehouses + n_shops), way
    named = seconds["fairlp, to_highs()"]
    rows = [[way, f"{figure:.4f}", f"{figure / named:.1f}"] for way, figure in seconds.items()]
    rows += [[way, "", reason] for way, reason in missing.items()]
    columns = ["", "CPU seconds", "ratio to to_highs()"]
    show(f"A transport plan of {n_warehouses} × {n_shops}, handed to HiGHS", columns, rows)


def main() -> None:
    sizes = [int(value) for value in sys.argv[1:]] + [500, 500, 3][len(sys.argv) - 1 :]
    rng = np.random.default_rng(0)
    users, servers, resources = sizes
    demands = rng.uniform(0.1, 1, (users, resources))
    instance = fairlp.Instance.from_arrays(demands, rng.uniform(1, 10, (servers, resources)))
    d, c = data(*sizes)
    console.print(
        machine(
            "fairlp", "numpy", "scipy", "cvxpy", "linopy", "pyomo", "pyoptinterface", "pyoframe"
        )
    )
    program = with_fairlp(instance)
    hand = by_hand(d, c)
    assert program.A.nnz == hand.nnz and np.array_equal(program.A.indices, hand.indices)
    assert abs(program.A - hand).max() < 1e-12
    baseline = median_seconds(lambda: by_hand(d, c))
    rows = [["SciPy by hand", f"{baseline:.4f}", "1.0", str(hand.nnz)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, runs in (
            ("fairlp (formulate + compile)", lambda: with_fairlp(instance).A.nnz, 5),
            ("linopy", lambda: with_linopy(d, c), 5),
            ("CVXPY (get_problem_data)", lambda: with_cvxpy(d, c), 5),
            ("Pyomo (standard form)", lambda: with_pyomo(d, c), 3),
        ):
            try:
                seconds = median_seconds(function, runs)
            except ImportError as error:
                rows.append([name, "", "", f"{error.name} is not installed"])
                continue
            rows.append([name, f"{seconds:.4f}", f"{seconds / baseline:.1f}", str(function())])
    show(
        f"Compile DRFH, {users} × {servers} × {resources}",
        ["", "seconds", "ratio to by hand", "nonzeros"],
        rows,
    )
    hand_over()


if __name__ == "__main__":
    main()
