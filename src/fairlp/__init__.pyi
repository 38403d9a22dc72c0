"""The public names of fairlp, and where each lives: the one list of them (``__init__.py`` reads it)."""

from types import ModuleType
from typing import overload

from pandas import DataFrame

from . import conformance, errors, examples, plots
from ._version import __version__
from .api import allocate, allocate_all, compare, formulate
from .auditing import audit
from .auditing.basics import blockers
from .auditing.promises import counterexample, promises, properties
from .errors import FairlpError, FairlpWarning
from .mechanisms.allocation import Allocation
from .mechanisms.arrivals.online import Arrivals
from .mechanisms.arrivals.result import DynamicAllocation
from .mechanisms.complaints import check as complaints
from .mechanisms.mechanism import Mechanism
from .mechanisms.own import mechanism
from .mechanisms.per_server import check as per_server
from .mechanisms.validation import validate
from .mechanisms.whole_tasks import cycles
from .models.files.instances import read
from .models.files.programs import read_program
from .models.files.traces import read_alibaba_gpu, read_google2011, read_pai2020
from .models.instances.instance import Instance
from .models.notation.expressions import Expression, Index, Parameter, Variable, log, power
from .models.notation.model import Model
from .models.notation.tables import Constraint, Subset
from .models.paths.concave import ConcavePath
from .models.paths.engine import Region
from .models.paths.path import Path
from .models.programs.backends import register_solver
from .models.programs.options import Options, Progress
from .models.programs.program import Program
from .models.programs.protocols import Capability
from .models.programs.solution import Solution
from .models.programs.status import Status, Termination
from .operations.clusters.assembly import Snapshot
from .operations.clusters.reading import snapshot
from .operations.reports.charts import charts
from .operations.reports.page import report
from .operations.reports.period import Period, period
from .operations.reports.share_comparison import fair_shares
from .operations.reports.what_if import what_if
from .registry import Listing
from .research import ledger, library, simulation, study
from .research.frontier import Frontier, frontier
from .research.ledger.reproducing import reproduce
from .solvers.backends.base import BaseBackend as Backend
from .solvers.backends.base import Raw
from .solvers.leximin.of_model import LeximinSolution, leximin
from .solvers.leximin.own_paths import PathSolution, rise

class _Mechanisms(ModuleType):
    @overload
    def __call__(self) -> DataFrame: ...
    @overload
    def __call__(self, name: str | Mechanism) -> Mechanism: ...

mechanisms: _Mechanisms
solvers: Listing

__all__ = [
    "Allocation",
    "Arrivals",
    "Backend",
    "Capability",
    "ConcavePath",
    "Constraint",
    "DynamicAllocation",
    "Expression",
    "FairlpError",
    "FairlpWarning",
    "Frontier",
    "Index",
    "Instance",
    "LeximinSolution",
    "Model",
    "Options",
    "Parameter",
    "Path",
    "PathSolution",
    "Period",
    "Program",
    "Progress",
    "Raw",
    "Region",
    "Snapshot",
    "Solution",
    "Status",
    "Subset",
    "Termination",
    "Variable",
    "__version__",
    "allocate",
    "allocate_all",
    "audit",
    "blockers",
    "charts",
    "compare",
    "complaints",
    "conformance",
    "counterexample",
    "cycles",
    "errors",
    "examples",
    "fair_shares",
    "formulate",
    "frontier",
    "ledger",
    "leximin",
    "library",
    "log",
    "mechanism",
    "mechanisms",
    "per_server",
    "period",
    "plots",
    "power",
    "promises",
    "properties",
    "read",
    "read_alibaba_gpu",
    "read_google2011",
    "read_pai2020",
    "read_program",
    "register_solver",
    "report",
    "reproduce",
    "rise",
    "simulation",
    "snapshot",
    "solvers",
    "study",
    "validate",
    "what_if",
]
