"""What packages on top of fairlp share with it: files, tables, numbers, options and commands.

The names are public and stable, as those of ``fairlp`` are; fairlp's own companions,
``fairlp_research`` and ``fairlp_clusters``, import no other helper (docs/architecture.md).

>>> from fairlp.toolkit import quantity
>>> quantity(32768, "memory", "MiB")
'32 GiB'
"""

from .._lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
