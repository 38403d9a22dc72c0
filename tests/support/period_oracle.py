"""What was due over a period, in fractions, from the definition; shares no code with fairlp.

The cluster is one node with one resource, so that the fair shares of tenants of equal weight are
the levels of water in one pool: each has what it wants, or the common level if that is less.
"""

from __future__ import annotations

import math
from fractions import Fraction


def levels(wanted):
    """Fair shares of tenants who want so much of 1, by filling."""
    shares = {}
    rest = Fraction(1)
    for place, tenant in enumerate(sorted(wanted, key=wanted.__getitem__)):
        shares[tenant] = min(wanted[tenant], rest / (len(wanted) - place))
        rest -= shares[tenant]
    return shares


def integrals(dumps, hours, sizes):
    """Figures of each tenant: dumps are (running, waiting, cores), hours the lengths between them."""
    tenants = {tenant for running, waiting, _ in dumps for tenant in {**running, **waiting}}
    rows = {}
    for tenant in tenants:
        row = dict.fromkeys(("used", "due", "short", "hours_waiting", "hours_short"), Fraction(0))
        row |= {"longest_wait": Fraction(0), "task_hours": Fraction(0)}
        stretch = Fraction(0)
        task_shares = [
            Fraction(sizes[tenant], cores) for _, waiting, cores in dumps if waiting.get(tenant)
        ]
        for (running, waiting, cores), length in zip(dumps, hours, strict=False):
            here = {t for t in tenants if running.get(t, 0) + waiting.get(t, 0)}
            if tenant not in here:
                stretch = Fraction(0)
                continue
            part = {t: Fraction(sizes[t], cores) for t in here}
            has = {t: running.get(t, 0) * part[t] for t in here}
            fair = levels({t: has[t] + waiting.get(t, 0) * part[t] for t in here})
            due = fair[tenant] if len(here) > 1 else has[tenant]
            waits = waiting.get(tenant, 0) > 0
            row["used"] += length * has[tenant]
            row["due"] += length * due
            row["task_hours"] += length * running.get(tenant, 0)
            missing = max(Fraction(0), due - has[tenant])
            is_short = waits and math.floor(missing / part[tenant]) >= 1
            if waits:
                row["short"] += length * missing
                row["hours_waiting"] += length
            stretch = stretch + length if is_short else Fraction(0)
            row["hours_short"] += length * is_short
            row["longest_wait"] = max(row["longest_wait"], stretch)
        row["lacking"] = max(row["due"] - row["used"], Fraction(0))
        is_more = task_shares and row["lacking"] > min(task_shares)
        is_more = is_more and row["lacking"] > row["due"] / 100
        row["verdict"] = "short" if is_more else "fair"
        rows[tenant] = row
    return rows
