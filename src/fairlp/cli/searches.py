"""The commands about what mechanisms promise: promises, counterexample."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from .app import ExitCode, command
from .output import ReportOptions, TitledTable, print_text, wrote
from .parameters import (
    ExtraOption,
    ProgressFlag,
    Repeated,
    complete_mechanism,
    mechanism_option,
    own_mechanism,
    read_options,
    split_names,
)


@dataclass(frozen=True)
class SearchOptions:
    """The options of the instances of a search, and of its time."""

    generator: Annotated[
        str | None,
        Option(
            metavar="REFERENCE",
            help="package.module:function or file.py:function, NumPy generator → Instance, in place of random ones.",
        ),
    ] = None
    seed: Annotated[int, Option(help="Seed of what is drawn.")] = 0
    time_limit: Annotated[
        float | None,
        Option(metavar="SECONDS", min=0.001, help="Stop then, and list what is not done."),
    ] = None
    progress: ProgressFlag = None

    def arguments(self) -> dict[str, Any]:
        """Return those that were given, as Python takes them."""
        options = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }
        if self.generator is not None:
            from ..mechanisms.references import load_function

            options["generator"] = load_function(self.generator, "generator")
        return options


@command()
def promises(
    *,
    audits: Annotated[
        int, Option(min=0, help="Random instances to audit for each promise, now.")
    ] = 0,
    mechanisms: Annotated[
        Repeated,
        mechanism_option("Only these: names with commas between them, or repeated.", "NAMES"),
    ] = None,
    search: SearchOptions,
    report: ReportOptions,
) -> None:
    """List the properties that mechanisms promise, and the instances that break the others.

    The exit code is 1 when a promise is broken.
    """
    from ..auditing.promises import promises as run
    from ..auditing.sentences import broken_promises, in_words

    table = run(audits, mechanisms=split_names(mechanisms), **search.arguments())

    for_people = in_words(table).reset_index().set_index("mechanism")
    title = "Promises; fairlp counterexample MECHANISM PROPERTY shows an instance that ships"
    report.deliver(
        [TitledTable(title, for_people), *broken_promises(table)],
        table.reset_index().set_index("mechanism"),
    )
    if (table["broken"] > 0).any():
        raise typer.Exit(ExitCode.NO)


@dataclass(frozen=True)
class SizeOptions(SearchOptions):
    """The options of a search for a counterexample, by the names that it has in Python."""

    tries: Annotated[int, Option(min=1, help="Instances that the search looks at.")] = 1000
    users: Annotated[int, Option(min=1, help="Users at most.")] = 4
    servers: Annotated[int, Option(min=1, help="Servers at most.")] = 3
    resources: Annotated[int, Option(min=1, help="Resources at most.")] = 3
    lies: Annotated[int, Option(min=1, help="Lies tried on each, for strategy-proofness.")] = 60
    everything: Annotated[
        bool, Option("--everything", help="Draw given rates, guarantees and caps of queues, too.")
    ] = False
    shrink: Annotated[bool, Option("--shrink/--no-shrink", help="Simplify the instance.")] = True


@command()
def counterexample(
    *,
    mechanism: Annotated[
        str,
        Argument(metavar="MECHANISM", callback=own_mechanism, autocompletion=complete_mechanism),
    ],
    property_name: Annotated[str, Argument(metavar="PROPERTY")],
    search: Annotated[
        bool, Option("--search", help="Search for one, instead of the one that ships.")
    ] = False,
    size: SizeOptions,
    option: ExtraOption = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write the instance (.json or .yaml) there."),
    ] = None,
) -> None:
    """Show the smallest instance on which a mechanism breaks a property: shipped, or searched for.

    The exit code is 1 when the search finds none.

    Example: fairlp counterexample drfh "sharing incentive"
    """
    from ..api import allocate
    from ..auditing import audit as run, promises
    from ..auditing.search import Search

    options = read_options(option)
    arguments = size.arguments() | ({"options": options} if options else {})
    if search:
        result = Search(**arguments).run(mechanism, property_name)
        print_text([str(result)])
        instance = result.instance
    else:
        instance = promises.counterexample(mechanism, property_name, **arguments)
    if instance is None:
        raise typer.Exit(ExitCode.NO)
    findings = run(
        instance, allocate(instance, mechanism, **options), property_name, options=options
    )
    print_text(
        [*map(TitledTable, ("users", "servers"), instance.to_frames()), findings["witness"].iloc[0]]
    )
    if output is not None:
        for path in instance.write(output):
            wrote(path)
