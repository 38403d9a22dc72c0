"""Do the tests notice? The faults of ``planted_faults.toml``, put into the code one at a time.

    python benchmarks/faults.py                           all of them
    python benchmarks/faults.py --family kueue --jobs 2   one family, two faults at a time

A fault is a text of a file, and what stands there instead, chosen because a user would get a wrong
answer: ten or more for each family of mechanisms or modules. It is put into a copy of the checkout,
and tests run there: those of the same name first, then those that the family lists, as the quick run
has them. A fault is noticed when they fail or do not end.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
#: Seconds that the tests of a family may take.
PATIENCE = 200.0
#: pytest's exit codes for "passed", and for "failed" and "could not be collected".
PASSED, NOTICED = 0, (1, 2)
#: The line of pytest's summary that names what failed.
FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
#: The list of planted faults, and how many each family has.
PLANTED = Path(__file__).with_name("planted_faults.toml")
FAULTS_OF_A_FAMILY = 10


def tests_of(file: str) -> list[list[str]]:
    """Return the tests of the same name as a file of src, then the other files of their folder."""
    room, _, place = file.partition("/")  # the tests of a companion have a room of their own
    namesake = ROOT / "tests" / room.removeprefix("fairlp").strip("_") / place
    namesake = namesake.with_name(f"test_{namesake.name.lstrip('_')}")
    folder = next(path for path in namesake.parents if any(path.glob("test_*.py")))
    others = sorted({*folder.glob("test_*.py")} - {namesake})
    groups = [[namesake] if namesake.exists() else [], others]
    return [[path.relative_to(ROOT).as_posix() for path in group] for group in groups if group]


def copy_of_checkout(folder: Path) -> Path:
    """Copy what git tracks, and new files that it does not ignore, to a new folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def run_tests(folder: Path, tests: Sequence[str], limit: float) -> tuple[int | None, str]:
    """Run tests in a copy, those of the quick run only.

    Returns
    -------
    code : int or None
        pytest's exit code; None when they do not end in time.
    test : str
        The test that failed.
    """
    flags = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    if has_marker(folder, "slow"):
        flags += ["-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *flags, *tests]
    own = {
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "FAIRLP_HYPOTHESIS_PROFILE": "quick",
        "COLUMNS": "300",
    }
    # a session of its own, so that children of the tests end with them
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return None, "no end"
    if process.returncode not in (PASSED, *NOTICED):
        raise SystemExit(f"pytest did not run {' '.join(tests)}: exit code {process.returncode}")
    failure = FAILURE.search(output)
    return process.returncode, failure[1] if failure else ""


def has_marker(folder: Path, name: str) -> bool:
    """Return whether the tests of a copy have a marker."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    markers = project["tool"]["pytest"]["ini_options"].get("markers", [])
    return any(marker.partition(":")[0] == name for marker in markers)


@dataclass(frozen=True)
class Verdict:
    """What tests said of a fault.

    Attributes
    ----------
    group : int or None
        Position of the group of tests that noticed it; None where none did.
    test : str
        The test that failed.
    seconds : float
    """

    group: int | None
    test: str
    seconds: float

    @property
    def is_noticed(self) -> bool:
        """Whether some tests noticed the fault."""
        return self.group is not None


class Bench:
    """Copies to work in, and which tests are known to pass without a fault."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.copies: queue.Queue[Path] = queue.Queue()
        for k in range(jobs):
            self.copies.put(copy_of_checkout(folder / f"copy{k}"))
        self.passing: set[str] = set()

    def judged(self, fault: PlantedFault, groups: list[list[str]]) -> Verdict:
        """Put one fault into a copy, run groups of tests one after the other, take it out again."""
        copy = self.copies.get()
        path = copy / "src" / fault.file
        right = path.read_text(encoding="utf-8")
        began = time.perf_counter()
        try:
            for k, tests in enumerate(groups):
                path.write_text(fault.changed(right), encoding="utf-8")
                code, test = run_tests(copy, tests, PATIENCE)
                path.write_text(right, encoding="utf-8")
                if code is None or code in NOTICED:
                    seconds = time.perf_counter() - began
                    self.require_passing(copy, test, tests)
                    return Verdict(k, test, seconds)
            return Verdict(None, "", time.perf_counter() - began)
        finally:
            path.write_text(right, encoding="utf-8")
            self.copies.put(copy)

    def require_passing(self, copy: Path, test: str, tests: list[str]) -> None:
        """Raise where the test that noticed a fault does not pass without any."""
        alone = [test] if "::" in test else tests
        if test not in self.passing and run_tests(copy, alone, PATIENCE)[0] != PASSED:
            raise SystemExit(f"{' '.join(alone)} does not pass without any fault")
        self.passing.add(test)


@dataclass(frozen=True)
class PlantedFault:
    """A fault of the list: a text of a file, what stands there instead, and what a user would see."""

    family: str
    kind: str
    file: str
    old: str
    new: str
    seen: str

    def changed(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.file} does not have {self.old!r} exactly once")
        return text.replace(self.old, self.new)

    def __str__(self) -> str:
        return f"{self.family}, {self.kind}: {self.file}: {self.seen}"


def planted_faults() -> tuple[dict[str, list[str]], list[PlantedFault]]:
    """Return the tests of each family, and all faults of the list."""
    data = tomllib.loads(PLANTED.read_text(encoding="utf-8"))
    return data["tests"], [PlantedFault(**row) for row in data["fault"]]


def groups_of_planted(fault: PlantedFault, tests: list[str]) -> list[list[str]]:
    """Return the tests of the same name as the fault's file, then the other ones of its family."""
    own = tests_of(fault.file)[0]
    first = own if len(own) == 1 else []
    others = [test for test in tests if test not in first]
    return [group for group in (first, others) if group]


def planted(family: str, jobs: int) -> int:
    """Plant the faults of a family, or of all; 0 when the quick run notices each."""
    tests, everything = planted_faults()
    chosen = [fault for fault in everything if family in ("", fault.family)]
    groups = [groups_of_planted(fault, tests[fault.family]) for fault in chosen]
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(jobs) as pool:
        bench = Bench(Path(folder), jobs)
        for fault, verdict in zip(chosen, pool.map(bench.judged, chosen, groups), strict=True):
            noticed += verdict.is_noticed
            word = "noticed " if verdict.is_noticed else "SURVIVES"
            print(f"{word} {verdict.seconds:6.1f} s  {fault}", flush=True)
            if verdict.test:
                print(f"{'':19}{verdict.test}", flush=True)
    print(f"{noticed} of {len(chosen)} planted faults noticed")
    return int(noticed < len(chosen))


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant faults as asked, and print what the tests noticed; 0 when all were noticed."""
    parser = argparse.ArgumentParser(description="Plant faults, and see whether the tests notice.")
    parser.add_argument("--family", default="", help="one family of them")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    return planted(asked.family, asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
