"""The library: generated benchmark instances by name, from easy to hard, with their optima.

>>> import fairlp_research
>>> entry = fairlp_research.library.load("many-rounds", users=3)
>>> entry.optimum.value, [str(level) for level in sorted(entry.optimum.levels)]
(Fraction(1, 8), ['1/8', '1/4', '5/8'])
"""

from __future__ import annotations

from .entry import Entry, load, names, table, write_all
from .profiles import Profile, profile
from .registry import Optimum
from .running import Results, SolverResult, run

__all__ = [
    "Entry",
    "Optimum",
    "Profile",
    "Results",
    "SolverResult",
    "load",
    "names",
    "profile",
    "run",
    "table",
    "write_all",
]


def __dir__() -> list[str]:
    return __all__
