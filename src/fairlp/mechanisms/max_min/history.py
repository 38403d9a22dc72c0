"""The past counts: levels with an offset, and the state that goes from one period to the next.

User n carries h[n] ≥ 0, the integral of its level over time, in which the past fades by half in
each half-life H. A period of length Δ takes the leximin of λ·h[n] + Δ·x[n]/(φ[n]Γ[n]) with
λ = 2^(−Δ/H). Over Δ that is the leximin of b[n] + x[n]/(φ[n]Γ[n]), where b[n] = λ·h[n]/Δ.
Afterwards h[n] is that sum.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd

from ...errors import InstanceError, quoted
from ...formulations.normalisers import tasks_at_level_1
from ...formulations.region import runnable_users
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.trees.guarantees import floors
from ..mechanism import MethodCall

#: The options of a mechanism that counts the past: h, Δ (1 by default), and H (infinite).
PAST = ("state", "period", "half_life")


def past_levels(call: MethodCall) -> np.ndarray | None:
    """Return b[n] ≥ 0, the level from which each user rises, (N,); None where all are equal.

    Along a tree of queues the whole past counts. Elsewhere only differences do, and the smallest b
    is 0.
    """
    remaining, period = _remaining(call)
    if remaining is None:
        return None
    instance = call.instance
    can_run = runnable_users(instance)
    levels = remaining.reindex(instance.users.labels, fill_value=0.0).to_numpy() / period
    if not (call.mechanism.along_tree and instance.has_queues):
        levels = levels - levels.min(where=can_run, initial=np.inf)
    past = np.where(can_run, levels, 0.0)
    return past if past.any() else None


def next_state(call: MethodCall, totals: np.ndarray) -> pd.Series[float]:
    """Return h after the period; users who are away keep what remains of theirs."""
    instance = call.instance
    remaining, period = _remaining(call)
    gamma = call.mechanism.gamma(instance)
    state = period * levels_of(instance, gamma, totals, call.parameters.get("count"))
    if remaining is None:
        return state
    users = state.index.append(remaining.index.difference(state.index, sort=False))
    past = remaining.reindex(users, fill_value=0.0)
    return past.add(state.reindex(users, fill_value=0.0)).rename_axis("user").rename("history")


def levels_of(
    instance: Instance, gamma: np.ndarray, totals: np.ndarray, count: str | None = None
) -> pd.Series[float]:
    """Return x[n]/(φ[n]Γ[n]) by user, which is h after a first period of length 1."""
    if count == "borrowed":
        totals = np.maximum(totals - floors(instance), 0.0)
    levels = quotients(totals, tasks_at_level_1(instance, gamma))
    return pd.Series(levels, instance.users.labels.rename("user"), name="history")


def _remaining(call: MethodCall) -> tuple[pd.Series[float] | None, float]:
    """Return λ·h by user (None without a past), and Δ."""
    period = _seconds(call, "period", 1.0)
    half_life = _seconds(call, "half_life", np.inf)
    if not 0 < period < np.inf:
        raise InstanceError(f"period is {period:g}; expected the length of a period, above 0")
    state = call.state
    if state is None:
        return None, period
    if (state < 0).any():
        user = state.index[state < 0][0]
        raise InstanceError(
            f"the state gives user {quoted(user)} a past of {state[user]:g}; expected levels times "
            "seconds, at least 0"
        )
    remainder = 2.0 ** (-period / half_life) if half_life > 0 else 0.0
    return remainder * state.astype(float), period


def _seconds(call: MethodCall, option: str, default: float) -> float:
    value = call.parameters.get(option)
    if value is None:
        return default
    if not isinstance(value, Real) or isinstance(value, bool) or not float(value) >= 0:
        raise InstanceError(f"{option} is {quoted(value)}; expected a time, a number of at least 0")
    return float(value)
