"""The public names of fairlp, and where each lives: the one list of them (``__init__.py`` reads it)."""

from . import conformance as conformance
from . import errors as errors
from . import examples as examples
from . import mechanisms as mechanisms
from . import plots as plots
from . import simulation as simulation
from . import solvers as solvers
from . import study as study
from ._version import __version__ as __version__
from .api import allocate as allocate
from .api import allocate_all as allocate_all
from .api import compare as compare
from .api import formulate as formulate
from .auditing import audit as audit
from .auditing.blocking import blockers as blockers
from .auditing.promises import counterexample as counterexample
from .auditing.promises import promises as promises
from .auditing.promises import properties as properties
from .clusters.reading import snapshot as snapshot
from .clusters.result import Snapshot as Snapshot
from .errors import FairlpError as FairlpError
from .errors import FairlpWarning as FairlpWarning
from .mechanisms.allocation import Allocation as Allocation
from .mechanisms.arrivals.online import Arrivals as Arrivals
from .mechanisms.arrivals.result import DynamicAllocation as DynamicAllocation
from .mechanisms.complaints import check as complaints  # noqa: F401
from .mechanisms.own import mechanism as mechanism
from .mechanisms.per_server import check as per_server  # noqa: F401
from .mechanisms.sparse_allocation import SparseAllocation as SparseAllocation
from .mechanisms.validation import validate as validate
from .mechanisms.whole_tasks import cycles as cycles
from .models.files.instances import read as read
from .models.files.programs import read_program as read_program
from .models.files.traces import read_alibaba_gpu as read_alibaba_gpu
from .models.files.traces import read_pai2020 as read_pai2020
from .models.instances.instance import Instance as Instance
from .models.instances.sparse import SparseInstance as SparseInstance
from .models.notation.expressions import Index as Index
from .models.notation.expressions import log as log
from .models.notation.expressions import power as power
from .models.notation.model import Model as Model
from .models.programs.backends import register_solver as register_solver
from .models.programs.program import Program as Program
from .models.programs.solution import Capability as Capability
from .models.programs.solution import Options as Options
from .models.programs.solution import Solution as Solution
from .models.programs.solution import Status as Status
from .models.programs.solution import Termination as Termination
from .reports.charts import charts as charts
from .reports.page import report as report
from .reports.tables import fair_shares as fair_shares
from .reports.what_if import what_if as what_if
from .solvers.backends.base import BaseBackend as Backend  # noqa: F401
from .solvers.backends.base import Raw as Raw
from .solvers.leximin.of_model import LeximinSolution as LeximinSolution
from .solvers.leximin.of_model import leximin as leximin
