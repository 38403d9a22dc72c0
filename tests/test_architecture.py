"""The rules of the house, checked: floors, small rooms, one home for tolerances, quick start-up, a whole wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fairlp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fairlp"
FILES = sorted(SOURCE.rglob("*.py"))
#: room → rooms that it may import from
FLOORS = {
    "models": {"models"},
    "formulations": {"models", "formulations"},
    "solvers": {"models", "formulations", "solvers"},
    "study": {"models", "mechanisms", "api", "progress", "study"},
    "simulation": {"models", "mechanisms", "solvers", "api", "tracking", "progress", "simulation"},
}


def imports(path):
    """Dotted names of everything a file imports from fairlp, at any depth, except under TYPE_CHECKING."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = ("fairlp", *path.relative_to(SOURCE).parts[:-1])
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join((*base, *(node.module or "").split("."))).strip("."), [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []


@pytest.mark.parametrize("path", [p for p in FILES if p.parent != SOURCE], ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_below(path):
    room = path.relative_to(SOURCE).parts[0]
    if room not in FLOORS:
        return
    for module, names in imports(path):
        parts = module.split(".")
        if parts[0] == "fairlp" and len(parts) > 1:
            allowed = FLOORS[room] | ({"mechanism"} if path.name.endswith("runners.py") else set())
            assert parts[1] in allowed, f"{path.name} imports {module} {names}"


@pytest.mark.parametrize("path", [*FILES, *sorted((ROOT / "tests").glob("*.py"))], ids=lambda p: p.name)
def test_rooms_are_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 410


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_bare_tolerances(path):
    if path.name in ("tolerances.py", "zoo.py"):  # the zoo's numbers are data
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("#")[0]
        if ">>>" not in line and not code.strip().startswith(("'", '"', "['")):
            bare = re.search(r"(?<![\w.])\d*\.?\d*e-\d+(?!\w)", code)
            assert not bare or "small: float" in code, f"line {number}: {line}"


def test_every_public_name_is_there_and_documented():
    for name in fairlp.__all__:
        value = getattr(fairlp, name)
        assert value.__doc__, name
    assert set(fairlp.__all__) <= set(dir(fairlp))


def run(code, *path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_importing_loads_nothing_heavy():
    heavy = ["numpy", "pandas", "scipy", "highspy", "pyomo", "cvxpy", "matplotlib", "typer", "rich", "yaml"]
    code = f"import sys, fairlp; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_an_allocation_loads_no_optional_solver():
    code = (
        "import sys, fairlp; fairlp.allocate(fairlp.examples.wang_figure_1(), 'drfh');"
        "print([m for m in ('pyomo', 'cvxpy', 'matplotlib', 'linopy') if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_the_root_shows_the_rooms():
    for room in ("models", "solvers", "formulations"):
        link = ROOT / room
        assert link.is_symlink() and link.resolve() == (SOURCE / room).resolve()
        assert not os.path.isabs(os.readlink(link))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """A wheel built from the sdist, in isolation."""
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    (sdist,), (found,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    assert sdist.stat().st_size < 5_000_000
    return found


def test_the_wheel_built_from_the_sdist_holds_every_package(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"fairlp/{path.relative_to(SOURCE).as_posix()}" for path in FILES}
    expected |= {"fairlp/py.typed", "fairlp/models/files/instance.schema.json"}
    assert expected <= inside, expected - inside
    assert not [name for name in inside if not name.startswith(("fairlp/", "fairlp-"))]


def test_the_wheel_can_be_imported_and_used(wheel, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), str(wheel)], check=True
    )
    code = (
        "import fairlp; print(fairlp.__file__);"
        "print(fairlp.allocate(fairlp.examples.ghodsi(), 'drf', method='lp').totals.round(9).tolist())"
    )
    where, totals = run(code, tmp_path).splitlines()
    assert str(tmp_path) in where and totals == "[3.0, 2.0]"
