"""Runs OR-tools in a process of its own, a program after another: ``python ortools_worker.py``.

OR-tools and highspy bring two copies of HiGHS that cannot be loaded into one process, so this file
imports nothing of fairlp and is started as a script. It reads lines ``["in.npz", "out.npz"]``, and
answers each by a line: ``null``, or what went wrong.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from time import perf_counter

import numpy as np


def main() -> None:
    """Answer until no request comes any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and ends this process
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what solvers print is not an answer
    for line in sys.stdin:
        try:
            solve(*json.loads(line))
            failure = None
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        print(json.dumps(failure), file=answers, flush=True)


def solve(source: str, target: str) -> None:
    """Solve the linear program in ``source`` and write what came out to ``target``."""
    from ortools.linear_solver.python import model_builder
    from scipy.sparse import csr_matrix

    with np.load(source, allow_pickle=False) as file:
        arrays = dict(file)
    shape = tuple(arrays["shape"])
    matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    model = model_builder.Model()
    model.helper.fill_model_from_sparse_data(
        arrays["col_lower"],
        arrays["col_upper"],
        arrays["c"],
        arrays["row_lower"],
        arrays["row_upper"],
        matrix,
    )
    solver = model_builder.Solver(str(arrays["algorithm"]))
    solver.enable_output(bool(arrays["verbose"]))
    if arrays["time_limit"] >= 0:
        solver.set_time_limit_in_seconds(float(arrays["time_limit"]))
    solver.set_solver_specific_parameters(str(arrays["parameters"]))
    start_time = perf_counter()
    status = solver.solve(model)
    seconds = perf_counter() - start_time
    out = {
        "status": np.array(status.name),
        "message": np.array(solver.status_string or status.name),
    }
    if status.name in ("OPTIMAL", "FEASIBLE"):
        out["x"] = np.array(
            [solver.value(variable) for variable in model.get_variables()], dtype=float
        )
        out["row_duals"] = np.array(
            [solver.dual_value(row) for row in model.get_linear_constraints()], dtype=float
        )
    out["seconds"] = np.array(seconds)
    np.savez(target, **out)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
