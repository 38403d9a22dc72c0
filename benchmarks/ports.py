"""The same models in other tools and here: statements of code, and that the optima agree.

    python benchmarks/ports.py [tools]

The models are the kind that each tool's own tutorial begins with. Statements are counted from the
data to the answer, however the formatter breaks their lines. linopy, PyOptInterface and Pyoframe are
an extra (``pip install "fairlp[bench]"``); of a tool that is not installed only the statements are
counted.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pandas as pd

from fairlp import Index, Model

# PuLP: beer from breweries to bars (its transportation problem); PyOptInterface and Pyoframe as well.

SUPPLY = pd.Series({"A": 1000, "B": 4000})
DEMAND = pd.Series({"1": 500, "2": 900, "3": 1800, "4": 200, "5": 700})
COSTS = pd.DataFrame([[2, 4, 5, 2, 1], [3, 1, 3, 2, 3]], SUPPLY.index, DEMAND.index)


def transport_in_pulp() -> float:
    import pulp

    problem = pulp.LpProblem("beer", pulp.LpMinimize)
    routes = [(w, b) for w in SUPPLY.index for b in DEMAND.index]
    x = pulp.LpVariable.dicts("route", routes, lowBound=0)
    problem += pulp.lpSum(x[w, b] * COSTS.loc[w, b] for w, b in routes)
    for w in SUPPLY.index:
        problem += pulp.lpSum(x[w, b] for b in DEMAND.index) <= SUPPLY[w], f"supply_{w}"
    for b in DEMAND.index:
        problem += pulp.lpSum(x[w, b] for w in SUPPLY.index) >= DEMAND[b], f"demand_{b}"
    problem.solve(pulp.PULP_CBC_CMD(msg=False))
    return pulp.value(problem.objective)


def transport_in_pyoptinterface() -> float:
    import pyoptinterface as poi
    from pyoptinterface import highs

    model = highs.Model()
    x = poi.make_tupledict(
        SUPPLY.index, DEMAND.index, rule=lambda w, b: model.add_variable(lb=0, name=f"{w}_{b}")
    )
    for w in SUPPLY.index:
        model.add_linear_constraint(poi.quicksum(x.select(w, "*")), poi.Leq, SUPPLY[w])
    for b in DEMAND.index:
        model.add_linear_constraint(poi.quicksum(x.select("*", b)), poi.Geq, DEMAND[b])
    model.set_objective(poi.quicksum(COSTS.loc[w, b] * x[w, b] for w, b in x))
    model.optimize()
    return model.get_model_attribute(poi.ModelAttribute.ObjectiveValue)


def transport_in_pyoframe() -> float:
    import pyoframe as pf

    costs = pf.Param(COSTS.rename_axis("w").reset_index().melt("w", var_name="b"))
    model = pf.Model(solver="highs")
    model.x = pf.Variable(costs, lb=0)
    model.supply = model.x.sum("b") <= pf.Param(SUPPLY.rename_axis("w").rename("supply"))
    model.demand = model.x.sum("w") >= pf.Param(DEMAND.rename_axis("b").rename("demand"))
    model.minimize = (costs * model.x).sum()
    model.optimize()
    return model.objective.value


def transport() -> float:
    w, b = Index("w", SUPPLY.index), Index("b", DEMAND.index)
    model = Model("beer", indices=(w, b))
    x = model.variable("route", w, b)
    model.constraint("supply", x.sum(b) <= SUPPLY)
    model.constraint("demand", x.sum(w) >= DEMAND)
    model.minimize((COSTS * x).sum())
    return model.solve().objective


# Pyomo: which warehouses to open (its first integer program).

DISTANCES = pd.DataFrame(
    [[1956, 1606, 1410, 330], [1096, 1792, 531, 567], [485, 2322, 324, 1236]],
    ["Harlingen", "Memphis", "Ashland"],
    ["NYC", "LA", "Chicago", "Houston"],
)


def warehouses_in_pyomo() -> float:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.N = pyo.Set(initialize=list(DISTANCES.index))
    model.M = pyo.Set(initialize=list(DISTANCES.columns))
    model.d = pyo.Param(model.N, model.M, initialize=lambda model, n, m: DISTANCES.loc[n, m])
    model.x = pyo.Var(model.N, model.M, bounds=(0, 1))
    model.y = pyo.Var(model.N, within=pyo.Binary)
    model.cost = pyo.Objective(
        expr=sum(model.d[n, m] * model.x[n, m] for n in model.N for m in model.M)
    )
    model.served = pyo.Constraint(
        model.M, rule=lambda model, m: sum(model.x[n, m] for n in model.N) == 1
    )
    model.open = pyo.Constraint(
        model.N, model.M, rule=lambda model, n, m: model.x[n, m] <= model.y[n]
    )
    model.most = pyo.Constraint(expr=sum(model.y[n] for n in model.N) <= 2)
    pyo.SolverFactory("appsi_highs").solve(model)
    return pyo.value(model.cost)


def warehouses() -> float:
    n, m = Index("n", DISTANCES.index), Index("m", DISTANCES.columns)
    model = Model("warehouses", indices=(n, m))
    x, y = model.variable("x", n, m), model.variable("y", n, binary=True)
    model.constraint("served", x.sum(n) == 1)
    model.constraint("open", x <= y)
    model.constraint("most", y.sum(n) <= 2)
    model.minimize((DISTANCES * x).sum())
    return model.solve().objective


# CVXPY: a line through points, by least absolute deviations, with weights that are no less than 0
# and add up to 1.

DRAW = np.random.default_rng(0)
POINTS = pd.DataFrame(DRAW.normal(size=(30, 4)), columns=["a", "b", "c", "d"])
VALUES = POINTS @ [0.5, 0.3, 0.2, 0.0] + DRAW.laplace(0, 0.1, 30)


def regression_in_cvxpy() -> float:
    import cvxpy as cp

    w = cp.Variable(4, nonneg=True)
    problem = cp.Problem(
        cp.Minimize(cp.norm1(POINTS.to_numpy() @ w - VALUES.to_numpy())), [cp.sum(w) == 1]
    )
    problem.solve(solver="HIGHS")
    weights = pd.Series(w.value, POINTS.columns)
    assert len(weights) == 4
    return problem.value


def regression() -> float:
    k, f = Index("k", POINTS.index), Index("f", POINTS.columns)
    model = Model("line", indices=(k, f))
    w, a = model.variable("w", f), model.parameter("a", (k, f), POINTS)
    model.constraint("one", w.sum() == 1)
    model.minimize(abs((a * w).sum(f) - VALUES).sum())
    return model.solve().objective


# linopy: generators that follow a load, with ramps and a store.

LOAD = pd.Series([4.0, 5, 8, 9, 6, 4], pd.RangeIndex(6, name="t"))
PLANTS = pd.DataFrame(
    {"cost": [10.0, 50.0], "most": [6.0, 9.0], "ramp": [1.0, 9.0]},
    pd.Index(["coal", "gas"], name="g"),
)


def dispatch_in_linopy() -> float:
    import linopy

    model = linopy.Model()
    power = model.add_variables(lower=0, coords=[PLANTS.index, LOAD.index], name="power")
    store = model.add_variables(lower=0, upper=3, coords=[LOAD.index], name="store")
    model.add_constraints(power <= PLANTS["most"].to_xarray(), name="most")
    ramp = PLANTS["ramp"].to_xarray()
    model.add_constraints(power - power.shift(t=1) <= ramp, name="ramp_up")
    model.add_constraints(power - power.shift(t=1) >= -ramp, name="ramp_down")
    model.add_constraints(
        power.sum("g") - (store - store.shift(t=1)) == LOAD.to_xarray(), name="load"
    )
    model.add_objective((power * PLANTS["cost"].to_xarray()).sum())
    model.solve(solver_name="highs", output_flag=False)
    return float(model.objective.value)


def dispatch() -> float:
    g, t = Index("g", PLANTS.index), Index("t", LOAD.index)
    model = Model("dispatch", indices=(g, t))
    power, store = model.variable("power", g, t), model.variable("store", t, upper=3)
    model.constraint("most", power <= PLANTS["most"])
    model.constraint("ramp", (power - power.shift(t)).between(-PLANTS["ramp"], PLANTS["ramp"]))
    model.constraint("load", power.sum(g) - (store - store.shift(t)) == LOAD)
    model.minimize((PLANTS["cost"] * power).sum())
    return model.solve().objective


PAIRS: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
    "pulp": (transport_in_pulp, transport),
    "pyomo": (warehouses_in_pyomo, warehouses),
    "cvxpy": (regression_in_cvxpy, regression),
    "linopy": (dispatch_in_linopy, dispatch),
    "pyoptinterface": (transport_in_pyoptinterface, transport),
    "pyoframe": (transport_in_pyoframe, transport),
}


def statements(function: Callable[[], float]) -> int:
    """Return the statements of a function's body; a loop is one, and so is each statement in it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - 1


def compared(tool: str) -> str:
    """Return the line of a tool: statements and optima, or that it is not installed."""
    theirs, ours = PAIRS[tool]
    counts = f"{tool:15}{statements(theirs):4} statements, fairlp{statements(ours):4}; "
    if importlib.util.find_spec(tool) is None:
        return counts + "not installed"
    return counts + f"objective {theirs():.9g}, fairlp {ours():.9g}"


def main() -> None:
    """Print the table, each tool in a process of its own: HiGHS of PyOptInterface crashes beside PuLP."""
    if tools := sys.argv[1:]:
        print("\n".join(compared(tool) for tool in tools))
        return
    for tool in PAIRS:
        subprocess.run([sys.executable, __file__, tool], check=True)


if __name__ == "__main__":
    main()
