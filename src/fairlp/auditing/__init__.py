"""Which promises does an allocation keep, and who is hurt by how much: never just False, always a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import SolverError
from ..mechanisms.allocation import Allocation, tasks_of
from ..mechanisms.arrivals.result import DynamicAllocation
from ..mechanisms.table import TABLE
from ..models.instances.checks import require_instance
from ..models.instances.instance import Instance
from .findings import Case, Finding
from .properties import DYNAMIC, PROPERTIES, Property, find, known, table
from .tables import AuditTable

if TYPE_CHECKING:
    from ..mechanisms.mechanism import Division

#: Audits that run the mechanism again once a user or a lie are left out for more users than this, unless asked for.
MOST_RERUN_USERS = 30


def audit(
    instance: Instance,
    allocation: Allocation | DynamicAllocation | pd.DataFrame | Any,
    properties: Sequence[str] | str | None = None,
    *,
    division: Division | None = None,
    whole_tasks: bool | None = None,
    tries: int = 200,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Audit an allocation: ours, a table, or what a scheduler did.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DynamicAllocation, DataFrame of users × servers, or array of that shape
        Tasks. For users who arrive the last step is audited, and the properties of every step besides.
    properties : sequence of str, optional
        Names from :func:`fairlp.properties`; by default all (those that run the mechanism again only with up to
        ``MOST_RERUN_USERS`` users).
    division : {"rdm", "tdm"}, optional
        What servers divide; by default what the mechanism does, else their resources.
    whole_tasks : bool, optional
        Whether parts of tasks are worth nothing; by default as the mechanism has it.
    tries, seed : int
        Of the search for a lie that pays.
    options : mapping, optional
        Options that the mechanism is run again with.

    Returns
    -------
    DataFrame
        Indexed by property: ``holds`` (None where it is not defined, where there was nothing to check ("vacuous") or
        where a search found nothing), ``margin`` (relative; negative when broken, NaN when nothing was checked),
        ``witness`` (in words), ``better`` (an Allocation that shows it) and ``misreport`` (the lie, as an Instance).

    Raises
    ------
    UnknownNameError
        For a property that does not exist.
    InstanceError
        For an allocation whose labels or shape do not fit.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.examples.load("wang-figure-1")
    >>> found = fairlp.audit(instance, fairlp.allocate(instance, "naive-drf"), ["feasible", "Pareto-optimal"])
    >>> found.holds.to_dict()
    {'feasible': True, 'Pareto-optimal': False}
    >>> found.witness["Pareto-optimal"]
    "'user1' could run 4 more tasks (1 other user more, too), and nobody would run fewer"
    """
    require_instance(instance)
    asked = [properties] if isinstance(properties, str) else properties
    names = asked = None if asked is None else [known(name) for name in asked]
    rows: dict[str, Finding] = {}
    last: Any = allocation
    if isinstance(allocation, DynamicAllocation):
        last = allocation.last
        few = len(instance.users) <= MOST_RERUN_USERS
        steps = [name for name in DYNAMIC if name in names] if names is not None else list(DYNAMIC)
        rows |= _by_step(allocation, [n for n in steps if names or few or not DYNAMIC[n].reruns], tries, seed)
        names = None if names is None else [name for name in names if name not in DYNAMIC]
    mechanism = last.mechanism if isinstance(last, Allocation) and last.mechanism in TABLE else ""
    if isinstance(allocation, DynamicAllocation):
        mechanism = ""  # its order of arrival is part of it
    given = TABLE[mechanism].whole_tasks if mechanism else False
    case = Case(
        instance,
        tasks_of(instance, last),
        mechanism,
        division or (TABLE[mechanism].division if mechanism else "rdm"),
        given if whole_tasks is None else whole_tasks,
        dict(options if options is not None else last.parameters if isinstance(last, Allocation) else {}),
        tries,
        seed,
    )
    few = len(instance.users) <= MOST_RERUN_USERS
    chosen = [find(name) for name in names] if names is not None else list(PROPERTIES.values())
    for one in chosen:
        if names is None and ((one.reruns and not few) or (one.tree and instance.queues is None)):
            continue
        rows[one.name] = _judged(one, case)
    order = list(rows) if asked is None else [name for name in asked if name in rows]
    frame = AuditTable(
        [
            (rows[name].holds, rows[name].margin, rows[name].witness, rows[name].better, rows[name].misreport)
            for name in order
        ],
        columns=["holds", "margin", "witness", "better", "misreport"],
        index=pd.Index(order, name="property"),
    )
    frame["holds"] = frame["holds"].astype(object)
    return frame


def _judged(one: Property, case: Case) -> Finding:
    """Return the finding; where a program that it needs has no answer, what it says instead of one."""
    try:
        return one.audit(case)
    except SolverError as error:
        return Finding.undefined(f"it could not be judged: {error}")


def _by_step(allocation: DynamicAllocation, names: Sequence[str], tries: int, seed: int) -> dict[str, Finding]:
    """Return the finding of each property of every step."""
    return {name: DYNAMIC[name].audit(allocation, tries, seed) for name in names}


__all__ = ["PROPERTIES", "Finding", "audit", "table"]
