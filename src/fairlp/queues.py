"""Trees of queues: paths, what guarantees come to, and quotas in use.

>>> from fairlp import queues
>>> queues.lineage("org/team")
['', 'org', 'org/team']
"""

from __future__ import annotations

from .mechanisms.max_min.methods import unplaced
from .models.instances.queues import LEAST_WEIGHT, ROOT, cleaned, lineage, parent_of
from .models.instances.quotas import AT, KINDS
from .models.trees.guarantees import floors
from .models.trees.quotas import QuotaTree, lane_tasks, usage_of

__all__ = [
    "AT",
    "KINDS",
    "LEAST_WEIGHT",
    "ROOT",
    "QuotaTree",
    "cleaned",
    "floors",
    "lane_tasks",
    "lineage",
    "parent_of",
    "unplaced",
    "usage_of",
]


def __dir__() -> list[str]:
    return __all__
