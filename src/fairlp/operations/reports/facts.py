"""All that a page says, found once: the tables behind its sections and its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...api import Oversized, allocate, allocate_all, comparison_table, formulate
from ...auditing import audit
from ...auditing.properties import PROPERTIES
from ...errors import NotDefinedError
from ...mechanisms.allocation import Allocation
from ...mechanisms.max_min.proof import by_rounds
from ...mechanisms.table import TABLE
from ...models.instances.arithmetic import largest_first
from ...models.instances.instance import Instance
from .share_comparison import ShareComparison
from .subject import Classes

# What to buy next: what one more unit of a capacity is worth, by class of servers.


def next_to_buy(
    fair: Allocation, classes: Classes, oversized: Oversized = "divide"
) -> pd.DataFrame | None:
    """Return the prices of capacity by class and resource, dearest first; None where the mechanism has none.

    Parameters
    ----------
    fair : Allocation
        One without prices is found once more by a method that solves linear programs.
    classes : Classes
    oversized : str
        What becomes of tasks that fit no server, as for :func:`fairlp.allocate`.

    Returns
    -------
    DataFrame
        ``class``, ``resource``, ``unit``, ``price`` of one unit on a server of the class (at most
        what one more adds to the level of the round in which capacity first ends), ``worth`` (of
        all that has a price, the part that the class's amount is worth) and ``server`` (the same of
        one server more of the class, all its resources). What has no price is left out.
    """
    priced = _priced(fair, oversized)
    if priced is None or priced.prices_array is None:
        return None
    instance = fair.instance
    prices = np.maximum(priced.prices_array, 0.0)
    of_class = np.array([prices[classes.of == k].max(axis=0) for k in range(len(classes.names))])
    whole = float((of_class * classes.capacities).sum())
    first = np.unique(classes.of, return_index=True)[1]
    rows = []
    for k, name in enumerate(classes.names):
        most = of_class[k]
        server = float(most @ instance.capacities[first[k]])
        for r in np.flatnonzero(most > 0).tolist():
            amount = float(classes.capacities[k, r])
            resource = str(instance.resources[r])
            unit = instance.units.get(resource, "")
            rows.append(
                (name, resource, unit, float(most[r]), most[r] * amount / whole, server / whole)
            )
    columns = ["class", "resource", "unit", "price", "worth", "server"]
    return pd.DataFrame(rows, columns=columns).sort_values(
        "worth", ascending=False, kind="stable", ignore_index=True
    )


def _priced(fair: Allocation, oversized: Oversized) -> Allocation | None:
    """Return the allocation with prices, where the mechanism has a method that gives them."""
    if fair.prices_array is not None:
        return fair
    row = TABLE.get(fair.mechanism)
    if row is None:
        return None
    solving = [method.name for method in row.methods if method.solves and not method.by_name]
    if not solving:
        return None
    return allocate(fair.instance, row, method=solving[-1], oversized=oversized, **fair.parameters)


#: Pairs of users and servers up to which every mechanism is compared and every property asked.
MOST_PAIRS = 250_000
#: What is left out beyond that: it looks at every pair of users, or solves a program of every user
#: and server.
_COSTLY = ("Pareto-optimal", "non-wasteful", "leximin", "PS-DSF")
#: What a page calls that which runs now.
OBSERVED = "observed"


@dataclass(frozen=True, eq=False)
class Facts:
    """What there is to say of a comparison of shares.

    Attributes
    ----------
    share_comparison : ShareComparison
    mechanisms : sequence of str or Mechanism, or None
        Those to compare; None for those that go without saying.
    earlier : ShareComparison or None
        The same cluster before.
    """

    share_comparison: ShareComparison
    mechanisms: Any = None
    earlier: ShareComparison | None = None

    @property
    def oversized(self) -> Oversized:
        """What becomes of tasks that fit no server: of a dump they are owed to nobody."""
        return "drop" if self.share_comparison.subject.scheduler else "divide"

    @cached_property
    def moved(self) -> pd.DataFrame:
        """Users of both dumps, or of one: tasks, waiting and owed before and now; by how much of the cluster moved."""
        assert self.earlier is not None
        now, before = (
            one.users[["tasks", "waiting", "owed"]].rename(index=str)
            for one in (self.share_comparison, self.earlier)
        )
        table = pd.concat([now, before.add_suffix("_before")], axis=1).fillna(0.0)
        table.insert(0, "change", table["tasks"] - table["tasks_before"])
        share = pd.Series(self.share_comparison.share_of_a_task, index=now.index).reindex(
            table.index
        )
        gone = pd.Series(self.earlier.share_of_a_task, index=before.index).reindex(table.index)
        by = (table["change"] * share.fillna(gone)).abs().to_numpy()
        return table.iloc[largest_first(by)]

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
        used = np.column_stack(
            [np.bincount(classes.of, weights=u, minlength=len(classes.names)) for u in usage.T]
        )
        there = classes.capacities > 0
        fraction = np.divide(used, classes.capacities, out=np.full(used.shape, np.nan), where=there)
        return pd.DataFrame(
            fraction, index=classes.names, columns=list(map(str, instance.resources))
        )

    @cached_property
    def compared(self) -> dict[str, Allocation | None]:
        """What runs now, where that is known, what is fair, and what other mechanisms give, by name."""
        comparison = self.share_comparison
        names = list(self.mechanisms or ())
        if not names:
            rows = [
                row
                for row in TABLE.values()
                if row.compared and row.undefined(comparison.instance) is None
            ]
            names = [
                row.name
                for row in rows
                if not is_large(comparison.instance)
                or getattr(row.prove, "func", None) is by_rounds
            ]
        others = [
            name for name in names if getattr(name, "name", name) != comparison.fair.mechanism
        ]
        now = {} if comparison.subject.observed is None else {OBSERVED: comparison.subject.observed}
        shared = allocate_all(comparison.instance, others, oversized=self.oversized)
        found = {name: getattr(one, "last", one) for name, one in shared.items()}
        return {**now, comparison.fair.mechanism: comparison.fair, **found}

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Figures of the mechanisms: total tasks, shares, use of each resource."""
        return comparison_table(self.share_comparison.instance, self.compared, "summary").drop(
            columns="seconds"
        )

    @cached_property
    def prices(self) -> pd.DataFrame | None:
        """What to buy next; None where the mechanism has no prices."""
        return next_to_buy(self.share_comparison.fair, self.classes, self.oversized)

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What the audit says of what runs now (of what is fair, where nothing is known to run)."""
        comparison = self.share_comparison
        given = (
            comparison.subject.tasks if comparison.subject.tasks is not None else comparison.fair
        )
        return audit(comparison.instance, given, asked_of(comparison.instance))

    @cached_property
    def model(self) -> str:
        """The model of what is fair, as mathematics in text; empty for a procedure."""
        try:
            fair = self.share_comparison.fair
            return str(formulate(self.share_comparison.instance, fair.mechanism, **fair.parameters))
        except NotDefinedError:
            return ""


def is_large(instance: Instance) -> bool:
    """Whether there are so many users and servers that only what is quick is found."""
    return len(instance.users) * len(instance.servers) > MOST_PAIRS


def asked_of(instance: Instance) -> list[str]:
    """Return the properties that are asked for when none is named: those that need no mechanism to be run again."""
    costly = is_large(instance)
    tree = instance.has_queues
    return [
        name
        for name, row in PROPERTIES.items()
        if not row.reruns and (tree or not row.tree) and not (costly and name.startswith(_COSTLY))
    ]


def left_out_of(instance: Instance) -> list[str]:
    """Return the properties that are not asked for because of the size."""
    return [name for name in PROPERTIES if is_large(instance) and name.startswith(_COSTLY)]


def judged(found: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the findings with their answers in words (kept, broken, not checked), and a sentence on the others.

    Properties that cannot apply to the instance are left out, and the sentence names them; it is
    empty where all apply.
    """
    there = ~found["witness"].str.startswith("vacuous: ")
    words = {True: "kept", False: "broken"}
    shown = found[there].assign(
        holds=[words.get(held, "not checked") for held in found["holds"][there]]
    )
    names = ", ".join(map(str, found.index[~there]))
    return shown, f"not about such an instance: {names} (--csv and --json say why)" if names else ""
