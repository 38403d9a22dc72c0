"""Draw instances and models anew through every oracle of the tests, for so many minutes.

    python benchmarks/explore.py --minutes 10
    python benchmarks/explore.py --minutes 60 --seed 7 --only tests/mechanisms/max_min --write build/explored

Every test that takes a ``seed`` compares a random instance or model with something that shares no code. By day
each sees the same few seeds; here each is called with others, in one process, as often as its seconds allow: the
test that has had the least time is next. A failure is printed with its seed, and written as a test that shows it
again, beside the instances that the test had drawn. The exit code is 1 where something was found.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairlp

ROOT = Path(__file__).resolve().parent.parent
#: Seeds are drawn below this.
LARGEST_SEED = 2**31
#: Finds of one test that are written; then it is called no more.
MOST_FINDS = 3


@dataclass
class Oracle:
    """A test that takes a seed: its function, and the other arguments of each of its cases."""

    name: str
    file: str
    function: Callable[..., Any]
    cases: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    calls: int = 0
    finds: int = 0


@dataclass(frozen=True)
class Find:
    """A call that failed: the test, its arguments, the error, and the instances it had drawn."""

    oracle: Oracle
    arguments: dict[str, Any]
    error: BaseException
    instances: list[fairlp.Instance]

    def __str__(self) -> str:
        first_line = str(self.error).strip().splitlines() or [""]
        return (
            f"{self.oracle.file}::{self.oracle.name} with {self.arguments}: "
            f"{type(self.error).__name__}: {first_line[0][:200]}"
        )


class Collector:
    """A plugin of pytest that keeps the tests that take a seed and no fixture."""

    def __init__(self) -> None:
        self.oracles: dict[tuple[str, str], Oracle] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep what can be called with another seed."""
        for item in session.items:
            if isinstance(item, pytest.Function) and not item.get_closest_marker("skip"):
                self.keep(item)

    def keep(self, item: pytest.Function) -> None:
        """Keep a test if all that it takes is its seed and the parameters of its case."""
        function = item.obj
        drawn = getattr(function, "hypothesis", None)
        function = drawn.inner_test if drawn else function
        names = set(inspect.signature(function).parameters)
        callspec = getattr(item, "callspec", None)
        parameters = dict(callspec.params) if callspec else {}
        parameters.pop("seed", None)
        if "seed" not in names or names - {"seed"} != set(parameters):
            return
        file = item.path.relative_to(ROOT).as_posix()
        name = item.originalname
        oracle = self.oracles.setdefault((file, name), Oracle(name, file, function))
        oracle.cases.append(parameters)


def collected(only: str) -> list[Oracle]:
    """Return the tests below a path that take a seed."""
    collector = Collector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(
            ["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", only], plugins=[collector]
        )
    if code != 0 or not collector.oracles:
        raise SystemExit(output.getvalue() or f"no test below {only} takes a seed")
    return list(collector.oracles.values())


def call(oracle: Oracle, arguments: dict[str, Any]) -> Find | None:
    """Call a test; return what it found."""
    from hypothesis.errors import UnsatisfiedAssumption  # pytest has to load hypothesis first

    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            oracle.function(**arguments)
    except (pytest.skip.Exception, UnsatisfiedAssumption):
        return None
    except (Exception, pytest.fail.Exception) as error:
        return Find(oracle, arguments, error, list(instances_in(error)))
    return None


def instances_in(error: BaseException) -> Iterator[fairlp.Instance]:
    """Yield the instances that the functions of tests had when the error was raised."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "tests" in Path(frame.f_code.co_filename).parts:
            for value in frame.f_locals.values():
                if isinstance(value, fairlp.Instance):
                    yield value


def explore(oracles: list[Oracle], minutes: float, seed: int, folder: Path | None) -> int:
    """Call the tests in turn until the time is up; return the number of finds."""
    rng = np.random.default_rng(seed)
    end = time.monotonic() + 60 * minutes
    waiting = list(oracles)
    n_finds = 0
    while waiting and time.monotonic() < end:
        oracle = min(waiting, key=lambda oracle: oracle.seconds)
        case = oracle.cases[int(rng.integers(len(oracle.cases)))]
        arguments = case | {"seed": int(rng.integers(LARGEST_SEED))}
        begin = time.monotonic()
        find = call(oracle, arguments)
        oracle.seconds += time.monotonic() - begin
        oracle.calls += 1
        if find is None:
            continue
        n_finds += 1
        oracle.finds += 1
        print(f"FOUND {find}", flush=True)
        if folder is not None:
            write(find, folder, n_finds)
        if oracle.finds == MOST_FINDS:
            waiting.remove(oracle)
    return n_finds


READY_TEST = '''"""{summary}"""

import importlib.util
from pathlib import Path

from paths import ROOT


def {name}_{number}():
    spec = importlib.util.spec_from_file_location("explored", ROOT / "{file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    test = module.{name}
    check = test.hypothesis.inner_test if hasattr(test, "hypothesis") else test
    check({arguments})
'''


def write(find: Find, folder: Path, number: int) -> None:
    """Write a find as a test, and the instances beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = find.oracle.name.removeprefix("test_")
    text = READY_TEST.format(
        summary=str(find).replace("\\", "/").replace('"""', "'''"),
        name=find.oracle.name,
        number=number,
        file=find.oracle.file,
        arguments=", ".join(f"{key}={value!r}" for key, value in find.arguments.items()),
    )
    (folder / f"test_{name}_{number}.py").write_text(text, encoding="utf-8")
    for k, instance in enumerate(find.instances):
        with contextlib.suppress(Exception):  # of a label that no file holds
            instance.write(folder / f"{name}_{number}_{k}.yaml")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another each time")
    parser.add_argument("--only", default="tests", metavar="PATH", help="a folder or file of tests")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write finds as tests there")
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    os.chdir(ROOT)
    oracles = collected(options.only)
    cases = sum(len(oracle.cases) for oracle in oracles)
    print(f"seed {seed}: {len(oracles)} tests take a seed, {cases} cases", flush=True)
    n_finds = explore(oracles, options.minutes, seed, options.write)
    for oracle in sorted(oracles, key=lambda oracle: oracle.calls):
        print(f"{oracle.calls:7} calls {oracle.seconds:6.1f} s  {oracle.file}::{oracle.name}")
    calls = sum(oracle.calls for oracle in oracles)
    print(f"seed {seed}: {calls} calls of {len(oracles)} tests, {n_finds} finds")
    return int(n_finds > 0)


if __name__ == "__main__":
    sys.exit(main())
