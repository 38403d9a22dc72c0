"""OR-tools' GLOP (simplex) and PDLP (first-order), in a process of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from ...errors import SolverError
from ...models.programs.program import Program
from ...models.programs.solution import Capability, Options, Termination
from ...tolerances import FIRST_ORDER, SOLVER_TIGHTEST
from .base import BaseBackend, Raw
from .ortools_process import ask

_TERMINATION = {
    "OPTIMAL": Termination.OPTIMAL,
    "INFEASIBLE": Termination.INFEASIBLE_OR_UNBOUNDED,  # said of unbounded programs too
    "UNBOUNDED": Termination.UNBOUNDED,
    "CANCELLED_BY_USER": Termination.INTERRUPTED,
}


class OrTools(BaseBackend):
    """OR-tools through its own process; ``algorithm`` is GLOP or PDLP."""

    capabilities = frozenset({Capability.LP, Capability.DUALS})
    package = "ortools"
    waits = True
    install = 'pip install "fairlp[ortools]" (used in a process of its own: it cannot share one with highspy)'
    honours = frozenset({"time_limit", "primal_tolerance", "dual_tolerance", "verbose", "extra"})

    def __init__(self, name: str = "ortools:GLOP", algorithm: str = "GLOP") -> None:
        self.name, self.algorithm = name, algorithm
        if algorithm == "PDLP":
            self.honours = self.honours | {"threads"}
            self.tightest = SOLVER_TIGHTEST  # of a leximin; its answers are a digit or two less right than asked

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise in the other process; the program goes there and back as arrays."""
        rows = program.A.tocsr()
        with tempfile.TemporaryDirectory(prefix="fairlp-") as folder:
            source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(
                source,
                algorithm=np.array(self.algorithm.lower()),
                parameters=np.array(self._parameters(options)),
                verbose=np.array(options.verbose),
                time_limit=np.array(-1.0 if options.time_limit is None else options.time_limit),
                shape=np.array(rows.shape),
                data=rows.data,
                indices=rows.indices.astype(np.int32),
                indptr=rows.indptr.astype(np.int32),
                c=program.c,
                row_lower=program.row_lower,
                row_upper=program.row_upper,
                col_lower=program.col_lower,
                col_upper=program.col_upper,
            )
            begin = perf_counter()
            # a deadline for the process too: a solver that ignores its limit must not hang the caller
            limit = None if options.time_limit is None else 2 * options.time_limit + 60
            try:
                wrong = ask(source, target, options.verbose, limit)
            except TimeoutError:
                return Raw(Termination.TIME_LIMIT, "the process was stopped", seconds=perf_counter() - begin)
            if wrong is not None:
                raise SolverError(f"{self.name} failed in its process ({wrong})")
            with np.load(target, allow_pickle=False) as answer:
                found = dict(answer)
        status = str(found["status"])
        termination = _TERMINATION.get(status, Termination.UNKNOWN)
        if termination is Termination.UNKNOWN and options.time_limit is not None:
            termination = Termination.TIME_LIMIT  # a limit is reported only as "feasible" or "not solved"
        return Raw(
            termination,
            str(found["message"]),
            found.get("x"),
            found.get("row_duals"),
            seconds=float(found["seconds"]),
            method=self.algorithm,
        )

    def _parameters(self, options: Options) -> str:
        """Return the solver's own parameters as protocol-buffer text."""
        if self.algorithm == "PDLP":
            primal, dual = options.tolerances(FIRST_ORDER, FIRST_ORDER)
            tight = min(primal, dual)
            lines = [f"termination_criteria {{ eps_optimal_absolute: {tight!r} eps_optimal_relative: {tight!r} }}"]
            if options.threads is not None:
                lines.append(f"num_threads: {options.threads}")
        else:
            primal, dual = options.tolerances()
            lines = [f"primal_feasibility_tolerance: {primal!r}", f"dual_feasibility_tolerance: {dual!r}"]
        return " ".join(lines + [f"{name}: {value}" for name, value in options.extra.items()])
