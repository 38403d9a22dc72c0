"""A page for every public name, from its docstring."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import fairlp
import fairlp_clusters
import fairlp_research

#: Under which heading a public name stands; what is in none is under "More".
GROUPS = {
    "Instances": ("Instance", "read", "examples"),
    "Allocations": (
        "allocate",
        "allocate_all",
        "compare",
        "Allocation",
        "Arrivals",
        "mechanisms",
        "mechanism",
        "Mechanism",
    ),
    "Models and programs": (
        "formulate",
        "Model",
        "Index",
        "Variable",
        "Parameter",
        "Expression",
        "Constraint",
        "Subset",
        "log",
        "minimum",
        "power",
        "Program",
        "Solution",
        "read_program",
        "leximin",
        "Path",
        "ConcavePath",
        "RulePath",
        "NodeRule",
        "Region",
        "rise",
    ),
    "Solvers": (
        "solvers",
        "Options",
        "Status",
        "Termination",
        "Capability",
        "Backend",
        "Raw",
        "register_solver",
        "conformance",
    ),
    "Is it fair?": (
        "audit",
        "promises",
        "properties",
        "counterexample",
        "cycles",
        "complaints",
        "per_server",
        "validate",
    ),
    "Pictures": ("plots",),
    "For code of one's own": ("toolkit", "formulations", "queues", "arrivals", "auditing"),
    "Errors": ("errors", "FairlpError", "FairlpWarning"),
}


def write_api(folder: Path) -> None:
    """Write the pages and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in fairlp.__all__ if not name.startswith("__")]
    grouped = {title: [name for name in some if name in names] for title, some in GROUPS.items()}
    rest = sorted(set(names) - {name for some in grouped.values() for name in some})
    if rest:
        grouped["More"] = rest
    sections = [(title, fairlp, some) for title, some in grouped.items()]
    sections += [
        ("Research: fairlp_research", fairlp_research, fairlp_research.__all__),
        ("Clusters: fairlp_clusters", fairlp_clusters, fairlp_clusters.__all__),
    ]
    index = ["# Every public name", ""]
    for title, package, some in sections:
        things = {f"{package.__name__}.{name}": getattr(package, name) for name in some}
        index += [f"## {title}", "", "| | |", "| --- | --- |"]
        index += [
            f"| [`{path.rpartition('.')[2]}`]({path}.rst) | {_first(thing)} |"
            for path, thing in things.items()
        ]
        hidden = "\n".join(things)
        index += ["", f"```{{toctree}}\n:hidden:\n\n{hidden}\n```", ""]
        for path, thing in things.items():
            (folder / f"{path}.rst").write_text(_page(path, thing), encoding="utf-8")
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def _first(thing: object) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text).replace("|", "\\|").replace("``", "`")


def _page(title: str, thing: object) -> str:
    """Return the page of one public name."""
    head = f"{title}\n{'=' * len(title)}\n\n"
    if isinstance(thing, ModuleType):
        home = thing.__name__
        parts = [f".. automodule:: {home}\n   :no-members:\n"]
        parts += [
            _directive(f"{home}.{one}", getattr(thing, one))
            for one in getattr(thing, "__all__", [])
        ]
        return head + "\n".join(parts)
    return head + _directive(title, thing)


def _directive(path: str, thing: object) -> str:
    """Return what makes autodoc write about one thing."""
    if isinstance(thing, type):
        others = [
            base.__name__ for base in thing.__mro__ if not base.__module__.startswith("fairlp")
        ]
        inherited = f"   :inherited-members: {', '.join(others)}\n"  # those of our own bases only
        return f".. autoclass:: {path}\n   :members:\n{inherited}   :no-index-entry:\n"
    if callable(thing):
        return f".. autofunction:: {path}\n"
    if isinstance(thing, ModuleType):
        members = "".join(
            _directive(f"{thing.__name__}.{one}", getattr(thing, one))
            for one in getattr(thing, "__all__", [])
        )
        return f".. automodule:: {thing.__name__}\n   :no-members:\n\n{members}"
    return f".. autodata:: {path}\n   :no-value:\n"
