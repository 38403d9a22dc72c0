"""The ledger: what the papers number, and what they claim in their texts, computed again.

>>> import fairlp_research
>>> fairlp_research.reproduce("wang-2014", "Figure 3")
<Ledger: 1 item, equal 1>

A paper of yours is a :class:`Paper` with items (docs/reproducing.md).
"""

from __future__ import annotations

from .registry import Paper, Run, integers
from .reproducing import papers, reproduce
from .result import ItemRow, Ledger
from .verdicts import Agreement, ItemAnswer, beside, holds, named, on_instance, picture

__all__ = [
    "Agreement",
    "ItemAnswer",
    "ItemRow",
    "Ledger",
    "Paper",
    "Run",
    "beside",
    "holds",
    "integers",
    "named",
    "on_instance",
    "papers",
    "picture",
    "reproduce",
]


def __dir__() -> list[str]:
    return __all__
