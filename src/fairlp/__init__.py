"""fairlp: fair allocation of many resources to many users, as optimisation models that can be read and checked.

>>> import fairlp
>>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
>>> fairlp.allocate(instance, "drf").totals.round(6).to_dict()
{'A': 3.0, 'B': 2.0}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import conformance, examples, simulation, study
    from .api import allocate, compare, compare_allocations, formulate
    from .auditing import audit
    from .auditing.blocking import blockers
    from .auditing.promises import counterexample, promises, properties
    from .auditing.search import find_violation
    from .errors import FairlpError, FairlpWarning
    from .mechanisms.allocation import Allocation
    from .mechanisms.arrivals.online import Arrivals
    from .mechanisms.arrivals.result import DynamicAllocation
    from .mechanisms.complaints import check as complaints
    from .mechanisms.complaints.all_fair import solutions as njc_solutions
    from .mechanisms.per_server import check as per_server
    from .mechanisms.table import table as mechanisms
    from .mechanisms.validation import validate
    from .mechanisms.whole_tasks import cycles
    from .models.files.instances import read
    from .models.files.programs import read_program
    from .models.files.traces import read_alibaba_gpu, read_pai2020
    from .models.instances.instance import Instance
    from .models.notation.expressions import Index, log
    from .models.notation.model import Model
    from .models.programs.program import Program
    from .models.programs.solution import Options, Solution, Status
    from .plots import allocations as plots
    from .solvers import table as solvers

#: public name → module that has it; nothing is imported before it is used
_HOMES = {
    "promises": "auditing.promises",
    "properties": "auditing.promises",
    "find_violation": "auditing.search",
    "counterexample": "auditing.promises",
    "blockers": "auditing.blocking",
    "audit": "auditing",
    "Allocation": "mechanisms.allocation",
    "Arrivals": "mechanisms.arrivals.online",
    "DynamicAllocation": "mechanisms.arrivals.result",
    "FairlpError": "errors",
    "FairlpWarning": "errors",
    "Index": "models.notation.expressions",
    "Instance": "models.instances.instance",
    "Model": "models.notation.model",
    "Options": "models.programs.solution",
    "Program": "models.programs.program",
    "Solution": "models.programs.solution",
    "Status": "models.programs.solution",
    "allocate": "api",
    "compare": "api",
    "compare_allocations": "api",
    "formulate": "api",
    "log": "models.notation.expressions",
    "njc_solutions": "mechanisms.complaints.all_fair:solutions",
    "read": "models.files.instances",
    "read_alibaba_gpu": "models.files.traces",
    "read_pai2020": "models.files.traces",
    "read_program": "models.files.programs",
    "validate": "mechanisms.validation",
}
#: modules that are public names themselves (two of them can be called; see models/callable_module.py)
_MODULES = {
    "complaints": "mechanisms.complaints.check",
    "conformance": "conformance",
    "cycles": "mechanisms.whole_tasks.cycles",
    "examples": "examples",
    "mechanisms": "mechanisms.table",
    "per_server": "mechanisms.per_server.check",
    "plots": "plots.allocations",
    "simulation": "simulation",
    "solvers": "solvers",
    "study": "study",
}

__all__ = [
    "Allocation",
    "Arrivals",
    "DynamicAllocation",
    "FairlpError",
    "FairlpWarning",
    "Index",
    "Instance",
    "Model",
    "Options",
    "Program",
    "Solution",
    "Status",
    "__version__",
    "allocate",
    "audit",
    "blockers",
    "compare",
    "compare_allocations",
    "complaints",
    "conformance",
    "counterexample",
    "cycles",
    "examples",
    "find_violation",
    "formulate",
    "log",
    "mechanisms",
    "njc_solutions",
    "per_server",
    "plots",
    "promises",
    "properties",
    "read",
    "read_alibaba_gpu",
    "read_pai2020",
    "read_program",
    "simulation",
    "solvers",
    "study",
    "validate",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    if name in _HOMES:
        home, _, own = _HOMES[name].partition(":")
        value = getattr(importlib.import_module(f"{__name__}.{home}"), own or name)
        globals()[name] = value
        return value
    from .errors import nearest

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {nearest(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
