"""Properties at each step of an allocation over arrivals, with their margins and witnesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...tolerances import AGREEMENT

if TYPE_CHECKING:
    from .result import DynamicAllocation

#: name → the promise, at each step
PROPERTIES = {
    "feasible": "no resource is given out beyond what the step may give out",
    "irrevocable": "no user has less than at the step before",
    "SI": "sharing incentive: each user has at least its equal part, φ/Φ of its dominant resource",
    "DEF": "dynamic envy-freeness: a user who has more than another came before it, and got "
    "nothing since that user came",
    "EF": "envy-freeness: no user could do more with what another has (per weight)",
    "DPO": "dynamic Pareto optimality: some resource is given out as far as the step allows",
}
COLUMNS = ["step", "property", "holds", "margin", "witness"]
#: margin (relative; negative where the property fails, 0 where it is tight), and a witness in words
Margin = tuple[float, str]


def properties(result: DynamicAllocation) -> pd.DataFrame:
    """Return which properties hold at each step, by how much, and who shows it.

    Parameters
    ----------
    result : DynamicAllocation

    Returns
    -------
    DataFrame
        One row for each step and property of :data:`PROPERTIES`: ``step``, ``property``, ``holds``
        (within the tolerance ``AGREEMENT``), ``margin`` (relative; negative when it fails, 0 when
        it is tight) and ``witness``, the user or resource nearest to breaking it, in words.

    Notes
    -----
    With weights, shares are compared per unit of weight. Every pair of users is looked at: O(k²·R)
    at step k, and the dense table of shares.
    """
    weights = result.instance.user_weights[result.schedule.order]
    levels = result.steps.to_numpy() / weights
    users = list(result.instance.users.labels[result.schedule.order])
    resources = list(result.instance.resources)
    demands = result.needs / weights[:, None]

    rows: list[tuple[Any, ...]] = []
    for step in range(1, len(levels) + 1):
        present = levels[step - 1, :step]
        before = present[:0]
        if step > 1:
            before = levels[step - 2, : step - 1]
        available = float(result.schedule.available[step - 1])
        feasible, pareto_optimal = _capacity(present @ result.needs[:step], available, resources)
        margins = {
            "feasible": feasible,
            "irrevocable": irrevocable(present, before, users),
            "SI": _sharing_incentive(present, result.schedule.horizon, users),
            "DEF": _dynamic_envy(present, levels[:step, :step], users),
            "EF": envy(present, demands[:step], users),
            "DPO": pareto_optimal,
        }
        for name in PROPERTIES:
            margin, witness = margins[name]
            rows.append((step, name, margin >= -AGREEMENT, margin, witness))
    return pd.DataFrame(rows, columns=COLUMNS)


def _capacity(
    usage: np.ndarray, available: float, resources: list[object]
) -> tuple[Margin, Margin]:
    """Return the room that a step leaves of the fullest resource, and the overuse of it."""
    r = int(usage.argmax())
    filled = float(usage[r]) / available
    witness = (
        f"{filled:.6g} of what the step may give out of {resources[r]!r} is in use, more than of "
        "any other"
    )
    return (1 - filled, witness), (filled - 1, witness)


def irrevocable(present: np.ndarray, before: np.ndarray, users: list[Any]) -> Margin:
    """Return the smallest relative gain of a user who was present before."""
    if not before.size:
        return 0.0, "the first user has come"
    gain = present[: len(before)] / before - 1
    n = int(gain.argmin())
    return float(gain[n]), f"{users[n]!r} went from {before[n]:.6g} to {present[n]:.6g}"


def _sharing_incentive(present: np.ndarray, horizon: float, users: list[Any]) -> Margin:
    n = int(present.argmin())
    equal_parts = present[n] * horizon
    return float(equal_parts - 1), f"{users[n]!r} has {equal_parts:.6g} of its equal part"


def _dynamic_envy(present: np.ndarray, past: np.ndarray, users: list[Any]) -> Margin:
    """Return the margin of dynamic envy-freeness, and the pair of users that shows it.

    Where j has more than i, j must have come first and have gained nothing since i came.

    ``past[s, j]`` is the level of j after step s + 1, NaN before it arrived.
    """
    k = len(present)
    # [i, j]: what j had just before i came; a j who came after i had nothing, and should not have
    # more at all
    before_arrival = np.zeros((k, k))
    before_arrival[1:] = np.tril(np.nan_to_num(past[:-1]))
    excess = present[None, :] - np.maximum(present[:, None], before_arrival)
    relative_excess = excess / np.maximum(present[None, :], present[:, None])
    np.fill_diagonal(relative_excess, 0.0)

    i, j = np.unravel_index(int(relative_excess.argmax()), relative_excess.shape)
    margin = 0.0 - max(float(relative_excess[i, j]), 0.0)
    if margin == 0:
        return margin, "no user got more since a poorer user came"
    witness = (
        f"{users[int(i)]!r} has {present[i]:.6g}; {users[int(j)]!r} has {present[j]:.6g}, and got "
        "more since"
    )
    return margin, witness


def envy(present: np.ndarray, demands: np.ndarray, users: list[Any]) -> Margin:
    """Return the margin of envy-freeness, and the pair of users that shows it.

    With the resources of j, user i would have min over r of x[j]·d̂[j,r]/d̂[i,r], per weight.
    """
    level_with = np.full((len(present), len(present)), np.inf)
    for r in range(demands.shape[1]):
        demanded = demands[:, r] > 0
        demand = np.where(demanded, demands[:, r], 1.0)
        amounts = (present * demands[:, r])[None, :] / demand[:, None]
        level_with = np.minimum(level_with, np.where(demanded[:, None], amounts, np.inf))
    relative_envy = 1 - present[:, None] / np.maximum(level_with, present[:, None])

    i, j = np.unravel_index(int(relative_envy.argmax()), relative_envy.shape)
    margin = 0.0 - float(relative_envy[i, j])
    if margin == 0:
        return margin, "no user would rather have what another has"
    witness = (
        f"{users[int(i)]!r} has {present[i]:.6g} and would have {level_with[i, j]:.6g} with what "
        f"{users[int(j)]!r} has"
    )
    return margin, witness
