"""One owner's answer to "why is my job pending?"."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairlp.errors import UnknownNameError, nearest, quoted

from .verdict import Verdict
from .words import holders_text, jobs_text, percent

#: Lines of an answer.
_MOST_LINES = 10


def answer(verdict: Verdict, name: str) -> list[str]:
    """Return what the dump says of an owner's jobs, in ten lines at most.

    The owner is a tenant, or who owns tasks in one: the last part of its name is enough.
    """
    facts = verdict.dues.facts
    users = [str(user) for user in facts.instance.users]
    owners = {user: n for n, user in enumerate(users) if _is_of(user, name)}
    tenants = {str(tenant): t for t, tenant in enumerate(facts.tenants.names)}
    selected = dict.fromkeys(
        [t for tenant, t in tenants.items() if _is_of(tenant, name)]
        + [int(facts.tenants.of[n]) for n in owners.values()]
    )
    others = _others(facts.held, "reason", name) + _others(facts.homeless, "why", name)
    if not selected and not others:
        raise UnknownNameError(
            f"no tenant and no owner is called {quoted(name)}; {nearest(name, [*tenants, *users])}"
        )
    lines = [] if selected else [f"{name}: nothing runs, and nothing waits that could run."]
    for t in selected:
        lines += _of_tenant(verdict, facts.tenants.names[t])
    return [*lines, *others][:_MOST_LINES]


def _is_of(label: str, name: str) -> bool:
    """Whether a label is a name, or ends with it behind a slash; sizes are numbered behind a #.

    >>> _is_of("lab/ann #2", "ann"), _is_of("lab/ann", "lab/ann"), _is_of("lab/anna", "ann")
    (True, True, False)
    """
    owner = label.partition(" #")[0]
    return name in (label, owner) or owner.endswith(f"/{name}")


def _others(table: pd.DataFrame, column: str, name: str) -> list[str]:
    """Return the tasks of an owner that may not run, with the reason."""
    return [
        f"{tasks} more tasks of {user} may not run: {reason}"
        for user, tasks, reason in table[["user", "tasks", column]].itertuples(index=False)
        if _is_of(str(user), name)
    ]


def _of_tenant(verdict: Verdict, tenant: Any) -> list[str]:
    """Return the row of a tenant, a line for each thing that it tells."""
    row = verdict.table.loc[tenant]
    dues = verdict.dues
    start = f"{tenant}: it has {percent(row.has)} of the cluster, and {percent(row.due)} is due"
    if not row.waiting_jobs:
        return [f"{start}.", "Nothing of it waits."]
    texts = {
        f"{start} ({dues.fair.mechanism}). Waiting": jobs_text(row.waiting_jobs, row.waiting_tasks),
        "The first since": row.since,
        "Short of its due by": row.short_of,
        "Not short": "" if row.short_jobs else row.condition,
        "The scheduler says": row.message,
        "Room now, by what is free": f"{row.room_jobs} on {row.room_on}" if row.room_jobs else "",
        "Stopped by": row.stopped_by,
        "Not counted": row.not_counted,
        "Held beyond dues by": holders_text(dues, row.resource, row.holders),
    }
    return [f"{name}: {text}." for name, text in texts.items() if text]
