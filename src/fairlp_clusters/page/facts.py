"""The facts of a page, computed once: the tables behind its sections and its pictures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance, allocate, allocate_all, audit, auditing, formulate, plots
from fairlp.errors import NotDefinedError
from fairlp.toolkit import largest_first

from ..dues.share_comparison import ShareComparison
from ..dues.subject import Classes

# Prices: the worth of one more unit of a capacity, by class of servers.


def next_to_buy(
    fair: Allocation, classes: Classes, oversized: Any = "divide"
) -> pd.DataFrame | None:
    """Return the prices of capacity by class and resource, dearest first; None without.

    Parameters
    ----------
    fair : Allocation
        One without prices is computed once more by a method that solves linear programs.
    classes : Classes
    oversized : str
        The treatment of tasks that fit no server, as for :func:`fairlp.allocate`.

    Returns
    -------
    DataFrame
        ``class``, ``resource``, ``unit``, ``price`` of one unit on a server of the class (at most
        what one more adds to the level of the round in which capacity first ends), ``worth`` (the
        part of the class's amount in the worth of all capacity) and ``server`` (the same of one
        server more of the class, all its resources). Capacity without a price is left out.
    """
    priced = _with_prices(fair, oversized)
    if priced is None or priced.prices_array is None:
        return None
    instance = fair.instance
    prices = np.maximum(priced.prices_array, 0.0)
    class_prices = np.array(
        [prices[classes.of == k].max(axis=0) for k in range(len(classes.names))]
    )
    total_worth = float((class_prices * classes.capacities).sum())
    first_rows = np.unique(classes.of, return_index=True)[1]

    rows = []
    for k, name in enumerate(classes.names):
        price = class_prices[k]
        server_worth = float(price @ instance.capacities[first_rows[k]])
        for r in np.flatnonzero(price > 0).tolist():
            resource = str(instance.resources[r])
            unit = instance.units.get(resource, "")
            value = price[r] * float(classes.capacities[k, r]) / total_worth
            server_part = server_worth / total_worth
            rows.append((name, resource, unit, float(price[r]), value, server_part))
    columns = ["class", "resource", "unit", "price", "worth", "server"]
    return pd.DataFrame(rows, columns=columns).sort_values(
        "worth", ascending=False, kind="stable", ignore_index=True
    )


def _with_prices(fair: Allocation, oversized: Any) -> Allocation | None:
    """Return the allocation with prices; None where no method of the mechanism gives them."""
    if fair.prices_array is not None:
        return fair
    mechanism = fairlp.mechanisms.TABLE.get(fair.mechanism)
    if mechanism is None:
        return None
    methods = [method.name for method in mechanism.methods if method.solves and not method.by_name]
    if not methods:
        return None
    return allocate(
        fair.instance, mechanism, method=methods[-1], oversized=oversized, **fair.parameters
    )


#: Pairs of users and servers up to which every mechanism is compared and every property audited.
MOST_PAIRS = 250_000
#: Pairs of users and servers up to which jobs are audited as whole ones.
MOST_WHOLE_PAIRS = 2_000
#: The properties that are left out beyond that: their audits compare every pair of users, or solve a
#: program of every user and server.
_COSTLY = ("Pareto-optimal", "non-wasteful", "leximin", "PS-DSF")
#: The answers of an audit in words.
_ANSWERS = {True: "kept", False: "broken"}
#: The name of the running tasks among the mechanisms.
OBSERVED = "observed"


@dataclass(frozen=True, eq=False)
class Facts:
    """The tables behind a page.

    Attributes
    ----------
    share_comparison : ShareComparison
    mechanisms : sequence of str or Mechanism, or None
        The mechanisms to compare; None for all that are defined (of a large instance, the quick
        ones).
    earlier : ShareComparison or None
        The same cluster before.
    """

    share_comparison: ShareComparison
    mechanisms: Any = None
    earlier: ShareComparison | None = None

    @property
    def oversized(self) -> Any:
        """The treatment of tasks that fit no server: in a dump, they are owed to no user."""
        return "drop" if self.share_comparison.subject.scheduler else "divide"

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

    def compared(self) -> Iterator[tuple[str, Allocation | None]]:
        """Yield the running tasks, where they are known, the fair ones, and other mechanisms'.

        None is kept: of many users and servers each is large.
        """
        comparison = self.share_comparison
        instance = comparison.instance
        if comparison.subject.observed is not None:
            yield OBSERVED, comparison.subject.observed
        yield comparison.fair.mechanism, comparison.fair
        for mechanism in self.mechanisms or _default_mechanisms(instance):
            if getattr(mechanism, "name", mechanism) == comparison.fair.mechanism:
                continue
            allocated = allocate_all(instance, [mechanism], oversized=self.oversized)
            for name, allocation in allocated.items():
                yield name, getattr(allocation, "last", allocation)

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Figures of the mechanisms: total tasks, shares, use of each resource."""
        instance = self.share_comparison.instance
        return plots.comparison_table(instance, self.compared(), "summary")

    @cached_property
    def prices(self) -> pd.DataFrame | None:
        """The capacity to buy next; None where the mechanism has no prices."""
        return next_to_buy(self.share_comparison.fair, self.classes, self.oversized)

    @cached_property
    def findings(self) -> pd.DataFrame:
        """The audit of the running tasks (of the fair ones, where no running tasks are known)."""
        comparison = self.share_comparison
        observed = comparison.subject.tasks
        allocation = comparison.fair if observed is None else observed
        instance = comparison.instance
        # whole jobs by programs of whole numbers, where these are small
        pairs = len(instance.users) * len(instance.servers)
        whole_tasks = None if pairs <= MOST_WHOLE_PAIRS else False
        names = default_properties(instance)
        return audit(instance, allocation, names, whole_tasks=whole_tasks)

    @cached_property
    def model(self) -> str:
        """The model of fair shares, as mathematics in text; empty for a procedure."""
        fair = self.share_comparison.fair
        instance = self.share_comparison.instance
        try:
            with warnings.catch_warnings(action="ignore"):  # the fair allocation gave the same ones
                return str(formulate(instance, fair.mechanism, **fair.parameters))
        except NotDefinedError:
            return ""


def _default_mechanisms(instance: Instance) -> list[str]:
    """Return the mechanisms to compare by default: all, or those quick on a large instance."""
    defined = [
        row
        for row in fairlp.mechanisms.TABLE.values()
        if row.compared and row.undefined(instance) is None
    ]
    if is_large(instance):
        # the mechanisms of rounds are proved as drfh is
        by_rounds = fairlp.mechanisms.find("drfh").prove.func  # type: ignore[union-attr]
        defined = [row for row in defined if getattr(row.prove, "func", None) is by_rounds]
    return [row.name for row in defined]


def is_large(instance: Instance) -> bool:
    """Whether an instance has so many users and servers that only quick figures are computed."""
    return len(instance.users) * len(instance.servers) > MOST_PAIRS


def default_properties(instance: Instance) -> list[str]:
    """Return the properties that a page audits: those that run no mechanism again."""
    costly_names = costly_properties(instance)
    return [
        name
        for name, row in auditing.PROPERTIES.items()
        if not row.reruns and (instance.has_queues or not row.tree) and name not in costly_names
    ]


def costly_properties(instance: Instance) -> list[str]:
    """Return the properties that a page does not audit because of the size of the instance."""
    if not is_large(instance):
        return []
    return [name for name in auditing.PROPERTIES if name.startswith(_COSTLY)]


def findings_in_words(
    findings: pd.DataFrame, *, with_definitions: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return findings with answers in words, and sentences about those that are left out.

    An answer is kept, broken, "no lie found" by a search, or "not checked". Left out are properties
    with nothing to check and, without ``with_definitions``, definitions of mechanisms: an
    allocation of another mechanism does not meet them, and nothing is wrong with it.
    """
    has_nothing = findings["witness"].str.startswith("nothing to check: ")
    is_definition = findings.index.isin([] if with_definitions else definitions())
    shown = findings[~has_nothing & ~is_definition]
    answers = [
        _ANSWERS.get(holds, "no lie found" if margin == 0 else "not checked")
        for holds, margin in zip(shown["holds"], shown["margin"], strict=True)
    ]
    sentences = []
    names = ", ".join(map(str, findings.index[has_nothing & ~is_definition]))
    if names:
        sentences.append(f"nothing to check here: {names}")
    sentences += _answer_of(findings["holds"][is_definition])
    return shown.assign(holds=answers), sentences


def definitions() -> list[str]:
    """Return the properties that are definitions of mechanisms."""
    return [name for name, row in auditing.PROPERTIES.items() if row.answer_of]


def _answer_of(holds: pd.Series[Any]) -> list[str]:
    """Return a sentence on the mechanisms that an allocation is an answer of, where it is known."""
    mechanisms = [auditing.PROPERTIES[str(name)].answer_of for name in holds.index]
    answers = list(zip(mechanisms, holds, strict=True))
    same = [mechanism for mechanism, is_answer in answers if is_answer is True]
    other = [mechanism for mechanism, is_answer in answers if is_answer is False]
    parts = []
    if same:
        parts.append(f"the answer of {', '.join(same)}")
    if other:
        parts.append(f"not the answer of {', '.join(other)} (other mechanisms)")
    return ["; ".join(parts)] if parts else []
