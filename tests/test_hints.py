"""Idioms of linopy, Pyomo, CVXPY, PuLP, gurobipy and JuMP: each works, or the error says what to write here."""

import copy
import pickle

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import FairlpError
from fairlp.hints import HINTS

#: What is written elsewhere, and a part of what the error says to write here; None where it works.
IDIOMS = {
    # declaring variables
    "model.add_variables(0, 1)": "model.variable('x', n, lower=0, upper=1)",
    "model.addVar(lb=0)": "model.variable('x', n, lower=0, upper=1)",
    "model.addVars(2)": "model.variable('x', n",
    "model.addMVar(3)": "model.variable('x', n",
    "model.NumVar(0, 1, 'x')": "model.variable('x', n",
    "model.IntVar(0, 1, 'x')": "integer=True",
    "model.variable('z', n, lb=0)": "write lower=0, upper=1",
    "model.variable('z', n, ub=3)": "write lower=0, upper=1",
    "model.variable('z', n, lowBound=0)": "write lower=0, upper=1",
    "model.variable('z', n, bounds=(0, 1))": "write lower=0, upper=1",
    "model.variable('z', n, nonneg=True)": "write lower=0, upper=1",
    "model.variable('z', n, vtype='B')": "binary=True",
    "model.variable('z', n, cat='Integer')": "integer=True",
    "model.variable('z', n, domain=int)": "integer=True",
    "model.variable('z', n, within=int)": "integer=True",
    "model.variable('z', n, boolean=True)": "binary=True",
    "model.variable('z', coords=[n])": "model.variable('x', n, i)",
    "model.variable('z', dims=['n'])": "model.variable('x', n, i)",
    "model.variable('z', shape=3)": "model.variable('x', n, i)",
    "model.variable('z', n, mask=[True, False])": "write where=mask",
    "model.variable('z', n, initialize=1)": "start=",
    "model.variable('z', n, obj=1)": "model.minimize((cost * x).sum())",
    "model.variable('z', 3)": "fairlp.Index('n', labels)",
    "model.variable('z', ['ann', 'bob'])": "fairlp.Index('n', labels)",
    "model.variable(n)": "model.variable('x', n)",
    "model.variable('z', n, upper=3)": None,
    "fairlp.Var(n)": "model.variable('x', n",
    "fairlp.Variable(3)": "model.variable('x', n",
    "fairlp.Constraint(expr=x <= 1)": "model.constraint('name'",
    "fairlp.Parameter(2)": "model.parameter('d', n",
    "fairlp.Expression(expr=x)": "formulas are written",
    "fairlp.LpVariable('x', 0, 1)": "model.variable('x', n",
    "fairlp.LpVariable.dicts('x', n)": "model.variable('x', n",
    "fairlp.Binary": "binary=True",
    "fairlp.NonNegativeReals": "lower=0",
    "fairlp.GRB.BINARY": "binary=True",
    # models, sets and data
    "fairlp.LpProblem('m')": "fairlp.Model('name')",
    "fairlp.ConcreteModel()": "fairlp.Model('name')",
    "fairlp.Problem(None, [])": "fairlp.Model('name')",
    "Model()": None,
    "Model('m', sense='max')": "model.maximize(expression)",
    "fairlp.Set(initialize=[1])": "fairlp.Index('n'",
    "fairlp.RangeSet(3)": "fairlp.Index('n'",
    "fairlp.Param(n)": "model.parameter('d', n",
    "model.parameter('e', n, initialize=[1, 2])": "write values=",
    "model.parameter('e', n)": "expected",
    "model.add_parameters([1, 2])": "model.parameter('d', n",
    # constraints
    "model.add_constraints(x <= 1)": "model.constraint('name'",
    "model.addConstr(x.sum() <= 1)": "model.constraint('name'",
    "model.addConstrs(x[k] <= 1 for k in n)": "model.constraint('name'",
    "model.Add(x.sum() <= 1)": "model.constraint('name'",
    "model.constraint(x <= 1)": "model.constraint('name', relation)",
    "model.constraint('k', rule=lambda m: 3)": "model.constraint('name', x.sum(n) <= 4)",
    "model.constraint('k', expr=x <= 1)": "model.constraint('name', x.sum(n) <= 4)",
    "model.constraint('k', x <= 1, mask=[True, False])": "write where=mask",
    "model.__iadd__(x <= 1)": "model.constraint('name', relation)",
    "model.addSOS(1, [x])": "model.sos1('name'",
    "model.addGenConstrIndicator(x, 1, x)": "model.indicator('name'",
    "x < 1": "write <= or >=",
    "0 <= x <= 1": "between",
    # objectives
    "setattr(model, 'objective', x.sum())": "model.maximize(expression)",
    "setattr(model, 'sense', 'max')": "model.maximize(expression)",
    "setattr(model, 'y', 3)": "declare with .parameter, .variable",
    "model.add_objective(x.sum())": "model.maximize(expression)",
    "model.setObjective(x.sum(), 1)": "model.maximize(expression)",
    "model.minimise(x.sum())": "model.minimize(expression)",
    "model.maximize(x.sum(), sense='max')": "model.maximize(expression)",
    "model.maximize(x)": "sum over it",
    "model.maximize(x.sum())": None,
    "fairlp.Minimize(x.sum())": "model.minimize(expression)",
    "fairlp.Maximize(x.sum())": "model.maximize(expression)",
    "fairlp.Objective(expr=x)": "model.maximize(expression)",
    "fairlp.LpMaximize": "model.maximize(expression)",
    # expressions
    "sum(x)": "x.sum()",
    "sum(x[k] for k in n)": None,
    "max(x)": "x.sum()",
    "[k for k in x]": "for name in n: x[name]",
    "np.sum(x)": None,
    "np.sum(x, axis=0)": "x.sum(n)",
    "x.sum(axis=0)": "x.sum(n)",
    "x.sum(dim='n')": "x.sum(n)",
    "x.sum('n')": "x.sum(n)",
    "x.mean(axis=0)": "x.sum(n)",
    "x.shift('n')": "an Index",
    "fairlp.quicksum(x[k] for k in n)": "x.sum(n)",
    "fairlp.lpSum(x[k] for k in n)": "x.sum(n)",
    "fairlp.summation(x)": "x.sum(n)",
    "fairlp.sum_squares(x)": "x**2",
    "fairlp.norm1(x)": "abs(x)",
    "x.loc['ann']": "x['ann']",
    "x.sel(n='ann')": "x['ann']",
    "x.isel(n=0)": "x['ann']",
    "x.dims": "x.indices",
    "x.T": "x.indices",
    "x.dot([1, 2])": "data @ x",
    "[1, 2] @ x": None,
    "np.array([1, 2]) * x": None,
    "(x + 0).to_linexpr()": "model.constraint('name'",
    "x.groupby(['a', 'b']).sum()": None,
    # reading and changing variables and constraints
    "x.value": "solution.values['x']",
    "x.solution": "solution.values['x']",
    "x.X": "solution.values['x']",
    "x.varValue": "solution.values['x']",
    "(x + 0).getValue()": "solution.values['x']",
    "x.RC": "solution.reduced_costs['x']",
    "x.ub": "x.set(lower=0, upper=1)",
    "x.LB": "x.set(lower=0, upper=1)",
    "x.upBound": "x.set(lower=0, upper=1)",
    "x.setub(3)": "x.set(lower=0, upper=1)",
    "setattr(x, 'ub', 3)": "x.set(lower=0, upper=1)",
    "setattr(x, 'upper', 3)": ".set(lower=…, upper=…)",
    "setattr(x, 'value', 3)": "solution.values['x']",
    "setattr(x, 'Start', 3)": "start=",
    "x.fix(1)": None,
    "d.value": "d.set(values)",
    "setattr(d, 'value', 3)": "d.set(values)",
    "row.dual": "solution.duals['name']",
    "row.dual_value": "solution.duals['name']",
    "row.Pi": "solution.duals['name']",
    "row.slack": "solution.slack['name']",
    "row.rhs": "row.replace(relation)",
    "setattr(row, 'rhs', 3)": ".replace(relation)",
    "row.lhs": "row.relation",
    "row.deactivate()": "row.remove()",
    "(x <= 1).dual_value": "model.constraint('name'",
    "model.x": "model['x']",
    "model.total": "model['total']",
    "model.x.value": "model['x']",
    "model['x']": None,
    "model.variables['x']": None,
    "model.constraints['total']": None,
    "model.getVars()": "model.variables",
    "model.getVarByName('x')": "model.variables",
    # solving and reading
    "model.optimize()": "solution = model.solve(",
    "fairlp.optimize(model)": "solution = model.solve(",
    "fairlp.SolverFactory('highs')": "model.solve('highs')",
    "fairlp.PULP_CBC_CMD(msg=0)": "model.solve('highs')",
    "model.solve(solver_name='highs')": "model.solve('highs')",
    "model.solve(solver='highs')": None,
    "model.solve(TimeLimit=3)": "time_limit",
    "model.solve(timeLimit=3)": "time_limit",
    "model.solve(msg=0)": "verbose=True",
    "model.solve(tee=True)": "verbose=True",
    "model.solve(gapRel=0.1)": "mip_gap",
    "model.solve(options={'time_limit': 3})": "time_limit=60",
    "model.solve(warm_start=True)": "start=",
    "model.setParam('TimeLimit', 3)": "time_limit=60",
    "model.status": "solution.status",
    "model.objective_value": "solution.objective",
    "model.value": "solution.objective",
    "model.ObjVal": "solution.objective",
    "model.solution['x']": "solution.values",
    "model.dual['total']": "solution.duals",
    "fairlp.value(x)": "solution.values['x']",
    "fairlp.dual(row)": "solution.duals['name']",
    "fairlp.LpStatus[1]": "solution.status",
    "solution.value": None,
    "solution.objective_value": "solution.objective",
    "solution['x']": "solution.values['x']",
    "solution.solution": "solution.values['x']",
    "solution.get_value('x')": "solution.values['x']",
    "solution.dual": "solution.duals['name']",
    "solution.termination_condition": "solution.status",
    "solution.is_optimal": "solution.status.is_optimal",
    "assert_(solution.status == 'optimal')": None,
    "solution.values['x']['ann']": None,
    "model.computeIIS()": "model.explain()",
    "model.print_infeasibilities()": "model.explain()",
    "model.writeLP('m.lp')": "model.write('model.mps')",
    "model.to_file('m.lp')": "model.write('model.mps')",
    "model.relax()": "model.relax_integrality()",
    "model.pprint()": "print(model)",
    "model.update()": "no update is needed",
    "model.remove_constraints('total')": "model.remove('name')",
    "model.matrices": "model.compile()",
}  # fmt: skip


def assert_(value):
    """Assert, as an expression."""
    assert value


def names():
    """What an idiom may name."""
    n = Index("n", ["ann", "bob"], "user")
    model = Model("m", indices=(n,))
    x = model.variable("x", n, upper=3)
    d = model.parameter("d", n, [1, 2])
    row = model.constraint("total", (d * x).sum() <= 4)
    model.maximize(x.sum())
    return {
        **globals(),
        "model": model,
        "n": n,
        "x": x,
        "d": d,
        "row": row,
        "solution": model.solve(),
    }


@pytest.mark.parametrize("idiom", IDIOMS)
def test_an_idiom_works_or_says_what_to_write(idiom):
    remedy = IDIOMS[idiom]
    if remedy is None:
        eval(idiom, names())
        return
    with pytest.raises((FairlpError, AttributeError)) as error:
        eval(idiom, names())
    assert remedy in str(error.value)


def test_no_hint_hides_what_there_is():
    """A name of a table is none of the class itself: else its hint would never be read."""
    things = names()
    owners = {
        "fairlp": fairlp, "Model": things["model"], "Expression": things["x"] + 0, "Variable": things["x"],
        "Constraint": things["row"], "Index": things["n"], "Solution": things["solution"],
    }  # fmt: skip
    settable = {"objective", "sense", "value"}
    for owner, thing in owners.items():
        assert not (set(HINTS[owner]) & set(dir(thing))) - settable, owner


def test_what_asks_for_names_still_works():
    things = names()
    for thing in (things["model"], things["x"], things["row"], things["solution"], fairlp):
        assert not hasattr(thing, "lb") and getattr(thing, "add_constraints", None) is None
        assert not hasattr(thing, "_ipython_canary_method_should_not_exist_")
        assert "lb" not in dir(thing)
    assert things["model"].copy()["x"] is not things["x"]
    assert copy.copy(things["x"]).name == "x" and copy.deepcopy(things["model"]).name == "m"
    second = pickle.loads(pickle.dumps(things["model"]))
    assert second.solve().objective == things["solution"].objective
    assert pickle.loads(pickle.dumps(things["solution"])).status == "optimal"
    assert np.array([things["x"], things["x"]]).shape == (2,)


def test_an_attribute_without_a_hint_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'zzz'") as error:
        _ = names()["model"].zzz
    assert error.value.name == "zzz" and not isinstance(error.value, FairlpError)
    with pytest.raises(TypeError, match="variable has no keyword 'zzz'"):
        names()["model"].variable("z", zzz=3)
