"""What searches for lies that pay have in common: which lies are tried, and how one is told of."""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance
from .findings import Finding, amount

#: Times the true demand for one resource: lies that have paid somewhere.
FACTORS = (2.0, 0.5, 1.1, 0.9, 4.0, 0.25, 10.0)


def nearby(demand: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a demand near another, most of its entries changed: a step of the local search."""
    return np.asarray(demand * np.exp(rng.normal(0, 0.3, len(demand)) * (rng.random(len(demand)) < 0.7)))


def own_use(true: np.ndarray, claimed: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what one claimed task is given."""
    some = true > 0
    return float((claimed[some] / true[some]).min())


def in_words(instance: Instance, demand: np.ndarray) -> str:
    """Return a claimed demand in words."""
    told = ", ".join(f"{r} {amount(v)}" for r, v in zip(instance.resources, demand, strict=True))
    return f"by claiming to need {told}"


def none_found(tries: int) -> Finding:
    """Return the finding of a search that came to nothing."""
    return Finding(None, 0.0, f"no lie that pays was found in {tries} tries, which proves nothing")
