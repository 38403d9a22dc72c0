"""What searches for lies that pay have in common: which lies are tried, and how one is told of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.instances.alone import quotients, tasks_alone
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .findings import Case, Finding, amount

#: Times the true demand for one resource: lies that have paid somewhere.
FACTORS = (2.0, 0.5, 1.1, 0.9, 4.0, 0.25, 10.0)
#: Times the largest demand, of a resource that is not needed.
PADS = (0.5, 1.0, 2.0)


def changed(values: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """Return the values with another one at a place."""
    made = values.copy()
    made[place] = value
    return made


def nearby(demand: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a demand near another, most of its entries changed: a step of the local search.

    What is not needed may be claimed, too.
    """
    found = demand * np.exp(rng.normal(0, 0.3, len(demand)) * (rng.random(len(demand)) < 0.7))
    nothing = np.flatnonzero(demand == 0)
    claimed = nothing[rng.random(len(nothing)) < 0.3]
    found[claimed] = demand.max() * rng.choice(PADS, len(claimed))
    return np.asarray(found)


def own_use(true: np.ndarray, claimed: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what one claimed task is given."""
    some = true > 0
    return float((claimed[some] / true[some]).min())


def own_tasks(case: Case, user: int, claimed: np.ndarray, given: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what ``given`` claimed tasks (by server, shape (K,)) are given.

    A claimed task takes the claimed amounts; where rates are given, so many times these that the user, alone on the
    server, runs its rate: a rate is what a user can do, whatever it claims, so that twice the demand is the same claim.
    Under time division it is then given time, in which it runs its own tasks.
    """
    instance, true = case.instance, case.instance.demands[user]
    use = np.full(len(given), own_use(true, claimed))
    if instance.rates is not None:
        alone = tasks_alone(np.stack([true, claimed]), instance.capacities)
        use = np.ones(len(given)) if case.division == "tdm" else use * quotients(alone[1], alone[0])
    if case.added_up:  # what one claimed task is given holds as many on any of the servers of a row
        use = np.floor(use * (1 + AUDIT))
    own = np.where(instance.gamma()[user] > 0, given * use, 0.0)
    if case.whole:
        own = np.floor(own * (1 + AUDIT))
    return min(float(own.sum()), float(instance.task_limits[user]))


def may_claim(instance: Instance, user: int, claimed: np.ndarray) -> bool:
    """Whether a demand can be claimed: where rates say that a user runs tasks, there is what it claims to need."""
    if instance.rates is None:
        return True
    return bool((tasks_alone(claimed[None], instance.capacities)[0] > 0)[instance.rates[user] > 0].all())


def in_words(instance: Instance, demand: np.ndarray) -> str:
    """Return a claimed demand in words."""
    told = ", ".join(f"{r} {amount(v)}" for r, v in zip(instance.resources, demand, strict=True))
    return f"by claiming to need {told}"


def none_found(tries: int, instance: Instance) -> Finding:
    """Return the finding of a search that came to nothing."""
    rates = "" if instance.rates is None else "; lies about the given rates are not tried: they count as known"
    return Finding(None, 0.0, f"no lie that pays was found in {tries} tries, which proves nothing{rates}")
