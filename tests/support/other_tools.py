"""What other modelling tools can and cannot do, as code, for the columns of docs/features.md.

Each tool runs its code in a process of its own (``python other_tools.py TOOL``): HiGHS of
PyOptInterface crashes in a process that has imported PuLP.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

#: What a tool without it calls nothing of its public names by; code of most rows that say –.
NO_NAME = {
    "groups": "named('group_?by')",
    "the element before": "named('^(shift|prev|previous|lag|next)$')",
    "running totals": "named('cum_?sum|rolling|^running')",
    "means": "named('^(mean|average)$')",
    "what two models differ in": "named('(model|problem)_?diff|^diff_?(model|problem)|^compare')",
    "ranges of the numbers": "named('statistics|coefficient_?range|coef_?range|numerics')",
    "relax integers": "named('^relax(ed)?$|relax_?int|linear_?relaxation')",
    "rows that hold where": "named('indicator|disjunct|if_?then|^implies$|on_?off')",
    "sets of which": "named('sos')",
    "piecewise linear": "named('piecewise|pwl')",
    "0 or at least": "named('semi_?cont')",
    "second-order": "named('cone$|conic|^soc')",
    "solution pools": "named('pool|n_?best|next_?best|alternative_?sol')",
    "the solver kept": "named('persistent|session|resolve|incremental')",
    "one parameter or a grid": "named('sweep|parametric_?(lp|prog)|solve_?(grid|many)')",
    "lexicographic max-min": "named('leximin|lexicographic|max_?min')",
    "columns from an oracle": "named('column_?gen|^oracle$|pricing|add_?column')",
    "callbacks for lazy": "named('callback$|lazy_?(con|cut|row)')",
    "nonlinear programs": "named('nonlinear|^nlp|^add_nl')",
    "one table": "named('to_?frame|data_?frame|to_?df')",
    "ranges in which": "named('sensitivity|ranging|basis_?range|cost_?range|rhs_?range')",
    "bound and gap": "named('(best|dual|objective)_?bound|^(mip_?|relative_?)gap$')",
    "a certificate that trusts": "named('^certif|^verify$|exact_?(sol|proof|cert)|^proof')",
    "why infeasible": "named('iis|explain|conflict|infeasibilit')",
    "MPS and LP written": "named('^write|to_?(mps|lp)|export')",
    "MPS and LP read": "named('(read|from|load|parse)_?(mps|lp|problem)|^read$')",
    "an answer read back": "named('^(from|read|load)_?(json|netcdf|solution)')",
    "parameters in an exported": "named('cvxpy')",
    "the model in another": "named('^to_(highs|gurobi|pyomo|cvxpy|mosek|copt|gams|jump)')",
}


def _without(*features: str) -> dict[str, str]:
    return {feature: NO_NAME[feature] for feature in features}


#: Tool → feature of the page → code that works in the tool, or fails where the page says – or "refused".
CLAIMS = {
    "linopy": {
        "a Series, frame": "m.add_constraints(x.sum('n') <= pd.Series(8.0, t))",
        "sparse data": "m.add_constraints(x.sum('n') <= 7, name='d', freeze=True)",
        "variables that exist": "m.add_variables(0, 1, [n, t], mask=pd.DataFrame(True, n, t))",
        "lists and slices": "m.add_constraints(x.loc[['ann', 'bob'], :1] <= 1)",
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
        "what two models differ in": (
            "from linopy.persistent import ModelDiff; other = m.copy(); "
            "other.variables['z'].update(upper=5); ModelDiff.from_models(m, other)"
        ),
        "time and gap limits": (
            "solve(time_limit=9, mip_gap=0.1); "
            "assert m.solver.solver_model.getOptionValue('mip_rel_gap')[1] == 0.1"
        ),
        "the solver kept": "solve(); m.solver.update",
        "columns from an oracle": (
            "new = m.add_variables(0, 9, name='new'); "
            "m.constraints['c'].update(lhs=m.constraints['c'].lhs + new)"
        ),
        "ranges in which": "m.solver.ranges",
        "bound and gap": "solve(); m.solver.report.dual_bound, m.solver.report.mip_gap",
        "slack and activity": "solve(); m.constraints['c'].slack",
        "why infeasible": "m.add_constraints(x.sum() >= 1e3); solve(); m.compute_infeasibilities()",
        "MPS and LP read": "linopy.read_mps",
        "an answer read back": (
            "solve(); m.to_netcdf('m.nc'); assert float(linopy.read_netcdf('m.nc').solution['z'][0]) == 9"
        ),
        "the model in another": "m.to_highspy()",
        "one table": "solve(); assert len(m.solution.to_dataframe()) == m.nvars",
        **_without(
            "second-order", "solution pools", "one parameter or a grid", "lexicographic max-min",
            "callbacks for lazy", "nonlinear programs", "a certificate that trusts",
            "parameters in an exported",
        ),
    },
    "pyomo": {
        "a Series, frame": "assert str((pd.Series([8.0, 9, 1, 2]) * m.z)[3]) == '2.0*z[3]'",
        "matrix products": "np.ones((3, 4)) @ m.z",
        "sparse data": (
            "import pyomo.kernel as kernel; v = kernel.variable_list(kernel.variable() for _ in range(4)); "
            "kernel.matrix_constraint(sp.csr_matrix(np.eye(3, 4)), ub=np.ones(3), x=v, sparse=True)"
        ),
        "lists and slices": "list(m.x['ann', :])",
        "the element before": "m.d = pyo.Constraint([1, 2], rule=lambda m, t: m.z[t] - m.z[m.t.prev(t)] <= 2)",
        "a row with two bounds": "m.d = pyo.Constraint(expr=(1, m.y, 8))",
        "strict inequalities": "m.d = pyo.Constraint(expr=m.y < 1)",
        "convex squares": "m.d = pyo.Constraint(expr=m.y**2 <= 1)",
        "products of two": "m.d = pyo.Constraint(expr=m.y * m.w <= 1)",
        "sets of which": "m.d = pyo.SOSConstraint(var=m.z, sos=1)",
        "rows that hold where": "from pyomo.gdp import Disjunct, Disjunction",
        "piecewise linear": "m.d = pyo.Piecewise(m.y, m.w, pw_pts=[0, 2], f_rule=[0, 4], pw_constr_type='EQ')",
        "0 or at least": (
            "from pyomo.gdp import Disjunction; m.d = Disjunction(expr=[[m.w == 0], [m.w >= 2]]); "
            "pyo.TransformationFactory('gdp.bigm').apply_to(m)"
        ),
        "second-order": "import pyomo.kernel as kernel; kernel.conic.primal_exponential.as_domain(1, 2, 3)",
        "other numbers": "m.p['ann'] = 3",
        "fix and unfix": "m.y.fix(1); m.y.unfix()",
        "remove and replace": "m.del_component(m.c)",
        "relax integers": "pyo.TransformationFactory('core.relax_integer_vars').apply_to(m)",
        "copies": "m.clone()",
        "the solver kept": "from pyomo.contrib.solver.solvers.highs import Highs",
        "solution pools": "from pyomo.contrib.alternative_solutions import enumerate_linear_solutions",
        "columns from an oracle": "pyo.SolverFactory('gurobi_persistent').add_column",
        "why infeasible": "from pyomo.contrib.iis import write_iis",
        "MPS and LP read": "named('(read|from|load|parse)_?(mps|lp|problem)')",
        "an answer read back": (
            "m.o = pyo.Objective(expr=m.y); answer = pyo.SolverFactory('appsi_highs').solve(m); "
            "answer.write(filename='r.json', format='json'); "
            "from pyomo.opt import SolverResults; SolverResults().read(filename='r.json', format='json')"
        ),
        "the model in another": "m.o = pyo.Objective(expr=m.y); m.write('m.gms')",
        "one parameter or a grid": "from pyomo.util.subsystems import ParamSweeper",
        **_without(
            "groups", "running totals", "means", "lexicographic max-min", "a certificate that trusts",
            "parameters in an exported",
        ),
        "one table": "named('to_?frame|to_?df')",
        "what two models differ in": "named('(model|problem)_?diff|^diff_?(model|problem)|compare_?models')",
        "ranges in which": "named('ranging|basis_?range|cost_?range|rhs_?range')",
    },
    "cvxpy": {
        "matrix products": "np.ones((3, 4)) @ z",
        "sparse data": "sp.coo_array(np.eye(3, 4)) @ z",
        "variables that exist": "cp.Variable((2, 4), sparsity=[(0, 1), (0, 1)])",
        "running totals": "cp.cumsum(z)",
        "means": "cp.mean(x)",
        "a row with two bounds": "[1 <= y <= 3]",
        "absolute values": "cp.Problem(cp.Minimize(cp.sum(cp.abs(z)))).solve()",
        "logarithms and powers": "cp.Problem(cp.Maximize(cp.log(y)), [y <= 1]).solve()",
        "strict inequalities": "y < 1",
        "convex squares": "cp.Problem(cp.Minimize((y - 1) ** 2)).solve()",
        "products of two": "cp.Problem(cp.Minimize(y * z[0])).solve()",
        "rows that hold where": "cp.logic.implies(cp.Variable(boolean=True), z <= 1)",
        "second-order": "cp.SOC(y, z)",
        "other bounds": (
            "u = cp.Parameter(value=1); v = cp.Variable(bounds=[0, u]); "
            "problem = cp.Problem(cp.Maximize(v)); problem.solve(solver='HIGHS'); u.value = 2; "
            "assert problem.solve(solver='HIGHS') == 2"
        ),
        "fix and unfix": "named('^(un)?fix$')",
        "remove and replace": (
            "problem = cp.Problem(cp.Maximize(y), [y <= 3, y <= 1]); problem.solve(solver='HIGHS'); "
            "problem.constraints.pop(); assert problem.solve(solver='HIGHS') == 3"
        ),
        "copies": (
            "import copy; problem = cp.Problem(cp.Maximize(y), [y <= 3]); "
            "twin = copy.deepcopy(problem); twin.solve(solver='HIGHS'); assert y.value is None"
        ),
        "the model printed": "assert 'subject to' in str(cp.Problem(cp.Maximize(y), [y <= 3]))",
        "time and gap limits": (
            "k = cp.Variable(integer=True); "
            "cp.Problem(cp.Maximize(k), [k <= 3]).solve(solver='HIGHS', time_limit=9, mip_gap=0.1)"
        ),
        "the solver kept": (
            "q = cp.Parameter(4, value=[1.0, 2, 3, 4]); "
            "problem = cp.Problem(cp.Minimize(cp.sum_squares(z - q)), [z >= 2]); "
            "problem.solve(solver='OSQP', warm_start=True); "
            "assert 'OSQP' in problem._solver_cache  # its solvers look there at the next solve"
        ),
        "nonlinear programs": (
            "problem = cp.Problem(cp.Minimize(cp.log(y) + y * z[0]), [y >= 1]); "
            "assert problem.is_dnlp() and not problem.is_dcp() and not problem.is_dqcp()"
        ),
        "slack and activity": "(z >= 1).residual",
        "bound and gap": (
            "k = cp.Variable(integer=True); problem = cp.Problem(cp.Maximize(k), [2 * k <= 5]); "
            "problem.solve(solver='HIGHS'); problem.solver_stats.extra_stats.mip_dual_bound"
        ),
        "MPS and LP written": (
            "v = cp.Variable(name='v'); problem = cp.Problem(cp.Maximize(v), [v <= 3]); "
            "problem.solve(solver='HIGHS', write_model_file='m.mps', write_model_to_file=True); "
            "import pathlib; assert ' v ' in pathlib.Path('m.mps').read_text()"
        ),
        "why infeasible": "from cvxpy.settings import XPRESS_IIS",
        **_without(
            "groups", "sets of which", "0 or at least", "relax integers", "what two models differ in",
            "solution pools", "one parameter or a grid", "lexicographic max-min",
            "columns from an oracle", "callbacks for lazy", "one table", "ranges in which",
            "a certificate that trusts", "MPS and LP read", "an answer read back",
            "the model in another",
        ),
        "ranges of the numbers": "named('statistics|coefficient_?range|coef_?range')",
    },
    "pulp": {
        "a Series, frame": "pd.Series({'ann': 8.0, 'bob': 9.0}) <= pulp.LpVariable.dicts('d', ['bob', 'ann'])",
        "matrix products": "np.ones((2, 2)) @ pulp.LpVariable.dicts('d', range(2))",
        "sparse data": "sp.coo_array(np.eye(2)) @ pulp.LpVariable.dicts('d', range(2))",
        "lists and slices": "pulp.LpVariable.dicts('d', ['ann', 'bob'])[['ann', 'bob']]",
        "a row with two bounds": (
            "low = pulp.LpProblem('low', pulp.LpMinimize); low += x; low += (1 <= x <= 3); "
            "low.solve(pulp.HiGHS(msg=False)); assert x.value() == 1"
        ),
        "absolute values": "abs(x)",
        "logarithms and powers": "np.log(x)",
        "strict inequalities": "x < 1",
        "convex squares": "x**2",
        "products of two": "x * y",
        "0 or at least": (
            "s = pulp.LpVariable('s', 2, 5, cat='SemiContinuous'); low = pulp.LpProblem('low'); "
            "low += 1 * s; low.solve(pulp.HiGHS(msg=False)); assert s.value() == 0"
        ),
        "other numbers": (
            "m.constraints['c'].changeRHS(5); m.solve(pulp.HiGHS(msg=False)); assert m.objective.value() == 5"
        ),
        "other bounds": "x.upBound = 3",
        "fix and unfix": "x.setInitialValue(1); x.fixValue(); x.unfixValue()",
        "remove and replace": (
            "del m.constraints['c']; m.solve(pulp.HiGHS(msg=False)); assert m.objective.value() == 18"
        ),
        "relax integers": (
            "m += 2 * y <= 5; m += x <= 0; m.solve(pulp.HiGHS(msg=False, mip=False)); "
            "assert m.objective.value() == 2.5"
        ),
        "copies": "m.copy()",
        "time and gap limits": "m.solve(pulp.HiGHS(msg=False, timeLimit=3, gapRel=0.1))",
        "the solver kept": "pulp.GUROBI.actualResolve",
        "callbacks for lazy": "assert 'callback' in inspect.signature(pulp.GUROBI.actualSolve).parameters",
        "slack and activity": "m.solve(pulp.HiGHS(msg=False)); m.constraints['c'].slack",
        "MPS and LP written": "m.writeMPS('m.mps'); m.writeLP('m.lp')",
        "MPS and LP read": "m.writeMPS('m.mps'); pulp.LpProblem.fromMPS('m.mps')",
        "an answer read back": (
            "m.solve(pulp.HiGHS(msg=False)); m.to_json('m.json'); "
            "variables, problem = pulp.LpProblem.from_json('m.json'); "
            "assert variables['x'].value() + variables['y'].value() == 8"
        ),
        "the model in another": "m.solve(pulp.HiGHS(msg=False)); m.solverModel.getNumCol()",
        **_without(
            "groups", "the element before", "running totals", "means", "rows that hold where",
            "piecewise linear", "second-order", "what two models differ in", "ranges of the numbers",
            "solution pools", "one parameter or a grid", "lexicographic max-min",
            "columns from an oracle", "nonlinear programs", "one table", "ranges in which",
            "bound and gap", "a certificate that trusts", "parameters in an exported",
        ),
        "why infeasible": "named('iis|explain|conflict')",
    },
    "pyoptinterface": {
        "a Series, frame": "pd.Series({('ann', 0): 1.0}) * x",
        "matrix products": "np.ones((3, 2)) @ m.add_m_variables((2, 4), lb=0)",
        "sparse data": (
            "v = m.add_m_variables(4, lb=0); "
            "m.add_m_linear_constraints(sp.csr_array(np.eye(3, 4)), v, poi.Leq, np.ones(3))"
        ),
        "variables that exist": (
            "v = poi.make_tupledict(range(2), range(2), "
            "rule=lambda n, i: m.add_variable() if n == i else None); assert len(v) == 2"
        ),
        "lists and slices": "assert len(list(x.select('ann', '*'))) == 4",
        "a sum over": "m.add_linear_constraint(poi.quicksum(x.select('ann', '*')), poi.Geq, 1)",
        "a row with two bounds": "m.add_linear_constraint(x['ann', 0] + x['bob', 0], (1, 8))",
        "absolute values": "from pyoptinterface.nl import abs",
        "logarithms and powers": "from pyoptinterface.nl import log, pow",
        "integer and binary": "m.add_variable(domain=poi.VariableDomain.Binary)",
        "strict inequalities": "k < 1",
        "convex squares": (
            "m.set_objective(k * k - 2 * k, poi.ObjectiveSense.Minimize); m.set_variable_attribute("
            "k, poi.VariableAttribute.Domain, poi.VariableDomain.Continuous); m.optimize()"
        ),
        "products of two": "k * x['ann', 0]",
        "sets of which": "from pyoptinterface import gurobi; gurobi.Model.add_sos_constraint",
        "0 or at least": (
            "s = m.add_variable(lb=2, ub=5, domain=poi.VariableDomain.SemiContinuous); "
            "m.set_objective(1 * s, poi.ObjectiveSense.Minimize); m.optimize(); assert m.get_value(s) == 0"
        ),
        "second-order": "from pyoptinterface import mosek; mosek.Model.add_second_order_cone_constraint",
        "other numbers": "m.set_normalized_rhs(c, 5); m.set_objective_coefficient(k, 3)",
        "other bounds": "m.set_variable_bounds(k, 0, 3)",
        "fix and unfix": "m.set_variable_bounds(k, 1, 1); m.set_variable_bounds(k, 0, 5)",
        "remove and replace": "m.delete_constraint(c)",
        "relax integers": (
            "m.set_variable_attribute(k, poi.VariableAttribute.Domain, poi.VariableDomain.Continuous)"
        ),
        "copies": "import copy; copy.deepcopy(m)",
        "the model printed": "assert m.pprint(2 * k) == '2*k'",
        "another solver": "from pyoptinterface import copt, gurobi",
        "time and gap limits": (
            "m.set_model_attribute(poi.ModelAttribute.TimeLimitSec, 9.0); "
            "m.set_model_attribute(poi.ModelAttribute.RelativeGap, 0.1)"
        ),
        "a start point": "m.set_variable_attribute(k, poi.VariableAttribute.PrimalStart, 1.0)",
        "the solver kept": "m.optimize(); m.set_variable_bounds(k, 0, 3); m.optimize(); assert m.get_value(k) == 3",
        "columns from an oracle": (
            "new = m.add_variable(lb=0); m.set_normalized_coefficient(c, new, 1.0); "
            "m.set_objective_coefficient(new, 9.0)"
        ),
        "callbacks for lazy": "from pyoptinterface import gurobi; gurobi.Model.cb_add_lazy_constraint",
        "nonlinear programs": "from pyoptinterface import gurobi; gurobi.Model.add_nl_constraint",
        "values and duals": "m.optimize(); x.map(m.get_value); m.get_constraint_dual(c)",
        "slack and activity": "m.optimize(); m.get_constraint_primal(c)",
        "bound and gap": "poi.ModelAttribute.ObjectiveBound, poi.ModelAttribute.RelativeGap",
        "why infeasible": "poi.ConstraintAttribute.IIS",
        "MPS and LP written": "m.write('m.mps'); m.write('m.lp')",
        **_without(
            "groups", "the element before", "running totals", "means", "rows that hold where",
            "piecewise linear", "what two models differ in", "ranges of the numbers", "solution pools",
            "one parameter or a grid", "lexicographic max-min", "one table", "ranges in which",
            "a certificate that trusts", "MPS and LP read", "an answer read back",
            "parameters in an exported", "the model in another",
        ),
    },
    "pyoframe": {
        "a Series, frame": "m.d = m.x.sum('n') <= pd.Series(8.0, pd.RangeIndex(4, name='t'), name='v')",
        "matrix products": "np.ones((2, 4)) @ m.z",
        "sparse data": (
            "a = pf.Param({'t': [0, 3], 'a': [1.0, 2.0]}); m.d = (a * m.z.drop_extras()).sum() <= 3"
        ),
        "variables that exist": "m.v = pf.Variable(pl.DataFrame({'n': ['ann'], 't': [0]}))",
        "lists and slices": (
            "m.d = m.x.filter(pl.col('n').is_in(['ann', 'bob']), pl.col('t') < 2) <= 1"
        ),
        "a sum over": "m.d = m.x.sum('t') >= 1",
        "groups": (
            "teams = pl.DataFrame({'n': ['ann', 'bob'], 'team': ['a', 'a']}); "
            "m.d = m.x.map(teams) <= 5; assert m.d.dimensions == ['t', 'team']"
        ),
        "the element before": "m.d = m.z.next('t') - m.z.drop_extras() <= 2",
        "running totals": "m.d = m.z.to_expr().rolling_sum('t', 4) <= 9",
        "means": "m.x.mean('n')",
        "a row with two bounds": "m.x.between(1, 8)",
        "absolute values": "abs(m.z)",
        "logarithms and powers": "np.log(m.z)",
        "integer and binary": "m.v = pf.Variable(vtype='binary')",
        "strict inequalities": "m.z < 1",
        "convex squares": "m.z**2",
        "products of two": "m.z * m.k",
        "0 or at least": "m.v = pf.Variable(lb=2, ub=5, vtype='semicontinuous')",
        "other numbers": "m.optimize(); m.c.update(m.x.sum('n') <= 3); m.optimize()",
        "other bounds": "m.k.attr.UpperBound = 3; m.optimize(); assert m.k.solution == 3",
        "fix and unfix": "m.k.attr.LowerBound = 1; m.k.attr.UpperBound = 1; m.k.attr.LowerBound = 0",
        "remove and replace": "del m.c",
        "relax integers": (
            "m.k.attr.Domain = importlib.import_module('pyoptinterface').VariableDomain.Continuous"
        ),
        "copies": "import copy; copy.deepcopy(m)",
        "the model printed": "m.c.to_str()",
        "another solver": "pf.Model(solver='highs')",
        "time and gap limits": "m.attr.TimeLimitSec = 9.0; m.attr.RelativeGap = 0.1; m.optimize()",
        "a start point": "m.k.attr.PrimalStart = 1; m.optimize()",
        "the solver kept": (
            "m.optimize(); m.k.attr.UpperBound = 3; m.optimize(); assert m.k.solution == 3"
        ),
        "columns from an oracle": (
            "m.d = m.k <= 4; m.optimize(); m.v = pf.Variable(lb=0); "
            "m.d.update(m.k + m.v <= 4); m.maximize += 2 * m.v; m.optimize()"
        ),
        "values and duals": "m.optimize(); m.x.solution, m.c.dual",
        "slack and activity": "m.optimize(); m.c.attr.Primal",
        "bound and gap": "importlib.import_module('pyoptinterface').ModelAttribute.ObjectiveBound",
        "why infeasible": "m.compute_IIS",
        "MPS and LP written": "m.write('m.mps'); m.write('m.lp')",
        "the model in another": "m.poi",
        **_without(
            "rows that hold where", "sets of which", "piecewise linear", "second-order",
            "what two models differ in", "ranges of the numbers", "solution pools",
            "one parameter or a grid", "lexicographic max-min", "callbacks for lazy",
            "nonlinear programs", "ranges in which", "a certificate that trusts", "MPS and LP read",
            "an answer read back", "parameters in an exported",
        ),
        "one table": "named('to_?frame|to_?df')",
    },
}  # fmt: skip


@functools.cache
def outcomes(tool: str) -> dict[str, str]:
    """Return by feature what stopped the code of a tool (empty: it worked), from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        process = subprocess.run(
            [sys.executable, __file__, tool],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    answers: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    return answers


def _run(tool: str) -> dict[str, str]:
    """Run all code of a tool, each on a model of its own."""
    answers: dict[str, str] = {}
    names(tool)
    _public_names(tool)  # before code imports more of the tool
    for feature, code in CLAIMS[tool].items():
        try:
            exec(code, names(tool))
        except (NameError, SyntaxError, ModuleNotFoundError):
            raise  # a fault of the code, which says nothing of the tool
        except Exception as error:
            answers[feature] = f"{type(error).__name__}: {error}"
        else:
            answers[feature] = ""
    return answers


def names(tool: str) -> dict[str, Any]:
    """Return what the code of a tool may name: a small model of the tool."""
    models = {
        "linopy": _linopy,
        "pyomo": _pyomo,
        "cvxpy": _cvxpy,
        "pulp": _pulp,
        "pyoptinterface": _pyoptinterface,
        "pyoframe": _pyoframe,
    }
    tools = {"np": np, "pd": pd, "sp": sp, "importlib": importlib, "inspect": inspect}
    return tools | models[tool]() | {"named": lambda words: _named(tool, words)}


def _named(tool: str, words: str) -> list[str]:
    """Return the public functions, classes and methods of a tool whose name has the words.

    Raises
    ------
    LookupError
        If there is none.
    """
    matches = sorted(name for name in _public_names(tool) if re.search(words, name, re.IGNORECASE))
    if not matches:
        raise LookupError(f"{tool} has no public name with {words}")
    return matches


@functools.cache
def _public_names(tool: str) -> frozenset[str]:
    public: set[str] = set()
    for module_name, module in list(sys.modules.items()):
        package, *below = module_name.split(".")
        is_public = not any(name.startswith("_") or name in ("tests", "test") for name in below)
        if package != tool or not is_public:
            continue
        for name, value in list(vars(module).items()):
            is_own = str(getattr(value, "__module__", "")).split(".")[0] == tool
            if name.startswith("_") or not is_own or not callable(value):
                continue
            public.add(name)
            if inspect.isclass(value):
                public |= {attribute for attribute in dir(value) if not attribute.startswith("_")}
    return frozenset(public)


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


def _pyoptinterface() -> dict[str, Any]:
    poi = importlib.import_module("pyoptinterface")
    m = importlib.import_module("pyoptinterface.highs").Model()
    m.set_model_attribute(poi.ModelAttribute.Silent, True)
    x = poi.make_tupledict(["ann", "bob"], range(4), rule=lambda n, t: m.add_variable(lb=0, ub=9))
    k = m.add_variable(lb=0, ub=5, domain=poi.VariableDomain.Integer, name="k")
    c = m.add_linear_constraint(poi.quicksum(x.select("*", 0)), poi.Leq, 8, name="c")
    m.set_objective(poi.quicksum(x) + 1.0 * k, poi.ObjectiveSense.Maximize)
    return {"poi": poi, "m": m, "x": x, "k": k, "c": c}


def _pyoframe() -> dict[str, Any]:
    pf, pl = importlib.import_module("pyoframe"), importlib.import_module("polars")
    m = pf.Model(solver="highs")
    m.attr.Silent = True
    n, t = pf.Set(n=["ann", "bob"]), pf.Set(t=range(4))
    m.x, m.z = pf.Variable(n, t, lb=0, ub=9), pf.Variable(t, lb=0, ub=9)
    m.k = pf.Variable(lb=0, ub=5, vtype="integer")
    m.c = m.x.sum("n") <= 8
    m.maximize = m.x.sum() + m.z.sum() + m.k
    return {"pf": pf, "pl": pl, "m": m}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\n" + json.dumps(_run(sys.argv[1])))
