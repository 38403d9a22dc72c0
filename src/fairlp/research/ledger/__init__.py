"""The ledger: every table, figure, example and theorem of the papers, computed again beside what the paper says.

>>> import fairlp
>>> fairlp.reproduce("wang-2014", "Figure 3")
<Ledger: 1 item, equal 1>
"""

from __future__ import annotations

from .reproducing import papers, reproduce
from .result import ItemRow, Ledger
from .verdicts import Agreement

__all__ = ["Agreement", "ItemRow", "Ledger", "papers", "reproduce"]


def __dir__() -> list[str]:
    return __all__
