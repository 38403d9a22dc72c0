"""Our interior-point method beside general solvers: one size against all of them, a grid, a huge one, a real cluster.

    python benchmarks/interior_point.py [--parts headline,grid,logs,shares] [--size 500] [--sizes
    50,200,500,1000]
        [--limit 120] [--runs 3] [--peers highs-ipm,…] [--huge] [--alibaba FOLDER] [--plot FILE]

The DRFH program of n users × n servers × 3 resources, as in benchmarks/solvers.py, and proportional
fairness. Seconds of ours are all from the compiled program to the answer; those of the others are
the solver's own, without handing over and reading back. Only answers with a certificate of at most
1e-8 (the largest of relative primal and dual residual and gap, computed from the program) are
compared; of the others the error is printed. BLAS has one thread. ``shares``: the seconds of each
part of the method, beside those of its flops at the speed of a matrix product.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from measure import console, machine, show

import fairlp
import fairlp_research
from fairlp.errors import FairlpError
from fairlp.models.programs import backends
from fairlp.models.programs.program import Program

OURS = "interior-point"
PEERS = ("highs-ipm", "highs-hipo", "highs-simplex", "ortools:GLOP", "cvxpy:CLARABEL")
GENERAL = ("highs-ipm", "highs-hipo")
KINDS = ("lognormal", "uniform")
#: The certificate that counts.
CERTIFIED = 1e-8
#: What takes longer than this is measured once; a general solver that does is left out at the next
#: size.
ONCE, PATIENCE = 10.0, 30.0
#: The huge one: users, distinct servers, limits of time and memory.
HUGE, HUGE_SECONDS, HUGE_GIGABYTES = (900, 12_583), 300.0, 6.0


@dataclass(frozen=True)
class Run:
    """One back end on one program."""

    solver: str
    seconds: float
    error: float
    iterations: dict[str, int]
    how: str

    @property
    def counts(self) -> bool:
        """Whether it was solved, and proved to be."""
        return self.error <= CERTIFIED

    @property
    def steps(self) -> int:
        """Iterations of all kinds together."""
        return sum(self.iterations.values())


def cluster(
    kind: str, users: int, servers: int, resources: int = 3, seed: int = 0
) -> fairlp.Instance:
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        draws = rng.uniform(0.1, 1, (users, resources)), rng.uniform(1, 10, (servers, resources))
    else:
        draws = rng.lognormal(0, 1, (users, resources)), rng.lognormal(3, 1, (servers, resources))
    return fairlp.Instance.from_arrays(*draws)


def program_of(kind: str, users: int, servers: int, mechanism: str = "drfh") -> Program:
    return fairlp.formulate(cluster(kind, users, servers), mechanism).compile()


def run(solver: str, program: Program, limit: float = np.inf, runs: int = 1) -> Run:
    """Return the median of several runs (of one, if it is long)."""
    honours = getattr(backends.find_backend(solver), "honours", {"time_limit"})
    limited = limit if "time_limit" in honours and np.isfinite(limit) else None
    options = fairlp.Options(time_limit=limited)
    seconds: list[float] = []
    while len(seconds) < runs and (not seconds or seconds[0] < ONCE):
        begin = perf_counter()
        try:
            solution = backends.solve(program, solver, options)
        except (FairlpError, MemoryError) as error:
            return Run(solver, perf_counter() - begin, np.inf, {}, type(error).__name__)
        seconds.append(perf_counter() - begin if solver == OURS else solution.times["solve"])
    error = np.inf
    if solution.status.is_optimal:
        proof = solution.verify()
        parts = (proof.primal_residual, proof.dual_residual, proof.gap)
        error = max(np.inf if part is None else part for part in parts)
    how = ", ".join(part for part in (solution.method, solution.status.termination.value) if part)
    return Run(solver, statistics.median(seconds), error, dict(solution.iterations), how)


#: Parts of the method by their functions, with the seconds of what these call: some parts are
#: within others.
SHARES = {
    "normal equations and their factors": ("normal_equations.py", "__init__"),
    "of these, Cholesky factors": ("_decomp_cholesky.py", "cho_factor"),
    "directions": ("iterate.py", "direction"),
    "lengths of steps, with trial steps": ("method.py", "_with_corrector"),
    "steps and trial steps": ("problem.py", "moved"),
    "residuals and gap": ("iterate.py", "measure"),
    "certificate": ("certificate.py", "certify"),
}


def shares(size: int) -> None:
    """Print the parts of one solve, and how long its flops take as one matrix product after the other."""
    program = program_of("lognormal", size, size)
    square = np.random.default_rng(0).random((2000, 2000))
    square @ square
    begin = perf_counter()
    square @ square
    speed = 2 * 2000.0**3 / (perf_counter() - begin)
    watch = cProfile.Profile()
    begin = perf_counter()
    solution = watch.runcall(backends.solve, program, OURS, fairlp.Options())
    total = perf_counter() - begin
    steps = solution.iterations["interior point"]
    flops = steps * (3 * size * float(size) ** 2 + size**3 / 3)
    stats = pstats.Stats(watch).stats  # type: ignore[attr-defined]
    rows = []
    for part, (file, function) in SHARES.items():
        found = [
            value[3]
            for (path, _, name), value in stats.items()
            if path.endswith(file) and name == function
        ]
        seconds = max(found, default=0.0)
        rows.append([part, f"{seconds:.2f}", f"{seconds / total:.0%}"])
    rows.append(["all", f"{total:.2f}", "100%"])
    rows.append(
        [
            f"the flops at {speed / 1e9:.0f} GF/s",
            f"{flops / speed:.2f}",
            f"{flops / speed / total:.0%}",
        ]
    )
    show(f"One solve, {size} × {size}, {steps} iterations", ["part", "s", "of all"], rows)


def available(names: tuple[str, ...]) -> list[str]:
    here = fairlp.solvers()
    return [name for name in names if name in here.index and here.loc[name, "available"]]


def row(one: Run, ours: Run) -> list[str]:
    ratio = f"{one.seconds / ours.seconds:.1f}" if one.counts and ours.counts else "—"
    error = f"{one.error:.0e}" if np.isfinite(one.error) else "—"
    iterations = ", ".join(f"{count} {kind}" for kind, count in one.iterations.items()) or "—"
    return [one.solver, f"{one.seconds:.2f}", ratio, iterations, error, one.how]


def headline(size: int, limit: float, runs: int, peers: list[str], mechanism: str = "drfh") -> None:
    """One size, all peers, both kinds of data."""
    columns = ["", "seconds", "ratio to ours", "iterations", "certificate", "how"]
    for kind in KINDS:
        program = program_of(kind, size, size, mechanism)
        run(OURS, program)  # not counted
        ours = run(OURS, program, runs=runs)
        others = [run(name, program, limit, runs) for name in peers]
        title = (
            f"{mechanism}, {size} × {size} × 3, {kind}: {program.n_columns:,} variables, medians "
            f"of {runs}"
        )
        show(title, columns, [row(one, ours) for one in (ours, *others)])
        counted = [one for one in others if one.counts]
        if counted and ours.counts:
            best = min(counted, key=lambda one: one.seconds)
            console.print(
                f"ours {ours.seconds:.2f} s; the best peer ({best.solver}) {best.seconds:.2f} s: ",
                end="",
            )
            console.print(f"{best.seconds / ours.seconds:.1f} times as long")


def grid(sizes: list[int], limit: float, runs: int, general: list[str]) -> list[dict[str, Any]]:
    """Return time and iterations of ours against size, and the best general solver as far as it goes."""
    found: list[dict[str, Any]] = []
    for kind in KINDS:
        patient = set(general)
        for n in sizes:
            program = program_of(kind, n, n)
            run(OURS, program)
            ours = run(OURS, program, runs=runs)
            others = [run(name, program, limit, runs) for name in general if name in patient]
            patient -= {one.solver for one in others if not one.counts or one.seconds > PATIENCE}
            best = min(
                (one for one in others if one.counts), key=lambda one: one.seconds, default=None
            )
            found.append({"kind": kind, "n": n, "ours": ours, "best": best})
    return found


def show_grid(found: list[dict[str, Any]]) -> None:
    """Print the grid."""
    rows = []
    for point in found:
        ours, best = point["ours"], point["best"]
        other = ["—", "—", "—"] if best is None else [best.solver, f"{best.seconds:.2f}"]
        if best is not None:
            other.append(f"{best.seconds / ours.seconds:.1f}")
        own = [f"{ours.seconds:.3f}", str(ours.steps), f"{ours.error:.0e}"]
        rows.append([f"{point['kind']}, {point['n']} × {point['n']}", *own, *other])
    columns = ["", "ours [s]", "iterations", "certificate", "best general", "its seconds", "ratio"]
    show("DRFH, users × servers, 3 resources", columns, rows)


def plot(found: list[dict[str, Any]], axes: Any) -> None:
    """Draw time (first axis) and iterations (second) against the number of variables."""
    for kind in KINDS:
        points = [point for point in found if point["kind"] == kind]
        variables = [point["n"] ** 2 for point in points]
        (line,) = axes[0].loglog(
            variables, [point["ours"].seconds for point in points], "o-", label=f"ours, {kind}"
        )
        there = [point for point in points if point["best"] is not None]
        seconds = [point["best"].seconds for point in there]
        style = {
            "color": line.get_color(),
            "label": f"best of HiGHS's interior-point methods, {kind}",
        }
        axes[0].loglog([point["n"] ** 2 for point in there], seconds, "s--", **style)
        axes[1].semilogx(
            variables, [point["ours"].steps for point in points], "o-", label=f"ours, {kind}"
        )
    axes[0].set(
        xlabel="variables (users × servers)", ylabel="time [s]", title="Time to a certified optimum"
    )
    axes[1].set(
        xlabel="variables (users × servers)",
        ylabel="iterations",
        title="Iterations",
        ylim=(0, None),
    )
    for axis in axes:
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)


def save(found: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    plot(found, axes)
    figure.savefig(path)


def huge(kinds: tuple[str, ...] = KINDS) -> None:
    """Solve the huge one in processes of their own, whose memory is then known."""
    rows = []
    for kind in kinds:
        command = [sys.executable, __file__, "--child", kind]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=2 * HUGE_SECONDS, check=True
            )
        except subprocess.TimeoutExpired:
            rows.append([kind, f"> {2 * HUGE_SECONDS:.0f}", *["—"] * 6])
            continue
        except subprocess.CalledProcessError as error:
            rows.append([kind, *["—"] * 6, error.stderr.strip().splitlines()[-1][:30]])
            continue
        answer = json.loads(done.stdout.splitlines()[-1])
        within = answer["total"] <= HUGE_SECONDS and answer["peak"] <= HUGE_GIGABYTES
        times = [f"{answer[name]:.1f}" for name in ("compiled", "solved", "total")]
        about = [f"{answer['peak']:.2f}", str(answer["iterations"]), f"{answer['error']:.0e}"]
        rows.append([kind, *times, *about, "yes" if within else "no"])
    columns = [
        "",
        "compile [s]",
        "solve [s]",
        "in all [s]",
        "peak [GB]",
        "iterations",
        "certificate",
        "within limits",
    ]
    users, servers = HUGE
    title = (
        f"DRFH, {users} × {servers:,} distinct servers × 3; limits {HUGE_SECONDS:.0f} s and "
        f"{HUGE_GIGABYTES:g} GB"
    )
    show(title, columns, rows)


def child(kind: str) -> None:
    """Solve the huge one here, and print what it took."""
    import resource

    begin = perf_counter()
    program = program_of(kind, *HUGE)
    compiled = perf_counter() - begin
    found = run(OURS, program)
    total = perf_counter() - begin
    peak = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024)
        / 1e9
    )
    told = {"compiled": compiled, "solved": found.seconds, "total": total, "peak": peak}
    print(json.dumps({**told, "iterations": found.steps, "error": found.error}))


def alibaba(folder: Path, runs: int) -> None:
    """Compare methods on leximin with task limits on the real cluster; limits times 3 and without, too."""
    trace = fairlp_research.read_alibaba_gpu(
        folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_gpuspec33.csv"
    )
    ways = {
        "lp, merged (warm simplex)": {"method": "lp"},
        "interior-point, merged": {"method": OURS},
        "interior-point, unmerged": {"method": OURS, "merge": False},
    }
    rows = []
    for factor in (1.0, 3.0):
        busy = trace.replace(task_limits=factor * trace.task_limits)
        for mechanism in ("c-drfh", "tsf"):
            totals: dict[str, np.ndarray] = {}
            for name, how in ways.items():
                seconds: list[float] = []
                while len(seconds) < runs and (not seconds or seconds[0] < ONCE):
                    begin = perf_counter()
                    found = fairlp.allocate(busy, mechanism, **how)
                    seconds.append(perf_counter() - begin)
                totals[name] = found.totals.to_numpy()
                first = totals[next(iter(ways))]
                apart = np.abs(totals[name] - first)[first > 0] / first[first > 0]
                about = [
                    f"{statistics.median(seconds):.2f}",
                    str(len(found.rounds)),
                    f"{apart.max(initial=0.0):.0e}",
                ]
                rows.append([f"{mechanism}, limits × {factor:g}: {name}", *about])
    columns = ["", "seconds", "rounds", "totals differ by"]
    show(
        f"Leximin of {len(trace.users)} classes on {len(trace.servers):,} servers, with "
        "constraints",
        columns,
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default="headline,grid,logs")
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--sizes", default="50,200,500,1000")
    parser.add_argument("--log-sizes", default="100,500")
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--alibaba", type=Path)
    parser.add_argument("--plot")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.child:
        child(chosen.child)
        return
    console.print(machine("fairlp", "numpy", "scipy", "highspy", "cvxpy"))
    console.print(
        f"one BLAS thread; seconds, median of {chosen.runs} runs (of one beyond {ONCE:g} s)"
    )
    parts = [part for part in chosen.parts.split(",") if part]
    if "headline" in parts:
        headline(chosen.size, chosen.limit, chosen.runs, available(tuple(chosen.peers.split(","))))
    if "grid" in parts:
        found = grid(
            [int(n) for n in chosen.sizes.split(",")], chosen.limit, chosen.runs, available(GENERAL)
        )
        show_grid(found)
        if chosen.plot:
            save(found, chosen.plot)
    if "shares" in parts:
        shares(chosen.size)
    if "logs" in parts:
        for n in chosen.log_sizes.split(","):
            headline(int(n), chosen.limit, chosen.runs, available(("cvxpy:CLARABEL",)), "ceei")
    if chosen.huge:
        huge()
    if chosen.alibaba:
        alibaba(chosen.alibaba, chosen.runs)


if __name__ == "__main__":
    main()
