"""The facts of a page, computed once: the tables behind its sections and its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fairlp.toolkit import largest_first

from ..dues.share_comparison import ShareComparison
from ..dues.subject import Classes


@dataclass(frozen=True, eq=False)
class Facts:
    """The tables behind a page.

    Attributes
    ----------
    share_comparison : ShareComparison
    earlier : ShareComparison or None
        The same cluster before.
    """

    share_comparison: ShareComparison
    earlier: ShareComparison | None = None

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Tasks, waiting and owed of users, before and after; first those who moved most."""
        assert self.earlier is not None
        columns = ["tasks", "waiting", "owed"]
        after = self.share_comparison.users[columns].rename(index=str)
        before = self.earlier.users[columns].rename(index=str)
        table = pd.concat([after, before.add_suffix("_before")], axis=1).fillna(0.0)
        table.insert(0, "change", table["tasks"] - table["tasks_before"])

        # The part of the cluster that a user's change is; of users who are gone, by the earlier dump
        share = pd.Series(self.share_comparison.share_of_a_task, index=after.index)
        earlier_share = pd.Series(self.earlier.share_of_a_task, index=before.index)
        task_share = share.reindex(table.index).fillna(earlier_share.reindex(table.index))
        moved_share = (table["change"] * task_share).abs().to_numpy()
        return table.iloc[largest_first(moved_share)]

    @cached_property
    def classes(self) -> Classes:
        """Servers by class."""
        return Classes.among(self.share_comparison.instance)

    @cached_property
    def in_use(self) -> pd.DataFrame:
        """Fraction in use, classes × resources; NaN where there is no capacity."""
        instance = self.share_comparison.instance
        classes = self.classes
        usage = self.share_comparison.allocation.usage.to_numpy()
        columns = [
            np.bincount(classes.of, weights=amounts, minlength=len(classes.names))
            for amounts in usage.T
        ]
        used = np.column_stack(columns)
        fraction = np.divide(
            used,
            classes.capacities,
            out=np.full(used.shape, np.nan),
            where=classes.capacities > 0,
        )
        return pd.DataFrame(
            fraction, index=classes.names, columns=list(map(str, instance.resources))
        )
