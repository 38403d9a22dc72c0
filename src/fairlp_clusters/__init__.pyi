"""The public names of the companion, and where each lives (``__init__.py`` reads it)."""

from .blockers import blockers as blockers
from .dues.fair_shares import fair_shares as fair_shares
from .dues.verdict import Verdict as Verdict
from .page.page import report as report, verdict as verdict
from .periods.period import Period as Period, period as period
from .readers.reading import snapshot as snapshot
from .readers.snapshot import Snapshot as Snapshot

__all__ = [
    "Period",
    "Snapshot",
    "Verdict",
    "blockers",
    "fair_shares",
    "period",
    "report",
    "snapshot",
    "verdict",
]
