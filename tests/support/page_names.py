"""Names in backticks on the pages of the documentation, and what each is looked up in.

A name on a page is of one of these kinds, the first that fits:

- a path: a file of the repository, by its whole path or by its end (``cluster.py``);
- a command, ``fairlp …`` or ``python …``: the command, its options, or the script;
- an option, ``--name``: of a command of fairlp, or of a script of ``benchmarks/``;
- an extra, ``fairlp[plot]``: of ``pyproject.toml``;
- a back end, ``cvxpy:CLARABEL``: of ``fairlp.solvers()``;
- Python: ``fairlp.…``, a class of fairlp with an attribute, a usual receiver (``model.copy``) with an
  attribute, keywords of a call, or ``keyword=value``;
- a word: an identifier of the code, or a string of it that is one word (a mechanism, a method, a
  column, a field of a scheduler's file); of several words: part of a string of it (a property).

What is none of these (formulas, sentences, numbers) names nothing.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import keyword
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click
import typer

import fairlp
from fairlp.cli import app
from pages import blocks
from paths import DOCS, ROOT

SOURCE = ROOT / "src"
#: Code whose identifiers and strings pages may name; tests only by the names of their files.
CODE = ("src", "benchmarks", "packaging", "docs/site")
#: How variables are called on all pages that hold an object of a class.
RECEIVERS = {
    "model": "Model",
    "solution": "Solution",
    "allocation": "Allocation",
    "instance": "Instance",
    "program": "Program",
    "parameter": "Parameter",
    "options": "Options",
    "shares": "Allocation",
    "relaxed": "Solution",
}
#: Names before the dot that are of other tools, of Python, or of files of schedulers.
FOREIGN = {
    "copy", "cp", "cvxpy", "dual", "fix", "importlib", "joblib", "m", "metadata", "np", "numpy", "p", "pd",
    "plt", "pyomo", "results", "s", "scipy", "spec", "status", "sys", "value", "yarn",
}  # fmt: skip
#: Endings of files of the repository; other endings are of files that users write.
OWN_ENDINGS = (".py", ".pyi", ".md", ".ipynb", ".toml", ".cff", ".txt")
USERS_ENDINGS = ("csv", "gz", "html", "json", "lp", "mps", "parquet", "svg", "xml", "yaml", "yml")
_FOLDERS = ("src/", "tests/", "docs/", "benchmarks/", "packaging/", "notebooks/")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


@dataclass(frozen=True)
class Name:
    """What stands between two backticks of a page."""

    page: str
    line: int
    text: str


def defined_on(page: Path) -> set[str]:
    """Return the identifiers of a page's own blocks of Python."""
    if page.parent != DOCS:
        return set()
    code = "\n".join(block.code for block in blocks(page.name) if block.kind == "python")
    return set(re.findall(r"[A-Za-z_]\w*", code))


def pages() -> list[Path]:
    """The pages of the documentation."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


def names_on(page: Path) -> list[Name]:
    """Return what stands in backticks on a page, outside its blocks of code."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(
        r"^```.*?^```\s*$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S
    )
    return [
        Name(page.name, text.count("\n", 0, match.start()) + 1, match[1])
        for match in re.finditer(r"(?<!`)`([^`\n]+)`(?!`)", text)
    ]


def fault(text: str) -> str:
    """Return what a name names that is not there; empty where all of it is."""
    text = text.replace("\\|", "|").strip()
    for look_up in (_in_command, _in_option, _in_path, _in_extra, _in_python, _in_phrase):
        answer = look_up(text)
        if answer is not None:
            return answer
    return ""


# commands and options


@functools.cache
def _commands() -> dict[str, frozenset[str]]:
    """Return by command of fairlp its options."""
    group = typer.main.get_command(app)
    context = click.Context(group)
    own = frozenset(option for parameter in group.params for option in _spellings(parameter))
    commands = {"": own}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        commands[name] = frozenset(
            option for parameter in command.params for option in _spellings(parameter)
        ) | {"--help"}
    return commands


def _spellings(parameter: click.Parameter) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def _in_command(text: str) -> str | None:
    program, *words = text.split()
    if program in ("python", "python3") and words and not words[0].startswith("-W"):
        if words[0] == "-m":
            return "" if _resolved(words[1].split(".")) else f"no module {words[1]}"
        script = ROOT / words[0]
        if not script.is_file():
            return f"no script {words[0]}"
        code = script.read_text(encoding="utf-8")
        return "".join(
            f"{words[0]} has no {word}" for word in words if word[:2] == "--" and word not in code
        )
    if program != "fairlp" or not words:
        return None
    name = words[0] if not words[0].startswith("-") else ""
    if name.isupper():
        return ""  # fairlp COMMAND --help
    if name not in _commands():
        return f"no command {name}"
    options = [word.split("=")[0] for word in words if word.startswith("-")]
    return "".join(
        f"{text.split(' --')[0]} has no {option}"
        for option in options
        if option not in _commands()[name]
    )


@functools.cache
def _all_options() -> frozenset[str]:
    own = {option for options in _commands().values() for option in options}
    scripts = "".join(path.read_text(encoding="utf-8") for path in _files("benchmarks", ".py"))
    return frozenset(own | set(re.findall(r'"(--[\w-]+)"', scripts)))


def _in_option(text: str) -> str | None:
    if not re.match(r"--[a-z]", text):
        return None
    option = re.split(r"[ =]", text)[0]
    return "" if option in _all_options() else f"no command has {option}"


# paths


@functools.cache
def _files(folder: str = ".", ending: str = "") -> tuple[Path, ...]:
    hidden = {".git", ".venv", "build", "dist", "generated", "__pycache__", "node_modules"}
    return tuple(
        path
        for path in (ROOT / folder).rglob("*" + ending)
        if path.is_file() and not hidden & set(path.relative_to(ROOT).parts)
    )


@functools.cache
def _paths() -> frozenset[str]:
    """Return the end of every path of the repository, of files and of folders."""
    ends = set()
    for path in _files():
        parts = path.relative_to(ROOT).parts
        for last in range(1, len(parts) + 1):
            ends |= {"/".join(parts[first:last]) for first in range(last)}
    return frozenset(ends)


def _in_path(text: str) -> str | None:
    path = re.sub(r"[: ].*", "", text)
    first, slash, _ = path.partition("/")
    is_package = bool(slash) and any((home / first).is_dir() for home in SOURCE.iterdir())
    looks_own = path.endswith(OWN_ENDINGS) or path.startswith(_FOLDERS) or is_package
    if not re.fullmatch(r"[\w.][\w./-]*", path) or not looks_own or path in OWN_ENDINGS:
        return None
    if "NAME" in path or path.startswith("file.") or path in ("tests/a/b/test_c.py", "a/b/c.py"):
        return ""  # a pattern
    return "" if path.strip("/") in _paths() else f"no file {path}"


# extras, and names of several words


@functools.cache
def _extras() -> frozenset[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return frozenset(project["optional-dependencies"])


def _in_extra(text: str) -> str | None:
    extras = re.findall(r"(?:fairlp|\.)\[([\w,]+)\]", text)
    if not extras:
        return None
    missing = set(",".join(extras).split(",")) - _extras()
    return f"no extra {', '.join(sorted(missing))}" if missing else ""


@functools.cache
def _phrases() -> str:
    """Return the strings of the code that are names of several words, as properties of audits are."""
    return "\n".join(
        node.value for tree in _trees("src") for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )  # fmt: skip


def _in_phrase(text: str) -> str | None:
    program = text.split()[0]
    if not re.fullmatch(r"[a-z][a-z-]+(?: [a-z][a-z-]+){1,5}", text) or program in ("pip", "dask"):
        return None
    return "" if text in _phrases() else f"nothing says {text!r}"


# Python


def _resolved(parts: list[str]) -> bool:
    """Whether a dotted name can be imported, the rest being attributes."""
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@functools.cache
def _attributes() -> dict[str, frozenset[str]]:
    """Return by class of the code what its objects have, what bases of the code give included."""
    own: dict[str, set[str]] = {}
    bases: dict[str, list[str]] = {}
    for tree in _trees("src"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            names = own.setdefault(node.name, set())
            bases.setdefault(node.name, []).extend(
                base for base in map(_last_name, node.bases) if base
            )
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    names.add(inner.name)
                elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                    names.add(inner.attr)
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign | ast.Assign):
                    names |= {
                        target.id for target in ast.walk(statement) if isinstance(target, ast.Name)
                    }

    def inherited(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        if name not in own or name in seen:
            return set()
        above = [inherited(base, seen | {name}) for base in bases[name]]
        return own[name].union(*above)

    return {name: frozenset(inherited(name)) for name in own}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@functools.cache
def _trees(folder: str) -> tuple[ast.Module, ...]:
    files = [*_files(folder, ".py"), *_files(folder, ".pyi")]
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in files)


@functools.cache
def vocabulary() -> frozenset[str]:
    """Return all identifiers of the code, and its strings that are one word."""
    words: set[str] = {*dir(builtins), *keyword.kwlist}
    for folder in CODE:
        for tree in _trees(folder):
            for node in ast.walk(tree):
                for field in ("id", "attr", "arg", "name"):
                    if isinstance(value := getattr(node, field, None), str):
                        words.add(value)
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words |= _single_words(node.value)
    for path in _files():
        words |= {path.stem, *path.relative_to(ROOT).parts[:-1]}
    return frozenset(words)


def _single_words(text: str) -> set[str]:
    """Return a string that is one word, or the last parts of dotted ones."""
    if len(text) > 200 or not re.fullmatch(r"[\w.:/|\\-]+", text):
        return set()
    return {text, *re.split(r"[.:/|\\]", text)}


@functools.cache
def _parameters() -> frozenset[str]:
    return frozenset(
        node.arg for tree in _trees("src") for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.keyword) and node.arg
    )  # fmt: skip


def _in_python(text: str) -> str | None:
    if _WORD.fullmatch(text.strip('"')):
        return _of_word(text.strip('"'))
    if re.fullmatch(r"(cvxpy|pyomo|ortools):\w+", text.strip('"')):
        return "" if text.strip('"') in fairlp.solvers().index else f"no back end {text}"
    setting = re.match(r"([a-z_]\w*)=(?!=)", text)
    if setting:
        known = setting[1] in _parameters() or setting[1] in vocabulary()
        return "" if known else f"nothing takes {setting[1]}="
    try:
        tree = ast.parse(re.sub(r"…", "...", text).lstrip("@"))
    except SyntaxError:
        dotted = _DOTTED.match(text)
        return _of_dotted(dotted[0]) if dotted else None
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (dotted_name := _dotted_name(node)):
            faults.append(_of_dotted(dotted_name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            faults.append(_of_word(node.func.id))
        if isinstance(node, ast.Call) and _is_own(node.func):
            faults += [
                f"nothing takes {argument.arg}="
                for argument in node.keywords
                if argument.arg and argument.arg not in _parameters() | vocabulary()
            ]
    return "; ".join(filter(None, faults))


def _dotted_name(node: ast.Attribute) -> str:
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    return ".".join([value.id, *reversed(parts)]) if isinstance(value, ast.Name) else ""


def _is_own(function: ast.expr) -> bool:
    root = function
    while isinstance(root, ast.Attribute | ast.Call):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    name = getattr(root, "id", "")
    return name.startswith("fairlp") or name in RECEIVERS or name in _attributes()


def _of_dotted(text: str) -> str:
    first, *rest = text.split(".")
    if rest[-1] in USERS_ENDINGS:
        return ""
    if first in ("fairlp", "fairlp_research", "fairlp_clusters"):
        is_entry_point_group = len(rest) == 1 and text in _phrases()
        return "" if is_entry_point_group or _resolved([first, *rest]) else f"no {text}"
    if first in RECEIVERS or first in _attributes():
        owner = RECEIVERS.get(first, first)
        return "" if rest[0] in _attributes()[owner] else f"{owner} has no {rest[0]}"
    if isinstance(getattr(fairlp, first, None), ModuleType):  # simulation.experiments
        return "" if _resolved(["fairlp", first, *rest]) else f"no fairlp.{text}"
    return "" if first in FOREIGN else "; ".join(filter(None, map(_of_word, rest)))


def _of_word(text: str) -> str:
    if text in vocabulary() or hasattr(fairlp, text):
        return ""
    return f"no {text} in the code"
