"""Do the tests notice? Small faults put into the code one at a time, and the tests run on each.

    python benchmarks/faults.py                          every fault (an hour on one core)
    python benchmarks/faults.py --only programs          a room, a file of src or words of a fault
    python benchmarks/faults.py --list                   the faults, in words
    python benchmarks/faults.py --jobs 2                 two at a time, each in a copy of its own

Works in copies in a temporary folder; the checkout is only read. The faults are data, in benchmarks/faults/*.toml: one
table ``[[fault]]`` each, with

    file    the file, below src/fairlp
    old     its exact text, which occurs once (or, with ``after``, the first after that text, which occurs once)
    new     what is written there instead
    what    what is wrong then, in words
    tests   tests that should notice: paths below tests/, options of pytest; ``tests`` at the head where there are none

A fault is noticed when these tests fail or do not end in time. They are the narrowest that should: what they notice,
the whole suite notices. Without the fault they must pass, which is tried first.
Ends with 0 when all are noticed, 1 when some are not, 2 when something could not be tried.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = Path(__file__).resolve().parent / "faults"
#: Seconds that tests may take beyond five times what they take without a fault.
PATIENCE = 60.0
#: pytest's exit codes: tests passed; tests failed, or could not be collected (the module does not import any more).
PASSED, FAILED, INTERRUPTED = 0, 1, 2


class FaultError(Exception):
    """A fault that cannot be tried: its text is gone, or its tests fail without it."""


class Result(StrEnum):
    """What became of a fault."""

    NOTICED = "noticed"
    HUNG = "noticed (no end)"
    MISSED = "NOT NOTICED"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Fault:
    """One fault: ``old`` in ``file`` becomes ``new``."""

    room: str
    file: str
    old: str
    new: str
    what: str
    tests: tuple[str, ...]
    after: str = ""

    def changed(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        start = 0
        if self.after:
            if text.count(self.after) != 1:
                raise FaultError(f"{self}: {self.after!r} occurs {text.count(self.after)} times, not once")
            start = text.index(self.after)
            if self.old not in text[start:]:
                raise FaultError(f"{self}: {self.old!r} does not occur after {self.after!r}")
        elif text.count(self.old) != 1:
            raise FaultError(f"{self}: {self.old!r} occurs {text.count(self.old)} times, not once")
        at = text.index(self.old, start)
        return text[:at] + self.new + text[at + len(self.old) :]

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def faults(folder: Path = FAULTS) -> list[Fault]:
    """Return all faults, file by file."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for one in data["fault"]:
            tests = tuple(one.pop("tests", data.get("tests", ())))
            if not tests:
                raise FaultError(f"{path.name}: {one['what']!r} has no tests")
            found.append(Fault(room=path.stem, tests=tests, **one))
    return found


def chosen(all_faults: Sequence[Fault], only: Sequence[str]) -> list[Fault]:
    """Return the faults of these rooms, or (a word that is no room) with these words; all when none are given."""
    rooms = {fault.room for fault in all_faults}

    def wanted(fault: Fault) -> bool:
        return any(word == fault.room if word in rooms else word in str(fault) for word in only)

    return [fault for fault in all_faults if not only or wanted(fault)]


def copy_of_checkout(folder: Path) -> Path:
    """Copy what git tracks, and what it does not but would, to a new folder; check that Python takes fairlp from it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    where = subprocess.run(
        [sys.executable, "-c", "import fairlp; print(fairlp.__file__)"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not Path(where).resolve().is_relative_to(folder.resolve()):
        raise FaultError(f"Python takes fairlp from {where}, not from the copy {folder}")
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which the copy's fairlp is found first, and no byte code of a fault stays."""
    return os.environ | {
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def run_tests(folder: Path, tests: Sequence[str], limit: float) -> tuple[int | None, float, str]:
    """Run tests in a copy; return pytest's exit code (None after the limit), seconds, and the end of what it said."""
    paths = [
        name if name.startswith("-") or not (folder / "tests" / name.split("::")[0]).exists() else f"tests/{name}"
        for name in tests
    ]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *paths]
    begin = time.perf_counter()
    # a session of its own, so that children of the tests end with them
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        said, _ = process.communicate()
        code = None
    return code, time.perf_counter() - begin, "\n".join(said.splitlines()[-5:])


class Bench:
    """Copies to work in, and how long tests take without a fault."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.copies: queue.Queue[Path] = queue.Queue()
        for k in range(jobs):
            self.copies.put(copy_of_checkout(folder / f"copy{k}"))
        self.seconds: dict[tuple[str, ...], float] = {}

    def without_fault(self, tests: tuple[str, ...], copy: Path) -> float:
        """Return the seconds that tests take without a fault; they must pass."""
        if tests not in self.seconds:
            code, seconds, said = run_tests(copy, tests, 1800.0)
            if code != PASSED:
                raise FaultError(f"{' '.join(tests)}: pytest ends with {code} without any fault\n{said}")
            self.seconds[tests] = seconds
        return self.seconds[tests]

    def attempt(self, fault: Fault) -> tuple[Result, float, str]:
        """Put one fault into a copy, run its tests, take it out again."""
        copy = self.copies.get()
        path = copy / "src" / "fairlp" / fault.file
        right = path.read_text(encoding="utf-8") if path.exists() else ""
        try:
            wrong = fault.changed(right)
            compile(wrong, fault.file, "exec")
            limit = PATIENCE + 5 * self.without_fault(fault.tests, copy)
            path.write_text(wrong, encoding="utf-8")
            code, seconds, said = run_tests(copy, fault.tests, limit)
        except (FaultError, SyntaxError) as error:
            return Result.ERROR, 0.0, str(error)
        finally:
            if right:
                path.write_text(right, encoding="utf-8")
            self.copies.put(copy)
        if code in (FAILED, INTERRUPTED):
            return Result.NOTICED, seconds, ""
        if code is None:
            return Result.HUNG, seconds, ""
        return (Result.MISSED, seconds, "") if code == PASSED else (Result.ERROR, seconds, said)


def table(tried: list[tuple[Fault, Result]]) -> str:
    """Return the score by room as a table in Markdown."""
    lines = ["| room | faults | noticed | not noticed |", "| --- | ---: | ---: | ---: |"]
    rooms = sorted({fault.room for fault, _ in tried})
    for room in [*rooms, None]:
        results = [result for fault, result in tried if room is None or fault.room == room]
        noticed = sum(result in (Result.NOTICED, Result.HUNG) for result in results)
        lines.append(f"| {room or '**all**'} | {len(results)} | {noticed} | {len(results) - noticed} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Put faults into copies of the code and see whether the tests notice.")
    parser.add_argument("--only", action="append", default=[], metavar="ROOM, FILE OR WORDS")
    parser.add_argument("--list", action="store_true", help="print the faults and end")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    selected = chosen(faults(), asked.only)
    if asked.list:
        for fault in selected:
            print(f"{fault.room:24} {fault}")
        print(f"{len(selected)} faults")
        return 0
    tried = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        bench = Bench(Path(folder), asked.jobs)
        for fault, (result, seconds, said) in zip(selected, pool.map(bench.attempt, selected), strict=True):
            tried.append((fault, result))
            print(f"{result:16} {seconds:6.1f} s  {fault.room}  {fault}", *([said] if said else []), flush=True)
    print(f"\n{table(tried)}")
    if any(result is Result.ERROR for _, result in tried):
        return 2
    return int(any(result is Result.MISSED for _, result in tried))


if __name__ == "__main__":
    sys.exit(main())
