"""Papers computed again, simulations, studies, benchmark instances, traces and frontiers.

A companion of fairlp: it uses the framework as any user may (docs/architecture.md).

>>> import fairlp_research
>>> fairlp_research.reproduce("wang-2014", "Figure 3")
<Ledger: 1 item, equal 1>
"""

from fairlp.toolkit import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
