"""The public names of fairlp, and where each lives: the one list of them (``__init__.py`` reads it)."""

from types import ModuleType
from typing import overload

from pandas import DataFrame

from . import (
    complaints as complaints,
    conformance as conformance,
    cycles as cycles,
    errors as errors,
    examples as examples,
    ledger as ledger,
    library as library,
    per_server as per_server,
    plots as plots,
    simulation as simulation,
    study as study,
)
from ._version import __version__ as __version__
from .api import (
    allocate as allocate,
    allocate_all as allocate_all,
    compare as compare,
    formulate as formulate,
)
from .auditing import audit as audit
from .auditing.basics import blockers as blockers
from .auditing.promises import (
    counterexample as counterexample,
    promises as promises,
    properties as properties,
)
from .errors import FairlpError as FairlpError, FairlpWarning as FairlpWarning
from .ledger.reproducing import reproduce as reproduce
from .mechanisms.allocation import Allocation as Allocation
from .mechanisms.arrivals.online import Arrivals as Arrivals
from .mechanisms.arrivals.result import DynamicAllocation as DynamicAllocation
from .mechanisms.mechanism import Mechanism as Mechanism
from .mechanisms.own import mechanism as mechanism
from .mechanisms.validation import validate as validate
from .models.files.instances import read as read
from .models.files.programs import read_program as read_program
from .models.files.traces import (
    read_alibaba_gpu as read_alibaba_gpu,
    read_google2011 as read_google2011,
    read_pai2020 as read_pai2020,
)
from .models.instances.instance import Instance as Instance
from .models.notation.expressions import (
    Expression as Expression,
    Index as Index,
    Parameter as Parameter,
    Variable as Variable,
    log as log,
    minimum as minimum,
    power as power,
)
from .models.notation.model import Model as Model
from .models.notation.tables import Constraint as Constraint, Subset as Subset
from .models.paths.concave import ConcavePath as ConcavePath
from .models.paths.engine import Region as Region
from .models.paths.path import Path as Path
from .models.programs.backends import register_solver as register_solver
from .models.programs.options import Options as Options, Progress as Progress
from .models.programs.program import Program as Program
from .models.programs.protocols import Capability as Capability
from .models.programs.solution import Solution as Solution
from .models.programs.status import Status as Status, Termination as Termination
from .models.trees.rule_path import RulePath as RulePath
from .models.trees.rules import NodeRule as NodeRule
from .operations.clusters.assembly import Snapshot as Snapshot
from .operations.clusters.reading import snapshot as snapshot
from .operations.reports.charts import charts as charts
from .operations.reports.page import report as report
from .operations.reports.period import Period as Period, period as period
from .operations.reports.share_comparison import fair_shares as fair_shares
from .operations.reports.what_if import what_if as what_if
from .registry import Listing as Listing, Registry
from .research.frontier import Frontier as Frontier, frontier as frontier
from .solvers.backends.base import BaseBackend as Backend, Raw as Raw
from .solvers.leximin.of_model import LeximinSolution as LeximinSolution, leximin as leximin
from .solvers.leximin.own_paths import PathSolution as PathSolution, rise as rise

class _Mechanisms(ModuleType):
    TABLE: Registry[Mechanism]
    @staticmethod
    def find(name: str | Mechanism) -> Mechanism: ...
    @overload
    def __call__(self) -> DataFrame: ...
    @overload
    def __call__(self, name: str | Mechanism) -> Mechanism: ...
    table = __call__

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
    "NodeRule",
    "Options",
    "Parameter",
    "Path",
    "PathSolution",
    "Period",
    "Program",
    "Progress",
    "Raw",
    "Region",
    "RulePath",
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
    "minimum",
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
