"""Read and write MPS and LP files: CPU seconds beside HiGHS's readers and writer, and peaks of memory.

    python benchmarks/files.py [users] [servers]

The DRFH program of a log-normal cluster with three resources, written by fairlp and by HiGHS, and
MPS and LP files of several shapes. Least of three runs, each reader and writer in a process of its own; memory
beyond what the imports take.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import highspy
import numpy as np
from measure import console, machine, show

from fairlp import read_program

RUNS = 3
#: What a result begins with; HiGHS may print lines of its own beside it.
RESULT = "result:"
#: Seconds of reading MPS as a multiple of HiGHS's that we aim at.
MPS_AIM = 1.1
#: Columns, rows, entries of a row, form of a name, digits of a number, plus, and whether columns have
#: bounds and are integer.
LP_SHAPES: dict[str, tuple[int, int, int, str, int, str, bool, bool]] = {
    "sparse": (100_000, 50_000, 3, "x{}", 6, " + ", False, False),
    "bounds": (100_000, 1_000, 3, "x{}", 6, " + ", True, False),
    "integers": (100_000, 1_000, 3, "x{}", 6, " + ", True, True),
    "dense": (2_000, 2_000, 200, "x{}", 6, " + ", False, False),
    "many rows": (100, 60_000, 5, "x{}", 6, " + ", False, False),
    "long names": (20_000, 20_000, 8, "x.server{0}.resource{0}.a(b)", 17, " + ", False, False),
    "an entry a line": (5_000, 20_000, 10, "x{}", 6, "\n+ ", False, False),
    "17 digits, +3 x": (5_000, 20_000, 10, "x{}", 17, " +", False, False),
}


def program_of(users: int, servers: int) -> Any:
    """Return DRFH's program of log-normal demands and capacities."""
    import fairlp

    rng = np.random.default_rng(0)
    demands, capacities = rng.lognormal(0, 1, (users, 3)), rng.lognormal(3, 1, (servers, 3))
    return fairlp.formulate(fairlp.Instance.from_arrays(demands, capacities), "drfh").compile()


def highs_reads(path: str) -> highspy.Highs:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(path)
    return highs


def one(who: str, what: str, path: str) -> None:
    """Print the least CPU seconds of some runs, and the MiB that the first one needs beyond what was there."""
    read: Callable[[str], Any] = read_program if who == "fairlp" else highs_reads
    model = read(path) if what == "write" else None
    copy = path + ".copy.mps"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, peak = [], 0
    for _ in range(RUNS):
        begin = process_time()
        if model is None:
            read(path)
        else:
            (model.write if who == "fairlp" else model.writeModel)(copy)
        seconds.append(process_time() - begin)
        peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(RESULT, min(seconds), (peak - before) / 1024)


def make(ours: str, theirs: str, users: str, servers: str) -> None:
    """Write the program by fairlp and by HiGHS, and print its entries."""
    program = program_of(int(users), int(servers))
    program.write(ours)
    highs_reads(ours).writeModel(theirs)
    print(RESULT, program.A.nnz)


def write_shape(path: str, shape: str) -> None:
    """Write an LP file with random numbers; its entries in a row are in columns of random order."""
    columns, rows, size, form, digits, plus, bounded, integer = LP_SHAPES[shape]
    rng = np.random.default_rng(0)
    names = [form.format(j) for j in range(columns)]

    def terms(places: np.ndarray) -> str:
        numbers = rng.random(len(places)).tolist()
        pairs = zip(numbers, places.tolist(), strict=True)
        return "".join(f"{plus}{number:.{digits}g} {names[j]}" for number, j in pairs)

    with open(path, "w", encoding="ascii") as file:
        costs = (terms(places) for places in np.array_split(np.arange(columns), columns // 5))
        file.write("Minimize\n obj:" + "\n".join(costs) + "\nSubject To\n")
        for i in range(rows):
            places = rng.permutation(size) + size * rng.integers(columns // size)
            file.write(f" {form.replace('x', 'r').format(i)}:{terms(places)} >= 1\n")
        if bounded:
            bounds = (f" 0.5 <= {name} <= {j + 2}\n" for j, name in enumerate(names))
            file.write("Bounds\n" + "".join(bounds))
        if integer:
            file.write("General\n" + "".join(f" {name}\n" for name in names))
        file.write("End\n")


def make_lp(folder: str, users: str, servers: str) -> None:
    """Write the LP files, and by HiGHS the same as MPS files."""
    for shape in LP_SHAPES:
        write_shape(f"{folder}/{shape}.lp", shape)
        highs_reads(f"{folder}/{shape}.lp").writeModel(f"{folder}/{shape}.mps")
    program_of(int(users), int(servers)).write(f"{folder}/DRFH, by fairlp.lp")
    highs_reads(f"{folder}/DRFH, by fairlp.lp").writeModel(f"{folder}/DRFH, by HiGHS.lp")


def printed(*arguments: str) -> list[str]:
    """Return the words of the result of this file in another process, where memory is counted anew."""
    command = [sys.executable, __file__, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    results = [line for line in output.splitlines() if line.startswith(RESULT)]
    return results[-1].split()[1:] if results else []


def main() -> None:
    sizes = sys.argv[1:] or ["700", "700"]
    console.print(machine("fairlp", "numpy", "highspy"))
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = f"{folder}/fairlp.mps", f"{folder}/highs.mps"
        (entries,) = printed("--make", ours, theirs, *sizes)
        compare(
            f"MPS files of {int(entries):,} entries",
            [("read", ours), ("read", theirs), ("write", ours)],
        )
        printed("--lp", folder, *(str(int(size) // 2) for size in sizes))
        others = [path for path in Path(folder).glob("*.mps") if path.stem in LP_SHAPES]
        compare(
            f"MPS files of other shapes (aim: {MPS_AIM})",
            [("read", str(path)) for path in sorted(others)],
        )
        compare("LP files", [("read", str(path)) for path in sorted(Path(folder).glob("*.lp"))])


def compare(title: str, cases: list[tuple[str, str]]) -> None:
    """Print what fairlp and HiGHS take for each reading or writing of a file."""
    rows = []
    ratios = []
    for what, path in cases:
        size = Path(path).stat().st_size / 2**20
        seconds, memory = {}, {}
        for who in ("highs", "fairlp"):
            seconds[who], memory[who] = map(float, printed("--one", who, what, path))
        ratios.append(seconds["fairlp"] / seconds["highs"])
        cells = [seconds["fairlp"], seconds["highs"], ratios[-1], size, memory["fairlp"] / size]
        rows.append([f"{what} {Path(path).name}", *(f"{cell:.2f}" for cell in cells)])
    rows.append(["geometric mean", "", "", f"{np.exp(np.log(ratios).mean()):.2f}", "", ""])
    columns = ["", "fairlp, CPU s", "HiGHS, CPU s", "ratio", "file, MiB", "peak of fairlp / file"]
    show(title, columns, rows)


if __name__ == "__main__":
    steps: dict[str, Callable[..., None]] = {"--one": one, "--make": make, "--lp": make_lp}
    if sys.argv[1:] and sys.argv[1] in steps:
        steps[sys.argv[1]](*sys.argv[2:])
    else:
        main()
