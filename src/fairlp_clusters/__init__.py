"""What schedulers print, read into instances; what each tenant is due; the page about it.

A companion of fairlp: it uses the framework as any user may (docs/architecture.md).

>>> import fairlp_clusters
>>> "Slurm" in str(fairlp_clusters.snapshot.__doc__)
True
"""

from fairlp.toolkit import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
