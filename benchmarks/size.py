"""How large fairlp is: syntax nodes, files and lines of code by package, and what its readers meet.

    python benchmarks/size.py
    python benchmarks/size.py --check    whether it is within the budget of pyproject.toml

Syntax nodes are those of ``ast.walk`` without contexts, operators and docstrings: a measure that
denser lines do not lower; nodes a line show how dense lines are. Vague names are variables,
parameters and attributes called by a pronoun, a participle or a preposition instead of the noun of
the thing that they hold.

The budget, ``[tool.fairlp.budget]``, is the nodes of each package, of tests and of benchmarks, and the
words of docs. ``--check`` fails above it, and says by how much, and in which folders most grew since
the commit that git has. CONTRIBUTING.md says what it is for.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TESTS = ROOT / "src", ROOT / "tests"
PACKAGES = ("fairlp", "fairlp_research", "fairlp_clusters")
#: Folders that grew and are named, the largest first.
NAMED = 5
NOT_COUNTED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: Names of data that do not say which data.
VAGUE_NAMES = frozenset(
    """
    able again aim ask asked asks at aware away back bare begin begun both did done each early
    enough far few found gave gets give given gives go goes got had has have held here keep keeps
    kept known late left less made many mine more most much near nearest now odd one ours own part
    ran said same say says stay stays take taken takes theirs then there told wanted way ways what
    who why words worth wrong
    """.split()  # noqa: SIM905 (words are easier to read than a list of texts)
)


def docstrings(tree: ast.Module) -> Iterable[ast.Expr]:
    """Return the docstrings of a file, as statements."""
    owners = (
        node
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False)
    )
    return [node.body[0] for node in owners]  # type: ignore[misc]


def nodes(path: Path) -> int:
    """Return the number of syntax nodes of a file."""
    return nodes_of(path.read_text(encoding="utf-8"))


def nodes_of(text: str) -> int:
    """Return the number of syntax nodes of a text of Python."""
    tree = ast.parse(text)
    documentation = {
        id(node) for statement in docstrings(tree) for node in (statement, statement.value)
    }
    return sum(
        1
        for node in ast.walk(tree)
        if not isinstance(node, NOT_COUNTED) and id(node) not in documentation
    )


def code_lines(path: Path) -> int:
    """Return the number of lines of a file that hold code: no docstring, no comment, not blank."""
    text = path.read_text(encoding="utf-8")
    documentation = {
        line
        for node in docstrings(ast.parse(text))
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return sum(
        1
        for number, line in lines
        if number not in documentation and line.strip() and not line.strip().startswith("#")
    )


def vague_names(path: Path) -> int:
    """Return how often a file assigns to, or takes as a parameter, a name that does not say its data."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.attr)
    return sum(name.strip("_") in VAGUE_NAMES for name in names)


def function_sizes(files: Iterable[Path]) -> tuple[float, float]:
    """Return the median lines and syntax nodes of a function."""
    sizes_of_functions: list[tuple[int, int]] = [
        (node.end_lineno - node.lineno + 1, sum(1 for _ in ast.walk(node)))
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
    ]
    lines, sizes = zip(*(sizes_of_functions or [(0, 0)]), strict=True)
    return statistics.median(lines), statistics.median(sizes)


def words_of_docs() -> int:
    """Return the words of README and docs, without code, rules of tables and the page that a command writes."""
    pages = [
        ROOT / "README.md",
        *(
            page
            for page in (ROOT / "docs").rglob("*.md")
            if "generated" not in page.parts and page.name not in ("ledger.md", "growth.md")
        ),
    ]
    texts = (
        re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for page in pages
    )
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def commands() -> int:
    """Return the number of commands of the command line."""
    import typer

    from fairlp.cli import app

    return count_commands(typer.main.get_command(app))


def count_commands(command: object) -> int:
    """Return how many commands there are below one that may be a group."""
    below = getattr(command, "commands", None)
    return 1 if below is None else sum(map(count_commands, below.values()))


def sizes() -> dict[str, int]:
    """Return what the budget is of: nodes of packages, tests and benchmarks, and words of docs."""
    folders = {name: SOURCE / name for name in PACKAGES}
    folders |= {"tests": TESTS, "benchmarks": ROOT / "benchmarks"}
    return {
        **{name: sum(map(nodes, folder.rglob("*.py"))) for name, folder in folders.items()},
        "docs": words_of_docs(),
    }


def budget() -> dict[str, int]:
    """Return the budget."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    limits: dict[str, int] = settings["tool"]["fairlp"]["budget"]
    return limits


def growth(name: str) -> list[tuple[str, int]]:
    """Return the folders of a package that have more nodes than in git's last commit, and by how much."""
    top = f"src/{name}" if name in PACKAGES else name
    listing = ["git", "ls-tree", "-r", "--name-only", "HEAD", top]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    change: Counter[str] = Counter()
    for file in names.split():
        if file.endswith(".py"):
            show = ["git", "show", f"HEAD:{file}"]
            text = subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=False)
            change[file.rpartition("/")[0]] -= nodes_of(text.stdout)
    for path in (ROOT / top).rglob("*.py"):
        change[path.parent.relative_to(ROOT).as_posix()] += nodes(path)
    return [(folder, count) for folder, count in change.most_common(NAMED) if count > 0]


def check() -> list[str]:
    """Return what is above the budget, in words; nothing where all is within."""
    limits = budget()
    messages = []
    for name, size in sizes().items():
        if size > limits[name]:
            unit = "words" if name == "docs" else "nodes"
            grown = ", ".join(f"{folder} +{count:,}" for folder, count in growth(name))
            where = f" (since the last commit: {grown})" if grown else ""
            messages.append(
                f"{name} has {size:,} {unit}, {size - limits[name]:,} above its budget of "
                f"{limits[name]:,}{where}"
            )
    return messages


def figures() -> dict[str, int]:
    """Return what is counted of the whole."""
    source, tests = sorted(SOURCE.rglob("*.py")), sorted(TESTS.rglob("*.py"))
    tolerances = (SOURCE / "fairlp" / "tolerances.py").read_text(encoding="utf-8")
    return {
        "files of src": len(source),
        "lines of code of src": sum(map(code_lines, source)),
        "vague names of src": sum(map(vague_names, source)),
        "vague names of tests": sum(map(vague_names, tests)),
        "files of tests": len(tests),
        "tolerances": len(re.findall(r"^[A-Z_]+: Final", tolerances, flags=re.M)),
    }


def main() -> None:
    """Print the packages and the totals, or whether they are within the budget."""
    if sys.argv[1:] == ["--check"]:
        messages = check()
        print("\n".join(messages) or "within the budget")
        raise SystemExit(bool(messages))
    packages: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        packages.setdefault(path.relative_to(SOURCE).parent.as_posix(), []).append(path)
    print(f"{'package':36}{'nodes':>9}{'files':>7}{'code':>8}{'lines, nodes a function':>26}")
    for package, files in sorted(packages.items()):
        lines, size = function_sizes(files)
        total, code = sum(map(nodes, files)), sum(map(code_lines, files))
        print(f"{package:36}{total:9,}{len(files):7}{code:8,}{f'{lines:.0f}, {size:.0f}':>26}")
    print()
    counts, limits = sizes(), budget()
    for name, size in counts.items():
        unit = "words" if name == "docs" else "nodes"
        print(f"{f'{unit} of {name}':30}{size:9,} of {limits[name]:,}")
    others = {**figures(), "commands": commands()}
    for name, count in others.items():
        print(f"{name:30}{count:9,}")
    total = sum(counts[name] for name in PACKAGES)
    print(f"{'nodes a line of src':30}{total / others['lines of code of src']:9.2f}")


if __name__ == "__main__":
    main()
