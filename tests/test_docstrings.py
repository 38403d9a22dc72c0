"""Every public callable says what it takes, what it gives back and what it refuses, as NumPy's style has it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType

import fairlp
import fairlp_clusters
import fairlp_research
from signatures import written_parameters

HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
#: Sections, in the order that numpydoc gives them.
ORDER = [
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"),
    *("See Also", "Notes", "References", "Examples"),
]


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
#: What code of one's own may use of fairlp's inside is explained in a sentence or two.
BRIEF = tuple(
    f"fairlp.{name}"
    for name in [
        "toolkit.",
        "formulations.",
        "queues.",
        "arrivals.",
        "mechanisms.",
        "auditing.",
        "solvers.",
        "Mechanism.",
        "cycles.Pool",
        "cycles.algorithm_1",
        "cycles.pick_by_pick",
        "cycles.precomputed",
        "per_server.PerServerMarket",
        "per_server.positive",
        "per_server.separate_start",
        "per_server.server_procedure",
        "plots.style",
        "plots.comparison_table",
        "plots.plot_means",
    ]
)
EXPLAINED = {path for path in PUBLIC if path.startswith(BRIEF)}
PUBLIC = {path: value for path, value in PUBLIC.items() if path not in EXPLAINED}
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


def made_by_hand(value):
    """Whether it is a class of ours with a constructor of its own, of a data class too."""
    return isinstance(value, type) and any("__init__" in vars(base) for base in ours(value))


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


def test_its_sections_are_in_order():
    def judge(value):
        _, parts = sections(value)
        assert list(parts) == [name for name in ORDER if name in parts]
        assert all(text.strip() for text in parts.values())

    assert_all_pass(PUBLIC, judge)


def test_it_names_every_parameter_and_no_other():
    def judge(value):
        _, parts = sections(value)
        assert sorted(entries(parts.get("Parameters", ""))) == sorted(parameters(value))

    assert_all_pass(FUNCTIONS, judge)


def test_a_class_names_what_it_is_made_of():
    def judge(value):
        described = [
            sections(base)[1] for base in ours(value)
        ]  # what a base says of its own need not be said again
        names_said = {
            name
            for parts in described
            for heading in ("Parameters", "Attributes")
            for name in entries(parts.get(heading, ""))
        }
        assert {name for name in parameters(value) if not name.startswith("_")} <= names_said

    assert_all_pass([path for path, value in PUBLIC.items() if made_by_hand(value)], judge)


def test_its_doctests_are_examples():
    def judge(value):
        front, parts = sections(value)
        assert not [
            name
            for name, text in [("", front), *parts.items()]
            if ">>>" in text and name != "Examples"
        ]

    assert_all_pass(PUBLIC, judge)


def test_it_says_what_it_gives_back():
    def judge(value):
        _, parts = sections(value)
        annotation = inspect.signature(value).return_annotation
        assert annotation is not inspect.Signature.empty
        assert ("Returns" in parts or "Yields" in parts) == (annotation not in (None, "None"))

    assert_all_pass(FUNCTIONS, judge)


def raised(function):
    """Names of our errors that a function's own lines raise."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raises = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    called = {
        node.func.id
        for node in raises
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return called & set(fairlp.errors.__all__)


def test_it_says_what_it_raises():
    def judge(value):
        _, parts = sections(value)
        errors = set(re.findall(r"\w+", parts.get("Raises", "")))
        assert raised(value) <= errors

    assert_all_pass(FUNCTIONS, judge)


def test_methods_of_what_users_hold_have_examples():
    owners = [
        "Model",
        "Program",
        "Solution",
        "LeximinSolution",
        "Instance",
        "Allocation",
        "DynamicAllocation",
        "Arrivals",
    ]
    methods_of_classes = [path for path in FUNCTIONS if path.split(".")[1] in owners]
    assert len(methods_of_classes) > 80
    assert not [path for path in methods_of_classes if ">>>" not in (FUNCTIONS[path].__doc__ or "")]


def test_the_page_of_a_model_begins_with_its_methods_by_purpose():
    table = fairlp.Model.__doc__.partition("Parameters")[0]
    names = re.findall(r":(?:meth|attr):`(\w+)`", table)
    members = [name for name in dir(fairlp.Model) if not name.startswith("_")]
    assert sorted(names) == sorted(members)


def test_summaries_of_all_docstrings_fit_in_a_line_of_code():
    """Also those of private functions: at most 100 columns with their indentation."""
    long = []
    root = Path(fairlp.__file__).parent
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            if ast.get_docstring(node) and len(lines[node.body[0].lineno - 1]) > 100:
                long.append(f"{path.relative_to(root)}:{node.body[0].lineno}")
    assert not long
