"""What to write here for the words that users of other modelling tools type first.

The tools are gurobipy, PuLP, linopy, Pyomo, JuMP and CVXPY. An attribute or keyword that there is not
(:class:`.errors.Hinted`, :func:`.errors.worded`) is looked up by its name.
"""

from __future__ import annotations

#: What to write, and the names of other tools that mean it.
_NAMES = {
    "fairlp.Model('name')": "LpProblem Problem ConcreteModel",
    "model.variable('y', n, lower=0, upper=1)": "Var LpVariable addVar addVars addMVar add_variables",
    "model.variable('y', n, lower=0, upper=1); y.set(upper=2)": "lb ub LB UB lowBound upBound bounds "
    "nonneg setlb setub set_lower_bound set_upper_bound",
    "model.variable('y', n, integer=True); model.variable('z', n, binary=True)": "vtype VType cat "
    "domain within boolean GRB Binary Integers NonNegativeReals LpInteger LpBinary",
    "model.variable('y', n, where=['ann'])": "mask",
    "model.constraint('name', x.sum(n) <= 4)": "addConstr addConstrs add_constraints addConstraint "
    "add_constraint ConstraintList rule expr",
    "row.replace(x.sum() <= 3)": "rhs RHS",
    "model.sos1('name', x, n)": "addSOS",
    "z = model.variable('z', n, binary=True); model.indicator('name', z, x <= 1)": "addGenConstrIndicator",
    "model.maximize(x.sum())": "setObjective add_objective set_objective Objective Minimize Maximize "
    "LpMinimize LpMaximize modelSense sense",
    "x.sum(n)": "quicksum lpSum sum summation axis",
    "(x**2).sum()": "square sum_squares",
    "abs(x)": "abs_ norm1",
    "fairlp.power(x, 0.5)": "sqrt",
    "d @ x": "T dot multiply",
    "x * data": "shape",
    "x['ann']": "loc sel",
    "model.parameter('p', n, [1, 2])": "Param add_parameters initialize mutable",
    "fairlp.Index('n', ['ann', 'bob'])": "Set RangeSet coords dims",
    "model.solve('highs', time_limit=60)": "optimize SolverFactory solver_name setParam Params options "
    "TimeLimit timeLimit maxSeconds PULP_CBC_CMD",
    "model.solve(verbose=True)": "msg tee OutputFlag output_flag set_silent",
    "model.solve(mip_gap=0.01)": "MIPGap gapRel",
    "model.solve(start=solution)": "Start warmstart warm_start warmStart",
    "model.solve(pool=5).pool": "SolCount",
    "model.solve().values['x']": "X x varValue value solution getValue primal",
    "model.solve().objective": "ObjVal objVal objective_value",
    "model.solve().status": "Status status LpStatus termination_condition termination_status is_optimal",
    "model.solve().duals['total']": "Pi pi dual dual_value shadow_price",
    "model.solve().slack['total']": "Slack slack",
    "model.solve().reduced_costs['x']": "RC dj reduced_cost",
    "x.fix(1)": "fixValue fix_value",
    "model.remove('total')": "del_component",
    "model.write('model.mps')": "writeLP writeMPS to_file write_to_file",
    "fairlp.read_program('model.mps')": "read read_from_file",
    "model.explain()": "computeIIS compute_infeasibilities compute_conflict",
    "model.variables": "getVars all_variables",
    "model.constraints": "getConstrs",
    "model.solve()": "update",
}
HINTS = {name: f"write {code}" for code, names in _NAMES.items() for name in names.split()}
