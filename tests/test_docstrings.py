"""Every public callable has a summary, and a list of parameters names those that it takes, as NumPy's style has it."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType

import fairlp
import fairlp_clusters
import fairlp_research
from signatures import written_parameters

HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


def ours(owner):
    """A class and its bases, as far as they are of fairlp."""
    return [base for base in owner.__mro__ if base.__module__.startswith("fairlp")]


def methods(owner):
    """Public functions of a class, its own and those of our bases: (name, function)."""
    members = {}
    for base in reversed(ours(owner)):
        members |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in members.items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function):
            yield name, function


def names(module):
    """Names that a module offers: its ``__all__``, or else what it defines itself."""
    names_here = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    return getattr(module, "__all__", None) or [
        name for name in names_here if not name.startswith("_")
    ]


def public(path, value):
    """Public callables at and below a public name: (dotted path, callable)."""
    if isinstance(value, ModuleType):
        for name in names(value):
            below = getattr(value, name, None)
            if below is None:
                below = importlib.import_module(f"{value.__name__}.{name}")
            yield from public(f"{path}.{name}", below)
    elif isinstance(value, type):
        if ours(value):
            yield path, value
            yield from ((f"{path}.{name}", function) for name, function in methods(value))
    elif callable(value) and not hasattr(value, "__origin__"):  # a name of a type is no function
        yield path, value


PUBLIC = dict(
    member
    for package in (fairlp, fairlp_research, fairlp_clusters)
    for name in package.__all__
    for member in public(f"{package.__name__}.{name}", getattr(package, name))
)
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
    """Names of the parameters of a function as they are written, without self and cls."""
    return [name for name in written_parameters(function) if name not in ("self", "cls")]


def assert_all_pass(paths, judge):
    """Judge every one of many docstrings, and say which are wrong."""
    faults = []
    for path in paths:
        try:
            judge(PUBLIC[path])
        except AssertionError as error:
            faults.append(f"{path}: {error}")
    assert not faults, "\n".join(faults)


def test_the_public_names_are_found():
    assert len(FUNCTIONS) > 200
    assert {
        "fairlp.allocate",
        "fairlp.Model.solve",
        "fairlp.Instance.from_arrays",
        "fairlp.examples.load",
    } <= {*PUBLIC}
    assert {
        "fairlp.Allocation.to_csv",
        "fairlp_research.study.Study.run",
        "fairlp_research.library.Entry.program",
    } <= {*FUNCTIONS}


def test_its_summary_is_one_line():
    def judge(value):
        front, _ = sections(value)
        first, _, rest = front.partition("\n")
        assert first.endswith((".", ":", "?", "``", ")")), first
        assert not rest or rest.startswith("\n"), "the summary goes on in a second line"

    assert_all_pass(PUBLIC, judge)


def test_a_list_of_parameters_names_every_one_and_no_other():
    def judge(value):
        _, parts = sections(value)
        if "Parameters" in parts:
            assert sorted(entries(parts["Parameters"])) == sorted(parameters(value))

    assert_all_pass(FUNCTIONS, judge)
