"""The commands for model files of anywhere, and for judging solvers: solve, conformance."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SolverError
from .app import ExitCode, app
from .groups import grouped
from .output import Report, records
from .parameters import (
    ExtraOption,
    SolverOption,
    TimeLimitOption,
    complete_solver,
    given_names,
    own_solver,
    solver_options,
)
from .tables import report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..models.programs.program import Program
    from ..models.programs.solution import Solution


#: Endings that ``solve`` gives the reason of.
_HOPELESS = ("infeasible", "unbounded", "infeasible or unbounded")


@app.command()
@grouped
def solve(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=".mps, .lp, .mps.gz or .lp.gz")],
    solver: SolverOption = "highs",
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="NAMES",
            callback=own_solver,
            autocompletion=complete_solver,
            help="Solve by these too, names with commas between them or repeated, and compare.",
        ),
    ] = None,
    time_limit: TimeLimitOption = None,
    option: ExtraOption = None,
    report: Report,
) -> None:
    """Solve a model file of anywhere, by one solver or several, and check the answer without believing them.

    Without an optimum, the reason is told in the file's own names, and the exit code is 1; so it is when solvers
    disagree. Example: fairlp solve model.mps --solver scip --compare highs,clarabel
    """
    from ..models.files.programs import read_program

    keywords = solver_options(option, time_limit)
    program = read_program(file)
    names = list(dict.fromkeys([solver, *(given_names(compare) or [])]))
    found, table = _answers(program, names, keywords)
    first = found.get(solver)
    values = _values(program, first)

    def text(console: Console) -> None:
        console.print(repr(program), highlight=False)
        report_table(console, table, "Answers")
        if values is not None:
            nonzero = values[values["value"] != 0]
            report_table(console, nonzero, f"Nonzero variables ({len(nonzero)} of {len(values)})")
        elif first is not None:
            _report_reason(console, program, first)

    def data() -> dict[str, Any]:
        variables = None if values is None else records(values)
        return {"program": program.name, "answers": records(table), "variables": variables}

    report.deliver(text=text, data=data, frame=lambda: table if values is None else values)
    if not _agree(found) or len(found) < len(names):
        raise typer.Exit(ExitCode.NO)


@app.command()
@grouped
def conformance(
    *,
    solver: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOLVER]...",
            callback=own_solver,
            autocompletion=complete_solver,
            help="Without it: all that are here; your own: module:Class or file.py:Class.",
        ),
    ] = None,
    report: Report,
) -> None:
    """Run the zoo of programs with known answers on solvers; exit code 1 when one fails.

    An answer is judged by the optimality conditions, not by the solver's word.
    """
    from ..conformance import matrix, summary
    from ..models.programs import backends

    names = [backends.backend(name).name for name in solver] if solver else None
    table = matrix(names)
    counts = {name: summary(table[[name]].rename(columns={name: "outcome"})) for name in table.columns}

    def text(console: Console) -> None:
        import pandas as pd

        report_table(console, pd.DataFrame(counts).T.rename_axis("solver"), "Cases by outcome")
        open_cases = table[(table.isin(["failed", "undecided"])).any(axis=1)]
        if not open_cases.empty:
            report_table(console, open_cases.T.rename_axis("solver"), "Cases that a solver failed or left undecided")

    report.deliver(text=text, frame=lambda: table)
    if table.isin(["failed"]).any(axis=None):
        raise typer.Exit(ExitCode.NO)


def _answers(program: Program, names: list[str], keywords: dict[str, Any]) -> tuple[dict[str, Solution], pd.DataFrame]:
    """Return the solutions by solver, and a row for each; of several solvers, one that fails is a row too."""
    from ..models.programs import backends
    from ..models.programs.solution import Options

    chosen = [backends.backend(name) for name in names]  # a name that is wrong ends it before any work
    found: dict[str, Solution] = {}
    rows: dict[str, dict[str, Any]] = {}
    for name, back_end in zip(names, chosen, strict=True):
        begin = perf_counter()
        try:
            options = Options.from_keywords(name, keywords)
            found[name] = backends.checked(backends.solve_on(back_end, program, options), options)
        except SolverError as error:
            if len(names) == 1:
                raise
            rows[name] = {"status": f"failed: {error}"}
            continue
        rows[name] = {**_figures(found[name]), "seconds": perf_counter() - begin}
    return found, _table(rows)


def _figures(solution: Solution) -> dict[str, Any]:
    figures: dict[str, Any] = {"status": solution.status.termination.value}
    if solution.x is not None:
        certificate = solution.verify()
        figures["objective"] = solution.objective
        figures["primal residual"] = certificate.primal_residual
        figures["dual residual"] = certificate.dual_residual
        figures["gap"] = certificate.gap
        figures["proved"] = "yes" if certificate.is_optimal else "by the solver's word" if solution.unproved else "no"
    return figures


def _table(rows: dict[str, dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    columns = ["status", "objective", "primal residual", "dual residual", "gap", "proved", "seconds"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("solver")


def _values(program: Program, solution: Solution | None) -> pd.DataFrame | None:
    import pandas as pd

    if solution is None or solution.x is None:
        return None
    columns = {"value": solution.x}
    if solution.column_duals is not None:
        columns["reduced cost"] = solution.column_duals
    return pd.DataFrame(columns, index=pd.Index(program.column_names, name="variable"))


def _report_reason(console: Console, program: Program, solution: Solution) -> None:
    """Print why there is no optimum, where that can be told."""
    from ..models.programs import backends

    ending = solution.status.termination.value
    if ending in _HOPELESS:
        report_table(console, backends.explain(program, "highs"), f"Why it is {ending}")


def _agree(found: dict[str, Solution]) -> bool:
    """Whether every solver has an optimum, all the same within the tolerance of the conformance suite."""
    from ..tolerances import CONFORMANCE

    if not found or not all(solution.status.is_optimal for solution in found.values()):
        return False
    values = [solution.objective for solution in found.values()]
    return max(values) - min(values) <= CONFORMANCE * max(1.0, *(abs(value) for value in values))
