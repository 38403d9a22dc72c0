"""Build, pass, solve and read back apart: every back end, beside the same tools used directly.

    python benchmarks/solvers.py [--sizes 50,200,500] [--data uniform,lognormal] [--limit 120]
    [--only highs,scipy]

The DRFH program of n users × n servers × 3 resources. Uniform data is the easy case (the optimum
equals the aggregate bound); log-normal demands and capacities are the realistic and hard one.
Build, pass and read are ours. Every answer is judged by its certificate (relative primal and dual
residual and gap); the solver is not trusted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from measure import console, machine, show

import fairlp
from fairlp.errors import FairlpError
from fairlp.models.programs import backends
from fairlp.models.programs.program import Program

#: A back end that needed longer than this at one size is left out at the next.
PATIENCE = 20.0


def instance(kind: str, n: int, resources: int = 3, seed: int = 0) -> fairlp.Instance:
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return fairlp.Instance.from_arrays(
            rng.uniform(0.1, 1, (n, resources)), rng.uniform(1, 10, (n, resources))
        )
    return fairlp.Instance.from_arrays(
        rng.lognormal(0, 1, (n, resources)), rng.lognormal(3, 1, (n, resources))
    )


def by_fairlp(name: str, cluster: fairlp.Instance, limit: float) -> list[str]:
    begin = perf_counter()
    model = fairlp.formulate(cluster, "drfh")
    program = model.compile()
    built = perf_counter() - begin
    honours = getattr(backends.find_backend(name), "honours", {"time_limit"})
    options = fairlp.Options(time_limit=limit if "time_limit" in honours else None)
    solution = backends.solve(program, name, options)
    total = perf_counter() - begin
    solve = solution.times["solve"]
    certificate = solution.verify() if solution.x is not None else None
    proof = "—"
    if certificate is not None and certificate.gap is not None:
        proof = f"{max(certificate.primal_residual, certificate.dual_residual or 0, certificate.gap):.0e}"
    objective = f"{solution.objective:.10g}" if solution.x is not None else "—"
    how = (
        f"{solution.method}: {solution.status.termination.value}"
        if solution.method
        else str(solution.status)
    )
    return [f"{built:.3f}", f"{total - built - solve:.3f}", f"{solve:.2f}", objective, proof, how]


def directly(tool: str, program: Program, limit: float) -> list[str]:
    begin = perf_counter()
    built, solve, objective = DIRECT[tool](program, limit)
    rest = perf_counter() - begin - built - solve
    return [
        f"{built:.3f}",
        f"{rest:.3f}",
        f"{solve:.2f}",
        f"{objective:.10g}",
        "—",
        "used directly",
    ]


def raw_highspy(p: Program, limit: float) -> tuple[float, float, float]:
    import highspy

    begin = perf_counter()
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", limit)
    highs.passModel(
        p.n_columns, p.n_rows, p.A.nnz, 1, -1, p.offset, p.c, p.col_lower, p.col_upper, p.row_lower, p.row_upper,
        p.A.indptr.astype(np.int32), p.A.indices.astype(np.int32), p.A.data, p.integrality.astype(np.int32),
    )  # fmt: skip
    built = perf_counter() - begin
    begin = perf_counter()
    highs.run()
    return built, perf_counter() - begin, highs.getInfo().objective_function_value


def raw_cvxpy(p: Program, limit: float) -> tuple[float, float, float]:
    import cvxpy as cp

    begin = perf_counter()
    x = cp.Variable(p.n_columns, nonneg=True)
    rows = p.A.tocsr()
    split = p.row_block("capacity").stop
    limits = [rows[:split] @ x <= p.row_upper[:split], rows[split:] @ x >= p.row_lower[split:]]
    problem = cp.Problem(cp.Maximize(p.c @ x), limits)
    problem.get_problem_data(cp.CLARABEL)
    built = perf_counter() - begin
    problem.solve(solver=cp.CLARABEL, time_limit=limit)
    return built, float(problem.solver_stats.solve_time or 0), float(problem.value)


def raw_pulp(p: Program, limit: float) -> tuple[float, float, float]:
    import pulp

    begin = perf_counter()
    problem = pulp.LpProblem("drfh", pulp.LpMaximize)
    x = [pulp.LpVariable(f"x{j}", 0) for j in range(p.n_columns)]
    problem += pulp.lpSum(x[j] for j in np.flatnonzero(p.c))
    rows = p.A.tocsr()
    for i in range(p.n_rows):
        places = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[places].tolist(), rows.data[places].tolist(), strict=True)
        body = pulp.LpAffineExpression([(x[j], value) for j, value in pairs])
        problem += (
            (body <= p.row_upper[i]) if np.isfinite(p.row_upper[i]) else (body >= p.row_lower[i])
        )
    built = perf_counter() - begin
    begin = perf_counter()
    problem.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=limit))
    return built, perf_counter() - begin, float(pulp.value(problem.objective))


def raw_linopy(p: Program, limit: float) -> tuple[float, float, float]:
    import linopy
    import pandas as pd
    import xarray as xr

    begin = perf_counter()
    n, k = p.column_block("g").shape
    block = p.row_block("capacity")
    capacity = p.row_upper[block.slice].reshape(k, -1)
    first = p.A[: block.stop, np.arange(n) * k].toarray().reshape(k, -1, n)[0]
    model = linopy.Model()
    names = [pd.RangeIndex(n, name="n"), pd.RangeIndex(k, name="i")]
    g, t = model.add_variables(lower=0, coords=names, name="g"), model.add_variables(name="t")
    demand = xr.DataArray(first.T, dims=("n", "r"))
    model.add_constraints(
        (g * demand).sum("n") <= xr.DataArray(capacity, dims=("i", "r")), name="capacity"
    )
    model.add_constraints(g.sum("i") - t >= 0, name="fairness")
    model.add_objective(1 * t, sense="max")
    built = perf_counter() - begin
    begin = perf_counter()
    model.solve("highs", io_api="direct", time_limit=limit, log_to_console=False)
    return built, perf_counter() - begin, float(model.objective.value)


def raw_pyomo(p: Program, limit: float) -> tuple[float, float, float]:
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    begin = perf_counter()
    rows = p.A.tocsr()
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(p.n_columns), bounds=(0, None))
    x = list(model.x.values())

    def row(_: Any, i: int) -> Any:
        places = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[places].tolist(), rows.data[places].tolist(), strict=True)
        body = pyo.quicksum(value * x[j] for j, value in pairs)
        return body <= p.row_upper[i] if np.isfinite(p.row_upper[i]) else body >= p.row_lower[i]

    model.rows = pyo.Constraint(range(p.n_rows), rule=row)
    model.goal = pyo.Objective(
        expr=pyo.quicksum(x[j] for j in np.flatnonzero(p.c)), sense=pyo.maximize
    )
    built = perf_counter() - begin
    begin = perf_counter()
    SolverFactory("highs").solve(
        model, time_limit=limit, raise_exception_on_nonoptimal_result=False
    )
    return built, perf_counter() - begin, float(pyo.value(model.goal))


def raw_ortools(p: Program, limit: float) -> tuple[float, float, float]:
    """In a process of its own, like everything of OR-tools beside highspy; only its own times count."""
    code = (
        "import sys, json, time, numpy as np\n"
        "from scipy.sparse import csr_matrix\n"
        "from ortools.linear_solver.python import model_builder as mb\n"
        "d = np.load(sys.argv[1]); t = time.perf_counter(); m = mb.Model()\n"
        "A = csr_matrix((d['data'], d['indices'], d['indptr']), shape=tuple(d['shape']))\n"
        "m.helper.fill_model_from_sparse_data(d['l'], d['u'], d['c'], d['rl'], d['ru'], A)\n"
        "m.helper.set_maximize(True); built = time.perf_counter() - t; s = mb.Solver('glop')\n"
        "s.set_time_limit_in_seconds(float(sys.argv[2])); t = time.perf_counter(); s.solve(m)\n"
        "print(json.dumps([built, time.perf_counter() - t, s.objective_value]))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "program.npz", p.A.tocsr()
        np.savez(
            path, data=rows.data, indices=rows.indices.astype(np.int32), indptr=rows.indptr.astype(np.int32),
            shape=np.array(rows.shape), c=p.c, l=p.col_lower, u=p.col_upper, rl=p.row_lower, ru=p.row_upper,
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), str(limit)], capture_output=True, text=True
        )
    import json

    built, solve, objective = json.loads(done.stdout.splitlines()[-1])
    return built, solve, objective


DIRECT = {
    "highspy": raw_highspy,
    "OR-tools GLOP": raw_ortools,
    "CVXPY CLARABEL": raw_cvxpy,
    "linopy HiGHS": raw_linopy,
    "PuLP CBC": raw_pulp,
    "Pyomo HiGHS": raw_pyomo,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="50,200,500")
    parser.add_argument("--data", default="uniform,lognormal")
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    console.print(machine("fairlp", "highspy", "cvxpy", "pyomo", "linopy", "scipy"))
    here = fairlp.solvers()
    names = [name for name in here.index if here.loc[name, "available"]]
    only = [name for name in chosen.only.split(",") if name]
    columns = ["", "build", "pass + read", "solve", "objective", "certificate", "how"]
    slow: set[tuple[str, str]] = set()
    for n in map(int, chosen.sizes.split(",")):
        for kind in chosen.data.split(","):
            cluster = instance(kind, n)
            program = fairlp.formulate(cluster, "drfh").compile()
            rows, seconds = [], {}
            jobs = [(name, partial(by_fairlp, name, cluster, chosen.limit)) for name in names]
            jobs += [(tool, partial(directly, tool, program, chosen.limit)) for tool in DIRECT]
            for label, job in jobs:
                if (only and label not in only) or (label, kind) in slow:
                    continue
                begin = perf_counter()
                try:
                    rows.append([label, *job()])
                    if (
                        label.startswith("highs")
                        and rows[-1][5] != "—"
                        and float(rows[-1][5]) <= 1e-7
                    ):
                        seconds[label] = sum(float(rows[-1][k]) for k in (1, 2, 3))
                except (FairlpError, Exception) as error:
                    rows.append(
                        [
                            label,
                            "—",
                            "—",
                            "—",
                            "—",
                            "—",
                            f"{type(error).__name__}: {str(error)[:40]}",
                        ]
                    )
                if perf_counter() - begin > PATIENCE:
                    slow.add((label, kind))
            show(f"DRFH, {n} × {n} × 3, {kind} (seconds)", columns, rows)
            if "highs" in seconds:
                best = min(seconds, key=seconds.__getitem__)
                console.print(
                    f"auto against the best certified HiGHS method ({best}): "
                    f"{seconds['highs'] / seconds[best]:.2f}"
                )


if __name__ == "__main__":
    main()
