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
    {"_version", "hints", "tolerances"},
    {"errors"},
    {"blas", "keywords", "progress", "registry"},
    {"_lazy", "models.programs"},
    {"models.notation"},
    {"models.instances"},
    {"models.paths"},
    {"models.trees"},
    {"models.files", "formulations", "examples", "solvers.backends"},
    {"solvers", "solvers.interior_point", "solvers.leximin"},
    {"mechanisms.table"},
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
    {"api", "arrivals", "complaints", "cycles", "per_server", "queues"},
    {"auditing"},
    {"cli"},
    {"toolkit"},
]
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: Families of mechanisms, each a room.
FAMILIES = {room for room in ROOMS if room.startswith("mechanisms.")} - {"mechanisms.table"}
#: Files that have no room: packages that only hold rooms, and the public names.
ROOMLESS = {"__main__", "__init__", "models"}
#: Doors of nouns: one-line imports of what is above, in a method that hands over to it; and of
#: figures and of the table, the types that they annotate.
DOORS = {
    ("mechanisms/table.py", "mechanisms.mechanism"),
    ("mechanisms/own.py", "auditing.promises"),
    ("models/instances/instance.py", "models.files.frames"),
    ("models/instances/instance.py", "models.files.instances"),
    ("models/programs/solution.py", "models.notation.values"),
}
#: The only files that name modules in strings: the registries of back ends and of writers of files,
#: and one string a family of mechanisms.
STRINGS = {"models/programs/backends.py", "models/programs/writers.py", "mechanisms/table.py"}
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


def targets_of(node, path):
    """Modules that an import from within fairlp names; a public name of the package itself is ``.name``."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    parts = [] if module == "__init__" or not package else package.split(".")
    if node.level:
        base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner.strip(".") if inner.strip(".") in MODULES else base or inner


def each_import(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            for target in targets_of(node, path):
                yield ("" if target.startswith(".") else target), False
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


#: Packages that use the framework as a user does.
COMPANIONS = ("fairlp_research", "fairlp_clusters")
#: What they may import: the public names of these modules.
PUBLIC_MODULES = ("fairlp", "fairlp.errors", "fairlp.plots", "fairlp.toolkit")
MOST_TOOLS = 40


def files_of(companion):
    """The files of a companion."""
    files = sorted((SOURCE.parent / companion).rglob("*.py"))
    assert files
    return files


def imported_names(path):
    """What a file imports, at any depth: (module, name); the module alone where it is imported whole."""
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    package = module.split(".")[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *filter(None, [node.module])])
            yield from ((name, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def is_public(module, name):
    """Whether a name of fairlp may be imported from outside."""
    if module not in PUBLIC_MODULES:
        return False
    return (
        name in ("", "__version__")
        or name in importlib.import_module(module).__all__
        or (module == "fairlp.errors" and not name.startswith("_") and hasattr(fairlp.errors, name))
    )


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_imports_public_names_only(companion):
    private = [
        (path.name, module, name)
        for path in files_of(companion)
        for module, name in imported_names(path)
        if module.partition(".")[0] == "fairlp" and not is_public(module, name)
    ]
    assert not private


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_does_not_know_the_other(companion):
    (other,) = set(COMPANIONS) - {companion}
    for path in files_of(companion):
        assert not [module for module, _ in imported_names(path) if module.startswith(other)], path


def reached(node):
    """The dotted text of ``a.b.c``; empty for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    text = reached(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{text}.{node.attr}" if text else ""


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_reaches_for_public_names_only(companion):
    """Attributes of ``fairlp`` are names of ``__all__``, of the modules too; no underscore of anybody else's."""
    for path in files_of(companion):
        for node in ast.walk(tree_of(path)):
            parts = reached(node).split(".") if isinstance(node, ast.Attribute) else []
            value = fairlp
            for part in parts[1:] if parts[:1] == ["fairlp"] else []:
                if not isinstance(value, ModuleType):
                    break
                assert part in value.__all__ or part == "__version__", (path.name, parts)
                value = getattr(value, part)


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_names_no_private_module_in_a_string(companion):
    for path in files_of(companion):
        documented = {id(statement.value) for statement in docstrings_of(tree_of(path))}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) in documented or not node.value.startswith("fairlp."):
                    continue
                assert node.value.partition(":")[0].removeprefix("fairlp.") not in MODULES, path


def docstrings_of(tree):
    """The docstrings of a file, as statements."""
    for node in ast.walk(tree):
        is_documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if is_documented and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def test_the_framework_does_not_know_its_companions():
    """But for the names in the message of what moved."""
    for path in FILES:
        assert not [
            module for module, _ in imported_names(path) if module.partition(".")[0] in COMPANIONS
        ], path


def test_the_toolkit_has_few_names_that_both_or_one_companion_use():
    assert len(fairlp.toolkit.__all__) <= MOST_TOOLS
    used = {
        name
        for companion in COMPANIONS
        for path in files_of(companion)
        for module, name in imported_names(path)
        if module == "fairlp.toolkit"
    }
    assert used == set(fairlp.toolkit.__all__)


#: Hand-overs: imports in methods of a noun that hand over to what works on it, and so close a
#: circle: a Program to back ends, a Solution to what judges and reads it, a formula to the printer,
#: an Instance to its files, an Allocation to its picture. They are all that keeps the core from
#: having no circles.
HAND_OVERS = {
    ("mechanisms.allocation", "mechanisms.read_back"),
    ("mechanisms.allocation", "plots.allocations"),
    ("models.instances.instance", "models.files.frames"),
    ("models.instances.instance", "models.files.instances"),
    ("models.instances.instance", "models.instances.merging"),
    ("models.instances.instance", "models.instances.requests"),
    ("models.instances.instance", "models.instances.rounds"),
    ("models.notation.expressions", "models.notation.render"),
    ("models.notation.labels", "models.notation.render"),
    ("models.programs.program", "models.programs.backends"),
    ("models.programs.solution", "models.notation.values"),
    ("models.programs.solution", "models.programs.backends"),
    ("models.programs.solution", "models.programs.inspection"),
    ("models.programs.solution", "models.programs.ranging"),
}
Edges = set[tuple[str, str]]


def homes_of_public_names():
    """Modules that the public names come from, as the stub says."""
    return {
        alias.name: node.module
        for node in tree_of(SOURCE / "__init__.pyi").body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def names_only(tree):
    """Statements under ``if TYPE_CHECKING:``, whose imports are for annotations."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


def edges_of_core() -> Edges:
    """Imports at run time among files of the core, at module level and in functions."""
    public_homes = homes_of_public_names()
    edges = set()
    for module, path in MODULES.items():
        if module in ROOMLESS:
            continue
        annotations = names_only(tree_of(path))
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node not in annotations:
                for target in targets_of(node, path):
                    home = public_homes.get(target.removeprefix("."), target)
                    edges |= {(module, home)} if home in MODULES else set()
    return edges


def circles(edges: Edges) -> list[list[str]]:
    """Strongly connected sets of more than one file, by Tarjan's algorithm."""
    targets = {}
    for source, target in sorted(edges):
        targets.setdefault(source, []).append(target)
        targets.setdefault(target, [])
    order, lowest, stack, found = {}, {}, [], []

    def visit(module):
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in targets[module]:
            if target not in order:
                visit(target)
            if target in stack:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == order[module]:
            place = stack.index(module)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for module in targets:
        if module not in order:
            visit(module)
    return [modules for modules in found if len(modules) > 1]


def test_tarjan_finds_circles():
    edges = {("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "g"), ("g", "f")}
    assert sorted(circles(edges)) == [["a", "b", "c"], ["f", "g"]]
    assert circles(edges - {("b", "c"), ("g", "f")}) == []


def test_imports_make_no_circles_but_for_hand_overs():
    edges = edges_of_core()
    assert edges >= HAND_OVERS
    assert circles(edges - HAND_OVERS) == []


def test_each_hand_over_closes_a_circle_and_stands_in_a_function():
    edges = edges_of_core()
    others = edges - HAND_OVERS
    for hand_over in HAND_OVERS:
        assert circles(others | {hand_over}), hand_over
        path = MODULES[hand_over[0]]
        at_module_level = {
            target
            for node in tree_of(path).body
            if isinstance(node, ast.ImportFrom)
            for target in targets_of(node, path)
        }
        assert hand_over[1] not in at_module_level


def edges_of_companion(companion) -> Edges:
    """Imports at run time among the files of a companion, at module level and in functions."""
    places = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in files_of(companion)
    }
    edges = set()
    for path in files_of(companion):
        annotations = names_only(tree_of(path))
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        package = module.split(".")[:-1]
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.level and node not in annotations:
                above = package[: len(package) - node.level + 1]
                base = ".".join([*above, *filter(None, [node.module])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    edges.add(
                        (module.removesuffix(".__init__"), inner if inner in places else base)
                    )
    return {(source, target) for source, target in edges if source != target}


#: What of a companion hands over in a method to what works on it.
COMPANIONS_HAND_OVERS = {
    ("fairlp_clusters.periods.period", "fairlp_clusters.periods.page"),
    ("fairlp_research.study.definition", "fairlp_research.study.runs"),
}


@pytest.mark.parametrize("companion", COMPANIONS)
def test_files_of_a_companion_make_no_circles_but_for_hand_overs(companion):
    assert circles(edges_of_companion(companion) - COMPANIONS_HAND_OVERS) == []


def test_no_offender_is_left():
    assert not OFFENDERS


def test_every_door_is_one_line_in_a_method():
    assert {door for path in FILES for door in climbing(path)} == DOORS
    for name in {name for name, target in DOORS if "files" in target.split(".")}:
        for node in tree_of(SOURCE / name).body:
            assert not (
                isinstance(node, ast.ImportFrom) and "files" in (node.module or "").split(".")
            )


def test_strings_name_modules_in_the_three_tables_only():
    named = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if any(is_string for _, is_string in imports(path))
    }
    assert named == STRINGS


def test_families_do_not_know_each_other():
    for path in FILES:
        own_room = room_of(module_of(path))
        if own_room in FAMILIES:
            met = {room_of(target) for target, _ in imports(path) if target} & FAMILIES
            assert met <= {own_room, "mechanisms.max_min"}, path


def test_the_table_has_one_string_a_family():
    named = [
        target for target, is_string in imports(SOURCE / "mechanisms" / "table.py") if is_string
    ]
    assert sorted(named) == sorted(f"{family}.rows" for family in FAMILIES)


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


@pytest.mark.slow
def test_the_wheel_built_from_the_sdist_holds_every_package(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"fairlp/{path.relative_to(SOURCE).as_posix()}" for path in FILES}
    expected |= {"fairlp/py.typed", "fairlp/models/files/instance.schema.json"}
    for companion in COMPANIONS:
        expected |= {path.relative_to(SOURCE.parent).as_posix() for path in files_of(companion)}
        expected.add(f"{companion}/py.typed")
    expected |= {f"fairlp_clusters/page/page.{suffix}" for suffix in ("html.j2", "css", "js")}
    assert expected <= inside, expected - inside
    rooms = {name.partition("/")[0] for name in inside if not name.startswith("fairlp-")}
    assert rooms == {"fairlp", *COMPANIONS, "fairlp_check.py"}


@pytest.mark.slow
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
