"""The public names of fairlp, and where each lives: the one list of them (``__init__.py`` reads it)."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, overload

from pandas import DataFrame

from . import (
    arrivals as arrivals,
    auditing as auditing,
    complaints as complaints,
    conformance as conformance,
    cycles as cycles,
    errors as errors,
    examples as examples,
    formulations as formulations,
    per_server as per_server,
    plots as plots,
    queues as queues,
    toolkit as toolkit,
)
from ._version import __version__ as __version__
from .api import (
    allocate as allocate,
    allocate_all as allocate_all,
    compare as compare,
    formulate as formulate,
)
from .auditing import audit as audit
from .auditing.promises import (
    counterexample as counterexample,
    promises as promises,
    properties as properties,
)
from .errors import FairlpError as FairlpError, FairlpWarning as FairlpWarning
from .mechanisms.allocation import Allocation as Allocation
from .mechanisms.arrivals.online import Arrivals as Arrivals
from .mechanisms.mechanism import Mechanism as Mechanism
from .mechanisms.own import mechanism as mechanism
from .mechanisms.validation import validate as validate
from .models.files.instances import read as read
from .models.files.programs import read_program as read_program
from .models.instances.instance import Instance as Instance
from .models.notation.expressions import (
    Expression as Expression,
    Index as Index,
    log as log,
    minimum as minimum,
    power as power,
)
from .models.notation.model import Model as Model
from .models.notation.tables import Constraint as Constraint
from .models.notation.variables import (
    Parameter as Parameter,
    Subset as Subset,
    Variable as Variable,
)
from .models.paths.concave import ConcavePath as ConcavePath
from .models.paths.engine import Region as Region
from .models.paths.path import Path as Path
from .models.programs.backends import AnySolver, register_solver as register_solver
from .models.programs.options import Options as Options
from .models.programs.program import Program as Program
from .models.programs.protocols import Backend as _Backend, Capability as Capability
from .models.programs.solution import Solution as Solution
from .models.programs.status import Status as Status, Termination as Termination
from .models.trees.rule_path import RulePath as RulePath
from .models.trees.rules import NodeRule as NodeRule
from .registry import Registry
from .solvers.backends.base import BaseBackend as Backend, Raw as Raw
from .solvers.leximin.of_model import leximin as leximin
from .solvers.leximin.own_paths import rise as rise

class _Mechanisms(ModuleType):
    OWN: dict[str, Mechanism]
    POLICIES: Mapping[str, Any]
    SLOTS: int
    Servers: Any
    TABLE: Registry[Mechanism]
    @staticmethod
    def find(name: str | Mechanism) -> Mechanism: ...
    @staticmethod
    def find_defined(
        name: str | Mechanism, instance: Instance, options: Mapping[str, Any] | None = None
    ) -> Mechanism: ...
    @staticmethod
    def load_function(reference: str, kind: str) -> Any: ...
    @staticmethod
    def located(name: str | Mechanism) -> Mechanism: ...
    @staticmethod
    def module_of(reference: str, kind: str) -> tuple[str, str, ModuleType]: ...
    @staticmethod
    def run(mechanism: Mechanism, instance: Instance, **options: Any) -> Any: ...
    @staticmethod
    def tasks_of(instance: Instance, allocation: Any) -> Any: ...
    @overload
    def __call__(self) -> DataFrame: ...
    @overload
    def __call__(self, name: str | Mechanism) -> Mechanism: ...
    table = __call__

class _Solvers(ModuleType):
    @staticmethod
    def available() -> list[str]: ...
    @staticmethod
    def blas_threads(threads: int) -> AbstractContextManager[Any]: ...
    @staticmethod
    def carried(name: str) -> str: ...
    @staticmethod
    def find(solver: AnySolver) -> _Backend: ...
    @staticmethod
    def require(solver: AnySolver) -> _Backend: ...
    @staticmethod
    def spelt(solver: object) -> str: ...
    def __call__(self) -> DataFrame: ...
    table = __call__

mechanisms: _Mechanisms
solvers: _Solvers

__all__ = [
    "Allocation",
    "Arrivals",
    "Backend",
    "Capability",
    "ConcavePath",
    "Constraint",
    "Expression",
    "FairlpError",
    "FairlpWarning",
    "Index",
    "Instance",
    "Mechanism",
    "Model",
    "NodeRule",
    "Options",
    "Parameter",
    "Path",
    "Program",
    "Raw",
    "Region",
    "RulePath",
    "Solution",
    "Status",
    "Subset",
    "Termination",
    "Variable",
    "__version__",
    "allocate",
    "allocate_all",
    "arrivals",
    "audit",
    "auditing",
    "compare",
    "complaints",
    "conformance",
    "counterexample",
    "cycles",
    "errors",
    "examples",
    "formulate",
    "formulations",
    "leximin",
    "log",
    "mechanism",
    "mechanisms",
    "minimum",
    "per_server",
    "plots",
    "power",
    "promises",
    "properties",
    "queues",
    "read",
    "read_program",
    "register_solver",
    "rise",
    "solvers",
    "toolkit",
    "validate",
]
