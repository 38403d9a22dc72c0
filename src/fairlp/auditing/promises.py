"""Mechanism × property: what the literature promises, what audits found, and the instance that breaks the rest."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from ..api import allocate
from ..errors import FairlpError, UnknownNameError
from ..mechanisms.table import TABLE
from ..mechanisms.table import find as find_mechanism
from ..models.instances.instance import Instance
from . import audit
from .properties import DYNAMIC, known, table
from .search import Search, random_instance

#: the properties of the table, in its order
COLUMNS = (
    "sharing incentive",
    "envy-free",
    "strategy-proof",
    "Pareto-optimal",
    "bottleneck",
    "single-resource",
    "population-monotonic",
    *DYNAMIC,
)


def properties() -> pd.DataFrame:
    """Return every property that an audit asks: what it asks for, its source, and whether the mechanism is run again.

    >>> "envy-free" in properties().index
    True
    """
    return table()


def promises(audits: int = 0, *, seed: int = 0, mechanisms: list[str] | None = None) -> pd.DataFrame:
    """Return which mechanism promises which property, and what shows it.

    Parameters
    ----------
    audits : int
        Random instances to audit for each promise, now; 0 reads the table only.
    seed : int
    mechanisms : list of str, optional
        By default all that have promises or counterexamples.

    Returns
    -------
    DataFrame
        Indexed by mechanism and property: ``promised``, ``source``, ``audited`` and ``broken`` (instances), and
        ``counterexample`` (the name of one that ships; :func:`counterexample` loads it).
    """
    names = list(TABLE) if mechanisms is None else [find_mechanism(name).name for name in mechanisms]
    shipped = _shipped()
    rows = {}
    for name in names:
        row = TABLE[name]
        for wanted in COLUMNS:
            if (wanted in DYNAMIC) != row.arrivals:
                continue
            promised = wanted in row.promises
            shown = f"{name} breaks {wanted}" if (name, wanted) in shipped else ""
            if not promised and not shown:
                continue
            counts = count_broken(name, wanted, audits, seed) if promised and audits else (0, 0)
            rows[name, wanted] = (promised, row.source, *counts, shown)
    index = pd.MultiIndex.from_tuples(rows, names=["mechanism", "property"])
    columns = ["promised", "source", "audited", "broken", "counterexample"]
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def counterexample(mechanism: str, property: str, *, search: bool = False, **how: Any) -> Instance | None:
    """Return the smallest instance that we know on which the mechanism breaks the property, or search for one.

    Parameters
    ----------
    mechanism, property : str
        Names from :func:`fairlp.mechanisms` and :func:`fairlp.properties`.
    search : bool
        Look at random small instances instead of those that ship, and simplify what is found. None when nothing was
        found, which proves nothing.
    **how
        Of the search: ``seed`` (the same finds the same instance), ``tries`` (instances to look at, 1000), ``users``,
        ``servers``, ``resources`` (largest sizes: 4, 3, 3), ``lies`` (tried on each, for strategy-proofness, 60),
        ``shrink`` (True) and ``options`` (of the mechanism).

    Raises
    ------
    UnknownNameError
        When no such instance ships.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.counterexample("naive-drf", "Pareto-optimal", search=True)
    >>> len(instance.users), len(instance.servers), len(instance.resources)
    (2, 2, 2)
    """
    if search:
        return Search.of(how).violation(mechanism, property)
    key = (find_mechanism(mechanism).name, known(property))
    shipped = _shipped()
    if key not in shipped:
        raise UnknownNameError(
            f"no instance is known on which {mechanism!r} breaks {property!r}; "
            f"fairlp.counterexample({mechanism!r}, {property!r}, search=True) searches for one"
        )
    if how:
        raise UnknownNameError(f"option {next(iter(how))!r} is one of the search; give search=True")
    given = dict(shipped[key])
    name = f"{key[0]} breaks {key[1]}"
    limits = given.pop("task_limits", None)
    if limits is not None:
        given["task_limits"] = [np.inf if value is None else value for value in limits]
    users = [chr(ord("A") + n) for n in range(len(given["demands"]))]
    return Instance.from_arrays(**given, users=users, name=name)


@cache
def _shipped() -> dict[tuple[str, str], dict[str, Any]]:
    import json

    text = files(__package__).joinpath("counterexamples.json").read_text(encoding="utf-8")
    return {(entry.pop("mechanism"), entry.pop("property")): entry for entry in json.loads(text)}


def as_entry(mechanism: str, property: str, instance: Instance) -> dict[str, Any]:
    """Return a counterexample as it is kept in counterexamples.json."""
    entry: dict[str, Any] = {
        "mechanism": mechanism,
        "property": property,
        "demands": instance.demands.tolist(),
        "capacities": instance.capacities.tolist(),
    }
    if (instance.weights != 1).any():
        entry["weights"] = instance.weights.tolist()
    if instance.has_constraints:
        entry["eligible"] = instance.eligible.tolist()
    if np.isfinite(instance.task_limits).any():
        entry["task_limits"] = [value if np.isfinite(value) else None for value in instance.task_limits.tolist()]
    return entry


def count_broken(mechanism: str, wanted: str, audits: int, seed: int) -> tuple[int, int]:
    """Return how many random instances were audited, and on how many the property was broken."""
    rng = np.random.default_rng(seed)
    row = find_mechanism(mechanism)
    audited = broken = 0
    while audited < audits:
        instance = random_instance(rng, row, wanted, 4, 3, 3)
        if row.undefined(instance):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = audit(instance, allocate(instance, mechanism), [wanted], tries=30)
        except FairlpError:
            continue
        audited += 1
        broken += found["holds"].iloc[0] is False
    return audited, broken
