"""Where things lie beside the tests."""

from __future__ import annotations

from pathlib import Path

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parents[1]
DOCS = ROOT / "docs"
#: Real clusters beside the checkout, where somebody has put them.
REAL_DATA = ROOT.parent / "shared" / "data"
