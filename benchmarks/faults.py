"""Do the tests notice? Random faults put into the code one at a time, and the tests of the package run on each.

    python benchmarks/faults.py --sample 100 --seed 7               a sample of the whole of src
    python benchmarks/faults.py --only models/programs --jobs 2     of one package or file, two at a time
    python benchmarks/faults.py --planted --family kueue            the faults of benchmarks/planted_faults.toml
    python benchmarks/faults.py --certificates --sample 60          does certify() believe wrong answers?

A fault changes one node of the syntax tree: a comparison, a sign, ``min`` or ``max``, ``and`` or
``or``, ``not``, a number. It is put into a copy of the checkout, and the tests of the same package
run there. A fault is noticed when they fail or do not end. Some faults cannot be noticed, because
the program still means the same; each survivor is printed with its line, to be judged by a reader.
Some that no reader would call a fault are not drawn: inside error texts and warnings, flags of data
classes, sizes and seeds of random draws, constants that limit work, ``<`` for ``<=`` at a tolerance.
The tests of the same name run first, then the others of the folder. The last lines are the rates of
faults that each of the two noticed.

With ``--planted`` the faults are those of ``planted_faults.toml``, chosen because a user would get a
wrong answer: ten or more for each family of mechanisms or modules. The tests are those of the same name, then
those that the family lists, as the quick run has them.

With ``--certificates`` the faults are in what makes the answers of mechanisms with a certificate. On
random instances (task limits, guarantees, caps, quotas, weights, ties, placement) each answer is
compared with the right one, which the code without a fault proves, in rationals where it can. Every
answer that differs has to be refused by ``certify()``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
#: Seconds that the tests of a folder may take, and those of a family of planted faults.
PATIENCE = 600.0
PATIENCE_WITH_PLANTED = 200.0
#: pytest's exit codes for "passed", and for "failed" and "could not be collected".
PASSED, NOTICED = 0, (1, 2)
#: The line of pytest's summary that names what failed.
FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
#: The list of planted faults, and how many each family has.
PLANTED = Path(__file__).with_name("planted_faults.toml")
FAULTS_OF_A_FAMILY = 10
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPPOSITES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
}
#: Keyword arguments that no answer depends on: they refuse what does not happen, or decide about
#: memory, or about how much is shown.
INVISIBLE_KEYWORDS = frozenset(
    ("stacklevel", "strict", "maxsize", "max_rows", "frozen", "slots", "kw_only", "repr")
)
#: Random draws, whose sizes and seeds are as good as others (their sums and products are not left out).
RANDOM_DRAWS = re.compile(r"(np\.random|rng|run\.rng)\.\w+|run\.of")
#: Constants of modules that decide how much work is done or how much is shown, and no answer.
TUNING = re.compile(
    r"_?(MOST|FEW|FEWEST|MANY|LARGE|LONGEST|SHOWN|STEPS|SWEEPS|PATIENCE|TIMES|TRIES|PASSES|ROUNDS|HALVINGS"
    r"|SLICE|PAYS_FROM|LETTERS|NAMED|DRAWS?|RUNS|SEED|REPETITIONS|CORRECTIONS)(_\w+)?"
)
#: Faults at a bound that is a tolerance: no number lies on it but by rounding.
TOLERANCES = frozenset(
    node.target.id if isinstance(node, ast.AnnAssign) else node.targets[0].id
    for node in ast.parse((SOURCE / "fairlp" / "tolerances.py").read_text(encoding="utf-8")).body
    if isinstance(node, ast.Assign | ast.AnnAssign)
) - {"__all__"}


@dataclass(frozen=True)
class Fault:
    """One changed expression of a file, by its place in the text."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def changed(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        data = text.encode()
        return (data[: self.begin] + self.new.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old}  →  {self.new}"


def opposite(node: ast.expr) -> ast.expr | None:
    """Return an expression that is wrong where the given one is right; None for nodes that are left alone."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    if isinstance(node, ast.Name) and node.id in OPPOSITES:
        return ast.Name(OPPOSITES[node.id])
    if isinstance(node, ast.Attribute) and node.attr in OPPOSITES:
        return ast.Attribute(node.value, OPPOSITES[node.attr])
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    return None


def names_a_tolerance(node: ast.expr) -> bool:
    """Return whether an expression is compared with, or scaled by, a tolerance."""
    return any(isinstance(name, ast.Name) and name.id in TOLERANCES for name in ast.walk(node))


def is_invisible(node: ast.AST) -> bool:
    """Return whether a fault inside a node changes no answer: texts, random draws, work, flags of classes."""
    if isinstance(node, ast.keyword):
        return node.arg in INVISIBLE_KEYWORDS
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Call):
        has_sums = any(isinstance(child, ast.BinOp) for child in ast.walk(node))
        is_draw = bool(RANDOM_DRAWS.fullmatch(ast.unparse(node.func))) and not has_sums
        return is_draw or ast.unparse(node.func) == "warnings.warn"
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.col_offset == 0:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        return bool(TUNING.fullmatch(ast.unparse(target)))
    return isinstance(node, ast.JoinedStr | ast.Raise)


def is_at_a_tolerance(node: ast.expr) -> bool:
    """Return whether the fault of a node moves a bound by rounding: < for <= at a tolerance or a draw."""
    if isinstance(node, ast.Compare):
        orders = ast.Lt | ast.LtE | ast.Gt | ast.GtE
        draws = isinstance(node.left, ast.Call) and RANDOM_DRAWS.fullmatch(
            ast.unparse(node.left.func)
        )
        return isinstance(node.ops[0], orders) and (bool(draws) or names_a_tolerance(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        factor = node.right
        return (
            isinstance(factor, ast.BinOp)
            and isinstance(factor.op, ast.Add | ast.Sub)
            and ast.unparse(factor.left) in ("1", "1.0")
            and names_a_tolerance(factor.right)
        )
    return False


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Walk over the expressions that can be seen: no annotations, texts of errors or flags of classes."""
    if is_invisible(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr):
                yield child
            if isinstance(child, ast.AST):
                yield from expressions(child)


def faults(path: Path) -> list[Fault]:
    """Return all faults of a file."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in expressions(ast.parse(text)):
        new = opposite(node)
        if new is not None and not is_at_a_tolerance(node):
            begin, end = (
                starts[node.lineno - 1] + node.col_offset,
                starts[node.end_lineno - 1] + node.end_col_offset,
            )
            old = text.encode()[begin:end].decode()
            file = path.relative_to(SOURCE).as_posix()
            found.append(Fault(file, node.lineno, begin, end, old, f"({ast.unparse(new)})"))
    return found


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

    def __init__(self, folder: Path, jobs: int, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.copies: queue.Queue[Path] = queue.Queue()
        for k in range(jobs):
            self.copies.put(copy_of_checkout(folder / f"copy{k}"))
        self.passing: set[str] = set()

    def judged(self, fault: Fault | PlantedFault, groups: list[list[str]]) -> Verdict:
        """Put one fault into a copy, run groups of tests one after the other, take it out again."""
        copy = self.copies.get()
        path = copy / "src" / fault.file
        right = path.read_text(encoding="utf-8")
        began = time.perf_counter()
        try:
            for k, tests in enumerate(groups):
                path.write_text(fault.changed(right), encoding="utf-8")
                code, test = run_tests(copy, tests, self.patience)
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
        if test not in self.passing and run_tests(copy, alone, self.patience)[0] != PASSED:
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
        bench = Bench(Path(folder), jobs, PATIENCE_WITH_PLANTED)
        for fault, verdict in zip(chosen, pool.map(bench.judged, chosen, groups), strict=True):
            noticed += verdict.is_noticed
            word = "noticed " if verdict.is_noticed else "SURVIVES"
            print(f"{word} {verdict.seconds:6.1f} s  {fault}", flush=True)
            if verdict.test:
                print(f"{'':19}{verdict.test}", flush=True)
    print(f"{noticed} of {len(chosen)} planted faults noticed")
    return int(noticed < len(chosen))


#: Where faults of ``--certificates`` are put.
MAKERS = (
    "solvers/leximin",
    "models/paths",
    "models/trees",
    "models/instances/merging.py",
    "formulations/region.py",
    "solvers/interior_point",
    "models/instances/quotas.py",
    "formulations/kueue.py",
    "mechanisms/max_min/kueue.py",
    "mechanisms/whole_tasks/placement.py",
    "mechanisms/whole_tasks/leximin.py",
    "mechanisms/whole_tasks/karma.py",
)
METHODS = ("lp", "rounds", "interior-point")
#: Mechanism → the methods that are tried.
MECHANISMS = dict.fromkeys(
    ("drfh", "tsf", "asset", "cdrf", "h-drf", "h-drf-counted", "h-drf-collapsed", "edrf"), METHODS
) | dict.fromkeys(
    ("kueue", "drf-milp", "karma", "drfh-first-fit", "drfh-best-fit", "slots"), ("auto",)
)
#: Tasks that are off by more than this part of themselves are other ones.
WRONG = 1e-6
#: Seconds for the answers to all instances with a fault.
PATIENCE_FOR_ANSWERS = 300.0


def random_instance(seed: int):
    """Return a small instance of whole numbers: limits, guarantees, caps, weights, ties, placement constraints."""
    import numpy as np

    import fairlp

    rng = np.random.default_rng(seed)
    users, servers, resources = (
        int(rng.integers(least, most)) for least, most in ((2, 6), (1, 4), (1, 4))
    )
    demands = rng.integers(0, 6, (users, resources)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(1, 40, (servers, resources)).astype(float)
    if rng.random() < 0.3:
        capacities[rng.integers(servers)] *= rng.random(resources) < 0.6
    if rng.random() < 0.3:
        capacities[:] = capacities[0]
    capacities[0, ~capacities.any(axis=0)] = 5
    options = {}
    if rng.random() < 0.6:
        options["task_limits"] = np.where(
            rng.random(users) < 0.5, rng.integers(1, 12, users), np.inf
        )
    if rng.random() < 0.5:
        options["weights"] = rng.choice([1, 1, 2, 3, 0.5], users)
    if rng.random() < 0.5:
        options["eligible"] = rng.random((users, servers)) < 0.7
        options["eligible"][np.arange(users), rng.integers(0, servers, users)] = True
    names = [f"r{r}" for r in range(resources)]
    if rng.random() < 0.75:
        paths = ["a", "b", "a/x", "a/y", "b/x", ""]
        options["queue"] = [paths[rng.integers(len(paths))] for _ in range(users)]
        options["queues"] = {
            path: random_queue(rng, names) for path in sorted({*options["queue"]} - {""})
        }
    return fairlp.Instance.from_arrays(demands, capacities, resources=names, **options)


def random_instance_for(mechanism: str, seed: int):
    """Return a random instance that a mechanism is defined for, more often than not."""
    import numpy as np

    import fairlp

    rng = np.random.default_rng(seed)
    if mechanism == "kueue":
        instance = random_instance(seed)
        paths = ["a", "b", "a/x", "a/y", "c"]
        queue = [paths[rng.integers(len(paths))] for _ in instance.users]
        names = [str(resource) for resource in instance.resources]
        queues = {path: random_quotas(rng, names) for path in sorted({*queue} - {"c"}) or ["a"]}
        return instance.replace(queue=queue, queues=queues)
    if mechanism == "karma":
        demand = rng.integers(0, 12, int(rng.integers(2, 6)))
        slices = float(rng.integers(1, 30))
        return fairlp.Instance.from_arrays([[1.0]] * len(demand), [[slices]], task_limits=demand)
    instance = random_instance(seed)
    if "-fit" in mechanism or mechanism in ("slots", "drf-milp"):
        instance = instance.replace(queue=None, queues=None)
    return instance.pooled() if mechanism == "drf-milp" else instance


def random_quotas(rng, resources: list[str]) -> dict:
    """Return nominal quotas of a queue, its weight, and sometimes limits of borrowing and lending."""
    row = {
        "weight": float(rng.integers(1, 4)),
        "nominal": {name: float(rng.integers(0, 9)) for name in resources},
    }
    for limit in ("borrowing", "lending"):
        if rng.random() < 0.4:
            row[limit] = {name: float(rng.integers(0, 5)) for name in resources}
    return row


def random_queue(rng, resources: list[str]) -> dict:
    """Return what is said of a queue: nothing, a weight, a guarantee, a cap, or several of them."""
    row = {}
    if rng.random() < 0.4:
        row["weight"] = float(rng.choice([1, 2, 3]))
    if rng.random() < 0.4:
        row["guarantee"] = {
            name: float(rng.integers(1, 20)) for name in resources if rng.random() < 0.8
        }
    if rng.random() < 0.3:
        row["cap"] = {name: float(rng.integers(1, 30)) for name in resources if rng.random() < 0.5}
    return row


def is_proved(allocation) -> bool:
    """Return whether an answer is proved, in rationals as well where the mechanism has such proofs."""
    import fairlp

    try:
        return allocation.certify(exact=True).holds and allocation.certify().holds
    except fairlp.errors.NotDefinedError:
        return allocation.certify().holds


def answers(seeds: Sequence[int], right: dict[str, list[float]] | None) -> dict:
    """Allocate random instances: the right tasks of each user, or what there is to say of wrong ones.

    Runs in a process of its own, whose code may have a fault.
    """
    import numpy as np

    import fairlp

    warnings.simplefilter("ignore")
    proved: dict[str, list[float]] = {}
    counts = {"answers": 0, "wrong": 0, "believed": 0, "errors": 0}
    for seed in seeds:
        for mechanism, methods in MECHANISMS.items():
            for method in methods if right is not None else ("auto",):
                key = f"{seed} {mechanism}"
                if right is not None and key not in right:
                    continue
                try:
                    instance = random_instance_for(mechanism, seed)
                    allocation = fairlp.allocate(instance, mechanism, method=method)
                    # several whole tasks may have the levels of the leximin
                    totals = allocation.totals.to_numpy()
                    ours = np.sort(allocation.levels) if mechanism == "drf-milp" else totals
                    if right is None:
                        if is_proved(allocation):
                            proved[key] = ours.tolist()
                        continue
                    exact = np.array(right[key])
                    error = np.abs(ours - exact) / np.maximum(
                        np.maximum(np.abs(ours), np.abs(exact)), 1e-300
                    )
                    counts["answers"] += 1
                    if not (error <= WRONG).all():
                        counts["wrong"] += 1
                        counts["believed"] += allocation.certify().holds
                except fairlp.FairlpError:
                    pass
                except Exception:
                    counts["errors"] += 1
    return proved if right is None else counts


def ask(folder: Path, request: dict, limit: float | None) -> dict | None:
    """Run :func:`answers` with the code of a folder; None where it does not end, or breaks."""
    own = {
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, str(Path(__file__)), "--answers"]
    try:
        ran = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env=os.environ | own,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(ran.stdout) if ran.returncode == 0 else None


def certificates(sample: int, seed: int, jobs: int, instances: int, only: str = "") -> int:
    """Put faults into what makes answers, one at a time; 0 when certify() believes none of the wrong answers."""
    names = {path: path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))}
    paths = [
        path for path, name in names.items() if name.startswith(MAKERS) and name.startswith(only)
    ]
    everything = [fault for path in paths for fault in faults(path)]
    chosen = random.Random(seed).sample(everything, min(sample, len(everything)))
    seeds = list(range(seed, seed + instances))
    totals = {"answers": 0, "wrong": 0, "believed": 0}
    copies: queue.Queue[Path] = queue.Queue()

    def tried(fault: Fault) -> dict | None:
        copy = copies.get()
        path = copy / "src" / fault.file
        text = path.read_text(encoding="utf-8")
        try:
            path.write_text(fault.changed(text), encoding="utf-8")
            return ask(copy, {"seeds": seeds, "right": right}, PATIENCE_FOR_ANSWERS)
        finally:
            path.write_text(text, encoding="utf-8")
            copies.put(copy)

    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(jobs) as pool:
        for k in range(jobs):
            shutil.copytree(ROOT / "src", Path(folder) / f"copy{k}" / "src")
            copies.put(Path(folder) / f"copy{k}")
        right = ask(ROOT, {"seeds": seeds, "right": None}, None)
        if not right:
            raise SystemExit("without a fault nothing is proved")
        print(
            f"{len(right)} proved answers to {len(seeds)} instances; {len(chosen)} of "
            f"{len(everything)} faults",
            flush=True,
        )
        for fault, counts in zip(chosen, pool.map(tried, chosen), strict=True):
            if counts is None:
                print(f"breaks    {fault}", flush=True)
                continue
            for name in totals:
                totals[name] += counts[name]
            if counts["wrong"]:
                verdict = "BELIEVED " if counts["believed"] else "refused  "
                print(
                    f"{verdict} {counts['wrong']:5} of {counts['answers']} answers wrong  {fault}",
                    flush=True,
                )
    refused = totals["wrong"] - totals["believed"]
    part = refused / totals["wrong"] if totals["wrong"] else 1.0
    print(
        f"{refused} of {totals['wrong']} wrong answers refused ({part:.2%}), of "
        f"{totals['answers']} answers"
    )
    return int(totals["believed"] > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try faults as asked, print what the tests noticed and the rate; 0 when all were noticed."""
    parser = argparse.ArgumentParser(
        description="Put random faults into the code and see whether the tests notice."
    )
    parser.add_argument("--only", default="", metavar="PATH", help="a package or file below src")
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--certificates", action="store_true", help="whether certify() believes wrong answers"
    )
    parser.add_argument(
        "--instances", type=int, default=40, help="random instances, with --certificates"
    )
    parser.add_argument("--planted", action="store_true", help="the faults of planted_faults.toml")
    parser.add_argument("--family", default="", help="one family of them")
    parser.add_argument("--answers", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.answers:
        print(json.dumps(answers(**json.load(sys.stdin))))
        return 0
    if asked.certificates:
        return certificates(asked.sample, asked.seed, asked.jobs, asked.instances, asked.only)
    if asked.planted:
        return planted(asked.family, asked.jobs)
    return drawn(asked.only, asked.sample, asked.seed, asked.jobs)


def drawn(only: str, size: int, seed: int, jobs: int) -> int:
    """Try a sample of random faults; 0 when all were noticed."""
    files = [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).as_posix().startswith(only)
    ]
    everything = [fault for path in files for fault in faults(path)]
    sample = random.Random(seed).sample(everything, min(size, len(everything)))
    groups = [tests_of(fault.file) for fault in sample]
    by_own_file = by_folder = with_own_file = 0
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as folder,
        ThreadPoolExecutor(jobs) as pool,
    ):
        bench = Bench(Path(folder), jobs)
        verdicts = pool.map(bench.judged, sample, groups)
        for fault, tests, verdict in zip(sample, groups, verdicts, strict=True):
            has_own_file = len(tests[0]) == 1
            is_by_own_file = has_own_file and verdict.group == 0
            with_own_file += has_own_file
            by_own_file += is_by_own_file
            by_folder += verdict.is_noticed
            word = (
                "own file" if is_by_own_file else "folder  " if verdict.is_noticed else "SURVIVES"
            )
            print(f"{word} {verdict.seconds:6.1f} s  {fault}", flush=True)
    print(
        f"{by_own_file} of {with_own_file} faults noticed by the module's own test file; "
        f"{by_folder} of {len(sample)} by it or its folder; {len(everything)} faults are possible"
    )
    return int(by_folder < len(sample))


if __name__ == "__main__":
    sys.exit(main())
