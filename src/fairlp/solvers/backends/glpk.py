"""GLPK through ``swiglpk``: simplex, interior point, and branch and cut."""

from __future__ import annotations

import time
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError, UnsupportedError
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.status import Termination
from ...tolerances import FEASIBILITY
from .base import BaseBackend, Raw

#: Milliseconds that GLPK, which lets no other thread of Python run, works at a stretch.
_SLICE = 500


class Glpk(BaseBackend):
    """GLPK: exact bookkeeping, slow on large programs, an independent opinion on small ones."""

    capabilities = frozenset({Capability.LP, Capability.MILP, Capability.DUALS})
    package = "swiglpk"
    install = 'pip install "fairlp[glpk]"'
    honours = frozenset(
        {"time_limit", "primal_tolerance", "dual_tolerance", "method", "verbose", "mip_gap"}
    )
    methods = ("simplex", "interior")
    integrality_tolerance = FEASIBILITY

    def __init__(self, name: str = "glpk") -> None:
        self.name = name
        self._stopped = False

    def stop(self) -> None:
        """Tell a run to stop: it looks every :data:`_SLICE`."""
        self._stopped = True

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise with GLPK's simplex (with presolve), interior point or branch and cut."""
        import swiglpk as glp

        glp.glp_term_out(glp.GLP_ON if options.verbose else glp.GLP_OFF)
        self._stopped = False
        problem = _load(glp, program)
        start_time = perf_counter()
        try:
            if options.method == "interior":
                if program.is_mip:
                    raise UnsupportedError(
                        f"{self.name}: the interior point has no integer variables"
                    )
                raw = _interior(glp, problem, program, options)
            else:
                raw = self._simplex(glp, problem, program, options)
            raw.seconds = perf_counter() - start_time
            return raw
        finally:
            glp.glp_delete_prob(problem)

    def _simplex(self, glp: Any, problem: Any, program: Program, options: Options) -> Raw:
        settings = glp.glp_smcp()
        glp.glp_init_smcp(settings)
        settings.tol_bnd, settings.tol_dj = options.tolerances()
        glp.glp_scale_prob(problem, glp.GLP_SF_AUTO)
        glp.glp_adv_basis(problem, 0)
        milliseconds_left = _milliseconds(options)
        code = glp.GLP_ETMLIM
        while (
            code == glp.GLP_ETMLIM and milliseconds_left > 0 and not self._stopped
        ):  # it goes on from its last basis
            settings.tm_lim = min(milliseconds_left, _SLICE)
            milliseconds_left -= settings.tm_lim
            code = glp.glp_simplex(problem, settings)
        status = glp.glp_get_status(problem)
        termination = {
            glp.GLP_OPT: Termination.OPTIMAL,
            glp.GLP_NOFEAS: Termination.INFEASIBLE,
            glp.GLP_INFEAS: Termination.UNKNOWN,
            glp.GLP_UNBND: Termination.UNBOUNDED,
        }.get(status, Termination.UNKNOWN)
        if code == glp.GLP_ETMLIM:
            termination = Termination.TIME_LIMIT
        elif code != 0:
            raise SolverError(
                f"GLPK's simplex failed with code {code}; solve with verbose=True to see its log"
            )
        optimal = termination is Termination.OPTIMAL
        if program.is_mip and optimal:
            return self._branch(glp, problem, program, options)
        raw = Raw(termination, f"GLPK status {status}", method="simplex")
        if optimal or status == glp.GLP_FEAS:
            raw.x = _values(glp.glp_get_col_prim, problem, program.n_columns)
        if optimal:
            raw.row_duals = _values(glp.glp_get_row_dual, problem, program.n_rows)
        return raw

    def _branch(self, glp: Any, problem: Any, program: Program, options: Options) -> Raw:
        settings = glp.glp_iocp()
        glp.glp_init_iocp(settings)
        settings.tm_lim = _milliseconds(options)
        settings.mip_gap = options.mip_gap or 0.0
        settings.tol_int, _ = options.tolerances()
        if not options.verbose:  # what it prints is not shown, but lets us look

            def look(text: str) -> None:
                time.sleep(0)  # lets the thread that may be interrupted come to its turn
                if self._stopped:
                    settings.tm_lim = 1

            settings.msg_lev = glp.GLP_MSG_ALL
            settings.out_frq = _SLICE
            glp.glp_term_out(glp.GLP_ON)
            glp.glp_term_hook(look)
        try:
            code = glp.glp_intopt(problem, settings)
        finally:
            glp.glp_term_hook(None)
        status = glp.glp_mip_status(problem)
        termination = {
            glp.GLP_OPT: Termination.OPTIMAL,
            glp.GLP_NOFEAS: Termination.INFEASIBLE,
            glp.GLP_UNDEF: Termination.UNKNOWN,
            glp.GLP_FEAS: Termination.TIME_LIMIT,
        }[status]
        if code == glp.GLP_ETMLIM:
            termination = Termination.TIME_LIMIT
        elif code == glp.GLP_EMIPGAP:
            termination = Termination.GAP_LIMIT
        raw = Raw(termination, f"GLPK status {status}", method="branch and cut")
        if status in (glp.GLP_OPT, glp.GLP_FEAS):
            raw.x = _values(glp.glp_mip_col_val, problem, program.n_columns)
        # of a search that was stopped GLPK keeps no bound but that of the linear relaxation
        optimal = termination is Termination.OPTIMAL
        raw.bound = glp.glp_mip_obj_val(problem) if optimal else glp.glp_get_obj_val(problem)
        return raw


def _bounds(glp: Any, low: float, high: float) -> tuple[int, float, float]:
    """Return GLPK's kind of bound and the two numbers."""
    if low == high:
        return glp.GLP_FX, low, high
    if np.isinf(low):
        return (glp.GLP_FR, 0.0, 0.0) if np.isinf(high) else (glp.GLP_UP, 0.0, high)
    return (glp.GLP_LO, low, 0.0) if np.isinf(high) else (glp.GLP_DB, low, high)


def _load(glp: Any, program: Program) -> Any:
    problem = glp.glp_create_prob()
    glp.glp_set_obj_dir(problem, glp.GLP_MIN)
    if program.n_rows:
        glp.glp_add_rows(problem, program.n_rows)
    if program.n_columns:
        glp.glp_add_cols(problem, program.n_columns)
    for row, (low, high) in enumerate(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True), 1
    ):
        glp.glp_set_row_bnds(problem, row, *_bounds(glp, low, high))
    costs = program.c.tolist()
    whole = program.integrality.tolist()
    for column, (low, high) in enumerate(
        zip(program.col_lower.tolist(), program.col_upper.tolist(), strict=True), 1
    ):
        glp.glp_set_col_bnds(problem, column, *_bounds(glp, low, high))
        glp.glp_set_obj_coef(problem, column, costs[column - 1])
        if whole[column - 1]:
            glp.glp_set_col_kind(problem, column, glp.GLP_IV)
    entries = program.A.tocoo()
    size = entries.nnz
    rows = glp.intArray(size + 1)
    columns = glp.intArray(size + 1)
    values = glp.doubleArray(size + 1)
    triples = zip(
        (entries.row + 1).tolist(), (entries.col + 1).tolist(), entries.data.tolist(), strict=True
    )
    for place, (row, column, value) in enumerate(triples, 1):
        rows[place], columns[place], values[place] = row, column, value
    glp.glp_load_matrix(problem, size, rows, columns, values)
    return problem


def _milliseconds(options: Options) -> int:
    return max(1, round(options.time_limit * 1000)) if options.time_limit is not None else 2**31 - 1


def _values(function: Any, problem: Any, size: int) -> np.ndarray:
    return np.array([function(problem, place) for place in range(1, size + 1)], dtype=float)


def _interior(glp: Any, problem: Any, program: Program, options: Options) -> Raw:
    if options.time_limit is not None:
        raise UnsupportedError("GLPK's interior point has no time limit; use method='simplex'")
    code = glp.glp_interior(problem, None)
    status = glp.glp_ipt_status(problem)
    termination = {
        glp.GLP_OPT: Termination.OPTIMAL,
        glp.GLP_NOFEAS: Termination.INFEASIBLE,
    }.get(status, Termination.UNKNOWN)
    raw = Raw(termination, f"GLPK interior point, code {code}, status {status}", method="interior")
    if termination is Termination.OPTIMAL:
        raw.x = _values(glp.glp_ipt_col_prim, problem, program.n_columns)
        raw.row_duals = _values(glp.glp_ipt_row_dual, problem, program.n_rows)
    return raw
