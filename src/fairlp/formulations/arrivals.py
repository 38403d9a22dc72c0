"""Dynamic fair division: the linear program of one step.

Users arrive one by one and never leave.

Each function takes the users who are present, in order of arrival (the newest last), and what they
have so far. The optimal M is unique, the optimal x is not: the mechanisms' shares are max(φ[n]·M,
what n has) (Lemma 1 of Li et al.).
"""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression
from ..models.notation.model import Model
from ..models.notation.variables import Variable
from . import normalisers


def dynamic_drf(present: Instance, before: np.ndarray, available: float) -> Model:
    """Dynamic DRF: the linear program of one step.

    The mechanism is that of Kash, Procaccia and Shah (JAIR 2014), written as LP (1) of Li et al.
    (2019).

    Maximise the smallest weighted dominant share; no user loses, and only a fraction of every
    resource is given out.

    Parameters
    ----------
    present : Instance
        The k users who are present, the newest last.
    before : ndarray, shape (k,)
        Dominant share of each after the step before (the newest's entry is not used).
    available : float
        Fraction of every resource that the step may give out: k/n with n users of weight 1.
    """
    model, used, _ = _step("dynamic DRF", "Li et al., 2019, LP (1)", present, before)
    a = model.parameter(
        "a", (), available, "fraction of every resource that this step may give out, k/n"
    )
    model.constraint("capacity", used <= a)
    return model


def cautious_lp(present: Instance, before: np.ndarray, available: float, expected: float) -> Model:
    """Cautious LP: the linear program of one step.

    Li et al. (2019, §5) name it, after Kash, Procaccia and Shah (JAIR 2014).

    This is our reading; the original text was not at hand. No user may get so much that users still
    to come, who may need every resource as much as their dominant one, could not be brought to the
    same share.

    Parameters
    ----------
    present : Instance
        The k users who are present, the newest last.
    before : ndarray, shape (k,)
        Dominant share of each after the step before (the newest's entry is not used).
    available : float
        Fraction of every resource that there is to give out in all: 1.
    expected : float
        Sum of the weights of the users still to come, n − k with weights of 1.
    """
    model, used, level = _step(
        "cautious LP", "our reading of Kash, Procaccia and Shah, JAIR 2014", present, before
    )
    a = model.parameter("a", (), available, "all of a resource, 1")
    e = model.parameter("e", (), expected, "users still to come (the sum of their weights), n − k")
    model.constraint("capacity", used + e * level <= a)
    return model


def _step(
    name: str, source: str, present: Instance, before: np.ndarray
) -> tuple[Model, Expression, Variable]:
    """Return what both programs share, the use of each resource, and the level M."""
    n = present.users
    r = present.resources
    model = Model(f"{name}, step {len(n)}", source, (n, r))
    d = model.parameter(
        "d_hat",
        (n, r),
        normalisers.normalised_demands(present),
        "what n takes of r, relative to its dominant",
    )
    phi = model.parameter("phi", n, present.user_weights, "weight of n")
    gamma = model.parameter("Gamma", n, normalisers.dominant(present), "tasks n could run alone")
    x = model.variable("x", n, doc="dominant share of n")
    level = model.variable("M", doc="smallest weighted dominant share")
    model.constraint("fairness", x >= phi * level)
    old = np.arange(len(n)) < len(n) - 1
    if old.any():
        share_before = model.parameter(
            "x_before", n, np.where(old, before, 0.0), "dominant share of n after the step before"
        )
        model.constraint("irrevocable", x >= share_before, where=old)
    model.define("tasks", gamma * x)
    model.maximize(level)
    return model, (d * x).sum(n), level
