"""Read and write MPS files: CPU seconds beside HiGHS's own reader and writer, and the peak of memory.

    python benchmarks/files.py [users] [servers]

The DRFH program of a log-normal cluster with three resources, written by fairlp and by HiGHS. Least
of three runs, each reader and writer in a process of its own; memory beyond what the imports take.
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
from interior_point import program_of
from measure import console, machine, show

from fairlp import read_program

RUNS = 3


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
    print(min(seconds), (peak - before) / 1024)


def make(ours: str, theirs: str, users: str, servers: str) -> None:
    """Write the program by fairlp and by HiGHS, and print its entries."""
    program = program_of("lognormal", int(users), int(servers))
    program.write(ours)
    highs_reads(ours).writeModel(theirs)
    print(program.A.nnz)


def printed(*arguments: str) -> list[str]:
    """Return the words that this file prints when another process runs it: memory is counted anew."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def main() -> None:
    sizes = sys.argv[1:] or ["700", "700"]
    console.print(machine("fairlp", "numpy", "highspy"))
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = f"{folder}/fairlp.mps", f"{folder}/highs.mps"
        (entries,) = printed("--make", ours, theirs, *sizes)
        rows = []
        for what, path in (("read", ours), ("read", theirs), ("write", ours)):
            size = Path(path).stat().st_size / 2**20
            seconds, memory = {}, {}
            for who in ("highs", "fairlp"):
                seconds[who], memory[who] = map(float, printed("--one", who, what, path))
            name = f"{what} {Path(path).name}"
            ratio, times = seconds["fairlp"] / seconds["highs"], memory["fairlp"] / size
            cells = [seconds["fairlp"], seconds["highs"], ratio, size, times]
            rows.append([name, *(f"{cell:.2f}" for cell in cells)])
    columns = ["", "fairlp, CPU s", "HiGHS, CPU s", "ratio", "file, MiB", "peak of fairlp / file"]
    show(f"MPS files of {int(entries):,} entries", columns, rows)


if __name__ == "__main__":
    steps: dict[str, Callable[..., None]] = {"--one": one, "--make": make}
    if sys.argv[1:] and sys.argv[1] in steps:
        steps[sys.argv[1]](*sys.argv[2:])
    else:
        main()
