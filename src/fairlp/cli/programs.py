"""The commands for models and solvers, and what there is: export, solve, mechanisms, solvers, example."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from ..errors import FileFormatError, SolverError
from ..tolerances import CONFORMANCE
from .app import ExitCode, command
from .output import ReportOptions, Text, TitledTable, check_folder, print_rows, records, say
from .parameters import (
    ExtraOption,
    InstanceArgument,
    MechanismOption,
    Repeated,
    SolverOption,
    TimeLimitOption,
    complete_example,
    complete_mechanism,
    complete_solver,
    given_names,
    load_instance,
    own_mechanism,
    own_solver,
    read_options,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..models.programs.program import Program
    from ..models.programs.solution import Solution

#: Endings that ``solve`` gives the reason of.
_HOPELESS = ("infeasible", "unbounded", "infeasible or unbounded")
#: A study to start from, which ``fairlp example study`` writes.
_STUDY: dict[str, Any] = {
    "name": "drf and asset fairness",
    "generator": "uniform-integers",
    "grid": {"users": [20], "resources": [2, 4], "demands": [[1, 10]], "reserves": [[500, 1000]]},
    "mechanisms": {"reference": {"mechanism": "drf"}, "asset": {"mechanism": "asset"}},
    "statistics": ["jain", {"name": "deviation", "of": "asset", "from": "reference"}],
    "runs": 50,
    "seed": 0,
}


@command()
def export(
    *,
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help=".mps, .lp, either with .gz, or .nl; without it, print it.",
        ),
    ] = None,
    latex: Annotated[bool, Option("--latex", help="Print it as LaTeX, for a paper.")] = False,
    profile: Annotated[
        Literal["portable", "full", "native", "fixed"] | None,
        Option(help="MPS only: portable (default) is read alike by all, native has indicators."),
    ] = None,
    labels: Annotated[
        bool,
        Option(
            "--labels/--no-labels",
            help="Names from labels (capacity.server3.cpu), or numbers (r7).",
        ),
    ] = True,
    option: Annotated[
        Repeated,
        Option(metavar="NAME=VALUE", help="An option of the formulation. May be repeated."),
    ] = None,
) -> None:
    """Print a mechanism's model as mathematics, or write it for other solvers, as MPS or LP.

    Example: fairlp export two-servers -m drfh -o model.mps
    """
    check_folder(output)
    kinds = set() if output is None else {suffix.lower() for suffix in output.suffixes[-2:]}
    if latex and output is not None:
        raise typer.BadParameter("--latex is printed; leave out -o FILE")
    if profile is not None and ".mps" not in kinds:
        raise typer.BadParameter("--profile is for MPS files")
    numbered = output is not None and ".nl" not in kinds and profile != "fixed"
    if not (labels or numbered):
        raise typer.BadParameter("--no-labels is for free MPS and LP files")
    from ..api import formulate

    model = formulate(load_instance(instance), mechanism, **read_options(option))
    if output is None:
        say(model.to_latex() if latex else str(model))
        return
    how: dict[str, str] = {"profile": profile} if profile else {}
    if numbered:
        how["names"] = "labels" if labels else "numbers"
    for path in model.write(output, **how):
        say(f"wrote {path}")
    program = model.compile()
    say(f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros")


@command()
def solve(
    *,
    file: Annotated[Path, Argument(metavar="FILE", help=".mps, .lp, .mps.gz or .lp.gz")],
    solver: SolverOption = "highs",
    compare: Annotated[
        Repeated,
        Option(
            metavar="NAMES",
            callback=own_solver,
            autocompletion=complete_solver,
            help="Solve by these too, names with commas between them or repeated, and compare.",
        ),
    ] = None,
    time_limit: TimeLimitOption = None,
    option: ExtraOption = None,
    report: ReportOptions,
) -> None:
    """Solve a model file of anywhere, by one solver or several, and check the answer without believing them.

    Without an optimum, the reason is told in the file's own names, and the exit code is 1; so it is
    when solvers disagree. Example: fairlp solve model.mps --solver scip --compare highs,clarabel
    """
    from ..models.files.programs import read_program
    from ..models.programs import backends

    keywords = read_options(option, time_limit)
    program = read_program(file)
    names = list(dict.fromkeys([solver, *(given_names(compare) or [])]))
    found, table = _answers(program, names, keywords)
    first = found.get(solver)
    values = _values(program, first)

    def text() -> Text:
        yield repr(program)
        yield TitledTable("Answers", table)
        if values is not None:
            nonzero = values[values["value"] != 0]
            yield TitledTable(f"Nonzero variables ({len(nonzero)} of {len(values)})", nonzero)
        elif first is not None and (ending := first.status.termination.value) in _HOPELESS:
            yield TitledTable(f"Why it is {ending}", backends.explain(program, "highs"))

    def data() -> dict[str, Any]:
        variables = None if values is None else records(values)
        return {"program": program.name, "answers": records(table), "variables": variables}

    report.deliver(text(), table if values is None else values, data)
    if not _agree(found) or len(found) < len(names):
        raise typer.Exit(ExitCode.NO)


def _answers(
    program: Program, names: list[str], keywords: dict[str, Any]
) -> tuple[dict[str, Solution], pd.DataFrame]:
    """Return the solutions by solver, and a row for each; of several solvers, one that fails is a row too."""
    import pandas as pd

    from ..models.programs import backends
    from ..models.programs.solution import Options

    chosen = [
        backends.backend(name) for name in names
    ]  # a name that is wrong ends it before any work
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
    columns = [
        "status",
        "objective",
        "primal residual",
        "dual residual",
        "gap",
        "proved",
        "seconds",
    ]
    return found, pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(
        "solver"
    )


def _figures(solution: Solution) -> dict[str, Any]:
    """Return what is told of an answer, computed from the program and not taken from the solver."""
    status = {"status": solution.status.termination.value}
    if solution.x is None:
        return status
    certificate = solution.verify()
    return {
        **status,
        "objective": solution.objective,
        "primal residual": certificate.primal_residual,
        "dual residual": certificate.dual_residual,
        "gap": certificate.gap,
        "proved": "yes"
        if certificate.is_optimal
        else "by the solver's word"
        if solution.unproved
        else "no",
    }


def _values(program: Program, solution: Solution | None) -> pd.DataFrame | None:
    """Return the variables and, where the solver tells them, their reduced costs."""
    import pandas as pd

    if solution is None or solution.x is None:
        return None
    columns = {"value": solution.x}
    if solution.column_duals is not None:
        columns["reduced cost"] = solution.column_duals
    return pd.DataFrame(columns, index=pd.Index(program.column_names, name="variable"))


def _agree(found: dict[str, Solution]) -> bool:
    """Whether every solver has an optimum, all the same within the tolerance of the conformance suite."""
    if not found or not all(solution.status.is_optimal for solution in found.values()):
        return False
    values = [solution.objective for solution in found.values()]
    return max(values) - min(values) <= CONFORMANCE * max(1.0, *(abs(value) for value in values))


# Lists of what there is.


@command()
def mechanisms(
    *,
    names: Annotated[
        Repeated,
        Argument(
            metavar="[MECHANISM]...",
            callback=own_mechanism,
            autocompletion=complete_mechanism,
            help="Only these; without any: all.",
        ),
    ] = None,
    bibtex: Annotated[
        bool, Option("--bibtex", help="Print BibTeX entries of their papers instead.")
    ] = False,
    report: ReportOptions,
) -> None:
    """List the mechanisms: source, methods, what they are defined for, what they promise, or their papers.

    Example: fairlp mechanisms drfh --bibtex
    """
    from ..mechanisms.table import find, listed

    chosen = [find(name) for name in names or ()]
    if bibtex:
        if report != ReportOptions():
            raise typer.BadParameter("--bibtex is printed; leave out --json, --csv and -o")
        from ..mechanisms.literature import REFERENCES

        entries = (
            [row.bibtex for row in chosen] if chosen else [paper.bibtex for paper in REFERENCES]
        )
        say("\n\n".join(dict.fromkeys("\n\n".join(entries).split("\n\n"))))
        return
    rows = listed()
    rows = {row.name: rows[row.name] for row in chosen} or rows

    def words(console: Console) -> None:
        heads = ["mechanism", *next(iter(rows.values()))]
        entries = [[name, *row.values()] for name, row in rows.items()]
        print_rows(console, "Mechanisms", heads, entries)
        console.print()

    def frame() -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mechanism")

    report.deliver(
        [words], frame, lambda: [{"mechanism": name, **row} for name, row in rows.items()]
    )


@command()
def solvers(
    *,
    names: Annotated[
        Repeated,
        Argument(
            metavar="[SOLVER]...",
            callback=own_solver,
            autocompletion=complete_solver,
            help="Only these; without any: all. Your own: module:Class or file.py:Class.",
        ),
    ] = None,
    check: Annotated[
        bool,
        Option(
            "--check",
            help="Run the programs with known answers on them (without names: all installed).",
        ),
    ] = False,
    report: ReportOptions,
) -> None:
    """List the solvers: whether they are installed, what they can do, how to get them; or check them.

    --check judges an answer by the optimality conditions, not by the solver's word. The exit code
    is 1 when a solver fails.

    Example: fairlp solvers highs scipy --check
    """
    from ..models.programs import backends

    chosen = [backends.backend(name).name for name in names or ()]
    if check:
        _check(chosen or None, report)
        return
    from ..solvers import table

    report.table(table().loc[chosen or slice(None)], "Solvers")


def _check(names: list[str] | None, report: ReportOptions) -> None:
    """Run the conformance suite on solvers, by default all that are installed."""
    import pandas as pd

    from ..conformance import matrix, summary

    table = matrix(names)
    counts = {
        name: summary(table[[name]].rename(columns={name: "outcome"})) for name in table.columns
    }

    text = [TitledTable("Cases by outcome", pd.DataFrame(counts).T.rename_axis("solver"))]
    open_cases = table[(table.isin(["failed", "undecided"])).any(axis=1)]
    if not open_cases.empty:
        text.append(
            TitledTable(
                "Cases that a solver failed or left undecided", open_cases.T.rename_axis("solver")
            )
        )
    report.deliver(text, table)
    if table.isin(["failed"]).any(axis=None):
        raise typer.Exit(ExitCode.NO)


@command()
def example(
    *,
    name: Annotated[
        str | None,
        Argument(
            metavar="[NAME]",
            autocompletion=complete_example,
            help="Without it: the list. With 'study': a Monte Carlo study for fairlp study.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output", "-o", metavar="FILE", help=".json, .yaml or a folder; by default NAME.yaml."
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace what is there.")] = False,
) -> None:
    """List the worked examples, or write one as a file to start from."""
    from .. import examples

    if name is None:
        if output is not None:
            raise typer.BadParameter("--output needs the NAME of an example")
        ReportOptions().table(examples.table(), "Worked examples")
        return
    made = None if name == "study" else examples.load(name)
    target = output or Path(f"{name}.yaml")
    check_folder(target)
    empty_folder = target.is_dir() and not any(target.iterdir())
    if target.exists() and not force and not empty_folder:
        raise FileFormatError(
            f"{str(target)!r} exists already; choose another name with -o, or pass --force"
        )
    if made is None:
        from ..research.study import Study

        written = [Study.from_dict(_STUDY).write(target)]
    else:
        written = made.write(target)
    for path in written:
        say(f"wrote {path}")
