"""What to write here for names of other tools: linopy, Pyomo, CVXPY, PuLP, gurobipy and others.

One table, by the name of the class (``fairlp`` for the package). A class answers from it where it
is :class:`.errors.Hinted`, and a function where it is :func:`.errors.worded`.
"""

from __future__ import annotations

from collections.abc import Iterable

#: What to write, and the names of other tools that mean it.
_Entries = dict[str, str]


def _by_name(entries: _Entries) -> dict[str, str]:
    """Return other tool's name → what to write, from what to write → names."""
    return {name: hint for hint, names in entries.items() for name in names.split()}


_VALUES = (
    "write solution = model.solve() and solution.values['x'], or solution.value(2 * x) of a formula"
)
_DUALS = "write solution = model.solve() and solution.duals['name']"
_SLACKS = "write solution = model.solve() and solution.slack['name']"
_COSTS = "write solution = model.solve() and solution.reduced_costs['x']"
_OBJECTIVE = "write solution = model.solve() and solution.objective"
_STATUS = "write solution = model.solve() and solution.status"
_VARIABLE = "write x = model.variable('x', n, lower=0, upper=1)"
_CONSTRAINT = "write model.constraint('name', x.sum(n) <= 4)"
_EACH = (
    "write model.constraint('name', x <= d), a row for each label, or in a loop: for k in n: "
    "model.constraint(f'row {k}', x[k] <= 4)"
)
_MODEL = "write model = fairlp.Model('name')"
_MAXIMIZE = "write model.maximize(expression) or model.minimize(expression)"
_INTEGER = "write model.variable('x', n, integer=True), or binary=True"
_BOUNDS = "write x.lower and x.upper to read bounds, x.set(lower=0, upper=1) to change them"
_BOUND_KEYWORDS = "write lower=0, upper=1 (None: no bound)"
_INDEX = "write n = fairlp.Index('n', ['ann', 'bob'])"
_SUM = "write x.sum(n) over one index, x.sum() over all"
_SELECT = "write x['ann'], x[:, 's1'], x[['ann', 'bob']] or x['ann':'cat']"
_WHERE = "write where=mask in model.variable or model.constraint, or mask * x in a formula"
_SOLVE = "write solution = model.solve('highs', time_limit=60)"
_OPTIONS = "options are keywords: write model.solve('highs', time_limit=60, verbose=True)"
_SOLVERS = "write fairlp.solvers() for their names, and model.solve('highs')"
_START = "write model.solve(start={'x': values}), or start=solution"
_FIX = "write x.fix(values), x['ann'].fix(1), and x.unfix()"
_WRITE = "write model.write('model.mps') or model.write('model.lp')"
_READ = "write fairlp.read_program('model.mps')"
_EXPLAIN = "write model.explain()"
_PARAMETER = "write d = model.parameter('d', n, [1, 2]), and d.set([3, 4]) to change it"
_INDICES = "write x.indices"
_MASK_KEYWORD = "write where=mask, or where=['ann'] of those that exist"
_OVER = "indices come one after the other: write model.variable('x', n, i)"
_NAMES = "names come first: write model.variable('x', n), model.constraint('name', relation)"
_SENSE = "write the relation itself: model.constraint('name', x.sum(n) <= 4)"
_MOST = "write t = model.variable('t', lower=None), model.constraint('most', t >= x) and model.minimize(t)"
_LEAST = "write t = model.variable('t', lower=None), model.constraint('least', t <= x) and model.maximize(t)"
_PIECEWISE = "write y = model.piecewise('cost', x, breakpoints, values)"
_INDICATOR = "write model.indicator('name', on, x <= 4) with a binary variable"
_LOGIC = (
    "write relations of binaries: on + off >= 1 says or, on + off >= 2 and, on <= off implies, 1 - on "
    "not; model.indicator('name', on, x <= 4) switches a relation"
)
_SQUARES = (
    "write model.minimize((x**2).sum()), or of absolute values model.minimize(abs(x).sum()); squares and "
    "norms of rows stand in model.to_cvxpy()"
)
_LOGARITHM = (
    "a product of variables is not linear, its logarithm is a sum: write "
    "model.maximize(fairlp.log(x).sum())"
)
_PRIORITY = "priorities of branching stay with the solver: write highs = model.to_highs()"
_CUTS = (
    "rows are added between solves: write session = model.session(), session.solve() and "
    "model.constraint('cut', x <= 1)"
)
_PRODUCT = "write costs @ x, or (costs * x).sum(n)"
_SIZES = (
    "write len(model.variables), len(model.constraints), or model.statistics() with its elements"
)
_COLUMN = "write model.extend(p, 'new', a={'s1': 1, 's2': 0}), which adds a label and its column"
_NOT_JOINED = "formulas are not joined: write model.constraint('name', x.sum() + y.sum() <= 4), or a constraint each"
_NUMBERS_OF = "write solution = model.solve() and solution.values['x'].max(), of pandas"

HINTS: dict[str, dict[str, str]] = {
    "fairlp": _by_name(
        {
            _MODEL: "LpProblem Problem ConcreteModel AbstractModel GEKKO Container direct_model "
            "CpModel cp_model mathopt model model_builder ModelBuilder Block",
            _VARIABLE: "Var LpVariable VarList VariableList var variable Continuous continuous "
            "NumVar new_variable",
            _CONSTRAINT: "LpConstraint constraint AnonymousConstraint SOC",
            _EACH: "ConstraintList",
            "write model.sos1('name', x, n) or model.sos2('other', x, n)": "SOSConstraint SOS1 SOS2",
            _MAXIMIZE: "Minimize Maximize Objective LpMinimize LpMaximize minimize maximize "
            "LpObjective MINIMIZE MAXIMIZE objective",
            _PARAMETER: "Param",
            _INDEX: "Set RangeSet tuplelist tupledict multidict sets SetOf",
            _SUM: "quicksum lpSum sum summation sum_product Sum lpsum xsum fsum",
            _INTEGER: "Binary Integers Boolean NonNegativeIntegers LpInteger LpBinary GRB Integer Bool "
            "BINARY INTEGER IntVar BoolVar PositiveIntegers",
            _BOUND_KEYWORDS: "Reals NonNegativeReals PercentFraction UnitInterval LpContinuous "
            "CONTINUOUS Any NegativeReals PositiveReals",
            _SOLVERS: "SolverFactory available_solvers installed_solvers listSolvers getSolver "
            "PULP_CBC_CMD Optimizer Env Solver pywraplp HIGHS HiGHS HiGHS_CMD Highs highspy GUROBI "
            "GUROBI_CMD GLPK GLPK_CMD CBC COIN_CMD CPLEX CPLEX_CMD SCIP SCIP_CMD SCIP_PY GLOP PDLP CLARABEL "
            "ECOS SCS OSQP MOSEK gurobipy cplex docplex highs xpress XPRESS SolverType",
            _SOLVE: "solve optimize linprog milp optimise LinearConstraint Bounds minimize_scalar",
            _OPTIONS: "setParam settings options params set_optimizer_attribute set_silent",
            _VALUES: "value value_of",
            _DUALS: "dual shadow_price Suffix",
            _OBJECTIVE: "objective_value",
            _STATUS: "LpStatus termination_status TerminationCondition SolverStatus check_optimal_termination "
            "assert_optimal_termination OPTIMAL INFEASIBLE UNBOUNDED OptimizationStatus TerminationReason",
            _BOUNDS: "set_upper_bound set_lower_bound set_bounds",
            _FIX: "fix unfix",
            "write model.remove('name')": "delete",
            "write abs(x), in model.minimize(abs(x).sum())": "abs abs_ norm1 fabs",
            _SQUARES: "square sum_squares quad_form quad_over_lin norm norm2 sumsq pnorm ",
            "write fairlp.power(x, 0.5), in model.maximize(fairlp.power(x, 0.5).sum())": "sqrt pow",
            "write model.maximize((w * fairlp.log(x)).sum())": "nlog log1p ln",
            _PIECEWISE: "entr kl_div rel_entr exp logistic log_sum_exp huber inv_pos sin cos tan "
            "tanh inv_prod Piecewise harmonic_mean xexp",
            _MOST: "max maximum max_ norm_inf",
            _LEAST: "min min_",
            "write y = model.variable('y', n), model.constraint('positive', y >= x) and "
            "model.minimize(y.sum())": "pos",
            "write y = model.variable('y', n), model.constraint('negative', y >= -x) and "
            "model.minimize(y.sum())": "neg",
            "the sum of the 2 largest: write t = model.variable('t', lower=None), z = model.variable('z', n), "
            "model.constraint('above', z >= x - t) and model.minimize(2 * t + z.sum())": "sum_largest",
            "write None for no bound": "inf Inf Infinity INFINITY infinity",
            _PRODUCT: "dot sumproduct inner lpDot dot_product multiply matmul scalar_product",
            _NOT_JOINED: "hstack vstack concat bmat vec merge concatenate",
            _LOGIC: "and_ or_ not_ xor implies equivalent atleast exactly Disjunct Disjunction "
            "land lor lnot BooleanVar LogicalConstraint",
            _LOGARITHM: "geo_mean prod",
            "write x - x.shift(n)": "diff",
            "write x.cumsum(n)": "cumsum",
            "no transposing or reshaping is needed: write d @ x, whose indices are found by name": "reshape "
            "transpose diag trace kron",
            "an expression is the sum of its terms: write x['ann'] + 2 * x['bob']": "LinExpr QuadExpr "
            "LpAffineExpression LinearExpression AffExpr expr LinearExpr lpAffineExpression affine",
            _READ: "read_file read_mps from_mps readMPS read_lp read_model read_nl load_model "
            "read_from_file load",
            "write program = fairlp.read_program('model.mps'), for a file that the other tool wrote": "from_pyomo "
            "from_cvxpy from_linopy from_gurobipy from_pulp from_highspy",
            _WRITE: "save write write_to_file to_file",
            "write print(model)": "display pprint",
            "write model.relax_integrality()": "TransformationFactory relax relax_integrality",
            _EXPLAIN: "ConflictRefiner log_infeasible_constraints compute_conflict infeasibility "
            "write_iis",
            _COLUMN: "Column",
        }
    ),
    "numpy": _by_name(
        {
            "write model.minimize(((x - x.mean())**2).sum())": "var std nanvar nanstd",
            "write mask * x, or where=mask in model.constraint": "where compress extract select "
            "choose putmask",
            "write model.variable('x', n, lower=0, upper=1), or (x + 1).between(0, 1) in a "
            "constraint": "clip",
            _PIECEWISE: "exp exp2 expm1 sin cos tan tanh sinh cosh arctan log2 log10 log1p cbrt "
            "reciprocal sign heaviside interp",
            _INTEGER: "floor ceil round rint trunc fix around",
            _SQUARES: "norm",
            _MOST: "amax nanmax fmax",
            _LEAST: "amin nanmin fmin minimum",
            _NUMBERS_OF: "median percentile quantile sort argsort argmax argmin unique "
            "count_nonzero nonzero histogram searchsorted isnan isfinite isinf ptp",
            _NOT_JOINED: "concatenate hstack vstack stack column_stack append block tile repeat dstack",
            _LOGIC: "any all logical_and logical_or logical_not logical_xor bitwise_and bitwise_or invert",
            "write (a * x).sum(n), whose indices are found by name": "einsum tensordot kron outer",
            "write model.constraint('name', x == 1)": "isclose allclose array_equal not_equal "
            "array_equiv",
            "write x.shift(n, cyclic=True)": "roll",
            _LOGARITHM: "prod cumprod",
        }
    ),
    "Model": _by_name(
        {
            _VARIABLE: "add_variables add_variable addVar addVars addMVar add_var add_columns "
            "NumVar new_variable addVariable add_component addVariables addCol addCols addVariableMatrix "
            "continuous_var continuous_var_list continuous_var_dict continuous_var_matrix num_var "
            "add_vars new_num_var dvar addvar",
            _INTEGER: "IntVar BoolVar NewIntVar NewBoolVar addBinary addBinaries addIntegral addIntegrals "
            "binary_var binary_var_list binary_var_dict binary_var_matrix integer_var integer_var_list "
            "integer_var_dict integer_var_matrix add_binary_variable add_integer_variable new_bool_var "
            "new_int_var changeColIntegrality set_integer set_binary chgVarType",
            _CONSTRAINT: "add_constraints add_constraint addConstr addMConstr addLConstr "
            "addConstraint add_constr addRange Add subject_to add addQConstr addCons add_con "
            "add_linear_constraint addRow addRows add_rows new_constraint add_row linear_constraint "
            "add_equation constr cons st add_quadratic_constraint",
            _EACH: "addConstrs addConss add_indexed_constraint",
            _INDICATOR: "addGenConstrIndicator add_indicator add_indicator_constraint add_if_then if_then "
            "only_enforce_if OnlyEnforceIf AddImplication add_implication addConsIndicator add_equivalence",
            _LOGIC: "addGenConstrAnd addGenConstrOr AddBoolOr AddBoolAnd add_bool_or add_bool_and logical_or "
            "logical_and logical_not addConsAnd addConsOr AddExactlyOne add_exactly_one AddAtMostOne "
            "add_at_most_one",
            _MOST: "addGenConstrMax AddMaxEquality add_max_equality max addGenConstrNorm",
            _LEAST: "addGenConstrMin AddMinEquality add_min_equality min",
            "write model.sos1('name', x, n) or model.sos2('other', x, n)": "add_sos_constraints addSOS "
            "addConsSOS1 addConsSOS2 add_sos1 add_sos2 add_sos1_constraint add_sos2_constraint",
            _PIECEWISE: "addGenConstrPWL setPWLObj add_piecewise_constraints addGenConstrLog addGenConstrExp "
            "addGenConstrPow addGenConstrSin addGenConstrCos",
            "write abs(x - y), in model.minimize(abs(x - y).sum())": "addGenConstrAbs AddAbsEquality "
            "add_abs_equality abs",
            _MAXIMIZE: "add_objective setObjective set_objective minimise maximise Minimize "
            "Maximize set_objective_sense objective sense obj modelSense ModelSense "
            "objective_sense getObjective minimize_linear_objective maximize_linear_objective "
            "set_objective_coefficient setObjectiveCoefficient get_objective_expr",
            "write model.minimize([x.sum(), y.sum()]), optimised in that order": "setObjectiveN "
            "set_multi_objective minimize_multiple add_auxiliary_objective minimize_static_lex",
            "write costs.set(numbers), a parameter of the objective": "changeColCost "
            "changeColsCost chgObj",
            _PARAMETER: "add_parameters add_parameter addParameter param",
            _INDEX: "set index add_index add_set set_index sets",
            _SUM: "sum sums quicksum sum_vars",
            _SQUARES: "sumsq sum_squares",
            _PRODUCT: "dot scal_prod",
            _SOLVE: "optimize run optimise solve_model Solve solve_problem solver solver_name set_solver "
            "setSolver set_optimizer linprog",
            _OPTIONS: "setParam setParams Params params set_optimizer_attribute set_time_limit "
            "set_silent setOptionValue setRealParam setIntParam set_options solver_parameters "
            "setLogFile hideOutput set_log_output OutputFlag SetTimeLimit set_attribute",
            _STATUS: "status Status termination_condition sol_status is_optimal "
            "get_solve_status getStatus is_solved is_feasible is_infeasible infeasible getModelStatus "
            "solve_status solve_details termination_status",
            "write solution = model.solve(pool=5) and solution.pool": "SolCount getSols "
            "solution_pool",
            _OBJECTIVE: "value objective_value ObjVal objVal obj_val getObjVal get_objective_value",
            "write solution = model.solve() and solution.bound": "ObjBound objBound objective_bound "
            "getDualbound",
            "write solution = model.solve() and solution.gap": "MIPGap gap getGap mip_gap",
            "write solution = model.solve() and solution.values": "solution variable_values getAttr "
            "getVal getVals getSolution get_values variable_value X x_values primal",
            "write solution = model.solve() and solution.duals": "dual duals dual_values getDual Pi",
            "write solution = model.solve() and solution.times['solve']": "Runtime solve_time "
            "runtime getSolvingTime wall_time",
            _EXPLAIN: "computeIIS compute_infeasibilities print_infeasibilities compute_conflict "
            "feasRelax feasRelaxS compute_iis feasopt conflicts refine_conflict IISConstr getIis iis "
            "check validate check_feasibility compute_infeasible_subsystem",
            _WRITE: "to_file writeLP writeMPS write_lp write_mps write_to_file export to_mps "
            "to_lp write_file writeModel writeProblem export_as_lp export_as_mps exportModel export_model "
            "ExportModelAsLpFormat ExportModelAsMpsFormat save to_json to_netcdf to_dict toJson dump "
            "export_to_string",
            _READ: "read readModel from_file load read_mps from_dict import_model",
            "write model.variables['x'], or model.variables.values() in a loop": "getVars vars "
            "variables_list all_variables getVarByName variablesDict variable_by_name get_variable "
            "component_data_objects component_objects get_var_by_name find_component component iter_variables "
            "variables_by_name component_map decision_variables find_var_by_name lp_variables getVar",
            "write model.constraints['name'], or model.constraints.values() in a loop": "getConstrs "
            "getConstrByName all_constraints constraint_by_name get_constraint list_of_constraints "
            "get_constraint_by_name iter_constraints list_of_constraint_types getConss",
            _SIZES: "nvars ncons NumVars NumConstrs num_variables num_constraints num_vars "
            "num_constrs numVars numConstrs numVariables numConstraints number_of_variables "
            "number_of_constraints getNumVars getNumCol getNumRow nnz NumNZs num_nonzeros numCol numRow size "
            "shape stats size_metrics NumVariables NumConstraints getNVars getNConss nnzs num_cons",
            "write model.compile().is_mip": "is_mip IsMIP isMIP type is_linear is_lp problem_type",
            "write model.relax_integrality()": "relax relaxed",
            "write model.remove('name')": "remove_constraints remove_variables del_component "
            "delete unregister remove_constraint remove_variable delVar delConstr delCons "
            "deactivate remove_objective delConstrs delVars clear",
            _FIX: "fix unfix fixVar fix_variables set_fixed fixed_variables",
            "write x.set(lower=0, upper=1) or x['ann'].set(upper=0)": "set_bounds chgBounds "
            "changeColBounds changeColsBounds set_lower_bound set_upper_bound chgVarLb chgVarUb change_bounds",
            "write a coefficient as a parameter: model.constraint('k', d * x <= 4), and "
            "d.set(numbers)": "chgCoeff setCoeff set_normalized_coefficient changeCoeff "
            "set_coefficient chgCoef",
            "write row.replace(x.sum() <= 3), or a parameter d on the right and d.set(numbers)": "changeRowBounds "
            "set_normalized_rhs set_rhs chgRhs add_to_constraint addToConstraint add_to_expression",
            "write print(model), or model.statistics()": "pprint display printStats print "
            "print_information to_string summary describe info report print_solution",
            "write program = model.compile(), and program.A, program.col_lower, program.row_upper": "matrices getA "
            "get_problem_data to_matrix_form to_standard_form A b c to_matrix standard_form to_scipy "
            "objective_coefficients getCol getRow getLp presolved lp",
            "write model.name": "ModelName getProbName",
            "no update is needed; the next solve takes all changes": "update",
            "nothing is closed or reset; the next solve takes the model as it is": "dispose close reset "
            "terminate free end freeTransform",
            "write {x.name: x.shape for x in model.variables.values()}": "shapes",
            _START: "set_start_value warm_start add_mip_start setSolution setMIPStart set_start_values "
            "add_hint AddHint NumStart SetHint set_initial_solution addSol createSol add_solution_hint "
            "mip_start",
            "write model.solve(progress=print), a function that hears how far the solve is": "cbGet "
            "add_callback register_callback setCallback",
            "write model.solve(extra={'presolve': 'off'}), an option under the solver's own "
            "name": "tune presolve preprocess",
            _CUTS: "cbLazy cbCut add_lazy_constraint",
            "write x.fix(solution), and model.relax_integrality() for its duals": "fixed",
            "every objective and constraint is checked when it is declared": "is_dcp is_dpp "
            "is_convex is_dgp is_qp",
            "write model.copy()": "clone create_instance deepcopy",
            "write model.to_highs(), model.to_pyomo() or model.to_cvxpy()": "to_highspy to_gurobipy "
            "to_pulp to_linopy to_cplex to_xpress to_mosek to_gurobi to_ortools",
            _COLUMN: "add_column addColumn addColumns",
        }
    ),
    "Expression": _by_name(
        {
            _VALUES: "value solution X Xn varValue level primal val get_value getValue values "
            "Value solution_value x sol get_values",
            _COSTS: "RC rc dj reduced_cost",
            _SELECT: "loc iloc sel isel at select drop_sel drop head tail take query",
            _WHERE: "mask where fillna dropna",
            "write x.indices; beside xarray the formula comes first: x * data": "shape",
            _INDICES: "dims coords dim index ndim size sizes axes nterm labels attrs",
            _SUM: "sums quicksum",
            "a loop is over labels: write {k: x[k] for k in n}": "items keys flat "
            "iterrows iter to_dict tolist to_list",
            _PRODUCT: "dot",
            _LOGARITHM: "prod",
            "write x - x.shift(n), with where= for the rows that have both": "diff",
            "write x.shift(n, cyclic=True)": "roll",
            "write sum(x.shift(n, k) for k in range(3))": "rolling",
            "write x.groupby({'ann': 'ml', 'bob': 'web', 'cat': 'ml'}).sum()": "resample groupby_sum",
            "no transposing or reshaping is needed: write costs @ x, whose indices are found by "
            "name": "T transpose reshape flatten stack unstack expand_dims ravel broadcast_like "
            "swap_dims assign_coords reindex reindex_like set_index squeeze",
            "write x[n.alias('m'), i] for other symbols": "rename rename_dims",
            "an expression stays as it is; write model.constraint('name', relation)": "to_linexpr "
            "to_constraint copy pipe assign data",
            "write x + 1, 2 * x, x - 1, x / 2": "add mul sub div multiply subtract divide "
            "add_terms addTerms add_to_expression ",
            "write x <= 1, x >= 1, x == 1": "le ge eq lt gt ne less_equal greater_equal",
            "write x**2, abs(x) or fairlp.power(x, 0.5) in an objective": "pow abs square sqrt map "
            "apply std var",
            "write model.variable('x', n, integer=True)": "round floor ceil",
            "write x.between(0, 1), or bounds": "clip",
            _MOST: "max",
            _LEAST: "min",
            "write str(x), or print(model)": "expr expression to_frame to_polars to_dataframe to_pandas "
            "pprint display to_string ",
            "write x.degree: 0 of numbers, 1 where it is linear": "is_affine is_convex is_concave "
            "curvature is_constant is_linear is_dcp is_quadratic sign grad is_quad",
            "write model.variables or model.parameters": "parameters variables constants atoms args vars",
            "write another objective: model.minimize(2 * x.sum())": "set_value setCoeff coeffs "
            "coefficients getCoeff",
        }
    ),
    "Variable": _by_name(
        {
            _BOUNDS: "lb ub LB UB lowBound upBound bounds lowerBound upperBound setlb setub "
            "set_lower_bound set_upper_bound has_lb has_ub set_lower set_upper setLb setUb "
            "lower_bound upper_bound SetBounds",
            "write x.integer to read it, and model.variable('x', n, integer=True) to declare "
            "it": "vtype VType cat is_binary is_integer domain attributes type binary set_integer "
            "set_binary setInteger SetInteger nonneg vartype is_continuous",
            "write x.fix(values) or x['ann'].fix(1), and x.unfix()": "fixed fix_value is_fixed fixValue "
            "unfixValue isFixed fix_all unfix_all",
            _START: "start Start initial set_value set_values setInitialValue setValue VarHintVal "
            "PStart set_start_value init initialize stale hint",
            "write x.name": "varName VarName getName label",
            "write model.remove('x')": "remove delete delete_variable",
            "write a parameter of the objective, model.minimize((costs * x).sum()) and "
            "costs.set(numbers)": "obj Obj setObjCoef",
            "write x.lower, x.upper, or x.set(lower=0, upper=1)": "setAttr getAttr",
            _PRIORITY: "BranchPriority branch_priority",
        }
    ),
    "VariablePart": _by_name(
        {
            _BOUNDS: "lb ub LB UB bounds setlb setub has_lb has_ub lowBound upBound",
            "write x.fix(values) or x['ann'].fix(1), and x.unfix()": "fixed is_fixed fixValue",
            _START: "start Start set_value setInitialValue",
        }
    ),
    "ParameterPart": _by_name(
        {
            "write d.values to read and d.set(values) to change": "value val get_value getValue "
            "set_value update get_values level items keys to_frame setValue to_series to_dict x "
            "to_dataframe",
            "write d.values.max()": "max min std median",
        }
    ),
    "Constraint": _by_name(
        {
            _DUALS: "dual dual_value dual_values Pi pi shadow_price marginal DualValue getDual "
            "getDualsolLinear duals",
            _SLACKS: "slack Slack lslack uslack violation slack_value getSlack",
            "write solution = model.solve() and solution.activity['name']": "value body activity "
            "getActivity residual",
            "write row.relation": "lhs expr sign sense Sense expression coeffs coefficients vars "
            "variables left right args",
            "write row.rows, the names of its rows": "index labels shape indices coords dims keys items values",
            "write row.name": "ConstrName getName",
            "write row.replace(x.sum() <= 3), or a parameter d on the right and d.set(numbers)": "rhs RHS "
            "set_value setRHS lower upper lb ub set_rhs changeRHS modify set_lower set_upper setAttr "
            "getAttr setCoeff add_terms",
            "write row.remove(), and model.constraint to declare it anew": "activate deactivate "
            "delete drop active Lazy is_active",
            _INDICATOR: "OnlyEnforceIf only_enforce_if",
            _EXPLAIN: "IISConstr in_conflict",
        }
    ),
    "Relation": _by_name(
        {
            f"it has no numbers of its own; {_CONSTRAINT}": "dual dual_value value violation Pi name "
            "residual",
            "write relation.left and relation.right": "lhs rhs expr args",
            "write relation.comparison": "sense sign",
            "sums and labels stand inside: write model.constraint('name', x.sum() <= 1)": "sum mean sel loc",
            _INDICATOR: "OnlyEnforceIf only_enforce_if implies",
            "beside xarray the formula comes first: write x <= data": "shape",
        }
    ),
    "Index": _by_name(
        {
            "write n.labels": "values data coords ordered_data get_level_values index to_numpy",
            "write list(n)": "tolist to_list keys items",
            "write n.labels.get_loc('ann')": "get_loc ord index_of",
            "write n[0] and n[-1]": "first last at",
            "write x.shift(n), and x.shift(n, -1) for the next": "shift prev next prevw nextw",
            "write len(n)": "size shape card length count",
            "write several indices, model.variable('y', n, i), or where= for some "
            "combinations": "cross cartesian product",
            "write [k for k in n if k != 'ann'], or where=['ann']": "isin filter difference "
            "intersection union drop issubset",
            "write fairlp.Index('n', [*n, 'new'])": "add append insert remove discard",
        }
    ),
    "Solution": _by_name(
        {
            "write solution.objective": "objective_value ObjVal obj fun problem_value "
            "objective_val get_objective_value obj_val objVal ObjectiveValue opt objective_values "
            "best_feasible_objective",
            "write solution.value(x), of any formula, or solution.values['x']": "get_value getValue Value "
            "get_var_value variable_value evaluate val",
            "write solution.values['x']": "solution primal variables X primals "
            "get_values get variable_values get_primals load_vars Solution keys items "
            "getSolution col_value",
            "write solution.duals['name']": "dual Pi pi shadow_prices marginals get_duals dual_values "
            "get_dual_values row_dual dual_value",
            "write solution.slack['name']": "slacks slack_values get_slacks con ineqlin",
            "write solution.reduced_costs['x']": "rc RC get_reduced_costs reduced_cost dj",
            "write solution.status, and solution.status.is_optimal": "termination_condition "
            "is_optimal success message solver_status termination_status is_ok ok termination "
            "termination_reason solve_status infeasible is_infeasible",
            "write solution.times['solve']": "runtime Runtime solve_time solver_stats wall_time "
            "WallTime solve_details time",
            "write [solution.value(f) for f in model.objectives]": "objectives",
            "write solution.gap": "mip_gap MIPGap mip_relative_gap",
            "write solution.bound": "best_bound best_objective_bound ObjBound dual_bound objective_bound "
            "best_dual_bound BestObjectiveBound mip_dual_bound",
            "write solution.iterations": "nit itercount IterCount NodeCount nodes num_nodes node_count "
            "num_iterations mip_node_count iteration_count",
            "write solution.frame()": "to_frame to_dataframe to_pandas display print pprint summary "
            "as_df as_dict",
            "write dict(solution.values)": "to_dict",
            "write solution.frame().to_csv('solution.csv')": "to_csv write save to_json to_file "
            "export write_solution",
            "write solution.program": "model problem",
            "write solution = model.solve(pool=5) and solution.pool": "SolCount solutions result_count "
            "num_solutions",
            "write solution.infeasibility_certificate": "farkas_dual certificate dual_ray FarkasDual "
            "dual_rays",
            "write solution.unbounded_direction": "unbounded_ray ray primal_ray UnbdRay primal_rays",
            "write solution.ranges()": "sensitivity sensitivity_report lp_sensitivity_report",
            "write model.solve(log_file='solver.log')": "log solver_log",
        }
    ),
    "NamedView": _by_name(
        {
            _CONSTRAINT: "add append insert update",
            "write {x.name: x.shape for x in model.variables.values()}": "shape shapes flat nvars "
            "ncons labels",
            "write x.lower and x.upper, of x = model.variables['x']": "lower upper lb ub",
            _DUALS: "dual duals pi",
            _VALUES: "solution value",
            _OPTIONS: "timelimit mip read threads tolerances",
        }
    ),
    "BlockView": _by_name(
        {
            "write dict(solution.values)": "to_dict",
            "write solution.frame()": "to_frame to_dataframe to_pandas frame",
            "write solution.values['x']": "loc iloc sum max",
        }
    ),
    "Status": _by_name(
        {
            "write solution.status == 'optimal', or str(solution.status)": "name value code "
            "upper lower",
        }
    ),
    "variable": _by_name(
        {
            _BOUND_KEYWORDS: "lb ub low high lowBound upBound bounds nonneg neg pos lower_bound "
            "upper_bound nonpos",
            _INTEGER: "vtype cat domain within boolean type var_type is_integer is_binary",
            _OVER: "coords dims shape dim indices index over sets",
            _MASK_KEYWORD: "mask",
            "write model.solve(start={'x': values}), where it is solved": "initialize value start "
            "initial warm_start hint",
            "write model.minimize((cost * x).sum())": "obj",
            "write model.semicontinuous('name', x, 2)": "semicontinuous semicont",
            _COLUMN: "column",
            _PRIORITY: "priority branch_priority",
            "matrices that are symmetric or semidefinite stay with CVXPY: write model.to_cvxpy()": "PSD NSD "
            "symmetric hermitian complex diag",
        }
    ),
    "set": _by_name(
        {
            _BOUND_KEYWORDS: "lb ub bounds",
            "write x.set(integer=True), with lower=0, upper=1 for a binary one": "binary vtype cat domain",
        }
    ),
    "constraint": _by_name(
        {
            _CUTS: "lazy",
            _SENSE: "rule expr lhs rhs sense sign constraint lower upper body coords rel",
            _MASK_KEYWORD: "mask",
            "a row for each label is written once: write model.constraint('name', x <= d)": "foreach "
            "for_each index indices",
        }
    ),
    "parameter": _by_name(
        {
            "write values=numbers": "initialize value data",
            "every parameter can be changed: write d.set(numbers)": "mutable",
            "write default=0": "fill fill_value",
            _INDEX: "index indices dims coords shape",
        }
    ),
    "sum": _by_name({_SUM: "axis dim dims over keepdims dtype out"}),
    "shift": _by_name(
        {
            "write x.shift(t, initial=5): a number, numbers over its indices, or a variable": "fill_value "
            "default first",
            "write x.shift(t), with the Index t": "n i t periods axis dim",
        }
    ),
    "maximize": _by_name(
        {_MAXIMIZE: "sense overwrite expr rule", "an objective has no name": "name"}
    ),
    "Model constructor": _by_name(
        {
            _MAXIMIZE: "sense",
            "write fairlp.Model('name')": "force_dim_names env",
            "write model.solve('highs')": "solver solver_name optimizer",
        }
    ),
    "Index constructor": _by_name({_INDEX: "initialize values ordered dimen within doc"}),
    "solve": _by_name(
        {
            "the solver comes first: write model.solve('highs')": "solver_name optimizer cmd ",
            "write verbose=True, or log_file='solver.log'": "msg tee OutputFlag log_to_console "
            "LogToConsole display output_flag disp silent quiet log_output log logfile LogFile "
            "log_path",
            _OPTIONS: "options solver_options params parameters",
            "write start=solution, or start={'x': values}": "warmstart warm_start warmStart basis_fn "
            "mip_start initial_solution hint",
            "write mip_gap=0.01": "gapRel MIPGap ratioGap gap rel_gap mip_rel_gap fracGap "
            "relative_gap_tolerance mipgap allowableGap",
            "write time_limit=60": "maxSeconds sec tlim seconds timelimit TimeLimit timeLimit "
            "max_time max_seconds timeout time_limit_sec",
            "write threads=2": "Threads nThreads num_threads",
            "write method='ipm' or method='simplex'": "Method algorithm lp_method",
            "write iteration_limit=1000": "max_iters max_iter maxiter IterationLimit",
            "write node_limit=1000": "NodeLimit max_nodes maxNodes",
            "write primal_tolerance=1e-7, dual_tolerance=1e-7": "FeasibilityTol feasibility_tol eps "
            "OptimalityTol eps_abs tol primal_feasibility_tolerance IntFeasTol",
            "write extra={'presolve': 'off'}, an option under the solver's own name": "presolve Presolve "
            "crossover Crossover Heuristics Cuts MIPFocus presolver",
            "write progress=print, a function that hears how far the solve is": "callback cb "
            "message_callback",
            "write seed=1": "Seed random_seed randomSeed",
            "write pool=5, and solution.pool": "PoolSolutions solution_pool_size",
            "it is not needed: write solution = model.solve(), which has names, values and "
            "duals": "load_solutions symbolic_solver_labels sanitize_zeros reoptimize clean_before_solve remote "
            "enforce_dcp ignore_dpp canon_backend sanitize_infinities slice_size "
            "report_timing suffixes mip",
            "write (x**2).sum(), abs(x) or fairlp.log(x) in an objective; their kind is seen": "qcp gp",
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
    "shift": "write x.shift(t), x.shift(t, -1) for the next, x.shift(t, initial=5)",
    "cumsum": "write x.cumsum(t)",
    "groupby": "write x.groupby({'ann': 'ml', 'bob': 'web'}, 'team').sum()",
    "between": "write x.between(low, high)",
    "fix": "write x.fix(3), x.fix({'ann': 3}), x['ann'].fix(3)",
    "set": "write x.set(lower=0, upper=1), or d.set(numbers) of a parameter",
    "remove": "write model.remove('name'), one after the other",
    "replace": "write model.replace('name', x <= 3)",
    "extend": "write model.extend(p, 'new', a={'s1': 1, 's2': 0})",
    "log": "write (w * fairlp.log(x)).sum()",
    "power": "write fairlp.power(x, 0.5)",
    "Index": _INDEX,
    "Model": _MODEL,
    "Variable": f"a variable is declared by its model: {_VARIABLE}",
    "Parameter": f"a parameter is declared by its model: {_PARAMETER}",
    "Constraint": f"a constraint is declared by its model: {_CONSTRAINT}",
}


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
