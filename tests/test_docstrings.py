"""Every public callable says what it takes, what it gives back and what it refuses, as NumPy's style has it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from types import ModuleType

import pytest

import fairlp

HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
#: Sections, in the order that numpydoc gives them.
ORDER = [
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"),
    *("See Also", "Notes", "References", "Examples"),
]


def ours(owner):
    """A class and its bases, as far as they are of fairlp."""
    return [base for base in owner.__mro__ if base.__module__.split(".")[0] == "fairlp"]


def methods(owner):
    """Public functions of a class, its own and those of our bases: (name, function)."""
    found = {}
    for base in reversed(ours(owner)):
        found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in found.items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function):
            yield name, function


def names(module):
    """Names that a module offers: its ``__all__``, or else what it defines itself."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]


def public(path, value):
    """Public callables at and below a public name: (dotted path, callable)."""
    if isinstance(value, ModuleType):
        for name in names(value):
            below = getattr(value, name, None) or importlib.import_module(f"{value.__name__}.{name}")
            yield from public(f"{path}.{name}", below)
    elif isinstance(value, type):
        if ours(value):
            yield path, value
            yield from ((f"{path}.{name}", function) for name, function in methods(value))
    elif callable(value) and not hasattr(value, "__origin__"):  # a name of a type is no function
        yield path, value


PUBLIC = dict(found for name in fairlp.__all__ for found in public(f"fairlp.{name}", getattr(fairlp, name)))
FUNCTIONS = {path: value for path, value in PUBLIC.items() if not isinstance(value, type)}


def sections(value):
    """Summary and sections of a docstring: (text in front, heading → text)."""
    text = inspect.cleandoc(value.__doc__ or "")
    front, *rest = HEADING.split(text)
    return front.strip(), dict(zip(rest[::2], rest[1::2], strict=True))


def entries(section):
    """Names that a section of parameters describes: the lines that are not indented, before the colon."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    names = [name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")]
    assert all(name.isidentifier() for name in names), f"no parameter's line: {lines}"
    return names


def parameters(function):
    """Names of the parameters of a function, without self and cls."""
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def made_by_hand(value):
    """Whether it is a class of ours with a constructor of its own, of a data class too."""
    return isinstance(value, type) and any("__init__" in vars(base) for base in ours(value))


def test_the_public_names_are_found():
    assert len(FUNCTIONS) > 200
    assert {"fairlp.allocate", "fairlp.Model.solve", "fairlp.Instance.from_arrays", "fairlp.examples.load"} <= {*PUBLIC}
    assert {"fairlp.Allocation.to_csv", "fairlp.study.Study.run", "fairlp.library.Entry.program"} <= {*FUNCTIONS}


@pytest.mark.parametrize("path", PUBLIC)
def test_its_summary_is_one_line(path):
    front, _ = sections(PUBLIC[path])
    first, _, rest = front.partition("\n")
    assert first.endswith((".", ":", "?", "``", ")")), first
    assert not rest or rest.startswith("\n"), "the summary goes on in a second line"


@pytest.mark.parametrize("path", PUBLIC)
def test_its_sections_are_in_order(path):
    _, found = sections(PUBLIC[path])
    assert list(found) == [name for name in ORDER if name in found]
    assert all(text.strip() for text in found.values())


@pytest.mark.parametrize("path", FUNCTIONS)
def test_it_names_every_parameter_and_no_other(path):
    _, found = sections(FUNCTIONS[path])
    assert sorted(entries(found.get("Parameters", ""))) == sorted(parameters(FUNCTIONS[path]))


@pytest.mark.parametrize("path", [path for path, value in PUBLIC.items() if made_by_hand(value)])
def test_a_class_names_what_it_is_made_of(path):
    _, found = sections(PUBLIC[path])
    said = {name for section in ("Parameters", "Attributes") for name in entries(found.get(section, ""))}
    assert {name for name in parameters(PUBLIC[path]) if not name.startswith("_")} <= said


@pytest.mark.parametrize("path", PUBLIC)
def test_its_doctests_are_examples(path):
    front, found = sections(PUBLIC[path])
    assert not [name for name, text in [("", front), *found.items()] if ">>>" in text and name != "Examples"]


@pytest.mark.parametrize("path", FUNCTIONS)
def test_it_says_what_it_gives_back(path):
    _, found = sections(FUNCTIONS[path])
    annotation = inspect.signature(FUNCTIONS[path]).return_annotation
    assert annotation is not inspect.Signature.empty
    assert ("Returns" in found or "Yields" in found) == (annotation not in (None, "None"))


def raised(function):
    """Names of our errors that a function's own lines raise."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raises = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    called = {node.func.id for node in raises if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return called & set(fairlp.errors.__all__)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_it_says_what_it_raises(path):
    _, found = sections(FUNCTIONS[path])
    said = set(re.findall(r"\w+", found.get("Raises", "")))
    assert raised(FUNCTIONS[path]) <= said
