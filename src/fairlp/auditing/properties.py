"""The table of properties: what each asks, where it comes from, and how it is audited."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pandas as pd

from ..errors import UnknownNameError, named, quoted
from . import basics, fairness, goods, queues, reports
from .arrivals import DYNAMIC as DYNAMIC, StepProperty
from .findings import AuditCase, Finding

__all__ = ["PROPERTIES"]


class Property(NamedTuple):
    """One row: a promise that an allocation or a mechanism may keep.

    Attributes
    ----------
    name, statement, source : str
    audit : callable
        Case → Finding.
    reruns : bool
        Whether the mechanism is run again (on lies, or without a user).
    fewest_users : int
        Fewer than these cannot break it.
    one_resource, common_resource, pool_resource : bool
        Whether it is about instances with one resource, or with one that is the dominant one of all users
        on each server, or of the pool.
    whole_only : bool
        Whether it is about whole tasks.
    tree : bool
        Whether it is about queues.
    answer_of : str
        The mechanism whose answers alone have it, where it is the definition of one.
    promised : bool
        Whether a mechanism may promise it, beside what all answers have.
    is_plain : callable or None
        Case → whether it is plain, without the audit, that the property is not clearly broken. A
        search then goes on to the next instance.
    """

    name: str
    statement: str
    source: str
    audit: Callable[[AuditCase], Finding]
    reruns: bool = False
    fewest_users: int = 2
    one_resource: bool = False
    common_resource: bool = False
    pool_resource: bool = False
    whole_only: bool = False
    tree: bool = False
    answer_of: str = ""
    promised: bool = True
    is_plain: Callable[[AuditCase], bool] | None = None


_GHODSI = "Ghodsi et al., NSDI 2011"
_PS = "Khamse-Ashari et al., ICC 2017"
_HDRF = "Bhattacharya et al., SoCC 2013"
_CARAGIANNIS = "Caragiannis et al., EC 2016"
_PARKES = "Parkes, Procaccia and Shah, EC 2012"
_ROWS = (
    Property(
        "feasible",
        "no server is over capacity, no user over its limit or where it may not run",
        "",
        basics.feasible,
        promised=False,
    ),
    Property(
        "whole jobs",
        "no job is cut: every user runs a multiple of its job size",
        "",
        basics.whole_jobs,
        fewest_users=1,
        promised=False,
    ),
    Property(
        "non-wasteful",
        "no user could run more with what is free",
        "",
        basics.non_wasteful,
        fewest_users=1,
        promised=False,
    ),
    Property(
        "Pareto-optimal",
        "no user can gain without another's loss",
        _GHODSI,
        basics.pareto_optimal,
        is_plain=basics.pool_is_used_up,
    ),
    Property(
        "envy-free",
        "no user would rather have what another has, in proportion to their fair parts",
        _GHODSI,
        basics.envy_free,
    ),
    Property(
        "envy-free up to one own task",
        "with another's bundle no user could run more than one task more (whole tasks)",
        _PARKES,
        basics.up_to_one_own_task,
        whole_only=True,
    ),
    Property(
        "envy-free up to one task of the other",
        "with another's bundle less one of the other's tasks no user could run more (whole tasks)",
        _PARKES,
        basics.up_to_one_task_of_the_other,
        whole_only=True,
    ),
    Property(
        "EF1",
        "with another's bundle less some unit of a resource no user could run more (whole tasks)",
        _CARAGIANNIS,
        goods.envy_free_up_to_one_good,
        whole_only=True,
    ),
    Property(
        "EFX",
        "with another's bundle less any unit of a resource no user could run more (whole tasks)",
        _CARAGIANNIS,
        goods.envy_free_up_to_any_good,
        whole_only=True,
    ),
    Property(
        "maximin share",
        "every user runs what it could make sure of by dividing all goods and picking last (whole "
        "tasks)",
        "Budish, 2011; Caragiannis et al., EC 2016",
        goods.maximin_share,
        whole_only=True,
    ),
    Property(
        "sharing incentive",
        "every user runs at least what its part (its entitlement, else φ/Σφ) of every server would",
        f"{_GHODSI}; {_PS}",
        basics.sharing_incentive,
    ),
    Property(
        "bottleneck",
        "a resource that is the dominant one of all users on every server where they can run is shared "
        "max-min fairly",
        f"{_GHODSI}; {_PS}",
        fairness.bottleneck,
        common_resource=True,
    ),
    Property(
        "global bottleneck",
        "a resource of the whole pool that is the dominant one of all users is shared max-min fairly",
        "Wang, Li and Liang, INFOCOM 2014",
        fairness.global_bottleneck,
        pool_resource=True,
    ),
    Property(
        "single-resource",
        "a single resource is shared max-min fairly",
        _GHODSI,
        fairness.single_resource,
        one_resource=True,
    ),
    Property(
        "population-monotonic",
        "when a user leaves, no user is worse off",
        _GHODSI,
        reports.population_monotonic,
        True,
    ),
    Property(
        "strategy-proof",
        "no lie about demands or servers pays (a search)",
        _GHODSI,
        reports.strategy_proof,
        True,
    ),
    Property(
        "group strategy-proof",
        "no lie that several users (below one queue) tell together pays each of them (a search)",
        f"{_PARKES}; {_HDRF}",
        reports.group_strategy_proof,
        True,
    ),
    *(
        Property(
            f"leximin ({mechanism})",
            f"the totals are the leximin of {mechanism}'s Γ",
            "",
            partial(fairness.leximin_of, mechanism),
            answer_of=mechanism,
        )
        for mechanism in ("drfh", "asset", "cdrf", "tsf")
    ),
    Property(
        "caps kept", "no queue has more of a resource than its cap", "", queues.caps_kept, tree=True
    ),
    Property(
        "quotas kept",
        "no queue uses more than its own quota and what it may borrow",
        "Kueue, KEP-1714",
        queues.quotas_kept,
        tree=True,
    ),
    Property(
        "guarantees kept",
        "each queue has what its guarantee comes to, as a pool of its own",
        "",
        queues.guarantees_kept,
        tree=True,
    ),
    Property(
        "hierarchical share guarantee",
        "each user has the dominant share that the weights on its way up promise",
        _HDRF,
        queues.leaf_shares,
        tree=True,
    ),
    Property(
        "queue share guarantee",
        "each queue with users who wait has the dominant share that its weights promise, together",
        _HDRF,
        queues.queue_shares,
        tree=True,
    ),
    Property(
        "envy-free within queues",
        "no user would rather have what another user of its queue has, per weight",
        "",
        queues.envy_free_within,
        tree=True,
    ),
    Property(
        "no justified complaints",
        "every user has all it asks for, or its entitlement of a saturated resource",
        "Dolev et al., ITCS 2012",
        fairness.no_justified_complaints,
        promised=False,
    ),
    Property(
        "PS-DSF (rdm)",
        "no user could gain on a server from users of higher level there, resources divided",
        _PS,
        partial(fairness.per_server, division="rdm"),
        answer_of="psdsf-rdm",
    ),
    Property(
        "PS-DSF (tdm)",
        "the same, time divided",
        _PS,
        partial(fairness.per_server, division="tdm"),
        answer_of="psdsf-tdm",
    ),
)

#: name → property, in the order of the documentation
PROPERTIES: dict[str, Property] = {row.name: row for row in _ROWS}


def find(name: str) -> Property:
    """Return the property of that name."""
    property_name = known(name)
    if property_name not in PROPERTIES:
        raise UnknownNameError(
            f"{quoted(property_name)} is asked of every step, and this is one allocation; audit a "
            "DynamicAllocation"
        )
    return PROPERTIES[property_name]


def known(name: str) -> str:
    """Return the name of a property, of one allocation or of every step, as the table has it."""
    return named(name, [*PROPERTIES, *DYNAMIC], "property")


def table() -> pd.DataFrame:
    """Return every property: statement, source, and whether its audit runs the mechanism again."""
    every: dict[str, Property | StepProperty] = {**PROPERTIES, **DYNAMIC}
    rows = {
        name: {"asks": row.statement, "source": row.source, "reruns": row.reruns}
        for name, row in every.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("property")
