"""What other modelling tools can and cannot do, as code, for the columns of docs/features.md."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

#: Tool → feature of the page → code that works in the tool, or fails where the page says – or "refused".
CLAIMS = {
    "linopy": {
        "a Series, frame": "m.add_constraints(x.sum('n') <= pd.Series(8.0, t))",
        "sparse data": "m.add_constraints(x.sum('n') <= 7, name='d', freeze=True)",
        "variables that exist": "m.add_variables(0, 1, [n, t], mask=pd.DataFrame(True, n, t))",
        "lists and slices": "m.add_constraints(x.loc['ann', :1] <= 1)",
        "groups": "x.groupby(pd.Series(['a', 'b'], n, name='team')).sum()",
        "the element before": "z - z.shift(t=1)",
        "running totals": "z.cumsum('t')",
        "means": "x.mean('n')",
        "a row with two bounds": "m.add_constraints(x.sum('n'), 'between', 1)",
        "absolute values": "abs(z)",
        "logarithms and powers": "np.log(z)",
        "strict inequalities": "z < 1",
        "convex squares": "m.add_objective((z**2).sum(), overwrite=True)",
        "products of two": "z * z",
        "sets of which": "m.add_sos_constraints(z, 1, 't'); solve(reformulate_sos=True)",
        "piecewise linear": "m.add_piecewise_formulation((z, [0, 2, 9]), (y, [0, 4, 5]))",
        "0 or at least": "m.add_variables(2, 5, name='s', semi_continuous=True); solve()",
        "other bounds": "z.update(upper=5)",
        "fix and unfix": "z.fix(1); z.unfix()",
        "remove and replace": "m.remove_constraints('c')",
        "relax integers": "k.relax()",
        "copies": "m.copy()",
        "the solver kept": "solve(); m.solver.update",
        "ranges in which": "m.solver.ranges",
        "bound and gap": "solve(); m.solver.report.dual_bound, m.solver.report.mip_gap",
        "slack and activity": "solve(); m.constraints['c'].slack",
        "why infeasible": "m.add_constraints(x.sum() >= 1e3); solve(); m.compute_infeasibilities()",
        "MPS and LP read": "linopy.read_mps",
    },
    "pyomo": {
        "matrix products": "np.ones((2, 2)) @ m.x",
        "lists and slices": "list(m.x['ann', :])",
        "groups": "m.x.groupby",
        "a row with two bounds": "m.d = pyo.Constraint(expr=(1, m.y, 8))",
        "strict inequalities": "m.d = pyo.Constraint(expr=m.y < 1)",
        "convex squares": "m.d = pyo.Constraint(expr=m.y**2 <= 1)",
        "products of two": "m.d = pyo.Constraint(expr=m.y * m.w <= 1)",
        "sets of which": "m.d = pyo.SOSConstraint(var=m.z, sos=1)",
        "piecewise linear": "m.d = pyo.Piecewise(m.y, m.w, pw_pts=[0, 2], f_rule=[0, 4], pw_constr_type='EQ')",
        "other numbers": "m.p['ann'] = 3",
        "fix and unfix": "m.y.fix(1); m.y.unfix()",
        "remove and replace": "m.del_component(m.c)",
        "relax integers": "pyo.TransformationFactory('core.relax_integer_vars').apply_to(m)",
        "copies": "m.clone()",
        "the solver kept": "from pyomo.contrib.solver.solvers.highs import Highs",
        "why infeasible": "from pyomo.contrib.iis import write_iis",
        "MPS and LP read": "m.read",
    },
    "cvxpy": {
        "matrix products": "np.ones((3, 4)) @ z",
        "sparse data": "sp.coo_array(np.eye(3, 4)) @ z",
        "variables that exist": "cp.Variable((2, 4), sparsity=[(0, 1), (0, 1)])",
        "groups": "x.groupby",
        "running totals": "cp.cumsum(z)",
        "means": "cp.mean(x)",
        "a row with two bounds": "[1 <= y <= 3]",
        "absolute values": "cp.Problem(cp.Minimize(cp.sum(cp.abs(z)))).solve()",
        "logarithms and powers": "cp.Problem(cp.Maximize(cp.log(y)), [y <= 1]).solve()",
        "strict inequalities": "y < 1",
        "convex squares": "cp.Problem(cp.Minimize((y - 1) ** 2)).solve()",
        "products of two": "cp.Problem(cp.Minimize(y * z[0])).solve()",
        "second-order": "cp.SOC(y, z)",
        "sets of which": "cp.sos1",
        "fix and unfix": "y.fix(1)",
        "slack and activity": "(z >= 1).residual",
        "MPS and LP written": "cp.Problem(cp.Minimize(y)).write",
        "why infeasible": "cp.Problem(cp.Minimize(y)).explain",
        "solution pools": "cp.Problem(cp.Minimize(y)).pool",
    },
    "pulp": {
        "strict inequalities": "x < 1",
        "products of two": "x * y",
        "convex squares": "x**2",
        "absolute values": "abs(x)",
        "groups": "x.groupby",
        "other bounds": "x.upBound = 3",
        "fix and unfix": "x.setInitialValue(1); x.fixValue(); x.unfixValue()",
        "copies": "m.copy()",
        "time and gap limits": "m.solve(pulp.HiGHS(msg=False, timeLimit=3, gapRel=0.1))",
        "slack and activity": "m.solve(pulp.HiGHS(msg=False)); m.constraints['c'].slack",
        "MPS and LP written": "m.writeMPS('m.mps'); m.writeLP('m.lp')",
        "MPS and LP read": "m.writeMPS('m.mps'); pulp.LpProblem.fromMPS('m.mps')",
        "why infeasible": "m.explain",
        "the solver kept": "m.session",
    },
}  # fmt: skip


def names(tool: str) -> dict[str, Any]:
    """Return what the code of a tool may name: a small model of the tool."""
    names = {"np": np, "pd": pd, "sp": sp}
    return names | {"linopy": _linopy, "pyomo": _pyomo, "cvxpy": _cvxpy, "pulp": _pulp}[tool]()


def _linopy() -> dict[str, Any]:
    linopy = importlib.import_module("linopy")
    m = linopy.Model()
    n, t = pd.Index(["ann", "bob"], name="n"), pd.RangeIndex(4, name="t")
    x = m.add_variables(0, 9, [n, t], name="x")
    z, y = m.add_variables(0, 9, [t], name="z"), m.add_variables(coords=[t], name="y")
    k = m.add_variables(0, 5, [n], integer=True, name="k")
    m.add_constraints(x.sum("n") <= 8, name="c")
    m.add_objective(x.sum() + z.sum(), sense="max")

    def solve(**options: Any) -> None:
        m.solve("highs", output_flag=False, **options)

    return {
        "linopy": linopy,
        "m": m,
        "n": n,
        "t": t,
        "x": x,
        "z": z,
        "y": y,
        "k": k,
        "solve": solve,
    }


def _pyomo() -> dict[str, Any]:
    pyo = importlib.import_module("pyomo.environ")
    m = pyo.ConcreteModel()
    m.n, m.t = pyo.Set(initialize=["ann", "bob"]), pyo.RangeSet(0, 3)
    m.x, m.z = pyo.Var(m.n, m.t, bounds=(0, 9)), pyo.Var(m.t, bounds=(0, 9))
    m.y, m.w = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 9))
    m.p = pyo.Param(m.n, initialize=1, mutable=True)
    m.c = pyo.Constraint(m.t, rule=lambda m, t: m.x["ann", t] + m.x["bob", t] <= 8)
    return {"pyo": pyo, "m": m}


def _cvxpy() -> dict[str, Any]:
    cp = importlib.import_module("cvxpy")
    return {"cp": cp, "x": cp.Variable((2, 4)), "z": cp.Variable(4), "y": cp.Variable()}


def _pulp() -> dict[str, Any]:
    pulp = importlib.import_module("pulp")
    m = pulp.LpProblem("m", pulp.LpMaximize)
    x, y = pulp.LpVariable("x", 0, 9), pulp.LpVariable("y", 0, 9, cat="Integer")
    m += x + y
    m += x + y <= 8, "c"
    return {"pulp": pulp, "m": m, "x": x, "y": y}
