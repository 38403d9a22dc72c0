"""``audit``: which properties an allocation has, each violation with its size and a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from ..errors import InstanceError, SolverError
from ..mechanisms.allocation import Allocation, tasks_of
from ..mechanisms.arrivals.result import DynamicAllocation
from ..mechanisms.mechanism import Division, division_named
from ..mechanisms.table import TABLE
from ..models.instances.instance import Instance, require_instance
from .findings import NO_DEADLINE, AuditCase, AuditTable, Deadline, Finding
from .properties import DYNAMIC, PROPERTIES, find, known

#: Audits that run the mechanism again once a user or a lie are left out for more users than this,
#: unless asked for.
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
    time_limit: float | None = None,
) -> pd.DataFrame:
    """Audit an allocation of fairlp, a table of tasks, or what a scheduler did.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DynamicAllocation, DataFrame, array or path
        Tasks: users × servers, a long table (``user``, ``server``, ``tasks``), or the path of a CSV
        of either form. For users who arrive the last step is audited, and the properties of every step
        besides.
    properties : sequence of str, optional
        Names from :func:`fairlp.properties`; by default all (those that run the mechanism again
        only with up to ``MOST_RERUN_USERS`` users).
    division : {"rdm", "tdm"}, optional
        What servers divide; by default what the mechanism does, else their resources.
    whole_tasks : bool, optional
        Whether parts of tasks are worth nothing; by default as the mechanism has it, and of what
        runs in an instance with job sizes. Then jobs are whole, too.
    tries, seed : int
        Of the search for a lie that pays.
    options : mapping, optional
        Options that the mechanism is run again with.
    time_limit : float, optional
        Seconds after which the mechanism is not run again: searches say how many lies they tried.
        What takes no other run of it is audited whole.

    Returns
    -------
    DataFrame
        Indexed by property: ``holds`` (None where it is not defined, where there was nothing to
        check (the witness says so) or where a search found nothing), ``margin`` (relative; negative when
        broken, NaN when nothing was checked), ``witness`` (in words), ``better`` (an Allocation
        that shows it) and ``misreport`` (the lie, as an Instance).

    Raises
    ------
    UnknownNameError
        For a property or division that does not exist.
    InstanceError
        When labels or shape of the allocation do not fit, or ``tries`` or ``time_limit`` is
        negative.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.examples.load("wang-figure-1")
    >>> findings = fairlp.audit(instance, fairlp.allocate(instance, "naive-drf"), ["feasible", "Pareto-optimal"])
    >>> findings.holds.to_dict()
    {'feasible': True, 'Pareto-optimal': False}
    >>> findings.witness["Pareto-optimal"]
    "'user1' could run 4 more tasks (1 other user more, too), and no user would run fewer"
    """
    deadline = NO_DEADLINE if time_limit is None else Deadline(time_limit)
    if time_limit is not None and not time_limit >= 0:
        raise InstanceError(f"time_limit={time_limit}; expected seconds, at least 0")
    case = case_of(instance, allocation, division, whole_tasks, tries, seed, options, deadline)
    findings = findings_of(case, allocation, properties)
    frame = AuditTable(
        [vars(finding) for finding in findings.values()],
        columns=[field.name for field in fields(Finding)],
        index=pd.Index(list(findings), name="property"),
    )
    return frame.astype({"holds": object})


def case_of(
    instance: Instance,
    allocation: Allocation | DynamicAllocation | pd.DataFrame | Any,
    division: Division | None = None,
    whole_tasks: bool | None = None,
    tries: int = 200,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> AuditCase:
    """Return what is audited, with the choices that the mechanism of the allocation makes."""
    require_instance(instance)
    if tries < 0:
        raise InstanceError(f"tries={tries}; expected how many lies to try at most, at least 0")
    mechanism = None
    if isinstance(allocation, Allocation) and not isinstance(
        allocation, DynamicAllocation
    ):  # whose order of arrival is part of its mechanism
        mechanism = TABLE.get(allocation.mechanism)
        if mechanism is not None:
            mechanism = mechanism.under(allocation.parameters)
    if options is None:
        options = allocation.parameters if isinstance(allocation, Allocation) else {}
    if whole_tasks is None:
        # what a scheduler did in jobs, it did in whole tasks
        whole_tasks = instance.has_jobs if mechanism is None else mechanism.whole_tasks
    return AuditCase(
        instance,
        tasks_of(instance, allocation),
        mechanism.name if mechanism else "",
        division_named(division or (mechanism.division if mechanism else "rdm")),
        whole_tasks,
        dict(options),
        tries,
        seed,
        deadline,
    )


def findings_of(
    case: AuditCase, allocation: Any, properties: Sequence[str] | str | None = None
) -> dict[str, Finding]:
    """Return the finding of each property; see :func:`audit`."""
    requested = [properties] if isinstance(properties, str) else properties
    names = None if requested is None else [known(name) for name in requested]
    is_small = len(case.instance.users) <= MOST_RERUN_USERS

    # Properties of every step, for users who arrive
    findings = {}
    if isinstance(allocation, DynamicAllocation):
        for name, step_row in DYNAMIC.items():
            by_default = is_small or not step_row.reruns
            if by_default if names is None else name in names:
                findings[name] = step_row.audit(allocation, case.tries, case.seed, case.deadline)

    # Properties of the allocation
    for name in PROPERTIES if names is None else names:
        if name in findings:
            continue
        row = find(name)
        needs_tree = row.tree and not case.instance.has_queues
        if names is None and ((row.reruns and not is_small) or needs_tree):
            continue
        try:
            findings[name] = row.audit(case)
        except SolverError as error:
            findings[name] = Finding.undefined(f"it could not be judged: {error}")

    return findings if names is None else {name: findings[name] for name in names}
