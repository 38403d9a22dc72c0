"""The commands for models, solvers and lists: export, solve, mechanisms, solvers, example."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from ..errors import FileFormatError, SolverError
from ..models.files.whole_files import require_folder
from ..tolerances import CONFORMANCE
from .app import ExitCode, command
from .output import ReportOptions, Text, TitledTable, print_rows, records, say
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
    load_instance,
    own_mechanism,
    own_solver,
    read_options,
    split_names,
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
    "fairlp_study": 1,
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

    The model of a leximin is that of its first round: the optimum is the smallest level, and other
    levels may differ from those of fairlp allocate.

    Example: fairlp export two-servers -m drfh -o model.mps
    """
    require_folder(output)
    suffixes: set[str] = set()
    if output is not None:
        suffixes = {suffix.lower() for suffix in output.suffixes[-2:]}
    if latex and output is not None:
        raise typer.BadParameter("--latex is printed; leave out -o FILE")
    if profile is not None and ".mps" not in suffixes:
        raise typer.BadParameter("--profile is for MPS files")
    numbered = output is not None and ".nl" not in suffixes and profile != "fixed"
    if not (labels or numbered):
        raise typer.BadParameter("--no-labels is for free MPS and LP files")
    from ..api import formulate

    model = formulate(load_instance(instance), mechanism, **read_options(option))
    if output is None:
        say(model.to_latex() if latex else str(model))
        return
    write_options: dict[str, Any] = {"profile": profile} if profile else {}
    if numbered:
        write_options["names"] = "labels" if labels else "numbers"
    for path in model.write(output, **write_options):
        say(f"wrote {path}")
    program = model.compile()
    say(f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros")
    if program.levels:
        say("the first round of a leximin: its optimum is the smallest level (docs/model-files.md)")


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
    """Solve a model file of any program, by one solver or several, and check the answers.

    The checks are computed from the file, and use no number of a solver but its answer. Without an
    optimum, the command gives the reason in the file's own names, and the exit code is 1; so it is
    when solvers disagree. Example: fairlp solve model.mps --solver scip --compare highs,clarabel
    """
    from ..models.files.programs import read_program
    from ..models.programs import backends

    keywords = read_options(option, time_limit)
    program = read_program(file)
    names = list(dict.fromkeys([solver, *(split_names(compare) or [])]))
    solutions, table = _answers(program, names, keywords)
    first = solutions.get(solver)
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
    if not _agree(solutions) or len(solutions) < len(names):
        raise typer.Exit(ExitCode.NO)


def _answers(
    program: Program, names: list[str], keywords: dict[str, Any]
) -> tuple[dict[str, Solution], pd.DataFrame]:
    """Return the solutions by solver, and a row for each; one of several may fail."""
    import pandas as pd

    from ..models.programs import backends
    from ..models.programs.options import Options

    back_ends = [
        backends.backend(name) for name in names
    ]  # a name that is wrong ends it before any work
    solutions: dict[str, Solution] = {}
    rows: dict[str, dict[str, Any]] = {}
    for name, back_end in zip(names, back_ends, strict=True):
        start = perf_counter()
        try:
            options = Options.from_keywords(name, keywords)
            solutions[name] = backends.checked(
                backends.solve_on(back_end, program, options), options
            )
        except SolverError as error:
            if len(names) == 1:
                raise
            rows[name] = {"status": f"failed: {error}"}
            continue
        rows[name] = {**_figures(solutions[name]), "seconds": perf_counter() - start}
    columns = [
        "status",
        "objective",
        "primal residual",
        "dual residual",
        "gap",
        "proved",
        "seconds",
    ]
    return solutions, pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(
        "solver"
    )


def _figures(solution: Solution) -> dict[str, Any]:
    """Return the figures of an answer, computed from the program and not taken from the solver."""
    status = {"status": solution.status.termination.value}
    if solution.x is None:
        return status
    certificate = solution.verify()
    proved = (
        "yes" if certificate.is_optimal else "as the solver says" if solution.unproved else "no"
    )
    return {
        **status,
        "objective": solution.objective,
        "primal residual": certificate.primal_residual,
        "dual residual": certificate.dual_residual,
        "gap": certificate.gap,
        "proved": proved,
    }


def _values(program: Program, solution: Solution | None) -> pd.DataFrame | None:
    """Return the variables and, where the solver gives them, their reduced costs."""
    import pandas as pd

    if solution is None or solution.x is None:
        return None
    columns = {"value": solution.x}
    if solution.column_duals is not None:
        columns["reduced cost"] = solution.column_duals
    return pd.DataFrame(columns, index=pd.Index(program.column_names, name="variable"))


def _agree(solutions: dict[str, Solution]) -> bool:
    """Whether all solvers have an optimum, equal within the tolerance of conformance."""
    if not solutions or not all(solution.status.is_optimal for solution in solutions.values()):
        return False
    values = [solution.objective for solution in solutions.values()]
    largest_size = max(1.0, *(abs(value) for value in values))
    return max(values) - min(values) <= CONFORMANCE * largest_size


# Lists of mechanisms, solvers and examples.


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
    """List the mechanisms: source, methods, domain, promises, or their papers.

    Example: fairlp mechanisms drfh --bibtex
    """
    from ..mechanisms.table import find, listed

    rows_of_names = [find(name) for name in names or ()]
    if bibtex:
        if report != ReportOptions():
            raise typer.BadParameter("--bibtex is printed; leave out --json, --csv and -o")
        from ..mechanisms.literature import REFERENCES

        entries = (
            [row.bibtex for row in rows_of_names]
            if rows_of_names
            else [paper.bibtex for paper in REFERENCES]
        )
        say("\n\n".join(dict.fromkeys("\n\n".join(entries).split("\n\n"))))
        return
    listed_rows = listed()
    names = [row.name for row in rows_of_names]
    rows = [
        {"mechanism": name, **listed_rows[name]} for name in dict.fromkeys(names or listed_rows)
    ]

    def print_table(console: Console) -> None:
        table: list[Any] = [rows[0], *(row.values() for row in rows)]
        if names:  # few: each in a column, a promise a line
            table = list(zip(*table, strict=True))
            table[-1] = [text.replace(", ", ",\n") for text in table[-1]]
        print_rows(console, "Mechanisms", table[0], table[1:])
        console.print()

    def frame() -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(rows).set_index("mechanism")

    report.deliver([print_table], frame, lambda: rows)


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
    """List the solvers: whether they are installed, their capabilities, how to get them; or check.

    --check judges an answer by the optimality conditions; the solver is not trusted. The exit code
    is 1 when a solver fails.

    Example: fairlp solvers highs scipy --check
    """
    from ..models.programs import backends

    known_names = [backends.backend(name).name for name in names or ()]
    if check:
        _check(known_names or None, report)
        return
    from ..solvers import table

    report.table(table().loc[known_names or slice(None)], "Solvers")


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
        Option("--output", "-o", metavar="FILE", help=".json or .yaml; by default NAME.yaml."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """List the worked examples, or write one as a file to start from."""
    from .. import examples

    if name is None:
        if output is not None:
            raise typer.BadParameter("--output needs the NAME of an example")
        ReportOptions().table(examples.table(), "Worked examples")
        return
    instance = None if name == "study" else examples.load(name)
    target = output or Path(f"{name}.yaml")
    require_folder(target)
    if target.exists() and not force:
        raise FileFormatError(
            f"{str(target)!r} exists already; choose another name with -o, or pass --force"
        )
    if instance is None:
        from ..models.files.instances import write_document

        written = [write_document(target, _STUDY)]
    else:
        written = instance.write(target)
    for path in written:
        say(f"wrote {path}")
