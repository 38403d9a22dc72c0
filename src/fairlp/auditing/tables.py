"""The table of an audit: a DataFrame that a notebook shows with every witness in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..models.programs.displays import whole_table

if TYPE_CHECKING:
    from collections.abc import Callable


class AuditTable(pd.DataFrame):
    """Findings by property; what is taken from it (rows, columns) is one, too."""

    @property
    def _constructor(self) -> Callable[..., AuditTable]:
        return AuditTable

    def _repr_html_(self) -> str:
        filled = pd.DataFrame(self)[[name for name in self.columns if self[name].notna().any()]]
        return whole_table(filled.astype(object).where(filled.notna(), ""))
