"""What is known of queues, as an instance takes it: all that are used are listed, and odd limits are noted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..models.instances.queues import ROOT, SLASH, parent_of
from .cluster import Cluster


def queues_of(
    cluster: Cluster, used: Iterable[str], resources: list[str], pool: np.ndarray, below: Mapping[str, dict[str, float]]
) -> dict[str, dict[str, Any]]:
    """Return weight, guarantee and cap of each queue by path, with those that nobody says anything of.

    Parameters
    ----------
    cluster : Cluster
        Its ``queues``; a resource that is none of the instance's is noted and left out.
    used : iterable of str
        The queue of each user.
    resources : list of str
    pool : ndarray, shape (R,)
        What there is of each.
    below : mapping
        By queue and resource, what of its guarantee and cap is in use already.
    """
    known = set(resources)
    found: dict[str, dict[str, Any]] = {}
    for path in [*cluster.queues, *used]:
        names = path.split(SLASH) if path else []
        for depth in range(len(names) + 1):
            found.setdefault(SLASH.join(names[:depth]), {})
    for path, given in cluster.queues.items():
        row: dict[str, Any] = {"weight": given.get("weight", 1.0)}
        for what in ("guarantee", "cap"):
            amounts = {r: amount for r, amount in given.get(what, {}).items() if math.isfinite(amount)}
            for resource in sorted(set(amounts) - known):
                place = f"queue {path!r}"
                cluster.notes.add("", place, f"{what} of {resource!r}, which is no resource here", "left out")
            taken = below.get(path, {})
            row[what] = {r: max(amount - taken.get(r, 0.0), 0.0) for r, amount in amounts.items() if r in known}
        for resource, amount in row["guarantee"].items():
            cap = row["cap"].get(resource, math.inf)
            if amount > cap:
                what = f"guarantee of {resource!r}, {amount:g}, above its cap, {cap:g}"
                cluster.notes.add("", f"queue {path!r}", what, "lowered to the cap")
                row["guarantee"][resource] = cap
        found[path] = row
    _note_too_much(cluster, found, dict(zip(resources, pool.tolist(), strict=True)))
    return found


def _note_too_much(cluster: Cluster, rows: dict[str, dict[str, Any]], pool: dict[str, float]) -> None:
    """Note guarantees of children that add up to more than their parent's, or than there is."""
    children: dict[str, list[str]] = {}
    for path in rows:
        if path != ROOT:
            children.setdefault(parent_of(path), []).append(path)
    for parent, paths in children.items():
        for resource, there in pool.items():
            asked = sum(rows[path].get("guarantee", {}).get(resource, 0.0) for path in paths)
            most = rows[parent].get("cap", {}).get(resource, there)
            if asked > most and not math.isclose(asked, most):
                what = f"guarantees of {resource!r} below it add up to {asked:g}, and there are {most:g}"
                cluster.notes.add("", f"queue {parent!r}" if parent else "the root", what, "kept as they are")
