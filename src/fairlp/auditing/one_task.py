"""Envy up to one task, for whole tasks: one's own task, or one of the envied."""

from __future__ import annotations

import numpy as np

from .basics import NOT_TOLD_APART, worth_of_bundles
from .findings import Case, Finding, amount

_DIVISIBLE = "tasks may be divided here, and this is about whole ones"
_SEVERAL = "taking away one task of a bundle on several servers is not one bundle but many"


def up_to_one_own_task(case: Case) -> Finding:
    """With another's bundle nobody could run more than *one of its own* tasks more: U_n(A_m) ≤ x[n] + 1.

    Margin: min over pairs of (x[n] + 1 − U_n(A_m))/Γ[n].
    """
    return _envy(case, own=1, others=0)


def up_to_one_task_of_the_other(case: Case) -> Finding:
    """With another's bundle less *one of the other's* tasks nobody could run more: U_n(A_m − d_m) ≤ x[n].

    Margin: min over pairs of (x[n] − U_n(A_m − d_m))/Γ[n].
    """
    return _envy(case, own=0, others=1)


def _envy(case: Case, own: int, others: int) -> Finding:
    instance = case.instance
    if not case.whole:
        return Finding.undefined(_DIVISIBLE)
    if instance.weights.ndim == 2:
        return Finding.undefined("weights are given per resource; envy compares users by one weight each")
    if case.added_up:
        return Finding.undefined(NOT_TOLD_APART)
    if others and case.tasks.shape[1] > 1:
        return Finding.undefined(_SEVERAL)
    if len(case.tasks) < 2:
        return Finding.vacuous("there is nobody to envy")
    could = worth_of_bundles(case, instance.weights, np.maximum(case.tasks - others, 0.0))
    alone = np.where(case.alone > 0, case.alone, 1.0)
    slack = (case.totals[:, None] + own - could) / alone[:, None]
    np.fill_diagonal(slack, np.inf)
    n, m = np.unravel_index(int(slack.argmin()), slack.shape)
    less = f" less one of {case.name(int(m))}'s tasks" if others else ""
    witness = (
        f"{case.name(int(n))} runs {amount(case.totals[n])} tasks and would run {amount(could[n, m])} with "
        f"{case.name(int(m))}'s bundle{less}"
    )
    return Finding.of_margin(float(slack[n, m]), witness, "nobody envies another by more than one task")
