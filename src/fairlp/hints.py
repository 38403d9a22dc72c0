"""What to write here for names that other modelling tools use: linopy, Pyomo, CVXPY, PuLP, JuMP.

One table, by the name of the class (``fairlp`` for the package). A class answers from it where it
is :class:`Hinted`, and a function where it is :func:`worded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .errors import ModelError, quoted

#: What to write, and the names of other tools that mean it.
_Entries = dict[str, str]


def _by_name(entries: _Entries) -> dict[str, str]:
    """Return other tool's name → what to write, from what to write → names."""
    return {name: hint for hint, names in entries.items() for name in names.split()}


_VALUES = "write solution = model.solve() and solution.values['x']"
_DUALS = "write solution = model.solve() and solution.duals['name']"
_SLACKS = "write solution = model.solve() and solution.slack['name']"
_COSTS = "write solution = model.solve() and solution.reduced_costs['x']"
_OBJECTIVE = "write solution = model.solve() and solution.objective"
_STATUS = "write solution = model.solve() and solution.status"
_VARIABLE = "write x = model.variable('x', n, lower=0, upper=1)"
_CONSTRAINT = "write model.constraint('name', x.sum(n) <= 4)"
_MODEL = "write model = fairlp.Model('name')"
_MAXIMIZE = "write model.maximize(expression) or model.minimize(expression)"
_INTEGER = "write model.variable('x', n, integer=True), or binary=True"
_BOUNDS = "write x.lower and x.upper to read bounds, x.set(lower=0, upper=1) to change them"
_BOUND_KEYWORDS = "write lower=0, upper=1 (None: no bound)"
_INDEX = "write n = fairlp.Index('n', ['ann', 'bob'])"
_SUM = "write x.sum(n) over one index, x.sum() over all"
_SELECT = "write x['ann'], x[:, 's1'], x[['ann', 'bob']] or x['ann':'cat']"
_WHERE = "write where=mask in model.variable or model.constraint"
_SOLVE = "write solution = model.solve('highs', time_limit=60)"
_OPTIONS = "options are keywords: model.solve('highs', time_limit=60, verbose=True)"
_START = "write model.solve(start={'x': values}), or start=solution"
_WRITE = "write model.write('model.mps') or model.write('model.lp')"
_EXPLAIN = "write model.explain()"
_PARAMETER = "write d = model.parameter('d', n, [1, 2]), and d.set([3, 4]) to change it"
_INDICES = "write x.indices"
_MASK_KEYWORD = "write where=mask"
_OVER = "indices come one after the other: model.variable('x', n, i)"
_NAMES = "names come first: model.variable('x', n), model.constraint('name', relation)"
_SENSE = "write the relation itself: model.constraint('name', x.sum(n) <= 4)"

HINTS: dict[str, dict[str, str]] = {
    "fairlp": _by_name(
        {
            _MODEL: "LpProblem Problem ConcreteModel AbstractModel GEKKO Container direct_model",
            _VARIABLE: "Var LpVariable VarList var variable",
            _CONSTRAINT: "ConstraintList LpConstraint constraint SOSConstraint AnonymousConstraint",
            _MAXIMIZE: "Minimize Maximize Objective LpMinimize LpMaximize minimize maximize "
            "LpObjective MINIMIZE MAXIMIZE objective",
            _PARAMETER: "Param",
            _INDEX: "Set RangeSet tuplelist tupledict multidict sets",
            _SUM: "quicksum lpSum lpDot sum summation sum_product Sum dot_product lpsum",
            _INTEGER: "Binary Integers Boolean NonNegativeIntegers LpInteger LpBinary GRB",
            _BOUND_KEYWORDS: "Reals NonNegativeReals PercentFraction UnitInterval LpContinuous",
            "write fairlp.solvers() for their names, and model.solve('highs')": "SolverFactory "
            "available_solvers installed_solvers listSolvers getSolver PULP_CBC_CMD Optimizer Env",
            _SOLVE: "solve optimize",
            _VALUES: "value value_of",
            _DUALS: "dual shadow_price",
            _OBJECTIVE: "objective_value",
            _STATUS: "LpStatus termination_status TerminationCondition",
            _BOUNDS: "set_upper_bound set_lower_bound set_bounds",
            "write x.fix(values) and x.unfix()": "fix unfix",
            "write model.remove('name')": "delete",
            "write abs(x)": "abs abs_ norm1",
            "write x**2 in an objective": "square sum_squares quad_form",
            "write power(x, 0.5) in an objective": "sqrt",
            "write (w * fairlp.log(x)).sum()": "geo_mean",
            "write t >= x for each element and minimize t": "max maximum max_",
            "write t <= x for each element and maximize t": "min minimum min_",
            "write None for no bound": "inf Inf Infinity INFINITY",
            "write data @ x, or (data * x).sum(n)": "dot sumproduct inner",
            "an expression is the sum of its terms: x['ann'] + 2 * x['bob']": "LinExpr QuadExpr "
            "LpAffineExpression LinearExpression AffExpr merge",
            "write fairlp.read_program('model.mps')": "read_file read_mps from_mps readMPS read_lp",
        }
    ),
    "Model": _by_name(
        {
            _VARIABLE: "add_variables add_variable addVar addVars addMVar add_var add_columns "
            "NumVar new_variable addVariable add_component",
            _INTEGER: "IntVar BoolVar NewIntVar NewBoolVar",
            _CONSTRAINT: "add_constraints add_constraint addConstr addConstrs addMConstr addLConstr "
            "addConstraint add_constr add addRange Add subject_to",
            "write model.indicator('name', on, x <= 4)": "addGenConstrIndicator add_indicator",
            "write model.sos1('name', x, n) or model.sos2": "add_sos_constraints addSOS",
            "write model.piecewise('cost', x, breakpoints, values)": "addGenConstrPWL setPWLObj "
            "add_piecewise_constraints",
            "write abs(x - y) in the objective": "addGenConstrAbs",
            _MAXIMIZE: "add_objective setObjective set_objective minimise maximise Minimize "
            "Maximize set_objective_sense setObjectiveN objective sense",
            _PARAMETER: "add_parameters add_parameter addParameter",
            _SOLVE: "optimize run optimise solve_model",
            _OPTIONS: "setParam setParams Params params set_optimizer_attribute set_time_limit "
            "set_silent",
            _STATUS: "status Status termination_condition sol_status is_optimal SolCount",
            _OBJECTIVE: "value objective_value ObjVal objVal obj_val",
            "write solution = model.solve() and solution.bound": "ObjBound",
            "write solution = model.solve() and solution.gap": "MIPGap",
            "write solution = model.solve() and solution.values": "solution variable_values getAttr",
            "write solution = model.solve() and solution.duals": "dual duals",
            _EXPLAIN: "computeIIS compute_infeasibilities print_infeasibilities compute_conflict "
            "feasRelax feasRelaxS",
            _WRITE: "to_file writeLP writeMPS write_lp write_mps write_to_file export to_mps "
            "to_lp write_file",
            "write model.variables": "getVars vars variables_list all_variables getVarByName "
            "variablesDict variable_by_name component_data_objects component_objects",
            "write model.constraints": "getConstrs getConstrByName all_constraints "
            "constraint_by_name",
            "write model.relax_integrality()": "relax",
            "write model.remove('name')": "remove_constraints remove_variables del_component "
            "delete unregister",
            "write print(model)": "pprint display printStats",
            "write model.compile(), whose .A, .col_lower and .row_upper are arrays": "matrices getA "
            "get_problem_data to_matrix_form to_standard_form",
            "write model.statistics()": "stats size_metrics nvars ncons NumVars NumConstrs",
            "no update is needed; the next solve takes all changes": "update",
            "write {x.name: x.shape for x in model.variables.values()}": "shapes",
            _START: "set_start_value warm_start",
            "every objective and constraint is checked when it is declared": "is_dcp is_dpp "
            "is_convex",
            "write model.copy()": "clone create_instance",
        }
    ),
    "Expression": _by_name(
        {
            _VALUES: "value solution X Xn varValue level primal val get_value getValue values "
            "Value solution_value",
            _COSTS: "RC rc dj reduced_cost",
            _SELECT: "loc iloc sel isel at",
            _WHERE: "mask",
            _INDICES: "dims coords dim index ndim",
            "write x.indices; beside xarray the formula comes first: x * data": "shape size",
            _SUM: "sums quicksum",
            "write data @ x, or (data * x).sum(n)": "dot",
            "write x - x.shift(n)": "diff",
            "write sum((x.shift(n, k) for k in range(3)), 0 * x)": "rolling",
            "write a formula over x.indices, which are found by name": "T transpose reshape "
            "flatten stack unstack expand_dims ravel broadcast_like",
            "an expression stays as it is; write model.constraint('name', …)": "to_linexpr "
            "to_constraint",
            "write t >= x for each element and minimize t": "max",
            "write t <= x for each element and maximize t": "min",
            "write str(x)": "expr",
        }
    ),
    "Variable": _by_name(
        {
            _BOUNDS: "lb ub LB UB lowBound upBound bounds lowerBound upperBound setlb setub "
            "set_lower_bound set_upper_bound has_lb has_ub",
            "write x.integer": "vtype VType cat is_binary is_integer domain attributes",
            "write x.fix(values) and x.unfix()": "fixed fix_value setInitialValue",
            _START: "start Start initial set_value set_values",
        }
    ),
    "Parameter": _by_name({"write d.values to read and d.set(values) to change": "value"}),
    "Constraint": _by_name(
        {
            _DUALS: "dual dual_value dual_values Pi pi shadow_price marginal",
            _SLACKS: "slack Slack lslack uslack violation",
            "write solution = model.solve() and solution.activity['name']": "value body",
            "write row.relation": "lhs expr sign sense Sense expression coeffs coefficients",
            "write row.replace(relation); a parameter in it changes numbers": "rhs RHS set_value "
            "setRHS lower upper lb ub set_rhs",
            "write row.remove(), and model.constraint to declare it anew": "activate deactivate "
            "delete",
        }
    ),
    "Relation": _by_name(
        {
            f"it has no numbers of its own; {_CONSTRAINT}": "dual dual_value value violation Pi",
            "beside xarray the formula comes first: x <= data": "shape",
        }
    ),
    "Index": _by_name(
        {
            "write n.labels": "values data coords ordered_data get_level_values index",
            "write n['label'] positions by n.labels.get_loc('label')": "get_loc ord",
            "write x.shift(n)": "shift prev next",
        }
    ),
    "Solution": _by_name(
        {
            "write solution.objective": "value objective_value ObjVal obj fun problem_value "
            "objective_val",
            "write solution.values['x']": "solution primal variables X get_value getValue primals "
            "get_values",
            "write solution.duals['name']": "dual Pi pi shadow_prices marginals get_duals",
            "write solution.slack['name']": "slacks",
            "write solution.reduced_costs['x']": "rc RC get_reduced_costs",
            "write solution.status, and solution.status.is_optimal": "termination_condition "
            "is_optimal success message solver_status termination_status is_ok ok",
            "write solution.times['solve']": "runtime Runtime solve_time solver_stats",
            "write solution.gap": "mip_gap MIPGap",
            "write solution.frame()": "to_frame to_dataframe to_pandas",
        }
    ),
    "variable": _by_name(
        {
            _BOUND_KEYWORDS: "lb ub low high lowBound upBound bounds nonneg neg pos lower_bound "
            "upper_bound",
            _INTEGER: "vtype cat domain within boolean type var_type",
            _OVER: "coords dims shape dim indices index over sets",
            _MASK_KEYWORD: "mask",
            _START: "initialize value start initial warm_start",
            "write model.minimize((cost * x).sum())": "obj",
        }
    ),
    "constraint": _by_name(
        {
            _SENSE: "rule expr lhs rhs sense sign constraint lower upper body coords",
            _MASK_KEYWORD: "mask",
        }
    ),
    "parameter": _by_name({"write values=…": "initialize value default data", _NAMES: "mutable"}),
    "sum": _by_name({_SUM: "axis dim dims over keepdims dtype out"}),
    "maximize": _by_name({_MAXIMIZE: "sense overwrite expr"}),
    "Model constructor": _by_name(
        {_MAXIMIZE: "sense", "write fairlp.Model('name')": "force_dim_names"}
    ),
    "solve": _by_name(
        {
            "the solver comes first: model.solve('highs')": "solver_name optimizer cmd",
            "write verbose=True, or log_file='solver.log'": "msg tee OutputFlag log_to_console "
            "LogToConsole display output_flag disp",
            _OPTIONS: "options solver_options params",
            _START: "warmstart warm_start warmStart basis_fn",
            "write mip_gap=0.01": "gapRel MIPGap ratioGap gap rel_gap mip_rel_gap",
            "write time_limit=60": "maxSeconds sec tlim seconds",
            "write threads=2": "Threads nThreads",
            "write model.write('model.mps')": "problem_fn keep_files keepfiles io_api keepFiles",
        }
    ),
}


#: How a function is called.
CALLS: _Entries = {
    "variable": _VARIABLE,
    "constraint": _CONSTRAINT,
    "parameter": "write d = model.parameter('d', n, [1, 2])",
    "subset": "write A = model.subset('A', (i, j), [('a', 'b'), ('b', 'c')])",
    "indicator": "write model.indicator('name', on, x <= 4)",
    "piecewise": "write y = model.piecewise('cost', x, breakpoints, values)",
    "define": "write model.define('name', formula)",
    "maximize": "write model.maximize(expression)",
    "minimize": "write model.minimize(expression)",
    "solve": _SOLVE,
    "write": "write model.write('model.mps')",
    "sum": _SUM,
    "mean": "write x.mean(n) over one index, x.mean() over all",
    "shift": "write x.shift(t), x.shift(t, -1) for the next, x.shift(t, cyclic=True)",
    "cumsum": "write x.cumsum(t)",
    "groupby": "write x.groupby({'ann': 'ml', 'bob': 'web'}, 'team').sum()",
    "between": "write x.between(low, high)",
    "fix": "write x.fix(3), x.fix({'ann': 3}), x['ann'].fix(3)",
    "set": "write x.set(lower=0, upper=1), or d.set(numbers) of a parameter",
    "log": "write (w * fairlp.log(x)).sum()",
    "power": "write fairlp.power(x, 0.5)",
    "Index": _INDEX,
    "Model": _MODEL,
    "Variable": f"a variable is declared by its model: {_VARIABLE}",
    "Parameter": f"a parameter is declared by its model: {_PARAMETER}",
    "Constraint": f"a constraint is declared by its model: {_CONSTRAINT}",
}


class NoAttributeError(ModelError, AttributeError):
    """An attribute that does not exist, with what to write in its place."""


class NoArgumentError(ModelError, TypeError):
    """A keyword that a method does not take, or a use of an object that has no meaning."""


def hint_of(owners: Iterable[str], name: str) -> str:
    """Return what to write for another tool's name; empty for a name that no table has.

    Parameters
    ----------
    owners : iterable of str
        Names of tables, in the order in which they are asked.
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> hint_of(["Variable", "Expression"], "ub")
    'write x.lower and x.upper to read bounds, x.set(lower=0, upper=1) to change them'
    """
    return next((HINTS[owner][name] for owner in owners if name in HINTS.get(owner, ())), "")


#: What Python says of a keyword that a function does not have.
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
#: Functions whose keywords are those of another one.
_LIKE = {
    "mean": "sum",
    "minimize": "maximize",
    "session": "solve",
    "sweep": "solve",
    "Model": "Model constructor",
}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def worded(function: _Function) -> _Function:
    """Return a function whose error for arguments that it does not take says what to write.

    >>> @worded
    ... def variable(name, lower=0): ...
    >>> variable("x", lb=0)
    Traceback (most recent call last):
        ...
    fairlp.hints.NoArgumentError: variable has no keyword 'lb'; write lower=0, upper=1 (None: no bound)
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # it comes from within
            is_class = function.__name__ == "__init__"
            subject = type(arguments[0]).__name__ if is_class else function.__name__
            raise NoArgumentError(_refusal(subject, str(error))) from None

    return call  # type: ignore[return-value]


def _refusal(function: str, problem: str) -> str:
    """Return what is wrong with the arguments of a call, and what to write."""
    unexpected = _UNEXPECTED.search(problem)
    how = CALLS.get(function, "help() of it lists what it takes")
    if unexpected is None:
        return f"{function}{problem.partition('()')[2] or f': {problem}'}; {how}"
    tables = [f"{function} constructor"]
    if function.islower():
        tables = [function, _LIKE.get(function, "")]
    hint = hint_of(tables, unexpected[1])
    return f"{function} has no keyword {quoted(unexpected[1])}; {hint or how}"


def refused(use: str, remedy: str) -> Callable[..., NoReturn]:
    """Return a method for what Python may ask of an object, which refuses it in words.

    Parameters
    ----------
    use : str
        What the object is not ("is not called").
    remedy : str

    Returns
    -------
    callable

    Examples
    --------
    >>> class Door:
    ...     __call__ = refused("is not called", "open it")
    ...     __repr__ = lambda self: "a door"
    >>> Door()()
    Traceback (most recent call last):
        ...
    fairlp.hints.NoArgumentError: a door is not called; open it
    """

    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise NoArgumentError(f"{self!r} {use}; {remedy}")

    return refuse


class Hinted:
    """An object that answers the names of other tools with what to write here.

    So do its public methods, where they are called with arguments that they do not take.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, worded(member))

    if not TYPE_CHECKING:  # else every attribute would be known to type checkers

        def __getattr__(self, name: str) -> Any:
            kinds = [kind.__name__ for kind in type(self).__mro__]
            hint = "" if name.startswith("__") else hint_of(kinds, name)
            subject = f"{kinds[0]!r} object has no attribute {quoted(name)}"
            if hint:
                raise NoAttributeError(f"{subject}; {hint}")
            raise AttributeError(subject, name=name, obj=self)
