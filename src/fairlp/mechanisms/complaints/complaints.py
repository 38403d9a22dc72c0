"""Justified complaints about an allocation, and the proof of a fair one (Dolev et al., 2012).

No user may complain when every user has all it asked for, or at least its entitlement of a
saturated resource that it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...errors import InstanceError, counted, quoted
from ...models.instances.arithmetic import relative
from ...models.instances.requests import Requests
from ...models.programs.certificate import figure
from ...models.programs.proof import Proof
from ...tolerances import AGREEMENT


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ComplaintCheck(Proof):
    """The justified complaints about an allocation, and the tasks owed.

    It holds where no user may complain.

    Attributes
    ----------
    table : DataFrame
        By user: ``granted`` (x[n], fraction of the request), ``tasks``, ``entitlement`` (e[n]),
        ``bottleneck`` (the saturated resource that it has most of; empty if it uses none),
        ``fraction`` (how much of that it has), ``complains``, ``owed`` (tasks that would end the
        complaint: the entitlement on that bottleneck, or all that was asked for) and ``room``
        (tasks that fit into what is left: no user would lose by them).
    bottlenecks : tuple of str
        Saturated resources.
    violations : tuple of str
        What makes the allocation infeasible, in words: a resource given out beyond its capacity,
        tasks beyond a limit.
    complaint : float
        Largest shortfall, relative to what would end the complaint: 0 (no user could ask for more)
        to 1.
    margin : float
        Minus the largest complaint, overuse or excess, relative; 0 where there is none.
    tolerance : float
        Relative: what counts as saturated, as all, and as the entitlement.
    """

    table: pd.DataFrame
    bottlenecks: tuple[Any, ...]
    violations: tuple[str, ...]
    complaint: float
    margin: float
    tolerance: float

    @property
    def complaining(self) -> tuple[Any, ...]:
        """Users who may justifiably complain."""
        return tuple(self.table.index[self.table["complains"]])

    def __repr__(self) -> str:
        return f"<ComplaintCheck: {self}>"


class _Shortfalls(NamedTuple):
    """The numbers behind complaints: what users are granted, and what would end a complaint.

    Arrays are by user (fractions of the request), ``usage`` and ``saturated`` by resource.
    """

    granted: np.ndarray
    needed: np.ndarray
    shortfall: np.ndarray
    usage: np.ndarray
    saturated: np.ndarray

    @property
    def complaint(self) -> float:
        """The largest shortfall, relative to what would end the complaint."""
        return float(relative(self.shortfall, self.needed).max(initial=0.0))


def _shortfalls(requests: Requests, tasks: np.ndarray, tolerance: float) -> _Shortfalls:
    """Return what users lack with these tasks (shape (N,))."""
    if tasks.shape != requests.tasks.shape:
        raise InstanceError(
            f"tasks have shape {tasks.shape}; expected {requests.tasks.shape}, one number for each "
            "user"
        )
    is_bad = ~np.isfinite(tasks) | (tasks < -tolerance * requests.tasks)
    if is_bad.any():
        user = int(is_bad.argmax())
        raise InstanceError(
            f"tasks of user {quoted(requests.users[user])} are {tasks[user]:g}; expected a finite number >= 0"
        )
    granted = requests.granted(tasks)
    usage = granted @ requests.fractions
    saturated = usage >= 1 - tolerance
    needed = requests.thresholds(saturated)
    # a user entitled to nothing needs nothing, if only some resource that it uses is saturated
    return _Shortfalls(granted, needed, np.maximum(needed - granted, 0.0), usage, saturated)


def check_complaints(
    requests: Requests, tasks: np.ndarray, tolerance: float = AGREEMENT
) -> ComplaintCheck:
    """Return who may complain about tasks by user (shape (N,)); O(NR)."""
    tasks = np.asarray(tasks, dtype=float)
    shortfalls = _shortfalls(requests, tasks, tolerance)
    x, needed, shortfall, usage, saturated = shortfalls
    r = requests.fractions
    complains = shortfall > tolerance * needed
    own_fractions = np.where(saturated, x[:, None] * r, -1.0)
    best = own_fractions.argmax(axis=1)
    uses = (saturated & (r > 0)).any(axis=1)
    names = np.array(list(requests.resources), dtype=object)
    with np.errstate(divide="ignore", invalid="ignore"):
        room_by_resource = np.where(r > 0, np.maximum(1 - usage, 0.0) / r, np.inf)
    room = room_by_resource.min(axis=1)
    limit_room = np.where(requests.limited, np.maximum(1 - x, 0.0), np.inf)
    table = pd.DataFrame(
        {
            "granted": x,
            "tasks": tasks,
            "entitlement": requests.entitlements,
            "bottleneck": np.where(uses, names[best], ""),
            "fraction": np.where(uses, own_fractions[np.arange(len(x)), best], 0.0),
            "complains": complains,
            "owed": np.where(complains, shortfall * requests.tasks, 0.0),
            "room": np.where(
                requests.asking, np.minimum(np.where(uses, 0.0, room), limit_room), 0.0
            )
            * requests.tasks,
        },
        index=requests.users.labels.rename("user"),
    )
    violations = [
        f"{names[j]!r} is given out {usage[j]:.9g} times"
        for j in np.flatnonzero(usage > 1 + tolerance)
    ]
    beyond = np.flatnonzero(requests.limited & (x > 1 + tolerance))
    violations += [
        f"{quoted(requests.users[n])} has {tasks[n]:g} tasks and asked for {requests.tasks[n]:g}"
        for n in beyond[:5]
    ]
    bottlenecks = tuple(names[saturated])
    complaint = shortfalls.complaint
    return ComplaintCheck(
        not violations and not bool(complains.any()),
        f"{_in_words(violations, table[complains])} (bottlenecks: "
        f"{', '.join(map(str, bottlenecks)) or 'none'})",
        table=table,
        bottlenecks=bottlenecks,
        violations=tuple(violations),
        complaint=complaint,
        margin=-max(complaint, _overuse(requests, x, usage)),
        tolerance=tolerance,
    )


def _overuse(requests: Requests, x: np.ndarray, usage: np.ndarray) -> float:
    """Return the largest excess over a resource or a user's request; 0 within both."""
    of_resources = float((usage - 1).max())
    of_requests = float((x - 1)[requests.limited].max(initial=0.0))
    return max(of_resources, of_requests, 0.0)


def _in_words(violations: Sequence[str], complaining: pd.DataFrame) -> str:
    """Return what is wrong with an allocation, and who is owed how much."""
    if violations:
        return f"not feasible: {'; '.join(violations)}"
    if complaining.empty:
        return "no justified complaints"
    complaints = "; ".join(
        f"{quoted(user)} is owed {row.owed:.6g} tasks"
        for user, row in complaining.head(5).iterrows()
    )
    return complaints + (
        f"; and {counted(len(complaining) - 5, 'more user')}" if len(complaining) > 5 else ""
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class FairCertificate(Proof):
    """The proof of an allocation of ``njc``, or of ``ceei`` on one server.

    It needs the instance and the allocation alone.

    It holds where the allocation is fair and, where prices are there to prove it, the
    Eisenberg–Gale optimum.

    Attributes
    ----------
    bottlenecks : tuple of str
        Saturated resources (of one server).
    prices : Series or None
        λ by resource at the Eisenberg–Gale optimum, of the whole capacity, where all entitlements
        together could pay 1; the positive ones name the bottlenecks that it rests on. None where no
        prices are known.
    overuse : float
        Largest violation of a capacity or limit, relative.
    complaint : float
        Largest justified complaint, relative to what would end it (0: none).
    conditions : float or None
        Largest violation of the optimality conditions of Σ e[n]·log x[n], with Σ e[n] = 1: overuse,
        what a user spends against its entitlement, relative, and the value of what is left; None
        without prices.
    gap : float
        Duality gap of Σ e[n]·log x[n], which bounds how far it is from the optimum; NaN without
        prices.
    tolerance : float
        Relative: of the complaint.
    """

    bottlenecks: tuple[Any, ...]
    prices: pd.Series[float] | None
    overuse: float
    complaint: float
    conditions: float | None
    tolerance: float


def certify_fair(
    requests: Requests, x: np.ndarray, prices: np.ndarray | None, tolerance: float = AGREEMENT
) -> FairCertificate:
    """Return the certificate of granted fractions (N,), with prices (R,) or without; O(NR).

    Prices prove the Eisenberg–Gale optimum.
    """
    shortfalls = _shortfalls(requests, requests.to_tasks(x), tolerance)
    bottlenecks = tuple(compress(requests.resources, shortfalls.saturated))
    complaint = shortfalls.complaint
    usage = x @ requests.fractions
    overuse = _overuse(requests, x, usage)
    conditions = None
    gap = None
    holds = overuse <= tolerance and complaint <= tolerance
    if prices is not None:
        # who is entitled to nothing pays nothing, and takes what has no price
        entitled = requests.asking & (requests.entitlements > 0)
        e = requests.entitlements[entitled]
        spent = (x * (requests.fractions @ prices))[entitled]
        overspent = np.maximum(spent - e, 0.0) / e
        underspent = np.maximum(e - spent, 0.0) / e
        unspent = np.where(
            requests.limited[entitled], underspent * np.maximum(1 - x[entitled], 0.0), underspent
        )  # a limit explains the rest
        idle = float(prices @ abs(1 - usage))
        errors = [
            overuse,
            overspent.max(initial=0.0),
            unspent.max(initial=0.0),
            idle,
            -prices.min(),
        ]
        conditions = float(np.max(errors))  # of what is no number, no number
        holds = holds and conditions <= tolerance
        gap = _gap(requests, x, prices, entitled)
    index = requests.resources.labels.rename("resource")
    price_series = None if prices is None else pd.Series(prices, index=index, name="price")
    return FairCertificate(
        holds,
        f"bottlenecks {', '.join(map(str, bottlenecks)) or 'none'}; overuse {overuse:.1e}, "
        "complaint "
        f"{complaint:.1e}, optimality {figure(conditions)}, gap {figure(gap)}",
        np.nan if gap is None else gap,
        bottlenecks=bottlenecks,
        prices=price_series,
        overuse=overuse,
        complaint=complaint,
        conditions=conditions,
        tolerance=tolerance,
    )


def _gap(requests: Requests, x: np.ndarray, prices: np.ndarray, entitled: np.ndarray) -> float:
    """Return dual minus primal value: D(λ) = Σ λ + Σ_n max over x ≤ 1 of e·log x − p·x."""
    e = requests.entitlements[entitled]
    p = requests.fractions[entitled] @ prices
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # who pays nothing takes without end: no gap is finite
        best = np.where(p > 0, relative(e, p), np.inf)
        best = np.where(requests.limited[entitled], np.minimum(best, 1.0), best)
        # term by term: the values themselves may be large beside their difference
        terms = e * np.log(best / x[entitled]) - p * best
    value = float(prices.sum() + terms.sum())
    return abs(value) if np.isfinite(value) else np.inf
