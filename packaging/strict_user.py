"""What a user's module looks like whose types are checked strictly: mypy and pyright must find nothing to say."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import fairlp
import fairlp_research
from fairlp import Capability, Instance, Model, Options, Program, Raw, Termination
from fairlp_research.simulation import SimulationResult, Workload, simulate
from fairlp_research.study import Study


class Mine(fairlp.Backend):
    """A back end that refuses every program."""

    name = "mine"
    capabilities = frozenset({Capability.LP})
    honours = frozenset({"time_limit"})

    def run(self, program: Program, options: Options) -> Raw:
        """Return that nothing is known."""
        return Raw(Termination.UNKNOWN, f"{program.n_rows} rows, at most {options.time_limit} s")


@fairlp.mechanism("memory-first", source="our note", promises=("Pareto-optimal",))
def memory_first(instance: Instance) -> Model:
    """Return the model of the largest smallest share of memory."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = Model("Memory first", indices=(n, i, r))
    d = model.parameter("d", (n, r), instance.demands, "amount of r for one task of n")
    c = model.parameter("c", (i, r), instance.capacities, "capacity of i")
    x = model.variable("x", n, i)
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("few", sum(x[user, server] for user in n for server in i) <= 100)
    model.leximin(x.sum(i))
    model.define("tasks", x)
    return model


def tables() -> Mapping[str, pd.DataFrame]:
    """Return the lists of what there is."""
    assert fairlp.mechanisms("drf").promises
    return {
        "solvers": fairlp.solvers(),
        "mechanisms": fairlp.mechanisms(),
        "properties": fairlp.properties(),
        "generators": fairlp_research.study.generators(),
    }


def answers(instance: Instance) -> list[float]:
    """Return numbers of everything that is computed."""
    model = fairlp.formulate(instance, "drfh")
    solution: fairlp.Solution = model.solve(solver="highs", time_limit=60.0)
    leximin = fairlp.leximin(memory_first(instance))
    allocation: fairlp.Allocation = fairlp.allocate(instance, "drfh")
    totals: pd.Series[float] = allocation.totals
    usage: pd.DataFrame = allocation.usage
    table: pd.DataFrame = fairlp.compare(instance, ["drfh", "tsf"])
    demands: np.ndarray = instance.demands
    return [
        solution.objective or 0.0,
        float(leximin.levels.min()),
        float(totals.sum()),
        float(usage.to_numpy().sum()),
        float(table.to_numpy().sum()),
        float(demands.sum()),
    ]


def files(instance: Instance, folder: Path) -> list[Path]:
    """Write an instance and its program, and read them again."""
    written = instance.write(folder / "instance.json")
    again = fairlp.read(folder / "instance.json")
    model = fairlp.formulate(again, "drfh")
    program = model.compile()
    model.write(folder / "program.mps")
    model.write(folder / "program.mps", profiles="full")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    model.solve(time_limits=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fairlp.allocate(again, "drf", time_limits=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert fairlp.read_program(folder / "program.mps").n_rows == program.n_rows
    return written


def checks(instance: Instance) -> bool:
    """Return whether audits, certificates and the own back end say what they should."""
    audits = fairlp.audit(instance, fairlp.allocate(instance, "drfh"))
    agrees = fairlp.validate(instance, "drfh")["agrees"]
    complaints = fairlp.complaints.check(instance, fairlp.allocate(instance, "njc"))
    figure = fairlp.plots.plot_shares(fairlp.allocate(instance, "drfh"))
    try:
        fairlp.formulate(instance, "drfh").solve(Mine()).require_optimal()
    except fairlp.errors.FairlpError:
        return (
            bool(agrees.all())
            and len(audits) > 0
            and figure is not None
            and complaints.complaint < 1e-6
        )
    return False


def busy(cluster: Instance, jobs: pd.DataFrame) -> SimulationResult:
    """Return what happens when users submit these jobs; modules are imported by their public names."""
    return simulate(cluster, Workload.of(jobs, ["cpu"]), "first-fit")


def halves() -> Study:
    """Return an experiment of one size."""
    return Study(
        name="halves",
        generator="uniform-integers",
        grid={"users": [5], "resources": [2]},
        mechanisms=["drf"],
        runs=2,
    )


if __name__ == "__main__":
    example = fairlp.examples.load("ghodsi")
    print(sorted(tables()), answers(example), checks(example))
