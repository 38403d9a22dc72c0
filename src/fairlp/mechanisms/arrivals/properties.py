"""What a dynamic allocation keeps, step by step, and how far it is from DRF that knows everyone.

Everything here is computed from the shares and the demands, whatever mechanism and method made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...models.programs.certificate import Verdict
from ...tolerances import AGREEMENT

if TYPE_CHECKING:
    from .result import DynamicAllocation

#: name → what it asks for at each step
PROPERTIES = {
    "feasible": "no resource is given out beyond what the step may give out",
    "irrevocable": "nobody has less than at the step before",
    "SI": "sharing incentives: everyone has at least its equal part, φ/Φ of its dominant resource (1/n)",
    "DEF": "dynamic envy-freeness: who has more than a user came before it, and got nothing since that user came",
    "EF": "envy-freeness: nobody could do more with what another has (per weight)",
    "DPO": "dynamic Pareto optimality: some resource is given out as far as the step allows",
}


def certify(result: DynamicAllocation) -> Verdict:
    """Return whether the level of every step is the largest that its program allows; O(N·R·log N).

    Shares are max(φ[n]·M, what n had) (Lemma 1 of Li et al., 2019), so that raising M raises what the users at the
    newest level take: M is optimal if and only if nothing is given out beyond what the step may give out, and some
    resource that these users take (and, in the cautious LP, users still to come) lets them take no more.
    """
    parts = result.schedule.parts
    whole = np.cumsum(np.vstack([np.zeros(result.needs.shape[1]), result.needs]), axis=0)
    growth = whole[1:] - whole[result.first_array]
    room, level = np.broadcast_to(result.schedule.available[:, None], growth.shape), result.level_array[:, None]
    if result.cautious:
        coming = (result.schedule.horizon - parts)[:, None]
        growth, room = growth + coming, 1.0 - coming * level
    slack = room - result.given_out[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where(growth > 0, slack / growth, np.inf).min(axis=1) / result.level_array
    worst = int(abs(more).argmax())
    if not result.residual <= AGREEMENT:
        return Verdict(False, f"infeasible: a step gives out too much, or somebody loses, by {result.residual:.3g}")
    if not abs(more[worst]) <= AGREEMENT:
        way = "could be raised" if more[worst] > 0 else "is too high"
        return Verdict(False, f"not optimal: the level of step {worst + 1} {way} by {abs(more[worst]):.3g} of itself")
    return Verdict(True, f"optimal at every step, proved; levels are right to {abs(more[worst]):.1e}")


def competitive(result: DynamicAllocation) -> pd.DataFrame:
    """Return the mechanism beside static DRF at each step, and the competitive ratios; O(N·R·log N).

    Static DRF knows the demands of those present and shares what the step may give out: everyone has the level
    min_r (k/n) / Σ_{i≤k} d̂[i,r] (Li et al., 2019, §4). With zero demands that is the level of those who stop first.

    Returns
    -------
    DataFrame
        By step: ``drf`` (static level), ``smallest`` (the mechanism's), ``cr2`` (smallest / drf), ``sum`` and
        ``drf_sum`` (sums of dominant shares), ``cr1`` (sum / drf_sum, which can exceed 1) and ``bound``: what ``cr2``
        never goes below, with m resources 1/m (dynamic DRF: Theorem 2), or what :func:`cautious_bound` says.
    """
    available, parts = result.schedule.available, result.schedule.parts
    drf = available / np.cumsum(result.needs, axis=0).max(axis=1)
    total = result.given_out[:, -1]
    return pd.DataFrame(
        {
            "drf": drf,
            "smallest": result.level_array,
            "cr2": result.level_array / drf,
            "sum": total,
            "drf_sum": drf * parts,
            "cr1": total / (drf * parts),
            "bound": np.full(len(drf), cautious_bound(result) if result.cautious else 1 / result.needs.shape[1]),
        },
        index=result.levels.index,
    )


def cautious_bound(result: DynamicAllocation) -> float:
    """Return what the cautious LP keeps of static DRF at every step: n / max over k ≤ m of k(n − k + 1).

    It is tight. With n users who will come and m resources; with unequal weights 1/m. The proof is in docs/results.md.
    """
    weights, resources = result.instance.user_weights, int(result.needs.shape[1])
    if (weights != weights[0]).any():
        return 1 / resources
    users = result.schedule.horizon / float(weights[0])
    worst: float = max(k * (users - k + 1) for k in range(1, resources + 1))
    return users / worst


def properties(result: DynamicAllocation, steps: Sequence[int] | None = None) -> pd.DataFrame:
    """Return which properties hold at each step, by how much, and who shows it.

    Parameters
    ----------
    result : DynamicAllocation
    steps : sequence of int, optional
        By default all.

    Returns
    -------
    DataFrame
        One row for each step and property of :data:`PROPERTIES`: ``step``, ``property``, ``holds`` (within the
        tolerance ``AGREEMENT``), ``margin`` (relative; negative when it fails, 0 when it is tight) and ``witness``, the
        user or resource nearest to breaking it, in words.

    Notes
    -----
    With weights, shares are compared per unit of weight. Every pair of users is looked at: O(k²·R) at step k, and the
    dense table of shares.
    """
    levels = result.table().to_numpy() / result.instance.user_weights[result.schedule.order]
    names = list(result.instance.users.labels[result.schedule.order])
    resources = list(result.instance.resources)
    demand = result.needs / result.instance.user_weights[result.schedule.order][:, None]
    rows: list[dict[str, object]] = []
    for step in range(1, len(levels) + 1) if steps is None else steps:
        here = levels[step - 1, :step]
        before = levels[step - 2, : step - 1] if step > 1 else here[:0]
        fraction = float(result.schedule.available[step - 1])
        found = {
            **_limits(here @ result.needs[:step], fraction, resources),
            "irrevocable": _irrevocable(here, before, names),
            "SI": _sharing_incentive(here, result.schedule.horizon, names),
            "DEF": _dynamic_envy(here, levels[:step, :step], names),
            "EF": _envy(here, demand[:step], names),
        }
        for name in PROPERTIES:
            margin, witness = found[name]
            holds = margin >= -AGREEMENT
            rows.append({"step": step, "property": name, "holds": holds, "margin": margin, "witness": witness})
    return pd.DataFrame(rows, columns=["step", "property", "holds", "margin", "witness"])


Finding = tuple[float, str]


def _limits(used: np.ndarray, fraction: float, resources: list[object]) -> dict[str, Finding]:
    """Return how far the fullest resource is from what the step may give out, from above and from below."""
    at = int(used.argmax())
    filled = float(used[at]) / fraction
    witness = f"{filled:.6g} of what the step may give out of {resources[at]!r} is in use, more than of any other"
    return {"feasible": (1 - filled, witness), "DPO": (filled - 1, witness)}


def _irrevocable(here: np.ndarray, before: np.ndarray, names: list[object]) -> Finding:
    if not before.size:
        return 0.0, "nobody was here before"
    gain = here[: len(before)] / before - 1
    at = int(gain.argmin())
    return float(gain[at]), f"{names[at]!r} went from {before[at]:.6g} to {here[at]:.6g}"


def _sharing_incentive(here: np.ndarray, horizon: float, names: list[object]) -> Finding:
    at = int(here.argmin())
    return float(here[at] * horizon - 1), f"{names[at]!r} has {here[at] * horizon:.6g} of its equal part"


def _dynamic_envy(here: np.ndarray, past: np.ndarray, names: list[object]) -> Finding:
    """Look at every pair (i, j) where j has more: j must have come first, and have nothing new since i came.

    ``past[s, j]`` is the level of j after step s + 1, NaN before it arrived.
    """
    k = len(here)
    when_came = np.zeros((k, k))  # [i, j]: what j had just before i came
    when_came[1:] = np.tril(np.nan_to_num(past[:-1]))  # j ≥ i had nothing, and should not have more at all
    more = here[None, :] - np.maximum(here[:, None], when_came)
    worst = more / np.maximum(here[None, :], here[:, None])
    np.fill_diagonal(worst, 0.0)
    i, j = np.unravel_index(int(worst.argmax()), worst.shape)
    margin = 0.0 - max(float(worst[i, j]), 0.0)
    if margin == 0:
        return margin, "nobody got more since a poorer user came"
    return margin, f"{names[int(i)]!r} has {here[i]:.6g}; {names[int(j)]!r} has {here[j]:.6g}, and got more since"


def _envy(here: np.ndarray, demand: np.ndarray, names: list[object]) -> Finding:
    """Look at every pair: what i could do with what j has, min over r of x[j]·d̂[j,r]/d̂[i,r], per weight."""
    worth = np.full((len(here), len(here)), np.inf)
    for r in range(demand.shape[1]):
        asked = demand[:, r] > 0
        own = np.where(asked, demand[:, r], 1.0)
        amount = (here * demand[:, r])[None, :] / own[:, None]
        worth = np.minimum(worth, np.where(asked[:, None], amount, np.inf))
    envy = 1 - here[:, None] / np.maximum(worth, here[:, None])
    i, j = np.unravel_index(int(envy.argmax()), envy.shape)
    margin = 0.0 - float(envy[i, j])
    if margin == 0:
        return margin, "nobody would rather have what another has"
    return (
        margin,
        f"{names[int(i)]!r} has {here[i]:.6g} and would have {worth[i, j]:.6g} with what {names[int(j)]!r} has",
    )
