"""The conformance suite of back ends, which judges by optimality conditions, not by status.

A third party runs it on its own back end:

>>> from fairlp import conformance
>>> table = conformance.check("highs")
>>> set(table["outcome"]) <= {"passed", "unable"}
True
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import pandas as pd

from ..errors import FairlpError, NoSolutionError
from ..models.programs import backends
from ..models.programs.options import Options
from ..models.programs.protocols import Backend, Capability
from ..models.programs.rays import proves_infeasible
from ..models.programs.solution import Solution
from ..models.programs.status import Point, Termination
from ..tolerances import CONFORMANCE, CONVEX_POINT
from .zoo import Case, zoo

OUTCOMES = ("passed", "failed", "undecided", "unable")


def check(backend: backends.AnySolver, cases: Iterable[Case] | None = None) -> pd.DataFrame:
    """Run the zoo on a back end.

    Parameters
    ----------
    backend : str, Backend or class
        A registered name, or a back end of one's own (:class:`fairlp.Backend`), registered or not.
    cases : iterable of Case, optional
        The whole zoo by default.

    Returns
    -------
    DataFrame
        Indexed by case: ``outcome`` ("passed"; "failed": the answer is wrong; "undecided": honest,
        but no answer; "unable": the back end does not claim to do this), ``detail``, ``seconds``.
    """
    back_end = backends.backend(backend)
    rows = {}
    for case in zoo() if cases is None else cases:
        start = perf_counter()
        outcome, detail = _try(back_end, case)
        rows[case.name] = {"outcome": outcome, "detail": detail, "seconds": perf_counter() - start}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("case")


def matrix(names: Iterable[backends.AnySolver] | None = None) -> pd.DataFrame:
    """Return outcomes of all cases (rows) for these back ends, by default those available.

    Parameters
    ----------
    names : iterable of (str or Backend), optional

    Returns
    -------
    DataFrame
        Cases × back ends; each entry is one of ``OUTCOMES``.
    """
    if names is None:
        names = backends.available_backends()
    return pd.DataFrame(
        {str(backends.spelt(name)): check(name)["outcome"] for name in names}
    ).rename_axis("solver", axis=1)


def _try(backend: Backend, case: Case) -> tuple[str, str]:
    program = case.program
    if program.is_mip and Capability.MILP not in backend.capabilities:
        return "unable", "no integer variables"
    honours = getattr(backend, "honours", None)
    if honours is not None and any(name not in honours for name, _ in case.options):
        return "unable", "no such option"
    try:
        options = Options(**dict(case.options))  # type: ignore[arg-type]
        solution = backends.solve_on(backend, program, options)
    except FairlpError as error:
        return "failed", f"{type(error).__name__}: {error}"
    except Exception as error:  # a back end must not let a stranger's exception out
        return "failed", f"{type(error).__name__} is not a FairlpError: {error}"
    return _judge(backend, case, solution)


def _judge(backend: Backend, case: Case, solution: Solution) -> tuple[str, str]:
    status = solution.status
    if case.answer in ("infeasible", "unbounded"):
        return _judge_hopeless(backend, case, solution)
    if case.answer == "limit" and not status.is_optimal:
        if status.termination not in (
            Termination.TIME_LIMIT,
            Termination.ITERATION_LIMIT,
            Termination.INTERRUPTED,
        ):
            return "failed", f"stopped by a limit, but says {status}"
        return _consistent(solution)
    if not status.is_optimal:
        claims = status.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        return ("failed" if claims else "undecided"), str(status)
    if solution.x is None:
        return "failed", "called optimal, and there is no point"
    certificate = solution.verify()
    if max(certificate.primal_residual, certificate.integrality_residual) > CONFORMANCE:
        return "failed", f"called optimal, and is not feasible: {certificate}"
    if case.objective is not None:
        scale = max(abs(case.objective), _objective_size(case, solution))
        if abs(solution.objective - case.objective) > CONFORMANCE * scale:
            return "failed", f"objective {solution.objective!r}, expected {case.objective!r}"
    if Capability.DUALS in backend.capabilities and not case.program.is_mip:
        if solution.row_duals is None:
            return "failed", "claims duals and gives none"
        error = max(certificate.dual_residual or 0.0, certificate.gap or 0.0)
        if error > (CONFORMANCE if case.program.logs is None else CONVEX_POINT):
            return "failed", f"the duals do not prove the optimum: {certificate}"
    return "passed", str(certificate)


def _objective_size(case: Case, solution: Solution) -> float:
    """Return the size of the objective's terms, with which an optimum of 0 is compared."""
    program = case.program
    weights = 0.0 if program.logs is None else float(abs(program.logs.weights).sum())
    return float(abs(program.c * solution.x).sum()) + abs(program.offset) + weights


def _judge_hopeless(backend: Backend, case: Case, solution: Solution) -> tuple[str, str]:
    status = solution.status
    expected = {"infeasible": Termination.INFEASIBLE, "unbounded": Termination.UNBOUNDED}[
        case.answer
    ]
    if status.termination not in (expected, Termination.INFEASIBLE_OR_UNBOUNDED):
        contradicts = status.is_optimal or status.termination in (
            Termination.INFEASIBLE,
            Termination.UNBOUNDED,
        )
        return ("failed" if contradicts else "undecided"), f"{case.answer}, but says {status}"
    if case.answer == "infeasible" and solution.is_feasible:
        return "failed", "infeasible, and yet there is a point"
    if status.primal is Point.OPTIMAL:
        return "failed", "an optimal point of a program that has none"
    if solution.row_ray is not None and not proves_infeasible(case.program, solution.row_ray):
        return "failed", "the certificate of infeasibility proves nothing"
    promised = Capability.RAY in backend.capabilities and not case.program.is_mip
    if case.answer == "infeasible" and promised and solution.row_ray is None:
        return "failed", "claims certificates of infeasibility and gives none"
    return _consistent(solution)


def _consistent(solution: Solution) -> tuple[str, str]:
    """Check that what is absent cannot be read as zeros."""
    if (solution.x is None) != (solution.status.primal is Point.NONE):
        return "failed", "the status and the point disagree"
    if solution.x is None:
        for name in ("objective", "values"):
            try:
                getattr(solution, name)
            except NoSolutionError:
                continue
            return "failed", f"{name} of an absent solution can be read"
    elif (
        solution.status.termination is not Termination.UNBOUNDED
        and solution.is_feasible
        and not solution.verify().is_feasible
    ):
        return "failed", "the point is called feasible, and is not"
    return "passed", str(solution.status)


def summary(table: pd.DataFrame) -> dict[str, int]:
    """Return how many cases had each outcome.

    Parameters
    ----------
    table : DataFrame
        As :func:`check` gives it.

    Returns
    -------
    dict of str to int
        By outcome, in the order of ``OUTCOMES``.
    """
    counts = table["outcome"].value_counts()
    return {outcome: int(counts.get(outcome, 0)) for outcome in OUTCOMES}


__all__ = ["OUTCOMES", "Case", "check", "matrix", "summary", "zoo"]


def __dir__() -> list[str]:
    return __all__
