"""fairlp: fair allocation of many resources to many users, as models that people can read.

>>> import fairlp
>>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
>>> fairlp.allocate(instance, "drf").totals.round(6).to_dict()
{'A': 3.0, 'B': 2.0}
"""

from . import _lazy

#: What the companions have, by their names in 1.x where these differ.
_CLUSTERS = "Period Snapshot blockers fair_shares period report snapshot"
_RESEARCH = "Frontier frontier library read_alibaba_gpu reproduce simulation study"
_MOVED = {
    name: f"it is now {package}.{name} (import {package})"
    for package, names in (("fairlp_clusters", _CLUSTERS), ("fairlp_research", _RESEARCH))
    for name in names.split()
} | {
    "ledger": "it is now fairlp_research.papers (import fairlp_research)",
    "DynamicAllocation": "it is the class of what fairlp.allocate returns where users arrive",
    "LeximinSolution": "it is the class of what fairlp.leximin returns",
    "PathSolution": "it is the class of what fairlp.rise returns",
    "Progress": "it is the class of what Options.progress is called with",
}

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__, moved=_MOVED)
