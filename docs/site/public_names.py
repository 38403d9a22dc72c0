"""A page for every public name, from its docstring."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import fairlp

#: Under which heading a public name stands; what is in none is under "More".
GROUPS = {
    "Instances": ("Instance", "read", "examples", "snapshot", "Snapshot"),
    "Allocations": (
        "allocate",
        "allocate_all",
        "compare",
        "Allocation",
        "DynamicAllocation",
        "Arrivals",
        "mechanisms",
        "mechanism",
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
        "LeximinSolution",
        "Path",
        "ConcavePath",
        "RulePath",
        "NodeRule",
        "Region",
        "rise",
        "PathSolution",
        "ledger",
        "library",
    ),
    "Solvers": (
        "solvers",
        "Options",
        "Progress",
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
        "blockers",
        "cycles",
        "complaints",
        "per_server",
        "validate",
        "frontier",
        "Frontier",
    ),
    "Reports and pictures": (
        "report",
        "charts",
        "fair_shares",
        "what_if",
        "period",
        "Period",
        "plots",
    ),
    "Experiments": (
        "study",
        "simulation",
        "reproduce",
        "read_alibaba_gpu",
        "read_google2011",
        "read_pai2020",
    ),
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
    index = ["# Every public name", ""]
    for title, some in grouped.items():
        index += [f"## {title}", "", "| | |", "| --- | --- |"]
        index += [
            f"| [`{name}`](fairlp.{name}.rst) | {_first(getattr(fairlp, name))} |" for name in some
        ]
        hidden = "\n".join(f"fairlp.{name}" for name in some)
        index += ["", f"```{{toctree}}\n:hidden:\n\n{hidden}\n```", ""]
        for name in some:
            (folder / f"fairlp.{name}.rst").write_text(
                _page(name, getattr(fairlp, name)), encoding="utf-8"
            )
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def _first(thing: object) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text).replace("|", "\\|").replace("``", "`")


def _page(name: str, thing: object) -> str:
    """Return the page of one public name."""
    title = f"fairlp.{name}"
    head = f"{title}\n{'=' * len(title)}\n\n"
    if isinstance(thing, ModuleType):
        home = thing.__name__
        parts = [f".. automodule:: {home}\n   :no-members:\n"]
        parts += [
            _directive(f"{home}.{one}", getattr(thing, one))
            for one in getattr(thing, "__all__", [])
        ]
        return head + "\n".join(parts)
    return head + _directive(f"fairlp.{name}", thing)


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
