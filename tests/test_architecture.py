"""The rules of the house, checked: floors, small rooms, one home for tolerances, quick start-up, a whole wheel."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import fairlp
from profiles import PROFILE

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fairlp"
FILES = sorted(SOURCE.rglob("*.py"))
#: Rooms by floor, the lowest first: a room imports only from lower floors. docs/architecture.md
#: draws it.
FLOORS = [
    {"_version", "errors", "tolerances"},
    {"blas", "keywords", "progress", "registry", "hints"},
    {"_lazy", "models.programs"},
    {"models.notation"},
    {"models.instances"},
    {"models.paths"},
    {"models.trees"},
    {"models.files", "formulations", "examples", "solvers.backends"},
    {"solvers", "solvers.interior_point", "solvers.leximin"},
    {"plots"},
    {"mechanisms", "conformance"},
    {"mechanisms.max_min"},
    {
        "mechanisms.per_server",
        "mechanisms.complaints",
        "mechanisms.arrivals",
        "mechanisms.whole_tasks",
        "mechanisms.gpu",
    },
    {"api", "complaints", "cycles", "per_server"},
    {"auditing"},
    {"research", "operations"},
    {"simulation", "study", "library"},
    {"ledger", "research.frontier"},
    {"cli"},
]
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: Files that have no room: packages that only hold rooms, and the public names.
ROOMLESS = {"__main__", "__init__", "models"}
#: Doors of nouns: one-line imports of what is above, in a method that hands over to it; and of
#: figures, the types that they annotate.
DOORS = {
    ("plots/profiles.py", "mechanisms.per_server.distributed"),
    ("plots/style.py", "mechanisms"),
    ("mechanisms/own.py", "auditing.promises"),
    ("models/instances/instance.py", "models.files.frames"),
    ("models/instances/instance.py", "models.files.instances"),
    ("models/notation/model.py", "models.files.programs"),
    ("models/programs/proof.py", "models.files.proofs"),
    ("models/programs/program.py", "models.files.programs"),
    ("models/programs/solution.py", "models.notation.values"),
}
#: The only files that name modules in strings: the registry of back ends, and one string a family
#: of mechanisms.
STRINGS = {"models/programs/backends.py", "mechanisms/table.py"}
#: Imports that climb; the list only shrinks, and it is empty.
OFFENDERS: set[tuple[str, str]] = set()
#: Lines of a function without its docstring.
MOST_FUNCTION_LINES, MOST_PARAMETERS = 90, 8
#: Signatures that users see may be longer: each parameter is one thing that they can say.
PUBLIC_SIGNATURES = {
    "audit",
    "variable",
    "from_arrays",
    "simulate",
    "log_normal",
    "report",
    "period",
    "gavel",
}


def module_of(path):
    """Dotted name of a file, without ``fairlp``."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(path): path for path in FILES}


def room_of(module):
    """The room that a module lies in, None where it has none."""
    if module in ROOMLESS:
        return None
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ROOMS:
            return ".".join(parts[:length])
    raise AssertionError(f"{module} has no room")


@cache
def tree_of(path):
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """Modules that a file imports, at any depth, and those that its strings name: (module, is it a string)."""
    return tuple(each_import(path))


def each_import(path):
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    package = "" if module == "__init__" else package
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = package.split(".") if package else []
            base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{base}.{alias.name}".strip(".")
                yield (inner if inner in MODULES else base), False
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
            )
            assert not any(name.split(".")[0] == "fairlp" for name in names), (
                "imports inside fairlp are relative"
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0].removeprefix("fairlp.")
            if node.value.startswith("fairlp.") and name in MODULES:
                yield name, True


def climbing(path):
    """Imports of a file that are of its own floor or above, but not of its own room."""
    own_room = room_of(module_of(path))
    for target, is_string in imports(path):
        room = room_of(target) if target else None
        if own_room is None or room is None or room == own_room or is_string:
            continue
        if ROOMS[room] >= ROOMS[own_room]:
            yield path.relative_to(SOURCE).as_posix(), target


def test_a_room_imports_only_from_rooms_below():
    climbs = {climb for path in FILES for climb in climbing(path)} - DOORS
    assert climbs <= OFFENDERS, climbs - OFFENDERS


#: Rooms on top of the core that use it as a user does: each could be a distribution of its own.
WINGS = {
    "operations": {"operations"},
    "research": {"research", "simulation", "study", "library", "ledger"},
}
#: The ground floor, whose names without an underscore are for all rooms.
GROUND = {"blas", "errors", "keywords", "tolerances", "progress", "registry", "examples", ""}


def listed_names(module):
    """The names of ``__all__`` of a module that lists them, else none."""
    for node in tree_of(MODULES[module]).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def unlisted_imports(path, wing):
    """Names of the core that a file of a wing uses, and that the core does not list: (file, module, name)."""
    aliases = {}
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    parts = package.split(".")
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
        if base in GROUND or base.split(".")[0] in wing:
            continue
        for alias in node.names:
            if f"{base}.{alias.name}" in MODULES:
                aliases[alias.asname or alias.name] = f"{base}.{alias.name}"
            elif alias.name not in listed_names(base):
                yield path.relative_to(SOURCE).as_posix(), base, alias.name
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = aliases.get(node.value.id)
            if module is not None and node.attr not in listed_names(module):
                yield path.relative_to(SOURCE).as_posix(), module, node.attr


@pytest.mark.parametrize("wing", WINGS.values(), ids=WINGS)
def test_wings_use_public_names_only(wing):
    files = [path for path in FILES if module_of(path).split(".")[0] in wing]
    assert {module_of(path).split(".")[0] for path in files} == wing
    assert not [name for path in files for name in unlisted_imports(path, wing)]


def test_no_offender_is_left():
    assert not OFFENDERS


def test_every_door_is_one_line_in_a_method():
    assert {door for path in FILES for door in climbing(path)} == DOORS
    for name in {name for name, target in DOORS if "files" in target.split(".")}:
        for node in tree_of(SOURCE / name).body:
            assert not (
                isinstance(node, ast.ImportFrom) and "files" in (node.module or "").split(".")
            )


def test_strings_name_modules_in_the_two_tables_only():
    named = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if any(is_string for _, is_string in imports(path))
    }
    assert named == STRINGS


def test_neither_research_nor_operations_knows_the_other():
    for path in FILES:
        own_room = room_of(module_of(path))
        for name, wing in WINGS.items():
            if own_room in wing:
                others = set().union(*(WINGS[other] for other in WINGS if other != name))
                assert not {room_of(target) for target, _ in imports(path) if target} & others


def test_families_do_not_know_each_other():
    families = {room for room in ROOMS if room.startswith("mechanisms.")}
    for path in FILES:
        own_room = room_of(module_of(path))
        if own_room in families:
            met = {room_of(target) for target, _ in imports(path) if target} & families
            assert met <= {own_room, "mechanisms.max_min"}, path


def test_the_table_has_one_string_a_family():
    named = [
        target for target, is_string in imports(SOURCE / "mechanisms" / "table.py") if is_string
    ]
    assert sorted(named) == sorted(
        f"{room}.rows" for room in ROOMS if room.startswith("mechanisms.")
    )


def functions(path):
    """Functions of a file, with their lines without the docstring, and their parameters without self."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            docstring = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            lines = (
                node.end_lineno
                - node.lineno
                + 1
                - (docstring.end_lineno - docstring.lineno + 1 if docstring else 0)
            )
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len([argument for argument in arguments if argument.arg not in ("self", "cls")])
            yield node, lines, count + bool(node.args.vararg) + bool(node.args.kwarg)


def test_no_two_classes_have_one_name():
    names = [
        node.name for path in FILES for node in tree_of(path).body if isinstance(node, ast.ClassDef)
    ]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


@pytest.mark.slow
def test_functions_are_short():
    for path in FILES:
        for node, lines, count in functions(path):
            assert lines <= MOST_FUNCTION_LINES, (path, node.name)
            assert count <= MOST_PARAMETERS or node.name in PUBLIC_SIGNATURES, (path, node.name)


def bare_tolerances(path):
    """Lines of a file that hold a number like 1e-9."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("#")[0]
        if ">>>" not in line and not code.strip().startswith(("'", '"', "['")):
            literal = re.search(r"(?<![\w.])\d*\.?\d*e-\d+(?!\w)", code)
            if literal and "small: float" not in code:
                yield f"{path}, line {number}: {line}"


def test_no_bare_tolerances():
    files = [
        path for path in FILES if path.name not in ("tolerances.py", "zoo.py")
    ]  # the zoo's numbers are data
    assert not [number for path in files for number in bare_tolerances(path)]


def test_every_public_name_is_there_and_documented():
    for name in fairlp.__all__:
        value = getattr(fairlp, name)
        assert value.__doc__, name
    assert set(fairlp.__all__) <= set(dir(fairlp))


@pytest.mark.parametrize(
    "name", ["fairlp", *(n for n in fairlp.__all__ if isinstance(getattr(fairlp, n), ModuleType))]
)
def test_a_public_module_shows_its_names_and_nothing_that_leaked(name):
    module = fairlp if name == "fairlp" else getattr(fairlp, name)
    assert sorted(dir(module)) == sorted(module.__all__)
    for public_name in module.__all__:
        value = getattr(importlib.import_module(module.__name__), public_name, None)
        assert value is not None or importlib.import_module(f"{module.__name__}.{public_name}")


def run(code, *path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_importing_loads_nothing_heavy():
    heavy = [
        "numpy",
        "pandas",
        "scipy",
        "highspy",
        "pyomo",
        "cvxpy",
        "matplotlib",
        "typer",
        "rich",
        "yaml",
    ]
    code = f"import sys, fairlp; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


@pytest.mark.slow
def test_an_allocation_loads_no_optional_solver():
    code = (
        "import sys, fairlp; fairlp.allocate(fairlp.examples.wang_figure_1(), 'drfh');"
        "print([m for m in ('pyomo', 'cvxpy', 'matplotlib', 'linopy') if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an sdist has no links")
def test_the_root_shows_the_rooms():
    for room in ("models", "solvers", "formulations"):
        link = (
            ROOT / room
        )  # a clone without the right to make links, as on Windows, has a file with the target in it
        target = os.readlink(link) if link.is_symlink() else link.read_text(encoding="utf-8")
        assert target == f"src/fairlp/{room}" and (ROOT / target).is_dir()


@pytest.fixture(scope="session")
def built_files(tmp_path_factory):
    """The sdist, and a wheel built from it, in isolation."""
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    assert sdist.stat().st_size < 5_000_000
    return sdist, wheel


@pytest.fixture(scope="session")
def wheel(built_files):
    return built_files[1]


@pytest.mark.slow
def test_the_sdist_holds_what_its_tests_read(built_files):
    with tarfile.open(built_files[0]) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    folders = (".github", "benchmarks", "docs", "notebooks", "packaging", "tests")
    paths = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if "generated" not in path.parts
    ]
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.is_file() and path.suffix != ".pyc"
    }
    expected |= {"CITATION.cff", "README.md", "CHANGELOG.md", ".pre-commit-config.yaml", ".ci/run"}
    assert expected <= inside, sorted(expected - inside)[:5]


def test_the_wheel_built_from_the_sdist_holds_every_package(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"fairlp/{path.relative_to(SOURCE).as_posix()}" for path in FILES}
    expected |= {"fairlp/py.typed", "fairlp/models/files/instance.schema.json"}
    expected |= {f"../fairlp_clusters/page/page.{suffix}" for suffix in ("html.j2", "css", "js")}
    assert expected <= inside, expected - inside
    assert {name for name in inside if not name.startswith(("fairlp/", "fairlp-"))} == {
        "fairlp_check.py"
    }


@pytest.mark.skipif(PROFILE != "nightly", reason="at night; .ci/run imports a wheel twice")
def test_the_wheel_can_be_imported_and_used(wheel, tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(tmp_path),
            str(wheel),
        ],
        check=True,
    )
    code = (
        "import fairlp; print(fairlp.__file__);"
        "print(fairlp.allocate(fairlp.examples.ghodsi(), 'drf', "
        "method='lp').totals.round(9).tolist());"
        "import fairlp_check; print(fairlp_check.__file__)"
    )
    place, totals, checker = run(code, tmp_path).splitlines()
    assert str(tmp_path) in place and totals == "[3.0, 2.0]"
    assert checker == str(tmp_path / "fairlp_check.py")
